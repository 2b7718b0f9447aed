"""What an upstream answered with a status of success: a whole document, a stream once it has begun, or an error.

Some servers stream unless `stream` is false, some answer whole where a stream was requested, and some report an error
in an answer of status 200: each becomes what was requested, or the error that it is.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from ...engine.adapter import WireReader
from ...engine.pairs.reading import Reader
from ...engine.registry import provider_of, split
from ...foundation.errors import APIError, InvalidBody, ProtocolError
from ...foundation.json_codec import dump, parse
from ...streams.framings.of_protocol import decoder_of
from ...streams.framings.sse import parse_data
from ..upstreams.upstream import Upstream
from .api_errors import failed, refused, unusable
from .effects import Answer, Effect, Opened
from .response_check import error_in, is_answer, is_event

__all__ = ["Steps", "begun", "document", "is_cut", "is_stream", "whole", "without_secrets"]

_NOTHING = 1_000_000  # bytes of a stream in which an event of its protocol has to come
Steps = Generator[Effect, Any, Answer | Opened]


def is_cut(response: Any) -> bool:
    """Whether the end of a compressed body is missing, which the HTTP library does not check."""
    decoder = getattr(response, "_decoder", None)
    if decoder is None:
        return False
    inner = (getattr(each, "decompressor", None) for each in getattr(decoder, "children", (decoder,)))
    return any(getattr(getattr(each, "decompressor", each), "eof", True) is False for each in inner)


def is_stream(headers: Mapping[str, str]) -> bool:
    """Whether an answer is a stream by its content type. One without a type, or with another, is inspected."""
    kind = headers.get("content-type", "text/event-stream").partition(";")[0].strip().lower()
    return kind not in ("application/json", "text/html")


def whole(upstream: Upstream, raw: bytes, head: dict[str, Any], *, deleting: bool) -> Answer:
    """The answer to a request that is not streamed; `head` are the fields of `Answer` that its head gives."""
    headers, model = head["headers"], head["model"]
    if headers.get("content-type", "").startswith("text/event-stream"):
        # Some servers stream unless `stream` is false.
        from .stream_adaptation import as_document

        return Answer(**head, value=as_document(raw, upstream, headers, model), raw=raw, told=True)
    # What is deleted has no document, and often no answer but its status.
    kind = "" if deleting else head["kind"]
    if deleting and not raw.strip():
        return Answer(**head, value={}, raw=b"{}")
    value = document(upstream, raw, headers, model, kind)
    clean = without_secrets(value, upstream)
    return Answer(**head, value=clean, raw=raw if clean is value else dump(clean))


def without_secrets(value: Any, upstream: Upstream) -> Any:
    """An answer whose error, if it has one, shows no credential. The text of a model is left as it is."""
    if not isinstance(value, dict):
        return value
    error = value.get("error") or error_in(split(upstream.protocol)[0], "response", value)
    if not error or (hidden := upstream.secrets.hidden(error)) == error:
        return value
    return {**value, "error": hidden} if value.get("error") else upstream.secrets.hidden(value)


def document(upstream: Upstream, raw: bytes, headers: Mapping[str, str], model: str | None, kind: str) -> Any:
    """The document of an answer with status 200. Raises the error that it is, or that it is not an answer."""
    try:
        value = parse(raw)
    except InvalidBody:
        # A server repeats its page; anything else was an answer that broke.
        page = raw.lstrip()[:1] == b"<"
        found = unusable(upstream, "the answer is not JSON", model, raw=raw, headers=headers, again=not page)
    else:
        if is_answer(split(upstream.protocol)[0], kind, value):
            return value
        error = value.get("error") if isinstance(value, dict) else None
        if isinstance(error, dict) and error:
            # An error that came as a success: some routers do so when they have begun to answer.
            # Its class follows from its words, its status is the one in the body, if any.
            found = refused(upstream, 200, headers, raw, model)
        else:
            found = unusable(upstream, f"not a {kind} of {upstream.protocol}", model, raw=raw, headers=headers)
    raise found


def begun(upstream: Upstream, response: Any, head: dict[str, Any]) -> Steps:
    """A stream, once its first event is here: until then nothing was handed out, and everything may be tried again."""
    adapter, dialect = split(upstream.protocol)
    rest = yield Effect("chunks", (response, adapter.streams.framing.binary))
    decoder = decoder_of(adapter.streams.framing)
    provider = provider_of(upstream.protocol, dialect)
    reader = adapter.streams.reader(Reader(adapter, dialect=dialect, facing="client", provider=provider))
    chunks: list[bytes] = []
    size = count = 0
    failure: APIError | None = None
    while failure is None:
        chunk = yield Effect("next", (rest,))
        if chunk is not None:
            chunks.append(chunk)
            size += len(chunk)
        for raw in decoder.close() if chunk is None else decoder.feed(chunk):
            count += 1
            # Looked at for an error alone, and errors show no key.
            event = {"event": raw["event"], "data": parse_data(upstream.hide(raw["data"]))}
            failure = _error_of(upstream, reader, event, head["model"])
            if failure is not None:
                break
            if is_event(adapter, event):
                return Opened(**head, first=chunks, response=response, rest=rest)
        if failure is None and (chunk is None or size > _NOTHING):
            why = (
                f"the stream ended without an event of {upstream.protocol}"
                if count
                else "the stream ended without an event"
            )
            came = b"".join(chunks)
            failure = unusable(upstream, why, head["model"], raw=came, headers=head["headers"], again=not count)
    yield Effect("close", (response,))
    raise failure


def _error_of(upstream: Upstream, reader: WireReader, event: dict[str, Any], model: str | None) -> APIError | None:
    """The error in an event; None where there is none."""
    try:
        events = reader.feed(event)
    except (ProtocolError, InvalidBody):
        return None  # raised when it is read as part of the stream, if it is one of its protocol
    for each in events:
        if each.get("type") == "error" and isinstance(each.get("error"), dict):
            error = {key: value for key, value in each["error"].items() if key != "extra"}
            return failed(upstream, error, event["data"], model)
    return None
