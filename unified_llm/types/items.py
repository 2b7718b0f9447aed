"""Items: the steps of a conversation, input and output alike.

Names and shapes are those of Open Responses (https://www.openresponses.org/specification) and of the Responses wire.
A call and its result are two items paired by `call_id`; a hosted call may hold its result inline or leave it to a
`*_result` item. Items with equal `turn` came from one wire message. Message, functions and reasoning are here, the
others in `context_items.py`, `hosted_items.py` and `action_items.py`.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from .action_items import (
    ApplyPatchCall,
    ApplyPatchCallOutput,
    ComputerCall,
    ComputerCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpListTools,
    McpResult,
    ShellCall,
    ShellCallOutput,
)
from .base import Kind, Unknown, Values, cap
from .context_items import (
    AdditionalTools,
    AgentMessage,
    Compaction,
    CompactionTrigger,
    ConfigurationUpdate,
    Fallback,
    ItemReference,
    MultiAgentCall,
    MultiAgentCallOutput,
    Program,
    ProgramOutput,
    ToolChange,
    ToolSearchCall,
    ToolSearchOutput,
    ToolSearchResult,
)
from .hosted_items import (
    CodeInterpreterCall,
    CodeInterpreterResult,
    FileSearchCall,
    FileSearchResult,
    ImageGenerationCall,
    MapsCall,
    MapsResult,
    ProcessingCall,
    ProcessingResult,
    RetrievalCall,
    RetrievalResult,
    WebFetchCall,
    WebFetchResult,
    WebSearchCall,
    WebSearchResult,
)
from .itembase import CallBase, ItemBase, ResultBase, encrypted, parsed_arguments
from .parts import Part
from .roles import ROLES

__all__ = [
    "CustomToolCall",
    "CustomToolCallOutput",
    "FunctionCall",
    "FunctionCallOutput",
    "Item",
    "Message",
    "Reasoning",
    "UnknownItem",
]


class Message(ItemBase):
    """A message.

    `role` is user, assistant, system, developer, ...; `content` a string or parts; `phase` commentary or final_answer.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "text.input"

    type: Literal["message"] = "message"
    role: Annotated[str, cap("message.role"), Values(ROLES)]
    content: Annotated[str | list[Part] | None, cap("text.input")] = None
    phase: Annotated[str | None, cap("item.phase")] = None
    name: Annotated[str | None, cap("message.name")] = None


class FunctionCall(CallBase):
    """A call of a function; `arguments` is JSON text as the model wrote it, valid or not.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "tools.function"

    type: Literal["function_call"] = "function_call"
    name: Annotated[str, cap("tools.function")]
    arguments: Annotated[str | None, cap("tools.function")] = None
    namespace: Annotated[str | None, cap("tools.namespace")] = None
    async_: Annotated[bool | None, cap("tools.executor")] = Field(default=None, alias="async")

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """The arguments as JSON values; {} for a call without any.

        Raises `InvalidBody` where the model did not write a JSON object.

        >>> FunctionCall(name="now", arguments='{"zone": "UTC"}').parsed_arguments
        {'zone': 'UTC'}
        """
        return parsed_arguments(self.name, self.arguments)


class FunctionCallOutput(ResultBase):
    """The result of a function call, as text or parts; `name` and `namespace` name the tool if needed.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "tools.result"

    type: Literal["function_call_output"] = "function_call_output"
    output: Annotated[str | list[Part] | None, cap("tools.result")] = None
    name: Annotated[str | None, cap("tools.function")] = None
    namespace: Annotated[str | None, cap("tools.namespace")] = None


class CustomToolCall(CallBase):
    """A call of a custom tool with free-form text.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "tools.custom"

    type: Literal["custom_tool_call"] = "custom_tool_call"
    name: Annotated[str, cap("tools.custom")]
    input: Annotated[str | None, cap("tools.custom")] = None
    namespace: Annotated[str | None, cap("tools.namespace")] = None
    async_: Annotated[bool | None, cap("tools.executor")] = Field(default=None, alias="async")


class CustomToolCallOutput(ResultBase):
    """The result of a custom tool call.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "tools.result"

    type: Literal["custom_tool_call_output"] = "custom_tool_call_output"
    output: Annotated[str | list[Part] | None, cap("tools.result")] = None
    name: Annotated[str | None, cap("tools.custom")] = None
    namespace: Annotated[str | None, cap("tools.namespace")] = None


class Reasoning(ItemBase):
    """Reasoning of the model: text in `content`, a summary in `summary`, encrypted content in `opaque`.

    https://www.openresponses.org/specification https://docs.claude.com/en/docs/build-with-claude/extended-thinking
    """

    node_capability: ClassVar[str] = "reasoning.text"

    type: Literal["reasoning"] = "reasoning"
    summary: Annotated[list[Part] | None, cap("reasoning.summary")] = None
    content: Annotated[list[Part] | None, cap("reasoning.text")] = None

    @property
    def encrypted_content(self) -> str | None:
        """The encrypted content among the opaque pieces, if there is one."""
        return encrypted(self.opaque)


class UnknownItem(Unknown):
    """An item of an unknown type, or an ill-typed one with its `problems`; kept whole."""

    node_kind: ClassVar[str] = "item"
    node_capability: ClassVar[str] = "native.item"

    id: Annotated[Any, cap("item.id")] = None
    turn: Annotated[Any, cap("item.turn")] = None
    opaque: Annotated[Any, cap("reasoning.signature")] = None
    cache: Annotated[Any, cap("cache.breakpoint")] = None


Item = Annotated[
    Annotated[
        Message
        | FunctionCall
        | FunctionCallOutput
        | CustomToolCall
        | CustomToolCallOutput
        | Reasoning
        | Compaction
        | CompactionTrigger
        | ConfigurationUpdate
        | AdditionalTools
        | ToolChange
        | ToolSearchCall
        | ToolSearchOutput
        | ToolSearchResult
        | Program
        | ProgramOutput
        | ItemReference
        | Fallback
        | AgentMessage
        | MultiAgentCall
        | MultiAgentCallOutput
        | WebSearchCall
        | WebSearchResult
        | WebFetchCall
        | WebFetchResult
        | CodeInterpreterCall
        | CodeInterpreterResult
        | FileSearchCall
        | FileSearchResult
        | ImageGenerationCall
        | MapsCall
        | MapsResult
        | RetrievalCall
        | RetrievalResult
        | ProcessingCall
        | ProcessingResult
        | McpListTools
        | McpCall
        | McpResult
        | McpApprovalRequest
        | McpApprovalResponse
        | ComputerCall
        | ComputerCallOutput
        | ShellCall
        | ShellCallOutput
        | LocalShellCall
        | LocalShellCallOutput
        | ApplyPatchCall
        | ApplyPatchCallOutput,
        Field(discriminator="type"),
    ]
    | UnknownItem,
    Field(union_mode="left_to_right"),
    Kind("item"),
]
"""Any item."""
