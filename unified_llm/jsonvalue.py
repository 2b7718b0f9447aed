"""JSON in and out of the library: numbers keep their value, text stays Unicode, and nothing crashes on the odd ones.

orjson does the work. It turns integers beyond 64 bits into floats without a word and refuses lone surrogates, so both
are looked for: the former go to the standard library, the latter become U+FFFD and are noted. NaN and infinities are
no JSON and are refused.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any

import orjson

from .errors import InvalidBody

__all__ = [
    "arguments_of",
    "copied",
    "detached",
    "dump",
    "dump_text",
    "has_non_finite",
    "load_all",
    "load_exact",
    "load_objects",
    "load_text",
    "parse",
]

Keys = tuple[Any, ...]

# Digits become "0" and everything else a space: a run of 19 is an integer that may not fit 64 bits.
_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG = b"0" * 19
# Places that are looked at closely, before all of a text is.
_LOOKS = 32


def _has_long(raw: bytes) -> bool:
    """Whether 19 digits stand in a row. Such a run covers three of every sixth byte, which are looked at first."""
    sparse = raw[::6].translate(_DIGITS)
    at = sparse.find(b"000")
    for _ in range(_LOOKS):
        if at < 0:
            return False
        # Of a run, the first of every sixth byte is among its first six.
        if _LONG in raw[max(0, 6 * at - 5) : 6 * at + 19].translate(_DIGITS):
            return True
        at = sparse.find(b"000", at + 1)
    return _LONG in raw.translate(_DIGITS)


def parse(data: bytes | bytearray | memoryview | str, notes: list[Keys] | None = None) -> Any:
    """The value of a JSON text. `notes` collects the paths at which a lone surrogate was replaced.

    Raises `InvalidBody` when it is no JSON.
    """
    try:
        raw = data.encode() if isinstance(data, str) else bytes(data)
        if not _has_long(raw):
            return orjson.loads(raw)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    try:
        text = raw.decode("utf-8-sig", "surrogatepass")
        return _mended(json.loads(text, parse_constant=_finite, parse_float=_finite), (), notes)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InvalidBody) else InvalidBody("", f"not JSON: {error}") from error


def detached(value: Any, notes: list[Keys] | None = None) -> Any:
    """A deep copy of a JSON value that shares nothing with the caller's.

    Raises `InvalidBody` with the path of what is not JSON (NaN, sets, keys that are no strings).
    """
    try:
        return copied(value)
    except (TypeError, ValueError):
        pass
    try:
        return _mended(value, (), notes)
    except RecursionError as error:
        raise InvalidBody("", "nested too deeply") from error


def copied(value: Any) -> Any:
    """A deep copy by way of the text, the quickest there is; `TypeError` or `ValueError` where that is not the same."""
    try:
        text = orjson.dumps(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _has_long(text) or (b"null" in text and has_non_finite(value)):
        raise ValueError("numbers that orjson changes")
    return orjson.loads(text)


def dump(value: Any) -> bytes:
    """The JSON text of a value in UTF-8."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return dump_text(value).encode()


def dump_text(value: Any) -> str:
    """The JSON text of a value as a string, for text that travels inside JSON (tool arguments)."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(_mended(value, (), None), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load_text(text: str | bytes) -> Any:
    """The value of a JSON text inside JSON; raises `ValueError` when it is none.

    Numbers keep their value; NaN, Infinity and what overflows to it are no JSON. A lone surrogate stays one.
    """
    try:
        raw = text.encode() if isinstance(text, str) else text
        if not _has_long(raw):
            return orjson.loads(raw)
    except ValueError:
        pass
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


# Between texts that are parsed at once: a string that nobody who wrote one of them can know, so that each text has to
# be a value of its own. Letters, so that it is no long number.
_BETWEEN = os.urandom(16).hex().translate(str.maketrans("0123456789", "ghijklmnop"))


def load_all(texts: list[Any]) -> list[Any] | None:
    """What `load_text` gives of each of these texts, at once; None where they have to be looked at one by one.

    >>> load_all(['{"a": 1}', '[2]']), load_all(['{"a": 1}', 'Hi'])
    ([{'a': 1}, [2]], None)
    """
    try:
        raw = f',"{_BETWEEN}",'.join(texts).encode()
        if _has_long(raw):
            return None
        values = orjson.loads(b"[" + raw + b"]")
    except (ValueError, TypeError):
        return None
    whole = len(values) == 2 * len(texts) - 1 and values[1::2] == [_BETWEEN] * (len(texts) - 1)
    return values[::2] if whole else None


def load_objects(texts: list[Any]) -> list[dict[str, Any] | None]:
    """The JSON objects that these texts stand for, None for what stands for none."""
    values = load_all(texts)
    if values is None:
        values = list(map(_object, texts))
    if set(map(type, values)) == {dict}:
        return values
    return [value if type(value) is dict else None for value in values]


def load_exact(texts: list[Any]) -> list[dict[str, Any] | None]:
    """The JSON objects whose text these are to the letter, as `dump_text` gives it; None for any other text."""
    values = load_objects(texts)
    if None in values or dump_text(values) != f"[{','.join(texts)}]":
        return [value if value is not None and dump_text(value) == text else None for value, text in zip(values, texts)]
    return values


def arguments_of(items: list[dict[str, Any]], exact: bool = False) -> list[dict[str, Any] | None]:
    """The arguments of each item, by its number, where they are the text of an object; None for any other item.

    `exact` is for whoever will print them again: None, too, for a text that would not come out to the letter.
    """
    places = [number for number, item in enumerate(items) if "arguments" in item]
    out: list[dict[str, Any] | None] = [None] * len(items)
    load = load_exact if exact else load_objects
    for number, value in zip(places, load([items[number]["arguments"] for number in places])):
        out[number] = value
    return out


def _object(text: Any) -> Any:
    try:
        return load_text(text) if type(text) is str else None
    except ValueError:
        return None


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a JSON number")
    return value


def has_non_finite(value: Any) -> bool:
    if type(value) is float:
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(has_non_finite, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(has_non_finite, value))
    return False


def _mended(value: Any, path: Keys, notes: list[Keys] | None) -> Any:
    """A copy with surrogate pairs joined and lone ones replaced; refuses what is no JSON, naming its path."""
    if isinstance(value, str):
        return _unicode(value, path, notes)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidBody(_pointer(path), f"{value} is not JSON")
        return value
    if isinstance(value, dict):
        out = {}
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InvalidBody(_pointer(path), f"the key {key!r} is not a string")
            out[_unicode(key, path, notes)] = _mended(inner, (*path, key), notes)
        return out
    if isinstance(value, (list, tuple)):
        return [_mended(inner, (*path, index), notes) for index, inner in enumerate(value)]
    if hasattr(value, "model_dump"):
        return _mended(value.model_dump(mode="json", by_alias=True, exclude_unset=True), path, notes)
    raise InvalidBody(_pointer(path), f"{type(value).__name__} is not JSON")


def _unicode(text: str, path: Keys, notes: list[Keys] | None) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if notes is not None and "\ufffd" in whole:
            notes.append(path)
        return whole


def _pointer(path: Keys) -> str:
    from .paths import pointer

    return pointer(path)
