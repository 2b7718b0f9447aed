"""Tools that are given as data, in the shape of any installed protocol, as canonical tools.

The adapters' own readers interpret the data: each reads it inside an otherwise empty request, and the reading that
leaves least over is taken. So there is no second table of shapes, and an adapter from another package counts too. What
no reader understands is refused with the nearest name: no provider would be sent it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from ...engine.malformed import FAULTS
from ...engine.pairs.reading import Reader
from ...engine.registry import adapter, loaded, protocols
from ...foundation.errors import InvalidBody, UnifiedLLMError
from ...foundation.json_codec import copied, detached
from ...foundation.json_paths import pointer
from ...passes.convert import write
from ...types._tables import KEYS, TOOL_CHOICE_TYPES, TOOL_TYPES
from ..inputs.items import plain

__all__ = ["MODES", "check_choice", "choice_from", "declared_by_server", "near", "tools_from"]

Node = dict[str, Any]
Keys = tuple[Any, ...]

MODES = ("none", "auto", "required", "validated")
"""The choices of a tool that are words."""

_SAMPLE: Node = {"type": "function", "name": "name", "description": "text", "parameters": {"type": "object"}}
_SERVER: Node = {"type": "mcp", "server_label": "name", "server_url": "https://host/mcp", "authorization": "key"}
_SCHEMA_TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_VERSION = re.compile(r"_\d{8}$")


class _Surface(NamedTuple):
    """A protocol: a request of it with one function, the types (or keys) of its tools, and what only it has.

    `lists` are the other fields of requests that hold tools, each with one in it. `inside` is the field whose object
    has the `tools`; empty where the request has them itself.
    """

    request: Node
    types: frozenset[str]
    natives: Collection[str]
    lists: Mapping[str, list[Node]]
    inside: str = ""

    def tools(self) -> list[Node]:
        """Tools as the protocol writes them."""
        holder = self.request[self.inside] if self.inside else self.request
        return [*holder["tools"], *(each for nodes in self.lists.values() for each in nodes)]

    def with_tools(self, tools: list[Node]) -> Node:
        """The request with other tools."""
        return {**self.request, **({self.inside: {"tools": tools}} if self.inside else {"tools": tools})}

    def requests(self, tool: Node) -> Iterator[Node]:
        """Requests with a tool, in each field that can hold one."""
        yield self.with_tools([copied(tool)])
        bare = {name: value for name, value in self.request.items() if name != "tools"}
        for name in self.lists:
            yield {**bare, name: [copied(tool)]}


def tools_from(tool: Node, path: Keys) -> list[Node]:
    """The canonical tools for one tool in any shape; some shapes hold several.

    Raises `InvalidBody` for what is not a tool, below `path`.

    >>> tools_from({"type": "function", "function": {"name": "now"}}, ("tools", 0))
    [{'type': 'function', 'name': 'now'}]
    """
    try:
        tool = _own(tool)
    except InvalidBody as error:
        raise InvalidBody(pointer(path) + error.path, error.reason) from error
    kind = tool.get("type")
    if "extra" in tool and type(kind) is str:
        return [tool]  # read from a wire: what only its protocol has is in there
    if "type" not in tool and "name" in tool and tool.keys() <= KEYS["function"]:
        kind = "function"
        tool = {"type": kind, **tool}
    if type(kind) is str and kind in TOOL_TYPES and tool.keys() <= KEYS[kind]:
        return [_checked(tool, path)]
    readings = list(_readings(tool))
    best = min(readings, key=lambda each: len(_left(*each)), default=None)
    if best is not None:
        left = _left(*best)
        _refuse_misspelled(tool, left, path)
        for node in best[1]:
            _checked(node, path)
        return _joined(best[1], [nodes for protocol, nodes in readings if len(_left(protocol, nodes)) == len(left)])
    whole = _native(kind, tool)
    if whole is None:
        _refuse(tool, path)
    return whole


def declared_by_server(tool: Node) -> Node:
    """A tool as a server of the Model Context Protocol declares it, as a function; anything else as it is.

    https://modelcontextprotocol.io/specification/2025-06-18/server/tools
    """
    if "inputSchema" not in tool or "type" in tool:
        return tool
    told = tool.get("description") or tool.get("title")
    schemas = {"parameters": tool["inputSchema"], "output_schema": tool.get("outputSchema")}
    made = {"type": "function", "name": tool.get("name"), "description": told, **schemas}
    return {key: value for key, value in made.items() if value is not None}


def choice_from(choice: Node) -> Any:
    """The canonical choice of a tool for an object in any protocol's shape; the object itself where none reads it.

    >>> choice_from({"type": "function", "function": {"name": "now"}})
    {'type': 'function', 'name': 'now'}
    """
    kind = choice.get("type")
    fields = KEYS["allowed_tools"] if kind == "allowed_tools" else KEYS.get(f"tool_choice:{kind}", KEYS["tool_choice"])
    if kind in (*TOOL_CHOICE_TYPES, *TOOL_TYPES) and choice.keys() <= fields:
        return choice
    for protocol, surface in _surfaces(loaded()).items():
        node = _read(protocol, {**surface.request, "tool_choice": copied(choice)})
        found = None if node is None else node.get("tool_choice")
        if found in MODES:
            return found
        if type(found) is dict and found.get("type") in TOOL_CHOICE_TYPES and not _left(protocol, [found]):
            return found
    return choice


def check_choice(choice: Any, tools: Sequence[Node]) -> None:
    """Raise `InvalidBody` for a canonical choice that names none of the tools.

    >>> check_choice({"type": "function", "name": "now"}, [{"type": "function", "name": "now"}])
    """
    if type(choice) is not dict:
        return
    named: list[tuple[Keys, Any]]
    if choice.get("type") == "allowed_tools" and type(choice.get("tools")) is list:
        named = [(("tool_choice", "tools", place), each) for place, each in enumerate(choice["tools"])]
    else:
        named = [(("tool_choice",), choice)]
    for path, each in named:
        field = _NAMED_BY.get(str(each.get("type"))) if type(each) is dict else None
        known = [*_called(tools, field)] if field is not None and each.get(field) is not None else None
        if known is not None and each[field] not in known:
            called = ", ".join(map(str, known)) or "none"
            reason = f"{each[field]!r} is not a tool of this call: {called}{near(each[field], map(str, known))}"
            raise InvalidBody(pointer((*path, field)), reason)


# The field by which a choice names a tool.
_NAMED_BY = {"function": "name", "custom": "name", "mcp": "server_label"}


def _called(tools: Iterable[Any], field: str) -> Iterator[Any]:
    """What tools are called, those inside of others too."""
    for each in tools:
        if type(each) is dict:
            if each.get(field) is not None:
                yield each[field]
            if type(each.get("tools")) is list:
                yield from _called(each["tools"], field)


def near(given: Any, known: Iterable[str]) -> str:
    """ "; did you mean ...?" with the nearest of the known names, or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(given, list(known), 1) if isinstance(given, str) else []
    return f"; did you mean {found[0]!r}?" if found else ""


