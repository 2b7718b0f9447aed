"""What a stream that broke off said, and its target never came to send.

Readers and writers hold things back: a call until its arguments are whole, an item until it ends. When a stream ends in
an error those are never sent, and neither the reader nor the writer alone can list them. So it is tried: the frames
that did not go the short way are converted once more with some of their values altered, and values that change neither
the target's frames nor the report were not sent. Nothing is tried while a stream goes on.

Groups of neighbors are altered together and divided only where the frames differ. Of many frames of one shape a few
stand for all of them, so what is kept and tried does not grow with the length of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .broken_off import DETAIL
from .errors import UnifiedLLMError
from .grammar import ADDRESS
from .losses import Loss, Losses
from .paths import pointer

if TYPE_CHECKING:
    from .trail import Trail

__all__ = ["HeldFrames", "replayed"]

Event = dict[str, Any]
Keys = tuple[Any, ...]
Place = tuple[int, int]
# What becomes of a list of wire events: their frames in the target and, if asked for, the report.
Replay = Callable[[list[Event], bool], Any]

# So many frames are kept before those of one shape are counted as one, and so many of each shape stay.
_MANY, _ALIKE = 24, 2
# How many leaves are converted in all trials of one stream. What is undecided then is called lost.
_EFFORT = 20_000
# What says where a frame belongs, and not what.
_INDEX = (ADDRESS - {"obfuscation", "extra"}) | {"index"}
# Of so many characters, a text that is found in what was sent was sent.
_TELLING = 8


class _Frame(NamedTuple):
    """A frame, and the items that it is about."""

    number: int
    event: Event
    places: frozenset[Place]


class HeldFrames:
    """The frames of one stream that may hold something unsent."""

    def __init__(self) -> None:
        self.frames: list[_Frame] = []
        # Of the last frame that was kept of each shape: the numbers of those that it stands for.
        self.alike: dict[int, list[int]] = {}
        self.limit = _MANY

    def feed(self, number: int, event: Event, events: Iterable[Event], items: dict[Place, str]) -> None:
        """Take a frame with the canonical events that it became; `items` are the states of the items so far."""
        places = frozenset((each.get("choice", 0), each["output_index"]) for each in events if "output_index" in each)
        self.frames.append(_Frame(number, event, places))
        if len(self.frames) > self.limit:
            self._shorten(items)

    def _shorten(self, items: dict[Place, str]) -> None:
        """Of frames alike drop all but a few."""
        opening, *rest = self.frames
        kept, seen = [opening], dict[Keys, list[_Frame]]()
        for frame in rest:
            # An item that ended may be held as well, but not for the reason that one under way is.
            alike = seen.setdefault((_is_settled(frame, items) or frame.places, *_shape(frame)), [])
            if len(alike) < _ALIKE:
                alike.append(frame)
                kept.append(frame)
            else:
                self.alike.setdefault(alike[-1].number, []).append(frame.number)
        self.frames, self.limit = kept, _MANY + len(kept)

    def documents(self) -> dict[int, Any]:
        """The data of the frames that were kept, by their numbers."""
        found = {frame.number: frame.event["data"] for frame in self.frames}
        for frame in self.frames:
            found.update(dict.fromkeys(self.alike.get(frame.number, ()), frame.event["data"]))
        return found

    def losses(self, replay: Replay, report: Losses, items: dict[Place, str], trail: Trail) -> list[Loss]:
        """The values that are in none of the target's frames and in no report."""
        if len(self.frames) > _MANY:
            self._shorten(items)
        named, found = _Named(report), list[Loss]()
        trial = _Trial([frame.event for frame in self.frames], replay)
        for index, frame in enumerate(self.frames):
            for keys in trial.unsent(index, named, (frame.number, "data")):
                capability = trail.capability(frame.event["data"], keys)
                for number in (frame.number, *self.alike.get(frame.number, ())):
                    found.append(Loss(pointer((number, "data", *keys)), capability, "lost", DETAIL))
        return found


class _Named:
    """What a report names: places, and everything in those of which nothing arrived."""

    def __init__(self, report: Losses) -> None:
        own = [loss for loss in report if loss.side == "source"]
        self.places = frozenset(loss.path for loss in own)
        self.whole = frozenset(loss.path for loss in own if loss.fate in ("lost", "parked"))

    def __call__(self, path: str) -> bool:
        if path in self.places:
            return True
        while path:
            path = path.rpartition("/")[0]
            if path in self.whole:
                return True
        return False


def replayed(pipe: Any, events: list[Event]) -> Any:
    """What a pipe of its own makes of frames after which nothing comes."""
    out: list[Event] = []
    try:
        for event in events:
            out += pipe.feed(event)
        out += pipe.close()
    except UnifiedLLMError as error:
        return out, type(error)
    return (out, *pipe.losses.report())


