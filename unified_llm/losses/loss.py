"""One entry of a loss report: where a value was, which capability it belongs to, and what happened to it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .severity import Severity, severity_of

__all__ = ["FATES", "Fate", "Loss", "Side"]

Fate = Literal["lost", "approximated", "emulated", "added", "parked"]
"""What happened to a value; `FATES` defines each in a sentence."""

Side = Literal["source", "target"]

FATES: dict[str, str] = {
    "lost": "not sent: the target has no equivalent",
    "approximated": "sent as the closest equivalent; the meaning is similar, not equal",
    "emulated": "the target lacks the feature; the library implements it with another one",
    "added": "the target requires it and the source has none; the library supplied a value",
    "parked": "not visible to the target; kept in an envelope or vault, and restored on return",
}


class Loss(NamedTuple):
    """One value that did not reach the target unchanged.

    `path` is a JSON Pointer: into the document the caller passed (`side="source"`), or into the result for what was
    added to it (`side="target"`). In streams it starts with the number of the input event: `/12/data/...`.
    `capability` is a name from the closed list (`unified_llm.foundation.capabilities`), `detail` the reason in a few
    words, and `severity` how much it matters.

    >>> loss = Loss("/seed", "sampling.seed", "lost", "anthropic-messages has no seed")
    >>> loss.fate, loss.severity
    ('lost', 'medium')
    """

    path: str
    capability: str
    fate: Fate
    detail: str = ""
    side: Side = "source"

    @property
    def severity(self) -> Severity:
        """How much it matters: `high`, `medium` or `low`, by `weights.toml`.

        >>> Loss("/messages/0", "image.input", "lost").severity, Loss("/id", "metadata", "added").severity
        ('high', 'low')
        """
        return severity_of(self)
