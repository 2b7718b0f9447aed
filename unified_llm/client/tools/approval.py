"""Which calls may run: what a function decides while the run goes on, and what a person decides while it is paused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ...foundation.errors import InvalidBody
from ...foundation.usage_errors import InvalidArgument
from ...types._tables import ITEM_TYPES
from ...types.validation import validate
from ..history import ASKS, answered_by, id_of
from ..sending.deadline import Deadline
from ..sending.flows import Hook, Steps
from .function_tools import Tool, ToolContext

if TYPE_CHECKING:
    from ...types.items import CustomToolCall, FunctionCall

__all__ = ["Approve", "Decisions", "decided", "decision", "output_for"]

Node = dict[str, Any]
Approve: TypeAlias = "Callable[[FunctionCall | CustomToolCall, ToolContext[Any]], Any]"
# (No set: the type in a value may be anything.)
_OUTPUTS = tuple(each for each in ITEM_TYPES if each.endswith("_output"))
_OF_TOOLS = ("function_call_output", "custom_tool_call_output")
REJECTED = "The call was not approved."


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was decided about calls, by their ids: may run, may not (and the text for the model), has this output."""

    approved: frozenset[str] = frozenset()
    rejected: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, Node] = field(default_factory=dict)


def decided(pending: Iterable[Any], approved: Any = (), rejected: Any = (), outputs: Any = ()) -> Decisions:
    """What a caller decided about pending calls.

    `approved` and `rejected` are True for all of them, or calls or their ids; `rejected` may map ids to a text
    for the model. `outputs` maps ids to what the calls of the caller's own tools gave, or is a list of output items.
    Raises `InvalidBody` for a call that is not pending, or decided twice.

    >>> from unified_llm import FunctionCall
    >>> call = FunctionCall(call_id="call_1", name="delete", arguments="{}")
    >>> decided([call], rejected={"call_1": "not allowed"}).rejected
    {'call_1': 'not allowed'}
    """
    pending = [call.dump() for call in pending]
    known = [id_ for call in pending if (id_ := id_of(call))]
    yes = _ids("approved", approved, known)
    told = (
        _rejection_texts(rejected)
        if _is_table(rejected)
        else dict.fromkeys(_ids("rejected", rejected, known), REJECTED)
    )
    if not _is_table(outputs):
        if isinstance(outputs, (str, bytes)) or not isinstance(outputs, Iterable):
            if outputs is not None:
                reason = f"should map ids of calls to outputs, or be a list of output items, not {_named(outputs)}"
                raise InvalidBody("/outputs", reason)
            outputs = ()
        outputs = {_id(each): each for each in ([outputs] if isinstance(outputs, Mapping) else outputs)}
    given = {id_: _output(id_, value, pending) for id_, value in outputs.items()}
    for name, ids in (("approved", yes), ("rejected", told), ("outputs", given)):
        for id_ in ids:
            if id_ not in known:
                pending_ids = ", ".join(known) or "none"
                raise InvalidBody(f"/{name}", f"call {id_!r} is not pending; pending calls: {pending_ids}")
    twice = [id_ for id_ in known if (id_ in yes) + (id_ in told) + (id_ in given) > 1]
    if twice:
        raise InvalidBody("/approved", f"call {twice[0]!r} is decided twice")
    return Decisions(frozenset(yes), dict(told), given)


def _ids(name: str, given: Any, known: list[str]) -> list[str]:
    if given is True:
        return known
    if given is None or given is False:
        return []
    from ...types.action_items import McpApprovalRequest
    from ...types.items import CustomToolCall, FunctionCall

    if isinstance(given, (str, FunctionCall, CustomToolCall, McpApprovalRequest)) or _is_node(given):
        given = [given]
    # The ids of a mapping alone would approve what stands there as `{id: False}`.
    if _is_table(given) or not isinstance(given, Iterable):
        raise InvalidBody(f"/{name}", f"should be True, or calls or their ids, not {_named(given)}")
    return [_id(each) for each in given]


def _is_table(given: Any) -> bool:
    """Whether this maps ids to what was decided of each; a call or an output as JSON is none."""
    return isinstance(given, Mapping) and not _is_node(given)


def _is_node(given: Any) -> bool:
    return isinstance(given, Mapping) and ("call_id" in given or given.get("type") == ASKS)


def _named(given: Any) -> str:
    return type(given).__name__


def _rejection_texts(rejected: Mapping[Any, Any]) -> dict[str, str]:
    """The texts for the model, by ids."""
    for id_, text in rejected.items():
        if text is not None and not isinstance(text, str):
            reason = f"the reason for {id_!r} should be a text, not {_named(text)}; leave out a call that may run"
            raise InvalidBody("/rejected", reason)
    return {id_: text or REJECTED for id_, text in rejected.items()}


def _id(call: Any) -> str:
    if isinstance(call, str):
        return call
    node = call if isinstance(call, Mapping) else call.dump() if hasattr(call, "dump") else {}
    return str(id_of(node) or answered_by(node))


def _output(id_: str, value: Any, pending: Iterable[Node]) -> Node:
    from .tool_outputs import output_of

    node = value.dump() if hasattr(value, "dump") else value
    if type(node) is dict and node.get("type") in _OUTPUTS:
        if node.get("call_id", id_) != id_:
            raise InvalidBody("/outputs", f"the output for {id_!r} has the call_id {node['call_id']!r}")
        if node["type"] in _OF_TOOLS and "output" not in node:
            raise InvalidBody("/outputs", f"the output for {id_!r} has no field 'output'")
        return {**node, "call_id": id_}
    call = next((each for each in pending if id_of(each) == id_), {"call_id": id_})
    if call.get("type") == ASKS:
        raise InvalidBody("/outputs", f"{id_!r} is a request for approval; decide it with approved= or rejected=")
    return output_for(call, output_of(value))


def decision(
    node: Node,
    context: ToolContext[Any],
    found: Tool | None,
    decisions: Decisions,
    approve: Approve | None,
    deadline: Deadline | None = None,
) -> Steps[Any]:
    """Whether a call may run: True, an output item that stands for its result, or None where it has to wait."""
    id_ = context.call_id
    if id_ in decisions.outputs:
        return decisions.outputs[id_]
    if id_ in decisions.rejected:
        if node.get("type") == ASKS:
            return {**_response(id_, False), "reason": decisions.rejected[id_]}
        return output_for(node, decisions.rejected[id_], failed=True)
    if id_ in decisions.approved:
        return _response(id_, True) if node.get("type") == ASKS else True
    if approve is not None and found is not None:
        said = yield Hook(approve, (validate("item", node), context), deadline=deadline)
        if said is None or said is True:
            return said
        if said is False or isinstance(said, str):
            return output_for(node, said or REJECTED, failed=True)
        raise InvalidArgument(f"approve= returns True, False, a text or None, not {said!r}")
    return None if found is not None and found.needs_approval else True


def _response(id_: str, approve: bool) -> Node:
    return {"type": "mcp_approval_response", "approval_request_id": id_, "approve": approve}


def output_for(node: Node, output: Any, *, failed: bool = False) -> Node:
    """The output item of a call."""
    kind = "custom_tool_call_output" if node.get("type") == "custom_tool_call" else "function_call_output"
    item: Node = {"type": kind, "call_id": node.get("call_id")}
    if node.get("namespace"):
        item["namespace"] = node["namespace"]
    return {**item, "output": output, **({"is_error": True} if failed else {})}
