"""Contents: `{role, parts}` to items and back.

A part has one data field, which determines its type, and modifiers beside it. Text and media are parts of a message; a
thought is a part of a reasoning item; calls and results are items of their own. Their order is kept: what came in one
content shares a turn, no part is merged, moved or dropped, and what another protocol kept apart is joined only where
this API demands it.

https://ai.google.dev/api/caching#Content
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED, NATIVE, Fated, IllTyped, Mapping, are_objects, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import is_input
from unified_llm.engine.shared.text_fallbacks import part_as_text

from ..parts import transcription
from ..parts.media import MEDIA, SOUNDS, read_media, read_modifiers, write_media, write_modifiers
from ..values.logprobs import are_tokens, write_logprobs
from ..values.spelling import actual, take_nulls, to_camel, to_snake
from ..values.tables import PART, PROTOCOL, REFUSES
from .signature import SLOT, attach_sealed, is_foreign, park, place_opened, read_signature, sealed_text, write_signature

__all__ = [
    "items",
    "joined",
    "parts",
    "read_beside",
    "read_part",
    "read_parts",
    "twofold",
    "write_item",
    "write_items",
    "write_parts",
]

Node = dict[str, Any]

parts = Mapping(f"{PROTOCOL} parts")
items = Mapping(f"{PROTOCOL} items")
_FAMILY = parts.name
_MODIFIERS = frozenset(("thought", SLOT))
_CALL_KEYS = ("functionCall", "function_call", SLOT, "thought_signature")
_BESIDE = "beside"


# ---- reading --------------------------------------------------------------------------------------------------------


def read_parts(wires: list[Any], model: bool, r: Reader, at: tuple[Any, ...], content: Node) -> list[Node]:
    """The items of a content's parts. `at` is the content's place, for made ids; `content` where messages come from."""
    out: list[Node] = []
    r.context.update(model=model, at=at, made=0)
    for index, wire in enumerate(wires):
        two = twofold(wire)
        node = read_part(two[0] if two else wire, r, (wires, index))
        if two:
            r.made(node, wire)
        opened = r.context.pop("opened", None)
        if opened:
            place_opened([r.made(item, wire) for item in opened], out, apart=node["type"] == "summary_text")
            if node.get("text") == "" and "opaque" not in node and node.get("extra"):
                continue
        kind = node["type"]
        if kind in items.writes or kind in items.cannots:
            out.append(node)
        elif kind == "summary_text" or r.context.pop("thought", False):
            if not (out and out[-1]["type"] == "reasoning"):
                out.append(r.made({"type": "reasoning", "summary": []}, content))
            out[-1]["summary"].append(node)
        else:
            if not (out and out[-1]["type"] == "message"):
                out.append(
                    r.made({"type": "message", "role": "assistant" if model else "user", "content": []}, content)
                )
            out[-1]["content"].append(node)
        if two:
            out.append(read_beside(two[1], wire, r))
    return out


def twofold(wire: Any) -> tuple[Node, Node] | None:
    """A part with text and a call, as the two parts it ought to be: the signature goes with the call."""
    if type(wire) is not dict or len(wire) == 1 or type(wire.get("text")) is not str:
        return None
    call = {key: wire[key] for key in _CALL_KEYS if key in wire}
    made = call.get("functionCall", call.get("function_call"))
    if type(made) is not dict or type(made.get("name")) is not str:
        return None
    return {key: value for key, value in wire.items() if key not in call}, call


def read_beside(part: Node, wire: Node, r: Reader) -> Node:
    """The call of a twofold part; its own protocol's writer puts it back beside the text."""
    node = r.made(read_part(part, r), wire)
    r.form(node, _BESIDE, "text")
    return node


def joined(written: list[Any]) -> list[Any]:
    """The parts, calls that were read beside a text put back there."""
    if not any(type(part) is dict and _BESIDE in part for part in written):
        return written
    out: list[Any] = []
    for part in written:
        if type(part) is dict and part.pop(_BESIDE, None) and out and "text" in out[-1]:
            out[-1] = {**out[-1], **part}
        else:
            out.append(part)
    return out


