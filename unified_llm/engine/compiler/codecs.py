"""Values that change on their way: the derived inverse of tables, and the check that holds codecs to theirs.

A codec of an object could drop a key that its author did not think of. It is accepted for a value only if its own
inverse gives that value back, so that what it leaves out stays in the document or is reported, and never vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .signals import FAULTS, Approximate, Cannot, Mismatch, is_same

__all__ = [
    "Convert",
    "Own",
    "checked_read",
    "checked_write",
    "enum_read",
    "enum_write",
    "read_list",
    "words_read",
    "words_write",
]

Convert = Callable[[Any, Any], Any]


class Own:
    """The context in which an inverse is tried: that of the codec's own protocol, where nothing is recorded."""

    own: bool = True
    flags: int = 0
    source: str = ""
    target: str = ""
    raw: tuple[Any, ...] = ()
    trace: Any = None


def checked_read(read: Convert, write: Convert) -> Convert:
    """`read`, refusing an object or list that `write` does not give back."""

    def checked(value: Any, x: Any) -> Any:
        found = read(value, x)
        if type(value) is dict or type(value) is list:
            try:
                whole = is_same(write(found, Own), value)
            except (Approximate, Cannot, *FAULTS):
                whole = False
            if not whole:
                raise Mismatch((), "does not come back from its canonical form")
        return found

    return checked


def checked_write(read: Convert, write: Convert) -> Convert:
    """`write`, reporting an object or list as approximated that `read` does not give back."""

    def checked(value: Any, x: Any) -> Any:
        wire = write(value, x)
        if type(value) is dict or type(value) is list:
            try:
                whole = is_same(read(wire, Own), value)
            except (Approximate, Cannot, *FAULTS):
                whole = False
            if not whole:
                raise Approximate(wire, "sent in part")
        return wire

    return checked


def enum_read(words: Mapping[str, str], back: Mapping[str, str], also: Mapping[str, str], closed: bool) -> Convert:
    """The canonical word; an unknown one passes, unless it would be taken for another on the way out."""

    def read(word: Any, x: Any) -> Any:
        found = words.get(word)
        if found is not None:
            return found
        if closed or word in back or word in also:
            raise Mismatch((), "is not a known value")
        return word

    return read


def enum_write(words: Mapping[str, str], back: Mapping[str, str], also: Mapping[str, str], closed: bool) -> Convert:
    """The wire word; an unknown one passes within its own protocol alone."""

    def write(word: Any, x: Any) -> Any:
        found = back.get(word)
        if found is not None:
            return found
        if word in also:
            raise Approximate(also[word], f"sent as {also[word]!r}")
        if closed or not x.own or word in words:
            raise Mismatch((), "is not a known value")
        return word

    return write


def words_read(read: Convert) -> Convert:
    """The canonical words of a list, in which each meaning has one word alone."""

    def read_each(words: Any, x: Any) -> Any:
        found = {word: read(word, x) for word in words}
        if len(set(found.values())) != len(found):
            raise Mismatch((), "has two words for one thing")
        return [found[word] for word in words]

    return read_each


def words_write(write: Convert) -> Convert:
    """The wire words of a list."""
    return lambda words, x: [write(word, x) for word in words]


def read_list(value: Any, x: Any) -> Any:
    """A list as it is, anything else as the list of it."""
    return value if type(value) is list else [value]
