"""Where a loss in a stream comes from.

What is lost when an item or the response ends was said in an earlier event, and often in several. So a stream's reader
keeps its notes to the end, and the pipe keeps, by their numbers, those events that a note was made on: never the deltas
that a stream is full of. Each of their nodes is known by its identity; a node that was put together says of each of its
pieces where it came from (`Reader.gather`). Only when there is something to report is any of it walked, each event
once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._tables import CAPABILITY, CHILDREN
from .locate import Finder
from .losses import Loss
from .naming import loss_of_added
from .paths import Keys, at, follow, paths_below, pointer

if TYPE_CHECKING:
    from .adapter import Adapter
    from .reading import Reader
    from .writing import Writer

__all__ = ["Trail"]

Node = dict[str, Any]
# What is to be reported: a node, the keys below it, the fate, a detail, the capability if it is known.
Entry = tuple[Node, Keys, str, str, "str | None"]


class _Now:
    """What is being converted: events, what became of them and after how many others, what was read since the last."""

    def __init__(self, events: list[Node], target: list[Any], sent: int, news: list[tuple[Node, Any]]) -> None:
        self.events, self.target, self.sent, self.news = events, target, sent, news
        # Where nodes stand, in the event that was read and in those that are written: many words are of one node.
        self.read: dict[int, tuple[str, Node, dict[str, str]] | None] = {}
        self.written: dict[int, Keys] = {}


class Trail:
    """What is known of the events of one stream."""

    def __init__(self, reader: Reader, writer: Writer, source: Adapter, goal: Adapter) -> None:
        self.reader, self.writer, self.source, self.goal = reader, writer, source, goal
        # Canonical node -> wire node, of so many of the reader's notes; wire node -> path, of so many of its events.
        self.wires: dict[int, Any] = {}
        self.nodes: dict[int, Any] = {}
        self.turns: dict[int, Any] = {}
        self._paths: dict[int, Keys] = {}
        self._known: set[int] = set()
        self._unwalked: list[int] = []
        self._noted = self._turned = 0

    def report(self, events: list[Node], target: list[Any], sent: int) -> list[Loss]:
        """The losses noted since the last time, while `events` became `target`, `sent` events after the first."""
        self.writer.unfold()
        now = _Now(events, target, sent, self.reader.traced()[self._noted :])
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
        for number, data in enumerate(now.target):
            place = _within(data, node, 3) if type(data) is dict else ()
            if place or data is node:
                return (now.sent + number, "data", *place)
        return ()

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
            if value != wire[key] or any(told[0] == known and told[1] == key for told in self.reader.places):
                return None
        elif wire[key] is not value:
            return None
        return Loss(pointer((self.reader.number, "data", name, key)), capability, fate, detail)  # type: ignore[arg-type]

    def _stands(self, node: Node, now: _Now) -> tuple[str, Node, dict[str, str]] | None:
        """Under which key of the event the node's own wire node stands, and the capabilities of what is in it."""
        reader = self.reader
        if type(reader.doc) is not dict or id(node) in reader.below or id(node) in reader.stands:
            return None
        kind = node.get("type", "response" if any(event.get("response") is node for event in now.events) else "")
        sources = [wire for made, wire in now.news if made is node]
        for name, wire in reader.doc.items():
            if type(wire) is dict and any(wire is source for source in sources):
                return name, wire, CAPABILITY.get(kind, {}) if type(kind) is str else {}
        return None

    def _catch_up(self) -> None:
        reader = self.reader
        for node, wire in reader.traced()[self._noted :]:
            self.wires[id(node)] = wire
            self.nodes[id(node)] = node
        for node, wire in reader.turns[self._turned :]:
            self.turns[id(node)] = wire
        self._noted, self._turned = len(reader.traced()), len(reader.turns)
        if len(reader.docs) != len(self._known):
            self._unwalked += sorted(reader.docs.keys() - self._known)
            self._known.update(reader.docs)

    def path(self, wire: Any) -> Keys | None:
        """Where a wire node stands in the events that were kept; the newest are looked through first."""
        paths, doc = self._paths, self.reader.doc
        if id(wire) not in paths and type(doc) is dict:
            place = _within(doc, wire, 2)
            if place:
                return (self.reader.number, "data", *place)
        while id(wire) not in paths and self._unwalked:
            number = self._unwalked.pop()
            for key, path in paths_below(self.reader.docs[number]).items():
                paths[key] = (number, "data", *path)
        return paths.get(id(wire))


class _StreamFinder(Finder):
    """The same search, in a document that is a list of events of which only some are still there."""

    def __init__(self, trail: Trail, events: list[Node], target: list[Any], sent: int) -> None:
        super().__init__(events, target, trail.writer, trail.reader, trail.source, "response", ())
        self.trail, self.sent = trail, sent
        self.wires, self._read, self.turns = trail.wires, trail.nodes, trail.turns
        self.now: Keys = trail.reader.here()

    def loss(self, node: Node, keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        out = super().loss(node, keys, fate, detail, capability)
        wire = self.turns.get(id(node)) if keys[:1] == ("extra",) and keys[2:3] == ("turn",) else self._wire(node)
        if self.reader is None or id(wire) not in self.reader.gathered:
            return out
        # Of what was put together, be it the whole or a value in it, each piece is lost with it.
        pieces = self.reader.gathered[id(wire)][1]
        for lost in tuple(out):
            whole = next((key for key, path in pieces.items() if pointer(path) == lost.path), None)
            if whole is not None:
                below = [path for key, path in pieces.items() if len(key) > len(whole) and key[: len(whole)] == whole]
                out += [lost._replace(path=pointer(path)) for path in below]
        return out

    def _wire(self, node: Any) -> Any:
        return self.wires.get(id(node)) if type(node) is dict else None

    def _path(self, wire: Any) -> Keys:
        return self._join(wire, ())

    def _join(self, wire: Any, keys: Keys) -> Keys:
        gathered = self.reader.gathered.get(id(wire)) if self.reader is not None else None
        if gathered is None:
            found = self.trail.path(wire)
            return self.now if found is None else found + keys
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
        # What bears no type is the response's: what a stream says of it is read when it comes, and again at the end.
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


def _within(holder: Node, node: Any, depth: int) -> Keys:
    """Where a node stands in an object, that deep, and in no list."""
    for key, value in holder.items():
        if value is node:
            return (key,)
    for key, value in holder.items() if depth > 1 else ():
        below = _within(value, node, depth - 1) if type(value) is dict else ()
        if below:
            return (key, *below)
    return ()


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
