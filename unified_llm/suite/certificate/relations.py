"""How a value of the target may stand to the value of the source that it is from: a closed list, checked here.

Each relation is a function of the two values, and of what else went to the same place. They are implemented from the
definitions of JSON, base64 and RFC 3339 and from a table of words (`words.toml`), and use nothing that converts.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import cache
from itertools import combinations
from typing import Any

from ...foundation import packaged
from ..walk import leaves, same

__all__ = ["RELATIONS", "as_word", "is_sum", "is_word", "plain", "relation_of", "shaped", "table"]

Path = tuple[str | int, ...]


def _same(x: Any, y: Any) -> bool:
    return same(x, y) or (_is_number(x) and _is_number(y) and bool(x == y))


def _empty(x: Any, y: Any) -> bool:
    return x in _NOTHING and y in _NOTHING and type(x) is not bool and type(y) is not bool and x != 0 and y != 0


_NOTHING: tuple[Any, ...] = (None, "", [], {}, "{}", "[]")


def is_word(x: Any, y: Any) -> bool:
    """Words of two protocols for one thing: spelled differently, or in one class of the table."""
    if type(x) is bool or type(y) is bool:
        x, y = (str(each).lower() if type(each) is bool else each for each in (x, y))
    if type(x) is not str or type(y) is not str:
        return False
    return plain(x) == plain(y) or not _classes(plain(x)).isdisjoint(_classes(plain(y)))


def as_word(at: Path, value: Any) -> Any:
    """The number of an enum with the key it stands under (`finishReason 2`), where that is in the table of words."""
    if type(value) is not int or not at or type(at[-1]) is not str:
        return value
    word = f"{at[-1]} {value}"
    return word if plain(word) in _by_word() else value


def _number_text(x: Any, y: Any) -> bool:
    text, number = (x, y) if type(x) is str else (y, x)
    if type(text) is not str or not _is_number(number):
        return False
    try:
        return bool(float(text.removesuffix("s")) == number)
    except ValueError:
        return False


def _parameter(x: Any, y: Any) -> bool:
    """A number, and a media type that has it as a parameter; or two media types without their parameters."""
    text, other = (x, y) if type(x) is str and ";" in x else (y, x)
    if type(text) is not str or "/" not in text:
        return False
    kind, *parameters = text.split(";")
    if type(other) is int:
        return any(each.strip().endswith(f"={other}") for each in parameters)
    return type(other) is str and bool(parameters) and is_word(kind, other.partition(";")[0])


def _time(x: Any, y: Any) -> bool:
    """Seconds since 1970 and RFC 3339."""
    text, number = (x, y) if type(x) is str else (y, x)
    if type(text) is not str or not _is_number(number):
        return False
    try:
        return int(datetime.fromisoformat(text).timestamp()) == int(number)
    except ValueError:
        return False


def _base64(x: Any, y: Any) -> bool:
    """The same bytes in both alphabets of base64, with padding or without; or a text and its base64."""
    if type(x) is not str or type(y) is not str or len(x) < 4 or len(y) < 4:
        return False
    return _standard(x) == _standard(y) or x.encode() == _bytes(y) or y.encode() == _bytes(x)


def _standard(text: str) -> str:
    return text.replace("-", "+").replace("_", "/").rstrip("=")


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(_standard(text) + "=" * (-len(_standard(text)) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


# --- relations of several values


def _joined(xs: Sequence[Any], y: Any) -> bool:
    """A text that is put together from others, and nothing else but what joins them."""
    texts = [str(x) for x in xs if type(x) is str or _is_number(x)]
    if type(y) is str and y.startswith("data:"):
        y, texts = _standard(y), [_standard(text) for text in texts if _standard(text) in _standard(y)]
    return type(y) is str and bool(texts) and _covers(y, texts)


def _covers(whole: str, parts: Collection[str]) -> bool:
    """Whether nothing is left of a text, but what joins, without its parts."""
    for part in sorted(set(parts), key=len, reverse=True):
        if part:
            if part not in whole:
                return False
            whole = whole.replace(part, "\0")
    return _glue().fullmatch(whole) is not None


def is_sum(y: Any, beside: Sequence[int], x: int = 0) -> bool:
    """Whether a count is the sum of others, or of one of them and others, or what is left of it without them."""
    if type(y) is not int:
        return False
    if y == 0:  # nothing is left where one of the others is the sum of the rest
        return any(is_sum(each, [*beside[:number], *beside[number + 1 :]]) for number, each in enumerate(beside[:12]))
    for size in range(1, 5):
        for some in combinations(beside[:12], size):
            if y == x + sum(some) or (x and y == x - sum(some)):
                return True
    return False


def _in_json(at: Path, x: Any, text: Any) -> bool:
    """A value in an object that is written as JSON text, at the same keys."""
    for keys, value in _parsed(text):
        is_there = not keys or at[-len(keys) :] == keys or at[-1:] == keys[-1:]
        if is_there and (_same(x, value) or _number_text(x, value)):
            return True
    return False


def _described(at: Path, x: str, y: Any) -> bool:
    """The description of a schema, with the keywords that the target lacks; the schema may be JSON text."""
    lines = f"{x}\n"
    if type(y) is str and y.startswith(lines):
        return True
    return any(type(value) is str and value.startswith(lines) and keys[-1:] == at[-1:] for keys, value in _parsed(y))


@cache
def _parsed_text(text: str) -> tuple[tuple[Path, Any], ...]:
    try:
        value = json.loads(text)
    except ValueError:
        return ()
    return tuple(leaves(value)) if type(value) in (dict, list) and value else (((), value),)


def _parsed(text: Any) -> tuple[tuple[Path, Any], ...]:
    return _parsed_text(text) if type(text) is str and text[:1] in '{["-0123456789tfn' else ()


def _enclosed(x: Any, y: Any) -> bool:
    """A value inside an envelope."""
    if type(y) is not str:
        return False
    mark = base64.b64encode(b"unified_llm:").decode()
    start = y.find(mark)
    payload = _bytes(y[start:]) if start >= 0 else None
    return payload is not None and json.dumps(x).encode()[1:-1] in payload


def _offset(x: int, y: int, text: str) -> bool:
    """The same place in a text, counted in bytes of UTF-8 and in characters."""
    return len(text[:y].encode()) == x or len(text[:x].encode()) == y


def relation_of(
    at: Path,
    x: Any,
    place: Path,
    y: Any,
    xs: Sequence[Any],
    ys: Sequence[Any],
    beside: Callable[[], Sequence[int]],
    texts: Sequence[str],
    shifts: Collection[int],
) -> str | None:
    """The first relation in which two values stand; None for values that are not related.

    `xs` are all values that went to the place of `y`, and `ys` all that `x` went to. `beside` gives the counts around
    `x`, `texts` are those of the source in which bytes and characters differ, and `shifts` are the lengths of texts
    that may stand before another one in the target.
    """
    for name, holds in _ALONE.items():
        if holds(x, y):
            return name
    if _in_json(at, x, y) or _in_json(place, y, x):
        return "json"
    if type(x) is bool and type(y) is bool and ("disable" in str(at[-1])) != ("disable" in str(place[-1])):
        return "negated"
    if type(x) is int and type(y) is int and any(_offset(x, y, text) for text in texts):
        return "offset"
    if type(x) is int and type(y) is int and abs(x - y) in shifts and "index" in str(at[-1]).lower():
        return "offset"
    if type(x) is str and not set(table()["schemas"]).isdisjoint(place) and _described(at, x, y):
        return "schema"
    if y == "null" and type(x) is str and not set(table()["schemas"]).isdisjoint(place):
        return "schema"  # what may be null has two types
    if _joined(xs, y) and (type(x) is not str or x in str(y) or _standard(x) in str(y)):
        return "joined"
    if (
        type(x) is str
        and type(y) is str
        and y in x
        and _covers(x, [each for each in ys if type(each) is str and each in x])
    ):
        return "split"
    if type(x) is int and is_sum(y, beside(), x):
        return "sum"
    if (type(x) is str and x in place) or (type(y) is str and y in at):
        return "key"
    if x is False and table()["listed"].get("/".join(map(str, at[-2:]))) in place:
        return "listed"
    return "envelope" if _enclosed(x, y) else None


_ALONE: dict[str, Callable[[Any, Any], bool]] = {
    "same": _same, "empty": _empty, "word": is_word, "number": _number_text, "parameter": _parameter, "time": _time,
    "base64": _base64,
}  # fmt: skip

RELATIONS = (
    *_ALONE,
    "json",
    "negated",
    "offset",
    "joined",
    "split",
    "sum",
    "key",
    "listed",
    "envelope",
    "shape",
    "route",
    "reported",
)
"""The relations, in the order in which they are tried: `listed` is that of a switch that is off, and a list of what is
on; `shape` is that of a tag and the node in which it is meant,
`route` that of a value and the HTTP route, and `reported` that of a value whose change the loss report has."""


def shaped(word: Any, node: Any) -> bool:
    """Whether a tag of the source (a type, a role) is what a node of the target is: by its keys, or by its own tags."""
    if type(word) is bool:
        word = str(word).lower()
    if type(word) is not str or type(node) is not dict:
        return False
    mine = _classes(plain(word)) | {plain(word), plain(word.rpartition("/")[2])} | _implied(plain(word))
    return any(not mine.isdisjoint(_told(key, value)) for key, value in node.items())


def _told(key: str, value: Any, deep: bool = True) -> set[str]:
    """What a field may be called by its key, by its word, or by those of the object in it."""
    told = {plain(key)} | _classes(plain(key))
    value = as_word((key,), value)
    if type(value) is str:
        kind = value[5:].partition(";")[0] if value.startswith("data:") else value
        told |= {plain(kind), plain(kind.rpartition("/")[2])} | _classes(plain(kind))
    elif type(value) is dict and deep:
        for inner, each in value.items():
            told |= _told(inner, each, False)
    return told


# --- the table


def plain(word: str) -> str:
    """A word without case, punctuation, and what stands before every word of its enumeration."""
    for prefix in table()["prefixes"]:
        word = word.removeprefix(prefix)
    return re.sub(r"[^a-z0-9]", "", word.lower())


@cache
def table() -> dict[str, Any]:
    """The tables of `words.toml`."""
    return packaged.table("suite/certificate/words")


@cache
def _by_word() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for number, words in enumerate(table()["words"]):
        for word in words:
            found.setdefault(plain(word), set()).add(f"class {number}")
    return {word: frozenset(classes) for word, classes in found.items()}


def _classes(word: str) -> frozenset[str]:
    return _by_word().get(word, frozenset())


@cache
def _implied(word: str) -> frozenset[str]:
    """The tags that go with a role."""
    return frozenset(plain(each) for each in table()["implied"].get(word, ()))


@cache
def _glue() -> re.Pattern[str]:
    return re.compile("(?:" + "|".join([r"\0", r"\s", *table()["glue"]]) + ")*")
