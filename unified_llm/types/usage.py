"""Token counts: sums include their parts, and every part is in the details.

`input_tokens` includes what was read from or written to a cache and what tools fed back; `output_tokens` includes
reasoning. A disjoint split follows by subtraction. https://platform.openai.com/docs/api-reference/responses/object
"""

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
    """Token counts of a response; `hosted_tools` counts calls of hosted tools by name.

    Usages add up, details included: `sum(usages, Usage())`. A count that only one of them has is the sum; `extra`,
    where providers keep their own objects, is left out.

    https://www.openresponses.org/specification

    >>> total = Usage(input_tokens=3, output_tokens=2) + Usage(input_tokens=1, output_tokens=1, total_tokens=2)
    >>> total.dump()
    {'input_tokens': 4, 'output_tokens': 3, 'total_tokens': 2}
    """

    node_name: ClassVar[str] = "usage"
    node_capability: ClassVar[str] = "usage.tokens"

    input_tokens: Annotated[int | None, cap("usage.tokens")] = None
    output_tokens: Annotated[int | None, cap("usage.tokens")] = None
    total_tokens: Annotated[int | None, cap("usage.tokens")] = None
    input_tokens_details: Annotated[InputTokensDetails | None, cap("usage.detail")] = None
    output_tokens_details: Annotated[OutputTokensDetails | None, cap("usage.detail")] = None
    hosted_tools: Annotated[dict[str, Any] | None, cap("usage.detail")] = None

    def __add__(self, other: "Usage") -> "Usage":
        if not isinstance(other, Usage):
            return NotImplemented
        return type(self).model_validate(_sum(self.dump(), other.dump()))


def _sum(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The counts of both, with those in their objects. Anything but a count has no sum."""
    out: dict[str, Any] = {}
    for name in (*one, *(name for name in other if name not in one)):
        found = [value for value in (one.get(name), other.get(name)) if value is not None]
        if name == "extra" or not found:
            continue
        if all(type(value) is int for value in found):
            out[name] = sum(found)
        elif all(type(value) is dict for value in found):
            out[name] = _sum(found[0], found[1] if len(found) == 2 else {})
    return out
