"""Requests for runs in the background: begun, and executed another time when their node was lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...client.transports.route_matching import Match, recognize
from ...client.transports.translator import Incoming, Reply, Translator
from ...client.upstreams.protocol_selection import settled
from ...client.upstreams.upstream import Upstream
from ...foundation.errors import APIError, InvalidBody
from ...foundation.json_codec import parse
from ...foundation.secret import Secret
from ...passes.convert import Converted, convert
from ..access.callers import Key
from ..requests.body import Peek, peek
from ..requests.head import Head
from ..responses.replies import Events, Refusal, Whole
from ..state.runs.event_log import Run
from ..state.store import StoreUnavailable
from ..state.stored_responses import Recalled, foreground, unavailable
from ..telemetry.recorder import note
from ..upstreams.named_models import routed
from ..upstreams.routing import Route

if TYPE_CHECKING:
    from ..app import Gateway

__all__ = ["again", "begin"]


async def begin(
    gateway: Gateway,
    head: Head,
    match: Match,
    key: Key,
    found: Peek,
    translator: Translator,
    incoming: Incoming,
    secret: Secret,
) -> Whole | Reply | Events:
    """Begin a run: the response as it is now, or the stream of its events. Raises `Refusal`."""
    if found.store is False:
        raise Refusal(400, "invalid_request", "background requires store; a run is fetched by its id", code="store")
    memory = translator.memory
    assert isinstance(memory, Recalled)
    try:
        async with memory.with_files():
            memory.recalled(parse(incoming.content), match.protocol, ())
        convert(incoming.content, source=match.protocol, target=match.protocol)
    except APIError as error:
        return translator.error_reply(error, match.protocol)
    except InvalidBody as error:
        raise Refusal(400, "invalid_request", str(error)) from None
    previous = found.previous if isinstance(found.previous, str) else None
    body = parse(incoming.content)
    native = all(_keeps(gateway, each, body, match.protocol) for each in translator.upstreams(None))
    executed = replace(incoming, content=foreground(incoming.content, match.protocol, native))
    runs = gateway.runs
    try:
        id_ = runs.new_id(match.protocol)
        # Before the run: once that is accepted, nothing may fail that would refuse the request.
        await gateway.turns.refer(key.tenant, id_, memory)
        asked = incoming.content, previous, head.headers, native
        run = await runs.accept(key, match.protocol, id_, *asked, translator, executed)
        note(run=run.id)
        if found.stream is True:
            return Events(runs.log.follow(run, -1), match.protocol)
        document = await runs.document(run, match.protocol, secret)
    except StoreUnavailable:
        raise unavailable() from None
    return Whole(200, {"content-type": "application/json"}, document)


def _keeps(gateway: Gateway, upstream: Upstream, body: Any, surface: str) -> bool:
    """Whether an upstream executes background responses of this protocol itself, by the configuration."""
    name = (upstream.label or "").partition("/")[0]
    chosen = settled(upstream, body, surface)
    return name in gateway.config.state.background and chosen.protocol.partition(":")[0] == surface


async def again(gateway: Gateway, run: Run, verb: str) -> tuple[Translator, Incoming] | None:
    """What executes the run of a lost node, by the keys and routes as they are now; None where they do not allow it.

    `verb` is "create" to send it again, "resume" to read the stream that the upstream keeps, "cancel" to end it there.
    """
    head = Head("POST", run.head.get("path", ""), run.head.get("query", {}), run.head.get("headers", {}))
    content = run.head["request"].encode("utf-8", "surrogateescape")
    match = recognize(head.method, head.path, head.headers)
    key = gateway.access.named(run.head.get("key", ""))
    if match is None or key is None or key.tenant != run.tenant:
        return None
    match = match._replace(protocol=run.surface)
    found, secret = peek(match.protocol, content), await gateway.secret()
    try:
        route = routed(gateway.router, head, match, key, found, content)
        if verb != "create":
            name, id_ = run.head["kept"]
            route = route._replace(upstreams=tuple(each for each in route.upstreams if each.name == name)[:1])
            head = head._replace(method="GET", path=f"{head.path}/{id_}", query={"stream": "true"})
            if verb == "cancel":
                head = head._replace(method="POST", path=f"{head.path}/cancel", query={})
        if not route.upstreams:
            return None
        meter = gateway.quota.meter(key, content)
        translator = await gateway.translator(match.protocol, route, key, meter, secret, found)
        if verb == "create":
            translator.memory = await gateway.turns.recall(key, match.protocol, found, secret, content)
            body = parse(content)
            native = all(_keeps(gateway, each, body, match.protocol) for each in route.upstreams)
            content = foreground(content, match.protocol, native)
        else:
            translator.asked, content = _asked(parse(content), match.protocol, route, secret), b""
    except Refusal:
        return None
    incoming = Incoming(method=head.method, path=head.path, query=head.query, headers=head.shown, content=content)
    return translator, incoming


def _asked(body: Any, surface: str, route: Route, secret: Secret) -> Converted:
    """A request as it was sent: what the events of its stream are restored by."""
    upstream = settled(route.upstreams[0], body, surface)
    return convert(
        body, source=surface, target=upstream.protocol, model=upstream.model, scope=upstream.scope, secret=secret
    )
