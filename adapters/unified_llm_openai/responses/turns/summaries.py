"""Readable reasoning of other protocols as a summary, for clients that requested one.

Clients of the API show `summary`; `reasoning_text` is the raw reasoning of open models, which few of them show. A
provider whose reasoning is one text reaches both only if that text is the summary where a summary was requested.

https://platform.openai.com/docs/guides/reasoning#reasoning-summaries
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer

__all__ = ["EVENTS_SUMMARIZED", "summarize", "summarized", "wants_summary"]

Node = dict[str, Any]

EVENTS_SUMMARIZED = {
    "response.content_part.added": "response.reasoning_summary_part.added",
    "response.reasoning_text.delta": "response.reasoning_summary_text.delta",
    "response.reasoning_text.done": "response.reasoning_summary_text.done",
    "response.content_part.done": "response.reasoning_summary_part.done",
}
"""The events of reasoning text, with those of a summary."""


def wants_summary(w: Writer) -> bool:
    """Whether an answer of another protocol is written for a client whose request has summaries."""
    if not w.crosses or w.facing != "client" or w.exchange is None:
        return False
    asked = w.exchange.settings.get("reasoning")
    if type(asked) is not dict:
        return False
    return any(asked.get(key) not in (None, "none") for key in ("summary", "generate_summary"))


def summarize(wire: Node, c: Node) -> None:
    """Make the text of a written reasoning item its summary, if it has none; `c` is what is left of the item."""
    content = wire.get("content")
    if wire.get("summary") or type(content) is not list:
        return
    if not all(type(part) is dict and part.get("type") == "reasoning_text" for part in content):
        return
    del wire["content"]
    wire["summary"] = [{**part, "type": "summary_text"} for part in content]
    if content:
        c["content"] = Fated("approximated", "sent as the requested summary")


def summarized(event: Node) -> Node:
    """The event of a summary for one of reasoning text."""
    out = {**event, "type": EVENTS_SUMMARIZED[event["type"]]}
    if "content_index" in out:
        out["summary_index"] = out.pop("content_index")
    if type(out.get("part")) is dict:
        out["part"] = {**out["part"], "type": "summary_text"}
    return out
