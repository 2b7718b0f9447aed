"""The loss report: which values did not reach the target unchanged, where they are, and what happened to them.

The engine makes an entry for every value that a reader kept and a writer did not take, so that a report is complete.
What the target has an identical field for has no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import SupportsIndex, overload

from ..foundation.capabilities import is_known, near
from ..foundation.usage_errors import InvalidArgument
from .grouping import LossGroup, grouped, summary
from .loss import Loss
from .reasons import reason_of
from .severity import by_severity

__all__ = ["Losses", "StreamLosses", "reasoned", "with_reasons"]

ALIKE = 1_000


class Losses(tuple[Loss, ...]):
    """A loss report: a sequence of `Loss`, with questions about it.

    >>> report = Losses([Loss("/seed", "sampling.seed", "lost", "anthropic-messages has no seed")])
    >>> report.survives("sampling.*"), report.survives("text.*")
    (False, True)
    >>> print(report)
    1 loss: 1 medium
    severity  path   capability     fate  detail
    medium    /seed  sampling.seed  lost  anthropic-messages has no seed
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Loss: ...
    @overload
    def __getitem__(self, index: slice, /) -> Losses: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Loss | Losses:
        found = super().__getitem__(index)
        return found if isinstance(found, Loss) else Losses(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Losses) and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        return f"Losses({[*self]!r})"

    def __str__(self) -> str:
        return self.table()

    def survives(self, capability: str) -> bool:
        """True when nothing that matches the capability glob was lost; the approximated, emulated and parked live.

        Raises `InvalidArgument` for a glob that matches no capability: a misspelled one would always survive.
        """
        if not is_known(capability):
            meant = near(capability)
            raise InvalidArgument(f"{capability!r} matches no capability" + (meant and f"; did you mean {meant!r}?"))
        return not any(loss.fate == "lost" and fnmatchcase(loss.capability, capability) for loss in self)

    @property
    def significant(self) -> Losses:
        """The entries of severity `high` or `medium`, the high ones first; what is left is bookkeeping.

        >>> report = Losses([Loss("/id", "item.id", "lost"), Loss("/seed", "sampling.seed", "lost")])
        >>> [loss.path for loss in report.significant]
        ['/seed']
        """
        return Losses(by_severity(loss for loss in self if loss.severity != "low"))

    @property
    def summary(self) -> str:
        """The report in one line: how many entries of each severity, and the most severe ones by name.

        >>> Losses([Loss("/seed", "sampling.seed", "lost"), Loss("/id", "item.id", "lost")]).summary
        '2 losses: 1 medium, 1 low; sampling.seed lost at /seed'
        >>> Losses().summary
        'no losses'
        """
        return summary(self)

    def grouped(self) -> list[LossGroup]:
        """The entries that differ only in list indexes of their paths, as one group each; the most severe first.

        >>> report = Losses(Loss(f"/tools/{number}/strict", "tools.strict", "lost") for number in range(50_000))
        >>> [(group.path, group.size) for group in report.grouped()]
        [('/tools/*/strict', 50000)]
        """
        return grouped(self)

    def explain(self, capability: str | Loss) -> str:
        """What a capability is, what happened to it here and why, and what to do instead; also that of one loss.

        Raises `InvalidArgument` for a name that is not a capability.

        >>> report = Losses([Loss("/seed", "sampling.seed", "lost", "anthropic-messages has no seed")])
        >>> print(report.explain("sampling.seed"))
        sampling.seed: repeatable sampling
        lost at /seed: anthropic-messages has no seed
        Instead: set temperature to 0 for output that varies less, or store the response and reuse it.
        """
        from .advice import explain

        return explain(capability, self)

    def to_json(self) -> list[dict[str, str]]:
        """The report as plain JSON values, one object for each entry, in the order found.

        >>> Losses([Loss("/id", "item.id", "lost", "openai-chat items have no id")]).to_json()[0]["severity"]
        'low'
        """
        return [loss._asdict() | {"severity": loss.severity} for loss in self]

    def table(self, width: int | None = None, limit: int | None = 100) -> str:
        """The report for people: its summary, then a row for each group, the most severe first.

        `width` is that of the terminal, by default that of standard output (or `COLUMNS`). Without a terminal,
        or with 0, each group is one line. Of more than `limit` rows the last line names the number of the others.
        """
        from .drawing import table

        return table(self, width, limit)


class StreamLosses:
    """The losses of a stream so far, each once; an endless stream that repeats itself takes no endless memory.

    Of losses that differ in nothing but the number of their event, `ALIKE` are kept one by one. The others are reported
    together: the first of them, with how many there are behind it.
    """

    __slots__ = ("_counts", "_entries", "_later", "_others")

    def __init__(self) -> None:
        self._later: Callable[[], Iterable[Loss]] | None = None
        self._entries: dict[Loss, None] = {}
        self._counts: dict[tuple[str, ...], int] = {}
        self._others: dict[tuple[str, ...], Loss] = {}

    def add(self, found: Iterable[Loss]) -> Losses:
        """Take these; gives back those that are new."""
        new, entries = [], self._entries
        room = ALIKE - len(entries)
        for loss in found:
            if loss in entries:
                continue
            new.append(loss)
            if room > 0:
                room -= 1
                entries[loss] = None  # so few are counted when there are more
            else:
                self._count(loss)
        return Losses(new)

    def _count(self, loss: Loss) -> None:
        counts = self._counts
        if not counts:
            for known in map(_kind, self._entries):
                counts[known] = counts.get(known, 0) + 1
        kind = _kind(loss)
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= ALIKE:
            self._entries[loss] = None
        else:
            self._others.setdefault(kind, loss)

    def since(self, count: int) -> list[Loss]:
        """Those that are kept one by one, behind the first `count`."""
        return list(islice(self._entries, count, None)) if len(self._entries) > count else []

    def defer(self, find: Callable[[], Iterable[Loss]]) -> None:
        """Take those that `find` returns, when the report is read."""
        self._later = find

    def report(self) -> Losses:
        """All of them."""
        later, self._later = self._later, None
        if later is not None:
            self.add(later())
        if not self._others:
            return Losses(self._entries)
        together = []
        for kind, loss in self._others.items():
            behind = self._counts[kind] - ALIKE - 1
            said = f"; and in {behind} later events" if behind else ""
            together.append(loss._replace(detail=(loss.detail + said).removeprefix("; ")))
        return Losses([*self._entries, *together])


def _kind(loss: Loss) -> tuple[str, ...]:
    """What losses have in common that differ in nothing but the number of their event."""
    return (loss.path.partition("/")[2].partition("/")[2], *loss[1:])


def with_reasons(losses: Iterable[Loss], source: str, target: str, kind: str) -> Losses:
    """The report with a reason in every entry.

    `source` ("" for the canonical form) and `target` are protocol ids with their dialects, `kind` is that of the
    document; events of streams are parts of a "response".

    >>> with_reasons(Losses([Loss("/seed", "sampling.seed", "lost")]), "a", "b", "request")[0].detail
    'b has no seed'
    """
    return Losses([loss if loss[3] else reasoned(loss, source, target, kind) for loss in losses])


@lru_cache(maxsize=8192)
def reasoned(loss: Loss, source: str, target: str, kind: str) -> Loss:
    """An entry without a reason, with that of its kind. It is kept: the losses of a conversation come again."""
    return loss._replace(detail=reason_of(loss.path, loss.capability, loss.fate, source, target, kind))
