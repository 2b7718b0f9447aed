"""The values of a stream that broke off that its target never sent.

Readers and writers hold things back: a call until its arguments are whole, an item until it ends. When a stream ends in
an error those are never sent, and neither the reader nor the writer alone can list them. So it is tried: the frames
that did not take the fast path are converted once more with some of their values altered, and values that change
neither the target's frames nor the report were not sent. Nothing is tried while a stream goes on.

Groups of neighbors are altered together and divided only where the frames differ. Of many frames of one shape a few
stand for all of them, so what is kept and tried does not grow with the length of the stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from orjson import dumps, loads

from ..foundation.errors import UnifiedLLMError
from ..foundation.json_codec import deep_path
from ..foundation.json_paths import pointer
from ..losses import Loss, Losses
from .broken_off import DETAIL, Stated
from .grammar import ADDRESS

if TYPE_CHECKING:
    from .locator import Trail

__all__ = ["HeldFrames", "replayed"]

Event = dict[str, Any]
Keys = tuple[Any, ...]
Place = tuple[int, int]
# What becomes of a list of wire events: after each its frames in the target, and what is new in the report.
Replay = Callable[[list[Event]], Iterator[tuple[list[Any], list[Loss]]]]

# So many of the first frames are kept and so many of the last; where there are any of these, so many of each shape are
# tried.
_MANY, _ALIKE, _MOST = 24, 2, 256
_TYPES = frozenset(("type", "event_type"))
# How many leaves, each counted with what holds it, are converted in all trials of one stream. What is undecided then
# is called lost.
_EFFORT = 60_000
# Keys for the place of a frame, not for its content.
_INDEX = (ADDRESS - {"obfuscation", "extra"}) | {"index"}
# Of so many characters, a text that is found in what was sent was sent.
_TELLING = 8
# Python keeps shorter texts once for all.
_LONG = 2
# Groups of so many neighbors are not halved but divided at once.
_FEW = 8


class _Frame(NamedTuple):
    """A frame, and the items that it is about."""

    number: int
    event: Event
    places: frozenset[Place]


class HeldFrames:
    """The frames of one stream that may hold something unsent: the first ones, and the last."""

    def __init__(self) -> None:
        self._first: list[tuple[int, Event, tuple[Place, ...]]] = []
        self._last: deque[tuple[int, Event, tuple[Place, ...]]] = deque(maxlen=_MOST)
        # Those that are tried, and by the number of each the numbers of those that it stands for.
        self.frames: list[_Frame] = []
        self.alike: dict[int, list[int]] = {}

    def feed(self, number: int, event: Event, events: Iterable[Event]) -> None:
        """Take a frame with the canonical events that it became. Nothing more is spent on a stream that ends well."""
        # Not the canonical events: so many objects more would be alive.
        places = tuple([(each.get("choice", 0), each["output_index"]) for each in events if "output_index" in each])
        (self._first if len(self._first) < _MANY else self._last).append((number, event, places))

    def _choose(self, items: dict[Place, str]) -> None:
        """Choose the frames to try: all of a few, and of many the opening and a few of each shape."""
        seen: dict[Any, list[_Frame]] = {}
        for number, event, places in (*self._first, *self._last):
            frame = _Frame(number, event, frozenset(places))
            # An item that ended may be held as well, but not for the reason that one under way is.
            alike = seen.setdefault((_is_settled(frame, items) or frame.places, _shape(event["data"])), [])
            if not self._last or not self.frames or len(alike) < _ALIKE:
                self.frames.append(frame)
                if len(self.frames) > 1:  # nothing is converted without the opening, which stands for itself alone
                    alike.append(frame)
            else:
                self.alike.setdefault(alike[-1].number, []).append(number)

    def _size(self) -> int:
        return sum(len(keys) for frame in self.frames for keys, _ in _leaves(frame.event["data"]))

    def documents(self) -> dict[int, Any]:
        """The data of the frames that were tried, by their numbers and by those of the frames they stand for."""
        found = {frame.number: frame.event["data"] for frame in self.frames}
        for frame in self.frames:
            found.update(dict.fromkeys(self.alike.get(frame.number, ()), frame.event["data"]))
        return found

    def losses(self, replay: Replay, report: Losses, items: dict[Place, str], trail: Trail) -> list[Loss]:
        """The values that are in none of the target's frames and in no report."""
        self._choose(items)
        named, found, frames = _Named(report), list[Loss](), self.frames
        if any(deep_path(frame.event["data"]) is not None for frame in frames) or self._size() > _EFFORT // 4:
            # Too deep to be compared, or too large for more than a few trials: single values are not reported.
            return [Loss(pointer((frame.number, "data")), "native.field", "lost", DETAIL) for frame in frames]
        trial, state = _Trial([frame.event for frame in frames], replay), Stated(report)
        numbers = [frame.number for frame in frames]
        for index, frame in enumerate(frames):
            for keys in trial.unsent(index, named, numbers):
                data = frame.event["data"]
                capability, there = trail.capability(data, keys), _shaped(data, keys)
                places = [(frame.number, keys), *((number, there) for number in self.alike.get(frame.number, ()))]
                for number, place in places:
                    for left in _not_stated(data, place, number, state, named):
                        found.append(Loss(pointer((number, "data", *left)), capability, "lost", DETAIL))
        return found


