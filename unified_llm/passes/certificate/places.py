"""Both halves of a certificate: where each canonical leaf of a document is on its wire.

Nothing is tracked for it. A value that was handed on is the same object on both sides; for all others there are the
notes of the reading from which losses are located (`losses/source_map.py`). The target is read back for its half, so
both come from the same notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...foundation.json_codec import load_text
from ...foundation.json_paths import Keys, at, exists

if TYPE_CHECKING:
    from ...engine.pairs.reading import Reader
    from ...losses.locator import Finder

__all__ = ["TAGS", "Places", "is_leaf", "is_part", "parts_of", "scalars", "standard"]

TAGS = frozenset(
    (
        *(
            "type",
            "role",
            "object",
            "modality",
            "format",
            "kind",
            "mode",
            "status",
            "level",
            "@type",
            "name",
            "toolType",
        ),
        *("tool_type", "finishReason", "finish_reason", "stopReason", "stop_reason", "code", "mimeType", "mime_type"),
        *("media_type", "response_mime_type", "responseMimeType", "resolution", "thought"),
        *("native_finish_reason", "output_format", "display", "summary", "thinking_summaries", "includeThoughts"),
        *("include_thoughts", "tool_choice", "outcome", "is_error", "search_type", "language"),
        *("detail", "retrieval_types", "execution", "refusal_reason", "behavior", "category", "method"),
        *("urlRetrievalStatus", "search_types", "search_content_types", "reason", "ttl"),
    )
)
"""Keys whose word is what the object around it is: another protocol may have a key, or an object of its own, for it."""

_TOLD = (("type",), ("code",), ("status",))
_SHARED = 257  # smaller integers are one object wherever they are


def is_leaf(value: Any) -> bool:
    """Whether a value is a scalar, or an object or list with nothing in it."""
    return not ((type(value) is dict or type(value) is list) and value)


def scalars(value: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """The leaves of a value with their paths, in document order."""
    if is_leaf(value):
        yield path, value
    else:
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            yield from scalars(inner, (*path, key))


class Places:
    """The canonical leaves of one document, and where each of them is in the wire document.

    `values` has the leaves by their canonical path, `wire` the paths on the wire of those whose place is known, and
    `nodes` the wire path of the canonical nodes that were read from one.
    """

    def __init__(self, root: Any, document: Any, reader: Reader, finder: Finder) -> None:
        self.root: Any = root
        self.document: Any = document
        self.values: dict[Keys, Any] = {}
        self.wire: dict[Keys, tuple[Keys, ...]] = {}
        self.nodes: dict[Keys, Keys] = {}
        self._reader, self._finder = reader, finder
        self._same: dict[int, Keys] = {id(value): path for path, value in _values(document) if _is_own(value)}
        self._walk(root, (), finder.root, ())

    def _walk(self, value: Any, path: Keys, near: Any, keys: Keys) -> None:
        if type(value) is dict:
            wire = self._finder.wires.get(id(value))
            if wire is not None and (id(wire) in self._same or wire is self.document):
                near, keys = value, ()
                self._note_node(path, value, wire)
        if is_leaf(value):
            self.values[path] = value
            found = self._of(value, near, keys)
            if found:
                self.wire[path] = found
            return
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            if key == "extra" and type(value) is dict:
                self._walk_extra(value, inner, (*path, key))
            else:
                self._walk(inner, (*path, key), near, (*keys, key))

    def _note_node(self, path: Keys, node: Any, wire: Any) -> None:
        place = _spelled(self.document, self._finder.path_of(wire) + self._reader.below.get(id(node), ()))
        if place is not None:
            self.nodes[path] = place

    def _of(self, value: Any, near: Any, keys: Keys) -> tuple[Keys, ...]:
        same = self._same.get(id(value))
        if same is not None:
            return (same,)
        place = _spelled(self.document, self._finder.source_of(near, keys))
        if place is None:
            return ()
        there = at(self.document, place)
        if is_leaf(there):
            # A type is under a key for types, and a node that is one text is not the place of all of its leaves.
            fits = keys[-1:] not in _TOLD or (type(there) is str and place[-1:] != () and place[-1] in TAGS)
            return (place,) if fits and (place != self._path_of(near) or there == value) else ()
        if keys[-1:] == ("type",):
            return ()
        if type(value) is not str:
            # A number whose place is an object (a count, and what is counted) is the one of this value there.
            equal = [below for below, inner in scalars(there) if type(inner) is type(value) and inner == value]
            equal = [below for below in equal if below[-1] not in TAGS]
            return (place + equal[0],) if len(equal) == 1 and len(equal[0]) == 1 else ()
        inside = _as_json(value, there)
        if inside is not None:
            return tuple(place + inside + below for below, _ in scalars(at(there, inside)))
        if not place:
            return ()
        parts = [(below, inner) for below, inner in scalars(there) if below[-1] != "type" and is_part(inner, value)]
        if not value.startswith("data:"):
            parts = parts_of(value, parts)
        return tuple(place + below for below, _ in parts)

    def texts_of(self, node: Any) -> list[Keys]:
        """The paths of the text of a node on the wire, or of the one text of the message it was read from."""
        place = self._finder.source_of(node, ("text",))
        if not place:
            return []
        return [place + below for below, text in scalars(at(self.document, place)) if below[-1:] in ((), ("text",))]

    def _path_of(self, node: Any) -> Keys:
        """The path of the wire node that a canonical node was read from."""
        wire = self._finder.wires.get(id(node))
        return () if wire is None else self._finder.path_of(wire)

    def _walk_extra(self, node: Any, drawers: Any, path: Keys) -> None:
        """What a protocol kept of its wire node is at the same keys there."""
        for keys, value in scalars(drawers):
            self.values[path + keys] = value
            place = self._same.get(id(value))
            if place is None and keys[:1] == (self._reader.protocol,) and keys[1:2] in (("rest",), ("turn",)):
                wire = self._finder.message_of(node) if keys[1] == "turn" else self._finder.wires.get(id(node))
                kept = self._finder.path_of(wire) + keys[2:] if wire is not None else ()
                place = kept if kept and exists(self.document, kept) else None
            if place is not None:
                self.wire[path + keys] = (place,)


def _spelled(document: Any, path: Keys) -> Keys | None:
    """The path as its keys are spelled in the document (`camelCase` or `snake_case`); None where it does not exist."""
    if exists(document, path):
        return path
    found: Keys = ()
    for key in path:
        here = at(document, found)
        if type(here) is dict and key not in here and type(key) is str:
            snake = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
            camel = re.sub("_[a-z]", lambda letters: letters[0][1].upper(), key)
            key = snake if snake in here else camel
        found += (key,)
        if not exists(document, found):
            return None
    return found


def _values(value: Any) -> Iterator[tuple[Keys, Any]]:
    stack: list[tuple[Keys, Any]] = [((), value)]
    while stack:
        path, here = stack.pop()
        yield path, here
        if not is_leaf(here):
            pairs = here.items() if type(here) is dict else enumerate(here)
            stack += [((*path, key), inner) for key, inner in pairs]


def _is_own(value: Any) -> bool:
    """Whether a value is an object of its own, so that it is known again by its identity."""
    kind = type(value)
    if kind is str:
        return len(value) > 1
    return (kind is int and abs(value) >= _SHARED) or (kind is float) or (kind is dict or kind is list)


def _as_json(text: str, there: Any) -> Keys | None:
    """The keys of the value of the wire, or of the only one in it, whose JSON text this is."""
    try:
        value = load_text(text)
    except ValueError:
        return None
    if value == there:
        return ()
    found = [(key,) for key, inner in there.items() if inner == value] if type(there) is dict else []
    return found[0] if len(found) == 1 else None


def parts_of(text: str, parts: list[tuple[Keys, str]]) -> list[tuple[Keys, str]]:
    """Those of the parts of a text that make up most of it, the longest first; none if little of it is in them."""
    found, left = [], text
    for path, part in sorted(parts, key=lambda each: -len(each[1])):
        if part in left:
            left = left.replace(part, "\0", 1)
            found.append((path, part))
    return (
        found if 4 * len(left) < len(text) or 4 * max((len(part) for _, part in found), default=0) > len(text) else []
    )


def is_part(inner: Any, value: Any) -> bool:
    """Whether a text was put together from another one (a data URL, joined texts)."""
    if type(inner) is not str or type(value) is not str or len(inner) < 2:
        return False
    return inner in value or (value.startswith("data:") and standard(inner) in value)


def standard(text: str) -> str:
    """A text of the URL-safe alphabet of base64 in the standard one, without padding."""
    return text.replace("-", "+").replace("_", "/").rstrip("=")
