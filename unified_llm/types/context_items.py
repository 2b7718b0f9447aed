"""Items that change the context: compaction, changed settings and tools, programs, agents.

https://platform.openai.com/docs/api-reference/responses/create
"""

from typing import Annotated, Any, ClassVar, Literal

from .base import cap
from .itembase import CallBase, ItemBase, ResultBase, encrypted
from .parts import Part
from .settings import ReasoningConfig, TextConfig
from .tools import Tool

__all__ = [
    "AdditionalTools",
    "AgentMessage",
    "Compaction",
    "CompactionTrigger",
    "ConfigurationUpdate",
    "Fallback",
    "ItemReference",
    "MultiAgentCall",
    "MultiAgentCallOutput",
    "Program",
    "ProgramOutput",
    "ToolChange",
    "ToolSearchCall",
    "ToolSearchOutput",
    "ToolSearchResult",
]


class Compaction(ItemBase):
    """Earlier history, compacted: opaque, or text in `content`; `tool_changes` are those it contains.

    https://www.openresponses.org/specification https://docs.claude.com/en/docs/build-with-claude/compaction
    """

    node_capability: ClassVar[str] = "context.compaction"

    type: Literal["compaction"] = "compaction"
    content: Annotated[str | list[Part] | None, cap("context.compaction")] = None
    tool_changes: Annotated[list[dict[str, Any]] | None, cap("context.changes")] = None

    @property
    def encrypted_content(self) -> str | None:
        """The encrypted content in the opaque data, if any."""
        return encrypted(self.opaque)


class CompactionTrigger(ItemBase):
    """Requests a compaction; the last item of the input.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_capability: ClassVar[str] = "context.compaction"

    type: Literal["compaction_trigger"] = "compaction_trigger"


class ConfigurationUpdate(ItemBase):
    """Settings from this item on.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_capability: ClassVar[str] = "context.changes"

    type: Literal["configuration_update"] = "configuration_update"
    reasoning: Annotated[ReasoningConfig | None, cap("context.changes")] = None
    text: Annotated[TextConfig | None, cap("context.changes")] = None


class AdditionalTools(ItemBase):
    """Tools that are available from this item on.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_capability: ClassVar[str] = "context.changes"

    type: Literal["additional_tools"] = "additional_tools"
    role: Annotated[str | None, cap("message.role")] = None
    tools: Annotated[list[Tool] | None, cap("context.changes")] = None


class ToolChange(ItemBase):
    """A declared tool that is added or removed (`action`) from this item on, by name, server or definition.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
    """

    node_capability: ClassVar[str] = "context.changes"

    type: Literal["tool_change"] = "tool_change"
    action: Annotated[str | None, cap("context.changes")] = None
    name: Annotated[str | None, cap("context.changes")] = None
    server_label: Annotated[str | None, cap("context.changes")] = None
    tool: Annotated[Tool | None, cap("context.changes")] = None


class ToolSearchCall(CallBase):
    """A search for tools to load; `execution` is server or client.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "tools.deferred"

    type: Literal["tool_search_call"] = "tool_search_call"
    arguments: Annotated[Any, cap("tools.deferred")] = None
    execution: Annotated[str | None, cap("tools.executor")] = None
    name: Annotated[str | None, cap("tools.deferred")] = None


class ToolSearchOutput(ResultBase):
    """The tools a search found, with their definitions.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "tools.deferred"

    type: Literal["tool_search_output"] = "tool_search_output"
    tools: Annotated[list[Tool] | None, cap("tools.deferred")] = None
    execution: Annotated[str | None, cap("tools.executor")] = None


class ToolSearchResult(ResultBase):
    """The tools the provider's search found, by name (`content` holds tool references) or with their definitions.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/tool-search-tool https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.deferred"

    type: Literal["tool_search_result"] = "tool_search_result"
    content: Annotated[list[Part] | None, cap("tools.deferred")] = None
    tools: Annotated[list[Tool] | None, cap("tools.deferred")] = None


class Program(CallBase):
    """Code that the model wrote to call tools; its fingerprint is opaque and must be returned.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "tools.programmatic"

    type: Literal["program"] = "program"
    code: Annotated[str | None, cap("tools.programmatic")] = None


class ProgramOutput(ResultBase):
    """Result of a program.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "tools.programmatic"

    type: Literal["program_output"] = "program_output"
    result: Annotated[str | None, cap("tools.programmatic")] = None


class ItemReference(ItemBase):
    """A stored item, by its id.

    https://www.openresponses.org/specification
    """

    node_capability: ClassVar[str] = "state.store"

    type: Literal["item_reference"] = "item_reference"


class Fallback(ItemBase):
    """From this item on, another model responds.

    https://docs.claude.com/en/api/messages
    """

    node_capability: ClassVar[str] = "service.tier"

    type: Literal["fallback"] = "fallback"
    from_model: Annotated[str | None, cap("service.tier")] = None
    to_model: Annotated[str | None, cap("service.tier")] = None
    trigger: Annotated[Any, cap("service.tier")] = None


class AgentMessage(ItemBase):
    """A message from one agent to another.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "agent.config"

    type: Literal["agent_message"] = "agent_message"
    author: Annotated[str | None, cap("agent.config")] = None
    recipient: Annotated[str | None, cap("agent.config")] = None
    content: Annotated[str | list[Part] | None, cap("agent.config")] = None


class MultiAgentCall(CallBase):
    """The model starts, stops or messages a sub-agent.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "agent.config"

    type: Literal["multi_agent_call"] = "multi_agent_call"
    action: Annotated[str | None, cap("agent.config")] = None
    arguments: Annotated[str | None, cap("agent.config")] = None


class MultiAgentCallOutput(ResultBase):
    """Result of an action on a sub-agent.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "agent.config"

    type: Literal["multi_agent_call_output"] = "multi_agent_call_output"
    action: Annotated[str | None, cap("agent.config")] = None
    output: Annotated[str | list[Part] | None, cap("agent.config")] = None
