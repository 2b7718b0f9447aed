"""Answers that a client goes on from by their id, where the provider that gave them keeps none under it.

Some surfaces let a client name the answer that it goes on from, instead of sending the conversation. Over another
protocol that name means nothing. So requests and answers are remembered here as the client saw them, and put
in front of its next request: a client that names its past becomes one that sends it. An unknown name is an
error, as it is with the surface's own provider, and never a conversation without its past. Memory is bounded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple

from ...engine.adapter import Adapter
from ...engine.pairs.reading import Reader
from ...engine.registry import adapter, provider_of, split
from ...foundation.errors import InvalidBody, ProtocolError
from ...foundation.json_codec import parse
from ...foundation.secret import Secret
from ...passes.convert import write
from ...provenance.opaque import looks_sealed, open_sealed, seal
from ...provenance.returned_answers import opened
from ...streams.collect_and_decompose import Collector, checked, collect
from ...streams.framings.jsonarray import StreamDecoder
from ...streams.framings.sse import parse_data
from ...streams.grammar import CLASS
from ..upstreams.upstream import Upstream
from .repeated_answers import without_repeats
from .store import continued, has_names, takes, threaded, unknown

__all__ = ["Memory", "Turn", "answer", "asked", "begun", "compacted", "keeps", "turn_items", "with_history"]

Node = dict[str, Any]
PREVIOUS = "previous_response_id"
_COMPACTED = "compacted"
_Name = tuple[str, str, str]  # the caller, the surface and the id: servers of two surfaces may count alike


@lru_cache(64)
def keeps(surface: str) -> str:
    """The field in which a surface's client names the answer that it goes on from, "" where it has none.

    >>> keeps("openai-responses"), keeps("openai-chat")
    ('previous_response_id', '')
    """
    table = adapter(surface.partition(":")[0]).settings.get("request")
    return (table.wire_key((PREVIOUS,)) if table is not None else None) or ""


class Turn(NamedTuple):
    """A request and what was answered, in the client's own bytes; `before` names the answer it went on from."""

    caller: str
    surface: str
    asked: bytes
    before: str
    answered: Sequence[bytes]
    stream: bool

    @property
    def size(self) -> int:
        """Bytes of the request and of the response, as far as they are kept."""
        return len(self.asked) + sum(map(len, self.answered))


