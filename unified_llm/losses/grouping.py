"""Losses that differ only in list indexes of their paths, as one group, and a report in one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .loss import Fate, Loss, Side
from .severity import SEVERITIES, Severity

__all__ = ["LossGroup", "grouped", "summary"]

_INDEX = re.compile(r"/\d+(?=/|$)")
_NAMED = 3


class LossGroup(NamedTuple):
    """Losses of one kind: `size` entries, of which `first` is the first.

    `path` is the path of the only entry, or that of all of them with `*` for every list index.

    >>> from unified_llm import Losses
    >>> (group,) = Losses(Loss(f"/tools/{number}/strict", "tools.strict", "lost") for number in range(2)).grouped()
    >>> group.path, group.size, group.severity
    ('/tools/*/strict', 2, 'medium')
    """

    path: str
    capability: str
    fate: Fate
    detail: str
    side: Side
    severity: Severity
    size: int
    first: Loss


def grouped(losses: Sequence[Loss]) -> list[LossGroup]:
    """The losses in groups, the most severe first, else in their order.

    >>> [group.path for group in grouped([Loss("/a/0/b", "item.id", "lost"), Loss("/a/1/b", "item.id", "lost")])]
    ['/a/*/b']
    """
    found: dict[tuple[str, ...], list[Loss]] = {}
    for loss in losses:
        found.setdefault((_INDEX.sub("/*", loss.path), *loss[1:]), []).append(loss)
    groups = [
        LossGroup(alike[0].path if len(alike) == 1 else key[0], *alike[0][1:], alike[0].severity, len(alike), alike[0])
        for key, alike in found.items()
    ]
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    return sorted(groups, key=lambda group: order[group.severity])


def summary(losses: Sequence[Loss]) -> str:
    """The losses in one line.

    >>> summary([Loss("/seed", "sampling.seed", "lost")])
    '1 loss: 1 medium; sampling.seed lost at /seed'
    """
    if not losses:
        return "no losses"
    groups = grouped(losses)
    named = [group for group in groups if group.severity != "low"]
    shown = [f"{each.capability} {each.fate} at {at(each)}" for each in named[:_NAMED]]
    more = [f"{len(named) - _NAMED} more kinds"] if len(named) > _NAMED else []
    return "; ".join(filter(None, [count(losses, groups), ", ".join(shown + more)]))


def count(losses: Sequence[Loss], groups: Sequence[LossGroup]) -> str:
    """How many losses there are, and of which severity."""
    each = {name: sum(group.size for group in groups if group.severity == name) for name in SEVERITIES}
    parts = ", ".join(f"{number} {name}" for name, number in each.items() if number)
    return f"{len(losses)} {'loss' if len(losses) == 1 else 'losses'}: {parts}"


def at(group: LossGroup) -> str:
    """Where the losses of a group are.

    >>> at(grouped([Loss("/id", "metadata", "added", side="target")] * 2)[0])
    '/id (in output) (2 times)'
    """
    side = " (in output)" if group.side == "target" else ""
    return (group.path or "/") + side + (f" ({group.size} times)" if group.size > 1 else "")
