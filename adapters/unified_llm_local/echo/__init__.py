"""`local/echo`: a deterministic, lenient upstream in every installed protocol, without network or key.

It repeats the last text of the user; directives in that text request anything else (docs/echo.md). What to answer is
decided on the canonical request, and the adapters read and write the wire. It answers requests that providers refuse.

>>> import httpx2
>>> from unified_llm_local import echo
>>> with httpx2.Client(transport=echo.transport(), base_url="http://echo") as client:
...     body = {"model": "echo", "messages": [{"role": "user", "content": "Good morning."}]}
...     client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
'Good morning.'
"""

from __future__ import annotations

from typing import Any

from unified_llm_local.echo.carriers import Echo
from unified_llm_local.echo.carriers import transport as _transport
from unified_llm_local.echo.service import Service

__all__ = ["Echo", "app", "transport"]

app = Echo()
"""The service that `transport` uses unless it is given another: `uvicorn unified_llm_local.echo:app`."""


def transport(service: Service | None = None, library: str = "httpx2") -> Any:
    """A transport to the service, in memory, for sync and async clients alike; streams are not buffered.

    `library` is "httpx2", or "httpx" for clients that still use it.
    """
    return _transport(service if service is not None else app, library)
