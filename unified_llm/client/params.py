"""The keyword arguments of the client's methods, declared once for checkers, `help()` and the sync and async methods.

Names and meanings are those of the Responses API where it has them. A test compares them with the canonical request.
https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

from ..passes.keyword_arguments import texts_in

if TYPE_CHECKING:
    import os
    from decimal import Decimal

    import httpx2
    from pydantic import BaseModel

    from ..losses import Levels
    from ..models.names import ModelName, ProtocolName, ProviderName
    from ..types import _twins as json
    from ..types import request, response, settings
    from .inputs.media import Drawn
    from .results import Result
    from .tools.approval import Approve
    from .tools.function_tools import Tool
    from .tools.mcp import AsyncToolServer, ToolServer
    from .tools.run_results import RunResult, Step
    from .tools.tool_loop import Hooks
    from .upstreams.upstream import Upstream

__all__ = [
    "Asked",
    "Decided",
    "Fields",
    "Given",
    "Input",
    "InputItem",
    "Key",
    "ParseGiven",
    "ParseOptions",
    "PendingCall",
    "ResumeGiven",
    "RunGiven",
    "RunOptions",
    "Strategy",
    "ToolLike",
    "UpstreamLike",
    "defaults",
    "meanings",
]


if TYPE_CHECKING:
    InputItem: TypeAlias = str | bytes | os.PathLike[str] | Drawn | Mapping[str, Any] | BaseModel | RunResult[Any]
    """One entry of `input`: text, a medium (bytes, a file, an image of a library), an item or a part as JSON, an
    object of a canonical class or of an SDK, or an earlier result."""

    Input: TypeAlias = InputItem | Sequence[InputItem]
    """What `input` takes."""

    _OneTool: TypeAlias = (
        Callable[..., Any] | Tool[..., Any] | ToolServer | AsyncToolServer | Mapping[str, Any] | BaseModel | str
    )
    PendingCall: TypeAlias = response.PendingCall
    """One of the calls that wait for the caller (`run.pending`): its own to execute, or a request for approval."""

    ToolLike: TypeAlias = "_OneTool | Sequence[ToolLike]"
    """What `tools` takes: functions, `Tool`s, servers of tools, canonical tools, the type of a hosted tool, or a
    list."""
else:  # in an annotation of a program: what they stand for takes long to load
    InputItem = Input = ToolLike = PendingCall = Annotated[Any, "a type for checkers only"]

UpstreamLike: TypeAlias = "ProviderName | Upstream | Any"
"""A provider, "provider/model", the base URL of a server, an `Upstream`, or an official SDK's client."""

Key: TypeAlias = "str | Callable[[], str] | Mapping[str, str | Callable[[], str]]"
"""An API key, a function that returns one, or a mapping of both by provider, "provider/model" or host."""

Strategy: TypeAlias = Literal["auto", "native", "tool", "prompt"]
"""How structured output is requested."""


