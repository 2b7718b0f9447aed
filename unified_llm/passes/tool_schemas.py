"""A request made to fit what its target accepts: schemas lowered, names of tools and of outputs spelled as demanded.

What a target accepts is its adapter's declaration (`Adapter.schemas`), never a branch here. Only a request that crosses
from one protocol or dialect to another is looked at, and only where the two accept different things; what is accepted
is not touched. Each change is recorded at its place in the caller's document, and what the answer needs to be turned
back is left for the exchange (`restore_response.py`). The tools of a conversation come with each of its requests, so
what was done about a list of tools is remembered by its text.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from ..engine.adapter import Adapter, Surface
from ..engine.pairs.outline import Outline
from ..engine.pairs.writing import Writer
from ..foundation.json_codec import dump_text, load_text
from ..foundation.json_paths import follow
from . import schemas
from .schemas import Change, Lowered, NameRule, SchemaProfile, fit_name
from .schemas.merge import as_types
from .schemas.names import fits, fitted_names

__all__ = ["fit"]

Node = dict[str, Any]
Keys = tuple[Any, ...]

# The JSON text of a list of tools beyond which nothing is remembered: a bound on memory, with `maxsize` below.
REMEMBERED = 131_072

_USES = ("tools", "tools.strict", "tools.output", "output", "output.strict")
_NAMED = frozenset(("function", "custom"))
_CALLS = frozenset(("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output"))


class Lowering(NamedTuple):
    """What was done about one schema: where it stands, and what to record."""

    tool: int
    key: str
    changes: tuple[tuple[Keys, str, str], ...]


class Plan(NamedTuple):
    """What was done about the schemas of a list of tools.

    `made` is the JSON text of a list: for each of them its new form (null for no schema), and what turns it back.
    """

    lowered: tuple[Lowering, ...]
    made: bytes


def fit(request: Node, writer: Writer, target: Surface, source: Surface | None) -> list[tuple[Node, Node]]:
    """Change what of the request the target does not accept, in the request itself but never in its nodes.

    `source` is where the request comes from, None where it was built in canonical form. Gives the nodes that were made
    with those they stand for; the client's root is kept under `asked` in the writer's context.
    """
    met = source is not None and source.adapter is target.adapter
    theirs = source.dialect.get("schemas") if source is not None and met else None
    demands = _demands(target.adapter, target.dialect.get("schemas"), met, theirs)
    if demands is None:
        return []
    done = _Fitting(request, writer, demands)
    if "tools" in request:
        done.tools()
    done.names()
    if "text" in request:
        done.output()
    if done.asked:
        writer.context["asked"] = {**done.asked, **writer.context.get("asked", {})}
    return done.replaced


class Demands:
    """What a target accepts, of which there is one object: known by identity, since profiles are slow to compare."""

    __slots__ = ("names", "output", "output_strict", "own_names", "tools")

    def __init__(self, profiles: tuple[SchemaProfile | None, ...]) -> None:
        # By what is strict of a tool and what is not, and what it gives; None where all of them are accepted.
        self.tools: tuple[SchemaProfile | None, ...] | None = profiles[:3] if any(profiles[:3]) else None
        self.output: SchemaProfile | None
        self.output_strict: SchemaProfile | None
        self.output, self.output_strict = profiles[3:]
        self.names: NameRule | None = profiles[0].names if profiles[0] is not None else None
        self.own_names: dict[str, list[str]] = {}
        for type_, name in profiles[0].own_names if profiles[0] is not None else ():
            self.own_names.setdefault(type_, []).append(name)


@lru_cache(maxsize=256)
def _demands(adapter: Adapter, schemas: str | None, met: bool, theirs: str | None) -> Demands | None:
    """What a dialect of the protocol accepts by the name it has for that; None for everything.

    `met` means that the request comes from another dialect of it, of the name `theirs`: a profile that both of them
    have was met by the client already.
    """
    demands = Surface(adapter, {"schemas": schemas}).accepts(_USES)
    if met:
        known = Surface(adapter, {"schemas": theirs}).accepts(_USES)
        demands = tuple(None if mine is its else mine for mine, its in zip(demands, known))
    return Demands(demands) if any(demands) else None


class _Fitting:
    def __init__(self, request: Node, writer: Writer, demands: Demands) -> None:
        self.request, self.writer, self.demands = request, writer, demands
        self.replaced: list[tuple[Node, Node]] = []
        self.originals: dict[int, Node] = {}
        self.asked: Node = {}
        self.wrapped: set[str] = set()

    def put(self, key: str, value: Any) -> None:
        self.writer.context.setdefault("given", {**self.request})
        self.asked.setdefault(key, self.request[key])
        self.request[key] = value

    def copy(self, node: Node, **changes: Any) -> Node:
        """A node with changes, standing for what the caller gave."""
        new = {**node, **changes}
        self.originals[id(new)] = self.given(node)
        self.replaced.append((new, self.given(node)))
        return new

    def given(self, node: Node) -> Node:
        return self.originals.get(id(node), node)

    # --- schemas

    def tools(self) -> None:
        tools = self.request.get("tools")
        if type(tools) is not list or not tools or self.demands.tools is None:
            return
        plan = _plan(tools, self.demands)
        if not plan.lowered:
            return
        made = list(tools)
        for (number, key, changes), (schema, undo) in zip(plan.lowered, load_text(plan.made)):
            tool = made[number]
            self.writer.relaxed.append((self.given(tool), key, changes))
            made[number] = new = self.copy(tool)
            if schema is None:
                del new[key]
            else:
                new[key] = schema
            if undo is not None:
                self.writer.context.setdefault("tools", {})[new.get("name")] = undo
                if "wrapped" in undo["undo"]:
                    self.wrapped.add(new["name"])
        if any(new is not old for new, old in zip(made, tools)):
            self.put("tools", made)
        if self.wrapped and type(self.request.get("input")) is list:
            self.items(self.wrap)

    def output(self) -> None:
        text = self.request.get("text")
        format_ = text.get("format") if type(text) is dict else None
        if type(format_) is not dict or format_.get("type") != "json_schema":
            return
        profile = self.demands.output_strict if format_.get("strict") is True else self.demands.output
        if profile is None:
            return
        fitted = format_ if profile.described else self.described(format_)
        if type(format_.get("schema")) is dict:
            done = schemas.lower(fitted["schema"], profile)
            for keys, fate, detail in schema_losses(done, format_["schema"]):
                at = ("text", "format", "schema", *keys)
                self.writer.report(self.request, at, fate, detail, "output.structured")
            if done.schema is None:
                # No schema is left to bind the output by, but that it is JSON.
                fitted = {**format_, "type": "json_object"}
                del fitted["schema"]
            elif done.schema is not fitted["schema"]:
                fitted = {**fitted, "schema": done.schema}
            kept = record(done, profile)
            if not profile.bare_texts and _is_bare(format_):
                kept["plain"] = True  # the caller expects the text without quotes
                fitted = {key: value for key, value in fitted.items() if key != "media_type"}
                at = ("text", "format", "media_type")
                self.writer.report(self.request, at, "emulated", "JSON was requested; its text is the answer")
            if kept:
                self.writer.context["output"] = kept
        name = format_.get("name")
        if profile.names is not None and type(name) is str and not fits(name, profile.names):
            fitted = {**fitted, "name": fit_name(name, profile.names)}
            self.writer.report(self.request, ("text", "format", "name"), "approximated", f"sent as {fitted['name']}")
        if fitted is not format_:
            self.put("text", {**text, "format": fitted})  # type: ignore[dict-item]

    def described(self, format_: Node) -> Node:
        """A format whose schema has its description, before that of the schema itself."""
        said, schema = format_.get("description"), format_.get("schema")
        if type(said) is not str or type(schema) is not dict or type(own := schema.get("description", said)) is not str:
            return format_
        self.writer.report(self.request, ("text", "format", "description"), "approximated", "in that of the schema")
        kept = {key: value for key, value in format_.items() if key != "description"}
        return {**kept, "schema": {**schema, "description": own if own == said else f"{said}\n\n{own}"}}

    # --- names

    def names(self) -> None:
        rule = self.demands.names
        if rule is None:
            return
        tools, items = self.request.get("tools"), self.request.get("input")
        held = self.held(tools)
        if _all_fit(tools, items, self.writer.plain, rule, held):
            return
        known: list[Any] = []
        if type(tools) is list:
            known = [tool.get("name") for tool in tools if tool.get("type") in _NAMED]
        if type(items) is list:
            known += [item["name"] for item in items if "name" in item and item.get("type") in _CALLS]
        renamed = fitted_names(tuple(dict.fromkeys([name for name in known if type(name) is str])), rule, held)
        if not renamed:
            return
        self.writer.context.setdefault("renamed", {}).update({new: name for name, new in renamed.items()})
        undone = self.writer.context.get("tools", {})
        for name, new in renamed.items():
            if name in undone:
                undone[new] = undone.pop(name)

        def rename(node: Node) -> Node:
            name = node.get("name")
            if type(name) is not str or name not in renamed:
                return node
            self.writer.report(self.given(node), ("name",), "approximated", f"sent as {renamed[name]}")
            return self.copy(node, name=renamed[name])

        if type(tools) is list:
            made = [rename(tool) if tool.get("type") in _NAMED else tool for tool in tools]
            if any(new is not old for new, old in zip(made, tools)):
                self.put("tools", made)
        if type(items) is list:
            self.items(rename)
        self.choice(renamed)

    def held(self, tools: Any) -> frozenset[str]:
        """The names of the target's own tools that the request declares: a function beside one has another name."""
        own = self.demands.own_names
        if not own or type(tools) is not list:
            return frozenset()
        return frozenset(name for tool in tools for name in own.get(tool.get("type"), ()))

    def choice(self, renamed: dict[str, str]) -> None:
        choice = self.request.get("tool_choice")
        if type(choice) is not dict:
            return
        made = choice
        for keys, node in ((("tool_choice",), choice), *_allowed(choice)):
            name = node.get("name") if node.get("type") in _NAMED else None
            if type(name) is not str or name not in renamed:
                continue
            self.writer.report(self.request, (*keys, "name"), "approximated", f"sent as {renamed[name]}")
            if len(keys) == 1:
                made = {**made, "name": renamed[name]}
            else:
                listed = list(made["tools"])
                listed[keys[2]] = {**node, "name": renamed[name]}
                made = {**made, "tools": listed}
        if made is not choice:
            self.put("tool_choice", made)

    def items(self, change: Any) -> None:
        """Calls and results in the history, changed in the same way."""
        items = self.request["input"]
        made = [change(item) if item.get("type") in _CALLS else item for item in items]
        if any(new is not old for new, old in zip(made, items)):
            self.put("input", made)

    def wrap(self, item: Node) -> Node:
        """A call of a tool whose arguments are no object, as the lowered schema has it."""
        if item.get("type") != "function_call" or item.get("name") not in self.wrapped:
            return item
        try:
            value = load_text(item["arguments"])
        except (KeyError, TypeError, ValueError):
            return item
        return item if type(value) is dict else self.copy(item, arguments=dump_text({"value": value}))


