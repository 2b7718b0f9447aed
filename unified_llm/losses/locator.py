"""Where a loss comes from: from a canonical leaf back to the leaf of the document the caller passed.

Nothing is tracked while converting but which canonical node was read from which wire node. Only when there is
something to report are the documents walked, once each, and the leaf found: by the key a settings table declares for
it, by its name, or by its value, and else the smallest node it can have come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..foundation.json_paths import Keys, at, exists, follow, ids_below, kept, leaves
from ..types._tables import KNOWN_TYPES
from . import Loss, Losses
from .capability_names import Changes, loss_at, loss_of_added, losses_below, maker
from .source_map import Notes, Result

if TYPE_CHECKING:
    from ..engine.adapter import Adapter
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = ["locate"]

Node = dict[str, Any]

# Counts that a canonical sum includes by its definition: what becomes of the sum becomes of them.
PARTS: dict[Keys, str] = {
    ("input_tokens_details", "cached_tokens"): "input_tokens",
    ("input_tokens_details", "cache_write_tokens"): "input_tokens",
    ("input_tokens_details", "tool_tokens"): "input_tokens",
    ("output_tokens_details", "reasoning_tokens"): "output_tokens",
}


def locate(
    root: Any,
    target: Any,
    writer: Writer,
    reader: Reader | None,
    source: Adapter | None,
    goal: Adapter,
    name: str,
    base: Keys = (),
) -> Losses:
    """The report of one conversion, from `source` to `goal`.

    `root` is the canonical document, `target` the result, `name` the canonical kind of the root.
    """
    read = reader.notes if reader is not None else ()
    if not (writer.noted or read):
        return Losses()
    # What repair made up was never in the source, so nothing of it can be lost.
    up = writer.context.get("made up")
    made = {id(node) for node in up} if up else None
    groups: dict[tuple[Keys, str, str, str | None], list[Node]] = {}
    searched = bool(read or writer.alike or writer.relaxed)
    for note in writer.raw:
        if not made or id(note[0]) not in made:
            groups.setdefault(note[1:], []).append(note[0])
            searched = searched or note[2] != "added"
    result = Result(target, writer)
    finder = Finder(root, target, writer, reader, source, goal, name, base) if searched else None
    if reader is not None and searched and reader.owed:
        reader.settle()
    stands = reader.stands if reader is not None else {}
    found: list[Loss] = []
    for entry, nodes in groups.items():
        node = nodes[0]
        if finder is None or entry[1] == "added":
            keys, _, detail, capability = entry
            for node in nodes:
                path = keys if node is target else result.path(node, keys)
                found.append(loss_of_added(path, goal, name, detail, capability))
        elif len(nodes) > 1 or (stands and id(node) in stands):
            found += finder.alike(nodes, *entry)
        elif node is root and (setting := finder.setting(*entry)) is not None:
            found.append(setting)
        else:
            found += finder.loss(node, *entry)
    if finder is None:
        losses = list(dict.fromkeys(found))
    else:
        for node, keys, fate, detail in read:
            found += finder.loss(node, keys, fate, detail, None)
        for each in writer.relaxed:
            found += finder.relaxed(*each)
        losses = list(dict.fromkeys(found))
        for told, nodes in writer.alike.items():
            losses += finder.alike([node for node in nodes if id(node) not in made] if made else nodes, *told, None)
    for where, places, keys, detail, capability in writer.filled:
        losses += map(maker(result.path(where, ()), keys, capability, "added", detail, "target"), places)
    return Losses(losses)


class Finder(Notes):
    """The search for the sources of losses, over the documents of one conversion."""

    def added(self, nodes: list[Node], keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        """What was added at one leaf of nodes of the result."""
        goal, name, target = self.goal, self.name, self.target
        return [
            loss_of_added(keys if node is target else self._added(node, keys), goal, name, detail, capability)
            for node in nodes
        ]

    def setting(self, keys: Keys, fate: str, detail: str, capability: str | None) -> Loss | None:
        """The loss of a setting that the document has for itself, as most are; None for any other."""
        if len(keys) != 1 or fate != "lost" or detail or capability or keys[0] not in self._settings:
            return None
        key = keys[0]
        if (self.name == "request" and type(self.root.get(key)) is dict) or (self._tells and key in self._moved):
            return None
        wire, named = self._settings[key]
        return loss_at((*self.base, wire), named, fate, self.writer.refuses.get(key, "")) if wire in self.doc else None

    def loss(self, node: Node, keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        if fate == "added":
            return self.added([node], keys, fate, detail, capability)
        is_root, setting = node is self.root, None
        if len(keys) == 1 and not is_root and (path := self._same_leaf(node, keys[0])) is not None:
            return [loss_at(self.base + path, capability or self._capability(node, keys), fate, detail)]
        if is_root and keys:
            if len(keys) == 1 and fate == "lost" and not capability and self.name == "request":
                inside = self._settings_in(keys[0])
                if inside:
                    detail = detail or self.writer.refuses.get(keys[0], "")
                    return [loss for key in inside for loss in self.loss(node, (*keys, key), fate, detail, None)]
            setting = self._settings.get(keys[0])
            if setting is not None and (setting[0] not in self.doc or (self._tells and keys[0] in self._moved)):
                setting = None
        if setting is not None and len(keys) > 1 and keys[-2:] not in PARTS and self._has(setting[0], keys):
            path = (*self.base, setting[0], *keys[1:])
            return [loss_at(path, capability or self._capability(node, keys), fate, detail)]
        if setting is not None and len(keys) == 1:
            # As most losses are.
            if not detail and fate == "lost":
                detail = self.writer.refuses.get(keys[0], "")
            return [loss_at((*self.base, setting[0]), capability or setting[1], fate, detail)]
        if keys[:1] == ("extra",):
            return self._foreign(node, keys, fate, detail, capability)
        capability = capability or self._capability(node, keys)
        if node is self.root and len(keys) == 1 and self._handed_on(keys[0]):
            said = detail or (self.writer.refuses.get(keys[0], "") if fate == "lost" else "")
            return [loss_at(self.base + keys, capability, fate, said)]
        told = self._told(node, keys, fate) if keys else None
        if told is not None:
            if fate == "lost" and not detail and keys[-2:] in PARTS:
                fate, detail = "approximated", "included in the total only"
            return [loss_at(self.base + told, capability, fate, detail)]
        plain = self._plain(node, keys) if keys else None
        if plain is not None:
            return [loss_at(self.base + plain, capability, fate, detail)]
        if not detail and fate == "lost":
            refuses = self.writer.refuses
            named = str(keys[0]) if keys and node is self.root else str(node.get("type", "")) if not keys else ""
            detail = refuses.get(named, "")
        found = self._shared(node) if not keys else ()
        paths = found or self._placed(node, keys) or [self._source(node, keys)]
        if keys and paths == [()]:
            if node is self.root and keys == ("status",):
                return []  # the reader concluded it from the rest of the response
            if node is self.root:
                paths = self._made_of_setting(keys[0]) or paths
            elif self.reader is not None and type(self.reader.doc) is dict and keys[-1] in self.reader.doc:
                paths = [keys[-1:]]  # the document is this node (a bare error), and never named as a whole
        if not keys:
            paths = [*paths, *self._elsewhere(node)]
        elif fate == "lost" and keys[0] != "opaque" and self._half_said(node, keys):
            # A value that only that word represented is gone all the same.
            below = [key for key in self._placed_below(id(node)) if key[: len(keys)] == keys and key != keys]
            gone = [key for key in below if at(node, key) is not None and not self._half_said(node, key)]
            half = detail or "sent in part; the target value is less specific"
            if gone:
                first = loss_at(self.base + paths[0], capability, "approximated", half)
                return [first, *(loss for key in gone for loss in self.loss(node, key, fate, detail, capability))]
            fate, detail = "approximated", half
        elif fate == "lost" and not detail and keys[-2:] in PARTS:
            fate, detail = "approximated", "included in the total only"
        elif fate == "lost":
            paths = [*paths, *self._outside(at(node, keys), paths)]
        out = [loss_at(self.base + path, capability, fate, detail) for path in paths]
        return out if keys else out + self._left_with(node, bool(found), fate, detail)

    def _outside(self, value: Any, paths: list[Keys]) -> list[Keys]:
        """The leaves of a lost value that stand outside the places named for it: they are lost with it."""
        if self.reader is None or type(value) is not dict:
            return []
        known = [keys for keys in self._places_of.get(id(value), ()) if at(value, keys) is not None]
        found = dict.fromkeys(self._absolute(id(value), self.reader.places[id(value), *keys]) for keys in known)
        return [path for path in found if not any(path[: len(around)] == around for around in paths)]

    def _made_of_setting(self, key: Any) -> list[Keys]:
        """Where the parts of a value of the root came from that does not exist in the source as a whole."""
        given = self._given_root.get(key)
        said = [self._source(self.root, (key, leaf)) for leaf in given] if type(given) is dict else []
        if type(given) is list:
            said = [self._source(each, ()) for each in given if type(each) is dict]
        return [path for path in dict.fromkeys(said) if path]

    def alike(self, nodes: list[Node], keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        """The losses of one leaf of one or many nodes; what holds of the first mostly holds of all of its kind."""
        if len(nodes) == 1 and nodes[0] is self.root:
            return self.loss(nodes[0], keys, fate, detail, capability)
        known = self._laid_out(nodes, keys) or self._all_beside(nodes, keys)
        if known is None:
            return [loss for node in nodes for loss in self.loss(node, keys, fate, detail, capability)]
        below, places = known
        return list(map(maker(self.base, below, capability or self._capability(nodes[0], keys), fate, detail), places))

    def _laid_out(self, nodes: list[Node], keys: Keys) -> tuple[Keys, list[Keys]] | None:
        """Where a leaf is in its wire node, and where those stand, if the reader noted both of all these nodes."""
        if self.reader is None or id(nodes[0]) not in self.reader.stands:
            return None
        kind = nodes[0].get("type")
        below = self.reader.laid.get(str(kind), {}).get(keys)
        places = [place for node in nodes if (place := self.reader.stands.get(id(node))) and node.get("type") == kind]
        return (below, places) if below is not None and len(places) == len(nodes) else None

    def _all_beside(self, nodes: list[Node], keys: Keys) -> tuple[Keys, list[Keys]] | None:
        """The same of nodes of one kind whose wire nodes have the very value of the leaf in the same place."""
        if self.reader is None or len(nodes) < 2 or len(keys) != 1 or keys[0] == "extra":
            return None
        wires, kind, key = [self._wire(node) for node in nodes], nodes[0].get("type"), keys[0]
        below = self._beside(nodes[0], wires[0], key) if type(wires[0]) is dict else None
        placed, made, stands = self._places_of, self.reader.below, self.reader.stands
        for node, wire in zip(nodes, wires):
            here = id(node)
            if below is None or node.get("type") != kind or here in placed or here in made or here in stands:
                return None
            if node is self.root or type(wire) is not dict or at(wire, below) is not node.get(key):
                return None
        return (below, [self._path(wire) for wire in wires]) if below is not None else None

    def _beside(self, node: Node, wire: Node, key: str) -> Keys | None:
        """Where the wire node has the very value of a leaf: under its name, be it in an object of its own."""
        value = node.get(key)
        if key in wire:
            return (key,) if wire[key] is value else None
        around = [name for name, inner in wire.items() if type(inner) is dict and inner.get(key) is value]
        return (*around, key) if len(around) == 1 and value is not None else None

    def relaxed(self, tool: Node, key: str, changes: Changes) -> list[Loss]:
        """The losses below a schema, which is the caller's own object."""
        if self.reader is not None and (place := self.reader.stands.get(id(tool))):
            below = self.reader.laid.get(tool["type"], {}).get((key,))
            if below is not None:
                return list(losses_below(self.base + place + below, changes))
        wire, schema = self._wire(tool), tool.get(key)
        inside: Keys = ()
        if type(wire) is dict and self.reader is not None and id(tool) not in self.reader.below:
            inside = self._inside_tools if at(wire, self._inside_tools) is schema else self._search.object(wire, schema)
        if not inside:
            # Respelled, or built by hand.
            found = (self.loss(tool, (key, *keys), fate, said, "tools.function") for keys, fate, said in changes)
            return [loss for losses in found for loss in losses]
        self._inside_tools = inside  # where it is in the next one, too
        return list(losses_below(self.base + self._path(wire) + inside, changes))

    def _plain(self, node: Node, keys: Keys) -> Keys | None:
        """The path of most losses below the root: what is in a value that was handed on as it was."""
        if self.reader is None or node is self.root or id(node) in self.reader.below:
            return None
        wire, key = self._wire(node), keys[0]
        if type(wire) is not dict:
            return None
        for place in self._placed_below(id(node)):
            if place[0] == key:
                return None
        value = node.get(key)
        if len(keys) == 1:
            beside = self._beside(node, wire, key)
            return self._join(wire, beside) if beside is not None else None
        if type(value) is dict and keys[-2:] not in PARTS and not self._is_copied(node, wire, keys):
            place = (id(wire), id(value))
            inside = self._inside.get(place)
            if inside is None:
                inside = self._inside[place] = self._search.object(wire, value)
            return self._join(wire, inside + follow(value, keys[1:])) if inside else None
        return None

    def _left_with(self, node: Node, shared: bool, fate: str, detail: str) -> list[Loss]:
        """What this reader kept with a dropped node, or below it, that stands outside of what was named for it."""
        if self.reader is None or self.reader.protocol == self.writer.protocol:
            return []
        out = []
        stack: list[Any] = [node]
        while stack:
            here = stack.pop()
            if type(here) is list:
                stack.extend([each for each in here if type(each) is dict or type(each) is list])
            else:
                for key, value in here.items():
                    if (type(value) is dict or type(value) is list) and key != "extra":
                        stack.append(value)
                if "extra" not in here:
                    continue
                kept = at(here, ("extra", self.reader.protocol))
                for slot in ("rest", "turn") if type(kept) is dict else ():
                    if slot in kept and (slot == "turn" or shared) and "native" not in kept.get("form", ()):
                        out += self._foreign(here, ("extra", self.reader.protocol, slot), fate, detail, None)
        return out

    def _placed(self, node: Node, keys: Keys) -> list[Keys]:
        """Where the leaves of an object came from, if its reader gathered them from several places."""
        if not keys or self.reader is None:
            return []
        below = [key for key in self._placed_below(id(node)) if key[: len(keys)] == keys and key != keys]
        table = self.source.settings.get(self.name) if self.source is not None and node is self.root else None
        if table is not None and len(keys) == 1:
            below += table.below(keys[0])
        found = [self._source(node, path) for path in dict.fromkeys(below) if at(node, path) is not None]
        if self._place(id(node), keys) is None:
            return found
        own = self._source(node, keys)
        return [own, *(path for path in found if path[: len(own)] != own)]

    def source_of(self, node: Any, keys: Keys) -> Keys:
        """The path in the caller's document of a canonical leaf, or of the smallest node around it that is known."""
        return self._source(node, keys)

    def _source(self, node: Any, keys: Keys) -> Keys:
        """The path in the caller's document of the canonical leaf `keys` below `node`."""
        if self.reader is None:
            return (*self._path(self._given.get(id(node), node)), *keys)
        inner = at(self._given_root if node is self.root else node, keys) if len(keys) > 1 else None
        if type(inner) is dict and id(inner) in self.wires:
            return self._path(self.wires[id(inner)])  # a node that was read by itself has a place of its own
        wire = self._wire(node)
        while wire is None:
            above = self._parent(node)
            if above is None:
                return ()
            node, key = above
            keys = (key, *keys)
            wire = self._wire(node)
        leaf = self._leaf(node, wire, keys)
        return leaf[1:] if leaf[:1] == (...,) else self._join(wire, leaf)

    def _shared(self, node: Node) -> list[Keys]:
        """The leaves of a node that came from a wire node together with others, of which something may have arrived."""
        wire = self._wire(node)
        if self.reader is None or wire is None or id(node) in self.reader.below:
            return []
        made = self._made_below.get(id(wire))
        if made is None:
            made_of = self._made_of
            below = [each for inner in made_of.keys() & ids_below(wire) for each in made_of[inner]]
            made = self._made_below[id(wire)] = frozenset(below) - self._replaced if below else frozenset()
        if not made or made <= ids_below(node):
            return []
        own_leaves = [
            keys
            for keys in leaves(node)
            if keys[0] not in ("extra", "turn") and (keys[-1] != "type" or self._place(id(node), keys) is not None)
        ]
        # What another node contains as well was not lost with this one.
        told = dict.fromkeys(self._as_read(node, keys) for keys in own_leaves)
        gone = [keys for keys in told if not self._half_said(node, keys)]
        found = (self._by_itself(node, wire, keys) for keys in gone or told)
        return list(dict.fromkeys(path for path in found if path))

    def _is_copied(self, node: Node, wire: Node, keys: Keys) -> bool:
        """Whether a leaf is at the same keys of the wire node, in another object: then the object is nowhere in it."""
        there = wire.get(keys[0])
        if type(there) is not dict or there is node.get(keys[0]) or len(keys) < 2:
            return False
        return exists(wire, keys) and bool(at(wire, keys) == at(node, keys))

    def _by_itself(self, node: Node, wire: Any, keys: Keys) -> Keys:
        """The path of a leaf of a node that shares its wire node: the leaf's own, else that of what it was read in."""
        for depth in range(len(keys)):
            inner = at(node, keys[:depth])
            its = wire if depth == 0 else self.wires.get(id(inner)) if type(inner) is dict else None
            if its is None or (depth and its is wire):
                continue
            leaf = self._leaf(inner, its, keys[depth:], exact=True)
            if leaf or depth:
                return leaf[1:] if leaf[:1] == (...,) else self._join(its, leaf)
        return ()

    def _as_read(self, node: Node, keys: Keys) -> Keys:
        """The part of a canonical path that was read in one piece."""
        depths = range(len(keys), 0, -1)
        return next((keys[:depth] for depth in depths if self._place(id(node), keys[:depth]) is not None), keys)

    def _elsewhere(self, node: Node) -> list[Keys]:
        """The leaves of a node that stand outside its wire node, and go with it when it is dropped."""
        if self.reader is None:
            return []
        places = [self.reader.places[id(node), *keys] for keys in self._places_of.get(id(node), ())]
        return [place[1:] for place in places if place[:1] == (...,)]

    def _leaf(self, node: Node, wire: Any, keys: Keys, exact: bool = False) -> Keys:
        below = self.reader.below.get(id(node)) if self.reader is not None else None
        if below is not None:
            return below
        if not keys or type(wire) is not dict:
            return ()
        if self.reader is not None and (self.reader.places or self.reader.stands):
            for depth in range(len(keys), 0, -1):
                place = self._place(id(node), keys[:depth])
                if place is not None and place[:1] == (...,):
                    return place + follow(self._within(place[1:]), keys[depth:])
                if place is not None:
                    return place + follow(at(wire, place), keys[depth:])
        if node is self.root and self.source is not None:
            table = self.source.settings.get(self.name)
            key = table.wire_key(keys) if table else None
            if key is not None and key in wire:
                below = keys[1:] if table is not None and table.wire_key(keys[:1]) is not None else keys[2:]
                inner = follow(wire[key], below)
                if len(inner) < len(below):
                    inner = self._search.value(wire[key], at(self._given_root, keys), keys[-1]) or inner
                return (key, *inner)
        if len(keys) == 1 and keys[0] in wire and wire[keys[0]] is node.get(keys[0]):
            return keys
        for depth in range(1, len(keys) if node is not self.root and not self._is_copied(node, wire, keys) else 0):
            # What was handed on as it was is the same object on both sides.
            above = at(node, keys[:depth])
            inside = self._search.object(wire, above) if type(above) is dict or type(above) is list else ()
            if inside:
                return inside + follow(above, keys[depth:])
        value = at(self._given_root if node is self.root else node, keys)
        same = follow(wire, keys)
        if same and at(wire, same) == value:
            return same
        found = self._search.value(wire, value, keys[-1])
        return found or (() if exact else same)

    def _foreign(self, node: Node, keys: Keys, fate: str, detail: str, capability: str | None) -> list[Loss]:
        """What another protocol's reader kept: it mirrors that protocol's node, so its path is exact."""
        _, protocol, slot, *below = keys
        mine = self.reader is not None and self.reader.protocol == protocol
        start = node
        wire = None
        if mine:
            wire = self.turns.get(id(node)) if slot == "turn" else self._wire(node)
            while wire is None and slot == "rest":
                above = self._parent(start)
                if above is None:
                    break
                start = above[0]
                wire = self._wire(start)
        natives = self.source.natives if mine and self.source is not None else {}
        rest = at(node, keys)
        out = []
        away = () if wire is not None else self._source(node, tuple(keys[:3]))
        item = capability or ("native.item" if "type" in node and node["type"] not in KNOWN_TYPES else "native.field")
        whole = type(rest) is dict and node.get("extra", {}).get(protocol, {}).get("form", {}).get("native")
        if wire is not None and (rest is wire or whole):
            found = natives.get(str(node.get("type")), item)
            place = self._join(wire, ())
            return [loss_at(self.base + place, found, fate, detail)]
        for path in kept(rest, at(wire, tuple(below)) if wire is not None else None):
            names = [key for key in (*below, *path) if type(key) is str]
            found = capability or natives.get(".".join(names)) or natives.get(names[-1] if names else "", item)
            inner = (*below, *path)
            place = away + inner if wire is None else self._join(wire, inner)
            out.append(loss_at(self.base + place, found, fate, detail))
        return out
