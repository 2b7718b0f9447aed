"""The certificate of a conversion, made when it is done (`convert(..., trace=True)`).

The leaves of the source are matched with those of the target through their canonical forms, and what is left is looked
up in the loss report: before and after what carries no information was taken out of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ...engine.malformed import FAULTS
from ...engine.pairs.reading import Reader
from ...foundation.errors import UnifiedLLMError
from ...foundation.generated_ids import is_made
from ...foundation.json_codec import dump, load_text, parse
from ...foundation.json_paths import Keys, at, exists, once, pointer
from ...losses import Loss
from ...losses.defaults import Weighing, significant
from ...losses.locator import Finder
from ...losses.trace import Leaf, Made, Provenance, Rule, Trace
from ...provenance.opaque import looks_sealed
from .alignment import aligned
from .places import TAGS, Places, is_leaf, is_part, parts_of, scalars, standard

if TYPE_CHECKING:
    from ...engine.pairs.writing import Writer
    from ...losses import Losses
    from ..route import Route

__all__ = ["certificate", "distinct"]


def distinct(document: Any) -> Any:
    """The document with a value of its own in each place, so that each is known again by its identity."""
    return parse(dump(document))


def certificate(
    names: tuple[str, str, str],
    route: Route,
    document: Any,
    node: Any,
    value: Any,
    reader: Reader,
    writer: Writer,
    losses: Losses,
) -> Trace:
    """The certificate of a conversion of `document` to `value`, through the canonical `node`.

    `names` are the source, the target and the kind.
    """
    source, target, _ = names
    weighing = Weighing(source, target, route.reads.node, writer.exchange, node, route.origin)
    to = _Matching(document, distinct(value), writer.http)
    if not route.crossing:
        for path, _ in scalars(document):
            if exists(value, path):
                to.pair(path, path)
    else:
        to.match(route, node, value, reader, writer)
    to.match_texts()
    to.match_http()
    reports = _Report(losses)
    leaves = []
    for path, leaf in scalars(document):
        place = pointer(path)
        loss = reports.about(place)
        if loss is None and path not in to.found and route.crossing:
            to.match_rest(path, leaf)
        places = () if reports.is_lost(place) else tuple(to.places(path))
        rule: Rule | None = None
        if not places and loss is None:
            rule = _rule(path, leaf, weighing, document, route)
        leaves.append(Leaf(place, places, loss, rule))
    claimed = {place for leaf in leaves for place in leaf.to}
    return Trace(*names, tuple(leaves), tuple(_made(claimed, value, losses, writer.http, reader.http)))


def _rule(path: Keys, leaf: Any, weighing: Weighing, document: Any, route: Route) -> Rule | None:
    """Why a leaf is neither in the target nor in the report."""
    if _is_empty(leaf):
        return "empty"
    if type(leaf) is str and is_made(leaf):
        return "generated"
    if is_position(path, leaf):
        return "position"
    if type(leaf) is str and leaf in route.origin.constants:
        return "constant"
    if any(_is_default(path[:depth], weighing, document) for depth in range(len(path), 0, -1)):
        return "default"
    if not SCHEMAS.isdisjoint(path):
        return "schema"
    if type(leaf) is int and "token" in str(path[-1]).lower():
        return "sum"
    return "shape" if _tag(path) in TAGS else None


def _tag(path: Keys) -> Any:
    """The key of a leaf, or of the list that it is in."""
    return next((key for key in reversed(path[-2:]) if type(key) is str), None)


def is_position(path: Keys, value: Any) -> bool:
    """Whether a number is that of an element, or of a character, by its place or by its key."""
    if type(value) is not int:
        return False
    return path[-2:-1] == (value,) or any(
        ("ind" in str(key).lower() and "ex" in str(key).lower()) or "indices" in str(key).lower() for key in path[-2:]
    )


def _is_default(path: Keys, weighing: Weighing, document: Any) -> bool:
    """Whether what is at a path would not be reported if it were lost."""
    return not significant([Loss(pointer(path), "native.field", "lost")], weighing, document)


class _Report:
    """The entries of a loss report by their place in the source."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        self._paths = {loss.path for loss in losses if loss.side == "source"}
        self._lost = {loss.path for loss in losses if loss.side == "source" and loss.fate == "lost"}

    def is_lost(self, place: str) -> bool:
        """Whether there is an entry that this very leaf was lost."""
        return place in self._lost

    def about(self, place: str) -> str | None:
        """The path of the entry about a leaf: its own, else that of the smallest node around it."""
        while place:
            if place in self._paths:
                return place
            place = place.rpartition("/")[0]
        return "" if "" in self._paths else None


