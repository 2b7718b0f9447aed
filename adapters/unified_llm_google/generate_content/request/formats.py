"""`responseFormat`: what comes out, an entry for each kind of output, in place of the older fields with the same
meaning.

An entry describes a text (media type, schema), images or audio; its presence requests the kind. Its words are
those of the API's enums or the plain ones that they stand for: which, is a marker. What stands beside an older field
of the same meaning, or has a form that is unknown here, stays as it is, whole. It is written where it was
read: other requests are written with the older fields, which every model takes.

https://ai.google.dev/api/generate-content#generationconfig
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, Owned, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["FORM", "owned", "read_formats", "write_formats"]

Node = dict[str, Any]
Place = tuple[Any, ...]

KEY = "responseFormat"
FORM = "response_format"
_KINDS = ("text", "image", "audio", "video")
_IMAGE = (("aspectRatio", "aspect_ratio"), ("imageSize", "size"), ("mimeType", "format"))
_SOUND = (("mimeType", "format"), ("sampleRate", "sample_rate"), ("bitRate", "bit_rate"))
_OLDER = {
    "text": ("responseMimeType", "responseSchema", "responseJsonSchema"),
    "image": ("imageConfig",),
    "audio": (),
    "video": (),
}
_WORDS = ("mimeType", "aspectRatio", "imageSize")
_JSON, _PLAIN = "application/json", "text/plain"

_SIDES = {1: "ONE", 2: "TWO", 3: "THREE", 4: "FOUR", 5: "FIVE", 8: "EIGHT", 9: "NINE", 16: "SIXTEEN", 21: "TWENTY_ONE"}
_RATIOS = {f"ASPECT_RATIO_{a}_BY_{b}": f"{n}:{m}" for n, a in _SIDES.items() for m, b in _SIDES.items()}
_SIZES = {"FIVE_TWELVE": "512", "ONE_K": "1K", "TWO_K": "2K", "FOUR_K": "4K"}
_ENUMS = Bimap({**_RATIOS, **{f"IMAGE_SIZE_{word}": size for word, size in _SIZES.items()}})
_SOUNDS = Bimap(
    {
        "audio/wav": "wav",
        "audio/mp3": "mp3",
        "audio/ogg_opus": "ogg_opus",
        "audio/l16": "pcm16",
        "audio/alaw": "g711_alaw",
        "audio/mulaw": "g711_ulaw",
    }
)


def _plain(word: str) -> str:
    """The plain word that an enum's stands for."""
    return _ENUMS.reads.get(word) or word.lower().replace("_", "/", 1)


def _is_unset(word: Any) -> bool:
    """Whether it is an enum's word for no value, which no other API has."""
    return type(word) is str and word.endswith("_UNSPECIFIED")


def _enum(word: Any) -> Any:
    """The enum's word for a plain one; the plain one where there is none."""
    found = _ENUMS.writes.get(word) or word.upper().replace("/", "_", 1) if type(word) is str else word
    return found if found != word and _plain(found) == word else word


# ---- reading --------------------------------------------------------------------------------------------------------


def read_formats(config: Node, c: Node, r: Reader, place: Callable[..., None]) -> None:
    """Read all entries or none; the modalities are their kinds, where no older field has them."""
    entries = config.get(KEY)
    if type(entries) is not list or not entries or not all(type(each) is dict and len(each) == 1 for each in entries):
        return
    kinds = [next(iter(entry)) for entry in entries]
    inner = [entry[kind] for kind, entry in zip(kinds, entries)]
    if len(set(kinds)) != len(kinds) or not set(kinds) <= set(_KINDS) or not all(type(each) is dict for each in inner):
        return
    told = [each for kind, each in zip(kinds, inner) if kind != "video"]
    if any(key in config for kind in kinds for key in _OLDER[kind]) or not _are_words(told):
        return
    if config.get("speechConfig") == {}:
        return
    words = [each[key] for each in told for key in _WORDS if key in each]
    upper = bool(words) and all(word.isupper() and _enum(_plain(word)) == word for word in words)
    if not upper and any("_" in word and word.isupper() for word in words):
        return
    bare = any(not each for each in inner)
    if "modalities" in c:
        # A value in its kind alone has no other place.
        if bare or "video" in kinds or kinds != [kind for kind in _KINDS if kind in kinds]:
            return
        r.form(c, "modalities", "field")
    elif "responseModalities" in config:
        return
    elif bare or kinds != ["text"]:
        c["modalities"] = kinds
        for index, kind in enumerate(kinds):
            place(("modalities", index), KEY, index, kind)
    r.form(c, FORM, "enum" if upper else "plain")
    for index, (kind, entry) in enumerate(zip(kinds, take_all(config, KEY))):
        own = take(entry, kind)
        for key in _WORDS:
            if upper and key in own and kind != "video" and not _is_unset(own[key]):
                own[key] = _plain(own[key])
        _READERS[kind](own, c, r, place, (KEY, index, kind))


