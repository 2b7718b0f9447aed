"""What to do about a loss, for each capability: the texts are `advice.toml`, one for each capability of the list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ..foundation.capabilities import CAPABILITIES, is_capability, near
from ..foundation.usage_errors import InvalidArgument
from .grouping import at, grouped
from .loss import Loss

__all__ = ["advice", "explain"]


def advice(capability: str) -> str:
    """What to do where a target lacks a capability; "" for a capability of a foreign adapter.

    >>> advice("tools.strict")
    'validate the arguments of each call yourself before you run it.'
    """
    return _advice().get(capability, "")


def explain(capability: str | Loss, losses: Sequence[Loss]) -> str:
    """What a capability is, what happened to it in a report and why, and what to do instead.

    Raises `InvalidArgument` for what is not the name of a capability, nor an entry of a report.
    """
    capability = capability.capability if isinstance(capability, Loss) else capability
    if not isinstance(capability, str):
        raise InvalidArgument(f"explain() takes the name of a capability, or a loss; not {type(capability).__name__}")
    if not is_capability(capability):
        meant = near(capability)
        raise InvalidArgument(f"unknown capability {capability!r}" + (meant and f"; did you mean {meant!r}?"))
    groups = grouped([loss for loss in losses if loss.capability == capability])
    told = [f"{group.fate} at {at(group)}: {group.detail}" for group in groups]
    known, instead = CAPABILITIES.get(capability, ""), advice(capability)
    return "\n".join(
        [
            f"{capability}: {known}" if known else capability,
            *(told or ["no losses"]),
            *([f"Instead: {instead}"] if instead else []),
        ]
    )


@cache
def _advice() -> dict[str, str]:
    from ..foundation.packaged import table

    return table("losses/advice")
