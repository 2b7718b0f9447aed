"""A certificate from its JSON form, checked: it may have been kept for long, and changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...foundation.errors import InvalidBody
from .entries import ORIGINS, RULES, Leaf, Made

__all__ = ["parts_of"]


def parts_of(data: Mapping[str, Any]) -> tuple[str, str, str, tuple[Leaf, ...], tuple[Made, ...]]:
    """Source, target, kind and entries of a certificate; raises `InvalidBody` with the path for other JSON."""
    source, target, kind = (_text(data, name, "") for name in ("source", "target", "kind"))
    leaves = tuple(
        Leaf(_text(row, "path", at), _places(row, at), _text_or_none(row, "loss", at), _one_of(row, "rule", at, RULES))
        for at, row in _rows(data, "leaves")
    )
    made = tuple(
        Made(_text(row, "path", at), _one_of(row, "origin", at, ORIGINS) or "unknown", row.get("value"))
        for at, row in _rows(data, "made")
    )
    return source, target, kind, leaves, made


def _rows(data: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = data.get(key)
    if not isinstance(rows, list):
        raise InvalidBody(f"/{key}", "a certificate has a list here")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidBody(f"/{key}/{number}", "an entry is an object")
        yield f"/{key}/{number}", row


def _text(row: Any, key: str, at: str) -> str:
    found = row.get(key) if isinstance(row, Mapping) else None
    if not isinstance(found, str):
        raise InvalidBody(f"{at}/{key}", "a certificate has a string here")
    return found


def _text_or_none(row: Mapping[str, Any], key: str, at: str) -> str | None:
    return None if row.get(key) is None else _text(row, key, at)


def _places(row: Mapping[str, Any], at: str) -> tuple[str, ...]:
    found = row.get("to", [])
    if not isinstance(found, list) or not all(isinstance(place, str) for place in found):
        raise InvalidBody(f"{at}/to", "the places are a list of strings")
    return tuple(found)


def _one_of(row: Mapping[str, Any], key: str, at: str, known: Mapping[str, str]) -> Any:
    found = _text_or_none(row, key, at)
    if found is not None and found not in known:
        raise InvalidBody(f"{at}/{key}", f"unknown {key} {found!r}; choose one of: {', '.join(known)}")
    return found
