"""Turns and texts: the roles that open and close a conversation, the places of system messages, empty texts."""

from __future__ import annotations

from typing import Any

from ...engine.pairs.origins import is_own
from ...engine.shared.text_wrappers import REMINDER, reminder_ends
from ...provenance.opaque import withheld
from .editor import Mending, has_asked, is_model, is_system, opens_at, text_of
from .rules import CALLS, fits

__all__ = [
    "bridge_results",
    "join_neighbours",
    "leave_out_blanks",
    "mend_end",
    "mend_fields",
    "mend_opening",
    "mend_system",
]

Node = dict[str, Any]

_TURN = "item.turn"
OPENING = "(The conversation begins here.)"
BRIDGE = "(The results are noted.)"
GO_ON = "Continue exactly where your last message ends."
_OF_TURN = ("type", "role", "content", "extra", "turn")
_RESULTS = frozenset(CALLS.values())
_TEXTS = frozenset(("input_text", "output_text", "text"))


def _leaf(item: Node) -> tuple[str, ...]:
    """The key by which an item is named that is there and stays."""
    return next(((key,) for key in ("content", "call_id", "id") if item.get(key)), ())


def _message(role: str, text: str) -> Node:
    return {"type": "message", "role": role, "content": text}


# ---- fields ---------------------------------------------------------------------------------------------------------


def mend_fields(m: Mending) -> None:
    """Names of speakers and ids of items that are refused are not sent."""
    form, prefixes = m.rules.name_form, m.rules.item_ids
    for item in m.items:
        name, kind, item_id = item.get("name"), item.get("type"), item.get("id")
        if form is not None and kind == "message" and type(name) is str and not fits(name, form):
            m.report(item, ("name",), "lost", "not a name the target takes")
            item = m.own(item, ("name",))
        prefix = prefixes.get(kind) if type(kind) is str else None
        if prefix is not None and type(item_id) is str and not fits(item_id, prefix + "[A-Za-z0-9_-]*", 64):
            m.report(item, ("id",), "lost", "not an id of this provider's")
            m.own(item, ("id",))


# ---- empty texts ----------------------------------------------------------------------------------------------------


def _is_blank(m: Mending, text: Any) -> bool:
    return type(text) is str and not (text if m.rules.blank == "empty" else text.strip())


def leave_out_blanks(m: Mending) -> None:
    """Empty texts, and the messages that become empty."""
    gone: set[int] = set()
    for item in m.items:
        key = "content" if item.get("type") == "message" else "output"
        content = item.get(key)
        if m.writer.protocol in (item.get("extra") or ()) or item.get("opaque"):
            # What is this target's own was taken by it; but a message that holds nothing came from a client.
            if key == "content" and not content and not item.get("opaque"):
                gone.add(id(item))
            continue
        if type(content) is list:
            left = [part for part in content if not _is_refused(m, part)]
            for part in content if len(left) < len(content) else ():
                if part.get("opaque") and _is_refused(m, part):
                    m.report(part, ("opaque",), withheld(m.writer), "foreign")
            if key == "content" and not left:
                gone.add(id(item))
            elif len(left) < len(content):
                m.own(item, **{key: _without_blanks(m, content)})
        elif key == "content" and (content is None or _is_blank(m, content)) and "content" in item:
            gone.add(id(item))
    turns = {item.get("turn") for item in m.items if id(item) not in gone} - {None} if gone else set()
    for item in m.items:
        if id(item) in gone:
            shared = item.get("turn") in turns  # its role is then that of the others
            # Of a node that is called approximated some of it should be seen: nothing is, so each leaf is named.
            for keys in (*(() if shared else ((), ("role",))), *((key,) for key in item if key not in _OF_TURN)):
                m.report(item, keys, "approximated", f"removed; the target rejects {m.rules.blank} messages")
            _tell_rest(m, item)
            content = item.get("content")
            if shared:
                for protocol in [key for key, kept in (item.get("extra") or {}).items() if "turn" in kept]:
                    m.report(item, ("extra", protocol, "turn"), "lost", "")
                if type(content) is list and content:
                    _without_blanks(m, content)
                elif "content" in item:
                    m.report(item, ("content",), "approximated", f"{m.rules.blank} text is refused")
                continue
            for part in content if type(content) is list else ():
                _tell_rest(m, part)
    m.leave_out(gone)
    instructions = m.request.get("instructions")
    if _is_blank(m, instructions) and instructions:
        m.writer.report(m.request, ("instructions",), "approximated", f"{m.rules.blank} text is refused")
        m.request = {key: value for key, value in m.request.items() if key != "instructions"}
        m.changed = True


