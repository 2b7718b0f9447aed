"""Answers in the other form than was asked for: whole ones as streams, streams as whole ones.

Some servers stream unless they are told not to, others do not stream at all. What they say is what was asked for all
the same, so it is put into the form that the caller awaits, in the upstream's own protocol.
"""

from __future__ import annotations

from typing import Any

from ..convert import write
from ..jsonarray import StreamDecoder
from ..jsonvalue import detached, dump
from ..reading import Reader
from ..registry import provider_of, split
from ..sse import encode, parse_data
from ..stream import collect, decompose
from ..streaming import read_stream, write_stream
from .upstream import Upstream

__all__ = ["as_document", "as_stream"]


def as_stream(value: Any, upstream: Upstream) -> list[bytes]:
    """A whole answer as the bytes of a stream."""
    adapter, dialect = split(upstream.protocol)
    provider = provider_of(upstream.protocol, dialect)
    reader = Reader(adapter.protocol, dialect=dialect, facing="client", provider=provider)
    node = reader.root(adapter.kinds["response"].read, detached(value))
    named = adapter.streams.framing.named
    out = []
    for event in write_stream(decompose(node), upstream.protocol):
        data = event["data"]
        out.append(encode(event["event"] if named else None, data if isinstance(data, str) else dump(data)))
    return out


def as_document(raw: bytes, upstream: Upstream) -> Any:
    """The bytes of a stream as a whole answer. Raises `RemoteProtocolError` for a stream that was cut off."""
    decoder = StreamDecoder()
    events = [
        {"event": event["event"], "data": parse_data(event["data"])} for event in [*decoder.feed(raw), *decoder.close()]
    ]
    return write(collect(read_stream(events, upstream.protocol)), upstream.protocol, "response").value