class _Trial:
    """Which values of some frames make no difference to what is sent."""

    def __init__(self, events: list[Event], replay: Replay) -> None:
        self.events, self.replay = events, replay
        self.bases = {reports: replay(events, reports) for reports in (False, True)}
        self.said: dict[Any, list[tuple[int, Keys]]] = {}
        self.size = 0
        for index, event in enumerate(events):
            for keys, value in _leaves(event["data"]):
                self.size += 1
                self.said.setdefault(_said(keys, value), []).append((index, keys))
        # What the texts of the target's frames amount to, by their keys.
        texts: dict[Any, list[str]] = {}
        for event in self.bases[False][0]:
            for keys, value in _leaves(event["data"]):
                if type(value) is str:
                    texts.setdefault(keys[-1] if keys else None, []).append(value)
        self.texts = ["".join(pieces) for pieces in texts.values()]
        self.effort = 0
        self.judged: dict[Any, bool] = {}

    def unsent(self, index: int, named: _Named, above: Keys) -> list[Keys]:
        """The smallest list of paths in the frame at `index` below which nothing was sent."""
        data, found = self.events[index]["data"], list[Keys]()
        if type(data) is not dict:
            return []
        groups = [[(key,) for key in data if key not in _INDEX and not self._is_address(index, key, data[key])]]
        while groups:
            group = [
                keys for keys in groups.pop() if not named(pointer((*above, *keys))) and not _is_empty(_at(data, keys))
            ]
            if not group:
                continue
            if self._makes_no_difference(index, group):
                found += [left for keys in group for left in self._left_of(data, keys)]
            elif len(group) > 1:
                groups += [group[len(group) // 2 :], group[: len(group) // 2]]
            else:
                groups.append(_below(data, group[0]))
        return found

    def _left_of(self, data: Any, keys: Keys) -> list[Keys]:
        """What of an unsent value was not sent in pieces: sources say a text again when it ends, whatever it was."""
        leaves = [(place, value) for place, value in _leaves(_at(data, keys), keys) if value != ""]
        left = [place for place, value in leaves if not self._is_sent(value)]
        return [keys] if leaves and len(left) == len(leaves) else left

    def _is_sent(self, value: Any) -> bool:
        return type(value) is str and len(value) >= _TELLING and any(value in text for text in self.texts)

    def _is_address(self, index: int, key: str, value: Any) -> bool:
        """Whether a word of a frame is the id of what an earlier frame was about."""
        if type(value) is not str or not key.endswith("id"):
            return False
        return any(number < index for number, _ in self.said.get(("id", str, value), ()))

    def _makes_no_difference(self, index: int, group: list[Keys]) -> bool:
        data = self.events[index]["data"]
        # A stream says a thing more than once; it is altered wherever it says it, so one verdict is that of all places.
        said = {_said(inner, value) for keys in group for inner, value in _leaves(_at(data, keys), keys)}
        known = [self.judged.get(each) for each in said]
        if False in known or None not in known:
            return False not in known
        if self.effort > _EFFORT:
            return True
        self.effort += self.size
        same = self._is_same(said)
        if same or len(said) == 1:
            self.judged.update(dict.fromkeys(said, same))
        return same

    def _is_same(self, said: set[Any]) -> bool:
        """Whether the target's frames are the same with these values altered."""
        changes: dict[int, list[Keys]] = {}
        for each in said:
            for number, place in self.said[each]:
                changes.setdefault(number, []).append(place)
        events = list(self.events)
        for number, places in changes.items():
            whole = events[number]["data"]
            for place in places:
                whole = _altered(whole, place)
            events[number] = {**events[number], "data": whole}
        # A value that its frame has to have is said by there being one: another would be reported.
        return all(self.replay(events, reports) == base for reports, base in self.bases.items())


def _is_settled(frame: _Frame, items: dict[Place, str]) -> bool:
    """Whether all that a frame is about has ended."""
    return bool(frame.places) and all(items.get(place) == "done" for place in frame.places)


def _shape(frame: _Frame) -> Keys:
    """What frames have in common in which the same places were sent."""
    data = frame.event["data"]
    names = [value for keys, value in _leaves(data) if keys[-1:] in (("type",), ("event_type",))]
    return (*names, *(keys for keys, _ in _leaves(data)))


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


def _at(data: Any, keys: Keys) -> Any:
    for key in keys:
        data = data[key]
    return data


def _altered(data: Any, keys: Keys) -> Any:
    """A copy of `data` with another value of the same type and form at a path."""
    if not keys:
        return _other(data)
    copy: Any = dict(data) if type(data) is dict else list(data)
    copy[keys[0]] = _altered(copy[keys[0]], keys[1:])
    return copy


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
