"""One conversion of a user's own payload, as an object for tests.

A question about a capability that does not exist is a mistake of the test and raises: a misspelled name would otherwise
always survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from ..foundation.capabilities import CAPABILITIES
from ..foundation.usage_errors import InvalidArgument
from ..losses import Loss, Losses
from ..passes.convert import convert
from ..streams.conversion import convert_stream

__all__ = ["Report", "known", "report"]


class Report:
    """What became of one document: `value` in the target's words, `losses`, and answers by capability."""

    def __init__(self, value: Any, losses: Losses, way: str) -> None:
        self.value = value
        self.losses = losses
        self.way = way

    def survives(self, capability: str, *more: str) -> bool:
        """True when nothing that matches these globs was lost; raises `InvalidArgument` for an unknown name."""
        return not any(self.lost(known(name)) for name in (capability, *more))

    def lost(self, capability: str = "*") -> Losses:
        """What was lost of the capabilities that match."""
        return self._with(("lost",), capability)

    def changed(self, capability: str = "*") -> Losses:
        """What came through in another form: approximated, emulated or parked."""
        return self._with(("approximated", "emulated", "parked"), capability)

    def _with(self, fates: Sequence[str], capability: str) -> Losses:
        known(capability)
        return Losses(loss for loss in self.losses if loss.fate in fates and fnmatchcase(loss.capability, capability))

    def __repr__(self) -> str:
        lines = [f"<{self.way}: {len(self.losses)} losses>", *map(_line, self.losses)]
        return "\n  ".join(lines)


def _line(loss: Loss) -> str:
    detail = f" ({loss.detail})" if loss.detail else ""
    return f"{loss.path} {loss.capability} {loss.fate}{detail}"


def known(capability: str) -> str:
    """The glob itself. Raises `InvalidArgument`, with near matches, when it matches no capability.

    >>> known("input.image")
    Traceback (most recent call last):
    unified_llm.foundation.usage_errors.InvalidArgument: 'input.image' matches no capability; did you mean image.input?
    """
    if capability.startswith("x.") or any(fnmatchcase(name, capability) for name in CAPABILITIES):
        return capability
    turned = ".".join(reversed(capability.split(".")))
    near = [turned] if turned in CAPABILITIES else get_close_matches(capability, CAPABILITIES)
    raise InvalidArgument(
        f"{capability!r} matches no capability" + (f"; did you mean {', '.join(near)}?" if near else "")
    )


def report(body: Any, *, source: str, target: str, kind: str = "request", **options: Any) -> Report:
    """Convert one document (a list of wire events where `kind` is "stream") and report. Takes what `convert` takes.

    >>> from unified_llm.drift import report
    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    >>> report(body, source="openai-chat", target="anthropic-messages").survives("sampling.seed")
    False
    """
    way = f"{source} -> {target}, {kind}"
    if kind == "stream":
        stream = convert_stream(body, source=source, target=target, **options)
        events = list(stream)
        return Report(events, stream.losses, way)
    done = convert(body, source=source, target=target, kind=kind, **options)
    return Report(done.value, done.losses, way)
