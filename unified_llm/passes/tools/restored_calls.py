"""Calls of functions as the calls that their client declared tools for: of a custom tool, a shell or a computer."""

from __future__ import annotations

from typing import Any

from ...foundation.json_codec import load_text
from .screen_actions import actions_of

__all__ = ["actions", "commands", "raw_input", "unnamed"]

Node = dict[str, Any]


def raw_input(arguments: Any) -> str:
    """The text of a custom tool call that was sent as the one string argument of a function."""
    try:
        value = load_text(arguments)
    except (ValueError, TypeError):
        return arguments if type(arguments) is str else ""
    if type(value) is dict and type(value.get("input")) is str:
        text: str = value["input"]
        return text
    return str(arguments)


def commands(arguments: Any) -> Node:
    """The action of a shell call that was sent as a call of a tool that takes one command; what else it has stays."""
    try:
        value = load_text(arguments)
    except (ValueError, TypeError):
        value = None
    action: Node = value if type(value) is dict else {}
    command = action.pop("command", None)
    return {**action, "commands": [command] if type(command) is str else []}


def actions(arguments: Any, tool: str) -> Node | None:
    """The fields of a call of actions on a screen that was sent as a call of a tool that takes one action."""
    several = tool != "computer_use_preview"
    found = actions_of(arguments, several)
    if found is None:
        return None
    told: Node = {"actions": found} if several else {"action": found[0]}
    return {"type": "computer_call", **told, "pending_safety_checks": []}


def unnamed(call: Node) -> Node:
    """A call that was one of a function, without what only that has."""
    for key in ("name", "arguments"):
        call.pop(key, None)
    return call
