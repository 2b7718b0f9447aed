"""The conversation: contents to items and back.

One content holds what the canonical model keeps as several items: they share a turn, and what the content had beside
its parts stays with the first. Writing groups by turn where one is known, else as this API demands: calls and
thoughts join the model's content, the results of one turn stand together, alone, in one content. What is usual is
written as it comes; the first item of a group that is not sends all of the group to the pairs.

https://ai.google.dev/api/caching#Content
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

from unified_llm.mapping import ILL_TYPED
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .calls import NAMED, names_of
from .content import read_parts, write_items
from .tables import PROTOCOL
from .usual import LAID, read_usual, usual_of, write_beside

__all__ = ["read_contents", "write_contents"]

Node = dict[str, Any]

_FAMILY = f"{PROTOCOL} contents"
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
_MODEL = frozenset(("model", "assistant"))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_contents(contents: list[Any], r: Reader) -> list[Node]:
    items: list[Node] = []
    before: bool | None = None
    last: list[Node] = []
    # Where its parts stand is known of a conversation in its own place alone.
    quick = type(r.doc) is dict and r.doc.get("contents") is contents
    r.laid = LAID
    for number, wire in enumerate(contents):
        mark = len(r.trace)
        try:
            read = (quick and read_usual(wire, number, before, r)) or _read_content(wire, number, before, r)
        except ILL_TYPED:
            del r.trace[mark:]
            read = [r.unread(wire, _FAMILY, within=(contents, number))]
        side = wire.get("role") in _MODEL if type(wire) is dict else None
        if side is before and number:
            # Two contents of one side stay two: both say which turn they are.
            for item in last:
                item.setdefault("turn", number - 1)
        items += read
        before, last = side, read
    return items


def _read_content(wire: Node, number: int, before: bool | None, r: Reader) -> list[Node]:
    rest = wire.copy()
    role = rest.pop("role", None)
    if not (role is None or type(role) is str):
        raise TypeError("role")
    wires = rest.pop("parts") if "parts" in rest else None
    model = role in _MODEL
    if wires is None:
        items: list[Node] = []
    elif type(wires) is list:
        items = read_parts(wires, model, r, (number,), wire)
    else:
        raise TypeError("parts")
    if not items:
        items = [r.made({"type": "message", "role": "assistant" if model else "user", "content": []}, wire)]
        r.form(items[0], "parts", "empty" if wires == [] else "null" if "parts" in wire else "absent")
    first = items[0]
    if len(items) == 1 and type(first.get("content")) is list and len(first["content"]) == 1:
        part = first["content"][0]
        if len(part) == 2 and part.get("text"):
            # The same whether the content says its role or not.
            first["content"] = part["text"]
    own = "model" if _side(items) == "model" else "user"
    if role != own or "role" not in wire:
        _mark_role(first, items, role, "role" in wire, r)
    if len({item["type"] in _OUTPUTS for item in items}) > 1:
        r.form(first, "content", "mixed")
    if model is before or _side([first]) != own:
        for item in items:
            item["turn"] = number
    return r.turn(items, wire, rest, number)


def _mark_role(first: Node, items: list[Node], role: str | None, given: bool, r: Reader) -> None:
    """A role other than what the parts say: a marker for the known ones; an unknown one is the message's own."""
    if role is None:
        r.form(first, "role", "null" if given else "absent")
    elif role in ("user", "model", "function", "assistant"):
        r.form(first, "role", role)
    else:
        for item in items:
            if item["type"] == "message":
                item["role"] = role
        if first["type"] == "message":
            r.form(first, "role", "own")
        else:
            raise TypeError("role")


def _side(items: list[Node]) -> str:
    """Whose content items make: the user's (messages not of the assistant, results), else the model's."""
    for item in items:
        kind = item.get("type")
        if kind == "message":
            if item.get("role") == "assistant":
                return "model"
        elif kind not in _OUTPUTS:
            return "model"
    return "user"


# ---- writing --------------------------------------------------------------------------------------------------------


