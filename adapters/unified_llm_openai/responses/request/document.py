"""Requests of the Responses API: create, compact and the counting of input tokens.

What another protocol brought is sent with the defaults of its own world made explicit: nothing is stored that was not
requested, no schema is made strict, and a limit below the API's least is raised to it.

https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import AS_JSON
from unified_llm.engine.shared.nearest_values import raise_output_limit

from ...demands import JSON_UNMENTIONED, fit_identifier, fit_words, is_json_unmentioned, with_mode
from ...effort import drop_refused
from ..turns.history import is_own, read_items, write_items
from ..values.tables import ENCRYPTED, REQUEST
from .demands import fit
from .settings import read_settings, write_edits, write_instructions, write_settings

__all__ = [
    "read_request",
    "write_compact_request",
    "write_count_tokens_request",
    "write_request",
]

Node = dict[str, Any]

# Protocols whose providers keep a conversation by default, as this one does.
_KEEPING = frozenset(("google-interactions",))
_LEAST_OUTPUT = 16
_PENALTIES = ("presence_penalty", "frequency_penalty")


def read_request(w: Node, r: Reader) -> Node:
    """Read a request. Unlike in the other protocols `input` may be absent."""
    node: Node = {}
    if "input" in w:
        wires = w["input"]
        if type(wires) is list:
            node["input"] = read_items(w.pop("input"), r)
        elif wires is None or type(wires) is str:
            node["input"] = w.pop("input")
    if "instructions" in w and (w["instructions"] is None or type(w["instructions"]) is str):
        node["instructions"] = w.pop("instructions")
    read_settings(w, node, r)
    REQUEST.read(w, node)
    return node


def write_request(c: Node, w: Writer) -> Node:
    """Write a request to create a response."""
    return _write(c, w, "responses")


def write_compact_request(c: Node, w: Writer) -> Node:
    """Write a request to compact a conversation."""
    return _write(c, w, "responses/compact")


def write_count_tokens_request(c: Node, w: Writer) -> Node:
    """Write a request to count input tokens."""
    return _write(c, w, "responses/input_tokens")


def _write(c: Node, w: Writer, path: str) -> Node:
    wire: Node = {}
    own = is_own(w)
    if "input" in c:
        wire["input"] = write_items(c.pop("input"), w)
    write_instructions(c, wire, w)
    write_settings(c, wire, w)
    if w.source != w.protocol:
        drop_refused(c, w, wire.get("reasoning"))
        fit_identifier(c, w)
    if not own:
        if "context_management" in c:
            write_edits(c, w)
        if "tool_choice" in c:
            fit_words(c, w)
    held = {} if own or w.dialect.get("penalties") else {key: c.pop(key) for key in _PENALTIES if key in c}
    raise_output_limit(c, w, w.dialect.get("least", {}).get("max_output_tokens", _LEAST_OUTPUT))
    REQUEST.write(c, wire, w, w.doc)
    c.update(held)
    if w.model:
        wire["model"] = w.model
    if not own and path == "responses" and "store" not in wire and w.source not in _KEEPING:
        wire["store"] = False
        w.added(wire, "store", "written because the target's default differs")
        reasoning, include = wire.get("reasoning"), wire.get("include") or []
        if type(reasoning) is dict and reasoning.get("effort") != "none" and ENCRYPTED not in include:
            # Nothing is stored, so what is not sent along is gone with the next turn.
            wire["include"] = [*include, ENCRYPTED]
            w.added(wire, "include", "reasoning could not be replayed without it")
    if w.dialect and not w.same:
        fit(wire, c, w)
    if not own and type(wire.get("text")) is dict:
        _mention_json(wire, w)
    choice = wire.get("tool_choice")
    if not own and type(choice) is dict and choice.get("type") == "allowed_tools":
        wire["tool_choice"] = with_mode(choice, w)
    w.http.update(method="POST", path=path)
    return wire


def _mention_json(wire: Node, w: Writer) -> None:
    """Require JSON in front of input that does not mention it; the instructions do not count."""
    given = wire.get("input")
    items = [{"type": "message", "role": "user", "content": given}] if type(given) is str else given or []
    if is_json_unmentioned(wire["text"].get("format"), items):
        wire["input"] = [{"type": "message", "role": "system", "content": AS_JSON}, *items]
        w.added(wire["input"][0], "content", JSON_UNMENTIONED)
