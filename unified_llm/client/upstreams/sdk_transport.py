"""An official SDK's client as a transport: requests go through everything that it does to its own.

For the SDKs that one generator makes: `client.post(path, cast_to=Response, body=...)` signs, fetches tokens, rewrites
paths for a platform, and sends with the SDK's own HTTP client. Its retries are off (they are the wire's), its errors
become the answers they were. A platform that frames its streams otherwise brings the decoder for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

from ...foundation.json_codec import parse
from ...foundation.usage_errors import InvalidArgument
from ...streams.framings.sse import encode
from ..connections.io import PATH, SECRETS
from .redaction import Secrets, watch_logs

__all__ = ["clients_of"]

_STREAMED = {"X-Stainless-Raw-Response": "stream"}
_TEXT = "text/event-stream"
_FRAMED = "application/vnd.amazon.eventstream"
_SET_BY_SDK = ("host", "content-length", "accept-encoding", "connection", "user-agent", "content-type")
_SPENT = ("content-encoding", "content-length", "transfer-encoding")


def clients_of(*clients: Any) -> dict[str, Any]:
    """`http_client` and `async_http_client` of an `Upstream` that is reached through an SDK's clients.

    The kind that was not handed in raises when it is used. Raises `InvalidArgument` for two of a kind.
    """
    found: dict[str, Any] = {}
    for client in clients:
        name = "async_http_client" if _is_async(client) else "http_client"
        if name in found:
            raise InvalidArgument("hand in one synchronous client, one asynchronous one, or one of each")
        own = client.with_options(max_retries=0)
        watch_logs(*{kind.__module__ for kind in type(client).__mro__})
        if name == "http_client":
            found[name] = httpx2.Client(transport=_Through(own), timeout=None)
        else:
            found[name] = httpx2.AsyncClient(transport=_AsyncThrough(own), timeout=None)
    found.setdefault("http_client", httpx2.Client(transport=_Missing("synchronous")))
    found.setdefault("async_http_client", httpx2.AsyncClient(transport=_Missing("asynchronous")))
    return found


def _is_async(client: Any) -> bool:
    import inspect

    return inspect.iscoroutinefunction(client.request)


class _Missing(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise InvalidArgument(f"this upstream has no {self.kind} SDK client; pass one to Upstream.from_sdk() as well")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle_request(request)


def _call(request: httpx2.Request) -> dict[str, Any]:
    """The arguments of the SDK's own call for a request. Platforms match routes by the path the SDK would use."""
    path = "/" + str(request.extensions[PATH]).lstrip("/")
    headers = {name: value for name, value in request.headers.items() if name not in _SET_BY_SDK}
    options: dict[str, Any] = {
        "headers": {**headers, **_STREAMED},
        "params": dict(request.url.params),
        "follow_redirects": False,  # the SDK would, with its key in a header that another origin gets too
    }
    waits = request.extensions.get("timeout") or {}
    if any(each is not None for each in waits.values()):
        options["timeout"] = httpx2.Timeout(**waits)
    call: dict[str, Any] = {"path": path, "cast_to": httpx2.Response, "options": options}
    if request.method not in ("GET", "DELETE"):
        call["body"] = parse(request.content) if request.content else {}
    return call


_HARMLESS = "x-stainless-"


def _expect(request: httpx2.Request, client: Any) -> None:
    """Register what an SDK's client is known to log in with, before it can log it."""
    secrets: Secrets = request.extensions.get(SECRETS) or Secrets()
    secrets.add(*(key for name in _KEYS if isinstance(key := getattr(client, name, None), str)))
    secrets.add_headers(_named(getattr(client, "_custom_headers", None) or {}))
    secrets.add_query((getattr(client, "_custom_query", None) or {}).items())


_KEYS = ("api_key", "auth_token", "admin_api_key")


def _named(headers: Any) -> Iterator[tuple[str, str]]:
    """The headers that may be a credential."""
    for name, value in headers.items():
        if isinstance(value, str) and not name.lower().startswith(_HARMLESS):
            yield name, value


def _learn(request: httpx2.Request, found: Any) -> None:
    """Register the credentials that the SDK sent: `found` is its answer or its error."""
    sent = getattr(found, "http_request", None)
    if sent is None:
        try:
            sent = found.request
        except (AttributeError, RuntimeError):
            return
    secrets = request.extensions.get(SECRETS)
    if secrets is not None and hasattr(sent, "headers"):
        before = dict(request.headers)
        secrets.add_headers(pair for pair in _named(sent.headers) if before.get(pair[0].lower()) != pair[1])
        secrets.add_query(sent.url.params.items())


def _failed(error: Exception) -> Exception | None:
    """What the HTTP library would have raised for what the SDK raised; None for an answer."""
    if getattr(error, "response", None) is not None:
        return None
    if isinstance(error, httpx2.HTTPError):
        return error
    if not hasattr(error, "request"):
        return error  # no error of the wire: credentials that are missing, above all
    if isinstance(error.__cause__, httpx2.LocalProtocolError):
        return httpx2.LocalProtocolError("")  # whose words are the header that cannot be sent
    detail = str(error.__cause__ or error)
    return httpx2.ReadTimeout(detail) if "Timeout" in type(error).__name__ else httpx2.ConnectError(detail)


def _framed(headers: Any) -> bool:
    return str(headers.get("content-type", "")).startswith(_FRAMED)


def _headers(answer: Any) -> dict[str, str]:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    for name in _SPENT:
        headers.pop(name, None)
    if _framed(headers):
        headers["content-type"] = _TEXT
    return headers


class _Through(httpx2.BaseTransport):
    def __init__(self, client: Any) -> None:
        self.client = client

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        _expect(request, self.client)
        failure = None
        try:
            answer = getattr(self.client, request.method.lower())(**_call(request))
        except Exception as error:
            _learn(request, error)
            failure, answer = _failed(error), getattr(error, "response", None)
        else:
            _learn(request, answer)
        if failure is not None:
            raise failure
        return httpx2.Response(answer.status_code, headers=_headers(answer), stream=_Body(answer, self.client))


class _Body(httpx2.SyncByteStream):
    def __init__(self, answer: Any, client: Any) -> None:
        self.answer, self.client = answer, client

    def __iter__(self) -> Iterator[bytes]:
        if not _framed(self.answer.headers):
            yield from self.answer.iter_bytes()
            return
        for event in self.client._make_sse_decoder().iter_bytes(self.answer.iter_bytes()):
            yield encode(event.event, event.data)

    def close(self) -> None:
        self.answer.close()


class _AsyncThrough(httpx2.AsyncBaseTransport):
    def __init__(self, client: Any) -> None:
        self.client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        _expect(request, self.client)
        failure = None
        try:
            answer = await getattr(self.client, request.method.lower())(**_call(request))
        except Exception as error:
            _learn(request, error)
            failure, answer = _failed(error), getattr(error, "response", None)
        else:
            _learn(request, answer)
        if failure is not None:
            raise failure
        return httpx2.Response(answer.status_code, headers=_headers(answer), stream=_AsyncBody(answer, self.client))


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, answer: Any, client: Any) -> None:
        self.answer, self.client = answer, client

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not _framed(self.answer.headers):
            async for chunk in self.answer.aiter_bytes():
                yield chunk
            return
        async for event in self.client._make_sse_decoder().aiter_bytes(self.answer.aiter_bytes()):
            yield encode(event.event, event.data)

    async def aclose(self) -> None:
        await self.answer.aclose()
