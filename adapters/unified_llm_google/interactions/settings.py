"""Settings that are more than a rename: `generation_config`, the output formats, voices, safety.

`response_format` is one entry or a list of entries, one for each kind of output, and says the modalities on the way; an
older form is a bare JSON schema beside `response_mime_type`. Which form was used is a marker.

https://ai.google.dev/gemini-api/docs/structured-output
"""

from __future__ import annotations

import re
from typing import Any

from unified_llm.mapping import Fated, IllTyped, Owned, Reader, Writer, take, take_all
from unified_llm.table import Table

from .tables import AUDIO, BUDGETS, ENTRIES, GENERATION, OLD
from .tools import read_choice, tools, write_choice, write_tools

__all__ = ["read_settings", "write_settings"]

Node = dict[str, Any]

_SCHEMAS = ("object", "array", "string", "number", "integer", "boolean", "null")
_JSON = "application/json"
_PLAIN = "text/plain"


def read_settings(w: Node, c: Node, r: Reader, table: Table) -> None:
    """Move what request and response share from `w` to `c`."""
    if type(w.get("tools")) is list:
        c["tools"] = r.nodes(tools, w.pop("tools"))
    elif w.get("tools", 0) is None:
        c["tools"] = w.pop("tools")
    if type(w.get("generation_config")) is dict:
        _read_generation(w, c, r)
    if "response_format" in w or "response_mime_type" in w:
        _read_format(w, c, r)
    if "response_modalities" in w:
        _read_modalities(w, c, r)
    if "safety_settings" in w:
        _read_safety(w, c)
    table.read(w, c)


def write_settings(c: Node, wire: Node, w: Writer, table: Table) -> None:
    """The inverse of `read_settings`."""
    if type(c.get("tools")) is list:
        written = write_tools(c.pop("tools"), w)
        if written or not w.doc["tools"]:
            wire["tools"] = written
    elif "tools" in c:
        wire["tools"] = c.pop("tools")
    if "safety_settings" in c:
        _write_safety(c, wire)
    _write_format(c, wire, w)
    if not c.get("agent"):  # An agent brings its own generation settings and refuses others.
        _write_generation(c, wire, w)
    if "metadata" in c and "labels" not in c:
        _write_labels(c, wire, w)
    table.write(c, wire, w, w.doc)


# ---- generation_config ----------------------------------------------------------------------------------------------

_GENERATION = tuple((field.wire, tuple(field.path.split("."))) for field in GENERATION.fields)


def _read_generation(w: Node, c: Node, r: Reader) -> None:
    config = take(w, "generation_config")
    if not config:
        r.form(c, "generation_config", "empty")
        return
    at = "generation_config"
    if config.get("thinking_summaries") == "none":
        del config["thinking_summaries"]
        c.setdefault("reasoning", {})["include"] = False
        r.place(c, ("reasoning", "include"), (at, "thinking_summaries"))
    for key, hub in _GENERATION:
        if key in config:
            r.place(c, hub, (at, key))
    shown = config.pop("thinking_summaries", None) if config.get("thinking_summaries") not in (None, "auto") else None
    GENERATION.read(config, c)
    if shown is not None:
        config["thinking_summaries"] = shown  # a word of its own, not one of those that others share
    for key in OLD:
        if type(config.get(key)) in (int, float):
            c[key] = config.pop(key)
            r.form(c, key, "old")
            r.place(c, (key,), (at, key))
    if "tool_choice" in config:
        try:
            c["tool_choice"] = read_choice(config)
            r.place(c, ("tool_choice",), (at, "tool_choice"))
            if not _has_functions(c):
                r.form(c, "tool_choice", "bare")
        except (IllTyped, TypeError):
            pass
    if "speech_config" in config:
        _read_speech(config, c, r)
    if type(config.get("image_config")) is dict and type(w.get("response_format")) not in (dict, list):
        image = take(config, "image_config")
        c["image"] = {hub: image.pop(key) for key, hub in _IMAGE[:2] if key in image}
        r.form(c, "image", "config")
        r.place(c, ("image",), (at, "image_config"))


