"""Where a client of the gateway finds the losses of its request: in a response header, in the response, or nowhere.

In the response they are an entry of its `metadata`, in protocols that have it. A value of it has at most 512 characters
(https://platform.openai.com/docs/api-reference/responses/object), so the first losses are listed, and all are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from ...client.transports.report_headers import LOSSES, bounded
from ...client.transports.stream_translation import SurfaceStream
from ...client.transports.translator import Reply
from ...engine.registry import adapter
from ...foundation.errors import InvalidBody
from ...foundation.json_codec import dump, parse
from ...losses import Losses
from ...streams.framings.sse import encode

__all__ = ["KEY", "placed"]

KEY = "unified_llm.losses"
_LONGEST = 500
_ENDS = ("completed", "failed", "incomplete")


@lru_cache(64)
def _field(protocol: str) -> str | None:
    """The field of a protocol's responses for metadata."""
    table = adapter(protocol).settings.get("response")
    return table.wire_key(("metadata",)) if table is not None else None


def placed(reply: Reply, protocol: str, where: str) -> Reply:
    """The reply with its losses where the configuration puts them (`telemetry.losses`).

    In a stream they are part of the response in its last event, before the response is stored.
    """
    if where == "header":  # where they are
        return reply
    headers = reply.headers
    if where in ("body", "off"):
        headers = {name: value for name, value in headers.items() if name != LOSSES}
    content = reply.content
    field = _field(protocol) if where in ("body", "both") else None
    if field and reply.stream is not None:
        reply.stream.alters.append(partial(_event, reply, reply.stream, field))
    elif field and reply.losses and reply.status < 300:
        content = dump(_noted(parse(content), field, reply.losses))
    return replace(reply, headers=headers, content=content)


def _noted(node: Any, field: str, losses: Losses) -> Any:
    """A response with the losses among its metadata."""
    if not isinstance(node, dict) or not isinstance(node.get(field) or {}, dict):
        return node
    text = bounded([[loss.path, loss.capability, loss.fate] for loss in losses], _LONGEST)
    return {**node, field: {**(node.get(field) or {}), KEY: text}}


def _event(reply: Reply, stream: SurfaceStream, field: str, frame: bytes) -> bytes:
    """The last event with the losses in its response; any other event as it is."""
    if b'"usage"' not in frame or not stream.is_complete:
        return frame
    lines = frame.split(b"\n")
    try:
        data = parse(b"".join(line[5:] for line in lines if line.startswith(b"data:")))
    except InvalidBody:
        return frame
    losses = Losses([*reply.losses, *stream.losses])
    named: Mapping[str, Any] = data if isinstance(data, dict) else {}
    for name, node in named.items():
        if isinstance(node, dict) and "usage" in node and node.get("status") in _ENDS and field in node and losses:
            event = next((line[6:].strip().decode() for line in lines if line.startswith(b"event:")), None)
            return encode(event, dump({**named, name: _noted(node, field, losses)}).decode())
    return frame
