"""Reasoning in Chat Completions: fields the protocol never specified and every server has.

`reasoning_content`, `reasoning` and `reasoning_text` hold text (two of them may hold the same text: the first is
believed); `reasoning_details` and `reasoning_opaque` hold typed and opaque pieces; some servers put `thinking` chunks
into the content. The canonical item remembers the field it came from and goes back into it. What a client surface
must carry for another provider travels in `reasoning_details`, in an envelope.

https://openrouter.ai/docs/use-cases/reasoning-tokens https://docs.mistral.ai/capabilities/reasoning
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import is_made
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.provenance.opaque import (
    TURN,
    anchor_of,
    is_envelope,
    opaque_piece,
    open_sealed,
    restore,
    seal,
    split_opaque,
)

from ..parts.content import thinking_parts
from ..values.tables import REASONING_FIELDS
from .signature import takes_opaque
from .tags import TAGS, read_tagged, tagged

__all__ = [
    "detail_text",
    "fields_of",
    "numbered_behind",
    "read_reasoning",
    "read_thinking",
    "seal_message",
    "take_late",
    "write_reasoning",
]

Node = dict[str, Any]

SEALED = "reasoning.encrypted"
FORMAT = "unified-llm-v1"
THINKING = "thinking"
_DETAILS = "reasoning_details"
_OPAQUE = "reasoning_opaque"
# In an envelope: the item came after the text of its message, before which the fields stand.
LATE = "late"


# ---- reading --------------------------------------------------------------------------------------------------------


def read_reasoning(w: Node, wire: Node, r: Reader) -> list[Node]:
    """The reasoning items of a message's own fields: none, one, or those in an envelope for us."""
    if "reasoning_tags" in r.dialect:
        found = read_tagged(w, wire, r)
        if found:
            return found
    details = w.get(_DETAILS)
    if type(details) is list and any(type(d) is dict and is_envelope(d.get("data"), r) for d in details):
        return _read_sealed(w, wire, details, r)
    return _read_fields(w, wire, r)


def _read_fields(w: Node, wire: Node, r: Reader) -> list[Node]:
    """The reasoning item of a message's fields, if they hold any."""
    details = w.get(_DETAILS)
    fields = [field for field in fields_of(r) if type(w.get(field)) is str and w[field]]
    if type(details) is not list or not details:
        details = None
    if not fields and details is None and type(w.get(_OPAQUE)) is not str:
        return []
    item: Node = {"type": "reasoning", "summary": []}
    if fields:
        text = w.pop(fields[0])
        item["content"] = [{"type": "reasoning_text", "text": text}]
        r.form(item, "field", fields[0])
        r.place(item, ("content",), (fields[0],))
        also = [field for field in fields[1:] if w[field] == text]
        for field in also:
            del w[field]
        if also:
            r.form(item, "also", also)
    elif details is not None:
        for detail in details:
            text, kind = detail_text(detail)
            if text:
                slot = "summary" if kind == "summary_text" else "content"
                item.setdefault(slot, []).append({"type": kind, "text": text})
        r.form(item, "field", _DETAILS)
    opaque = []
    if details is not None:
        # Typed details stay one opaque list: they go back unmodified and in order, or not at all.
        opaque.append(opaque_piece(_DETAILS, dump_text(w.pop(_DETAILS)), r))
        r.place(item, ("opaque", 0), (_DETAILS,))
    if type(w.get(_OPAQUE)) is str:
        r.place(item, ("opaque", len(opaque)), (_OPAQUE,))
        opaque.append(opaque_piece(_OPAQUE, w.pop(_OPAQUE), r))
    if opaque:
        item["opaque"] = opaque
    r.place(item, ("opaque",), (_DETAILS if details is not None else _OPAQUE,))
    return [r.made(item, wire)]


def fields_of(r: Reader) -> tuple[str, ...]:
    """The fields that may hold reasoning, the one that is the server's own first."""
    own = r.dialect.get("reasoning_field")
    return REASONING_FIELDS if own is None else tuple(sorted(REASONING_FIELDS, key=lambda field: field != own))


def detail_text(detail: Any) -> tuple[str, str]:
    """The readable text of one of `reasoning_details`, and the type of the canonical part it is."""
    if type(detail) is dict:
        if type(detail.get("text")) is str:
            return detail["text"], "reasoning_text"
        if type(detail.get("summary")) is str:
            return detail["summary"], "summary_text"
    return "", ""


def _read_sealed(w: Node, wire: Node, details: list[Any], r: Reader) -> list[Node]:
    """The reasoning items of a message with envelopes among its details."""
    envelopes = [d["data"] for d in details if type(d) is dict and is_envelope(d.get("data"), r)]
    others = [d for d in details if not (type(d) is dict and is_envelope(d.get("data"), r))]
    del w[_DETAILS]
    if others:
        w[_DETAILS] = others
    if r.secret is None:
        return _add_opaque(_read_fields(w, wire, r), envelopes, wire, r)
    items = []
    for data in envelopes:
        opened = open_sealed(data, None, r)
        if opened is None:
            # A damaged envelope has no origin, and never reaches a provider.
            r.context["refused"] = True
        elif opened.get("type") == "message":
            r.context["message in an envelope"] = opened
        else:
            late = opened.pop(LATE, None)
            items.append(r.made(opened, wire))
            if late:
                r.context.setdefault("late", []).append(opened)
    if items:
        for field in REASONING_FIELDS:
            w.pop(field, None)
        return items
    return _refused(_read_fields(w, wire, r), wire, r) if r.context.pop("refused", False) else []


