"""Losses: what a conversion did not carry unchanged, how much it matters, and what is done about it."""

from .grouping import LossGroup
from .levels import Level, Levels, at_level, check_levels, enforce, level_of, levels_from
from .report import FATES, SEVERITIES, Fate, Loss, Losses, Severity, Side, StreamLosses

__all__ = [
    "FATES",
    "SEVERITIES",
    "Fate",
    "Level",
    "Levels",
    "Loss",
    "LossGroup",
    "Losses",
    "Severity",
    "Side",
    "StreamLosses",
    "at_level",
    "check_levels",
    "enforce",
    "level_of",
    "levels_from",
]
