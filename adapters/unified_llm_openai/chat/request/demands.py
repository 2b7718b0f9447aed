"""The constraints of a dialect's server on the parameters of a request, applied after writing it.

A parameter it refuses or ignores is not sent, one with a name or a word of its own gets it, a value it has not becomes
the nearest or is left out. Nothing of this is done to a request that was its own.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import AS_JSON
from unified_llm.passes.repair import MADE_IMAGES

from ...demands import JSON_UNMENTIONED, fit_values, is_json_unmentioned, leave_out, refused, withhold
from ..parts.content import has_pictures
from ..values.tables import NEVER_NULL, REQUEST

__all__ = [
    "fit",
    "fit_foreign",
    "fit_messages",
    "give_back",
    "home_of",
    "keep_known",
    "read_own_names",
    "refused_images",
]

Node = dict[str, Any]
Keys = tuple[Any, ...]

_CHOICES = ("tool_choice", "function_call", "parallel_tool_calls")

_STRANGE = "the server refuses unknown keys in messages"
_MESSAGE_KEYS = frozenset(("role", "content", "name", "tool_calls", "tool_call_id", "function_call"))
_FUNCTION_KEYS = frozenset(("name", "arguments"))
_SLOTS = {"refusal": "refusal", "audio": "output_audio", "images": "output_image"}
_PREFIXES = ("prefix", "partial")
_VOICE = "alloy"
_VOICE_KEYS = frozenset(("voice", "format"))
_SOUNDS = frozenset("wav aac mp3 flac opus pcm16".split())
_HOMES: dict[str, Keys] = {
    **{field.wire: tuple(field.path.split(".")) for field in REQUEST.fields},
    "max_tokens": ("max_output_tokens",),
    "tools": ("tools",),
    "functions": ("tools",),
    "web_search_options": ("tools",),
    "tool_choice": ("tool_choice",),
    "function_call": ("tool_choice",),
    "response_format": ("text", "format"),
    "logprobs": ("include",),
    "prompt_cache_options": ("prompt_cache_options",),
}


def refused_images(w: Writer) -> frozenset[str]:
    """What holds an image of the model that the server takes from the user alone; nothing if it takes no images."""
    kinds = w.dialect.get("parts")
    if kinds is not None and "image_url" not in kinds:
        return frozenset()
    return MADE_IMAGES - {"output_image"} if has_pictures(w) else MADE_IMAGES


def home_of(key: str, w: Writer) -> Keys:
    """The canonical place of a parameter of the wire."""
    name, _, inner = key.partition(".")
    own = next((hub for hub, path in w.dialect.get("control", {}).items() if path.removeprefix("!") == key), None)
    if own is not None:
        return ("reasoning", own)
    return (*_HOMES.get(name, (name,)), *((inner,) if inner else ()))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_own_names(w: Node, c: Node, r: Reader) -> list[tuple[str, str]]:
    """Give parameters and words of the dialect's own the names they have elsewhere; which, for `give_back`."""
    found = []
    for key, own in r.dialect.get("renames", {}).items():
        if own in w and key not in w:
            w[key] = w.pop(own)
            r.place(c, _HOMES.get(key, (key,)), (own,))
            found.append((key, own))
    words = []
    for key, table in r.dialect.get("words", {}).items():
        meant = next((word for word, own in table.items() if type(w.get(key)) is str and own == w[key]), None)
        if meant is not None:
            w[key] = meant
            words.append(key)
    if words:
        r.form(c, "words", words)
    return found


def give_back(w: Node, c: Node, found: list[tuple[str, str]], r: Reader) -> None:
    """What was not taken of the renamed keeps its own name; that the others had one is noted."""
    names = []
    for key, own in found:
        if key in w:
            w[own] = w.pop(key)
        else:
            names.append(key)
    if names:
        r.form(c, "names", names)


# ---- writing --------------------------------------------------------------------------------------------------------


def fit(wire: Node, c: Node, w: Writer) -> None:
    """Make the parameters of `wire` fit; `c` is what is left of the canonical request."""
    if not w.same:
        for key in (*w.dialect.get("refuses", ()), *w.dialect.get("ignores", ())):
            if key in wire:
                _leave_out(key, wire.pop(key), w)
        fit_values(wire, w, home_of)
        withhold(c, w, _HOMES.keys())
    _write_own_names(wire, c, w)


def keep_known(wire: Node, items: list[Node], w: Writer) -> Node:
    """Leave out of a message of `items` what the server refuses there; nulls and empty values of SDKs are no losses."""
    more = w.dialect.get("message_keys")
    if more is None or w.same:
        return wire
    for key in wire.keys() - _MESSAGE_KEYS - {*more}:
        value = wire.pop(key)
        if value in (None, [], ""):
            continue
        if key in _PREFIXES and w.dialect.get("prefix", key) != key:
            wire[w.dialect["prefix"]] = value
            continue
        slotted = [part for part in _parts(items) if part.get("type") == _SLOTS.get(key)]
        if key == "refusal" and not wire.get("content"):
            wire["content"] = value
            w.report(slotted[0], ("refusal",), "approximated", "sent as the content")
            continue
        for part in slotted:
            w.report(part, (), "lost", _STRANGE)
        if not slotted:
            w.report(items[0], ("extra", w.protocol, "turn", key), "lost", _STRANGE)
    called = [item for item in items if item["type"] == "function_call"]
    for item, call in zip(called, wire.get("tool_calls") or ()):
        for key in call.get("function", {}).keys() - _FUNCTION_KEYS:
            del call["function"][key]
            w.report(item, ("extra", w.protocol, "rest", "function", key), "lost", _STRANGE)
    for key in ("tool_calls", "function_call"):
        if not wire.get(key, True):
            del wire[key]
    return wire


