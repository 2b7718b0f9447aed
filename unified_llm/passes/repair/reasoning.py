"""Reasoning that stands where the target requires it, and nowhere else; tools that the history uses."""

from __future__ import annotations

from typing import Any

from ...engine.pairs.origins import is_own
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
    """Whether an item is reasoning that goes back to the target as it is."""
    if item.get("type") != "reasoning":
        return False
    pieces = item.get("opaque") or ()
    return any(piece.get("data") for piece in pieces) and all(is_own(piece, m.writer) for piece in pieces)


def mend_reasoning(m: Mending) -> None:
    """Reasoning is switched off where a loop of tools lacks its beginning, and left out where it is switched off.

    What counts is what the writer makes of the settings (`Rules.reasoning_form`): a budget may follow from an effort.
    """
    form, opens = m.rules.reasoning_form(m.request, m.writer), m.rules.reasoning_opens
    asks = form == "enabled" if opens == "budget" else bool(opens) and form not in _OFF
    if asks and _lacks_its_thought(m):
        _switch_off(m)
        form = m.rules.reasoning_form(m.request, m.writer)
    if m.rules.reasoning_off and (form in _OFF if m.rules.reasoning_off == "unsaid" else form == "disabled"):
        _leave_out_last(m)


_OFF = ("", "disabled")
_AMOUNTS = ("budget_tokens", "effort")
_SHOWING = ("display", "include", "summary")
_HIDDEN = (None, False, "none", "omitted")


def _switch_off(m: Mending) -> None:
    """The request without reasoning."""
    asked = m.request.get("reasoning") or {}
    gone = [key for key in _AMOUNTS if asked.get(key) is not None]
    gone += [key for key in _SHOWING if asked.get(key) not in _HIDDEN]
    for key in gone:
        m.writer.report(m.request, ("reasoning", key), "lost", _NOT_THERE)
    if asked.get("control") is not None:
        m.writer.report(m.request, ("reasoning", "control"), "approximated", _NOT_THERE)
    kept = {key: value for key, value in asked.items() if key not in gone}
    m.request = {**m.request, "reasoning": {**kept, "control": "disabled"}}
    m.changed = True


_NOT_THERE = "the thoughts of this tool loop are not there"


def _lacks_its_thought(m: Mending) -> bool:
    """Whether the tool loop that goes on opens with anything but a thought that the target takes.

    A loop goes on where the last turn of the user has a result, whatever the user adds to it. What the user adds
    without a text (a file that a tool returned) does not end a loop, for it may not be sent.
    """
    opening: Node = {}
    ongoing = has_text = False
    for item in reversed(m.items):
        if is_model(item):
            if has_text and not ongoing:
                return False
            if item is m.items[-1] and item.get("type") == "message":
                return False  # the beginning of the answer
            opening = item
        elif item.get("type") != "message":
            ongoing = ongoing or str(item.get("type")).endswith("call_output")
        elif opening and ongoing:
            break
        else:
            has_text = has_text or _has_text(item)
    return ongoing and not _is_own(m, opening)


def _has_text(item: Node) -> bool:
    content = item.get("content")
    texts = [content] if type(content) is str else [part.get("text") for part in content or ()]
    return any(type(text) is str and text.strip() for text in texts)


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
