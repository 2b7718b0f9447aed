"""Requests of Chat Completions: messages to items and back, and the settings around them.

Items are grouped into messages again by turn where one is known, else by the protocol's own rule: reasoning and text
open an assistant message, calls join it. Tool messages hold text only: media of results follow in a user message,
after all results of the turn, each labeled with its call.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.text_wrappers import failure_of
from unified_llm.foundation.errors import InvalidBody

from ...cache import read_cache, read_text_control, write_own_control, write_text_control
from ..parts.content import takeable, takes_names, user_parts
from ..tools import call_id_of, is_foreign
from ..turns.fast_path import is_models, read_usual, write_usual
from ..turns.messages import is_call, read_message_items, write_assistant
from ..turns.results import content_of_result, write_media, write_result
from ..values.tables import REFUSES, REQUEST
from .demands import fit, fit_foreign, fit_messages, give_back, keep_known, read_own_names
from .settings import read_settings, write_settings

__all__ = ["messages", "read_request", "write_messages", "write_request"]

Node = dict[str, Any]

messages = Mapping("openai-chat messages", tag="role")
for _type, _reason in REFUSES.items():
    messages.cannot(_type, _reason)

_CALLS = frozenset(("function_call", "custom_tool_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
# With one of these a message of the assistant needs no content.
_WITHOUT_TEXT = ("tool_calls", "function_call", "audio", "refusal", "images")


def read_request(w: Node, r: Reader) -> Node:
    """Read a request. Raises `InvalidBody` without a list of messages."""
    wires = w.pop("messages", None)
    if type(wires) is not list:
        raise InvalidBody("/messages", "required field is missing or not a list")
    node: Node = {}
    node["input"] = _read_messages(wires, r)
    own = read_own_names(w, node, r) if r.dialect else None
    read_settings(w, node, r)
    if "cache_control" in w:
        read_cache(w, node, r)
    REQUEST.read(w, node)
    if own:
        give_back(w, node, own, r)
    return node


def write_request(c: Node, w: Writer) -> Node:
    """Write a request, within the constraints of the target's dialect."""
    wire: Node = {}
    written = write_messages(c.pop("input", None), w)
    if "instructions" in c:
        written[:0] = _write_instructions(c, w)
    write_settings(c, wire, w)
    REQUEST.write(c, wire, w, w.doc)
    write_own_control(c, wire, w)
    if w.model:
        c.pop("model", None)
        wire["model"] = w.model
    if w.dialect:
        fit(wire, c, w)
        fit_messages(written, w)
    if is_foreign(w):
        fit_foreign(wire, written, w)
    wire["messages"] = written
    w.http["method"], w.http["path"] = "POST", "chat/completions"
    return wire


# ---- reading --------------------------------------------------------------------------------------------------------


class _Open:
    """The calls that wait for a result, for results without the id of a call, and those of custom tools."""

    __slots__ = ("_calls", "_looked", "_r", "custom", "items", "legacy")

    def __init__(self, r: Reader, items: list[Node], custom: set[str]) -> None:
        self.items = items
        self.custom = custom
        self.legacy: list[str] = []
        self._r = r
        self._calls = Counter[str]()
        self._looked = 0

    def calls(self) -> Counter[str]:
        """The ids of the calls without a result, computed on the first result."""
        for item in self.items[self._looked :]:
            if item.get("type") in _CALLS and not _is_legacy(item, self._r):
                self._calls[item["call_id"]] += 1
            elif item.get("type") in _OUTPUTS and item.get("call_id") in self._calls:
                self._calls[item["call_id"]] -= 1
                if not self._calls[item["call_id"]]:
                    del self._calls[item["call_id"]]
        self._looked = len(self.items)
        return self._calls


def _read_messages(wires: list[Any], r: Reader) -> list[Node]:
    items: list[Node] = []
    custom: set[str] = set()
    open_: _Open | None = None
    walk = enumerate(wires)
    r.plain = True
    while (unusual := read_usual(walk, items, custom, r)) is not None:
        number, wire = unusual
        r.plain = False
        open_ = open_ or _Open(r, items, custom)
        mark = len(r.trace)
        try:
            items.extend(_read_message(wire, number, r, open_))
        except InvalidBody:
            raise
        except (IllTyped, KeyError, TypeError, AttributeError, ValueError):
            del r.trace[mark:]
            items.append(r.unread(wire, messages.name, within=(wires, number)))
    return items


def _read_message(wire: Node, number: int, r: Reader, open_: _Open) -> list[Node]:
    rest = wire.copy()
    role = rest.pop("role")
    if role == "assistant":
        items = read_message_items(rest, wire, number, r, open_.legacy)
        open_.custom.update(item["call_id"] for item in items if item["type"] == "custom_tool_call")
        if open_.items and is_models(open_.items[-1]):
            items[0]["turn"] = number
        return r.turn(items, wire, rest, number)
    if role == "tool":
        item = _read_tool(rest, number, r, open_)
    elif role == "function":
        name = rest.pop("name")
        call_id = open_.legacy.pop(0) if open_.legacy else call_id_of(r.seed, "legacy", number)
        item = {"type": "function_call_output", "call_id": call_id, "name": name}
        item["output"] = r.parts(user_parts, content_of_result(rest, item, r))
        r.form(item, "role", "function")
    else:
        if type(role) is not str:
            raise IllTyped("role")
        item = {"type": "message", "role": role, "content": r.parts(user_parts, rest.pop("content"))}
        if "cache_control" in rest and type(item["content"]) is str:
            read_text_control(item, rest, wire, r)
    if rest.get("name") is not None:
        item["name"] = rest.pop("name")
    r.made(item, wire)
    return r.turn([item], wire, rest, number)


