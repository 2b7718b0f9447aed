"""Tools: functions, and the versioned types of what Anthropic defines, under the names two vendors share.

The date in a type string (`web_search_20250305`) says how a tool behaves here and nothing elsewhere: it is kept as a
form. Tools that no other API has (memory, text editor, toolsets, advisor) and unknown versions are kept whole. MCP
servers stand beside the tools on the wire and among them in the canonical model (see mcp.py).

https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.emulation import as_function
from unified_llm.mapping import Fated, IllTyped, Mapping, take
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .content import move_cache_in, move_cache_out, own_born
from .tables import HOSTED_NAMES, PROGRAMS, TOOL_VERSIONS

__all__ = ["read_tools", "tools"]

Node = dict[str, Any]

tools = Mapping("anthropic-messages tools", default="custom")

_PLAIN = frozenset(("name", "description", "input_schema", "strict"))
_STRICT = (bool, type(None))


def read_tools(wires: Any, r: Reader) -> list[Node]:
    """The tools of a request; whether a function says its type is a form."""
    out: list[Node] = []
    for wire in wires:
        node = _read_plain(wire, r) if type(wire) is dict and "type" not in wire else None
        if node is None:
            node = r.nodes(tools, (wire,))[0]
            if type(wire) is not dict:
                r.made(node, wires, len(out))
            elif node["type"] == "function" and wire.get("type") == "custom":
                r.form(node, "type", "custom")
        out.append(node)
    return out


def _read_plain(wire: Node, r: Reader) -> Node | None:
    """A function with nothing beside what all functions have, as the pair below would read it."""
    name, parameters = wire.get("name"), wire.get("input_schema")
    if type(name) is not str or type(parameters) is not dict or type(wire.get("strict")) not in _STRICT:
        return None
    if not wire.keys() <= _PLAIN:
        return None
    tool: Node = {"type": "function", "name": name, "parameters": parameters}
    for key in ("description", "strict"):
        if key in wire:
            tool[key] = wire[key]
    tool["extra"] = {r.protocol: {"form": {"tag": "absent"}}}
    r.trace.append((tool, wire))
    return tool


# ---- functions ------------------------------------------------------------------------------------------------------


@tools.read("custom")
def read_function(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "function", "name": w.pop("name")}
    if type(tool["name"]) is not str:
        raise IllTyped("name")
    if "description" in w:
        tool["description"] = w.pop("description")
    if "input_schema" in w:
        if type(w["input_schema"]) is not dict:
            raise IllTyped("input_schema")
        tool["parameters"] = w.pop("input_schema")
    if w:
        _read_common(w, tool, r)
        if type(w.get("input_examples")) is list:
            tool["input_examples"] = w.pop("input_examples")
    return tool


def _read_common(w: Node, tool: Node, r: Reader, strict: bool = True) -> None:
    for key in ("strict", "defer_loading") if strict else ("defer_loading",):
        if key in w and type(w[key]) in (bool, type(None)):
            tool[key] = w.pop(key)
    _read_callers(w, tool, r)
    move_cache_in(w, tool, r)


def _read_callers(w: Node, tool: Node, r: Reader) -> None:
    """Who may call: the model itself, or the code it writes, whose version is a form."""
    callers = w.get("allowed_callers")
    if type(callers) is not list or any(type(caller) is not str for caller in callers):
        return
    versions = [caller for caller in callers if caller in PROGRAMS]
    if len(versions) > 1 or any(caller not in ("direct", *versions) for caller in callers):
        return
    del w["allowed_callers"]
    tool["allowed_callers"] = ["programmatic" if caller in versions else caller for caller in callers]
    if versions:
        r.form(tool, "caller", versions[0])


def _write_common(c: Node, wire: Node, w: Writer, strict: bool = True) -> Node:
    for key in ("strict", "defer_loading") if strict else ("defer_loading",):
        if key in c:
            if c[key] is not None or own_born(w):
                wire[key] = c.pop(key)
    callers = c.get("allowed_callers")
    if type(callers) is list and all(caller in ("direct", "programmatic") for caller in callers):
        del c["allowed_callers"]
        version = w.form(c, "caller") or PROGRAMS[-1]
        wire["allowed_callers"] = [version if caller == "programmatic" else caller for caller in callers]
    return move_cache_out(c, wire, w)


@tools.write("function")
def write_function(c: Node, w: Writer) -> Node | None:
    if type(c.get("name")) is not str:
        return None
    wire: Node = {"type": "custom"} if w.form(c, "type") == "custom" else {}
    wire["name"] = c.pop("name")
    if "description" in c and (c["description"] is not None or own_born(w)):
        wire["description"] = c.pop("description")
    if type(c.get("parameters")) is dict:
        schema = c.pop("parameters")
        if own_born(w) or "type" in schema:
            wire["input_schema"] = schema
        else:
            wire["input_schema"] = {"type": "object", **schema}
            w.added(wire["input_schema"], "type", "a schema of an object is demanded")
    elif not own_born(w):
        wire["input_schema"] = {"type": "object", "properties": {}}
        w.added(wire, "input_schema", "a schema of an object is demanded")
    if c:
        if c.get("input_examples") is not None:
            wire["input_examples"] = c.pop("input_examples")
        _write_common(c, wire, w)
    return wire


@tools.write("custom")
def write_custom(c: Node, w: Writer) -> Node | None:
    """A custom tool: a function of one string; its answers are known by its name."""
    if type(c.get("name")) is not str:
        return None
    function = as_function(c, w)
    c["name"] = Fated("emulated", "a function of one string")
    function["input_schema"] = function.pop("parameters")
    return _write_common(c, function, w)


# ---- tools the provider defines -------------------------------------------------------------------------------------


ToolPair = Callable[[Node, Node, Reader], None]


def _versioned(kind: str, name: str, *versions: str) -> Callable[[ToolPair], ToolPair]:
    """Declare how a hosted tool is read: what is its own by the function, what every tool may have by the engine."""

    def declare(pair: ToolPair) -> ToolPair:
        for version in versions:

            def read(w: Node, r: Reader, version: str = version) -> Node:
                tool: Node = {"type": kind}
                if w.get("name") == name:
                    del w["name"]
                elif "name" not in w:
                    r.form(tool, "name", "absent")
                if TOOL_VERSIONS.get(kind) != version:
                    r.form(tool, "type", version)
                pair(w, tool, r)
                _read_common(w, tool, r, strict=False)
                return tool

            tools.read(version)(read)
        return pair

    return declare


def _hosted(c: Node, kind: str, w: Writer, name: str | None = None, version: str | None = None) -> Node:
    version = w.form(c, "type") or version or TOOL_VERSIONS[kind]
    wire: Node = {"type": version}
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    if w.form(c, "name") != "absent" and "name" not in kept:
        wire["name"] = name or HOSTED_NAMES[kind]
    return wire


_DOMAINS = ("allowed_domains", "blocked_domains")


def _read_domains(w: Node, tool: Node, r: Reader) -> None:
    filters = {key: w.pop(key) for key in _DOMAINS if key in w and type(w[key]) in (list, type(None))}
    if filters:
        tool["filters"] = filters
        for key in filters:
            r.place(tool, ("filters", key), (key,))
    if "max_uses" in w and type(w["max_uses"]) in (int, type(None)):
        tool["max_uses"] = w.pop("max_uses")


def _write_domains(c: Node, wire: Node) -> None:
    if type(c.get("filters")) is dict:
        own = take(c, "filters")
        for key in _DOMAINS:
            if key in own:
                wire[key] = own.pop(key)
    if "max_uses" in c:
        wire["max_uses"] = c.pop("max_uses")


_PLACE = ("type", "city", "country", "region", "timezone")


@_versioned("web_search", "web_search", "web_search_20250305", "web_search_20260209", "web_search_20260318")
def read_web_search(w: Node, tool: Node, r: Reader) -> None:
    _read_domains(w, tool, r)
    if type(w.get("user_location")) is dict:
        own = take(w, "user_location")
        place = {key: own.pop(key) for key in _PLACE if key in own and type(own[key]) in (str, type(None))}
        if place:
            tool["user_location"] = place
    elif w.get("user_location", 0) is None:
        tool["user_location"] = w.pop("user_location")


@tools.write("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11")
def write_web_search(c: Node, w: Writer) -> Node:
    wire = _hosted(c, "web_search", w)
    _write_domains(c, wire)
    if type(c.get("user_location")) is dict:
        own = take(c, "user_location")
        wire["user_location"] = {key: own.pop(key) for key in _PLACE if key in own}
        if "type" not in wire["user_location"] and not own_born(w):
            wire["user_location"] = {"type": "approximate", **wire["user_location"]}
            w.added(wire["user_location"], "type", "there is one type")
    elif "user_location" in c:
        wire["user_location"] = c.pop("user_location")
    return _write_common(c, wire, w, strict=False)


@_versioned(
    "url_fetch", "web_fetch", "web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"
)
def read_web_fetch(w: Node, tool: Node, r: Reader) -> None:
    _read_domains(w, tool, r)
    if "max_content_tokens" in w and type(w["max_content_tokens"]) in (int, type(None)):
        tool["max_content_tokens"] = w.pop("max_content_tokens")
    if "citations" in w and type(w["citations"]) in (dict, type(None)):
        tool["citations"] = w.pop("citations")


@tools.write("url_fetch", "web_fetch")
def write_web_fetch(c: Node, w: Writer) -> Node:
    wire = _hosted(c, "url_fetch", w)
    _write_domains(c, wire)
    for key in ("max_content_tokens", "citations"):
        if key in c:
            wire[key] = c.pop(key)
    return _write_common(c, wire, w, strict=False)


_CODE = tuple(f"code_execution_{date}" for date in ("20250522", "20250825", "20260120", "20260521"))


@_versioned("code_interpreter", "code_execution", *_CODE)
def read_code(w: Node, tool: Node, r: Reader) -> None:
    """Its container is a setting of the request here."""


@tools.write("code_interpreter")
def write_code(c: Node, w: Writer) -> Node:
    wire = _hosted(c, "code_interpreter", w)
    container = c.get("container")
    if type(container) is dict and container == {"type": "auto"}:
        # A fresh container is what everybody gets who names none.
        c["container"] = Fated("approximated", "a fresh container is the default")
    return _write_common(c, wire, w, strict=False)


_SCREEN = (("display_width_px", "display_width"), ("display_height_px", "display_height"))


@_versioned("computer", "computer", "computer_20241022", "computer_20250124", "computer_20251124")
def read_computer(w: Node, tool: Node, r: Reader) -> None:
    for key, hub in (*_SCREEN, ("display_number", "display_number")):
        if key in w and type(w[key]) in (int, type(None)):
            tool[hub] = w.pop(key)


@tools.write("computer", "computer_use_preview")
def write_computer(c: Node, w: Writer) -> Node | None:
    if any(hub not in c for _, hub in _SCREEN) and not own_born(w):
        return None
    wire = _hosted(c, "computer", w)
    for key, hub in (*_SCREEN, ("display_number", "display_number")):
        if hub in c:
            wire[key] = c.pop(hub)
    return _write_common(c, wire, w, strict=False)


@_versioned("shell", "bash", "bash_20250124", "bash_20241022")
def read_bash(w: Node, tool: Node, r: Reader) -> None:
    """The client's shell, without options."""


