"""One question to one or more upstreams, without I/O: convert, send, read, fail, try again, fall back.

`steps` is a generator. It yields what has to be done (`Effect`: send, read, next, close, sleep) and gets the result
sent back in; `driving.py` does those for threads and for event loops, and holds no rule. What is decided is decided
here: which answers are errors, what is tried again, and when the next upstream has its turn. Nothing is tried again
once output has begun: the first event of a stream is awaited here, what comes after it is the caller's.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import httpx2

from ..convert import Converted, Repair, convert, write
from ..errors import APIError, CapabilityLost, CapabilityRefused, InvalidBody, InvalidRequest, ProtocolError
from ..jsonarray import StreamDecoder
from ..jsonvalue import dump, parse
from ..losses import Levels, Losses
from ..reading import Reader
from ..registry import provider_of, split
from ..sse import SSEDecoder, parse_data
from ..urls import check_headers, check_query, check_text
from ..vault import Vault
from .failures import failed, refused, shown, unreachable, unreadable
from .retrying import Retry
from .upstream import Upstream
from .whole import as_document, as_stream

__all__ = ["Answer", "Ask", "Effect", "Hop", "Opened", "Outgoing", "answer_kind", "lowered", "steps"]

_REFUSED = frozenset((400, 422))
Steps = Generator["Effect", Any, "Answer | Opened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked: a wire document of `source`, or a canonical one (`source` None).

    `http` is what the source carried outside of the body (`method`, `path`, `query`, `headers`); without a body it is
    a request as it is, for routes that have none (lists, polling, cancelling). `stream` says which form of answer is
    awaited. `timeout` is the HTTP library's, and `patience` stands for it where the upstream says nothing either.
    Headers and queries of the caller's are the upstream's: they go to no other.
    """

    body: Any = None
    source: str | None = None
    kind: str = "request"
    http: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    on_loss: Levels = "ignore"
    vault: Vault | None = None
    timeout: Any = None
    patience: Any = None
    repair: Repair = "auto"


class Hop(NamedTuple):
    """An upstream that was tried and passed by: how often, and why."""

    upstream: str
    attempts: int
    reason: str
    error: Exception | None = None


class Effect(NamedTuple):
    """Something to do for `steps`: a verb of the driver's, and what with."""

    verb: str
    what: tuple[Any, ...]


class Outgoing(NamedTuple):
    """A request that is ready to leave, but for the credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    query: Mapping[str, Any]
    timeout: Any
    path: str  # below the protocol's root, for transports that have a root of their own
    public: frozenset[tuple[str, str]] = frozenset()  # what conversion set of headers and query: no credentials


@dataclass(slots=True, kw_only=True)
class _Head:
    """Who answered, to what, and how: what answers and streams have in common."""

    upstream: Upstream
    sent: Converted
    status: int
    headers: Mapping[str, str]
    kind: str
    model: str | None = None
    hops: tuple[Hop, ...] = ()
    attempts: int = 1

    @property
    def request_id(self) -> str | None:
        """The provider's name for the request."""
        return next((value for name, value in self.headers.items() if name in ("x-request-id", "request-id")), None)

    @property
    def http(self) -> dict[str, Any]:
        """What came outside of the body, as `convert(http=)` takes it."""
        return {"status": self.status, "headers": dict(self.headers)}


@dataclass(slots=True, kw_only=True)
class Answer(_Head):
    """A whole answer: `value` is the document as the upstream wrote it (`kind` of its protocol), `raw` its bytes.

    `told` says that it came as a stream all the same; then the bytes are not the document's.
    """

    value: Any
    raw: bytes
    told: bool = False

    def to(self, target: str, **options: Any) -> Converted:
        """The answer as `target` has it; `options` are those of `convert`.

        Raises `ServerFailed` for what is JSON and yet no document of the upstream's protocol.
        """
        asked = {"exchange": self.sent.exchange, "http": self.http, "scope": self.upstream.scope, **options}
        try:
            # From the bytes where they are the document: a value would be printed and parsed to make it our own.
            body = self.value if self.told else self.raw
            return convert(body, source=self.upstream.protocol, target=target, kind=self.kind, **asked)
        except InvalidBody as error:
            why = f"no {self.kind} of {self.upstream.protocol}: {error}"
        raise unreadable(self.upstream, why, self.raw, self.headers, self.model)


@dataclass(slots=True, kw_only=True)
class Opened(_Head):
    """A stream that has begun: `first` are the bytes that were read already, `rest` is where the others come from."""

    first: list[bytes]
    response: Any
    rest: Any


def answer_kind(kind: str) -> str:
    """The kind of the answer to a request of that kind."""
    return f"{kind.removesuffix('request')}response" if kind.endswith("request") else kind


def lowered(headers: Any) -> dict[str, str]:
    """The headers of an HTTP library by their names in lower case; what comes several times is one, as there."""
    out: dict[str, str] = {}
    for name, value in headers.raw:
        key = name.decode("latin-1").lower()
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        out[key] = f"{out[key]}, {text}" if key in out else text
    return out


