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
from typing import TYPE_CHECKING, Any

from ...foundation.json_paths import Keys, at, ids_below, once, paths_below, pointer
from ...losses import Loss
from ...losses.capability_names import loss_of_added
from ...types._tables import CAPABILITY
from .source_search import StreamFinder, within

if TYPE_CHECKING:
    from ...engine.adapter import Adapter
    from ...engine.pairs.reading import Reader
    from ...engine.pairs.writing import Writer

__all__ = ["Trail"]

Node = dict[str, Any]
# What is to be reported: a node, the keys below it, the fate, a detail, the capability if it is known.
Entry = tuple[Node, Keys, str, str, "str | None"]

# So many of the last events are looked at before any is walked, and so many events at most for each node.
_LAST = 8
# So many levels of objects in a target's event are looked through for one that something was added to.
_DEEP = 4


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
            known = id(node)
            if known in found:
                found[known].append(wire)
            else:
                found[known] = [wire]
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
        # The leaves with a place: the keys by node; and all of them by the object that has the value and its key there,
        # or by wire node and place where that was put together.
        self.places_of: dict[int, dict[Keys, None]] = {}
        self.by_place: dict[Keys, dict[Keys, None]] = {}
        self._indexed: dict[Keys, Keys] = {}  # the place of each leaf when it was last looked at
        self._untraced: dict[int, list[Keys]] = {}  # leaves whose node has no wire node yet
        self.unindexed: list[Keys] = []  # leaves that no loss needed yet
        self._paths: dict[int, Keys] = {}
        # The numbers of the events that wire nodes were read from, and where the notes on each event end.
        self._numbers: dict[int, int | None] = {}
        self._notes: deque[tuple[int | None, int]] = deque()
        self._known: set[int] = set()
        self._unwalked: list[int] = []
        self._noted = self._turned = self._placed = self._told = 0

    def report(self, events: list[Node], target: list[Any], sent: int) -> list[Loss]:
        """The losses noted since the last time, while `events` became `target`, `sent` events after the first."""
        reader, writer = self.reader, self.writer
        if writer.alike or writer.filled or writer.relaxed:
            writer.unfold()
        trace = reader.traced()
        now = _Now(events, target, sent, trace[self._told :])
        self._told = len(trace)
        finder: StreamFinder | None = None
        found: list[Loss] = []
        entries: list[Entry] = [*writer.raw]
        if reader.notes:
            entries += [(*note, None) for note in reader.notes]
        for entry in entries:
            loss = self._added(entry, now) if entry[2] == "added" else self._plain(entry, now)
            if loss is not None:
                found.append(loss)
                continue
            if finder is None:
                self._catch_up()
                finder = StreamFinder(self, events, target, sent)
            found += finder.loss(*entry)
        del writer.raw[:], reader.notes[:]
        return [*dict.fromkeys(found)] if len(found) > 1 else found

    def done(self, events: list[Node], mark: int) -> int:
        """The event is read: of the notes from `mark` on keep what later losses may be traced to.

        Gives how many notes there are now.
        """
        news = self.reader.trace[mark:]
        if len(events) == 1:
            event = events[0]
            left = [pair for pair in news if pair[0] is not event]
        else:
            own = set(map(id, events))
            left = [pair for pair in news if id(pair[0]) not in own]
        end = mark + len(left)
        if len(left) < len(news):
            self._forget(left, mark, end)
        if left:
            self._notes.append((self.reader.number or 0, end))
        return end

    def _forget(self, left: list[tuple[Node, Node]], mark: int, end: int) -> None:
        """Drop the notes from `mark` on that are of the events themselves, which are done with, and not of what is in
        them (these are `left`); and the wire event, if there are no others and no path leads into it."""
        reader, trace = self.reader, self.reader.trace
        if self._noted > mark:
            kept = {id(node) for node, _ in left}
            for node, _ in trace[mark:]:
                if id(node) not in kept:
                    self._unlink(node)
        trace[mark:] = left
        if self._noted > end:
            self._noted = end
        if self._told > end:
            self._told = end
        number = reader.number or 0
        if left or reader.cited == number or len(reader.turns) != self._turned or number not in reader.docs:
            return
        doc = reader.docs.pop(number)
        if number in self._known:
            self._known.discard(number)
            if self._unwalked[-1:] == [number]:
                self._unwalked.pop()
            for wire_id in ids_below(doc):
                self._paths.pop(wire_id, None)
                self.made_of.pop(wire_id, None)

    def _unlink(self, node: Node) -> None:
        """Forget what a node was read from."""
        wire = self.wires.pop(id(node), None)
        self.nodes.pop(id(node), None)
        if wire is not None and id(wire) in self.made_of:
            self.made_of[id(wire)].remove(id(node))
        self._numbers.pop(id(wire), None)

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
        if now.goes is None and len(now.target) <= _LAST:
            for number, data in enumerate(now.target):
                if data is node:  # as most are, or next to it
                    return (now.sent + number, "data")
                for key, value in data.items() if type(data) is dict else ():
                    if value is node:
                        return (now.sent + number, "data", key)
        if now.goes is None:
            now.goes = goes = {}
            for number, data in enumerate(now.target):
                level: list[tuple[Any, Keys]] = [(data, (now.sent + number, "data"))] if type(data) is dict else []
                for _ in range(_DEEP):
                    inner: list[tuple[Any, Keys]] = []
                    for held, place in level:
                        if id(held) not in goes:
                            goes[id(held)] = place
                        for key, value in held.items():
                            if type(value) is dict:
                                inner.append((value, (*place, key)))
                    level = inner
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
        for name, wire in reader.doc.items() if sources else ():
            if type(wire) is dict:
                for source in sources:
                    if wire is source:
                        return name, wire, CAPABILITY.get(kind, {}) if type(kind) is str else {}
        return None

    def _catch_up(self) -> None:
        reader = self.reader
        traced = reader.traced()[self._noted :]
        self._noted += len(traced)
        wires, nodes, made_of, numbers, notes = self.wires, self.nodes, self.made_of, self._numbers, self._notes
        number, end = notes.popleft() if notes else (reader.number, sys.maxsize)
        place = self._noted - len(traced)
        for node, wire in traced:
            while place >= end:
                number, end = notes.popleft() if notes else (reader.number, sys.maxsize)
            known, source = id(node), id(wire)
            wires[known] = wire
            nodes[known] = node
            if source in made_of:
                made_of[source].append(known)
            else:
                made_of[source] = [known]
            if source not in numbers:
                numbers[source] = number
            place += 1
        for node, wire in reader.turns[self._turned :]:
            self.turns[id(node)] = wire
            self._turned += 1
        if len(reader.docs) != len(self._known):
            new, walked = list[int](), self._known
            for each in reversed(reader.docs):  # the newest stand last
                if each in walked:
                    break
                new.append(each)
            self._unwalked += sorted(new)
            walked.update(new)
        if self._untraced:
            for node, _ in traced:
                self.unindexed += self._untraced.pop(id(node), ())
        for node, keys in reader.placed[self._placed :]:
            known = id(node)
            if known in self.places_of:
                self.places_of[known][keys] = None
            else:
                self.places_of[known] = {keys: None}
            if known in nodes:
                self.unindexed.append((known, *keys))
            else:
                self._untraced.setdefault(known, []).append((known, *keys))
            self._placed += 1

    def index(self) -> None:
        """Index the leaves with a place by where they came from."""
        indexed, by_place, places, gathered = self._indexed, self.by_place, self.reader.places, self.reader.gathered
        node, wire, source = 0, None, id(None)
        for leaf in self.unindexed:
            place = places[leaf]
            if leaf in indexed and indexed[leaf] == place:
                continue
            indexed[leaf] = place
            if place[:1] == (...,):
                spot = self.spots(place[1:])[0]
            else:
                if leaf[0] != node:  # mostly there are many of one node
                    node = leaf[0]
                    wire = self.wires.get(node)
                    source = id(wire)
                if source in gathered:
                    spot = (source, place)
                elif place[1:]:
                    holder = at(wire, place[:-1])
                    spot = (source, place) if holder is None else (id(holder), *place[-1:])
                else:
                    spot = (source, *place)
            if spot in by_place:
                by_place[spot][leaf] = None
            else:
                by_place[spot] = {leaf: None}
        self.unindexed.clear()

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

    def spots(self, path: Keys) -> tuple[Keys, Keys]:
        """The key of a path without a walk: the object above it with its key, and what stands there."""
        doc = self.reader.docs.get(path[0]) if path else None
        above, last = at(doc, path[2:-1]), path[2:][-1:]
        return (id(above), *last), (id(at(above, last)),)

    def path(self, wire: Any) -> Keys | None:
        """Where a wire node stands in the events that were kept; the newest are looked through first."""
        paths, docs, known = self._paths, self.reader.docs, id(wire)
        if known not in paths:
            near = [(self.reader.number, self.reader.doc, 2)]
            if known in self._numbers:
                near.append((self._numbers[known], docs.get(self._numbers[known] or 0), 3))
            near += [(number, docs.get(number), 1) for number in self._unwalked[: -_LAST - 1 : -1]]
            for number, doc, depth in near:
                if doc is wire:
                    return (number, "data")
                place = within(doc, wire, depth)
                if place:
                    return (number, "data", *place)
        while known not in paths and self._unwalked:
            number = self._unwalked.pop()
            if number not in docs:
                continue
            for key, path in paths_below(docs[number], (number, "data")).items():
                paths[key] = (number, "data", *path)
        return paths.get(known)
