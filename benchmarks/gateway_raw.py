"""What a gateway is measured against: a proxy of uvicorn and aiohttp that hands bytes on, and does nothing else.

`gateway_raw.py URL` serves on a free port, which it prints. It reads a body whole, sends it to the same path at URL
with a key, and hands back the answer: a document whole, a stream piece by piece.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import aiohttp
import uvicorn

UPSTREAM = sys.argv[1] if len(sys.argv) > 1 else ""
_session: list[aiohttp.ClientSession] = []


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                connector = aiohttp.TCPConnector(limit=0)
                _session.append(aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()))
            else:
                await _session[0].close()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = {"content-type": "application/json", "authorization": "Bearer key"}
    async with _session[0].post(UPSTREAM + scope["path"], data=body, headers=headers) as response:
        kind = response.headers["content-type"].encode()
        if kind.startswith(b"text/event-stream"):
            await send({"type": "http.response.start", "status": response.status, "headers": [(b"content-type", kind)]})
            async for chunk in response.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        content = await response.read()
        told = [(b"content-type", kind), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": response.status, "headers": told})
        await send({"type": "http.response.body", "body": content})


class Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)


if __name__ == "__main__":
    Server(uvicorn.Config(app, port=0, access_log=False, log_level="warning")).run()