def steps(ask: Ask, upstreams: Sequence[Upstream], retry: Retry) -> Steps:
    """Ask the upstreams in their order until one answers.

    Raises the `APIError` of the last one (its `.hops` tell of the others), and what converting the request for it
    raised: `InvalidBody`, `CapabilityLost`, `CapabilityRefused`.
    """
    if not upstreams:
        raise ValueError("nobody to ask: no upstream was given")
    hops: list[Hop] = []
    for place, upstream in enumerate(upstreams):
        last = place == len(upstreams) - 1
        try:
            sent = _converted(ask, upstream)
        except (CapabilityLost, CapabilityRefused) as error:
            if last:
                raise
            hops.append(Hop(upstream.name, 0, f"{type(error).__name__}: {error}", error))
            continue
        tried = 0
        refusal: APIError | None = None
        while True:
            tried += 1
            try:
                found = yield from _once(ask, upstream, sent)
            except APIError as error:
                mended = _mended(ask, upstream, sent, error) if refusal is None else None
                if mended is not None:
                    sent, refusal = mended, error
                    continue
                if refusal is not None and isinstance(error, InvalidRequest):
                    error = refusal  # of what the caller wrote
                wait = retry.delay(error, tried)
                if wait is not None:
                    yield Effect("sleep", (wait,))
                    continue
                error.hops = tuple(hops)
                if last:
                    raise error from None
                hops.append(Hop(upstream.name, tried, f"{type(error).__name__}: {error}", error))
                break
            found.hops, found.attempts = tuple(hops), tried
            return found
    raise AssertionError("the last upstream either answers or raises")


def _converted(ask: Ask, upstream: Upstream) -> Converted:
    if ask.body is None:
        return Converted(None, Losses(), dict(ask.http))
    options: dict[str, Any] = {"model": upstream.model, "on_loss": ask.on_loss, "vault": ask.vault}
    if ask.source is None:
        options |= {"scope": upstream.scope, "provider": upstream.provider}
        return write(ask.body, upstream.protocol, ask.kind, repair=ask.repair, **options)
    return convert(
        ask.body,
        source=ask.source,
        target=upstream.protocol,
        kind=ask.kind,
        http=ask.http,
        scope=upstream.scope,
        repair=ask.repair,
        **options,
    )


def _mended(ask: Ask, upstream: Upstream, sent: Converted, error: APIError) -> Converted | None:
    """Another form of a request that was refused: its history as the provider takes it; None where there is none.

    A request in its upstream's own protocol goes out as it is. But a client that was moved from provider to provider
    holds what others made, in the same words, and only the provider can tell that it takes none of that.
    """
    if type(error) is not InvalidRequest or error.status not in _REFUSED or ask.repair != "auto" or ask.source is None:
        return None
    try:
        mended = _converted(replace(ask, repair="always"), upstream)
    except (CapabilityLost, CapabilityRefused):
        return None
    return mended if mended.value != sent.value else None


def _outgoing(ask: Ask, upstream: Upstream, sent: Converted, model: str | None) -> Outgoing:
    body = sent.value
    if ask.stream and isinstance(body, dict) and ask.source != upstream.protocol:
        body = _asking_all(body, upstream)
    if isinstance(body, dict) and (upstream.defaults or upstream.fixed or upstream.omitted):
        body = {**upstream.defaults, **body, **upstream.fixed}
        body = {key: value for key, value in body.items() if key not in upstream.omitted}
    headers = {"accept": "text/event-stream" if ask.stream else "application/json"}
    if body is not None:
        headers["content-type"] = "application/json"
    else:
        headers.update(split(upstream.protocol)[0].headers)
    # The conversion's word on versions and betas stands before what an upstream says by default.
    converted = {name.lower(): str(value) for name, value in (sent.http.get("headers") or {}).items()}
    check_headers(converted)
    for given in (upstream.headers, converted, upstream.extra_headers):
        headers.update({name.lower(): str(value) for name, value in given.items()})
    asked = sent.http.get("query") or {}
    query = {**upstream.query, **asked}
    check_query(query)
    if model is not None:
        check_text(model, "/model")
    if body is not None and not upstream.path and not sent.http.get("path"):
        raise InvalidBody("/model", f"{upstream.protocol} has the model in its URL; name one")
    own = model if ask.kind == "request" and ask.body is not None else None
    return Outgoing(
        str(sent.http.get("method") or "POST"),
        upstream.url(sent.http, stream=ask.stream, model=own),
        headers,
        None if body is None else dump(body),
        query,
        next((each for each in (ask.timeout, upstream.timeout, ask.patience) if each is not None), None),
        str(sent.http.get("path") or ""),
        frozenset((*converted.items(), *((name, str(value)) for name, value in asked.items()))),
    )


