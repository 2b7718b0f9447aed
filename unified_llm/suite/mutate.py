"""Other documents out of one: a leaf altered, a probe put in, a random part broken.

An altered value keeps its JSON type and, for strings, its length and outer form (a token stays a token, base64 stays
base64), so that what is tested is whether the value is carried and not whether it is well formed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from .walk import Path, deleted, leaves, nodes, replaced

__all__ = ["PROBE_KEY", "PROBE_VALUE", "altered", "altered_apart", "is_token", "mutants", "mutate"]

PROBE_KEY = "zz_probe_key"
PROBE_VALUE = "zz_probe_value"

# What a careless or hostile client may put where something else belongs.
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, 2**70, "", "x", "null", "[DONE]", "{", "data:", "\ud83d", "\u2028",
    [], {}, [[]], [None], [{}], {"": None}, {"type": None}, {"type": []}, {"type": "message"}, [{"type": "text"}],
)  # fmt: skip


def altered(value: Any) -> Any:
    """Another value of the same JSON type; a container or null stays what it is (nothing about it can be altered).

    >>> altered("call_1"), altered(True), altered(3), altered(0.5), altered("")
    ('call_2', False, 4, 0.75, '~')
    """
    if type(value) is bool:
        return not value
    if type(value) is int:
        return value + 1
    if type(value) is float:
        return value + 0.25
    if type(value) is not str:
        return value
    for index in range(len(value) - 1, -1, -1):
        char = value[index]
        if char.isascii() and char.isalnum():
            return value[:index] + _next(char) + value[index + 1 :]
    return value + (" " if value.isspace() else "~")


def altered_apart(value: Any, doc: Any) -> Any:
    """The value altered to one that the document has nowhere.

    An id that became another's would find what that one names.

    >>> altered_apart("c", {"call": "c", "other": "d"})
    'd0'
    """
    other = altered(value)
    if type(other) is str:
        taken = {each for _, each in leaves(doc) if type(each) is str} - {value}
        while other in taken:
            other += "0"
    return other


def _next(char: str) -> str:
    last = {"9": "0", "z": "a", "Z": "A"}
    return last.get(char) or chr(ord(char) + 1)


def is_token(value: Any) -> bool:
    """True for a string that may be a member of an enum: short, lower-case, no blanks.

    >>> is_token("tool_calls"), is_token("Hello there"), is_token("chat.completion")
    (True, False, True)
    """
    return (
        type(value) is str
        and 0 < len(value) <= 40
        and value[0].isalpha()
        and all(char.islower() or char.isdigit() or char in "_-.:" for char in value)
    )


def mutate(doc: Any, dice: random.Random, times: int = 1, places: Sequence[tuple[Path, Any]] = ()) -> Any:
    """A copy with `times` random places deleted, replaced by something odd, duplicated, or swapped for one another.

    `places` are those of the document, for a caller that mutates it more than once.
    """
    for _ in range(times):
        places = places or list(nodes(doc))
        path, value = dice.choice(places)
        what = dice.randrange(5)
        if not path or what == 0:
            doc = replaced(doc, path, dice.choice(_ODD)) if path or dice.random() < 0.1 else doc
        elif what == 1:
            doc = deleted(doc, path)
        elif what == 2:
            doc = replaced(doc, path, dice.choice(places)[1])
        elif what == 3 and type(path[-1]) is int:
            around = [*_at(doc, path[:-1])]
            around.insert(path[-1], value)
            doc = replaced(doc, path[:-1], around)
        else:
            other = [value] if type(value) is not list else {str(index): inner for index, inner in enumerate(value)}
            doc = replaced(doc, path, other if dice.random() < 0.5 else dice.choice(_ODD))
        places = ()
    return doc


def mutants(doc: Any, count: int, seed: int) -> Iterator[Any]:
    """`count` mutants of a document, the same ones for the same seed."""
    dice, places = random.Random(seed), list(nodes(doc))
    for _ in range(count):
        yield mutate(doc, dice, dice.choice((1, 1, 2, 4)), places)


def _at(doc: Any, path: Path) -> Any:
    for key in path:
        doc = doc[key]
    return doc