class Fields(TypedDict, total=False):
    """The fields of a canonical request."""

    model: ModelName | Upstream | None
    """"provider/model", a plain model name where the client has an upstream, or an `Upstream`."""
    input: Input | None
    """Text, items, earlier results, or a list of them."""
    instructions: str | Sequence[Mapping[str, Any] | BaseModel] | None
    """The system prompt: text, or text parts."""
    tools: ToolLike | None
    """Functions, `Tool`s, servers of tools, and canonical tools that the model may call."""
    tool_choice: str | Callable[..., Any] | Tool | Mapping[str, Any] | BaseModel | None
    """"auto", "none", "required", a tool of the call or its name, or an object that names the tools to call."""
    parallel_tool_calls: bool | None
    """Whether the model may call several tools in one turn."""
    max_output_tokens: int | None
    """The largest number of tokens in the response, reasoning included."""
    max_tool_calls: int | None
    """The largest number of calls of hosted tools; in `run`, of tools that run here."""
    temperature: float | None
    """Randomness of sampling; 0 is the least."""
    top_p: float | None
    """Nucleus sampling: the share of probability that tokens are taken from."""
    top_k: float | None
    """The number of most probable tokens that are taken from."""
    seed: int | None
    """A seed for sampling that repeats, as far as the provider supports it."""
    presence_penalty: float | None
    """A penalty for tokens that have occurred at all."""
    frequency_penalty: float | None
    """A penalty for tokens by how often they have occurred."""
    logit_bias: Mapping[str, Any] | None
    """Changes of the probability of tokens, by token id."""
    top_logprobs: int | None
    """The number of most probable tokens to return at each place, with their log probabilities."""
    stop: str | Sequence[str] | None
    """Texts at which output stops."""
    n: int | None
    """The number of alternative responses."""
    modalities: Sequence[str] | None
    """The output media: "text", "audio", "image"."""
    audio: json.AudioConfig | settings.AudioConfig | None
    """Voice and format of audio output."""
    image: json.ImageConfig | settings.ImageConfig | None
    """Size and format of image output."""
    text: json.TextConfig | settings.TextConfig | None
    """Format and verbosity of the text; `responses.parse` sets the format from a type."""
    reasoning: json.ReasoningConfig | settings.ReasoningConfig | None
    """Effort, token budget and summary of reasoning."""
    include: Sequence[str] | None
    """Further data to return, by the names of the Responses API."""
    store: bool | None
    """Whether the provider keeps the response."""
    previous_response_id: str | None
    """The id of a kept response to continue; for a response of any provider use `previous`."""
    conversation: str | Mapping[str, Any] | None
    """The id of a conversation that the provider keeps."""
    prompt: json.PromptTemplate | settings.PromptTemplate | None
    """A prompt template that the provider keeps, with its variables."""
    prediction: Mapping[str, Any] | None
    """Expected output, for faster generation."""
    container: str | Mapping[str, Any] | None
    """The container in which hosted tools run."""
    continuation_token: str | None
    """The token with which an unfinished response is continued."""
    context_management: Sequence[json.ContextManagement | request.ContextManagement] | None
    """Rules for a context that grows: compaction, removal of old tool results."""
    truncation: str | None
    """"auto" or "disabled": whether a conversation that is too long is cut by the provider."""
    metadata: Mapping[str, Any] | None
    """Key-value pairs that the provider stores with the response."""
    labels: Mapping[str, Any] | None
    """Key-value pairs for billing reports."""
    service_tier: str | None
    """The provider's service tier: "auto", "default", "flex", "priority", ..."""
    fallbacks: str | Sequence[Any] | None
    """Models that the provider falls back to; for fallbacks across providers use `models`."""
    safety_identifier: str | None
    """A stable, hashed id of the end user, for abuse detection."""
    user: str | None
    """The older form of `safety_identifier`."""
    safety_settings: Sequence[json.SafetySetting | settings.SafetySetting] | None
    """Thresholds of content filters."""
    moderation: Mapping[str, Any] | None
    """Settings of the provider's moderation."""
    access_programs: Mapping[str, Any] | None
    """Access programs of the provider that the request uses."""
    prompt_cache_key: str | None
    """A key that groups requests with the same beginning in the prompt cache."""
    prompt_cache_options: json.PromptCacheOptions | settings.PromptCacheOptions | None
    """Lifetime and other options of the prompt cache."""
    prompt_cache_retention: str | None
    """How long the prompt cache is kept."""
    cached_content: str | None
    """The name of cached content that the provider keeps."""
    cache: json.Cache | None
    """A cache breakpoint behind the whole request."""
    agent: str | None
    """A hosted agent instead of a model."""
    agent_config: Mapping[str, Any] | None
    """Settings of the hosted agent."""
    multi_agent: Mapping[str, Any] | None
    """Settings of several hosted agents."""
    background_options: Mapping[str, Any] | None
    """Options of a background response."""
    stream_options: json.StreamOptions | settings.StreamOptions | None
    """Options of the stream."""
    extra: Mapping[str, Any] | None
    """Fields that only one protocol has, by protocol, as conversion reads them."""