def _own(tool: Node) -> Node:
    """A copy of a tool as JSON, with that of the objects in it."""
    try:
        copy: Node = copied(tool)
    except InvalidBody:
        raise
    except (TypeError, ValueError):
        copy = detached(plain(tool))
    return copy


# ---- readings -------------------------------------------------------------------------------------------------------


@lru_cache(8)
def _surfaces(_: tuple[str, ...]) -> dict[str, _Surface]:
    """Every protocol whose requests have `tools`, or an object with them; found anew after a new adapter."""
    out: dict[str, _Surface] = {}
    for protocol in protocols():
        try:
            found = adapter(protocol)
            request, beside = (
                write({"model": "m", "input": "text", "tools": [each]}, protocol).value for each in (_SAMPLE, _SERVER)
            )
        except UnifiedLLMError:
            continue
        inside = _holder_of_tools(request)
        if inside is not None:
            mine = [each for each in found.mappings if each.name == f"{protocol} tools"]
            types = frozenset(name for each in mine for name in (*each.reads, *each.same_keys))
            lists = {name: value for name, value in beside.items() if name not in request and type(value) is list}
            out[protocol] = _Surface(request, types, found.natives, lists, inside)
    return out


def _holder_of_tools(request: Any) -> str | None:
    """The field of a request whose object has the `tools`; empty for the request itself, None without tools."""
    objects = {"": request, **request} if type(request) is dict else {}
    return next(
        (name for name, each in objects.items() if type(each) is dict and type(each.get("tools")) is list), None
    )


def _read(protocol: str, request: Node) -> Node | None:
    try:
        known = adapter(protocol)
        node = Reader(known).root(known.kinds["request"].read, request)
    except FAULTS:
        return None
    return node if type(node) is dict else None


def _readings(tool: Node) -> Iterator[tuple[str, list[Node]]]:
    """What the protocols understand the tool as."""
    for protocol, surface in _surfaces(loaded()).items():
        for request in surface.requests(tool):
            nodes = (_read(protocol, request) or {}).get("tools")
            if type(nodes) is list and nodes and all(each.get("type") in TOOL_TYPES for each in nodes):
                yield protocol, nodes


def _left(protocol: str, nodes: list[Node]) -> set[str]:
    """The keys that a reading did not understand, those inside them too."""
    rests = [each.get("extra", {}).get(protocol, {}).get("rest") for each in nodes]
    found: set[str] = set()
    for rest in rests:
        if type(rest) is dict:
            found |= rest.keys()
            rests += rest.values()
    return found


