"""A response: what the model returned, how it ended, its token counts, and the settings echoed.

`output` is the first choice, `choices` holds the others. `finish` is absent when the wire has none; `status` and
`incomplete_details` are the Responses wire's words for the same. https://www.openresponses.org/specification
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .base import Model, Node, cap
from .errors import ErrorBody
from .settings import Settings
from .unions import Item, Part
from .usage import Usage

if TYPE_CHECKING:
    from typing import TypeAlias

    from .action_items import ApplyPatchCall, ComputerCall, LocalShellCall, McpApprovalRequest, ShellCall
    from .context_items import ToolSearchCall
    from .items import CustomToolCall, FunctionCall

    PendingCall: TypeAlias = (
        FunctionCall
        | CustomToolCall
        | ComputerCall
        | ShellCall
        | LocalShellCall
        | ApplyPatchCall
        | ToolSearchCall
        | McpApprovalRequest
    )

__all__ = ["Choice", "Finish", "IncompleteDetails", "Response"]


class Finish(Model):
    """Why the output ended.

    `reason` is stop, stop_sequence, length, context_window, tool_calls, refusal, safety, recitation, malformed_call,
    pause, cancelled, error or other; `detail` is a text that is more specific (the stop sequence, the explanation),
    `native` the wire's word.
    https://platform.openai.com/docs/api-reference/chat/object https://docs.claude.com/en/api/handling-stop-reasons
    """

    node_name: ClassVar[str] = "finish"
    node_capability: ClassVar[str] = "finish.reason"

    reason: Annotated[str | None, cap("finish.reason")] = None
    detail: Annotated[str | None, cap("finish.detail")] = None
    native: Annotated[str | None, cap("finish.detail")] = None


class IncompleteDetails(Model):
    """Why a response is incomplete: max_output_tokens, content_filter, ...

    https://www.openresponses.org/specification
    """

    node_name: ClassVar[str] = "incomplete_details"
    node_capability: ClassVar[str] = "finish.reason"

    reason: Annotated[str | None, cap("finish.reason")] = None


class Choice(Node):
    """A further choice of the same request (`index` from 1).

    https://platform.openai.com/docs/api-reference/chat/object
    """

    node_name: ClassVar[str] = "choice"
    node_capability: ClassVar[str] = "output.choices"

    index: Annotated[int | None, cap("output.choices")] = None
    status: Annotated[str | None, cap("finish.reason")] = None
    output: Annotated[list[Item] | None, cap("output.choices")] = None
    finish: Annotated[Finish | None, cap("finish.reason")] = None


class Response(Settings):
    """A response of a model; times are seconds since 1970.

    `status` is queued, in_progress, completed, incomplete, failed, cancelled, requires_action, idle, ... (open).
    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_name: ClassVar[str] = "response"
    node_capability: ClassVar[str] = "native.field"

    id: Annotated[str | None, cap("metadata")] = None
    object: Annotated[str | None, cap("metadata")] = None
    created_at: Annotated[int | float | None, cap("metadata")] = None
    completed_at: Annotated[int | float | None, cap("metadata")] = None
    status: Annotated[str | None, cap("finish.reason")] = None
    incomplete_details: Annotated[IncompleteDetails | None, cap("finish.reason")] = None
    finish: Annotated[Finish | None, cap("finish.reason")] = None
    output: Annotated[list[Item] | None, cap("text.output")] = None
    choices: Annotated[list[Choice] | None, cap("output.choices")] = None
    usage: Annotated[Usage | None, cap("usage.tokens")] = None
    error: Annotated[ErrorBody | None, cap("error.code")] = None
    input: Annotated[str | list[Item] | None, cap("text.input")] = None
    instructions: Annotated[str | list[Item] | list[Part] | None, cap("instructions")] = None
    tool_usage: Annotated[dict[str, Any] | None, cap("usage.detail")] = None
    billing: Annotated[dict[str, Any] | None, cap("usage.detail")] = None
    prompt_cache_diagnostics: Annotated[dict[str, Any] | None, cap("cache.key")] = None
    input_transformations: Annotated[list[Any] | None, cap("reasoning.context")] = None

    @property
    def output_text(self) -> str:
        """All text of the answer, joined; "" when there is none."""
        from .items import Message
        from .parts import OutputText

        out = []
        for item in self.output or ():
            if isinstance(item, Message):
                if isinstance(item.content, str):
                    out.append(item.content)
                else:
                    out.extend(part.text for part in item.content or () if isinstance(part, OutputText))
        return "".join(out)

    @property
    def function_calls(self) -> "list[FunctionCall]":
        """The function calls of the answer, answered or not."""
        from .items import FunctionCall

        return [item for item in self.output or () if isinstance(item, FunctionCall)]

    @property
    def pending_calls(self) -> "list[PendingCall]":
        """The calls that wait for the client: its own to execute, not answered yet; approvals included."""
        from .action_items import ApplyPatchCall, ComputerCall, LocalShellCall, McpApprovalRequest, ShellCall
        from .context_items import ToolSearchCall
        from .itembase import ResultBase
        from .items import CustomToolCall, FunctionCall

        own = (FunctionCall, CustomToolCall, ComputerCall, ShellCall, LocalShellCall, ApplyPatchCall)
        items = self.output or []
        answered = {item.call_id for item in items if isinstance(item, ResultBase) and item.call_id is not None}
        approved = {getattr(item, "approval_request_id", None) for item in items}
        out: list[PendingCall] = []
        for item in items:
            if isinstance(item, McpApprovalRequest):
                if item.id not in approved:
                    out.append(item)
            elif isinstance(item, own):
                if item.executor in (None, "client") and item.call_id not in answered:
                    out.append(item)
            elif isinstance(item, ToolSearchCall) and item.execution == "client" and item.call_id not in answered:
                out.append(item)
        return out