class _Named:
    """What a report names: places, and everything in those of which nothing arrived."""

    def __init__(self, report: Losses) -> None:
        own = [loss for loss in report if loss.side == "source"]
        self.places = frozenset(loss.path for loss in own)
        self.whole = frozenset(loss.path for loss in own if loss.fate in ("lost", "parked"))
        self.changed = self.places - self.whole  # what arrived in another form

    def __call__(self, path: str) -> bool:
        if path in self.places:
            return True
        while path:
            path = path.rpartition("/")[0]
            if path in self.whole:
                return True
        return False


def replayed(pipe: Any, events: list[Event]) -> Iterator[tuple[list[Any], list[Loss]]]:
    """What a pipe of its own makes of frames after which nothing comes; an error it ends in is the last of it."""
    try:
        told = 0
        headers = None  # of the HTTP response, where the first event makes some: they are sent as well
        for step in (*(partial(pipe.feed, event) for event in events), pipe.close):
            frames, losses = step(), pipe.losses.since(told)
            told += len(losses)
            if pipe.goal.streams.headers and headers != (made := pipe.writing.http.get("headers")):
                headers = dict(made)
                frames = [*frames, {"event": None, "data": headers}]
            yield frames, losses
    except UnifiedLLMError as error:
        yield [type(error)], []


