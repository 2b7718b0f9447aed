"""Same protocol in and out, and nothing to change or to keep: the bytes go through as they are.

The body was peeked at, not parsed. The rules of a call (which responses are errors, what is tried again, that a stream
has begun) are those of every other call: this is `steps` with a request that is ready. Method, path, query and headers
are those that a conversion of the smallest request gives, so that both ways send the same; they are worked out once
for each route and for each set of client headers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ...client.connections.io import AsyncWire
from ...client.sending.effects import Ask, Effect, OnFailure, Outgoing
from ...client.sending.request_flow import outgoing_of, steps
from ...client.sending.retry import Retry
from ...client.state.response_memory import keeps
from ...client.telemetry.operation import SILENT, Telemetry
from ...client.transports.route_matching import Match, own_headers
from ...client.transports.translator import Reply, Translator
from ...client.upstreams.upstream import Upstream
from ...engine.registry import adapter
from ...foundation.errors import APIError, InvalidBody, InvalidRequestError
from ...foundation.hints import NO_WORDS
from ...foundation.secret import Secret
from ...losses import Losses
from ...passes.convert import Converted, convert, write
from ...provenance.opaque import has_sealed
from ...streams.framings.of_protocol import framed
from ..requests.body import Peek
from ..state.file_references import has_references
from ..upstreams.routing import Route
from .replies import Passed, with_status

__all__ = ["Direct", "direct", "passed_reply"]

_SMALLEST = {"input": [{"type": "message", "role": "user", "content": "Hi"}], "model": "m"}
_MOST = 1_000  # plans that are kept


class _Plan(NamedTuple):
    """A request but for its body: `given` is the upstream of the route, `upstream` the same in the client's protocol.

    `outgoing` is None where a request has to be converted all the same.
    """

    given: Upstream
    upstream: Upstream
    outgoing: Outgoing | None


_plans: OrderedDict[Any, _Plan] = OrderedDict()


class Direct(NamedTuple):
    """A request that goes to `upstream` byte for byte."""

    protocol: str
    upstream: Upstream
    outgoing: Outgoing
    stream: bool
    on_failure: OnFailure | None = None
    telemetry: Telemetry = SILENT

    @property
    def content(self) -> bytes:
        """The body."""
        return self.outgoing.content or b""

    def steps(self) -> Generator[Effect, Any, Any]:
        """The effects of the request; returns an `Answer`, or an `Opened` for a stream. Raises `APIError`."""
        ask = Ask(
            kind="request",
            stream=self.stream,
            on_failure=self.on_failure,
            outgoing=self.outgoing,
            telemetry=self.telemetry,
        )
        return steps(ask, (self.upstream,), Retry.never())

    def is_repairable(self, error: InvalidRequestError) -> bool:
        """Whether history repair makes another request of one that was refused: then it is worth sending it again."""
        if error.status not in (400, 422):
            return False
        ends: dict[str, Any] = {"source": self.protocol, "target": self.protocol, "scope": self.upstream.scope}
        try:
            plain, fixed = convert(self.content, **ends), convert(self.content, repair="always", **ends)
        except InvalidBody:
            return False
        return bool(fixed.value != plain.value)


def direct(
    match: Match,
    found: Peek,
    route: Route,
    headers: Mapping[str, str],
    query: Mapping[str, Any],
    content: bytes,
    telemetry: Telemetry = SILENT,
) -> Direct | None:
    """The request as one that needs no conversion; None where it has to be converted.

    A fallback needs a conversion, a name that is not the upstream's changes request and response, an envelope in the
    history has to be opened, a file has to be put in, and a response that is stored has to be read.
    """
    if match.route.kind != "request" or len(route.upstreams) != 1 or route.on_loss != "ignore":
        return None
    if found.previous or found.conversation or found.background or (keeps(match.protocol) and found.store is not False):
        return None
    model = match.names.get("model") or found.model
    if not model:
        return None
    stream = match.route.stream if match.route.stream is not None else found.stream is True
    plan = _planned(route.upstreams[0], match, stream, headers, query)
    if plan.outgoing is None or (plan.upstream.model is not None and plan.upstream.model != model):
        return None
    if has_sealed(content) or has_references(match.protocol, content):
        return None
    outgoing = plan.outgoing._replace(content=content)
    return Direct(match.protocol, plan.upstream, outgoing, stream, route.on_failure, telemetry)


def _planned(
    given: Upstream, match: Match, stream: bool, headers: Mapping[str, str], query: Mapping[str, Any]
) -> _Plan:
    own = own_headers(match.protocol, headers)
    # By identity: upstreams that are equal may have different credentials. The plan keeps its own alive.
    key = (id(given), match.protocol, match.route, match.path, stream, tuple(own.items()), tuple(query.items()))
    plan = _plans.get(key)
    if plan is None:
        plan = _plans[key] = _made(given, match, stream, own, query)
        if len(_plans) > _MOST:
            _plans.popitem(last=False)
    return plan


def _made(given: Upstream, match: Match, stream: bool, headers: dict[str, str], query: Mapping[str, Any]) -> _Plan:
    same = next((each for each in (given, *given.others) if each.protocol == match.protocol), None)
    if same is None or same.defaults or same.fixed or same.omitted or same.path or same.stream_path:
        return _Plan(given, given, None)
    if stream and framed(adapter(match.protocol).streams.framing) is not None:
        return _Plan(given, given, None)  # its events are taken out of their frames
    upstream = same.with_(others=())
    http = {
        "method": match.route.method,
        "path": match.path,
        "query": {name: value for name, value in query.items() if name != "key"},
        "headers": headers,
    }
    try:
        done = convert(_smallest(match.protocol), source=match.protocol, target=match.protocol, http=http)
        if done.exchange is None or done.exchange.options.get("array"):
            # A stream that is one JSON array is written anew from the upstream's events.
            return _Plan(given, upstream, None)
        sent = {**done.http, "headers": {**(done.http.get("headers") or {}), "content-type": "application/json"}}
        ask = Ask(kind="request", http=sent, stream=stream)
        outgoing = outgoing_of(ask, upstream, Converted(None, Losses(), sent), upstream.model)
    except InvalidBody:
        return _Plan(given, upstream, None)  # raised again where it is converted, and refused there
    return _Plan(given, upstream, outgoing._replace(kept={}))


@lru_cache(64)
def _smallest(protocol: str) -> Any:
    """The smallest request of a protocol."""
    return write(_SMALLEST, protocol, "request").value


async def passed_reply(wire: AsyncWire, straight: Direct, secret: Secret) -> Passed | Reply | None:
    """The response of an upstream as it is; None where the request is to be sent again with a repaired history."""
    try:
        answer = await wire.run(straight.steps())
    except APIError as error:
        if type(error) is InvalidRequestError and straight.is_repairable(error):
            return None
        translator = Translator([straight.upstream], secret=secret, words=NO_WORDS)
        return translator.error_reply(with_status(error), straight.protocol)
    return Passed(answer, straight.protocol)