@tools.write("shell")
def write_bash(c: Node, w: Writer) -> Node | None:
    environment = c.get("environment")
    if type(environment) is dict and environment.get("type") not in (None, "local"):
        return None
    if environment == {"type": "local"}:
        c["environment"] = Fated("approximated", "it runs at the client's")
    return _write_common(c, _hosted(c, "shell", w), w, strict=False)


def _read_tool_search(algorithm: str) -> None:
    name = f"tool_search_tool_{algorithm}"
    for version in (name, f"{name}_20251119"):

        def read(w: Node, r: Reader, version: str = version) -> Node:
            tool: Node = {"type": "tool_search", "execution": "server", "algorithm": algorithm}
            if w.get("name") == name:
                del w["name"]
            elif "name" not in w:
                r.form(tool, "name", "absent")
            if TOOL_VERSIONS[algorithm] != version:
                r.form(tool, "type", version)
            _read_common(w, tool, r, strict=False)
            for key in ("type", "algorithm", "execution"):
                r.place(tool, (key,), ("type",))
            return tool

        tools.read(version)(read)


for _algorithm in ("regex", "bm25"):
    _read_tool_search(_algorithm)


@tools.write("tool_search")
def write_tool_search(c: Node, w: Writer) -> Node | None:
    if c.get("execution") not in (None, "server"):
        return None
    algorithm = c.get("algorithm") or "bm25"
    if algorithm not in TOOL_VERSIONS:
        return None
    c.pop("execution", None)
    c.pop("algorithm", None)
    wire = _hosted(c, algorithm, w, f"tool_search_tool_{algorithm}")
    return _write_common(c, wire, w, strict=False)


tools.cannot("namespace", "tools are not grouped")
tools.cannot("programmatic_tool_calling", "each tool says by allowed_callers who may call it")
tools.cannot("maps file_search retrieval image_generation local_shell apply_patch", "no such tool here")
