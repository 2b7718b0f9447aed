"""The timeline of an interaction: steps to items and back.

Most steps are one item each. A `user_input` may nest function results, and the turns of older clients nest everything;
such a step becomes several items with one `turn`, and the writer gathers them again. Reasoning is a step of its own
that carries a signature: facing a client it is also the slot for what another provider made, in an envelope.

https://ai.google.dev/gemini-api/docs/interactions https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_texts import arguments_of
from unified_llm.provenance.opaque import anchor_of, anchors_of, is_envelope, is_reply, open_sealed, restore, seal

from ...constants import KIN
from ..calls.hosted import HOSTED
from ..values.tables import CONTENTS
from .fast_path import UNASKED, UNSIGNED, is_history, is_signed, read_usual, write_usual
from .step_fields import KIND, NOBODYS
from .steps import parts_of, read_step, steps, write_content, write_step

__all__ = ["carriers", "open_thought", "read_steps", "sealed_whole", "unsealed", "write_steps", "write_thought"]

Node = dict[str, Any]

CARRIED = "unified_llm:carried"
_ROLES = {"user_input": "user", "model_output": "assistant", "user": "user", "model": "assistant"}
_LEGACY = ("user", "model")


# ---- reading a timeline ---------------------------------------------------------------------------------------------


def read_steps(wires: list[Any], r: Reader, role: str = "user") -> list[Node]:
    """The items of a list of steps, of contents (of `role`), of older turns, or of any mixture of them."""
    items: list[Node] = []
    number = 0
    r.plain = True
    while (number := read_usual(wires, number, items, r)) < len(wires):
        r.plain = False
        wire = wires[number]
        kind = wire.get("type") if type(wire) is dict else None
        if kind == "thought" and wire == UNSIGNED and _is_call(wires, number + 1):
            items.append(read_step(wires[number + 1], r))
            r.form(items[-1], "unsigned", True)
            number += 2
            continue
        if kind in CONTENTS:
            end = number
            while end < len(wires) and type(wires[end]) is dict and wires[end].get("type") in CONTENTS:
                end += 1
            item: Node = {"type": "message", "role": role, "content": r.nodes(parts_of(role), wires[number:end])}
            r.form(item, "in", "bare")
            r.context["bare"] = True
            whole: Any = wires if end - number == len(wires) else wire
            items.append(r.made(item, whole))
            number = end
            continue
        if kind in ("user_input", "model_output") and _nests(wire.get("content")):
            items += _read_nested(wire, kind, number, r)
        elif kind is None and type(wire) is dict and wire.get("role") in _LEGACY and "type" not in wire:
            items += _read_nested(wire, wire["role"], number, r)
        elif kind == "thought" and is_envelope(wire.get("signature"), r):
            items.append(r.made(open_thought(wire, r), wire))
        elif type(wire) is not dict:
            items.append(r.unread(wire, steps.name, within=(wires, number)))
        else:
            items.append(read_step(wire, r))
            if is_history(wires, r):
                _shorten(items[-1])
        number += 1
    return unsealed(items, r)


def _shorten(item: Node) -> None:
    """The one plain text of a message in a history, in its short form."""
    content = item.get("content")
    if item["type"] == "message" and type(content) is list and len(content) == 1:
        if len(content[0]) == 2 and "text" in content[0] and content[0]["text"]:
            item["content"] = content[0]["text"]


def _is_call(wires: list[Any], number: int) -> bool:
    return number < len(wires) and type(wires[number]) is dict and wires[number].get("type") == "function_call"


def _nests(content: Any) -> bool:
    return type(content) is list and any(type(each) is dict and each.get("type") in steps.reads for each in content)


def _read_nested(wire: Node, kind: str, number: int, r: Reader) -> list[Node]:
    """The items of a step that holds other steps among its contents, or of an older turn."""
    mark = len(r.trace)
    rest = wire.copy()
    rest.pop("type", None)
    rest.pop("role", None)
    role = _ROLES[kind]
    items: list[Node] = []
    try:
        content = rest.pop("content")
        if type(content) is str:
            items.append(r.made({"type": "message", "role": role, "content": content}, wire))
        else:
            run: list[Any] = []
            for each in [*content, None]:
                if each is not None and not (type(each) is dict and each.get("type") in steps.reads):
                    run.append(each)
                    continue
                if run or (each is None and not items):
                    items.append(
                        r.made({"type": "message", "role": role, "content": r.nodes(parts_of(role), run)}, wire)
                    )
                    run = []
                if each is not None:
                    items.append(read_step(each, r))
    except (KeyError, TypeError):
        del r.trace[mark:]
        return [r.unread(wire, steps.name, steps.tag)]
    for item in items:
        r.form(item, "in", kind)
    return r.turn(items, wire, rest, number)


def open_thought(wire: Node, r: Reader) -> Node:
    """A thought with an envelope: reasoning, or the opaque data of another item (see `unsealed`)."""
    summary = wire.get("summary")
    anchor = anchor_of({"summary": summary}) if summary else None
    opened = open_sealed(wire["signature"], anchor, r)
    if opened is not None and type(opened.get("type")) is str:
        # For its neighbor; a thought with content of its own stays as it is.
        if r.secret is not None or (opened["type"] == CARRIED and not summary):
            return opened
    shown = read_step({key: value for key, value in wire.items() if key != "signature"}, r)
    if shown.get("extra") == {r.protocol: {"form": {"signature": "absent"}}}:
        del shown["extra"]  # it has a signature, if not one of its own
    restored = restore(wire["signature"], shown, anchor, r)
    if restored is None:
        r.note(shown, ("opaque",), "lost", "the envelope is refused: damaged, moved, or not ours")
        # Kept from every provider: to Google it would be a thought without its signature.
        shown["opaque"] = [NOBODYS.copy()]
    return restored or shown


def unsealed(items: list[Node], r: Reader) -> list[Node]:
    """Items with the opaque data that came beside them."""
    carried = [item for item in items if item.get("type") == CARRIED]
    if not carried:
        return items
    out = [item for item in items if item.get("type") != CARRIED]
    bearers = _Bearers(out)
    wires: dict[int, Any] = {}
    # Of two envelopes for one call, that of its end is the later one: it names the arguments.
    for envelope in sorted(carried, key=lambda each: "\n" not in str(each.get("anchor"))):
        if not bearers.attach(envelope):
            if not wires:
                wires = {id(node): wire for node, wire in reversed(list(r.latest()))}
            node = r.made({"type": "reasoning", "summary": []}, wires.get(id(envelope), r.doc))
            r.note(node, ("opaque",), "lost", "the envelope is refused: damaged, moved, or not ours")
    return out


_NAMES = (str, type(None))


class _Bearers:
    """The assistant's items and parts by what an envelope beside them names: each is looked at once."""

    def __init__(self, items: list[Node]) -> None:
        self._found: dict[tuple[Any, Any], list[tuple[Node, Node, Any]]] = {}
        self._next: dict[tuple[Any, Any], int] = {}
        self._announced: set[tuple[Any, Any]] = set()
        for item in items:
            if is_reply(item):
                continue
            content = item.get("content")
            if type(content) is str and item["type"] == "message":
                # A text in its short form has them as a part.
                kind = "output_text" if item.get("role") == "assistant" else "input_text"
                content = [{"type": kind, "text": content}]
            for bearer in [item, *(content if type(content) is list else ())]:
                type_ = bearer.get("type")
                for number, anchor in enumerate(anchors_of(bearer) if type(type_) in _NAMES else ()):
                    self._found.setdefault((anchor, type_), []).append((bearer, item, content))
                    if number:
                        self._announced.add((anchor, type_))

    def attach(self, envelope: Node) -> bool:
        """Give opaque data back to the first item or part that it belongs to, and that has none.

        True as well for a call that was announced, and whose end brought its own.
        """
        named = envelope.get("anchor"), envelope.get("bearer")
        if not envelope.get("opaque") or not all(type(each) in _NAMES for each in named):
            return False
        found = self._found.get(named, [])
        for number in range(self._next.get(named, 0), len(found)):
            bearer, item, content = found[number]
            if "opaque" not in bearer:
                self._next[named] = number + 1
                bearer["opaque"] = envelope["opaque"]
                if bearer is not item:
                    item["content"] = content
                return True
        self._next[named] = len(found)
        return named in self._announced


