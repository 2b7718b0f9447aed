"""Whether what came with status 200 is an answer at all.

Proxies, wrong base URLs and broken servers answer with pages, `null`, `{}`, `{"detail": "Not Found"}`, or with another
protocol's documents. A lenient reader would make an empty answer of them. Adapters declare what an answer and an event
of theirs are recognized by (`Kind.proof`, `Streams.proof`); the rule that uses it is here alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...engine.adapter import Adapter, Proof
from ...foundation.json_paths import at

__all__ = ["error_in", "is_answer", "is_event"]


def is_answer(adapter: Adapter, kind: str, value: Any) -> bool:
    """Whether a JSON value is an answer of that kind.

    >>> from unified_llm.engine.registry import adapter
    >>> chat = adapter("openai-chat")
    >>> [is_answer(chat, "response", each) for each in ({"choices": []}, {}, {"detail": "Not Found"}, None, [])]
    [True, False, False, False, False]
    """
    declared = adapter.kinds.get(kind)
    return type(value) is dict and (declared is None or _proven(declared.proof, value))


def is_event(adapter: Adapter, event: dict[str, Any]) -> bool:
    """Whether a wire event (`event`, `data`) is one of the protocol's own, beside pings and the like.

    >>> from unified_llm.engine.registry import adapter
    >>> is_event(adapter("anthropic-messages"), {"event": "message_start", "data": {"type": "message_start"}})
    True
    >>> is_event(adapter("anthropic-messages"), {"event": "ping", "data": {"type": "ping"}})
    False
    """
    data = event["data"]
    if type(data) is not dict:
        return False
    name = event.get("event")
    # An event's name is repeated in its data, but not by every server.
    return _proven(adapter.streams.proof, data) or (
        type(name) is str and any(_fits(name, wanted) for wanted in adapter.streams.proof.values())
    )


def error_in(adapter: Adapter, kind: str, value: Any) -> dict[str, Any] | None:
    """The error in a whole answer, if it has one: work that failed, or a router whose upstream did.

    >>> from unified_llm.engine.registry import adapter
    >>> error_in(adapter("openai-responses"), "response", {"status": "failed", "error": {"code": "server_error"}})
    {'code': 'server_error'}
    >>> error_in(adapter("openai-chat"), "response", {"choices": [{"error": {"code": 502}}]})
    {'code': 502}
    """
    declared = adapter.kinds.get(kind)
    for path in declared.errors if declared is not None else (("error",),):
        found = at(value, path)
        if type(found) is dict and found:
            return found
    return None


def _proven(proof: Proof, value: dict[str, Any]) -> bool:
    for key, wanted in proof.items():
        if _fits(value.get(key), wanted):
            return True
    return not proof


def _fits(value: Any, wanted: type | tuple[str, ...] | Mapping[str, type]) -> bool:
    if isinstance(wanted, Mapping):
        return type(value) is list and (not value or any(_has(each, wanted) for each in value))
    if wanted is list and type(value) is list:
        return not value or any(type(each) is dict for each in value)  # `[null]` has no choice
    return type(value) is wanted if isinstance(wanted, type) else type(value) is str and value.startswith(wanted)


def _has(value: Any, wanted: Mapping[str, type]) -> bool:
    return type(value) is dict and any(type(value.get(key)) is kind for key, kind in wanted.items())
