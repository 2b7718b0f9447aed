"""The short way: a delta equal to the last one but for its text, which is the bulk of every stream.

A template of the last delta is kept. The text of a new event is put into it, and one comparison of dicts, made in C,
says whether anything else differs; if not, the event is known but for its text. Anything else goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.adapter import WriteMore

__all__ = ["Plain", "more_deltas", "more_thoughts"]

Event = dict[str, Any]
Node = dict[str, Any]
Like = Callable[[Event], "Event | None"]


class Plain:
    """A delta of a text, of a summary's text, or of arguments; `like` is what it became, `said` what notes its text."""

    __slots__ = ("_same", "asked", "index", "key", "kind", "like", "said")

    def __init__(self, index: int, kind: str, like: Event, said: Callable[[str], None]) -> None:
        self.index, self.kind, self.said = index, kind, said
        self.key = "arguments" if kind == "arguments_delta" else "text"
        self.like = like
        # Whether whoever asked for `reading` tries it on what comes.
        self.asked = False
        self._same: Like | None = None

    def same(self, event: Event) -> Event | None:
        """The canonical event of a wire event of this shape, else None."""
        if self._same is None:
            self._same = self.reading(lambda text, source: {**self.like, "delta": text})
        return self._same(event)

    def reading(self, write: Callable[..., Event]) -> Like:
        """What writes the text of a wire event of this shape, noted as said; None for any other."""
        if self.kind == "thought_summary":
            return _in_content(self.index, self.kind, self.said, write)
        return _in_delta(self.index, self.kind, self.key, self.said, write)


def _wire(index: int, delta: Node) -> Event:
    return {"event": "step.delta", "data": {"index": index, "delta": delta, "event_type": "step.delta"}}


def _in_delta(index: int, kind: str, key: str, said: Callable[[str], None], write: Callable[..., Event]) -> Like:
    delta = {"type": kind, key: ""}
    like = _wire(index, delta)

    def more(event: Event) -> Event | None:
        try:
            text = delta[key] = event["data"]["delta"][key]
        except (KeyError, TypeError):
            return None
        if event != like or not text or type(text) is not str:
            return None
        said(text)
        return write(text, event)

    return more


def _in_content(index: int, kind: str, said: Callable[[str], None], write: Callable[..., Event]) -> Like:
    """The text of a summary is a content of its own."""
    content = {"type": "text", "text": ""}
    like = _wire(index, {"type": kind, "content": content})

    def more(event: Event) -> Event | None:
        try:
            text = content["text"] = event["data"]["delta"]["content"]["text"]
        except (KeyError, TypeError):
            return None
        if event != like or not text or type(text) is not str:
            return None
        said(text)
        return write(text, event)

    return more


def more_deltas(index: int, delta: Node, key: str, said: Callable[[str], None] | None = None) -> WriteMore:
    """What writes more deltas like this one, of which `key` is the text."""
    return WriteMore.of_delta(_wire(index, delta), key, said)


def more_thoughts(index: int) -> WriteMore:
    """The same of a thought's summary."""

    def more(text: str, source: Event | None = None) -> Event:
        return _wire(index, {"type": "thought_summary", "content": {"text": text, "type": "text"}})

    return WriteMore(more, None, "text")
