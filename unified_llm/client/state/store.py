"""State that a request requires, of upstreams that keep none, and the store that keeps it instead.

`previous_response_id`, `conversation` and `background` name something that a provider keeps. Sent to one that keeps
nothing they would be dropped, and the model would answer without the conversation. So they are resolved in the client's
store, or the request is refused before anything is sent.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, Protocol

from ...engine.adapter import Adapter
from ...engine.registry import split
from ...foundation.errors import APIError, CapabilityRefused, InvalidRequestError, NotFoundError
from ...foundation.hints import Code, Each, Hint, Piece
from ...foundation.usage_errors import InvalidArgument
from ...losses import Loss, Losses
from ...passes.convert import Converted
from ..upstreams.upstream import Upstream

__all__ = ["PREVIOUS", "MemoryStore", "Store", "check_state", "continued", "has_names", "recalled", "takes", "threaded",
           "unknown", "with_own_store", "without_background", "without_beta", "without_thread"]  # fmt: skip

Node = dict[str, Any]

PREVIOUS = "previous_response_id"
_STATE = {PREVIOUS: "state.previous_response", "conversation": "state.conversation", "background": "state.background"}
_REMEDY: dict[str, Piece] = {
    PREVIOUS: Code("pass previous=<the result>, or keep answers with Client(store=MemoryStore())"),
    "conversation": Code("pass the items as input=, or previous=<the result>"),
    "background": Hint("leave it out", Each((Code("keep answers with Client(store=MemoryStore())"),), before=", or ")),
}


class Store(Protocol):
    """Where a client keeps answers, so that a later request can go on from them by their id.

    A turn is JSON: `previous` (an id or None), `input` and `output` (canonical items), `response` (the canonical
    answer), `upstream` (who gave it). A store is used by several threads.

    >>> import unified_llm as ul
    >>> client = ul.Client(model="local/echo", protocol="openai-chat", store=ul.MemoryStore())
    >>> first = client.responses.create(input="One.")
    >>> len(client.responses.create(input="Two.", previous_response_id=first.id).items)
    4
    """

    def get(self, id: str) -> Mapping[str, Any] | None:
        """The turn that was kept under an id; None where there is none."""

    def put(self, id: str, turn: Mapping[str, Any]) -> None:
        """Keep a turn."""

    def delete(self, id: str) -> bool:
        """Forget a turn; whether there was one."""


class MemoryStore:
    """A `Store` in memory. It keeps the `limit` turns that were used last, and can be copied and pickled with them.

    >>> store = MemoryStore()
    >>> store.put("resp_1", {"previous": None, "input": [], "output": []})
    >>> store.get("resp_1") is not None, store.get("resp_2")
    (True, None)
    """

    def __init__(self, limit: int = 10_000) -> None:
        if type(limit) is not int or limit < 0:
            raise InvalidArgument(f"limit: not a whole number of at least 0: {limit!r}")
        self.limit = limit
        self._turns: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"MemoryStore({len(self._turns)} of at most {self.limit} turns)"

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # a copy or a pickle has a lock of its own
            return {"limit": self.limit, "turns": list(self._turns.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["limit"])  # type: ignore[misc]
        self._turns.update(state["turns"])

    def get(self, id: str) -> Mapping[str, Any] | None:
        """The turn that was kept under an id; None where there is none."""
        with self._lock:
            turn = self._turns.get(id)
            if turn is not None:
                self._turns.move_to_end(id)
            return turn

    def put(self, id: str, turn: Mapping[str, Any]) -> None:
        """Keep a turn."""
        with self._lock:
            self._turns[id] = turn
            self._turns.move_to_end(id)
            while len(self._turns) > self.limit:
                self._turns.popitem(last=False)

    def delete(self, id: str) -> bool:
        """Forget a turn; whether there was one."""
        with self._lock:
            return self._turns.pop(id, None) is not None


def takes(known: Adapter, name: str) -> str | None:
    """The field of a protocol's requests for a canonical setting; None where it has none."""
    table = known.settings.get("request")
    return table.wire_key((name,)) if table is not None else None


def check_state(body: Any, source: str | None, upstream: Upstream) -> None:
    """Raise `CapabilityRefused` for a request that requires state which its upstream does not keep.

    `body` is canonical, or a wire document of `source`, whose own client gets `background` done at once instead.
    """
    if type(body) is not dict:
        return
    known = split(upstream.protocol)[0]
    given = None if source is None else split(source)[0]
    for name, capability in _STATE.items():
        key = name if given is None else takes(given, name)
        if key is None or not body.get(key) or (given is not None and name == "background"):
            continue
        if takes(known, name) is None or (given is not None and given is not known and name != PREVIOUS):
            remedy = _REMEDY[name]
            why = Hint(f"{upstream.name} ({known.title}) does not keep it", Each((remedy,), before="; "))
            raise CapabilityRefused(f"/{key}", capability, why)