def _write_generation(c: Node, wire: Node, w: Writer) -> None:
    config: Node = {}
    if type(c.get("reasoning")) is dict:
        _write_reasoning(c, config, w)
    GENERATION.write(c, config, w, w.doc)
    for key in OLD:
        if key in c and w.form(c, key):
            config[key] = c.pop(key)
    if "tool_choice" in c:
        if _has_functions(w.doc) or w.form(c, "tool_choice") == "bare":
            write_choice(c, config)
        elif c["tool_choice"] is not None:
            c["tool_choice"] = Fated("lost", "a choice without functions is refused")
    audio = _own(c, "audio")
    if audio is not None:
        _write_speech(c, audio, config, w)
    if w.form(c, "image") == "config" and type(c.get("image")) is dict:
        image = take(c, "image")
        config["image_config"] = {key: image.pop(hub) for key, hub in _IMAGE[:2] if hub in image}
    if config or w.form(c, "generation_config") == "empty":
        wire["generation_config"] = config


def _own(c: Node, key: str) -> Node | None:
    """The object under `key`, ours to pop from, taken before or not; None where there is none."""
    value = c.get(key)
    return value if type(value) is Owned else take(c, key) if type(value) is dict else None


def _has_functions(c: Node) -> bool:
    return any(type(tool) is dict and tool.get("type") in ("function", "custom") for tool in c.get("tools") or ())


def _write_reasoning(c: Node, config: Node, w: Writer) -> None:
    """Whether thoughts are shown, and a budget where no level is given."""
    reasoning = take(c, "reasoning")
    if type(reasoning.get("include")) is bool and reasoning.get("summary") is None:
        shown = reasoning.pop("include")
        config["thinking_summaries"] = "auto" if shown else "none"
        if shown:
            w.report(w.doc, ("reasoning", "include"), "approximated", "sent as summaries")
    budget = reasoning.get("budget_tokens")
    if type(budget) is int and budget >= 0 and reasoning.get("effort") is None:
        level = next((level for limit, level in BUDGETS if budget <= limit), "high")
        config["thinking_level"] = level
        reasoning["budget_tokens"] = Fated("approximated", f"sent as level {level}")
    elif type(budget) is int and budget < 0:
        reasoning["budget_tokens"] = Fated("approximated", "as the model likes, which is what leaving it out means")
    elif reasoning.get("control") == "disabled" and reasoning.get("effort") is None:
        config["thinking_level"] = "minimal"
        reasoning["control"] = Fated("approximated", "thinking cannot be switched off")


def _read_speech(config: Node, c: Node, r: Reader) -> None:
    speech = config["speech_config"]
    listed = type(speech) is list
    voices = speech if listed else speech.get("speakers") if type(speech) is dict else None
    if type(voices) is not list or not all(type(voice) is dict for voice in voices):
        return
    audio: Node = c.setdefault("audio", {})
    if listed and len(voices) == 1 and "speaker" not in voices[0] and type(voices[0].get("voice")) is str:
        voice = take_all(config, "speech_config")[0]
        audio.update((key, voice.pop(key)) for key in ("voice", "language") if key in voice)
        for key in ("voice", "language"):
            r.place(c, ("audio", key), ("generation_config", "speech_config", 0, key))
        return
    if listed:
        audio["speakers"] = config.pop("speech_config")
    else:
        audio["speakers"] = take(config, "speech_config").pop("speakers")
        r.form(c, "speech", "object")
    r.place(c, ("audio", "speakers"), ("generation_config", "speech_config", *(() if listed else ("speakers",))))


def _write_speech(c: Node, audio: Node, config: Node, w: Writer) -> None:
    if type(audio.get("speakers")) is list:
        speakers = audio.pop("speakers")
        config["speech_config"] = {"speakers": speakers} if w.form(c, "speech") == "object" else speakers
    elif type(audio.get("voice")) is str:
        config["speech_config"] = [{key: audio.pop(key) for key in ("voice", "language") if key in audio}]


# ---- response_format ------------------------------------------------------------------------------------------------

_IMAGE = (("aspect_ratio", "aspect_ratio"), ("image_size", "size"), ("mime_type", "format"))
_SOUND = (("mime_type", "format"), ("sample_rate", "sample_rate"), ("bit_rate", "bit_rate"))


