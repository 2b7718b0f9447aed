"""Events of hosted tools: progress, and increments of code, images, commands and patches.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from typing import Annotated, Any, ClassVar, Literal

from .action_items import ShellOutput
from .base import cap
from .errors import ErrorBody
from .eventbase import EventBase, ItemEventBase

__all__ = [
    "ApplyPatchDiffDelta",
    "ApplyPatchDiffDone",
    "AudioEvent",
    "CodeInterpreterCallCodeDelta",
    "CodeInterpreterCallCodeDone",
    "CodeInterpreterCallProgress",
    "CompactionProgress",
    "FileSearchCallProgress",
    "ImageGenerationCallPartialImage",
    "ImageGenerationCallProgress",
    "McpCallArgumentsDelta",
    "McpCallArgumentsDone",
    "McpCallProgress",
    "McpListToolsProgress",
    "ShellCallCommandAdded",
    "ShellCallCommandDelta",
    "ShellCallCommandDone",
    "ShellCallOutputContentDelta",
    "ShellCallOutputContentDone",
    "SteerEvent",
    "WebSearchCallProgress",
]


class WebSearchCallProgress(ItemEventBase):
    """Progress of a web search.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal[
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
    ]


class FileSearchCallProgress(ItemEventBase):
    """Progress of a file search.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal[
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
    ]


class CodeInterpreterCallProgress(ItemEventBase):
    """Progress of running code.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal[
        "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call.completed",
    ]


class CodeInterpreterCallCodeDelta(ItemEventBase):
    """An increment of code.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.code_interpreter"

    type: Literal["response.code_interpreter_call_code.delta"] = "response.code_interpreter_call_code.delta"
    delta: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None


class CodeInterpreterCallCodeDone(ItemEventBase):
    """The complete code.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.code_interpreter"

    type: Literal["response.code_interpreter_call_code.done"] = "response.code_interpreter_call_code.done"
    code: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None


class ImageGenerationCallProgress(ItemEventBase):
    """Progress of an image.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal[
        "response.image_generation_call.in_progress",
        "response.image_generation_call.generating",
        "response.image_generation_call.completed",
    ]


class ImageGenerationCallPartialImage(ItemEventBase):
    """A partial image, base64.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.image_generation"

    type: Literal["response.image_generation_call.partial_image"] = "response.image_generation_call.partial_image"
    partial_image_index: Annotated[int | None, cap("stream.detail")] = None
    partial_image_b64: Annotated[str | None, cap("image.output")] = None
    size: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    quality: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    background: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    output_format: Annotated[str | None, cap("tools.hosted.image_generation")] = None


class McpCallProgress(ItemEventBase):
    """Progress of an MCP tool call.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal[
        "response.mcp_call.in_progress",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
    ]


class McpCallArgumentsDelta(ItemEventBase):
    """An increment of the arguments of an MCP tool call.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.mcp"

    type: Literal["response.mcp_call_arguments.delta"] = "response.mcp_call_arguments.delta"
    delta: Annotated[str | None, cap("tools.mcp")] = None


class McpCallArgumentsDone(ItemEventBase):
    """The complete arguments.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.mcp"

    type: Literal["response.mcp_call_arguments.done"] = "response.mcp_call_arguments.done"
    arguments: Annotated[str | None, cap("tools.mcp")] = None


class McpListToolsProgress(ItemEventBase):
    """Progress of listing MCP tools.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal[
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed",
    ]


class ShellCallCommandAdded(ItemEventBase):
    """A command begins; this protocol has no item id.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["response.shell_call_command.added"] = "response.shell_call_command.added"
    command_index: Annotated[int | None, cap("stream.detail")] = None
    command: Annotated[str | None, cap("tools.hosted.shell")] = None


class ShellCallCommandDelta(ItemEventBase):
    """An increment of a command.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["response.shell_call_command.delta"] = "response.shell_call_command.delta"
    command_index: Annotated[int | None, cap("stream.detail")] = None
    delta: Annotated[str | None, cap("tools.hosted.shell")] = None


class ShellCallCommandDone(ItemEventBase):
    """The complete command.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["response.shell_call_command.done"] = "response.shell_call_command.done"
    command_index: Annotated[int | None, cap("stream.detail")] = None
    command: Annotated[str | None, cap("tools.hosted.shell")] = None


class ShellCallOutputContentDelta(ItemEventBase):
    """An increment of a command's stdout or stderr.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["response.shell_call_output_content.delta"] = "response.shell_call_output_content.delta"
    command_index: Annotated[int | None, cap("stream.detail")] = None
    delta: Annotated[dict[str, Any] | None, cap("tools.hosted.shell")] = None


class ShellCallOutputContentDone(ItemEventBase):
    """The complete output of a command.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["response.shell_call_output_content.done"] = "response.shell_call_output_content.done"
    command_index: Annotated[int | None, cap("stream.detail")] = None
    output: Annotated[list[ShellOutput] | None, cap("tools.hosted.shell")] = None


class ApplyPatchDiffDelta(ItemEventBase):
    """An increment of a patch.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.apply_patch"

    type: Literal["response.apply_patch_call_operation_diff.delta"] = "response.apply_patch_call_operation_diff.delta"
    delta: Annotated[str | None, cap("tools.hosted.apply_patch")] = None


class ApplyPatchDiffDone(ItemEventBase):
    """The complete patch.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "tools.hosted.apply_patch"

    type: Literal["response.apply_patch_call_operation_diff.done"] = "response.apply_patch_call_operation_diff.done"
    diff: Annotated[str | None, cap("tools.hosted.apply_patch")] = None


class CompactionProgress(ItemEventBase):
    """The history is being compacted.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.detail"

    type: Literal["response.compaction.compacting"] = "response.compaction.compacting"


class AudioEvent(EventBase):
    """Audio or its transcript in the Responses wire's older form, without item ids.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "audio.output"

    type: Literal[
        "response.audio.delta",
        "response.audio.done",
        "response.audio.transcript.delta",
        "response.audio.transcript.done",
    ]
    delta: Annotated[str | None, cap("audio.output")] = None
    response_id: Annotated[str | None, cap("metadata")] = None


class SteerEvent(EventBase):
    """The reply to an attempt to steer a running response over a socket.

    https://platform.openai.com/docs/api-reference/responses-streaming
    """

    node_capability: ClassVar[str] = "stream.options"

    type: Literal[
        "response.steer.accepted",
        "response.steer.pending",
        "response.steer.failed",
    ]
    steer: Annotated[dict[str, Any] | None, cap("stream.options")] = None
    reason: Annotated[str | None, cap("stream.options")] = None
    required_input: Annotated[list[Any] | None, cap("stream.options")] = None
    error: Annotated[ErrorBody | None, cap("error.code")] = None