def _without_blanks(m: Mending, content: list[Any]) -> list[Any]:
    """The parts without the empty texts; the part before one takes over its cache breakpoint."""
    left: list[Any] = []
    for part in content:
        if not _is_refused(m, part):
            left.append(part)
            continue
        why = f"{m.rules.blank} text is refused"
        if part.get("cache") is None:
            m.report(part, (), "approximated", why)
        else:
            for key in part.keys() - {"type", "cache", "extra", "opaque"}:
                m.report(part, (key,), "approximated", why)
            if left and type(left[-1]) is dict and left[-1].get("cache") is None:
                left[-1] = m.copy(left[-1], cache=part["cache"])
                m.report(part, ("cache",), "approximated", f"set on the part before; {why}")
            else:
                m.report(part, ("cache",), "lost", why)
        _tell_rest(m, part)
    return left


def _tell_rest(m: Mending, node: Node) -> None:
    """What a text or a message that is left out had besides."""
    for protocol, kept in (node.get("extra") or {}).items():
        if "rest" in kept:
            m.report(node, ("extra", protocol, "rest"), "lost", "")


def _is_refused(m: Mending, part: Any) -> bool:
    if type(part) is not dict or type(part.get("type")) is not str:
        return False
    if part["type"] not in _TEXTS or not _is_blank(m, part.get("text")):
        return False
    # A text may be nothing but the bearer of a signature, which has a meaning for its provider only.
    return not any(is_own(piece, m.writer) for piece in part.get("opaque") or ())


# ---- the system -----------------------------------------------------------------------------------------------------


def mend_system(m: Mending) -> None:
    """System messages in mid conversation stay where they are; where there are none, as the user's, in a tag."""
    items, opening = [*m.items], opens_at(m.items)
    followers: list[Node | None] = [None] * len(items)  # the next item that is not the system's
    for place in range(len(items) - 2, opening - 1, -1):
        after = items[place + 1]
        followers[place] = followers[place + 1] if is_system(after) else after
    before: Node | None = None
    for place, item in enumerate(items):
        if not is_system(item):
            before = item
        if place < opening or not is_system(item):
            continue
        if m.rules.system == "place":
            behind = followers[place]
            if before is not None and _may_go_before(before) and (behind is None or is_model(behind)):
                continue
        m.report(item, ("role",), "approximated", f"sent as the user's, in <{REMINDER}>")
        before = m.own(item, role="user", content=_reminder(m, item))


def _reminder(m: Mending, item: Node) -> Any:
    """The content of a system message between the tags that distinguish it from the user's text."""
    before, behind = reminder_ends()
    content = item.get("content")
    if type(content) is not list:
        m.report(item, ("content",), "approximated", f"in <{REMINDER}>")
        return f"{before}{content or ''}{behind}"
    texts = [part.get("type") in _TEXTS and not part.get("opaque") for part in content]
    parts = content.copy()
    for place in {0, len(parts) - 1} if parts else ():
        if texts[place]:
            ends = (before if place == 0 else "", behind if place == len(parts) - 1 else "")
            m.report(content[place], ("text",), "approximated", f"in <{REMINDER}>")
            parts[place] = m.copy(content[place], text=str(content[place].get("text") or "").join(ends))
    opening = [] if parts and texts[0] else [{"type": "input_text", "text": before}]
    closing = [] if parts and texts[-1] else [{"type": "input_text", "text": behind}]
    return [*opening, *parts, *closing]


def _may_go_before(item: Node) -> bool:
    """Whether a system message may follow an item: of the user's, or of a tool that the provider ran."""
    kind = str(item.get("type"))
    hosted = kind not in ("function_call", "custom_tool_call") and kind.endswith(("_call", "_result"))
    return not is_model(item) or (hosted and item.get("executor") != "client")


def join_neighbours(m: Mending) -> None:
    """Neighboring messages of one role become one, part by part."""
    opening = opens_at(m.items)
    out = m.items[:opening]
    joined: list[Node] | None = None  # the parts of the last message, once another was joined to it
    for item in m.items[opening:]:
        last = out[-1] if len(out) > opening else {}
        if item.get("type") != "message" or (last.get("type"), last.get("role")) != ("message", item.get("role")):
            out.append(item)
            joined = None
            continue
        m.report(
            item, ("content",) if item.get("content") else (), "approximated", "joined to the message before", _TURN
        )
        for key, value in item.items():
            if key not in ("type", "role", "content", "turn", "extra") and value is not None:
                m.report(item, (key,), "lost", "joined to the message before")
        for protocol, drawer in (item.get("extra") or {}).items():
            for slot in ("rest", "turn"):
                if drawer.get(slot):
                    m.report(item, ("extra", protocol, slot), "lost", "joined to the message before")
        if joined is None:
            joined = _parts(m, last)
            out[-1] = m.own(last, content=joined)
        joined += _parts(m, item)
    if len(out) < len(m.items):
        m.put(out)


