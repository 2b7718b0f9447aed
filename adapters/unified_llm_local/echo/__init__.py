"""`local/echo`: a deterministic upstream that speaks all five protocols as wire bytes, and judges what it is sent.

It echoes; directives in the last user text ask for anything else (docs/echo.md). What a real provider would refuse it
refuses
with the provider's own error. Nothing here imports `unified_llm` or an adapter: it is the other side of the wire.

>>> import httpx2
>>> from unified_llm_local import echo
>>> with httpx2.Client(transport=echo.transport(), base_url="http://echo") as client:
...     body = {"model": "echo", "messages": [{"role": "user", "content": "Good morning."}]}
...     client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
'Good morning.'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unified_llm_local.echo.carriers import Echo
from unified_llm_local.echo.carriers import transport as _transport
from unified_llm_local.echo.service import Service

if TYPE_CHECKING:
    from unified_llm_local.echo.server import Server

__all__ = ["Echo", "app", "serve", "transport"]

app = Echo()
"""The app that all doors share unless they are given another: `uvicorn unified_llm_local.echo:app`."""


def transport(service: Service | None = None, library: str = "httpx2") -> Any:
    """A transport to the service, in memory, for sync and async clients alike: streams are streamed, nothing is
    buffered.

    `library` is "httpx2", or "httpx" for clients that still use it.
    """
    return _transport(service if service is not None else app, library)


def serve(service: Service | None = None, *, host: str = "127.0.0.1", port: int = 0, uds: str | None = None) -> Server:
    """A server in a thread, on a free port of this machine or on the Unix socket `uds`.

    `.url` is the address; `.close()`, or leaving the `with` block, ends it. Raises `OSError` where nobody may listen.
    """
    from unified_llm_local.echo.server import Server

    return Server(service if service is not None else app, host, port, uds)