# ---- writing a timeline ---------------------------------------------------------------------------------------------


def write_steps(items: list[Node], w: Writer, bare: bool = False) -> list[Any]:
    """The steps of a list of items. Contents that came outside any step stay so if all did, or with `bare`."""
    out: list[Any] = []
    values = arguments_of(items, exact=True)
    bare = bare or not [1 for item in items if "extra" not in item or w.form(item, "in") != "bare"]
    foreign = w.source is not None and w.source != w.protocol
    asked = foreign or w.context.get("repaired", False)
    unsigned = asked and w.facing == "provider" and w.dialect.get("placeholder", True)
    index = 0
    while (index := write_usual(items, index, values, out, unsigned, w)) < len(items):
        item = items[index]
        kind = item.get("type")
        inside = w.form(item, "in") if "extra" in item else None
        if inside == "bare" and bare and type(item.get("content")) is list:
            out += w.piece(_write_bare, item)
        elif type(inside) is str and inside in _ROLES:
            end = index + 1
            turn = item.get("turn")
            while (
                turn is not None
                and end < len(items)
                and items[end].get("turn") == turn
                and w.form(items[end], "in") == inside
            ):
                end += 1
            out.append(_write_nested(items[index:end], inside, w))
            index = end
            continue
        elif kind == "reasoning":
            out += write_thought(item, w)
        elif foreign and w.facing == "provider" and w.source not in KIN and _is_others(item, kind, w):
            w.drop(item, "executed by another provider")
        else:
            called = kind in ("function_call", "custom_tool_call")
            if "extra" in item and w.form(item, "unsigned"):
                out.append(UNSIGNED.copy())
            elif (
                unsigned
                and called
                and not is_signed(out, w)
                and not any(is_own(p, w) for p in item.get("opaque") or ())
            ):
                out.append(_placeholder(w))
            bears = w.facing == "client" and ("opaque" in item or type(item.get("content")) is list)
            mark = len(w.raw)
            wires = write_step(item, w)
            if bears:
                out += carriers(item, w) if wires else sealed_whole(item, w, mark)
            out += wires
            out += w.context.pop("after", ())
        index += 1
    return out


