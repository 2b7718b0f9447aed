"""Tool calls and tools of Chat Completions, each read and written side by side.

Chat nests under `function` and `custom` what Responses keeps flat, and has one id where Responses has two. Servers
leave out ids, indexes and arguments; what was left out is a form, what is made up for it carries a made id.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.exchange import Exchange
from unified_llm.foundation.generated_ids import is_made, made_id
from unified_llm.foundation.json_codec import dump_text, load_text

from ..cache import read_cache, write_control
from ..demands import called_as_function, declared_as_function, lacks_raw_text
from .turns.signature import read_signature, write_signature

__all__ = [
    "call_id_of",
    "calls",
    "declared_names",
    "is_foreign",
    "is_repeated",
    "read_arguments",
    "tools",
    "write_arguments",
]

Node = dict[str, Any]

calls = Mapping("openai-chat tool calls", default="function")
tools = Mapping("openai-chat tools", default="function")


_NO_ARGUMENTS = {"": "empty", None: "null"}


def read_arguments(value: Any) -> tuple[str, str | None]:
    """Arguments as canonical JSON text, and the marker of the form they had: a call without any is `{}` everywhere."""
    if type(value) is str and value:
        return value, None
    if type(value) is dict:
        return dump_text(value), "object"
    if value is None or value == "":
        return "{}", _NO_ARGUMENTS[value]
    raise IllTyped("arguments")


def write_arguments(value: Any, marker: str | None) -> Any:
    """The inverse of `read_arguments`, as far as the canonical text has the same value."""
    if marker == "object":
        try:
            return load_text(value)
        except ValueError:
            return value
    if marker is not None and value == "{}":
        return "" if marker == "empty" else None
    return value


@calls.read("function")
def read_function_call(w: Node, r: Reader) -> Node:
    function = take(w, "function")
    item: Node = {"type": "function_call", "call_id": "", "name": function.pop("name")}
    if type(item["name"]) is not str:
        raise IllTyped("name")
    arguments, marker = read_arguments(function.pop("arguments")) if "arguments" in function else ("{}", "absent")
    item["arguments"] = arguments
    _read_id(w, item, r)
    if marker:
        r.form(item, "arguments", marker)
    if "extra_content" in w:
        read_signature(w, item, r)
    return item


def _read_id(w: Node, item: Node, r: Reader) -> None:
    """A call's id; one that is missing or empty is made from the call's place in the conversation."""
    ordinal = r.context["calls"] = r.context.get("calls", 0) + 1
    call_id = w.pop("id", None) if "id" in w else False
    if type(call_id) is str and call_id:
        item["call_id"] = call_id
        return
    if call_id not in (False, None, ""):
        raise IllTyped("id")
    item["call_id"] = call_id_of(r.seed, ordinal)
    r.form(item, "id", "absent" if call_id is False else "null" if call_id is None else "empty")


def _write_id(c: Node, w: Writer) -> Node:
    marker = w.form(c, "id")
    call_id = c.pop("call_id", None)
    if marker and is_made(call_id):
        return {} if marker == "absent" else {"id": None if marker == "null" else ""}
    return {"id": call_id}


@calls.write("function_call")
def write_function_call(c: Node, w: Writer) -> Node:
    function: Node = {"name": c.pop("name", None)}
    marker = w.form(c, "arguments")
    arguments = c.pop("arguments", None)
    if arguments is None:
        arguments = function["arguments"] = "{}"
        w.added(function, "arguments")
    elif marker != "absent" or arguments != "{}":
        function["arguments"] = write_arguments(arguments, marker)
    wire = {**_write_id(c, w), "type": "function", "function": function}
    if "opaque" in c or "extra" in c:
        write_signature(c, wire, w)
    return wire


@calls.read("custom")
def read_custom_call(w: Node, r: Reader) -> Node:
    custom = take(w, "custom")
    if type(custom["name"]) is not str or type(custom["input"]) is not str:
        raise IllTyped("custom")
    item: Node = {"type": "custom_tool_call", "call_id": "", "name": custom.pop("name"), "input": custom.pop("input")}
    _read_id(w, item, r)
    return item


@calls.write("custom_tool_call")
def write_custom_call(c: Node, w: Writer) -> Node:
    if lacks_raw_text(w):
        function = called_as_function(c)
        return {**_write_id(c, w), "type": "function", "function": function}
    return {**_write_id(c, w), "type": "custom", "custom": {"name": c.pop("name", None), "input": c.pop("input", "")}}


# ---- tools ----------------------------------------------------------------------------------------------------------

_FUNCTION_KEYS = ("name", "description", "parameters", "strict")
_FUNCTION = frozenset(_FUNCTION_KEYS)


def is_foreign(w: Writer) -> bool:
    """Whether what is written was read from another protocol."""
    return w.crosses


def without_nulls(wire: Node, w: Writer) -> Node:
    """Without the nulls of another protocol: here they do not mean absent."""
    return {key: value for key, value in wire.items() if value is not None} if is_foreign(w) else wire


@tools.read("function")
def read_function(w: Node, r: Reader) -> Node:
    if type(w["function"]) is dict and w["function"].keys() <= _FUNCTION:
        tool = {"type": "function", **w.pop("function")}
        return read_cache(w, tool, r) if "cache_control" in w else tool
    function = take(w, "function")
    tool = {"type": "function", **{key: function.pop(key) for key in _FUNCTION_KEYS if key in function}}
    if "cache_control" in w:
        return read_cache(w, tool, r)
    if "cache_control" in function and "cache" in read_cache(function, tool, r):
        # Gateways take it inside the function too. https://docs.litellm.ai/docs/completion/prompt_caching
        r.form(tool, "cache", "function")
        r.place(tool, ("cache",), ("function", "cache_control"))
        r.place(tool, ("cache", "mode"), ("function", "cache_control", "type"))
    return tool


@tools.write("function")
def write_function(c: Node, w: Writer) -> Node:
    function = {key: c.pop(key) for key in _FUNCTION_KEYS if key in c}
    if "strict" in function and not (w.same or w.dialect.get("strict_tools", True)):
        c["strict"] = function.pop("strict")
    wire: Node = {"type": "function", "function": without_nulls(function, w)}
    if "cache" in c and (place := w.form(c, "cache")):
        write_control(c, wire["function"] if place == "function" else wire, w)
    return wire


@tools.read("custom")
def read_custom(w: Node, r: Reader) -> Node:
    custom = take(w, "custom")
    tool: Node = {"type": "custom", **{key: custom.pop(key) for key in ("name", "description") if key in custom}}
    if "format" in custom:
        format_ = take(custom, "format")
        tool["format"] = {"type": format_.pop("type")}
        r.place(tool, ("format", "type"), ("custom", "format", "type"))
        if "grammar" in format_:
            grammar = take(format_, "grammar")
            for key in ("syntax", "definition"):
                if key in grammar:
                    tool["format"][key] = grammar.pop(key)
                    r.place(tool, ("format", key), ("custom", "format", "grammar", key))
    return tool


@tools.write("custom")
def write_custom(c: Node, w: Writer) -> Node:
    if lacks_raw_text(w):
        return _write_emulated(c, w)
    custom: Node = without_nulls({key: c.pop(key) for key in ("name", "description") if key in c}, w)
    if type(c.get("format")) is dict:
        format_ = take(c, "format")
        custom["format"] = {"type": format_.pop("type")} if "type" in format_ else {}
        grammar = {key: format_.pop(key) for key in ("syntax", "definition") if key in format_}
        if grammar:
            custom["format"]["grammar"] = grammar
    return {"type": "custom", "custom": custom}


def _write_emulated(c: Node, w: Writer) -> Node:
    """A custom tool as a function of one string; answers are recognized by its name, and turned back."""
    function = without_nulls(declared_as_function(c, w), w)
    return {"type": "function", "function": function}


tools.cannot(
    """web_fetch url_fetch code_interpreter file_search image_generation maps retrieval computer computer_use_preview
    shell local_shell apply_patch""",
    "openai-chat supports only the web_search hosted tool",
)
tools.cannot("mcp", "openai-chat has no MCP tools")
tools.cannot("namespace tool_search programmatic_tool_calling", "Chat declares all tools, each on its own")


def call_id_of(seed: str, *position: object) -> str:
    """An id for a call that came without one (`function_call` of old, servers that send none)."""
    return made_id("call", seed, *position)


def is_repeated(old: Node, wires: Any) -> bool:
    """Whether a `function_call` only repeats one of the `tool_calls` beside it, for clients without those."""
    return type(wires) is list and any(type(wire) is dict and wire.get("function") == old for wire in wires)


def declared_names(exchange: Exchange) -> frozenset[str]:
    """The names that calls may have by the request: as its client declared them, and as they were sent."""
    given = exchange.settings.get("tools")
    named = [tool.get("name") for tool in given if type(tool) is dict] if type(given) is list else []
    return frozenset(
        name for name in (*named, *exchange.names, *exchange.namespaces, *exchange.tools) if type(name) is str and name
    )
