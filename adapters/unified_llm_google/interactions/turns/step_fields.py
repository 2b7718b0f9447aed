"""What steps share: signatures, arguments, results, the id of a call.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from unified_llm.engine.pairs.mapping import ANY, Fated, IllTyped, json_types
from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import made_id
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.provenance.opaque import is_constant, is_envelope, opaque_piece

from ...constants import CONSTANTS
from ..parts import user_parts
from ..values.tables import CONTENTS

__all__ = [
    "KIND",
    "NOBODYS",
    "as_object",
    "call_id",
    "move",
    "move_back",
    "read_arguments",
    "read_id",
    "read_result",
    "read_signature",
    "write_arguments",
    "write_result",
    "write_signature",
]

Node = dict[str, Any]

KIND = "signature"

_types = cache(json_types)


def move(w: Node, node: Node, names: Iterable[tuple[str, str]]) -> None:
    """Move keys (wire, canonical) whose values have a canonical JSON type; the others stay unread."""
    types = _types(node["type"])
    for key, hub in names:
        if key in w and type(w[key]) in types.get(hub, ANY):
            node[hub] = w.pop(key)


def move_back(c: Node, wire: Node, names: Iterable[tuple[str, str]]) -> None:
    """The inverse, with the same names."""
    for key, hub in names:
        if hub in c:
            wire[key] = c.pop(hub)


def read_id(w: Node, key: str) -> str:
    """The id that pairs a call with its result."""
    value = w.pop(key)
    if type(value) is not str:
        raise IllTyped(key)
    return value


# In place of an envelope that cannot be opened here: kept from every provider.
NOBODYS: Node = {"kind": "envelope", "data": "refused", "origin": {"protocol": "unified_llm"}}


def read_signature(w: Node, item: Node, r: Reader) -> None:
    """A step's signature becomes an opaque piece; an empty one is only a form."""
    signature = w["signature"]
    if is_constant(signature, r):
        r.form(item, "signature", w.pop("signature"))
    elif signature == "" or signature is None:
        del w["signature"]
        r.form(item, "signature", "null" if signature is None else "empty")
    elif type(signature) is str:
        r.place(item, ("opaque",), ("signature",))
        del w["signature"]
        item["opaque"] = [NOBODYS.copy() if is_envelope(signature, r) else opaque_piece(KIND, signature, r)]


def write_signature(c: Node, wire: Node, w: Writer) -> None:
    """The inverse. What others made travels in an envelope beside the step (steps.py), or stays behind."""
    form = w.form(c, "signature")
    if form in ("empty", "null"):
        wire["signature"] = "" if form == "empty" else None
    elif form in CONSTANTS:
        wire["signature"] = form
    pieces = c.get("opaque")
    if not pieces:
        return
    own = [piece for piece in pieces if piece.get("kind") == KIND and is_own(piece, w)]
    if own:
        wire["signature"] = own[0]["data"]
    if len(own) == len(pieces) == 1:
        del c["opaque"]
    elif w.facing == "client":
        c["opaque"] = Fated("parked", "kept in an envelope")
    else:
        c["opaque"] = Fated("parked" if w.vault is not None else "lost", "foreign")


def read_arguments(w: Node, item: Node, r: Reader) -> None:
    """Arguments, an object on this wire, as JSON text."""
    value = w.get("arguments")
    if type(value) is dict:
        item["arguments"] = dump_text(w.pop("arguments"))
    elif type(value) is str:
        item["arguments"] = w.pop("arguments")
        r.form(item, "arguments", "string")
    elif value is None:
        item["arguments"] = "{}"
        r.form(item, "arguments", "null" if "arguments" in w else "absent")
        w.pop("arguments", None)
    else:
        raise IllTyped("arguments")


def write_arguments(c: Node, wire: Node, w: Writer) -> None:
    """The inverse. Text other than a JSON object is wrapped in one, since the wire takes nothing else."""
    said = "arguments" in c
    text = c.pop("arguments", None)
    marker = w.form(c, "arguments")
    if marker == "string":
        wire["arguments"] = text
        return
    if text == "{}" and marker in ("absent", "null"):
        if marker == "null":
            wire["arguments"] = None
        return
    value, exact = as_object(text)
    wire["arguments"] = value
    if not said:
        w.added(wire, "arguments", "a call has arguments")
    if not exact:
        c["arguments"] = Fated("approximated", "wrapped in an object" if "_raw" in value else "re-encoded")


def as_object(text: Any) -> tuple[Node, bool]:
    """The object that arguments stand for, and whether the text comes back from it as it was."""
    if not text:
        return {}, text is None
    try:
        value = load_text(text)
    except ValueError:
        return {"_raw": text}, False
    if type(value) is not dict:
        return {"_raw": text}, False
    return value, dump_text(value) == text


def read_result(w: Node, item: Node, r: Reader) -> None:
    """A result: text stays text, contents become parts, any other JSON becomes its text."""
    if "result" not in w:
        return
    value = w["result"]
    if value is None or type(value) is str:
        item["output"] = w.pop("result")
    elif _are_contents(value):
        item["output"] = r.nodes(user_parts, w.pop("result"))
        r.place(item, ("output",), ("result",))
    elif type(value) is dict or type(value) is list:
        item["output"] = dump_text(w.pop("result"))
        r.form(item, "result", "json")
    else:
        raise IllTyped("result")


def _are_contents(value: Any) -> bool:
    """Whether a list is one of contents, be it that some are of an unknown kind."""
    if type(value) is not list or not all(type(each) is dict and type(each.get("type")) is str for each in value):
        return False
    return any(each["type"] in CONTENTS for each in value)


def write_result(c: Node, wire: Node, w: Writer) -> None:
    """Write the output of a tool as `result`: text, an object, or contents."""
    if "output" not in c:
        return
    output = c.pop("output")
    if type(output) is list:
        wire["result"] = w.nodes(user_parts, output)
        return
    if w.form(c, "result") == "json" and type(output) is str:
        try:
            output = load_text(output)
        except ValueError:
            pass
    wire["result"] = output


def call_id(c: Node, w: Writer, kind: str = "") -> Any:
    """The id under which a call goes: its own, else the item's.

    One is made if there is none; `kind` is the canonical type, by which a result gets that of the call before it.
    """
    if c.get("call_id") is not None:
        return c.pop("call_id")
    if type(c.get("id")) is str:
        found = c["id"]
        c["id"] = Fated("approximated", "became the id of the call")
        return found
    made = w.context.setdefault("hosted", {})
    call = kind.replace("_result", "_call")
    if kind != call and call in made:
        return made.pop(call)
    ordinal = made["number"] = made.get("number", 0) + 1
    found = made_id("call", w.seed, "hosted", ordinal)
    if kind and kind == call:
        made[call] = found
    return found