def _placeholder(w: Writer) -> Node:
    thought = UNSIGNED.copy()
    w.report(thought, ("signature",), "added", *UNASKED)
    return thought


def _write_bare(c: Node, w: Writer) -> list[Any]:
    return w.nodes(parts_of(c.pop("role")), c.pop("content"))


def _is_others(item: Node, kind: Any, w: Writer) -> bool:
    """Whether an item is what the tools of another provider did.

    A search for tools is sent if it comes with the definitions of what it found, and not with their names alone.
    """
    if w.form(item, "home"):
        return False
    if kind == "tool_search_call":
        return item.get("execution") != "client" and item.get("call_id") not in _defined(w)
    if kind == "tool_search_result":
        return type(item.get("tools")) is not list
    return kind in HOSTED


def _defined(w: Writer) -> set[Any]:
    """The ids of the searches for tools whose results hold definitions, found when the first search is met."""
    if "defined" not in w.context:
        items = w.doc.get("input")
        found = [item for item in items if item.get("type") in _FOUND] if type(items) is list else []
        w.context["defined"] = {item.get("call_id") for item in found if type(item.get("tools")) is list}
    defined: set[Any] = w.context["defined"]
    return defined


_FOUND = frozenset(("tool_search_output", "tool_search_result"))


def _write_nested(items: list[Node], inside: str, w: Writer) -> Node:
    content: Any = []
    for item in items:
        if item.get("type") != "message":
            content += write_thought(item, w) if item.get("type") == "reasoning" else write_step(item, w)
        elif type(item.get("content")) is str and len(items) == 1 and inside in _LEGACY:
            content = w.piece(_write_text, item)
        else:
            content += w.piece(_write_run, item)
    wire = {"role": inside, "content": content} if inside in _LEGACY else {"type": inside, "content": content}
    return w.turn(items[0], wire)


def _write_text(c: Node, w: Writer) -> Any:
    del c["role"]
    return c.pop("content")


def _write_run(c: Node, w: Writer) -> list[Any]:
    written = write_content(c, c.pop("role"), w) if "content" in c else []
    return written if type(written) is list else [{"type": "text", "text": written}]


def write_thought(item: Node, w: Writer) -> list[Any]:
    """The thought step of a reasoning item; none where the provider would refuse it.

    Facing a client, what another provider made goes in an envelope. Facing the provider, a thought without a signature
    of its own is left out whole: it is refused when it is replayed.
    """
    pieces = item.get("opaque") or ()
    own = any(piece.get("kind") == KIND and is_own(piece, w) for piece in pieces)
    if own or w.form(item, "signature"):
        return write_step(item, w)
    if w.facing != "client":
        fate = "parked" if pieces and w.vault is not None else "lost"
        w.drop(item, "foreign" if pieces else "unsigned thoughts are refused", fate)
        if pieces:
            w.report(item, ("opaque",), fate, "foreign")
        return []
    if not pieces and w.source in (None, w.protocol):
        return write_step(item, w)
    texts = [part["text"] for key in ("summary", "content") for part in item.get(key) or () if part.get("text")]
    wire: Node = {"type": "thought"}
    if texts:
        wire["summary"] = [{"type": "text", "text": text} for text in texts]
    wire["signature"] = seal(item, anchor_of({"summary": wire.get("summary")}), w.secret)
    w.drop(item, "kept in an envelope", "parked")
    if pieces:
        w.report(item, ("opaque",), "parked", "kept in an envelope")
    return [wire]


def sealed_whole(item: Node, w: Writer, mark: int) -> list[Node]:
    """The thought step with the envelope of an item with opaque pieces for which there is no step at all.

    What was called lost of it since `mark` is in the envelope.
    """
    if not item.get("opaque") or w.secret is None:
        return []  # without a secret it could not be distinguished from a forged one
    for index in range(mark, len(w.raw)):
        node, keys, fate, _, capability = w.raw[index]
        if fate == "lost":
            w.raw[index] = (node, keys, "parked", "kept in an envelope", capability)
    return [{"type": "thought", "signature": seal(item, anchor_of({}), w.secret)}]


def carriers(item: Node, w: Writer) -> list[Node]:
    """The thought steps with envelopes of what other providers hung on an item, not a thought, or on its parts."""
    out = []
    content = item.get("content")
    for bearer in [item, *(content if type(content) is list else ())]:
        foreign = [p for p in bearer.get("opaque") or () if not is_own(p, w)]
        if foreign:
            anchor = anchor_of(bearer)
            node = {"type": CARRIED, "anchor": anchor, "bearer": bearer.get("type"), "opaque": bearer["opaque"]}
            out.append({"type": "thought", "signature": seal(node, anchor_of({}), w.secret)})
    return out