def _parts(m: Mending, item: Node) -> list[Node]:
    content = item.get("content")
    if type(content) is not str:
        return list(content or ())
    kind = "output_text" if is_model(item) else "input_text"
    return [{"type": kind, "text": content}]


# ---- opening and end ------------------------------------------------------------------------------------------------


def mend_opening(m: Mending) -> None:
    """A conversation opens with the user, or at least not with a call."""
    if not m.rules.opens:
        return
    items, place = m.items, opens_at(m.items)
    asked = max((i for i, item in enumerate(items) if has_asked([item])), default=-1)
    gone: set[int] = set()
    first: Node | None = None  # of the model's output before any other message
    while True:
        end = next((i for i in range(place, len(items)) if not is_model(items[i])), len(items))
        run = items[place:end]
        step = [item for item in run if item.get("type") != "message"]
        kept = [item for item in run if item.get("type") == "message"]
        ids = {call.get("call_id") for call in run if call.get("type") in m.rules.calls}
        calls = bool(ids)
        if m.rules.opens != "call" or not calls or asked < end:
            first = first or (run[0] if run else None)
            break
        # The calls that it opens with are left out, with their results; what stands behind may be no better.
        first = first or (kept[0] if kept else None)
        behind = next((i for i in range(end, len(items)) if is_model(items[i])), len(items))
        results = [item for item in items[end:behind] if item.get("call_id") in ids]
        for item in [*step, *results]:
            m.report(item, (), "lost", "a conversation may not open with a call")
            gone.add(id(item))
        place = behind
        if any(id(item) not in gone and (first or not is_system(item)) for item in items[end:behind]):
            calls = False
            break
    m.leave_out(gone)
    if first is not None and (calls or m.rules.opens == "assistant"):
        opening = opens_at(m.items)
        turn = m.add(_message("user", OPENING), "a conversation opens with the user", _TURN)
        m.put([*m.items[:opening], turn, *m.items[opening:]])


def bridge_results(m: Mending) -> None:
    """A message right behind results has one of the model's before it."""
    out: list[Node] = []
    for item in m.items:
        if out and item.get("type") == "message" and not is_model(item) and out[-1].get("type") in _RESULTS:
            out.append(m.add(_message("assistant", BRIDGE), "nothing but the model's output follows results", _TURN))
        out.append(item)
    if len(out) > len(m.items):
        m.put(out)


def mend_end(m: Mending, whole: bool) -> None:
    """The end: of the user, or model output that may be continued; `whole` means that an answer follows."""
    if m.rules.filled and m.asked and opens_at(m.items) == len(m.items):
        m.put([*m.items, m.add(_message("user", OPENING), "a conversation opens with the user", _TURN)])
    if not m.items or not (m.rules.closes or m.rules.trailing):
        return
    last = m.items[-1]
    start = next((i for i in range(len(m.items), 0, -1) if not is_model(m.items[i - 1])), 0)
    if last.get("type") != "message" or not is_model(last):
        return
    if m.rules.closes:
        only = all(item.get("type") in ("message", "reasoning") for item in m.items[start:])
        if only and whole:
            m.report(last, _leaf(last), "approximated", "the target cannot continue an assistant message", _TURN)
            if m.rules.closes == "asked":
                m.put([*m.items, m.make(_message("user", GO_ON))])
    elif m.rules.trailing:
        _strip(m, last)


def _strip(m: Mending, item: Node) -> None:
    content = item.get("content")
    if type(content) is str:
        if content != content.rstrip():
            m.report(item, ("content",), "approximated", "white space at the end is refused")
            m.own(item, content=content.rstrip())
    elif type(content) is list and content and content[-1].get("type") in _TEXTS:
        part = content[-1]
        text = text_of([part])
        if text is not None and text != text.rstrip() and not part.get("opaque"):
            m.report(part, ("text",), "approximated", "white space at the end is refused")
            m.own(item, content=[*content[:-1], m.copy(part, text=text.rstrip())])
