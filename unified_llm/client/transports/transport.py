"""Under an official SDK, in this process: an HTTP client that sends to another provider.

The SDK believes it talks to its own provider; the transport below it translates. One object serves threads and event
loops, and either HTTP library, because every rule is in `translator.py` and every connection in `io.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import fields
from email.utils import formatdate
from functools import lru_cache
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import httpx2

from ...foundation.errors import APIConnectionError, APIError, APITimeoutError
from ...foundation.usage_errors import InvalidArgument
from ...passes.keyword_arguments import spelled_out, texts_in
from ..connections.io import TIMEOUT, AsyncWire, Wire
from ..sending.deadline import Deadline
from ..sending.effects import lowered
from ..upstreams import options as upstream_options
from ..upstreams.options import UpstreamKeywords
from ..upstreams.references import check_names
from ..upstreams.upstream import Upstream
from .stream_translation import SurfaceStream
from .translator import Incoming, Reply, Translator

if TYPE_CHECKING:
    import httpx

    from ...foundation.secret import SecretLike
    from ...losses import Levels
    from ...models.names import ProtocolName
    from ...provenance.vault import Vault
    from ..params import UpstreamLike
    from ..sending.retry import Retry
    from .translator import OnLosses

__all__ = ["async_http_client", "http_client", "transport"]

Library = Literal["httpx2", "httpx"]


class TransportKeywords(UpstreamKeywords, total=False):
    """What `http_client` takes beside the upstream."""

    limits: httpx2.Limits | None
    """Limits of the connection pool, without an HTTP client."""
    total_timeout: float | None
    """Seconds that one request of the SDK may take, its stream included."""
    vault: Vault | None
    """A store for what the SDK does not echo; by default in memory."""
    secret: SecretLike
    """What authenticates the envelopes in which the SDK keeps data of other providers."""
    caller: str
    """The tenant that the transport serves."""
    on_loss: Levels
    """What is done about losses, as in `convert`."""
    on_losses: OnLosses | None
    """A function that is called with the losses of each response."""
    retry: Retry | None
    """When to retry; by default never, because the SDK retries."""


def _meanings() -> dict[str, str]:
    return {**upstream_options.meanings(), **texts_in(__file__)}


@overload
def http_client(
    upstream: UpstreamLike | Sequence[UpstreamLike] = None,
    surface: ProtocolName | None = None,
    *,
    library: Literal["httpx2"] = "httpx2",
    **options: Unpack[TransportKeywords],
) -> httpx2.Client: ...
@overload
def http_client(
    upstream: UpstreamLike | Sequence[UpstreamLike] = None,
    surface: ProtocolName | None = None,
    *,
    library: Literal["httpx"],
    **options: Unpack[TransportKeywords],
) -> httpx.Client: ...
@spelled_out(TransportKeywords, meanings=_meanings)
def http_client(
    upstream: Any = None, surface: ProtocolName | None = None, *, library: Library = "httpx2", **options: Any
) -> Any:
    """An HTTP client for an official SDK, whose requests are answered by another provider.

    `upstream` is "provider/model", a base URL, an SDK's client, an `Upstream`, or a list of them, which are tried in
    their order; with None the model of each request is "provider/model". The SDK's surface is recognized by its
    path; `surface` (a protocol) leaves no choice. `library` is the HTTP library the SDK uses: "httpx" needs the extra.

    Options: `on_losses` is called with the `Losses` of every answer that has any (they are in the header
    `x-unified-llm-losses` too, those of a stream's answer only here); `on_loss` are levels as in `convert`; `vault`
    remembers what the SDK does not echo (default: in memory, for this client); `secret` authenticates the envelopes
    in which the SDK keeps other providers' data (default: random, of this process; give one to go on in another
    process); `caller` names the tenant that the transport serves, where several share a vault or the transport: a
    request names its own in the header `x-unified-llm-caller`, and none gets what was kept for another; `retry` a
    `Retry` (default: none, the
    SDK has its own); `total_timeout` are the seconds that one request of the SDK may take, its stream included;
    `http_client` and `async_http_client` reach the upstream, `limits` are those of the pool without them; `api_key`,
    `base_url` and every other field of an `Upstream`. Credentials go to the origin of the first upstream; `api_key`
    may map providers to keys. `protocol` forces one protocol; with "auto", the default for names, each request goes in
    the provider's protocol that carries most of it (the header `x-unified-llm-protocol` contains it).

    Errors come in the surface's own shape and status, so that the SDK raises what it always raises.

        client = openai.OpenAI(api_key="unused", http_client=ul.http_client("anthropic/claude-opus-4-7"))

    What lies below an SDK can be called by hand, too:

    >>> with http_client("local/echo:anthropic-messages") as http:
    ...     body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    ...     http.post("http://any/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    'Hi'
    """
    lib = _library(library)
    return lib.Client(transport=transport(upstream, surface, library=library, **options), timeout=_patience(lib))


@overload
def async_http_client(
    upstream: UpstreamLike | Sequence[UpstreamLike] = None,
    surface: ProtocolName | None = None,
    *,
    library: Literal["httpx2"] = "httpx2",
    **options: Unpack[TransportKeywords],
) -> httpx2.AsyncClient: ...
@overload
def async_http_client(
    upstream: UpstreamLike | Sequence[UpstreamLike] = None,
    surface: ProtocolName | None = None,
    *,
    library: Literal["httpx"],
    **options: Unpack[TransportKeywords],
) -> httpx.AsyncClient: ...
@spelled_out(TransportKeywords, meanings=_meanings)
def async_http_client(
    upstream: Any = None, surface: ProtocolName | None = None, *, library: Library = "httpx2", **options: Any
) -> Any:
    """`http_client` for event loops: `openai.AsyncOpenAI(http_client=ul.async_http_client(...))`.

    >>> import asyncio
    >>> async def main():
    ...     async with async_http_client("local/echo:anthropic-messages") as http:
    ...         answer = await http.post("http://any/v1/responses", json={"model": "m", "input": "Hi"})
    ...         return answer.json()["status"]
    >>> asyncio.run(main())
    'completed'
    """
    lib = _library(library)
    return lib.AsyncClient(transport=transport(upstream, surface, library=library, **options), timeout=_patience(lib))


def transport(
    upstream: Any = None,
    surface: str | None = None,
    *,
    library: Library = "httpx2",
    http_client: httpx2.Client | None = None,
    async_http_client: httpx2.AsyncClient | None = None,
    limits: httpx2.Limits | None = None,
    total_timeout: float | None = None,
    **options: Any,
) -> Any:
    """The transport alone, for SDKs that take one; it is of both kinds, synchronous and asynchronous.

    It raises what an SDK expects of its HTTP library and nothing else: `ConnectError` where no provider was reached,
    `ReadTimeout` where one did not answer in time.
    """
    Deadline.of(total_timeout)
    known = (*TransportKeywords.__annotations__, *signature(Translator).parameters, *signature(transport).parameters)
    check_names(options, (*known, *(each.name for each in fields(Upstream))))
    translator = Translator(upstream, surface=surface, **options)
    wires = Wire(http_client=http_client, limits=limits), AsyncWire(http_client=async_http_client, limits=limits)
    return _kind(library)(translator, *wires, total_timeout)


def _library(library: str) -> Any:
    if library == "httpx2":
        return httpx2
    if library == "httpx":
        from .transport_httpx import httpx

        return httpx
    raise InvalidArgument(f"library is 'httpx2' or 'httpx', not {library!r}")


def _patience(lib: Any) -> Any:
    return lib.Timeout(**TIMEOUT.as_dict())


def _incoming(request: Any, content: bytes) -> Incoming:
    waits = request.extensions.get("timeout")
    return Incoming(
        method=request.method,
        path=request.url.raw_path.decode("ascii").partition("?")[0],  # a quoted slash is not a separator
        query=dict(request.url.params) if request.url.query else {},
        headers=lowered(request.headers),
        content=content,
        timeout=httpx2.Timeout(**waits) if isinstance(waits, dict) and len(waits) == 4 else None,
    )


class _Body:
    """The body of a streamed answer: what was read of the upstream's stream as what the client is sent."""

    def __init__(self, surface: SurfaceStream, stream: Any) -> None:
        self.surface, self.stream = surface, stream
        self.ready: deque[bytes] = deque()
        self.over = False

    @property
    def waits(self) -> bool:
        """Whether nothing can be sent before more is read."""
        return not self.ready and not self.over

    def take(self, chunk: bytes | None) -> None:
        """Take in a chunk; None is the end."""
        self.over = chunk is None
        self._put(self.surface.close() if chunk is None else self.surface.feed(chunk))

    def fail(self, error: APIError) -> None:
        """End with an error of the surface's own."""
        self.over = True
        self._put(self.surface.broken(error.error))

    def _put(self, out: list[bytes]) -> None:
        self.ready += map(self.surface.frames, out) if self.surface.frames is not None else out


@lru_cache(2)
def _kind(library: str) -> Any:
    """The transport class of an HTTP library: both have the same names for the same things."""
    lib = _library(library)

    def raised(error: APIError, request: Any) -> Exception:
        """What the SDK would have seen without us."""
        kind = lib.ReadTimeout if isinstance(error, APITimeoutError) else lib.ConnectError
        found: Exception = kind(str(error), request=request)
        return found

    def answered(reply: Reply, request: Any, body: Any) -> Any:
        # https://www.rfc-editor.org/rfc/rfc9110#name-date
        headers = {"date": formatdate(usegmt=True), **reply.headers}
        if body is None:
            return lib.Response(reply.status, headers=headers, content=reply.content, request=request)
        return lib.Response(reply.status, headers={**headers, **body.surface.headers}, stream=body, request=request)

    class SyncBody(_Body, lib.SyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            return self

        def fill(self) -> None:
            while self.waits:
                try:
                    self.take(next(self.stream, None))
                except APIError as error:
                    self.fail(error)

        def __next__(self) -> bytes:
            self.fill()
            if not self.ready:
                raise StopIteration
            return self.ready.popleft()

        def close(self) -> None:
            self.stream.close()
            self.surface.leave()

    class AsyncBody(_Body, lib.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def fill(self) -> None:
            while self.waits:
                try:
                    self.take(await anext(self.stream, None))
                except APIError as error:
                    self.fail(error)

        async def __anext__(self) -> bytes:
            await self.fill()
            if not self.ready:
                raise StopAsyncIteration
            return self.ready.popleft()

        async def aclose(self) -> None:
            await self.stream.aclose()
            self.surface.leave()

    class Transport(lib.BaseTransport, lib.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        """Answers requests of an official SDK by way of an upstream."""

        def __init__(self, translator: Translator, wire: Wire, async_wire: AsyncWire, total: float | None) -> None:
            self.translator, self.wire, self.async_wire, self.total = translator, wire, async_wire, total

        def __repr__(self) -> str:
            return f"<Transport of {self.translator!r}>"

        def handle_request(self, request: Any) -> Any:
            incoming = _incoming(request, request.read())
            deadline = Deadline.of(self.total)
            failure = None
            try:
                reply = self.wire.run(self.translator.steps(incoming), deadline)
            except (APIConnectionError, APITimeoutError) as error:
                failure = raised(error, request)
            if failure is not None:
                raise failure
            opened, surface = reply.opened, reply.stream
            stream = None if surface is None else SyncBody(surface, self.wire.stream(opened, deadline))
            if stream is not None and stream.surface.has_headers:
                stream.fill()  # of the first event, which was awaited already
            return answered(reply, request, stream)

        async def handle_async_request(self, request: Any) -> Any:
            incoming = _incoming(request, await request.aread())
            deadline = Deadline.of(self.total)
            failure = None
            try:
                reply = await self.async_wire.run(self.translator.steps(incoming), deadline)
            except (APIConnectionError, APITimeoutError) as error:
                failure = raised(error, request)
            if failure is not None:
                raise failure
            opened, surface = reply.opened, reply.stream
            stream = None if surface is None else AsyncBody(surface, self.async_wire.stream(opened, deadline))
            if stream is not None and stream.surface.has_headers:
                await stream.fill()
            return answered(reply, request, stream)

        def close(self) -> None:
            self.wire.close()

        async def aclose(self) -> None:
            await self.async_wire.aclose()

    return Transport