class Asked(TypedDict, total=False):
    """How a request is sent: arguments of the client that are not part of the request."""

    models: Sequence[ModelName | Upstream]
    """Fallbacks, tried in this order when a model before them fails."""
    previous: Result[Any] | RunResult[Any] | Sequence[InputItem] | None
    """A response, of any provider, that the request continues."""
    upstream: UpstreamLike
    """The provider or server to send to, instead of the client's own."""
    protocol: ProtocolName | None
    """The protocol to use; by default the one with the fewest losses for the request."""
    on_loss: Levels | None
    """What is done about losses: a level, or levels by capability."""
    timeout: float | httpx2.Timeout | None
    """Seconds to wait for each piece of the response."""
    total_timeout: float | None
    """Seconds for the whole call, with retries, tool turns and the reading of a stream."""
    extra_headers: Mapping[str, str] | None
    """Further HTTP headers, for the origin of the first upstream."""
    extra_query: Mapping[str, Any] | None
    """Further query parameters, for the origin of the first upstream."""
    extra_body: Mapping[str, Any] | None
    """Fields that are written into the JSON body as they are."""
    api_key: Key | None
    """The API key, for the origin of the first upstream; fallbacks at other origins do not get it."""
    base_url: str | None
    """The base URL of the server, for models that have no provider prefix."""


class Given(Fields, Asked, total=False):
    """What `create`, `parse` and `count_tokens` take."""


class ParseOptions(TypedDict, total=False):
    """How structured output is requested."""

    strategy: Strategy
    """How a `text_format` is requested; by default ("auto") the first way that the model supports."""
    retries: int
    """Retries of an answer that does not match the `text_format`, each with the error; 0 by default."""
    name: str | None
    """The name of the `text_format`, for the provider; by default that of the type."""


class ParseGiven(Given, ParseOptions, total=False):
    """What `parse` takes beside `text_format`."""


class RunOptions(ParseOptions, total=False):
    """How a tool loop runs."""

    max_turns: int
    """The largest number of responses; 10 by default."""
    max_total_tokens: int | None
    """The number of tokens, of all turns together, after which nothing more is sent."""
    max_cost: Decimal | float | str | None
    """The cost in US dollars at list prices, of all turns together, after which nothing more is sent."""
    approve: Approve | None
    """A function that decides whether a tool call may run: True, False or a text (rejected), None (pause the run)."""
    parallel: bool
    """Whether the calls of one turn run at the same time; true by default."""
    hooks: Hooks | None
    """What is called before and after each turn and each tool call."""
    on_step: Callable[[Step], Any] | None
    """A function that is called once with each turn, also with one that is paused; `resume` reports later ones."""
    context: Any
    """What tools find as `data` in their `ToolContext`."""


class RunGiven(Given, RunOptions, total=False):
    """What `run` takes beside `text_format`."""


class Decided(TypedDict, total=False):
    """What was decided about the calls of a run that was paused."""

    approved: Any
    """The calls that may run: True for all, or calls or their ids."""
    rejected: Any
    """The calls that may not run: True for all, calls or their ids, or a mapping of ids to the text for the model."""
    outputs: Any
    """What calls of the caller's own tools returned: a mapping of ids to values, or output items."""


class ResumeGiven(RunGiven, Decided, total=False):
    """What `resume` takes beside the run and `text_format`."""


def defaults(*, max_turns: int = 10, parallel: bool = True, strategy: Strategy = "auto", retries: int = 0) -> None:
    """The options of a run that are not None by default, for the signatures of methods."""


def meanings() -> dict[str, str]:
    """What each argument means: the text under its declaration above."""
    return texts_in(__file__)
