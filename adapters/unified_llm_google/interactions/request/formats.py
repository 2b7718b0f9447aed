"""Output formats: `response_format`, and the older fields with the same meaning.

One entry or a list of entries, one for each kind of output, which implies the modalities; an older form is a
bare JSON schema beside `response_mime_type`. Which form was used is a marker.

https://ai.google.dev/gemini-api/docs/structured-output
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Owned, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..values.tables import AUDIO, ENTRIES

__all__ = ["IMAGE", "own", "read_format", "read_modalities", "write_format"]

Node = dict[str, Any]

_SCHEMAS = ("object", "array", "string", "number", "integer", "boolean", "null")
_JSON = "application/json"
_PLAIN = "text/plain"


def own(c: Node, key: str) -> Node | None:
    """The object under `key`, ours to pop from, taken before or not; None where there is none."""
    value = c.get(key)
    return value if type(value) is Owned else take(c, key) if type(value) is dict else None


IMAGE = (("aspect_ratio", "aspect_ratio"), ("image_size", "size"), ("mime_type", "format"))
_SOUND = (("mime_type", "format"), ("sample_rate", "sample_rate"), ("bit_rate", "bit_rate"))


def read_format(w: Node, c: Node, r: Reader) -> None:
    """Read `response_format`, as one entry or a list, into `c`."""
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
    if "response_modalities" in w:
        if not all(map(_describes, kinds, entries)) or (told and kinds != [kind for kind in ENTRIES if kind in kinds]):
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
            if listed and (kind != "text" or bare):  # a described text is implied by its description
                r.place(c, ("modalities", index), (*place, index, "type"))


def _describes(kind: Any, entry: Node) -> bool:
    """Whether an entry has more than its kind of output, in fields that other protocols have."""
    words = {"image": IMAGE, "audio": _SOUND}.get(kind, ())
    return len(entry) > 1 if kind == "text" else any(key in entry for key, _ in words)


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
        image = {hub: entry.pop(key) for key, hub in IMAGE if key in entry}
        if image:
            c["image"] = image
            for key, hub in IMAGE:
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


def write_format(c: Node, wire: Node, w: Writer) -> None:
    """Write output format and modalities as entries of `response_format`."""
    marker = w.form(c, "response_format")
    entries: dict[Any, Node] = {}
    text = own(c, "text")
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
    else:
        for kind, entry in entries.items():
            if kind != "text":
                w.added(entry, "type", "required beside the description of an output")
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
        entry = {key: image.pop(hub) for key, hub in IMAGE if hub in image}
        if entry:
            entries["image"] = {"type": "image", **entry}
    audio = own(c, "audio")
    if audio is not None:
        entry = {key: audio.pop(hub) for key, hub in _SOUND if hub in audio}
        if type(entry.get("mime_type")) is str:
            word = entry["mime_type"]
            entry["mime_type"] = AUDIO.writes.get(word) or (word if "/" in word else f"audio/{word}")
        if entry:
            entries["audio"] = {"type": "audio", **entry}


def read_modalities(w: Node, c: Node, r: Reader) -> None:
    """Read `response_modalities`; the spelling is a marker, another form stays."""
    words = w["response_modalities"]
    if type(words) is list and all(type(word) is str for word in words) and words:
        upper = all(word.isupper() for word in words)
        c["modalities"] = (
            [word.lower() for word in w.pop("response_modalities")] if upper else w.pop("response_modalities")
        )
        r.form(c, "modalities", "upper" if upper else "field")
        r.place(c, ("modalities",), ("response_modalities",))


def _distinct(words: list[Any]) -> bool:
    return bool(words) and all(type(word) is str for word in words) and len(set(words)) == len(words)


def _write_modalities(c: Node, entries: dict[Any, Node], wire: Node, w: Writer, listed: bool) -> None:
    """Modalities are the kinds of the entries, in their order; where the older field was used, that field."""
    words = c["modalities"]
    form = w.form(c, "modalities")
    if type(words) is not list:
        wire["response_modalities"] = c.pop("modalities")
    elif form or not _distinct(words) or not (listed or set(words) <= set(ENTRIES)):
        upper = form == "upper" and all(type(word) is str for word in words)
        wire["response_modalities"] = [word.upper() for word in words] if upper else words
        del c["modalities"]
    else:
        del c["modalities"]
        ordered = {word: entries.pop(word, {"type": word}) for word in words}
        rest = dict(entries)
        for kind, entry in rest.items():
            if kind != "text":
                w.added(entry, "type", "required beside the description of an output")
        entries.clear()
        entries.update(ordered)
        entries.update(rest)
