"""`client.responses` of a `Client`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ...passes.keyword_arguments import spelled_out
from ..inputs.unknown_attributes import Hinted
from ..params import Given, ParseGiven, ResumeGiven, RunGiven, UpstreamLike, defaults, meanings
from ..results import Result, T
from ..retrieval import delete, kept, kept_at, reopened, retrieved
from ..sending.flows import Turn, do, drive
from ..streams import EventStream
from ..structured.strategies import parsing
from .input_tokens import InputTokens
from .shared import parsed_call

if TYPE_CHECKING:
    from ..background import Background
    from ..client import Client
    from ..requests import Call
    from ..structured.parsed_streams import ParsedStream
    from ..tools.run_results import RunResult
    from ..tools.run_streams import RunStream
    from ..tools.tool_loop import Loop

__all__ = ["Responses"]


class Responses(Hinted):
    """Requests for responses."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._core = client._core
        self.input_tokens: InputTokens = InputTokens(client)

    @overload
    def create(
        self, *, stream: Literal[True], background: bool | None = None, **given: Unpack[Given]
    ) -> EventStream[None]: ...
    @overload
    def create(
        self, *, background: Literal[True], stream: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Background[None]: ...
    @overload
    def create(
        self, *, stream: Literal[False] | None = None, background: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Result[None]: ...
    @overload
    def create(
        self, *, stream: bool | None, background: Literal[False] | None = None, **given: Unpack[Given]
    ) -> Result[None] | EventStream[None]: ...
    @spelled_out(Given, meanings=meanings)
    def create(
        self, *, stream: bool | None = None, background: bool | None = None, **given: Any
    ) -> Result | EventStream | Background:
        """Send a request and return its answer: a `Result`; an `EventStream` with `stream=True`; a handle with
        `background=True`.

        Arguments are the fields of a canonical request, under the names of the Responses API, and those of `Asked`.
        `model` is "provider/model", or a plain name where the client has an upstream; `models` are fallbacks, tried in
        their order when one fails. `input` is text, items, or results. `tools` are functions, `Tool`s, or canonical
        tools. `previous` is a `Result` (or `RunResult`) to go on from, of whatever provider: signatures go where they
        were made and nowhere else, files and other handles too. `on_loss` is the level of losses.

        With both `stream` and `background` the stream is of a response that goes on when it is not read.

        Raises the typed errors of `unified_llm.foundation.errors` (`APIError` and its kinds), `CapabilityLost` and
        `InvalidBody` before anything is sent, `TypeError` for a misspelled argument.

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
        if not background:
            return result
        from ..background import Background

        return Background(self._client, result)

    @overload
    def parse(
        self,
        *,
        text_format: type[T],
        stream: Literal[True],
        background: bool | None = None,
        **given: Unpack[ParseGiven],
    ) -> ParsedStream[T]: ...
    @overload
    def parse(
        self, *, text_format: Any, stream: Literal[True], background: bool | None = None, **given: Unpack[ParseGiven]
    ) -> ParsedStream[Any]: ...
    @overload
    def parse(
        self, *, text_format: type[T], background: Literal[True], stream: None = None, **given: Unpack[ParseGiven]
    ) -> Background[T]: ...
    @overload
    def parse(
        self, *, text_format: Any, background: Literal[True], stream: None = None, **given: Unpack[ParseGiven]
    ) -> Background[Any]: ...
    @overload
    def parse(
        self, *, text_format: type[T], stream: None = None, background: None = None, **given: Unpack[ParseGiven]
    ) -> Result[T]: ...
    @overload
    def parse(
        self, *, text_format: Any, stream: None = None, background: None = None, **given: Unpack[ParseGiven]
    ) -> Result[Any]: ...
    @spelled_out(ParseGiven, defaults, meanings=meanings)
    def parse(
        self, *, text_format: Any, stream: bool | None = None, background: bool | None = None, **given: Any
    ) -> Result[Any] | ParsedStream[Any] | Background[Any]:
        """Request structured output, and return a `Result` with `.output_parsed`.

        `text_format` is a pydantic model, any type that pydantic supports, or a JSON schema (then the value is plain
        JSON). `strategy` is "native" (the provider's own structured output), "tool" (the arguments of a tool),
        "prompt" (the schema in the instructions), or "auto": the first that the model supports; `.strategy` is the one
        used, and it is reported as a loss unless native. `retries` is how many times a wrong answer is requested again,
        with its error. A refusal of the model has None as its `.output_parsed`, and so has an answer that calls one of
        the `tools`.

        With `stream=True` it gives a `ParsedStream`: the events, `.snapshots` of the value as it grows, and the whole
        of it in `get_final_response()`. With `background=True` it gives a handle, whose `wait()` gives the result.

        Raises `OutputParseError` (a `ValueError`, with the whole `.response`) where the answer does not fit,
        `InvalidBody` for settings that cannot be combined.

        https://platform.openai.com/docs/guides/structured-outputs

        >>> import unified_llm as ul
        >>> ul.Client().responses.parse(model="local/echo", input="Hi", text_format=dict[str, int]).output_parsed
        {}
        """
        call, parser, retries = parsed_call(self._core, text_format, stream, background, given)
        if stream:
            from ..structured.parsed_streams import ParsedStream

            return ParsedStream(self._client._run(self._core.open(call)), parser)
        if background:
            from ..background import Background

            return Background(self._client, self._client._run(self._core.create(call)), parser)
        return self._client._run(parsing(call, parser, retries, self._core.create))

    @overload
    def run(self, *, stream: Literal[True], text_format: type[T], **given: Unpack[RunGiven]) -> RunStream[T]: ...
    @overload
    def run(self, *, stream: Literal[True], text_format: None = None, **given: Unpack[RunGiven]) -> RunStream[None]: ...
    @overload
    def run(self, *, stream: Literal[True], text_format: Any, **given: Unpack[RunGiven]) -> RunStream[Any]: ...
    @overload
    def run(
        self, *, text_format: type[T], stream: Literal[False] = False, **given: Unpack[RunGiven]
    ) -> RunResult[T]: ...
    @overload
    def run(
        self, *, text_format: None = None, stream: Literal[False] = False, **given: Unpack[RunGiven]
    ) -> RunResult[None]: ...
    @overload
    def run(self, *, text_format: Any, stream: Literal[False] = False, **given: Unpack[RunGiven]) -> RunResult[Any]: ...
    @spelled_out(RunGiven, defaults, meanings=meanings)
    def run(self, *, stream: bool = False, text_format: Any = None, **given: Any) -> RunResult[Any] | RunStream[Any]:
        """Send a request, run the tools that are called, send their results, until there is an answer.

        Takes what `create` takes, and `RunOptions`. The calls of one turn run at once (in threads), one after the
        other with `parallel=False`. `hooks` are called at every step (`Hooks`), `on_step` with every turn,
        `context` is what tools find in their `ToolContext`. An exception of a tool is reported to the model and stops
        nothing. With `text_format` the answer at the end is structured output: `.output_parsed`. With `stream=True` the
        events of all turns come as they are made, and `ToolOutput` and `TurnDone` between them.

        A call of a tool that `needs_approval` pauses the run: it ends with `stopped == "approval"` and the calls in
        `pending`, and `resume` goes on. `approve=` decides about each call instead: it is given the call and its
        context, and returns True (run it), False or a text (an error for the model), or None (pause).

        Raises `ToolLoopLimitError` (with the `.result` so far) after `max_turns` answers without an end, before more
        than `max_tool_calls` calls, and before a turn beyond `max_total_tokens` or `max_cost`; `UnknownPrice` where a
        cost is not known; `OutputParseError` for an answer that does not fit. An error of a later turn has the
        `.result` so far too, so that `resume` runs no tool again.

        >>> import unified_llm as ul
        >>> @ul.tool
        ... def add(a: int, b: int) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> run = ul.Client().responses.run(model="local/echo", input="Hello", tools=[add])
        >>> run.stopped, run.output_text
        ('answered', 'Hello')
        """
        from ..tools.runs import begun

        return self._looped(begun(self._core, {**given, "text_format": text_format}), stream)

    @overload
    def resume(
        self, run: RunResult, *, stream: Literal[True], text_format: type[T], **given: Unpack[ResumeGiven]
    ) -> RunStream[T]: ...
    @overload
    def resume(
        self, run: RunResult, *, stream: Literal[True], text_format: Any = None, **given: Unpack[ResumeGiven]
    ) -> RunStream[Any]: ...
    @overload
    def resume(
        self, run: RunResult, *, text_format: type[T], stream: Literal[False] = False, **given: Unpack[ResumeGiven]
    ) -> RunResult[T]: ...
    @overload
    def resume(
        self, run: RunResult, *, text_format: Any = None, stream: Literal[False] = False, **given: Unpack[ResumeGiven]
    ) -> RunResult[Any]: ...
    @spelled_out(ResumeGiven, defaults, meanings=meanings)
    def resume(
        self, run: RunResult, *, stream: bool = False, text_format: Any = None, **given: Any
    ) -> RunResult[Any] | RunStream[Any]:
        """Go on with a run that was paused, or stopped at a limit; the result has all its turns.

        `approved` and `rejected` are True for all pending calls, or calls or their ids; a mapping of ids to texts
        gives the model the reason why a call was rejected. `outputs` maps ids to what calls of the caller's own tools
        gave. Calls that are not decided stay pending, and while there are any, nothing is sent. `run` may be from
        another process (`RunResult.from_json`): functions are not in it, so pass `tools=` again, and other options as
        to `run`. The request is that of the run, and what is passed here takes the place of its fields: `model=` goes
        on with another model, of any provider. Without one it is the run's, then the client's own, then the model that
        answered last. Limits count the whole run.

        Raises `InvalidBody` for decisions that do not fit the run, and what `run` raises.

        >>> import unified_llm as ul
        >>> @ul.tool(needs_approval=True)
        ... def delete(name: str) -> str:
        ...     return f"{name} is gone"
        >>> client = ul.Client(model="local/echo")
        >>> run = client.responses.run(input="[[call delete name=a.txt]]", tools=[delete])
        >>> run.stopped, run.pending[0].parsed_arguments
        ('approval', {'name': 'a.txt'})
        >>> client.responses.resume(run, approved=True, tools=[delete]).output_text
        'delete: a.txt is gone'
        """
        from ..tools.runs import resumed

        return self._looped(resumed(self._core, run, {**given, "text_format": text_format}), stream)

    def _looped(self, loop: Loop, stream: bool) -> RunResult | RunStream:
        if not stream:
            return drive(loop.flow(), self._turn)
        from ..structured.parsed_streams import WatchedStream
        from ..tools.run_streams import RunStream
        from ..tools.runs import growing

        value = growing(loop)

        def opened(call: Call) -> EventStream:
            opening = self._client._run(self._core.open(call))
            return EventStream(opening) if value is None else WatchedStream(opening, value)

        return RunStream(loop.flow, opened, do, value)

    def _turn(self, effect: Any) -> Any:
        return self._client._run(self._core.create(effect.call)) if isinstance(effect, Turn) else do(effect)

    @overload
    def retrieve(
        self,
        response: str | Result[Any] | Background[Any],
        *,
        text_format: type[T],
        stream: Literal[True],
        upstream: UpstreamLike | None = None,
        name: str | None = None,
    ) -> ParsedStream[T]: ...
    @overload
    def retrieve(
        self,
        response: str | Result[Any] | Background[Any],
        *,
        stream: Literal[True],
        after: Any = None,
        upstream: UpstreamLike | None = None,
    ) -> EventStream[Any]: ...
    @overload
    def retrieve(
        self,
        response: str | Result[Any] | Background[Any],
        *,
        text_format: type[T],
        stream: Literal[False] = False,
        upstream: UpstreamLike | None = None,
        name: str | None = None,
    ) -> Result[T]: ...
    @overload
    def retrieve(
        self,
        response: str | Result[Any] | Background[Any],
        *,
        text_format: Any = None,
        stream: Literal[False] = False,
        upstream: UpstreamLike | None = None,
        name: str | None = None,
    ) -> Result[Any]: ...
    def retrieve(
        self,
        response: str | Result[Any] | Background[Any],
        *,
        upstream: UpstreamLike | None = None,
        stream: bool = False,
        after: Any = None,
        text_format: Any = None,
        name: str | None = None,
    ) -> Result[Any] | EventStream[Any]:
        """An answer that the provider keeps: `response` is its id (then `upstream` is required), a `Result` or a
        handle.

        With `stream=True` its events, from the beginning or behind the event `after`. With `text_format` the answer is
        structured output, as in `parse`: `.output_parsed` is its value, None while there is no answer. `name` is that
        of the `text_format`, if `parse` was given one. Raises `NotFoundError`, `CapabilityRefused` where the upstream
        keeps no answers, and `OutputParseError` for an answer that does not fit.
        """
        if not stream:
            return self._client._run(retrieved(self._core, response, upstream, text_format, name))
        opening, parser = self._client._run(reopened(self._core, response, upstream, after, text_format, name))
        if parser is None:
            return EventStream(opening)
        from ..structured.parsed_streams import ParsedStream

        return ParsedStream(opening, parser)

    def cancel(self, response: str | Result[Any] | Background[Any], *, upstream: UpstreamLike | None = None) -> Result:
        """Have the provider stop working at an answer."""
        where, id_, _ = kept_at(self._core, response, upstream)
        return self._client._run(kept(self._core, where, "POST", id_, "/cancel"))

    def delete(self, response: str | Result[Any] | Background[Any], *, upstream: UpstreamLike | None = None) -> bool:
        """Delete an answer at the provider; True if the provider confirms it."""
        where, id_, _ = kept_at(self._core, response, upstream)
        return self._client._run(delete(self._core, where, id_))
