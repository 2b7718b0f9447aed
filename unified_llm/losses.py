"""What did not survive, as data: where, which capability, and what became of it.

A report is complete or it is worthless, so nobody writes these by hand: the engine makes one for every key that a
reader kept and a writer did not take. What is carried over natively has no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple, overload

from .capabilities import is_known, near

__all__ = ["FATES", "Fate", "Level", "Levels", "Loss", "Losses", "Side"]

Fate = Literal["lost", "approximated", "emulated", "added", "parked"]
"""What became of something; `FATES` says each in a sentence."""

Level = Literal["ignore", "warn", "raise"]
"""What is done about a loss: nothing, a record of the logger `unified_llm`, or `CapabilityLost`."""

Levels = Level | Mapping[str, Level]
"""One level for all that is `lost`, or levels by `capability-glob[@fate]`; the first pattern that fits wins."""

Side = Literal["source", "target"]

FATES: dict[str, str] = {
    "lost": "gone: nothing of it reached the target",
    "approximated": "carried in another form that is close, and not equal",
    "emulated": "the target cannot do it; our side does",
    "added": "the target demanded something the source did not say",
    "parked": "withheld from the target and kept with us, to be restored on the way back",
}
_LEVELS = ("ignore", "warn", "raise")


class Loss(NamedTuple):
    """One thing that did not come through as it was.

    `path` is a JSON pointer: into the document the caller passed (`side="source"`), or into the result for what was
    added to it (`side="target"`). In streams it starts with the number of the input event: `/12/data/...`.
    `capability` is a word of the closed list (`unified_llm.capabilities`), `detail` a few words or "".

    >>> Loss("/seed", "sampling.seed", "lost").fate
    'lost'
    """

    path: str
    capability: str
    fate: Fate
    detail: str = ""
    side: Side = "source"


class Losses(Sequence[Loss]):
    """A loss report: a sequence of `Loss` that can print itself and answer questions.

    >>> report = Losses([Loss("/seed", "sampling.seed", "lost")])
    >>> report.survives("sampling.*"), report.survives("text.*")
    (False, True)
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[Loss] = ()) -> None:
        self._entries = tuple(entries)

    @overload
    def __getitem__(self, index: int) -> Loss: ...
    @overload
    def __getitem__(self, index: slice) -> Losses: ...
    def __getitem__(self, index: int | slice) -> Loss | Losses:
        found = self._entries[index]
        return found if isinstance(found, Loss) else Losses(found)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Losses) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(self._entries)

    def __repr__(self) -> str:
        return f"Losses({list(self._entries)!r})"

    def __str__(self) -> str:
        return self.table()

    def survives(self, capability: str) -> bool:
        """True when nothing that matches the capability glob was lost; the approximated, emulated and parked live.

        Raises `ValueError` for a glob that matches no capability: a misspelt one would always survive.
        """
        if not is_known(capability):
            meant = near(capability)
            raise ValueError(f"{capability!r} matches no capability" + (meant and f"; did you mean {meant!r}?"))
        return not any(loss.fate == "lost" and fnmatchcase(loss.capability, capability) for loss in self._entries)

    def to_json(self) -> list[dict[str, str]]:
        """The report as plain JSON values, one object a loss, in the order found."""
        return [loss._asdict() for loss in self._entries]

    def table(self) -> str:
        """The report for people: drawn by rich where it is installed, plain columns otherwise."""
        if not self._entries:
            return "Nothing was lost."
        try:
            return _rich_table(self._entries)
        except ImportError:
            return _plain_table(self._entries)

    def at_level(self, levels: Levels, level: Level) -> Losses:
        """The losses for which `levels` says `level`."""
        return Losses(loss for loss in self._entries if level_of(loss, levels) == level)


class StreamLosses:
    """The losses of a stream so far, each once; an endless stream that repeats itself takes no endless memory.

    Of losses that differ in nothing but the number of their event, `ALIKE` are kept one by one. The others are told
    together: the first of them, with how many there are behind it.
    """

    __slots__ = ("_counts", "_entries", "_others")

    def __init__(self) -> None:
        self._entries: dict[Loss, None] = {}
        self._counts: dict[tuple[str, ...], int] = {}
        self._others: dict[tuple[str, ...], Loss] = {}

    def add(self, found: Iterable[Loss]) -> Losses:
        """Take these; gives back those that are new."""
        new = []
        for loss in found:
            if loss in self._entries:
                continue
            kind = (loss.path.partition("/")[2].partition("/")[2], *loss[1:])
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            if count <= ALIKE:
                self._entries[loss] = None
            else:
                self._others.setdefault(kind, loss)
            new.append(loss)
        return Losses(new)

    def report(self) -> Losses:
        """All of them."""
        if not self._others:
            return Losses(self._entries)
        together = []
        for kind, loss in self._others.items():
            behind = self._counts[kind] - ALIKE - 1
            said = f"; and in {behind} later events" if behind else ""
            together.append(loss._replace(detail=(loss.detail + said).removeprefix("; ")))
        return Losses([*self._entries, *together])


ALIKE = 1_000


