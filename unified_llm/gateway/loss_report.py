"""Where a client of the gateway finds the losses of its request: in a response header, in the response, or nowhere.

In the response they are an entry of its `metadata`, in protocols that have it. A value of it has at most 512 characters
(https://platform.openai.com/docs/api-reference/responses/object), so the first losses are listed, and all are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ..client.transports.report_headers import LOSSES, bounded
from ..client.transports.stream_translation import SurfaceStream
from ..client.transports.translator import Reply
from ..errors import InvalidBody
from ..jsonvalue import dump, parse
from ..losses import Losses
from ..registry import adapter
from ..sse import encode
from .replies import Finish

__all__ = ["KEY", "finishing", "placed"]

KEY = "unified_llm.losses"
_LONGEST = 500


@lru_cache(64)
def _field(protocol: str) -> str | None:
    """The field of a protocol's responses for metadata."""
    table = adapter(protocol).settings.get("response")
    return table.wire_key(("metadata",)) if table is not None else None


def placed(reply: Reply, protocol: str, where: str) -> Reply:
    """The reply with its losses where the configuration wants them (`telemetry.losses`)."""
    headers = reply.headers
    if where in ("body", "off"):
        headers = {name: value for name, value in headers.items() if name != LOSSES}
    content = reply.content
    field = _field(protocol)
    if where in ("body", "both") and reply.losses and field and reply.stream is None and reply.status < 300:
        content = dump(_noted(parse(content), field, reply.losses))
    return replace(reply, headers=headers, content=content)


def finishing(finish: Finish | None, reply: Reply, protocol: str, where: str) -> Finish | None:
    """What is done at the end of a stream: `finish`, and then the losses are part of its last response."""
    field = _field(protocol)
    if where not in ("body", "both") or not field or reply.stream is None:
        return finish

    async def finished(surface: SurfaceStream, out: list[bytes]) -> list[bytes]:
        out = out if finish is None else await finish(surface, out)
        losses = Losses([*reply.losses, *surface.losses])
        return [_event(each, field, losses) for each in out] if losses else out

    return finished


def _noted(node: Any, field: str, losses: Losses) -> Any:
    """A response with the losses among its metadata."""
    if not isinstance(node, dict) or not isinstance(node.get(field) or {}, dict):
        return node
    text = bounded([[loss.path, loss.capability, loss.fate] for loss in losses], _LONGEST)
    return {**node, field: {**(node.get(field) or {}), KEY: text}}


def _event(frame: bytes, field: str, losses: Losses) -> bytes:
    """An event whose response has the losses; any other event as it is."""
    lines = frame.split(b"\n")
    try:
        data = parse(b"".join(line[5:] for line in lines if line.startswith(b"data:")))
    except InvalidBody:
        return frame
    named: Mapping[str, Any] = data if isinstance(data, dict) else {}
    for name, node in named.items():
        if isinstance(node, dict) and "usage" in node and "status" in node and field in node:
            event = next((line[6:].strip().decode() for line in lines if line.startswith(b"event:")), None)
            return encode(event, dump({**named, name: _noted(node, field, losses)}).decode())
    return frame
