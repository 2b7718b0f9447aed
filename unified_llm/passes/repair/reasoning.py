"""Reasoning that stands where the target requires it, and nowhere else; tools that the history uses."""

from __future__ import annotations

from typing import Any

from .editor import Mending, is_model

__all__ = ["declare_tools", "leave_out_dangling", "leave_out_unproved", "mend_reasoning", "part_from_withheld"]

Node = dict[str, Any]


def leave_out_dangling(m: Mending) -> None:
    """A reasoning item whose follower is gone is refused whole, so it is left out whole."""
    gone: set[int] = set()
    follower: Node | None = None
    for item in reversed(m.items):
        if item.get("type") != "reasoning":
            follower = item
        elif follower is None or not is_model(follower):
            gone.add(id(item))
            m.report(item, (), "lost", "the item it led to is not there")
    m.leave_out(gone)


def leave_out_unproved(m: Mending) -> None:
    """Thoughts of this protocol that were cut off before their proof came, or lost it: refused, so left out whole.

    (Those of other protocols its writer withholds.)
    """
    gone: set[int] = set()
    for item in m.items:
        if item.get("type") == "reasoning" and m.writer.protocol in (item.get("extra") or ()):
            if not any(piece.get("data") for piece in item.get("opaque") or ()):
                m.report(item, (), "lost", "a thought without its proof is refused")
                gone.add(id(item))
    m.leave_out(gone)


def part_from_withheld(m: Mending) -> None:
    """An item goes without its id where the reasoning that led to it stays behind: the two are kept as one."""
    withheld = False
    for item in m.items:
        if item.get("type") == "reasoning":
            withheld = withheld or (bool(item.get("opaque")) and not _is_own(m, item))
            continue
        if withheld and is_model(item) and item.get("id") is not None:
            m.report(item, ("id",), "lost", "the reasoning that led to it stays behind")
            m.own(item, ("id",))
        withheld = False


def _is_own(m: Mending, item: Node) -> bool:
    """Whether an item has opaque data that the target created."""
    if item.get("type") != "reasoning":
        return False
    origins = [piece.get("origin") or {} for piece in item.get("opaque") or () if piece.get("data")]
    return any(origin.get("protocol") == m.writer.protocol for origin in origins)


def mend_reasoning(m: Mending) -> None:
    """Reasoning is switched off where a loop of tools lacks its beginning, and left out where it is switched off."""
    asked = m.request.get("reasoning")
    asked = asked if type(asked) is dict else {}
    budget, effort, control = asked.get("budget_tokens"), asked.get("effort"), asked.get("control")
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    on = not off and (control is not None or type(effort) is str or type(budget) is int)
    wants = m.rules.reasoning_opens
    if on and wants and (wants == "any" or (type(budget) is int and budget > 0)) and _lacks_its_thought(m):
        for key in ("budget_tokens", "control", "effort"):
            if asked.get(key) is not None:
                fate = "lost" if key == "budget_tokens" else "approximated"
                m.writer.report(m.request, ("reasoning", key), fate, "the thoughts of this tool loop are not there")
        kept = {key: value for key, value in asked.items() if key not in ("budget_tokens", "effort")}
        m.request = {**m.request, "reasoning": {**kept, "control": "disabled"}}
        m.changed = off = True
        on = False
    if m.rules.reasoning_off and (off or (m.rules.reasoning_off == "unsaid" and not on)):
        _leave_out_last(m)


def _lacks_its_thought(m: Mending) -> bool:
    """Whether the tool loop that goes on opens with anything but a thought of this provider's."""
    if not m.items or is_model(m.items[-1]) or m.items[-1].get("type") == "message":
        return False
    loop: list[Node] = []
    for item in reversed(m.items):
        if item.get("type") == "message" and not is_model(item):
            break
        loop.append(item)
    return not _is_own(m, loop[-1])


def _leave_out_last(m: Mending) -> None:
    """The last turn of the model without its thoughts."""
    last = max((i for i, item in enumerate(m.items) if is_model(item)), default=-1)
    gone = set()
    for item in reversed(m.items[: last + 1]):
        if not is_model(item):
            break
        if _is_own(m, item):
            m.report(item, (), "lost", "reasoning is switched off")
            gone.add(id(item))
    m.leave_out(gone)


def declare_tools(m: Mending) -> None:
    """Tools that were called and are declared no more are declared again, and not to be called."""
    if not m.rules.declared or m.request.get("tools"):
        return
    found: dict[str, Node] = {}
    for item in m.items:
        name = item.get("name")
        if item.get("type") not in ("function_call", "custom_tool_call") or type(name) is not str or name in found:
            continue
        m.report(item, ("name",), "approximated", "declared, since the history calls it", "tools.function")
        custom = item["type"] == "custom_tool_call"
        found[name] = {"type": "custom" if custom else "function", "name": name}
        if not custom:
            found[name]["parameters"] = {"type": "object", "properties": {}}
    if found:
        m.request = {**m.request, "tools": list(found.values()), "tool_choice": "none"}
        m.changed = True
