"""`Client` and `AsyncClient`: any provider through one API, with the same methods.

Both are a `Core` (requests and results) and a wire (I/O); see `call_flows.py` and `io.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, Unpack

import httpx2

from ..foundation.secret import SecretLike
from ..foundation.usage_errors import InvalidArgument
from ..losses import Levels
from ..passes.keyword_arguments import spelled_out
from ..provenance.vault import Vault
from .call_flows import Core
from .connections.io import AsyncWire, Wire
from .inputs.argument_types import SETTINGS, check_arguments
from .inputs.unknown_attributes import Hinted
from .params import Given, Key, UpstreamLike, meanings
from .results import ModelInfo, TokenCount
from .sending.flows import Send, Steps, ado, adrive, do, drive
from .sending.retry import Retry
from .state.store import Store
from .telemetry.operation import Telemetry

if TYPE_CHECKING:
    from ..models.names import ModelName, ProtocolName
    from .responses import AsyncResponses, Responses
    from .telemetry.events import RequestInfo, ResponseInfo, RetryInfo
    from .upstreams.upstream import Upstream

__all__ = ["AsyncClient", "Client"]

R = TypeVar("R")
H = TypeVar("H")
W = TypeVar("W")


class _Both(Hinted, Generic[H, W]):
    """What both clients are made of: the settings, and the wire that waits as each of them does."""

    _waits: Callable[..., W]

    def __init__(
        self,
        upstream: UpstreamLike | None = None,
        *,
        model: ModelName | Upstream | None = None,
        models: Sequence[ModelName | Upstream] = (),
        protocol: ProtocolName | None = None,
        api_key: Key | None = None,
        base_url: str | None = None,
        on_loss: Levels = "ignore",
        vault: Vault | None = None,
        secret: SecretLike = None,
        timeout: float | httpx2.Timeout | None = None,
        total_timeout: float | None = None,
        retry: Retry | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: H | None = None,
        limits: httpx2.Limits | None = None,
        store: Store | None = None,
        on_request: Callable[[RequestInfo], Any] | None = None,
        on_response: Callable[[ResponseInfo], Any] | None = None,
        on_retry: Callable[[RetryInfo], Any] | None = None,
        tracer_provider: Any = None,
        meter_provider: Any = None,
    ) -> None:
        check_arguments(locals(), SETTINGS)
        if max_retries is not None:
            if retry is not None:
                raise InvalidArgument("pass retry= or max_retries=, not both")
            retry = Retry(attempts=max_retries + 1)
        self._core = Core(
            upstream,
            model=model,
            models=tuple(models),
            protocol=protocol,
            api_key=api_key,
            base_url=base_url,
            on_loss=on_loss,
            vault=vault,
            secret=secret,
            timeout=timeout,
            total_timeout=total_timeout,
            retry=retry,
            headers=headers,
            store=store,
            telemetry=Telemetry(
                on_request=on_request,
                on_response=on_response,
                on_retry=on_retry,
                tracer_provider=tracer_provider,
                meter_provider=meter_provider,
            ),
        )
        self._wire = self._waits(http_client=http_client, retry=self._core.retry, timeout=timeout, limits=limits)
        self._equip()

    __init__.__qualname__ = "Client.__init__"  # as it is named in errors about arguments

    def _equip(self) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._core.shown())})"

    def __copy__(self) -> Self:
        return self  # it has connections, which copies share

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} has connections and credentials and cannot be pickled; make one there")


class Client(_Both[httpx2.Client, Wire]):
    """A client of any provider.

    Calls are `responses.create`, `responses.parse` (structured output) and `responses.run` (tools); `responses.resume`
    continues a run. `responses.retrieve`, `cancel` and `delete` are for stored responses, `models.list` and
    `count_tokens` for models.

    Without an `upstream` every call names its provider: `model="provider/model"`. With one (a name, a base URL, an
    official SDK's client, or an `Upstream`) plain model names are enough. `model` is used where a call names none,
    `models` are its fallbacks. `protocol` forces a wire format, else the one that loses least for the request is
    used. `api_key` and `base_url` take precedence over environment and registry. `on_loss` is the level of losses
    (`convert(on_loss=)`), `vault` remembers opaque data that a conversation drops, `secret` authenticates envelopes
    (`convert(secret=)`; by default random, of this process), `retry` is the retry policy (`max_retries`, as official
    SDKs call it, is short for `Retry(attempts=max_retries + 1)`),
    `timeout` is seconds or the HTTP library's own; it restarts with every piece of an answer that arrives.
    `total_timeout` is the seconds that a call may take with everything in it, retries, sleeps, the turns of a tool
    loop and the reading of a stream included (default: no limit); with a pool of the caller's own it is looked at
    between pieces. `api_key` (a key, a function, or a mapping by provider) and `headers` go to the origin of the
    upstream or first model named here; if none is named, to that of each call's first upstream. `limits` are those of
    the connection pool, 100 connections by default. `http_client` brings a pool; it is not closed.
    `store` (a `MemoryStore`) keeps answers, so that `previous_response_id=`, `background=True` and
    `responses.retrieve` work over providers that keep none.
    `on_request`, `on_retry` and `on_response` are called with a `RequestInfo` for each request that is sent, a
    `RetryInfo` where another one follows, and a `ResponseInfo` at the end; an `AsyncClient` awaits async functions.
    An exception of a hook is logged. Spans and metrics go to the `tracer_provider` and `meter_provider` of
    OpenTelemetry, by default to the global ones.

    It may be used by several threads, and after a fork. Close it, or use it as a context manager; afterwards calls
    raise `APIConnectionError` with the code `client_closed`.

    >>> import unified_llm as ul
    >>> with ul.Client(model="local/echo") as client:
    ...     client.responses.create(input="Hello").output_text
    'Hello'
    """

    _waits = Wire

    def _equip(self) -> None:
        from .responses import Responses

        self.responses: Responses = Responses(self)
        self.models: Models = Models(self)

    @spelled_out(Given, meanings=meanings)
    def count_tokens(self, **given: Unpack[Given]) -> TokenCount:
        """How many tokens a request takes; `responses.input_tokens.count` under another name.

        >>> import unified_llm as ul
        >>> count = ul.Client().count_tokens(model="local/echo", input="Hello")
        >>> count.input_tokens > 0
        True
        """
        return self.responses.input_tokens.count(**given)

    def _run(self, steps: Steps[R]) -> R:
        return drive(steps, self._do)

    def _do(self, effect: Any) -> Any:
        return self._wire.send(effect.ask, effect.upstreams) if isinstance(effect, Send) else do(effect)

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def __enter__(self) -> Client:
        self._wire.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Models(Hinted):
    """`client.models`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(
        self, upstream: UpstreamLike | Sequence[UpstreamLike] | None = None, *, limit: int | None = None
    ) -> list[ModelInfo]:
        """The models that an upstream lists: the client's own, one that is named ("provider"), or several.

        Lists that come in pages are read to their end, or until there are `limit` models. Of several upstreams those
        that answer are listed; where none does, it raises the error of the first, `CapabilityRefused` for one that has
        no list. What is known of models everywhere is in `unified_llm.models`.

        >>> import unified_llm as ul
        >>> [each.id for each in ul.Client().models.list("local")]
        ['echo', 'echo-mini']
        """
        return self._client._run(self._client._core.listing(upstream, limit))


class AsyncClient(_Both[httpx2.AsyncClient, AsyncWire]):
    """`Client` for event loops, with the same methods; `await` them. Streams are `async for`.

    It works under asyncio and trio, and in several loops, one after the other or in threads of their own.

    >>> import asyncio
    >>> async def main():
    ...     async with AsyncClient(model="local/echo") as client:
    ...         return (await client.responses.create(input="Hello")).output_text
    >>> asyncio.run(main())
    'Hello'
    """

    _waits = AsyncWire

    def _equip(self) -> None:
        from .responses import AsyncResponses

        self.responses: AsyncResponses = AsyncResponses(self)
        self.models: AsyncModels = AsyncModels(self)

    @spelled_out(Given, meanings=meanings)
    async def count_tokens(self, **given: Unpack[Given]) -> TokenCount:
        """As `Client.count_tokens`."""
        return await self.responses.input_tokens.count(**given)

    async def _run(self, steps: Steps[R]) -> R:
        return await adrive(steps, self._do)

    async def _do(self, effect: Any) -> Any:
        if isinstance(effect, Send):
            return await self._wire.send(effect.ask, effect.upstreams)
        return await ado(effect)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def __aenter__(self) -> AsyncClient:
        await self._wire.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncModels(Hinted):
    """`client.models`, in an event loop."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def list(
        self, upstream: UpstreamLike | Sequence[UpstreamLike] | None = None, *, limit: int | None = None
    ) -> list[ModelInfo]:
        """As `Models.list`."""
        return await self._client._run(self._client._core.listing(upstream, limit))
