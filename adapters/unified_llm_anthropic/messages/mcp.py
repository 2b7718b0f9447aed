"""MCP servers: a list of their own on the wire, with a toolset among the tools; one tool each in the canonical model.

Server and toolset are one canonical tool where they belong together one to one and stand in the same order, and two
otherwise. The tools that a server offers are in the toolset's configuration, or by the server's where it is old.

https://docs.claude.com/en/docs/agents-and-tools/mcp-connector
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.mcp_servers import as_token, label_of
from unified_llm.foundation.json_codec import dump_text

from .parts.content import move_cache_out, own_born
from .tools import tools
from .values.tables import HOSTED_NAMES

__all__ = ["UNDECLARED", "is_declared", "output_text", "read_servers", "servers", "write_tools"]

Node = dict[str, Any]

servers = Mapping("anthropic-messages mcp servers")
UNDECLARED = "the API refuses calls of an MCP server that the request does not declare"


@servers.read("url")
def read_server(w: Node, r: Reader) -> Node:
    tool: Node = {"type": "mcp", "server_label": w.pop("name"), "server_url": w.pop("url")}
    if "authorization_token" in w:
        tool["authorization"] = w.pop("authorization_token")
    if type(w.get("tool_configuration")) is dict:
        own = take(w, "tool_configuration")
        if type(own.get("allowed_tools")) in (list, type(None)) and "allowed_tools" in own:
            tool["allowed_tools"] = own.pop("allowed_tools")
        if "enabled" in own:
            tool["enabled"] = own.pop("enabled")
        r.form(tool, "configuration", True)
    return tool


@servers.write("mcp")
def write_server(c: Node, w: Writer) -> Node | None:
    if type(c.get("server_url")) is not str:
        return None
    label = c.pop("server_label", None)
    wire: Node = {"type": "url", "name": label, "url": c.pop("server_url")}
    if label is None:
        wire["name"] = label_of(wire["url"])
        w.added(wire, "name", "required by the API")
    token = as_token(c) if not own_born(w) else None
    if token is not None:
        wire["authorization_token"] = token
    elif "authorization" in c:
        wire["authorization_token"] = c.pop("authorization")
    if w.form(c, "configuration"):
        wire["tool_configuration"] = {k: c.pop(k) for k in ("allowed_tools", "enabled") if k in c}
    elif w.form(c, "toolset") or not own_born(w):
        w.context["toolset"] = _toolset(c, w)
        move_cache_out(c, w.context["toolset"], w)
    if c.get("require_approval") == "never":
        c["require_approval"] = Fated("approximated", "this protocol has no approvals")
    return wire


def _toolset(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "mcp_toolset", "mcp_server_name": None}
    allowed = c.get("allowed_tools")
    if type(allowed) is list and all(type(name) is str for name in allowed):
        wire["default_config"] = {"enabled": False}
        wire["configs"] = {name: {"enabled": True} for name in c.pop("allowed_tools")}
    if type(c.get("defer_loading")) is bool:
        wire.setdefault("default_config", {})["defer_loading"] = c.pop("defer_loading")
    return wire


def read_servers(w: Node, node: Node, r: Reader) -> None:
    """Read `mcp_servers` to tools, joined with their toolsets where that can be undone."""
    wires = w["mcp_servers"]
    if type(wires) is not list or not wires or any(type(x) is not dict or x.get("type") != "url" for x in wires):
        return
    made = r.nodes(servers, w.pop("mcp_servers"))
    given = node.get("tools")
    listed = given if type(given) is list else []
    sets = [tool for tool in listed if tool["type"] == "mcp_toolset"]
    labels = [_label(tool, r) for tool in sets]
    if sets and labels == [server.get("server_label") for server in made] and len(set(labels)) == len(labels):
        said = [_settings(toolset["extra"][r.protocol]["rest"]) for toolset in sets]
        if not any(found is None or found.keys() & server.keys() for found, server in zip(said, made)):
            places = {id(tool): place for place, tool in enumerate(listed)}
            for toolset, server, found in zip(sets, made, said):
                place = places[id(toolset)]
                for key, value in (found or {}).items():
                    server[key] = value
                    r.place(server, (key,), (..., "tools", place, *_SAID[key]))
                r.form(server, "toolset", True)
                listed[place] = server
            return
    node["tools"] = [*listed, *made]
    if given is None:
        r.form(node, "tools", "null" if "tools" in r.doc else "absent")


def _label(toolset: Node, r: Reader) -> Any:
    return toolset["extra"][r.protocol]["rest"].get("mcp_server_name")


# A toolset contains which tools are allowed, and which are loaded later.
_SAID: dict[str, tuple[str, ...]] = {"allowed_tools": (), "defer_loading": ("default_config", "defer_loading")}


def _settings(rest: Node) -> Node | None:
    """The canonical settings a toolset's configuration amounts to; None where it has more settings."""
    if rest.keys() == {"mcp_server_name"}:
        return {}
    default, configs = rest.get("default_config"), rest.get("configs")
    if rest.keys() - {"mcp_server_name", "default_config", "configs"} or type(default) is not dict or not default:
        return None
    said = {**default}
    found: Node = {"defer_loading": said.pop("defer_loading")} if type(said.get("defer_loading")) is bool else {}
    if said == {} and "configs" not in rest:
        return found
    if said != {"enabled": False} or type(configs) is not dict or not configs:
        return None
    if any(config != {"enabled": True} for config in configs.values()):
        return None
    return {"allowed_tools": list(configs), **found}


