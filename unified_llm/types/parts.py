"""Content parts: what a message, a tool result or a summary is made of.

Names and shapes are those of Open Responses (https://www.openresponses.org/specification), with media, citations and
search results of the other protocols beside them. Text is never merged or trimmed; media stay base64, URL or handle as
they came.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from .annotations import Annotation
from .base import Cache, Kind, Model, Node, Opaque, Unknown, cap

__all__ = [
    "CitationsConfig",
    "ComputerScreenshot",
    "EncryptedContent",
    "InputAudio",
    "InputFile",
    "InputImage",
    "InputText",
    "InputVideo",
    "LogProb",
    "MediaProcessing",
    "OutputAudio",
    "OutputFile",
    "OutputImage",
    "OutputText",
    "OutputVideo",
    "Part",
    "ReasoningText",
    "Refusal",
    "SearchResult",
    "SummaryText",
    "Text",
    "ToolReference",
    "UnknownPart",
]


class LogProb(Model):
    """The log probability of one token, with the best alternatives; -9999.0 means not among the most likely.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_name: ClassVar[str] = "logprob"
    node_capability: ClassVar[str] = "output.logprobs"

    token: Annotated[str | None, cap("output.logprobs")] = None
    logprob: Annotated[int | float | None, cap("output.logprobs")] = None
    bytes: Annotated[list[int] | None, cap("output.logprobs")] = None
    token_id: Annotated[int | None, cap("output.logprobs")] = None
    top_logprobs: Annotated[list["LogProb"] | None, cap("output.logprobs")] = None


class MediaProcessing(Model):
    """Which section of the medium is read and how: times are durations ("12s"), `mode` is static or agentic.

    https://ai.google.dev/gemini-api/docs/video-understanding
    """

    node_name: ClassVar[str] = "media_processing"
    node_capability: ClassVar[str] = "media.detail"

    mode: Annotated[str | None, cap("media.detail")] = None
    start_offset: Annotated[str | None, cap("media.detail")] = None
    end_offset: Annotated[str | None, cap("media.detail")] = None
    fps: Annotated[int | float | None, cap("media.detail")] = None
    content_layers: Annotated[list[str] | None, cap("media.detail")] = None
    page_options: Annotated[dict[str, Any] | None, cap("media.detail")] = None
    spreadsheet_options: Annotated[dict[str, Any] | None, cap("media.detail")] = None


class CitationsConfig(Model):
    """Whether the model may cite this document.

    https://docs.claude.com/en/docs/build-with-claude/citations
    """

    node_name: ClassVar[str] = "citations_config"
    node_capability: ClassVar[str] = "citations.document"

    enabled: Annotated[bool | None, cap("citations.document")] = None


class PartBase(Node):
    """Fields of every part: opaque data and a cache breakpoint."""

    node_kind: ClassVar[str] = "part"

    opaque: Annotated[list[Opaque] | None, cap("reasoning.signature")] = None
    cache: Annotated[Cache | None, cap("cache.breakpoint")] = None


class MediaBase(PartBase):
    """Fields of every medium: its type, its reference at a provider, and how closely it is read.

    `file_id` and `file_uri` are valid at one provider; `detail` is low, high, auto, original, ultra_high, ...
    """

    media_type: Annotated[str | None, cap("media.detail")] = None
    file_id: Annotated[str | None, cap("file.reference")] = None
    file_uri: Annotated[str | None, cap("file.reference")] = None
    filename: Annotated[str | None, cap("file.input")] = None
    detail: Annotated[str | None, cap("media.detail")] = None
    processing: Annotated[MediaProcessing | None, cap("media.detail")] = None


class InputText(PartBase):
    """Text given to the model.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "text.input"

    type: Literal["input_text"] = "input_text"
    text: Annotated[str, cap("text.input")]
    annotations: Annotated[list[Annotation] | None, cap("citations.other")] = None


class Text(PartBase):
    """Text without a direction, as stored conversations hold it.

    https://platform.openai.com/docs/api-reference/conversations
    """

    node_capability: ClassVar[str] = "text.input"

    type: Literal["text"] = "text"
    text: Annotated[str, cap("text.input")]


class OutputText(PartBase):
    """Text made by the model, with its sources.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "text.output"

    type: Literal["output_text"] = "output_text"
    text: Annotated[str, cap("text.output")]
    annotations: Annotated[list[Annotation] | None, cap("citations.url")] = None
    logprobs: Annotated[list["LogProb"] | None, cap("output.logprobs")] = None


class Refusal(PartBase):
    """The model declined, as text.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "output.refusal"

    type: Literal["refusal"] = "refusal"
    refusal: Annotated[str | None, cap("output.refusal")] = None
    logprobs: Annotated[list["LogProb"] | None, cap("output.logprobs")] = None


class InputImage(MediaBase):
    """An image: `image_url` is a URL or a data URL.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "image.input"

    type: Literal["input_image"] = "input_image"
    image_url: Annotated[str | None, cap("image.input")] = None


class InputFile(MediaBase):
    """A document: `file_data` is base64 or a data URL, `text` plain text, `content` a document in parts.

    https://platform.openai.com/docs/api-reference/responses/create https://docs.claude.com/en/api/messages
    """

    node_capability: ClassVar[str] = "file.input"

    type: Literal["input_file"] = "input_file"
    file_data: Annotated[str | None, cap("file.input")] = None
    file_url: Annotated[str | None, cap("file.input")] = None
    text: Annotated[str | None, cap("file.input")] = None
    content: Annotated[str | list["Part"] | None, cap("file.input")] = None
    title: Annotated[str | None, cap("file.input")] = None
    context: Annotated[str | None, cap("file.input")] = None
    citations: Annotated[CitationsConfig | None, cap("citations.document")] = None


