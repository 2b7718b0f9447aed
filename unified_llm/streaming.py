"""The library's front door for streams: wire events to wire events, bytes to bytes, sync and async.

One pipe does the work for all of them: a wire reader, the grammar, a wire writer, and the report. It sees one event at
a time, holds back nothing but what a surface demands, and hands out an event only after its losses were weighed.
Wire events are dicts `{"event": name or None, "data": JSON value or string}`.
"""

from __future__ import annotations

from collections import ChainMap, deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Unpack

from .adapter import NOTHING_MORE, ReadMore, Surface, WireWriter, WriteMore
from .broken_off import BrokenOff, new_losses
from .bulk import ShortWay, short_way
from .convert import Facing, convert
from .custody import LeavingWriter
from .defaults import Weighing, significant
from .exchange import Exchange
from .keywords import StreamKeywords, spelled_out
from .losses import Levels, Loss, Losses, StreamLosses, at_level, check_levels, enforce
from .losses.reasons import with_reasons
from .malformed import FAULTS, refuse_conversion
from .preparing import ends
from .provenance import escaped_all, looks_sealed
from .reading import Reader
from .registry import provider_of, split
from .spans import CitingWriter
from .stream import ADDRESS, ALONE, PASSING, Grammar, aclose, checked, framed
from .trail import Trail
from .unsent import HeldFrames, replayed

if TYPE_CHECKING:
    from .models.names import ProtocolName

__all__ = [
    "ConvertedStream",
    "aconvert_stream",
    "convert_stream",
    "read_stream",
]

Event = dict[str, Any]


