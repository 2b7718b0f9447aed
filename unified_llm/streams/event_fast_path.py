"""The fast path of a stream's bulk, made of two templates: how an event looks on its way in, and on its way out.

Nearly all of a stream is the last event over again, but for its text. Both sides show that event and note where its
text stands (`ReadMore`, `WriteMore`). Here the two become one loop, which recognizes a fresh event by one comparison of
dicts, made in C, and builds the other of copies. Loops differ by nothing but their paths, so their lines are put
together as source and compiled, once a process for each pair of paths: functions that call each other take a quarter
more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

__all__ = ["NOTHING_MORE", "ReadMore", "ShortWay", "WriteMore", "short_way"]

Event = dict[str, Any]
Path = tuple[str | int, ...]
# What stands in the lines where an event leaves the fast path.
_ELSEWHERE = "<elsewhere>"
# Instead of where a text goes: no event is made, or the very one is handed on.
_NOWHERE: Path = ()
_AS_IT_CAME: Path = ("",)


class _Reading(NamedTuple):
    """What the lines that read an event differ by."""

    path: Path
    beside: tuple[str, ...]
    very: str
    counted: bool
    also: tuple[Path, ...] = ()


class _Writing(NamedTuple):
    """What the lines that write an event differ by."""

    path: Path
    depth: int  # how many objects there are on the path
    number: str
    told: bool
    beside: tuple[str, ...]
    also: tuple[Path, ...] = ()


class WriteMore:
    """How the next delta is written if it is like the last one: as `event`, with its text at `path`.

    Every object on the way to the text is new in each event, and every list on it has one element; all else is shared.
    `said` notes each text. Where events are numbered, `number` is the key of the number in the data and `next_number`
    gives it. `beside` are the keys of the data whose values are those of the source's event, in its own protocol.
    `also` are further places of the same text.
    """

    def __init__(
        self,
        event: Event,
        path: Path,
        said: Callable[[str], None] | None = None,
        number: str = "",
        next_number: Callable[[], int] | None = None,
        beside: tuple[str, ...] = (),
        also: tuple[Path, ...] = (),
    ) -> None:
        self.said = said
        self.number = number
        self.next_number = next_number
        self.key: str = str(path[-1]) if path else ""
        objects = _objects(event, (path, *also)).values()
        self.shape: _Writing = _Writing(path, len(objects), number, said is not None, beside, also)
        self.values: tuple[Any, ...] = (said, next_number, *[each.copy for each in objects])

    @cached_property
    def event(self) -> Callable[[str], Event]:
        """The wire event of a text."""
        made: Callable[[str], Event] = _compiled(None, self.shape._replace(beside=())).one(*self.values)
        return made


class ReadMore:
    """How the next wire event is read if it is like the last one, `event`: more of the text at `path`, nothing else.

    Beside the text, the values of the keys `beside` of its data may differ, which mean nothing to other protocols; of
    such a value that is an object, `inside` are the keys that do. The value of `very` has to be the very one, where
    equal ones (0, 0.0 and False) are distinguished. `said` notes each text. `counts` is shown each such event, or the
    last of some, and notes what counts of it; it gives False, and has noted nothing, for one that is none of them.
    `also` are further places of the very text: events in which one of them has another are not like the last.
    """

    def __init__(
        self,
        event: Event,
        path: Path,
        said: Callable[[str], None],
        beside: tuple[str, ...] = (),
        very: str = "",
        counts: Callable[[Event], bool] | None = None,
        inside: tuple[str, ...] = (),
        also: tuple[Path, ...] = (),
    ) -> None:
        self.said = said
        self.beside = beside
        self.counts = counts
        self.key: str = str(path[-1])
        self.differing: tuple[str, ...] = inside or beside
        self.shape: _Reading = _Reading(path, beside, very, counts is not None, also)
        objects = _objects(event, (path, *also))
        data, holes = objects[path[:1]], [objects[each[:-1]] for each in (path, *also)]
        self.values: tuple[Any, ...] = (objects[()], data, holes[0], data.get(very), said, counts, *holes[1:])

    @cached_property
    def text(self) -> Callable[[Event], str | None]:
        """The text of a wire event like the last one, noted; None, with nothing noted, for any other."""
        read: Callable[[Event], str | None] = _compiled(self.shape, None).one(*self.values)
        return read


class ShortWay:
    """What becomes of events that are like the last one."""

    def __init__(self, lines: _Lines, values: tuple[Any, ...]) -> None:
        self._lines, self._values = lines, values

    @cached_property
    def event(self) -> Callable[[Any], Event | None]:
        """Of one event: an empty one for none; None, with nothing noted, for an event that is not like the last one."""
        made: Callable[[Any], Event | None] = self._lines.one(*self._values)
        return made

    def events(self, events: Iterator[Any], ended: Callable[[int, list[Any]], None]) -> Iterator[Event]:
        """Of one after the other; `ended` gets how many there were, and the first that is none of them, if any."""
        made: Iterator[Event] = self._lines.each(events, ended, *self._values)
        return made


def short_way(reads: ReadMore, writes: WriteMore, *, as_it_came: bool = False) -> ShortWay:
    """What reads and writes more of an event; `as_it_came` means that the last one left as it came."""
    beside = reads.shape.beside
    shape = writes.shape
    if shape.beside:
        shape = shape._replace(beside=tuple(key for key in shape.beside if key in beside))
    if as_it_came and shape.beside == beside and not shape.number:
        shape = shape._replace(path=_AS_IT_CAME)
    return ShortWay(_compiled(reads.shape, shape), (*reads.values, *writes.values))


def _objects(event: Event, paths: tuple[Path, ...]) -> dict[Path, Event]:
    """The objects on the ways to a text, copied, each by its own path: first the event, then its data."""
    copies: dict[Path, Any] = {(): event.copy()}
    objects: dict[Path, Event] = {(): copies[()]}
    for path in paths:
        around: Any = copies[()]
        place: Path = ()
        for key in path[:-1]:
            place = (*place, key)
            if place not in copies:
                inner = copies[place] = around[key] = around[key].copy()
                if type(inner) is dict:
                    objects[place] = inner
                elif len(inner) != 1:
                    raise ValueError(f"{key!r} has {len(inner)} elements, and the text is to be in its only one")
            around = copies[place]
    return objects


# Deltas that send nothing yet, because what they are pieces of goes out whole.
NOTHING_MORE = WriteMore({}, _NOWHERE)


# ---- the source of it ---------------------------------------------------------------------------------------------


# The names of the first of `ReadMore.values` and of `WriteMore.values`: the others are `also0`, `new0` and so on.
_READ = ("like", "data", "hole", "very", "said", "counts")
_WRITTEN = ("told", "number")


class _Lines(NamedTuple):
    """What such templates were compiled to.

    `one` makes a function of one event; `each` goes through many, and its names are arguments, which are the quickest.
    """

    one: Callable[..., Any]
    each: Callable[..., Any]


@lru_cache(maxsize=512)
def _compiled(reading: _Reading | None, writing: _Writing | None) -> _Lines:
    """Without a template for reading the lines start from a text, and without one for writing they end with one."""
    given = "event" if reading is not None else "text"
    names, lines = list[str](), list[str]()
    if reading is not None:
        names += [*_READ, *(f"also{number}" for number in range(len(reading.also)))]
        lines += _read_lines(reading)
    if writing is not None:
        names += [*_WRITTEN, *(f"new{depth}" for depth in range(writing.depth))]
        lines += _write_lines(writing)
    gives = {_NOWHERE: "", _AS_IT_CAME: "event"}.get(writing.path, "out0") if writing else "text"
    known = ", ".join(names)
    source = [f"def one({known}):", f"    def way({given}):", *_indented(lines, 2, "return None")]
    source += [f"        return {gives or {}}", "    return way"]
    source += [f"def each({given}s, ended, {known}):", "    passed, rest = 0, []", f"    for {given} in {given}s:"]
    source += [*_indented(lines, 2, "rest = [event]; break"), "        passed += 1"]
    source += [f"        yield {gives}" if gives else "    yield from ()", "    ended(passed, rest)"]
    scope: dict[str, Any] = {}
    exec("\n".join(source), scope)
    return _Lines(scope["one"], scope["each"])


def _indented(lines: list[str], depth: int, elsewhere: str) -> list[str]:
    return ["    " * depth + line.replace(_ELSEWHERE, elsewhere) for line in lines]


def _read_lines(reading: _Reading) -> list[str]:
    """From `event` to `text`; what is not like the template goes elsewhere."""
    path, places = reading.path, ["event", *(f"in{depth}" for depth in range(1, len(reading.path)))]
    lines = ["try:"]
    lines += [f"    {inner} = {place}[{key!r}]" for place, key, inner in zip(places, path, places[1:])]
    lines += [f"    text = hole[{path[-1]!r}] = {places[-1]}[{path[-1]!r}]"]
    lines += [f"    also{number}[{path[-1]!r}] = text" for number, path in enumerate(reading.also)]
    lines += [f"    data[{key!r}] = in1[{key!r}]" for key in reading.beside]
    lines += ["except (KeyError, TypeError, IndexError):", f"    {_ELSEWHERE}"]
    very = f" or in1[{reading.very!r}] is not very" if reading.very else ""
    lines += [f"if event != like or type(text) is not str or not text{very}:", f"    {_ELSEWHERE}"]
    if reading.counted:
        lines += ["if not counts(event):", f"    {_ELSEWHERE}"]
    return [*lines, "said(text)"]


def _write_lines(writing: _Writing) -> list[str]:
    """From `text` to `out0`."""
    lines = ["told(text)"] if writing.told else []
    if writing.path in (_NOWHERE, _AS_IT_CAME):
        return lines
    lines += ["out0 = new0()"]
    names: dict[Path, str] = {(): "out0"}
    for path in (writing.path, *writing.also):
        for depth in range(1, len(path)):
            place, key = path[:depth], path[depth - 1]
            if type(path[depth]) is str and place not in names:
                made = names[place] = f"out{len(names)}"
                lines += [f"{made} = new{len(names) - 1}()"]
                # Of a list the object is the only element.
                inner, around, key = (
                    (made, place[:-1], key) if type(key) is str else (f"[{made}]", place[:-2], place[-2])
                )
                lines += [f"{names[around]}[{key!r}] = {inner}"]
    lines += [f"out1[{writing.number!r}] = number()"] if writing.number else []
    lines += [f"out1[{key!r}] = in1[{key!r}]" for key in writing.beside]
    return [*lines, *(f"{names[path[:-1]]}[{path[-1]!r}] = text" for path in (writing.path, *writing.also))]
