"""Answers in another form than requested: whole ones as streams, streams as whole ones.

Some servers stream unless `stream` is false, others do not stream at all. The content is what was requested all
the same, so it is put into the form that the caller awaits, in the upstream's own protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...engine.pairs.reading import Reader
from ...engine.registry import provider_of, split
from ...foundation.errors import InvalidBody, ProtocolError
from ...foundation.json_codec import detached, dump
from ...passes.convert import write
from ...streams.collect_and_decompose import collect, decompose
from ...streams.conversion import read_stream
from ...streams.framings.jsonarray import StreamDecoder
from ...streams.framings.lines import LinesDecoder
from ...streams.framings.sse import encode, is_garbled, parse_data
from ...streams.writing import write_stream
from ..upstreams.upstream import Upstream
from .api_errors import BROKEN, failed, unusable
from .response_check import is_event

__all__ = ["as_document", "as_stream"]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def as_stream(value: Any, upstream: Upstream, headers: Mapping[str, str], model: str | None) -> list[bytes]:
    """A whole answer as the bytes of a stream. Raises `ServerError` for one that is ill-formed."""
    adapter, dialect = split(upstream.protocol)
    provider = provider_of(upstream.protocol, dialect)
    reader = Reader(adapter, dialect=dialect, facing="client", provider=provider)
    named = adapter.streams.framing.named
    out = []
    try:
        node = reader.root(adapter.kinds["response"].read, detached(value))
        for event in write_stream(decompose(node), upstream.protocol):
            data = event["data"]
            out.append(encode(event["event"] if named else None, data if isinstance(data, str) else dump(data)))
        return out
    except (InvalidBody, ProtocolError) as error:
        why = f"no response of {upstream.protocol}: {error}"
    raise unusable(upstream, why, model, raw=dump(value), headers=headers)


def as_document(
    raw: bytes, upstream: Upstream, headers: Mapping[str, str] = _NO_HEADERS, model: str | None = None
) -> Any:
    """The bytes of a stream as a whole answer. `headers` and `model` are for errors alone.

    Raises the error in the stream, `StreamInterruptedError` where it breaks off, and `ServerError` where it
    is not a stream of the upstream's protocol. Nothing of it was handed out, so all of that may be tried again.
    """
    adapter = split(upstream.protocol)[0]
    decoder = LinesDecoder() if adapter.streams.framing.lines else StreamDecoder()
    wires = [
        {"event": each["event"], "data": parse_data(each["data"])} for each in (*decoder.feed(raw), *decoder.close())
    ]
    events: list[Any] = []
    why = "an event is not JSON" if any(is_garbled(each["data"]) for each in wires) else ""
    try:
        events = [*read_stream(wires, upstream.protocol)]
    except (InvalidBody, ProtocolError) as error:
        why = why or str(error)
    failure = next((each["error"] for each in events if each["type"] == "error" and each.get("error")), None)
    if failure is not None and failure.get("code") != "stream_truncated":
        raise failed(upstream, {key: each for key, each in failure.items() if key != "extra"}, None, model)
    if not any(is_event(adapter, each) for each in wires):
        kind = (
            f"the stream ended without an event of {upstream.protocol}"
            if wires
            else "the stream ended without an event"
        )
        raise unusable(upstream, kind, model, raw=raw, headers=headers, again=not wires)
    if not why and failure is None:
        try:
            return write(collect(events), upstream.protocol, "response").value
        except (InvalidBody, ProtocolError) as error:
            why = str(error)
    why = f"connection closed before the response was complete: {why or str(failure and failure.get('message'))}"
    raise unusable(upstream, why, model, code=BROKEN, again=True)
