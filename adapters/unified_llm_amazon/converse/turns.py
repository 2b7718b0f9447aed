"""Messages to items and back.

A message holds what the canonical model keeps as several items (text, reasoning, calls, results): they share a turn.
Roles alternate in this API, so that writing gathers neighbors of one role in one message; a message that stood apart
from its neighbor on the wire stays apart.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED, Fated, IllTyped
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.citation_spans import split_text
from unified_llm.provenance.opaque import is_sealed

from .calls import blocks
from .parts import answers, parts, read_point, read_sources, with_points
from .passes.requests import taken
from .values import PROTOCOL, is_own

__all__ = ["read_content", "read_messages", "role_of", "write_blocks", "write_messages"]

Node = dict[str, Any]

FAMILY = f"{PROTOCOL} messages"
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_OF_USERS = frozenset(("input_image", "output_image", "input_file", "output_file"))
_RESULTS = frozenset(("function_call_output", "custom_tool_call_output"))


def read_messages(messages: list[Any], r: Reader, at: tuple[Any, ...]) -> list[Node]:
    """The items of a list of messages, which stands at `at`."""
    items: list[Node] = []
    before: Any = None
    for number, wire in enumerate(messages):
        mark = len(r.trace), len(r.turns)
        try:
            found = _read_message(wire, number, r, (*at, number))
        except ILL_TYPED:
            del r.trace[mark[0] :], r.turns[mark[1] :]
            found = [r.unread(wire, FAMILY, within=(messages, number))]
        role = wire.get("role") if type(wire) is dict else None
        if role is not None and role == before:
            r.form(found[0], "opens", True)
        if role == "system" and not items:
            r.form(found[0], "place", "messages")
        before = role
        items += found
    return items


def _read_message(wire: Node, number: int, r: Reader, at: tuple[Any, ...]) -> list[Node]:
    rest = wire.copy()
    role, content = rest.pop("role"), rest.pop("content")
    if role not in ("user", "assistant", "system"):
        raise IllTyped("role")
    items = read_content(content, role, wire, r, (*at, "content"))
    if not items:
        items = [r.made({"type": "message", "role": role, "content": []}, wire)]
    for item in items:
        if role_of(item, None) != role:
            r.form(item, "role", role)
    return r.turn(items, wire, rest, number)


def read_content(content: Any, role: str, wire: Node, r: Reader, at: tuple[Any, ...]) -> list[Node]:
    """The items of the blocks at `at`; blocks that are parts gather in messages."""
    if type(content) is not list:
        raise IllTyped("content")
    family = answers if role == "assistant" else parts
    items: list[Node] = []
    message: Node | None = None
    last: Node | None = None
    for number, block in enumerate(content):
        if read_point(block, last, r, (*at, number)) or read_sources(block, last, r, (*at, number)):
            continue
        if type(block) is dict and any(key in blocks.reads for key in block):
            message = None
            last = r.nodes(blocks, (block,))[0]
            items.append(last)
            continue
        last = r.nodes(family, (block,))[0]
        if type(block) is not dict:
            r.made(last, wire, "content", number)
        if message is None:
            message = {"type": "message", "role": role, "content": []}
            items.append(r.made(message, wire))
        message["content"].append(last)
    return items


# ---- writing --------------------------------------------------------------------------------------------------------


def role_of(item: Node, w: Writer | None) -> str:
    """The role of the message that an item belongs to."""
    marked = w.form(item, "role") if w is not None else None
    if marked is not None:
        return str(marked)
    kind = item.get("type")
    if kind == "message":
        return _ROLES.get(item.get("role") or "", "user")
    if kind in _RESULTS and item.get("executor") != "provider":
        return "user"
    return "user" if kind == "tool_change" else "assistant"


def write_messages(items: Any, w: Writer) -> list[Any]:
    """The messages of a list of items, or of a text of the user."""
    if type(items) is str:
        return [{"role": "user", "content": [{"text": items}]}]
    out: list[Any] = []
    group: list[Node] = []
    role = ""
    for item in items or ():
        native = w.form(item, "native") == FAMILY
        now = role_of(item, w)
        if group and (native or now != role or w.form(item, "opens")):
            out += _message(group, role, w)
            group = []
        if native:
            out.append(w.native(item, FAMILY))
            continue
        group.append(item)
        role = now
    out += _message(group, role, w) if group else []
    untouched = is_own(w) and not w.context.get("repaired") and not w.context.pop("withheld", False)
    return out if untouched or w.facing != "provider" else _accepted(out, w)


def _accepted(messages: list[Any], w: Writer) -> list[Any]:
    """Join neighbors of one role that stood apart before, and give documents the text that the API requires."""
    out: list[Any] = []
    last: Node | None = None  # nothing is joined to anything but a message of blocks
    for message in messages:
        is_whole = type(message) is dict and type(message.get("content")) is list
        if is_whole and last is not None and last.get("role") == message.get("role"):
            last["content"] += message["content"]
            continue
        last = message if is_whole else None
        out.append(message)
    for message in out:
        if type(message) is not dict or type(message.get("content")) is not list:
            continue
        blocks = [block for block in message["content"] if type(block) is dict]
        if any("document" in block for block in blocks) and not any("text" in block for block in blocks):
            text = {"text": "Here is a document."}
            message["content"].append(text)
            w.added(text, "text", "required by amazon-converse beside a document")
    return out


def _message(group: list[Node], role: str, w: Writer) -> list[Node]:
    content = write_blocks(group, w)
    if not content and not (is_own(w) and any(item.get("type") == "message" for item in group)):
        # (A turn of nothing but thoughts that another provider made is none: an empty message is refused.)
        w.context["withheld"] = True
        return []
    return [w.turn(group[0], {"role": role, "content": content})]


def write_blocks(items: list[Node], w: Writer) -> list[Any]:
    """The blocks of the items of one message."""
    out: list[Any] = []
    for item in items:
        if item.get("type") == "message":
            out += w.piece(_write_parts, item)
            continue
        found = with_points(blocks, (item,), w)
        if item.get("type") == "reasoning" and found:
            inner = found[0]["reasoningContent"].get("reasoningText") if "reasoningContent" in found[0] else None
            if inner and is_sealed(inner.get("signature")):
                w.travels(item)
        if not found and item.get("opaque"):
            for index in range(len(item["opaque"])):
                w.report(item, ("opaque", index), "parked" if w.vault is not None else "lost", "foreign")
        out += found
    return out


def _write_parts(c: Node, w: Writer) -> list[Any]:
    role = c.pop("role", "user")
    if role not in ("user", "assistant", "system"):
        c["role"] = Fated("approximated", f"sent as {_ROLES.get(str(role), 'user')}")
    content = c.pop("content", None)
    if type(content) is not list:
        return [{"text": content}] if type(content) is str and (content or is_own(w)) else []
    if role != "assistant":
        return with_points(parts, taken(content, w), w)
    out: list[Any] = []
    for part in content:
        if part.get("type") in _OF_USERS and w.facing == "provider" and not is_own(w):
            w.drop(part, "images and documents are only for the role user")
            continue
        cut = None
        if w.facing == "client" and part.get("annotations") and not is_own(w) and w.is_silent(part.get("extra") or {}):
            cut = split_text(part)
        if cut is None:
            out += with_points(answers, (part,), w)
            continue
        w.report(part, ("text",), "approximated", "cut into blocks where it cites")
        if part.get("logprobs"):
            w.report(part, ("logprobs",), "lost")
        out += w.nodes(answers, cut)
    return out