def without_thread(body: Any, source: str | None, upstream: Upstream) -> Any:
    """A wire document of `source` without the field by which its conversation is kept, for an upstream that keeps none.

    A request that begins a conversation has all of it. Raises `NotFoundError` or `InvalidRequestError`, as the API does
    for a name that is unknown, for one that goes on from an answer: its client then sends the whole conversation.
    """
    given = None if source is None else split(source)[0]
    if given is None or has_names(given, upstream) or not threaded(body, given):
        return body
    assert given.thread is not None
    field, name = given.thread.field, continued(body, given)
    if name is not None:
        raise unknown(name, field, given.unknown_previous)
    return {key: value for key, value in body.items() if key != field}


def without_background(done: Converted, source: str, upstream: Upstream) -> Converted:
    """A converted request without `background`, for an upstream of another protocol than its client's.

    The client looks for the answer at its own surface, which has what it was sent and not what the upstream goes on to
    make. So the answer is awaited, whether the protocol has `background` or not: it is there when it is looked for.
    """
    given, known = split(source)[0], split(upstream.protocol)[0]
    theirs, field = takes(given, "background"), takes(known, "background")
    if given is known or theirs is None or type(done.value) is not dict:
        return done
    kept = [loss for loss in done.losses if (loss.path, loss.fate) != (f"/{theirs}", "lost")]
    is_asked = field is not None and bool(done.value.get(field))
    if not is_asked and len(kept) == len(done.losses):
        return done
    value = {key: each for key, each in done.value.items() if key != field} if is_asked else done.value
    loss = Loss(f"/{theirs}", _STATE["background"], "emulated", "awaited at once", "source")
    return replace(done, value=value, losses=Losses([*kept, loss]))


def with_own_store(done: Converted, source: str, where: str) -> Converted:
    """A converted request whose `store` is not lost with an upstream that keeps no answers: they are kept `where`."""
    path = f"/{takes(split(source)[0], 'store')}"
    if not any((loss.path, loss.fate) == (path, "lost") for loss in done.losses):
        return done
    own = Loss(path, "state.store", "emulated", where, "source")
    return replace(done, losses=Losses([own if loss.path == path else loss for loss in done.losses]))


def without_beta(http: Mapping[str, Any], source: str, upstream: Upstream) -> Mapping[str, Any]:
    """What a request has outside of its body, without the header of threads for a server that may have none."""
    given = split(source)[0]
    name, word = given.thread.beta if given.thread is not None else ("", "")
    headers = http.get("headers") or {}
    if name not in headers or given is not split(upstream.protocol)[0] or has_names(given, upstream):
        return http
    words = [each for each in map(str.strip, str(headers[name]).split(",")) if each != word]
    kept = {key: value for key, value in headers.items() if key != name}
    return {**http, "headers": {**kept, name: ",".join(words)} if words else kept}


def has_names(known: Adapter, upstream: Upstream) -> bool:
    """Whether an upstream may have the names that a surface gives its answers."""
    if known is not split(upstream.protocol)[0]:
        return False
    return known.thread is None or upstream.provider in known.thread.providers


def threaded(body: Any, known: Adapter) -> bool:
    """Whether a request has the field by which its conversation is kept."""
    return known.thread is not None and type(body) is dict and type(body.get(known.thread.field)) is dict


def continued(body: Any, known: Adapter) -> str | None:
    """The id of the answer that a request goes on from, a setting of it or in the field of its thread; None without."""
    if type(body) is not dict:
        return None
    if known.thread is None:
        name = body.get(takes(known, PREVIOUS))
    else:
        name = body[known.thread.field].get(known.thread.key) if threaded(body, known) else None
    return name if type(name) is str else None


def recalled(store: Store, id: str) -> list[Node]:
    """The conversation up to an answer, as canonical items. Raises `NotFoundError` for an answer that is not kept."""
    turns: list[Mapping[str, Any]] = []
    at: str | None = id
    while at is not None:
        turn = store.get(at)
        if turn is None:
            raise unknown(at)
        turns.append(turn)
        at = turn.get("previous")
    return [item for turn in reversed(turns) for item in (*turn["input"], *turn["output"])]


def unknown(id: str, key: str = PREVIOUS, status: int = 404) -> APIError:
    """The error of an unknown id, in the words of the field that names it, with a protocol's own status."""
    what = key.removesuffix("_id")
    message = f"{what.replace('_', ' ').capitalize()} with id '{id}' not found."
    fields = {"type": "not_found", "code": f"{what}_not_found", "param": key, "message": message}
    if status == 404:
        return NotFoundError(message, error=fields, status=status)
    return InvalidRequestError(message, error={**fields, "type": "invalid_request"}, status=status)
