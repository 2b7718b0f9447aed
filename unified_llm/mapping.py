"""The mapping engine: consuming pairs.

One rule: a mapping owns its input and pops what it understands. What a reader leaves is kept under `extra[protocol]`,
so that its own writer restores it; what a writer leaves is a loss. Nobody reports by hand, so nobody can forget to.

A `Mapping` holds the pairs of one family of nodes (parts, items, tools), keyed by the node's tag. A `Reader` or a
`Writer` is one run: it copies each node before a pair consumes it, so the caller's document stays whole and every loss
can be traced back to the leaf it came from (`locate.py`), a walk that is made only when there is something to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping as MappingABC
from typing import Any, NamedTuple

from .errors import InvalidBody
from .ids import is_made

__all__ = [
    "NATIVE",
    "Bimap",
    "Fated",
    "IllTyped",
    "Mapping",
    "Owned",
    "Reader",
    "Writer",
    "fill",
    "remainder",
    "take",
    "take_all",
    "unpack",
]

Node = dict[str, Any]
ReadPair = Callable[[Node, "Reader"], Any]
WritePair = Callable[[Node, "Writer"], Any]

NATIVE = "unified_llm:native"
"""The type of a canonical node that stands for a wire node which no pair could read."""


class IllTyped(ValueError):
    """A known key holds an unexpected JSON type: the node is kept as it is, unread."""


# What a pair may run into on a node that is not what its type promises; the node is then kept whole.
_ILL_TYPED = (IllTyped, KeyError, TypeError, AttributeError, IndexError, ValueError)
_STRUCTURE = frozenset(("extra", "turn"))


class Fated(NamedTuple):
    """What a writing pair leaves in place of a value that it did write, in another form: reported with this fate."""

    fate: str
    detail: str = ""


class Owned(dict[str, Any]):
    """An object the engine handed out to be popped from; what remains in it is collected with its parent."""

    __slots__ = ()


def take(node: Node, key: str) -> Node:
    """The object under `key`, ours to pop from: the engine collects what is left in it."""
    value = node[key]
    if type(value) is not dict:
        raise IllTyped(f"{key} is not an object")
    owned = node[key] = Owned(value)
    return owned


def take_all(node: Node, key: str) -> list[Node]:
    """The objects of the list under `key`, each ours to pop from: the engine collects what is left, holes kept."""
    value = node[key]
    if type(value) is not list or any(type(each) is not dict for each in value):
        raise IllTyped(f"{key} is not a list of objects")
    owned: list[Node] = [Owned(each) for each in value]
    node[key] = owned
    return owned


def unpack(node: Node, key: str, *names: str) -> list[Any]:
    """The values of these names of the object under `key`, consumed; what else it holds stays to be collected.

    The quick form of `take` for an object that is expected to hold exactly this. Raises `KeyError` for a missing name.
    """
    inner = node.pop(key)
    if type(inner) is not dict:
        raise IllTyped(f"{key} is not an object")
    values = [inner[name] for name in names]
    if len(inner) != len(names):
        node[key] = Owned((name, value) for name, value in inner.items() if name not in names)
    return values


def remainder(node: Node) -> Node:
    """What nobody took of a consumed node, emptied containers left out."""
    out: Node = {}
    for key, value in node.items():
        if type(value) is Owned:
            value = remainder(value)
            if not value:
                continue
        elif type(value) is list and value and type(value[0]) is Owned:
            value = [remainder(each) for each in value]
            if not any(value):
                continue
        out[key] = value
    return out


def fill(node: Node, gaps: Node) -> Node:
    """`node` with the keys of `gaps` it lacks, objects filled in depth: extra fills gaps and never overwrites."""
    out = dict(node)
    for key, value in gaps.items():
        mine = out.get(key)
        if key not in out:
            out[key] = value
        elif type(mine) is dict and type(value) is dict:
            out[key] = fill(mine, value)
        elif _alike(mine, value):
            out[key] = [fill(ours, gap) if gap else ours for ours, gap in zip(mine, value)]
    return out


def _alike(mine: Any, gaps: Any) -> bool:
    """Whether a list has gaps that a list of as many objects can fill."""
    if type(mine) is not list or type(gaps) is not list or len(mine) != len(gaps):
        return False
    return all(type(gap) is dict and (not gap or type(ours) is dict) for ours, gap in zip(mine, gaps))


class Bimap:
    """A two-way table of enum values whose inverse is derived; one-way entries are named as such.

    `reading` holds wire values that share a meaning, `writing` canonical values that have to borrow a wire word: what
    goes through the latter comes back as something else, and is therefore an approximation.
    """

    __slots__ = ("reads", "writes")

    def __init__(
        self,
        both: MappingABC[Any, Any],
        *,
        reading: MappingABC[Any, Any] | None = None,
        writing: MappingABC[Any, Any] | None = None,
    ) -> None:
        self.reads = {**both, **(reading or {})}
        self.writes = {**{hub: wire for wire, hub in both.items()}, **(writing or {})}
        if len(set(both.values())) != len(both):
            raise ValueError("two wire values share one meaning: name the second under reading=")

    def read(self, value: Any) -> Any:
        """The canonical value; an unknown one passes as it is, since every enum on the wire is open."""
        return self.reads.get(value, value) if type(value) is str else value

    def write(self, value: Any) -> Any:
        """The wire value; an unknown one passes as it is."""
        return self.writes.get(value, value) if type(value) is str else value

    def exact(self, value: Any) -> bool:
        """True when `value` comes back from the wire as itself."""
        return bool(self.read(self.write(value)) == value)


class Mapping:
    """The pairs of one family of nodes: `read` and `write` of one thing side by side, `cannot` for the impossible.

    `tag` is the wire key that tells the kinds apart ("type", or "role" for chat messages), `default` the kind of a
    node without it. `same` declares kinds whose wire and canonical shapes agree key for key.
    """

    __slots__ = ("cannots", "default", "name", "reads", "same_keys", "same_lists", "tag", "writes")

    def __init__(self, name: str, *, tag: str = "type", default: str | None = None) -> None:
        self.name = name
        self.tag = tag
        self.default = default
        self.reads: dict[Any, ReadPair] = {}
        self.writes: dict[Any, WritePair] = {}
        self.cannots: dict[str, str] = {}
        self.same_keys: dict[Any, frozenset[str]] = {}
        self.same_lists: dict[Any, tuple[tuple[str, Mapping], ...]] = {}

    def read(self, *kinds: str) -> Callable[[ReadPair], ReadPair]:
        """Declare how the wire kinds become canonical: the function pops what it understands of its node."""

        def declare(pair: ReadPair) -> ReadPair:
            for kind in kinds:
                if kind in self.reads or kind in self.same_keys:
                    raise ValueError(f"{self.name}: {kind} is read twice")
                self.reads[kind] = pair
            return pair

        return declare

    def write(self, *types: str) -> Callable[[WritePair], WritePair]:
        """Declare how the canonical types become wire; a pair that returns None says that nothing was to be written."""

        def declare(pair: WritePair) -> WritePair:
            for type_ in types:
                if type_ in self.writes:
                    raise ValueError(f"{self.name}: {type_} is written twice")
                self.writes[type_] = pair
            return pair

        return declare

    def same(self, kind: str, keys: str | Iterable[str], **lists: Mapping) -> None:
        """Declare a kind whose wire shape is the canonical shape, with these keys beside the tag.

        `lists` names keys that hold a list of nodes of another family (or a string, or null, which pass as they are).
        """
        names = frozenset(keys.split() if isinstance(keys, str) else keys) | {self.tag, *lists}
        if kind in self.reads:
            raise ValueError(f"{self.name}: {kind} is read twice")
        self.same_keys[kind] = names
        if lists:
            self.same_lists[kind] = tuple(lists.items())

    def cannot(self, types: str, reason: str) -> None:
        """Declare canonical types (space separated) that this protocol has no form for, with the reason people are told."""
        for type_ in types.split():
            self.cannots[type_] = reason


class Reader:
    """One reading, wire to canonical: what it kept, what it made, and which canonical node came from which wire node."""

    __slots__ = (
        "below",
        "context",
        "dialect",
        "doc",
        "facing",
        "http",
        "model",
        "notes",
        "places",
        "protocol",
        "seed",
        "trace",
        "turns",
    )

    def __init__(
        self,
        protocol: str,
        *,
        dialect: MappingABC[str, Any] | None = None,
        facing: str = "provider",
        model: str | None = None,
        http: MappingABC[str, Any] | None = None,
    ) -> None:
        self.protocol = protocol
        self.dialect: MappingABC[str, Any] = dialect or {}
        self.facing = facing
        self.model = model
        self.http: MappingABC[str, Any] = http or {}
        self.doc: Any = None
        self.seed = ""
        self.trace: list[tuple[Node, Node]] = []
        self.below: dict[int, tuple[Any, ...]] = {}
        self.places: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.turns: list[tuple[Node, Node]] = []
        self.notes: list[tuple[Node, tuple[Any, ...], str, str]] = []
        self.context: dict[str, Any] = {}

    def root(self, pair: ReadPair, body: Any) -> Any:
        """Read a whole document with `pair`; a body that is no object goes to the pair as it is."""
        self.doc = body
        rest = body.copy() if type(body) is dict else body
        try:
            node = pair(rest, self)
        except InvalidBody:
            raise
        except _ILL_TYPED as error:
            raise InvalidBody("", f"not a document of {self.protocol}: {error}") from error
        if type(body) is dict:
            if rest:
                self.keep(node, rest)
            self.trace.append((node, body))
        return node

    def node(self, mapping: Mapping, wire: Any) -> Node:
        """Read one node."""
        return self.nodes(mapping, (wire,))[0]

    def nodes(self, mapping: Mapping, wires: Any) -> list[Node]:
        """Read a list of nodes, one canonical node for each."""
        if type(wires) is not list and type(wires) is not tuple:
            raise IllTyped("not a list")
        reads, same, tag, trace = mapping.reads, mapping.same_keys, mapping.tag, self.trace
        lists = mapping.same_lists
        out = []
        for wire in wires:
            if type(wire) is not dict:
                out.append(self.unread(wire, mapping.name, mapping.tag))
                continue
            kind = wire.get(tag)
            if kind is None and tag not in wire and mapping.default is not None:
                out.append(self._untagged(mapping, wire))
                continue
            if type(kind) is not str:
                out.append(self.unread(wire, mapping.name, mapping.tag))
                continue
            keys = same.get(kind)
            if keys is not None:
                node = wire.copy()
                if not node.keys() <= keys:
                    rest = {key: node.pop(key) for key in wire if key not in keys}
                    node["extra"] = {self.protocol: {"rest": rest}}
                if kind in lists:
                    for key, family in lists[kind]:
                        if type(node.get(key)) is list:
                            node[key] = self.nodes(family, node[key])
                trace.append((node, wire))
                out.append(node)
                continue
            pair = reads.get(kind)
            if pair is None:
                out.append(self.unread(wire, mapping.name, mapping.tag))
                continue
            rest = wire.copy()
            rest.pop(tag, None)
            mark = len(trace)
            try:
                node = pair(rest, self)
            except _ILL_TYPED:
                del trace[mark:]
                out.append(self.unread(wire, mapping.name, mapping.tag))
                continue
            if rest:
                self.keep(node, rest)
            trace.append((node, wire))
            out.append(node)
        return out

    def _untagged(self, mapping: Mapping, wire: Node) -> Node:
        """A node that leaves its tag to be understood: read as the default kind, its spelling remembered."""
        tagged = {mapping.tag: mapping.default, **wire}
        mark = len(self.trace)
        node = self.nodes(mapping, (tagged,))[0]
        if node.get("extra", {}).get(self.protocol, {}).get("form", {}).get("native"):
            del self.trace[mark:]
            return self.unread(wire, mapping.name)
        self.form(node, "tag", "absent")
        self.trace[-1] = (node, wire)
        return node

    def parts(self, mapping: Mapping, content: Any) -> Any:
        """Content that may be a string or a list of parts."""
        return content if type(content) is str else self.nodes(mapping, content)

    def keep(self, node: Node, rest: Node, slot: str = "rest") -> None:
        """Keep what was not understood with the node it belongs to: nothing is lost yet."""
        left = remainder(rest)
        if left:
            self.extra(node)[slot] = left

    def extra(self, node: Node) -> Node:
        """This protocol's own drawer in a canonical node."""
        drawers = node.setdefault("extra", {})
        drawer: Node = drawers.setdefault(self.protocol, {})
        return drawer

    def turn(self, items: list[Node], wire: Node, rest: Node, number: int) -> list[Node]:
        """The items of one wire message: they share a turn, and what is left of the message lives on the first."""
        if len(items) > 1:
            for item in items:
                item["turn"] = number
        first = items[0]
        self.turns.append((first, wire))
        if rest:
            self.keep(first, rest, "turn")
        return items

    def form(self, node: Node, key: str, marker: Any) -> None:
        """Note a closed marker of form (string or parts, null or absent, a spelling): never a value, never a loss."""
        self.extra(node).setdefault("form", {})[key] = marker

    def made(self, node: Node, wire: Node, *keys: Any) -> Node:
        """Say that `node`, built by hand inside a pair, came from `wire`, or from what is at `keys` below it."""
        self.trace.append((node, wire))
        if keys:
            self.below[id(node)] = keys
        return node

    def place(self, node: Node, keys: tuple[Any, ...], wire: tuple[Any, ...]) -> None:
        """Say that the canonical leaf `keys` below `node` came from the keys `wire` below the node's own wire node."""
        self.places[id(node), *keys] = wire

    def note(self, node: Node, keys: tuple[Any, ...], fate: str, detail: str) -> None:
        """What reading itself had to approximate or add (a lone surrogate, a missing time): rare, declared by the engine."""
        self.notes.append((node, keys, fate, detail))

    def unread(self, wire: Any, family: str, tag: str = "") -> Node:
        """A wire node that no pair can read, kept whole for its own protocol."""
        from ._tables import KNOWN_TYPES

        kind = wire.get(tag) if type(wire) is dict else None
        node: Node = {"type": NATIVE}
        rest = wire
        if tag == "type" and type(kind) is str and kind and kind not in KNOWN_TYPES and kind != NATIVE:
            node["type"] = kind
            rest = {key: value for key, value in wire.items() if key != "type"}
        node["extra"] = {self.protocol: {"rest": rest, "form": {"native": family}}}
        self.trace.append((node, wire))
        return node


