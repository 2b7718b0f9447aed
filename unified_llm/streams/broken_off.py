"""The values of a stream that its target never got because it ended in an error.

A target sends a few values of an answer when it opens, and the others with its end. After an error there is no end, so
whatever was left for it is lost: the usage so far, the settings that the source repeated, what a frame held beside its
text. `Streams.opening` declares what is sent first; what has no form here at all is found out by writing a whole
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..engine.pairs.mapping import ILL_TYPED
from ..foundation.json_paths import at, ids_below, pointer
from ..passes.trial import trial_writer
from ..types._tables import CAPABILITY

if TYPE_CHECKING:
    from ..engine.adapter import Adapter, WireReader
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer
    from ..losses import Loss

__all__ = ["LIFECYCLE", "BrokenOff", "Stated", "new_losses"]

Node = dict[str, Any]
Entry = tuple[Node, tuple[Any, ...], str, str, "str | None"]

DETAIL = "the stream ended in an error before it was sent"
# Facts of an answer that the presence of its frames implies.
_IMPLIED = frozenset(("type", "object", "status", "output", "choices", "extra", "error", "finish"))
_SLOTS = ("rest", "turn")  # of what a reader kept, those that hold values
LIFECYCLE = frozenset(("response.created", "response.in_progress", "response.queued"))


class BrokenOff:
    """What an answer under way amounts to, in case that it never ends."""

    def __init__(self, reader: WireReader, reading: Reader, writing: Writer, origin: Adapter, goal: Adapter) -> None:
        self.reader = reader
        self.reading = reading
        self.writing = writing
        self.origin = origin
        self.goal = goal
        self.first: Node = {}
        self.done: bool = False

    def feed(self, event: Node) -> None:
        """Take a canonical event."""
        if event["type"] in LIFECYCLE and not self.first:
            self.first = event["response"]

    def entries(self, opened: bool) -> list[Entry]:
        """What is lost, once; `opened` means that a frame of the target's was sent before the error."""
        if self.done:
            return []
        self.done = True
        unfinished = getattr(self.reader, "unfinished", None)
        late: Node = (unfinished() if unfinished is not None else None) or {}
        answer = {**self.first, **late}
        told = self.goal.streams.opening if opened else frozenset[str]()
        stands = {key: late if key in late else self.first for key in answer}
        untold: dict[str, list[tuple[Any, ...]]] = {}
        for key, value in answer.items():
            if value is not None and key not in _IMPLIED:
                # Of a usage object, some counts are sent and others are not: each is reported by itself.
                known = self.first.get(key) if key in told else {} if key == "usage" else None
                untold[key] = _more(value, known, (key,), leaves=key == "usage")
        found: list[Entry] = [
            (*_located(stands[key], keys), "lost", DETAIL, _capability(keys))
            for key in sorted(untold)
            for keys in untold[key]
        ]
        # What was made of several values is reported as those.
        found = [entry for entry in found if self.reading.places.get((id(entry[0]), *entry[1])) != ()]
        below = [at(answer, keys) for paths in untold.values() for keys in paths]
        within = {each for value in below if type(value) in (dict, list) for each in (id(value), *ids_below(value))}
        reported = {(id(entry[0]), entry[1]) for entry in found}
        gone = {keys[0] for paths in untold.values() for keys in paths if len(keys) == 1}
        for node, keys, fate, detail, capability in self._trial(answer):
            if (
                fate != "lost"
                or id(node) in within
                or (id(node), keys) in reported
                or (node is answer and keys[:1] and keys[0] in gone)
            ):
                continue
            if node is answer:
                node = stands.get(keys[0], self.first) if keys else self.first
            found.append((node, keys, fate, detail, capability))
        found += self._kept(late)
        return found

    def _trial(self, answer: Node) -> list[Entry]:
        """What a whole answer loses."""
        trial = trial_writer(self.writing)
        try:
            trial.root(self.goal.kinds["response"].write, {**answer, "output": [], "choices": []})
        except ILL_TYPED:
            return []
        trial.unfold()
        return [(answer if node is trial.doc else node, *entry) for node, *entry in trial.raw]  # type: ignore[misc]

    def _kept(self, late: Node) -> Iterator[Entry]:
        """What the reader kept of items and parts that never ended."""
        stack: list[Any] = [late.get("output"), late.get("choices")]
        while stack:
            here = stack.pop()
            if type(here) is list:
                stack.extend(reversed(here))
            elif type(here) is dict:
                extra = here.get("extra", {})
                drawer = extra.get(self.origin.protocol, {}) if _is_kept(extra) else {}
                for slot in _SLOTS:
                    if slot in drawer:
                        yield here, ("extra", self.origin.protocol, slot), "lost", "", None
                stack.extend(value for key, value in here.items() if key != "extra")


def _more(value: Any, known: Any, keys: tuple[Any, ...], *, leaves: bool = False) -> list[tuple[Any, ...]]:
    """The paths of what a value holds beyond what is known of it; each leaf by itself, if `leaves`."""
    if value == known or value is None:
        return []
    if type(value) is dict and (type(known) is dict or (leaves and value)) and _is_kept(value.get("extra", {})):
        below = known if type(known) is dict else {}
        found = []
        for key, inner in value.items():
            if key == "extra":
                found += [
                    (*keys, key, protocol, slot) for protocol in inner for slot in _SLOTS if slot in inner[protocol]
                ]
            else:
                found += _more(inner, below.get(key), (*keys, key), leaves=leaves)
        return found
    return [keys]


def _is_kept(extra: Any) -> bool:
    """Whether it is what readers kept of an object, by protocol; counts of a provider's own may have any name."""
    return type(extra) is dict and all(type(drawer) is dict for drawer in extra.values())


def _located(response: Node, keys: tuple[Any, ...]) -> tuple[Node, tuple[Any, ...]]:
    """The object that the place of a value is noted of, and the keys below it: the usage, or what holds a slot."""
    depth = keys.index("extra") if "extra" in keys else int(keys[0] == "usage" and len(keys) > 1)
    return at(response, keys[:depth]), keys[depth:]


def _capability(keys: tuple[Any, ...]) -> str | None:
    """The capability of the innermost of the keys of a response that has one."""
    named = (CAPABILITY["response"].get(".".join(map(str, keys[:depth]))) for depth in range(len(keys), 0, -1))
    return next((name for name in named if name), None)


class Stated:
    """Where the report has what an answer amounted to when it broke off: the frames that stated it last.

    Statements before those are no losses of their own: a stream repeats its counts so far.
    """

    def __init__(self, report: Iterable[Loss]) -> None:
        self.last: dict[str, int] = {}
        for loss in report:
            number, _, place = loss.path[1:].partition("/")
            if loss.side == "source" and loss.detail == DETAIL and number.isdecimal():
                self.last[place] = max(int(number), self.last.get(place, 0))

    def since(self, number: int, keys: tuple[Any, ...]) -> bool:
        """Whether the value at `keys` of the data of frame `number` is stated in that frame or in a later one."""
        above = (pointer(("data", *keys[:depth]))[1:] for depth in range(1, len(keys) + 1))
        return any(self.last.get(place, -1) >= number for place in above)


def new_losses(found: list[Loss], known: list[Loss]) -> list[Loss]:
    """Those of places that nothing is reported of yet."""
    paths = {loss.path for loss in known if loss.side == "source"}
    return [loss for loss in found if loss.path not in paths]