def _read_format(w: Node, c: Node, r: Reader) -> None:
    format_ = w.get("response_format")
    if type(format_) is dict and (type(format_.get("type", [])) is list or format_["type"] in _SCHEMAS):
        _read_schema(w, c, r)
        return
    entries = [format_] if type(format_) is dict else format_
    if type(entries) is not list:
        if "response_format" not in w and w.get("response_mime_type") == _JSON:
            c.setdefault("text", {})["format"] = {"type": "json_object"}
            del w["response_mime_type"]
            r.form(c, "response_format", "mime")
            r.place(c, ("text", "format"), ("response_mime_type",))
        return
    kinds = [entry.get("type") if type(entry) is dict else None for entry in entries]
    if not kinds or not all(type(kind) is str for kind in kinds) or len(set(kinds)) != len(kinds):
        return
    if not set(kinds) & set(ENTRIES):
        return
    bare = any(kind == "text" and len(entry) == 1 for kind, entry in zip(kinds, entries))
    told = bare or kinds != ["text"]
    if "response_modalities" in w and (told and kinds != [kind for kind in ENTRIES if kind in kinds]):
        return
    listed = type(format_) is list
    owned = take_all(w, "response_format") if listed else [take(w, "response_format")]
    for index, (kind, entry) in enumerate(zip(kinds, owned)):
        place: tuple[Any, ...] = ("response_format", index) if listed else ("response_format",)
        del entry["type"]
        _read_entry(kind, entry, c, r, place)
    if listed:
        r.form(c, "response_format", "list")
    if told and "response_modalities" not in w:
        c["modalities"] = kinds
        place = ("response_format",)
        if not listed:
            r.place(c, ("modalities",), (*place, "type"))
        for index, kind in enumerate(kinds):
            if listed and (kind != "text" or bare):  # a text that is described is said by its description
                r.place(c, ("modalities", index), (*place, index, "type"))


def _read_entry(kind: Any, entry: Node, c: Node, r: Reader, place: tuple[Any, ...]) -> None:
    if kind == "text" and entry:
        text: Node = {"type": "text"}
        schema = type(entry.get("schema")) is dict
        mime = entry.get("mime_type")
        if schema or mime == _JSON:
            text["type"] = "json_schema" if schema else "json_object"
        implied = _PLAIN if text["type"] == "text" else _JSON
        if schema:
            text["schema"] = entry.pop("schema")
        if mime == implied:
            del entry["mime_type"]
        elif type(mime) is str:
            text["media_type"] = entry.pop("mime_type")
        else:
            r.form(c, "mime_type", "absent")
        c.setdefault("text", {})["format"] = text
        r.place(c, ("text", "format"), place)
        if schema:
            r.place(c, ("text", "format", "schema"), (*place, "schema"))
        r.place(c, ("text", "format", "type"), (*place, "mime_type") if type(mime) is str else place)
    elif kind == "image" and entry:
        image = {hub: entry.pop(key) for key, hub in _IMAGE if key in entry}
        if image:
            c["image"] = image
            for key, hub in _IMAGE:
                r.place(c, ("image", hub), (*place, key))
    elif kind == "audio" and entry:
        sound = {hub: entry.pop(key) for key, hub in _SOUND if key in entry}
        if sound:
            if "format" in sound:
                sound["format"] = AUDIO.read(sound["format"])
            c.setdefault("audio", {}).update(sound)
            for key, hub in _SOUND:
                r.place(c, ("audio", hub), (*place, key))


def _read_schema(w: Node, c: Node, r: Reader) -> None:
    c.setdefault("text", {})["format"] = {"type": "json_schema", "schema": w.pop("response_format")}
    r.form(c, "response_format", "schema")
    r.place(c, ("text", "format", "schema"), ("response_format",))
    if w.get("response_mime_type") == _JSON:
        del w["response_mime_type"]
        r.form(c, "mime_type", "given")


def _write_format(c: Node, wire: Node, w: Writer) -> None:
    marker = w.form(c, "response_format")
    entries: dict[Any, Node] = {}
    text = _own(c, "text")
    if text is not None and type(text.get("format")) is dict:
        format_ = take(text, "format")
        kind = format_.get("type")
        if marker == "schema" and kind == "json_schema" and "schema" in format_:
            del format_["type"]
            wire["response_format"] = format_.pop("schema")
            if w.form(c, "mime_type") == "given":
                wire["response_mime_type"] = _JSON
        elif marker == "mime" and kind == "json_object":
            del format_["type"]
            wire["response_mime_type"] = _JSON
        elif kind in ("text", "json_object", "json_schema"):
            entries["text"] = _text_entry(format_, c, w)
    _write_entries(c, entries, w)
    if "modalities" in c:
        _write_modalities(c, entries, wire, w, marker == "list")
    found = list(entries.values())
    if found and "response_format" not in wire:
        wire["response_format"] = found if len(found) > 1 or marker == "list" else found[0]


