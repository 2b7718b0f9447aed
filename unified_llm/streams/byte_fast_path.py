"""Frames of a stream that are known by their bytes: those of one that is known, but for a text.

Nearly all of a stream is one event over and over. When one of them took the fast path (`ReadMore`, `WriteMore`),
the bytes around its text, and around the few values beside it that differ, are those of the ones that follow: what has
them is read without being parsed, and written without being built. Anything else goes the way of all events. A quote
inside a JSON string is escaped, so what stands behind a value is never found within it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import orjson

from .event_fast_path import ReadMore, WriteMore

__all__ = ["reader_of", "writer_of"]

# The text of a frame; None when it is none of these.
Read = Callable[[bytes], "str | None"]
Write = Callable[[str], bytes]


_TEXT, _LETTERS, _DIGITS = "text", "letters", "digits"


class _Value(NamedTuple):
    """A value that differs from frame to frame: a text with its quotes, letters without theirs, or digits."""

    start: int
    end: int
    kind: str


def reader_of(frame: bytes, more: ReadMore) -> Read | None:
    """The template for reading frames like this one, which took the fast path; None where its bytes are not enough.

    >>> like = {"event": None, "data": {"n": 1, "delta": "Hello"}}
    >>> read = reader_of(b'data: {"n":1,"delta":"Hello"}', ReadMore(like, ("data", "delta"), print, ("n",)))
    >>> read(b'data: {"n":23,"delta":" \\\\"you\\\\""}')
    ' "you"'
    >>> read(b'data: {"n":23,"delta":" you","end":true}')
    """
    values = _values(frame, more.key, more.differing)
    if not values or more.shape.also:
        return None
    before, behind, parse = frame[: values[0].start], frame[values[-1].end :], orjson.loads
    around = len(before) + len(behind)
    holes = [(value.kind, frame[value.end : after.start]) for value, after in pairwise(values)]
    last = values[-1].kind

    def read_text(frame: bytes) -> str | None:
        raw = frame.removeprefix(before).removesuffix(behind)
        if len(raw) != len(frame) - around:
            return None
        try:
            text = parse(raw)
        except orjson.JSONDecodeError:
            return None
        return text if type(text) is str else None

    def read(frame: bytes) -> str | None:
        rest = frame.removeprefix(before).removesuffix(behind)
        if len(rest) != len(frame) - around:
            return None
        raw = b""
        for kind, between in holes:
            value, _, rest = rest.partition(between)
            if kind == _TEXT:
                raw = value
            elif not (value.isdigit() and value[0] != 48 if kind == _DIGITS else value.isalnum()):
                return None
        if last == _TEXT:
            raw = rest
        elif not (rest.isdigit() and rest[0] != 48 if last == _DIGITS else rest.isalnum()):
            return None
        try:
            text = parse(raw)
        except orjson.JSONDecodeError:
            return None
        return text if type(text) is str else None

    return read if holes else read_text


def writer_of(frame: bytes, more: WriteMore) -> Write | None:
    """The template for writing frames like this one, which took the fast path; None where its bytes are not enough.

    >>> more = WriteMore({"event": None, "data": {"n": 1, "delta": "Hello"}}, ("data", "delta"), None, "n", lambda: 2)
    >>> write = writer_of(b'data: {"n":1,"delta":"Hello"}\\n\\n', more)
    >>> write(' "you"')
    b'data: {"n":2,"delta":" \\\\"you\\\\""}\\n\\n'
    """
    values = _values(frame, more.key, (more.number,) if more.number else ())
    if not values or more.shape.also:
        return None
    before, behind = frame[: values[0].start], frame[values[-1].end :]
    between = frame[values[0].end : values[-1].start]
    numbered = b"%d".join(piece.replace(b"%", b"%%") for piece in (before, between)) + b"%b"
    numbered += behind.replace(b"%", b"%%")
    said, number, dump = more.said, more.next_number, orjson.dumps

    def write_text(text: str) -> bytes:
        if said is not None:
            said(text)
        return before + dump(text) + behind

    def write_numbered(text: str) -> bytes:
        if said is not None:
            said(text)
        return numbered % (number(), dump(text))  # type: ignore[misc]

    if len(values) == 1:
        return write_text
    return write_numbered if values[0].kind == _DIGITS else None


def _values(frame: bytes, key: str, beside: tuple[str, ...]) -> list[_Value]:
    """What differs in frames like this one, in the order it stands; nothing where that is not plain to see."""
    values = []
    for name in (key, *beside) if key else ():
        found = list(_value_of(name).finditer(frame))
        if len(found) != 1 or (name == key and not found[0][1]):
            return []
        kind = _TEXT if name == key else _LETTERS if found[0][1] else _DIGITS
        start, end = found[0].span(1 if found[0][1] else 2)
        values.append(_Value(start + (kind == _LETTERS), end - (kind == _LETTERS), kind))
    return sorted(values)


@cache
def _value_of(key: str) -> re.Pattern[bytes]:
    """A key with its value: a string or digits."""
    return re.compile(rb'"%b": ?(?:("(?:[^"\\]|\\.)*")|(\d+)(?=[,}]))' % re.escape(key.encode()))
