"""How much a loss matters: a weight for comparing protocols, and a severity in one word for people.

Both come from `weights.toml`. What `reasons.toml` calls bookkeeping is of severity low, whatever its capability.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from .reasons import is_bookkeeping

if TYPE_CHECKING:
    from .loss import Loss

__all__ = ["SEVERITIES", "Severity", "by_severity", "severity_of", "weight_of"]

Severity = Literal["high", "medium", "low"]
"""How much a loss matters; `SEVERITIES` defines each in a sentence."""

# The keys of documents that hold the items of a conversation.
_ITEMS = frozenset(("input", "output", "messages", "content", "contents", "steps"))

SEVERITIES: dict[str, str] = {
    "high": "content, tools, reasoning or state do not reach the target: the result differs",
    "medium": "a setting or a detail does not reach the target: the result may differ",
    "low": "bookkeeping, a label, or a value that was carried in another form",
}


def weight_of(loss: Loss) -> float:
    """What a loss weighs when protocols are compared.

    >>> from unified_llm.losses import Loss
    >>> weight_of(Loss("/input/0", "image.input", "lost")), weight_of(Loss("/store", "state.store", "added"))
    (12.0, 0.0)
    """
    weight = _weight(loss.capability, loss.fate)
    if not weight or loss.path.count("/") < 2:
        return max(weight, _weights()["least"].get(loss.path[1:], 0.0)) if loss.fate == "lost" else weight
    last = loss.path.rpartition("/")[2]
    beside = _weights()["beside"].get(last)
    if beside is not None:
        weight = min(weight, beside)
    if not last.isdigit() and last not in _whole():
        return min(weight, _field(loss.capability))
    is_item = loss.fate == "lost" and (last in _whole() or loss.path.split("/", 2)[1] in _ITEMS)
    return max(weight, _least(loss.capability)) if is_item else weight


def severity_of(loss: Loss) -> Severity:
    """The severity of a loss: `SEVERITIES` defines each in a sentence.

    >>> from unified_llm.losses import Loss
    >>> severity_of(Loss("/tools/0", "tools.hosted.web_search", "lost"))
    'high'
    >>> severity_of(Loss("/tools/0/user_location", "tools.hosted.web_search", "lost"))
    'medium'
    >>> severity_of(Loss("/tools/0/googleSearch", "tools.hosted.web_search", "lost"))
    'high'
    """
    weight = weight_of(loss)
    least = _weights()["severity"]
    if weight < least["medium"] or is_bookkeeping(loss.detail):
        return "low"
    return "high" if weight >= least["high"] else "medium"


def by_severity(losses: Iterable[Loss]) -> list[Loss]:
    """The losses, the most severe first, else in their order."""
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    return sorted(losses, key=lambda loss: order[loss.severity])


@lru_cache(1024)
def _weight(capability: str, fate: str) -> float:
    for pattern, weight in _weights()["loss"].items():
        glob, _, wanted = pattern.partition("@")
        if fnmatchcase(fate, wanted or "lost") and fnmatchcase(capability, glob):
            return float(weight)
    return 0.0


@lru_cache(1024)
def _field(capability: str) -> float:
    limits = _weights()["field"].items()
    return next((float(most) for glob, most in limits if fnmatchcase(capability, glob)), float("inf"))


@lru_cache(1024)
def _least(capability: str) -> float:
    limits = _weights()["item"].items()
    return next((float(least) for glob, least in limits if fnmatchcase(capability, glob)), 0.0)


@cache
def _whole() -> frozenset[str]:
    return frozenset(" ".join(_weights()["whole"].values()).split())


@cache
def _weights() -> dict[str, Any]:
    from ..foundation.packaged import table

    return table("losses/weights")
