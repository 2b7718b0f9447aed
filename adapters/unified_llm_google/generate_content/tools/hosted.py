"""Tools of the provider: searches, places, code, the computer, files, MCP servers.

https://ai.google.dev/api/caching#Tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, Fated, lookup, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.mcp_servers import as_header

from ...constants import NO_SCREENS, has_screens, is_desktop
from .functions import SERVERS, grouped, tools

Node = dict[str, Any]

_SEARCHES = {"webSearch": "text", "imageSearch": "image"}


@tools.read("googleSearch", "enterpriseWebSearch", "googleSearchRetrieval")
def read_search(w: Node, r: Reader) -> Node:
    """Read one of the three search tools as `web_search`."""
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
    # Its key determines its type and its source.
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
    elif type(types) is list and all(lookup(names, each) for each in types):
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
    return grouped(key, _write_search)(c, w)


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
    tools.write(kind, *also)(grouped(key, write))


_plain("urlContext", "url_fetch", "web_fetch")
_plain("codeExecution", "code_interpreter")


@tools.read("googleMaps")
def read_maps(w: Node, r: Reader) -> Node:
    """Read the maps tool."""
    widget = {"enable_widget": w.pop("enableWidget")} if type(w.get("enableWidget")) is bool else {}
    return {"type": "maps", **widget}


def _write_maps(c: Node, w: Writer) -> Node:
    """The location is set once for all tools, in `toolConfig.retrievalConfig`."""
    if "place" not in w.context:
        point = {key: c.pop(key) for key in ("latitude", "longitude") if key in c}
        w.context["place"] = {"latLng": point} if point else {}
        if "language_code" in c:
            w.context["place"]["languageCode"] = c.pop("language_code")
    return {"enableWidget": c.pop("enable_widget")} if "enable_widget" in c else {}


tools.write("maps")(grouped("googleMaps", _write_maps))

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
    ("enablePromptInjectionDetection", "enable_prompt_injection_detection", bool),
)
_POLICIES = "disabledSafetyPolicies"


@tools.read("computerUse")
def read_computer(w: Node, r: Reader) -> Node:
    """Read the computer tool with its environment."""
    tool: Node = {"type": "computer"}
    environment = w.get("environment")
    if type(environment) is str and environment in _ENVIRONMENTS.reads:
        tool["environment"] = _ENVIRONMENTS.read(w.pop("environment"))
    for name, hub, kind in _COMPUTER:
        if type(w.get(name)) is kind:
            tool[hub] = w.pop(name)
    policies = w.get(_POLICIES)
    if type(policies) is list and all(type(word) is str and word == word.upper() for word in policies):
        tool["disabled_safety_policies"] = [word.lower() for word in w.pop(_POLICIES)]
        r.place(tool, ("disabled_safety_policies",), (_POLICIES,))
    return tool


def _write_computer(c: Node, w: Writer) -> Node | None:
    if not has_screens(w):
        return None
    wire: Node = {}
    if is_desktop(c.get("environment")):
        wire["environment"] = _ENVIRONMENTS.write("desktop")
        c["environment"] = Fated("approximated", "sent as a desktop")
    elif lookup(_ENVIRONMENTS.writes, c.get("environment")):
        wire["environment"] = _ENVIRONMENTS.write(c.pop("environment"))
    elif w.crosses and c.get("environment") is None:
        wire["environment"] = _ENVIRONMENTS.write("browser")
        w.added(wire, "environment", "the API demands one")
    wire.update({name: c.pop(hub) for name, hub, kind in _COMPUTER if type(c.get(hub)) is kind})
    policies = c.get("disabled_safety_policies")
    if type(policies) is list and all(type(word) is str for word in policies):
        wire[_POLICIES] = [word.upper() for word in c.pop("disabled_safety_policies")]
    return wire


tools.write("computer", "computer_use_preview")(grouped("computerUse", _write_computer))
tools.cannot("computer computer_use_preview", NO_SCREENS)

_STORES = "fileSearchStores/"


@tools.read("fileSearch")
def read_file_search(w: Node, r: Reader) -> Node:
    """Read the file search tool."""
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
    if "fileSearch" in w.dialect.get("lacks", ()) and w.source not in (None, w.protocol):
        return None
    return {name: c.pop(hub) for name, hub, kind in _FILE_SEARCH if type(c.get(hub)) is kind}


tools.write("file_search")(grouped("fileSearch", _write_file_search))
tools.cannot("file_search", "its stores are another provider's, or not to be had on the cloud platform")


@tools.read(SERVERS)
def read_server(w: Node, r: Reader) -> Node:
    """Read one MCP server."""
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
    headers = as_header(c, w) if w.crosses else None
    transport = {name: c.pop(hub) for name, hub in (("url", "server_url"), ("headers", "headers")) if hub in c}
    if headers is not None:
        transport["headers"] = headers
    if transport:
        wire["streamableHttpTransport"] = transport
    return wire


tools.write("mcp")(grouped(SERVERS, _write_server))

tools.cannot("image_generation", "images are generated by models that generate images, not by a tool")
tools.cannot("shell local_shell apply_patch", "there is no such tool: declare a function")
tools.cannot("namespace tool_search programmatic_tool_calling", "all tools are declared, each on its own")
