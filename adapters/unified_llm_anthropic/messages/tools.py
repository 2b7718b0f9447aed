"""Tools: functions, and the versioned types of what Anthropic defines, under the names two vendors share.

The date in a type string (`web_search_20250305`) selects the behavior of a tool here and has no meaning elsewhere: it
is a spelling, and written where the source names none is the oldest that every model still takes (of the computer tool,
of which models take one version each, that of the model). Tools that no other API has (memory, text editor, toolsets,
advisor) and unknown versions are kept whole. MCP servers stand beside the tools on the wire and among them in the
canonical model (see mcp.py).

https://docs.claude.com/en/docs/agents-and-tools/tool-use/overview
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Context, Union, boolean, codec, constant, enum, integer, json, string
from unified_llm.engine.bridge import declare
from unified_llm.engine.pairs.mapping import Fated, Mapping
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import as_function
from unified_llm.passes.tools.screen_actions import TOOL

from .values.tables import CACHE, PROGRAMS, PROTOCOL

__all__ = ["tools"]

Node = dict[str, Any]

tools = Mapping(f"{PROTOCOL} tools", default="custom")
cases = Union(tools.name)

_OBJECT = "a schema of an object is demanded"


def _write_schema(schema: Node, x: Context) -> Node:
    if x.own or "type" in schema:
        return schema
    schema = {"type": "object", **schema}
    x.added(schema, "type", _OBJECT)
    return schema


# What every tool may have. Who may call it is the model itself, or the code it writes, of some version.
_ANY = {
    "defer_loading?": boolean("defer_loading").nullable(),
    "allowed_callers?": enum(
        "allowed_callers",
        {"direct": "direct", PROGRAMS[-1]: "programmatic"},
        same=dict.fromkeys(PROGRAMS[:-1], PROGRAMS[-1]),
        many=True,
    ),
    **CACHE,
}
cases.case(
    {
        "type?": constant("custom", written=False),
        "name": string("name"),
        "description?": string("description").nullable(),
        "input_schema?": codec(
            "parameters", dict, read=lambda schema, x: schema, write=_write_schema, canonical=(dict,), exact=True
        ).required({"type": "object", "properties": {}}, _OBJECT),
        "strict?": boolean("strict").nullable(),
        "input_examples?": json("input_examples", list),
        **_ANY,
    },
    "function",
)

# ---- tools the provider defines -------------------------------------------------------------------------------------

_SEARCHED = {
    "allowed_domains?": json("filters.allowed_domains", list).nullable(),
    "blocked_domains?": json("filters.blocked_domains", list).nullable(),
    "max_uses?": integer("max_uses").nullable(),
}
_PLACE = ("city", "country", "region", "timezone")
cases.case(
    {
        "type": constant("web_search_20250305", "web_search", "web_search_20260209", "web_search_20260318"),
        "name?": "web_search",
        **_SEARCHED,
        "user_location?": {
            "type?": string("user_location.type").nullable().required("approximate", "there is one type"),
            **{f"{key}?": string(f"user_location.{key}").nullable() for key in _PLACE},
        },
        **_ANY,
    },
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
)
cases.case(
    {
        "type": constant(
            "web_fetch_20250910", "web_fetch", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"
        ),
        "name?": "web_fetch",
        **_SEARCHED,
        "max_content_tokens?": integer("max_content_tokens").nullable(),
        "citations?": json("citations", dict).nullable(),
        **_ANY,
    },
    "url_fetch",
    "web_fetch",
)
_CODE = [f"code_execution_{date}" for date in ("20250522", "20260120", "20260521")]
cases.case(
    {
        "type": constant("code_execution_20250825", "code_execution", *_CODE),
        "name?": "code_execution",
        **_ANY,
    },
    "code_interpreter",
)
cases.case(
    {
        "type": constant("computer_20250124", "computer", "computer_20241022", "computer_20251124"),
        "name?": "computer",
        "display_width_px?": integer("display_width").nullable(),
        "display_height_px?": integer("display_height").nullable(),
        "display_number?": integer("display_number").nullable(),
        **_ANY,
    },
    "computer",
    "computer_use_preview",
)
cases.case({"type": constant("bash_20250124", "bash", "bash_20241022"), "name?": "bash", **_ANY}, "shell")
for _algorithm in ("regex", "bm25"):
    _name = f"tool_search_tool_{_algorithm}"
    cases.case(
        {"type": constant(f"{_name}_20251119", _name), "name?": _name, **_ANY},
        "tool_search",
        execution="server",
        algorithm=_algorithm,
    )

# ---- what is not one to one -----------------------------------------------------------------------------------------


def _as_function(c: Node, w: Writer, x: Context) -> Node | None:
    """A custom tool: a function of one string; its answers are known by its name."""

    def pair(c: Node, w: Writer) -> Node:
        function = as_function(c, w)
        c["name"] = Fated("emulated", "a function of one string")
        common = ("strict", "defer_loading", "allowed_callers", "cache", "extra")
        return {"type": "function", **function, **{key: c.pop(key) for key in common if key in c}}

    return x.replaced(c, w.piece(pair, c)) if type(c.get("name")) is str else None


def _without(c: Node, x: Context, key: str, value: Node, why: str) -> Node:
    """A tool without what is the default."""
    if c.get(key) != value:
        return c
    x.approximated(c, (key,), why)
    return x.replaced(c, {name: said for name, said in c.items() if name != key})


def _of_code(c: Node, w: Writer, x: Context) -> Node | None:
    return _without(c, x, "container", {"type": "auto"}, "a fresh container is the default")


def _of_shell(c: Node, w: Writer, x: Context) -> Node | None:
    environment = c.get("environment")
    if type(environment) is dict and environment.get("type") not in (None, "local"):
        return None
    if not x.own:
        # Its calls come back as calls of a function, and the client declared a shell.
        w.context.setdefault("tools", {})["bash"] = "shell"
    return _without(c, x, "environment", {"type": "local"}, "it runs at the client's")


def _of_computer(c: Node, w: Writer, x: Context) -> Node | None:
    if x.own:
        return c
    if not {"display_width", "display_height"} <= w.rest(c).keys():
        return None
    # Its calls come back as calls of a function, and the client declared a computer.
    w.context.setdefault("tools", {})[TOOL] = c["type"]
    return c


def _of_search(c: Node, w: Writer, x: Context) -> Node | None:
    usual = {"execution": "server", "algorithm": "bm25"}
    unsaid = {key: value for key, value in usual.items() if c.get(key) is None}
    return x.replaced(c, {**c, **unsaid}) if unsaid else c


declare(
    tools,
    cases,
    {
        "code_interpreter": _of_code,
        "shell": _of_shell,
        "computer": _of_computer,
        "computer_use_preview": _of_computer,
        "tool_search": _of_search,
        "custom": _as_function,
    },
)
tools.cannot("namespace", "tools are not grouped")
tools.cannot("computer computer_use_preview", "the size of the screen is required")
tools.cannot("programmatic_tool_calling", "each tool has allowed_callers")
tools.cannot("maps file_search retrieval image_generation local_shell apply_patch", "no such tool here")
