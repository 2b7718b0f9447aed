"""What is done about a loss: nothing, a log record, or an error, by patterns that the caller chooses."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from ..foundation.capabilities import is_known, near
from ..foundation.hints import Each, Hint, Name
from ..foundation.usage_errors import InvalidArgument
from .loss import FATES, Loss
from .report import Losses
from .severity import SEVERITIES

__all__ = ["Level", "Levels", "at_level", "check_levels", "enforce", "level_of", "levels_from"]

Level = Literal["ignore", "warn", "raise"]
"""What is done about a loss: nothing, a record of the logger `unified_llm`, or `CapabilityLost`."""

Levels = Level | Mapping[str, Level]
"""One level for all that is `lost`, or levels by `capability-glob[@fate|@severity]`; the first match wins."""

_LEVELS = ("ignore", "warn", "raise")


def check_levels(levels: Levels) -> None:
    """Raise `InvalidArgument` for a misspelled level or pattern: it would never match.

    >>> check_levels({"*@high": "raise"})
    """
    if levels == "ignore":
        return
    for level in levels.values() if isinstance(levels, Mapping) else (levels,):
        if level not in _LEVELS:
            raise _mistake(f"unknown level {level!r}; choose one of {', '.join(_LEVELS)}")
    for pattern in levels if isinstance(levels, Mapping) else ():
        if not isinstance(pattern, str):
            raise _mistake(f"{pattern!r} is not a glob of capabilities; pass a string")
        glob, _, what = pattern.partition("@")
        if what and what != "*" and what not in FATES and what not in SEVERITIES:
            known = ", ".join((*FATES, *SEVERITIES))
            raise _mistake(f"{pattern!r} names {what!r}, neither a fate nor a severity: {known}")
        if not is_known(glob):
            meant = f"*@{glob}" if glob in FATES or glob in SEVERITIES else near(glob)
            raise _mistake(f"{pattern!r} matches no capability" + (meant and f"; did you mean {meant!r}?"))


def _mistake(reason: str) -> InvalidArgument:
    return InvalidArgument(Hint(Each((Hint(Name("on_loss"), ": "),)), reason))


def levels_from(text: str) -> Levels:
    """Levels as the command line has them: one for all, or `GLOB[@FATE|@SEVERITY]=LEVEL,...`.

    >>> levels_from("warn"), levels_from("tools.*=raise, *@approximated=warn")
    ('warn', {'tools.*': 'raise', '*@approximated': 'warn'})
    """
    levels: Any = text
    if "=" in text or "." in text or "*" in text:
        entries = [entry.strip() for entry in text.split(",") if entry.strip()]
        for entry in entries:
            if "=" not in entry:
                raise _mistake(f"{entry!r} has no level; write GLOB=LEVEL, such as sampling.*=raise")
        levels = {glob.strip(): level.strip() for glob, _, level in (entry.partition("=") for entry in entries)}
    check_levels(levels)
    return levels  # type: ignore[no-any-return]


def level_of(loss: Loss, levels: Levels) -> Level:
    """The level for one loss: the first matching pattern wins, in the caller's order.

    A pattern is `capability-glob[@fate]` or `capability-glob@severity`; without either it matches `lost` alone, as a
    bare level does.

    >>> levels = {"sampling.*": "ignore", "*@high": "raise", "*@medium": "warn"}
    >>> level_of(Loss("/seed", "sampling.seed", "lost"), levels), level_of(Loss("/stop", "output.stop", "lost"), levels)
    ('ignore', 'warn')
    """
    if not isinstance(levels, Mapping):
        return levels if loss.fate == "lost" else "ignore"
    for pattern, level in levels.items():
        glob, _, what = pattern.partition("@")
        fits = loss.severity == what if what in SEVERITIES else fnmatchcase(loss.fate, what or "lost")
        if fits and fnmatchcase(loss.capability, glob):
            return level
    return "ignore"


def at_level(losses: Losses, levels: Levels, level: Level) -> Losses:
    """The losses at `level` by `levels`."""
    return Losses(loss for loss in losses if level_of(loss, levels) == level)


def enforce(losses: Losses, levels: Levels, converted: Any = None) -> None:
    """Log what is at `warn` as one record, raise what is at `raise`."""
    if levels == "ignore" or not losses:
        return
    warned = at_level(losses, levels, "warn")
    if warned:
        import logging

        logging.getLogger("unified_llm").warning("%s", warned.summary)
    raised = at_level(losses, levels, "raise")
    if raised:
        from ..foundation.errors import CapabilityLost

        raise CapabilityLost(raised, converted)
