"""Fields of every item, every call and every result.

https://www.openresponses.org/specification
"""

from typing import Annotated, Any, ClassVar

from .base import Cache, Node, Opaque, cap

__all__ = [
    "CallBase",
    "ItemBase",
    "ResultBase",
    "encrypted",
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


def encrypted(pieces: list[Opaque] | None) -> str | None:
    """The encrypted content in the opaque data, if any."""
    for piece in pieces or ():
        if piece.kind == "encrypted_content" and isinstance(piece.data, str):
            return piece.data
    return None
