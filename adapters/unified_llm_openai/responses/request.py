"""Requests of the Responses API."""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Reader, Writer
from unified_llm.table import Field, Table

from .content import items, tools

Node = dict[str, Any]

REQUEST = Table("request", *map(Field, "model instructions temperature top_p max_output_tokens parallel_tool_calls tool_choice text reasoning store stream metadata".split()))


def read_request(w: Node, r: Reader) -> Node:
    node: Node = {}
    if "input" in w:
        node["input"] = r.parts(items, w.pop("input"))
    if type(w.get("tools")) is list:
        node["tools"] = r.nodes(tools, w.pop("tools"))
    REQUEST.read(w, node)
    return node


def write_request(c: Node, w: Writer) -> Node:
    wire: Node = {}
    if "model" in c:
        wire["model"] = c.pop("model")
    if "input" in c:
        wire["input"] = w.parts(items, c.pop("input"))
    if type(c.get("tools")) is list:
        wire["tools"] = w.nodes(tools, c.pop("tools"))
    REQUEST.write(c, wire, w, w.doc)
    return wire
