"""Many JSON texts at once, as the calls of a long history have them: one parse costs less than one for each."""

from __future__ import annotations

import os
from typing import Any

import orjson

from .json_codec import dump_text, has_long, is_deep, load_text

__all__ = ["arguments_of", "load_all", "load_exact", "load_objects"]

# Between texts that are parsed at once: a string that is unknown to the author of a text, so that each text has to
# be a value of its own. Letters, so that it is not a long number.
_BETWEEN = os.urandom(16).hex().translate(str.maketrans("0123456789", "ghijklmnop"))


def load_all(texts: list[Any]) -> list[Any] | None:
    """What `load_text` gives of each of these texts, at once; None where they have to be looked at one by one.

    >>> load_all(['{"a": 1}', '[2]']), load_all(['{"a": 1}', 'Hi'])
    ([{'a': 1}, [2]], None)
    """
    try:
        raw = f',"{_BETWEEN}",'.join(texts).encode()
        if has_long(raw):
            return None
        values = orjson.loads(b"[" + raw + b"]")
    except (ValueError, TypeError):
        return None
    if is_deep(raw, values):
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

    `exact` is for callers that print them again: None, too, for a text that would not come out to the letter.
    """
    places = [number for number, item in enumerate(items) if "arguments" in item]
    out: list[dict[str, Any] | None] = [None] * len(items)
    if not places:
        return out
    load = load_exact if exact else load_objects
    for number, value in zip(places, load([items[number]["arguments"] for number in places])):
        out[number] = value
    return out


def _object(text: Any) -> Any:
    try:
        return load_text(text) if type(text) is str else None
    except ValueError:
        return None
