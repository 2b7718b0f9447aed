"""Tools: functions, and what the provider runs.

A `Tool` object holds functions and tools of the provider side by side, in one object or spread over several: how they
were grouped is a form. Each becomes a canonical tool of its own.

https://ai.google.dev/api/caching#Tool
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.mapping import ILL_TYPED, NATIVE, Bimap, Fated, IllTyped, Mapping, Reader, Writer, fill, take

from .schema import from_dialect, to_dialect, without_meta
from .spelling import actual, snake, to_camel, to_snake
from .tables import PROTOCOL, TOOL

__all__ = ["is_mixed", "read_tools", "tools", "write_tools"]

Node = dict[str, Any]

tools = Mapping(f"{PROTOCOL} tools")
_FUNCTIONS = "functionDeclarations"
_SERVERS = "mcpServers"
_LISTED = frozenset((_FUNCTIONS, _SERVERS))


# ---- the list of tools ----------------------------------------------------------------------------------------------


def read_tools(wires: Any, r: Reader) -> list[Node]:
    """Every tool of a list of `Tool` objects, each with the number of its object as a marker."""
    if type(wires) is not list or any(type(wire) is not dict for wire in wires):
        raise IllTyped("tools")
    out: list[Node] = []
    for group, wire in enumerate(wires):
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
        if w or len(out) == first:
            to_snake(w, spelled)
            native: Node = {"type": NATIVE}
            r.form(native, "of", "tools")
            if w:
                r.keep(native, w)
            out.append(r.made(native, wire))
        for tool in out[first:]:
            r.form(tool, "group", group)
    return out


def _from(tool: Node, wire: Node, path: tuple[Any, ...], r: Reader) -> Node:
    """Say where a tool is: in the document as it is, not in the respelled copy it was read from."""
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
    w = wire.copy()
    try:
        tool: Node = tools.reads[key](w, r)
    except ILL_TYPED:
        return None
    if spelled:
        to_snake(w, spelled)
        r.form(tool, "snake", spelled)
    if w:
        r.keep(tool, w)
    return tool


def write_tools(nodes: list[Node], w: Writer) -> list[Any]:
    """The `Tool` objects: grouped as they were, else all functions in one and every other tool in its own."""
    groups: dict[Any, Node] = {}
    for number, tool in enumerate(nodes):
        kind = tool.get("type")
        group = w.form(tool, "group")
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
    return list(groups.values())


# A tool is written as {"key": ..., "tool": ...}: where in its group it stands, and what it is there.
def _tool(key: str, pair: Callable[[Node, Writer], Node | None]) -> Callable[[Node, Writer], Node | None]:
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
        if type(w.get(new)) is dict or (new in w and w[new] is None):
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
            wire[new] = without_meta(c, hub)
        else:
            schema = c.pop(hub)
            wire[old] = schema if marks == "as is" else to_dialect(schema, marks)
    if type(c.get("async")) is bool:
        wire["behavior"] = "NON_BLOCKING" if c.pop("async") else "BLOCKING"
    return wire


tools.write("function")(_tool(_FUNCTIONS, _write_function))

_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def _write_custom(c: Node, w: Writer) -> Node | None:
    """A tool that takes raw text, as a function with one argument."""
    if type(c.get("name")) is not str:
        return None
    name = c.pop("name")
    wire = {"name": name, **({"description": c.pop("description")} if "description" in c else {})}
    wire["parametersJsonSchema"] = _INPUT
    if type(c.get("format")) is dict and c["format"].get("type") == "text":
        take(c, "format")["type"] = Fated("approximated", "any text is taken")
    w.context.setdefault("tools", {})[name] = "custom"
    w.added(wire, "parametersJsonSchema", "raw text as the one argument of a function")
    return wire


tools.write("custom")(_tool(_FUNCTIONS, _write_custom))


# ---- tools of the provider ------------------------------------------------------------------------------------------

_SEARCHES = {"webSearch": "text", "imageSearch": "image"}


@tools.read("googleSearch", "enterpriseWebSearch", "googleSearchRetrieval")
def read_search(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "web_search"}
    if type(w.get("searchTypes")) is dict:
        types = take(w, "searchTypes")
        known = [key for key in types if key in _SEARCHES and type(types[key]) is dict]
        tool["search_content_types"] = [_SEARCHES[key] for key in known]
        for key in known:
            inner = take(types, key)
            if not inner:
                del types[key]
    if type(w.get("timeRangeFilter")) is dict:
        span = take(w, "timeRangeFilter")
        tool["time_range"] = {
            hub: span.pop(key)
            for key, hub in (("startTime", "start"), ("endTime", "end"))
            if type(span.get(key)) is str
        }
    if type(w.get("excludeDomains")) is list:
        tool["filters"] = {"blocked_domains": w.pop("excludeDomains")}
    return tool


def _read_enterprise(w: Node, r: Reader) -> Node:
    tool: Node = read_search(w, r)
    tool["search_content_types"] = ["enterprise"]
    # Its key says both what it is and where it looks.
    r.place(tool, ("type",), ())
    r.place(tool, ("search_content_types",), ())
    return tool


def _read_retrieval_search(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "web_search"}
    r.form(tool, "key", "googleSearchRetrieval")
    return tool


tools.reads["enterpriseWebSearch"] = _read_enterprise
tools.reads["googleSearchRetrieval"] = _read_retrieval_search


def _write_search(c: Node, w: Writer) -> Node:
    wire: Node = {}
    types = c.get("search_content_types")
    names = {hub: key for key, hub in _SEARCHES.items()}
    if types == ["enterprise"]:
        del c["search_content_types"]
    elif type(types) is list and all(each in names for each in types):
        wire["searchTypes"] = {names[each]: {} for each in types}
        del c["search_content_types"]
    if type(c.get("time_range")) is dict:
        span = take(c, "time_range")
        wire["timeRangeFilter"] = {
            key: span.pop(hub) for key, hub in (("startTime", "start"), ("endTime", "end")) if hub in span
        }
    if type(c.get("filters")) is dict and type(c["filters"].get("blocked_domains")) is list:
        wire["excludeDomains"] = take(c, "filters").pop("blocked_domains")
    return wire


def _write_any_search(c: Node, w: Writer) -> Node | None:
    key = "enterpriseWebSearch" if c.get("search_content_types") == ["enterprise"] else "googleSearch"
    return _tool(key, _write_search)(c, w)


tools.write("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11")(
    _write_any_search
)


def _plain(key: str, kind: str, *also: str, fields: tuple[tuple[str, str, tuple[type, ...]], ...] = ()) -> None:
    """Declare a tool whose settings are renamed at most: (wire key, canonical key, JSON types) each."""

    def read(w: Node, r: Reader) -> Node:
        tool: Node = {"type": kind}
        for name, hub, types in fields:
            if name in w and type(w[name]) in types:
                tool[hub] = w.pop(name)
        return tool

    def write(c: Node, w: Writer) -> Node:
        return {name: c.pop(hub) for name, hub, types in fields if hub in c and type(c[hub]) in types}

    tools.read(key)(read)
    tools.write(kind, *also)(_tool(key, write))


_plain("urlContext", "url_fetch", "web_fetch")
_plain("codeExecution", "code_interpreter")


@tools.read("googleMaps")
def read_maps(w: Node, r: Reader) -> Node:
    widget = {"enable_widget": w.pop("enableWidget")} if type(w.get("enableWidget")) is bool else {}
    return {"type": "maps", **widget}


def _write_maps(c: Node, w: Writer) -> Node:
    """Where to look is said once for all tools, in `toolConfig.retrievalConfig`."""
    if "place" not in w.context:
        point = {key: c.pop(key) for key in ("latitude", "longitude") if key in c}
        w.context["place"] = {"latLng": point} if point else {}
        if "language_code" in c:
            w.context["place"]["languageCode"] = c.pop("language_code")
    return {"enableWidget": c.pop("enable_widget")} if "enable_widget" in c else {}


tools.write("maps")(_tool("googleMaps", _write_maps))

_ENVIRONMENTS = Bimap(
    {
        "ENVIRONMENT_BROWSER": "browser",
        "ENVIRONMENT_MOBILE": "mobile",
        "ENVIRONMENT_DESKTOP": "desktop",
        "ENVIRONMENT_UNSPECIFIED": "unspecified",
    }
)
_COMPUTER = (
    ("excludedPredefinedFunctions", "excluded_functions", list),
    ("disabledSafetyPolicies", "disabled_safety_policies", list),
    ("enablePromptInjectionDetection", "enable_prompt_injection_detection", bool),
)


@tools.read("computerUse")
def read_computer(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "computer"}
    environment = w.get("environment")
    if type(environment) is str and environment in _ENVIRONMENTS.reads:
        tool["environment"] = _ENVIRONMENTS.read(w.pop("environment"))
    for name, hub, kind in _COMPUTER:
        if type(w.get(name)) is kind:
            tool[hub] = w.pop(name)
    return tool


def _write_computer(c: Node, w: Writer) -> Node:
    wire: Node = {}
    if c.get("environment") in _ENVIRONMENTS.writes:
        wire["environment"] = _ENVIRONMENTS.write(c.pop("environment"))
    wire.update({name: c.pop(hub) for name, hub, kind in _COMPUTER if type(c.get(hub)) is kind})
    return wire


tools.write("computer", "computer_use_preview")(_tool("computerUse", _write_computer))

_STORES = "fileSearchStores/"


@tools.read("fileSearch")
def read_file_search(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "file_search"}
    for name, hub, kind in _FILE_SEARCH:
        if type(w.get(name)) is kind:
            tool[hub] = w.pop(name)
    return tool


_FILE_SEARCH = (
    ("fileSearchStoreNames", "vector_store_ids", list),
    ("topK", "max_num_results", int),
    ("metadataFilter", "filters", str),
)


def _write_file_search(c: Node, w: Writer) -> Node | None:
    """Stores are handles: another provider's mean nothing here, and without a store there is nothing to search."""
    stores = c.get("vector_store_ids")
    own = (c.get("extra") or {}).get(w.protocol) is not None
    if not own and not (type(stores) is list and all(str(store).startswith(_STORES) for store in stores)):
        return None
    return {name: c.pop(hub) for name, hub, kind in _FILE_SEARCH if type(c.get(hub)) is kind}


