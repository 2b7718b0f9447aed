"""Lists of items, read and written: what one item cannot decide alone.

Pieces that belong to another provider travel through a client in the slot its clients echo, the `encrypted_content` of
a reasoning item: of the item itself, or of one made to carry what has no slot. They are put back on reading. A provider
is never sent a foreign piece, nor the half of an item that had one.

https://platform.openai.com/docs/guides/conversation-state
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.origins import has_field
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import CALLS, call_id_of, is_input, is_run_by_provider
from unified_llm.foundation.generated_ids import is_made, made_id
from unified_llm.provenance.opaque import (
    Anchored,
    anchor_of,
    is_envelope,
    is_reply,
    joined_parts,
    open_anchored,
    restore,
    seal,
)
from unified_llm.types._tables import KNOWN_TYPES

from ...demands import lacks_raw_text
from ..request.demands import takeable_items
from ..values.tables import CORE_ITEMS, ENCRYPTED, SLUG
from .code import code_items, is_code
from .custom_tools import CUSTOM_ITEMS, function_items, run_items
from .fast_path import read_usual, write_usual
from .images import parted, parted_nodes
from .items import BEARERS, answer_items, items, request_items
from .opaque import is_foreign_piece
from .results_in_calls import HOLDS, fold_result, is_open

__all__ = ["NOT_SAID", "has_foreign", "is_only_signed", "is_own", "mark_run", "read_items", "write_item", "write_items"]

Node = dict[str, Any]


NOT_SAID = "an answer holds messages of the assistant only"
"""The reason for a message to the model in an answer."""


def is_own(w: Writer) -> bool:
    """Whether what is written was read from this protocol, or made for no protocol: it is written as it is."""
    return not w.crosses


_PLAIN = frozenset(("type", "text", "extra"))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_items(wires: list[Any], r: Reader) -> list[Node]:
    """The items of a list on the wire."""
    nodes: list[Node] = []
    sealed = []
    walk = iter(wires)
    runs = r.dialect.get("runs", ())
    r.plain = True
    while unusual := read_usual(walk, nodes, r):
        (wire,), index = unusual, len(nodes)
        r.plain = False
        if type(wire) is not dict:
            nodes.append(r.unread(wire, items.name, items.tag, (wires, index)))
            continue
        nodes += r.nodes(items, (wire,))
        if wire.get("type") is None and "role" not in wire and type(wire.get("id")) is str:
            # An item with nothing but an id refers to a stored one.
            nodes[index] = r.node(items, {**wire, "type": "item_reference"})
            r.form(nodes[index], *(("type", "null") if "type" in wire else ("tag", "absent")))
            r.made(nodes[index], wire)
        elif type(wire.get("type")) is str and wire["type"].startswith(SLUG):
            _unslugged(nodes[index], r)
        elif is_envelope(wire.get("encrypted_content"), r):
            sealed.append(index)
        elif runs:
            mark_run(nodes[index], r)
    return _opened(nodes, wires, sealed, r) if sealed else nodes


def mark_run(node: Node, r: Reader) -> None:
    """Note of a call that the server of the dialect executed it itself: it waits for no client."""
    if node["type"] in CALLS and node["type"] in r.dialect.get("runs", ()):
        node["executor"] = "provider"
        r.place(node, ("executor",), ("type",))


def _unslugged(node: Node, r: Reader) -> None:
    """An item of an unknown type goes by its bare name, however it is spelled."""
    kind = node["type"].removeprefix(SLUG)
    if node["type"] != kind and kind and kind not in KNOWN_TYPES:
        node["type"] = kind
        r.form(node, "type", "slug")


def _opened(nodes: list[Node], wires: list[Any], sealed: list[int], r: Reader) -> list[Node]:
    """The list with the items of envelopes as they were; an envelope that fits nothing is removed."""
    out: list[Node | None] = list(nodes)
    others: Anchored | None = None
    for index in sealed:
        text = wires[index]["encrypted_content"]
        bearer = nodes[index]
        # What was read as naked opaque data is the envelope itself.
        shown = {key: value for key, value in bearer.items() if key != "opaque"}
        opened = restore(text, shown, anchor_of(shown), r)
        if opened is not None:
            if "id" in bearer and not opened.get("opaque"):
                opened.setdefault("id", bearer["id"])  # by it no provider takes the text for its own
            out[index] = r.made(opened, wires[index])
            continue
        out[index] = None
        if others is None:
            carrying = frozenset(sealed)
            seen = ((place, node) for place, node in enumerate(nodes) if place not in carrying)
            others = Anchored((place, node) for place, node in seen if not is_reply(node))
        inside = open_anchored(text, r)
        place = others.nearest(inside[1], inside[0], index) if inside is not None else None
        if inside is not None and place is not None:
            out[place] = r.made(_with(nodes[place], inside[1], r), wires[place])
        else:
            if bearer.get("summary") or bearer.get("content"):
                bearer.pop("opaque", None)
                out[index] = bearer
            r.note(bearer, ("opaque",), "lost", "the envelope is refused: damaged, moved, or not ours")
    return [node for node in out if node is not None]


def _with(item: Node, opened: Node, r: Reader) -> Node:
    """An item of the assistant's with what an envelope beside it holds for it."""
    if r.secret is not None:
        return opened
    added = {"opaque": opened["opaque"]} if opened.get("opaque") else {}
    if item["type"] == "message":
        added["content"] = joined_parts(item, opened.get("content"))
    return {**item, **added}


