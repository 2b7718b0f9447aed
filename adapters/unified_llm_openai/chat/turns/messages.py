"""Assistant messages: one wire message holds what the canonical model keeps as several items.

Reasoning, message and calls of one wire message share a turn, and what the message had beside them stays with the
first. A request's message and an answer's are read by the same function; they are written by two, since an answer's
content is a string with its refusal, sources and log probabilities beside it, and a request's may be a list of parts.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text
from unified_llm.provenance.opaque import anchor_of, joined_parts

from ...cache import read_text_control, write_own_control
from ..parts.content import are_pictures, assistant_parts, citations, has_pictures, pictures, takes_names
from ..tools import call_id_of, calls, is_repeated, read_arguments, write_arguments
from ..values.tables import REASONING_FIELDS
from .reasoning import THINKING, read_reasoning, read_thinking, take_late, write_reasoning

__all__ = [
    "AUDIO_KEYS",
    "HOLLOW",
    "is_call",
    "read_message_items",
    "report_moved",
    "tagged_content",
    "write_assistant",
    "write_call",
]

Node = dict[str, Any]

_CALLS = ("function_call", "custom_tool_call")
_PLAIN = {"type", "text"}
AUDIO_KEYS = ("id", "data", "transcript", "expires_at")
HOLLOW: dict[str, Any] = {
    "annotations": [],
    "refusal": None,
    "tool_calls": [],
    "function_call": {"name": "", "arguments": ""},
    "audio": {"id": "", "data": "", "transcript": "", "expires_at": 0},
    "images": [],
    **dict.fromkeys(REASONING_FIELDS, ""),
}
"""The empty values that servers put into a message: a form."""


# ---- reading --------------------------------------------------------------------------------------------------------


def read_message_items(
    rest: Node, wire: Node, number: int, r: Reader, legacy: list[str], *, answer: bool = False
) -> list[Node]:
    """The items of an assistant message; pops what it understands from `rest`. An `answer` has parts, no string."""
    items = read_reasoning(rest, wire, r)
    content = rest.get("content")
    message: Node = {"type": "message", "role": "assistant"}
    form = None
    if type(content) is str and content:
        message["content"] = _text(rest, wire, r) if answer else rest.pop("content")
    elif content == [] and rest.get("tool_calls"):
        form = "parts"
        del rest["content"]
    elif type(content) is list:
        items += _read_list(rest, wire, message, r)
        if len(message) > 2:
            r.form(message, "content", "parts")
    elif type(content) is dict:
        # Structured output as the object it is, where others give its JSON as text (Workers AI).
        rest["content"], form = dump_text(content), "object"
        message["content"] = _text(rest, wire, r) if answer else rest.pop("content")
    elif content is None or content == "":
        form = "absent" if "content" not in rest else "null" if content is None else "empty"
        rest.pop("content", None)
    else:
        raise IllTyped("content")
    _read_slots(rest, message, wire, r)
    _read_annotations(rest, message, wire, r)
    if "cache_control" in rest and not answer and type(message.get("content")) is str:
        read_text_control(message, rest, wire, r)
    if "name" in rest:
        message["name"] = rest.pop("name")
    made: list[Node] = []
    if type(rest.get("tool_calls")) is list and rest["tool_calls"]:
        made = r.nodes(calls, rest.pop("tool_calls"))
        _read_indexes(made, r)
    old = rest.get("function_call")
    if type(old) is dict and old.get("name") and not is_repeated(old, wire.get("tool_calls")):
        made.append(_read_legacy_call(rest, wire, number, r, legacy))
    late = take_late(items, r) if "late" in r.context else ()
    if len(message) > 2 or not (made or items or late) or _had_signed_nothing(r):
        message.setdefault("content", "" if form == "empty" and not answer else [])
        message = _opened(message, r)
        items.append(r.made(message, wire))
    items.extend((*late, *made))
    # In a request null means absent.
    if form and (answer or form != "null") and not (form == "empty" and message.get("content") == ""):
        r.form(items[0], "content", form)
    for key, hollow in HOLLOW.items():
        if key in rest and _is_hollow(rest[key], hollow):
            del rest[key]
            r.form(items[0], key, "hollow")
    return items


def _is_hollow(value: Any, hollow: Any) -> bool:
    if type(hollow) is not dict:
        return bool(value == hollow)
    if type(value) is not dict or value.keys() != hollow.keys():
        return False
    return all(type(value[key]) is type(hollow[key]) and value[key] == hollow[key] for key in hollow)


def _read_indexes(made: list[Node], r: Reader) -> None:
    """A call's index repeats its place: a form."""
    for place, item in enumerate(made):
        drawer = (item.get("extra") or {}).get(r.protocol) or {}
        rest = drawer.get("rest")
        if type(rest) is dict and "native" not in drawer.get("form", ()) and rest.get("index", -1) == place:
            if type(rest.pop("index")) is not int:
                rest["index"] = place
                continue
            if not rest:
                del drawer["rest"]
            r.form(item, "index", True)