class Writer:
    """One writing, canonical to wire: every key that no pair pops becomes an entry in `raw`, to be located later."""

    __slots__ = (
        "context",
        "dialect",
        "doc",
        "exchange",
        "facing",
        "http",
        "model",
        "protocol",
        "raw",
        "seed",
        "source",
        "vault",
    )

    def __init__(
        self,
        protocol: str,
        *,
        dialect: MappingABC[str, Any] | None = None,
        facing: str = "provider",
        model: str | None = None,
        source: str | None = None,
        exchange: Any = None,
        vault: Any = None,
    ) -> None:
        self.protocol = protocol
        self.dialect: MappingABC[str, Any] = dialect or {}
        self.facing = facing
        self.model = model
        self.source = source
        self.exchange = exchange
        self.vault = vault
        self.doc: Any = None
        self.seed = ""
        self.http: dict[str, Any] = {}
        self.raw: list[tuple[Node, tuple[Any, ...], str, str, str | None]] = []
        self.context: dict[str, Any] = {}

    def root(self, pair: WritePair, node: Any) -> Any:
        """Write a whole document with `pair`."""
        self.doc = node
        if type(node) is not dict:
            return pair(node, self)
        rest = node.copy()
        return self._finish(node, rest, pair(rest, self))

    def node(self, mapping: Mapping, node: Node) -> Any:
        """Write one node; None when it cannot be written (and was reported)."""
        out = self.nodes(mapping, (node,))
        return out[0] if out else None

    def nodes(self, mapping: Mapping, nodes: Any) -> list[Any]:
        """Write a list of nodes, leaving out those the target has no form for (each reported)."""
        if type(nodes) is not list and type(nodes) is not tuple:
            raise IllTyped("not a list")
        writes, same, lists = mapping.writes, mapping.same_keys, mapping.same_lists
        out = []
        for node in nodes:
            kind = node.get("type")
            keys = same.get(kind)
            if keys is not None:
                rest = node.copy()
                if node.keys() <= keys:
                    wire: Any = rest
                    rest = None
                else:
                    wire = {key: rest.pop(key) for key in node if key in keys}
                if kind in lists:
                    for key, family in lists[kind]:
                        if type(wire.get(key)) is list:
                            wire[key] = self.nodes(family, wire[key])
            else:
                pair = writes.get(kind)
                if pair is None:
                    wire = self.native(node, mapping.name, mapping.cannots.get(kind, ""))
                    if wire is not None:
                        out.append(wire)
                    continue
                rest = node.copy()
                del rest["type"]
                wire = pair(rest, self)
                if wire is None:
                    self.drop(node, mapping.cannots.get(kind, ""))
                    continue
            out.append(self._finish(node, rest, wire) if rest else wire)
        return out

    def piece(self, pair: WritePair, node: Node) -> Any:
        """Write one node with `pair` where the wire has no node of its own for it but a piece of another."""
        rest = node.copy()
        del rest["type"]
        wire = pair(rest, self)
        return self._finish(node, rest, wire) if rest else wire

    def turn(self, first: Node, wire: Node) -> Node:
        """Give a wire message what its reader left on the first item of its turn."""
        extra = first.get("extra")
        own = extra.get(self.protocol) if extra else None
        return fill(wire, own["turn"]) if own and "turn" in own else wire

    def parts(self, mapping: Mapping, content: Any) -> Any:
        """Content that may be a string or a list of parts."""
        return content if type(content) is str or content is None else self.nodes(mapping, content)

    def form(self, node: Node, key: str) -> Any:
        """The marker of form this protocol's reader left on the node, None when it left none."""
        extra = node.get("extra")
        if extra is None:
            return None
        own = extra.get(self.protocol)
        return own["form"].get(key) if own and "form" in own else None

    def report(
        self, node: Node, keys: tuple[Any, ...], fate: str, detail: str = "", capability: str | None = None
    ) -> None:
        """Record a fate of the canonical leaf `keys` below `node`; for `added`, of the wire leaf below a wire node."""
        self.raw.append((node, keys, fate, detail, capability))

    def added(self, wire: Node, key: str, detail: str = "") -> None:
        """Record a key of the result that the source did not say."""
        self.raw.append((wire, (key,), "added", detail, None))

    def drop(self, node: Node, detail: str = "", fate: str = "lost") -> None:
        """Record that nothing of `node` was written."""
        self.raw.append((node, (), fate, detail, None))

    def _finish(self, node: Node, rest: Node, wire: Any) -> Any:
        """Give a written node its own extras back and report whatever the pair left."""
        extra = rest.pop("extra", None)
        rest.pop("turn", None)
        if extra is not None:
            for protocol, drawer in extra.items():
                if protocol == self.protocol:
                    gaps = drawer.get("rest")
                    if "form" in drawer and drawer["form"].get("tag") == "absent" and type(wire) is dict:
                        wire = {key: value for key, value in wire.items() if key != "type"}
                    if gaps:
                        if type(wire) is dict:
                            self._overruled(node, wire, gaps)
                            wire = fill(wire, gaps)
                        else:
                            self._foreign(node, ("extra", protocol, "rest"), gaps)
                else:
                    for slot in ("rest", "turn"):
                        if slot in drawer:
                            self._foreign(node, ("extra", protocol, slot), drawer[slot])
        if rest:
            self._leftover(node, (), node, rest)
        return wire

    def _leftover(self, node: Node, keys: tuple[Any, ...], original: Any, rest: Node) -> None:
        for key, value in rest.items():
            if type(value) is Owned:
                self._leftover(node, (*keys, key), original[key], value)
            elif type(value) is Fated:
                self.raw.append((node, (*keys, key), value.fate, value.detail, None))
            elif type(value) is list and value and type(value[0]) is Owned:
                for index, each in enumerate(value):
                    self._leftover(node, (*keys, key, index), original[key][index], each)
            elif value is not None and value != "" and value != [] and value != {} and not (key == "id" and is_made(value)):
                self.raw.append((node, (*keys, key), "lost", "", None))

    def _foreign(self, node: Node, keys: tuple[Any, ...], rest: Any) -> None:
        self.raw.append((node, keys, "lost", "", None))

    def _overruled(self, node: Node, wire: Node, gaps: Node) -> None:
        for key, value in gaps.items():
            if key in wire and not (type(wire[key]) is dict and type(value) is dict) and not _alike(wire[key], value):
                self.raw.append((node, ("extra", self.protocol, "rest", key), "lost", "the canonical value wins", None))

    def native(self, node: Node, family: str, reason: str = "") -> Any:
        """The wire node that `Reader.unread` kept, if this protocol kept it; None (reported) for any other node."""
        own = (node.get("extra") or {}).get(self.protocol)
        if own is not None and (own.get("form") or {}).get("native") == family:
            rest = own.get("rest")
            return {**rest, "type": node["type"]} if node["type"] != NATIVE else rest
        self.drop(node, reason)
        return None
