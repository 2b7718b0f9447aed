"""An HTTP client of `local/echo`."""

from __future__ import annotations

from typing import Any

import httpx2

from oracles import mounts
from oracles.surfaces import (
    CONTENT,
    HEADERS,
    Node,
    path,
)
from unified_llm_local import echo


def client(service: echo.Echo) -> httpx2.Client:
    return httpx2.Client(transport=echo.transport(service), base_url="http://echo")


def post(protocol: str, body: Node, service: Any = None, stream: bool = False) -> httpx2.Response:
    """What an oracle or `local/echo` answers; the latter where no service is given."""
    transport = (
        mounts.transport(service) if isinstance(service, mounts.Oracle) else echo.transport(service or echo.Echo())
    )
    with httpx2.Client(transport=transport, base_url="http://echo") as http:
        body = {**body, "stream": True} if stream and protocol != CONTENT else body
        return http.post(path(protocol, stream), json=body, headers=HEADERS.get(protocol))
