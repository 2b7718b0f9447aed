"""The event log of a run: places, ids, what its readers in this process may see, and how a run ends.

Events get their numbers here, from their place in the log, and the run's id in the place of the upstream's. They are
sent to readers once they are durable.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

from ....client.state.response_memory import Turn, answer, begun
from ....engine.pairs.reading import Reader
from ....engine.registry import adapter
from ....foundation.errors import InvalidBody, ProtocolError, UnifiedLLMError
from ....foundation.json_codec import dump, parse
from ....foundation.secret import Secret
from ....streams.byte_pipeline import ByteStream
from ....streams.collect_and_decompose import decompose
from ....streams.conversion import read_stream
from ....streams.framings.sse import encode
from ....streams.grammar import CLASS, FRAME, TERMINAL
from ....streams.writing import write_stream
from ...responses.replies import Refusal
from ..database import segments
from ..response_ids import Renaming
from ..store import Store
from ..stored_responses import data_of

__all__ = [
    "DONE",
    "Diverged",
    "LogWriter",
    "Run",
    "Signal",
    "collected",
    "error_of",
    "failure",
    "openings",
    "place_of",
    "read_run",
    "response_of",
    "status_of",
]

_DIGITS = 9  # of the number of an event, which databases hold in 32 bits
_ENDING = 4  # events at the end of a stream, of which one ends the response
_AHEAD = 64  # events of a run that wait for the database, before its upstream has to wait
DONE = frozenset(("completed", "failed", "incomplete", "cancelled"))


class Run(NamedTuple):
    """A run as the database has it; `head` is JSON: model, previous, upstream, request, error."""

    id: str
    tenant: str
    surface: str
    status: str
    owner: str
    cancel: bool
    head: Mapping[str, Any]
    created: int
    expires: int

    @property
    def is_done(self) -> bool:
        """Whether nothing more comes."""
        return self.status in DONE


class Signal:
    """Wakes every reader of a run; `version` is what a reader has to remember before it looks."""

    def __init__(self) -> None:
        self.version: int = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def tell(self) -> None:
        """There is something new."""
        self.version += 1
        for each in self._waiting:
            if not each.done():
                each.set_result(None)
        self._waiting.clear()

    async def wait(self, seen: int) -> None:
        """Until there is something that a reader has not seen."""
        if self.version == seen:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            try:
                await waiting
            finally:
                self._waiting.discard(waiting)


class Diverged(Exception):
    """An upstream did not send the events again that it had sent before."""


class LogWriter:
    """The log of one run on its way: events get their numbers and the run's id, and are sent once they are durable.

    Readers in this process read what is durable from here, all others from the database.
    """

    def __init__(
        self, store: Store, run: Run, shown: Sequence[tuple[int, bytes]] = (), *, replayed: bool = False
    ) -> None:
        self.store = store
        self.run = run
        self.signal: Signal = Signal()
        self.log: list[tuple[int, bytes]] = list(shown)  # place of the first event, and the bytes of a segment
        # The beginning of a second stream, where one was shown of the first.
        self._again: list[bytes] | None = [] if shown and not replayed else None
        # What the same stream has to begin with when its upstream sends it once more.
        self._replay = [each + b"\n\n" for each in self.shown.split(b"\n\n")[:-1]][::-1] if replayed else []
        self.count: int = sum(data.count(b"\n\n") for _, data in shown)  # events that have their number
        self._opened = self.count
        self.is_done: bool = False
        self.status: str = ""
        self._ahead: list[bytes] = []  # numbered, and not yet on their way to the database
        self._flight: asyncio.Future[None] | None = None  # until what is on its way is durable
        self._failure: Exception | None = None  # behind it nothing is written: the log would have a gap
        self.field: str = adapter(run.surface).resume[1] if adapter(run.surface).resume else ""
        self._renaming = Renaming(run.surface, new=run.id)

    async def append(self, events: Sequence[bytes]) -> None:
        """Write events with what else is waiting; no more than a few are ahead of the database when this returns.

        Raises `Conflict` where another node has written, and `StoreUnavailable`, perhaps for earlier events.
        """
        self._ahead += self.numbered(events)
        if self._failure is not None or len(self._ahead) >= _AHEAD:
            await self.flush()
        elif self._flight is None and self._ahead:
            self._send()

    async def flush(self) -> None:
        """Wait until everything is durable. What is on its way gets there although the wait is cancelled."""
        while self._failure is None and (self._flight is not None or self._ahead):
            await asyncio.shield(self._flight or self._send())
        if self._failure is not None:
            raise self._failure

    def _send(self) -> asyncio.Future[None]:
        """Send one segment with all the events that wait; those that come meanwhile are the next one."""
        events, self._ahead = self._ahead, []
        row = self.row(self.count - len(events), events)
        flight = self._flight = self._flight or asyncio.get_running_loop().create_future()
        self.store.post(segments, row, partial(self._landed, row))
        return flight

    def _landed(self, row: Mapping[str, Any], failure: Exception | None) -> None:
        """A segment is durable, or is not: then it is for the next that waits to raise why."""
        flight = self._flight
        if flight is None or flight.cancelled():
            return
        self._failure = failure
        if failure is None:
            self.told(row)
            if self._ahead:
                self._send()
                return
        self._flight = None
        flight.set_result(None)

    def numbered(self, events: Sequence[bytes]) -> list[bytes]:
        """The events as their clients see them."""
        self._renaming.look(b"".join(events))  # before those are left out that were shown
        if self._again is not None:
            events = self._unshown(events, self._again)
        elif self._replay:
            events = self._behind_replay(events)
        out = [self._numbered(each, self.count + place) for place, each in enumerate(events)]
        self.count += len(out)
        return out

    def _unshown(self, events: Sequence[bytes], before: list[bytes]) -> Sequence[bytes]:
        """The events of a second attempt without those that open a response, where the first one has shown such."""
        begin = len(before)
        before += events
        count = openings(self.run.surface, before)
        if count < len(before):
            self._again = None
        return events[max(0, min(count, self._opened) - begin) :]

    def expect_nothing(self) -> None:
        """What comes now is written as it is: the end of a run, whatever its upstream was to send."""
        self._again, self._replay = None, []

    def _behind_replay(self, events: Sequence[bytes]) -> Sequence[bytes]:
        """The events behind those that were shown. Raises `Diverged` where these are not what was shown."""
        for place, event in enumerate(events):
            if not self._replay:
                return events[place:]
            if self._numbered(event, self._opened - len(self._replay)) != self._replay.pop():
                raise Diverged
        return ()

    def _numbered(self, event: bytes, number: int) -> bytes:
        event = self._renaming.event(event)
        if not self.field or (_counts(self.run.surface) and _has_number(event, self.field, number)):
            return event
        value = data_of(event)
        if not value:
            return event
        value[self.field] = number if _counts(self.run.surface) else f"{self.run.id}_{number}"
        head = b"".join(line + b"\n" for line in event.split(b"\n") if line and not line.startswith(b"data:"))
        return head + b"data: " + dump(value) + b"\n\n"

    def row(self, first: int, events: Sequence[bytes]) -> dict[str, Any]:
        """A segment of the log."""
        return {"run": self.run.id, "first": first, "last": first + len(events) - 1, "data": b"".join(events)}

    def told(self, row: Mapping[str, Any]) -> None:
        """The segment is durable: readers may have it."""
        self.log.append((row["first"], row["data"]))
        self.signal.tell()

    def behind(self, after: int) -> list[tuple[int, bytes]]:
        """The segments with events behind a place."""
        return self.log[max(0, bisect_right(self.log, after, key=itemgetter(0)) - 1) :]

    @property
    def shown(self) -> bytes:
        """All that readers may have seen."""
        return b"".join(data for _, data in self.log)


def openings(surface: str, events: Sequence[bytes]) -> int:
    """How many events at the beginning of a stream only open the response: nothing in them was generated."""
    count = 0

    def wire() -> Iterator[dict[str, Any]]:
        nonlocal count
        for event in events:
            name = next((line[6:].strip() for line in event.split(b"\n") if line.startswith(b"event:")), None)
            yield {"event": name.decode() if name is not None else None, "data": data_of(event)}
            count += 1

    with suppress(InvalidBody, ProtocolError):
        for canonical in read_stream(wire(), surface):
            if count < len(events) and canonical["type"] != FRAME and CLASS.get(canonical["type"]) != "open":
                break
    return count


def _has_number(event: bytes, field: str, number: int) -> bool:
    """Whether an event plainly has its number already, as a writer that counts from 0 gives it; it is not parsed.

    >>> _has_number(b'data: {"type":"x","n":7,"delta":"y"}', "n", 7), _has_number(b'data: {"x":{"n":7}}', "n", 7)
    (True, False)
    """
    mark = b'"%s":%d' % (field.encode(), number)
    at = event.find(mark)
    if at < 0 or event[at + len(mark) : at + len(mark) + 1] not in (b",", b"}"):
        return False
    # A key of the event itself: nothing but strings and numbers is before it, and no string that may hold the mark.
    return (
        event.startswith(b"{", event.find(b"data: ") + 6)
        and not event.count(b"\\", 0, at)
        and (event.count(b"{", 0, at) == 1 and event.count(b"[", 0, at) == 0)
    )


def read_run(row: Any) -> Run:
    """A run of a row of the database."""
    found = Run(*(getattr(row, name) for name in Run._fields))
    return found._replace(head=json.loads(found.head))  # type: ignore[arg-type]


@lru_cache(64)
def _counts(surface: str) -> bool:
    """Whether the places of events are numbers in this protocol, and not names."""
    field = adapter(surface).resume[1]
    sample = decompose({"type": "response", "id": "r", "status": "completed", "output": []})
    values = [each["data"].get(field) for each in write_stream(sample, surface) if isinstance(each["data"], dict)]
    return any(type(each) is int for each in values)


def collected(run: Run, frames: bytes, secret: Secret | None) -> dict[str, Any] | None:
    """The canonical response of a stream; None for one without an end."""
    return answer(Turn(run.tenant, run.surface, b"{}", "", [frames], True), secret) if frames else None


def response_of(run: Run, frames: bytes, secret: Secret | None) -> dict[str, Any]:
    """The canonical response of a run as it is. One that did not come to its end has what its stream began."""
    node = collected(run, frames, secret)
    if node is None:
        node = {**run.head.get("settings", {}), "model": run.head.get("model"), "output": []}
        node.pop("background", None)
        node["created_at"] = run.created
    if run.status != "completed" and not node.get("output") and frames:
        node["output"] = begun(Turn(run.tenant, run.surface, b"{}", "", [frames], True), secret)
    node |= {"id": run.id, "status": run.status, "background": True}
    if run.status == "cancelled":
        node.pop("error", None)
    elif run.head.get("error"):
        node["error"] = run.head["error"]
    return node


def status_of(run: Run, events: Sequence[bytes]) -> str:
    """The status that the last events of a stream end their response with; empty where they do not."""
    known = adapter(run.surface)
    reader = known.streams.reader(Reader(known, facing="client"))
    status = ""
    for frame in b"".join(events[-_ENDING:]).split(b"\n\n")[:-1]:
        lines = frame.split(b"\n")
        name = next((line[6:].strip().decode() for line in lines if line.startswith(b"event:")), None)
        with suppress(UnifiedLLMError, KeyError, TypeError, ValueError):  # it lacks the events before
            for event in reader.feed({"event": name, "data": data_of(frame)}):
                if event.get("type") in TERMINAL:
                    status = str(event["response"].get("status") or "")
    return status


def failure(run: Run, error: Mapping[str, Any], shown: bytes) -> list[bytes]:
    """The end of a stream of which this was shown, in the client's words. A run without a beginning gets one."""
    if not shown:
        node: dict[str, Any] = {
            "id": run.id,
            "status": "failed",
            "model": run.head.get("model"),
            "output": [],
            "error": dict(error),
        }
        named = adapter(run.surface).streams.framing.named
        written = write_stream(decompose(node), run.surface)
        return [
            encode(
                each["event"] if named else None, each["data"] if isinstance(each["data"], str) else dump(each["data"])
            )
            for each in written
        ]
    stream = ByteStream(run.surface, run.surface)
    for frame in shown.split(b"\n\n")[:-1]:
        with suppress(Exception):
            stream.feed(frame + b"\n\n")
    return stream.fail(error)


def error_of(surface: str, content: bytes) -> dict[str, Any]:
    """The canonical error of an error response."""
    known = adapter(surface)
    try:
        found = Reader(known, facing="client").root(known.kinds["error"].read, parse(content))
        error = dict(found["error"])
    except (InvalidBody, KeyError, TypeError):
        error = {"type": "server_error", "message": "the upstream failed"}
    error.pop("extra", None)
    return error


def place_of(run: Run, query: Mapping[str, str]) -> int:
    """The place in the log that a client resumes behind; -1 for its beginning. Raises `Refusal` (400)."""
    name = adapter(run.surface).resume[0] if adapter(run.surface).resume else ""
    given = query.get(name, "")
    number = given.removeprefix(f"{run.id}_")
    if not given:
        return -1
    if not number.isdecimal() or len(number) > _DIGITS:
        raise Refusal(400, "invalid_request", f"{name} must be the place of an event of this response, got {given!r}")
    return int(number)
