"""What a provider sent back, as canonical documents and events, as the caller knows them.

The same reading as a conversion's, and the same undoing of what the request was changed by (names, ids, schemas), but
nothing is written: the canonical form is where the client lives. No I/O; sync and async feed the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...engine.pairs.mapping import ILL_TYPED
from ...engine.pairs.reading import Reader
from ...engine.registry import provider_of, split
from ...engine.shared.answer_ends import FAILED
from ...passes.restore_response import RestoringWriter, restoring
from ...passes.route import kind_of
from ...streams.collect_and_decompose import FRAME, Collector, Grammar

if TYPE_CHECKING:
    from ...foundation.exchange import Exchange

__all__ = ["EventReader", "read_answer", "read_usage"]

Node = dict[str, Any]
Event = dict[str, Any]


def _reader(protocol: str, exchange: Exchange | None, provider: str | None, scope: str | None, http: Any) -> Reader:
    adapter, dialect = split(protocol)
    reader = Reader(
        adapter,
        dialect=dialect,
        facing="provider",
        model=exchange.model if exchange else None,
        http=http,
        provider=provider_of(protocol, dialect) or provider,
        scope=scope or (exchange.scope if exchange else None),
    )
    if exchange is not None:
        reader.seed, reader.exchange = exchange.seed, exchange
    return reader


def read_answer(
    value: Any,
    protocol: str,
    kind: str = "response",
    *,
    exchange: Exchange | None = None,
    provider: str | None = None,
    scope: str | None = None,
    http: Mapping[str, Any] | None = None,
) -> Any:
    """The canonical document of a wire answer, in JSON form, with what was changed in the request turned back."""
    reader = _reader(protocol, exchange, provider, scope, http)
    node = reader.root(kind_of(split(protocol)[0], kind).read, value)
    undoing = restoring(exchange) if kind == "response" else None
    return undoing.response(node) if undoing is not None and type(node) is dict else node


def read_usage(value: Mapping[str, Any], protocol: str) -> Node | None:
    """The canonical usage of a wire response, as `{"usage": ...}`; None where the whole response has to be read."""
    read = split(protocol)[0].usage
    if read is None:
        return None
    try:
        return {"usage": read(value, _reader(protocol, None, None, None, None))}
    except ILL_TYPED:
        return None


class _Through:
    """A writer that writes nothing: events as they are."""

    def feed(self, event: Event) -> list[Event]:
        return [event]

    def close(self) -> list[Event]:
        return []


class EventReader:
    """Wire events of one stream to canonical ones, and the response they amount to (`.response`, None before its end).

    `failure` is the canonical error that the stream ended with, if it did. `watch` is called with each event as the
    provider sent it: an event of text that has to be restored comes out of the reader only when the text is complete.
    """

    def __init__(
        self,
        protocol: str,
        *,
        exchange: Exchange | None = None,
        provider: str | None = None,
        scope: str | None = None,
        resumed: bool = False,
    ) -> None:
        adapter, _ = split(protocol)
        reading = _reader(protocol, exchange, provider, scope, None)
        self.protocol: str = adapter.protocol
        self._reader = adapter.streams.reader(reading)
        undoing = restoring(exchange)
        self._writer = _Through() if undoing is None else RestoringWriter(_Through(), undoing, reading)
        # What began before the place where it is taken up again has no beginning here.
        self._grammar = None if resumed else Grammar()
        self._collector = Collector()
        self.failure: Node | None = None
        self.watch: Callable[[Event], None] | None = None
        self.last: str | int | None = None

    @property
    def response(self) -> Node | None:
        """The canonical response, once the stream has ended as streams should."""
        return self._collector.response if self._collector.ended else None

    @property
    def partial(self) -> Node:
        """What there is of the response so far: the items that were begun, as far as they got."""
        self._collector.settle()
        items = [item for place, item in sorted(self._collector.items.items()) if place[0] == 0]
        return {**self._collector.response, "output": items}

    def feed(self, event: Event) -> list[Event]:
        """The canonical events of one wire event, without the frames that mean nothing."""
        return self._seen(self._reader.feed(event))

    def close(self) -> list[Event]:
        """The end of the wire stream; a stream that was cut off ends with its failure, never with a success."""
        out = self._seen(self._reader.close())
        if self._grammar is not None and self.failure is None:
            self._grammar.close()
        return out

    def _seen(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for raw in events:
            if self._grammar is not None:
                self._grammar.feed(raw)
            if self.watch is not None:
                self.watch(raw)
            for event in self._writer.feed(raw):
                kind = event["type"]
                if kind == FRAME:
                    continue
                if kind == "error":
                    self.failure = event.get("error") or event
                elif kind == "response.failed" and self.failure is None:
                    told = event["response"].get("error") or {}
                    self.failure = {"type": "server_error", "message": FAILED, **told}
                self._collector.feed(event)
                out.append(self._bare(event))
        return out

    def _bare(self, event: Event) -> Event:
        """An event without the frame it came in, which only its own protocol's writer needs."""
        extra = event.get("extra")
        drawer = extra.get(self.protocol) if extra else None
        if not drawer or "frame" not in drawer:
            return event
        kept = {slot: value for slot, value in drawer.items() if slot != "frame"}
        out = {key: value for key, value in event.items() if key != "extra"}
        return {**out, "extra": {self.protocol: kept}} if kept else out
