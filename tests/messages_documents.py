"""Documents of Messages for tests, what is read from them, and what the SDK makes of a stream."""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic._models import construct_type_unchecked
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import BetaRawMessageStreamEvent

import unified_llm as ul
from unified_llm import suite

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
Node = dict[str, Any]

HI = [{"role": "user", "content": "hi"}]


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in ("extra", "turn")}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def canonical(body: Any, kind: str = "request") -> Any:
    return bare(suite.canonical(body, MESSAGES, kind))


def request(**settings: Any) -> Any:
    return canonical({"model": "m", "max_tokens": 9, "messages": HI, **settings})


def write(*items: Node, **settings: Any) -> ul.Converted:
    body: Node = {"model": "m", "max_output_tokens": 9, "input": list(items) or "hi", **settings}
    return ul.write(body, MESSAGES)


def accumulated(events: list[Node]) -> Node:
    """The message that the SDK's own helper makes of a stream."""
    snapshot, buffers = None, {}  # type: ignore[var-annotated]
    for data in events:
        if data["type"] == "ping":
            continue
        event = construct_type_unchecked(type_=BetaRawMessageStreamEvent, value=data)  # type: ignore[arg-type]
        snapshot = accumulate_event(
            event=event, current_snapshot=snapshot, json_bufs=buffers, request_headers=httpx2.Headers()
        )
    assert snapshot is not None
    return dict(snapshot.to_dict(mode="json"))
