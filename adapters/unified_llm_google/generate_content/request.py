"""Requests: contents to items and back, the system instruction, tools and settings around them.

One content holds what the canonical model keeps as several items: they share a turn, and what the content had beside
its parts stays with the first. Writing groups by turn where one is known, else as this API demands: calls and
thoughts join the model's content, the results of one turn stand together, alone, in one content.

https://ai.google.dev/api/generate-content#request-body
"""

from __future__ import annotations

from typing import Any

from unified_llm.errors import InvalidBody
from unified_llm.mapping import ILL_TYPED, NATIVE, Fated, take
from unified_llm.models.profiles import profile
from unified_llm.provenance import is_sealed
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .calls import names_of
from .choice import read_tool_config, write_tool_config
from .combining import leave_apart, limit_stops
from .content import parts, read_part, read_parts, write_items, write_parts
from .route import read_route, write_route
from .settings import read_settings, write_settings
from .signature import SLOT
from .spelling import actual, to_camel, to_snake
from .tables import PROTOCOL, REQUEST_SHAPE
from .tools import is_mixed, read_tools, write_tools
from .usual import read_usual, write_usual

__all__ = ["read_contents", "read_request", "write_contents", "write_request"]

Node = dict[str, Any]

_FAMILY = f"{PROTOCOL} contents"
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
_SYSTEM = frozenset(("system", "developer"))
_MODEL = frozenset(("model", "assistant"))
_SYSTEM_KEY = "systemInstruction"
_FLAG = "includeServerSideToolInvocations"
# The provider documents this value for calls that it did not make, https://ai.google.dev/gemini-api/docs/thought-signatures
_BYPASS = "skip_thought_signature_validator"


def read_request(w: Node, r: Reader) -> Node:
    if type(w.get("contents")) is not list:
        raise InvalidBody("/contents", "a list of contents is required")
    node: Node = {}
    spelled = to_camel(w, REQUEST_SHAPE)
    read_route(w, node, r)
    node["input"] = read_contents(w.pop("contents"), r)
    if type(w.get(_SYSTEM_KEY)) is dict:
        _read_system(w, node, r, spelled)
    if type(w.get("tools")) is list and all(type(tool) is dict for tool in w["tools"]):
        node["tools"] = read_tools(w.pop("tools"), r)
    if type(w.get("toolConfig")) is dict:
        read_tool_config(w, node, r, spelled)
    read_settings(w, node, r, spelled)
    if spelled:
        r.form(node, "snake", spelled)
        to_snake(w, spelled)
    return node


def write_request(c: Node, w: Writer) -> Node:
    wire: Node = {}
    w.context["model"] = w.model or c.get("model")
    w.context["names"] = names_of(c.get("input"))
    history = c.pop("input", None)
    system, history = _write_system(c, history, w)
    contents = write_contents(history, w)
    if system is not None:
        wire[_SYSTEM_KEY] = system
    leave_apart(c, w)
    limit_stops(c, w)
    if type(c.get("tools")) is list:
        nodes = c.pop("tools")
        written = write_tools(nodes, w)
        if written or not nodes:
            wire["tools"] = written
    else:
        nodes = []
        if "tools" in c:
            wire["tools"] = c.pop("tools")
    config = write_tool_config(c, w)
    if wire.get("tools") and is_mixed(nodes) and _needs_flag(nodes, w):
        config[_FLAG] = True
        w.added(config, _FLAG, "tools of the provider stand beside functions")
    if config:
        wire["toolConfig"] = config
    write_settings(c, wire, w)
    _sign_foreign_calls(contents, w)
    write_route(c, wire, w)
    wire["contents"] = contents
    spelled = w.form(c, "snake")
    return to_snake(wire, spelled) if spelled else wire


def _needs_flag(nodes: list[Node], w: Writer) -> bool:
    return not w.dialect.get("publishers") and not any(w.form(tool, "group") is not None for tool in nodes)


# ---- contents -------------------------------------------------------------------------------------------------------


def read_contents(contents: list[Any], r: Reader) -> list[Node]:
    items: list[Node] = []
    before: bool | None = None
    last: list[Node] = []
    for number, wire in enumerate(contents):
        mark = len(r.trace)
        try:
            read = read_usual(wire, number, before, r) or _read_content(wire, number, before, r)
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


