"""The content of a stream so far, item by item, and the events it left out.

Every text, argument and refusal is remembered in its pieces, so that a done event with more than the deltas is
preceded by a delta with the rest: clients that read deltas alone miss nothing, and those that read both get it once.
"""

from __future__ import annotations

from typing import Any

from .events import BRACKETS, OPENINGS, PART_STEMS

__all__ = ["ENDS", "WHOLE", "Item", "Open", "Part", "Place", "beginning_of", "late_text"]

Node = dict[str, Any]
Event = dict[str, Any]

WHOLE = {"function_call": "arguments", "custom_tool_call": "input", "mcp_call": "arguments"}
"""What a call was made with, by the type of its item."""
ENDS = frozenset(f"response.{kind}_{key}.done" for kind, key in WHOLE.items())


class Place:
    """The position of an item of another protocol in the output.

    `told` is whether a piece of it was sent, `ended` whether the end of what a call was made with was.

    `left` holds the indices of parts that are not written inside the item: those behind them move up.

    A message ends at an image, and another one has the parts behind it: `messages` are those that ended, each by its
    index with the number of its parts, `begins` the place of the first part of the one after them. `opening` is what a
    message is announced with, and `is_open` whether it was. `begun` holds the parts that have not ended, `parts` those
    that have, of the message that is open; `pictures` the images that are not sent, and `drawn` how many are.
    """

    __slots__ = (
        "begins", "begun", "call", "drawn", "ended", "id", "index", "is_open", "kind", "last", "left", "messages",
        "opening", "parts", "pictures", "told",
    )  # fmt: skip

    def __init__(self, index: int, item: Node, is_open: bool = True) -> None:
        self.opening, self.is_open = item, is_open
        self.begins = self.drawn = 0
        self.messages: list[tuple[int, int]] = []
        self.begun: set[int] = set()
        self.parts: list[Node] = []
        self.pictures: list[Node] = []
        self.index = index
        self.last = -1  # the last part of which anything was sent
        self.id = item["id"]
        self.kind = item["type"]
        self.call = item.get("call_id")
        self.left: set[int] = set()
        self.told = self.ended = False

    def content_index(self, index: int, sent: bool = False) -> int:
        """The index of a part in the item as it is written; `sent` is whether something of the part is sent there."""
        if sent and index > self.last:
            self.last = index
        return index - self.begins - sum(each < index for each in self.left) if self.left else index

    def is_past(self, index: Any) -> bool:
        """Whether the message that a part was written in has ended at an image."""
        return bool(self.messages) and type(index) is int and self.content_index(index) < 0

    def follow(self, index: int, kind: str, wire: Node) -> None:
        """Note of which parts of a message something was sent, and which have ended."""
        if kind == "response.content_part.added":
            self.begun.add(index)
        elif kind == "response.content_part.done":
            self.begun.discard(index)
            self.parts.append(wire["part"])

    def end_message(self) -> list[Node]:
        """The parts of the message that is open, which ends at an image."""
        parts, self.parts = self.parts, []
        self.messages.append((self.index, len(parts)))
        self.begins += len(parts)
        self.is_open = False
        return parts

    def owed(self, said: Node) -> list[tuple[str, Node]]:
        """What a call was made with, in one piece where no piece came: clients join the pieces."""
        key = WHOLE.get(self.kind)
        if key is None or self.told or not said.get(key):
            return []
        self.told = True
        at = {"item_id": self.id, "output_index": self.index}
        return [(f"response.{self.kind}_{key}.delta", {**at, "delta": said[key]})]

    def ending(self, item: Node) -> list[tuple[str, Node]]:
        """The end of what a call was made with, where no event had it."""
        key = WHOLE.get(self.kind)
        if key is None or self.ended or type(item.get(key)) is not str:
            return []
        self.ended = True
        at = {"item_id": self.id, "output_index": self.index}
        return [(f"response.{self.kind}_{key}.done", {**at, key: item[key]})]

    def is_late(self, index: int) -> bool:
        """Whether a part that was left out has a form only now that it is done, and none behind it was sent."""
        if index not in self.left or self.last > index:
            return False
        self.left.discard(index)
        return True


