"""Token counts: sums include their parts, and every part is in the details.

`input_tokens` includes what was read from or written to a cache and what tools fed back; `output_tokens` includes
reasoning. A disjoint split follows by subtraction. https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from .base import Model, Node, cap

__all__ = ["InputTokensDetails", "OutputTokensDetails", "Usage"]


class InputTokensDetails(Model):
    """The parts of the input.

    https://platform.openai.com/docs/api-reference/responses/object https://docs.claude.com/en/api/messages
    """

    node_name: ClassVar[str] = "usage.input_tokens_details"
    node_capability: ClassVar[str] = "usage.detail"

    cached_tokens: Annotated[int | None, cap("usage.cache")] = None
    cache_write_tokens: Annotated[int | None, cap("usage.cache")] = None
    cache_write_tokens_details: Annotated[dict[str, Any] | None, cap("usage.cache")] = None
    text_tokens: Annotated[int | None, cap("usage.detail")] = None
    audio_tokens: Annotated[int | None, cap("usage.detail")] = None
    image_tokens: Annotated[int | None, cap("usage.detail")] = None
    video_tokens: Annotated[int | None, cap("usage.detail")] = None
    document_tokens: Annotated[int | None, cap("usage.detail")] = None
    tool_tokens: Annotated[int | None, cap("usage.detail")] = None
    cached_tokens_details: Annotated[dict[str, Any] | None, cap("usage.cache")] = None
    tool_tokens_details: Annotated[dict[str, Any] | None, cap("usage.detail")] = None


class OutputTokensDetails(Model):
    """The parts of the output.

    https://platform.openai.com/docs/api-reference/responses/object https://platform.openai.com/docs/api-reference/chat/object
    """

    node_name: ClassVar[str] = "usage.output_tokens_details"
    node_capability: ClassVar[str] = "usage.detail"

    reasoning_tokens: Annotated[int | None, cap("usage.detail")] = None
    text_tokens: Annotated[int | None, cap("usage.detail")] = None
    audio_tokens: Annotated[int | None, cap("usage.detail")] = None
    image_tokens: Annotated[int | None, cap("usage.detail")] = None
    video_tokens: Annotated[int | None, cap("usage.detail")] = None
    document_tokens: Annotated[int | None, cap("usage.detail")] = None
    accepted_prediction_tokens: Annotated[int | None, cap("usage.detail")] = None
    rejected_prediction_tokens: Annotated[int | None, cap("usage.detail")] = None


class Usage(Node):
    """What the answer cost in tokens; `hosted_tools` counts calls of hosted tools by name.

    https://www.openresponses.org/specification
    """

    node_name: ClassVar[str] = "usage"
    node_capability: ClassVar[str] = "usage.tokens"

    input_tokens: Annotated[int | None, cap("usage.tokens")] = None
    output_tokens: Annotated[int | None, cap("usage.tokens")] = None
    total_tokens: Annotated[int | None, cap("usage.tokens")] = None
    input_tokens_details: Annotated[InputTokensDetails | None, cap("usage.detail")] = None
    output_tokens_details: Annotated[OutputTokensDetails | None, cap("usage.detail")] = None
    hosted_tools: Annotated[dict[str, Any] | None, cap("usage.detail")] = None
