"""`capabilities.lock.json`: what was observed at the last update, and what changed since.

The file contains what it watches, so that comparing and rewriting it need nothing else: ways from one protocol to
another, with globs of capabilities and the kinds of documents. Cells are one a line, for readers of diffs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..foundation.capabilities import is_known, near
from .layout import names
from .observe import OBSERVED, Cell, Key, measure
from .probing import KINDS

__all__ = ["FILE", "Change", "Lock", "Watch", "format_changes"]

FILE = "capabilities.lock.json"
VERSION = 1


class Watch(NamedTuple):
    """One thing that is watched, `capabilities` by globs.

    `source` and `target` are protocols with or without a dialect, `*` for every protocol, `protocol:*` for its
    dialects; a source may be `canonical`, for what a protocol can carry at all.
    """

    source: str = "*"
    target: str = "*"
    capabilities: tuple[str, ...] = ("*",)
    kinds: tuple[str, ...] = KINDS
    model: str = ""

    def ways(self) -> list[tuple[str, str]]:
        """The ordered pairs it stands for."""
        return [(one, other) for one in names(self.source) for other in names(self.target) if one != other]

    def cells(self, way: tuple[str, str] | None = None) -> dict[Key, Cell]:
        """What is observed today."""
        ways = self.ways() if way is None else [way]
        found: dict[Key, Cell] = {}
        for glob in self.capabilities:
            for one, other in ways:
                found.update(measure([one], [other], self.kinds, glob, self.model))
        return found

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Watch:
        """From JSON. Raises `ValueError` for an unknown key or capability."""
        unknown = value.keys() - set(cls._fields)
        if unknown:
            raise ValueError(f"watch: {min(unknown)!r} is not one of {', '.join(cls._fields)}")
        for glob in value.get("capabilities", ()):
            if not is_known(glob):
                meant = near(glob)
                raise ValueError(f"watch: {glob!r} matches no capability" + (meant and f"; did you mean {meant!r}?"))
        for kind in value.get("kinds", ()):
            if kind not in KINDS:
                raise ValueError(f"watch: {kind!r} is not one of {', '.join(KINDS)}")
        known: dict[str, Any] = {key: tuple(each) if type(each) is list else each for key, each in value.items()}
        return cls(**known)

    def to_json(self) -> dict[str, Any]:
        """Its JSON, without what is the default."""
        return {
            key: list(value) if type(value) is tuple else value
            for key, value in self._asdict().items()
            if value != self._field_defaults[key]
        }


class Change(NamedTuple):
    """One cell that differs from the lock; `before` or `after` is "" where one side does not have it."""

    key: Key
    before: str
    after: str
    detail: str = ""

    @property
    def direction(self) -> str:
        """worse, better, new (nothing was locked) or gone (no longer measured)."""
        if not self.before:
            return "new"
        if not self.after:
            return "gone"
        ranks = list(OBSERVED)
        return "worse" if ranks.index(self.after) > ranks.index(self.before) else "better"

    def __str__(self) -> str:
        before, after = self.before or "not locked", self.after or "not measured"
        told = f" ({self.detail})" if self.detail else ""
        return f"{_way(self.key)}  {self.key.capability}  {self.key.kind}: {before} -> {after}{told}"


@dataclass(slots=True)
class Lock:
    """What is watched and what was observed: fates by cell."""

    watch: tuple[Watch, ...] = (Watch(),)
    fates: dict[Key, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Lock:
        """The lock in a file. Raises `ValueError` (with the file's name) for what is none."""
        try:
            told = json.loads(path.read_text("utf-8"))
            if told.get("version") != VERSION:
                raise ValueError(f"version {told.get('version')!r} is not {VERSION}")
            watch = tuple(Watch.of(each) for each in told["watch"])
            fates = {
                _key(way, kind, capability): fate
                for way, kinds in told["cells"].items()
                for kind, cells in kinds.items()
                for capability, fate in cells.items()
            }
            for key, fate in fates.items():
                if fate not in OBSERVED:
                    raise ValueError(f"{_way(key)} {key.capability}: {fate!r} is not a fate")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{path.name}: {reason}") from error
        return cls(watch, fates)

    def write(self, path: Path) -> None:
        """Write the lock: one line a cell, in a fixed order."""
        cells: dict[str, dict[str, dict[str, str]]] = {}
        for key, fate in self.fates.items():
            cells.setdefault(_way(key), {}).setdefault(key.kind, {})[key.capability] = fate
        watch = [each.to_json() for each in self.watch]
        text = json.dumps({"version": VERSION, "watch": watch, "cells": cells}, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", "utf-8")

    def observed(self) -> dict[Key, Cell]:
        """What is observed today of everything that is watched."""
        found: dict[Key, Cell] = {}
        for each in self.watch:
            found.update(each.cells())
        return {key: cell for key, cell in found.items() if cell.fate != "-"}

    def renewed(self, observed: Mapping[Key, Cell] | None = None) -> Lock:
        """The same watch with today's fates."""
        found = self.observed() if observed is None else observed
        return Lock(self.watch, {key: cell.fate for key, cell in found.items()})

    def changes(self, observed: Mapping[Key, Cell] | None = None) -> list[Change]:
        """The differences from the lock: worse first, then gone, better, new."""
        found = self.observed() if observed is None else observed
        out = []
        for key in {**self.fates, **found}:
            before = self.fates.get(key, "")
            cell = found.get(key)
            after = cell.fate if cell is not None else ""
            if before != after:
                out.append(Change(key, before, after, cell.detail if cell is not None else ""))
        order = ("worse", "gone", "better", "new")
        return sorted(out, key=lambda change: order.index(change.direction))


def format_changes(changes: Iterable[Change]) -> str:
    """Changes for people, in groups; the empty string for none."""
    heads = {
        "worse": "regressions",
        "gone": "removed",
        "better": "improvements",
        "new": "new",
    }
    changes = list(changes)
    lines: list[str] = []
    for direction, head in heads.items():
        mine = [change for change in changes if change.direction == direction]
        if mine:
            lines += [f"{head}: {len(mine)}", *(f"  {change}" for change in mine)]
    return "\n".join(lines)


_ARROW = " -> "


def _way(key: Key) -> str:
    return f"{key.source}{_ARROW}{key.target}" + (f" ({key.model})" if key.model else "")


def _key(way: str, kind: str, capability: str) -> Key:
    way, _, model = way.removesuffix(")").partition(" (")
    source, arrow, target = way.partition(_ARROW)
    if not arrow:
        raise ValueError(f"{way!r} is not a pair of source and target")
    return Key(kind, source, target, capability, model)
