"""Why a prompt was not read from a cache: the diagnostics of a message and the canonical ones, which are OpenAI's.

A diagnosis without an equivalent on the other side stays with its protocol and is reported.

https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, IllTyped, lookup

__all__ = ["read_diagnostics", "write_diagnostics"]

Node = dict[str, Any]

_CHANGED = Bimap(
    {
        "model_changed": "model_changed",
        "tools_changed": "tools_changed",
        "system_changed": "system_changed",
        "messages_changed": "input_changed",
    }
)
_BARE = Bimap({"previous_message_not_found": "comparison_response_not_found", "unavailable": "unavailable"})
_MISS, _TOKENS = "cache_missed_input_tokens", "cache_missed_tokens"


def read_diagnostics(value: Any) -> Node:
    """The canonical diagnostics; raises `IllTyped` for those that are still pending (a null) or have other keys."""
    reason = value["cache_miss_reason"]
    kind = reason["type"]
    if len(value) == 1 and lookup(_CHANGED.reads, kind) and reason.keys() == {"type", _MISS}:
        return {"type": "cache_miss", "reason": _CHANGED.read(kind), _TOKENS: reason[_MISS]}
    if len(value) == 1 and lookup(_BARE.reads, kind) and reason.keys() == {"type"}:
        return {"type": _BARE.read(kind)}
    raise IllTyped("diagnostics")


def write_diagnostics(value: Any) -> Node:
    """The diagnostics of a message; raises `IllTyped` for what it cannot represent, such as a hit."""
    kind = value["type"]
    if (
        kind == "cache_miss"
        and lookup(_CHANGED.writes, value["reason"])
        and value.keys() == {"type", "reason", _TOKENS}
    ):
        return {"cache_miss_reason": {"type": _CHANGED.write(value["reason"]), _MISS: value[_TOKENS]}}
    if lookup(_BARE.writes, kind) and value.keys() == {"type"}:
        return {"cache_miss_reason": {"type": _BARE.write(kind)}}
    raise IllTyped("diagnostics")
