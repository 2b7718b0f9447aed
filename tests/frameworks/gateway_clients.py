"""HTTP clients whose requests go to a gateway over real sockets, whatever URL an SDK has for them.

The gateway has one upstream for each `World`; the clients name theirs in a header.
"""

from __future__ import annotations

import importlib
import itertools
import json
from typing import Any
from urllib.parse import urlsplit

import unified_llm as ul
from frameworks.world import World
from gateway.served import Served
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import Config
from unified_llm.gateway.upstreams.routing import Router


class GatewayClients(Served):
    """A gateway behind uvicorn, and clients of it."""

    def __init__(self) -> None:
        tables = {"gateway": {"listen": "127.0.0.1:0", "providers": ["local"]}, "state": {"url": "sqlite://"}}
        settings = Config.model_validate(tables)
        self._router = Router(settings, {})
        self._numbers = itertools.count(1)
        super().__init__(Gateway(settings, self._router))

    def client(self, world: World, library: str = "httpx2") -> Any:
        """A synchronous client that reaches the upstream of `world`."""
        lib: Any = importlib.import_module(library)
        route = _Route(self.url, self._serve(world), world, lib)

        class Transport(lib.HTTPTransport):  # type: ignore[misc]
            def handle_request(self, request: Any) -> Any:
                return route.noted(super().handle_request(route.to_gateway(request)))

        return lib.Client(transport=Transport(limits=_no_reuse(lib)), timeout=30)

    def async_client(self, world: World, library: str = "httpx2") -> Any:
        """An asynchronous one."""
        lib: Any = importlib.import_module(library)
        route = _Route(self.url, self._serve(world), world, lib)

        class Transport(lib.AsyncHTTPTransport):  # type: ignore[misc]
            async def handle_async_request(self, request: Any) -> Any:
                return route.noted(await super().handle_async_request(route.to_gateway(request)))

        return lib.AsyncClient(transport=Transport(limits=_no_reuse(lib)), timeout=30)

    def _serve(self, world: World) -> str:
        name = f"world-{next(self._numbers)}"
        self._router.upstreams[name] = world.upstream
        return name


def _no_reuse(lib: Any) -> Any:
    """No connection outlives its response: frameworks close no client, and use one in several event loops."""
    return lib.Limits(max_keepalive_connections=0)


class _Route:
    """From an SDK's request to one at the gateway, and from its response to the losses that `world` gets."""

    def __init__(self, url: str, upstream: str, world: World, lib: Any) -> None:
        self.port, self.upstream, self.world, self.lib = urlsplit(url).port, upstream, world, lib

    def to_gateway(self, request: Any) -> Any:
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self.port)
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        headers += [(b"host", url.netloc), (b"x-llm-upstream", self.upstream.encode())]
        # Not the request's own timeout: google-genai 2 gives a client of httpx2 a marker of httpx for one.
        patience = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), 30.0)}
        return self.lib.Request(request.method, url, headers=headers, stream=request.stream, extensions=patience)

    def noted(self, response: Any) -> Any:
        rows = json.loads(response.headers.get("x-unified-llm-losses") or "{}").get("first", ())
        self.world.told.append([ul.Loss(path, capability, fate, "", side) for path, capability, fate, side in rows])
        return response