class Memory:
    """Requests and answers over surfaces that name answers; the least recently used are dropped first.

    `limit` is in bytes. Nothing is read before it is used: most clients send their history. What is
    kept for one caller is unknown to every other. `secret` is that of the envelopes in what clients were sent. It may
    be used by several threads.
    """

    place: str = "kept in the memory of this process"

    def __init__(self, limit: int = 32_000_000, secret: Secret | None = None) -> None:
        self.limit = limit
        self.secret = secret
        self._turns: OrderedDict[int, Turn] = OrderedDict()
        self._names: dict[_Name, int] = {}
        self._named: dict[int, _Name] = {}
        self._nameless: deque[int] = deque()
        self._count = self._size = 0
        # A turn whose name is being found out is in no list: who looks for it meanwhile would not find it.
        self._lock = Lock()

    def recalled(self, body: Any, surface: str, asked: Sequence[Upstream], caller: str = "") -> Any:
        """`body` with its past, where it names one that is remembered.

        Raises `NotFoundError` or `InvalidRequestError`, as the API does, for a name that is unknown to this memory and
        to every upstream.
        """
        conversation = takes(split(surface)[0], "conversation")
        if conversation and type(body) is dict and body.get(conversation) and not _some(surface, asked):
            named = body[conversation]
            raise unknown(str(named.get("id") if type(named) is dict else named), conversation)
        known = split(surface)[0]
        name = continued(body, known)
        if name is None:
            return with_history(body, surface, [], self.secret) if self._is_compacted(body, surface) else body
        turns = self.turns(name, surface, caller)
        if turns is not None:
            # Envelopes stay closed, as in a conversation that a client sends: what is in them may have no form here.
            earlier = (parse(turn.asked) for turn in turns if b'"compaction"' in turn.asked)
            whole = any(self._is_compacted(each, surface) for each in (body, *earlier))
            secret = self.secret if whole else None
            past: list[Node] = []
            for turn in reversed(turns):
                past += without_repeats(_request_items(turn, secret), past)
                past += _answer_items(turn, secret)
            return with_history(_with_settings(body, turns, known), surface, past, secret)
        if _some(surface, asked):
            return body
        raise unknown(name, keeps(surface) if known.thread is None else known.thread.field, known.unknown_previous)

    def _is_compacted(self, body: Any, surface: str) -> bool:
        """Whether an item of a request is a compaction of ours (`compacted`), and not one of a provider's."""
        items = body.get("input") if self.secret is not None and type(body) is dict else None
        if type(items) is not list:
            return False
        texts = [
            item.get("encrypted_content")
            for item in items
            if type(item) is dict and item.get("type") == "compaction" and looks_sealed(item)
        ]
        reader = _reader(surface, self.secret)
        found = [open_sealed(text, None, reader) for text in texts if type(text) is str]
        return any(type(node.get(_COMPACTED)) is list for node in found if node is not None)

    def follow(self, reply: Any, surface: str, asked: bytes, body: Any, whose: Upstream, caller: str = "") -> None:
        """Remember the answer `reply`, once it is whole, if its client may go on from it and who gave it keeps none."""
        known = split(surface)[0]
        if not (keeps(surface) or threaded(body, known)) or has_names(known, whose):
            return
        if type(body) is not dict or body.get("store") is False:
            return
        keep = partial(self.keep, surface, asked, body, caller=caller)
        if reply.stream is None:
            keep([reply.content])
        else:
            reply.stream.keep = keep

    def keep(
        self,
        surface: str,
        asked: bytes,
        body: Node,
        answered: Sequence[bytes],
        stream: bool = False,
        caller: str = "",
    ) -> None:
        """Remember a request and its answer.

        The answer's name is read on the first lookup. In a thread it is read at once, and unknown where an earlier
        answer had it: there the client can send the whole conversation.
        """
        known = split(surface)[0]
        turn = Turn(caller, surface, asked, continued(body, known) or "", answered, stream)
        with self._lock:
            self._count += 1
            self._turns[self._count] = turn
            if known.thread is None:
                self._nameless.append(self._count)
            else:
                self._name(self._count, turn)
            self._size += turn.size
            while self._size > self.limit and self._turns:
                number, oldest = self._turns.popitem(last=False)
                self._names.pop(self._named.pop(number, ("", "", "")), None)
                if self._nameless and self._nameless[0] == number:
                    self._nameless.popleft()
                self._size -= oldest.size

    def _name(self, number: int, turn: Turn) -> None:
        given = answer(turn, self.secret)
        if given is not None and type(given.get("id")) is str:
            key = (turn.caller, turn.surface, given["id"])
            if key in self._names:
                self._names[key] = 0
            else:
                self._names[key], self._named[number] = number, key

    def _turn(self, name: _Name) -> Turn | None:
        """The turn that an answer's name stands for. Mostly, a client goes on from its last answer."""
        while name not in self._names and self._nameless:
            number = self._nameless.pop()
            turn = self._turns.get(number)
            given = answer(turn, self.secret) if turn is not None else None
            if turn is not None and given is not None and type(given.get("id")) is str:
                key = (turn.caller, turn.surface, given["id"])
                if key not in self._names:
                    self._names[key], self._named[number] = number, key
        number = self._names.get(name, 0)
        turn = self._turns.get(number)
        if turn is not None:
            self._turns.move_to_end(number)
        return turn

    def turns(self, name: str, surface: str, caller: str = "") -> list[Turn] | None:
        """The turns of a conversation up to an answer, the last first; None where one of them is not remembered."""
        with self._lock:
            return self._past(name, surface, caller)

    def forget(self, name: str, surface: str, caller: str = "") -> None:
        """Forget an answer: it can no longer be continued."""
        key = (caller, surface, name)
        with self._lock:
            self._turn(key)
            number = self._names.pop(key, 0)
            self._named.pop(number, None)
            turn = self._turns.pop(number, None)
            self._size -= turn.size if turn is not None else 0

    def _past(self, name: str, surface: str, caller: str) -> list[Turn] | None:
        turns: list[Turn] = []
        while name:
            turn = self._turn((caller, surface, name))
            if turn is None:
                return None
            turns.append(turn)
            name = turn.before
        return turns


def _some(surface: str, asked: Sequence[Upstream]) -> bool:
    """Whether one of the upstreams may have the names of a surface."""
    known = split(surface)[0]
    return any(has_names(known, each) for given in asked for each in (given, *given.others))


