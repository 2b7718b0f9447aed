"""A request: settings, instructions and the conversation so far.

https://platform.openai.com/docs/api-reference/responses/create https://www.openresponses.org/specification
"""

from typing import Annotated, Any, ClassVar

from .base import Cache, Model, cap
from .settings import Settings, StreamOptions
from .unions import Item, Part

__all__ = ["ContextManagement", "Request"]


class ContextManagement(Model):
    """One rule for a growing context: `type` compaction with a threshold, or an edit that clears old tool results.

    https://platform.openai.com/docs/api-reference/responses/create https://docs.claude.com/en/docs/build-with-claude/context-editing
    """

    node_name: ClassVar[str] = "context_management"
    node_capability: ClassVar[str] = "context.compaction"

    type: Annotated[str | None, cap("context.compaction")] = None
    compact_threshold: Annotated[int | None, cap("context.compaction")] = None
    instructions: Annotated[str | None, cap("context.compaction")] = None
    pause_after: Annotated[bool | None, cap("context.compaction")] = None


class Request(Settings):
    """A request to a model.

    `input` is a string (one user message) or items, `instructions` the system text as string or parts, `cache` on the
    request a breakpoint at the end of its cacheable part, `include` additional data requested for the response.
    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_name: ClassVar[str] = "request"
    node_capability: ClassVar[str] = "native.field"

    input: Annotated[str | list[Item] | None, cap("text.input")] = None
    instructions: Annotated[str | list[Part] | None, cap("instructions")] = None
    include: Annotated[list[str] | None, cap("include")] = None
    stream: Annotated[bool | None, cap("stream.options")] = None
    stream_options: Annotated[StreamOptions | None, cap("stream.options")] = None
    context_management: Annotated[list[ContextManagement] | None, cap("context.compaction")] = None
    prediction: Annotated[dict[str, Any] | None, cap("output.prediction")] = None
    background_options: Annotated[dict[str, Any] | None, cap("state.background")] = None
    multi_agent: Annotated[dict[str, Any] | None, cap("agent.config")] = None
    fallbacks: Annotated[str | list[Any] | None, cap("service.tier")] = None
    cache: Annotated[Cache | None, cap("cache.breakpoint")] = None