def _hosted_name(kind: Any) -> str | None:
    """The name that a hosted tool's calls go by, which no other tool of a request may have."""
    if type(kind) is not str:
        return None
    return HOSTED_NAMES.get("web_search" if kind.startswith("web_search_") else kind)


def write_tools(listed: list[Node], w: Writer) -> list[Any]:
    """The tools, those of MCP servers as toolsets; their servers are a list of its own."""
    done: list[Any] | None = w.context.pop("tools written", None)
    if done is not None:
        return done
    if all(tool.get("type") == "function" for tool in listed):
        return w.nodes(tools, listed)
    out: list[Node] = []
    found: list[Node] = w.context.setdefault("servers", [])
    taken: set[str] = set()
    for tool in listed:
        if tool.get("type") != "mcp" and w.form(tool, "native") != servers.name:
            name = _hosted_name(tool.get("type"))
            if name in taken and not own_born(w):
                w.drop(tool, f"another tool goes by the name {name!r}")
                continue
            written = w.nodes(tools, (tool,))
            if name is not None and written:
                taken.add(name)
            out += written
            continue
        w.context.pop("toolset", None)
        server = w.nodes(servers, (tool,))
        found += server
        toolset = w.context.pop("toolset", None)
        if server and toolset is not None:
            toolset["mcp_server_name"] = server[0]["name"]
            out.append(toolset)
    return out


# ---- calls of servers -----------------------------------------------------------------------------------------------


def is_declared(call: Node, w: Writer) -> bool:
    """Whether the server of an MCP call is among those of the request, whose tools are written before its messages."""
    return any(server["name"] == call.get("server_label") for server in w.context.get("servers", ()))


def output_text(c: Node, w: Writer) -> str:
    """What a call gave as one text; parts of another kind are reported."""
    output = c["output"]
    c["type"] = Fated("approximated", "sent as text")
    if type(output) is not list:
        c["output"] = Fated("approximated", "sent as text")
        return output if type(output) is str else dump_text(output)
    del c["output"]
    texts = []
    for part in output:
        if type(part) is dict and type(part.get("text")) is str:
            texts.append(w.said(part, "sent as text"))
        else:
            w.drop(part, UNDECLARED)
    return "\n".join(texts)
