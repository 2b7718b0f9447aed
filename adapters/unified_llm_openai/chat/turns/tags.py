"""Reasoning between tags at the beginning of a content, where the server of a dialect has it (`<think>...</think>`).

Text is kept to the letter on both sides of a tag: blank lines around them are the model's own. An answer that was cut
off inside has no closing tag. In a stream a tag may be cut anywhere: what may still become one waits for the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["TAGS", "Scanner", "read_tagged", "tagged"]

Node = dict[str, Any]

TAGS = "tags"
"""The marker of reasoning that was between tags."""


def read_tagged(rest: Node, wire: Node, r: Reader) -> list[Node]:
    """The reasoning item of a content that opens with the tag; what follows stays the content."""
    opening, closing = r.dialect["reasoning_tags"]
    content = rest.get("content")
    if type(content) is not str or not content.startswith(opening):
        return []
    text, closed, rest["content"] = content[len(opening) :].partition(closing)
    item: Node = {"type": "reasoning", "summary": []}
    if text:
        part = r.made({"type": "reasoning_text", "text": text}, wire)
        r.place(part, ("text",), ("content",))
        item["content"] = [part]
    r.form(item, "field", TAGS)
    if not closed:
        r.form(item, "closing", "absent")
    return [r.made(item, wire)]


def tagged(text: str, item: Node, w: Writer) -> str:
    """The text of a reasoning item between the dialect's tags."""
    opening, closing = w.dialect["reasoning_tags"]
    return f"{opening}{text}{'' if w.form(item, 'closing') else closing}"


class Scanner:
    """The content of one choice, piece by piece: which of it is reasoning, which text, and which only a tag."""

    __slots__ = ("closing", "held", "opening", "state")

    def __init__(self, opening: str, closing: str) -> None:
        self.opening, self.closing = opening, closing
        self.state = "start"
        # The end of what came so far, if it may be the beginning of a tag.
        self.held = ""

    def feed(self, piece: str) -> list[Told]:
        """The content of a piece. All of it together, each `before + text[skip:] + after`, is the piece again."""
        known, text = len(self.held), self.held + piece
        self.held = ""
        found: list[tuple[str, int, int]] = []
        place = 0
        if self.state == "start":
            if text.startswith(self.opening):
                self.state = "inside"
                place = len(self.opening)
                found.append(("opening", place, place))
            elif self.opening.startswith(text):
                self.held = text
                return []
            else:
                self.state = "outside"
        if self.state == "inside":
            end = text.find(self.closing, place)
            closed = end >= 0
            if not closed:
                end = len(text) - _overlap(text[place:], self.closing)
                self.held = text[end:]
            found.append(("reasoning", place, end))
            place = end
            if closed:
                self.state = "outside"
                place += len(self.closing)
        if self.state == "outside":
            found.append(("text", place, len(text)))
        told: list[Told] = []
        last = known
        found = [each for each in found if each[0] == "opening" or each[1] < each[2]]
        for number, (kind, start, end) in enumerate(found):
            if kind == "opening":
                told.append(Told(kind, "", "", 0, ""))
                continue
            after = text[max(end, known) :] if number + 1 == len(found) else ""
            told.append(Told(kind, text[start:end], text[last : max(start, last)], max(0, known - start), after))
            last = max(end, known)
        return told

    def close(self) -> tuple[str, str]:
        """The kind and text of what waited in vain."""
        held, self.held = self.held, ""
        return ("reasoning" if self.state == "inside" else "text"), held


class Told(NamedTuple):
    """A text of one kind ("reasoning" or "text"; "opening" is none, but the moment reasoning begins).

    `before` and `after` are what of the piece is around it, `skip` how much of it came with pieces before.
    """

    kind: str
    text: str
    before: str
    skip: int
    after: str


def _overlap(text: str, tag: str) -> int:
    """How much of the end of a text may be the beginning of a tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0)