def check_levels(levels: Levels) -> None:
    """Refuse a misspelt level early: a level nobody knows would otherwise never fire."""
    for level in levels.values() if isinstance(levels, Mapping) else (levels,):
        if level not in _LEVELS:
            raise ValueError(f"on_loss: {level!r} is not one of {', '.join(_LEVELS)}")
    for pattern in levels if isinstance(levels, Mapping) else ():
        fate = pattern.partition("@")[2]
        if fate and fate != "*" and fate not in FATES:
            raise ValueError(f"on_loss: {pattern!r} names the fate {fate!r}, which is not one of {', '.join(FATES)}")
        glob = pattern.partition("@")[0]
        if not is_known(glob):
            meant = near(glob)
            raise ValueError(f"on_loss: {pattern!r} matches no capability" + (meant and f"; did you mean {meant!r}?"))


def levels_from(text: str) -> Levels:
    """Levels as a command line says them: one for all, or `GLOB[@FATE]=LEVEL,...`.

    >>> levels_from("warn"), levels_from("tools.*=raise, *@approximated=warn")
    ('warn', {'tools.*': 'raise', '*@approximated': 'warn'})
    """
    levels: Any = text
    if "=" in text:
        entries = [entry.strip() for entry in text.split(",") if entry.strip()]
        for entry in entries:
            if "=" not in entry:
                raise ValueError(f"on_loss: {entry!r} has no level: {entry}=raise, for one")
        levels = {glob.strip(): level.strip() for glob, _, level in (entry.partition("=") for entry in entries)}
    check_levels(levels)
    return levels  # type: ignore[no-any-return]


def level_of(loss: Loss, levels: Levels) -> Level:
    """The level for one loss: the first matching pattern wins, in the caller's order.

    A pattern is `capability-glob[@fate]`; without a fate it speaks of `lost` alone, as a bare level does.
    """
    if not isinstance(levels, Mapping):
        return levels if loss.fate == "lost" else "ignore"
    for pattern, level in levels.items():
        glob, _, fate = pattern.partition("@")
        if fnmatchcase(loss.fate, fate or "lost") and fnmatchcase(loss.capability, glob):
            return level
    return "ignore"


def enforce(losses: Losses, levels: Levels, converted: Any = None) -> None:
    """Log what is at `warn` as one record, raise what is at `raise`."""
    if levels == "ignore" or not losses:
        return
    warned = losses.at_level(levels, "warn")
    if warned:
        import logging

        logging.getLogger("unified_llm").warning(
            "%d loss(es): %s", len(warned), "; ".join(f"{x.path} {x.capability}" for x in warned)
        )
    raised = losses.at_level(levels, "raise")
    if raised:
        from .errors import CapabilityLost

        raise CapabilityLost(raised, converted)


def _rich_table(entries: Sequence[Loss]) -> str:
    """The table as rich draws it. Rich takes a quarter of a millisecond a row, so of a long table it draws only the
    rows that decide how wide the columns are, and the rest is drawn after these."""
    from io import StringIO

    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from .terminal import plain_row, printable

    def drawn(rows: Iterable[tuple[str, ...]]) -> list[str]:
        table = Table("path", "capability", "fate", "detail", title=title)
        for row in rows:
            plain_row(table, *row)
        out = StringIO()
        Console(file=out, width=_WIDTH).print(table)
        return out.getvalue().rstrip("\n").split("\n")

    title = f"Not carried over as it was: {len(entries)}"
    sides = {"source": "", "target": " (target)"}
    rows = [
        (printable(loss.path + sides[loss.side]), loss.capability, loss.fate, printable(loss.detail))
        for loss in entries
    ]
    if len(rows) <= _FEW:
        return "\n".join(drawn(rows))
    deciding: dict[tuple[str, ...], None] = {}
    for column in range(4):
        cells = {row[column]: row for row in rows}
        longest = max(cells, key=lambda cell: max(map(cell_len, cell.split("\n"))))
        words = max(cells, key=lambda cell: max(map(cell_len, cell.split()), default=0))
        deciding.update({cells[longest]: None, cells[words]: None})
    lines = drawn(deciding)
    head = next(place for place, line in enumerate(lines) if line.startswith("┡"))
    widths = [len(part) - 2 for part in lines[head].strip("┡┩").split("╇")]
    console, body = Console(width=_WIDTH), []
    for row in rows:
        if all(len(cell) <= width and cell.isascii() and cell.isprintable() for cell, width in zip(row, widths)):
            body.append(f"│ {' │ '.join([cell.ljust(width) for cell, width in zip(row, widths)])} │")
            continue
        wrapped = [Text(cell).wrap(console, width, overflow="ellipsis") for cell, width in zip(row, widths)]
        for number in range(max(map(len, wrapped))):
            cells_of = [column[number].plain if number < len(column) else "" for column in wrapped]
            padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells_of, widths)]
            body.append(f"│ {' │ '.join(padded)} │")
    return "\n".join([*lines[: head + 1], *body, lines[-1]])


_WIDTH = 120
_FEW = 200


def _plain_table(entries: Sequence[Loss]) -> str:
    from .terminal import printable

    told = [tuple(map(printable, (x.path, x.capability, x.fate, x.detail))) for x in entries]
    rows = [("path", "capability", "fate", "detail"), *told]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join("  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3]]).rstrip() for row in rows)
