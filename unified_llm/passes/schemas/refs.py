"""References inside one schema: where they lead, which of them are circular, which definitions exist.

Everything is found in one walk without recursion, so that size and depth do not matter. Circular means that the
reference and its target lie in one strongly connected component of the graph "contains or refers to".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

Keys = tuple[Any, ...]

DEFINITIONS = ("$defs", "definitions")
# Keywords whose value maps names to schemas, and keywords whose value is data.
MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", *DEFINITIONS})
DATA = frozenset({"const", "default", "enum", "example", "examples", "required", "type"})


class References:
    """The references of `root`."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.size: int = 0
        # Members of $defs and definitions anywhere, by their path.
        self.definitions: list[Keys] = []
        # Where each reference stands, and where it leads.
        self._led: list[tuple[Keys, Keys]] = []
        self._anchors: dict[str, Keys] = {}
        self._known: dict[str, tuple[Any, Keys] | None] = {}
        self._id = root.get("$id") if type(root) is dict else None
        self._index()

    def resolve(self, ref: str) -> tuple[Any, Keys] | None:
        """The schema a reference leads to and its path, or None: undefined, outside this schema, or no schema."""
        if ref not in self._known:
            found = self._find(ref)
            self._known[ref] = found if found and type(found[0]) in (dict, bool) else None
        return self._known[ref]

    def circular(self, node: Any, target: Any) -> bool:
        """Whether a reference at `node` to `target` closes a circle."""
        if id(node) not in self._component:
            return False
        return self._component[id(node)] == self._component.get(id(target))

    def stands_for(self, copy: Any, node: Any) -> None:
        """Let a copy count as the node it was made of."""
        if id(node) in self._component:
            self._component[id(copy)] = self._component[id(node)]

    def reached(self) -> set[Keys]:
        """The definitions that a reference leads to from outside of all definitions, or from one that is reached."""
        known = set(self.definitions)
        leads: dict[Keys, list[Keys]] = {}
        for start, end in self._led:
            within = [start[:n] for n in range(len(start), 0, -1) if start[:n] in known]
            leads.setdefault(within[0] if within else (), []).append(end)
        found: set[Keys] = set()
        todo = leads.get((), [])[:]
        while todo:
            end = todo.pop()
            for at in {end[:n] for n in range(1, len(end) + 1)} & known - found:
                found.add(at)
                todo += leads.get(at, ())
        return found

    def _find(self, ref: str) -> tuple[Any, Keys] | None:
        base, _, fragment = ref.partition("#")
        if base and base != str(self._id or "").partition("#")[0]:
            return None
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            keys = self._anchors.get(fragment)
            return None if keys is None else (self._at(keys), keys)
        found, keys = self.root, ()
        for segment in fragment.split("/")[1:]:
            key: Any = segment.replace("~1", "/").replace("~0", "~")
            if type(found) is list and key.isdecimal() and len(key) < 9 and int(key) < len(found):
                key = int(key)
            elif type(found) is not dict or key not in found:
                return None
            found, keys = found[key], (*keys, key)
        return found, keys

    def _at(self, keys: Keys) -> Any:
        found = self.root
        for key in keys:
            found = found[key]
        return found

    def _index(self) -> None:
        edges: dict[int, list[int]] = {}
        pointing: list[tuple[int, Any, str]] = []
        todo: list[tuple[Any, Any, bool]] = [(self.root, None, False)]
        while todo:
            node, path, is_map = todo.pop()
            if id(node) in edges:
                continue
            below = edges[id(node)] = []
            self.size += 1
            if type(node) is dict and not is_map:
                if type(node.get("$ref")) is str:
                    pointing.append((id(node), path, node["$ref"]))
                for name in ("$anchor", "$dynamicAnchor"):
                    if type(node.get(name)) is str:
                        self._anchors.setdefault(node[name], _keys(path))
            for key, child in _children(node):
                as_keyword = type(node) is dict and not is_map
                if as_keyword and key in DATA:
                    continue
                names = as_keyword and key in MAPS and type(child) is dict
                if names and key in DEFINITIONS:
                    self.definitions += [(*_keys(path), key, name) for name in child]
                if type(child) in (dict, list):
                    below.append(id(child))
                    todo.append((child, (path, key), names))
        for node_id, path, ref in pointing:
            target = self.resolve(ref)
            if target and id(target[0]) in edges:
                edges[node_id].append(id(target[0]))
                self._led.append((_keys(path), target[1]))
        self._component = _components(edges) if pointing else {}


def _children(node: Any) -> Iterator[tuple[Any, Any]]:
    return iter(node.items()) if type(node) is dict else enumerate(node) if type(node) is list else iter(())


def _keys(path: Any) -> Keys:
    """A path kept as linked pairs, because one tuple a node would be quadratic in depth."""
    keys: list[Any] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return tuple(reversed(keys))


def _components(edges: dict[int, list[int]]) -> dict[int, int]:
    """Tarjan's algorithm without recursion: node to the number of its component."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    component: dict[int, int] = {}
    open_nodes: list[int] = []
    for start in edges:
        if start in order:
            continue
        work = [(start, iter(edges[start]))]
        order[start] = low[start] = len(order)
        open_nodes.append(start)
        while work:
            node, rest = work[-1]
            for child in rest:
                if child not in order:
                    order[child] = low[child] = len(order)
                    open_nodes.append(child)
                    work.append((child, iter(edges[child])))
                    break
                if child not in component:
                    low[node] = min(low[node], order[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    while True:
                        member = open_nodes.pop()
                        component[member] = order[node]
                        if member == node:
                            break
    return component
