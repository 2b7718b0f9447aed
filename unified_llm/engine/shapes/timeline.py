"""Lists of wire messages, and alternative answers.

Items of one message share a `turn`, its number in the list. Within its own protocol a document is written message by
message as it was; across, neighbors are gathered by the layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..compiler.runtime import native_of, spell
from ..compiler.signals import ABSENT, FAULTS, NATIVE, DeclarationError, Mismatch, Node
from .layouts import Layout
from .shape import Family, Place, Shape
from .unions import Union

__all__ = ["Choices", "Turns", "members"]


class Turns:
    """A list of wire messages, distinguished by `tag`.

    `layouts`: by tag value, the messages that are several items; `messages`: the union of those that are one item;
    `roles`: canonical roles that are sent as another's; `sides`: for item types that several layouts could hold, the
    tag value of the one that does; `merges`: across protocols, neighbors of one layout are one message.

    >>> from unified_llm.engine import Blocks, Context, Union, string
    >>> parts, calls = Union("parts"), Union("calls", items=True)
    >>> _ = parts.case({"type": "text", "text": string("text")}, "input_text", text=True)
    >>> _ = calls.case({"type": "use", "id": string("call_id")}, "function_call")
    >>> talk = Turns("talk", layouts={"user": Blocks("user", role="user", parts=parts, items=calls)})
    >>> wires = [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "use", "id": "1"}], "zz": 0}]
    >>> x = Context("demo", "demo")
    >>> items = talk.read(wires, x)
    >>> [(item["type"], item["turn"]) for item in items], items[0]["extra"]
    ([('message', 0), ('function_call', 0)], {'demo': {'turn': {'zz': 0}}})
    >>> talk.write(items, x) == wires
    True
    """

    def __init__(
        self,
        name: str,
        *,
        tag: str = "role",
        layouts: Mapping[str, Layout] | None = None,
        messages: Union | None = None,
        roles: Mapping[str, str] | None = None,
        sides: Mapping[str, str] | None = None,
        merges: bool = True,
    ) -> None:
        self.name = name
        self.tag = tag
        self.merges = merges
        self.layouts: dict[Any, Layout] = dict(layouts or {})
        self.messages: Union = messages if messages is not None else Union(f"{name} messages", tag, items=True)
        if not self.messages.is_items or self.messages.tag != tag:
            raise DeclarationError(
                f"turns {name}: {self.messages.name} has to be a union of items distinguished by {tag!r}"
            )
        self.roles: dict[Any, str] = {layout.role: said for said, layout in self.layouts.items() if layout.role}
        self.roles.update(roles or {})
        self.sides: dict[Any, str] = dict(sides or {})
        for value, layout in self.layouts.items():
            if value in self.messages.by_tag:
                raise DeclarationError(f"turns {name}: {value!r} is a layout and a case of {self.messages.name}")
            for type_ in layout.types:
                if type_ not in (sides or {}) and self.sides.setdefault(type_, value) != value:
                    raise DeclarationError(
                        f"turns {name}: {type_!r} has a place in {self.sides[type_]!r} and in {value!r}"
                    )
        for what, value in [*self.roles.items(), *self.sides.items()]:
            if value not in self.layouts:
                raise DeclarationError(f"turns {name}: {what!r} is written as {value!r}, which is not a layout")

    def read(self, wires: list[Any], x: Any) -> list[Node]:
        """The items of a list of messages."""
        items: list[Node] = []
        layouts, tag = self.layouts, self.tag
        if not self.messages._frozen:
            self.messages.freeze()
        readers = self.messages.readers
        for number, w in enumerate(wires):
            try:
                value = w[tag]
                if value in layouts:
                    found = layouts[value].read_message(w, x)
                else:
                    found = [readers[value](w, x)]
            except FAULTS:
                found = [self.messages.general_read(w, x)]
            for item in found:
                item["turn"] = number
            items += found
        return items

    def side_of(self, item: Node) -> str | None:
        """The layout that an item is written by; None for one that is a message by itself."""
        type_ = item.get("type")
        if type(type_) is not str:
            return None
        if type_ == "message":
            role = item.get("role")
            return self.roles.get(role) if type(role) is str else None
        side = self.sides.get(type_)
        if side is None and "extra" in item:
            native = native_of(item)
            return next((str(value) for value, layout in self.layouts.items() if layout.holds(native)), None)
        return side

    def write(self, items: Any, x: Any) -> list[Any]:
        """The messages of a list of items, or of a plain text."""
        if type(items) is str:
            items = [{"type": "message", "role": "user", "content": items}]
        out: list[Any] = []
        group: list[Node] = []
        side: str | None = None
        turn: Any = None
        joins = not x.own and self.merges
        for item in items:
            if type(item) is not dict:
                x.dropped({"type": NATIVE, "value": item})
                continue
            here = self.side_of(item)
            its = item.get("turn")
            if group:
                if here == side and (its == turn if x.own else joins or (its is not None and its == turn)):
                    group.append(item)
                    continue
                self._write_group(group, side, x, out)
                group = []
            if here is None:
                self.messages.write_into((item,), x, out.append)
            else:
                group, side, turn = [item], here, its
        if group:
            self._write_group(group, side, x, out)
        return out

    def _write_group(self, group: list[Node], side: str | None, x: Any, out: list[Any]) -> None:
        found = self.layouts[side].write_message(group, x)
        if x.trace is not None:
            for item in group:
                if item["type"] == "message" and found:
                    x.trace.append((item, found[0]))
        out += found

    def family(self, items: list[Node], wires: list[Any], path: tuple[Any, ...]) -> Family:
        """The items of a list of messages, and what is listed with them; found message by message.

        A pass may have changed the list: only the items that still have the turn they were read with are there.
        """
        groups: dict[Any, list[Node]] = {}
        nodes = members(items)
        turns: list[Any] = []
        for item in items:
            turn = item.get("turn")
            groups.setdefault(turn, []).append(item)
            turns.append(turn)
        for item in items:
            if item["type"] == "message" and type(item.get("content")) is list:
                turns += [item.get("turn")] * len(item["content"])

        def find(number: int | None) -> Iterator[Place]:
            for turn in groups if number is None else (turns[number],):
                if type(turn) is int and 0 <= turn < len(wires):
                    yield from self._places(groups[turn], wires[turn], (*path, turn))

        return Family(nodes, find)

    def _places(self, group: list[Node], w: Any, path: tuple[Any, ...]) -> Iterator[Place]:
        layout = self.layouts.get(w.get(self.tag)) if type(w) is dict and type(w.get(self.tag)) is str else None
        if layout is not None and native_of(group[0]) != self.messages.name:
            yield from layout.walk(group, w, path, False)
            return
        for item in group:
            yield Place(item, path, self.messages.shape_of(w, item), w)


def members(items: list[Node]) -> list[Node]:
    """The items of messages, and then the parts of those that are messages in the canonical form."""
    found = list(items)
    for item in items:
        if item["type"] == "message" and type(item.get("content")) is list:
            found += item["content"]
    return found


class Choices:
    """Alternative answers: the first is part of the node, the others are nodes of their own under `choices`.

    The shape of a choice names its number `index`; the first has none in the canonical form.

    >>> from unified_llm.engine import Context, Shape, choices, enum, integer, string
    >>> fields = {"index?": integer("index"), "text": string("output"), "why?": string("finish.reason")}
    >>> one = Choices(Shape(fields, name="choice"))
    >>> shape, x = Shape({"choices": choices(one)}, name="answer"), Context("demo", "demo")
    >>> node = shape.read({"choices": [{"index": 0, "text": "a", "why": "stop"}, {"index": 1, "text": "b"}]}, x)
    >>> node
    {'output': 'a', 'finish': {'reason': 'stop'}, 'choices': [{'output': 'b', 'index': 1}]}
    >>> shape.write(node, x)
    {'choices': [{'index': 0, 'text': 'a', 'why': 'stop'}, {'text': 'b', 'index': 1}]}
    """

    def __init__(self, shape: Shape, key: str = "choices") -> None:
        if shape.places.get(("index",)) is None:
            raise DeclarationError(f"choices of {shape.name}: the shape has no field for the key 'index'")
        self.shape = shape
        self.key = key
        self.index: str = shape.places["index",][0]
        self.roots: frozenset[str] = shape.roots | {key}
        self.path: str = ""

    def bind(self, wire: tuple[str, ...]) -> tuple[str, ...]:
        """Note where the list is in its shape; the path of the first choice's number there."""
        path = "/".join(wire)
        if self.path not in ("", path):
            raise DeclarationError(f"choices of {self.shape.name} are declared at /{self.path} and at /{path}")
        self.path = path
        return (*wire, "0", self.index)

    def read_flat(self, wires: list[Any], x: Any, node: Node) -> Any:
        """Read the choices into a node; what is left over of the first, or the list itself if it cannot be read."""
        inner: Node = {}
        try:
            rest = self.shape.read_flat(wires[0], x, inner)
            others = [self.shape.read_or_explain(w, x) for w in wires[1:]]
        except FAULTS:
            return wires
        if inner.get("index", ABSENT) == 0:
            del inner["index"]
        elif "index" not in inner:
            spell(node, f"{self.path}/0/{self.index}", "absent", x)
        node.update(inner)
        if others:
            node[self.key] = others
        return [rest] if rest else None

    def write_flat(self, c: Node, x: Any) -> tuple[Any, tuple[str, ...]]:
        """The list of choices of a node, and the keys that are in it."""
        others = c.get(self.key)
        if not any(root in c for root in self.roots):
            return ABSENT, ()
        first, used = self.shape.write_flat(c, x)
        first = {self.index: 0, **first}
        rest: list[Any] = []
        for number, other in enumerate(others if type(others) is list else ()):
            if type(other) is dict:
                if not x.own and "index" not in other:
                    other = x.replaced(other, {"index": number + 1, **other})
                try:
                    rest.append(self.shape.write_or_explain(other, x))
                except Mismatch as error:
                    x.dropped(other, f"{'.'.join(map(str, error.path))} {error.reason}")
        return [first, *rest], tuple(root for root in (*used, self.key) if root in c)

    def family(self, node: Node, wires: list[Any], path: tuple[Any, ...]) -> Family:
        """The other choices."""
        others = node.get(self.key) or []

        def find(number: int | None) -> Iterator[Place]:
            for each in range(min(len(others), len(wires) - 1)) if number is None else (number,):
                if each + 1 < len(wires):
                    yield Place(others[each], (*path, each + 1), self.shape, wires[each + 1])

        return Family(others, find)