def _had_signed_nothing(r: Reader) -> bool:
    """Whether the message held an empty text that was signed, and that stands nowhere now."""
    sealed = r.context.get("message in an envelope")
    return (
        sealed is not None
        and r.secret is not None
        and anchor_of(sealed) == anchor_of({"type": "message", "content": ""})
    )


def _opened(message: Node, r: Reader) -> Node:
    """The message, with the signatures of the envelope beside it if they are this message's."""
    sealed: Node | None = r.context.get("message in an envelope")
    if sealed is None:
        return message
    del r.context["message in an envelope"]
    if anchor_of(sealed) != anchor_of(message):
        return message
    if r.secret is None:
        if message["content"]:
            message["content"] = joined_parts(message, sealed.get("content"))
        return message
    return {**sealed, "extra": {**(sealed.get("extra") or {}), **message.get("extra", {})}}


def _text(rest: Node, wire: Node, r: Reader) -> list[Node]:
    return [r.made({"type": "output_text", "text": rest.pop("content")}, wire)]


def _read_list(rest: Node, wire: Node, message: Node, r: Reader) -> list[Node]:
    """Content as a list: its leading thinking chunks are reasoning items."""
    content = rest.pop("content")
    count = 0
    while count < len(content) and type(content[count]) is dict and content[count].get("type") == THINKING:
        count += 1
    items = [read_thinking(chunk, wire, r) for chunk in content[:count]]
    if count < len(content) or not content:
        message["content"] = r.nodes(assistant_parts, content[count:])
    return items


def _read_slots(rest: Node, message: Node, wire: Node, r: Reader) -> None:
    parts = []
    if type(rest.get("refusal")) is str and rest["refusal"]:
        part: Node = {"type": "refusal", "refusal": rest.pop("refusal")}
        r.form(part, "slot", True)
        parts.append(r.made(part, wire))
    if type(rest.get("audio")) is dict and any(rest["audio"].values()):
        audio = take(rest, "audio")
        part = {"type": "output_audio", **{key: audio.pop(key) for key in AUDIO_KEYS if key in audio}}
        parts.append(r.made(part, wire["audio"]))
    if are_pictures(rest.get("images")):
        parts += r.nodes(pictures, rest.pop("images"))
    if parts:
        content = message.get("content")
        if type(content) is str:
            part = {"type": "output_text", "text": content}
            r.form(part, "string", True)
            parts.insert(0, r.made(part, wire))
        elif content:
            parts[:0] = content
        message["content"] = parts


def _read_annotations(rest: Node, message: Node, wire: Node, r: Reader) -> None:
    if type(rest.get("annotations")) is not list or not rest["annotations"]:
        return
    content = message.get("content")
    if type(content) is str:
        part: Node = {"type": "output_text", "text": content}
        r.form(part, "string", True)
        content = message["content"] = [r.made(part, wire)]
    if content and content[0].get("type") == "output_text":
        content[0]["annotations"] = r.nodes(citations, rest.pop("annotations"))


