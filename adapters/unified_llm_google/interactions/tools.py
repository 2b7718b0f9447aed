"""Tools and the choice among them, each read and written side by side.

Hosted tools go by Google's names here and by Responses' names in the canonical model. A custom tool, which Interactions
does not have, is declared as a function with one string argument, and its calls are sent as calls of that function.

https://ai.google.dev/gemini-api/docs/function-calling
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, are_objects, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import are_searched, as_function, load_at_once
from unified_llm.engine.shared.mcp_servers import as_header

from ..constants import NO_SCREENS, has_screens, is_desktop
from ..renaming import named, renamed
from .turns.fast_path import write_usual_functions
from .values.tables import MODES, SEARCHES

__all__ = ["read_choice", "tools", "write_choice", "write_tools"]

Node = dict[str, Any]

tools = Mapping("google-interactions tools")

tools.same("function", "name description parameters defer_loading short_description")
tools.same("tool_search", "execution name description parameters")


@tools.write("custom")
def write_custom(c: Node, w: Writer) -> Node:
    wire = {"type": "function", **as_function(c, w)}
    c["type"] = Fated("emulated", "custom tool sent as a function with one string")
    return wire


def _borrowed(c: Node, w: Writer, type_: str) -> None:
    """A dated or older name of a hosted tool is not distinguished here."""
    if w.context.get("tool", type_) != type_:
        c["type"] = Fated("approximated", f"declared as {type_}")


@tools.read("google_search")
def read_search(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "web_search"}
    if type(w.get("search_types")) is list:
        tool["search_content_types"] = [SEARCHES.read(kind) for kind in w.pop("search_types")]
        r.place(tool, ("search_content_types",), ("search_types",))
    return tool


@tools.write("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11")
def write_search(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "google_search"}
    if type(c.get("search_content_types")) is list:
        wire["search_types"] = [SEARCHES.write(kind) for kind in c.pop("search_content_types")]
    _borrowed(c, w, "web_search")
    return wire


@tools.read("code_execution")
def read_code(w: Node, r: Reader) -> Node:
    return {"type": "code_interpreter"}


@tools.write("code_interpreter")
def write_code(c: Node, w: Writer) -> Node:
    return {"type": "code_execution"}


@tools.read("url_context")
def read_fetch(w: Node, r: Reader) -> Node:
    return {"type": "url_fetch"}


@tools.write("url_fetch", "web_fetch")
def write_fetch(c: Node, w: Writer) -> Node:
    _borrowed(c, w, "url_fetch")
    return {"type": "url_context"}


_MAPS = ("latitude", "longitude", "enable_widget")


@tools.read("google_maps")
def read_maps(w: Node, r: Reader) -> Node:
    return {"type": "maps", **{key: w.pop(key) for key in _MAPS if key in w}}


@tools.write("maps")
def write_maps(c: Node, w: Writer) -> Node:
    return {"type": "google_maps", **{key: c.pop(key) for key in _MAPS if key in c}}


_FILES = (
    ("file_search_store_names", "vector_store_ids"),
    ("metadata_filter", "filters"),
    ("top_k", "max_num_results"),
)
_STORES = "fileSearchStores/"


@tools.read("file_search")
def read_files(w: Node, r: Reader) -> Node:
    return {"type": "file_search", **{hub: w.pop(key) for key, hub in _FILES if key in w}}


@tools.write("file_search")
def write_files(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "file_search"}
    for key, hub in _FILES:
        if hub not in c or (hub == "filters" and type(c[hub]) is dict):
            continue
        if hub == "vector_store_ids" and w.source not in (None, w.protocol) and not _ours(c[hub]):
            c[hub] = Fated("lost", "foreign")  # a store of another provider
            continue
        wire[key] = c.pop(hub)
    return wire


def _ours(stores: Any) -> bool:
    return type(stores) is list and all(type(name) is str and name.startswith(_STORES) for name in stores)


_SOURCES = ("vertex_ai_search", "rag_store", "exa_ai_search", "parallel_ai_search")
_HUBS = {"vertex_ai_search_config": "data_store_config"}
_CONFIGS = {
    "vertex_ai_search_config": named("datastores engine"),
    "rag_store_config": named(
        "similarity_top_k vector_distance_threshold",
        rag_resources=named("rag_corpus rag_file_ids"),
        rag_retrieval_config=named(
            "top_k",
            filter=named("metadata_filter vector_distance_threshold vector_similarity_threshold"),
            hybrid_search=named("alpha"),
            ranking=named("model_name ranking_config", rank_service=named("model_name")),
        ),
    ),
    **dict.fromkeys(("exa_ai_search_config", "parallel_ai_search_config"), named("api_key custom_config")),
}


@tools.read("retrieval")
def read_retrieval(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "retrieval"}
    for key in ("retrieval_types", *_CONFIGS):
        if key in w:
            hub = _HUBS.get(key, key)
            tool[hub] = w.pop(key)
            r.place(tool, (hub,), (key,))
    return tool


@tools.write("retrieval")
def write_retrieval(c: Node, w: Writer) -> Node | None:
    wire: Node = {"type": "retrieval"}
    types = c.get("retrieval_types")
    if w.crosses and not (type(types) is list and all(each in _SOURCES for each in types)):
        return None
    for key in ("retrieval_types", *_CONFIGS):
        hub = _HUBS.get(key, key)
        if hub in c and (type(c[hub]) is not dict or not w.crosses):
            wire[key] = c.pop(hub)
        elif hub in c:
            own = take(c, hub)
            _tell_stores(own)
            wire[key] = renamed(own, _CONFIGS[key])
            ranking = (wire[key].get("rag_retrieval_config") or {}).get("ranking")
            if type(ranking) is dict and "ranking_config" not in ranking:
                ranking["ranking_config"] = "rank_service"
                w.added(ranking, "ranking_config", "required by the API")
    return wire


def _tell_stores(own: Node) -> None:
    """Stores that are searched without a filter of their own are a list of names here."""
    stores = own.get("data_store_specs")
    if are_objects(stores) and all(store.keys() == {"data_store"} for store in stores) and "datastores" not in own:
        own["datastores"] = [store["data_store"] for store in own.pop("data_store_specs")]


tools.cannot("retrieval", "a source that is not searched here")

_SCREEN = (
    ("environment", "environment"),
    ("excluded_predefined_functions", "excluded_functions"),
    ("enable_prompt_injection_detection", "enable_prompt_injection_detection"),
    ("disabled_safety_policies", "disabled_safety_policies"),
)


@tools.read("computer_use")
def read_computer(w: Node, r: Reader) -> Node:
    return {"type": "computer", **{hub: w.pop(key) for key, hub in _SCREEN if key in w}}


@tools.write("computer", "computer_use_preview")
def write_computer(c: Node, w: Writer) -> Node | None:
    if not has_screens(w):
        return None
    _borrowed(c, w, "computer")
    wire = {"type": "computer_use", **{key: c.pop(hub) for key, hub in _SCREEN if hub in c}}
    if is_desktop(wire.get("environment")) and w.source != w.protocol:
        wire["environment"], c["environment"] = "desktop", Fated("approximated", "sent as a desktop")
    return wire


tools.cannot("computer computer_use_preview", NO_SCREENS)

_SERVER = (
    ("name", "server_label"),
    ("url", "server_url"),
    ("headers", "headers"),
    ("defer_loading", "defer_loading"),
)


@tools.read("mcp_server")
def read_mcp(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "mcp", **{hub: w.pop(key) for key, hub in _SERVER if key in w}}
    allowed = w.get("allowed_tools")
    if type(allowed) is list and len(allowed) == 1 and type(allowed[0]) is dict and "tools" in allowed[0]:
        if type(allowed[0]["tools"]) is list and allowed[0].get("mode") in (None, "auto"):
            own = take_all(w, "allowed_tools")[0]
            tool["allowed_tools"] = own.pop("tools")
            if own.get("mode") == "auto":  # the default: it restricts nothing beside the names
                r.form(tool, "allowed_mode", own.pop("mode"))
    return tool


@tools.write("mcp")
def write_mcp(c: Node, w: Writer) -> Node | None:
    if type(c.get("server_url")) is not str and w.source not in (None, w.protocol):
        return None
    headers = as_header(c, w) if w.crosses else None
    wire: Node = {"type": "mcp_server", **{key: c.pop(hub) for key, hub in _SERVER if hub in c}}
    if headers is not None:
        wire["headers"] = headers
    allowed = c.get("allowed_tools")
    if type(allowed) is list:
        wire["allowed_tools"] = [{"tools": c.pop("allowed_tools")}]
    elif type(allowed) is dict and "tool_names" in allowed:
        wire["allowed_tools"] = [{"tools": take(c, "allowed_tools").pop("tool_names")}]
    if "allowed_tools" in wire and w.form(c, "allowed_mode"):
        wire["allowed_tools"][0]["mode"] = "auto"
    return wire


tools.cannot("mcp", "Interactions requires the URL of an MCP server")
tools.cannot("namespace programmatic_tool_calling", "Interactions declares all tools, each on its own")
tools.cannot("shell local_shell apply_patch", "Interactions has no such tool")
tools.cannot("image_generation", "images are requested by response_format")


def write_tools(declared: list[Node], w: Writer, found: bool = False) -> list[Any]:
    """The tools, one after the other: a pair may need the name under which a tool came.

    What a search `found` may be deferred; what a request declares, only where a tool searches for it.
    """
    usual = write_usual_functions(declared, w)
    if usual is not None:
        return usual
    out: list[Any] = []
    searched = found or not w.crosses or are_searched(declared)
    for tool in declared:
        w.context["tool"] = tool.get("type")
        written = w.nodes(tools, (tool,))
        if not searched:
            load_at_once(tool, written, w)
        out += written
    return out


# ---- the choice -----------------------------------------------------------------------------------------------------


def read_choice(w: Node) -> Any:
    """The canonical choice of the wire's `tool_choice`, popped from `w`; a single allowed name is that function."""
    choice = w["tool_choice"]
    if choice is None or type(choice) is str:
        return MODES.read(w.pop("tool_choice"))
    if type(choice) is not dict or type(choice.get("allowed_tools")) is not dict:
        raise IllTyped("tool_choice")
    names = choice["allowed_tools"].get("tools")
    if names is not None and not (type(names) is list and all(type(name) is str for name in names)):
        raise IllTyped("tools")
    allowed = take(take(w, "tool_choice"), "allowed_tools")
    if names is not None and len(names) == 1 and allowed.get("mode") == "any":
        del allowed["mode"]
        return {"type": "function", "name": allowed.pop("tools")[0]}
    out: Node = {"type": "allowed_tools"}
    if "mode" in allowed:
        out["mode"] = MODES.read(allowed.pop("mode"))
    if names is not None:
        out["tools"] = [{"type": "function", "name": name} for name in allowed.pop("tools")]
    return out


def write_choice(c: Node, wire: Node) -> None:
    """The inverse: pops `tool_choice` from `c` into `wire`, or leaves it where there is no form for it."""
    choice = c["tool_choice"]
    if choice is None or type(choice) is str:
        wire["tool_choice"] = MODES.write(c.pop("tool_choice"))
        return
    kind = choice.get("type")
    if kind in ("function", "custom") and type(choice.get("name")) is str:
        own = take(c, "tool_choice")
        wire["tool_choice"] = {"allowed_tools": {"mode": "any", "tools": [own.pop("name")]}}
        del own["type"]
        if kind == "custom":
            own["type"] = Fated("emulated", "the custom tool is a function here")
    elif kind == "allowed_tools":  # a hosted tool cannot be chosen
        own = take(c, "tool_choice")
        del own["type"]
        allowed: Node = {"mode": MODES.write(own.pop("mode"))} if "mode" in own else {}
        if type(own.get("tools")) is list:
            allowed["tools"] = []
            for tool in take_all(own, "tools"):
                if tool.get("type") in ("function", "custom") and "name" in tool:
                    allowed["tools"].append(tool.pop("name"))
                    del tool["type"]
        wire["tool_choice"] = {"allowed_tools": allowed}
