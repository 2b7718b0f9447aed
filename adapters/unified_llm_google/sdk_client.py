"""An upstream out of a client of the official SDK: the Gemini API or Vertex AI.

The SDK has no way to send a request that it did not make, so its settings are taken over: URL, version, headers, key or
credentials, and an HTTP client that was handed to it.

https://github.com/googleapis/python-genai
"""

from __future__ import annotations

from typing import Any

from unified_llm.client.upstreams.credentials import KeyAuth
from unified_llm.client.upstreams.references import join
from unified_llm.client.upstreams.upstream import Upstream

__all__ = ["upstream"]

_KEY = "x-goog-api-key"


def upstream(*clients: Any, protocol: str | None = None) -> Upstream:
    """The upstream that a client is set up for: generateContent unless Interactions is requested."""
    import httpx2

    if len(clients) > 1:
        raise TypeError("one client serves both kinds of calls")
    own = clients[0]._api_client
    options = own._http_options
    spoken, _, dialect = (protocol or "google-generate-content").partition(":")
    base = join(str(options.base_url), str(options.api_version or ""))
    if own.api_key:
        auth = KeyAuth(_KEY, "{key}", own.api_key, whose="google")
    else:
        auth = KeyAuth("authorization", "Bearer {key}", own._access_token, whose="google-vertex")
    if own.vertexai:
        dialect = dialect or ("vertex" if spoken == "google-generate-content" else "")
        if own.project and own.location:
            base = join(base, f"projects/{own.project}/locations/{own.location}")
    secret = (_KEY, "authorization", "content-type", "user-agent")
    headers = {name: value for name, value in (options.headers or {}).items() if name.lower() not in secret}
    given: dict[str, Any] = {}
    if isinstance(options.httpx_client, httpx2.Client):
        given["http_client"] = options.httpx_client
    if isinstance(options.httpx_async_client, httpx2.AsyncClient):
        given["async_http_client"] = options.httpx_async_client
    return Upstream(
        protocol=f"{spoken}:{dialect}" if dialect else spoken,
        base_url=base,
        auth=auth,
        headers=headers,
        provider="google-vertex" if own.vertexai else "google",
        **given,
    )