def read_part(wire: Any, r: Reader, within: tuple[Any, int] | None = None) -> Node:
    """The canonical node of one part: a content part, a summary part for a thought, or an item.

    `within` is its list and place there, which are the place of a part that is not an object.
    """
    if type(wire) is dict and len(wire) == 1 and type(wire.get("text")) is str and wire["text"]:
        node: Node = {"type": "output_text" if r.context.get("model") else "input_text", "text": wire["text"]}
        r.trace.append((node, wire))
        return node
    if type(wire) is not dict:
        return r.unread(wire, _FAMILY, within=within)
    w = wire.copy()
    spelled = to_camel(w, PART)
    nulls = take_nulls(w, PART)
    mark = len(r.trace)
    pair = None
    for key, value in w.items():
        if value is not None:  # whole objects are sent with null for all that they do not hold
            pair = items.reads.get(key) or parts.reads.get(key)
            if pair is not None:
                break
    if pair is None:
        if not w.keys() <= _MODIFIERS or not w:
            return r.unread(wire, _FAMILY)
        pair = _read_bare
    r.context["spelled"] = spelled
    try:
        node = pair(w, r)
    except ILL_TYPED:
        del r.trace[mark:]
        r.context.pop("thought", None)
        return r.unread(wire, _FAMILY)
    if SLOT in w:
        read_signature(w, node, r, *actual((SLOT,), spelled))
    if w.get("thought") is False:
        del w["thought"]
        r.form(node, "thought", "false")
    for key, found in nulls.items():
        w[key] = {**found, **w.get(key, {})}
    if spelled:
        r.form(node, "snake", spelled)
        to_snake(w, spelled)
    if w:
        r.keep(node, w)
    r.trace.append((node, wire))
    return node


def _thought(w: Node) -> bool:
    if w.get("thought") is True:
        del w["thought"]
        return True
    return False


def _read_bare(w: Node, r: Reader) -> Node:
    """A part with modifiers and nothing to modify."""
    node = _text("", _thought(w), r)
    r.form(node, "text", "absent")
    return node


def _text(text: str, thought: bool, r: Reader) -> Node:
    kind = "summary_text" if thought else "output_text" if r.context.get("model") else "input_text"
    return {"type": kind, "text": text}


@parts.read(transcription.KEY)
def read_transcription(w: Node, r: Reader) -> Node:
    return transcription.read_transcription(w, _text("", _thought(w), r), r)


@parts.read("text")
def read_text(w: Node, r: Reader) -> Node:
    text = w.pop("text")
    if type(text) is not str:
        raise IllTyped("text")
    node = _text(text, _thought(w), r)
    if not text:
        r.form(node, "text", "empty")
    speech = w.get("speechMetadata")
    if type(speech) is dict and node["type"] != "summary_text":
        own = take(w, "speechMetadata")
        note = {"type": "speech_metadata", **{k: own.pop(k) for k in ("speaker", "style") if type(own.get(k)) is str}}
        node["annotations"] = [r.made(note, speech)]
    return node


@parts.write("input_text", "output_text", "text", "summary_text", "reasoning_text")
def write_text(c: Node, w: Writer) -> Any:
    marker = w.form(c, "text")
    if marker == transcription.FORM:
        return _with_modifiers(c, transcription.write_transcription(c, w), w)
    text = c.pop("text", "")
    if not text and not marker and "opaque" not in c and not w.context.get("sealed"):
        c["text"] = Fated("approximated", "a part without text is refused")
        return []
    wire: Node = {} if marker == "absent" and not text else {"text": text}
    notes = c.get("annotations")
    if not are_objects(notes):
        pass
    elif len(notes) == 1 and notes[0].get("type") == "speech_metadata":
        del c["annotations"]
        wire["speechMetadata"] = w.piece(_write_speech, notes[0])
    elif "citations" in w.context:
        del c["annotations"]
    if c.get("logprobs") and are_tokens(c["logprobs"]) and "citations" in w.context and "logprobs" not in w.context:
        w.context["logprobs"] = write_logprobs(c)
    return _with_modifiers(c, wire, w)


def _write_speech(c: Node, w: Writer) -> Node:
    return {key: c.pop(key) for key in ("speaker", "style") if key in c}


@parts.write("refusal")
def write_refusal(c: Node, w: Writer) -> Node | None:
    text = c.get("refusal")
    if type(text) is not str or not text:
        return None
    c["type"] = c["refusal"] = Fated("approximated", "as ordinary text")
    return _with_modifiers(c, {"text": text}, w)


@parts.read("inlineData", "fileData")
def read_blob(w: Node, r: Reader) -> Node:
    if w.get("thought") is True:
        r.context["thought"] = _thought(w)
    part = read_media(w, r, bool(r.context.get("model")))
    read_modifiers(w, part, r)
    return part


@parts.write(*sorted(MEDIA - SOUNDS))
def write_blob(c: Node, w: Writer) -> Node | None:
    return _write_blob(c, w, sound=False)


@parts.write(*sorted(SOUNDS))
def write_sound(c: Node, w: Writer) -> Node | None:
    return _write_blob(c, w, sound=True)


def _write_blob(c: Node, w: Writer, sound: bool) -> Node | None:
    wire = write_media(c, w)
    if wire is None:
        return write_told(c, w)  # type: ignore[no-any-return]
    write_modifiers(c, wire, w, sound)
    return _with_modifiers(c, wire, w)


