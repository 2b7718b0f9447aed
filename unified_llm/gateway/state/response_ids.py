"""The ids of responses that their clients can go on from, each of which names one response of its tenant.

An upstream gives its responses the ids that it likes: some servers count, or draw from a few numbers, so that an id
comes again. A response must not take the place of another one, and a continuation must not go on with another
conversation. Therefore

* a response that was converted gets an id of the gateway: that of its upstream, which is in the provider's logs, and a
  random end;
* a response in its client's own protocol keeps the id of its upstream where that is new, else it gets such an end.

Which of both is decided before anything is shown, because the first event of a stream has the id (ADR 0036).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from ...client.transports.route_matching import Match
from ...client.transports.translator import Reply
from ...engine.registry import adapter, split
from ...foundation.json_codec import dump, parse
from ..requests.body import Peek
from .store import StoreUnavailable
from .stored_responses import Recalled, Turns, data_of, named_in, with_data

__all__ = ["Renaming", "own_id", "renamed"]

_LONGEST = 200  # characters of an upstream's id that one of the gateway's has in it


async def renamed(reply: Reply, match: Match, found: Peek, tenant: str, turns: Turns, recalled: Recalled) -> Reply:
    """The reply with the id that its client gets, where it can go on from the response.

    The id is taken as long as `recalled` lives, or the response is stored.
    """
    surface = match.protocol
    if match.route.kind != "request" or reply.status >= 300 or not turns.remembers(surface, found):
        return reply

    async def is_new(id_: str) -> bool:
        try:
            return bool(id_) and await turns.claim(tenant, id_, recalled)
        except StoreUnavailable:
            return False

    is_own = split(recalled.protocol)[0] is split(surface)[0]
    if reply.stream is not None:
        assert reply.opened is not None
        shown = b"".join(reply.opened.first).replace(b"\r\n", b"\n")
        if not is_own or not await is_new(named_in(shown)[1]):
            reply.stream.alters.append(Renaming(surface).event)
        return reply
    value = parse(reply.content)
    given = value.get("id") if isinstance(value, dict) else None
    if not isinstance(given, str) or not given or (is_own and await is_new(given)):
        return reply
    return replace(reply, content=dump({**value, "id": own_id(surface, given)}))


class Renaming:
    """The events of a stream with another id of their response: `new`, or one of the gateway's."""

    def __init__(self, surface: str, new: str = "") -> None:
        self._surface, self._new = surface, new
        self._field, self._old, self._mark = "", "", b""

    def event(self, events: bytes) -> bytes:
        """One event, or several."""
        self.look(events)
        # Few events have the id: all others are not parsed.
        if not self._mark or self._mark not in events:
            return events
        return b"".join(self._frame(each + b"\n\n") for each in events.split(b"\n\n") if each)

    def look(self, events: bytes) -> None:
        """Find the id of the response in its first events, where it is not known yet."""
        if not self._mark:
            self._field, self._old = named_in(events)
            if self._old:
                self._mark = dump(self._old)
                self._new = self._new or own_id(self._surface, self._old)

    def _frame(self, frame: bytes) -> bytes:
        value = data_of(frame) if self._mark in frame else {}
        node, name = value.get(self._field), f"{self._field}_id"
        changes: dict[str, Any] = {}
        if isinstance(node, dict) and node.get("id") == self._old:
            changes[self._field] = {**node, "id": self._new}
        if value.get(name) == self._old:
            changes[name] = self._new
        return with_data(frame, {**value, **changes}) if changes else frame


def own_id(surface: str, given: str) -> str:
    """An id of the gateway's for a response that its upstream gave another one.

    >>> own_id("openai-responses", "resp_1").startswith("resp_1_"), len(own_id("openai-responses", "x" * 300))
    (True, 37)
    """
    if len(given) > _LONGEST or not given.isprintable():
        return f"{adapter(surface).id_prefix}{uuid4().hex}"
    return f"{given}_{uuid4().hex[:16]}"
