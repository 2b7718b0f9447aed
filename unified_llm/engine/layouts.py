"""Turn layouts: how one wire message is several items of a conversation, and how items become messages again.

A wire message is one item (a case of a union), a list of blocks (`Blocks`), or an object whose keys hold the items of
the turn (`Slots`). Items of one message share a `turn`, its number in the list. Within its own protocol a document is
written message by message as it was; across, neighbors are gathered as the layout says. What a message holds beside
its items is kept on the first of them, as `extra[protocol].turn`. Nothing of a layout is written by an adapter, so
that a key that no item took is found by counting, as it is in shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .fields import json, string
from .runtime import drawers, native_of, said, unknown
from .shape import Family, Place, Shape
from .signals import FAULTS, NATIVE, REST, DeclarationError, Mismatch, Node
from .slots import Slots
from .unions import Union

__all__ = ["Blocks", "Layout", "Slots", "Turns", "members"]


class Blocks:
    """A wire message that is a list of blocks: parts gather in a `message` item, each other block is an item.

    `role`: the canonical role of its messages; `parts` and `items`: the unions of its blocks; `key`: where the list
    is; `text`: a string may stand in its place.
    """

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
        self.name, self.role, self.key, self.tag, self.takes_text = name, role, key, tag, text
        self.union = Union(f"{name} blocks", parts.tag, items=True).include(parts, items)
        self.parts = frozenset(parts.by_type)
        self.types = frozenset(items.by_type)
        self.known = frozenset((key, tag))
        self.places = Shape({f"{tag}?": string("role"), f"{key}?": json("content")}, name=f"{name} message")
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
            _keep_turn(items[0], unknown(w, self.known, None), x)
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
        return items or [{"type": "message", "role": role, "content": []}]

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
        _leave_message(item, x, self.role, self.name, ("type", "turn", "role", "content"))

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


Layout = Blocks | Slots


class Turns:
    """A list of wire messages, told apart by `tag`.

    `layouts`: by tag value, the messages that are several items; `messages`: the union of those that are one item;
    `roles`: canonical roles that are sent as another's; `sides`: for item types that several layouts could hold, the
    tag value of the one that does; `merges`: across protocols, neighbors of one layout are one message.

    >>> from unified_llm.engine import Context, Union, string
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
        self.name, self.tag, self.merges = name, tag, merges
        self.layouts: dict[Any, Layout] = dict(layouts or {})
        self.messages = messages if messages is not None else Union(f"{name} messages", tag, items=True)
        if not self.messages.is_items or self.messages.tag != tag:
            raise DeclarationError(
                f"turns {name}: {self.messages.name} has to be a union of items told apart by {tag!r}"
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
                raise DeclarationError(f"turns {name}: {what!r} is written as {value!r}, which is no layout")

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


def _keep_turn(item: Node, rest: Node | None, x: Any) -> None:
    """Keep what a message held beside its items."""
    if rest:
        x.flags |= REST
        item.setdefault("extra", {}).setdefault(x.source, {})["turn"] = rest


def _leave_message(item: Node, x: Any, role: str, sent_as: str, known: tuple[str, ...]) -> None:
    """Report what a message item holds that the layout has no place for."""
    if item.get("role") != role:
        x.approximated(item, ("role",), f"sent as {sent_as!r}")
    for protocol, kept in drawers(item):
        if protocol != x.target:
            x.foreign(item, protocol, kept)
        elif said(kept.get("rest")):
            x.lost(item, ("extra", protocol, "rest"))
    for key in item:
        if key != "extra" and key not in known:
            x.lost(item, (key,))
