"""The fields of a shape: what stands at one place of a wire object, and under which canonical key.

The list of kinds is closed, because every part of the engine has to handle each of them; a new kind needs a decision
record. A key ending in `?` may be absent from the wire object. A plain JSON value is a constant, an object in the
declaration is an object of the wire. Canonical keys are dotted where the canonical value lies deeper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .codecs import Convert, checked_read, checked_write, enum_read, enum_write, read_list, words_read, words_write
from .signals import ABSENT, DeclarationError, Mismatch, is_same

if TYPE_CHECKING:
    from ..shapes.layouts import Layout
    from ..shapes.shape import Shape
    from ..shapes.timeline import Choices, Turns
    from ..shapes.unions import Union

__all__ = [
    "Field",
    "boolean",
    "choices",
    "codec",
    "constant",
    "enum",
    "flatten",
    "integer",
    "json",
    "nested",
    "number",
    "opaque",
    "string",
    "turn",
    "turns",
    "union",
]


class Field(NamedTuple):
    """One field: its canonical key, what may stand there, and how it changes. Made by the functions of this module.

    >>> string("call_id").key, string("model").required("none").default
    ('call_id', 'none')
    """

    kind: str
    key: str
    types: tuple[type, ...] = ()  # JSON types on the wire; () is any
    canonical: tuple[type, ...] = ()  # JSON types in the canonical form
    read: Convert | None = None
    write: Convert | None = None
    inner: Any = None  # the shape, union or layout of what is inside; after the type check it raises nothing
    null: bool = False
    default: Any = ABSENT
    why: str = ""
    is_alias: bool = False
    fact: int = 0
    grows: bool = False
    written: bool = True
    lone: bool = False  # one value may stand for the list of it
    is_filled: bool = False  # an empty list is written within its own protocol alone
    words: Any = None  # of an enum or a constant: wire words that mean what another does, and that other

    def is_word(self, value: Any) -> bool:
        """Whether a value is this constant, or a word of the same meaning."""
        return is_same(value, self.default) or (bool(self.words) and type(value) is str and value in self.words)

    def required(self, value: Any, why: str = "") -> Field:
        """The target demands the field: where the source does not have it, `value` is written and reported as `added`.

        Inside an object that may be absent it is demanded only where that is written. A key that every document has
        (one without `?`) is demanded of a document of the same protocol too, which may have been changed.

        >>> from unified_llm.engine import Context, Shape
        >>> shape = Shape({"max_tokens?": integer("max_output_tokens").required(16)}, name="demo")
        >>> x = Context("other", "demo")
        >>> shape.write({}, x), len(x.raw)
        ({'max_tokens': 16}, 1)
        """
        return self._replace(default=value, why=why)

    def alias(self) -> Field:
        """Another spelling of a field: read, kept as a spelling, and never written to another protocol.

        >>> from unified_llm.engine import Context, Shape
        >>> shape = Shape({"new?": integer("limit"), "old?": integer("limit").alias()}, name="demo")
        >>> x = Context("demo", "demo")
        >>> shape.read({"old": 5}, x)
        {'limit': 5, 'extra': {'demo': {'form': {'old': 'alias'}}}}
        >>> shape.write({"limit": 6, "extra": {"demo": {"form": {"old": "alias"}}}}, x)
        {'old': 6}
        """
        return self._replace(is_alias=True)

    def means(self, fact: int) -> Field:
        """Reading a value that is not empty records this fact (`CALLS`, `TOOLS`, ...)."""
        return self._replace(fact=fact)

    def nullable(self) -> Field:
        """Null is a canonical value of its own; elsewhere it stays with its protocol.

        >>> from unified_llm.engine import Context, Shape
        >>> shape = Shape({"a?": string("a").nullable(), "b?": string("b")}, name="demo")
        >>> shape.read({"a": None, "b": None}, Context("demo", "demo"))
        {'a': None, 'extra': {'demo': {'rest': {'b': None}}}}
        """
        return self._replace(null=True)

    def filled(self) -> Field:
        """No other protocol's document is written with an empty list here: nothing stands in its place then.

        >>> from unified_llm.engine import Context, Shape
        >>> shape = Shape({"stop?": json("stop", list).filled()}, name="demo")
        >>> shape.write({"stop": []}, Context("other", "demo")), shape.write({"stop": []}, Context("demo", "demo"))
        ({}, {'stop': []})
        """
        return self._replace(is_filled=True)

    def growing(self) -> Field:
        """The leaf that deltas of a stream append to."""
        return self._replace(grows=True)


def string(key: str) -> Field:
    """Text.

    >>> string("name").types
    (<class 'str'>,)
    """
    return Field("string", key, (str,), (str,))


def boolean(key: str, *, inverted: bool = False) -> Field:
    """True or false; `inverted` where the wire has the opposite.

    >>> from unified_llm.engine import Context, Shape
    >>> shape = Shape({"serial?": boolean("parallel_tool_calls", inverted=True)}, name="demo")
    >>> shape.read({"serial": True}, Context("demo", "demo"))
    {'parallel_tool_calls': False}
    """
    negate = (lambda value, x: not value) if inverted else None
    return Field("boolean", key, (bool,), (bool,), negate, negate)


def integer(key: str) -> Field:
    """A whole number; `true` is none.

    >>> integer("seed").types
    (<class 'int'>,)
    """
    return Field("integer", key, (int,), (int,))


def number(key: str) -> Field:
    """A number, whole or not.

    >>> number("temperature").types
    (<class 'int'>, <class 'float'>)
    """
    return Field("number", key, (int, float), (int, float))


def json(key: str, *types: type, lone: bool = False) -> Field:
    """A JSON value that is carried as it is: schemas, metadata, lists of texts. No types: any value but null.

    `lone`: a single value may stand for the list of it, which is a spelling.

    >>> from unified_llm.engine import Context, Shape
    >>> shape = Shape({"stop?": json("stop", list, lone=True)}, name="demo")
    >>> shape.read({"stop": "END"}, Context("demo", "demo"))
    {'stop': ['END']}
    """
    if lone:
        return Field("json", key, (*types, str), types, read_list, None, lone=True)
    return Field("json", key, types, types)


def enum(
    key: str,
    words: dict[str, str],
    also: dict[str, str] | None = None,
    *,
    same: dict[str, str] | None = None,
    closed: bool = False,
    many: bool = False,
) -> Field:
    """A word out of a table, wire to canonical; the inverse is derived. `many`: a list of words of the table.

    `also`: canonical words that have to borrow a wire word, and are reported as approximated. `same`: further wire
    words, and the word of the table that they mean: a spelling. An unknown word passes within its own protocol and is
    reported across; `closed` leaves it unread.

    >>> from unified_llm.engine import Context, Shape
    >>> shape = Shape({"stop?": enum("reason", {"end_turn": "stop"}, {"pause": "end_turn"})}, name="demo")
    >>> own, other = Context("demo", "demo"), Context("other", "demo")
    >>> shape.read({"stop": "end_turn"}, own), shape.read({"stop": "new_word"}, own)
    ({'reason': 'stop'}, {'reason': 'new_word'})
    >>> shape.write({"reason": "pause"}, other), other.raw[0][2:4]
    ({'stop': 'end_turn'}, ('approximated', "sent as 'end_turn'"))
    """
    back, closed = {canonical: wire for wire, canonical in words.items()}, closed or many
    if len(back) != len(words):
        twice = sorted(word for word in back if list(words.values()).count(word) > 1)
        raise DeclarationError(f"enum {key!r}: two wire words mean {twice[0]!r}; the inverse is not unique")
    for word, borrowed in (also or {}).items():
        if word in back:
            raise DeclarationError(f"enum {key!r}: {word!r} is in the table already and cannot borrow {borrowed!r}")
        if borrowed not in words:
            raise DeclarationError(f"enum {key!r}: {word!r} borrows {borrowed!r}, which is not a wire word")
    for word, main in (same or {}).items():
        if word in words or main not in words:
            raise DeclarationError(f"enum {key!r}: {word!r} cannot mean what {main!r} does")
    every = {**words, **{word: words[main] for word, main in (same or {}).items()}}
    read, write = enum_read(every, back, also or {}, closed), enum_write(every, back, also or {}, closed)
    type_: type = str
    if many:
        read, write, type_ = words_read(read), words_write(write), list
    return Field("enum", key, (type_,), (type_,), read, write, words=same or None)


def codec(
    key: str, *types: type, read: Convert, write: Convert, canonical: tuple[type, ...] = (), exact: bool = False
) -> Field:
    """A value in another form: two functions of (value, context) that invert each other.

    A codec of an object or list counts only if its own inverse gives the value back; else the value stays where it was
    (reading), or is reported as approximated (writing). `exact` promises that for every value, and saves the check.

    >>> from unified_llm.engine import Context, Shape
    >>> point = codec("at", dict, read=lambda v, x: [v["x"], v["y"]], write=lambda v, x: {"x": v[0], "y": v[1]})
    >>> shape, x = Shape({"point?": point}, name="demo"), Context("demo", "demo")
    >>> shape.read({"point": {"x": 1, "y": 2}}, x)
    {'at': [1, 2]}
    >>> shape.read({"point": {"x": 1, "y": 2, "z": 3}}, x)
    {'extra': {'demo': {'rest': {'point': {'x': 1, 'y': 2, 'z': 3}}}}}
    """
    if not exact and (dict in types or list in types or not types):
        read, write = checked_read(read, write), checked_write(read, write)
    return Field("codec", key, types, canonical, read, write)


def opaque(kind: str) -> Field:
    """Provider data that is returned unchanged: an entry `{kind, data, origin}` of the node's `opaque` list.

    A piece of another protocol is never written; the whole node's fate is a matter of the provenance pass.

    >>> from unified_llm.engine import Context, Shape
    >>> shape, x = Shape({"signature?": opaque("signature")}, name="demo"), Context("demo", "demo")
    >>> shape.read({"signature": "c2ln"}, x)
    {'opaque': [{'kind': 'signature', 'data': 'c2ln', 'origin': {'protocol': 'demo'}}]}
    """
    return Field("opaque", kind, (str,), (str,))


def nested(
    key: str,
    shape: Shape,
    *,
    read: Callable[[Any], Any] | None = None,
    write: Callable[[Any], Any] | None = None,
    listed: bool = False,
) -> Field:
    """An object with a shape of its own. `read` and `write` convert its canonical node, and are checked as a codec.

    `listed`: it is the only element of a canonical list; a list of another length has no form.

    >>> from unified_llm.engine import Context, Shape
    >>> usage = Shape({"in?": integer("input_tokens")}, name="usage")
    >>> Shape({"usage?": nested("usage", usage)}, name="demo").read({"usage": {"in": 3}}, Context("demo", "demo"))
    {'usage': {'input_tokens': 3}}
    >>> page = Shape({"url?": string("url")}, name="page")
    >>> Shape({"page?": nested("results", page, listed=True)}, name="demo").write(
    ...     {"results": [{"url": "u"}]}, Context("demo", "demo")
    ... )
    {'page': {'url': 'u'}}
    """
    if (read is None) != (write is None):
        raise DeclarationError(f"nested {key!r}: read and write come together")

    def read_nested(value: Any, x: Any) -> Any:
        node = shape.read(value, x)
        if read is None or write is None:
            return [node] if listed else node
        found = read(node.copy())
        if write(found.copy()) != node:
            raise Mismatch((), "does not come back from its canonical form")
        return [found] if listed else found

    def write_nested(node: Any, x: Any) -> Any:
        if listed:
            if len(node) != 1:
                raise Mismatch((), "is not a list of one")
            node = node[0]
        if write is None:
            return shape.write_or_explain(node, x)
        changed = write(node.copy())
        x.replaced(node, changed)
        return shape.write_or_explain(changed, x)

    return Field("nested", key, (dict,), (list if listed else dict,), read_nested, write_nested, shape)


def union(key: str, cases: Union, *, text: bool = False, one: bool = False, lone: bool = False) -> Field:
    """A list of the cases of a union. `text`: a string may stand in place of the list. `one`: a single case, no list.
    `lone`: a single object may stand for the list of it, which is a spelling.

    >>> from unified_llm.engine import Context, Shape, Union
    >>> parts = Union("parts")
    >>> _ = parts.case({"type": "text", "text": string("text")}, "input_text")
    >>> shape, x = Shape({"content": union("content", parts, text=True)}, name="demo"), Context("demo", "demo")
    >>> shape.read({"content": [{"type": "text", "text": "Hi"}]}, x)
    {'content': [{'type': 'input_text', 'text': 'Hi'}]}
    >>> shape.read({"content": "Hi"}, x)
    {'content': 'Hi'}
    """
    if one:
        return Field("one", key, (dict,), (dict,), cases.read_one, cases.write_one, cases)
    if text:
        return Field("union", key, (list, str), (list, str), cases.read_text, cases.write_text, cases)
    canonical = (list, str) if cases.text is not None else (list,)
    if lone:
        return Field("union", key, (list, dict), canonical, cases.read_lone, cases.write_list, cases, lone=True)
    return Field("union", key, (list,), canonical, cases.read, cases.write_list, cases)


def turns(key: str, layout: Turns) -> Field:
    """A list of wire messages, each of which is one or several items of the canonical list.

    See `unified_llm.engine.shapes.layouts` for the layouts and an example.
    """
    return Field("turns", key, (list,), (list, str), layout.read, layout.write, layout)


def turn(key: str, layout: Layout) -> Field:
    """One wire message (or, of `Blocks`, its list of blocks), which is the items of the canonical list: an answer.

    See `unified_llm.engine.shapes.layouts` for the layouts and an example.
    """
    return Field("turn", key, layout.turn_types, (list,), layout.read_turn, layout.write_turn, layout)


def choices(layout: Choices) -> Field:
    """Alternative answers: the first is part of the node itself, the others stand under `choices`.

    See `unified_llm.engine.shapes.timeline.Choices` for an example.
    """
    return Field("choices", "", (list,), (), inner=layout)


def flatten(cases: Union) -> Field:
    """An object, distinguished like the cases of a union, whose canonical keys are those of the node around it.

    >>> from unified_llm.engine import Context, Shape, Union
    >>> source = Union("source")
    >>> _ = source.case({"type": "url", "url": string("image_url")})
    >>> _ = source.case({"type": "file", "file_id": string("file_id")})
    >>> shape, x = Shape({"source": flatten(source)}, name="image"), Context("demo", "demo")
    >>> shape.read({"source": {"type": "url", "url": "https://a.b"}}, x)
    {'image_url': 'https://a.b'}
    >>> shape.write({"file_id": "f1"}, x)
    {'source': {'type': 'file', 'file_id': 'f1'}}
    """
    return Field("flatten", "", (dict,), (), inner=cases)


def constant(value: Any, *same: str, written: bool = True) -> Field:
    """A constant of the wire. A bare value in a declaration is one; `written=False`: read, and written only where
    it was read. `same`: further words of that meaning, which are a spelling: the versions of a dated type.

    >>> from unified_llm.engine import Context, Shape
    >>> shape, x = Shape({"object?": "list", "kind?": constant("a", written=False)}, name="demo"), Context("p", "p")
    >>> shape.read({"object": "list"}, x), shape.write({}, x)
    ({}, {'object': 'list'})
    >>> shape.read({"object": "map"}, x)
    {'extra': {'p': {'rest': {'object': 'map'}}}}
    >>> dated = Shape({"type": constant("search_2026", "search_2025")}, name="tool")
    >>> dated.write(dated.read({"type": "search_2025"}, x), x), dated.write({}, x)
    ({'type': 'search_2025'}, {'type': 'search_2026'})
    """
    if same and (value in same or type(value) is not str or not written):
        raise DeclarationError(f"constant {value!r}: only another word that is written can have further words")
    return Field("constant", "", default=value, written=written, words=dict.fromkeys(same, value) or None)
