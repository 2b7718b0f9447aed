"""The nearest that a target has for a value of another protocol: a lifetime of the cache ("5m", "12h"), a service tier,
a limit of output, stop sequences.

A lifetime is a promise of at least so long: a longer one keeps it, and the longest there is stands for what is beyond.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..pairs.mapping import Fated, take

if TYPE_CHECKING:
    from ..pairs.writing import Writer

__all__ = ["NEAREST_TIERS", "fit_lifetime", "leave_out_blank_stops", "nearest", "raise_output_limit"]

Node = dict[str, Any]

NEAREST_TIERS = {"reserved": "priority", "deferred": "flex"}
"""Reserved capacity, and processing later at a lower price: tiers that a single protocol declares, and the nearest."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_WORD = re.compile(r"(\d{1,9})([smhd])")


def nearest(said: Any, known: tuple[str, ...]) -> str | None:
    """The shortest of the known lifetimes that is not shorter, else the longest; None for what is not a lifetime.

    >>> nearest("30m", ("5m", "1h")), nearest("12h", ("5m", "1h")), nearest("for ever", ("5m", "1h"))
    ('1h', '1h', None)
    """
    seconds = _seconds(said)
    if seconds is None:
        return None
    ordered = sorted(known, key=lambda word: _seconds(word) or 0)
    return next((word for word in ordered if (_seconds(word) or 0) >= seconds), ordered[-1])


def fit_lifetime(c: Node, wire: Node, known: tuple[str, ...]) -> None:
    """Give the breakpoint that was written of `c["cache"]` a lifetime its target supports, and leave what is to be
    reported.

    One without a lifetime fits as it is. Raises `IllTyped` when `cache` is not an object.
    """
    if "ttl" not in wire:
        take(c, "cache").clear()
        return
    said = wire["ttl"]
    word = nearest(said, known)
    own = take(c, "cache")
    own.clear()
    if word is None:
        del wire["ttl"]
        own["ttl"] = Fated("lost", "no lifetime")
    else:
        wire["ttl"] = word
        own["ttl"] = Fated("approximated", f"sent as {word!r}")


def _seconds(word: Any) -> int | None:
    found = _WORD.fullmatch(word) if type(word) is str else None
    return int(found[1]) * _UNITS[found[2]] if found else None


def raise_output_limit(c: Node, w: Writer, least: int = 1) -> None:
    """Raise the limit of a request for another protocol to the `least` that it takes, and report it.

    Messages takes 0, which fills its cache and answers nothing; others refuse it.
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """
    limit = c.get("max_output_tokens")
    if w.crosses and type(limit) is int and limit < least:
        c["max_output_tokens"] = least
        w.report(w.doc, ("max_output_tokens",), "approximated", f"the least is {least}")


def leave_out_blank_stops(c: Node, w: Writer, *, spaces: bool = True) -> None:
    """Leave out of a request, and report, the stop sequences that are empty: APIs refuse them.

    `spaces`: those of white space alone are refused, too.
    """
    stop = c["stop"]
    texts = stop if type(stop) is list else []
    blank = [type(text) is str and not (text.strip() if spaces else text) for text in texts]
    if not any(blank):
        return
    if all(blank):
        w.report(w.doc, ("stop",), "lost", _BLANK)
        del c["stop"]
        return
    for index, refused in enumerate(blank):
        if refused:
            w.report(w.doc, ("stop", index), "lost", _BLANK)
    c["stop"] = [text for text, refused in zip(texts, blank) if not refused]


_BLANK = "blank texts are refused"
