"""Where a loss comes from: from a canonical leaf back to the leaf of the document the caller passed.

Nothing is tracked while converting but which canonical node was read from which wire node. Only when there is
something to report are the documents walked, once each, and the leaf found: by the key a settings table declares for
it, by its name, or by its value, and else the smallest node it can have come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..foundation.json_paths import Keys, at, follow, kept
from ..types._tables import KNOWN_TYPES
from . import Loss, Losses
from .capability_names import Changes, loss_at, loss_of_added, losses_below, maker
from .reasons import IN_TOTAL
from .source_map import Result
from .source_search import Sources

if TYPE_CHECKING:
    from ..engine.adapter import Adapter
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = ["locate"]

Node = dict[str, Any]

# Nodes that are located one by one, in the order in which they were recorded, whatever their kinds.
_FEW = 8
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
    # What repair made up was never in the source, so nothing of it can be lost; it can be added.
    up = writer.context.get("made up")
    made = {id(node) for node in up} if up else None
    groups: dict[tuple[Keys, str, str, str | None], list[Node]] = {}
    searched = bool(read or writer.alike or writer.relaxed)
    joined = _joining(writer)
    for note in writer.raw:
        if not made or note[2] == "added" or id(note[0]) not in made:
            groups.setdefault(note[1:], []).extend(joined(note[0], note[1]) if joined else (note[0],))
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
                is_made = made is not None and id(node) in made
                path = _turn(target, node) if is_made else keys if node is target else result.path(node, keys)
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
            if joined:
                nodes = [piece for node in nodes for piece in joined(node, told[0])]
            losses += finder.alike([node for node in nodes if id(node) not in made] if made else nodes, *told, None)
    for where, places, keys, detail, capability in writer.filled:
        losses += map(maker(result.path(where, ()), keys, capability, "added", detail, "target"), places)
    return Losses(losses)


def _turn(target: Node, item: Node) -> Keys:
    """Where a message of text that repair made up is in the result; () where it is not found."""
    for name, turns in target.items():
        for index, turn in enumerate(turns if type(turns) is list else ()):
            stack = [turn]
            while stack:
                value = stack.pop()
                if value == item["content"]:
                    return (name, index)
                stack.extend(value.values() if type(value) is dict else value if type(value) is list else ())
    return ()


def _joining(writer: Writer) -> Callable[[Node, Keys], list[Node]] | None:
    """What gives all the nodes that a node is put together of (`answer_pieces.py`); None where nothing was.

    What becomes of the node, or of a field of it, becomes of each of them.
    """
    pieces = writer.context.get("joined")
    if not pieces:
        return None
    given = {id(new): old for new, old in writer.context.get("replaced", ())}

    def joined(node: Node, keys: Keys) -> list[Node]:
        found = pieces.get(id(node)) or pieces.get(id(given.get(id(node)))) if len(keys) < 2 else None
        return found or [node]

    return joined


class Finder(Sources):
    """The losses of one conversion, each at the place in the source that it comes from."""

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
        return loss_at((*self.base, wire), named, fate, self.goal.refuses.get(key, "")) if wire in self.doc else None

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
                    detail = detail or self.goal.refuses.get(keys[0], "")
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
                detail = self.goal.refuses.get(keys[0], "")
            return [loss_at((*self.base, setting[0]), capability or setting[1], fate, detail)]
        if keys[:1] == ("extra",):
            return self._foreign(node, keys, fate, detail, capability)
        capability = capability or self._capability(node, keys)
        if node is self.root and len(keys) == 1 and self._handed_on(keys[0]):
            said = detail or (self.goal.refuses.get(keys[0], "") if fate == "lost" else "")
            return [loss_at(self.base + keys, capability, fate, said)]
        told = self._told(node, keys, fate) if keys else None
        if told is not None:
            if fate == "lost" and not detail and keys[-2:] in PARTS:
                fate, detail = "approximated", IN_TOTAL
            return [loss_at(self.base + told, capability, fate, detail)]
        plain = self._plain(node, keys) if keys else None
        if plain is not None:
            return [loss_at(self.base + plain, capability, fate, detail)]
        if not detail and fate == "lost":
            refuses = self.goal.refuses
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
            fate, detail = "approximated", IN_TOTAL
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
            kinds: dict[str, list[Node]] = {}
            for node in nodes:
                kinds.setdefault(str(node.get("type")), []).append(node)
            if len(nodes) > _FEW and 1 < len(kinds):
                return [loss for each in kinds.values() for loss in self.alike(each, keys, fate, detail, capability)]
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
        kind = node.get("type")
        item = capability or ("native.item" if type(kind) is str and kind not in KNOWN_TYPES else "native.field")
        whole = type(rest) is dict and node.get("extra", {}).get(protocol, {}).get("form", {}).get("native")
        if wire is not None and (rest is wire or whole):
            found = natives.get(str(kind), item)
            place = self._join(wire, ())
            return [loss_at(self.base + place, found, fate, detail)]
        for path in kept(rest, at(wire, tuple(below)) if wire is not None else None):
            names = [key for key in (*below, *path) if type(key) is str]
            found = capability or natives.get(".".join(names)) or natives.get(names[-1] if names else "", item)
            inner = (*below, *path)
            place = away + inner if wire is None else self._join(wire, inner)
            out.append(loss_at(self.base + place, found, fate, detail))
        return out
