"""Same protocol in and out, and nothing to change or to keep: the bytes go through as they are.

The body was peeked at, not parsed. The rules of a call (which responses are errors, what is tried again, that a stream
has begun) are those of every other call: this is `steps` with another body. Method, path, query and headers are those
that a conversion of the smallest request gives, so that both ways send the same.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..client.sending.effects import Ask, Effect, OnFailure
from ..client.sending.request_flow import steps
from ..client.sending.retry import Retry
from ..client.state.response_memory import keeps
from ..client.transports.route_matching import Match, credential_headers
from ..client.upstreams.upstream import Upstream
from ..convert import convert, write
from ..errors import InvalidBody, InvalidRequest
from ..provenance import looks_sealed
from .body import Peek
from .routing import Route
from .state.references import has_references

__all__ = ["Direct", "direct"]

_SMALLEST = {"input": [{"type": "message", "role": "user", "content": "Hi"}], "model": "m"}


class Direct(NamedTuple):
    """A request that goes to `upstream` byte for byte."""

    protocol: str
    upstream: Upstream
    http: Mapping[str, Any]
    stream: bool
    content: bytes
    on_failure: OnFailure | None = None

    def steps(self) -> Generator[Effect, Any, Any]:
        """The effects of the request; returns an `Answer`, or an `Opened` for a stream. Raises `APIError`."""
        ask = Ask(kind="request", http=self.http, stream=self.stream, on_failure=self.on_failure)
        flow = steps(ask, [self.upstream], Retry.never())
        try:
            effect = next(flow)
            while True:
                if effect.verb == "send":
                    whose, outgoing = effect.what
                    effect = Effect("send", (whose, outgoing._replace(content=self.content)))
                try:
                    done = yield effect
                except Exception as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(done)
        except StopIteration as end:
            return end.value
        finally:
            flow.close()

    def is_repairable(self, error: InvalidRequest) -> bool:
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
    match: Match, found: Peek, route: Route, headers: Mapping[str, str], query: Mapping[str, Any], content: bytes
) -> Direct | None:
    """The request as one that needs no conversion; None where it has to be converted.

    A fallback needs a conversion, a name that is not the upstream's changes request and response, an envelope in the
    history has to be opened, a file has to be put in, and a response that is stored has to be read.
    """
    if match.route.kind != "request" or len(route.upstreams) != 1 or route.on_loss != "ignore":
        return None
    (given,) = route.upstreams
    same = next((each for each in (given, *given.others) if each.protocol == match.protocol), None)
    if same is None or same.defaults or same.fixed or same.omitted or same.path or same.stream_path:
        return None
    model = match.names.get("model") or found.model
    if not model or (same.model is not None and same.model != model):
        return None
    if found.previous or found.conversation or found.background or (keeps(match.protocol) and found.store is not False):
        return None
    if has_references(content):
        return None
    if looks_sealed(content.decode("latin-1")):
        return None
    private = credential_headers(match.protocol)
    http = {
        "method": match.route.method,
        "path": match.path,
        "query": {name: value for name, value in query.items() if name != "key"},
        "headers": {name: value for name, value in headers.items() if name not in private},
    }
    done = convert(_smallest(match.protocol), source=match.protocol, target=match.protocol, http=http)
    if done.exchange is None or done.exchange.options.get("array"):
        return None  # a stream that is one JSON array is written anew from the upstream's events
    sent = {**done.http, "headers": {**(done.http.get("headers") or {}), "content-type": "application/json"}}
    stream = match.route.stream if match.route.stream is not None else found.stream is True
    return Direct(match.protocol, same.with_(others=()), sent, stream, content, route.on_failure)


@lru_cache(64)
def _smallest(protocol: str) -> Any:
    """The smallest request of a protocol."""
    return write(_SMALLEST, protocol, "request").value
