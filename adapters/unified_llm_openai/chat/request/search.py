"""A search of the web: an option of the request at OpenAI, and what the servers of dialects have instead.

There it may be one of the tools (`search_tool`). Both are read as the canonical tool.

https://platform.openai.com/docs/guides/tools-web-search
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from typing import Any

from unified_llm.engine.pairs.mapping import Owned, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..tools import tools

__all__ = ["OPTIONS", "SEARCHES", "is_declared", "read_declared", "read_options", "search_kinds", "write_options"]

Node = dict[str, Any]
Names = MappingABC[str, str]

SEARCHES = frozenset(("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"))
OPTIONS = "web_search_options"
_SIZE, _PLACE = "search_context_size", "user_location"
_TYPES: dict[str, type[Any]] = {
    _SIZE: str,
    _PLACE: dict,
    "filters.allowed_domains": list,
    "filters.blocked_domains": list,
}
_DECLARED = "declared"


def _tool(dialect: MappingABC[str, Any]) -> Names | None:
    """The search among the tools of a server."""
    own: Names | None = dialect.get("search_tool")
    return own if own is not None and "type" in own else None


def _inside(node: Node, key: str) -> Node | None:
    """The object under a key, to pop from; the node itself where there is no key."""
    if not key:
        return node
    if type(node.get(key)) is dict:
        return take(node, key)
    return node[key] if type(node.get(key)) is Owned else None


# ---- reading --------------------------------------------------------------------------------------------------------


def read_declared(wires: list[Any], found: list[Node], r: Reader) -> None:
    """Replace in `found` those tools that are a search at the server of the dialect."""
    own = _tool(r.dialect)
    if own is None:
        return
    for number, wire in enumerate(wires):
        if type(wire) is dict and wire.get("type") == own["type"]:
            w = {key: value for key, value in wire.items() if key != "type"}
            found[number] = tool = _read(w, own, r)
            r.form(tool, _DECLARED, True)
            r.keep(tool, w)
            r.made(tool, wire)


def read_options(w: Node, r: Reader) -> Node:
    """Pop the option of the request."""
    options = w.pop(OPTIONS)
    rest = Owned(options)
    tool: Node = {"type": "web_search", **{key: rest.pop(key) for key in (_SIZE,) if key in rest}}
    if rest.get(_PLACE) and type(rest[_PLACE]) is dict:
        location = take(rest, _PLACE)
        place: Node = {key: location.pop(key) for key in ("type",) if key in location}
        if type(location.get("approximate")) is dict:
            place.update(location.pop("approximate"))
        tool[_PLACE] = place
    r.form(tool, OPTIONS, True)
    if rest:
        r.keep(tool, rest)
    return r.made(tool, options)


def _read(w: Node, own: Names, r: Reader) -> Node:
    """The canonical tool, with what `w` has under the names of the dialect."""
    tool: Node = {"type": "web_search"}
    for hub, path in own.items():
        head, _, key = path.rpartition(".")
        inner = _inside(w, head)
        if hub not in _TYPES or inner is None or type(inner.get(key)) is not _TYPES[hub]:
            continue
        outer, _, name = hub.rpartition(".")
        (tool.setdefault(outer, {}) if outer else tool)[name] = inner.pop(key)
        r.place(tool, tuple(hub.split(".")), tuple(path.split(".")))
    return tool


# ---- writing --------------------------------------------------------------------------------------------------------


def search_kinds(w: Writer) -> tuple[str, ...]:
    """The kind of tool that a search is at the server."""
    own = _tool(w.dialect)
    return (own["type"],) if own is not None else ()


def is_declared(tool: Node, w: Writer) -> bool:
    """Whether a tool is a search that the server has among the tools."""
    if tool.get("type") not in SEARCHES or _tool(w.dialect) is None:
        return False
    return not w.same or bool(w.form(tool, _DECLARED))


def _write(c: Node, own: Names) -> Node:
    """What the dialect has a name for."""
    out: Node = {}
    for hub, path in own.items():
        outer, _, name = hub.rpartition(".")
        inner = _inside(c, outer)
        if hub not in _TYPES or inner is None or name not in inner:
            continue
        head, _, key = path.rpartition(".")
        (out.setdefault(head, {}) if head else out)[key] = inner.pop(name)
    return out


@tools.write(*sorted(SEARCHES))
def write_declared(c: Node, w: Writer) -> Node | None:
    """Write a search where the server has it among the tools."""
    own = _tool(w.dialect)
    if own is None or not is_declared({**c, "type": "web_search"}, w):
        return None
    return {"type": own["type"], **_write(c, own)}


tools.cannot(" ".join(sorted(SEARCHES)), "one web search at most")


def write_options(c: Node, w: Writer) -> Node:
    """Write the option of the request."""
    options: Node = {key: c.pop(key) for key in (_SIZE,) if key in c}
    if type(c.get(_PLACE)) is dict:
        place = {key: value for key, value in c.pop(_PLACE).items() if value is not None or not w.crosses}
        added = w.crosses and "type" not in place
        location: Node = {"type": place.pop("type", "approximate")} if added or "type" in place else {}
        options[_PLACE] = {**location, "approximate": place}
        if added:
            w.added(options[_PLACE], "type", "there is one type")
    elif _PLACE in c:
        options[_PLACE] = c.pop(_PLACE)
    return options