class InputAudio(MediaBase):
    """Audio: base64 `data` with its `format` (wav, mp3, ...), or a URL.

    https://platform.openai.com/docs/api-reference/chat/create https://ai.google.dev/gemini-api/docs/audio
    """

    node_capability: ClassVar[str] = "audio.input"

    type: Literal["input_audio"] = "input_audio"
    data: Annotated[str | None, cap("audio.input")] = None
    format: Annotated[str | None, cap("audio.input")] = None
    audio_url: Annotated[str | None, cap("audio.input")] = None
    channels: Annotated[int | None, cap("media.detail")] = None
    sample_rate: Annotated[int | None, cap("media.detail")] = None


class InputVideo(MediaBase):
    """A video: `video_url` is a URL or a data URL.

    https://www.openresponses.org/specification https://ai.google.dev/gemini-api/docs/video-understanding
    """

    node_capability: ClassVar[str] = "video.input"

    type: Literal["input_video"] = "input_video"
    video_url: Annotated[str | None, cap("video.input")] = None


class OutputAudio(MediaBase):
    """Audio made by the model; an `id` alone refers to earlier audio.

    https://platform.openai.com/docs/api-reference/chat/object https://ai.google.dev/gemini-api/docs/speech-generation
    """

    node_capability: ClassVar[str] = "audio.output"

    type: Literal["output_audio"] = "output_audio"
    id: Annotated[str | None, cap("audio.output")] = None
    data: Annotated[str | None, cap("audio.output")] = None
    format: Annotated[str | None, cap("audio.output")] = None
    transcript: Annotated[str | None, cap("audio.output")] = None
    expires_at: Annotated[int | float | None, cap("audio.output")] = None
    audio_url: Annotated[str | None, cap("audio.output")] = None
    channels: Annotated[int | None, cap("media.detail")] = None
    sample_rate: Annotated[int | None, cap("media.detail")] = None


class OutputImage(MediaBase):
    """An image made by the model: `image_url` is a data URL or a URL.

    https://ai.google.dev/gemini-api/docs/image-generation
    """

    node_capability: ClassVar[str] = "image.output"

    type: Literal["output_image"] = "output_image"
    image_url: Annotated[str | None, cap("image.output")] = None


class OutputVideo(MediaBase):
    """A video made by the model: `video_url` is a data URL or a URL.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "media.output"

    type: Literal["output_video"] = "output_video"
    video_url: Annotated[str | None, cap("media.output")] = None


class OutputFile(MediaBase):
    """A document made by the model or by one of its tools.

    https://ai.google.dev/gemini-api/docs/interactions https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool
    """

    node_capability: ClassVar[str] = "media.output"

    type: Literal["output_file"] = "output_file"
    file_data: Annotated[str | None, cap("media.output")] = None
    file_url: Annotated[str | None, cap("media.output")] = None


class ReasoningText(PartBase):
    """Reasoning text, as a reasoning item's content.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "reasoning.text"

    type: Literal["reasoning_text"] = "reasoning_text"
    text: Annotated[str, cap("reasoning.text")]


class SummaryText(PartBase):
    """A paragraph of a reasoning summary.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "reasoning.summary"

    type: Literal["summary_text"] = "summary_text"
    text: Annotated[str, cap("reasoning.summary")]


class SearchResult(PartBase):
    """A search result given to the model so that it can cite it.

    https://docs.claude.com/en/docs/build-with-claude/search-results
    """

    node_capability: ClassVar[str] = "citations.document"

    type: Literal["search_result"] = "search_result"
    source: Annotated[str | None, cap("citations.document")] = None
    title: Annotated[str | None, cap("citations.document")] = None
    content: Annotated[str | list["Part"] | None, cap("text.input")] = None
    citations: Annotated[CitationsConfig | None, cap("citations.document")] = None


class ToolReference(PartBase):
    """A deferred tool named in a result, which loads it.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/tool-search-tool
    """

    node_capability: ClassVar[str] = "tools.deferred"

    type: Literal["tool_reference"] = "tool_reference"
    name: Annotated[str | None, cap("tools.deferred")] = None
    server_label: Annotated[str | None, cap("tools.mcp")] = None


class ComputerScreenshot(MediaBase):
    """A screenshot inside a stored conversation.

    https://platform.openai.com/docs/api-reference/conversations
    """

    node_capability: ClassVar[str] = "tools.hosted.computer"

    type: Literal["computer_screenshot"] = "computer_screenshot"
    image_url: Annotated[str | None, cap("tools.hosted.computer")] = None


class EncryptedContent(PartBase):
    """A part only the provider can read (messages between agents); the bytes are in `opaque`.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "reasoning.signature"

    type: Literal["encrypted_content"] = "encrypted_content"


class UnknownPart(Unknown):
    """A part of an unknown type, or an ill-typed one with its `problems`; kept whole."""

    node_kind: ClassVar[str] = "part"
    node_capability: ClassVar[str] = "native.content"

    opaque: Annotated[Any, cap("reasoning.signature")] = None
    cache: Annotated[Any, cap("cache.breakpoint")] = None


Part = Annotated[
    Annotated[
        InputText
        | Text
        | OutputText
        | Refusal
        | InputImage
        | InputFile
        | InputAudio
        | InputVideo
        | OutputAudio
        | OutputImage
        | OutputVideo
        | OutputFile
        | ReasoningText
        | SummaryText
        | SearchResult
        | ToolReference
        | ComputerScreenshot
        | EncryptedContent,
        Field(discriminator="type"),
    ]
    | UnknownPart,
    Field(union_mode="left_to_right"),
    Kind("part"),
]
"""Any content part."""
