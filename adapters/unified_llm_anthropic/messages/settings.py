"""The settings of a request that are more than a rename: each `_read_x` beside its `_write_x`.

Thinking is in a file of its own (thinking.py). Nothing of what is changed here touches a request that was read from
this protocol.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, lookup, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.passes.tools.tool_choice import ChoiceIndex, entry_keys, tool_keys

from .content import own_born
from .tables import HOSTED_NAMES, REQUEST_TIER, read_request_tier
from .thinking import read_thinking, write_thinking

__all__ = ["edits", "only_allowed", "read_settings", "write_settings"]

Node = dict[str, Any]

edits = Mapping("anthropic-messages context edits")


def read_settings(w: Node, c: Node, r: Reader) -> None:
    """Read the settings of a request into `c`: tool choice, thinking, output format and the plain ones."""
    if "tool_choice" in w:
        _read_tool_choice(w, c, r)
    if type(w.get("thinking")) is dict:
        read_thinking(w, c, r)
    if type(w.get("output_config")) is dict:
        _read_output(w, c)
    if type(w.get("metadata")) is dict and "user_id" in w["metadata"]:
        _read_user(w, c, r)
    if "service_tier" in w:
        _read_tier(w, c)
    if type(w.get("context_management")) is dict and type(w["context_management"].get("edits")) is list:
        c["context_management"] = r.nodes(edits, take(w, "context_management").pop("edits"))


def write_settings(c: Node, wire: Node, w: Writer) -> None:
    """Write the settings of a request into `wire`, and report those that the protocol lacks."""
    if "tool_choice" in c or "parallel_tool_calls" in c:
        _write_tool_choice(c, wire, w)
    if type(c.get("reasoning")) is dict:
        write_thinking(c, wire, w)
    if type(c.get("text")) is dict and "format" in c["text"]:
        _write_format(c, wire, w)
    if "safety_identifier" in c or "user" in c:
        _write_user(c, wire, w)
    if "service_tier" in c:
        _write_tier(c, wire)
    listed = c.get("context_management")
    if type(listed) is list and all(type(edit) is dict for edit in listed):
        wire["context_management"] = {"edits": w.nodes(edits, c.pop("context_management"))}
        if not wire["context_management"]["edits"] and not own_born(w):
            del wire["context_management"]


# ---- which tool is called -------------------------------------------------------------------------------------------

_MODES = {"auto": "auto", "any": "required", "none": "none"}
_WORDS = {hub: wire for wire, hub in _MODES.items()}


def _read_tool_choice(w: Node, c: Node, r: Reader) -> None:
    choice = w["tool_choice"]
    if choice is None:
        c["tool_choice"] = w.pop("tool_choice")
        return
    if type(choice) is not dict:
        return
    kind, name = choice.get("type"), choice.get("name")
    if kind in _MODES:
        own = take(w, "tool_choice")
        del own["type"]
        c["tool_choice"] = _MODES[kind]
        r.place(c, ("tool_choice",), ("tool_choice", "type"))
    elif kind == "tool" and type(name) is str:
        own = take(w, "tool_choice")
        del own["type"], own["name"]
        c["tool_choice"] = _chosen(name, c.get("tools"))
        r.place(c, ("tool_choice", "name"), ("tool_choice", "name"))
    else:
        return
    if kind != "none" and type(own.get("disable_parallel_tool_use")) is bool:
        c["parallel_tool_calls"] = not own.pop("disable_parallel_tool_use")
        r.place(c, ("parallel_tool_calls",), ("tool_choice", "disable_parallel_tool_use"))


def _chosen(name: str, tools: Any) -> Node:
    """A choice by name: of a hosted tool where one goes by that name, else of a function."""
    listed = tools if type(tools) is list else []
    if not any(tool.get("type") == "function" and tool.get("name") == name for tool in listed):
        for tool in listed:
            if HOSTED_NAMES.get(tool["type"]) == name:
                return {"type": tool["type"]}
    return {"type": "function", "name": name}


def _write_tool_choice(c: Node, wire: Node, w: Writer) -> None:
    choice = c.get("tool_choice")
    out: Node | None = None
    if not wire.get("tools") and not own_born(w):
        _withhold_choice(c)
        return
    if type(choice) is str:
        if choice == "validated":
            out = {"type": "auto"}
            c["tool_choice"] = Fated("approximated", "sent as 'auto'")
        elif choice in _WORDS:
            out = {"type": _WORDS[c.pop("tool_choice")]}
    elif type(choice) is dict:
        out = _write_choice(c, choice, wire, w)
    elif "tool_choice" in c and own_born(w):
        wire["tool_choice"] = c.pop("tool_choice")
        return
    parallel = c.get("parallel_tool_calls")
    if type(parallel) is bool:
        if out is None and choice is None:
            out = {"type": "auto"}
            w.added(out, "type", "required beside the setting of parallel calls")
        if out is not None and out["type"] != "none":
            out["disable_parallel_tool_use"] = not c.pop("parallel_tool_calls")
    if out is not None:
        wire["tool_choice"] = out


def _withhold_choice(c: Node) -> None:
    """Settings of tools are refused without tools, or where none could be sent."""
    for key in ("tool_choice", "parallel_tool_calls"):
        if c.get(key) == "none":
            c[key] = Fated("approximated", "where no tools are declared none is called")
        elif c.get(key) is not None:
            c[key] = Fated("lost", "refused where no tools are declared")


def _write_choice(c: Node, choice: Node, wire: Node, w: Writer) -> Node | None:
    kind = choice.get("type")
    if kind in ("function", "custom") and type(choice.get("name")) is str:
        own = take(c, "tool_choice")
        del own["type"]
        return {"type": "tool", "name": own.pop("name")}
    if kind in HOSTED_NAMES and len(choice) == 1:
        del c["tool_choice"]
        return {"type": "tool", "name": HOSTED_NAMES[kind]}
    if kind == "allowed_tools" and type(choice.get("tools")) is list and not own_born(w):
        return _write_allowed(c, choice, wire, w)
    return None


def _write_allowed(c: Node, choice: Node, wire: Node, w: Writer) -> Node | None:
    word = _word(choice)
    if word is None or any(type(entry) is not dict for entry in choice["tools"]):
        return None
    own = take(c, "tool_choice")
    del own["type"]
    if own.pop("mode", None) == "validated":
        own["mode"] = Fated("approximated", "sent as 'auto'")
    w.report(w.doc, ("tool_choice", "tools"), "approximated", "the other tools are not sent")
    dropped = {id(node) for node, keys, fate, *_ in w.raw if not keys and fate == "lost"}
    sent = ChoiceIndex(tool_keys(tool) for tool in w.context.get("allowed", ()) if id(tool) not in dropped)
    for entry in take_all(own, "tools"):
        if sent.first(entry_keys(entry)) is not None:
            for key in ("type", _NAMING.get(entry["type"], "type")):
                entry.pop(key, None)
    out: Node = {"type": word}
    if choice.get("mode") is None:
        w.added(out, "type", "required; the target's default was written")
    return out


def _word(choice: Node) -> str | None:
    mode = choice.get("mode") or "auto"
    return "auto" if mode == "validated" else lookup(_WORDS, mode)


# What of an entry is in the tool that it names.
_NAMING = {"function": "name", "custom": "name", "mcp": "server_label"}


def only_allowed(c: Node, w: Writer) -> None:
    """Where some tools alone may be called, the others are not declared: then no other can be called."""
    choice, tools = c.get("tool_choice"), c.get("tools")
    if type(choice) is not dict or choice.get("type") != "allowed_tools" or type(tools) is not list or own_born(w):
        return
    listed = choice.get("tools")
    if _word(choice) is None or type(listed) is not list or any(type(entry) is not dict for entry in listed):
        return
    named = ChoiceIndex(map(entry_keys, listed))
    kept = w.context["allowed"] = list[Node]()
    for tool in tools:
        if named.first(tool_keys(tool)) is not None:
            kept.append(tool)
        else:
            w.drop(tool, "not among the tools that may be called")
    c["tools"] = kept


# ---- output ---------------------------------------------------------------------------------------------------------


def _read_output(w: Node, c: Node) -> None:
    config = w["output_config"]
    effort, format_ = config.get("effort"), config.get("format")
    named = type(effort) is str or ("effort" in config and effort is None)
    shaped = type(format_) is dict and format_.get("type") == "json_schema" and type(format_.get("schema")) is dict
    if not named and not shaped:
        return
    own = take(w, "output_config")
    if named:
        c.setdefault("reasoning", {})["effort"] = own.pop("effort")
    if shaped:
        inner = take(own, "format")
        c.setdefault("text", {})["format"] = {key: inner.pop(key) for key in ("type", "schema")}


def _write_format(c: Node, wire: Node, w: Writer) -> None:
    format_ = c["text"]["format"]
    if type(format_) is not dict:
        return
    if format_.get("type") == "text" and not own_born(w):
        take(take(c, "text"), "format")["type"] = Fated("approximated", "text is the default")
        return
    if format_.get("type") != "json_schema" or type(format_.get("schema")) is not dict:
        return
    own = take(take(c, "text"), "format")
    shape = {key: own.pop(key) for key in ("type", "schema")}
    wire.setdefault("output_config", {})["format"] = shape


# ---- the end user, the tier -----------------------------------------------------------------------------------------


def _read_user(w: Node, c: Node, r: Reader) -> None:
    if type(w["metadata"]["user_id"]) in (str, type(None)):
        c["safety_identifier"] = take(w, "metadata").pop("user_id")
        r.place(c, ("safety_identifier",), ("metadata", "user_id"))


def _write_user(c: Node, wire: Node, w: Writer) -> None:
    if "safety_identifier" in c and (c["safety_identifier"] is not None or own_born(w)):
        wire["metadata"] = {"user_id": c.pop("safety_identifier")}
    elif type(c.get("user")) is str:
        wire["metadata"] = {"user_id": c["user"]}
        c["user"] = Fated("approximated", "sent as the id of the end user")


def _read_tier(w: Node, c: Node) -> None:
    try:
        c["service_tier"] = read_request_tier(w["service_tier"])
    except (IllTyped, TypeError):
        return
    del w["service_tier"]


def _write_tier(c: Node, wire: Node) -> None:
    tier = c.get("service_tier")
    if type(tier) is str and tier in REQUEST_TIER.writes:
        wire["service_tier"] = REQUEST_TIER.write(tier)
        if REQUEST_TIER.exact(tier):
            del c["service_tier"]
        else:
            c["service_tier"] = Fated("approximated", f"sent as {wire['service_tier']!r}")


# ---- context management ---------------------------------------------------------------------------------------------


@edits.read("compact_20260112")
def read_compact(w: Node, r: Reader) -> Node:
    edit: Node = {"type": "compaction"}
    trigger = w.get("trigger")
    if type(trigger) is dict and trigger.get("type") == "input_tokens" and type(trigger.get("value")) is int:
        own = take(w, "trigger")
        del own["type"]
        edit["compact_threshold"] = own.pop("value")
    for key, hub in (("instructions", "instructions"), ("pause_after_compaction", "pause_after")):
        if key in w:
            edit[hub] = w.pop(key)
    return edit


@edits.write("compaction")
def write_compact(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "compact_20260112"}
    if c.get("compact_threshold") is not None:
        wire["trigger"] = {"type": "input_tokens", "value": c.pop("compact_threshold")}
    for key, hub in (("instructions", "instructions"), ("pause_after_compaction", "pause_after")):
        if hub in c:
            wire[key] = c.pop(hub)
    return wire
