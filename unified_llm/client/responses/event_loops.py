"""`client.responses` of an `AsyncClient`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ...passes.keyword_arguments import spelled_out
from ..inputs.unknown_attributes import Hinted
from ..params import Given, ParseGiven, ResumeGiven, RunGiven, UpstreamLike, defaults, meanings
from ..results import Result, T
from ..retrieval import delete, kept, kept_at, reopened, retrieved
from ..sending.flows import Turn, ado, adrive
from ..streams import AsyncEventStream
from ..structured.strategies import parsing
from .input_tokens import AsyncInputTokens
from .shared import parsed_call

if TYPE_CHECKING:
    from ..background import AsyncBackground
    from ..client import AsyncClient
    from ..requests import Call
    from ..structured.parsed_streams import AsyncParsedStream
    from ..tools.run_results import RunResult
    from ..tools.run_streams import AsyncRunStream
    from ..tools.tool_loop import Loop

__all__ = ["AsyncResponses"]


class AsyncResponses(Hinted):
    """Requests for responses, in an event loop."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._core = client._core
        self.input_tokens: AsyncInputTokens = AsyncInputTokens(client)

    @overload
    async def create(
        self, *, stream: Literal[True], background: bool | None = None, **given: Unpack[Given]
    ) -> AsyncEventStream[None]: ...
    @overload
    async def create(
        self, *, background: Literal[True], stream: Literal[False] | None = None, **given: Unpack[Given]
    ) -> AsyncBackground[None]: ...
    @overload
    async def create(
        self, *, stream: Literal[False] | None = None, background: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Result[None]: ...
    @overload
    async def create(
        self, *, stream: bool | None, background: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Result[None] | AsyncEventStream[None]: ...
    @spelled_out(Given, meanings=meanings)
    async def create(
        self, *, stream: bool | None = None, background: bool | None = None, **given: Any
    ) -> Result | AsyncEventStream | AsyncBackground:
        """As `Responses.create`."""
        call = self._core.call(given if background is None else {**given, "background": background})
        if stream:
            return AsyncEventStream(await self._client._run(self._core.open(call)))
        result = await self._client._run(self._core.create(call))
        if not background:
            return result
        from ..background import AsyncBackground

        return AsyncBackground(self._client, result)

    @overload
    async def parse(
        self,
        *,
        text_format: type[T],
        stream: Literal[True],
        background: bool | None = None,
        **given: Unpack[ParseGiven],
    ) -> AsyncParsedStream[T]: ...
    @overload
    async def parse(
        self, *, text_format: Any, stream: Literal[True], background: bool | None = None, **given: Unpack[ParseGiven]
    ) -> AsyncParsedStream[Any]: ...
    @overload
    async def parse(
        self, *, text_format: type[T], background: Literal[True], stream: None = None, **given: Unpack[ParseGiven]
    ) -> AsyncBackground[T]: ...
    @overload
    async def parse(
        self, *, text_format: Any, background: Literal[True], stream: None = None, **given: Unpack[ParseGiven]
    ) -> AsyncBackground[Any]: ...
    @overload
    async def parse(
        self, *, text_format: type[T], stream: None = None, background: None = None, **given: Unpack[ParseGiven]
    ) -> Result[T]: ...
    @overload
    async def parse(
        self, *, text_format: Any, stream: None = None, background: None = None, **given: Unpack[ParseGiven]
    ) -> Result[Any]: ...
    @spelled_out(ParseGiven, defaults, meanings=meanings)
    async def parse(
        self, *, text_format: Any, stream: bool | None = None, background: bool | None = None, **given: Any
    ) -> Result[Any] | AsyncParsedStream[Any] | AsyncBackground[Any]:
        """As `Responses.parse`."""
        call, parser, retries = parsed_call(self._core, text_format, stream, background, given)
        if stream:
            from ..structured.parsed_streams import AsyncParsedStream

            return AsyncParsedStream(await self._client._run(self._core.open(call)), parser)
        if background:
            from ..background import AsyncBackground

            return AsyncBackground(self._client, await self._client._run(self._core.create(call)), parser)
        return await self._client._run(parsing(call, parser, retries, self._core.create))

    @overload
    async def run(
        self, *, stream: Literal[True], text_format: type[T], **given: Unpack[RunGiven]
    ) -> AsyncRunStream[T]: ...
    @overload
    async def run(
        self, *, stream: Literal[True], text_format: None = None, **given: Unpack[RunGiven]
    ) -> AsyncRunStream[None]: ...
    @overload
    async def run(
        self, *, stream: Literal[True], text_format: Any, **given: Unpack[RunGiven]
    ) -> AsyncRunStream[Any]: ...
    @overload
    async def run(
        self, *, text_format: type[T], stream: Literal[False] = False, **given: Unpack[RunGiven]
    ) -> RunResult[T]: ...
    @overload
    async def run(
        self, *, text_format: None = None, stream: Literal[False] = False, **given: Unpack[RunGiven]
    ) -> RunResult[None]: ...
    @overload
    async def run(
        self, *, text_format: Any, stream: Literal[False] = False, **given: Unpack[RunGiven]
    ) -> RunResult[Any]: ...
    @spelled_out(RunGiven, defaults, meanings=meanings)
    async def run(
        self, *, stream: bool = False, text_format: Any = None, **given: Any
    ) -> RunResult[Any] | AsyncRunStream[Any]:
        """As `Responses.run`; async tools run in the event loop, plain ones in threads, all calls of a turn at once."""
        from ..tools.runs import begun

        return await self._looped(begun(self._core, {**given, "text_format": text_format}), stream)

    @overload
    async def resume(
        self, run: RunResult, *, stream: Literal[True], text_format: type[T], **given: Unpack[ResumeGiven]
    ) -> AsyncRunStream[T]: ...
    @overload
    async def resume(
        self, run: RunResult, *, stream: Literal[True], text_format: Any = None, **given: Unpack[ResumeGiven]
    ) -> AsyncRunStream[Any]: ...
    @overload
    async def resume(
        self, run: RunResult, *, text_format: type[T], stream: Literal[False] = False, **given: Unpack[ResumeGiven]
    ) -> RunResult[T]: ...
    @overload
    async def resume(
        self, run: RunResult, *, text_format: Any = None, stream: Literal[False] = False, **given: Unpack[ResumeGiven]
    ) -> RunResult[Any]: ...
    @spelled_out(ResumeGiven, defaults, meanings=meanings)
    async def resume(
        self, run: RunResult, *, stream: bool = False, text_format: Any = None, **given: Any
    ) -> RunResult[Any] | AsyncRunStream[Any]:
        """As `Responses.resume`."""
        from ..tools.runs import resumed

        return await self._looped(resumed(self._core, run, {**given, "text_format": text_format}), stream)

    async def _looped(self, loop: Loop, stream: bool) -> RunResult | AsyncRunStream:
        if not stream:
            return await adrive(loop.flow(), self._turn)
        from ..structured.parsed_streams import AsyncWatchedStream
        from ..tools.run_streams import AsyncRunStream
        from ..tools.runs import growing

        value = growing(loop)

        async def opened(call: Call) -> AsyncEventStream:
            opening = await self._client._run(self._core.open(call))
            return AsyncEventStream(opening) if value is None else AsyncWatchedStream(opening, value)

        return AsyncRunStream(loop.flow, opened, ado, value)

    async def _turn(self, effect: Any) -> Any:
        if isinstance(effect, Turn):
            return await self._client._run(self._core.create(effect.call))
        return await ado(effect)

    @overload
    async def retrieve(
        self,
        response: str | Result[Any] | AsyncBackground[Any],
        *,
        text_format: type[T],
        stream: Literal[True],
        upstream: UpstreamLike | None = None,
        name: str | None = None,
    ) -> AsyncParsedStream[T]: ...
    @overload
    async def retrieve(
        self,
        response: str | Result[Any] | AsyncBackground[Any],
        *,
        stream: Literal[True],
        after: Any = None,
        upstream: UpstreamLike | None = None,
    ) -> AsyncEventStream[Any]: ...
    @overload
    async def retrieve(
        self,
        response: str | Result[Any] | AsyncBackground[Any],
        *,
        text_format: type[T],
        stream: Literal[False] = False,
        upstream: UpstreamLike | None = None,
        name: str | None = None,
    ) -> Result[T]: ...
    @overload
    async def retrieve(
        self,
        response: str | Result[Any] | AsyncBackground[Any],
        *,
        text_format: Any = None,
        stream: Literal[False] = False,
        upstream: UpstreamLike | None = None,
        name: str | None = None,
    ) -> Result[Any]: ...
    async def retrieve(
        self,
        response: str | Result[Any] | AsyncBackground[Any],
        *,
        upstream: UpstreamLike | None = None,
        stream: bool = False,
        after: Any = None,
        text_format: Any = None,
        name: str | None = None,
    ) -> Result[Any] | AsyncEventStream[Any]:
        """As `Responses.retrieve`."""
        if not stream:
            return await self._client._run(retrieved(self._core, response, upstream, text_format, name))
        opening, parser = await self._client._run(reopened(self._core, response, upstream, after, text_format, name))
        if parser is None:
            return AsyncEventStream(opening)
        from ..structured.parsed_streams import AsyncParsedStream

        return AsyncParsedStream(opening, parser)

    async def cancel(
        self, response: str | Result[Any] | AsyncBackground[Any], *, upstream: UpstreamLike | None = None
    ) -> Result:
        """As `Responses.cancel`."""
        where, id_, _ = kept_at(self._core, response, upstream)
        return await self._client._run(kept(self._core, where, "POST", id_, "/cancel"))

    async def delete(
        self, response: str | Result[Any] | AsyncBackground[Any], *, upstream: UpstreamLike | None = None
    ) -> bool:
        """As `Responses.delete`."""
        where, id_, _ = kept_at(self._core, response, upstream)
        return await self._client._run(delete(self._core, where, id_))
