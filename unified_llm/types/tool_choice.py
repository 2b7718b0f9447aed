"""Which tool is called: a mode as a plain string, or one of the objects here.

Modes are none, auto, required and validated (text or a schema-valid call). https://www.openresponses.org/specification
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from .base import KNOWN, Kind, Node, cap

__all__ = ["AllowedTools", "HostedToolChoice", "ToolChoice", "ToolChoiceCustom", "ToolChoiceFunction", "ToolChoiceMcp"]


class ToolChoiceBase(Node):
    """Base of the tool choices."""

    node_kind: ClassVar[str] = "tool_choice"
    node_capability: ClassVar[str] = "tools.choice"


class ToolChoiceFunction(ToolChoiceBase):
    """The model must call this function.

    https://www.openresponses.org/specification
    """

    type: Literal["function"] = "function"
    name: Annotated[str | None, cap("tools.choice")] = None


class ToolChoiceCustom(ToolChoiceBase):
    """The model must call this custom tool.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    type: Literal["custom"] = "custom"
    name: Annotated[str | None, cap("tools.choice")] = None


class ToolChoiceMcp(ToolChoiceBase):
    """The model must call a tool of this MCP server, or the named one.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    type: Literal["mcp"] = "mcp"
    server_label: Annotated[str | None, cap("tools.choice")] = None
    name: Annotated[str | None, cap("tools.choice")] = None


class AllowedTools(ToolChoiceBase):
    """Only these of the declared tools; `mode` is none, auto, required or validated.

    https://www.openresponses.org/specification https://ai.google.dev/gemini-api/docs/function-calling
    """

    node_capability: ClassVar[str] = "tools.allowed"

    type: Literal["allowed_tools"] = "allowed_tools"
    mode: Annotated[str | None, cap("tools.choice")] = None
    tools: Annotated[list[dict[str, Any]] | None, cap("tools.allowed")] = None


def _hosted(name: str) -> str:
    if name in KNOWN["tool_choice"]:
        raise ValueError(f"{name!r} is a known choice")
    return name


class HostedToolChoice(ToolChoiceBase):
    """A hosted tool by its type, e.g. {"type": "web_search"}.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    type: Annotated[str, AfterValidator(_hosted), cap("tools.choice")]


ToolChoice = Annotated[
    Annotated[
        ToolChoiceFunction | ToolChoiceCustom | ToolChoiceMcp | AllowedTools,
        Field(discriminator="type"),
    ]
    | HostedToolChoice,
    Field(union_mode="left_to_right"),
    Kind("tool_choice"),
]
"""A choice that is an object; modes are plain strings."""
