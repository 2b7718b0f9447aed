"""Messages in the event stream of a cloud: binary frames, each of which contains one event of the stream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from unified_llm.foundation.errors import InvalidBody
from unified_llm.foundation.json_codec import dump, parse
from unified_llm.streams.framings.eventstream import FrameDecoder
from unified_llm.streams.framings.sse import encode

__all__ = ["Decoder"]

# The errors of the platform in the words of the protocol.
_ERRORS = {
    "accessDeniedException": "permission_error",
    "internalServerException": "api_error",
    "modelStreamErrorException": "api_error",
    "modelTimeoutException": "timeout_error",
    "resourceNotFoundException": "not_found_error",
    "serviceUnavailableException": "overloaded_error",
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
}


class Decoder:
    """Bytes of the event stream in, bytes of server-sent events out."""

    def __init__(self) -> None:
        self._decoder = FrameDecoder()

    def feed(self, chunk: bytes) -> bytes:
        """The events of all frames that are complete.

        Raises `RemoteProtocolError` for a damaged frame, and `ValueError` for one whose payload is.
        """
        damaged = False
        out: list[bytes] = []
        frames = self._decoder.feed(chunk)
        try:
            out += [_event(frame.headers, frame.payload) for frame in frames]
        except (binascii.Error, InvalidBody):
            damaged = True
        if damaged:
            raise ValueError("a frame of the event stream is damaged")
        return b"".join(out)


def _event(headers: dict[str, Any], payload: bytes) -> bytes:
    kind = headers.get(":message-type")
    if kind == "event":
        data = parse(payload).get("bytes") if headers.get(":event-type") == "chunk" else None
        if not isinstance(data, str):
            return b""
        event = base64.b64decode(data, validate=True)
        node = parse(event)
        return encode(str(node["type"]), event) if isinstance(node, dict) and "type" in node else b""
    name = str(headers.get(":exception-type") or headers.get(":error-code") or "")
    message = headers.get(":error-message")
    if kind == "exception":
        node = parse(payload) if payload else {}
        message = node.get("message") if isinstance(node, dict) else None
    error = {"type": _ERRORS.get(name, "api_error"), "message": str(message or name or "the stream failed")}
    return encode("error", dump({"type": "error", "error": error}))
