"""The capability matrix: measured cells, chosen by pair, kind and capability, and laid out as a table.

A matrix is the same from run to run: capabilities in the order of the closed list, protocols by name. Nothing in it was
written by hand. The models that differ from their protocol follow from the dated profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..engine.registry import adapter, protocols, split
from ..foundation.capabilities import CAPABILITIES, near
from ..foundation.errors import UnknownProtocol
from ..foundation.usage_errors import InvalidArgument
from .observe import CANONICAL, OBSERVED, Cell, Key, measure
from .probing import KINDS

__all__ = ["Column", "Matrix", "Table", "dialects", "differing_models", "every_pair", "matrix", "names", "table"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: a way from a source to a target."""

    source: str
    target: str
    model: str = ""

    @property
    def title(self) -> str:
        """How the column is headed: the target alone where the canonical document is the source."""
        target = f"{self.target} ({self.model})" if self.model else self.target
        return target if self.source == CANONICAL else f"{self.source} -> {target}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Measured cells, with the requested columns and kinds."""

    columns: tuple[Column, ...]
    kinds: tuple[str, ...]
    cells: Mapping[Key, Cell]

    @property
    def capabilities(self) -> list[str]:
        """The capabilities that were measured, in the order of the closed list."""
        found = {key.capability for key in self.cells}
        return [name for name in CAPABILITIES if name in found]

    def cell(self, column: Column, kind: str, capability: str) -> Cell | None:
        """One cell, or None where the capability has no probe of that kind."""
        return self.cells.get(Key(kind, column.source, column.target, capability, column.model))

    def counts(self, column: Column) -> dict[str, int]:
        """How many cells of a column have each fate, best first."""
        fates = [
            found.fate
            for key, found in self.cells.items()
            if (key.source, key.target, key.model) == (column.source, column.target, column.model)
        ]
        return {fate: fates.count(fate) for fate in OBSERVED if fate in fates}

    def to_json(self) -> dict[str, Any]:
        """The matrix as plain JSON values: what the fates mean, and one object a cell."""
        return {
            "fates": OBSERVED,
            "kinds": list(self.kinds),
            "cells": [{**key._asdict(), **found._asdict()} for key, found in self.cells.items()],
        }


def matrix(
    source: str | None = None,
    target: str | None = None,
    kinds: Sequence[str] = KINDS,
    capabilities: str = "*",
    model: str = "",
) -> Matrix:
    """Measure what the names choose.

    Without a source, what each protocol can carry of a canonical document; with one target and no source, what comes
    there from every protocol as well; without a target, every protocol but the source. `"*"` as a name stands for every
    protocol, `"protocol:*"` for its dialects. `capabilities` is a glob that has to match something.

    >>> found = matrix("openai-chat", "openai-responses", ["request"], "sampling.*")
    >>> [(key.capability, cell.fate) for key, cell in found.cells.items()][:2]
    [('sampling.temperature', 'native'), ('sampling.top_p', 'native')]
    """
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidArgument(f"nothing of kind {kind!r} is probed; there are: {', '.join(KINDS)}")
    if not any(fnmatchcase(name, capabilities) for name in CAPABILITIES):
        meant = near(capabilities)
        raise InvalidArgument(f"{capabilities!r} matches no capability" + (meant and f"; did you mean {meant!r}?"))
    targets = names(target) if target is not None else protocols()
    if source is not None:
        sources = names(source)
    else:
        sources = [CANONICAL] if len(targets) > 1 else [CANONICAL, *protocols()]
    columns = tuple(Column(one, other, model) for one in sources for other in targets if one != other)
    return Matrix(columns, tuple(kinds), dict(measure(sources, targets, kinds, capabilities, model)))


def every_pair(kinds: Sequence[str] = KINDS) -> Matrix:
    """The whole of it: every protocol as target of the canonical document and of every other protocol."""
    known = protocols()
    return Matrix(
        tuple(Column(one, other) for one in (CANONICAL, *known) for other in known if one != other),
        tuple(kinds),
        dict(measure([CANONICAL, *known], known, kinds)),
    )


def names(text: str) -> list[str]:
    """The names that one stands for: `*` for every protocol, `protocol:*` for its dialects, any other for itself.

    Raises `UnknownProtocol` for an unknown name.
    """
    if text == "*":
        return protocols()
    if text.endswith(":*"):
        return dialects(text[:-2])
    if text != CANONICAL:
        split(text)
    return [text]


def dialects(protocol: str) -> list[str]:
    """A protocol's dialects by their full names.

    Raises `UnknownProtocol` where it has none.
    """
    found = [f"{protocol}:{name}" for name in sorted(adapter(protocol).dialects)]
    if not found:
        raise UnknownProtocol(f"{protocol} has no dialects")
    return found


# ---- tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words: the first column is the capability, the others a fate each."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(found: Matrix) -> Table:
    """One row a capability, one column a way; where the kinds differ, a cell lists each kind."""
    rows = []
    for capability in found.capabilities:
        row = [capability]
        for column in found.columns:
            fates = {
                kind: cell.fate for kind in found.kinds if (cell := found.cell(column, kind, capability)) is not None
            }
            row.append(_cell_text(fates))
        rows.append(tuple(row))
    return Table(("capability", *(column.title for column in found.columns)), tuple(rows))


def _cell_text(fates: Mapping[str, str]) -> str:
    if len({*fates.values()}) <= 1:
        return next(iter(fates.values()), "")
    by_fate: dict[str, list[str]] = {}
    for kind, fate in fates.items():
        by_fate.setdefault(fate, []).append(kind)
    return ", ".join(f"{'/'.join(kinds)} {fate}" for fate, kinds in by_fate.items())


# ---- models ---------------------------------------------------------------------------------------------------------


def differing_models(base: Mapping[Key, Cell]) -> list[tuple[str, tuple[str, ...], dict[str, Cell]]]:
    """The models that differ by the profiles: protocol, the models that are alike, and their cells that differ.

    `base` holds the cells of the canonical document towards every protocol, without a model.
    """
    alike: dict[tuple[str, Any], list[str]] = {}
    for name, protocol in _profiled():
        alike.setdefault((protocol, _facts(name, protocol)), []).append(name)
    found: dict[tuple[str, Any], tuple[list[str], dict[str, Cell]]] = {}
    for (protocol, _), models in alike.items():
        cells = measure([CANONICAL], [protocol], ["request"], model=models[0])
        differ = {key.capability: cell for key, cell in cells if base[key._replace(model="")].fate != cell.fate}
        fates = tuple((name, cell.fate) for name, cell in differ.items())
        if differ:
            found.setdefault((protocol, fates), ([], differ))[0].extend(models)
    return sorted((protocol, tuple(models), differ) for (protocol, _), (models, differ) in found.items())


def _profiled() -> Iterable[tuple[str, str]]:
    from ..models.profiles import _data

    known = protocols()
    for family in _data()["families"]:
        for name in family["models"]:
            for protocol in family["facts"].get("reasoning", {}):
                if protocol in known:
                    yield name, protocol


def _facts(name: str, protocol: str) -> Any:
    """What is known of a model but its name, as a value that can be compared."""
    from ..models.profiles import profile

    known = profile(name, protocol)
    plain = tuple(getattr(known, key) for key in known.__slots__ if key not in ("id", "provider", "reasoning"))
    thinks = known.reasoning
    return plain, tuple(
        tuple(value.items()) if isinstance(value, Mapping) else value
        for value in (getattr(thinks, key) for key in thinks.__slots__)
    )
