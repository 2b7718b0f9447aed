"""Tools: functions, and what the provider runs.

A `Tool` object holds functions and tools of the provider side by side, in one object or spread over several: how they
were grouped is a form. Each becomes a canonical tool of its own.

https://ai.google.dev/api/caching#Tool
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED, NATIVE, Bimap, Fated, IllTyped, Mapping, fill
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import as_function

from ..schema import from_dialect, to_dialect
from ..turns.fast_path import read_usual_functions, write_usual_functions
from ..values.spelling import actual, snake, to_camel, to_snake
from ..values.tables import PROTOCOL, TOOL

__all__ = ["SERVERS", "grouped", "is_mixed", "read_tools", "tools", "write_tools"]

Node = dict[str, Any]

tools = Mapping(f"{PROTOCOL} tools")
_FUNCTIONS = "functionDeclarations"
SERVERS = "mcpServers"
_LISTED = frozenset((_FUNCTIONS, SERVERS))


# ---- the list of tools ----------------------------------------------------------------------------------------------


def read_tools(wires: Any, r: Reader) -> list[Node]:
    """Every tool of a list of `Tool` objects, each with the number of its object as a marker."""
    if type(wires) is not list or any(type(wire) is not dict for wire in wires):
        raise IllTyped("tools")
    out: list[Node] = []
    for group, wire in enumerate(wires):
        usual = read_usual_functions(wire, group, r)
        if usual is not None:
            out += usual
            continue
        w = wire.copy()
        spelled = to_camel(w, TOOL)
        first = len(out)
        for key in tuple(w):
            if key not in tools.reads:
                continue
            each = w[key] if key in _LISTED else [w[key]]
            if type(each) is not list or not each:
                continue
            places = [(key, index) if key in _LISTED else (key,) for index in range(len(each))]
            read = [_read_tool(key, inner, r, _below(place, spelled)) for place, inner in zip(places, each)]
            found = [tool for tool in read if tool is not None]
            if len(found) != len(each):
                continue
            del w[key]
            for tool, place in zip(found, places):
                out.append(_from(tool, wire, actual(place, spelled), r))
                if key in spelled:
                    r.form(tool, "name", "snake")
        nulls = [key for key, value in w.items() if value is None and key in tools.reads] if len(out) > first else []
        if nulls:  # the nulls beside the requested tools
            r.form(out[first], "nulls", [snake(key) if key in spelled else key for key in nulls])
            w = {key: value for key, value in w.items() if key not in nulls}
        if len(out) == first:
            to_snake(w, spelled)
            out.append(r.made(_native(w, r), wire))
        elif w:
            to_snake(w, spelled)
            out += [r.made(_native({key: w[key]}, r), wire, key) for key in w]
        for tool in out[first:]:
            r.form(tool, "group", group)
    return out


def _native(rest: Node, r: Reader) -> Node:
    """A tool of which nothing is known: what a `Tool` object has beside the tools that can be read."""
    native: Node = {"type": NATIVE}
    r.form(native, "of", "tools")
    if rest:
        r.keep(native, rest)
    return native


def _from(tool: Node, wire: Node, path: tuple[Any, ...], r: Reader) -> Node:
    """Note where a tool is: in the document as it is, not in the respelled copy it was read from."""
    here: Any = wire
    for key in path:
        here = here[key]
    r.trace.append((tool, here))
    return tool


def _below(place: tuple[Any, ...], spelled: list[str]) -> list[str]:
    """The paths below a place, of those that were respelled."""
    start = "/".join(map(str, place)) + "/"
    return [path.removeprefix(start) for path in spelled if path.startswith(start)]


def _read_tool(key: str, wire: Any, r: Reader, spelled: list[str]) -> Node | None:
    if type(wire) is not dict:
        return None
    w, before = wire.copy(), len(r.places)
    try:
        tool: Node = tools.reads[key](w, r)
    except ILL_TYPED:
        return None
    if spelled:
        to_snake(w, spelled)
        r.form(tool, "snake", spelled)
        for known, *keys in [*islice(reversed(r.places), len(r.places) - before)]:
            if known == id(tool):
                r.place(tool, tuple(keys), actual(r.places[known, *keys], spelled))
    if w:
        r.keep(tool, w)
    return tool


def write_tools(nodes: list[Node], w: Writer) -> list[Any]:
    """The `Tool` objects: grouped as they were, else all functions in one and every other tool in its own."""
    usual = write_usual_functions(nodes, w)
    if usual is not None:
        return [usual]
    groups: dict[Any, Node] = {}
    for number, tool in enumerate(nodes):
        kind = tool.get("type")
        group = w.form(tool, "group")
        if type(group) is list or type(group) is dict:
            group = None  # no form that a reader gave it
        if kind == NATIVE and w.form(tool, "of") == "tools":
            rest = tool["extra"][w.protocol].get("rest") or {}
            groups.setdefault(group, {}).update(rest)
            continue
        written = w.nodes(tools, (tool,))
        if not written:
            continue
        key, wire = written[0]["key"], written[0]["tool"]
        if group is None:
            group = key if key in _LISTED else ("alone", number)
        here = groups.setdefault(group, {})
        name = snake(key) if w.form(tool, "name") else key
        if key in _LISTED:
            here.setdefault(name, []).append(wire)
        else:
            here[name] = wire
        here.update(dict.fromkeys(w.form(tool, "nulls") or ()))
    return list(groups.values())


# A tool is written as {"key": ..., "tool": ...}: where in its group it stands, and what it is there.
def grouped(key: str, pair: Callable[[Node, Writer], Node | None]) -> Callable[[Node, Writer], Node | None]:
    """A write function that puts a tool under `key`, beside the tools of the same wire object."""

    def write(c: Node, w: Writer) -> Node | None:
        own = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest")
        name = w.form(c, "key") or key
        wire = pair(c, w)
        if wire is None:
            return None
        spelled = w.form(c, "snake")
        if spelled:
            wire = to_snake(wire, spelled)
        if own:
            wire = fill(wire, own)
            c["extra"] = {protocol: drawer for protocol, drawer in c["extra"].items() if protocol != w.protocol}
        return {"key": name, "tool": wire}

    return write


# ---- functions ------------------------------------------------------------------------------------------------------

_BEHAVIOR = Bimap({"NON_BLOCKING": True, "BLOCKING": False})
_SCHEMAS = (
    ("parameters", "parametersJsonSchema", "parameters"),
    ("response", "responseJsonSchema", "output_schema"),
)


@tools.read(_FUNCTIONS)
def read_function(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "function", "name": w.pop("name")}
    if type(tool["name"]) is not str:
        raise IllTyped("name")
    if type(w.get("description")) is str:
        tool["description"] = w.pop("description")
    for old, new, hub in _SCHEMAS:
        if type(w.get(new)) is dict or (new in w and w[new] is None and type(w.get(old)) is not dict):
            tool[hub] = w.pop(new)
            r.place(tool, (hub,), (new,))
        elif type(w.get(old)) is dict:
            tool[hub], marks = from_dialect(w.pop(old))
            r.form(tool, hub, "as is" if marks is None else marks)
            r.place(tool, (hub,), (old,))
    if type(w.get("behavior")) is str and w["behavior"] in _BEHAVIOR.reads:
        tool["async"] = _BEHAVIOR.read(w.pop("behavior"))
        r.place(tool, ("async",), ("behavior",))
    return tool


def _write_function(c: Node, w: Writer) -> Node | None:
    if type(c.get("name")) is not str:
        return None
    wire: Node = {"name": c.pop("name")}
    if "description" in c:
        wire["description"] = c.pop("description")
    for old, new, hub in _SCHEMAS:
        if hub not in c:
            continue
        marks = w.form(c, hub)
        if marks is None:
            wire[old if w.dialect.get("schemas") == "openapi" else new] = c.pop(hub)
        else:
            schema = c.pop(hub)
            wire[old] = to_dialect(schema, marks) if type(marks) is list else schema
    if type(c.get("async")) is bool:
        wire["behavior"] = "NON_BLOCKING" if c.pop("async") else "BLOCKING"
    return wire


tools.write("function")(grouped(_FUNCTIONS, _write_function))


def _write_custom(c: Node, w: Writer) -> Node | None:
    """A custom tool, as a function with one argument."""
    if type(c.get("name")) is not str:
        return None
    wire = as_function(c, w)
    schema = wire.pop("parameters")
    if w.dialect.get("schemas") == "openapi":
        wire["parameters"] = to_dialect(schema, [])
    else:
        wire["parametersJsonSchema"] = schema
    c["type"] = Fated("emulated", "custom tool sent as a function with one string")
    return wire


tools.write("custom")(grouped(_FUNCTIONS, _write_custom))


def is_mixed(nodes: list[Node]) -> bool:
    """Whether functions stand beside tools of the provider, none of them declared by this API's own request."""
    kinds = {tool.get("type") in ("function", "custom") for tool in nodes}
    return len(kinds) == 2
