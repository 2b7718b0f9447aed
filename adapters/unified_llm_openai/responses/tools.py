"""Tools of the Responses API: the canonical shapes, key for key.

`tools` is the wire as it is; `foreign_tools` writes what another protocol declared, where the API's own defaults have
to be written: a function without `strict` would be made strict here, and calls of an MCP server would wait for an
approval, which was not meant.

https://platform.openai.com/docs/guides/tools
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping, take
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.mcp_servers import label_of

from .values.tables import REFUSES, TOOLS

__all__ = ["foreign_tools", "tools"]

Node = dict[str, Any]

tools = Mapping("openai-responses tools")
foreign_tools = Mapping("openai-responses tools")

for _type, _keys in TOOLS.items():
    tools.same(_type, _keys)
    if _type not in (
        "function",
        "web_search",
        "file_search",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "mcp",
    ):
        foreign_tools.same(_type, _keys)
for _family in (tools, foreign_tools):
    _family.same("namespace", "name description", tools=_family)
    for _type in "url_fetch web_fetch maps retrieval".split():
        _family.cannot(_type, REFUSES[_type])


@foreign_tools.write("function")
def write_function(c: Node, w: Writer) -> Node:
    wire = {"type": "function", **{key: c.pop(key) for key in TOOLS["function"].split() if key in c}}
    wire.setdefault("parameters", None)
    if wire.get("strict") is None:
        wire["strict"] = False
        w.added(wire, "strict", "written because the target's default differs")
    return wire


@foreign_tools.write("web_search")
def write_web_search(c: Node, w: Writer) -> Node:
    wire = {"type": "web_search"}
    if "max_uses" in c and w.context.get("limited"):
        c["max_uses"] = Fated("approximated", "sent as max_tool_calls")
    if type(c.get("filters")) is dict:
        filters = take(c, "filters")
        if "allowed_domains" in filters:
            wire["filters"] = {"allowed_domains": filters.pop("allowed_domains")}  # type: ignore[assignment]
    wire.update({key: c.pop(key) for key in TOOLS["web_search"].split() if key in c and key != "filters"})
    return wire


@foreign_tools.write("code_interpreter")
def write_code_interpreter(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "code_interpreter"}
    wire.update({key: c.pop(key) for key in TOOLS["code_interpreter"].split() if key in c})
    if wire.get("container") is None:
        wire["container"] = {"type": "auto"}
        w.added(wire, "container", "required by the API")
    return wire


@foreign_tools.write("file_search")
def write_file_search(c: Node, w: Writer) -> Node | None:
    """Write a search of files; the API refuses one without stores, and conditions in another's language."""
    if w.crosses and not c.get("vector_store_ids"):
        return None
    keys = TOOLS["file_search"].split()
    if w.crosses and type(c.get("filters")) is str:
        keys.remove("filters")
    return {"type": "file_search", **{key: c.pop(key) for key in keys if key in c}}


foreign_tools.cannot("file_search", "the API requires vector_store_ids")


@foreign_tools.write("mcp")
def write_mcp(c: Node, w: Writer) -> Node | None:
    """The address of the server is required, and other protocols may have its name alone.

    By default the API requires an approval of every call, which other protocols do not have.
    """
    if not any(c.get(key) for key in ("server_url", "connector_id", "tunnel_id")):
        return None
    wire: Node = {"type": "mcp", **{key: c.pop(key) for key in TOOLS["mcp"].split() if key in c}}
    if wire.get("require_approval") is None:
        wire["require_approval"] = "never"
        w.added(wire, "require_approval", "written because the target's default differs")
    if wire.get("server_label") is None and w.crosses:
        wire["server_label"] = label_of(wire.get("server_url"))
        w.added(wire, "server_label", "required by the API")
    return wire


@foreign_tools.write("computer", "computer_use_preview")
def write_computer(c: Node, w: Writer) -> Node | None:
    """Write a computer, where a client gets its calls: with a size it is a tool of one action a call."""
    if w.crosses and not {"display_width", "display_height"} <= c.keys():
        return None
    kind = c["type"] if c.get("type") in TOOLS else "computer"
    return {"type": kind, **{key: c.pop(key) for key in TOOLS[kind].split() if key in c}}


foreign_tools.cannot("computer computer_use_preview", "its client has no calls of this kind")