def _is_legacy(item: Node, r: Reader) -> bool:
    return bool(item.get("extra", {}).get(r.protocol, {}).get("form", {}).get("legacy"))


def _read_tool(rest: Node, number: int, r: Reader, open_: _Open) -> Node:
    call_id = rest.pop("tool_call_id", None) if "tool_call_id" in rest else False
    item: Node = {"type": "function_call_output"}
    if type(call_id) is str and call_id:
        item["call_id"] = call_id
    elif call_id in (False, None, ""):
        calls = open_.calls()
        if calls.total() != 1:
            waiting = f"{calls.total()} calls wait for one"
            raise InvalidBody(f"/messages/{number}/tool_call_id", f"tool message has no tool_call_id, and {waiting}")
        (item["call_id"],) = calls
        r.form(item, "id", "absent" if call_id is False else "null" if call_id is None else "empty")
    else:
        raise IllTyped("tool_call_id")
    if item["call_id"] in open_.custom:
        item["type"] = "custom_tool_call_output"
    content = content_of_result(rest, item, r)
    failure = failure_of(content) if type(content) is str else None
    if failure is not None:
        item["is_error"] = True
        r.place(item, ("is_error",), ("content",))
        r.place(item, ("output",), ("content",))
        r.form(item, "failure", True)
        content = failure
    item["output"] = r.parts(user_parts, content)
    if "cache_control" in rest:
        read_cache(rest, item, r)
    r.form(item, "role", "tool") if type(item["output"]) is list else None
    return item


# ---- writing --------------------------------------------------------------------------------------------------------


def _write_instructions(c: Node, w: Writer) -> list[Node]:
    instructions = c.pop("instructions")
    if instructions is None:
        return []
    if type(instructions) is list and any("role" in entry for entry in instructions):
        return write_messages(instructions, w)
    content = w.parts(user_parts, takeable(instructions, w, "system"))
    return [{"role": "system", "content": content}] if content != [] or w.source == w.protocol else []


def write_messages(items: Any, w: Writer) -> list[Node]:
    """The messages of a list of items (or of a string, one user message)."""
    if type(items) is str:
        return [{"role": "user", "content": items}]
    out: list[Node] = []
    group: list[Node] = []
    media: list[tuple[Node, list[Node]]] = []

    def flush() -> None:
        if group:
            message = write_assistant(group, w)
            empty = all(value is None for key, value in message.items() if key != "role")
            if not empty or any(item["type"] != "reasoning" for item in group):
                needs = message.get("content") is None and not any(map(message.get, _WITHOUT_TEXT))
                if needs and (w.source != w.protocol or w.context.get("repaired")):
                    message["content"] = ""  # a message that calls nothing has a text
                out.append(keep_known(message, group, w))
            group.clear()

    items, start = items or [], 0
    while True:
        # Where nothing is open, the usual way is tried again.
        start = start if group or media else write_usual(items, start, out, w)
        if start == len(items):
            break
        item, start = items[start], start + 1
        kind = item.get("type")
        if kind in _OUTPUTS:
            flush()
            out.append(keep_known(w.turn(item, w.piece(partial(write_result, item, media), item)), [item], w))
            continue
        if media:
            out.append(write_media(media))
        if kind == "message" and item.get("role") != "assistant":
            flush()
            out.append(keep_known(w.turn(item, w.piece(partial(_write_message, item), item)), [item], w))
        elif kind == "message" or kind == "reasoning" or kind in _CALLS or is_call(item, w):
            if group and not _joins(group, item, kind):
                flush()
            group.append(item)
        else:
            if w.form(item, "native") == messages.name:
                flush()
                out.append(w.native(item, messages.name))
                continue
            native = w.native(item, messages.name, messages.cannots.get(kind, "") if type(kind) is str else "")
            if native is not None:
                flush()
                out.append(native)
    if media:
        out.append(write_media(media))
    flush()
    return out


def _joins(group: list[Node], item: Node, kind: Any) -> bool:
    """Whether an item belongs to the assistant message being gathered."""
    last = group[-1]
    turn, before = item.get("turn"), last.get("turn")
    if turn is not None or before is not None:
        return bool(turn == before)
    return (kind != "message" and kind != "reasoning") or last.get("type") == "reasoning"


def _write_message(item: Node, c: Node, w: Writer) -> Node:
    role = c.pop("role", None)
    allowed = role if w.same else w.dialect.get("roles", {}).get(role, role)
    if allowed != role:
        w.report(item, ("role",), "approximated", f"sent as {allowed!r}")
    content = c.pop("content", None)
    wire: Node = {"role": allowed}
    plain = type(content) is list and len(content) == 1 and (w.same or not w.dialect)
    if plain and w.form(content[0], "string"):
        wire.update(w.piece(write_text_control, content[0]))
    else:
        wire["content"] = "" if content is None else w.parts(user_parts, takeable(content, w, role))
    if content is None:
        w.added(wire, "content", "no value in the source")
    elif wire["content"] == [] and w.source != w.protocol:
        wire["content"] = ""  # of a list at least one part is demanded
    if "name" in c and takes_names(w):
        wire["name"] = c.pop("name")
    return wire