def _with_settings(body: Node, turns: Sequence[Turn], known: Adapter) -> Node:
    """The request that continues a thread as one of its own, with the settings that its first one had."""
    if known.thread is None or not turns:
        return body
    given = parse(turns[-1].asked)
    kept = {key: given[key] for key in known.thread.settings if key in given}
    return {**kept, **{key: value for key, value in body.items() if key != known.thread.field}}


def with_history(body: Node, surface: str, past: list[Node], secret: Secret | None) -> Any:
    """The request `body` with `past` in front of it, and with what was compacted (`compacted`) in full."""
    reader = _reader(surface, secret)
    node = reader.root(reader.adapter.kinds["request"].read, body)
    node.pop(PREVIOUS, None)
    node["input"] = opened(_in_full([*past, *without_repeats(_input_items(node), past)]), reader)
    return write(node, surface, "request", facing="client", secret=secret).value


def _in_full(items: list[Node]) -> list[Node]:
    """Items with those that a compaction of ours stands for in its place."""
    if not any(type(item.get(_COMPACTED)) is list for item in items):
        return items
    return [each for item in items for each in item.get(_COMPACTED) or [item]]


def compacted(body: Node, surface: str, secret: Secret) -> Node:
    """The canonical compaction of the conversation in `body`: an envelope with all of it, made without a model."""
    reader = _reader(surface, secret)
    items = _input_items(reader.root(reader.adapter.kinds["request"].read, body))
    node = {"type": "compaction", _COMPACTED: _in_full(items)}
    piece = {"kind": "encrypted_content", "data": seal(node, "", secret)}
    return {"type": "compaction", "opaque": [piece]}


def turn_items(turn: Turn, secret: Secret | None) -> Iterator[Node]:
    """Yield the items of a turn: those of the request, then those of the response."""
    yield from _request_items(turn, secret)
    yield from _answer_items(turn, secret)


def _answer_items(turn: Turn, secret: Secret | None) -> list[Node]:
    return (answer(turn, secret) or {}).get("output") or []


def _request_items(turn: Turn, secret: Secret | None) -> list[Node]:
    reader = _reader(turn.surface, secret)
    return _input_items(reader.root(reader.adapter.kinds["request"].read, parse(turn.asked)))


def _input_items(node: Node) -> list[Node]:
    given = node.get("input")
    return given if type(given) is list else [{"type": "message", "role": "user", "content": given}] if given else []


def asked(turns: Sequence[Turn]) -> list[Node]:
    """The canonical items that the last answer of a conversation (the first of `turns`) was given for, as sent."""
    earlier = [item for turn in reversed(turns[1:]) for item in turn_items(turn, None)]
    return [*earlier, *_request_items(turns[0], None)]


def answer(turn: Turn, secret: Secret | None = None) -> Node | None:
    """The canonical answer; None for a stream that did not come to its end. Envelopes are opened with the secret."""
    reader = _reader(turn.surface, secret)
    if not turn.stream:
        node: Node = reader.root(reader.adapter.kinds["response"].read, parse(b"".join(turn.answered)))
        return node
    try:
        return collect(_events(turn, reader))
    except ProtocolError:
        return None


def begun(turn: Turn, secret: Secret | None = None) -> list[Node]:
    """The items that a stream began, as far as they got; those that it did not end are incomplete."""
    collector = Collector()
    with suppress(InvalidBody, ProtocolError):  # what is behind it is not read
        for event in _events(turn, _reader(turn.surface, secret)):
            if CLASS.get(event["type"]) != "end":
                collector.feed(event)
    collector.settle()
    items = [item for place, item in sorted(collector.items.items()) if place[0] == 0]
    return [{**each, "status": "incomplete"} if each.get("status") == "in_progress" else each for each in items]


def _events(turn: Turn, reader: Reader) -> Iterator[Node]:
    """The canonical events of a stream."""
    decoder = StreamDecoder()
    events = [*decoder.feed(b"".join(turn.answered)), *decoder.close()]
    wires = [{"event": event["event"], "data": parse_data(event["data"])} for event in events]
    return checked(reader.adapter.streams.reader(reader), wires)


def _reader(surface: str, secret: Secret | None) -> Reader:
    known, dialect = split(surface)
    provider = provider_of(surface, dialect)
    reader = Reader(known, dialect=dialect, facing="client", provider=provider, opens=secret is not None, secret=secret)
    reader.escapes = False  # a client was shown it in this spelling
    return reader