def _read_legacy_call(rest: Node, wire: Node, number: int, r: Reader, legacy: list[str]) -> Node:
    call = take(rest, "function_call")
    call_id = call_id_of(r.seed, "legacy", number)
    legacy.append(call_id)
    item: Node = {"type": "function_call", "call_id": call_id, "name": call.pop("name")}
    if type(item["name"]) is not str:
        raise IllTyped("name")
    item["arguments"], marker = read_arguments(call.pop("arguments")) if "arguments" in call else ("{}", "absent")
    if marker:
        r.form(item, "arguments", marker)
    r.form(item, "legacy", True)
    return r.made(item, wire["function_call"])


# ---- writing --------------------------------------------------------------------------------------------------------


def write_assistant(group: list[Node], w: Writer) -> Node:
    """The request message of a group of items."""
    wire: Node = {"role": "assistant"}
    contents: list[Any] = []
    tool_calls: list[Node] = []
    thinking = [item for item in group if item["type"] == "reasoning"]
    if thinking:
        wire.update(write_reasoning(thinking, w, any(item["type"] in _CALLS for item in group)))
        if "content" in wire:
            contents.append(wire.pop("content"))
    before = wire.pop("tagged", None)
    for item in group:
        kind = item["type"]
        if kind == "message":
            wire.update(w.piece(_write_message, item))
            contents.append(wire.pop("content", None))
            if tool_calls:
                report_moved(item, w)
        elif kind == "function_call" and w.form(item, "legacy"):
            wire["function_call"] = w.piece(write_legacy_call, item)
        elif kind != "reasoning":
            tool_calls.extend(write_call(item, w, len(tool_calls)))
    form = w.form(group[0], "content")
    content = contents[0] if len(contents) == 1 else _joined(contents) if contents else []
    if form == "object" and type(content) is str:
        content = write_arguments(content, form)
    if content == [] and not any(w.form(item, "content") == "parts" for item in group):
        content = "" if form == "empty" else None
    if before is not None:
        content = tagged_content(before, content)
    if content is not None or form != "absent":
        wire["content"] = content
    marked = w.marked(group[0])
    for key, hollow in HOLLOW.items() if marked else ():
        if key in marked and w.form(group[0], key):
            wire.setdefault(key, hollow)
    if tool_calls:
        wire["tool_calls"] = tool_calls
        field = w.dialect.get("reasoning_field")
        if field and not w.same and w.dialect.get("reasoning_required") and field not in wire:
            wire[field] = ""
            w.added(wire, field, "the server requires the reasoning of this turn")
    return _turn(group[0], wire, w)


def _turn(first: Node, wire: Node, w: Writer) -> Node:
    """The message with what its reader left; what an answer leaves is that of a choice, which holds the message."""
    if w.form(first, "turn") != "choice":
        return w.turn(first, wire)
    kept = first["extra"][w.protocol].get("turn") or {}
    message = kept.get("message")
    return w.turn({"extra": {w.protocol: {"turn": message}}}, wire) if type(message) is dict else wire


def report_moved(item: Node, w: Writer) -> None:
    """Text after a call: on this wire the text of a message stands before its calls, whatever came first."""
    content = item.get("content")
    places = [(part, ()) for part in content] if type(content) is list else [(item, ("content",))]
    for node, keys in places:
        w.report(node, keys, "approximated", "stands before the calls", "item.turn")


def is_call(item: Node, w: Writer) -> bool:
    """A tool call, or the one no pair could read."""
    if item.get("type") in ("function_call", "custom_tool_call"):
        return True
    return "extra" in item and w.form(item, "native") == calls.name


