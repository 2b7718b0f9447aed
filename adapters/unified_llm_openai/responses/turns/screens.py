"""Calls of a computer and the screens that are their results.

https://platform.openai.com/docs/guides/tools-computer-use
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import made_id

from ..parts import parts, pick
from ..values.tables import ITEMS
from .items import answer_items, items, request_items

__all__ = ["read_computer_output", "write_computer_call", "write_computer_output"]

Node = dict[str, Any]

_OUTPUT_TEXTS = ("id", "status", "created_by", "call_id")
_OUTPUT_OTHERS = ("agent", "caller", "acknowledged_safety_checks")


@items.read("computer_call_output")
def read_computer_output(w: Node, r: Reader) -> Node:
    """Read the screen after the actions of a call."""
    item: Node = {"type": "computer_call_output", **pick(w, _OUTPUT_TEXTS)}
    item.update({key: w.pop(key) for key in _OUTPUT_OTHERS if key in w})
    if type(w.get("output")) is dict:
        item["output"] = r.node(parts, w.pop("output"))
    return item


@request_items.write("computer_call")
def write_computer_call(c: Node, w: Writer) -> Node:
    """Write what another protocol called: the API requires an id, a status and a list of checks."""
    keys = ITEMS["computer_call"].replace("id ", "", 1)
    wire: Node = {"type": "computer_call", "id": made_id("cu", w.seed, str(c.get("call_id")))}
    wire.update({key: c.pop(key) for key in keys.split() if key in c})
    w.added(wire, "id", "required by the API")
    for key, value in (("pending_safety_checks", []), ("status", "completed")):
        if wire.get(key) is None:
            wire[key] = value
            w.added(wire, key, "required by the API")
    return wire


@items.write("computer_call_output")
@answer_items.write("computer_call_output")
@request_items.write("computer_call_output")
def write_computer_output(c: Node, w: Writer) -> Node:
    """Write the screen after the actions of a call."""
    wire: Node = {"type": "computer_call_output"}
    wire.update({key: c.pop(key) for key in (*_OUTPUT_TEXTS, *_OUTPUT_OTHERS) if key in c})
    if type(c.get("output")) is dict:
        wire["output"] = w.node(parts, c.pop("output"))
    return wire
