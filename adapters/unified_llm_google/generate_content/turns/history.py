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

from unified_llm.engine.pairs.mapping import ILL_TYPED
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..calls.calls_and_results import NAMED, names_of
from ..values.tables import PROTOCOL
from .contents import read_parts, write_items
from .fast_path import LAID, read_usual, stay_apart, usual_of, write_beside

__all__ = ["read_contents", "write_contents"]

Node = dict[str, Any]

_FAMILY = f"{PROTOCOL} contents"
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
_MODEL = frozenset(("model", "assistant", "MODEL"))
_ROLES = frozenset(("user", "function", "tool", "USER", "FUNCTION")) | _MODEL
"""The spellings of roles; some are in capitals, as the publishers' documentation does; `tool` is google-genai's."""


# ---- reading --------------------------------------------------------------------------------------------------------


def read_contents(contents: list[Any], r: Reader) -> list[Node]:
    """The items of a list of contents; entries that are not valid contents are kept whole."""
    items: list[Node] = []
    starts: list[int] = []  # the first item of each content
    numbered = enumerate(contents)
    r.laid = LAID
    # Where its parts stand is known of a conversation in its own place alone.
    quick = type(r.doc) is dict and r.doc.get("contents") is contents
    r.plain = quick
    before: bool | None = None
    unusual = -1  # the last content that was not read in one go
    while (found := read_usual(numbered, before, starts, items, r) if quick else next(numbered, None)) is not None:
        number, wire = found
        if number != unusual + 1:
            before = _is_model(contents[number - 1]) if number else None
        mark, unusual = len(r.trace), number
        try:
            read = _read_content(wire, number, before, r)
            side: bool | None = _side(read) == "model"  # as writing sees it: what is unknown looks like the model's
        except ILL_TYPED:
            del r.trace[mark:]
            read, side = [r.unread(wire, _FAMILY, within=(contents, number))], _is_model(wire)
        if side is before and number:
            stay_apart(items, starts, number)
        starts.append(len(items))
        items += read
        before, r.plain = side, False
    return items


def _is_model(wire: Any) -> bool | None:
    return wire.get("role") in _MODEL if type(wire) is dict else None


def _read_content(wire: Node, number: int, before: bool | None, r: Reader) -> list[Node]:
    rest = wire.copy()
    role = rest.pop("role", None)
    if not (role is None or type(role) is str):
        raise TypeError("role")
    wires = rest.pop("parts") if "parts" in rest else None
    model = role in _MODEL
    if wires is None:
        items: list[Node] = []
    elif type(wires) in (list, dict):
        items = read_parts(wires if type(wires) is list else [wires], model, r, (number,), wire)
    else:
        raise TypeError("parts")
    if not items:
        items = [r.made({"type": "message", "role": "assistant" if model else "user", "content": []}, wire)]
        r.form(items[0], "parts", "empty" if wires == [] else "null" if "parts" in wire else "absent")
    first = items[0]
    for item in items:
        content = item.get("content")
        if item["type"] == "message" and type(content) is list and len(content) == 1:
            if len(content[0]) == 2 and content[0].get("text"):
                item["content"] = content[0]["text"]
    own = "model" if _side(items) == "model" else "user"
    if type(wires) is dict:
        r.form(first, "parts", "lone")
    if role != own or "role" not in wire:
        _mark_role(first, items, role, "role" in wire, r)
    if len({item["type"] in _OUTPUTS for item in items}) > 1:
        r.form(first, "content", "mixed")
    if (own == "model") is before or _side([first]) != own:
        for item in items:
            item["turn"] = number
    return r.turn(items, wire, rest, number)


