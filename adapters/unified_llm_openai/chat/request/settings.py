"""The settings of a chat request that are more than a rename: each `_read_x` beside its `_write_x`.

Several have an old and a new spelling. The canonical model has one; which spelling was used is a marker of form.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.nearest_values import raise_output_limit

from ...demands import (
    enforce_schema,
    fit_identifier,
    fit_words,
    lacks_raw_text,
    name_schema,
    nearest_choice,
    send_nearest,
    with_mode,
)
from ...effort import LOGPROBS, drop_refused, fit_reasoning, rest_beside_functions
from ...logprobs import fit_alternatives
from ..tools import is_foreign, tools
from ..turns.fast_path import read_usual_functions, write_usual_functions
from .controls import placed_controls, read_controls, write_controls
from .search import Searches, read_declared, read_elsewhere, read_options, search_kinds

__all__ = ["read_settings", "write_settings"]

Node = dict[str, Any]


def read_settings(w: Node, c: Node, r: Reader) -> None:
    """Read the settings of a request into `c`; older spellings are noted as markers."""
    if "max_tokens" in w:
        _read_max_tokens(w, c, r)
    if "stop" in w:
        _read_stop(w, c, r)
    if "tools" in w or "functions" in w or "web_search_options" in w:
        _read_tools(w, c, r)
    if "search_plugin" in r.dialect or "search_suffix" in r.dialect:
        read_elsewhere(w, c, r)
    if "tool_choice" in w or "function_call" in w:
        _read_tool_choice(w, c, r)
    if "response_format" in w:
        _read_format(w, c, r)
    if "logprobs" in w:
        _read_logprobs(w, c, r)
    if "prompt_cache_options" in w:
        _read_cache(w, c)
    read_controls(w, c, r)


def write_settings(c: Node, wire: Node, w: Writer) -> None:
    """Write the settings of a request into `wire`, in the spelling of the target's dialect."""
    if "max_output_tokens" in c:
        raise_output_limit(c, w)
        wire[_limit(c, w)] = c.pop("max_output_tokens")
    if c.get("stop") == [] and w.source != w.protocol:
        del c["stop"]  # none, which is the default; the API refuses an empty list
    elif type(c.get("stop")) is list and len(c["stop"]) == 1 and w.form(c, "stop"):
        wire["stop"] = c.pop("stop")[0]
    if type(c.get("tools")) is list:
        _write_tools(c, wire, w)
    elif "tools" in c:
        wire["tools"] = c.pop("tools")
    if "extra" in c:
        for key in ("tools", "functions"):
            if marker := w.form(c, key):
                wire.setdefault(key, None if marker == "null" else [])
    if "tool_choice" in c:
        _write_tool_choice(c, wire, w)
    if "prompt_cache_options" in c:
        _write_cache(c, wire)
    if type(c.get("text")) is dict and "format" in c["text"]:
        _write_format(c, wire, w)
    resting = False
    if w.source != w.protocol and w.facing == "provider":
        if _has_functions(wire.get("tools")):
            # (A router has an effort of its own, and may reach the model otherwise.)
            resting = "effort" not in w.dialect.get("control", ()) and rest_beside_functions(c, w)
        if type(c.get("reasoning")) is dict:
            fit_reasoning(c, w, placed_controls(c, w))
        drop_refused(c, w, {"effort": "none"} if resting else c.get("reasoning"))
        fit_identifier(c, w)
    if "reasoning" in c or "extra" in c:
        write_controls(c, wire, w)
    if resting:
        wire["reasoning_effort"] = "none"
        w.added(wire, "reasoning_effort", "the model takes functions only where it does not think")
    if "include" in c or "top_logprobs" in c or ("extra" in c and w.form(c, "logprobs")):
        _write_logprobs(c, wire, w)


def _has_functions(tools: Any) -> bool:
    return type(tools) is list and any(type(tool) is dict and tool.get("type") == "function" for tool in tools)


