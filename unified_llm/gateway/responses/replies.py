"""Responses on their way to the client: the gateway's own, converted streams, and what goes through byte for byte."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from ...client.connections.io import AsyncWire
from ...client.sending.effects import Answer, Opened
from ...client.transports.report_headers import loss_headers
from ...client.transports.route_matching import recognize, surface_of
from ...client.transports.stream_translation import SurfaceStream
from ...client.transports.translator import Reply
from ...engine.registry import adapter, protocols
from ...engine.shared.error_headers import header_safe
from ...foundation.errors import APIError, APITimeoutError, CapabilityLost
from ...foundation.hints import NO_WORDS, rendered
from ...foundation.json_codec import dump, dump_indented
from ...losses import Losses
from ...passes.convert import write
from ...streams.byte_pipeline import broken_off
from .passed_usage import Tap
from .watch import was_stopped
from .whole_events import WholeEvents

if TYPE_CHECKING:
    from ..requests.head import Head

__all__ = [
    "Events",
    "Finish",
    "Passed",
    "Receive",
    "Refusal",
    "Scope",
    "Send",
    "Watched",
    "Whole",
    "allowed_methods",
    "capability_lost",
    "error_reply",
    "events_of",
    "in_framing",
    "json_reply",
    "protocol_for",
    "send_events",
    "send_passed",
    "send_stream",
    "send_whole",
    "stopping",
    "with_status",
]

_REQUEST_ID = b"x-unified-llm-request-id"
_R = TypeVar("_R")
_LARGE = 1 << 16  # bytes above which a server waits for a client that does not read
_METHODS = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")


class Whole(NamedTuple):
    """A response that is not streamed; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""

    def with_headers(self, more: Mapping[str, str]) -> Whole:
        """The same with more headers."""
        return self._replace(headers={**self.headers, **more}) if more else self


