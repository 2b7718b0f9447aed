"""Items of tools that act on other systems: MCP servers, screens, shells, files.

The provider defines the tool; the client, or the provider's sandbox, executes it (`executor`).
https://platform.openai.com/docs/api-reference/responses/object
"""

from typing import Annotated, Any, ClassVar, Literal

from .base import Model, cap
from .itembase import CallBase, ItemBase, ResultBase, parsed_arguments
from .parts import Part

__all__ = [
    "ApplyPatchCall",
    "ApplyPatchCallOutput",
    "ComputerCall",
    "ComputerCallOutput",
    "LocalShellCall",
    "LocalShellCallOutput",
    "McpApprovalRequest",
    "McpApprovalResponse",
    "McpCall",
    "McpListTools",
    "McpResult",
    "ShellAction",
    "ShellCall",
    "ShellCallOutput",
    "ShellOutput",
]


class McpListTools(ItemBase):
    """The tools an MCP server offers: {name, description, input_schema, annotations} each.

    https://platform.openai.com/docs/guides/tools-connectors-mcp https://docs.claude.com/en/docs/agents-and-tools/mcp-connector
    """

    node_capability: ClassVar[str] = "tools.mcp"

    type: Literal["mcp_list_tools"] = "mcp_list_tools"
    server_label: Annotated[str | None, cap("tools.mcp")] = None
    tools: Annotated[list[Any] | None, cap("tools.mcp")] = None
    error: Annotated[Any, cap("tools.result.error")] = None


class McpCall(CallBase):
    """A call of an MCP tool, with its result inline where the protocol has it there.

    https://platform.openai.com/docs/guides/tools-connectors-mcp https://docs.claude.com/en/docs/agents-and-tools/mcp-connector
    """

    node_capability: ClassVar[str] = "tools.mcp"

    type: Literal["mcp_call"] = "mcp_call"
    name: Annotated[str | None, cap("tools.mcp")] = None
    arguments: Annotated[str | None, cap("tools.mcp")] = None
    server_label: Annotated[str | None, cap("tools.mcp")] = None
    output: Annotated[str | list[Part] | None, cap("tools.mcp")] = None
    error: Annotated[Any, cap("tools.result.error")] = None
    approval_request_id: Annotated[str | None, cap("tools.mcp.approval")] = None


class McpResult(ResultBase):
    """The result of an MCP tool, separate from its call.

    https://docs.claude.com/en/docs/agents-and-tools/mcp-connector https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.mcp"

    type: Literal["mcp_result"] = "mcp_result"
    output: Annotated[str | list[Part] | None, cap("tools.mcp")] = None
    name: Annotated[str | None, cap("tools.mcp")] = None
    server_label: Annotated[str | None, cap("tools.mcp")] = None


class McpApprovalRequest(ItemBase):
    """A request to approve a call of an MCP tool.

    https://platform.openai.com/docs/guides/tools-connectors-mcp
    """

    node_capability: ClassVar[str] = "tools.mcp.approval"

    type: Literal["mcp_approval_request"] = "mcp_approval_request"
    name: Annotated[str | None, cap("tools.mcp.approval")] = None
    arguments: Annotated[str | None, cap("tools.mcp.approval")] = None
    server_label: Annotated[str | None, cap("tools.mcp.approval")] = None

    @property
    def call_id(self) -> str | None:
        """The id that a decision names, as the `call_id` of a call: its own `id`."""
        return self.id

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """The arguments as JSON values; {} for a call without any. Raises `InvalidBody` where they are no object.

        >>> McpApprovalRequest(id="mcpr_1", name="now", arguments='{"zone": "UTC"}').parsed_arguments
        {'zone': 'UTC'}
        """
        return parsed_arguments(self.name, self.arguments)


class McpApprovalResponse(ItemBase):
    """The decision on an approval request.

    https://platform.openai.com/docs/guides/tools-connectors-mcp
    """

    node_capability: ClassVar[str] = "tools.mcp.approval"

    type: Literal["mcp_approval_response"] = "mcp_approval_response"
    approval_request_id: Annotated[str | None, cap("tools.mcp.approval")] = None
    approve: Annotated[bool | None, cap("tools.mcp.approval")] = None
    reason: Annotated[str | None, cap("tools.mcp.approval")] = None


class ComputerCall(CallBase):
    """Actions on a screen: one `action`, or several `actions` at once.

    https://platform.openai.com/docs/guides/tools-computer-use
    """

    node_capability: ClassVar[str] = "tools.hosted.computer"

    type: Literal["computer_call"] = "computer_call"
    action: Annotated[dict[str, Any] | None, cap("tools.hosted.computer")] = None
    actions: Annotated[list[Any] | None, cap("tools.hosted.computer")] = None
    pending_safety_checks: Annotated[list[Any] | None, cap("safety.settings")] = None


class ComputerCallOutput(ResultBase):
    """The screen after the actions: {type: computer_screenshot, image_url or file_id}.

    https://platform.openai.com/docs/guides/tools-computer-use
    """

    node_capability: ClassVar[str] = "tools.hosted.computer"

    type: Literal["computer_call_output"] = "computer_call_output"
    output: Annotated[Part | None, cap("tools.hosted.computer")] = None
    acknowledged_safety_checks: Annotated[list[Any] | None, cap("safety.settings")] = None


class ShellAction(Model):
    """The commands, or the one `command` of the older tool, with environment and limits.

    https://platform.openai.com/docs/guides/tools-shell
    """

    node_name: ClassVar[str] = "shell_action"
    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Annotated[str | None, cap("tools.hosted.shell")] = None
    commands: Annotated[list[str] | None, cap("tools.hosted.shell")] = None
    command: Annotated[list[str] | None, cap("tools.hosted.shell")] = None
    env: Annotated[dict[str, Any] | None, cap("tools.hosted.shell")] = None
    timeout_ms: Annotated[int | None, cap("tools.hosted.shell")] = None
    max_output_length: Annotated[int | None, cap("tools.hosted.shell")] = None
    user: Annotated[str | None, cap("tools.hosted.shell")] = None
    working_directory: Annotated[str | None, cap("tools.hosted.shell")] = None


class ShellCall(CallBase):
    """Shell commands to run.

    https://platform.openai.com/docs/guides/tools-shell
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["shell_call"] = "shell_call"
    action: Annotated[ShellAction | None, cap("tools.hosted.shell")] = None
    environment: Annotated[dict[str, Any] | None, cap("state.environment")] = None