def _limit(c: Node, w: Writer) -> str:
    """How the limit of output is spelled: as the server requires it, else as it was."""
    spelling: str | None = None if w.same else w.dialect.get("max_tokens")
    return spelling or ("max_tokens" if w.form(c, "max_tokens") else "max_completion_tokens")


def _read_max_tokens(w: Node, c: Node, r: Reader) -> None:
    if "max_completion_tokens" not in w and (type(w["max_tokens"]) is int or w["max_tokens"] is None):
        c["max_output_tokens"] = w.pop("max_tokens")
        r.place(c, ("max_output_tokens",), ("max_tokens",))
        r.form(c, "max_tokens", True)


def _read_stop(w: Node, c: Node, r: Reader) -> None:
    if type(w["stop"]) is str:
        c["stop"] = [w.pop("stop")]
        r.form(c, "stop", "string")


# Where the keys of a plain function are in its tool.
_LAID: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {
    "function": {(key,): ("function", key) for key in ("name", "description", "parameters", "strict")}
}


def _read_tools(w: Node, c: Node, r: Reader) -> None:
    if type(w.get("tools")) is list:
        wires = w.pop("tools")
        usual = read_usual_functions(wires, r)
        c["tools"] = r.nodes(tools, wires) if usual is None else usual
        if usual is None:
            read_declared(wires, c["tools"], r)
        if r.doc.get("tools") is wires:
            r.laid = _LAID
            for number, tool in enumerate(c["tools"]):
                if tool["type"] == "function" and "extra" not in tool:
                    r.stands[id(tool)] = ("tools", number)
    elif w.get("tools", 0) is None:
        c["tools"] = w.pop("tools")
    if type(w.get("functions")) is list:
        if not w["functions"]:
            r.form(c, "functions", "empty")
        for function in w.pop("functions"):
            tool = r.node(tools, {"type": "function", "function": function})
            r.form(tool, "legacy", True)
            if type(function) is dict:
                _flatten(tool, r)
                r.made(tool, function)
            c["tools"] = [*(c.get("tools") or ()), tool]
    if type(w.get("web_search_options")) is dict:
        c["tools"] = [*(c.get("tools") or ()), read_options(w, r)]
    if r.doc.get("tools") == [] and c["tools"]:
        r.form(c, "tools", "empty")


def _flatten(tool: Node, r: Reader) -> None:
    """A function of old is what `function` holds in a tool: so is what was left of it."""
    rest = r.extra(tool).get("rest")
    if type(rest) is dict and type(rest.get("function")) is dict and len(rest) == 1:
        r.extra(tool)["rest"] = rest["function"]


def _function_of(tool: Any) -> Any:
    function = tool.get("function") if type(tool) is dict else tool
    if type(function) is not dict:
        return function
    return {**function, **{key: value for key, value in tool.items() if key not in ("type", "function")}}


def _write_tools(c: Node, wire: Node, w: Writer) -> None:
    usual = write_usual_functions(c["tools"], w) if c["tools"] else None
    if usual is not None:
        del c["tools"]
        wire["tools"] = usual
        return
    new, old = [], []
    kinds = None if w.same else w.dialect.get("tool_kinds")
    if kinds is not None:
        kinds = [*kinds, *search_kinds(w), *(("custom",) if lacks_raw_text(w) else ())]
    searches, given = Searches(c, wire, w), c.pop("tools")
    for tool in given:
        if searches.places(tool):
            continue
        if searches.is_declared(tool):
            new.append(tool)
        elif kinds is not None and tool.get("type") not in kinds:
            w.drop(tool, "the server has no such tools")
        elif w.form(tool, "legacy"):
            old.append(tool)
        elif searches.is_refused(tool):
            w.drop(tool, "the model does not search in Chat")
        elif not searches.writes(tool):
            new.append(tool)
    if old:
        wire["functions"] = [_function_of(tool) for tool in w.nodes(tools, old)]
    if new or not (old or searches.placed):
        written = w.nodes(tools, new)
        if written or not (given or is_foreign(w)):
            wire["tools"] = written
        elif not new:
            w.report(w.doc, ("tools",), "approximated", "no tools are declared by leaving them out")


