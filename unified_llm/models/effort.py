"""Effort and budget: two measures of the same thing, each drawn from the other by the table in the data.

The requested effort is never exceeded: an effort that a model does not support becomes the next weaker one it has, the
weakest where there is none; a budget becomes the level that its tokens reach, and is kept in the model's range.
"""

from __future__ import annotations

from typing import Any

from .profiles import ReasoningProfile, levels

__all__ = ["EFFORTS", "budget_of", "budget_within", "clamp", "effort_of", "nearest"]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def nearest(effort: str, allowed: tuple[str, ...]) -> str:
    """The word for an effort among those a model takes (`allowed`); an unknown one is not changed.

    >>> nearest("xhigh", ("low", "high", "max")), nearest("minimal", ("none", "low"))
    ('high', 'low')
    """
    if effort in allowed or effort not in EFFORTS or not allowed:
        return effort
    # To think a little is not the same as not to think.
    words = sorted((word for word in allowed if word != "none" and word in EFFORTS), key=EFFORTS.index)
    weaker = [word for word in words if EFFORTS.index(word) <= EFFORTS.index(effort)]
    return weaker[-1] if weaker else (words or list(allowed))[0]


def effort_of(budget: int, allowed: tuple[str, ...]) -> str:
    """The word for a budget of thinking tokens among those a model takes (`allowed`).

    >>> effort_of(5_000, ("low", "medium", "high")), effort_of(5_000, ("low", "high")), effort_of(0, ("low", "high"))
    ('medium', 'low', 'low')
    """
    return nearest(next(word for word, most in levels() if most is None or budget <= most), allowed)


def budget_of(effort: str, facts: ReasoningProfile) -> int:
    """The budget for an effort, in tokens, in the range the model takes: `facts` of `models.profile(...).reasoning`.

    >>> budget_of("medium", ReasoningProfile(budget=(1_024, 4_096), budgets={"medium": 8_192}))
    4096
    """
    return clamp(facts.budgets.get(effort, facts.budgets.get("medium", 0)), facts)


def budget_within(limit: Any, effort: str, facts: ReasoningProfile) -> int | None:
    """The budget for an effort, below a limit that holds for reasoning and answer; None where that leaves no room.

    A fifth of the limit is left to the answer, as OpenRouter does for its highest effort: a budget of all but one token
    ends most answers before their first word. https://openrouter.ai/docs/use-cases/reasoning-tokens

    >>> facts = ReasoningProfile(budget=(1_024, None), budgets={"high": 16_384})
    >>> [budget_within(limit, "high", facts) for limit in (None, 40_000, 2_000, 1_100)]
    [16384, 16384, 1600, None]
    """
    wanted, least = budget_of(effort, facts), (facts.budget or (0, None))[0]
    if type(limit) is not int:
        return wanted
    most = limit - limit // 5
    return min(wanted, most) if most >= least else None


def clamp(budget: int, facts: ReasoningProfile) -> int:
    """A budget in the range the model takes (`facts`); 0 where that switches thinking off, -1 where it leaves it to it.

    >>> clamp(100, ReasoningProfile(budget=(1_024, None))), clamp(0, ReasoningProfile(budget=(1_024, None), off=True))
    (1024, 0)
    """
    least, most = facts.budget or (0, None)
    if (budget == 0 and facts.off) or (budget < 0 and facts.dynamic):
        return budget
    wanted = max(budget, least)
    return wanted if most is None else min(wanted, most)
