"""Responses over WebSocket: messages of the client, and errors, which are messages too.

https://platform.openai.com/docs/guides/websocket-mode https://www.openresponses.org/specification
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unified_llm.engine.adapter import Socket

__all__ = ["SOCKET"]

Node = dict[str, Any]

_CREATE = "response.create"
_STEER = "response.steer"


def prepares(body: Mapping[str, Any]) -> bool:
    """Whether the model is left out: `generate` is false, or the prompt cache alone is to be warmed."""
    options = body.get("prompt_cache_options")
    return body.get("generate") is False or (type(options) is dict and options.get("prewarm") is True)


def error(value: Mapping[str, Any], status: int | None) -> Node:
    """The message of an error document, or of an `error` event, whose fields lie beside its type."""
    fields = value.get("error")
    if type(fields) is not dict:
        fields = {key: value.get(key) for key in ("code", "message", "param")}
        code = str(fields["code"] or "")
        fields["type"] = "invalid_request_error" if code.startswith("invalid_") else "server_error"
    message: Node = {"type": "error", "error": fields}
    if status is not None:
        message["status"] = status
    if type(value.get("sequence_number")) is int:
        message["sequence_number"] = value["sequence_number"]
    return message


def refused(message: Mapping[str, Any]) -> Node | None:
    """Steering is not supported: its input goes back to the client, which may send it as a request."""
    if message.get("type") != _STEER:
        return None
    text = "this server cannot steer a response; send the input as a response.create"
    failure = {"type": "invalid_request_error", "code": "steering_not_supported", "message": text}
    steer = {key: message[key] for key in ("previous_response_id", "input") if key in message}
    return {"type": f"{_STEER}.failed", "sequence_number": 0, "error": failure, "steer": steer}


# A stream is what a socket gives in any case, and what it runs in the background cannot be fetched.
SOCKET = Socket(
    path="responses",
    create=_CREATE,
    own=frozenset(("type", "generate", "stream_id", "stream", "stream_options")),
    prepares=prepares,
    error=error,
    refused=refused,
    lane="stream_id",
    lane_form=r"[A-Za-z0-9_.-]{1,256}",
    active=16,
    lanes=32,
    lifetime=3600.0,
    codes=("invalid_stream_id", "websocket_stream_limit_reached", "websocket_connection_limit_reached"),
)