def _mark_role(first: Node, items: list[Node], role: str | None, given: bool, r: Reader) -> None:
    """A role other than that of the parts: a marker for the known ones; an unknown one is the message's own."""
    if role is None:
        r.form(first, "role", "null" if given else "absent")
    elif role in _ROLES:
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
    names: dict[str, str] = {}
    w.context.update(names=names, all_named=False)
    if type(history) is str:
        return [{"role": "user", "parts": [{"text": history}]}]
    history = history or ()
    out: list[Any] = []
    usual = usual_of(history, w)
    made, values = usual or ((), repeat(None))
    # Where a result was given the name of its call.
    named: list[tuple[Any, ...]] = []
    # The first item of the content that is open, and its parts as long as all of them are usual.
    start, place, mark = 0, 0, 0
    parts: list[Node] | None = None
    # Whose it is (results stand apart), whether its last item is a message, and of which turn that is.
    its, talking, before = "", False, None
    for index, item in enumerate(history):
        kind, turn, arguments = item.get("type"), item.get("turn"), None
        if kind == "function_call_output":
            side = "results"
        elif kind == "message":
            side = "model" if item.get("role") == "assistant" else "user"
        else:
            side = "results" if kind in _OUTPUTS else "model"
        if "arguments" in item:
            arguments = next(values)
        if "extra" in item and _is_unread(item, w):
            _close(history, start, index, parts, out, w)
            start, parts, its = index + 1, None, ""
            out.append(w.native(item, _FAMILY))
            continue
        if turn is None or before is None:
            joins = side == its and not (talking and kind == "message")
        else:
            joins = turn == before and (side == its or (its != "" and _is_whole(history[start], w)))
        talking, before = kind == "message", turn
        if not joins:
            if parts is None:
                _close(history, start, index, parts, out, w)
            start, its, parts, mark = index, side, None, len(w.raw)
            if usual is not None and "sealed" not in w.context:
                parts, place = [], len(out)
                out.append({"role": "user" if side == "results" else side, "parts": parts})
        elif side == "model":
            its = side
        if parts is None:
            continue
        size = len(item) if turn is None else len(item) - 1
        try:
            if kind == "function_call_output":
                call_id, output = item["call_id"], item["output"]
                if size == 3 and type(output) is str:
                    answer = {"id": call_id, "name": names[call_id], "response": {"output": output}}
                    if call_id in made:
                        del answer["id"]
                    named.append((place, "parts", len(parts)))
                    parts.append({"functionResponse": answer})
                    continue
            elif kind == "function_call":
                call_id, name = item["call_id"], item["name"]
                if type(call_id) is type(name) is str and arguments is not None:
                    names[call_id] = name
                    if size == 4:
                        call = {"id": call_id, "name": name, "args": arguments}
                        if call_id in made:
                            del call["id"]
                        parts.append({"functionCall": call})
                        continue
            elif kind == "message":
                text = item["content"]
                if size == 3 and type(text) is str and text and (side == "model" or item["role"] == "user"):
                    parts.append({"text": text})
                    continue
        except (KeyError, TypeError):
            pass
        if not write_beside(item, kind, size, arguments, parts, w):
            parts = None
            out.pop()
            del w.raw[mark:]
            while named and named[-1][0] == place:
                named.pop()
    _close(history, start, len(history), parts, out, w)
    if named:
        w.filled.append((out, named, ("functionResponse", "name"), *NAMED))
    return out


def _close(history: Any, start: int, end: int, parts: list[Node] | None, out: list[Any], w: Writer) -> None:
    """Write the items from `start` to `end` as one content, unless that is done: `parts` are those of usual ones."""
    if parts is not None or start == end:
        return
    if not w.context["all_named"]:
        # What was called may stand anywhere.
        w.context["names"].update({**names_of(history), **w.context["names"]})
        w.context["all_named"] = True
    wire = _write_content(list(history[start:end]), w)
    if wire is not None:
        out.append(wire)
    moved = w.context.pop("moved", None)
    if moved:
        out.append({"role": "user", "parts": moved})


def _is_unread(item: Node, w: Writer) -> bool:
    own = (item.get("extra") or {}).get(w.protocol)
    return own is not None and (own.get("form") or {}).get("native") == _FAMILY


def _is_whole(first: Node, w: Writer) -> bool:
    """Whether the content that opens with this item came with items of both sides."""
    return "extra" in first and bool(w.form(first, "content") == "mixed" or w.form(first, "role"))


def _write_content(group: list[Node], w: Writer) -> Node | None:
    first = group[0]
    role = w.form(first, "role")
    own = _side(group)
    written: Any = write_items([_plain(item, w) for item in group], w)
    form = w.form(first, "parts")
    if not written and form is None and not (first.get("extra") or {}).get(w.protocol):
        return None
    if not written and all(item.get("type") == "reasoning" for item in group):
        # A turn of nothing but thoughts that another provider made is none: a content without parts is refused.
        return None
    wire: Node = {"role": own if role in (None, "absent") else None if role == "null" else role}
    if role == "own":
        wire["role"] = first.get("role")
    if role == "absent":
        del wire["role"]
    if not (form == "absent" and not written):
        wire["parts"] = None if form == "null" and not written else written
    if form == "lone" and len(written) == 1:
        wire["parts"] = written[0]
    return w.turn(first, wire)


def _plain(item: Node, w: Writer) -> Node:
    """An item whose role this API lacks is sent as the user's, and reported."""
    role = item.get("role")
    if item.get("type") == "message" and role not in ("user", "assistant") and w.form(item, "role") != "own":
        w.report(item, ("role",), "approximated", "as the user")
    return item