class _Pipe:
    reads = True  # whether it starts from a wire
    aloud = False  # whether a stream that was cut off is told to a client of its own protocol too
    repeats = True  # whether the short way is taken where both sides know one; the suite compares it with the long one

    def __init__(
        self,
        source: str,
        target: str,
        *,
        on_loss: Levels = "ignore",
        facing: Facing | None = None,
        exchange: Exchange | None = None,
        trial: Literal["silent", "reporting", ""] = "",  # of what a stream that broke off left unsent
        **options: Any,
    ) -> None:
        check_levels(on_loss)
        self.trial = trial
        self.options = {**options, "facing": facing, "exchange": exchange, "vault": None}
        here, there = Surface(*split(source)), Surface(*split(target))
        self.origin, self.goal = here.adapter, there.adapter
        self.crossing: bool = source != target
        self.reading, self.writing = ends(source, target, here, there, facing or "client", exchange=exchange, **options)
        self.writing.seed = self.reading.seed = exchange.seed if exchange else ""
        if self.origin is self.goal:
            self.reading.escapes = False  # done to the whole event
        self.reader = self.origin.streams.reader(self.reading)
        self.writer: WireWriter = self._writer(exchange)
        self.grammar: Grammar = Grammar()
        self.on_loss = on_loss
        self.losses: StreamLosses = StreamLosses()
        # The last events, of which no more is kept than the reader's notes need: losses are often told a little later.
        self.recent: deque[tuple[int, Any]] = deque(maxlen=64)
        self.weighing: Weighing = Weighing(source, target, "response", exchange, None, here.adapter)
        self.trail: Trail = Trail(self.reading, self.writing, self.origin, self.goal)
        self.broken: BrokenOff = BrokenOff(self.reader, self.reading, self.writing, self.origin, self.goal)
        self.unsent: HeldFrames | None = (
            HeldFrames() if not trial and self.origin is not self.goal and self.reads else None
        )
        self.sent = self.turned = 0
        # The short way of the next event, where there is one, what it is made of, and how many went it since the last
        # that did not.
        self.short: ShortWay | None = None
        self.reads_more: ReadMore | None = None
        self.writes_more = NOTHING_MORE
        self.passed = 0
        self.anew = self._feeder()

    def _writer(self, exchange: Exchange | None) -> WireWriter:
        """The target's writer, behind what turns the answer back where the request was changed."""
        undoing = None
        if exchange is not None:
            from .restoring import RestoringWriter, restoring

            undoing = restoring(exchange)
        # What is held and told later has no place in the frames it came in: they are written anew.
        anew = undoing is not None and undoing.holds and self.origin is self.goal
        if anew:
            self.writing.source = ""
        writer = self.goal.streams.writer(self.writing)
        if self.crossing:
            writer = CitingWriter(writer, self.reading if self.reads else None)
        if self.writing.facing == "client" and (self.crossing or not self.reads or self.writing.vault is not None):
            writer = LeavingWriter(writer, self.reading if self.reads else None, self.writing, self.crossing)
        if undoing is None:
            return writer
        return RestoringWriter(writer, undoing, self.reading, self.goal.protocol if anew else "")

    def feed(self, event: Event) -> list[Event]:
        """The wire events of the next wire event."""
        found = self.short.event(event) if self.short is not None else None
        if found is None:
            return self.anew(event)
        self.passed += 1
        return [found] if found else []

    def _feeder(self) -> Callable[[Event], list[Event]]:
        """The long way of an event, with everything it needs at hand."""
        reading, traced, notes, writing = self.reading, self.reading.traced, self.reading.notes, self.writing
        reader, check, writer = self.reader, self.grammar.feed, self.writer
        read, write = reader.feed, writer.feed
        read_more = getattr(reader, "read_more", None)
        write_more = getattr(writer, "write_more", None) if self.repeats and read_more is not None else None
        noted, own, reading.number, recent = 0, self.origin is self.goal, -1, self.recent
        unsent, items = self.unsent, self.grammar.items

        def anew(event: Event) -> list[Event]:
            nonlocal noted
            self.short = self.reads_more = None
            self._count_passed()
            reading.number += 1  # type: ignore[operator]
            event = framed(event, reading.number)
            try:
                if own and looks_sealed(event["data"]):
                    # Its frames go on as they came, and a client must not be handed what it would take for ours.
                    event = {**event, "data": escaped_all(event["data"])}
                reading.doc = event["data"]
                recent.append((reading.number, reading.doc))
                reading.since = mark = noted
                events = read(event)
                if len(traced()) != noted:
                    # What is kept of a frame is kept with a note, or nobody could say where it came from.
                    noted = len(traced())
                    self._tell(events)
                out = []
                for canonical in events:
                    check(canonical)
                    out += write(canonical)
                if unsent is not None:
                    unsent.feed(reading.number, event, events, items)
                if not own and events:
                    self._follow(events, out)
                if events and write_more is not None:
                    # Nearly all of a stream is more of what the last event brought (see `WritesMore`).
                    how: WriteMore | None = write_more()
                    more: ReadMore | None = read_more() if how is not None else None  # type: ignore[misc]
                    if more is not None and how is not None:
                        self.short = short_way(more, how, as_it_came=own and out == [event])
                        self.reads_more, self.writes_more = more, how
                if notes or writing.noted:
                    self._report(events, out)
                if noted != mark:
                    self.trail.forget(events, mark)
                    noted = len(traced())
                self.sent += len(out)
                return out
            except FAULTS as error:
                refuse_conversion((reading.number or 0,), event, error)

        return anew

    def _count_passed(self) -> None:
        passed, self.passed = self.passed, 0
        if passed:
            self.reading.number += passed  # type: ignore[operator]
            if self.writes_more is not NOTHING_MORE:
                self.sent += passed

    def close(self) -> list[Event]:
        self._count_passed()
        out: list[Event] = []
        events = self.reader.close()
        for canonical in events:
            self.grammar.feed(canonical)
            if self.aloud and canonical["type"] == "error":
                canonical = {key: value for key, value in canonical.items() if key != "extra"}
            out += self.writer.feed(canonical)
        out += self.writer.close()
        self._tell(events)
        if self.origin is not self.goal:
            self._follow(events, out)
        if self.reading.notes or self.writing.noted:
            self._report(events, out)
        return out

    def _tell(self, events: list[Event]) -> None:
        """What a reader kept of frames and messages is lost to every other protocol, whatever its writer does with it.

        What a message had beside its items may be known only when the first of them is long done.
        """
        reading = self.reading
        reading.docs[reading.number or 0] = reading.doc
        for event in events:
            self._tell_event(event)
        if len(reading.turns) != self.turned:
            for node, _ in reading.turns[self.turned :]:
                self._tell_kept(node, "turn")
            self.turned = len(reading.turns)

    def _follow(self, events: list[Event], out: list[Event]) -> None:
        """Note what is said of the answer, and report what of it no frame says, where an error ends the stream."""
        for event in events:
            if "response" in event:
                self.broken.feed(event)
            elif event["type"] == "error":
                self._report(events, out)
                self.writing.raw += self.broken.entries(self.sent > 0 or len(out) > 1)
                self._report(events, out, new=True)
            if event["type"] in ("error", "response.failed"):
                self._report(events, out)
                self._report_unsent()

    def _report_unsent(self) -> None:
        """Report what the frames before an error said, and no frame of the target's."""
        unsent, self.unsent = self.unsent, None
        if unsent is not None:
            found = unsent.losses(self._replay, self.losses.report(), self.grammar.items, self.trail)
            self._add(found, self.weighing, unsent.documents(), True)

    def _replay(self, events: list[Event], reports: bool) -> Any:
        """What becomes of frames and, with `reports`, what is reported; nothing of it is kept."""
        trial: Any = "reporting" if reports else "silent"
        return replayed(_Pipe(self.weighing.source, self.weighing.target, trial=trial, **self.options), events)

    def _tell_event(self, event: Event) -> None:
        if "extra" in event:
            self._tell_kept(event, "rest")
        if event["type"] in PASSING and event["type"] not in self.goal.streams.alone:
            if event["response"].get("continuation_token") is not None:
                self.writing.report(event["response"], ("continuation_token",), "lost")
        if event["type"] in ALONE and event["type"] not in self.goal.streams.alone:
            self.writing.raw += [(event, (key,), "lost", "", None) for key in event if key not in ADDRESS]

    def _tell_kept(self, node: Event, slot: str) -> None:
        for protocol, drawer in node.get("extra", {}).items():
            if slot in drawer and protocol != self.goal.protocol:
                self.writing.raw.append((node, ("extra", protocol, slot), "lost", "", None))

    def _report(self, events: list[Event], out: list[Event], new: bool = False) -> None:
        if self.trial == "silent":
            self.writing.raw.clear()
            self.reading.notes.clear()
            return
        found = self.trail.report(events, [event["data"] for event in out], self.sent)
        if new:
            found = new_losses(found, [*self.losses.report()])
        here = self.weighing._replace(answer=next((x["response"] for x in events if "response" in x), None))
        self._add(found, here, ChainMap(self.reading.docs, dict(self.recent)), new)

    def _add(self, found: list[Loss], here: Weighing, docs: Mapping[int, Any], unsent: bool) -> None:
        told = significant(found, here, docs, stream=True)
        added = self.losses.add(with_reasons(told, here.source, here.target, here.kind))
        # What an error left unsent stops nothing: the client is to get the error itself.
        enforce(at_level(added, self.on_loss, "warn") if unsent else added, self.on_loss)