def _allowed(choice: Node) -> Iterable[tuple[Keys, Node]]:
    listed = choice.get("tools")
    for index, tool in enumerate(listed if type(listed) is list else ()):
        if type(tool) is dict:
            yield ("tool_choice", "tools", index), tool


def _all_fit(tools: Any, items: Any, plain: Outline | None, rule: NameRule, held: frozenset[str]) -> bool:
    """Whether the rule accepts whatever has a name: one look, which is the last for nearly all requests."""
    named = [each["name"] for each in tools if "name" in each] if type(tools) is list else []
    if plain:
        named += plain.names
    elif type(items) is list:
        named += [item["name"] for item in items if "name" in item]
    try:
        return not named or not fitted_names(tuple(sorted(set(named))), rule, held)
    except TypeError:
        return False


def _is_bare(format_: Node) -> bool:
    """Whether an output is a text without quotes, as Gemini answers in `text/x.enum`."""
    is_text = "string" in as_types(format_["schema"].get("type"))
    return is_text and format_.get("media_type") not in (None, "application/json")


def record(done: Lowered, profile: SchemaProfile) -> Node:
    """What turns back what was made under a lowered schema, as JSON."""
    kept = done.to_json()
    if "names" in done.undo and profile.property_names is not None:
        kept["property_names"] = list(profile.property_names)
    return kept


