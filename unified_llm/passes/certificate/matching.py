"""Which leaves of a document went to which places of its conversion: by both canonical forms, then by what is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ...engine.malformed import FAULTS
from ...engine.pairs.reading import Reader
from ...foundation.errors import UnifiedLLMError
from ...foundation.json_codec import load_text
from ...foundation.json_paths import Keys, at, exists, once, pointer
from ...losses.locator import Finder
from .alignment import aligned
from .origins import REFERENCES, is_empty, tag
from .places import TAGS, Places, is_leaf, is_part, parts_of, scalars, standard

if TYPE_CHECKING:
    from ...engine.pairs.writing import Writer
    from ..route import Route

__all__ = ["Matching"]


class Matching:
    """Which leaves of a document went to which places of its conversion.

    Nothing is matched with a leaf that the loss report has as lost (`is_lost`, of its JSON Pointer).
    """

    def __init__(self, document: Any, value: Any, http: Mapping[str, Any], is_lost: Callable[[str], bool]) -> None:
        self.document: Any = document
        self.value: Any = value
        self.http: Mapping[str, Any] = http
        self._is_lost = is_lost
        self.found: dict[Keys, dict[str, None]] = defaultdict(dict)
        self.taken: set[str] = set()

    def places(self, path: Keys) -> Iterable[str]:
        """The places to which the leaf at a path went."""
        return self.found.get(path, ())

    def pair(self, one: Keys, other: Keys) -> None:
        """Note that what is at a path of the source went to a path of the target; both are leaves, or have some."""
        here, there = at(self.document, one), at(self.value, other)
        if is_leaf(here) and is_leaf(there):
            self._claim(one, other)
        elif is_leaf(there):
            for below, _ in scalars(here):
                self._claim(one + below, other)
        elif is_leaf(here):
            for below, _ in scalars(there):
                self._claim(one, other + below)
        else:
            for below, _ in scalars(here):
                if exists(there, below):
                    self._claim(one + below, other + below)

    def _claim(self, one: Keys, other: Keys) -> None:
        if self._is_lost(pointer(one)) or (is_empty(at(self.document, one)) and not is_empty(at(self.value, other))):
            return  # nothing went anywhere
        place = pointer(other)
        self.found[one][place] = None
        self.taken.add(place)

    def match_texts(self) -> None:
        """A text of the target that nothing went to may be one of the source under another key, or joined or split."""
        mine = [
            (path, text)
            for path, text in scalars(self.document)
            if type(text) is str and text and not self._is_lost(pointer(path))
        ]
        equal: dict[str, list[Keys]] = defaultdict(list)
        for one, text in mine:
            equal[standard(text)].append(one)
        long = [(one, text) for one, text in mine if len(text) > 3 and one[-1:] and one[-1] in TEXTS]
        for path, text in scalars(self.value):
            if type(text) is not str or not text or pointer(path) in self.taken or (path and path[-1] in TAGS):
                continue
            same = sorted(equal.get(standard(text), ()), key=lambda each: each in self.found)
            inside = [each for each in long if each[1] in text]
            is_long = len(text) > 1 or tag(path) in REFERENCES
            found = [each for each in same[:1] if is_long or each not in self.found] or [
                one for one, _ in parts_of(text, inside)
            ]
            if not found and "\n" in text:
                lines = text.split("\n")
                found = [one for one, other in inside if other in lines]
                if all(standard(line) in equal for line in lines):
                    found = [min(equal[standard(line)], key=lambda each: each in self.found) for line in lines]
            if not found and (" " in text or "\n" in text):
                found = [one for one, other in long if text in other][:1]
            for one in found:
                self._claim(one, path)

    def match_split(self) -> None:
        """A text of the source of which there is more than went to its places may have gone to others too."""
        left = [
            (path, text)
            for path, text in scalars(self.value)
            if type(text) is str and text and pointer(path) not in self.taken and path[-1:] and path[-1] in TEXTS
        ]
        for path, places in [*self.found.items()] if left else ():
            whole = at(self.document, path)
            keys = [self._keys[place] for place in places if place in self._keys]
            said = [at(self.value, each) for each in keys]
            if type(whole) is not str or any(type(each) is not str or each not in whole for each in said):
                continue
            rest = _without(whole, sorted(said, key=len, reverse=True))
            for other, text in left:
                if rest != whole and text in (each.strip() for each in rest.split("\0")):
                    self._claim(path, other)

    def match_names(self) -> None:
        """A name that went nowhere may be that of a switch that is on, and the key of a value the text of a `key`."""
        mine = {
            text: path
            for path, text in scalars(self.document)
            if type(text) is str and path not in self.found and not self._is_lost(pointer(path))
        }
        keyed = {path[-1]: path for path, _ in scalars(self.document) if path and path in self.found}
        for path, value in scalars(self.value):
            if pointer(path) in self.taken:
                continue
            if value is True and path[-2:-1] and path[-2] in mine:
                self._claim(mine[path[-2]], path)
            elif type(value) is str and path[-1:] == ("key",) and value in keyed:
                self._claim(keyed[value], path)

    def match_joined(self) -> None:
        """A text of the target in which there is more than what went to it may have others of the source in it."""
        left = [
            (path, text)
            for path, text in scalars(self.document)
            if type(text) is str and text and path not in self.found and path[-1:] and path[-1] in TEXTS
        ]
        went: dict[str, list[str]] = defaultdict(list)
        for path, places in self.found.items() if left else ():
            for place in places:
                went[place].append(at(self.document, path))
        for keys, whole in scalars(self.value) if left else ():
            said = went.get(pointer(keys))
            if not said or type(whole) is not str or any(type(each) is not str or each not in whole for each in said):
                continue
            rest = _without(whole, sorted(said, key=len, reverse=True))
            for path, text in left:
                if text in rest and (len(text) > 3 or text in (each.strip() for each in rest.split("\0"))):
                    self._claim(path, keys)
                    rest = rest.replace(text, "\0", 1)

    def match_media_types(self) -> None:
        """A media type with parameters (`audio/L16;rate=24000`) may be a type and numbers at the other end."""
        mine, theirs = _media_types(self.document), _media_types(self.value)
        for path, kind, parameters in _with_parameters(mine):
            place = next((each for each in theirs.get(kind, {}) if pointer(each) not in self.taken), None)
            for each in _numbers(self.value, place, parameters) if not self._is_lost(pointer(path)) else ():
                self._claim(path, each)
        for place, kind, parameters in _with_parameters(theirs):
            found = next((each for each in mine.get(kind, {}) if each not in self.found), None)
            for each in _numbers(self.document, found, parameters):
                if not self._is_lost(pointer(each)):
                    self._claim(each, place)

    def match_rest(self, path: Keys, leaf: Any, is_whole: bool) -> None:
        """Where a leaf may be that was not matched: beside its like, in a text, as the name of a key, as a count.

        A count that is not the same (`is_whole`) is looked for nowhere.
        """
        for each in self._named(path, leaf):
            self._claim(path, each)
        place = self._alike(path, leaf) or self._beside(path, leaf)
        if place is None and type(leaf) is str and leaf and tag(path) not in TAGS:
            joins = path[-1] in TEXTS and len(leaf) > 3
            is_data = leaf.startswith("data:")
            inside = (
                (each, text)
                for each, text in self._texts
                if text == leaf
                or (joins and leaf in text)
                or leaf in each
                or (is_data and len(text) > 3 and standard(text) in standard(leaf))
                or (len(leaf) > 3 and text.startswith("data:") and text.endswith(f",{leaf}"))
            )
            place = next((each for each, _ in inside), None)
        elif place is None and type(leaf) is int and leaf >= _DISTINCT:
            found = [each for each, count in self._counts if count == leaf and pointer(each) not in self.taken]
            place = found[0] if len(found) == 1 else None
        if place is None and is_whole and type(leaf) is int and "token" in str(path[-1:]).lower():
            place = next((each for each, count in self._counts if count == leaf), None)
        if place is not None:
            self._claim(path, place)

    def _alike(self, path: Keys, leaf: Any) -> Keys | None:
        """The place with the same value under the same key that nothing went to, or with it in its JSON text.

        The key may also be a text beside the leaf: `{"key": "k", "value": 2}` and `{"k": 2}` are alike.
        """
        if type(leaf) is bool and tag(path) in TAGS:
            return None  # what its object is: many have it
        mine = set(path)
        said = scalars(at(self.document, path[:-1])) if path and type(leaf) is not str else ()
        names = {text for _, text in said if type(text) is str}
        found = [
            place
            for name in (path[-1] if path else None, *names)
            for place, value in self._by_key.get(name, ())
            if type(value) is type(leaf) and value == leaf and (name in names or pointer(place) not in self.taken)
        ]
        return max(found, key=lambda place: len(mine.intersection(place)), default=None)

    def _named(self, path: Keys, leaf: Any) -> list[Keys]:
        """The places of the names of switches that are on; of one that is off, those of the others that are."""
        if type(leaf) is not bool or len(path) < 2:
            return []
        others = scalars(at(self.document, path[:-2])) if not leaf else ()
        names = [path[-2]] if leaf else [keys[-2] for keys, value in others if value is True and len(keys) > 1]
        return [place for place, text in self._texts if text in names and type(place[-1]) is int]

    def _beside(self, path: Keys, leaf: Any) -> Keys | None:
        """The place of a text to which another leaf of the same object went, and that has this leaf as a line."""
        if type(leaf) is not str or not leaf or tag(path) in TAGS:
            return None
        for other, places in self.found.items():
            if other[: len(path) - 1] == path[:-1]:
                for place in places:
                    keys = self._keys.get(place)
                    if keys is not None and leaf in str(at(self.value, keys)).split("\n"):
                        return keys
        return None

    @once
    def _keys(self) -> dict[str, Keys]:
        return {pointer(path): path for path, _ in scalars(self.value)}

    @once
    def _by_key(self) -> dict[Any, list[tuple[Keys, Any]]]:
        found: dict[Any, list[tuple[Keys, Any]]] = defaultdict(list)
        for place, value in scalars(self.value):
            if place:
                found[place[-1]].append((place, value))
            for keys, inner in scalars(_parsed(value)) if _is_text(value) else ():
                if keys:
                    found[keys[-1]].append((place, inner))
        return found

    @once
    def _texts(self) -> list[tuple[Keys, str]]:
        found = [(path, text if type(text) is str else "") for path, text in scalars(self.value)]
        return sorted(found, key=lambda each: -len(each[1]))

    @once
    def _counts(self) -> list[tuple[Keys, int]]:
        return [(path, count) for path, count in scalars(self.value) if type(count) is int and len(path) > 1]

    def match_http(self) -> None:
        """What went to no place of the body may be in the route, or be a header."""
        path, headers, status = self.http.get("path"), self.http.get("headers"), self.http.get("status")
        for keys, leaf in scalars(self.document):
            if keys in self.found or len(keys) > 3 or self._is_lost(pointer(keys)):
                continue
            name = leaf.rpartition("/")[2] if type(leaf) is str else ""  # a model may be a resource of its kind
            if type(path) is str and ((name and name in unquote(path)) or (leaf is True and "stream" in keys)):
                self.found[keys]["http:/path"] = None
            query = self.http.get("query")
            if leaf is True and "stream" in keys and isinstance(query, Mapping) and "sse" in query.values():
                self.found[keys]["http:/query"] = None
            if type(leaf) is int and type(leaf) is type(status) and leaf == status:
                self.found[keys]["http:/status"] = None
            for name, text in headers.items() if isinstance(headers, Mapping) else ():
                if type(leaf) is str and leaf == text:
                    self.found[keys][pointer(("headers", name)).join(("http:", ""))] = None

    def match(self, route: Route, node: Any, value: Any, reader: Reader, writer: Writer) -> None:
        """Match by the canonical forms of both documents."""
        root = writer.context.get("given", node)
        here = Places(root, self.document, reader, _finder(node, value, writer, reader, route))
        there = self._read_back(route, writer)
        if there is None:
            return
        self._match_pieces(writer, here)
        leaves, _ = aligned(here, there)
        for mine, theirs in leaves:
            self._join(here.wire[mine], there.wire[theirs])

    def _match_pieces(self, writer: Writer, here: Places) -> None:
        """Texts that were put together (`answer_pieces.py`) went where the whole is."""
        wholes = [found for found in writer.context.get("joined", {}).values() if "text" in found[0]]
        texts: dict[str, list[Keys]] = defaultdict(list)
        for path, text in reversed([*scalars(self.value)] if wholes else []):
            if type(text) is str:
                texts[text].append(path)
        for pieces in wholes:
            if texts[pieces[0]["text"]]:
                place = texts[pieces[0]["text"]].pop()
                for piece in pieces:
                    for path in here.texts_of(piece):
                        self._claim(path, place)

    def _join(self, mine: tuple[Keys, ...], theirs: tuple[Keys, ...]) -> None:
        """Leaves that make up one canonical value, on both sides: each went where its own value is."""
        if len(mine) == 1 or len(theirs) == 1:
            texts = [at(self.document, each) for each in mine[:1]] + [at(self.value, each) for each in theirs[:1]]
            loose = len(mine) == len(theirs) or (_is_text(texts[0]) if len(mine) == 1 else _is_text(texts[1]))
            for one in mine:
                for other in theirs:
                    if loose or _contain(at(self.document, one), at(self.value, other)):
                        self.pair(one, other)
            return
        for one in mine:
            value = at(self.document, one)
            found = [other for other in theirs if other[-1] == one[-1] and at(self.value, other) == value]
            found = found or [other for other in theirs if _contain(value, at(self.value, other))]
            for other in found:
                self.pair(one, other)

    def _read_back(self, route: Route, writer: Writer) -> Places | None:
        """The target's half: what was written, read again."""
        reader = Reader(
            route.goal,
            dialect=route.there.dialect,
            provider=route.there.provider,
            http=writer.http,
        )
        try:
            root = reader.root(route.writes.read, self.value)
        except (UnifiedLLMError, *FAULTS):
            return None
        return Places(
            root,
            self.value,
            reader,
            Finder(root, self.value, writer, reader, route.goal, route.goal, route.writes.node, ()),
        )