class ConvertedStream:
    """The wire events of a converted stream; iterate it once. `.losses` grows on the way and is final at exhaustion.

    An event is `{"event": its name or None, "data": a JSON value, or a text like "[DONE]"}`. Made by `convert_stream`.

    >>> stream = convert_stream([], source="openai-chat", target="openai-chat")
    >>> list(stream), len(stream.losses)
    ([], 0)
    """

    def __init__(self, events: Iterable[Event], pipe: _Pipe) -> None:
        self._pipe = pipe
        self._events = chain.from_iterable(self._run(events))

    @property
    def losses(self) -> Losses:
        """What did not come through as it was, so far."""
        return self._pipe.losses.report()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def _run(self, events: Iterable[Event]) -> Iterator[Iterable[Event]]:
        """The wire events, a few or many at a time."""
        pipe, events = self._pipe, iter(events)
        here: list[Event] = []

        def ended(passed: int, rest: list[Event]) -> None:
            nonlocal here
            pipe.passed, here = passed, rest

        for event in events:
            here = [event]
            while here:
                yield pipe.anew(here.pop())
                if pipe.short is not None:
                    # What `feed` does, without a call for each event.
                    yield pipe.short.events(events, ended)
        yield pipe.close()


class AsyncConvertedStream:
    """The same for async iterables."""

    def __init__(self, events: AsyncIterable[Event], pipe: _Pipe) -> None:
        self._pipe = pipe
        self._events = self._run(events)

    @property
    def losses(self) -> Losses:
        return self._pipe.losses.report()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def __anext__(self) -> Event:
        return await self._events.__anext__()

    async def aclose(self) -> None:
        """Stop here, and close what the events come from."""
        await self._events.aclose()

    async def _run(self, events: AsyncIterable[Event]) -> AsyncGenerator[Event, None]:
        try:
            async for event in events:
                for out in self._pipe.feed(event):
                    yield out
            for out in self._pipe.close():
                yield out
        finally:
            await aclose(events)