def write_contents(history: Any, w: Writer) -> list[Any]:
    """The contents of a list of items (or of a string, one user message)."""
    if type(history) is str:
        return [{"role": "user", "parts": [{"text": history}]}]
    out: list[Any] = []
    group: list[Node] = []
    # Whose content the group is, whether its last item is a result or a message, and of which turn that is.
    side, answered, talking, before = "", False, False, None
    for item in history or ():
        if "extra" in item and _is_unread(item, w):
            _close(group, out, w)
            group = []
            out.append(w.native(item, _FAMILY))
            continue
        kind, turn = item.get("type"), item.get("turn")
        answers, talks = kind in _OUTPUTS, kind == "message"
        its = "user" if answers or (talks and item.get("role") != "assistant") else "model"
        if group:
            known = turn is not None and before is not None
            joins = its == side and answers is answered and (turn == before if known else not (talks and talking))
            if joins or (known and turn == before and _is_whole(group[0], w)):
                group.append(item)
                if its == "model":
                    side = its
                answered, talking, before = answers, talks, turn
                continue
            _close(group, out, w)
        group = [item]
        side, answered, talking, before = its, answers, talks, turn
    _close(group, out, w)
    return out


def _is_unread(item: Node, w: Writer) -> bool:
    own = (item.get("extra") or {}).get(w.protocol)
    return own is not None and (own.get("form") or {}).get("native") == _FAMILY


def _is_whole(first: Node, w: Writer) -> bool:
    """Whether the content that opens with this item came with items of both sides."""
    return "extra" in first and bool(w.form(first, "content") == "mixed" or w.form(first, "role"))


def _close(group: list[Node], out: list[Any], w: Writer) -> None:
    if group:
        wire = write_usual(group, out, w) if "sealed" not in w.context else None
        if wire is not None:
            out.append(wire)
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


# ---- the system instruction -----------------------------------------------------------------------------------------


def _read_system(w: Node, node: Node, r: Reader, spelled: list[str]) -> None:
    content = w[_SYSTEM_KEY]
    wires = content.get("parts")
    if type(wires) is not list:
        return
    own = take(w, _SYSTEM_KEY)
    del own["parts"]
    if own.get("role") == "user":
        del own["role"]
        r.form(node, "system role", "user")
    r.place(node, ("instructions",), actual((_SYSTEM_KEY,), spelled))
    if len(wires) == 1 and type(wires[0]) is dict and wires[0].keys() == {"text"} and type(wires[0]["text"]) is str:
        node["instructions"] = wires[0]["text"]
        r.place(node, ("instructions",), (*actual((_SYSTEM_KEY,), spelled), "parts", 0, "text"))
        return
    r.context["model"] = False
    read = []
    for index, wire in enumerate(wires):
        part = read_part(wire, r, (wires, index))
        if part["type"] not in parts.writes and part["type"] != NATIVE:
            part = r.unread(wire, parts.name)
        read.append(part)
    node["instructions"] = read


def _write_system(c: Node, history: Any, w: Writer) -> tuple[Node | None, Any]:
    """The system instruction: the request's own, and the messages of the system that open the conversation."""
    instructions = c.pop("instructions", None)
    written: list[Any] = []
    given = instructions is not None
    if type(instructions) is str:
        written.append({"text": instructions})
    elif given:
        written += write_parts(instructions, w)
    if type(history) is list:
        index = 0
        while index < len(history) and _is_system(history[index], w):
            written += w.piece(_write_system_message, history[index])
            index += 1
        history = history[index:] if index else history
    if not (written or given):
        return None, history
    role = {"role": "user"} if w.form(c, "system role") == "user" else {}
    return {"parts": written, **role}, history


def _is_system(item: Node, w: Writer) -> bool:
    return item.get("type") == "message" and item.get("role") in _SYSTEM and w.form(item, "role") is None


def _write_system_message(c: Node, w: Writer) -> list[Any]:
    role = c.pop("role")
    if role != "system":
        c["role"] = Fated("approximated", "as the system")
    content = c.pop("content", None)
    if type(content) is str:
        return [{"text": content}] if content else []
    return write_parts(content or [], w)


# ---- signatures that the provider demands ---------------------------------------------------------------------------


def _sign_foreign_calls(contents: list[Any], w: Writer) -> None:
    """Some models refuse unsigned calls of the current turn: those they did not make get the documented bypass."""
    if w.facing != "provider" or (w.source in (None, w.protocol) and not w.context.get("repaired")):
        return
    facts = profile(w.context.get("model"), w.protocol)
    # A model that is named as the target's and that nobody knows is taken for a new one.
    if not (facts.signed_calls or (w.model and not facts.known)):
        return
    for content in reversed(contents):
        wires = content.get("parts") if type(content) is dict else None
        if type(wires) is not list:
            continue
        if content.get("role") == "user" and any(
            "functionResponse" not in part for part in wires if type(part) is dict
        ):
            return
        calls = [part for part in wires if type(part) is dict and "functionCall" in part]
        if calls and not any(SLOT in part and not is_sealed(part[SLOT]) for part in calls):
            calls[0][SLOT] = _BYPASS
            w.added(calls[0], SLOT, "a call that this provider did not make")
