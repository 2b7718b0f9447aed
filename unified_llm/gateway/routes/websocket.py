"""A surface over WebSocket: a message is a request, and each event of its response is a message.

A socket has lanes. The requests of a lane are answered one after the other, those of different lanes side by side. What
was answered can be continued on the same socket although it is not stored (`websocket_responses.py`). An error is a
message like any other, and the socket stays open.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ...client.state.response_memory import Turn, keeps
from ...client.state.store import takes
from ...client.transports.route_matching import Match, recognize
from ...client.transports.translator import Reply, Translator
from ...engine.registry import adapter
from ...foundation.errors import APIError, InvalidBody
from ...foundation.hints import NO_WORDS
from ...foundation.json_codec import dump, parse
from ...passes.convert import convert
from ...streams.collect_and_decompose import decompose
from ...streams.framings.sse import encode
from ...streams.writing import write_stream
from ..access.callers import Key
from ..requests.body import peek
from ..requests.head import Head
from ..requests.versions import answered_version, versioned
from ..responses.replies import Receive, Refusal, Scope, Send, Whole, error_reply, events_of, protocol_for, stopping
from ..responses.watch import was_stopped
from ..state.stored_responses import Pending, data_of, id_of, stores
from ..telemetry.recorder import note
from ..upstreams.routing import requested_model
from .websocket_responses import SocketTurns

if TYPE_CHECKING:
    from ..app import Gateway

__all__ = ["Session", "serve"]

_log = logging.getLogger("unified_llm.gateway")
_METHOD = "WEBSOCKET"  # of a handshake or a message in the request log
_HANDSHAKE = ("connection", "upgrade")
_MOST = 256  # messages of one connection that wait
_RESTART = 1012  # the close code of a server that stops
_FAILED = frozenset(("failed", "cancelled"))
Node = dict[str, Any]


async def serve(gateway: Gateway, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
    """One connection: refused with a response of HTTP, or accepted and served to its end."""
    await receive()
    key: Key | None = None
    try:
        key = gateway.access.admit(head.headers, head.query)
        match = versioned(_matched(head), head.path, head.headers)
        _check_room(gateway, key)
    except Refusal as refusal:
        with gateway.recorder.request(_METHOD, head.path, head.headers) as record:
            refused = refusal.code or refusal.type
            note(key=key, match=recognize("POST", head.path, head.headers), refused=refused)
            reply = error_reply(refusal, protocol_for(head.path, head.headers))
            await _refuse(scope, send if record is None else record.sending(send), reply)
        return
    gateway.sockets[key.name] += 1
    session = Session(gateway, head, match, key, receive, send)
    gateway.watch.finishing.add(session.finish)
    try:
        await session.run()
    except OSError:
        pass  # the client is gone
    finally:
        gateway.watch.finishing.discard(session.finish)
        gateway.sockets -= Counter((key.name,))


def _check_room(gateway: Gateway, key: Key) -> None:
    """Raise `Refusal` (429, 503) where no other connection of a key is accepted."""
    if gateway.closing:
        raise stopping()
    limits = gateway.config.gateway
    if gateway.sockets.total() >= limits.max_parallel or gateway.sockets[key.name] >= limits.max_sockets:
        reason, wait = "too many WebSockets at the same time", {"retry-after": "1"}
        raise Refusal(429, "rate_limit", reason, code="too_many_connections", headers=wait)


def _matched(head: Head) -> Match:
    """The route of the requests that come over the socket."""
    match = recognize("POST", head.path, head.headers)
    socket = adapter(match.protocol).socket if match is not None else None
    if match is not None and socket is not None and socket.path == match.route.path:
        return match
    if match is not None:
        raise Refusal(426, "invalid_request", f"{head.path} is not served over WebSocket; use POST")
    raise Refusal(404, "not_found", f"unknown route {head.path}", code="unknown_route")


async def _refuse(scope: Scope, send: Send, reply: Whole) -> None:
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = {**reply.headers, "content-length": str(len(reply.content))}
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "websocket.http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "websocket.http.response.body", "body": reply.content})


class Session:
    """One open socket."""

    def __init__(self, gateway: Gateway, head: Head, match: Match, key: Key, receive: Receive, send: Send) -> None:
        self._gateway, self._match, self._key, self._receive, self._send = gateway, match, key, receive, send
        own = {name: value for name, value in head.headers.items() if not name.startswith("sec-websocket-")}
        self._head = head._replace(
            method="POST", headers={name: value for name, value in own.items() if name not in _HANDSHAKE}
        )
        declared = adapter(match.protocol).socket
        assert declared is not None
        self._socket = declared
        self._limit = gateway.config.gateway.max_body
        self._turns = SocketTurns(gateway.turns, self._limit)
        # Bytes: what they are parsed to is several times as large.
        self._lanes: dict[str, asyncio.Queue[bytes]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._active = asyncio.Semaphore(declared.active)
        self._waiting = self._size = 0  # messages that wait or are answered, and their bytes
        self._is_open = self._is_finishing = False
        self._time = asyncio.timeout(declared.lifetime)

    def finish(self) -> None:
        """Close the socket once what is under way is answered: the server stops."""
        self._is_finishing = True
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._is_finishing and not self._waiting and self._is_open and not self._time.expired():
            self._time.reschedule(0)

    async def run(self) -> None:
        """Serve the socket until its client leaves, its time is over, or the server stops."""
        told = answered_version(self._match, self._head.headers)
        raw = [(name.encode(), value.encode()) for name, value in told.items()]
        await self._send({"type": "websocket.accept", "headers": raw})
        try:
            async with self._time:
                self._is_open = True
                self._close_if_idle()
                while await self._take(await self._receive()):
                    await asyncio.sleep(0)  # messages that are there already are received without a pause
        except TimeoutError:
            if self._is_finishing and not self._waiting:
                await self._send({"type": "websocket.close", "code": _RESTART})
                return
            reason = f"this connection is open for {self._socket.lifetime / 60:g} minutes; open another one"
            await self._fail("", Refusal(400, "invalid_request", reason, code=self._socket.codes[2]))
            await self._send({"type": "websocket.close", "code": 1000})
        finally:
            self._is_open = False
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, message: Mapping[str, Any]) -> bool:
        """Put a message into its lane, or answer what is none; False at the end of the connection."""
        if message["type"] == "websocket.disconnect":
            return False
        text = message.get("text")
        content = text.encode() if isinstance(text, str) else message.get("bytes") or b""
        lane = ""
        try:
            body = _object(content)
            lane = self._lane(body)
            if body.get("type") != self._socket.create:
                refused = self._socket.refused(body)
                if refused is None:
                    reason = f"unknown event type {body.get('type')!r}; send {self._socket.create!r}"
                    raise Refusal(400, "invalid_request", reason, code="unknown_event_type")
                await self._send_message(lane, dump(refused))
                return True
            if self._is_finishing:
                raise stopping()
            if self._waiting >= _MOST or self._size + len(content) > self._limit:
                raise Refusal(429, "rate_limit", "too many requests wait on this connection", code="too_many_requests")
            if lane not in self._lanes:
                if len(self._lanes.keys() - {""}) >= self._socket.lanes and lane:
                    reason = f"more than {self._socket.lanes} lanes on one connection"
                    raise Refusal(400, "invalid_request", reason, code=self._socket.codes[1])
                self._lanes[lane] = asyncio.Queue()
                self._tasks.append(asyncio.create_task(self._work(lane)))
        except Refusal as refusal:
            with self._gateway.recorder.request(_METHOD, self._head.path, self._head.headers):
                code = refusal.code or refusal.type
                note(key=self._key, match=self._match, refused=code, status=refusal.status)
                await self._fail(lane, refusal)
            return True
        self._waiting += 1
        self._size += len(content)
        self._turns.make_room(self._size)
        self._lanes[lane].put_nowait(content)
        return True

    def _lane(self, body: Node) -> str:
        name = body.get(self._socket.lane)
        if name is None:
            return ""
        if not isinstance(name, str) or not re.fullmatch(self._socket.lane_form, name):
            reason = f"{self._socket.lane} must match {self._socket.lane_form}"
            raise Refusal(400, "invalid_request", reason, code=self._socket.codes[0])
        return name

    async def _work(self, lane: str) -> None:
        """Answer the requests of a lane in their order, until the client is gone."""
        with suppress(OSError):
            while True:
                await self._next(lane)

    async def _next(self, lane: str) -> None:
        """Answer one request. What was read of it is not kept until the next one comes."""
        content = await self._lanes[lane].get()
        await self._gateway.watch.whole(self._respond(lane, content))

    async def _respond(self, lane: str, content: bytes) -> None:
        body, done = _object(content), False
        try:
            async with self._active:
                done = await self._recorded(lane, body)
        except Refusal as refusal:
            await self._fail(lane, refusal)
        except asyncio.CancelledError:
            if not was_stopped():
                raise
            await self._fail(lane, stopping())
        except OSError:
            raise
        except Exception:
            _log.exception("internal error at a WebSocket of %s", self._head.path)
            await self._fail(lane, Refusal(500, "server_error", "internal error of the gateway"))
        self._waiting -= 1
        self._size -= len(content)
        self._turns.make_room(self._size)
        self._close_if_idle()
        previous = body.get(keeps(self._match.protocol))
        if not done and isinstance(previous, str):
            self._turns.evict(previous, lane)

    async def _recorded(self, lane: str, body: Node) -> bool:
        """As `_answer`, with a line in the request log."""
        watch = self._gateway.watch
        with self._gateway.recorder.request(_METHOD, self._head.path, self._head.headers):
            try:
                done = await self._answer(lane, body)
            except Refusal as refusal:
                note(refused=refusal.code or refusal.type, status=refusal.status)
                raise
            except asyncio.CancelledError:
                if watch.is_over:
                    note(refused=stopping().code, status=stopping().status)
                raise
            note(status=200, is_complete=done, **({"refused": stopping().code} if watch.is_over and not done else {}))
            return done

    async def _answer(self, lane: str, body: Node) -> bool:
        """Answer one request; whether its response is one to go on from."""
        gateway, surface = self._gateway, self._match.protocol
        if gateway.watch.is_over:
            raise stopping()
        key = gateway.access.admit(self._head.headers, self._head.query)  # a key may have been removed
        note(key=key, match=self._match)
        field = takes(adapter(surface), "background")
        if field and body.get(field):
            raise Refusal(400, "invalid_request", f"{field} is not supported over WebSocket; use POST", code=field)
        request = {name: value for name, value in body.items() if name not in self._socket.own}
        content = dump({**request, takes(adapter(surface), "stream") or "stream": True})
        await gateway.quota.refresh(key)
        with gateway.counted(key):
            if self._socket.prepares(body):
                return await self._prepare(lane, key, content)
            reply, finish = await gateway.reply(self._head, self._match, key, content, self._turns, self._head.shown)
            if not isinstance(reply, Reply) or reply.stream is None:
                assert isinstance(reply, (Reply, Whole))
                await self._send_error(lane, parse(reply.content), reply.status)
                return False
            last, failure = b"", None
            async with aclosing(events_of(gateway.wire, reply, finish)) as events:
                async for event in events:
                    data = _data(event)
                    if not data:
                        continue
                    last = event
                    # One message ends a response: an error only where no failed response follows.
                    failure = parse(data) if b'"type":"error"' in data[:200] else None
                    if failure is None or failure.get("type") != "error":
                        await self._send_message(lane, data)
                        failure = None
            if failure is not None:
                await self._send_error(lane, failure, None)
                return False
            complete = reply.stream.is_complete
        return complete and self._keep(lane, key, content, reply.stream.sent, last)

    async def _prepare(self, lane: str, key: Key, content: bytes) -> bool:
        """A response without output, for a client that goes on from it later."""
        gateway, surface = self._gateway, self._match.protocol
        found, secret = peek(surface, content), await gateway.secret()
        model = requested_model(found.model)
        gateway.router.resolve(model, key, self._head.upstream)
        await gateway.space.check_request(self._match, key.tenant, found)
        memory = await self._turns.recall(key, surface, found, secret, content)
        try:
            async with memory.with_files():
                memory.recalled(parse(content), surface, ())
            exchange = convert(content, source=surface, target=surface).exchange
        except APIError as error:
            reply = Translator([], secret=secret, words=NO_WORDS).error_reply(error, surface)
            await self._send_error(lane, parse(reply.content), reply.status)
            return False
        except InvalidBody as error:
            raise Refusal(400, "invalid_request", str(error)) from None
        now = int(time.time())
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        node: Node = {"id": f"{adapter(surface).id_prefix}{uuid4().hex}", "model": model, "status": "completed"}
        node |= {"output": [], "usage": usage, "created_at": now, "completed_at": now}
        if exchange is not None:
            exchange = replace(exchange, previous=found.previous)
        events = write_stream(decompose(node), surface, exchange=exchange)
        frames = [encode(each["event"], _text(each["data"])) for each in events]
        if stores(surface, found):
            frames = await Pending(self._turns, key, surface, found, content, memory).ended(b"".join(frames), frames)
        for frame in frames:
            await self._send_message(lane, _data(frame))
        return self._keep(lane, key, content, frames, frames[-1])

    def _keep(self, lane: str, key: Key, content: bytes, sent: list[bytes], last: bytes) -> bool:
        """Remember a complete response; whether it is one to go on from."""
        nodes = [node for node in data_of(last).values() if isinstance(node, dict)]
        if any(node.get("status") in _FAILED for node in nodes):
            return False
        surface, answered = self._match.protocol, b"".join(sent)
        previous = parse(content).get(keeps(surface))
        turn = Turn(key.tenant, surface, content, previous if isinstance(previous, str) else "", [answered], True)
        if id_ := id_of(surface, answered, True):
            self._turns.keep(id_, turn, lane)
        return True

    # ---- messages to the client --------------------------------------------------------------------------------------

    async def _send_error(self, lane: str, value: Any, status: int | None) -> None:
        await self._send_message(lane, dump(self._socket.error(value if isinstance(value, dict) else {}, status)))

    async def _fail(self, lane: str, refusal: Refusal) -> None:
        reply = error_reply(refusal, self._match.protocol)
        await self._send_error(lane, parse(reply.content), reply.status)

    async def _send_message(self, lane: str, message: bytes) -> None:
        if lane:
            message = b'%b,"%b":%b}' % (message.rstrip()[:-1], self._socket.lane.encode(), dump(lane))
        await self._send({"type": "websocket.send", "text": message.decode()})


def _object(content: bytes) -> Node:
    try:
        body = parse(content)
    except InvalidBody as error:
        raise Refusal(400, "invalid_request", str(error), code="invalid_json") from None
    if not isinstance(body, dict):
        raise Refusal(400, "invalid_request", "a message must be a JSON object", code="invalid_json")
    return body


def _data(event: bytes) -> bytes:
    """The data of an event without its framing; empty for comments and end markers."""
    data = b"".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
    return data if data.startswith(b"{") else b""


def _text(data: Any) -> str:
    return data if isinstance(data, str) else dump(data).decode()
