"""Requirements of both APIs on media of another protocol: data URLs as RFC 2397 has them, and a name.

Base64 is never decoded nor copied more often than it takes to put another head before it.
"""

from __future__ import annotations

import re
from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.file_types import TYPES, USUAL_TYPES, image_type, is_other_image

__all__ = ["clean_url", "fit_detail", "name_file", "other_image", "read_bare", "write_bare"]

Node = dict[str, Any]

_HEAD = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(\s*)", re.IGNORECASE)
_USUAL = re.compile(r"data:[a-z0-9.+/-]+;base64,\S")
# The first characters of base64, by what the bytes are.
_MAGIC = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
# Steps of others between, and beyond, low and high; "original" is all there is to see.
_DETAILS = {"medium": "high", "ultra_high": "original"}
_FILES = {**_MAGIC, "JVBERi": "application/pdf"}
_FIRST = frozenset(magic[:4] for magic in _MAGIC)


def clean_url(c: Node, key: str, wire: Node, at: str, w: Writer) -> None:
    """Make the data URL another protocol brought, which `wire` has at `at`, one every server reads: no blanks in it."""
    url = wire.get(at)
    if type(url) is not str or url[:5].lower() != "data:" or _USUAL.match(url) or not w.crosses:
        return
    head = _HEAD.match(url)
    if head is not None and ";base64" in head[2].lower():
        data = url[head.end() :]
        kind = head[1].lower() or next((kind for magic, kind in _FILES.items() if data.startswith(magic)), "")
        wire[at] = f"data:{kind or USUAL_TYPES.get(key, '')};base64,{data}"
        if wire[at] != url:
            why = "the data URL is spelled anew" if kind else "nothing shows its type; the usual one is sent"
            c[key] = Fated("approximated", why)


def other_image(part: Node, w: Writer) -> str | None:
    """Why the server of the dialect does not take an image; None where it does."""
    types, url = w.dialect.get("image_types"), part.get("image_url")
    if w.dialect.get("image_urls") is False and type(url) is str and url[:5].lower() != "data:" and not w.same:
        return "the server takes images as data only"
    head = _HEAD.match(url) if types is not None and type(url) is str and not w.same else None
    if types is None or head is None or not is_other_image(image_type(head[1]), frozenset(types)):
        return None
    return f"the server takes images as {', '.join(types)}"


def fit_detail(c: Node, wire: Node, w: Writer) -> None:
    """The detail of an image, in the word that is nearest to another protocol's."""
    word = _DETAILS.get(str(wire.get("detail")))
    if word is not None and w.source != w.protocol:
        wire["detail"] = word
        c["detail"] = Fated("approximated", f"sent as {word!r}")


def read_bare(node: Node, r: Reader) -> Node:
    """Base64 that stands where the URL of an image ought to is a data URL, where its first bytes determine its type."""
    url = node.get("image_url")
    if type(url) is str and url[:4] in _FIRST:
        kind = next((kind for magic, kind in _MAGIC.items() if url.startswith(magic)), None)
        if kind is not None:
            node["image_url"] = f"data:{kind};base64,{url}"
            r.form(node, "image_url", "bare")
    return node


def write_bare(c: Node, w: Writer) -> None:
    """The inverse, for the protocol it came from."""
    url = c.get("image_url")
    if "extra" in c and w.form(c, "image_url") == "bare" and type(url) is str:
        c["image_url"] = url.partition(";base64,")[2] or url


_SUFFIXES = {kind: f".{ending}" for ending, kind in TYPES.items()}


# What a name of a text may end in, the language of a program among it; the binary types have one ending each.
_ENDING = re.compile(r"\.[a-z][a-z0-9]{0,7}", re.IGNORECASE | re.ASCII)
_TEXTS = frozenset(("application/json", "application/xml"))


def name_file(c: Node, wire: Node, w: Writer) -> None:
    """Data require a file name, without which the API refuses a request: the title another protocol has, or a made one.

    The API takes a file's type from the ending of its name: a name without one gets that of the media type.

    https://github.com/laravel/ai/issues/321 https://platform.openai.com/docs/guides/pdf-files
    """
    if "file_data" not in wire:
        return
    head = _HEAD.match(wire["file_data"]) if type(wire["file_data"]) is str else None
    kind = head[1].lower() if head is not None else ""
    if "filename" in wire:
        named = _with_ending(wire["filename"], kind) if w.crosses else wire["filename"]
        if named != wire["filename"]:
            wire["filename"] = named
            c["filename"] = Fated("approximated", f"sent as {named!r}")
    elif type(c.get("title")) is str:
        named = wire["filename"] = _with_ending(c["title"], kind)
        sent = "as the name of the file" if named == c["title"] else f"as the name of the file, {named!r}"
        c["title"] = Fated("approximated", sent)
    elif type(wire["file_data"]) is str and w.crosses:
        wire["filename"] = f"document{_SUFFIXES.get(kind, '')}"
        w.added(wire, "filename", "the API demands one")


def _with_ending(name: Any, kind: str) -> Any:
    """A file's name with the ending of its media type, if its own one does not fit.

    >>> [_with_ending(name, "application/pdf") for name in ("Report v1.2", "report.PDF", "report.docx")]
    ['Report v1.2.pdf', 'report.PDF', 'report.docx.pdf']
    >>> [_with_ending(name, "text/plain") for name in ("notes", "notes.py")], _with_ending("notes", "")
    (['notes.txt', 'notes.py'], 'notes')
    """
    ending = _SUFFIXES.get(kind)
    if ending is None or type(name) is not str or not name.strip() or name.lower().endswith(ending):
        return name
    is_text = kind.startswith("text/") or kind in _TEXTS
    dot = name.rfind(".")
    return name if is_text and dot > 0 and _ENDING.fullmatch(name, dot) else name + ending
