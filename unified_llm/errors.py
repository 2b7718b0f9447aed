"""The few things that can go wrong, each class with what the caller can do about it (the table is in docs/errors.md).

A conversion either returns a whole value or raises one of these; it never prints, retries or half finishes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .losses import Losses

__all__ = [
    "CapabilityLost",
    "CapabilityRefused",
    "InvalidBody",
    "LocalProtocolError",
    "ProtocolError",
    "RemoteProtocolError",
    "UnifiedLLMError",
    "UnknownModel",
    "UnknownProtocol",
    "UnknownProvider",
]


class UnifiedLLMError(Exception):
    """Base of every error this library raises on purpose."""


class InvalidBody(UnifiedLLMError, ValueError):
    """The input cannot be a document of its protocol: mend the input at `path`.

    `path` is a JSON pointer into what was passed ("" is the whole of it), `reason` one plain sentence.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or '(the whole body)'}: {reason}")
        self.path = path
        self.reason = reason


class UnknownProtocol(UnifiedLLMError, LookupError):
    """No adapter (or no dialect of it) goes by that name: correct the name or install the package that brings it."""


class UnknownProvider(UnifiedLLMError, LookupError):
    """Neither the catalogue nor our own table has a provider of that name: correct it, or name a URL and a protocol.

    `near` are names that may be meant, the likeliest first.
    """

    def __init__(self, name: str, near: list[str]) -> None:
        super().__init__(f"no provider {name!r}{_meant(near)}")
        self.name = name
        self.near = near


class UnknownModel(UnifiedLLMError, LookupError):
    """The catalogue has no such model: correct the name, refresh the catalogue, or do without its facts.

    Requests may still name it: what the catalogue does not know it does not forbid. `near` are names that may be meant,
    the likeliest first; empty for a provider that has no catalogue (`listed` is False).
    """

    def __init__(self, name: str, near: list[str], *, listed: bool = True) -> None:
        why = "" if listed else "; that provider serves what you put on it and lists no models"
        super().__init__(f"no model {name!r} in the catalogue{why}{_meant(near)}")
        self.name = name
        self.near = near
        self.listed = listed


def _meant(near: list[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""


class CapabilityLost(UnifiedLLMError):
    """A loss reached the level `raise`: choose another target, drop the feature, or lower the level.

    `losses` are the ones that tripped the level. `converted` is the finished result, so that an answer that was paid
    for is never thrown away; it is None when a stream was stopped before an event was handed out.
    """

    def __init__(self, losses: Losses, converted: Any = None) -> None:
        named = "; ".join(f"{loss.path} ({loss.capability}, {loss.fate})" for loss in losses[:5])
        more = f" and {len(losses) - 5} more" if len(losses) > 5 else ""
        super().__init__(f"{len(losses)} loss(es) at level raise: {named}{more}")
        self.losses = losses
        self.converted = converted


class CapabilityRefused(UnifiedLLMError):
    """No meaningful document of the target exists for this input, so none is made up."""

    def __init__(self, path: str, capability: str, reason: str) -> None:
        super().__init__(f"{path}: {capability}: {reason}")
        self.path = path
        self.capability = capability
        self.reason = reason


class ProtocolError(UnifiedLLMError):
    """An event came where the stream grammar does not allow it. `status` is the HTTP status a gateway should answer."""

    status = 500

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        if status is not None:
            self.status = status


class LocalProtocolError(ProtocolError):
    """Our side (an adapter or the caller of a writer) sent an illegal event: a bug to report."""

    status = 500


class RemoteProtocolError(ProtocolError):
    """The provider's stream broke off or broke its own rules: treat the answer as failed."""

    status = 502
