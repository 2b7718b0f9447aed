"""Requests of Messages, and those that only count their tokens.

Another protocol's request is first made to meet what this API demands (passes/). The version of the
API that a request needs goes into the headers.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unified_llm.engine import Shape, Union, boolean, codec, enum, flatten, integer, json, number, string, union
from unified_llm.engine.bridge import cases_of, declare, read_part, write_part
from unified_llm.engine.pairs.mapping import Mapping, lookup
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.errors import InvalidBody

from .mcp import read_servers, write_tools
from .parts.content import own_born, parts
from .passes.requests import SAMPLING, chosen, settle_foreign, settle_own, settle_prompt
from .tools import tools
from .turns.messages import read_messages, write_messages
from .values.tables import API_VERSION, BETAS, CACHE, LEGACY_VERSION, MODES, PROTOCOL, REQUEST_HEADERS

__all__ = ["REQUEST", "edits", "read_request", "write_count_request", "write_request"]

Node = dict[str, Any]

_PARALLEL = {"disable_parallel_tool_use?": boolean("parallel_tool_calls", inverted=True)}
_choices = Union("tool choice")
for _word, _mode in MODES.items():
    _choices.case({"type": _word, **(_PARALLEL if _word != "none" else {})}, tool_choice=_mode)
_choices.case({"type": "tool", "name": string("tool_choice.name"), **_PARALLEL}, tool_choice__type="function")

_formats = Union("output format")
_formats.case({"type": "json_schema", "schema": json("text.format.schema", dict)}, text__format__type="json_schema")

edits = Mapping("anthropic-messages context edits")
_edits, _triggers = Union(edits.name), Union("trigger")
_triggers.case({"type": "input_tokens", "value": integer("compact_threshold")})
_edits.case(
    {
        "type": "compact_20260112",
        "trigger?": flatten(_triggers),
        "instructions?": json("instructions").nullable(),
        "pause_after_compaction?": json("pause_after").nullable(),
    },
    "compaction",
)
declare(edits, _edits)

# In the order of the cache: tools, system text, messages.
_PROMPT: Node = {
    "model?": string("model").nullable(),
    "tools?": union("tools", cases_of(tools, write_tools)).nullable().filled(),
    "system?": union("instructions", cases_of(parts), text=True).nullable(),
    "messages": codec(
        "input",
        list,
        read=lambda found, x: read_messages(found, x.reader),
        write=lambda items, x: write_messages(items, x.writer),
        canonical=(list, str),
        exact=True,
    ),
    "tool_choice?": flatten(_choices),
    "thinking?": {
        "type?": string("reasoning.control"),
        "budget_tokens?": integer("reasoning.budget_tokens").nullable(),
        "display?": string("reasoning.display").nullable(),
    },
    "output_config?": {"effort?": string("reasoning.effort").nullable(), "format?": flatten(_formats)},
    "metadata?": {"user_id?": string("safety_identifier").nullable()},
    "service_tier?": enum(
        "service_tier",
        {"auto": "auto", "standard_only": "default"},
        dict.fromkeys(("priority", "reserved"), "auto"),
        closed=True,
    ),
    "context_management?": {"edits?": union("context_management", cases_of(edits)).filled()},
    **CACHE,
}
REQUEST = Shape(
    {
        **_PROMPT,
        "max_tokens?": integer("max_output_tokens").nullable(),
        "stop_sequences?": json("stop", list).nullable(),
        "stream?": boolean("stream").nullable(),
        "temperature?": number("temperature").nullable(),
        "top_p?": number("top_p").nullable(),
        "top_k?": number("top_k").nullable(),
        "container?": json("container", str, dict).nullable(),
        "fallbacks?": json("fallbacks", str, list).nullable(),
    },
    name=f"{PROTOCOL} request",
    node="request",
)
_counted = Shape(_PROMPT, name=f"{PROTOCOL} count", node="request")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_request(w: Node, r: Reader) -> Node:
    """Read a request. Raises `InvalidBody` without a list of messages."""
    if type(w.get("messages")) is not list:
        raise InvalidBody("/messages", "required field is missing or not a list")
    w.clear()
    node = read_part(REQUEST, r.doc, r, whole=False)
    if type(node.get("tool_choice")) is dict:
        chosen(node)
    if "mcp_servers" in r.doc:
        rest = node["extra"][r.protocol]["rest"]
        read_servers(rest, node, r)
        if not rest:
            del node["extra"][r.protocol]["rest"]
    if "output_format" in r.doc:
        _read_older_format(node, r)
    r.form(node, "own", True)
    headers = {key.lower(): value for key, value in (r.http.get("headers") or {}).items()}
    for header in REQUEST_HEADERS:
        if header in headers:
            r.extra(node).setdefault("headers", {})[header] = headers[header]
    return node


def _read_older_format(node: Node, r: Reader) -> None:
    """Read the format of the output from where it was before it moved into `output_config`."""
    rest = node["extra"][r.protocol]["rest"]
    form, config = rest["output_format"], r.doc.get("output_config", {})
    if type(form) is not dict or form.keys() != {"type", "schema"} or type(config) is not dict or "format" in config:
        return
    if form["type"] != "json_schema" or type(form["schema"]) is not dict:
        return
    node.setdefault("text", {})["format"] = rest.pop("output_format")
    if not rest:
        del node["extra"][r.protocol]["rest"]
    r.form(node, "format", "beside" if "output_config" in r.doc else "older")
    for key in form:
        r.place(node, ("text", "format", key), ("output_format", key))


# ---- writing --------------------------------------------------------------------------------------------------------


def write_request(c: Node, w: Writer) -> Node:
    """Write a request; supplies `max_tokens`, which is required."""
    wire = _write(REQUEST, c, w)
    w.http |= {"method": "POST", "path": "v1/messages", "headers": _headers(wire, w)}
    return wire


def write_count_request(c: Node, w: Writer) -> Node:
    """A request that counts tokens: what makes no difference to the count has no place in it."""
    wire = _write(_counted, c, w)
    w.http |= {"method": "POST", "path": "v1/messages/count_tokens", "headers": _headers(wire, w)}
    return wire


def _write(shape: Shape, c: Node, w: Writer) -> Node:
    own = own_born(w)
    settle = settle_own if own else settle_foreign if shape is REQUEST else settle_prompt
    wire = write_part(shape, w.doc, w, whole=False, own=own, settle=settle, node=c)
    wire["messages"] = wire.pop("messages")  # behind tools and system text, in the order of the cache
    older = w.form(c, "format") if own else None
    if older and "format" in (wire.get("output_config") or {}):
        wire["output_format"] = wire["output_config"].pop("format")
        if not wire["output_config"] and older == "older":
            del wire["output_config"]
    c.clear()
    servers = w.context.pop("servers", None)
    if servers:
        wire["mcp_servers"] = servers
    if w.model:
        wire["model"] = w.model
    return wire


def _headers(wire: Node, w: Writer) -> Node:
    extra = w.doc.get("extra")
    headers: Node = dict((extra.get(w.protocol) or {}).get("headers") or {}) if extra else {}
    if "anthropic-version" not in headers:
        unusual = w.context.get("unusual")
        legacy = not wire.keys().isdisjoint(SAMPLING) or (unusual is not None and _has_legacy_blocks(unusual))
        headers["anthropic-version"] = LEGACY_VERSION if legacy else API_VERSION
    if not own_born(w):
        flags = [] if BETAS.keys().isdisjoint(wire) else [flag for key, flag in BETAS.items() if key in wire]
        for tool in wire.get("tools") or ():
            if type(tool) is dict and "type" in tool and lookup(BETAS, tool["type"]):
                flags.append(BETAS[tool["type"]])
        for edit in (wire.get("context_management") or {}).get("edits") or ():
            flags += [BETAS[edit["type"]]] if edit.get("type") in BETAS else []
        if flags:
            headers["anthropic-beta"] = ",".join(dict.fromkeys(flags))
    return headers


def _has_legacy_blocks(messages: Iterable[Any]) -> bool:
    """Documents of the assistant and citations of the user, which the newer version refuses."""
    for message in messages:
        content = message.get("content") if type(message) is dict else None
        if type(content) is not list:
            continue
        for block in content:
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if message.get("role") == "assistant" and kind == "document":
                return True
            if message.get("role") == "user" and kind == "text" and block.get("citations"):
                return True
    return False
