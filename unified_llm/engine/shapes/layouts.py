"""Turn layouts: how one wire message is several items of a conversation.

A wire message is a list of blocks (`Blocks`), or an object whose keys hold the items of the turn (`Slots`). What it
holds beside its items is kept on the first of them, as `extra[protocol].turn`. Nothing of a layout is written by an
adapter, so that a key that no item took is found by counting, as it is in shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..compiler.fields import json, string
from ..compiler.runtime import drawers, native_of, put, said, spell, unknown
from ..compiler.signals import ABSENT, FAULTS, NATIVE, REST, DeclarationError, Mismatch, Node
from .shape import Place, Shape
from .unions import Union

__all__ = ["Blocks", "Layout", "Slots"]


class _Message:
    """What the layouts have in common: the message around the items, distinguished by `tag`, and its canonical role."""

    def __init__(self, name: str, *, role: str, tag: str, keys: tuple[str, ...] = ()) -> None:
        self.name = name
        self.role = role
        self.tag = tag
        self.head: Shape = Shape({f"{tag}?": name}, name=f"{name} message")
        self.known: frozenset[str] = frozenset((tag, *keys))
        self.types: frozenset[str] = frozenset()

    def _nothing(self) -> list[Node]:
        """The item that stands for a message without any."""
        return [{"type": "message", "role": self.role, "content": []}]

    def _keep(self, item: Node, rest: Node | None, x: Any) -> None:
        """Keep what a message held beside its items."""
        if rest:
            x.flags |= REST
            item.setdefault("extra", {}).setdefault(x.source, {})["turn"] = rest


class Blocks(_Message):
    """A wire message that is a list of blocks: parts gather in a `message` item, each other block is an item.

    `role`: the canonical role of its messages; `parts` and `items`: the unions of its blocks; `key`: where the list
    is; `text`: a string may stand in its place.
    """

    types: frozenset[str]
    turn_types: tuple[type, ...] = (list,)

    def __init__(
        self,
        name: str,
        *,
        role: str,
        parts: Union,
        items: Union,
        key: str = "content",
        tag: str = "role",
        text: bool = True,
    ) -> None:
        super().__init__(name, role=role, tag=tag, keys=(key,))
        self.key = key
        self.takes_text = text
        self.union: Union = Union(f"{name} blocks", parts.tag, items=True).include(parts, items)
        self.parts: frozenset[str] = frozenset(parts.by_type)
        self.types = frozenset(items.by_type)
        self.places: Shape = Shape({f"{tag}?": string("role"), f"{key}?": json("content")}, name=f"{name} message")
        self.places.is_view = True
        if not text and parts.text is None:
            raise DeclarationError(f"blocks {name}: no case of {parts.name} is declared as plain text")

    def holds(self, native: str) -> bool:
        """Whether an item that was not read is a block of this layout, by the name of its union."""
        return self.union.name == native

    # ---- reading ---------------------------------------------------------------------------------------------------

    def read_message(self, w: Node, x: Any) -> list[Node]:
        """The items of a wire message. Raises `Mismatch` for one that has no list of blocks."""
        content = w[self.key]
        if type(content) is str and self.takes_text:
            items: list[Node] = [{"type": "message", "role": self.role, "content": content}]
        elif type(content) is list:
            items = self.read_turn(content, x)
        else:
            raise Mismatch((self.key,), "is neither a string nor a list")
        if len(w) > 2:
            self._keep(items[0], unknown(w, self.known, None), x)
        return items

    def read_turn(self, blocks: list[Any], x: Any) -> list[Node]:
        """The items of a list of blocks; at least one."""
        items: list[Node] = []
        gathered: list[Node] | None = None
        parts, role = self.parts, self.role
        for node in self.union.read(blocks, x):
            if node["type"] in parts:
                if gathered is None:
                    gathered = []
                    items.append({"type": "message", "role": role, "content": gathered})
                gathered.append(node)
            else:
                gathered = None
                items.append(node)
        return items or self._nothing()

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write_message(self, group: list[Node], x: Any) -> list[Node]:
        """The message of a group of items; none if nothing of them has a form."""
        first = group[0]
        content: Any = first.get("content")
        if len(group) == 1 and self.takes_text and first["type"] == "message" and type(content) is str:
            if not self._is_plain(first):
                self._leave(first, x)
        else:
            content = self.write_turn(group, x)
            if not content and not x.own:
                return []
        wire = {self.tag: self.name, self.key: content}
        return [x.turn_of(first, wire) if "extra" in first else wire]

    def write_turn(self, group: list[Node], x: Any) -> list[Any]:
        """The blocks of a group of items."""
        out: list[Any] = []
        write, add = self.union.write_into, out.append
        for item in group:
            if type(item) is not dict or item.get("type") != "message":
                write((item,), x, add)
                continue
            content = item.get("content")
            if type(content) is list:
                write(content, x, add)
            elif type(content) is str:
                if (content or x.own) and self.union.text is not None:
                    add(self.union.text.write({"type": self.union.text.constants["type"], "text": content}, x))
                elif content:
                    x.lost(item, ("content",))
            if not self._is_plain(item):
                self._leave(item, x)
        return out

    def _is_plain(self, item: Node) -> bool:
        """Whether a message item holds its role and content, and nothing else."""
        return len(item) - ("turn" in item) == 3 and "content" in item and item.get("role") == self.role

    def _leave(self, item: Node, x: Any) -> None:
        """Report what a message item holds beside its content."""
        if item.get("role") != self.role:
            x.approximated(item, ("role",), f"sent as {self.name!r}")
        for protocol, kept in drawers(item):
            if protocol != x.target:
                x.foreign(item, protocol, kept)
            elif said(kept.get("rest")):
                x.lost(item, ("extra", protocol, "rest"))
        for key in item:
            if key not in ("type", "turn", "role", "content", "extra"):
                x.lost(item, (key,))

    # ---- places ----------------------------------------------------------------------------------------------------

    def walk(self, items: list[Node], w: Any, path: tuple[Any, ...], bare: bool) -> Iterator[Place]:
        """Where the items of one message, and the parts in them, are."""
        if not bare:
            yield Place(items[0], path, None, w, "turn")
        blocks, below = (w, path) if bare else (w[self.key], (*path, self.key))
        number = 0
        for item in items:
            if type(blocks) is not list:
                yield Place(item, path, self.places, w, "part")
            elif item["type"] == "message":
                whole = item["content"] if type(item.get("content")) is list else []
                yield Place(item, path if not bare else path[:-1], self.places, w, "part")
                for part in whole:
                    block = blocks[number]
                    yield Place(part, (*below, number), self.union.shape_of(block, part), block)
                    number += 1
            else:
                block = blocks[number]
                yield Place(item, (*below, number), self.union.shape_of(block, item), block)
                number += 1


class Slot(NamedTuple):
    """One place of a message: some of its keys as one item (`shape`), or a list of items (`union`)."""

    keys: tuple[str, ...]
    types: frozenset[str]
    shape: Shape | None
    union: Union | None


class Slots(_Message):
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

    known: frozenset[str]
    types: frozenset[str]
    turn_types: tuple[type, ...] = (dict,)

    def __init__(self, name: str, *, role: str, tag: str = "role") -> None:
        super().__init__(name, role=role, tag=tag)
        self.slots: list[Slot] = []
        self.by_type: dict[str, int] = {}

    def item(self, wire: Mapping[str, Any], type_: str, *also: str, fact: int = 0, **constants: Any) -> None:
        """Some keys of the message are one item. `constants`: its constant values."""
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
        items = items or self._nothing()
        if role is ABSENT:
            spell(items[0], f"../{self.tag}", "absent", x)
        if n:
            rest = unknown(w, self.known, rest)
        self._keep(items[0], rest, x)
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


Layout = Blocks | Slots
