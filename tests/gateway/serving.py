"""A gateway in front of strict upstreams of every protocol: in this process, and behind uvicorn on a free port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import httpx2

import unified_llm as ul
from gateway.served import Served as Served
from oracles import mounts
from oracles.service import Seen
from sdk_surfaces import SURFACES, Contents, Interactions, Surface
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import Config
from unified_llm.gateway.upstreams.routing import Router
from waiting import PATIENCE
from waiting import until as until

PROTOCOLS = sorted(each.protocol for each in SURFACES)
BASES = {each: ("/v1beta" if each.startswith("google") else "/v1") for each in PROTOCOLS}
URL = "http://localhost"
T = TypeVar("T")


def config(**tables: Any) -> Config:
    return Config.model_validate(tables)


class House:
    """The service behind all upstreams, a loop, and gateways over them."""

    def __init__(self) -> None:
        self.service = mounts.Oracle()
        self.runner = asyncio.Runner()
        self.gateways: list[Gateway] = []

    def close(self) -> None:
        self.runner.close()

    def leave(self) -> None:
        """Close what a test has opened in the loop."""
        for each in self.gateways:
            if not each.closing:  # a server closes its own
                self.run(each.aclose())
        self.gateways.clear()

    @property
    def seen(self) -> list[Seen]:
        return list(self.service.seen)

    def upstream(self, protocol: str, **changes: Any) -> ul.Upstream:
        """The service as a provider of its own for each protocol."""
        inside = mounts.transport(self.service)
        given = {"model": "echo", "provider": f"echo-{protocol}", "base_url": f"http://echo{BASES[protocol]}"}
        client = httpx2.AsyncClient(transport=inside)
        return ul.Upstream(protocol=protocol, **{**given, "async_http_client": client, **changes})

    def gateway(self, upstreams: Mapping[str, ul.Upstream] | None = None, **tables: Any) -> Gateway:
        """A gateway whose upstreams are one of each protocol, named after it, unless given."""
        tables.setdefault("gateway", {}).setdefault("providers", ["local"])
        tables.setdefault("state", {"url": "sqlite://"})
        found = {each: self.upstream(each) for each in PROTOCOLS} if upstreams is None else upstreams
        settings = config(**tables)
        made = Gateway(settings, Router(settings, found))
        self.gateways.append(made)
        return made

    def run(self, doing: Awaitable[T], seconds: float = PATIENCE) -> T:
        return self.runner.run(asyncio.wait_for(doing, seconds))

    def http(self, gateway: Gateway) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=gateway), base_url=URL)

    def ask(self, gateway: Gateway, method: str, path: str, **options: Any) -> httpx2.Response:
        """One request to a gateway in this process."""

        async def asked() -> httpx2.Response:
            async with self.http(gateway) as http:
                return await http.request(method, path, **options)

        return self.run(asked())


def sdk(
    surface: type[Surface], model: str, url: str = URL, *, ahttp: Any = None, http: Any = None, **more: Any
) -> Surface:
    """An official SDK pointed at a gateway, as its user does it: by the base URL."""
    root = url if surface in (Contents, Interactions) or surface.protocol.startswith("anthropic") else f"{url}/v1"
    made = surface(http, ahttp, base_url=root, **more)
    made.alias = model
    return made
