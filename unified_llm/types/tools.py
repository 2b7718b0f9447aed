"""Tools the model may call.

Shapes are those of the Responses wire (https://platform.openai.com/docs/api-reference/responses/create): a function is
flat, hosted tools go by their bare names.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from .base import FREE, Kind, Model, Unknown, cap, narrows
from .hosted_tools import (
    CodeInterpreterTool,
    FileSearchTool,
    ImageGenerationTool,
    MapsTool,
    McpTool,
    RetrievalTool,
    WebFetchTool,
    WebSearchTool,
)
from .toolbase import ToolBase

__all__ = [
    "ApplyPatchTool",
    "ComputerTool",
    "CustomFormat",
    "CustomTool",
    "FunctionTool",
    "LocalShellTool",
    "NamespaceTool",
    "ProgrammaticToolCallingTool",
    "ShellTool",
    "Tool",
    "ToolSearchTool",
    "UnknownTool",
]


class FunctionTool(ToolBase):
    """A function the client runs; the schemas are JSON schemas, `async` ones are answered later.

    https://www.openresponses.org/specification https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
    """

    node_capability: ClassVar[str] = "tools.function"

    type: Literal["function"] = "function"
    name: Annotated[str, cap("tools.function"), FREE]
    description: Annotated[str | None, cap("tools.function"), FREE] = None
    parameters: Annotated[dict[str, Any] | None, cap("tools.function"), FREE] = None
    strict: Annotated[bool | None, cap("tools.strict"), FREE] = None
    output_schema: Annotated[dict[str, Any] | None, cap("tools.function"), FREE] = None
    short_description: Annotated[str | None, cap("tools.deferred"), FREE] = None
    input_examples: Annotated[list[Any] | None, cap("tools.function"), FREE] = None
    async_: Annotated[bool | None, cap("tools.executor"), FREE] = Field(default=None, alias="async")


class CustomFormat(Model):
    """What text a custom tool takes: any (`text`), or bound by a `grammar` in lark or regex syntax.

    https://platform.openai.com/docs/guides/function-calling
    """

    node_name: ClassVar[str] = "custom_format"
    node_capability: ClassVar[str] = "tools.grammar"

    type: Annotated[str | None, cap("tools.grammar")] = None
    syntax: Annotated[str | None, cap("tools.grammar")] = None
    definition: Annotated[str | None, cap("tools.grammar")] = None


class CustomTool(ToolBase):
    """A tool with free-form text as input.

    https://platform.openai.com/docs/guides/function-calling
    """

    node_capability: ClassVar[str] = "tools.custom"

    type: Literal["custom"] = "custom"
    name: Annotated[str, cap("tools.custom"), FREE]
    description: Annotated[str | None, cap("tools.custom"), FREE] = None
    format: Annotated[CustomFormat | None, cap("tools.grammar"), FREE] = None
    async_: Annotated[bool | None, cap("tools.executor"), FREE] = Field(default=None, alias="async")


class NamespaceTool(ToolBase):
    """Tools grouped under one name.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_capability: ClassVar[str] = "tools.namespace"

    type: Literal["namespace"] = "namespace"
    name: Annotated[str | None, cap("tools.namespace"), FREE] = None
    description: Annotated[str | None, cap("tools.namespace"), FREE] = None
    tools: Annotated[list["Tool"] | None, cap("tools.namespace"), FREE] = None


class ToolSearchTool(ToolBase):
    """The model searches the deferred tools; `execution` is server or client, `algorithm` regex, bm25, ...

    https://platform.openai.com/docs/api-reference/responses/create https://docs.claude.com/en/docs/agents-and-tools/tool-use/tool-search-tool
    """

    node_capability: ClassVar[str] = "tools.deferred"

    type: Literal["tool_search"] = "tool_search"
    execution: Annotated[str | None, cap("tools.deferred"), FREE] = None
    algorithm: Annotated[str | None, cap("tools.deferred"), FREE] = None
    name: Annotated[str | None, cap("tools.deferred"), FREE] = None
    description: Annotated[str | None, cap("tools.deferred"), FREE] = None
    parameters: Annotated[Any, cap("tools.deferred"), FREE] = None


class ProgrammaticToolCallingTool(ToolBase):
    """The model may write code that calls the tools.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_capability: ClassVar[str] = "tools.programmatic"

    type: Literal["programmatic_tool_calling"] = "programmatic_tool_calling"


class ComputerTool(ToolBase):
    """Use of a screen; `environment` is browser, mac, windows, ubuntu, mobile, ...

    https://platform.openai.com/docs/guides/tools-computer-use https://ai.google.dev/gemini-api/docs/computer-use
    """

    node_capability: ClassVar[str] = "tools.hosted.computer"

    type: Literal["computer", "computer_use_preview"] = "computer"
    environment: Annotated[str | None, cap("tools.hosted.computer"), FREE] = None
    display_width: Annotated[int | None, cap("tools.hosted.computer"), FREE] = None
    display_height: Annotated[int | None, cap("tools.hosted.computer"), FREE] = None
    display_number: Annotated[int | None, cap("tools.hosted.computer"), FREE] = None
    excluded_functions: Annotated[list[str] | None, cap("tools.hosted.computer"), narrows([])] = None
    disabled_safety_policies: Annotated[list[str] | None, cap("safety.settings"), FREE] = None
    enable_prompt_injection_detection: Annotated[bool | None, cap("safety.settings"), narrows(False)] = None


class ShellTool(ToolBase):
    """Shell commands, in the client's environment or in a container.

    https://platform.openai.com/docs/guides/tools-shell https://docs.claude.com/en/docs/agents-and-tools/tool-use/bash-tool
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["shell"] = "shell"
    environment: Annotated[
        dict[str, Any] | None, cap("state.environment"), narrows("local", at=("type", "network_policy"))
    ] = None


class LocalShellTool(ToolBase):
    """The older shell, run by the client.

    https://platform.openai.com/docs/guides/tools-local-shell
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["local_shell"] = "local_shell"


class ApplyPatchTool(ToolBase):
    """Edits of files by patches.

    https://platform.openai.com/docs/guides/tools-apply-patch
    """

    node_capability: ClassVar[str] = "tools.hosted.apply_patch"

    type: Literal["apply_patch"] = "apply_patch"


class UnknownTool(Unknown):
    """A tool of an unknown type, or an ill-typed one with its `problems`; kept whole."""

    node_kind: ClassVar[str] = "tool"
    node_capability: ClassVar[str] = "native.item"


Tool = Annotated[
    Annotated[
        FunctionTool
        | CustomTool
        | NamespaceTool
        | ToolSearchTool
        | ProgrammaticToolCallingTool
        | WebSearchTool
        | WebFetchTool
        | MapsTool
        | FileSearchTool
        | RetrievalTool
        | CodeInterpreterTool
        | ImageGenerationTool
        | McpTool
        | ComputerTool
        | ShellTool
        | LocalShellTool
        | ApplyPatchTool,
        Field(discriminator="type"),
    ]
    | UnknownTool,
    Field(union_mode="left_to_right"),
    Kind("tool"),
]
"""Any tool."""