def _read_tool_choice(w: Node, c: Node, r: Reader) -> None:
    choice = w.get("tool_choice")
    if "tool_choice" in w:
        if choice == "any":  # what Mistral's server and several others call it
            w["tool_choice"] = "required"
            r.form(c, "tool_choice", "any")
        if choice is None or type(choice) is str:
            c["tool_choice"] = w.pop("tool_choice")
        elif type(choice) is dict:
            named = choice.get("function") if len(choice) == 1 else None
            if type(named) is dict and "name" in named:  # servers that look for a name take it without the type
                choice = w["tool_choice"] = {"type": "function", **choice}
                r.form(c, "tool_choice", "untyped")
            read = _read_choice(take(w, "tool_choice"), r)
            if read is not None:
                c["tool_choice"] = read
    elif type(w["function_call"]) is str:
        c["tool_choice"] = w.pop("function_call")
        _note_legacy_choice(c, r)
    elif type(w["function_call"]) is dict and "name" in w["function_call"]:
        c["tool_choice"] = {"type": "function", "name": take(w, "function_call").pop("name")}
        _note_legacy_choice(c, r)
        r.place(c, ("tool_choice", "name"), ("function_call", "name"))


def _note_legacy_choice(c: Node, r: Reader) -> None:
    r.form(c, "tool_choice", "legacy")
    r.place(c, ("tool_choice",), ("function_call",))


def _read_choice(choice: Node, r: Reader) -> Node | None:
    kind = choice.get("type")
    if kind in ("function", "custom") and type(choice.get(kind)) is dict and "name" in choice[kind]:
        del choice["type"]
        return {"type": kind, "name": take(choice, kind).pop("name")}
    if kind == "allowed_tools" and type(choice.get(kind)) is dict:
        del choice["type"]
        allowed = take(choice, kind)
        out: Node = {"type": kind}
        if "mode" in allowed:
            out["mode"] = allowed.pop("mode")
        if type(allowed.get("tools")) is list:
            out["tools"] = r.nodes(tools, allowed.pop("tools"))
        return out
    return None


def _write_tool_choice(c: Node, wire: Node, w: Writer) -> None:
    if is_foreign(w):
        fit_words(c, w)
    choice = c["tool_choice"]
    if lacks_raw_text(w) and type(choice) is dict and choice.get("type") == "custom":
        function = {**choice, "type": "function"}
        if nearest_choice(function, w) is None:
            own = take(c, "tool_choice")
            wire["tool_choice"] = {"type": "function", "function": {"name": own.pop("name", None)}}
            own["type"] = Fated("emulated", "the tool is a function here")
            return
    instead = None if w.same else nearest_choice(choice, w)
    if instead is not None:
        send_nearest(instead, choice, c, wire, w, "tools", "functions", "web_search_options")
        return
    form = w.form(c, "tool_choice")
    legacy = form == "legacy"
    spelled = form if w.same or not w.dialect else None
    if choice is None or type(choice) is str:
        word = c.pop("tool_choice")
        wire["function_call" if legacy else "tool_choice"] = "any" if (word, spelled) == ("required", "any") else word
        return
    kind = choice.get("type")
    if kind in ("function", "custom"):
        name = {"name": take(c, "tool_choice").pop("name", None)}
        c["tool_choice"].pop("type")
        typed: Node = {} if spelled == "untyped" and kind == "function" else {"type": kind}
        wire["function_call" if legacy else "tool_choice"] = name if legacy else {**typed, kind: name}
    elif kind == "allowed_tools":
        own = take(c, "tool_choice")
        del own["type"]
        allowed: Node = {"mode": own.pop("mode")} if "mode" in own else {}
        if type(own.get("tools")) is list:
            allowed["tools"] = w.nodes(tools, own.pop("tools"))
            for tool in allowed["tools"] if lacks_raw_text(w) else ():
                for key in ("description", "parameters"):  # a tool is named here, and declared elsewhere
                    if type(tool) is dict and type(tool.get("function")) is dict:
                        tool["function"].pop(key, None)
        demanded = is_foreign(w) and allowed.get("tools") != []
        wire["tool_choice"] = {"type": kind, kind: with_mode(allowed, w) if demanded else allowed}