def _are_words(inner: list[Node]) -> bool:
    """Whether everything that has a canonical home is of the type it should be."""
    text = all(type(each.get(key, "")) is str for each in inner for key in _WORDS)
    numbers = all(type(each.get(key, 0)) is int for each in inner for key in ("sampleRate", "bitRate"))
    return text and numbers and all(type(each.get("schema", {})) is dict for each in inner)


def _read_text(own: Node, c: Node, r: Reader, place: Callable[..., None], path: Place) -> None:
    if not own:
        return
    mime = own.pop("mimeType", None)
    kind = "json_schema" if "schema" in own else "json_object" if mime == _JSON else "text"
    text: Node = {"type": kind}
    if "schema" in own:
        text["schema"] = own.pop("schema")
        place(("text", "format", "schema"), *path, "schema")
    if mime is None:
        r.form(c, "mime_type", "absent")
    elif mime != (_PLAIN if kind == "text" else _JSON):
        text["media_type"] = mime
    c["text"] = {"format": text}
    place(("text", "format"), *path)
    place(("text", "format", "type"), *path, *(("mimeType",) if mime is not None else ()))
    place(("text", "format", "media_type"), *path, "mimeType")


def _read_image(own: Node, c: Node, r: Reader, place: Callable[..., None], path: Place) -> None:
    found = {hub: own.pop(key) for key, hub in _IMAGE if key in own and not _is_unset(own[key])}
    if found:
        c["image"] = found
    for key, hub in _IMAGE:
        place(("image", hub), *path, key)


def _read_audio(own: Node, c: Node, r: Reader, place: Callable[..., None], path: Place) -> None:
    found = {hub: own.pop(key) for key, hub in _SOUND if key in own}
    if "format" in found:
        found["format"] = _SOUNDS.read(found["format"])
    if found:
        c["audio"] = found  # a voice is read later, and joins it
    for key, hub in _SOUND:
        place(("audio", hub), *path, key)


def _read_video(own: Node, c: Node, r: Reader, place: Callable[..., None], path: Place) -> None:
    """Only the request for video itself has a canonical word."""


_READERS = {"text": _read_text, "image": _read_image, "audio": _read_audio, "video": _read_video}


# ---- writing --------------------------------------------------------------------------------------------------------


def write_formats(c: Node, config: Node, w: Writer) -> None:
    """Write the entries, in a request that came with them; their content is consumed."""
    marker = w.form(c, FORM)
    if marker is None:
        return
    entries: dict[Any, Node] = {}
    text = owned(c, "text")
    if text is not None and type(text.get("format")) is dict:
        _write_text(take(text, "format"), entries, c, w)
    image = owned(c, "image")
    if image is not None:
        found = {key: image.pop(hub) for key, hub in _IMAGE if hub in image}
        if found:
            entries["image"] = found
    sound = owned(c, "audio")
    if sound is not None:
        found = {key: sound.pop(hub) for key, hub in _SOUND if hub in sound}
        if "mimeType" in found:
            word = found["mimeType"] = _SOUNDS.write(found["mimeType"])
            if type(word) is str and "/" not in word:
                found["mimeType"] = f"audio/{word}"
        if found:
            entries["audio"] = found
    words = c.get("modalities")
    if w.form(c, "modalities") is None and type(words) is list:
        if words and all(type(word) is str for word in words) and len(set(words)) == len(words):
            ordered = {word: entries.pop(word, {}) for word in c.pop("modalities")}
            entries = {**ordered, **entries}
    for entry in entries.values():
        for key in _WORDS:
            if marker == "enum" and key in entry:
                entry[key] = _enum(entry[key])
    if entries:
        config[KEY] = [{kind: entry} for kind, entry in entries.items()]


def _write_text(format_: Node, entries: dict[Any, Node], c: Node, w: Writer) -> None:
    kind = format_.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return
    del format_["type"]
    entry: Node = {}
    if "media_type" in format_:
        entry["mimeType"] = format_.pop("media_type")
    elif w.form(c, "mime_type") != "absent":
        entry["mimeType"] = _PLAIN if kind == "text" else _JSON
    if "schema" in format_:
        entry["schema"] = format_.pop("schema")
    entries["text"] = entry


def owned(c: Node, key: str) -> Node | None:
    """The object under `key`, ours to pop from, taken before or not."""
    value = c.get(key)
    return value if type(value) is Owned else take(c, key) if type(value) is dict else None
