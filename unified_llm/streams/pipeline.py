"""The pipe that every converted stream goes through, an event at a time.

A wire reader, the grammar, a wire writer, and the report. It holds back nothing but what a target demands, and hands
out an event only after its losses were weighed. Wire events are dicts `{"event": name or None, "data": JSON value or
string}`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

from ..engine.adapter import Adapter, WireReader, WireWriter
from ..engine.malformed import FAULTS, refuse_conversion, refuse_end
from ..engine.pairs.reading import Reader
from ..engine.pairs.writing import Writer
from ..engine.registry import surface
from ..engine.shared.citation_spans import CitingWriter
from ..foundation.exchange import Exchange
from ..losses import Levels, Loss, Losses, StreamLosses, at_level, check_levels, enforce
from ..losses.defaults import Weighing, significant
from ..passes.argument_checks import check_words
from ..passes.convert import Facing
from ..passes.pipeline import ends
from ..provenance.opaque import escaped_all, looks_sealed
from ..provenance.provider_data import LeavingWriter
from .broken_off import LIFECYCLE, BrokenOff, new_losses
from .collect_and_decompose import ADDRESS, ALONE, PASSING, Grammar, framed
from .event_fast_path import NOTHING_MORE, ReadMore, ShortWay, WriteMore, short_way
from .locator import Trail
from .unsent import HeldFrames, replayed

__all__ = ["Pipe"]

Event = dict[str, Any]

# What is noted of an answer under way, and what ends it before it is whole.
FOLLOWED = LIFECYCLE | {"error", "response.failed"}
# The types of an event's name.
_NAMES = (str, type(None))
# Events that may hold a value which no item and no response repeats.
TOLD = PASSING | ALONE


def _never() -> None:
    """No template of an event."""


class Frames(Protocol):
    """The data of wire events by their numbers, as far as they are known."""

    def get(self, number: int, /) -> Any: ...


class _Frames:
    """Those that are kept for the notes on them, and the last ones."""

    __slots__ = ("_docs", "_last", "_recent")

    def __init__(self, docs: dict[int, Any], recent: deque[tuple[int, Any]]) -> None:
        self._docs = docs
        self._recent = recent
        self._last: dict[int, Any] | None = None

    def get(self, number: int, /) -> Any:
        """The data of an event, None where they are not known any longer."""
        if number in self._docs:
            return self._docs[number]
        if self._last is None:
            if self._recent and self._recent[-1][0] == number:  # as mostly
                return self._recent[-1][1]
            self._last = dict(self._recent)
        return self._last.get(number)


class Pipe:
    """One stream on its way from a wire (`source`) to another."""

    reads = True  # whether it starts from a wire
    aloud = False  # whether a stream that was cut off is reported to a client of its own protocol too
    repeats = True  # whether the fast path is taken where both sides have one; the suite compares it with the other
    reading: Reader
    writing: Writer

    def __init__(
        self,
        source: str,
        target: str,
        *,
        on_loss: Levels = "ignore",
        facing: Facing | None = None,
        exchange: Exchange | None = None,
        trial: Literal["silent", "reporting", ""] = "",  # without a report, or without what a broken stream left unsent
        **options: Any,
    ) -> None:
        check_levels(on_loss)
        check_words(facing=facing)
        self.trial = trial
        self.options: dict[str, Any] = {**options, "facing": facing, "exchange": exchange, "vault": None}
        here, there = surface(source), surface(target)
        self.origin: Adapter = here.adapter
        self.goal: Adapter = there.adapter
        self.crossing: bool = source != target
        self.reading, self.writing = ends(
            here, there, facing or "client", not self.crossing, exchange=exchange, **options
        )
        self.writing.seed = self.reading.seed = exchange.seed if exchange else ""
        self.reading.frames = self.origin is self.goal
        if self.origin is self.goal:
            self.reading.escapes = False  # done to the whole event
        self.reader: WireReader = self.origin.streams.reader(self.reading)
        self.writer: WireWriter = self._writer(exchange)
        self.grammar: Grammar = Grammar()
        self.on_loss = on_loss
        self.losses: StreamLosses = StreamLosses()
        # The last events, of which no more is kept than the reader's notes need: losses are often reported a little
        # later.
        self.recent: deque[tuple[int, Any]] = deque(maxlen=64)
        self.weighing: Weighing = Weighing(source, target, "response", exchange, None, here.adapter)
        self.trail: Trail = Trail(self.reading, self.writing, self.origin, self.goal)
        self.broken: BrokenOff | None = None  # made with the first event that it follows
        tries = not trial and self.origin is not self.goal and self.reads
        self.unsent: HeldFrames | None = HeldFrames() if tries else None
        self.gave_up: bool = False
        self.sent: int = 0
        self.turned: int = 0
        # The fast path of the next event, where there is one, what it is made of, and how many took it since the last
        # that did not.
        self.short: ShortWay | None = None
        self.reads_more: ReadMore | None = None
        self.writes_more: WriteMore = NOTHING_MORE
        self.passed: int = 0
        self._own: bool = self.origin is self.goal
        self._noted: int = 0  # how many of the reader's notes were looked at
        # How either side shows what more of the last event is like; of those that cannot, none does.
        self._read_more: Callable[[], ReadMore | None] = getattr(self.reader, "read_more", _never)
        grows = self.repeats and self._read_more is not _never
        self._write_more: Callable[[], WriteMore | None] = (
            getattr(self.writer, "write_more", _never) if grows else _never
        )
        self.reading.number = -1

    def _writer(self, exchange: Exchange | None) -> WireWriter:
        """The target's writer, behind what turns the answer back where the request was changed."""
        undoing = None
        if exchange is not None:
            from ..passes.restore_response import RestoringWriter, restoring

            undoing = restoring(exchange)
        # What is held and sent later has no place in the frames it came in: they are written anew.
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

    def anew(self, event: Event) -> list[Event]:
        """The wire events of the next wire event, on the general path.

        A method, and no function with everything at hand that the pipe would hold: a pipe in a cycle lives, with all
        the events it kept, until the garbage collector finds it, which for a short stream costs as much as reading it.
        """
        reading, writing, own = self.reading, self.writing, self._own
        trace, mark = reading.trace, self._noted
        self.short = self.reads_more = None
        if self.passed:
            self._count_passed()
        reading.number = number = (reading.number or 0) + 1
        if type(event) is not dict or "data" not in event or "event" not in event or type(event["event"]) not in _NAMES:
            event = framed(event, number)
        try:
            if own and looks_sealed(event["data"]):
                # Its frames go on as they came, and a client must not be handed what it would take for ours.
                event = {**event, "data": escaped_all(event["data"])}
            reading.doc = doc = event["data"]
            self.recent.append((number, doc))
            reading.since = mark
            events = self.reader.feed(event)
            if reading.runs or reading.owed:
                reading.traced()
            news = len(trace) != mark
            if news:
                # What is kept of a frame is kept with a note, otherwise its place would be unknown.
                self._tell(events)
            out: list[Event] = []
            follows, check, write = False, self.grammar.feed, self.writer.feed
            for canonical in events:
                check(canonical)
                out += write(canonical)
                if canonical["type"] in FOLLOWED:
                    follows = not own
            if self.unsent is not None:
                self.unsent.feed(number, event, events)
            if follows:
                self._follow(events, out)
            if self._write_more is not _never and events and "delta" in events[-1]:
                self._shorten(event, out)
            if reading.notes or writing.raw or writing.alike or writing.filled or writing.relaxed:
                self._report(events, out)
            if news:
                self._noted = self.trail.done(events, mark)
            if out:
                self.sent += len(out)
            return out
        except FAULTS as error:
            refuse_conversion((reading.number or 0,), event, error, self.recent)

    def _shorten(self, event: Event, out: list[Event]) -> None:
        """Take the fast path from here on if both sides have one: nearly all of a stream is more of the last event."""
        how = self._write_more()
        more = self._read_more() if how is not None else None
        if more is not None and how is not None:
            self.short = short_way(more, how, as_it_came=self._own and out == [event])
            self.reads_more, self.writes_more = more, how

    def _count_passed(self) -> None:
        passed, self.passed = self.passed, 0
        if passed:
            self.reading.number += passed  # type: ignore[operator]
            if self.writes_more is not NOTHING_MORE:
                self.sent += passed

    def close(self) -> list[Event]:
        """The wire events that the end of the stream makes."""
        self._count_passed()
        try:
            return self._end()
        except FAULTS as error:
            refuse_end(self.recent, error)

    def _end(self) -> list[Event]:
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
            if "extra" in event or event["type"] in TOLD:
                self._tell_event(event)
        if len(reading.turns) != self.turned:
            for node, _ in reading.turns[self.turned :]:
                self._tell_kept(node, "turn")
            self.turned = len(reading.turns)

    def _follow(self, events: list[Event], out: list[Event]) -> None:
        """Note the values of the answer, and report those that no frame has, where an error ends the stream."""
        if not events:
            return
        broken = self.broken
        if broken is None:
            broken = self.broken = BrokenOff(self.reader, self.reading, self.writing, self.origin, self.goal)
        for event in events:
            kind = event["type"]
            if kind == "error":
                self._report(events, out)
                self.writing.raw += broken.entries(self.sent > 0 or len(out) > 1)
                self._report(events, out, new=True)
            elif kind in FOLLOWED:
                broken.feed(event)
            if kind == "error" or kind == "response.failed":
                self._report(events, out)
                self._report_unsent()

    def _report_unsent(self) -> None:
        """Report the values of the frames before an error that no frame of the target has."""
        unsent = self.unsent
        if unsent is None or self.gave_up:
            return
        self.gave_up = True  # (Frames behind the error are kept all the same: they are looked at when the report is.)

        def find() -> Losses:
            found = unsent.losses(self._replay, self.losses.report(), self.grammar.items, self.trail)
            return self._told(found, self.weighing, unsent.documents())

        if self.on_loss == "ignore":
            self.losses.defer(find)  # it costs as much as many conversions
        else:
            self._enforce(find(), unsent=True)

    def _replay(self, events: list[Event]) -> Iterator[tuple[list[Any], list[Loss]]]:
        """What becomes of frames, and what is reported; nothing of it is kept."""
        return replayed(Pipe(self.weighing.source, self.weighing.target, trial="reporting", **self.options), events)

    def _tell_event(self, event: Event) -> None:
        if "extra" in event:
            self._tell_kept(event, "rest")
        if event["type"] in PASSING and event["type"] not in self.goal.streams.alone:
            if event["response"].get("continuation_token") is not None:
                self.writing.report(event["response"], ("continuation_token",), "lost")
        if event["type"] in ALONE and event["type"] not in self.goal.streams.alone:
            self.writing.raw += [(event, (key,), "lost", "", None) for key in event if key not in ADDRESS]

    def _tell_kept(self, node: Event, slot: str) -> None:
        for protocol, drawer in (node.get("extra") or {}).items():
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
        if not found:
            return
        here = self.weighing
        if here.exchange is not None:
            here = here._replace(answer=next((x["response"] for x in events if "response" in x), None))
        self._enforce(self._told(found, here, _Frames(self.reading.docs, self.recent)), new)

    def _told(self, found: list[Loss], here: Weighing, docs: Frames) -> Losses:
        return significant(found, here, docs, stream=True)

    def _enforce(self, told: Losses, unsent: bool) -> None:
        added = self.losses.add(told)
        # What an error left unsent stops nothing: the client is to get the error itself.
        enforce(at_level(added, self.on_loss, "warn") if unsent else added, self.on_loss)
