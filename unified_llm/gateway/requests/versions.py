"""A published specification of a surface: chosen by a header that names its version, or by the path.

Clients of the specification get its own form of documents, events and errors. A version that is unknown is refused;
the one that a response follows is in its headers.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...client.transports.route_matching import Match, surface_of
from ...engine.registry import adapter
from ..responses.replies import Refusal

__all__ = ["answered_version", "versioned"]


def versioned(match: Match, path: str, headers: Mapping[str, str]) -> Match:
    """The match with the dialect of the specification, where the client uses it. Raises `Refusal` (400)."""
    known = adapter(match.protocol).specification
    if known is None:
        return match
    given = headers.get(known.header)
    if given is not None and given not in known.versions:
        reason = f"unknown {known.header} {given!r}; use one of {', '.join(known.versions)}"
        raise Refusal(400, "invalid_request", reason, code="unsupported_version")
    return match._replace(protocol=surface_of(match, path, headers))


def answered_version(match: Match, headers: Mapping[str, str]) -> dict[str, str]:
    """The header of a response with the version that it follows; none for other clients."""
    known = adapter(match.protocol).specification
    if known is None or ":" not in match.protocol:
        return {}
    return {known.header: known.versions.get(headers.get(known.header, ""), known.version)}