def _asking_all(body: dict[str, Any], upstream: Upstream) -> dict[str, Any]:
    """A streamed request that asks for what other protocols' streams have unasked."""
    adapter, dialect = split(upstream.protocol)
    unknown = (*dialect.get("refuses", ()), *dialect.get("ignores", ()))
    for key, wanted in adapter.streaming.items():
        if key not in unknown:
            body = {**body, key: {**wanted, **(body.get(key) or {})}}
    return body


def _once(ask: Ask, upstream: Upstream, sent: Converted) -> Steps:
    model = upstream.model or (sent.exchange.model if sent.exchange is not None else None)
    try:
        response = yield Effect("send", (upstream, _outgoing(ask, upstream, sent, model)))
        headers = shown(upstream, lowered(response.headers))
        status = response.status_code
        head: dict[str, Any] = {"upstream": upstream, "sent": sent, "status": status, "headers": headers}
        head |= {"kind": answer_kind(ask.kind), "model": model}
        plain = not ask.stream or not _streams(headers)
        if status < 200 or status > 299 or plain:
            raw = yield Effect("read", (response,))
            if status < 200 or status > 299:
                raise refused(upstream, status, headers, raw, model)
            if not ask.stream:
                return _whole(upstream, raw, head)
            whole = _without_secrets(_document(upstream, raw, headers, model), upstream)
            events = as_stream(whole, upstream)
            return Opened(**head, first=events, response=response, rest=None)
        return (yield from _begun(upstream, response, head))
    except httpx2.HTTPError as error:
        found = unreachable(upstream, error, model)
    raise found


def _streams(headers: Mapping[str, str]) -> bool:
    """Whether an answer says that it is a stream. One that says nothing, or says something else, is looked at."""
    kind = headers.get("content-type", "text/event-stream").partition(";")[0].strip().lower()
    return kind not in ("application/json", "text/html")


def _whole(upstream: Upstream, raw: bytes, head: dict[str, Any]) -> Answer:
    headers, model = head["headers"], head["model"]
    if headers.get("content-type", "").startswith("text/event-stream"):
        # Some servers stream unless they are told not to.
        try:
            return Answer(**head, value=as_document(raw, upstream), raw=raw, told=True)
        except ProtocolError as error:
            found = failed(upstream, {"type": "server_error", "message": error.reason}, None, model, None, headers)
        raise found
    value = _document(upstream, raw, headers, model)
    clean = _without_secrets(value, upstream)
    return Answer(**head, value=clean, raw=raw if clean is value else dump(clean))


def _without_secrets(value: Any, upstream: Upstream) -> Any:
    """An answer whose error, if it has one, shows no credential. What a model says is left as it is."""
    if not isinstance(value, dict) or not value.get("error"):
        return value
    error = upstream.secrets.hidden(value["error"])
    return value if error == value["error"] else {**value, "error": error}


def _document(upstream: Upstream, raw: bytes, headers: Mapping[str, str], model: str | None) -> Any:
    try:
        value = parse(raw)
    except InvalidBody:
        found = unreadable(upstream, "the answer is no JSON", raw, headers, model)
    else:
        error = value.get("error") if isinstance(value, dict) else None
        if not isinstance(error, dict) or any(isinstance(each, list) for each in value.values()):
            return value
        # An error that came as a success: some routers do so when they have begun to answer.
        # Its class is what its words say, its status the one it tells, if any.
        found = refused(upstream, 200, headers, raw, model)
    raise found


def _begun(upstream: Upstream, response: Any, head: dict[str, Any]) -> Steps:
    """A stream, once its first event is here: until then nothing was handed out, and everything may be tried again."""
    rest = yield Effect("chunks", (response,))
    adapter, dialect = split(upstream.protocol)
    decoder = StreamDecoder() if adapter.streams.framing.array else SSEDecoder()
    chunks: list[bytes] = []
    events: list[Any] = []
    while not events:
        chunk = yield Effect("next", (rest,))
        if chunk is None:
            events = decoder.close()
            break
        chunks.append(chunk)
        events = decoder.feed(chunk)
    if not events:
        yield Effect("close", (response,))
        raise unreadable(upstream, "the stream holds no event", b"".join(chunks), head["headers"], head["model"])
    # Looked at for an error alone, and errors show no key.
    first = {"event": events[0]["event"], "data": parse_data(upstream.hide(events[0]["data"]))}
    provider = provider_of(upstream.protocol, dialect)
    reader = adapter.streams.reader(Reader(adapter.protocol, dialect=dialect, facing="client", provider=provider))
    for event in reader.feed(first):
        if event.get("type") == "error" and isinstance(event.get("error"), dict):
            yield Effect("close", (response,))
            error = {key: value for key, value in event["error"].items() if key != "extra"}
            raise failed(upstream, error, first["data"], head["model"])
    return Opened(**head, first=chunks, response=response, rest=rest)
