"""Events with increments of content: text and its annotations, refusals, reasoning, arguments, audio, images.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from typing import Annotated, ClassVar, Literal

from .annotations import Annotation
from .base import cap
from .eventbase import ItemEventBase, PartEventBase
from .parts import LogProb, Part

__all__ = [
    "AnnotationAdded",
    "CustomToolCallInputDelta",
    "CustomToolCallInputDone",
    "FunctionCallArgumentsDelta",
    "FunctionCallArgumentsDone",
    "OutputAudioDelta",
    "OutputAudioDone",
    "OutputAudioTranscriptDelta",
    "OutputAudioTranscriptDone",
    "OutputImageDelta",
    "OutputImageDone",
    "OutputTextDelta",
    "OutputTextDone",
    "ReasoningSummaryPartAdded",
    "ReasoningSummaryPartDone",
    "ReasoningSummaryTextDelta",
    "ReasoningSummaryTextDone",
    "ReasoningTextDelta",
    "ReasoningTextDone",
    "RefusalDelta",
    "RefusalDone",
]


class OutputTextDelta(PartEventBase):
    """An increment of text.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["response.output_text.delta"] = "response.output_text.delta"
    delta: Annotated[str | None, cap("text.output")] = None
    logprobs: Annotated[list[LogProb] | None, cap("output.logprobs")] = None


class OutputTextDone(PartEventBase):
    """The complete text of a part.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["response.output_text.done"] = "response.output_text.done"
    text: Annotated[str | None, cap("text.output")] = None
    logprobs: Annotated[list[LogProb] | None, cap("output.logprobs")] = None


class AnnotationAdded(PartEventBase):
    """An annotation of the text so far.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "citations.url"

    type: Literal["response.output_text.annotation.added"] = "response.output_text.annotation.added"
    annotation_index: Annotated[int | None, cap("stream.detail")] = None
    annotation: Annotated[Annotation | None, cap("citations.url")] = None


class RefusalDelta(PartEventBase):
    """An increment of a refusal.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "output.refusal"

    type: Literal["response.refusal.delta"] = "response.refusal.delta"
    delta: Annotated[str | None, cap("output.refusal")] = None
    logprobs: Annotated[list[LogProb] | None, cap("output.logprobs")] = None


class RefusalDone(PartEventBase):
    """The complete refusal.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "output.refusal"

    type: Literal["response.refusal.done"] = "response.refusal.done"
    refusal: Annotated[str | None, cap("output.refusal")] = None


class ReasoningTextDelta(PartEventBase):
    """An increment of reasoning text.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "reasoning.text"

    type: Literal["response.reasoning_text.delta"] = "response.reasoning_text.delta"
    delta: Annotated[str | None, cap("reasoning.text")] = None


class ReasoningTextDone(PartEventBase):
    """The complete reasoning text of a part.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "reasoning.text"

    type: Literal["response.reasoning_text.done"] = "response.reasoning_text.done"
    text: Annotated[str | None, cap("reasoning.text")] = None


class ReasoningSummaryPartAdded(ItemEventBase):
    """A part of the summary begins.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "reasoning.summary"

    type: Literal["response.reasoning_summary_part.added"] = "response.reasoning_summary_part.added"
    summary_index: Annotated[int | None, cap("stream.detail")] = None
    part: Annotated[Part | None, cap("reasoning.summary")] = None


class ReasoningSummaryPartDone(ItemEventBase):
    """A part of the summary is complete.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "reasoning.summary"

    type: Literal["response.reasoning_summary_part.done"] = "response.reasoning_summary_part.done"
    summary_index: Annotated[int | None, cap("stream.detail")] = None
    part: Annotated[Part | None, cap("reasoning.summary")] = None
    status: Annotated[str | None, cap("item.status")] = None


class ReasoningSummaryTextDelta(ItemEventBase):
    """An increment of the summary.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "reasoning.summary"

    type: Literal["response.reasoning_summary_text.delta"] = "response.reasoning_summary_text.delta"
    summary_index: Annotated[int | None, cap("stream.detail")] = None
    delta: Annotated[str | None, cap("reasoning.summary")] = None


class ReasoningSummaryTextDone(ItemEventBase):
    """The complete text of a part of the summary.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "reasoning.summary"

    type: Literal["response.reasoning_summary_text.done"] = "response.reasoning_summary_text.done"
    summary_index: Annotated[int | None, cap("stream.detail")] = None
    text: Annotated[str | None, cap("reasoning.summary")] = None


class FunctionCallArgumentsDelta(ItemEventBase):
    """An increment of the arguments' JSON text.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.function"

    type: Literal["response.function_call_arguments.delta"] = "response.function_call_arguments.delta"
    delta: Annotated[str | None, cap("tools.function")] = None


class FunctionCallArgumentsDone(ItemEventBase):
    """The complete arguments; some protocols repeat the name.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.function"

    type: Literal["response.function_call_arguments.done"] = "response.function_call_arguments.done"
    arguments: Annotated[str | None, cap("tools.function")] = None
    name: Annotated[str | None, cap("tools.function")] = None


class CustomToolCallInputDelta(ItemEventBase):
    """An increment of a custom tool's input.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.custom"

    type: Literal["response.custom_tool_call_input.delta"] = "response.custom_tool_call_input.delta"
    delta: Annotated[str | None, cap("tools.custom")] = None


class CustomToolCallInputDone(ItemEventBase):
    """The complete input.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.custom"

    type: Literal["response.custom_tool_call_input.done"] = "response.custom_tool_call_input.done"
    input: Annotated[str | None, cap("tools.custom")] = None


class OutputAudioDelta(PartEventBase):
    """An increment of audio, base64.

    https://platform.openai.com/docs/api-reference/chat-streaming
    """

    node_capability: ClassVar[str] = "audio.output"

    type: Literal["response.output_audio.delta"] = "response.output_audio.delta"
    delta: Annotated[str | None, cap("audio.output")] = None


class OutputAudioDone(PartEventBase):
    """The audio is complete.

    https://platform.openai.com/docs/api-reference/chat-streaming
    """

    node_capability: ClassVar[str] = "audio.output"

    type: Literal["response.output_audio.done"] = "response.output_audio.done"
    data: Annotated[str | None, cap("audio.output")] = None
    expires_at: Annotated[int | float | None, cap("audio.output")] = None


class OutputAudioTranscriptDelta(PartEventBase):
    """An increment of the transcript of the audio.

    https://platform.openai.com/docs/api-reference/chat-streaming
    """

    node_capability: ClassVar[str] = "audio.output"

    type: Literal["response.output_audio_transcript.delta"] = "response.output_audio_transcript.delta"
    delta: Annotated[str | None, cap("audio.output")] = None


class OutputAudioTranscriptDone(PartEventBase):
    """The complete transcript.

    https://platform.openai.com/docs/api-reference/chat-streaming
    """

    node_capability: ClassVar[str] = "audio.output"

    type: Literal["response.output_audio_transcript.done"] = "response.output_audio_transcript.done"
    transcript: Annotated[str | None, cap("audio.output")] = None


class OutputImageDelta(PartEventBase):
    """An increment of an image, base64.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "image.output"

    type: Literal["response.output_image.delta"] = "response.output_image.delta"
    delta: Annotated[str | None, cap("image.output")] = None


class OutputImageDone(PartEventBase):
    """The complete image as URL or data URL.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "image.output"

    type: Literal["response.output_image.done"] = "response.output_image.done"
    image_url: Annotated[str | None, cap("image.output")] = None
