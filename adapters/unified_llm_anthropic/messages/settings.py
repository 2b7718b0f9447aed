"""The settings of a request that are more than a rename: each `_read_x` beside its `_write_x`.

Two demands of the API exclude each other, and the order in which they win is fixed: a forced tool wins over thinking
(the program depends on it), thinking wins over sampling. What lost is reported. Nothing of this touches a request that
was read from this protocol.

https://docs.claude.com/en/docs/build-with-claude/extended-thinking#feature-compatibility
"""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Fated, IllTyped, Mapping, take
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .content import own_born
from .tables import BUDGETS, DEFAULT_MAX_TOKENS, HOSTED_NAMES, LEAST_BUDGET, REQUEST_TIER, read_request_tier

__all__ = ["edits", "read_settings", "write_settings"]

Node = dict[str, Any]

edits = Mapping("anthropic-messages context edits")


def read_settings(w: Node, c: Node, r: Reader) -> None:
    if "tool_choice" in w:
        _read_tool_choice(w, c, r)
    if type(w.get("thinking")) is dict:
        _read_thinking(w, c)
    if type(w.get("output_config")) is dict:
        _read_output(w, c)
    if type(w.get("metadata")) is dict and "user_id" in w["metadata"]:
        _read_user(w, c)
    if "service_tier" in w:
        _read_tier(w, c)
    if type(w.get("context_management")) is dict and type(w["context_management"].get("edits")) is list:
        c["context_management"] = r.nodes(edits, take(w, "context_management").pop("edits"))


def write_settings(c: Node, wire: Node, w: Writer) -> None:
    _write_tool_choice(c, wire, w)
    if type(c.get("reasoning")) is dict:
        _write_thinking(c, wire, w)
    if type(c.get("text")) is dict and "format" in c["text"]:
        _write_format(c, wire, w)
    _write_user(c, wire, w)
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
        if out is None and choice is None and (wire.get("tools") or own_born(w)):
            out = {"type": "auto"}
            w.added(out, "type", "needed to say whether calls may be parallel")
        if out is not None and out["type"] != "none":
            out["disable_parallel_tool_use"] = not c.pop("parallel_tool_calls")
    if out is not None:
        wire["tool_choice"] = out


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
    """Only the allowed tools are declared: then no other can be called."""
    listed = [tool for tool in choice["tools"] if type(tool) is dict]
    names = [tool.get("name") or HOSTED_NAMES.get(str(tool.get("type"))) for tool in listed]
    mode = choice.get("mode") or "auto"
    if type(mode) is not str or mode not in _WORDS:
        return None
    if type(wire.get("tools")) is list:
        wire["tools"] = [tool for tool in wire["tools"] if tool.get("name") in names]
    c["tool_choice"] = Fated("approximated", "the other tools are not sent")
    return {"type": _WORDS[mode]}


# ---- thinking and effort --------------------------------------------------------------------------------------------


def _read_thinking(w: Node, c: Node) -> None:
    thinking = w["thinking"]
    if type(thinking.get("type")) is not str:
        return
    own = take(w, "thinking")
    reasoning = c.setdefault("reasoning", {})
    reasoning["control"] = own.pop("type")
    for key, kinds in (("budget_tokens", (int, type(None))), ("display", (str, type(None)))):
        if key in own and type(own[key]) in kinds:
            reasoning[key] = own.pop(key)


_EFFORT = {"low", "medium", "high", "xhigh", "max"}
_CONTROLS = {"enabled", "adaptive", "disabled", "between_tools"}