def _add_opaque(items: list[Node], envelopes: list[str], wire: Node, r: Reader) -> list[Node]:
    """The reasoning that a client shows, with what envelopes that anybody may have made may add to it."""
    empty: Node = {"type": "reasoning", "summary": []}
    found, turns, refused = [], [], False
    for data in envelopes:
        opened = open_sealed(data, None, r)
        if opened is not None and opened.get("type") == "message":
            r.context["message in an envelope"] = opened
        elif opened is None or opened.get("type") != "reasoning":
            refused = True
        elif any(piece["kind"] == TURN for piece in opened.get("opaque") or ()):
            turns.append(r.made({**empty, "opaque": opened["opaque"]}, wire))
        else:
            found.append((data, opened.get(LATE)))
    shown = bool(items) and bool(items[0].get("content") or items[0].get("summary"))
    if not shown and not items:
        for data, late in found:
            item = restore(data, empty, None, r)
            if item is not None:
                items.append(r.made(item, wire))
                if late:
                    r.context.setdefault("late", []).append(item)
    elif len(found) == 1 and len(items) == 1 and "opaque" not in items[0]:
        # Which of several texts belongs to which of several envelopes cannot be seen any more.
        text = "\n\n".join(part["text"] for key in ("summary", "content") for part in items[0].get(key) or ())
        restored = restore(found[0][0], items[0], anchor_of({"text": text}), r)
        if restored is None:
            refused = True
        else:
            items[0]["opaque"] = restored.get("opaque", [])
            if found[0][1]:
                r.context.setdefault("late", []).append(items[0])
    elif found:
        refused = True
    return [*(_refused(items, wire, r) if refused else items), *turns]


def _refused(items: list[Node], wire: Node, r: Reader) -> list[Node]:
    node = items[0] if items else r.made({"type": "reasoning", "summary": []}, wire)
    r.note(node, ("opaque",), "lost", "an envelope is refused: damaged, moved, or not ours")
    return items


def read_thinking(chunk: Node, wire: Node, r: Reader) -> Node:
    """The reasoning item of a `thinking` chunk in the content."""
    rest = dict(chunk)
    thinking = rest.pop(THINKING)
    rest.pop("type")
    if type(thinking) is not list:
        raise IllTyped(THINKING)
    item: Node = {"type": "reasoning", "summary": [], "content": r.nodes(thinking_parts, thinking)}
    r.form(item, "field", THINKING)
    if rest:
        r.keep(item, rest)
    return r.made(item, chunk)


# ---- writing --------------------------------------------------------------------------------------------------------


def take_late(items: list[Node], r: Reader) -> list[Node]:
    """Take those of the items that came after the text of the message they were read from."""
    found = set(map(id, r.context.pop("late", ())))
    if not found:
        return []
    late = [item for item in items if id(item) in found]
    items[:] = [item for item in items if id(item) not in found]
    return late


def write_reasoning(items: list[Node], w: Writer, calls: bool = False, late: Collection[int] = ()) -> Node:
    """The fields that the reasoning items of one message share; what has no slot at this target is reported.

    The `thinking` chunks of servers that keep reasoning in the content are under "content", the text of those that
    keep it between tags is under "tagged". `calls` means that the message has calls; `late` has the identities of the
    items that came after text.
    """
    wire: Node = {}
    most: dict[str, int] = {}  # by list, the highest number in it
    for item in items:
        field = w.dialect.get("reasoning_field")
        if w.same or not w.dialect:
            field = w.form(item, "field") or field
        elif w.facing != "client" and w.dialect.get("reasoning_replay") in ("never", *(() if calls else ("calls",))):
            w.drop(item, "the server takes no reasoning back")
            continue
        if field is None or (field == TAGS and "reasoning_tags" not in w.dialect):
            if w.facing != "client":
                w.drop(item, "the target has no slot for reasoning")
                continue
            field = "reasoning_content"
        if field == TAGS:
            wire["tagged"] = wire.get("tagged", "") + w.piece(partial(_write_tagged, item), item)
            continue
        if field == THINKING and not w.same and not (item.get("summary") or item.get("content")):
            w.drop(item, "nothing of it can be read")
            continue
        if field == THINKING:
            _report_summary(item, "a chunk of thinking", w)
            wire.setdefault("content", []).append(w.piece(_write_thinking, item))
            continue
        if not (item.get("summary") or item.get("content") or item.get("opaque")):
            w.drop(item, "nothing of it can be read")
            continue
        w.context["late"] = id(item) in late
        written = w.piece(partial(_write_fields, item, field), item)
        for key, value in written.items():
            if key not in wire:
                wire[key] = value
            elif type(value) is str:
                wire[key] = f"{wire[key]}\n\n{value}"
            else:
                if key not in most:  # looking through all of them for each item would be quadratic
                    wire[key], most[key] = [*wire[key]], max(map(_number, wire[key]), default=-1)
                more = numbered_behind(value, 1 + most[key])
                most[key] = max(most[key], *map(_number, more), -1)
                wire[key] += more
    return wire


