"""The state of one choice of a written stream, and the parts of its frames: apart, in place, signed or not."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import fill
from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.block_writer import LateCitations

from ..turns.contents import joined, parts
from ..turns.signature import SLOT
from ..values.logprobs import are_tokens, write_logprobs
from .candidate import JOINED

__all__ = [
    "Choice",
    "apart",
    "fill_candidate",
    "is_ours",
    "medium",
    "own_signature",
    "report_once",
    "spot_of",
    "spots_of",
]

Event = dict[str, Any]
Node = dict[str, Any]


class Choice:
    """One choice while it goes out: its items so far, and per open item how many of its parts went out."""

    __slots__ = ("homes", "items", "late", "mute", "parts", "sent", "signed", "text", "texts")

    def __init__(self) -> None:
        self.items: list[Node] = []
        self.texts: list[tuple[int, Node]] = []
        # Which of them is that of an item and a part; and what each had when its item was done.
        self.homes: dict[tuple[int, int], int] = {}
        self.late = LateCitations()
        self.sent: dict[int, set[tuple[str, int]]] = {}
        self.signed: set[tuple[int, int]] = set()
        self.parts = 0
        self.text: tuple[Any, ...] | None = None
        self.mute: set[int] = set()

    def whole(self, output: Any, w: Writer) -> None:
        """Take from the whole output what the texts had not when their items were done: the last frame has it."""
        for late in self.late.beyond(output):
            home = self.homes.get((late.at, late.number))
            if home is None:
                late.report(w)
                continue
            self.texts[home] = (self.texts[home][0], late.part)
            if late.logprobs and are_tokens(late.part["logprobs"]) and "logprobs" not in w.context:
                w.piece(_weigh, late.part)
            else:
                late.report_logprobs(w)


def _weigh(c: Node, w: Writer) -> Node:
    """The log probabilities of a part, and nothing else of it."""
    for key in c.keys() - {"logprobs"}:
        del c[key]
    w.context["logprobs"] = write_logprobs(c)
    return {}


def fill_candidate(frame: Node, parts: list[Any], end: Node) -> Node:
    """One candidate of a frame, with its parts in their places."""
    wire = dict(frame["rest"])
    for key in frame.get("said", ()):
        if key in end:
            wire[key] = end[key]
    kept = frame["rest"]
    for key, value in end.items():
        # A joined list is in `rest` where it is more than this frame brought: here stands what it brought.
        if key in kept and key != "content" and key not in JOINED and type(value) is dict and type(kept[key]) is dict:
            wire[key] = fill(value, kept[key])
    if type(wire.get("content")) is dict and frame.get("parts", ()) is not None:
        template = frame.get("parts")
        parts = joined(parts)
        if template is not None:
            made = iter(parts)
            filled = [next(made, None) if literal is None else literal for literal in template]
            parts = [part for part in filled if part is not None]
        wire["content"] = {**wire["content"], "parts": parts}
    return wire


def apart(parts: list[Any], index: int, choice: Choice) -> list[Any]:
    """Whole parts, with an empty one between texts that are not one text."""
    out: list[Any] = []
    for part in parts:
        plain = type(part) is dict and "text" in part and part.keys() <= {"text", "thought"}
        thought = plain and "thought" in part
        if plain and choice.text is not None and choice.text[0] == thought:
            out.append({"text": "", "thought": True} if thought else {"text": ""})
        choice.text = (thought, index, "whole", 0) if plain else None
        out.append(part)
    return out


def medium(part: Node, index: int, spot: tuple[str, int], choice: Choice, w: Writer) -> list[Any]:
    """A medium in its place among the texts; what it lost is reported when its item is whole."""
    mark = len(w.raw)
    written = w.nodes(parts, (part,))
    w.raw[mark:] = [entry for entry in w.raw[mark:] if entry[2] == "added"]
    if written:
        choice.sent.setdefault(index, set()).add(spot)
    if any(SLOT in each for each in written):
        choice.signed.add((index, spot[1]))
    return written


def report_once(gone: list[Any], mark: int, w: Writer) -> None:
    """Leave out of the report since `mark` what was added to media that went out before: it was reported then."""
    inside = {id(node) for part in gone for node in (part, *part.values())}
    if inside:
        w.raw[mark:] = [entry for entry in w.raw[mark:] if entry[2] != "added" or id(entry[0]) not in inside]


def spot_of(kind: str, event: Event) -> tuple[str, int]:
    """Which part of its item an event is about."""
    return (
        ("summary", event["summary_index"]) if "summary_index" in event else ("content", event.get("content_index", 0))
    )


def spots_of(item: Node) -> list[tuple[str, int]]:
    """The parts of an item, in the order they are written."""
    out = []
    for key in ("summary", "content"):
        if type(item.get(key)) is list:
            out += [(key, index) for index in range(len(item[key]))]
        elif type(item.get(key)) is str:
            out.append((key, 0))
    return out


def is_ours(part: Node, w: Writer) -> bool:
    """Whether a part holds what only this protocol's reader can have put there."""
    return w.protocol in (part.get("extra") or {}) or own_signature(part, w) is not None


def own_signature(part: Node, w: Writer) -> str | None:
    """The signature of a part where it is the only opaque data and this protocol's own; else None."""
    pieces = part.get("opaque")
    if type(pieces) is not list or len(pieces) != 1:
        return None
    origin = pieces[0].get("origin") or {}
    data = pieces[0].get("data")
    return data if origin.get("protocol") == w.protocol and type(data) is str else None