tools.write("file_search")(_tool("fileSearch", _write_file_search))
tools.cannot("file_search", "its stores are another provider's")


@tools.read(_SERVERS)
def read_server(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "mcp"}
    if type(w.get("name")) is str:
        tool["server_label"] = w.pop("name")
    if type(w.get("streamableHttpTransport")) is dict:
        transport = take(w, "streamableHttpTransport")
        if type(transport.get("url")) is str:
            tool["server_url"] = transport.pop("url")
        if type(transport.get("headers")) is dict:
            tool["headers"] = transport.pop("headers")
    return tool


def _write_server(c: Node, w: Writer) -> Node:
    wire: Node = {}
    if "server_label" in c:
        wire["name"] = c.pop("server_label")
    transport = {name: c.pop(hub) for name, hub in (("url", "server_url"), ("headers", "headers")) if hub in c}
    if transport:
        wire["streamableHttpTransport"] = transport
    return wire


tools.write("mcp")(_tool(_SERVERS, _write_server))

_RETRIEVALS = {"parallelAiSearch": "parallel_ai_search", "exaAiSearch": "exa_ai_search", "retrieval": "retrieval"}
_SOURCES = {"vertexAiSearch": "vertex_ai_search", "vertexRagStore": "rag_store", "externalApi": "external_api"}


