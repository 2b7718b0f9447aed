"""A conversation under repair: the list of its items, and what was done to them.

The caller's items are never changed: the first change of one makes a copy, and the copy is remembered with the item it
was made of, so that a loss is found where the item came from. Items that repair made up are remembered too: nothing is
lost with them.
"""

from __future__ import annotations

from typing import Any

from ...engine.pairs.writing import Writer
from .rules import Rules

__all__ = ["Mending", "has_asked", "is_model", "is_system", "opens_at", "text_of"]

Node = dict[str, Any]

# Beside the messages of the user: the items of a client, and those that are not part of the model's turn.
_CLIENT = frozenset(
    (
        "function_call_output",
        "custom_tool_call_output",
        "computer_call_output",
        "shell_call_output",
        "local_shell_call_output",
        "apply_patch_call_output",
        "mcp_approval_response",
        "tool_change",
        "configuration_update",
        "additional_tools",
    )
)
_SYSTEM = ("system", "developer")


def is_model(item: Node) -> bool:
    """Whether an item belongs to the model's turn."""
    kind = item.get("type")
    if kind == "message":
        return item.get("role") == "assistant"
    if kind == "shell_call_output" and item.get("executor") == "provider":
        return True
    return kind not in _CLIENT


def is_system(item: Node) -> bool:
    """Whether an item is a message with a system or developer role."""
    return item.get("type") == "message" and item.get("role") in _SYSTEM


def opens_at(items: list[Node]) -> int:
    """Where the conversation begins, behind the system messages that become its instructions."""
    return next((index for index, item in enumerate(items) if not is_system(item)), len(items))


def text_of(content: Any) -> str | None:
    """A message's content as text, None where it holds anything else."""
    if type(content) is str or content is None:
        return content or ""
    if type(content) is not list or not all(type(part.get("text")) is str for part in content):
        return None
    return "".join(part["text"] for part in content)


def has_asked(items: list[Node]) -> bool:
    """Whether there is a message of the user."""
    return any(item.get("type") == "message" and not is_model(item) and not is_system(item) for item in items)


class Mending:
    """The items of one request while they are repaired."""

    __slots__ = (
        "_asked",
        "_copies",
        "_made",
        "_made_ids",
        "_places",
        "changed",
        "items",
        "pairs",
        "request",
        "rules",
        "writer",
    )

    def __init__(self, request: Node, rules: Rules, writer: Writer) -> None:
        self.request: Node = request
        self.rules: Rules = rules
        self.writer: Writer = writer
        self.items: list[Node] = request["input"]
        self.changed: bool = False
        # What was found out of calls and results (`tool_calls.py`), until an item changes.
        self.pairs: Any = None
        self._asked: bool | None = None
        # The copy of each item that was changed, by the identity of the item and by its own.
        self._copies: dict[int, Node] = {}
        # Where each item is in `items`, which is then a list of our own; None until an item is replaced.
        self._places: dict[int, int] | None = None
        self._made: list[Node] = writer.context.setdefault("made up", [])
        self._made_ids = {id(item) for item in self._made}

    @property
    def asked(self) -> bool:
        """Whether the user said anything at all, before any repair."""
        if self._asked is None:
            items = self.request["input"]
            # Later system messages are the user's where they have no role of their own.
            later = self.rules.system == "user" and any(map(is_system, items[opens_at(items) :]))
            self._asked = later or has_asked(items)
        return self._asked

    def put(self, items: list[Node]) -> None:
        """Other items from here on."""
        self.items = items
        self.pairs = self._places = None
        self.changed = True

    def own(self, item: Node, keys: Any = (), **changes: Any) -> Node:
        """The item with `changes` and without `keys`: a copy of the caller's, put in its place."""
        self.pairs = None
        copy = self._copies.get(id(item))
        if copy is None:
            copy = self._copies[id(item)] = item.copy()
            self._copies[id(copy)] = copy
            self.writer.context.setdefault("replaced", []).append((copy, item))
            self._replace(item, copy)
        copy.update(changes)
        for key in keys:
            del copy[key]
        return copy

    def _replace(self, item: Node, copy: Node) -> None:
        if self._places is None:
            self.put([*self.items])
            self._places = {id(each): place for place, each in enumerate(self.items)}
        place = self._places.get(id(item))
        if place is not None:
            self.items[place] = copy
            self._places[id(copy)] = place

    def copy(self, node: Node, **changes: Any) -> Node:
        """A node below an item, with `changes`."""
        copy = {**node, **changes}
        self.writer.context.setdefault("replaced", []).append((copy, node))
        return copy

    def make(self, item: Node) -> Node:
        """An item that the caller did not say."""
        self._copies[id(item)] = item
        self._made.append(item)
        self._made_ids.add(id(item))
        return item

    def add(self, item: Node, detail: str, capability: str) -> Node:
        """The same of one that is reported as added, where it is in the result."""
        self.writer.raw.append((item, (), "added", detail, capability))
        return self.make(item)

    def leave_out(self, gone: set[int]) -> None:
        """The items without those of these identities."""
        if gone:
            self.put([item for item in self.items if id(item) not in gone])

    def is_made(self, item: Node) -> bool:
        """Whether repair made an item up."""
        return id(item) in self._made_ids

    def report(self, item: Node, keys: tuple[Any, ...], fate: str, detail: str, capability: str | None = None) -> None:
        """Record what becomes of the leaf `keys` of an item, or of all of it."""
        if not self.is_made(item):
            self.writer.report(item, keys, fate, detail, capability)
