"""One question to one or more upstreams, without I/O: convert, send, read, fail, try again, fall back.

`steps` is a generator. It yields what has to be done (`Effect`: send, read, next, close, sleep) and gets the result
sent back in; `io.py` does those for threads and for event loops, and holds no rule. What is decided is decided
here: which answers are errors, what is tried again, and when the next upstream has its turn. Nothing is tried again
once output has begun: the first event of a stream is awaited here, what comes after it is the caller's.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import httpx2

from ...engine.registry import split
from ...foundation.errors import (
    APIError,
    CapabilityLost,
    CapabilityRefused,
    InvalidBody,
    InvalidRequestError,
)
from ...foundation.exchange import complete
from ...foundation.json_codec import dump
from ...foundation.json_paths import pointer
from ...foundation.urls import check_headers, check_query, check_text
from ...foundation.usage_errors import InvalidArgument
from ...losses import Loss, Losses, enforce
from ...passes.convert import Converted, convert, write
from ..state.store import check_state, takes, with_own_store, without_background, without_beta, without_thread
from ..telemetry.operation import SILENT, Hooked, Operation, log_skipped
from ..upstreams.upstream import Upstream
from .advice import advice
from .answers import Steps, begun, document, is_cut, is_stream, whole, without_secrets
from .api_errors import failed_answer, refused, shown_head, unreachable
from .effects import Answer, Ask, Effect, Hop, Left, Opened, Outgoing, answer_kind, lowered
from .retry import Retry, made_nothing

__all__ = ["outgoing_of", "steps"]

_REFUSED = frozenset((400, 422))
_IDEMPOTENCY = "idempotency-key"  # https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
_ID_PREFIX = "resp_"  # of canonical answers


def steps(ask: Ask, upstreams: Sequence[Upstream], retry: Retry) -> Steps:
    """Try the upstreams in their order until one answers.

    Raises the `APIError` of the last one (its `.hops` list the others), and what converting the request for it
    raised: `InvalidBody`, `CapabilityLost`, `CapabilityRefused`.
    """
    if not upstreams:
        raise InvalidArgument("no upstream given; pass at least one")
    hops: list[Hop] = []
    for place, upstream in enumerate(upstreams):
        last = place == len(upstreams) - 1
        try:
            sent = _awaited(ask, upstream, _converted(ask, upstream))
        except (CapabilityLost, CapabilityRefused) as error:
            if last:
                raise
            hops.append(Hop(upstream.name, 0, f"{type(error).__name__}: {error}", error))
            log_skipped(upstream, error)
            continue
        operation = (ask.telemetry or SILENT).begin(ask, upstream, sent.losses, _model_of(upstream, sent))
        try:
            found = yield from _attempts(ask, upstream, sent, retry, operation)
        except BaseException:
            if operation is not None:
                operation.abandon()  # nothing was sent, or the call was cancelled
            raise
        if not isinstance(found, _Failed):
            found.hops = tuple(hops)
            if operation is not None and isinstance(found, Answer):
                yield from _call_hook(operation.answered(found))
            elif operation is not None and isinstance(found, Opened):
                operation.opened(found)
            return found
        failure = found.error
        if ask.on_failure is not None:
            ask.on_failure(upstream, failure)
        failure.hops = tuple(hops)
        if last or found.final:
            if operation is not None:
                yield from _call_hook(operation.failed(failure))
            raise failure
        hops.append(Hop(upstream.name, found.attempts, f"{type(failure).__name__}: {failure.summary}", failure))
        if operation is not None:
            yield from _call_hook(operation.left(failure, upstreams[place + 1].name))
    raise AssertionError("the last upstream either answers or raises")


class _Failed(NamedTuple):
    """No attempt at an upstream succeeded. `final` means that no other upstream may be tried either."""

    error: APIError
    attempts: int
    final: bool


def _attempts(
    ask: Ask, upstream: Upstream, sent: Converted, retry: Retry, operation: Operation | None
) -> Generator[Effect, Any, Answer | Opened | _Failed]:
    """The answer of one upstream, retries included."""
    tried = 0
    refusal: APIError | None = None
    while True:
        tried += 1
        try:
            found = yield from _once(ask, upstream, sent, operation, tried)
        except APIError as error:
            failure = error
        else:
            found.attempts = tried
            return found
        mended = _mended(ask, upstream, sent, failure) if refusal is None else None
        if mended is not None:
            sent, refusal = mended, failure
            if operation is not None:
                yield from _call_hook(operation.retrying(failure, "repair"))
            continue
        if refusal is not None and isinstance(failure, InvalidRequestError):
            failure = refusal  # of what the caller wrote
        late = failure.code == "total_timeout"
        once = not (made_nothing(failure) or _repeatable(upstream, sent))
        wait = None if late or once else retry.delay(failure, tried)
        if wait is None:
            return _Failed(failure, tried, late or once)
        if operation is not None:
            operation.waiting(failure, wait)
        if (yield Effect("sleep", (wait,))) is False:
            return _Failed(failure, tried, False)
        if operation is not None:
            yield from _call_hook(operation.retrying(failure, "retry", wait))


def _call_hook(hooked: Hooked | None) -> Generator[Effect, Any, None]:
    """Call a hook, if there is one."""
    if hooked is not None:
        yield Effect("hook", hooked)


def _model_of(upstream: Upstream, sent: Converted) -> str | None:
    return upstream.model or (sent.exchange.model if sent.exchange is not None else None)


def _converted(ask: Ask, upstream: Upstream) -> Converted:
    if ask.body is None:
        return Converted(None, Losses(), dict(ask.http))
    check_state(ask.body, ask.source, upstream)
    body = without_thread(ask.body, ask.source, upstream)
    options: dict[str, Any] = {"model": upstream.model, "on_loss": ask.on_loss, "vault": ask.vault}
    options["secret"] = ask.secret
    if ask.source is None:
        options |= {"scope": upstream.scope, "provider": upstream.provider}
        return write(body, upstream.protocol, ask.kind, repair=ask.repair, **options)
    done = convert(
        ask.given if ask.given is not None and body is ask.body else body,
        source=ask.source,
        target=upstream.protocol,
        kind=ask.kind,
        http=without_beta(ask.http, ask.source, upstream),
        scope=upstream.scope,
        repair=ask.repair,
        **options,
    )
    done = with_own_store(done, ask.source, ask.kept) if ask.kept and done.losses else done
    return without_background(done, ask.source, upstream)


def _awaited(ask: Ask, upstream: Upstream, sent: Converted) -> Converted:
    """The request, with what its answer needs beside: a time, the form of its id, what it went on from."""
    known = split(upstream.protocol)[0]
    surface = None if ask.source is None else split(ask.source)[0]
    if sent.exchange is None or ask.kind != "request" or surface is known:
        return sent
    if surface is not None:
        prefix = surface.id_prefix
    else:
        # Where the provider keeps its answers, a caller of this client may retrieve them by the provider's id.
        prefix = "" if takes(known, "previous_response_id") else _ID_PREFIX
    named = f"{prefix}{ask.answer_id}" if ask.answer_id and prefix else ""
    complete(sent.exchange, created_at=ask.at, answer_id=named, id_prefix=prefix, previous=ask.previous)
    return sent


def _mended(ask: Ask, upstream: Upstream, sent: Converted, error: APIError) -> Converted | None:
    """Another form of a request that was refused: its history as the provider takes it; None where there is none.

    A request in its upstream's own protocol goes out as it is. But a client that was moved from provider to provider
    holds what others made, in the same words, and only the provider can tell that it takes none of that.
    """
    if type(error) is not InvalidRequestError or error.status not in _REFUSED or ask.repair != "auto":
        return None
    amended = _amended(ask, upstream, sent, error)
    if amended is not None or ask.source is None:
        return amended
    try:
        mended = _awaited(ask, upstream, _converted(replace(ask, repair="always"), upstream))
    except (CapabilityLost, CapabilityRefused):
        return None
    return mended if mended.value != sent.value else None


def _amended(ask: Ask, upstream: Upstream, sent: Converted, error: APIError) -> Converted | None:
    """What the provider takes instead of a body of another protocol, by the words it refused that with."""
    known = split(upstream.protocol)[0]
    if known.amends is None or (ask.source is not None and split(ask.source)[0] is known):
        return None
    found = known.amends(sent.value, error.message)
    if found is None:
        return None
    if found.added:
        loss = Loss(pointer(found.added), found.capability, "added", found.detail, "target")
    else:
        loss = Loss("", found.capability, "lost", found.detail)
    headers = {name.lower(): str(value) for name, value in (sent.http.get("headers") or {}).items()}
    for name, value in found.headers.items():
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    losses, http = Losses([*sent.losses, loss]), {**sent.http, "headers": headers}
    done = replace(sent, value=found.body, losses=losses, http=http)
    try:
        enforce(Losses([loss]), ask.on_loss, done)
    except CapabilityLost:
        return None
    return done


def outgoing_of(ask: Ask, upstream: Upstream, sent: Converted, model: str | None) -> Outgoing:
    """The request as it leaves. Raises `InvalidBody` for what no request can hold."""
    body = sent.value
    if ask.stream and isinstance(body, dict) and ask.source != upstream.protocol:
        body = _asking_all(body, upstream)
    if isinstance(body, dict) and (upstream.defaults or upstream.fixed or upstream.omitted):
        body = {**upstream.defaults, **body, **upstream.fixed}
        body = {key: value for key, value in body.items() if key not in upstream.omitted}
    framing = split(upstream.protocol)[0].streams.framing
    headers = {"accept": framing.content_type if ask.stream else "application/json"}
    if body is not None:
        headers["content-type"] = "application/json"
    else:
        headers.update(split(upstream.protocol)[0].headers)
    converted = {name.lower(): str(value) for name, value in (sent.http.get("headers") or {}).items()}
    check_headers(converted)
    headers.update(_headers(upstream, sent))
    for name, key in upstream.moved.items() if isinstance(body, dict) else ():
        if name in headers:
            body = {**body, key: [each.strip() for each in headers.pop(name).split(",")]}
    asked = sent.http.get("query") or {}
    if ask.stream:
        # Events are read as they come; a client that requested one JSON array gets it from them.
        asked = {**asked, **framing.sse}
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
        losses=sent.losses,
    )


def _headers(upstream: Upstream, sent: Converted) -> dict[str, str]:
    """The headers that were given: versions and betas of the conversion come before an upstream's."""
    given = (upstream.headers, sent.http.get("headers") or {}, upstream.extra_headers)
    return {name.lower(): str(value) for each in given for name, value in each.items()}