@spelled_out(StreamKeywords, convert)
def convert_stream(
    events: Iterable[Event], *, source: ProtocolName, target: ProtocolName, **options: Unpack[StreamKeywords]
) -> ConvertedStream:
    """Convert a stream of wire events of `source` to those of `target`.

    Takes `model`, `http`, `on_loss`, `facing`, `exchange`, `vault`, `secret`, `scope` as `convert` does. A stream cut
    off ends in the target's own error form, never in a success. A loss at level `raise` is raised before its event is
    yielded.

    >>> chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
    ...          "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    >>> stream = convert_stream([{"event": None, "data": chunk}, {"event": None, "data": "[DONE]"}],
    ...                         source="openai-chat", target="openai-responses")
    >>> [event["event"] for event in stream][-1]
    'response.completed'
    """
    return ConvertedStream(events, _Pipe(source, target, **options))


@spelled_out(StreamKeywords, convert)
def aconvert_stream(
    events: AsyncIterable[Event], *, source: ProtocolName, target: ProtocolName, **options: Unpack[StreamKeywords]
) -> AsyncConvertedStream:
    """`convert_stream` for an async iterable of wire events.

    >>> import asyncio
    >>> async def main():
    ...     async def events():
    ...         yield {"event": None, "data": "[DONE]"}
    ...     stream = aconvert_stream(events(), source="openai-chat", target="openai-chat")
    ...     return [event["data"] async for event in stream]
    >>> asyncio.run(main())
    ['[DONE]']
    """
    return AsyncConvertedStream(events, _Pipe(source, target, **options))


def read_stream(events: Iterable[Event], protocol: ProtocolName) -> Iterator[Event]:
    """The canonical events (JSON form) of a stream of wire events `{"event": name or None, "data": value}`.

    `protocol` may have a dialect behind a colon. Raises `RemoteProtocolError` where the stream breaks its rules or is
    cut off, and `InvalidBody` for what is no event.

    >>> chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
    ...          "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    >>> events = read_stream([{"data": chunk}, {"data": "[DONE]"}], "openai-chat")
    >>> [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    ['Hi']
    """
    adapter, dialect = split(protocol)
    reader = adapter.streams.reader(Reader(adapter.protocol, dialect=dialect, provider=provider_of(protocol, dialect)))
    return checked(reader, events)