@parts.write("search_result", "tool_reference")
def write_told(c: Node, w: Writer) -> Node | None:
    """What is text in itself."""
    text = part_as_text(c, w)
    return _with_modifiers(c, {"text": text}, w) if text else None


parts.cannot("input_image output_image computer_screenshot", "images are PNG, JPEG, WebP, HEIC or HEIF")
parts.cannot("search_result tool_reference encrypted_content", "google-generate-content has no such part")


def _with_modifiers(c: Node, wire: Node, w: Writer) -> Node:
    """The part with its thought flag, its signature and its spelling."""
    if w.context.get("thought"):
        wire["thought"] = True
    elif w.form(c, "thought"):
        wire["thought"] = False
    if "opaque" in c or "extra" in c or ("sealed" in w.context and not w.context.get("thought")):
        write_signature(c, wire, w)
    spelled = w.form(c, "snake")
    return to_snake(wire, spelled) if spelled else wire


def write_parts(nodes: Any, w: Writer) -> list[Any]:
    """The wire parts of content parts; an empty text makes none."""
    written = w.nodes(parts, nodes)
    return [part for part in written if part != []] if [] in written else written


# ---- writing items --------------------------------------------------------------------------------------------------


def write_items(group: list[Node], w: Writer) -> list[Any]:
    """The parts of the items of one content; what waits in an envelope at the end gets a part of its own."""
    out: list[Any] = []
    for item in group:
        out += write_item(item, w)
    carrier = sealed_text(w)
    if carrier is not None:
        out.append(carrier)
    return joined(out)


def write_item(item: Node, w: Writer) -> list[Any]:
    """The parts of one item: none when it has no form here (and was reported)."""
    if _withheld(item, w):
        return []
    written = w.nodes(items, (item,))
    if not written:
        return []
    wire = written[0]
    if type(wire) is list:
        return wire
    after = w.context.pop("after", None)
    wire = attach_sealed(wire, w)
    own = (item.get("extra") or {}).get(w.protocol)
    if own and _BESIDE in own.get("form", ()):
        wire = {**wire, _BESIDE: True}
    return [wire, *([after] if after else ())]


@items.write("message")
def write_message(c: Node, w: Writer) -> list[Any] | None:
    if "citations" in w.context and is_input({"type": "message", **c}):
        if w.crosses:
            return None  # shown as a part of the model's, it would pass for its words
        c["role"] = Fated("approximated", "as the model")
    c.pop("role", None)
    content = c.pop("content", None)
    if type(content) is str:
        if not content and w.form(c, "text") != "empty" and "sealed" not in w.context:
            return []
        wire = attach_sealed({"text": content}, w)
        out: list[Any] = [wire]
    else:
        out = write_parts(content or [], w)
    if "opaque" in c:
        # A signature that names no part of the message belongs to its last one.
        last = next((part for part in reversed(out) if type(part) is dict and SLOT not in part), None)
        if last is not None:
            write_signature(c, last, w)
    return out


@items.write("reasoning")
def write_reasoning(c: Node, w: Writer) -> list[Any]:
    if is_foreign(c, w):
        # `park` reported its proof, and the whole where there is nothing that a client is shown meanwhile.
        shown = _thoughts([*(c.pop("summary", None) or ()), *(c.get("content") or ())], w)
        for key in ("opaque",) if shown else ("id", "status", "opaque", "extra", "content"):
            c.pop(key, None)
        if c.get("content"):
            c["content"] = Fated("approximated", "as a summary of thoughts")
        return shown
    out = _thoughts(c.pop("summary", None) or [], w)
    if c.get("content"):
        out += _thoughts(c["content"], w)
        c["content"] = Fated("approximated", "as a summary of thoughts")
    if c.get("opaque"):
        wire: Node = {"text": ""}
        write_signature(c, wire, w)
        out.append(wire)
    return out


def _thoughts(nodes: Any, w: Writer) -> list[Any]:
    w.context["thought"] = True
    try:
        return write_parts(nodes, w)
    finally:
        del w.context["thought"]


def _withheld(item: Node, w: Writer) -> bool:
    """Whether an item is left out because its proof is another provider's; a client gets it in an envelope besides."""
    if not is_foreign(item, w) or (item.get("type") != "reasoning" and item.get("type") in items.writes):
        return False
    park(item, w)
    return w.facing != "client" or item.get("type") != "reasoning"


@items.write(NATIVE)
def write_native(c: Node, w: Writer) -> list[Any] | None:
    """An unread part that stands where items stand."""
    own = (c.get("extra") or {}).get(w.protocol) or {}
    if (own.get("form") or {}).get("native") != _FAMILY:
        return None
    del c["extra"]
    return [own.get("rest")]


for _type, _reason in REFUSES.items():
    items.cannot(_type, _reason)