class _Trial:
    """Which values of some frames make no difference to what is sent."""

    def __init__(self, events: list[Event], replay: Replay) -> None:
        self.replay = replay
        # Of their own, so that a text which the target's frames have as well can only have come from there.
        self.events = [{**event, "data": _anew(event["data"])} for event in events]
        self.sent: list[Any] = []
        self.told: list[Loss] = []
        for frames, losses in replay(self.events):
            self.sent += frames
            self.told += losses
        self.failed: bool = bool(self.sent) and isinstance(self.sent[-1], type)
        # What the texts of the target's frames amount to, by their keys; and each of them, by its identity.
        texts: dict[Any, list[str]] = {}
        passed: set[int] = set()
        for event in self.sent:
            for keys, value in _leaves(event["data"]) if type(event) is dict else ():
                if type(value) is str:
                    texts.setdefault(keys[-1] if keys else None, []).append(value)
                    passed.add(id(value))
        self.texts = ["".join(pieces) for pieces in texts.values()]
        self.said: dict[Any, list[tuple[int, Keys]]] = {}
        self.size = 0
        self.judged: dict[Any, bool] = {}
        for index, (event, given) in enumerate(zip(self.events, events)):
            fresh = event["data"] is not given["data"]
            for keys, value in _leaves(event["data"]):
                self.size += len(keys)
                self.said.setdefault(_said(keys, value), []).append((index, keys))
                if fresh and id(value) in passed and len(value) >= _LONG:
                    self.judged[_said(keys, value)] = False
        self.effort = 0
        self.differing: set[frozenset[Any]] = set()

    def unsent(self, index: int, named: _Named, numbers: list[int]) -> list[Keys]:
        """The smallest list of paths in the frame at `index` below which nothing was sent.

        `numbers` are those that the report has for the frames.
        """
        data, found, above = self.events[index]["data"], list[Keys](), (numbers[index], "data")
        if type(data) is not dict:
            return []
        groups = [[(key,) for key in data if key not in _INDEX and not self._is_address(index, key, data[key])]]
        while groups:
            group = [
                keys
                for keys in groups.pop()
                if not named(pointer((*above, *keys)))
                and not _is_empty(_at(data, keys))
                and not self._repeats(index, keys, named, numbers)
            ]
            if not group:
                continue
            if self._makes_no_difference(index, group):
                found += [left for keys in group for left in self._left_of(data, keys)]
            elif len(group) > _FEW:
                groups += [group[len(group) // 2 :], group[: len(group) // 2]]
            elif len(group) > 1:
                groups += [[keys] for keys in reversed(group)]  # mostly all but one of them were sent
            else:
                groups.append(_below(data, group[0]))
        return found

    def _left_of(self, data: Any, keys: Keys) -> list[Keys]:
        """What of an unsent value was not sent in pieces: sources repeat a text when it ends, whatever it was."""
        leaves = [(place, value) for place, value in _leaves(_at(data, keys), keys) if value != ""]
        left = [place for place, value in leaves if not self._is_sent(value)]
        return [keys] if leaves and len(left) == len(leaves) else left

    def _is_sent(self, value: Any) -> bool:
        return type(value) is str and len(value) >= _TELLING and any(value in text for text in self.texts)

    def _repeats(self, index: int, keys: Keys, named: _Named, numbers: list[int]) -> bool:
        """Whether a value repeats that of an earlier frame, which arrived in another form as the report has it."""
        value = _at(self.events[index]["data"], keys)
        if type(value) in (dict, list):
            return False
        return any(
            number < index and place == keys and pointer((numbers[number], "data", *place)) in named.changed
            for number, place in self.said.get(_said(keys, value), ())
        )

    def _is_address(self, index: int, key: str, value: Any) -> bool:
        """Whether a word of a frame is the id of what an earlier frame was about."""
        if type(value) is not str or not key.endswith("id"):
            return False
        return any(number < index for number, _ in self.said.get(("id", str, value), ()))

    def _makes_no_difference(self, index: int, group: list[Keys]) -> bool:
        data = self.events[index]["data"]
        # A stream repeats values; one is altered in all its places, so one verdict is that of all places.
        said = frozenset(_said(inner, value) for keys in group for inner, value in _leaves(_at(data, keys), keys))
        known = [self.judged.get(each) for each in said]
        if False in known or None not in known:
            return False not in known
        if said in self.differing:
            return False  # an object, and now all that is in it
        if self.effort > _EFFORT:
            return True
        self.effort += self.size
        same = self._is_same(said)
        if same or len(said) == 1:
            self.judged.update(dict.fromkeys(said, same))
        else:
            self.differing.add(said)
        return same

    def _is_same(self, said: Iterable[Any]) -> bool:
        """Whether the target's frames are the same with these values altered."""
        changes: dict[int, list[Keys]] = {}
        for each in said:
            for number, place in self.said[each]:
                changes.setdefault(number, []).append(place)
        events = list(self.events)
        for number, places in changes.items():
            events[number] = {**events[number], "data": _altered(events[number]["data"], places)}
        # A value that its frame has to have is implied by the frame: another would be reported. Most trials differ
        # in what becomes of the first frame that was altered, and end there.
        sent = told = 0
        for frames, losses in self.replay(events):
            if frames != self.sent[sent : sent + len(frames)]:
                return False
            if losses != self.told[told : told + len(losses)] and not self.failed:
                return False
            sent, told = sent + len(frames), told + len(losses)
        return sent == len(self.sent) and (told == len(self.told) or self.failed)


def _is_settled(frame: _Frame, items: dict[Place, str]) -> bool:
    """Whether all that a frame is about has ended."""
    return bool(frame.places) and all(items.get(place) == "done" for place in frame.places)


def _shape(value: Any, name: str = "", deeper: int = 32) -> Any:
    """What values have in common in which the same places were sent: the types of objects, and which keys they have."""
    if not deeper:
        return None
    if type(value) is dict:
        return tuple([(key, _shape(inner, key, deeper - 1)) for key, inner in value.items() if inner is not None])
    if type(value) is list:
        return not value if _is_plain(value) else tuple([_shape(inner, "", deeper - 1) for inner in value])
    return value if name in _TYPES else None


def _shaped(data: Any, keys: Keys) -> Keys:
    """The part of a path that other frames of the same shape have as well."""
    return keys[:-1] if keys and _is_plain(_at(data, keys[:-1])) else keys


def _is_plain(value: Any) -> bool:
    """Whether it is a list of values that hold no others: frames of one shape have such of any length."""
    return type(value) is list and not any(type(each) in (dict, list) for each in value)


def _leaves(value: Any, above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Every value that holds no other, with its path."""
    stack = [(above, value)]
    while stack:
        keys, here = stack.pop()
        if type(here) is dict:
            stack += [((*keys, key), inner) for key, inner in here.items()]
        elif type(here) is list:
            stack += [((*keys, key), inner) for key, inner in enumerate(here)]
        elif here is not None:
            yield keys, here


def _said(keys: Keys, value: Any) -> Any:
    return keys[-1] if keys else None, type(value), value


def _is_empty(value: Any) -> bool:
    return next(_leaves(value), None) is None


def _below(data: Any, keys: Keys) -> list[Keys]:
    value = _at(data, keys)
    names = value if type(value) is dict else range(len(value)) if type(value) is list else ()
    return [(*keys, name) for name in names]


def _not_stated(data: Any, keys: Keys, number: int, state: Stated, named: _Named) -> list[Keys]:
    """What of the value at `keys` of a frame is not stated again, in this one or in a later one, nor in the report."""
    leaves = [place for place, _ in _leaves(_at(data, keys), keys)]
    left = [place for place in leaves if not state.since(number, place)]
    if len(left) == len(leaves):
        return [keys]
    return [place for place in left if not named(pointer((number, "data", *place)))]


def _at(data: Any, keys: Keys) -> Any:
    for key in keys:
        data = data[key]
    return data


def _anew(data: Any) -> Any:
    """The same with texts of its own; the very data where it is not plain JSON."""
    try:
        fresh = loads(dumps(data))
    except (TypeError, ValueError):
        return data
    return fresh if fresh == data else data


def _altered(data: Any, places: Iterable[Keys]) -> Any:
    """A copy of `data` with other values of the same types and forms at these places."""
    copies: dict[Keys, Any] = {(): _copied(data)}
    for keys in places:
        if not keys:
            return _other(data)
        for depth, key in enumerate(keys[:-1]):
            if keys[: depth + 1] not in copies:
                above = copies[keys[:depth]]
                above[key] = copies[keys[: depth + 1]] = _copied(above[key])
        holder = copies[keys[:-1]]
        holder[keys[-1]] = _other(holder[keys[-1]])
    return copies[()]


def _copied(value: Any) -> Any:
    return dict(value) if type(value) is dict else list(value) if type(value) is list else value


def _other(value: Any) -> Any:
    """Another value of the same type: of texts one character, so that base64 stays base64 and a digit a digit."""
    if type(value) is bool:
        return not value
    if type(value) is int:
        return value + 1
    if type(value) is float:
        return value + 0.25
    for index in range(len(value) - 1, -1, -1):
        char = value[index]
        if char.isascii() and char.isalnum():
            after = {"9": "0", "z": "a", "Z": "A"}.get(char) or chr(ord(char) + 1)
            return value[:index] + after + value[index + 1 :]
    return value + (" " if value.isspace() else "~")