def _repeatable(upstream: Upstream, sent: Converted) -> bool:
    """Whether a request may be sent a second time, whatever came of the first."""
    if not isinstance(sent.value, dict) or _IDEMPOTENCY in _headers(upstream, sent):
        return True
    known = split(upstream.protocol)[0]
    keys = filter(None, (takes(known, name) for name in ("background", "store")))
    body = {**sent.value, **upstream.fixed}
    return not any(body.get(key) is True for key in keys)


def _asking_all(body: dict[str, Any], upstream: Upstream) -> dict[str, Any]:
    """A streamed request with the options that other protocols' streams have by default."""
    adapter, dialect = split(upstream.protocol)
    unknown = (*dialect.get("refuses", ()), *dialect.get("ignores", ()))
    for key, wanted in adapter.streaming.items():
        if key not in unknown:
            body = {**body, key: {**wanted, **(body.get(key) or {})}}
    return body


def _awaits(ask: Ask) -> bool:
    """Whether a client waits for an answer to a request of its own: one that failed is an error, as in a stream.

    An SDK over a transport gets the document that its own provider sends, and a handle has the state of its work.
    """
    return ask.source is None and ask.kind == "request" and ask.body is not None and not ask.body.get("background")


def _once(ask: Ask, upstream: Upstream, sent: Converted, operation: Operation | None, attempt: int) -> Steps:
    model = _model_of(upstream, sent)
    try:
        outgoing = ask.outgoing if ask.outgoing is not None else outgoing_of(ask, upstream, sent, model)
        if operation is not None:
            yield from _call_hook(operation.sending(attempt, outgoing))
        response = yield Effect("send", (upstream, outgoing))
        headers, where = shown_head(upstream, lowered(response.headers), outgoing.url)
        status = response.status_code
        head: dict[str, Any] = {"upstream": upstream, "sent": sent, "status": status, "headers": headers}
        head |= {"kind": answer_kind(ask.kind), "model": model, "method": outgoing.method, "url": where}
        plain = not ask.stream or not is_stream(headers)
        if status < 200 or status > 299 or plain:
            wrong = status < 200 or status > 299
            try:
                raw = yield Effect("read", (response,))
            except httpx2.DecodingError:
                if not wrong:
                    raise
                raw = b""  # its status is enough
            if wrong:
                raise refused(upstream, status, headers, raw, model)
            if raw and is_cut(response):
                raise httpx2.DecodingError("the compressed body ends before its checksum")
            if not ask.stream:
                answer = whole(upstream, raw, head, deleting=ask.http.get("method") == "DELETE")
                if _awaits(ask):
                    broken = failed_answer(upstream, head["kind"], answer.value, headers, model)
                    if broken is not None:
                        raise broken
                return answer
            from .stream_adaptation import as_stream

            value = without_secrets(document(upstream, raw, headers, model, "response"), upstream)
            if _awaits(ask) and (broken := failed_answer(upstream, "response", value, headers, model)) is not None:
                raise broken
            return Opened(**head, first=as_stream(value, upstream, headers, model), response=response, rest=None)
        return (yield from begun(upstream, response, head))
    except httpx2.HTTPError as error:
        failure = unreachable(upstream, error, model)
    except APIError as error:
        failure = error
    except BaseException as error:
        # A driver throws in what ends its caller. A generator that is closed has sent nothing since.
        if ask.on_left is not None and not isinstance(error, (Exception, GeneratorExit)):
            ask.on_left(Left(upstream, model))
        raise
    failure.method, failure.url = outgoing.method, shown_head(upstream, {}, outgoing.url)[1]
    failure.hint = advice(failure, upstream, model, ask.kind)
    raise failure