# ---- writing --------------------------------------------------------------------------------------------------------


def write_items(nodes: Any, w: Writer) -> Any:
    """The wire items of canonical ones (or the string or null that stands in their place)."""
    if type(nodes) is not list:
        return nodes
    if w.facing == "provider":
        nodes = takeable_items(nodes, w)
        if not is_own(w):
            return _write_foreign(nodes, w)
        nodes = _sendable(nodes, w)
    if is_own(w) and [1 for node in nodes if is_run_by_provider(node)]:
        return [wire for node in nodes for wire in write_item(node, w)]
    if lacks_raw_text(w) and any(node.get("type") in CUSTOM_ITEMS for node in nodes):
        return [
            wire
            for node in nodes
            for wire in w.nodes(function_items if node.get("type") in CUSTOM_ITEMS else items, [node])
        ]
    plain = is_own(w) and not w.dialect.get("strict") and not [1 for node in nodes if _is_slugged(node, w)]
    if plain and not (w.facing == "client" and [1 for node in nodes if has_foreign(node, w)]):
        return w.nodes(items, nodes)
    out = []
    calls: dict[Any, Node] = {}
    for index, node in enumerate(nodes):
        if not has_foreign(node, w) and fold_result(node, calls, w) is not None:
            continue
        written = write_item(node, w, index)
        if written and is_open(written[0]):
            calls[node["type"], call_id_of(node)] = written[0]
        out += written
    return out


def _write_foreign(nodes: list[Node], w: Writer) -> list[Any]:
    """What another protocol brought, for a provider."""
    ids = [node.get("call_id") for node in nodes if node.get("type") == "custom_tool_call"]
    functions = lacks_raw_text(w)
    custom = {call_id for call_id in ids if type(call_id) is str and not functions}
    w.context["custom calls"] = custom
    out: list[Any] = []
    walk = iter(_without_empty(nodes, w))
    while unusual := (list(walk) if custom else write_usual(walk, out, w)):
        for node in unusual:
            # What came home is what it was.
            family = items if "extra" in node and w.form(node, "home") else request_items
            if functions and node.get("type") in CUSTOM_ITEMS:
                family = function_items
            out += w.nodes(family, _sendable([node], w))
    return out


