"""The conversation routes of a protocol, declared: what clients keep with a provider and name in requests.

An adapter declares `conversations` beside the routes of these kinds: `conversations` (create), `conversation` (get,
change, delete), `conversation_items` (list, add) and `conversation_item` (get, delete). The gateway keeps the items
itself, as the protocol's clients sent and saw them, and puts them in front of the input of every request that names
the conversation, whatever its upstream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .adapter import Paging

__all__ = ["CONVERSATIONS", "ConversationApi"]

CONVERSATIONS = frozenset("conversations conversation conversation_items conversation_item".split())
"""The kinds of these routes: none of them is a document that is converted."""

Node = dict[str, Any]


class ConversationApi(NamedTuple):
    """How a conversation is spelled: `name` is the form of its id, `field` that of a request which names it.

    `input` and `output` are the fields of a request and of a response with their items; `items` and `metadata` are
    those of a request to create. `most` is how many items one request may add. `write` makes the resource of a
    canonical conversation (`id`, `created_at`, `metadata`), `write_deleted` what is left of it, `write_list` a page of
    items. `paging` and `size`, the default, are those of the list of items, `order` is the parameter of their order:
    the last come first, but for "asc".
    """

    name: str
    field: str
    input: str
    output: str
    items: str
    metadata: str
    most: int
    write: Callable[[Node], Node]
    write_deleted: Callable[[Node], Node]
    write_list: Callable[[list[Node], str | None], Node]
    paging: Paging
    size: int = 20
    order: str = "order"
