"""What follows from the head of a request: the route, the key, the version, the headers of the response.

A client sends the same head again and again, but for the length of the body. A head that was admitted is admitted
again, until the configuration changes, and nothing of it is worked out twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from ...client.transports.route_matching import Match, recognize
from ..access.callers import Access, Key
from ..configuration.config import GatewaySettings
from ..responses.replies import Receive, Refusal, Scope, Whole, allowed_methods, json_reply, stopping
from ..responses.watch import was_stopped
from ..routes.files import Files
from ..state.store import StoreUnavailable
from ..state.stored_responses import unavailable
from ..telemetry.recorder import note
from .body import check_media_type, has_json, read_body
from .head import LENGTH, Head
from .versions import answered_version, versioned

__all__ = ["Admission", "Admitted", "Known", "known_by", "probe"]

Known = tuple[Any, ...]
"""A head as it came, without the length of the body."""

_LIVE = frozenset(("/health/live", "/health/liveliness", "/health/liveness"))
_READY = frozenset(("/health/ready", "/health/readiness", "/health"))
_MOST, _LONGEST = 1_000, 4_000  # heads that are kept, and bytes of one
_RAW_LENGTH = LENGTH.encode()


class Admitted(NamedTuple):
    """A head that was admitted. `route` is the match before a version of its protocol was chosen.

    `most` are the bytes that the body may have, where it may be larger than others, and `coding` is how it is
    compressed; `is_json` is whether it has a media type of JSON. `headers` are those of the response, and `shown` those
    of the request that are part of a conversion.
    """

    head: Head
    route: Match
    match: Match
    key: Key
    most: int | None
    headers: Mapping[str, str]
    shown: dict[str, str]
    coding: str
    is_json: bool

    async def content(self, receive: Receive, length: str, limits: GatewaySettings) -> bytes:
        """The body, with the length that the head declares. Raises `Refusal` and `Disconnected`."""
        try:
            content = await read_body(receive, self.coding, length, limits, self.most)
        except asyncio.CancelledError:
            if not was_stopped():
                raise
            raise stopping() from None
        if content and not self.is_json and self.most is None:
            check_media_type(self.head.headers)
        return content


def known_by(scope: Scope) -> tuple[Known, str]:
    """A head as it came, and the length of the body that it declares."""
    length, raw = b"", []
    for pair in scope["headers"]:
        if pair[0] == _RAW_LENGTH:
            length = pair[1]
        else:
            raw.append(pair)
    where = scope.get("raw_path") or scope["path"]
    return (scope["method"], where, scope["query_string"], scope.get("scheme"), *raw), length.decode("latin-1")


def _size(known: Known) -> int:
    """The bytes of a head."""
    _, path, query, _, *headers = known
    return len(path) + len(query) + sum(len(name) + len(value) for name, value in headers)


class Admission:
    """Who is admitted by one configuration."""

    def __init__(self, access: Access, files: Files) -> None:
        self._access, self._files = access, files
        self._kept: dict[Known, Admitted] = {}

    def kept(self, known: Known) -> Admitted | None:
        """What a head was admitted as before."""
        return self._kept.get(known)

    async def admit(self, head: Head, known: Known) -> Admitted:
        """Admit a head. Raises `Refusal`."""
        route = recognize(head.method, head.path, head.headers)
        note(match=route)
        # The URL of an upload admits by itself, and only until the upload is complete.
        secret = self._files.secret(route, head.query, head.headers)
        key = await self._uploading(secret, head) if secret else self._access.admit(head.headers, head.query)
        note(key=key)
        matched = route if route is not None else _unmatched(head)
        match = versioned(matched, head.path, head.headers)
        headers = {**self._access.cors(head.headers), **answered_version(match, head.headers)}
        coding, is_json = head.headers.get("content-encoding", "").strip().lower(), has_json(head.headers)
        found = Admitted(head, matched, match, key, self._files.limit(match), headers, head.shown, coding, is_json)
        if not secret and _size(known) <= _LONGEST:
            self._kept[known] = found
            if len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
        return found

    async def _uploading(self, secret: str, head: Head) -> Key:
        try:
            return await self._files.admit(secret, head.headers, self._access)
        except StoreUnavailable:
            raise unavailable() from None


def _unmatched(head: Head) -> NoReturn:
    allowed = allowed_methods(head.path, head.headers)
    if allowed:
        reason = f"{head.path} has no {head.method}; it has {', '.join(allowed)}"
        raise Refusal(405, "invalid_request", reason, code="method_not_allowed", headers={"allow": ", ".join(allowed)})
    raise Refusal(404, "not_found", f"unknown route {head.method} {head.path}", code="unknown_route")


async def probe(head: Head, draining: bool, stores: Callable[[], Awaitable[bool]] | None) -> Whole | None:
    """The response to a probe, which needs neither key nor protocol; None for any other request.

    `stores` is whether responses can be stored, where they have to be.
    """
    if head.path not in _LIVE and head.path not in _READY and head.path != "/":
        return None
    if head.method not in ("GET", "HEAD"):
        raise Refusal(405, "invalid_request", f"{head.path} has no {head.method}", headers={"allow": "GET, HEAD"})
    if head.path in _READY and draining:
        return json_reply({"status": "stopping"}, 503, {"retry-after": "5"})
    if head.path in _READY and stores is not None and not await stores():
        return json_reply({"status": "without database"}, 503, {"retry-after": "5"})
    return json_reply({"status": "ok"})