def _without_empty(nodes: list[Node], w: Writer) -> list[Node]:
    """The items without the empty messages of the model in turns that have more: reasoning has to precede its call."""
    empty = [
        node
        for node in nodes
        if node.get("role") == "assistant"
        and node.get("type") == "message"
        and "turn" in node
        and _is_empty(node.get("content"))
        and not ("extra" in node and w.form(node, "home"))
    ]
    if not empty:
        return nodes
    gone = {id(node) for node in empty}
    turns = {node.get("turn") for node in nodes if id(node) not in gone}
    for node in empty:
        if node["turn"] not in turns:
            gone.remove(id(node))
            continue
        w.nodes(request_items, [node])  # reports what else the message has, its name for example
        if node.get("content"):
            w.report(node, ("content",), "approximated", "an empty text beside other items is left out")
    return [node for node in nodes if id(node) not in gone]


def _is_empty(content: Any) -> bool:
    """Whether the content of a message has no text, no other part, and nothing that belongs to a text."""
    if type(content) is not list:
        return content is None or content == ""
    return all(
        type(part) is dict and part.get("type") == "output_text" and part.get("text") == "" and part.keys() <= _PLAIN
        for part in content
    )


def write_item(node: Node, w: Writer, *position: Any) -> list[Node]:
    """The wire item of one canonical item, and one to carry its foreign pieces where it has no slot for them."""
    if "streaming" in w.context and w.crosses and is_input(node):
        w.drop(node, NOT_SAID)
        return []
    family = (run_items if is_run_by_provider(node) else items) if is_own(w) else answer_items
    if is_code(node, w):
        family = code_items
    if w.dialect.get("strict") and type(node.get("content")) is list:
        parts = [part for part in node["content"] if type(part) is dict]
        cited = [part["annotations"] for part in parts if type(part.get("annotations")) is list]
        for each in (each for annotations in cited for each in annotations if type(each) is dict):
            if each.get("type") != "url_citation":
                w.drop(each, "Open Responses has URL citations only")
    if w.facing != "client" or not has_foreign(node, w):
        mark = len(w.raw)
        wire = w.node(family, node)
        if node.get("type") in HOLDS:
            for at in range(mark, len(w.raw)):
                if w.raw[at][1] == ("call_id",):
                    w.raw[at] = (node, ("call_id",), "approximated", "its result stands inside", None)
        return [] if wire is None else parted(_spelled(wire, node, w), w)
    mark = len(w.raw)
    if node.get("type") in BEARERS:
        w.context["sealed"] = seal(node, anchor_of(node), w.secret)
        wire = w.node(family, node)
        del w.context["sealed"]
        _in_envelope(w, mark)
        return [] if wire is None else [wire]
    empty = _only_signed(node, w)
    wire = w.node(family, node)
    if empty and wire is not None:
        texts = (number for number, part in enumerate(wire["content"]) if part.get("type") == "output_text")
        left = {place for place, is_empty in zip(texts, empty) if is_empty}
        wire["content"] = [part for place, part in enumerate(wire["content"]) if place not in left]
    _in_envelope(w, mark)
    if wire is None and w.secret is None:
        return []  # an envelope that anybody may have made only adds to what the client shows
    carriers = []
    nodes = parted_nodes(node, empty)
    for number, each in enumerate(nodes):
        if len(nodes) > 1 and not has_foreign(each, w):
            continue
        id_ = made_id("rs", w.seed, *position, *([number] if number else []))
        sealed = seal(each, anchor_of(each), w.secret)
        carrier = {"type": "reasoning", "id": id_, "summary": [], "encrypted_content": sealed}
        w.added(carrier, "id", "item added to hold an envelope")
        carriers.append(carrier)
    return carriers if wire is None else [*parted(wire, w, True), *carriers]


def _in_envelope(w: Writer, mark: int) -> None:
    """What was called lost since `mark`: the envelope holds the whole item."""
    for at in range(mark, len(w.raw)):
        node, keys, fate, _, capability = w.raw[at]
        if fate == "lost" and w.restores(keys or ("item",)):
            w.raw[at] = (node, keys, "parked", "kept in an envelope", capability)


