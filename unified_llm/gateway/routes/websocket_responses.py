"""The responses of one socket: continued by their id without being stored, and forgotten when it closes.

What its client stores is in the database as well. A continuation that failed forgets the response that it named, as
the API does: the client begins anew with the whole conversation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from ...client.state.response_memory import Turn, keeps
from ...engine.registry import adapter
from ...foundation.errors import InvalidRequestError
from ...passes.reading import read
from ..access.callers import Key
from ..requests.body import Peek
from ..state.files import FileStore
from ..state.stored_responses import Recalled, Turns

__all__ = ["SocketTurns"]


class _Checked(Recalled):
    """A history with the calls that a continuation has results of."""

    def recalled(self, body: Any, surface: str, asked: Any, caller: str = "") -> Any:
        whole = super().recalled(body, surface, asked, caller)
        if whole is not body and self.history is not None:
            _check_results(whole, surface)
        return whole


class SocketTurns(Turns):
    """The stored responses of a gateway, and those that one socket remembers.

    `limit` is how many bytes these have together with the messages that wait (`make_room`).
    """

    memory: type[Recalled] = _Checked

    def __init__(self, turns: Turns, limit: int) -> None:
        super().__init__(turns.store, turns.settings)
        self.files: FileStore = turns.files  # with the budget of the process
        self.claims: WeakValueDictionary[tuple[str, str], Any] = turns.claims
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, tuple[Turn, str]] = OrderedDict()

    async def claim(self, tenant: str, id_: str, owner: Any) -> bool:
        """As for a response that is stored; what this socket remembers is not free either."""
        return id_ not in self._kept and await super().claim(tenant, id_, owner)

    def remembers(self, surface: str, found: Peek) -> bool:
        """Whether a client can go on from its response, stored or not."""
        return bool(keeps(surface))

    def keep(self, id_: str, turn: Turn, lane: str) -> None:
        """Remember a response that was made on a lane, in place of one with the same id."""
        if id_ in self._kept:
            self._size -= self._kept.pop(id_)[0].size
        self._kept[id_] = turn, lane
        self._size += turn.size

    def make_room(self, waiting: int) -> None:
        """Forget the oldest responses, so that the others and `waiting` bytes of messages are within the limit."""
        while self._kept and self._size + waiting > self._limit:
            _, (oldest, _) = self._kept.popitem(last=False)
            self._size -= oldest.size

    def evict(self, id_: str, lane: str) -> None:
        """Forget a response whose continuation failed, unless it was made on another lane, which may go on from it."""
        if id_ in self._kept and self._kept[id_][1] == lane:
            self._size -= self._kept.pop(id_)[0].size

    async def past(self, key: Key, found: Peek) -> list[Turn] | None:
        """The history of a request, from the socket as far as it goes back."""
        turns: list[Turn] = []
        seen: set[str] = set()
        named = found.previous
        while isinstance(named, str) and named in self._kept:
            if named in seen:  # an upstream that gives one id to several responses
                return None
            seen.add(named)
            self._kept.move_to_end(named)
            turns.append(self._kept[named][0])
            named = turns[-1].before
        stored = await super().past(key, found._replace(previous=named or None))
        if not turns:
            return stored
        earlier = stored or [] if not named else stored
        return None if earlier is None else [*turns, *earlier]


def _check_results(body: Mapping[str, Any], surface: str) -> None:
    """Raise `InvalidRequestError` for the result of a call that is nowhere in the conversation."""
    rules = adapter(surface).repair
    request: Any = read(body, surface)
    items: Sequence[Any] = request.input if isinstance(request.input, list) else []
    if rules is None:
        return
    called: set[Any] = set()
    for item in items:
        kind, call = str(getattr(item, "type", "")), getattr(item, "call_id", None)
        if kind in rules.calls:
            called.add(call)
        elif kind in rules.calls.values() and call is not None and call not in called:
            message = f"No tool call found for {kind.replace('_', ' ')} with call_id {call}."
            fields = {"type": "invalid_request", "message": message, "param": "input"}
            raise InvalidRequestError(message, error=fields, status=400)