def fit_messages(messages: list[Node], w: Writer) -> None:
    """Make messages fit: texts as one string where the server takes no lists, the flag of an answer that was begun."""
    if w.same:
        return
    _mark_prefix(messages, w)
    if w.dialect.get("null_content") is False:
        for message in messages:
            if type(message) is dict and message.get("content", 0) is None:
                message["content"] = ""  # which means the same
    roles = w.dialect.get("string_content", ())
    for message in messages if roles else ():
        content = message.get("content") if type(message) is dict else None
        if type(content) is list and content and message.get("role") in roles and all(map(_is_plain_text, content)):
            # What the model wrote goes on in its next part; other parts are paragraphs.
            between = "" if message["role"] == "assistant" else "\n\n"
            message["content"] = between.join(part["text"] for part in content)


def _is_plain_text(part: Any) -> bool:
    return (
        type(part) is dict and part.keys() == {"type", "text"} and part["type"] == "text" and type(part["text"]) is str
    )


def _mark_prefix(messages: list[Node], w: Writer) -> None:
    """Set the flag with which the server goes on with the model's last message, in its own spelling."""
    flag = str(w.dialect.get("prefix", ""))
    last = messages[-1] if flag and messages else None
    if type(last) is not dict or last.get("role") != "assistant" or not last.get("content") or last.get("tool_calls"):
        return
    others = [last.pop(other) for other in _PREFIXES if other != flag and other in last]
    if flag not in last:
        last[flag] = True
        if True not in others:
            w.added(last, flag, "without it the server does not go on with a message")


def _parts(items: list[Node]) -> list[Node]:
    return [part for item in items if type(item.get("content")) is list for part in item["content"]]


def fit_foreign(wire: Node, messages: list[Node], w: Writer) -> None:
    """Make a request of another protocol one that the API takes."""
    if None in wire.values():
        for key in NEVER_NULL & wire.keys():
            if wire[key] is None:
                del wire[key]
    if any(key in wire for key in _CHOICES):
        _leave_out_choices(wire, w)
    if "audio" in wire or "modalities" in wire:
        _give_voice(wire, w)
    if is_json_unmentioned(wire.get("response_format"), messages):
        _mention_json(messages, w)


def _mention_json(messages: list[Node], w: Writer) -> None:
    """Require JSON in the first message, which is the only one of the system that some models take."""
    first = messages[0] if messages else {}
    if first.get("role") == "system" and type(first.get("content")) is str:
        messages[0] = {**first, "content": f"{first['content']}\n\n{AS_JSON}"}
    else:
        messages.insert(0, {"role": "system", "content": AS_JSON})
    w.added(messages[0], "content", JSON_UNMENTIONED)


def _leave_out_choices(wire: Node, w: Writer) -> None:
    """Settings of tools are refused without tools, or where none could be sent."""
    if wire.get("tools") or wire.get("functions"):
        return
    for key in _CHOICES:
        if wire.get(key) != "none" and wire.pop(key, None) is not None:
            w.report(w.doc, home_of(key, w), "lost", "refused where no tools are declared")


def _give_voice(wire: Node, w: Writer) -> None:
    """Audio output requires a voice and a format; other output may leave it to the model."""
    if "audio" not in (wire.get("modalities") or ()) and not (w.crosses and wire.get("audio")):
        if w.crosses and wire.get("audio") == {}:
            del wire["audio"]  # the voice of another provider was all of it
        return
    said = wire.get("audio") or {}
    if type(said) is dict:
        if w.crosses:
            for key in said:
                if key not in _VOICE_KEYS:
                    w.report(w.doc, ("audio", key), "lost", "openai-chat has no such setting of generated audio")
            said = {key: said[key] for key in said if key in _VOICE_KEYS}
            if not w.dialect and type(said.get("format")) is str and said["format"] not in _SOUNDS:
                said["format"] = "opus" if said["format"] == "ogg_opus" else "pcm16" if wire.get("stream") else "wav"
                w.report(w.doc, ("audio", "format"), "approximated", f"sent as {said['format']!r}")
        wire["audio"] = audio = {"voice": _VOICE, "format": "pcm16" if wire.get("stream") else "wav", **said}
        for key in [key for key in audio if key not in said]:
            w.added(audio, key, "the API demands one")


def _write_own_names(wire: Node, c: Node, w: Writer) -> None:
    marked = w.form(c, "names") or ()
    for key, own in w.dialect.get("renames", {}).items():
        if key in wire and (not w.same or key in marked):
            wire[own] = wire.pop(key)
    marked = w.form(c, "words") or ()
    for key, table in w.dialect.get("words", {}).items():
        if type(wire.get(key)) is str and (not w.same or key in marked):
            wire[key] = table.get(wire[key], wire[key])


def _leave_out(key: str, value: Any, w: Writer) -> None:
    reason = refused(key, w) or ""
    if key == "logprobs":
        for index, asked in enumerate(w.doc.get("include") or ()):
            if type(asked) is str and asked.endswith("logprobs"):
                w.report(w.doc, ("include", index), "lost", reason)
    elif key == "stream_options" and type(value) is dict and w.dialect.get("usage_always"):
        for inner in value:
            said = inner == "include_usage"
            detail = "the server sends it by default" if said else reason
            w.report(w.doc, (key, inner), "emulated" if said else "lost", detail)
    else:
        leave_out(key, value, w, home_of)