def _joined(best: list[Node], readings: list[list[Node]]) -> list[Node]:
    """The best reading, with what others that are as good keep for their own protocols."""
    for nodes in readings:
        if [_bare(each) for each in nodes] == [_bare(each) for each in best]:
            for mine, other in zip(best, nodes):
                if "extra" in other:
                    mine["extra"] = {**other["extra"], **mine.get("extra", {})}
    return best


def _bare(node: Node) -> Node:
    return {key: value for key, value in node.items() if key != "extra"}


def _native(kind: Any, tool: Node) -> list[Node] | None:
    """A tool that one protocol alone has, or a version of one that came later: kept whole for that protocol."""
    if type(kind) is not str:
        return None
    for protocol, surface in _surfaces(loaded()).items():
        stems = {_VERSION.sub("", each) for each in surface.types}
        if kind in surface.natives or (_VERSION.search(kind) and _VERSION.sub("", kind) in stems):
            nodes = (_read(protocol, surface.with_tools([tool])) or {}).get("tools")
            if type(nodes) is list and nodes and nodes[0].get("type") == kind:
                return nodes
    return None


# ---- what is refused ------------------------------------------------------------------------------------------------


def _checked(node: Node, path: Keys) -> Node:
    """Raise `InvalidBody` for a field of a canonical tool that is of the wrong type."""
    from pydantic import ValidationError

    from ...types.validation import first_problem, validate

    try:
        validate("tool", node, strict=True)
    except ValidationError as error:
        where, reason = first_problem(error, node)
        raise InvalidBody(pointer(path) + where, reason) from error
    schema = node.get("parameters")
    kind = schema.get("type") if node["type"] == "function" and type(schema) is dict else None
    if type(kind) is str and kind not in _SCHEMA_TYPES:
        reason = f"{kind!r} is not a type of JSON Schema{near(kind.lower(), _SCHEMA_TYPES)}"
        raise InvalidBody(pointer((*path, "parameters", "type")), reason)
    return node


def _refuse_misspelled(tool: Node, keys: Collection[str] | None, path: Keys) -> None:
    """Refuse the first of the keys (None: any key) that looks like a field which is not there, in the tool or below."""
    from difflib import get_close_matches

    surfaces = _surfaces(loaded()).values()
    natives = {name for each in surfaces for name in each.natives}
    fields = set(KEYS["function"]).union(*(_names(each.tools()) for each in surfaces))
    if type(tool.get("type")) is str:
        fields |= KEYS.get(tool["type"], frozenset())
    else:
        fields = fields.union(*(each.types for each in surfaces))
    fields |= {_snake(name) for name in fields}
    for where, key, holder in _fields(tool, fields):
        if (keys is None or key in keys) and key not in fields and key not in natives:
            found = get_close_matches(key, sorted(fields - holder.keys()), 1, 0.75)
            if found:
                raise InvalidBody(pointer((*path, *where)), f"unknown field {key!r}; did you mean {found[0]!r}?")


def _refuse(tool: Node, path: Keys) -> NoReturn:
    kind = tool.get("type")
    surfaces = _surfaces(loaded()).values()
    known = TOOL_TYPES.union(*(each.types for each in surfaces))
    if type(kind) is str and kind not in known:
        hint = near(kind, sorted(known))
        hint += " A" if hint else "; a"
        reason = (
            f"unknown tool type {kind!r}{hint} type that one provider alone has goes into extra_body={{'tools': []}}"
        )
        raise InvalidBody(pointer((*path, "type")), reason)
    _refuse_misspelled(tool, None, path)
    if type(kind) is str and kind in TOOL_TYPES:
        _checked(tool, path)
    shape = "{'type': 'function', 'name': ..., 'parameters': {...}}"
    raise InvalidBody(pointer(path), f"no protocol has such a tool; pass a function, or {shape}")


def _fields(tool: Node, fields: Collection[str]) -> Iterator[tuple[Keys, str, Node]]:
    """The keys of a tool and of the objects that hold its function: where each is, and in what."""
    for key, value in tool.items():
        yield (key,), key, tool
        if key not in fields or key == "parameters":
            continue
        for number, each in enumerate(value if type(value) is list else [value]):
            at = (key, number) if type(value) is list else (key,)
            for inner in each if type(each) is dict else ():
                yield (*at, inner), inner, each


def _names(value: Any) -> Iterator[str]:
    """The keys of a tool as a protocol writes it, above its schema."""
    for each in value if type(value) is list else [value]:
        for key, inner in each.items() if type(each) is dict else ():
            yield key
            if type(inner) is list or (type(inner) is dict and inner.get("type") != "object"):
                yield from _names(inner)


def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()
