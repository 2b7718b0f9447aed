"""`Slots`: a wire message whose keys hold the items of a turn; `Choices`: alternative answers.

An item slot is a shape over some keys of the message; a list slot is a key whose elements are items. What no slot
takes is counted over the whole message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .runtime import native_of, put, said, spell, unknown
from .shape import Family, Place, Shape
from .signals import ABSENT, FAULTS, NATIVE, REST, DeclarationError, Mismatch, Node
from .unions import Union

__all__ = ["Choices", "Slots"]


class Slot(NamedTuple):
    """One place of a message: some of its keys as one item (`shape`), or a list of items (`union`)."""

    keys: tuple[str, ...]
    types: frozenset[str]
    shape: Shape | None
    union: Union | None


class Slots:
    """A wire message whose keys hold items, in the order in which the slots are declared.

    Two items of one slot are two messages; so is an item whose slot is before that of the item before it.

    >>> from unified_llm.engine import Context, Union, string
    >>> calls = Union("calls", None, items=True)
    >>> _ = calls.case({"id": string("call_id")}, "function_call")
    >>> answer = Slots("assistant", role="assistant")
    >>> answer.item({"content": string("content"), "name?": string("name")}, "message", role="assistant")
    >>> answer.items("tool_calls", calls)
    >>> x = Context("demo", "demo")
    >>> items = answer.read_message({"role": "assistant", "content": "Hi", "tool_calls": [{"id": "1"}]}, x)
    >>> [item["type"] for item in items]
    ['message', 'function_call']
    >>> answer.write_message(items, x)
    [{'role': 'assistant', 'content': 'Hi', 'tool_calls': [{'id': '1'}]}]
    """

    turn_types: tuple[type, ...] = (dict,)

    def __init__(self, name: str, *, role: str, tag: str = "role") -> None:
        self.name, self.role, self.tag = name, role, tag
        self.head = Shape({f"{tag}?": name}, name=f"{name} message")
        self.slots: list[Slot] = []
        self.known: frozenset[str] = frozenset((tag,))
        self.types: frozenset[str] = frozenset()
        self.by_type: dict[str, int] = {}

    def item(self, wire: Mapping[str, Any], type_: str, *also: str, fact: int = 0, **constants: Any) -> None:
        """Some keys of the message are one item. `constants`: what that always says."""
        fixed = {"type": type_, **{key.replace("__", "."): value for key, value in constants.items()}}
        shape = Shape(wire, name=f"{self.name} {type_}", constants=fixed, is_item=True, fact=fact)
        self._add(Slot(tuple(shape.wire_tree.children), frozenset((type_, *also)), shape, None))

    def items(self, key: str, union: Union) -> None:
        """The list at a key of the message are items, one each."""
        if not union.is_items:
            raise DeclarationError(f"slots {self.name}: {union.name} is not a union of items")
        self._add(Slot((key,), frozenset(union.by_type), None, union))

    def _add(self, slot: Slot) -> None:
        for key in slot.keys:
            if key in self.known:
                raise DeclarationError(f"slots {self.name}: the wire key {key!r} is in two slots")
        for type_ in slot.types:
            if type_ in self.by_type:
                raise DeclarationError(f"slots {self.name}: {type_!r} has two slots")
            self.by_type[type_] = len(self.slots)
        self.slots.append(slot)
        self.known |= set(slot.keys)
        self.types |= slot.types - {"message"}

    def holds(self, native: str) -> bool:
        """Whether a list slot is of this union."""
        return any(slot.union is not None and slot.union.name == native for slot in self.slots)

    def read_message(self, w: Node, x: Any) -> list[Node]:
        """The items of a message; at least one."""
        items: list[Node] = []
        n = len(w) - (self.tag in w)
        rest: Node | None = None
        role = w.get(self.tag, ABSENT)
        if role is not ABSENT and role != self.name:
            rest = {self.tag: role}
        for keys, _, shape, union in self.slots:
            here = [key for key in keys if key in w]
            if not here:
                continue
            n -= len(here)
            if union is not None:
                value = w[keys[0]]
                if type(value) is list:
                    items += union.read(value, x)
                elif said(value):
                    rest = put(rest, keys[0], value)
            elif shape is not None and any(said(w[key]) for key in here):
                try:
                    items.append(shape.read_slot(w, x)[0])
                except FAULTS:
                    rest = {**(rest or {}), **{key: w[key] for key in here}}
        if not items:
            items.append({"type": "message", "role": self.role, "content": []})
        if role is ABSENT:
            spell(items[0], f"../{self.tag}", "absent", x)
        if n:
            rest = unknown(w, self.known, rest)
        if rest:
            x.flags |= REST
            items[0].setdefault("extra", {}).setdefault(x.source, {})["turn"] = rest
        return items

    def read_turn(self, w: Node, x: Any) -> list[Node]:
        """The same of a message that stands by itself: that of an answer."""
        return self.read_message(w, x)

    def write_message(self, group: list[Node], x: Any) -> list[Node]:
        """The messages of a group of items."""
        return self._write(group, x, True)

    def write_turn(self, group: list[Node], x: Any) -> Node:
        """The one message of a group of items; what has no place in it is reported. A pass may join items before."""
        out = self._write(group, x, False)
        return out[0] if out else {self.tag: self.name}

    def _write(self, group: list[Node], x: Any, splits: bool) -> list[Node]:
        out: list[Node] = []
        wire: Node = {self.tag: self.name}
        first: Node = group[0] if group and type(group[0]) is dict else {}
        done: list[Node] = []
        last = -1
        for item in group:
            number = self._slot_of(item) if type(item) is dict else None
            if number is None:
                x.dropped(item if type(item) is dict else {"type": NATIVE, "value": item})
                continue
            keys, _, shape, union = self.slots[number]
            if number < last or (number == last and union is None):
                if not splits:
                    x.dropped(item, f"a message holds one {item['type']}")
                    continue
                self._end(out, first, wire, done, x)
                wire, first = {self.tag: self.name}, item
            written: list[Any] = []
            if union is not None:
                union.write_into((item,), x, written.append)
                if written:
                    wire.setdefault(keys[0], []).extend(written)
            elif shape is not None:
                try:
                    wire.update(shape.write_or_explain(item, x))
                    done.append(item)
                except Mismatch as error:
                    x.dropped(item, f"{'.'.join(map(str, error.path))} {error.reason}")
                    continue
            last = number
        if len(wire) > 1 or last >= 0 or x.own:
            self._end(out, first, wire, done, x)
        return out

    def _end(self, out: list[Node], first: Node, wire: Node, done: list[Node], x: Any) -> None:
        out.append(x.turn_of(first, wire, self.head))
        if x.trace is not None:
            x.trace += [(item, out[-1]) for item in done]
        done.clear()

    def _slot_of(self, item: Node) -> int | None:
        type_ = item.get("type")
        number = self.by_type.get(type_) if type(type_) is str else None
        if number is None and "extra" in item:
            native = native_of(item)
            for index, slot in enumerate(self.slots):
                if slot.union is not None and slot.union.name == native:
                    return index
        return number

    def walk(self, items: list[Node], w: Any, path: tuple[Any, ...], bare: bool) -> Iterator[Place]:
        """Where the items of one message are."""
        counts: dict[str, int] = {}
        if not bare:
            yield Place(items[0], path, None, w, "turn")
        for item in items:
            index = self._slot_of(item)
            slot = self.slots[index] if index is not None else None
            if slot is not None and slot.union is not None:
                key = slot.keys[0]
                number = counts.get(key, 0)
                counts[key] = number + 1
                wires = w.get(key)
                if type(wires) is list and number < len(wires):
                    yield Place(item, (*path, key, number), slot.union.shape_of(wires[number], item), wires[number])
            else:
                yield Place(item, path, slot.shape if slot is not None else None, w, "part")


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
        self.shape, self.key = shape, key
        (self.index,) = shape.places["index",]
        self.roots = shape.roots | {key}
        self.path = ""

    def bind(self, wire: tuple[str, ...]) -> tuple[str, ...]:
        """Say where the list is in its shape; the path of the first choice's number there."""
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
