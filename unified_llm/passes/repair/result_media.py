"""Images and files in the results of calls, for a target that has results of text: they are sent as the user's."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .editor import Mending
from .rules import CALLS

__all__ = ["carry_result_media", "has_result_media"]

Node = dict[str, Any]

_RESULTS = frozenset(CALLS.values())
_WHY = "moved to a user message after the results"


def has_result_media(items: list[Node], refused: Collection[str]) -> bool:
    """Whether a result has a part of these kinds."""
    return any(_media(item, refused) for item in items)


def _media(item: Node, refused: Collection[str]) -> list[Node]:
    output = item.get("output") if item.get("type") in _RESULTS else None
    return [part for part in output if part.get("type") in refused] if type(output) is list else []


def carry_result_media(m: Mending, refused: Collection[str]) -> None:
    """Put what each step's results have of these kinds into one message behind them, labeled with the calls."""
    out: list[Node] = []
    waiting: list[Node] = []
    for item in [*m.items]:
        if item.get("type") not in _RESULTS and waiting:
            out.append(m.make({"type": "message", "role": "user", "content": waiting}))
            waiting = []
        media = _media(item, refused)
        if media:
            moved = {id(part) for part in media}
            left = [part for part in item["output"] if id(part) not in moved]
            item = m.own(item, output=left or "The result follows.")
            waiting.append({"type": "input_text", "text": f"Result of tool call {item.get('call_id')}:"})
            waiting += media
            for part in media:
                m.report(part, (), "approximated", _WHY, "tools.result.media")
        out.append(item)
    if waiting:
        out.append(m.make({"type": "message", "role": "user", "content": waiting}))
    m.put(out)
