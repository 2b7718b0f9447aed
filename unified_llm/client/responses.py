"""`client.responses`: create, parse, run, and what a provider keeps; the same methods for threads and event loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ..keywords import spelled_out
from .background import AsyncBackground, Background
from .params import Given, RunGiven, RunOptions, Strategy, meanings
from .results import Result, RunResult, T, TokenCount
from .sending.flows import Steps, Turn, ado, adrive, do, drive
from .streams import AsyncEventStream, AsyncRunStream, EventStream, RunStream
from .tools.tool_loop import loop

if TYPE_CHECKING:
    from .client import AsyncClient, Client
    from .core import Core
    from .upstreams.upstream import Upstream

__all__ = ["AsyncResponses", "Responses"]

_LOOP = frozenset((*RunOptions.__annotations__, "max_tool_calls"))
"""What the loop takes; in `run` the calls that it counts are those of tools that run here."""


def _kept(core: Core, response: Any, upstream: Any) -> tuple[Upstream, str]:
    """Where an answer is kept, and its id there."""
    if not isinstance(response, str):
        response = getattr(response, "result", response)
        return response.upstream, response.id or ""
    given: dict[str, Any] = {} if upstream is None else {"upstream": upstream}
    return core.upstreams(core.call(given))[0], response


def _loop(core: Core, given: dict[str, Any]) -> Callable[[Any], Steps[RunResult]]:
    options = {name: value for name, value in given.items() if name in _LOOP}
    call = core.call({name: value for name, value in given.items() if name not in _LOOP})
    return lambda tell: loop(call, tell=tell, **options)


class Responses:
    """Asking for answers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._core = client._core
        self.input_tokens = InputTokens(client)

    @overload
    def create(
        self, *, stream: Literal[True], background: bool | None = None, **given: Unpack[Given]
    ) -> EventStream[None]: ...
    @overload
    def create(
        self, *, background: Literal[True], stream: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Background: ...
    @overload
    def create(
        self, *, stream: Literal[False] | None = None, background: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Result[None]: ...
    @spelled_out(Given, meanings=meanings)
    def create(
        self, *, stream: bool | None = None, background: bool | None = None, **given: Any
    ) -> Result | EventStream | Background:
        """Ask, and give the answer: a `Result`; an `EventStream` with `stream=True`; a handle with `background=True`.

        Arguments are the fields of a canonical request, under the names of the Responses API, and those of `Asked`.
        `model` is "provider/model", or a plain name where the client has an upstream; `models` are fallbacks, asked in
        their order when one fails. `input` is text, items, or results. `tools` are functions, `Tool`s, or canonical
        tools. `previous` is a `Result` (or `RunResult`) to go on from, of whatever provider: signatures go where they
        were made and nowhere else, files and other handles too. `on_loss` decides about what would not get through.

        With both `stream` and `background` the stream is of a response that goes on when nobody listens.

        Raises the typed errors of `unified_llm.errors` (`APIError` and its kinds), `CapabilityLost` and `InvalidBody`
        before anything is sent, `TypeError` for a misspelt argument.

        https://platform.openai.com/docs/api-reference/responses/create

        >>> import unified_llm as ul
        >>> client = ul.Client()
        >>> answer = client.responses.create(model="local/echo", input="Hello")
        >>> answer.output_text, len(answer.losses)
        ('Hello', 0)
        >>> with client.responses.create(model="local/echo", input="Hello", stream=True) as events:
        ...     "".join(event.delta for event in events if event.type == "response.output_text.delta")
        'Hello'
        """
        call = self._core.call(given if background is None else {**given, "background": background})
        if stream:
            return EventStream(self._client._run(self._core.open(call)))
        result = self._client._run(self._core.create(call))
        return Background(self._client, result) if background else result

    @overload
    def parse(
        self,
        *,
        text_format: type[T],
        strategy: Strategy = "auto",
        retries: int = 0,
        name: str | None = None,
        **given: Unpack[Given],
    ) -> Result[T]: ...
    @overload
    def parse(
        self,
        *,
        text_format: Any,
        strategy: Strategy = "auto",
        retries: int = 0,
        name: str | None = None,
        **given: Unpack[Given],
    ) -> Result[Any]: ...
    @spelled_out(Given, meanings=meanings)
    def parse(
        self, *, text_format: Any, strategy: Strategy = "auto", retries: int = 0, name: str | None = None, **given: Any
    ) -> Result[Any]:
        """Ask for structured output, and give a `Result` with `.output_parsed`.

        `text_format` is a pydantic model, any type that pydantic knows, or a JSON schema (then the value is plain
        JSON). `strategy` is "native" (the provider's own structured output), "tool" (the arguments of a tool),
        "prompt" (the schema in the instructions), or "auto": the first that the model can do; `.strategy` says which,
        and so do the losses. `retries` is how often the model is told what does not fit and asked again. What a model
        refuses to answer has None as its `.output_parsed`, and so has an answer that calls one of the `tools` instead.

        Raises `ParseFailed` (a `ValueError`, with the whole `.response`) where the answer does not fit.

        https://platform.openai.com/docs/guides/structured-outputs
        """
        return self._client._run(self._core.parse(self._core.call(given), text_format, strategy, retries, name))

    @overload
    def run(self, *, stream: Literal[True], **given: Unpack[RunGiven]) -> RunStream: ...
    @overload
    def run(self, *, stream: Literal[False] = False, **given: Unpack[RunGiven]) -> RunResult: ...
    @spelled_out(RunGiven, loop, meanings)
    def run(self, *, stream: bool = False, **given: Any) -> RunResult | RunStream:
        """Ask, run the tools that are called, tell what came of it, and so on until there is an answer.

        Takes what `create` takes. The calls of one turn run at once (in threads), one after the other with
        `parallel=False`. `hooks` are asked at every step (`Hooks`), `on_step` is told of every turn, `context` is what
        tools find in their `ToolContext`. A tool that fails tells the model so and stops nothing. With `stream=True`
        the events of all turns come as they are made, and `ToolOutput` and `TurnDone` between them.

        Raises `LimitReached` (with the `.result` so far) after `max_turns` answers without an end, or before more than
        `max_tool_calls` calls.

        >>> import unified_llm as ul
        >>> @ul.tool
        ... def add(a: int, b: int) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> run = ul.Client().responses.run(model="local/echo", input="Hello", tools=[add])
        >>> run.stopped, run.output_text
        ('answered', 'Hello')
        """
        flow = _loop(self._core, given)
        if stream:
            return RunStream(flow, lambda call: EventStream(self._client._run(self._core.open(call))), do)
        return drive(flow(lambda _: None), self._turn)

    def _turn(self, effect: Any) -> Any:
        return self._client._run(self._core.create(effect.call)) if isinstance(effect, Turn) else do(effect)

    def retrieve(self, response: Any, *, upstream: Any = None, stream: bool = False, after: Any = None) -> Any:
        """An answer that the provider keeps: `response` is its id (then `upstream` says where), a `Result` or a handle.

        With `stream=True` its events, from the beginning or behind the event `after`. Raises `NotFound`, and
        `CapabilityRefused` where the upstream keeps no answers.
        """
        where, id_ = _kept(self._core, response, upstream)
        if stream:
            return EventStream(self._client._run(self._core.resume(where, id_, after)))
        return self._client._run(self._core.kept(where, "GET", id_))

    def cancel(self, response: Any, *, upstream: Any = None) -> Result:
        """Have the provider stop working at an answer."""
        where, id_ = _kept(self._core, response, upstream)
        return self._client._run(self._core.kept(where, "POST", id_, "/cancel"))

    def delete(self, response: Any, *, upstream: Any = None) -> bool:
        """Have the provider forget an answer; whether it says that it has."""
        where, id_ = _kept(self._core, response, upstream)
        return self._client._run(self._core.delete(where, id_))


class InputTokens:
    """`client.responses.input_tokens`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @spelled_out(Given, meanings=meanings)
    def count(self, **given: Unpack[Given]) -> TokenCount:
        """How many tokens a request takes: as its provider counts them, else an estimate that says that it is one."""
        return self._client._run(self._client._core.count_tokens(self._client._core.call(given)))


class AsyncResponses:
    """Asking for answers, in an event loop."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._core = client._core
        self.input_tokens = AsyncInputTokens(client)

    @overload
    async def create(
        self, *, stream: Literal[True], background: bool | None = None, **given: Unpack[Given]
    ) -> AsyncEventStream[None]: ...
    @overload
    async def create(
        self, *, background: Literal[True], stream: Literal[False] | None = None, **given: Unpack[Given]
    ) -> AsyncBackground: ...
    @overload
    async def create(
        self, *, stream: Literal[False] | None = None, background: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Result[None]: ...
    @spelled_out(Given, meanings=meanings)
    async def create(
        self, *, stream: bool | None = None, background: bool | None = None, **given: Any
    ) -> Result | AsyncEventStream | AsyncBackground:
        """As `Responses.create`."""
        call = self._core.call(given if background is None else {**given, "background": background})
        if stream:
            return AsyncEventStream(await self._client._run(self._core.open(call)))
        result = await self._client._run(self._core.create(call))
        return AsyncBackground(self._client, result) if background else result

    @overload
    async def parse(
        self,
        *,
        text_format: type[T],
        strategy: Strategy = "auto",
        retries: int = 0,
        name: str | None = None,
        **given: Unpack[Given],
    ) -> Result[T]: ...
    @overload
    async def parse(
        self,
        *,
        text_format: Any,
        strategy: Strategy = "auto",
        retries: int = 0,
        name: str | None = None,
        **given: Unpack[Given],
    ) -> Result[Any]: ...
    @spelled_out(Given, meanings=meanings)
    async def parse(
        self, *, text_format: Any, strategy: Strategy = "auto", retries: int = 0, name: str | None = None, **given: Any
    ) -> Result[Any]:
        """As `Responses.parse`."""
        return await self._client._run(self._core.parse(self._core.call(given), text_format, strategy, retries, name))

    @overload
    async def run(self, *, stream: Literal[True], **given: Unpack[RunGiven]) -> AsyncRunStream: ...
    @overload
    async def run(self, *, stream: Literal[False] = False, **given: Unpack[RunGiven]) -> RunResult: ...
    @spelled_out(RunGiven, loop, meanings)
    async def run(self, *, stream: bool = False, **given: Any) -> RunResult | AsyncRunStream:
        """As `Responses.run`; async tools run in the event loop, plain ones in threads, all calls of a turn at once."""
        flow = _loop(self._core, given)
        if stream:
            return AsyncRunStream(flow, self._open, ado)
        return await adrive(flow(lambda _: None), self._turn)

    async def _open(self, call: Any) -> AsyncEventStream:
        return AsyncEventStream(await self._client._run(self._core.open(call)))

    async def _turn(self, effect: Any) -> Any:
        if isinstance(effect, Turn):
            return await self._client._run(self._core.create(effect.call))
        return await ado(effect)

    async def retrieve(self, response: Any, *, upstream: Any = None, stream: bool = False, after: Any = None) -> Any:
        """As `Responses.retrieve`."""
        where, id_ = _kept(self._core, response, upstream)
        if stream:
            return AsyncEventStream(await self._client._run(self._core.resume(where, id_, after)))
        return await self._client._run(self._core.kept(where, "GET", id_))

    async def cancel(self, response: Any, *, upstream: Any = None) -> Result:
        """As `Responses.cancel`."""
        where, id_ = _kept(self._core, response, upstream)
        return await self._client._run(self._core.kept(where, "POST", id_, "/cancel"))

    async def delete(self, response: Any, *, upstream: Any = None) -> bool:
        """As `Responses.delete`."""
        where, id_ = _kept(self._core, response, upstream)
        return await self._client._run(self._core.delete(where, id_))


class AsyncInputTokens:
    """`client.responses.input_tokens`, in an event loop."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    @spelled_out(Given, meanings=meanings)
    async def count(self, **given: Unpack[Given]) -> TokenCount:
        """As `InputTokens.count`."""
        return await self._client._run(self._client._core.count_tokens(self._client._core.call(given)))
