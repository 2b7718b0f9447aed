"""What carries a service: an ASGI app, and transports for httpx2 and the older httpx. None of them buffers a stream.

The two libraries are alike, so their transports are one factory over the library; neither is imported until it is
requested.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from unified_llm_local.echo.service import Broken, Reply, Service

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Echo(Service):
    """The service as an ASGI app: any ASGI server runs it; `[[break]]` raises, at which a server hangs up."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP request, or the server's start and end."""
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        sleep = importlib.import_module("anyio").sleep
        data, more = b"", True
        while more:
            message = await receive()
            data, more = data + message.get("body", b""), message.get("more_body", False)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        reply = self.handle(scope["method"], scope["path"], scope["query_string"].decode("latin-1"), headers, data)
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        try:
            for chunk in reply.body:
                if isinstance(chunk, float):
                    await sleep(chunk)
                else:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            close(reply)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def close(reply: Reply) -> None:
    """The body is no longer read."""
    reply.body.close()  # type: ignore[attr-defined]


def transport(service: Service, library: str = "httpx2") -> Any:
    """A transport of `library` ("httpx2" or "httpx") over a service, for sync and async clients alike."""
    lib: Any = importlib.import_module(library)

    class Body(lib.SyncByteStream, lib.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, reply: Reply, request: Any) -> None:
            self.reply, self.request = reply, request

        def broken(self, problem: Broken) -> Exception:
            made: Exception = lib.RemoteProtocolError(str(problem), request=self.request)
            return made

        def __iter__(self) -> Iterator[bytes]:
            try:
                for chunk in self.reply.body:
                    if isinstance(chunk, float):
                        time.sleep(chunk)
                    else:
                        yield chunk
            except Broken as problem:
                raise self.broken(problem) from None

        async def __aiter__(self) -> AsyncIterator[bytes]:
            sleep = importlib.import_module("anyio").sleep
            try:
                for chunk in self.reply.body:
                    if isinstance(chunk, float):
                        await sleep(chunk)
                    else:
                        yield chunk
                        await sleep(0)  # others may run between two frames
            except Broken as problem:
                raise self.broken(problem) from None

        def close(self) -> None:
            close(self.reply)

        async def aclose(self) -> None:
            close(self.reply)

    class Transport(lib.BaseTransport, lib.AsyncBaseTransport):  # type: ignore[misc]
        def answer(self, request: Any, data: bytes) -> Any:
            url = request.url
            spoken = request.extensions.get("unified_llm.protocol")  # set by our own clients
            reply = service.handle(request.method, url.path, url.query.decode(), dict(request.headers), data, spoken)
            return lib.Response(reply.status, headers=reply.headers, stream=Body(reply, request), request=request)

        def handle_request(self, request: Any) -> Any:
            return self.answer(request, request.read())

        async def handle_async_request(self, request: Any) -> Any:
            return self.answer(request, await request.aread())

    return Transport()