def _read_retrieval(key: str) -> Any:
    def read(w: Node, r: Reader) -> Node:
        tool: Node = {"type": "retrieval", "retrieval_types": [_RETRIEVALS[key]]}
        if key == "retrieval":
            tool["retrieval_types"] = [_SOURCES[name] for name in w if name in _SOURCES]
            for name in tuple(w):
                if name in _SOURCES and w[name] == {}:
                    del w[name]
        return tool

    return read


for _key in _RETRIEVALS:
    tools.read(_key)(_read_retrieval(_key))


@tools.write("retrieval")
def write_retrieval(c: Node, w: Writer) -> Node | None:
    types = c.get("retrieval_types")
    if type(types) is not list:
        return None
    for key, hub in _RETRIEVALS.items():
        if types == [hub] and key != "retrieval":
            del c["retrieval_types"]
            return _tool(key, lambda c, w: {})(c, w)
    names = {hub: name for name, hub in _SOURCES.items()}
    if not all(each in names for each in types):
        return None
    del c["retrieval_types"]
    return _tool("retrieval", lambda c, w: {names[each]: {} for each in types})(c, w)


tools.cannot("retrieval", "a source that is not searched here")
tools.cannot("image_generation", "pictures are made by models that make pictures, not by a tool")
tools.cannot("shell local_shell apply_patch", "there is no such tool: declare a function")
tools.cannot("namespace tool_search programmatic_tool_calling", "all tools are declared, each on its own")


def is_mixed(nodes: list[Node]) -> bool:
    """Whether functions stand beside tools of the provider, none of them declared by this API's own request."""
    kinds = {tool.get("type") in ("function", "custom") for tool in nodes}
    return len(kinds) == 2