_FORMAT_KEYS = ("name", "description", "schema", "strict")


def _read_format(w: Node, c: Node, r: Reader) -> None:
    format_ = w["response_format"]
    if type(format_) is not dict or type(format_.get("type")) is not str:
        return
    own = take(w, "response_format")
    out: Node = {"type": own.pop("type")}
    r.place(c, ("text", "format", "type"), ("response_format", "type"))
    if out["type"] == "json_schema" and type(own.get("json_schema")) is dict:
        inner = take(own, "json_schema")
        for key in _FORMAT_KEYS:
            if key in inner:
                out[key] = inner.pop(key)
                r.place(c, ("text", "format", key), ("response_format", "json_schema", key))
    c.setdefault("text", {})["format"] = out


def _write_format(c: Node, wire: Node, w: Writer) -> None:
    text = take(c, "text")
    if type(text["format"]) is not dict:
        wire["response_format"] = text.pop("format")
        return
    own = take(text, "format")
    formats = None if w.same else w.dialect.get("formats")
    if formats is not None and own.get("type", "text") not in formats:
        if own.get("type") == "json_schema" and "json_object" in formats:
            del own["type"]
            w.report(w.doc, ("text", "format", "type"), "approximated", "sent as 'json_object'")
            wire["response_format"] = {"type": "json_object"}
        return
    out: Node = {"type": own.pop("type", "text")}
    if "type" not in w.doc["text"]["format"]:
        w.added(out, "type", "required; the target's default was written")
    if out["type"] == "json_schema":
        schema = {key: own.pop(key) for key in _FORMAT_KEYS if key in own}
        kept = (((c.get("extra") or {}).get("openai-chat") or {}).get("rest") or {}).get("response_format") or {}
        if is_foreign(w):
            name_schema(schema, w)
            enforce_schema(schema, w)
        if schema or "json_schema" not in kept:
            out["json_schema"] = schema
    wire["response_format"] = out


def _read_logprobs(w: Node, c: Node, r: Reader) -> None:
    if w["logprobs"] is True:
        del w["logprobs"]
        c["include"] = [LOGPROBS]
        r.place(c, ("include",), ("logprobs",))
    elif w["logprobs"] is False:
        del w["logprobs"]
        r.form(c, "logprobs", "false")


def _write_logprobs(c: Node, wire: Node, w: Writer) -> None:
    include = c.get("include")
    if type(include) is list:
        if LOGPROBS in include:
            wire["logprobs"] = True
        given = w.doc["include"]
        for value in c.pop("include"):
            if value != LOGPROBS:
                w.report(w.doc, ("include", given.index(value)), "lost")
    if w.form(c, "logprobs") and "logprobs" not in wire:
        wire["logprobs"] = False
    fit_alternatives(c, wire, w)


# What other surfaces have beside these is not known here.
_CACHE = {"mode": ("implicit", "explicit"), "ttl": ("30m",)}


def _read_cache(w: Node, c: Node) -> None:
    if w["prompt_cache_options"] is None:
        c["prompt_cache_options"] = w.pop("prompt_cache_options")
    elif type(w["prompt_cache_options"]) is dict:
        own = take(w, "prompt_cache_options")
        c["prompt_cache_options"] = {key: own.pop(key) for key, known in _CACHE.items() if own.get(key) in known}
        if not own:
            del w["prompt_cache_options"]


def _write_cache(c: Node, wire: Node) -> None:
    if type(c["prompt_cache_options"]) is not dict:
        wire["prompt_cache_options"] = c.pop("prompt_cache_options")
        return
    own = take(c, "prompt_cache_options")
    written = {key: own.pop(key) for key, known in _CACHE.items() if own.get(key) in known}
    if written or not own:
        wire["prompt_cache_options"] = written
