"""Fields of every item, every call and every result.

https://www.openresponses.org/specification
"""

from typing import Annotated, Any, ClassVar

from ..foundation.errors import InvalidBody
from ..foundation.json_codec import load_text
from .base import Cache, Node, Opaque, cap

__all__ = [
    "CallBase",
    "ItemBase",
    "ResultBase",
    "encrypted",
    "parsed_arguments",
]


class ItemBase(Node):
    """Fields of every item.

    `status` is in_progress, completed, incomplete, failed, searching, ... (open); `turn` groups the items of one wire
    message; `agent` names the sub-agent that made it.
    """

    node_kind: ClassVar[str] = "item"

    id: Annotated[str | None, cap("item.id")] = None
    status: Annotated[str | None, cap("item.status")] = None
    turn: Annotated[int | None, cap("item.turn")] = None
    opaque: Annotated[list[Opaque] | None, cap("reasoning.signature")] = None
    cache: Annotated[Cache | None, cap("cache.breakpoint")] = None
    created_by: Annotated[str | None, cap("metadata")] = None
    agent: Annotated[dict[str, Any] | None, cap("agent.config")] = None


class CallBase(ItemBase):
    """Fields of every call and result: the id that pairs them, who called, and who executes.

    `caller` is {type: direct} or a program; `executor` is client, provider or agent.
    """

    call_id: Annotated[str | None, cap("tools.call_id")] = None
    caller: Annotated[dict[str, Any] | None, cap("tools.programmatic")] = None
    executor: Annotated[str | None, cap("tools.executor")] = None


class ResultBase(CallBase):
    """Fields of every result: whether the tool failed, and its error."""

    is_error: Annotated[bool | None, cap("tools.result.error")] = None
    error: Annotated[Any, cap("tools.result.error")] = None


def parsed_arguments(name: str | None, arguments: str | None) -> dict[str, Any]:
    """The arguments of a call as JSON values. Raises `InvalidBody` where they are no JSON object."""
    text = arguments or ""
    try:
        found = load_text(text) if text.strip() else {}
    except ValueError as error:
        raise InvalidBody("/arguments", f"the arguments of {name!r} are not JSON: {error}") from error
    if type(found) is not dict:
        raise InvalidBody("/arguments", f"the arguments of {name!r} are not a JSON object: {text[:80]}")
    return found


def encrypted(pieces: list[Opaque] | None) -> str | None:
    """The encrypted content in the opaque data, if any."""
    for piece in pieces or ():
        if piece.kind == "encrypted_content" and isinstance(piece.data, str):
            return piece.data
    return None