class ShellOutput(Model):
    """Output of one command; `outcome` is {type: exit, exit_code} or {type: timeout}.

    https://platform.openai.com/docs/guides/tools-shell
    """

    node_name: ClassVar[str] = "shell_output"
    node_capability: ClassVar[str] = "tools.hosted.shell"

    stdout: Annotated[str | None, cap("tools.hosted.shell")] = None
    stderr: Annotated[str | None, cap("tools.hosted.shell")] = None
    outcome: Annotated[dict[str, Any] | None, cap("tools.hosted.shell")] = None
    created_by: Annotated[str | None, cap("metadata")] = None
    files: Annotated[list[Any] | None, cap("tools.hosted.shell")] = None


class ShellCallOutput(ResultBase):
    """Output of shell commands.

    https://platform.openai.com/docs/guides/tools-shell https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["shell_call_output"] = "shell_call_output"
    output: Annotated[list[ShellOutput] | None, cap("tools.hosted.shell")] = None
    max_output_length: Annotated[int | None, cap("tools.hosted.shell")] = None


class LocalShellCall(CallBase):
    """A shell command to run, in the older form.

    https://platform.openai.com/docs/guides/tools-local-shell
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["local_shell_call"] = "local_shell_call"
    action: Annotated[ShellAction | None, cap("tools.hosted.shell")] = None


class LocalShellCallOutput(ResultBase):
    """Its result; the wire pairs it by `id`.

    https://platform.openai.com/docs/guides/tools-local-shell
    """

    node_capability: ClassVar[str] = "tools.hosted.shell"

    type: Literal["local_shell_call_output"] = "local_shell_call_output"
    output: Annotated[str | None, cap("tools.hosted.shell")] = None


class ApplyPatchCall(CallBase):
    """An edit of one file: {type: create_file | update_file | delete_file, path, diff}.

    https://platform.openai.com/docs/guides/tools-apply-patch
    """

    node_capability: ClassVar[str] = "tools.hosted.apply_patch"

    type: Literal["apply_patch_call"] = "apply_patch_call"
    operation: Annotated[dict[str, Any] | None, cap("tools.hosted.apply_patch")] = None


class ApplyPatchCallOutput(ResultBase):
    """Result of an edit.

    https://platform.openai.com/docs/guides/tools-apply-patch
    """

    node_capability: ClassVar[str] = "tools.hosted.apply_patch"

    type: Literal["apply_patch_call_output"] = "apply_patch_call_output"
    output: Annotated[str | None, cap("tools.hosted.apply_patch")] = None
