"""JSON in and out of the library: numbers keep their value, text stays Unicode, and nothing crashes on the odd ones.

orjson does the work. It turns integers beyond 64 bits into floats without a word and refuses lone surrogates, so both
are looked for: the former go to the standard library, the latter become U+FFFD and are noted. NaN and infinities are
no JSON and are refused. So is a value nested deeper than `MAX_DEPTH`: every function behind this boundary may recurse.
"""

from __future__ import annotations

import json
import math
import re
import threading
from typing import Any

import orjson

from .errors import InvalidBody
from .json_paths import MAX_DEPTH, Keys, pointer

__all__ = [
    "Parsed",
    "copied",
    "deep_path",
    "detached",
    "dump",
    "dump_indented",
    "dump_text",
    "dumped",
    "escapes_ascii",
    "has_long",
    "is_deep",
    "is_exact",
    "load",
    "load_text",
    "parse",
    "too_deep",
]

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
# A text that is shorter than this cannot be too deep: each level takes two brackets.
_SHALLOW = 2 * MAX_DEPTH + 1
# orjson refuses to print more levels than this.
_PRINTED = 254


class _Shell(threading.local):
    """Lists around a value, as many as let orjson refuse the value itself beyond `MAX_DEPTH`.

    That measures depth where the value is printed anyway, and at the cost of printing where it is not: a walk in Python
    costs several times as much. One for each thread, because it is filled and emptied for each value.
    """

    def __init__(self) -> None:
        self.outer: list[Any] = []
        self.inner = self.outer
        for _ in range(_PRINTED - MAX_DEPTH - 1):
            self.outer = [self.outer]

    def dumps(self, value: Any) -> bytes:
        """The JSON text of the value. Raises `TypeError` for one that is too deep, among others."""
        self.inner.append(value)
        try:
            return orjson.dumps(self.outer)[_PRINTED - MAX_DEPTH : MAX_DEPTH - _PRINTED]
        finally:
            self.inner.clear()


_SHELL = _Shell()
_UNREAD: Any = object()