def write_call(item: Node, w: Writer, place: int = 0) -> list[Node]:
    """The tool calls of one item for its message; `place` is the index of the first."""
    w.context["bearer"] = item
    written = w.nodes(calls, (item,))
    if written and w.form(item, "index"):
        written[0]["index"] = place
    return written


def tagged_content(before: str, content: Any) -> Any:
    """A content with reasoning between tags before it."""
    if type(content) is list and content:
        return [{"type": "text", "text": before}, *content]
    return before + (content or "")


def _joined(contents: list[Any]) -> list[Node]:
    parts: list[Node] = []
    for content in contents:
        parts.extend([{"type": "text", "text": content}] if type(content) is str else content or ())
    return parts


def _write_message(c: Node, w: Writer) -> Node:
    wire: Node = {}
    c.pop("role", None)
    content = c.pop("content", None)
    if type(content) is list:
        slotted = [_has_slot(part, w) for part in content]
        last = max((place for place, slot in enumerate(slotted) if not slot), default=-1)
        for place, part in enumerate(content):
            if not slotted[place]:
                continue
            if place < last:
                w.report(part, (), "approximated", "stands beside the content", "item.turn")
            if "audio" in wire and part.get("type") == "output_audio":
                w.drop(part, "a message of Chat holds one audio part")
                continue
            if part.get("type") == "output_image":
                wire.setdefault("images", []).extend(w.nodes(pictures, [part]))
                continue
            wire.update(w.piece(_write_slot, part))
        others = [part for part, slot in zip(content, slotted) if not slot]
        if len(others) == 1 and (
            w.form(others[0], "string") or (_is_plain(others[0]) and w.form(c, "content") != "parts")
        ):
            wire.update(w.piece(_write_string, others[0]))
        else:
            wire["content"] = w.nodes(assistant_parts, others)
            if notes := w.nodes(citations, w.context.pop("annotations", ())):
                wire["annotations"] = notes
            if len(wire["content"]) < len(others) and [part.keys() for part in wire["content"]] == [_PLAIN]:
                # What is left of several parts is one text.
                wire["content"] = "".join(part["text"] for part in wire["content"])
    else:
        wire["content"] = [] if content is None else content
    if "name" in c and takes_names(w):
        wire["name"] = c.pop("name")
    return wire


def _has_slot(part: Node, w: Writer) -> bool:
    """Whether a part stands beside the content: a refusal, images, audio by the id that the API gave it."""
    kind = part.get("type")
    if kind == "output_audio":
        return not w.crosses or type(part.get("id")) is str
    return has_pictures(w) if kind == "output_image" else bool(w.form(part, "slot"))


def _is_text(part: Node) -> bool:
    return part.get("type") in ("output_text", "input_text", "text")


def _is_plain(part: Node) -> bool:
    return _is_text(part) and not any(part.get(key) for key in ("cache", "opaque", "annotations"))


def _write_string(c: Node, w: Writer) -> Node:
    wire: Node = {"content": c.pop("text", "")}
    if w.form(c, "string") and "annotations" in c:
        wire["annotations"] = w.nodes(citations, c.pop("annotations"))
    return write_own_control(c, wire, w)


def _write_slot(c: Node, w: Writer) -> Node:
    if "refusal" in c:
        return {"refusal": c.pop("refusal")}
    if w.crosses and type(c.get("id")) is str:
        for key in AUDIO_KEYS[1:]:
            if c.get(key) is not None:
                c[key] = Fated("approximated", "the server has the audio with this id")
        return {"audio": {"id": c.pop("id")}}
    return {"audio": {key: c.pop(key) for key in AUDIO_KEYS if key in c}}


def write_legacy_call(c: Node, w: Writer) -> Node:
    c.pop("call_id", None)
    marker = w.form(c, "arguments")
    wire = {"name": c.pop("name", None)}
    arguments = c.pop("arguments", "{}")
    if marker != "absent" or arguments != "{}":
        wire["arguments"] = write_arguments(arguments, marker)
    return wire