def is_only_signed(part: Any, at: int, w: Writer) -> bool:
    """Whether a text of a message, behind its first part, is empty, and there for another provider's opaque data alone.

    Clients that put a line between parts would have an empty one; the envelope holds it.
    """
    if not at or type(part) is not dict or part.get("text") != "" or part.get("annotations"):
        return False
    return any(is_foreign_piece(piece, w) for piece in part.get("opaque") or ())


def _only_signed(node: Node, w: Writer) -> list[bool]:
    """Which of the texts of a message are there for opaque data alone; nothing where none is."""
    content = node.get("content") if node.get("type") == "message" else None
    parts = enumerate(content if type(content) is list else ())
    found = [
        is_only_signed(part, at, w) for at, part in parts if type(part) is dict and part.get("type") == "output_text"
    ]
    return found if True in found else []


def has_foreign(node: Node, w: Writer) -> bool:
    """Whether an item, or a part of its content, has what returns to another provider alone.

    That is opaque data, and the field that a readable text of reasoning came in. A client that requested encrypted
    reasoning gets some of each, as from the API: several send none back without it, and fail.
    """
    for piece in node.get("opaque") or ():
        if is_foreign_piece(piece, w):
            return True
    content = node.get("content")
    for part in content if type(content) is list else ():
        if type(part) is dict and part.get("opaque"):
            for piece in part["opaque"]:
                if is_foreign_piece(piece, w):
                    return True
    return node.get("type") == "reasoning" and (has_field(node, w) or _is_required(node, w))


def _is_required(node: Node, w: Writer) -> bool:
    """Whether reasoning has a text, no opaque data, and a client that requested all of it encrypted."""
    if w.facing != "client" or w.exchange is None or not w.crosses or node.get("opaque"):
        return False
    include = w.exchange.settings.get("include")
    return type(include) is list and ENCRYPTED in include and bool(node.get("content") or node.get("summary"))


# What a provider did by itself has an id of its own; without one it was done elsewhere.
_RAN = frozenset(
    "file_search_call web_search_call image_generation_call code_interpreter_call mcp_call mcp_list_tools".split()
)


def _sendable(nodes: list[Node], w: Writer) -> list[Node]:
    """What a provider may be sent: no item with a foreign piece, no reasoning in clear where it is not taken back."""
    foreign = not is_own(w)
    out = []
    for node in nodes:
        if w.source is None and node.get("type") in _RAN and not node.get("id"):
            w.drop(node, "the provider does not know what another one did")
            continue
        if node.get("type") in BEARERS:
            pieces = node.get("opaque")
            if pieces and any(is_foreign_piece(piece, w) for piece in pieces):
                w.drop(node, "foreign", "lost" if w.vault is None else "parked")
                continue
            if not (foreign or pieces) and is_made(node.get("id")) and not w.dialect.get("plain_reasoning"):
                # In clear and under an id of ours: what a client was shown of another provider's thoughts.
                w.drop(node, "foreign", "lost" if w.vault is None else "parked")
                continue
            if foreign and not pieces and not (w.dialect.get("plain_reasoning") and node["type"] == "reasoning"):
                w.drop(node, "only encrypted reasoning is taken back")
                continue
        out.append(node)
    return out


def _is_slugged(node: Node, w: Writer) -> bool:
    """Whether the type of an item was spelled in another way."""
    return "extra" in node and w.form(node, "type") is not None


def _spelled(wire: Any, node: Node, w: Writer) -> Any:
    """With the type under Open Responses' spelling, in its strict form or where it was read so."""
    if type(wire) is not dict or type(wire.get("type")) is not str:
        return wire
    kind = wire["type"]
    if w.form(node, "type") == "null":
        return {**wire, "type": None}
    if w.dialect.get("strict"):
        return wire if kind in CORE_ITEMS or ":" in kind else {**wire, "type": SLUG + kind}
    return {**wire, "type": SLUG + kind} if _is_slugged(node, w) and ":" not in kind else wire
