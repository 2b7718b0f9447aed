"""The fast path: a delta equal to the last one but for its text, which is the bulk of every stream.

A template of the last delta is kept. The text of a new event is put into it, and one comparison of dicts, made in C,
checks whether anything else differs; if not, only the text of the event is new. Anything else takes the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.streams.event_fast_path import ReadMore, WriteMore

__all__ = ["Plain", "more_deltas"]

Event = dict[str, Any]


class Plain:
    """A delta of a text, of a summary's text, or of arguments; `like` is what it became, `said` what notes its text."""

    __slots__ = ("asked", "like", "more")

    def __init__(self, index: int, kind: str, like: Event, said: Callable[[str], None]) -> None:
        self.like = like
        # How more of it is read, and whether it is tried on what comes.
        self.more = ReadMore(*_template(index, kind), said)
        self.asked = False

    def same(self, event: Event) -> Event | None:
        """The canonical event of a wire event of this shape, else None."""
        text = self.more.text(event)
        return {**self.like, "delta": text} if text is not None else None


def more_deltas(index: int, kind: str, said: Callable[[str], None] | None = None) -> WriteMore:
    """How more deltas of a kind are written."""
    return WriteMore(*_template(index, kind), said)


def _template(index: int, kind: str) -> tuple[Event, tuple[str, ...]]:
    """A wire event of a delta, and where its text stands; that of a summary is a content of its own."""
    key = "arguments" if kind == "arguments_delta" else "text"
    summary = kind == "thought_summary"
    delta = {"type": kind, "content": {"text": "", "type": "text"}} if summary else {key: "", "type": kind}
    event = {"event": "step.delta", "data": {"index": index, "delta": delta, "event_type": "step.delta"}}
    return event, ("data", "delta", "content", key) if summary else ("data", "delta", key)