def late_text(done: Node) -> list[tuple[str, Node]]:
    """The events of a text part of which all that came is its end, the transcript of audio.

    `done` is the content of that end, `response.content_part.done`.
    """
    part, at = done["part"], {"content_index": done.get("content_index", 0)}
    opening = {**part, "text": ""}
    return [
        ("response.content_part.added", {**at, "part": opening}),
        ("response.output_text.delta", {**at, "delta": part["text"]}),
        ("response.output_text.done", {**at, "text": part["text"]}),
        ("response.content_part.done", done),
    ]


class Part:
    """A part, or an item's own text: the pieces that came, and what is still owed."""

    __slots__ = ("annotations", "kind", "open", "pieces", "said")

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.open = True
        # Whether its `.done` came.
        self.said = False
        self.annotations = 0


class Item:
    """An item that was announced."""

    __slots__ = ("index", "node", "open", "own", "parts")

    def __init__(self, index: int, node: Node) -> None:
        self.index = index
        self.node = node
        self.open = True
        self.own = Part()
        self.parts: dict[tuple[str, int], Part] = {}


class Open:
    """The items of one stream, and the making of events that were not sent."""

    def __init__(self, protocol: str) -> None:
        self.items: dict[int, Item] = {}
        self.synthetic = {protocol: {"frame": {"synthetic": True}}}

    def made(self, kind: str, **fields: Any) -> Event:
        """An event that had no frame on the wire."""
        return {"type": kind, **fields, "extra": self.synthetic}

    def announce(self, index: int, type_: str, event: Node, out: list[Event]) -> Item:
        """Announce an item that the stream refers to without having announced it."""
        node: Node = {"type": type_}
        id_ = event.get("item_id") or (event.get("item") or {}).get("id")
        if id_ is not None:
            node["id"] = id_
        zeros, stem = OPENINGS.get(type_, ({}, ""))
        for key, value in zeros.items():
            node[key] = [] if value == [] else value
        source = event.get("item") or event
        for key in ("name", "call_id", "role", "server_label"):
            if source.get(key) is not None and (key != "role" or "role" in zeros):
                node[key] = source[key]
        if "call" in type_ and "call_id" not in node and stem.startswith(("response.function", "response.custom")):
            node["call_id"] = id_
        item = self.items[index] = Item(index, node)
        out.append(self.made("response.output_item.added", output_index=index, item=node))
        return item

    def added(self, item: Item, where: str, at: int, part: Node) -> None:
        """A part was announced, with what it holds already."""
        known = item.parts[where, at] = Part(PART_STEMS.get(part.get("type", ""), ("", ""))[0])
        text = part.get(PART_STEMS.get(part.get("type", ""), ("", "text"))[1])
        if text:
            known.pieces.append(text)
        known.annotations = len(part.get("annotations") or ())

    def part(self, item: Item, where: str, at: int, stem: str, out: list[Event]) -> Part:
        """The part at a place, announced now if it was not."""
        part = item.parts.get((where, at))
        if part is None:
            type_ = next((kind for kind, (its, _) in PART_STEMS.items() if its == stem), stem)
            stem, key = PART_STEMS.get(type_, ("response.output_text", "text"))
            part = item.parts[where, at] = Part(stem)
            node: Node = {"type": type_, key: ""}
            if type_ == "output_text":
                node["annotations"] = []
            out.append(self.made(f"{BRACKETS[where]}.added", **self._at(item, where, at), part=node))
        return part

    def top_up(self, item: Item, part: Part, stem: str, value: Any, where: str, at: int, out: list[Event]) -> None:
        """Send what the whole value has beyond its pieces."""
        if type(value) is not str:
            return
        said = "".join(part.pieces)
        if len(value) > len(said) and value.startswith(said):
            place = self._at(item, where, at) if where else self._at(item)
            out.append(self.made(f"{stem}.delta", **place, delta=value[len(said) :]))
            part.pieces.append(value[len(said) :])

    def close_part(self, item: Item, where: str, at: int, node: Node, out: list[Event], bracket: bool = True) -> None:
        """End a part with what it turned out to be: the rest of its text, its sources, its own end."""
        stem, key = PART_STEMS.get(node.get("type", ""), ("", ""))
        part = item.parts.get((where, at))
        if part is None and not stem:
            part = item.parts[where, at] = Part()
            out.append(self.made(f"{BRACKETS[where]}.added", **self._at(item, where, at), part=node))
        elif part is None:
            part = self.part(item, where, at, stem, out)
        if not part.open:
            return
        place = self._at(item, where, at)
        if stem:
            self.top_up(item, part, stem, node.get(key), where, at, out)
            sources = node.get("annotations") or ()
            for number in range(part.annotations, len(sources)):
                kind = "response.output_text.annotation.added"
                out.append(self.made(kind, **place, annotation_index=number, annotation=sources[number]))
            if not part.said and type(node.get(key)) is str:
                out.append(self.made(f"{stem}.done", **place, **{key: node[key]}))
                part.said = True
        part.open = False
        if bracket:
            out.append(self.made(f"{BRACKETS[where]}.done", **place, part=node))

    def close(self, item: Item, node: Node, out: list[Event]) -> None:
        """Send all parts of an item's end that the events before it did not have; the end itself is the caller's."""
        item.open = False
        for where in ("summary", "content"):
            nodes = node.get(where)
            for at, part in enumerate(nodes if type(nodes) is list else ()):
                self.close_part(item, where, at, part, out)
        stem = OPENINGS.get(node.get("type", ""), ({}, ""))[1]
        if stem:
            key = next(iter(k for k in ("arguments", "input", "code") if stem.endswith(k)))
            opened = item.node.get(key)
            if type(opened) is str and opened and not item.own.pieces:
                item.own.pieces.append(opened)
                if opened == node.get(key):
                    item.own.said = True
            self.top_up(item, item.own, stem, node.get(key), "", 0, out)
            if not item.own.said and node.get(key):
                out.append(self.made(f"{stem}.done", **self._at(item), **{key: node[key]}))
                item.own.said = True

    def finish(self, output: list[Node] | None, out: list[Event]) -> None:
        """End what is open, and announce what only the whole response has."""
        ids = {item.node.get("id"): index for index, item in self.items.items() if item.node.get("id")}
        for index, node in enumerate(output or ()):
            if type(node) is not dict:
                continue
            place = ids.get(node.get("id"), index)
            item = self.items.get(place)
            if item is None:
                item = self.announce(place, str(node.get("type")), {"item": node}, out)
            if item.open:
                self.close(item, node, out)
                out.append(self.made("response.output_item.done", output_index=place, item=node))
        if output is None:
            for item in self.items.values():
                if item.open:
                    node = self._built(item)
                    self.close(item, node, out)
                    out.append(self.made("response.output_item.done", output_index=item.index, item=node))

    def _built(self, item: Item) -> Node:
        """An item that was not finished, out of its pieces."""
        node = {**item.node}
        stem = OPENINGS.get(node.get("type", ""), ({}, ""))[1]
        for key in ("arguments", "input", "code"):
            if stem.endswith(key) and item.own.pieces:
                node[key] = "".join(item.own.pieces)
        for (where, _), part in sorted(item.parts.items()):
            type_ = next((kind for kind, (stem, _) in PART_STEMS.items() if stem == part.kind), None)
            if type_ is not None:
                built = {"type": type_, PART_STEMS[type_][1]: "".join(part.pieces)}
                node[where] = [*(node.get(where) or ()), built]
        return node

    def _at(self, item: Item, where: str = "", at: int = 0) -> Node:
        place: Node = {"output_index": item.index}
        if item.node.get("id") is not None:
            place["item_id"] = item.node["id"]
        if where:
            place["summary_index" if where == "summary" else "content_index"] = at
        return place


def beginning_of(item: Node) -> Node:
    """An item as its stream begins it: without its content, and without what only its end has."""
    bare = {key: value for key, value in item.items() if key not in ("opaque", "extra", "turn", "status")}
    for key in ("content", "summary"):
        if type(bare.get(key)) is list or type(bare.get(key)) is str:
            bare[key] = []
    if "arguments" in bare and type(bare["arguments"]) is str and bare["type"] in ("function_call", "mcp_call"):
        bare["arguments"] = ""
    if "input" in bare:
        bare["input"] = ""
    if item["type"] == "message":
        bare.setdefault("role", "assistant")
    return bare
