"""An official SDK's surface over an upstream of ours, and the choices that tests go through."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from oracles import mounts
from sdk_surfaces import SURFACES, Said, Surface

PROTOCOLS = sorted(each.protocol for each in SURFACES)


class Pair:
    """A surface's SDK over an upstream with `protocol`, and what that upstream saw."""

    def __init__(self, surface: type[Surface], protocol: str, **options: Any) -> None:
        self.service = mounts.Oracle()
        inside = mounts.transport(self.service)
        self.upstream = ul.Upstream.of(f"local/echo:{protocol}").with_(
            http_client=httpx2.Client(transport=inside), async_http_client=httpx2.AsyncClient(transport=inside)
        )
        self.losses: list[ul.Losses] = []
        given = {"on_losses": self.losses.append, **options}
        self.sdk = surface(ul.http_client(self.upstream, **given), ul.async_http_client(self.upstream, **given))

    def call(self, mode: str) -> Said:
        if mode.startswith("async"):
            return asyncio.run(self.sdk.acall("stream" in mode))
        return self.sdk.call("stream" in mode)


surfaces = pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
protocols = pytest.mark.parametrize("protocol", PROTOCOLS)
modes = pytest.mark.parametrize("mode", ["plain", "stream", "async plain", "async stream"])
