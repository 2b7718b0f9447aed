"""Which decoder reads the stream of a surface, and what its own clients are sent: its declared framing decides.

Within the library every stream is server-sent events. Where a surface frames its events otherwise, the code that hands
them to its client frames each of them last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .eventstream import BinaryDecoder, reframed
from .jsonarray import StreamDecoder
from .lines import LinesDecoder, lined
from .sse import SSEDecoder

if TYPE_CHECKING:
    from ...engine.adapter import Framing

__all__ = ["Decoder", "as_sent", "decoder_of", "framed"]

Decoder = SSEDecoder | StreamDecoder | BinaryDecoder | LinesDecoder


def decoder_of(framing: Framing) -> Decoder:
    """What turns the bytes of a stream into events. Server-sent events are read, too, whatever the framing."""
    if framing.binary:
        return BinaryDecoder()
    if framing.lines:
        return LinesDecoder()
    return StreamDecoder() if framing.array else SSEDecoder()


def framed(framing: Framing) -> Callable[[bytes], bytes] | None:
    """What makes frames of complete server-sent events; None for a surface that has these."""
    return reframed if framing.binary else lined if framing.lines else None


def as_sent(framing: Framing, events: bytes) -> bytes:
    """Complete server-sent events as the surface frames them."""
    frames = framed(framing)
    return frames(events) if frames is not None else events