def deep_path(value: Any) -> Keys | None:
    """The path of a node beyond `MAX_DEPTH`, None where there is none. A list that contains itself has one."""
    stack: list[tuple[Keys, Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, (dict, list, tuple)):
            if len(path) >= MAX_DEPTH:
                return path
            inner = node.items() if isinstance(node, dict) else enumerate(node)
            stack += [((*path, key), each) for key, each in inner]
    return None


def too_deep(path: Keys) -> InvalidBody:
    """The error for a node at this path, which is nested too deeply."""
    return InvalidBody(pointer(path), _TOO_DEEP)


def _refuse_deep(value: Any) -> None:
    path = deep_path(value)
    if path is not None:
        raise too_deep(path)


def is_deep(text: bytes, value: Any) -> bool:
    """Whether a value that orjson made of this text is nested too deeply."""
    # Each level takes a bracket that opens, and most texts have not so many.
    if len(text) < _SHALLOW or text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False
    try:
        _SHELL.dumps(value)
    except TypeError:
        return True
    return False


# Digits become "0" and everything else a space: a run of 19 may be an integer that does not fit 64 bits.
_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG = b"0" * 19
# What an integer begins with that may not fit, where it is not the whole text.
_INTEGER = re.compile(rb"[\s,:\[-]\d{19}")
# Places that are looked at closely, before all of a text is, and the size of a text that is looked at whole at once.
_LOOKS = 4
_SHORT = 2_048


def has_long(raw: bytes) -> bool:
    """Whether an integer may have 19 digits.

    So long a run covers three of every sixth byte, which are looked at first where a text is long. Runs of digits
    behind a point, or in the middle of a text, are no integers.
    """
    if len(raw) > _SHORT:
        sparse = raw[::6].translate(_DIGITS)
        at = sparse.find(b"000")
        for _ in range(_LOOKS):
            if at < 0:
                return False
            # Of a run, the first of every sixth byte is among its first six.
            if _LONG in raw[max(0, 6 * at - 5) : 6 * at + 19].translate(_DIGITS):
                break
            at = sparse.find(b"000", at + 1)
    return _LONG in raw.translate(_DIGITS) and (raw[:19].isdigit() or _INTEGER.search(raw) is not None)


def parse(data: bytes | bytearray | memoryview | str, notes: list[Keys] | None = None) -> Any:
    """The value of a JSON text. `notes` collects the paths at which a lone surrogate was replaced.

    Raises `InvalidBody` for what is not JSON, or is nested deeper than `MAX_DEPTH`.
    """
    try:
        raw = data if type(data) is bytes else data.encode() if isinstance(data, str) else bytes(data)
        if not has_long(raw):
            value = orjson.loads(raw)
            if len(raw) >= _SHALLOW and is_deep(raw, value):
                _refuse_deep(value)
            return value
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    try:
        text = raw.decode("utf-8-sig", "surrogatepass")
        return _mended(json.loads(text, parse_constant=_finite, parse_float=_finite), (), notes)
    except RecursionError as error:
        raise InvalidBody("", _TOO_DEEP) from error
    except ValueError as error:
        if isinstance(error, InvalidBody):
            raise
        why = str(error).partition("; use sys.")[0]  # which the sender of a long number cannot
        raise InvalidBody("", f"not JSON: {why}") from error


class Parsed:
    """A JSON text with its value, which the first conversion has for its own; each later one parses the text again.

    Raises `InvalidBody`, as `parse` does.
    """

    __slots__ = ("_notes", "_taken", "_text", "value")

    def __init__(self, text: bytes) -> None:
        self._notes: list[Keys] = []
        self._text, self._taken = text, False
        self.value: Any = parse(text, self._notes)

    def take(self, notes: list[Keys] | None = None) -> Any:
        """A value that nothing else changes; `notes` are those of `parse`."""
        if self._taken:
            return parse(self._text, notes)
        self._taken = True
        if notes is not None:
            notes += self._notes
        return self.value


def detached(value: Any, notes: list[Keys] | None = None) -> Any:
    """A deep copy of a JSON value that shares nothing with the caller's.

    Raises `InvalidBody` with the path of what is not JSON (NaN, sets, keys that are no strings) or is too deep.
    """
    try:
        return copied(value)
    except InvalidBody:
        raise
    except (TypeError, ValueError):
        return _mended(value, (), notes)


def copied(value: Any) -> Any:
    """A deep copy by way of the text, the quickest there is; `TypeError` or `ValueError` where that is not the same.

    Raises `InvalidBody` for a value that is nested deeper than `MAX_DEPTH`.
    """
    try:
        text = _SHELL.dumps(value)
    except TypeError:
        _refuse_deep(value)
        raise
    if has_long(text):
        raise ValueError("integers that orjson changes")
    copy = orjson.loads(text)
    if not is_exact(text, value, copy):
        raise ValueError("numbers that orjson changes")
    return copy


def is_exact(text: bytes, value: Any, copy: Any = _UNREAD) -> bool:
    """Whether orjson's text of a value has all its numbers; `copy` is the text read again, where that is at hand.

    NaN and the infinities are null in the text. Comparing is many times quicker than looking for them.

    >>> is_exact(b"[null]", [None]), is_exact(b"[null]", [float("nan")])
    (True, False)
    """
    if b"null" not in text:
        return True
    return bool((orjson.loads(text) if copy is _UNREAD else copy) == value) or not _has_non_finite(value)


def dump(value: Any) -> bytes:
    """The JSON text of a value in UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return dump_text(value).encode()


def dump_indented(value: Any) -> bytes:
    """The same, indented: as OpenAI and Google write errors, in whose text some clients look for a code."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except TypeError:
        return json.dumps(load_text(dump_text(value)), ensure_ascii=False, indent=2).encode()


def escapes_ascii(text: bytes) -> bool:
    """Whether JSON text escapes a printable ASCII character by its number, so that a search may miss what it spells.

    >>> escapes_ascii(rb'["\\u0041"]'), escapes_ascii(rb'["\\n\\u000b"]')
    (True, False)
    """
    # The plain search costs less than the pattern, and is nearly always enough.
    return b"\\u00" in text and _ASCII.search(text) is not None


_ASCII = re.compile(rb"\\u00[2-7]")


def dump_text(value: Any) -> str:
    """The JSON text of a value as a string, for text that travels inside JSON (tool arguments)."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(_mended(value, (), None), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load_text(text: str | bytes) -> Any:
    """The value of a JSON text inside JSON; raises `ValueError` when it is none, or nested deeper than `MAX_DEPTH`.

    Numbers keep their value; NaN, Infinity and what overflows to it are no JSON. A lone surrogate stays one.
    """
    try:
        raw = text.encode() if isinstance(text, str) else text
        if not has_long(raw):
            value = orjson.loads(raw)
            if not is_deep(raw, value):
                return value
    except ValueError:
        pass
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    if len(text) >= _SHALLOW and deep_path(value) is not None:
        raise ValueError(_TOO_DEEP)
    return value


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a JSON number")
    return value


def _has_non_finite(value: Any) -> bool:
    """Whether a value contains NaN or an infinity, at any depth."""
    if type(value) is float:
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_non_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_non_finite, value))
    return False


def _mended(value: Any, path: Keys, notes: list[Keys] | None) -> Any:
    """A copy with surrogate pairs joined and lone ones replaced; refuses what is not JSON, naming its path."""
    if isinstance(value, str):
        return _unicode(value, path, notes)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidBody(pointer(path), f"{value} is not JSON")
        return value
    if len(path) >= MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        raise too_deep(path)
    if isinstance(value, dict):
        out = {}
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InvalidBody(pointer(path), f"the key {key!r} is not a string")
            out[_unicode(key, path, notes)] = _mended(inner, (*path, key), notes)
        return out
    if isinstance(value, (list, tuple)):
        return [_mended(inner, (*path, index), notes) for index, inner in enumerate(value)]
    if hasattr(value, "model_dump"):
        return _mended(dumped(value), path, notes)
    raise InvalidBody(pointer(path), f"{type(value).__name__} is not JSON")


def _unicode(text: str, path: Keys, notes: list[Keys] | None) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if notes is not None and "\ufffd" in whole:
            notes.append(path)
        return whole


def load(body: Any, notes: list[tuple[Any, ...]] | None = None) -> Any:
    """What the caller passed as a JSON tree of our own."""
    if type(body) is Parsed:
        return body.take(notes)
    if type(body) is bytes or isinstance(body, (bytes, bytearray, memoryview)):
        return parse(body, notes)
    if hasattr(body, "model_dump"):
        body = dumped(body)
    return detached(body, notes)


def dumped(value: Any) -> Any:
    """The JSON form of an SDK's object, with the fields that a subclass adds to what its class declares."""
    whole = {"serialize_as_any": True} if hasattr(type(value), "__pydantic_serializer__") else {}
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True, **whole)
