"""Names of tools and of output schemas that a target accepts."""

from __future__ import annotations

import re
from functools import lru_cache

from .profile import NameRule, fit_name

__all__ = ["fits", "fitted_names"]


@lru_cache(maxsize=64)
def fitted_names(names: tuple[str, ...], rule: NameRule, held: frozenset[str] = frozenset()) -> dict[str, str]:
    """The names that are `held` or not accepted, each with one that is, that no other name has and no other becomes."""
    taken, renamed = {*names, *held}, {}
    for name in names:
        if name not in held and fits(name, rule):
            continue
        salt, new = 0, fit_name(name, rule)
        while new in taken:
            salt += 1
            new = fit_name(f"{name}\0{salt}", rule)
        taken.add(new)
        renamed[name] = new
    return renamed


def fits(name: str, rule: NameRule) -> bool:
    """Whether the rule accepts the name as it is."""
    return len(name) <= rule.length and _form(rule).fullmatch(name) is not None


@lru_cache(maxsize=64)
def _form(rule: NameRule) -> re.Pattern[str]:
    return re.compile(f"[{rule.first}][{rule.rest}]*")
