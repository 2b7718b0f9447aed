"""One reading, wire to canonical.

Each node is copied before a pair consumes it, and which wire node it came from is noted, for losses (`locator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Mapping as MappingABC
from functools import partial
from typing import TYPE_CHECKING, Any

from ...foundation.errors import InvalidBody
from .mapping import ILL_TYPED, NATIVE, IllTyped, Mapping, ReadPair, remainder
from .outline import Outline

if TYPE_CHECKING:
    from ...foundation.secret import Secret
    from ..adapter import Adapter
    from .writing import Writer

__all__ = ["Reader"]

Node = dict[str, Any]
Places = tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...]


class Reader:
    """One reading: what it kept, what it made, and which canonical node came from which wire node."""

    __slots__ = (
        "_outline",
        "adapter",
        "below",
        "cited",
        "context",
        "dialect",
        "doc",
        "docs",
        "escapes",
        "exchange",
        "facing",
        "frames",
        "gathered",
        "http",
        "laid",
        "model",
        "notes",
        "number",
        "opens",
        "owed",
        "placed",
        "places",
        "plain",
        "protocol",
        "provider",
        "repeats",
        "restored",
        "runs",
        "scope",
        "secret",
        "seed",
        "signed",
        "since",
        "stands",
        "stuffed",
        "target",
        "trace",
        "turns",
        "unsealed",
    )

    def __init__(
        self,
        adapter: Adapter,
        *,
        dialect: MappingABC[str, Any] | None = None,
        facing: str = "provider",
        model: str | None = None,
        http: MappingABC[str, Any] | None = None,
        provider: str | None = None,
        scope: str | None = None,
        opens: bool = False,
        secret: Secret | None = None,
    ) -> None:
        self.adapter: Adapter = adapter
        self.protocol: str = adapter.protocol
        self.dialect: MappingABC[str, Any] = dialect or {}
        self.facing: str = facing
        self.model: str | None = model
        # Whose document it is, as far as it is known, and whether anything in it was signed.
        self.provider: str | None = provider
        self.scope: str | None = scope
        self.signed: bool = False
        # Whether envelopes are opened: in what a client sends, never in what a provider does. With a secret only those
        # that were signed with it. What a provider sends that looks like one is escaped (`provenance.escaped`);
        # `stuffed` means that there is something of the kind.
        self.opens: bool = opens
        self.secret: Secret | None = secret
        self.escapes: bool = not opens
        self.stuffed: bool = False
        # The exchange of an answer, and its target, if known. Whole answers go to their origin and to clients alone.
        self.exchange: Any = None
        self.target: Writer | None = None
        # Set by a reader that found nothing in a conversation but texts, calls of functions, and their results as
        # text, by the names of their calls if by any: nothing that could be a handle or have opaque data. No two
        # messages of the model's stand side by side, where a wire has messages.
        self.plain: bool = False
        self._outline: Outline | None = None  # of such a conversation, made on first use
        # What envelopes held, and items put back as they were, with the origin of what they name.
        self.unsealed: list[Node] = []
        self.restored: list[tuple[Node, Node]] = []
        self.http: MappingABC[str, Any] = http or {}
        self.doc: Any = None
        self.seed: str = ""
        self.trace: list[tuple[Node, Node]] = []
        # The same of nodes that were read in one go, in order: put into the trace when that is used (`traced`).
        self.runs: list[tuple[list[Node], list[Any]]] = []
        self.owed: list[Callable[[Reader], None]] = []  # notes of what shapes read, made when a loss needs them
        self.below: dict[int, tuple[Any, ...]] = {}
        self.places: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        # Where those nodes stand in the document whose reader has it anyway, by identity, and where the leaves of
        # their kinds are in them: noted once for all of a kind, and not of each as in `places`.
        self.stands: dict[int, tuple[Any, ...]] = {}
        self.laid: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {}
        # Of a stream: the number of the event that is read now and of the notes before it, the leaves whose places were
        # reported, in order, the last event of which a path was needed (`here`), the events that losses may have to
        # be found in, and the wire nodes that were put together from several events, with where their pieces came from.
        self.number: int | None = None
        self.frames: bool = True  # kept with their events: only a writer of its own protocol sends them again
        self.since: int = 0
        self.placed: list[tuple[Node, tuple[Any, ...]]] = []
        self.cited: int | None = None
        self.docs: dict[int, Any] = {}
        self.gathered: dict[int, tuple[Any, dict[tuple[Any, ...], tuple[Any, ...]]]] = {}
        # Wire nodes that were not read again because an earlier one is equal: that, by the identity of the later one.
        self.repeats: dict[int, Any] = {}
        self.turns: list[tuple[Node, Node]] = []
        self.notes: list[tuple[Node, tuple[Any, ...], str, str]] = []
        self.context: dict[str, Any] = {}

    @property
    def outline(self) -> Outline:
        """The outline of a plain conversation."""
        if self._outline is None:
            self._outline = Outline()
        return self._outline

    def root(self, pair: ReadPair, body: Any) -> Any:
        """Read a whole document with `pair`; a body that is not an object goes to the pair as it is."""
        self.doc = body
        rest = body.copy() if type(body) is dict else body
        try:
            node = pair(rest, self)
        except InvalidBody:
            raise
        except ILL_TYPED as error:
            from ..malformed import refuse_root

            refuse_root(self.protocol, body, error)
        if type(body) is dict:
            if rest:
                self.keep(node, rest)
            self.trace.append((node, body))
        return node if self.plain else self._opened(node)

    def _opened(self, node: Any) -> Any:
        """A conversation with carried answers back in their places (`returned_answers.py`)."""
        items = node.get("input") if type(node) is dict else None
        if type(items) is list and (self.unsealed or [item for item in items if "opaque" in item]):
            from ...provenance.returned_answers import opened

            if self.target is not None:
                self.target.context["named"] = node.get("model")
            node["input"] = opened(items, self)
        return node

    def ran(self, items: list[Node], begin: int, wires: list[Any], letters: list[str]) -> None:
        """Note that the items from `begin` on were read in one go from these wire nodes; `letters` are their outline.

        There may be more of the latter two, of what was not read to its end.
        """
        count = len(items) - begin
        del wires[count:], letters[count:]
        if count:
            self.runs.append((items[begin:], wires))
            (self._outline or self.outline).letters += letters

    def settle(self) -> None:
        """Note what is owed, once."""
        while self.owed:
            self.owed.pop()(self)

    def traced(self) -> list[tuple[Node, Node]]:
        """All pairs of nodes, canonical and wire."""
        if self.owed:
            self.settle()
        if self.runs:
            self.trace += [pair for nodes, wires in self.runs for pair in zip(nodes, wires)]
            self.runs.clear()
        return self.trace

    def latest(self) -> Iterator[tuple[Node, Node]]:
        """The same from the end: what stands beside a conversation is read last, and mostly what is looked for."""
        self.settle()
        yield from reversed(self.trace)
        for nodes, wires in reversed(self.runs):
            yield from zip(reversed(nodes), reversed(wires))

    def node(self, mapping: Mapping, wire: Any) -> Node:
        """Read one node."""
        return self.nodes(mapping, (wire,))[0]

    def nodes(self, mapping: Mapping, wires: Any) -> list[Node]:
        """Read a list of nodes, one canonical node for each."""
        if type(wires) is not list and type(wires) is not tuple:
            raise IllTyped("not a list")
        reads, same, tag, trace = mapping.reads, mapping.same_keys, mapping.tag, self.trace
        lists, shaped = mapping.same_lists, mapping.shaped
        out: list[Node] = []
        for wire in wires:
            if type(wire) is not dict:
                out.append(self.unread(wire, mapping.name, mapping.tag, (wires, len(out))))
                continue
            kind = wire.get(tag) if tag else _case(wire, reads)
            if kind is None and mapping.default is not None and type(tag) is str:
                if tag in wire or mapping.reads.get(mapping.default) not in shaped:
                    out.append(self._untagged(mapping, wire))
                    continue
                kind = mapping.default
            if type(kind) is not str:
                out.append(self.unread(wire, mapping.name, mapping.tag))
                continue
            keys = same.get(kind)
            if keys is not None:
                node = wire.copy()
                rest = {}
                types = mapping.same_types[kind]
                for key, value in wire.items():
                    if key not in keys or type(value) not in types[key]:
                        rest[key] = node.pop(key)
                if not mapping.same_needs[kind] <= node.keys():
                    out.append(self.unread(wire, mapping.name, mapping.tag))
                    continue
                if rest:
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
            rest = {} if pair in shaped else wire.copy()
            if tag:
                rest.pop(tag, None)
            mark = len(trace)
            try:
                node = pair(wire if pair in shaped else rest, self)
            except ILL_TYPED:
                del trace[mark:]
                out.append(self.unread(wire, mapping.name, mapping.tag))
                continue
            if rest:
                self.keep(node, rest)
            trace.append((node, wire))
            out.append(node)
        return out

    def _untagged(self, mapping: Mapping, wire: Node) -> Node:
        """A node without a tag, or with null for it: read as the default kind, its spelling remembered."""
        tagged = {mapping.tag: mapping.default, **wire, mapping.tag: mapping.default}
        mark = len(self.trace)
        node = self.nodes(mapping, (tagged,))[0]
        if node.get("extra", {}).get(self.protocol, {}).get("form", {}).get("native"):
            del self.trace[mark:]
            return self.unread(wire, mapping.name)
        own = mapping.tag if mapping.reads.get(mapping.default) in mapping.shaped else "tag"
        self.form(node, own, "null" if mapping.tag in wire else "absent")
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
        if "extra" in node:
            self.extra(node).setdefault("form", {})[key] = marker
        else:
            node["extra"] = {self.protocol: {"form": {key: marker}}}

    def made(self, node: Node, wire: Any, *keys: Any) -> Node:
        """Note that `node`, built by hand inside a pair, came from `wire`, or from what is at `keys` below it."""
        self.trace.append((node, wire))
        if keys:
            self.below[id(node)] = keys
        return node

    def place(self, node: Node, keys: tuple[Any, ...], wire: tuple[Any, ...]) -> None:
        """Note that the canonical leaf `keys` below `node` came from the keys `wire` below the node's own wire node.

        An ellipsis as the first of them means that the others start at the document's root (of the event, in a stream).
        """
        if self.number is not None:
            if wire[:1] == (...,):
                wire = (..., *self.here(*wire[1:]))
            # With the node, since what is known of it by its identity must not outlive it.
            self.placed.append((node, keys))
        self.places[id(node), *keys] = wire

    def lay(self, node: Node, places: Places) -> None:
        """Note where many leaves are in the node's wire node, as `place` does; a place that is noted for one wins."""
        if self.number is None:
            self.owed.append(partial(_lay, node, places))
        else:
            here = id(node)
            self.placed += [(node, keys) for keys, _ in places]
            self.places.update({(here, *keys): wire for keys, wire in places})

    def here(self, *keys: Any) -> tuple[Any, ...]:
        """The path of what stands at `keys` of the document being read; in a stream, of the event being read."""
        if self.number is None:
            return keys
        self.cited = self.number
        return (self.number, "data", *keys)

    def gather(self, wire: Any, sources: dict[tuple[Any, ...], tuple[Any, ...]]) -> Any:
        """Note that `wire` stands in no event but was put together: what is at each key path, and the path it is from.

        The paths are those that `here` gave when the piece came; that of `()` is for all that has none of its own.
        """
        self.gathered[id(wire)] = (wire, sources)
        return wire

    def piece(self, kind: str, data: str) -> Node | None:
        """A piece of opaque data that came in its protocol's own field; None for an envelope."""
        from ...provenance.opaque import is_envelope, opaque_piece

        return None if is_envelope(data, self) else opaque_piece(kind, data, self)

    def note(self, node: Node, keys: tuple[Any, ...], fate: str, detail: str) -> None:
        """What reading itself had to approximate (a lone surrogate, an offset cut in a character): rare."""
        self.notes.append((node, keys, fate, detail))

    def unread(self, wire: Any, family: str, tag: str = "", within: tuple[Any, int] | None = None) -> Node:
        """A wire node that no pair can read, kept whole for its own protocol; `within` is its list and place."""
        from ...types._tables import KNOWN_TYPES

        kind = wire.get(tag) if type(wire) is dict else None
        node: Node = {"type": NATIVE}
        rest = wire
        if tag == "type" and type(kind) is str and kind and kind not in KNOWN_TYPES and kind != NATIVE:
            node["type"] = kind
            rest = {key: value for key, value in wire.items() if key != "type"}
        node["extra"] = {self.protocol: {"rest": rest, "form": {"native": family}}}
        if within is not None and type(wire) is not dict and type(within[0]) is list:
            # A value without an identity of its own is found by where it stands.
            return self.made(node, within[0], within[1])
        self.trace.append((node, wire))
        return node


def _lay(node: Node, places: Places, reader: Reader) -> None:
    here = id(node)
    for keys, wire in places:
        reader.places.setdefault((here, *keys), wire)


def _case(wire: Node, reads: MappingABC[Any, ReadPair]) -> Any:
    """The first key of a node that is one of the kinds: of a family whose kinds are keys."""
    return next((key for key in wire if key in reads), None)