def schema_losses(done: Lowered, schema: Any) -> list[tuple[Keys, str, str]]:
    """The changes as paths below the schema, each with its fate and detail."""
    out: list[tuple[Keys, str, str]] = []
    for change in done.changes:
        keys = _keys(change, schema)
        detail = change.detail if keys[-1:] == (change.keyword,) or not change.keyword else _said(change)
        out.append((keys, change.fate, f"{detail} (narrower)" if change.narrows else detail))
    return out


def _said(change: Change) -> str:
    return f"{change.keyword}: {change.detail}" if change.detail else change.keyword


def _keys(change: Change, schema: Any) -> Keys:
    keys: list[Any] = []
    here = schema
    for token in change.pointer.split("/")[1:]:
        key: Any = token.replace("~1", "/").replace("~0", "~")
        if type(here) is list and key.isdigit():
            key = int(key)
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):
            here = None
        keys.append(key)
    return tuple(keys)


def _plan(tools: list[Node], demands: Demands) -> Plan:
    """What has to be done about the schemas of a list of tools."""
    try:
        text = orjson.dumps(tools)
    except (TypeError, RecursionError):
        return _planned(tools, demands)
    return _remembered(text, demands) if len(text) <= REMEMBERED else _planned(tools, demands)


@lru_cache(maxsize=64)
def _remembered(text: bytes, demands: Demands) -> Plan:
    return _planned(orjson.loads(text), demands)


def _planned(tools: list[Node], demands: Demands) -> Plan:
    normal, strict, output = demands.tools or (None, None, None)
    lowered: list[Lowering] = []
    made: list[tuple[Any, Node | None]] = []
    for number, tool in enumerate(tools):
        if type(tool) is not dict or tool.get("type") != "function":
            continue
        taken = strict if tool.get("strict") is True else normal
        for key, profile in (("parameters", taken), ("output_schema", output)):
            schema = tool.get(key)
            if profile is None or type(schema) is not dict:
                continue
            done = schemas.lower(schema, profile)
            if done.schema is schema and not done.changes:
                continue
            changes = tuple((follow(schema, keys), fate, detail) for keys, fate, detail in schema_losses(done, schema))
            lowered.append(Lowering(number, key, changes))
            called = key == "parameters" and type(tool.get("name")) is str
            made.append((done.schema, record(done, profile) if done.undo and called else None))
    return Plan(tuple(lowered), dump_text(made).encode())
