"""The ASGI application: routes by the installed protocols, every response in the client's protocol.

Plain ASGI, no framework: adapters declare their routes, `recognize` finds them, `Translator` answers. Here is what a
server adds to that: who may call, how much, what to do when a client disconnects, and what to answer by itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from ..client.connections.aiohttp_wire import AiohttpWire
from ..client.connections.pool import LIMITS
from ..client.transports.route_matching import Match
from ..client.transports.stream_translation import SurfaceStream
from ..client.transports.translator import Incoming, OnUsage, Reply, Translator
from ..engine.conversation_api import CONVERSATIONS
from ..engine.file_api import CACHE_KINDS, KINDS
from ..foundation.errors import APIConnectionError, APIError, APITimeoutError, CapabilityLost
from ..foundation.hints import NO_WORDS
from ..foundation.secret import Secret
from .access.callers import Access, Key
from .access.quota import Quota
from .access.space import Space
from .access.spending import spending
from .configuration.config import Config, ConfigError
from .requests.admission import Admission, Admitted, Known, known_by, probe
from .requests.body import Disconnected, Peek, peek
from .requests.head import Head
from .responses.loss_report import placed
from .responses.passthrough import direct, passed_reply
from .responses.replies import (
    Events,
    Finish,
    Passed,
    Receive,
    Refusal,
    Scope,
    Send,
    Whole,
    capability_lost,
    error_reply,
    in_framing,
    protocol_for,
    send_events,
    send_passed,
    send_stream,
    send_whole,
    stopping,
    with_status,
)
from .responses.watch import Watch, was_stopped
from .routes.background import again, begin
from .routes.caches import Caches
from .routes.compaction import COMPACT, compaction
from .routes.conversations import Conversations
from .routes.files import Files, Sent
from .routes.websocket import serve
from .state.counters import SharedCounters
from .state.database_probe import Reachable
from .state.response_ids import renamed
from .state.runs.runs import Runs
from .state.store import Store, StoreUnavailable
from .state.stored_responses import Pending, Turns, stores, unavailable
from .state.vault import Continuity, ask, keep
from .telemetry.recorder import OWN_PATHS, Recorder, note
from .upstreams.model_lists import ModelList, model_list
from .upstreams.named_models import is_unambiguous, routed
from .upstreams.routing import Route, Router

__all__ = ["Gateway"]

_log = logging.getLogger("unified_llm.gateway")


class Gateway:
    """The application. `router` gives the upstreams; without one, providers with keys in the environment.

    >>> import asyncio, httpx2
    >>> from unified_llm.gateway import Config
    >>> async def main():
    ...     app = Gateway(Config.model_validate({"state": {"url": "sqlite://"}}))  # in memory
    ...     http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost")
    ...     body = {"model": "local/echo", "messages": [{"role": "user", "content": "Hi"}]}
    ...     done = await http.post("/v1/chat/completions", json=body)
    ...     await app.aclose()
    ...     return done.json()["choices"][0]["message"]["content"]
    >>> asyncio.run(main())
    'Hi'
    """

    def __init__(self, config: Config | None = None, router: Router | None = None) -> None:
        self.config: Config = config if config is not None else Config()
        self.router: Router = router if router is not None else Router(self.config)
        self.access: Access = Access(self.config)
        self.store: Store = Store(self.config.state)
        self.counters: SharedCounters | None = SharedCounters(self.store) if self.config.state.shares_limits() else None
        self.quota: Quota = Quota(self.config, self.counters)
        self.models: ModelList = ModelList(self.router)
        most = self.config.gateway.max_parallel
        self.wire: AiohttpWire = AiohttpWire(
            limits=type(LIMITS)(max_connections=most, max_keepalive_connections=min(most, 100))
        )
        self.space: Space = Space(self.store, self.config.state)
        self.continuity: Continuity = Continuity(self.store, self.space)
        self.turns: Turns = Turns(self.store, self.config.state)
        self.recorder: Recorder = Recorder(self.config.telemetry)
        self.runs: Runs = Runs(self.store, self.wire, partial(again, self), self.recorder)
        self.files: Files = Files(self.turns.files, self.config.state)
        self.caches: Caches = Caches(self.turns.files, self.config.state)
        self.conversations: Conversations = Conversations(self.store, self.config.state.keep, self.space)
        self._kept: dict[str, Files | Caches | Conversations] = {
            **dict.fromkeys(KINDS, self.files),
            **dict.fromkeys(CACHE_KINDS, self.caches),
            **dict.fromkeys(CONVERSATIONS, self.conversations),
        }
        self.draining = self.closing = False  # not ready any more; no connection is accepted any more
        self.ends: float | None = None  # when the time of requests and runs is over, by the monotonic clock
        self.busy: int = 0
        self.sockets: Counter[str] = Counter[str]()  # requests, and the WebSockets of each key
        self._secret = self.config.gateway.secret()
        self._interim: bytes | None = None
        self._admission: Admission = Admission(self.access, self.files)
        self.watch: Watch = Watch()
        self._stores: Reachable | None = Reachable(self.store) if self.config.state.required else None
        self._looking: asyncio.Future[None] | None = None

    def load(self, config: Config, router: Router) -> None:
        """Take another configuration for new requests. Raises `ConfigError` where a restart is needed."""
        problems = [f"{each}: a change needs a restart" for each in config.fixed_changes(self.config)]
        if self.config.keys and not config.keys:
            problems.append("keys: all keys are gone; restart to serve without keys")
        if problems:
            raise ConfigError(problems)
        access, models = Access(config), ModelList(router)
        self.quota.load(config)
        router.cooldown = self.router.cooldown
        self.config, self.router, self.access, self.models = config, router, access, models
        self._admission = Admission(access, self.files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection (ASGI): lifespan, WebSocket or HTTP request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await serve(self, Head.of(scope), scope, receive, send)
        elif scope["type"] == "http":
            known, length = known_by(scope)
            found = self._admission.kept(known)
            head = Head.of(scope) if found is None else found.head
            with self.recorder.request(head.method, head.path, head.headers) as record:
                sending = send if record is None else record.sending(send)
                if await self.watch.whole(self._http(head, found, known, length, receive, sending)):
                    note(refused=stopping().code)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "lifespan.shutdown":
            try:
                await self.secret()
                await self.runs.start()
                if self.counters is not None:
                    await self.counters.open()
            except StoreUnavailable:
                pass  # without the database what needs no state is served
            except ConfigError as error:
                await self.aclose()
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def aclose(self) -> None:
        """Close the connections to upstreams and to the database. `graceful` is for requests and runs together."""
        now = time.monotonic()
        await self.runs.aclose(max(0.0, (self.ends or now + self.config.gateway.graceful) - now))
        await self.wire.aclose()
        if self.counters is not None:
            await self.counters.aclose()
        await self.store.aclose()
        self.recorder.close()

    async def secret(self) -> Secret:
        """The secret of envelopes: the configured one, else that of the database, else one of this process.

        No request waits for a database that was away: it is looked for beside the requests.
        """
        if self._secret is not None:
            return self._secret
        if self._looking is None or (self._looking.done() and not self.store.is_away):
            self._looking = asyncio.ensure_future(self._look())
        if self._interim is None:
            self._interim = os.urandom(32)
            await asyncio.shield(self._looking)
        return self._secret or Secret(self._interim)

    async def _look(self) -> None:
        try:
            found = await self.store.secret()
        except StoreUnavailable:
            return
        # Envelopes that were encrypted in the meantime are still opened.
        self._secret = Secret(found, self._interim) if self._interim else Secret(found)

    # ---- one request ------------------------------------------------------------------------------------------------

    async def _http(
        self, head: Head, found: Admitted | None, known: Known, length: str, receive: Receive, send: Send
    ) -> None:
        try:
            if found is None:
                own = await spending(head, self.access, self.quota, self.recorder.spent)
                if own is None and head.path in OWN_PATHS:
                    self.access.check_admin(head.headers, head.query)
                    own = self.recorder.shown(head.method, head.path, head.query)
                elif own is None:
                    own = await probe(head, self.draining, self._stores)
                    own = own or self.access.preflight(head.method, head.headers)
                if own is not None:
                    await send_whole(send, own, body=head.method != "HEAD")
                    return
                found = await self._admission.admit(head, known)
            else:
                note(match=found.route, key=found.key)
            await self.quota.refresh(found.key)
            self.enter(found.key)
            try:
                content = await found.content(receive, length, self.config.gateway)
                await self.watch.until_gone(self._answer(found, content, send), receive)
            finally:
                self.leave(found.key)
        except Refusal as refusal:
            note(refused=refusal.code or refusal.type)
            reply = error_reply(refusal, surface := protocol_for(head.path, head.headers))
            more = {**self.access.cors(head.headers), **self.quota.headers(found and found.key, surface)}
            await send_whole(send, in_framing(reply, head).with_headers(more), body=head.method != "HEAD")
        except Disconnected:
            pass

    @contextmanager
    def counted(self, key: Key) -> Iterator[None]:
        """Count a request while it is answered. Raises `Refusal` (429) where there are too many."""
        self.enter(key)
        try:
            yield
        finally:
            self.leave(key)

    def enter(self, key: Key) -> None:
        """Count a request that begins; `leave` ends it. Raises `Refusal` (429) where there are too many."""
        if self.busy >= self.config.gateway.max_parallel:
            raise Refusal(429, "rate_limit", "too many requests at the same time", headers={"retry-after": "1"})
        self.quota.enter(key)
        self.busy += 1

    def leave(self, key: Key) -> None:
        """The end of a request that was counted."""
        self.busy -= 1
        self.quota.leave(key)

    async def _answer(self, found: Admitted, content: bytes, send: Send) -> None:
        """Answer one request, errors included; only the disconnection of the client ends it early."""
        head, match = found.head, found.match
        finish: Finish | None = None
        reply: Whole | Reply | Passed | Events
        try:
            reply, finish = await self.reply(head, match, found.key, content, self.turns, found.shown)
        except Refusal as refusal:
            note(refused=refusal.code or refusal.type)
            reply = error_reply(refusal, match.protocol)
        except asyncio.CancelledError:
            if not was_stopped():
                raise
            reply = error_reply(stopping(), match.protocol)
        except Exception:
            _log.exception("internal error at %s %s", head.method, head.path)
            reply = error_reply(Refusal(500, "server_error", "internal error of the gateway"), match.protocol)
        reply = in_framing(reply, head)
        cors = {**found.headers, **self.quota.headers(found.key, match.protocol)}
        if isinstance(reply, Whole):
            await send_whole(send, reply.with_headers(cors))
        elif isinstance(reply, Passed):
            await send_passed(send, self.wire, reply, cors)
        elif isinstance(reply, Events):
            await send_events(send, reply, cors)
        elif reply.stream is None:
            await send_whole(send, Whole(reply.status, {**reply.headers, **cors}, reply.content))
        else:
            await send_stream(send, self.wire, reply, cors, finish)

    async def reply(
        self,
        head: Head,
        match: Match,
        key: Key,
        content: bytes,
        turns: Turns,
        headers: dict[str, str],
    ) -> tuple[Whole | Reply | Passed | Events, Finish | None]:
        """The response, and what has to be done before a stream may end.

        `turns` hold the responses it may go on from, `headers` are those that are part of a conversion.
        """
        if match.route.kind == "models":
            return model_list(await self.models.all(self.wire, key), match, head.query), None
        if match.route.kind in self._kept:
            url = f"{head.scheme}://{head.headers.get('host', '')}{head.path}"
            try:
                sent = Sent(match, key.tenant, head.query, head.headers, content, url)
                return await self._kept[match.route.kind].reply(sent, await self.secret()), None
            except StoreUnavailable:
                raise unavailable() from None
        secret = self._secret or await self.secret()
        if not match.route.kind.endswith("request"):
            return await self._stored(match, key, head.query, secret), None
        found = peek(match.protocol, content)
        route = routed(self.router, head, match, key, found, content)
        meter = self.quota.meter(key, content)
        # What goes through is neither counted nor stored, and read by its upstream alone.
        plain = meter is None and turns is self.turns and is_unambiguous(content, key)
        telemetry = self.recorder.telemetry
        straight = direct(match, found, route, headers, head.query, content, telemetry) if plain else None
        if straight is not None:
            passed = await passed_reply(self.wire, straight, secret)
            if passed is not None:
                return passed, None
        await self.space.check_request(match, key.tenant, found)
        translator = await self.translator(match.protocol, route, key, meter, secret, found)
        named = found._replace(model=match.names.get("model") or found.model)
        translator.memory = recalled = await turns.recall(key, match.protocol, named, secret, content, match.route.kind)
        if found.conversation:
            recalled.conversation = await self.conversations.named(match.protocol, key.tenant, found)
        incoming = Incoming(method=head.method, path=head.path, query=head.query, headers=headers, content=content)
        if found.background is True and match.route.kind == "request":
            return await begin(self, head, match, key, found, translator, incoming, secret), None
        try:
            reply = await ask(self.wire, translator, incoming)
            recalled.tell(reply, self.recorder.lost)
        except (APIConnectionError, APITimeoutError) as error:
            return translator.error_reply(with_status(error), match.protocol), None
        except CapabilityLost as error:
            raise capability_lost(error) from None
        if match.route.kind == COMPACT and reply.status in (404, 405):
            try:
                async with recalled.with_files():
                    return compaction(content, match, recalled, secret), None
            except APIError as error:
                return translator.error_reply(error, match.protocol), None
        reply = await renamed(reply, match, found, key.tenant, turns, recalled)
        reply = placed(reply, match.protocol, self.config.telemetry.losses)
        talk = recalled.conversation if match.route.kind == "request" else None
        if talk is not None:
            reply = talk.shown_reply(reply)
        pending: Pending | None = None
        if talk is not None or (match.route.kind == "request" and stores(match.protocol, found)):
            pending = Pending(turns, key, match.protocol, found, content, recalled, partial(keep, translator))

        async def stored(stream: SurfaceStream, last: list[bytes]) -> list[bytes]:
            last = last if pending is None else await pending.streamed(stream, last)
            await keep(translator)
            return last

        if reply.stream is not None:
            return reply, stored
        reply = reply if pending is None else await pending.whole(reply)
        await keep(translator)
        return reply, None

    async def translator(
        self, surface: str, route: Route, key: Key, meter: OnUsage | None, secret: Secret, found: Peek
    ) -> Translator:
        """What converts a request and its response, and sends it."""
        return Translator(
            list(route.upstreams),
            surface=surface,
            vault=await self.continuity.within(key.tenant, found.store is not False),
            secret=secret,
            caller=key.tenant,
            on_loss=route.on_loss,
            on_failure=route.on_failure,
            on_usage=meter,
            on_losses=self.recorder.lost,
            telemetry=self.recorder.telemetry,
            words=NO_WORDS,
        )

    async def _stored(self, match: Match, key: Key, query: Mapping[str, str], secret: Secret) -> Whole | Events:
        """The answer to a request about a stored response, or about a run."""
        try:
            if (run := await self.runs.get(key.tenant, match.names.get("id", ""))) is not None:
                return await self.runs.lifecycle(run, match, query, secret)
        except StoreUnavailable:
            raise unavailable() from None
        return await self.turns.lifecycle(match, key, query, secret)
