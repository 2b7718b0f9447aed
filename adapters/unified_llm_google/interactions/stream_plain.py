"""The fast path: a delta equal to the last one but for its text, which is the bulk of every stream.

A template of the last delta is kept. The text of a new event is put into it, and one comparison of dicts, made in C,
says whether anything else differs; if not, the event is known but for its text. Anything else goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unified_llm.adapter import ReadMore

__all__ = ["Plain"]

Event = dict[str, Any]
Node = dict[str, Any]


class Plain:
    """A delta of a text, of a summary's text, or of arguments; `like` is what it became, `said` what notes its text."""

    __slots__ = ("like", "more")

    def __init__(self, index: int, kind: str, like: Event, said: Callable[[str], None]) -> None:
        self.like = like
        self.more = (_in_content if kind == "thought_summary" else _in_delta)(index, kind, said)

    def feed(self, event: Event) -> list[Event] | None:
        """The canonical event of a wire event of this shape, else None."""
        found = self.more(event)
        return None if found is None else [{**self.like, "delta": found[0]}]


def _wire(index: int, delta: Node) -> Event:
    return {"event": "step.delta", "data": {"index": index, "delta": delta, "event_type": "step.delta"}}


def _in_delta(index: int, kind: str, said: Callable[[str], None]) -> ReadMore:
    """The text of a wire event of this shape, noted as said; None for any other."""
    key = "text" if kind == "text" else "arguments"
    delta = {"type": kind, key: ""}
    like = _wire(index, delta)

    def more(event: Event) -> tuple[str, Any] | None:
        try:
            text = delta[key] = event["data"]["delta"][key]
        except (KeyError, TypeError):
            return None
        if event != like or not text or type(text) is not str:
            return None
        said(text)
        return text, None

    return more


def _in_content(index: int, kind: str, said: Callable[[str], None]) -> ReadMore:
    """The same for the text of a summary, which is a content of its own."""
    content = {"type": "text", "text": ""}
    like = _wire(index, {"type": kind, "content": content})

    def more(event: Event) -> tuple[str, Any] | None:
        try:
            text = content["text"] = event["data"]["delta"]["content"]["text"]
        except (KeyError, TypeError):
            return None
        if event != like or not text or type(text) is not str:
            return None
        said(text)
        return text, None

    return more
