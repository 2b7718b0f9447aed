"""What a conversion noted of its nodes: which came from which, where they stand, and where their leaves are.

A reading notes pairs of nodes, and the place of a leaf only where it does not follow from its key or its value. What is
made of these notes here is made when a loss needs it (`locator.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..foundation.json_paths import Keys, Paths, Search, at, exists, follow, once
from ..types._tables import CAPABILITY
from .capability_names import Naming

if TYPE_CHECKING:
    from ..engine.adapter import Adapter
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = ["Notes"]

Node = dict[str, Any]

_NEAR = 48  # notes of a reading
_HOLDERS = frozenset((dict, list))
_NONE: dict[Keys, Keys] = {}


@lru_cache(maxsize=64)
def _settings(source: Adapter, name: str) -> dict[str, tuple[str, str]]:
    table = source.settings.get(name)
    flat = table.flat if table is not None else {}
    named = CAPABILITY.get(name, {})
    return {key: (wire, named[key]) for key, wire in flat.items() if key in named}


class Result:
    """The paths of nodes in the result of a conversion."""

    __slots__ = ("_below", "_paths", "_remade", "_target", "_top")

    def __init__(self, target: Any, writer: Writer) -> None:
        self._target = target
        self._remade: dict[int, Any] | None = writer.context.get("remade")
        self._top: dict[int, Keys] | None = None
        self._below: dict[int, Keys] | None = None
        self._paths: Paths | None = None

    def path(self, node: Any, keys: Keys) -> Keys:
        """The path of what is at `keys` of a node of the result."""
        while self._remade and id(node) in self._remade:
            node = self._remade[id(node)]
        if node is self._target:
            return keys
        known = id(node)
        # Mostly it is one of the settings, or one of the items.
        if self._top is None:
            settings = [*self._target.items()] if type(self._target) is dict else ()
            self._top = {id(value): (name,) for name, value in reversed(settings) if type(value) in _HOLDERS}
        if known in self._top:
            return self._top[known] + keys
        if self._below is None:
            self._below = {
                id(inner): (name, key)
                for name, value in (self._target.items() if type(self._target) is dict else ())
                if type(value) in _HOLDERS
                for key, inner in (value.items() if type(value) is dict else enumerate(value))
                if type(inner) is dict
            }
        if known in self._below:
            return self._below[known] + keys
        if self._paths is None:
            self._paths = Paths(self._target)
        return self._paths.get(known, ()) + keys


class Notes(Naming):
    """The data of the nodes of one conversion, each computed on first use."""

    _inside_tools: Keys = ()

    def __init__(
        self,
        root: Any,
        target: Any,
        writer: Writer,
        reader: Reader | None,
        source: Adapter | None,
        goal: Adapter,
        name: str,
        base: Keys,
    ) -> None:
        super().__init__(root, name)
        self.target = target
        self.base = base
        self.writer = writer
        self.reader = reader
        self.source = source
        self.goal = goal
        self.doc: Any = writer.context.get("given", root) if reader is None else reader.doc

    # Most losses are settings of the root: nothing below is walked for those.

    @once
    def _settings(self) -> dict[str, tuple[str, str]]:
        """The wire keys and the capabilities of the root's settings that a document has for themselves."""
        known = self.reader is not None and self.source is not None and type(self.doc) is dict
        return _settings(self.source, self.name) if known and self.source is not None else {}

    @once
    def _paths(self) -> Paths:
        return Paths(self.doc)

    @once
    def _tells(self) -> bool:
        return self.reader is not None and bool(self.reader.places or self.reader.stands)

    @once
    def _inside(self) -> dict[tuple[int, int], Keys]:
        return {}

    @once
    def _made_below(self) -> dict[int, frozenset[int]]:
        """By a wire node, the canonical nodes that were made of it and of what is in it, without those replaced."""
        return {}

    @once
    def _search(self) -> Search:
        return Search()

    @once
    def wires(self) -> dict[int, Any]:
        """Identity of a canonical node to the wire node that it was read from; empty without a reader."""
        return {} if self.reader is None else {id(node): wire for node, wire in self.reader.traced()}

    @once
    def _near(self) -> dict[int, Any]:
        """The last of them: what stands beside the conversation is read after it, what was made fit later still."""
        if self.reader is None or (len(self.reader.trace) <= _NEAR and not self.reader.runs):
            return self.wires
        return {id(node): wire for node, wire in self.reader.trace[-_NEAR:]}

    @once
    def _read(self) -> dict[int, Any]:
        return {} if self.reader is None else {id(node): node for node, _ in self.reader.traced()}

    @once
    def turns(self) -> dict[int, Any]:
        """Identity of a canonical node to the wire message that it was read from; empty without a reader."""
        return {} if self.reader is None else {id(node): wire for node, wire in self.reader.turns}

    @once
    def _given(self) -> dict[int, Any]:
        """What repair replaced, as the caller gave it."""
        return {id(new): old for new, old in self.writer.context.get("replaced", ())}

    @once
    def _replaced(self) -> frozenset[int]:
        return frozenset(id(old) for old in self._given.values())

    @once
    def _made_of(self) -> dict[int, list[int]]:
        """The canonical nodes that were read from each wire node."""
        found: dict[int, list[int]] = {}
        for made, wire in self.reader.traced() if self.reader is not None else ():
            found.setdefault(id(wire), []).append(id(made))
        return found

    @once
    def _given_root(self) -> Any:
        """The canonical root before anything was made to fit the target."""
        return self.writer.context.get("given", self.root)

    @once
    def _target_paths(self) -> Paths:
        return Paths(self.target)

    @once
    def _result(self) -> Result:
        return Result(self.target, self.writer)

    def _wire(self, node: Any) -> Any:
        if node is self.root and self.reader is not None and type(self.doc) is dict:
            return self.doc
        if type(node) is not dict:
            return None
        near = self._near.get(id(node))
        return near if near is not None else self.wires.get(id(node))

    def _path(self, wire: Any) -> Keys:
        return () if wire is self.doc else self._paths.get(id(wire), ())

    def path_of(self, wire: Any) -> Keys:
        """The path of a wire node in the caller's document."""
        return self._path(wire)

    def message_of(self, node: Any) -> Any:
        """The wire message of which a canonical node is the first item; None for any other."""
        return self.turns.get(id(node))

    def _join(self, wire: Any, keys: Keys) -> Keys:
        """The path of what is at `keys` of a wire node."""
        return self._paths.get(id(wire), ()) + keys

    def _same_leaf(self, node: Node, key: Any) -> Keys | None:
        """The path of a leaf that was passed on unchanged, in a node for which the reader noted no places."""
        known, reader = id(node), self.reader
        if reader is None or key == "extra" or known in reader.below or known in reader.stands:
            return None
        if reader.places and known in self._places_of:
            return None
        wire = self._wire(node)
        if type(wire) is not dict or key not in wire or wire[key] is not node.get(key):
            return None
        return self._join(wire, (key,))

    def _within(self, keys: Keys) -> Any:
        """What is at this path of the caller's document."""
        return at(self.doc, keys)

    def _added(self, node: Any, keys: Keys) -> Keys:
        """The path in the result of a value that the source does not have."""
        return self._result.path(node, keys)

    def _stands_for(self, node: int) -> int:
        """The node that the caller gave: the same for all that were made of it."""
        given = self._given.get(node)
        return node if given is None else id(given)

    def _place(self, node: int, keys: Keys) -> Keys | None:
        """Where a leaf of a node is in its wire node, if its reader noted it."""
        if self.reader is None:
            return None
        place = self.reader.places.get((node, *keys))
        if place is None and node in self.reader.stands:
            return self._laid(node).get(keys)
        return place

    @once
    def _ends(self) -> dict[Keys, dict[Keys, Keys]]:
        """The canonical leaves with a place, each with it, by the last key of it."""
        found: dict[Keys, dict[Keys, Keys]] = {}
        for key, place in self.reader.places.items() if self.reader is not None else ():
            if key[0] in self.wires:
                found.setdefault(place[-1:], {})[key] = place
        return found

    @once
    def _by_place(self) -> dict[Keys, dict[Keys, list[Keys]]]:
        """The canonical leaves with a place, by its path in the caller's document; made for each last key of that."""
        return {}

    def _came_from(self, where: Keys, node: int, place: Keys) -> Iterable[Keys]:
        """The canonical leaves that came from this path, which is that of `place` in the wire node of a node."""
        found: list[Keys] = []
        for last in (where[-1:], ()) if where else ((), (...,)):
            leaves = self._by_place.get(last)
            if leaves is None:
                leaves = self._by_place[last] = {}
                for key, other in self._ends.get(last, {}).items():
                    leaves.setdefault(self._absolute(key[0], other), []).append(key)
            found += leaves.get(where, ())
        return found

    def _absolute(self, node: int, place: Keys) -> Keys:
        return place[1:] if place[:1] == (...,) else self._path(self._wire(self._read.get(node))) + place

    def _half_said(self, node: Node, keys: Keys) -> bool:
        """Whether another canonical leaf came from the same place, and was not lost."""
        place = self._place(id(node), keys)
        if place is None:
            return False
        where = self._absolute(id(node), place)
        arrived = self._arrived.get(where)
        if arrived is None:
            came = self._came_from(where, id(node), place)
            arrived = self._arrived[where] = {
                (key[1:], self._stands_for(key[0]))
                for key in came
                if at(self._read[key[0]], key[1:]) is not None and not self._is_lost(key)
            }
        mine = (keys, self._stands_for(id(node)))
        return any(other != mine for other in arrived)

    @once
    def _arrived(self) -> dict[Keys, set[tuple[Keys, int]]]:
        """By a path of the caller's document, the canonical leaves from there that were not lost, where known."""
        return {}

    @once
    def _lost(self) -> set[Keys]:
        """The canonical leaves that were lost, each with the identity of its node."""
        lost = {(id(node), *keys) for node, keys, fate, _, _ in self.writer.raw if fate == "lost"}
        for (keys, fate, _), nodes in self.writer.alike.items():
            if fate == "lost":
                lost.update((id(node), *keys) for node in nodes)
        return lost

    def _is_lost(self, key: Keys) -> bool:
        return any(key[:depth] in self._lost for depth in range(1, len(key) + 1))

    def _told(self, node: Node, keys: Keys, fate: str) -> Keys | None:
        """The path of a leaf whose place its reader noted, or what holds it.

        None where another leaf may have come from there too: what is lost of a word is not lost if the other arrived.
        """
        known, reader = id(node), self.reader
        if reader is None or not reader.places or known in reader.below or known in reader.stands:
            return None
        if node is self.root:
            return self._told_of_root((known, *keys), reader.places)
        places, depth = reader.places, len(keys)
        place = places.get((known, *keys))
        while place is None:
            depth -= 1
            if depth < 1:
                return None
            place = places.get((known, *keys[:depth]))
        wire, absolute = self._wire(node), place[:1] == (...,)
        if type(wire) is not dict:
            return None
        if depth < len(keys):
            # Below a noted place, names are the same.
            whole = place + keys[depth:]
            return self._join(wire, whole) if not absolute and exists(wire, whole) else None
        for last in () if fate != "lost" else (place[-1:], ()) if place else ((),):
            for leaf, other in self._ends.get(last, _NONE).items():
                if leaf[0] != known or (other[:1] == (...,)) != absolute or (other == place and leaf[1:] != keys):
                    return None
        for its in self._places_of[known]:
            if its[:depth] == keys and its != keys:
                return None
        return place[1:] if absolute else self._join(wire, place)

    def _told_of_root(self, leaf: tuple[Any, ...], places: dict[tuple[Any, ...], Keys]) -> Keys | None:
        """The same of a leaf of the root, which is noted for itself or not."""
        place = places.get(leaf)
        if place is None or place[:1] == (...,) or at(self.doc, place) is None:
            return None
        for keys in self._places_of[leaf[0]]:
            other = (leaf[0], *keys)
            if other == leaf:
                continue
            there = places[other]
            if there[: len(place)] == place[: len(there)] or other[: len(leaf)] == leaf:
                return None
        return place

    def _placed_below(self, node: int) -> Iterable[Keys]:
        """The leaves of a node whose place its reader noted."""
        if self.reader is not None and node in self.reader.stands:
            return (*self._places_of.get(node, ()), *self._laid(node))
        return self._places_of.get(node, ())

    def _laid(self, node: int) -> dict[Keys, Keys]:
        """The places that its reader noted for all nodes of its kind."""
        if self.reader is None or node not in self.reader.stands:
            return {}
        return self.reader.laid.get(self._read[node]["type"], {})

    @once
    def _places_of(self) -> Mapping[int, Iterable[Keys]]:
        """The keys whose place a reader noted, by node."""
        found: dict[int, list[Keys]] = {}
        for leaf in self.reader.places if self.reader is not None else ():
            found.setdefault(leaf[0], []).append(leaf[1:])
        return found

    def _has(self, wire: str, keys: Keys) -> bool:
        """Whether a setting of the root was handed on as it was, and has this leaf."""
        value = self.doc[wire]
        return type(value) is dict and value is self.root.get(keys[0]) and follow(value, keys[1:]) == keys[1:]

    def _handed_on(self, key: Any) -> bool:
        """Whether the caller's document has an object or list of the root, the same one under the same name."""
        value = self._given_root.get(key) if type(self._given_root) is dict else None
        if self.reader is None or self.source is None or key in self._moved or type(value) not in (dict, list):
            return False
        table = self.source.settings.get(self.name)
        named = table is None or (not table.below(key) and table.wire_key((key,)) in (None, key))
        return named and type(self.doc) is dict and key in self.doc and bool(self.doc[key] == value)

    @once
    def _moved(self) -> frozenset[Any]:
        """The keys of the root whose place its reader noted."""
        root = id(self.root)
        if self.reader is None or root in self.reader.stands:
            return frozenset(keys[0] for keys in self._placed_below(root))
        return frozenset([leaf[1] for leaf in self.reader.places if leaf[0] == root])