_DISTINCT = 1000
"""Smaller numbers are in many places of a document."""


def _without(text: str, parts: Iterable[str]) -> str:
    for part in parts:
        text = text.replace(part, "\0", 1)
    return text


def _media_types(document: Any) -> dict[str, dict[Keys, str]]:
    """The media types of a document by their kind, in order: where each stands, and its parameters."""
    found: dict[str, dict[Keys, str]] = {}
    for path, text in scalars(document):
        if path and path[-1] in _MEDIA_TYPES and type(text) is str:
            kind, _, parameters = text.partition(";")
            found.setdefault(kind.lower(), {})[path] = parameters
    return found


def _with_parameters(types: dict[str, dict[Keys, str]]) -> Iterator[tuple[Keys, str, str]]:
    return ((path, kind, each) for kind, places in types.items() for path, each in places.items() if each)


def _numbers(document: Any, place: Keys | None, parameters: str) -> Iterator[Keys]:
    """The place of a media type, and of the numbers beside it that the parameters of another one have."""
    if place is None:
        return
    yield place
    values = {each.rpartition("=")[2].strip() for each in parameters.split(";")}
    for key, value in at(document, place[:-1]).items():
        if type(value) is int and str(value) in values:
            yield (*place[:-1], key)


def _parsed(text: str) -> Any:
    try:
        return load_text(text)
    except ValueError:
        return None


def _is_text(value: Any) -> bool:
    """Whether a value may be the JSON text of an object or list."""
    return type(value) is str and value[:1] in ("{", "[")


def _contain(one: Any, other: Any) -> bool:
    """Whether two leaves are equal, or one text has the other in it."""
    return (type(one) is type(other) and bool(one == other)) or is_part(one, other) or is_part(other, one)


def _finder(node: Any, value: Any, writer: Writer, reader: Reader, route: Route) -> Finder:
    return Finder(node, value, writer, reader, route.origin, route.goal, route.reads.node, ())


_MEDIA_TYPES = frozenset(("mime_type", "mimeType", "media_type"))
TEXTS = frozenset(
    ("text", "content", "description", "title", "source", "output", "logs", "stdout", "stderr", "thinking")
)
"""Keys under which there are texts that may be joined."""
