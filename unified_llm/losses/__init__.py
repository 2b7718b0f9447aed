"""Losses: what a conversion did not carry unchanged, how much it matters, and what is done about it."""

from .grouping import LossGroup
from .levels import Level, Levels, at_level, check_levels, enforce, level_of, levels_from
from .loss import FATES, Fate, Loss, Side
from .report import Losses, StreamLosses
from .severity import SEVERITIES, Severity

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
