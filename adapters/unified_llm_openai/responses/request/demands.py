"""The constraints of a dialect's server on a request, applied after writing it.

Beside those of all dialects (`../../demands.py`): the choice of tools, the format of the output, the effort.
Nothing of this is done to a request that was its own.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer

from ...demands import fit_values, lacks_raw_text, leave_out, nearest_choice, nearest_effort, send_nearest, withhold

__all__ = ["fit", "takeable_items", "takeable_tools"]

Node = dict[str, Any]
Keys = tuple[Any, ...]


def takeable_tools(tools: list[Node], w: Writer) -> list[Node]:
    """The tools without those of kinds that the server has not, which are reported."""
    kinds = None if w.same else w.dialect.get("tool_kinds")
    if kinds is None:
        return tools
    if lacks_raw_text(w):
        kinds = [*kinds, "custom"]
    for tool in tools:
        if tool.get("type") not in kinds:
            w.drop(tool, "the server has no such tools")
    return [tool for tool in tools if tool.get("type") in kinds]


def takeable_items(nodes: list[Node], w: Writer) -> list[Node]:
    """The items without those that declare tools of kinds that the server has not, which are reported."""
    kinds = None if w.same else w.dialect.get("tool_kinds")
    if kinds is None or not any(node.get("type") == "additional_tools" for node in nodes):
        return nodes
    for node in nodes:
        if node.get("type") == "additional_tools":
            w.drop(node, "the server has no such items")
    return [node for node in nodes if node.get("type") != "additional_tools"]


def fit(wire: Node, c: Node, w: Writer) -> None:
    """Make the parameters of `wire` fit; `c` is what is left of the canonical request."""
    for key in (*w.dialect.get("refuses", ()), *w.dialect.get("ignores", ())):
        if key in wire:
            value = wire.pop(key)
            if not _was_added(key, wire, w):
                leave_out(key, value, w, _home_of)
    _fit_choice(wire, c, w)
    _fit_format(wire, w)
    reasoning = wire.get("reasoning")
    effort = reasoning.get("effort") if type(reasoning) is dict else None
    if type(effort) is str:
        sent = nearest_effort(effort, w)
        if sent != effort:
            w.report(w.doc, ("reasoning", "effort"), "approximated" if sent else "lost", f"sent as {sent!r}")
            wire["reasoning"] = {**wire["reasoning"], "effort": sent} if sent else _without("effort", wire["reasoning"])
    fit_values(wire, w, _home_of)
    withhold(c, w, ())


def _home_of(key: str, w: Writer) -> Keys:
    return tuple(key.split("."))


def _without(key: str, node: Node) -> Node:
    return {name: value for name, value in node.items() if name != key}


def _was_added(key: str, wire: Node, w: Writer) -> bool:
    """Whether we put a parameter in ourselves; it is not reported then."""
    kept = [entry for entry in w.raw if not (entry[0] is wire and entry[1] == (key,) and entry[2] == "added")]
    added = len(kept) < len(w.raw)
    w.raw[:] = kept
    return added


def _fit_choice(wire: Node, c: Node, w: Writer) -> None:
    choice = wire.get("tool_choice")
    if lacks_raw_text(w) and type(choice) is dict:
        wire["tool_choice"] = _as_functions(choice, w, ("tool_choice",))
    word = nearest_choice(wire.get("tool_choice"), w)
    if word is not None:
        send_nearest(word, wire.pop("tool_choice"), c, wire, w, "tools")


def _as_functions(choice: Node, w: Writer, keys: Keys) -> Node:
    """A choice of tools, in which custom tools are the functions that they were declared as."""
    if choice.get("type") == "custom":
        w.report(w.doc, (*keys, "type"), "emulated", "the tool is a function here")
        return {**choice, "type": "function"}
    if choice.get("type") != "allowed_tools" or type(choice.get("tools")) is not list:
        return choice
    allowed = [
        _as_functions(tool, w, (*keys, "tools", index)) if type(tool) is dict else tool
        for index, tool in enumerate(choice["tools"])
    ]
    return {**choice, "tools": allowed}


def _fit_format(wire: Node, w: Writer) -> None:
    formats, text = w.dialect.get("formats"), wire.get("text")
    format_ = text.get("format") if type(text) is dict else None
    if formats is None or type(format_) is not dict or format_.get("type", "text") in formats:
        return
    rest = [key for key in format_ if key != "type"]
    if "json_object" in formats:
        wire["text"] = {**wire["text"], "format": {"type": "json_object"}}
        w.report(w.doc, ("text", "format", "type"), "approximated", "sent as 'json_object'")
    else:
        wire["text"] = _without("format", wire["text"])
        rest = list(format_)
        if not wire["text"]:
            del wire["text"]
    for key in rest:
        w.report(w.doc, ("text", "format", key), "lost", "the server has no such format")