def _text_entry(format_: Node, c: Node, w: Writer) -> Node:
    kind = format_.pop("type")
    entry: Node = {"type": "text"}
    if "media_type" in format_:
        entry["mime_type"] = format_.pop("media_type")
    elif w.form(c, "mime_type") != "absent":
        entry["mime_type"] = _PLAIN if kind == "text" else _JSON
    if kind == "json_schema" and "schema" in format_:
        entry["schema"] = format_.pop("schema")
    return entry


def _write_entries(c: Node, entries: dict[Any, Node], w: Writer) -> None:
    if type(c.get("image")) is dict and w.form(c, "image") != "config":
        image = take(c, "image")
        entry = {key: image.pop(hub) for key, hub in _IMAGE if hub in image}
        if entry:
            entries["image"] = {"type": "image", **entry}
    audio = _own(c, "audio")
    if audio is not None:
        entry = {key: audio.pop(hub) for key, hub in _SOUND if hub in audio}
        if type(entry.get("mime_type")) is str:
            word = entry["mime_type"]
            entry["mime_type"] = AUDIO.writes.get(word) or (word if "/" in word else f"audio/{word}")
        if entry:
            entries["audio"] = {"type": "audio", **entry}


def _read_modalities(w: Node, c: Node, r: Reader) -> None:
    words = w["response_modalities"]
    if type(words) is list and all(type(word) is str for word in words) and words:
        upper = all(word.isupper() for word in words)
        c["modalities"] = (
            [word.lower() for word in w.pop("response_modalities")] if upper else w.pop("response_modalities")
        )
        r.form(c, "modalities", "upper" if upper else "field")
        r.place(c, ("modalities",), ("response_modalities",))


def _write_modalities(c: Node, entries: dict[Any, Node], wire: Node, w: Writer, listed: bool) -> None:
    """Modalities are the kinds of the entries, in their order; where the older field was used, that field."""
    words = c["modalities"]
    form = w.form(c, "modalities")
    if type(words) is not list:
        wire["response_modalities"] = c.pop("modalities")
    elif form or not words or len(set(words)) != len(words) or not (listed or set(words) <= set(ENTRIES)):
        wire["response_modalities"] = [word.upper() for word in words] if form == "upper" else words
        del c["modalities"]
    else:
        del c["modalities"]
        ordered = {word: entries.pop(word, {"type": word}) for word in words}
        rest = dict(entries)
        entries.clear()
        entries.update(ordered)
        entries.update(rest)


# ---- safety and labels ----------------------------------------------------------------------------------------------

_SAFETY = (("type", "category"), ("threshold", "threshold"), ("method", "method"))


def _read_safety(w: Node, c: Node) -> None:
    if w["safety_settings"] is None:
        c["safety_settings"] = w.pop("safety_settings")
        return
    try:
        owned = take_all(w, "safety_settings")
    except IllTyped:
        return
    c["safety_settings"] = [{hub: each.pop(key) for key, hub in _SAFETY if key in each} for each in owned]
    if not owned:
        del w["safety_settings"]


def _write_safety(c: Node, wire: Node) -> None:
    if c["safety_settings"] is None:
        wire["safety_settings"] = c.pop("safety_settings")
        return
    owned = take_all(c, "safety_settings")
    wire["safety_settings"] = [{key: each.pop(hub) for key, hub in _SAFETY if hub in each} for each in owned]


_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


def _write_labels(c: Node, wire: Node, w: Writer) -> None:
    """Metadata that make legal labels are sent as such; the others have no place."""
    if type(c["metadata"]) is not dict:
        return
    metadata = take(c, "metadata")
    for key in tuple(metadata):
        value = metadata[key]
        if _KEY.fullmatch(key) and type(value) is str and _VALUE.fullmatch(value):
            wire.setdefault("labels", {})[key] = value
            metadata[key] = Fated("approximated", "sent as a label")