def write_contents(history: Any, w: Writer) -> list[Any]:
    """The contents of a list of items (or of a string, one user message)."""
    names = w.context["names"] = names_of(history)
    if type(history) is str:
        return [{"role": "user", "parts": [{"text": history}]}]
    history = history or ()
    out: list[Any] = []
    usual = usual_of(history, names)
    made, values = usual or ((), repeat(None))
    # Where a result was given the name of its call; how many that were when the group began.
    named: list[tuple[Any, ...]] = []
    mark = 0
    # The items of one content, and its parts as long as all of them are usual.
    group: list[Node] = []
    parts: list[Node] | None = None
    # Whose content it is, whether its last item is a result or a message, and of which turn that is.
    side, answered, talking, before = "", False, False, None
    for item in history:
        kind, turn = item.get("type"), item.get("turn")
        arguments = next(values) if kind == "function_call" else None
        if "extra" in item and _is_unread(item, w):
            _close(group, side, parts, out, w)
            group = []
            out.append(w.native(item, _FAMILY))
            continue
        answers, talks = kind in _OUTPUTS, kind == "message"
        its = "user" if answers or (talks and item.get("role") != "assistant") else "model"
        joins = bool(group) and its == side and answers is answered
        if group and turn is not None and before is not None:
            joins = turn == before and (joins or _is_whole(group[0], w))
        elif joins:
            joins = not (talks and talking)
        if not joins:
            _close(group, side, parts, out, w)
            group, side, mark = [], its, len(named)
            parts = [] if usual is not None and "sealed" not in w.context else None
        elif its == "model":
            side = its
        group.append(item)
        answered, talking, before = answers, talks, turn
        if parts is None:
            continue
        size = len(item) if turn is None else len(item) - 1
        call_id = item.get("call_id")
        if size == 3 and kind == "function_call_output":
            output = item.get("output")
            if type(call_id) is str and call_id in names and type(output) is str:
                answer: Node = {} if call_id in made else {"id": call_id}
                answer["name"] = names[call_id]
                answer["response"] = {"output": output}
                named.append((len(out), "parts", len(parts)))
                parts.append({"functionResponse": answer})
                continue
        elif size == 4 and arguments is not None:
            name = item.get("name")
            if type(call_id) is str and type(name) is str:
                call: Node = {} if call_id in made else {"id": call_id}
                call["name"] = name
                call["args"] = arguments
                parts.append({"functionCall": call})
                continue
        elif size == 3 and talks:
            text, role = item.get("content"), item.get("role")
            if type(text) is str and text and (role == "user" or role == "assistant"):
                parts.append({"text": text})
                continue
        if not write_beside(item, kind, size, arguments, parts, w):
            parts = None
            del named[mark:]
    _close(group, side, parts, out, w)
    if named:
        w.filled.append((out, named, ("functionResponse", "name"), *NAMED))
    return out


def _is_unread(item: Node, w: Writer) -> bool:
    own = (item.get("extra") or {}).get(w.protocol)
    return own is not None and (own.get("form") or {}).get("native") == _FAMILY


def _is_whole(first: Node, w: Writer) -> bool:
    """Whether the content that opens with this item came with items of both sides."""
    return "extra" in first and bool(w.form(first, "content") == "mixed" or w.form(first, "role"))


def _close(group: list[Node], side: str, parts: list[Node] | None, out: list[Any], w: Writer) -> None:
    if not group:
        return
    if parts is not None:
        out.append({"role": side, "parts": parts})
        return
    wire = _write_content(group, w)
    if wire is not None:
        out.append(wire)
    moved = w.context.pop("moved", None)
    if moved:
        out.append({"role": "user", "parts": moved})


def _write_content(group: list[Node], w: Writer) -> Node | None:
    first = group[0]
    role = w.form(first, "role")
    own = _side(group)
    written: Any = write_items([_plain(item, w) for item in group], w)
    form = w.form(first, "parts")
    if not written and form is None and not (first.get("extra") or {}).get(w.protocol):
        return None
    wire: Node = {"role": own if role in (None, "absent") else None if role == "null" else role}
    if role == "own":
        wire["role"] = first.get("role")
    if role == "absent":
        del wire["role"]
    if not (form == "absent" and not written):
        wire["parts"] = None if form == "null" and not written else written
    return w.turn(first, wire)


def _plain(item: Node, w: Writer) -> Node:
    """An item whose role this API has no word for speaks as the user, which is told."""
    role = item.get("role")
    if item.get("type") == "message" and role not in ("user", "assistant") and w.form(item, "role") != "own":
        w.report(item, ("role",), "approximated", "as the user")
    return item