class Refusal(Exception):
    """A request that the gateway refuses by itself. `type` is the canonical error type."""

    def __init__(
        self, status: int, type: str, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.code = code
        self.headers: Mapping[str, str] | dict[str, str] = headers or {}

    def error(self) -> dict[str, Any]:
        """The canonical error."""
        error: dict[str, Any] = {"type": self.type, "message": self.message, "status": self.status}
        return error if self.code is None else {**error, "code": self.code}


def stopping() -> Refusal:
    """The refusal of what a process that stops does not finish."""
    headers = {"retry-after": "5"}
    return Refusal(503, "overloaded", "the gateway is stopping", code="gateway_stopping", headers=headers)


def capability_lost(error: CapabilityLost) -> Refusal:
    """The refusal of what reached a level of `on_loss`, for clients, who can set none."""
    return Refusal(400, "invalid_request", rendered(error, NO_WORDS), code="capability_lost")


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Whole:
    """A JSON document."""
    return Whole(status, {"content-type": "application/json", **(headers or {})}, dump(value))


def error_reply(refusal: Refusal, protocol: str) -> Whole:
    """A refusal in the words of the client protocol."""
    done = write({"error": refusal.error()}, protocol, "error")
    own = {name.lower(): value for name, value in header_safe(done.http.get("headers") or {}).items()}
    again = {} if refusal.status in (408, 429) or refusal.status >= 500 else {"x-should-retry": "false"}
    headers = {"content-type": "application/json", **own, **again, **refusal.headers}
    # The status is the refusal's: a client that gets 503 must not read another one that its protocol prefers.
    return Whole(refusal.status, headers, dump_indented(done.value))


def in_framing(reply: _R, head: Head) -> _R:
    """The reply; an error to a request for a stream of one JSON array is the only element of one, as the provider's is.

    Clients that request it take all elements of the body, whatever the status is, and an object has none.
    """
    if not isinstance(reply, (Whole, Reply)) or reply.status < 400 or reply.content.startswith(b"["):
        return reply
    match = recognize(head.method, head.path, head.headers)
    framing = adapter(match.protocol).streams.framing if match is not None and match.route.stream is True else None
    if framing is None or not framing.array or framing.sse.items() <= head.query.items():
        return reply
    content = b"[%b]" % reply.content
    return reply._replace(content=content) if isinstance(reply, Whole) else replace(reply, content=content)


def protocol_for(path: str, headers: Mapping[str, str]) -> str:
    """The client protocol whose envelope fits a request that matches no route: by path, by headers, else the first."""
    for method in _METHODS:
        if (found := recognize(method, path, headers)) is not None:
            return surface_of(found, path, headers)
    known = [adapter(name) for name in protocols()]
    for each in known:
        if any(mark in headers for mark in each.marks) or any(f"/{root}/" in path for root in each.roots):
            return each.protocol
    plain: Sequence[str] = [each.protocol for each in known if not each.marks and not each.roots]
    return (plain or [each.protocol for each in known])[0]


def allowed_methods(path: str, headers: Mapping[str, str]) -> list[str]:
    """The methods for which a path has a route."""
    return [method for method in _METHODS if recognize(method, path, headers) is not None]


def with_status(error: APIError) -> APIError:
    """An error with the status that a gateway has for it, where no upstream gave one."""
    if error.status is None:
        error.status = 504 if isinstance(error, APITimeoutError) else 502
    return error


# ---- sending -----------------------------------------------------------------------------------------------------

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Finish = Callable[[SurfaceStream, list[bytes]], Awaitable[list[bytes]]]
"""Called with the last events of a complete stream before they are sent; returns those that are sent."""


class Watched:
    """`send` of a request that is recorded: with an eye on the status, the size and the end of the response.

    A sender of many pieces may send all but the first and the last over `bare`, and set the record's `size`.
    """

    __slots__ = ("_began", "bare", "record")

    def __init__(self, bare: Send, record: Any, began: float) -> None:
        self.bare: Send = bare
        self.record: Any = record
        self._began = began

    def __call__(self, message: Mapping[str, Any]) -> Awaitable[None]:
        body, record = message.get("body"), self.record
        if body is not None:
            record.size += len(body)
            if record.first is None and body:
                record.first = time.monotonic() - self._began
            record.is_complete = not message.get("more_body")
        elif message["type"].endswith("http.response.start"):  # of a WebSocket that is refused too
            record.status = message["status"]
            message["headers"].append((_REQUEST_ID, record.id.encode()))
        elif message["type"] == "websocket.close":
            record.status = 403  # with which a server refuses what was not accepted
        return self.bare(message)


class Passed(NamedTuple):
    """A response that goes to the client as its upstream sent it."""

    answer: Answer | Opened
    protocol: str


async def send_whole(send: Send, reply: Whole, *, body: bool = True) -> None:
    """A response in one piece; without its body for HEAD. A large one is sent when its client has read most of it.

    A server takes any body at once, and holds back what comes behind it: so nothing does. Until then the request is
    under way, and counts as one, because its response is in memory.
    """
    length = {} if reply.status == 204 else {"content-length": str(len(reply.content))}
    await _start(send, reply.status, {**reply.headers, **length})
    is_large = body and len(reply.content) > _LARGE
    await send({"type": "http.response.body", "body": reply.content if body else b"", "more_body": is_large})
    if is_large:
        await send({"type": "http.response.body", "body": b""})


async def events_of(wire: AsyncWire, reply: Reply, finish: Finish | None = None) -> AsyncGenerator[bytes, None]:
    """The events of a converted stream, one by one, to an end in any case."""
    assert reply.stream is not None and reply.opened is not None
    stream, surface = wire.stream(reply.opened), reply.stream
    try:
        try:
            async for chunk in stream:
                out = surface.feed(chunk)
                if finish is not None and surface.is_complete:
                    out, finish = await finish(surface, out), None
                for event in out:
                    yield event
            last = surface.close()
            if finish is not None and surface.is_complete:
                last = await finish(surface, last)
        except APIError as error:
            last = surface.broken(error.error)
        except CapabilityLost as error:
            last = surface.broken(capability_lost(error).error())
        except asyncio.CancelledError:
            if not was_stopped():
                raise
            last = surface.stopped(stopping().error())
        for event in last:
            yield event
    finally:
        await stream.aclose()
        surface.leave()


async def send_stream(
    send: Send, wire: AsyncWire, reply: Reply, cors: Mapping[str, str], finish: Finish | None = None
) -> None:
    """A converted stream: one write an event, because some clients need that."""
    surface = reply.stream
    assert surface is not None
    frames = surface.frames
    async with aclosing(events_of(wire, reply, finish)) as events:
        first = await anext(events, None) if surface.has_headers else None
        await _start(send, reply.status, {**reply.headers, **surface.headers, **cors})
        if first is not None:
            first = frames(first) if frames is not None else first
            await send({"type": "http.response.body", "body": first, "more_body": True})
        async for event in events:
            event = frames(event) if frames is not None else event
            await send({"type": "http.response.body", "body": event, "more_body": True})
    if not (surface.breaks and _breaks_off(send)):
        await send({"type": "http.response.body", "body": b""})


async def send_passed(send: Send, wire: AsyncWire, passed: Passed, cors: Mapping[str, str]) -> None:
    """A response byte for byte."""
    found = passed.answer
    headers = {**loss_headers(Losses(), found.hops, found.upstream), **cors}
    if found.request_id:
        headers["x-request-id"] = found.request_id
    if isinstance(found, Answer):
        content = dump(found.value) if found.told else found.raw
        await send_whole(send, Whole(found.status, {"content-type": "application/json", **headers}, content))
        return
    kind = found.headers.get("content-type", "text/event-stream")
    await _start(send, 200, {"content-type": kind, "cache-control": "no-cache", **headers})
    stream, last = wire.stream(found), b""
    begun, latest = b"", b""
    tap = Tap(found) if found.operation is not None else None
    failure: Exception | None = None
    complete = False
    out, size = send, 0
    bare = send.bare if isinstance(send, Watched) else send
    feed = None if tap is None else tap.feed
    events = WholeEvents()
    is_sse = kind.startswith("text/event-stream")
    try:
        async for chunk in stream:
            if feed is not None:
                feed(chunk)
            if is_sse and not (chunk := events.feed(chunk)):
                continue
            chunk = _without_secrets(chunk, found)
            size += len(chunk)
            begun, latest = begun or chunk, chunk
            await out({"type": "http.response.body", "body": chunk, "more_body": True})
            out = bare
        complete, last = True, _without_secrets(bytes(events.rest), found)
        size += len(last)
    except APIError as error:
        failure = error
        last = b"".join(broken_off(passed.protocol, error.error, begun, latest))
    except asyncio.CancelledError:
        if not was_stopped():
            raise
        last = b"".join(broken_off(passed.protocol, stopping().error(), begun, latest))
    finally:
        if isinstance(send, Watched):
            send.record.size = size
        await stream.aclose()
        if tap is not None:
            tap.end(failure, complete)
    breaks = not complete and adapter(passed.protocol).streams.breaks
    await send({"type": "http.response.body", "body": last, "more_body": breaks})
    if breaks and not _breaks_off(send):
        await send({"type": "http.response.body", "body": b""})


def _breaks_off(send: Send) -> bool:
    """Close the connection of a response in the middle of its body, once what was sent has left; whether that is so.

    ASGI has no message and no extension for it. An application that returns without the end of its body makes uvicorn
    (0.54) close the connection as well, but as a mistake, with an error in the log of each such response, and it leaves
    open what another server does. So this uses the cycle of uvicorn; under other servers the body gets its end.
    """
    cycle = getattr(send.bare if isinstance(send, Watched) else send, "__self__", None)
    if not isinstance(cycle, RequestResponseCycle):
        return False
    cycle.transport.close()
    cycle.disconnected = True  # nothing more is sent, and nothing is missed
    return True


def _without_secrets(chunk: bytes, found: Opened) -> bytes:
    """Events without the credentials of their upstream: some servers repeat what they were sent."""
    if b'"error' not in chunk:
        return chunk
    return found.upstream.hide(chunk.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


class Events(NamedTuple):
    """Events from the log of a run, in the framing of a protocol."""

    events: AsyncGenerator[bytes, None]
    protocol: str


async def send_events(send: Send, found: Events, cors: Mapping[str, str]) -> None:
    """A stream from the log."""
    kind = adapter(found.protocol).streams.framing.content_type
    await _start(send, 200, {"content-type": kind, "cache-control": "no-cache", "x-accel-buffering": "no", **cors})
    async with aclosing(found.events) as events:
        try:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        except asyncio.CancelledError:
            if not was_stopped():  # the run is not over: no error, the client reads on later
                raise
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