def _write_thinking(c: Node, wire: Node, w: Writer) -> None:
    if own_born(w):
        _write_own_thinking(c, wire)
        return
    own = take(c, "reasoning")
    forced = (wire.get("tool_choice") or {}).get("type") in ("any", "tool")
    budget = own.get("budget_tokens")
    effort, control = (own.get(key) if type(own.get(key)) is str else None for key in ("effort", "control"))
    style = w.dialect.get("thinking", "adaptive")
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    wants = not off and (control in _CONTROLS or type(effort) is str or type(budget) is int or bool(own.get("summary")))
    if effort == "none":
        own["effort"] = Fated("approximated", "thinking is switched off")
    elif effort == "minimal":
        own["effort"] = Fated("approximated", "sent as 'low'")
        effort = "low"
    elif effort in _EFFORT and style == "adaptive":
        del own["effort"]
    if effort in _EFFORT and style == "adaptive":
        wire["output_config"] = {"effort": effort}
    if off:
        wire["thinking"] = {"type": "disabled"}
        _consume_off(own, wire, control, budget, w)
        return
    if not wants:
        return
    if forced:
        # Refused together. What is left of the wish is the effort.
        for key in ("control", "budget_tokens", "summary", "display"):
            if own.get(key) is not None:
                own[key] = Fated("lost", "no thinking beside a forced tool")
        if type(effort) is str:
            own["effort"] = Fated("approximated", "no thinking beside a forced tool")
        return
    if type(budget) is int and budget >= 0:
        _write_budget(budget, own, wire, c, w)
    elif style == "budget" and control != "adaptive" and effort in BUDGETS:
        _write_budget(None, own, wire, c, w)
    else:
        thinking = wire["thinking"] = {"type": control if control in _CONTROLS - {"enabled"} else "adaptive"}
        if control == "enabled":
            own["control"] = Fated("approximated", "sent as 'adaptive'")
        elif control in _CONTROLS:
            del own["control"]
        else:
            w.added(thinking, "type", "effort alone does not switch thinking on")
        if budget == -1:
            own["budget_tokens"] = Fated("approximated", "sent as 'adaptive'")
    _write_display(own, wire, w)


def _consume_off(own: Node, wire: Node, control: Any, budget: Any, w: Writer) -> None:
    if control == "disabled":
        del own["control"]
    elif budget == 0:
        own["budget_tokens"] = Fated("approximated", "thinking is switched off")
    if control is None:
        w.added(wire["thinking"], "type")


def _write_display(own: Node, wire: Node, w: Writer) -> None:
    thinking = wire.get("thinking")
    if thinking is None or thinking["type"] == "between_tools":
        return
    if own.get("display") is not None:
        thinking["display"] = own.pop("display")
    elif own.get("include") is False:
        thinking["display"] = "omitted"
        own["include"] = Fated("approximated", "sent as display 'omitted'")
        w.added(thinking, "display")
    elif own.get("summary") is not None or own.get("include") is True:
        thinking["display"] = "summarized"
        for key in ("summary", "include"):
            if own.get(key) is not None:
                own[key] = Fated("approximated", "sent as display 'summarized'")
        w.added(thinking, "display")


def _write_budget(budget: int | None, own: Node, wire: Node, c: Node, w: Writer) -> None:
    """Thinking by budget: at least 1024, and below max_tokens, which a budget the client names may raise."""
    limit = c.get("max_output_tokens")
    effort = own.get("effort")
    wanted = max(budget if budget is not None else BUDGETS[str(effort)], LEAST_BUDGET)
    if type(limit) is int and wanted >= limit:
        if budget is None and limit > LEAST_BUDGET:
            wanted = limit - 1
        elif budget is None:
            own["effort"] = Fated("lost", "max_tokens leaves no room for thinking")
            return
        else:
            c["max_output_tokens"] = Fated("approximated", "raised above the thinking budget")
            w.context["max_tokens"] = wanted + limit
    elif limit is None:
        w.context["max_tokens"] = wanted + DEFAULT_MAX_TOKENS
    thinking = wire["thinking"] = {"type": "enabled", "budget_tokens": wanted}
    if own.get("control") == "enabled":
        del own["control"]
    elif own.get("control") is not None:
        own["control"] = Fated("approximated", "sent as 'enabled'")
    else:
        w.added(thinking, "type")
    if budget is None:
        own["effort"] = Fated("approximated", f"sent as a budget of {wanted} tokens")
        w.added(thinking, "budget_tokens")
    elif wanted != budget:
        own["budget_tokens"] = Fated("approximated", f"raised to {wanted}")
    else:
        del own["budget_tokens"]


def _write_own_thinking(c: Node, wire: Node) -> None:
    own = take(c, "reasoning")
    if "control" in own:
        wire["thinking"] = {"type": own.pop("control")}
        for key in ("budget_tokens", "display"):
            if key in own:
                wire["thinking"][key] = own.pop(key)
    if "effort" in own:
        wire["output_config"] = {"effort": own.pop("effort")}


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


def _read_user(w: Node, c: Node) -> None:
    if type(w["metadata"]["user_id"]) in (str, type(None)):
        c["safety_identifier"] = take(w, "metadata").pop("user_id")


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