class _Matching:
    """Which leaves of a document went to which places of its conversion."""

    def __init__(self, document: Any, value: Any, http: Mapping[str, Any]) -> None:
        self.document, self.value, self.http = document, value, http
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
        if _is_empty(at(self.document, one)) and not _is_empty(at(self.value, other)):
            return  # nothing went anywhere
        place = pointer(other)
        self.found[one][place] = None
        self.taken.add(place)

    def match_texts(self) -> None:
        """A text of the target that nothing went to may be one of the source under another key, or joined or split."""
        mine = [(path, text) for path, text in scalars(self.document) if type(text) is str and text]
        equal: dict[str, list[Keys]] = defaultdict(list)
        for one, text in mine:
            equal[standard(text)].append(one)
        long = [(one, text) for one, text in mine if len(text) > 3 and one[-1:] and one[-1] in TEXTS]
        for path, text in scalars(self.value):
            if type(text) is not str or not text or pointer(path) in self.taken or (path and path[-1] in TAGS):
                continue
            same = sorted(equal.get(standard(text), ()), key=lambda each: each in self.found)
            found = [each for each in same[:1] if len(text) > 1 or each not in self.found] or [
                one for one, _ in parts_of(text, [each for each in long if each[1] in text])
            ]
            if not found and (" " in text or "\n" in text):
                found = [one for one, other in long if text in other][:1]
            for one in found:
                self._claim(one, path)

    def match_rest(self, path: Keys, leaf: Any) -> None:
        """Where a leaf may be that was not matched: beside its like, in a text, as the name of a key, as a count."""
        place = self._alike(path, leaf)
        if place is None and type(leaf) is str and leaf and path[-1:] and path[-1] not in TAGS:
            joins = path[-1] in TEXTS and len(leaf) > 3
            inside = (
                (each, text) for each, text in self._texts if text == leaf or (joins and leaf in text) or leaf in each
            )
            place = next((each for each, _ in inside), None)
        elif place is None and type(leaf) is int and "token" in str(path[-1:]).lower():
            place = next((each for each, count in self._counts if count == leaf), None)
        if place is not None:
            self._claim(path, place)

    def _alike(self, path: Keys, leaf: Any) -> Keys | None:
        """The place with the same value under the same key that nothing went to, or with it in its JSON text."""
        mine = set(path)
        found = [
            place
            for place, value in self._by_key.get(path[-1] if path else None, ())
            if type(value) is type(leaf) and value == leaf and pointer(place) not in self.taken
        ]
        return max(found, key=lambda place: len(mine.intersection(place)), default=None)

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
            if keys in self.found or len(keys) > 3:
                continue
            if type(path) is str and (
                (type(leaf) is str and leaf and leaf in unquote(path)) or (leaf is True and "stream" in keys)
            ):
                self.found[keys]["http:/path"] = None
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
        leaves, _ = aligned(here, there)
        for mine, theirs in leaves:
            self._join(here.wire[mine], there.wire[theirs])

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
            route.goal.protocol,
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


def _parsed(text: str) -> Any:
    try:
        return load_text(text)
    except ValueError:
        return None


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or value == {} or (type(value) is str and value in ("", "{}", "[]"))


def _is_text(value: Any) -> bool:
    """Whether a value may be the JSON text of an object or list."""
    return type(value) is str and value[:1] in ("{", "[")


def _contain(one: Any, other: Any) -> bool:
    """Whether two leaves are equal, or one text has the other in it."""
    return (type(one) is type(other) and bool(one == other)) or is_part(one, other) or is_part(other, one)


def _finder(node: Any, value: Any, writer: Writer, reader: Reader, route: Route) -> Finder:
    return Finder(node, value, writer, reader, route.origin, route.goal, route.reads.node, ())


def _made(
    claimed: set[str], value: Any, losses: Losses, http: Mapping[str, Any], came: Mapping[str, Any]
) -> Iterable[Made]:
    added = {loss.path for loss in losses if loss.side == "target"}
    changed = any(loss.side == "source" and loss.fate != "lost" for loss in losses)
    for path, leaf in scalars(value):
        place = pointer(path)
        if place not in claimed:
            yield Made(place, _origin(path, leaf, added, http.get("status"), changed, came), leaf)


def _origin(
    path: Keys, leaf: Any, added: set[str], status: Any, changed: bool, http_in: Mapping[str, Any]
) -> Provenance:
    """Where a leaf of the target is from that nothing went to; `changed`: some values are there in another form."""
    if any(pointer(path[:depth]) in added for depth in range(len(path), -1, -1)):
        return "added"
    if _is_empty(leaf):
        return "empty"
    if type(leaf) is str and is_made(leaf):
        return "generated"
    if type(leaf) is str and looks_sealed(leaf):
        return "envelope"
    if is_position(path, leaf):
        return "position"
    if type(leaf) is int and leaf == status:
        return "status"
    if _is_in(leaf, http_in):
        return "http"
    if type(leaf) is int and path[-1] in TOTALS:
        return "sum"
    if path == ("object",):
        return "constant"
    if not SCHEMAS.isdisjoint(path):
        return "schema"
    if _tag(path) in TAGS:
        return "shape"
    return "reported" if changed else "constant"


def _is_in(leaf: Any, http: Mapping[str, Any]) -> bool:
    """Whether a value is in the route, the query or a header of the source."""
    if type(leaf) is bool:
        return leaf and "stream" in str(http.get("path", "")).lower()
    texts = [unquote(str(http.get("path", "")))]
    for key in ("query", "headers"):
        inner = http.get(key)
        texts += [text for text in inner.values() if type(text) is str] if isinstance(inner, Mapping) else []
    return type(leaf) is str and len(leaf) > 1 and any(leaf in text for text in texts)


SCHEMAS = frozenset(
    (
        *("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "schema", "responseSchema"),
        *("response_schema", "responseJsonSchema", "response_json_schema", "json", "inputSchema", "outputSchema"),
        *("jsonSchema", "json_schema", "response", "response_format", "definition"),
    )
)
"""Keys under which there are JSON schemas, which are written in the words that the target has for them."""

TEXTS = frozenset(
    ("text", "content", "description", "title", "source", "output", "logs", "stdout", "stderr", "thinking")
)
"""Keys under which there are texts that may be joined."""

TOTALS = frozenset(("total_tokens", "totalTokens", "totalTokenCount", "input_tokens", "output_tokens"))
"""Keys of counts that are the sums of others, where a protocol has one."""
