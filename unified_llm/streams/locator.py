"""Where a loss in a stream comes from.

A value that is lost when an item or the response ends came in an earlier event, and often in several. So a stream's
reader keeps its notes to the end, and the pipe keeps, by their numbers, those events that a note was made on: never the
deltas that a stream is full of. Each of their nodes is identified by its identity; a node that was put together notes
for each of its pieces where it came from (`Reader.gather`). Only when there is something to report is any of it walked,
each event once.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any

from ..foundation.json_paths import Keys, at, follow, ids_below, once, paths_below, pointer
from ..losses import Loss
from ..losses.capability_names import loss_of_added
from ..losses.locator import Finder
from ..types._tables import CAPABILITY, CHILDREN

if TYPE_CHECKING:
    from ..engine.adapter import Adapter
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = ["Trail"]

Node = dict[str, Any]
# What is to be reported: a node, the keys below it, the fate, a detail, the capability if it is known.
Entry = tuple[Node, Keys, str, str, "str | None"]

# So many of the last events are looked at before any is walked.
_LAST = 8


class _Now:
    """What is being converted: events, what became of them and after how many others, what was read since the last."""

    def __init__(self, events: list[Node], target: list[Any], sent: int, news: list[tuple[Node, Any]]) -> None:
        self.target, self.sent = target, sent
        self._events, self._news = events, news
        # Where nodes stand, in the event that was read and in those that are written: many words are of one node.
        self.read: dict[int, tuple[str, Node, dict[str, str]] | None] = {}
        self.written: dict[int, Keys] = {}
        self.goes: dict[int, Keys] | None = None

    @once
    def responses(self) -> set[int]:
        return {id(event["response"]) for event in self._events if "response" in event}

    @once
    def news(self) -> dict[int, list[Any]]:
        """The wire nodes of those that were read since the last report."""
        found: dict[int, list[Any]] = {}
        for node, wire in self._news:
            found.setdefault(id(node), []).append(wire)
        return found


class Trail:
    """What is known of the events of one stream.

    It grows with what the reader notes of items and of the response, and each note is looked at once, whatever the
    number of reports. Of events that nothing later can be traced to, nothing is kept (`forget`).
    """

    def __init__(self, reader: Reader, writer: Writer, source: Adapter, goal: Adapter) -> None:
        self.reader = reader
        self.writer = writer
        self.source = source
        self.goal = goal
        # Canonical node -> wire node and the reverse; wire node -> path, of those events that were walked.
        self.wires: dict[int, Any] = {}
        self.nodes: dict[int, Any] = {}
        self.made_of: dict[int, list[int]] = {}
        self.turns: dict[int, Any] = {}
        # The leaves with a place: the keys by node; each leaf with its place, by the last key of that; the leaves by
        # the object that has the value and its key there, or by wire node and place where that was put together.
        self.places_of: dict[int, dict[Keys, None]] = {}
        self._ends: dict[Keys, dict[Keys, Keys]] = {}
        self._by_place: dict[Keys, dict[Keys, None]] = {}
        self._indexed: dict[Keys, Keys] = {}  # the place of each leaf when it was last looked at
        self._untraced: dict[int, list[Keys]] = {}  # leaves whose node has no wire node yet
        self._unindexed: list[Keys] = []  # leaves of which no loss asked yet
        self._paths: dict[int, Keys] = {}
        # The numbers of the events that wire nodes were read from, and where the notes on each event end.
        self._numbers: dict[int, int | None] = {}
        self._notes: deque[tuple[int | None, int]] = deque()
        self._known: set[int] = set()
        self._unwalked: list[int] = []
        self._noted = self._turned = self._placed = self._told = 0

    def report(self, events: list[Node], target: list[Any], sent: int) -> list[Loss]:
        """The losses noted since the last time, while `events` became `target`, `sent` events after the first."""
        self.writer.unfold()
        trace = self.reader.traced()
        now = _Now(events, target, sent, trace[self._told :])
        self._told = len(trace)
        finder: _StreamFinder | None = None
        found: list[Loss] = []
        for entry in [*self.writer.raw, *((*note, None) for note in self.reader.notes)]:
            loss = self._added(entry, now) if entry[2] == "added" else self._plain(entry, now)
            if loss is not None:
                found.append(loss)
                continue
            if finder is None:
                self._catch_up()
                finder = _StreamFinder(self, events, target, sent)
            found += finder.loss(*entry)
        self.writer.raw.clear()
        self.reader.notes.clear()
        return list(dict.fromkeys(found))

    def done(self, events: list[Node], mark: int) -> None:
        """The event is read: of the notes from `mark` on keep what later losses may be traced to."""
        self._forget(events, mark)
        if len(self.reader.trace) != mark:
            self._notes.append((self.reader.number or 0, len(self.reader.trace)))

    def _forget(self, events: list[Node], mark: int) -> None:
        """Drop the notes from `mark` on that are of the events themselves, which are done with, and not of what is in
        them; and the wire event, if there are no others and no path leads into it."""
        reader, own = self.reader, {id(event) for event in events}
        trace = reader.traced()
        gone = [node for node, _ in trace[mark:] if id(node) in own]
        if not gone:
            return
        for node in gone:
            wire = self.wires.pop(id(node), None)
            self.nodes.pop(id(node), None)
            if wire is not None and id(wire) in self.made_of:
                self.made_of[id(wire)].remove(id(node))
            self._numbers.pop(id(wire), None)
        left = [pair for pair in trace[mark:] if id(pair[0]) not in own]
        trace[mark:] = left
        self._noted, self._told = (min(known, len(trace)) for known in (self._noted, self._told))
        number = reader.number or 0
        if left or reader.cited == number or len(reader.turns) != self._turned or number not in reader.docs:
            return
        doc = reader.docs.pop(number)
        if number in self._known:
            self._known.discard(number)
            for wire_id in ids_below(doc):
                self._paths.pop(wire_id, None)
                self.made_of.pop(wire_id, None)

    # Most of what is reported is a word of the response or the item that an event holds: nothing is walked for those.

    def _added(self, entry: Entry, now: _Now) -> Loss | None:
        node, keys, _, detail, capability = entry
        place = now.written.get(id(node))
        if place is None:
            place = now.written[id(node)] = self._goes(node, now)
        if not place:
            return None
        return loss_of_added((*place, *keys), self.goal, "response", detail, capability)

    def _goes(self, node: Node, now: _Now) -> Keys:
        """Where a node stands in the events that are written, in no list."""
        if now.goes is None:
            now.goes = {}
            for number, data in enumerate(now.target):
                if type(data) is dict:
                    for held, place in _nodes_within(data, 3):
                        now.goes.setdefault(id(held), (now.sent + number, "data", *place))
        return now.goes.get(id(node), ())

    def _plain(self, entry: Entry, now: _Now) -> Loss | None:
        (node, keys, fate, detail, capability), known = entry, id(entry[0])
        if len(keys) != 1:
            return None
        if known not in now.read:
            now.read[known] = self._stands(node, now)
        place, key = now.read[known], keys[0]
        if place is None:
            return None
        name, wire, capabilities = place
        capability = capability or capabilities.get(key)
        if not capability or key not in wire or (known, key) in self.reader.places:
            return None
        value = node.get(key)
        if type(value) is dict or type(value) is list:
            self._catch_up()
            if value != wire[key] or any(told[0] == key for told in self.places_of.get(known, ())):
                return None
        elif wire[key] is not value:
            return None
        return Loss(pointer((self.reader.number, "data", name, key)), capability, fate, detail)  # type: ignore[arg-type]

    def _stands(self, node: Node, now: _Now) -> tuple[str, Node, dict[str, str]] | None:
        """Under which key of the event the node's own wire node stands, and the capabilities of what is in it."""
        reader = self.reader
        if type(reader.doc) is not dict or id(node) in reader.below or id(node) in reader.stands:
            return None
        kind = node.get("type", "response" if id(node) in now.responses else "")
        sources = now.news.get(id(node), ())
        for name, wire in reader.doc.items():
            if type(wire) is dict and any(wire is source for source in sources):
                return name, wire, CAPABILITY.get(kind, {}) if type(kind) is str else {}
        return None

    @property
    def ends(self) -> dict[Keys, dict[Keys, Keys]]:
        if self._unindexed:
            self._index()
        return self._ends

    @property
    def by_place(self) -> dict[Keys, dict[Keys, None]]:
        if self._unindexed:
            self._index()
        return self._by_place

    def _catch_up(self) -> None:
        reader = self.reader
        traced = reader.traced()[self._noted :]
        wires, nodes, made_of, numbers, notes = self.wires, self.nodes, self.made_of, self._numbers, self._notes
        number, end = notes.popleft() if notes else (reader.number, sys.maxsize)
        for place, (node, wire) in enumerate(traced, self._noted):
            while place >= end:
                number, end = notes.popleft() if notes else (reader.number, sys.maxsize)
            known = id(node)
            wires[known] = wire
            nodes[known] = node
            numbers.setdefault(id(wire), number)
            if id(wire) in made_of:
                made_of[id(wire)].append(known)
            else:
                made_of[id(wire)] = [known]
        for node, wire in reader.turns[self._turned :]:
            self.turns[id(node)] = wire
        self._noted, self._turned = len(reader.traced()), len(reader.turns)
        if len(reader.docs) != len(self._known):
            # The newest stand last.
            new = list(takewhile(lambda number: number not in self._known, reversed(reader.docs)))
            self._unwalked += sorted(new)
            self._known.update(new)
        if self._untraced:
            for node, _ in traced:
                self._unindexed += self._untraced.pop(id(node), ())
        for node, keys in reader.placed[self._placed :]:
            known = id(node)
            if known in self.places_of:
                self.places_of[known][keys] = None
            else:
                self.places_of[known] = {keys: None}
            if known in nodes:
                self._unindexed.append((known, *keys))
            else:
                self._untraced.setdefault(known, []).append((known, *keys))
        self._placed = len(reader.placed)

    def _index(self) -> None:
        """Know the leaves with a place by where they came from."""
        indexed, ends, by_place, places = self._indexed, self._ends, self._by_place, self.reader.places
        for leaf in self._unindexed:
            place, known = places[leaf], indexed.get(leaf)
            if known == place:
                continue
            if known is not None:
                ends[known[-1:]].pop(leaf, None)
            indexed[leaf] = place
            ends.setdefault(place[-1:], {})[leaf] = place
            wire = self.wires.get(leaf[0])
            if place[:1] == (...,):
                spot = self.spots(place[1:])[0]
            else:
                holder = None if id(wire) in self.reader.gathered else at(wire, place[:-1])
                spot = (id(wire), place) if holder is None else (id(holder), *place[-1:])
            by_place.setdefault(spot, {})[leaf] = None
        self._unindexed.clear()

    def capability(self, data: Any, keys: Keys) -> str:
        """The capability of a value in the data of an event, as far as it became a canonical node."""
        self._catch_up()
        if keys and type(data) is dict and id(data.get(keys[0])) in self.reader.repeats:
            data = {keys[0]: self.reader.repeats[id(data[keys[0]])]}
        for depth in range(len(keys) - 1, -1, -1):
            for known in self.made_of.get(id(at(data, keys[:depth])), ()):
                kind = self.nodes[known].get("type") if known in self.nodes else None
                table = CAPABILITY.get(kind, {}) if type(kind) is str else {}
                if keys[depth] in table or "" in table:
                    return table.get(keys[depth], table.get("", "native.field"))
        return "native.field"

    def spots(self, path: Keys) -> list[Keys]:
        """The key of a path without a walk: the object above it with its key, and what stands there."""
        doc = self.reader.docs.get(path[0]) if path else None
        return [(id(at(doc, path[2:-1])), *path[2:][-1:]), (id(at(doc, path[2:])),)]

    def path(self, wire: Any) -> Keys | None:
        """Where a wire node stands in the events that were kept; the newest are looked through first."""
        paths, docs, known = self._paths, self.reader.docs, id(wire)
        if known not in paths:
            near = [(self.reader.number, self.reader.doc, 2)]
            if known in self._numbers:
                near.append((self._numbers[known], docs.get(self._numbers[known] or 0), 3))
            last = islice(reversed(self._unwalked), _LAST)
            for number, doc, depth in chain(near, ((number, docs.get(number), 1) for number in last)):
                if doc is wire:
                    return (number, "data")
                place = _within(doc, wire, depth)
                if place:
                    return (number, "data", *place)
        while known not in paths and self._unwalked:
            number = self._unwalked.pop()
            if number not in docs:
                continue
            for key, path in paths_below(docs[number], (number, "data")).items():
                paths[key] = (number, "data", *path)
        return paths.get(known)


