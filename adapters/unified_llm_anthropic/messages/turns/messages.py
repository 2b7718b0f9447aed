"""Messages to items and back.

A wire message holds what the canonical model keeps as several items (text, thinking, calls, results): they share a
turn, and what the message had beside them stays with the first. Writing gathers neighbors of one role into one
message, results of calls first, because the API requires all of them in the message that follows the calls; a message
that stood apart from its neighbor on the wire stays apart.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED, Fated, IllTyped, are_objects, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import split_text
from unified_llm.foundation.json_texts import arguments_of
from unified_llm.provenance.opaque import is_sealed

from ..blocks import blocks
from ..calls.hosted import HOSTED, PAIRED, is_hosted, is_result, is_silent, leading_to, open_calls
from ..calls.screens import SCREENS, write_screen
from ..mcp import UNDECLARED, is_declared, output_text
from ..parts.content import answer_parts, own_born, parts, said
from .carriers import carried_by, carrier_of, join_carried
from .fast_path import read_usual, write_usual
from .reasoning import REFUSED

__all__ = [
    "read_content",
    "read_messages",
    "role_of",
    "write_blocks",
    "write_messages",
]

Node = dict[str, Any]

FAMILY = "anthropic-messages messages"
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "computer_call_output"))
_SEALED_THEMSELVES = frozenset(("reasoning", "compaction"))
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_messages(messages: list[Any], r: Reader) -> list[Node]:
    """The items of a list of messages."""
    items: list[Node] = []
    walk = enumerate(messages)
    before: Any = None
    r.plain = True
    while (unusual := read_usual(walk, before, items, r)) is not None:
        number, wire = unusual
        r.plain = False
        mark = len(r.trace), len(r.turns)
        try:
            found = _read_message(wire, number, r)
        except ILL_TYPED:
            del r.trace[mark[0] :], r.turns[mark[1] :]
            found = [r.unread(wire, FAMILY, within=(messages, number))]
        before, role = _role_in(messages[number - 1] if number else None), _role_in(wire)
        if role == before and role is not None:
            r.form(found[0], "opens", True)
        if role == "system" and not items:
            r.form(found[0], "place", "messages")
        before = role
        items += found
    # A client may have made several messages of one answer, and its carrier is behind the message that it belongs to.
    if "carried" in r.context:
        for left in join_carried(items, r.context.pop("carried"), r):
            r.note(left, ("opaque",), "lost", REFUSED)
    return items


def _role_in(wire: Any) -> Any:
    return wire.get("role") if type(wire) is dict else None


def _read_message(wire: Node, number: int, r: Reader) -> list[Node]:
    rest = wire.copy()
    role, content = rest.pop("role"), rest.pop("content")
    if role not in _ROLES:
        raise IllTyped("role")
    if type(content) is str:
        items = [r.made({"type": "message", "role": role, "content": content}, wire)]
    else:
        items = read_content(content, role, wire, r)
        if not items:
            items = [r.made({"type": "message", "role": role, "content": []}, wire)]
        for item in items:
            if role_of(item, None) != role:
                r.form(item, "role", role)
    return r.turn(items, wire, rest, number)


def read_content(content: Any, role: str, wire: Node, r: Reader) -> list[Node]:
    """The items of a list of blocks; blocks that are parts gather in messages."""
    if type(content) is not list:
        raise IllTyped("content")
    family = answer_parts if role == "assistant" else parts
    items: list[Node] = []
    carried: list[Node] = []
    message: Node | None = None
    for number, block in enumerate(content):
        kind = block.get("type") if type(block) is dict else None
        if type(kind) is not str:
            kind = None
        if kind in family.reads or (role == "user" and kind not in blocks.reads):
            part = r.nodes(family, (block,))[0]
            if type(block) is not dict:
                r.made(part, wire, "content", number)
            if message is None:
                message = {"type": "message", "role": role, "content": []}
                # Its text is found where it stands; the node of several blocks is their message.
                r.made(message, wire)
                items.append(message)
            message["content"].append(part)
            continue
        if kind == "redacted_thinking":
            opened = carried_by(block, r)
            if opened is not None:
                carried.append(r.made(opened, block))
                continue
        message = None
        items.append(r.nodes(blocks, (block,))[0])
        if type(block) is not dict:
            r.made(items[-1], wire, "content", number)
    if carried and (left := join_carried(items, carried, r)):
        r.context.setdefault("carried", []).extend(left)
    return items


# ---- writing --------------------------------------------------------------------------------------------------------


def role_of(item: Node, w: Writer | None) -> str:
    """The role of the wire message an item belongs to."""
    if w is not None:
        marked = w.form(item, "role")
        if marked is not None:
            return str(marked)
    kind = item.get("type")
    if kind == "message":
        return _ROLES.get(item.get("role") or "", "user")
    if kind in _OUTPUTS or (kind == "shell_call_output" and not is_hosted(item, w)):
        return "user"
    return "system" if kind == "tool_change" else "assistant"


def write_messages(items: Any, w: Writer) -> list[Node]:
    """The messages of a list of items (or of a string, one user message)."""
    if type(items) is str:
        return [{"role": "user", "content": items}]
    items = items or []
    if not w.plain and w.facing == "provider" and not own_born(w):
        items = _paired(items, w)
    out: list[Any] = []
    start, arguments = 0, arguments_of(items)
    # Towards a client reasoning may take an envelope along.
    pairs = _write_item if w.facing == "provider" and not own_born(w) else None
    while (start := write_usual(items, arguments, start, out, w, pairs)) < len(items):
        start = _write_unusual(items, start, out, w)
    return out


def _write_unusual(items: list[Node], start: int, out: list[Any], w: Writer) -> int:
    """Write the message that an item opens; the number of the item behind it."""
    first = items[start]
    if w.form(first, "native") == FAMILY:
        out.append(w.native(first, FAMILY))
        _look_at(out[-1], w)
        return start + 1
    role, end = role_of(first, w), start + 1
    while end < len(items) and _joins(items[end - 1], items[end], role, w):
        end += 1
    out += _written(items[start:end], role, w)
    return end


def _joins(last: Node, item: Node, role: str, w: Writer) -> bool:
    """Whether an item belongs to the message being gathered."""
    if w.form(item, "native") == FAMILY or role_of(item, w) != role or w.form(item, "opens"):
        return False
    return role != "system" or (item.get("turn") is not None and last.get("turn") == item["turn"])


def _look_at(message: Any, w: Writer) -> None:
    """Remember a message that is not of the usual shapes: only such hold what a request may need a header for."""
    w.context.setdefault("unusual", []).append(message)


def _written(group: list[Node], role: str, w: Writer) -> list[Node]:
    """The message of a group of items."""
    first = group[0]
    if len(group) == 1 and first.get("type") == "message" and type(first.get("content")) is str:
        if first["content"] or own_born(w):
            return [w.turn(first, w.piece(_write_plain, first))]
        w.piece(_write_nothing, first)
        return []
    content = write_blocks(group, w)
    if not content and not (own_born(w) and any(item.get("type") == "message" for item in group)):
        # (A turn of nothing but thoughts that another provider made is none: an empty message is refused.)
        return []
    message = w.turn(first, {"role": role, "content": content})
    _look_at(message, w)
    return [message]


def _write_plain(c: Node, w: Writer) -> Node:
    role = _role_out(c)
    return {"role": role, "content": c.pop("content")}


def _write_nothing(c: Node, w: Writer) -> Node:
    _role_out(c)
    c.pop("content")
    return {}


def _role_out(c: Node) -> str:
    role = c["role"]
    wire = _ROLES.get(role, "user")
    if wire != role:
        c["role"] = Fated("approximated", f"sent as {wire}")
    else:
        del c["role"]
    return wire


def write_blocks(items: list[Node], w: Writer) -> list[Any]:
    """The blocks of the items of one message."""
    out: list[Any] = []
    for item in items:
        found = w.piece(_write_message_blocks, item) if item.get("type") == "message" else _write_item(item, w)
        carrier = None
        if w.facing == "client" and (found or item.get("type") == "message") and item["type"] not in _SEALED_THEMSELVES:
            carrier = carrier_of(item, w, not found)
        carried = [carrier] if carrier is not None else []
        # Behind a text, as in a stream: clients take the first block for the answer. Before a call, as thinking is.
        out += [*found, *carried] if item.get("type") == "message" else [*carried, *found]
    return out


def _write_message_blocks(c: Node, w: Writer) -> list[Any]:
    role = _role_out(c)
    content = c.pop("content", None)
    if "opaque" in c and w.facing == "client":
        c["opaque"] = Fated("parked", "kept in an envelope")
    if type(content) is str:
        return [{"type": "text", "text": content}] if content or own_born(w) else []
    family = answer_parts if role == "assistant" else parts
    if role != "assistant" or w.facing != "client" or own_born(w):
        return w.nodes(family, said(content or [], w))
    out: list[Any] = []
    for part in said(content or [], w):
        cut = split_text(part) if part.get("annotations") and w.is_silent(part.get("extra") or {}) else None
        if cut is not None:
            w.report(part, ("text",), "approximated", "cut into blocks where it cites")
            if part.get("logprobs"):
                w.report(part, ("logprobs",), "lost")
        out += w.nodes(family, (part,)) if cut is None else _by_place(cut, w)
    return out


def _by_place(cut: list[Node], w: Writer) -> list[Any]:
    """The blocks of a text that was cut where it is cited: a citation is about its block here."""
    # In place, and back: what is reported of a citation is known by its identity, and an envelope keeps its place.
    notes = [(note, dict(note), part) for part in cut for note in part.get("annotations") or ()]
    for note, _, part in notes:
        note.update(start_index=0, end_index=len(part["text"]))
    out = w.nodes(answer_parts, cut)
    for note, before, _ in notes:
        note.update(before)
    return out


def _write_item(item: Node, w: Writer) -> list[Any]:
    """The block of an item; two where results stand inside a hosted call."""
    flat = w.context.get("flat")
    if flat and id(item) in flat:
        return [w.piece(_flattened, item)]
    kind = item.get("type")
    if kind in SCREENS and (found := write_screen(item, w)) is not None:
        return found
    inline = _INLINE.get(kind) if type(kind) is str else None
    if inline is None or not (
        any(item.get(key) is not None for key in inline[1] if key != "status")
        or (kind == "web_search_call" and item.get("status") == "failed" and not own_born(w))
    ):
        out = w.nodes(blocks, (item,))
        if kind in _SEALED_THEMSELVES and out and is_sealed(out[0].get("signature", out[0].get("encrypted_content"))):
            w.travels(item)
        if not out and item.get("opaque"):
            # Withheld as a whole; the pieces are reported beside the item.
            for index in range(len(item["opaque"])):
                w.report(item, ("opaque", index), "parked" if w.vault is not None else "lost", "foreign")
        return out
    return _write_split(item, inline, w)


# Hosted calls that may hold their results, the item such results are apart, and the keys that hold them.
_INLINE: dict[str, tuple[str, tuple[str, ...]]] = {
    "web_search_call": ("web_search_result", ("results", "status")),
    "mcp_call": ("mcp_result", ("output", "error")),
    "code_interpreter_call": ("code_interpreter_result", ("outputs", "status")),
}


def _write_split(item: Node, inline: tuple[str, tuple[str, ...]], w: Writer) -> list[Any]:
    """A hosted call and, in a block of its own, the result it holds."""
    held = {key: item[key] for key in inline[1] if item.get(key) is not None}
    call = {key: value for key, value in item.items() if key not in held}
    result: Node = {"type": inline[0], "call_id": item.get("call_id") or item.get("id"), **held}
    mark = len(w.raw)
    out = w.nodes(blocks, (call,))
    found = w.nodes(blocks, (result,)) if out else []
    for number, (node, keys, fate, detail, capability) in enumerate(w.raw[mark:], mark):
        if node is call or node is result:  # it is reported for the item
            said = keys or ((next(iter(held)),) if node is result else ())
            w.raw[number] = (item, said, fate, detail, capability)
    if found:
        w.added(found[0], "tool_use_id", "results stand apart from their call here")
    return [*out, *found]


# ---- hosted calls of other providers --------------------------------------------------------------------------------

_UNPAIRED = "the API takes a call of its own tools with its result or not at all"


def _paired(items: list[Node], w: Writer) -> list[Node]:
    """Without the hosted calls whose results the API would not take back, or never gave, and without those results."""
    if PAIRED.isdisjoint([item.get("type") for item in items]):
        return items
    others = [item for item in items if "extra" not in item or not w.form(item, "home")]
    waiting = open_calls(items, w)
    if not waiting and not any(item.get("type") in HOSTED or is_result(item, w) for item in others):
        return items
    results = {item.get("call_id"): item for item in others if is_result(item, w)}
    gone = {id(item) for item in items if waiting.get(id(item)) is False and _writable(item, w) < 2}
    thoughts = leading_to(gone, items)
    kept: set[int] = set()
    flat: set[int] = w.context.setdefault("flat", set())
    unknown: set[int] = set()
    for item in others:
        kind = item.get("type")
        if kind not in HOSTED or (kind == "shell_call" and not is_hosted(item, w)) or waiting.get(id(item)):
            continue
        result = results.get(item.get("call_id"))
        if kind == "mcp_call" and not is_declared(item, w):
            (flat if item.get("output") else unknown).add(id(item))
        elif kind == "web_search_call" and result is not None and is_silent(result):
            gone.add(id(item))
        elif _writable(item, w) >= 2 or (result is not None and _writable(item, w) == 1 and _writable(result, w)):
            kept.add(id(result))
        else:
            gone.add(id(item))
    for item in others:
        if is_result(item, w) and id(item) not in kept:
            hits = item.get("results")
            said = (hits and are_objects(hits)) or (item["type"] == "mcp_result" and item.get("output"))
            (flat if said else gone).add(id(item))
    for item in items:
        if id(item) in gone or id(item) in unknown:
            w.drop(item, _UNPAIRED if id(item) in gone else UNDECLARED)
        elif id(item) in thoughts:
            w.drop(item, "the item it led to is not there")
    gone |= unknown | thoughts
    return [item for item in items if id(item) not in gone]


def _writable(item: Node, w: Writer) -> int:
    """How many blocks an item would become: tried, and forgotten."""
    mark = len(w.raw)
    out = _write_item(item, w)
    del w.raw[mark:]
    return len(out)


def _flattened(c: Node, w: Writer) -> Node:
    """What a search of another provider found, or an MCP server gave that the request does not declare, as text."""
    if "output" in c:
        return {"type": "text", "text": output_text(c, w) or "no results"}
    lines = []
    for hit in take_all(c, "results"):
        told = [key for key in ("title", "url", "snippet") if hit.get(key)]
        lines.append(" - ".join(str(hit[key]) for key in told))
        hit.update(dict.fromkeys(told, Fated("approximated", "sent as text")))
    return {"type": "text", "text": "\n".join(lines) or "no results"}