def _number(detail: Any) -> int:
    number = detail.get("index") if type(detail) is dict else None
    return number if type(number) is int else -1


def numbered_behind(details: list[Any], taken: int) -> list[Any]:
    """Details of another item behind some of a message, whose numbers go up to `taken`: those of one number are one."""
    numbers = [number for number in map(_number, details) if number >= 0]
    if not numbers or min(numbers) >= taken:
        return details
    return [{**each, "index": number + taken} if (number := _number(each)) >= 0 else each for each in details]


def _report_summary(item: Node, form: str, w: Writer) -> None:
    """A summary is read back as the reasoning itself, wherever it is put."""
    if item.get("summary") and (w.form(item, "field") is None or (w.dialect and not w.same)):
        w.report(item, ("summary",), "approximated", f"sent as {form}", "reasoning.summary")


def _write_tagged(item: Node, c: Node, w: Writer) -> str:
    if not c.get("opaque"):
        _report_summary(item, "text between tags", w)
        parts = [*(c.pop("summary", None) or ()), *(c.pop("content", None) or ())]
        return tagged("\n\n".join(w.said(part) for part in parts if type(part.get("text")) is str), item, w)
    fields = _write_fields(item, "reasoning_content", c, w)
    return tagged(fields.get("reasoning_content", ""), item, w)


def _write_thinking(c: Node, w: Writer) -> Node:
    texts = [*(c.pop("summary", None) or ()), *(c.pop("content", None) or ())]
    return {"type": THINKING, THINKING: w.nodes(thinking_parts, texts)}


def _write_fields(item: Node, field: str, c: Node, w: Writer) -> Node:
    wire: Node = {}
    own, foreign = split_opaque(c, w) if "opaque" in c else ([], [])
    if own and not takes_opaque(own, w):
        own, foreign = [], [*own, *foreign]
    parts = [part for key in ("summary", "content") for part in item.get(key) or () if type(part) is dict]
    texts = [part["text"] for part in parts if type(part.get("text")) is str and part["text"]]
    details = next((piece for piece in own if piece.get("kind") == _DETAILS), None)
    if details is not None:
        wire[_DETAILS] = _edited(load_text(details["data"]), texts) if field == _DETAILS else load_text(details["data"])
    elif field == _DETAILS and texts:
        field = "reasoning"
    if texts:
        _report_summary(item, field, w)
    if texts and field != _DETAILS:
        wire[field] = "\n\n".join(texts)
        for other in w.form(item, "also") or () if w.same or not w.dialect else ():
            wire[other] = wire[field]
    c.pop("summary", None)
    c.pop("content", None)
    places = {id(piece): place for place, piece in enumerate(item.get("opaque") or ())}
    for piece in own:
        if piece.get("kind") == _OPAQUE:
            wire[_OPAQUE] = piece["data"]
        elif piece.get("kind") != _DETAILS:
            w.report(item, ("opaque", places[id(piece)]), "lost", "openai-chat has no field for it")
    if foreign and w.facing == "client":
        whole = {**item, LATE: True} if w.context.get("late") else item
        data = seal(whole, anchor_of({"text": "\n\n".join(texts)}), w.secret)
        wire.setdefault(_DETAILS, []).append({"type": SEALED, "data": data, "format": FORMAT})
        for key in ("id", "status"):
            if c.get(key) is not None and not is_made(c[key]):
                c[key] = Fated("parked", "kept in an envelope")
        w.report(item, ("opaque",), "parked", "kept in an envelope")
        w.travels(item, c)
    elif foreign:
        w.report(item, ("opaque",), "parked" if w.vault is not None else "lost", "foreign")
    sealed = bool(foreign) and w.facing == "client"
    for part in parts:
        if type(part.get("text")) is str:
            w.said(part)
        elif w.source != w.protocol:
            w.drop(part, "kept in an envelope" if sealed else "", "parked" if sealed else "lost")
    return wire


def _edited(details: list[Any], texts: list[str]) -> list[Any]:
    """Details whose readable text is that of the canonical item."""
    places = [
        (index, "text" if kind == "reasoning_text" else "summary")
        for index, (text, kind) in enumerate(map(detail_text, details))
        if text
    ]
    places.sort(key=lambda place: place[1] == "text")
    if len(places) == len(texts):
        for (index, key), text in zip(places, texts):
            details[index] = {**details[index], key: text}
    return details


def seal_message(item: Node, w: Writer) -> Node:
    """The detail that carries a message whose parts another provider signed."""
    w.report(item, ("content",), "parked", "signatures kept in an envelope", "reasoning.signature")
    return {"type": SEALED, "data": seal(item, anchor_of(item), w.secret), "format": FORMAT}