class _StreamFinder(Finder):
    """The same search, in a document that is a list of events of which only some are still there."""

    def __init__(self, trail: Trail, events: list[Node], target: list[Any], sent: int) -> None:
        super().__init__(events, target, trail.writer, trail.reader, trail.source, trail.goal, "response", ())
        self.trail, self.sent = trail, sent
        self.wires, self._read, self.turns = trail.wires, trail.nodes, trail.turns
        self._made_of, self._places_of = trail.made_of, trail.places_of
        self.now: Keys = (trail.reader.number, "data")
        self._places: dict[int, Keys] = {}  # where wire nodes stand
        # By wire node that was put together: the places of the pieces below each place; and the losses so expanded.
        self._below: dict[int, dict[str, list[str]]] = {}
        self._expanded: set[Loss] = set()

    @once
    def _ends(self) -> dict[Keys, dict[Keys, Keys]]:
        return self.trail.ends

    def loss(self, node: Node, keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        out = super().loss(node, keys, fate, detail, capability)
        wire = self.turns.get(id(node)) if keys[:1] == ("extra",) and keys[2:3] == ("turn",) else self._wire(node)
        if self.reader is None or id(wire) not in self.reader.gathered:
            return out
        # Of what was put together, be it the whole or a value in it, each piece is lost with it.
        for lost in tuple(out):
            if lost not in self._expanded:
                self._expanded.add(lost)
                out += [lost._replace(path=path) for path in self._pieces(wire, lost.path)]
        return out

    def _pieces(self, wire: Any, whole: str) -> list[str]:
        """Where the further pieces came from of what was put together and stands at a place."""
        assert self.reader is not None
        sources = self.reader.gathered[id(wire)][1]
        if max(map(len, sources), default=0) < 2 and pointer(sources.get((), ())) != whole:
            return []
        if id(wire) not in self._below:
            below: dict[Keys, list[str]] = {}
            first: dict[str, Keys] = {}
            for keys, path in sources.items():
                place = pointer(path)
                first.setdefault(place, keys)
                for depth in range(len(keys)):
                    below.setdefault(keys[:depth], []).append(place)
            self._below[id(wire)] = {place: below.get(keys, []) for place, keys in first.items()}
        return self._below[id(wire)].get(whole, [])

    def _wire(self, node: Any) -> Any:
        return self.wires.get(id(node)) if type(node) is dict else None

    def _path(self, wire: Any) -> Keys:
        return self._join(wire, ())

    def _came_from(self, where: Keys, node: int, place: Keys) -> Iterable[Keys]:
        spots = [*self.trail.spots(where), (id(self._wire(self._read.get(node))), place)]
        found = dict.fromkeys(leaf for spot in spots for leaf in self.trail.by_place.get(spot, ()))
        return [leaf for leaf in found if self._absolute(leaf[0], self.reader.places[leaf]) == where]  # type: ignore[union-attr]

    def _join(self, wire: Any, keys: Keys) -> Keys:
        gathered = self.reader.gathered.get(id(wire)) if self.reader is not None else None
        if gathered is None:
            found = self._places.get(id(wire))
            if found is None:
                found = self._places[id(wire)] = self.trail.path(wire) or self.now
            return self.now if found is self.now else found + keys
        # What was put together stands in no event.
        sources = gathered[1]
        for depth in range(len(keys), -1, -1):
            source = sources.get(keys[:depth])
            if source is not None:
                return source + follow(self._within(source), keys[depth:])
        return self.now

    def _within(self, keys: Keys) -> Any:
        docs = self.reader.docs if self.reader is not None else {}
        return at(docs.get(keys[0]), keys[2:])

    def _source(self, node: Any, keys: Keys) -> Keys:
        return super()._source(node, keys) or self.now

    def _stands_for(self, node: int) -> int:
        # What has no type is the response's: its values are read when they come, and again at the end.
        read = self._read.get(node)
        return super()._stands_for(node) if read is None or "type" in read else 0

    def _added(self, node: Any, keys: Keys) -> Keys:
        above = self._target_paths.get(id(node)) or _holder(self.target, node, keys)
        if not above:
            return (self.sent + max(len(self.target) - 1, 0), "data")
        return (self.sent + above[0], "data", *above[1:], *keys)

    def _leaf(self, node: Node, wire: Any, keys: Keys, exact: bool = False) -> Keys:
        found = super()._leaf(node, wire, keys, exact)
        if keys and (not found or found == keys) and type(node) is dict and "type" not in node:
            # A response is never the root here, and has its settings table all the same.
            table = self.source.settings.get(self._name_of(node)) if self.source is not None else None
            key = table.wire_key(keys) if table is not None else None
            if key is not None and type(wire) is dict and key in wire:
                return (key, *follow(wire[key], keys[1:]))
        return found

    def _parent(self, node: Any) -> tuple[Any, Any] | None:
        if self.parents is None:
            # Mostly it hangs on the response.
            responses = {id(event["response"]): event["response"] for event in self.root if "response" in event}
            found = [(each, key) for each in responses.values() for key, value in each.items() if value is node]
            if len(found) == 1:
                return found[0]
        return super()._parent(node)

    def _named(self, node: Node) -> str:
        for event in self.root:
            for key, value in event.items():
                if value is node:
                    # An error is the one event that has its type's name in common with a node.
                    name = "event:error" if event["type"] == "error" else event["type"]
                    return next(iter(CHILDREN.get(name, {}).get(key, ())), "")
            place = _within(event["response"], node, 2) if type(event.get("response")) is dict else ()
            if place and all("type" not in at(event["response"], place[:depth]) for depth in range(len(place))):
                name = "response"
                for key in place:
                    children = CHILDREN.get(name, {}).get(key, ())
                    name = children[0] if len(children) == 1 else ""
                return name
        return super()._named(node)


def _within(holder: Any, node: Any, depth: int) -> Keys:
    """Where a node stands in an object, that deep, and in no list."""
    if type(holder) is not dict:
        return ()
    for key, value in holder.items():
        if value is node:
            return (key,)
    for key, value in holder.items() if depth > 1 else ():
        below = _within(value, node, depth - 1) if type(value) is dict else ()
        if below:
            return (key, *below)
    return ()


def _nodes_within(holder: Node, depth: int) -> Iterator[tuple[Node, Keys]]:
    """Every object in an object, that deep, and in no list; those above first."""
    level: list[tuple[Node, Keys]] = [(holder, ())]
    for _ in range(depth + 1):
        yield from level
        level = [(value, (*at, key)) for node, at in level for key, value in node.items() if type(value) is dict]


def _holder(target: Any, node: Any, keys: Keys) -> Keys:
    """The path of a copy of `node` in what was written: the last object with the same value under its key."""
    value = at(node, keys)
    if value is None:
        return ()
    return next((path for held, path in reversed(_objects(target)) if at(held, keys) == value), ())


def _objects(root: Any) -> list[tuple[Any, Keys]]:
    """Every object below a root with its path."""
    out: list[tuple[Any, Keys]] = []
    stack: list[tuple[Any, Keys]] = [(root, ())]
    while stack:
        here, path = stack.pop()
        if type(here) is dict:
            out.append((here, path))
        for key, value in here.items() if type(here) is dict else enumerate(here):
            if type(value) is dict or type(value) is list:
                stack.append((value, (*path, key)))
    return out
