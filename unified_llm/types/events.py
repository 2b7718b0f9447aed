"""Events of a stream, under the Responses wire's names and with its fields.

An event stands at `output_index` of its `choice` (absent = 0), its part at `content_index`. `done` events hold the
whole value and win over the deltas before them. A wire frame without a meaning of its own is a `unified_llm:frame`.
Deltas are in `content_events.py`, events of hosted tools in `hosted_events.py`.
https://platform.openai.com/docs/api-reference/responses-streaming
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from .base import Kind, Unknown, cap
from .content_events import (
    AnnotationAdded,
    CustomToolCallInputDelta,
    CustomToolCallInputDone,
    FunctionCallArgumentsDelta,
    FunctionCallArgumentsDone,
    OutputAudioDelta,
    OutputAudioDone,
    OutputAudioTranscriptDelta,
    OutputAudioTranscriptDone,
    OutputImageDelta,
    OutputImageDone,
    OutputTextDelta,
    OutputTextDone,
    ReasoningSummaryPartAdded,
    ReasoningSummaryPartDone,
    ReasoningSummaryTextDelta,
    ReasoningSummaryTextDone,
    ReasoningTextDelta,
    ReasoningTextDone,
    RefusalDelta,
    RefusalDone,
)
from .errors import ErrorBody
from .eventbase import EventBase, ItemEventBase, PartEventBase
from .hosted_events import (
    ApplyPatchDiffDelta,
    ApplyPatchDiffDone,
    AudioEvent,
    CodeInterpreterCallCodeDelta,
    CodeInterpreterCallCodeDone,
    CodeInterpreterCallProgress,
    CompactionProgress,
    FileSearchCallProgress,
    ImageGenerationCallPartialImage,
    ImageGenerationCallProgress,
    McpCallArgumentsDelta,
    McpCallArgumentsDone,
    McpCallProgress,
    McpListToolsProgress,
    ShellCallCommandAdded,
    ShellCallCommandDelta,
    ShellCallCommandDone,
    ShellCallOutputContentDelta,
    ShellCallOutputContentDone,
    SteerEvent,
    WebSearchCallProgress,
)
from .items import Item
from .parts import Part
from .response import Response

__all__ = [
    "ContentPartAdded",
    "ContentPartDone",
    "ErrorEvent",
    "Event",
    "FrameEvent",
    "OutputItemAdded",
    "OutputItemDone",
    "ResponseEvent",
    "UnknownEvent",
]


class ResponseEvent(EventBase):
    """The response started, progressed or ended; completed, failed and incomplete end the stream.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "finish.reason"

    type: Literal[
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ]
    response: Annotated[Response | None, cap("metadata")] = None


class OutputItemAdded(ItemEventBase):
    """An item begins; its fields are those known so far.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["response.output_item.added"] = "response.output_item.added"
    item: Annotated[Item | None, cap("text.output")] = None


class OutputItemDone(ItemEventBase):
    """An item is complete.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["response.output_item.done"] = "response.output_item.done"
    item: Annotated[Item | None, cap("text.output")] = None


class ContentPartAdded(PartEventBase):
    """A part begins.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["response.content_part.added"] = "response.content_part.added"
    part: Annotated[Part | None, cap("text.output")] = None


class ContentPartDone(PartEventBase):
    """A part is complete.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["response.content_part.done"] = "response.content_part.done"
    part: Annotated[Part | None, cap("text.output")] = None


class ErrorEvent(EventBase):
    """An error: in `error`, or in the fields of the event, as in the wire event.

    https://www.openresponses.org/specification https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "error.code"

    type: Literal["error"] = "error"
    error: Annotated[ErrorBody | None, cap("error.code")] = None
    code: Annotated[str | int | None, cap("error.code")] = None
    message: Annotated[str | None, cap("error.code")] = None
    param: Annotated[str | None, cap("error.detail")] = None
    status: Annotated[int | None, cap("error.code")] = None


class FrameEvent(EventBase):
    """A wire frame without canonical meaning (ping, empty delta, done marker): kept in `extra` for its own protocol."""

    node_capability: ClassVar[str] = "native.event"

    type: Literal["unified_llm:frame"] = "unified_llm:frame"


class UnknownEvent(Unknown):
    """An event of an unknown type, or an ill-typed one with its `problems`; kept whole."""

    node_kind: ClassVar[str] = "event"
    node_capability: ClassVar[str] = "native.event"

    sequence_number: Annotated[Any, cap("stream.detail")] = None


Event = Annotated[
    Annotated[
        ResponseEvent
        | OutputItemAdded
        | OutputItemDone
        | ContentPartAdded
        | ContentPartDone
        | OutputTextDelta
        | OutputTextDone
        | AnnotationAdded
        | RefusalDelta
        | RefusalDone
        | ReasoningTextDelta
        | ReasoningTextDone
        | ReasoningSummaryPartAdded
        | ReasoningSummaryPartDone
        | ReasoningSummaryTextDelta
        | ReasoningSummaryTextDone
        | FunctionCallArgumentsDelta
        | FunctionCallArgumentsDone
        | CustomToolCallInputDelta
        | CustomToolCallInputDone
        | OutputAudioDelta
        | OutputAudioDone
        | OutputAudioTranscriptDelta
        | OutputAudioTranscriptDone
        | OutputImageDelta
        | OutputImageDone
        | ErrorEvent
        | FrameEvent
        | WebSearchCallProgress
        | FileSearchCallProgress
        | CodeInterpreterCallProgress
        | CodeInterpreterCallCodeDelta
        | CodeInterpreterCallCodeDone
        | ImageGenerationCallProgress
        | ImageGenerationCallPartialImage
        | McpCallProgress
        | McpCallArgumentsDelta
        | McpCallArgumentsDone
        | McpListToolsProgress
        | ShellCallCommandAdded
        | ShellCallCommandDelta
        | ShellCallCommandDone
        | ShellCallOutputContentDelta
        | ShellCallOutputContentDone
        | ApplyPatchDiffDelta
        | ApplyPatchDiffDone
        | CompactionProgress
        | AudioEvent
        | SteerEvent,
        Field(discriminator="type"),
    ]
    | UnknownEvent,
    Field(union_mode="left_to_right"),
    Kind("event"),
]
"""Any event."""
