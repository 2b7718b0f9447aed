"""A search of the web: an option of the request at OpenAI, and what the servers of dialects have instead.

There it may be one of the tools (`search_tool`), an entry of `plugins` (`search_plugin`), or the end of a model's name
(`search_suffix`). Each is read as the canonical tool, and goes back to where it was; to all others it is the tool that
they have.

https://platform.openai.com/docs/guides/tools-web-search
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Owned, are_objects, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ...effort import model_of
from ..tools import tools

__all__ = ["Searches", "read_declared", "read_elsewhere", "read_options", "search_kinds"]

Node = dict[str, Any]
Names = MappingABC[str, str]

_SEARCHES = frozenset(("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"))
_OPTIONS = "web_search_options"
_SIZE, _PLACE = "search_context_size", "user_location"
_TYPES: dict[str, type[Any]] = {
    _SIZE: str,
    _PLACE: dict,
    "filters.allowed_domains": list,
    "filters.blocked_domains": list,
}
# Where a search was, as a marker of form; and that what is beside it is the server's own.
_DECLARED, _PLUGIN, _SUFFIX, _SERVER = "declared", "plugin", "suffix", "server"
_UNKNOWN = "the server has no such setting of a search"


def _tool(dialect: MappingABC[str, Any]) -> Names | None:
    """The search among the tools of a server."""
    own: Names | None = dialect.get("search_tool")
    return own if own is not None and "type" in own else None


def _plugin(dialect: MappingABC[str, Any]) -> Names | None:
    """The search among the plugins of a server."""
    own: Names | None = dialect.get("search_plugin")
    return own if own is not None and "id" in own else None


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
    options = w.pop(_OPTIONS)
    rest = Owned(options)
    tool: Node = {"type": "web_search", **{key: rest.pop(key) for key in (_SIZE,) if key in rest}}
    if rest.get(_PLACE) and type(rest[_PLACE]) is dict:
        location = take(rest, _PLACE)
        place: Node = {key: location.pop(key) for key in ("type",) if key in location}
        if type(location.get("approximate")) is dict:
            place.update(location.pop("approximate"))
        tool[_PLACE] = place
    r.form(tool, _OPTIONS, True)
    if "search_tool" in r.dialect:
        r.form(tool, _SERVER, True)
    if rest:
        r.keep(tool, rest)
    return r.made(tool, options)


def read_elsewhere(w: Node, c: Node, r: Reader) -> None:
    """Read a search that is requested by a plugin, or by the name of the model; not beside another one."""
    declared = c.get("tools")
    if type(declared) is list and any(tool.get("type") in _SEARCHES for tool in declared):
        return
    tool = _read_plugin(w, r) or _read_suffix(r)
    if tool is not None:
        if "tools" in c and not declared:
            r.form(c, "tools", "empty" if declared == [] else "null")
        c["tools"] = [*(declared or ()), tool]


def _read_plugin(w: Node, r: Reader) -> Node | None:
    own, wires = _plugin(r.dialect), w.get("plugins")
    if own is None or not are_objects(wires) or not all(wires):
        return None
    names = (at for at, each in enumerate(wires) if each.get("id") == own["id"] and each.get("enabled") is not False)
    if (number := next(names, None)) is None:
        return None
    entry = take_all(w, "plugins")[number]
    del entry["id"]
    tool = _read(entry, own, r)
    r.form(tool, _PLUGIN, number)
    return r.made(tool, wires[number])


def _read_suffix(r: Reader) -> Node | None:
    suffix, model = r.dialect.get("search_suffix"), r.doc.get("model")
    if suffix is None or type(model) is not str or not model.endswith(suffix):
        return None
    tool: Node = {"type": "web_search"}
    r.form(tool, _SUFFIX, True)
    return r.made(tool, r.doc, "model")


def _read(w: Node, own: Names, r: Reader) -> Node:
    """The canonical tool, with what `w` has under the names of the dialect."""
    tool: Node = {"type": "web_search"}
    r.form(tool, _SERVER, True)
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


class Searches:
    """The searches of one request being written: each goes to its place in `wire`, or to the other tools."""

    def __init__(self, c: Node, wire: Node, w: Writer) -> None:
        self.c, self.wire, self.w = c, wire, w
        # Whether any of them is beside the other tools.
        self.placed = False

    def places(self, tool: Node) -> bool:
        """Whether a tool is a search that was beside the other tools, and is there again."""
        w = self.w
        if tool.get("type") not in _SEARCHES or "extra" not in tool:
            return False
        found, number = False, w.form(tool, _PLUGIN)
        if w.form(tool, _SUFFIX) and "search_suffix" in w.dialect:
            found = str(w.model or self.c.get("model")).endswith(w.dialect["search_suffix"])
        elif number is not None and (own := _plugin(w.dialect)) is not None:
            self.wire["plugins"] = self._plugins(w.piece(partial(_write_plugin, own), tool), number)
            found = True
        elif number is not None:
            self._withhold(number)
        self.placed = self.placed or found
        return found

    def writes(self, tool: Node) -> bool:
        """Whether a tool is the one search that is an option of the request, and write it."""
        if tool.get("type") not in _SEARCHES or _OPTIONS in self.wire:
            return False
        self.wire[_OPTIONS] = self.w.piece(partial(_write_options, tool), tool)
        if tool["type"] != "web_search":
            self.w.report(tool, ("type",), "approximated", f"sent as {_OPTIONS}")
        self.placed = True
        return True

    def is_refused(self, tool: Node) -> bool:
        """Whether a tool is a search, and the model does not search in Chat."""
        return tool.get("type") in _SEARCHES and self.w.crosses and "web_search" in model_of(self.w).refuses

    def is_declared(self, tool: Node) -> bool:
        """Whether a tool is a search that the server has among the tools."""
        return tool.get("type") in _SEARCHES and _is_declared(tool, self.w)

    def _plugins(self, entry: Node, number: int) -> list[Node]:
        """The entry, with gaps for the others, which the engine fills."""
        rest = self._rest().get("plugins")
        size = len(rest) if type(rest) is list and number < len(rest) else 1
        return [entry if at == number or size == 1 else {} for at in range(size)]

    def _rest(self) -> Node:
        found = ((self.c.get("extra") or {}).get(self.w.protocol) or {}).get("rest")
        return found if type(found) is dict else {}

    def _withhold(self, number: int) -> None:
        """Leave out what only the plugin has."""
        w, rest = self.w, self._rest()
        entries = rest.get("plugins")
        if not are_objects(entries) or number >= len(entries):
            return
        for key in entries[number]:
            w.report(w.doc, ("extra", w.protocol, "rest", "plugins", number, key), "lost", _UNKNOWN)
        others = [each for at, each in enumerate(entries) if at != number]
        rest = {key: value for key, value in rest.items() if key != "plugins"} | ({"plugins": others} if others else {})
        self.c["extra"] = {**self.c["extra"], w.protocol: {**self.c["extra"][w.protocol], "rest": rest}}


def _is_declared(tool: Node, w: Writer) -> bool:
    if _tool(w.dialect) is None:
        return False
    return not w.same or bool(w.form(tool, _DECLARED) or w.form(tool, _SUFFIX))


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


@tools.write(*sorted(_SEARCHES))
def write_declared(c: Node, w: Writer) -> Node | None:
    """Write a search where the server has it among the tools."""
    own = _tool(w.dialect)
    if own is None or not _is_declared(c, w):
        return None
    return {"type": own["type"], **_write(c, own)}


tools.cannot(" ".join(sorted(_SEARCHES)), "one web search at most")


def _write_plugin(own: Names, c: Node, w: Writer) -> Node:
    return {"id": own["id"], **_write(c, own)}


def _write_options(tool: Node, c: Node, w: Writer) -> Node:
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
    _leave_own(tool, c, w)
    return options


def _leave_own(tool: Node, c: Node, w: Writer) -> None:
    """Leave out what another server of the protocol has beside a search."""
    drawer = (c.get("extra") or {}).get(w.protocol) or {}
    if w.same or type(drawer.get("rest")) is not dict or not w.form(c, _SERVER):
        return
    for key, value in drawer["rest"].items():
        for inner in [(each,) for each in value] if type(value) is dict and value else [()]:
            w.report(tool, ("extra", w.protocol, "rest", key, *inner), "lost", _UNKNOWN)
    c["extra"] = {**c["extra"], w.protocol: {**drawer, "rest": {}}}
