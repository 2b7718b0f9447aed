"""Tools and the choice of them: `toolConfig`.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping, lookup, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import as_function
from unified_llm.passes.schemas import NameRule, SchemaProfile

from .parts import read_point, with_points, written
from .passes.requests import FIELDS, model_of
from .values import PROTOCOL, is_own, move, need

__all__ = ["SCHEMAS", "read_tools", "tools", "write_tools"]

Node = dict[str, Any]

tools = Mapping(f"{PROTOCOL} tools", tag="")

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html
_NAMES = NameRule("A-Za-z0-9_-", "A-Za-z0-9_-", 64)
# What output and strict tools accept; objects that are open are refused.
# https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
_CLOSED = SchemaProfile(
    keywords=frozenset(
        "type anyOf allOf enum const $ref $defs title description properties required items additionalProperties "
        "format minItems".split()
    ),
    formats=frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split()),
    recursion="unrolled",
    boolean_schemas=False,
    root_object=True,
    empty_objects="text",
    closed_objects=True,
    most_min_items=1,
)
SCHEMAS = {"tools": SchemaProfile(root_object=True, names=_NAMES), "tools.strict": _CLOSED, "output": _CLOSED}
_NO_PARAMETERS: Node = {"type": "object", "properties": {}}
_CALLS = frozenset(("function_call", "custom_tool_call"))


@tools.read("toolSpec")
def _read_tool(w: Node, r: Reader) -> Node:
    own = take(w, "toolSpec")
    node: Node = {"type": "function"}
    need(own, "name", node, "name", r, ("toolSpec",), str)
    move(own, "description", node, "description", r, ("toolSpec",), str)
    if type(own.get("inputSchema")) is dict and type(own["inputSchema"].get("json")) is dict:
        inner = take(own, "inputSchema")
        node["parameters"] = inner.pop("json")
        r.place(node, ("parameters",), ("toolSpec", "inputSchema", "json"))
    move(own, "strict", node, "strict", r, ("toolSpec",), bool)
    return node


@written(tools, "function")
def _write_tool(c: Node, w: Writer) -> Node:
    wire: Node = {"name": c.pop("name", None) or ""}
    if type(c.get("description")) is str and (c["description"] or is_own(w)):
        wire["description"] = c.pop("description")
    parameters = c.pop("parameters", None)
    if type(parameters) is dict:
        wire["inputSchema"] = {"json": parameters}
    elif not is_own(w):
        closed = {"additionalProperties": False} if c.get("strict") is True else {}
        wire["inputSchema"] = {"json": {**_NO_PARAMETERS, **closed}}
        w.added(wire, "inputSchema", "required by amazon-converse")
    if type(c.get("strict")) is bool:
        wire["strict"] = c.pop("strict")
    return {"toolSpec": wire}


@written(tools, "custom")
def _write_custom(c: Node, w: Writer) -> Node:
    made = as_function(c, w)
    c["type"] = Fated("approximated", "custom tool sent as a function with one string")
    spec: Node = {"name": made.get("name", ""), "description": made["description"]}
    return {"toolSpec": {**spec, "inputSchema": {"json": made["parameters"]}}}


# ---- the whole of `toolConfig` --------------------------------------------------------------------------------------


def read_tools(w: Node, node: Node, r: Reader, at: tuple[Any, ...]) -> None:
    """Read `toolConfig` of a request."""
    if type(w.get("toolConfig")) is not dict:
        return
    own = take(w, "toolConfig")
    at = (*at, "toolConfig")
    if type(own.get("tools")) is list:
        found: list[Node] = []
        for index, wire in enumerate(own.pop("tools")):
            if not read_point(wire, found[-1] if found else None, r, (*at, "tools", index)):
                found += r.nodes(tools, [wire])
        node["tools"] = found
        r.place(node, ("tools",), (*at, "tools"))
    choice = own.get("toolChoice")
    if type(choice) is not dict or len(choice) != 1:
        return
    ((key, value),) = choice.items()
    if key in _CHOICES and value == {}:
        node["tool_choice"] = _CHOICES[key]
    elif key == "tool" and type(value) is dict and value.keys() == {"name"} and type(value["name"]) is str:
        node["tool_choice"] = {"type": "function", "name": value["name"]}
        r.place(node, ("tool_choice", "name"), (*at, "toolChoice", "tool", "name"))
    else:
        return
    del own["toolChoice"]
    r.place(node, ("tool_choice",), (*at, "toolChoice"))


_CHOICES = {"auto": "auto", "any": "required"}
_FREE: Node = {"auto": {}}
# `validated` leaves it to the model whether to call a tool at all.
_WRITTEN = {"auto": "auto", "required": "any", "validated": "auto"}


def write_tools(c: Node, wire: Node, w: Writer) -> None:
    """Write `toolConfig` of a request, which has to be there beside calls in the history."""
    own = is_own(w)
    config: Node = {}
    found, choice = c.pop("tools", None), c.get("tool_choice")
    called = {} if own else _called(c.get("input"))
    if choice == "none" and not called and not own:
        for tool in found if type(found) is list else ():
            w.drop(tool, "tool_choice is none")
        found = None
        c["tool_choice"] = Fated("approximated", "sent without tools")
    elif not own and "tools" in model_of(w).refuses:
        for tool in found if type(found) is list else ():
            w.drop(tool, "the model takes no tools")
        found = None
        if choice is not None:
            c["tool_choice"] = Fated("lost", "the model takes no tools")
    elif choice is not None:
        _write_choice(c, choice, config, w)
        if not own and "tool_choice" in model_of(w).refuses and config.get("toolChoice") not in (None, _FREE):
            del config["toolChoice"]
            c["tool_choice"] = Fated("lost", "the model refuses it")
    if type(found) is list:
        config = {"tools": with_points(tools, found, w), **config}
    if not own and not config.get("tools"):
        if "toolChoice" in config:
            c["tool_choice"] = Fated("approximated", "there are no tools to choose from")
        if not called:
            return
        config = {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": _NO_PARAMETERS}}} for name in called]}
        w.added(wire, "toolConfig", "required by amazon-converse where the history has calls")
    if config:
        wire["toolConfig"] = config


def _called(items: Any) -> dict[str, None]:
    """The names of the tools that a history calls."""
    calls = [item for item in items if item.get("type") in _CALLS] if type(items) is list else []
    return {item["name"]: None for item in calls if type(item.get("name")) is str and item["name"]}


def _write_choice(c: Node, choice: Any, config: Node, w: Writer) -> None:
    if type(choice) is str and choice in _WRITTEN:
        config["toolChoice"] = {_WRITTEN[choice]: {}}
        if choice == "validated":
            c["tool_choice"] = Fated("approximated", "sent as 'auto'")
        else:
            del c["tool_choice"]
        return
    if type(choice) is not dict:
        return
    own = take(c, "tool_choice")
    if own.get("type") in ("function", "custom") and type(own.get("name")) is str:
        config["toolChoice"] = {"tool": {"name": own.pop("name")}}
        if own["type"] == "function":
            del own["type"]
        else:
            own["type"] = Fated("approximated", "sent as a function")
    elif own.get("type") == "allowed_tools" and (word := lookup(_WRITTEN, own.get("mode"))):
        config["toolChoice"] = {word: {}}
        if own["mode"] == "validated":
            own["mode"] = Fated("approximated", "sent as 'auto'")
        else:
            del own["mode"]


# ---- one call at a time ---------------------------------------------------------------------------------------------

_OWN_CHOICE, _SINGLE = "tool_choice", "disable_parallel_tool_use"


def read_single(fields: Node, node: Node, r: Reader) -> None:
    """Read the setting of Anthropic's models, which is beside their own choice of tools in `fields`."""
    own = fields.get(_OWN_CHOICE)
    if type(own) is not dict or own.keys() != {"type", _SINGLE} or own["type"] != "auto":
        return
    if type(own[_SINGLE]) is bool and "tool_choice" not in node:
        del fields[_OWN_CHOICE]
        node["parallel_tool_calls"] = not own[_SINGLE]
        r.form(node, "single", True)
        r.place(node, ("parallel_tool_calls",), (FIELDS, _OWN_CHOICE, _SINGLE))


def write_single(c: Node, wire: Node, w: Writer) -> None:
    """Write it where the model takes it, with the choice that it stands beside: Converse refuses a second choice."""
    parallel = c.get("parallel_tool_calls")
    config = wire.get("toolConfig") or {}
    if is_own(w):
        if type(parallel) is not bool or not w.form(c, "single"):
            return
    elif parallel is not False or not config.get("tools") or not model_of(w).own_tool_choice:
        return
    elif config.get("toolChoice", _FREE) != _FREE:
        return
    else:
        config.pop("toolChoice", None)
    del c["parallel_tool_calls"]
    wire.setdefault(FIELDS, {})[_OWN_CHOICE] = {"type": "auto", _SINGLE: not parallel}
