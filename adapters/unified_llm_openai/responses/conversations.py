"""Conversations: items that a client keeps with the API and names in its requests.

https://platform.openai.com/docs/api-reference/conversations
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Paging, Route
from unified_llm.engine.conversation_api import ConversationApi

__all__ = ["CONVERSATIONS", "CONVERSATION_ROUTES"]

Node = dict[str, Any]

_NAME = "conv_{}"

CONVERSATION_ROUTES = (
    Route("POST", "conversations", "conversations"),
    Route("GET", "conversations/{conversation}", "conversation"),
    Route("POST", "conversations/{conversation}", "conversation"),
    Route("DELETE", "conversations/{conversation}", "conversation"),
    Route("GET", "conversations/{conversation}/items", "conversation_items"),
    Route("POST", "conversations/{conversation}/items", "conversation_items"),
    Route("GET", "conversations/{conversation}/items/{item}", "conversation_item"),
    Route("DELETE", "conversations/{conversation}/items/{item}", "conversation_item"),
)


def write_conversation(node: Node) -> Node:
    """A conversation object."""
    return {
        "id": _NAME.format(node["id"]),
        "object": "conversation",
        "created_at": node["created_at"],
        "metadata": node["metadata"],
    }


def write_deleted(node: Node) -> Node:
    """What is left of a conversation."""
    return {"id": _NAME.format(node["id"]), "object": "conversation.deleted", "deleted": True}


def write_list(items: list[Node], following: str | None) -> Node:
    """A page of items."""
    ends = {"first_id": items[0]["id"] if items else None, "last_id": items[-1]["id"] if items else None}
    return {"object": "list", "data": items, **ends, "has_more": following is not None}


CONVERSATIONS = ConversationApi(
    name=_NAME,
    field="conversation",
    input="input",
    output="output",
    items="items",
    metadata="metadata",
    most=20,
    write=write_conversation,
    write_deleted=write_deleted,
    write_list=write_list,
    paging=Paging("limit", "after", "last_id", 100, "has_more"),
)
