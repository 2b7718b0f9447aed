"""The reason of a loss for which neither the adapter nor a field gives one: by kind, capability, protocols and path.

The rows are `reasons.toml`, loaded with the first entry that needs one. Every entry of a report has a reason.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from typing import Any, NamedTuple

__all__ = ["IN_TOTAL", "is_bookkeeping", "is_default", "reason_of", "repeated_reason"]

IN_TOTAL = "included in the total only"
"""What becomes of a count that the target has as a part of another one."""

_INDEX = re.compile(r"/\d+(?=/|$)")
# What stands before the path in an event of a stream: its number, its data, and the object that it completes.
_EVENT = re.compile(r"^/\d+(?:/data)?(?:/(?:response|message|interaction)(?=/))?")
_SECTIONS = {"lost": ("repeated", "bookkeeping", "lost"), "added": ("added",)}


class _Row(NamedTuple):
    kind: str
    capability: str
    source: str
    target: str
    path: re.Pattern[str]
    reason: str


def is_bookkeeping(detail: str) -> bool:
    """Whether a reason is one of those for values of no consequence.

    >>> is_bookkeeping("openai-chat has no ids of items"), is_bookkeeping("openai-chat has no seed")
    (True, False)
    """
    return _matches("repeated", detail) or _matches("bookkeeping", detail)


def is_default(detail: str) -> bool:
    """Whether a reason is the one for a fate, because nothing more exact is known.

    >>> is_default("openai-chat has no equivalent"), is_default("openai-chat has no seed")
    (True, False)
    """
    return _matches("default", detail)


def reason_of(path: str, capability: str, fate: str, source: str, target: str, kind: str) -> str:
    """The reason of an entry that gives none, from the canonical form ("") or a `source` to a `target`.

    >>> reason_of("/seed", "sampling.seed", "lost", "a", "b", "request")
    'b has no seed'
    """
    return _reason(_INDEX.sub("/*", _EVENT.sub("", path)) or "/", capability, fate, source, target, kind)


def repeated_reason(path: str, source: str, target: str) -> str | None:
    """The reason of a loss in an answer's copy of a setting of its request; None for all else in an answer.

    >>> repeated_reason("/store", "openai-responses", "b"), repeated_reason("/output/0", "openai-responses", "b")
    ('repeats a setting of the request; b responses have no field for it', None)
    """
    return _repeated(_INDEX.sub("/*", _EVENT.sub("", path)) or "/", source, target)


@lru_cache(maxsize=4096)
def _repeated(place: str, source: str, target: str) -> str | None:
    one, other = source.partition(":")[0], target.partition(":")[0]
    for row in _settings():
        if row.path.match(place) and fnmatchcase(one, row.source) and fnmatchcase(other, row.target):
            return _said(row.reason, source, target)
    return None


@lru_cache(maxsize=4096)
def _reason(place: str, capability: str, fate: str, source: str, target: str, kind: str) -> str:
    one, other = source.partition(":")[0], target.partition(":")[0]
    for row in _rows(fate, capability):
        if row.kind in ("*", kind) and row.path.match(place):
            if fnmatchcase(one, row.source) and fnmatchcase(other, row.target):
                return _said(row.reason, source, target)
    default = _data()["default"]
    return _said(default[capability] if fate == "lost" and capability in default else default[fate], source, target)


def _said(reason: str, source: str, target: str) -> str:
    return reason.replace("{source}", source or "the canonical form").replace("{target}", target)


@lru_cache(maxsize=512)
def _rows(fate: str, capability: str) -> list[_Row]:
    """The rows that an entry of this fate and capability may fit."""
    rows = [row for section in _SECTIONS.get(fate, ()) for row in _data()[section]]
    return [_row(row) for row in rows if fnmatchcase(capability, row[1])]


@cache
def _settings() -> list[_Row]:
    """The rows of settings that an answer repeats."""
    return [_row(row) for row in _data()["repeated"]]


def _row(row: list[str]) -> _Row:
    kind, capability, protocols, paths, reason = row
    source, _, target = protocols.partition(" > ")
    return _Row(kind, capability, source, target, re.compile("|".join(map(translate, paths.split()))), reason)


@lru_cache(maxsize=4096)
def _matches(section: str, detail: str) -> bool:
    return _templates(section).fullmatch(detail) is not None


@cache
def _templates(section: str) -> re.Pattern[str]:
    """What the reasons of a section look like, whatever the protocols."""
    found = _data()[section]
    reasons = found.values() if type(found) is dict else (row[-1] for row in found)
    parts = {re.escape(reason).replace(r"\{target\}", ".+").replace(r"\{source\}", ".+") for reason in reasons}
    return re.compile("|".join(sorted(parts)))


@cache
def _data() -> dict[str, Any]:
    from ..foundation.packaged import table

    return table("losses/reasons")
