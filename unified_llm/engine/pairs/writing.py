"""One writing, canonical to wire.

Every key that no pair pops becomes an entry in `raw`, and so does what other protocols kept for themselves and what had
to be approximated or added; `locator.py` makes the report of it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping as MappingABC
from typing import TYPE_CHECKING, Any

from ...foundation.generated_ids import is_made, seed_of
from .mapping import NATIVE, Fated, IllTyped, Mapping, Owned, WritePair, alike, fill, remade, says_nothing
from .markers import is_marker
from .origins import is_own
from .outline import Outline
from .record import NOTE, REPEATED, UNKEPT, Record

if TYPE_CHECKING:
    from ...foundation.secret import Secret
    from ..adapter import Adapter

__all__ = ["Writer"]

Node = dict[str, Any]


class Writer(Record):
    """One writing, canonical to wire: every key that no pair pops becomes an entry in `raw`, to be located later."""

    __slots__ = (
        "adapter",
        "carries",
        "context",
        "dialect",
        "doc",
        "exchange",
        "facing",
        "here",
        "http",
        "model",
        "opening",
        "plain",
        "protocol",
        "same",
        "secret",
        "seeded",
        "sent",
        "source",
        "unparked",
        "vault",
    )

    def __init__(
        self,
        adapter: Adapter,
        *,
        dialect: MappingABC[str, Any] | None = None,
        facing: str = "provider",
        model: str | None = None,
        source: str | None = None,
        exchange: Any = None,
        vault: Any = None,
        provider: str | None = None,
        scope: str | None = None,
        secret: Secret | None = None,
    ) -> None:
        super().__init__()
        # The declaration of the target, and who is written to there.
        self.adapter: Adapter = adapter
        self.protocol: str = adapter.protocol
        self.here: dict[str, Any] = {"protocol": adapter.protocol, "provider": provider, "scope": scope, "model": model}
        # Bearers whose foreign pieces this document has a slot of its own for: a history may have fewer than an answer.
        self.carries: frozenset[str] = adapter.carries
        self.secret: Secret | None = secret  # the key of the envelopes that are written
        self.dialect: MappingABC[str, Any] = dialect or {}
        self.facing: str = facing
        self.model: str | None = model
        self.source: str | None = source
        self.same: bool = False  # the source is the target, dialect and all: nothing has to be made fit
        # The outline of a conversation that its reader called plain, and in which nothing had to be repaired: names of
        # results are those of the calls they answer.
        self.plain: Outline | None = None
        self.exchange: Any = exchange
        self.vault: Any = vault
        # The vault gave back opaque data that the client of this conversation had dropped.
        self.unparked: bool = False
        self.doc: Any = None
        self.seeded: str | None = None  # what made ids depend on: a digest of what opens a conversation
        self.opening: Any = None
        self.http: dict[str, Any] = {}
        self.context: dict[str, Any] = {}
        # Where a stream ends in an error that was made on this side: the data of the first and of the last event that
        # the client was sent, None where there are none.
        self.sent: tuple[Any, Any] | None = None

    def root(self, pair: WritePair, node: Any) -> Any:
        """Write a whole document with `pair`."""
        self.doc = node
        if type(node) is not dict:
            return pair(node, self)
        rest = self.rest(node)
        return self._finish(node, rest, pair(rest, self))

    @property
    def seed(self) -> str:
        """What the ids that are made of this document depend on."""
        if self.seeded is None:
            self.seeded = seed_of(self.opening) if self.opening else ""
        return self.seeded

    @seed.setter
    def seed(self, seed: str) -> None:
        self.seeded = seed

    @property
    def crosses(self) -> bool:
        """Whether the document comes from another protocol (that it is a canonical one by origin does not count)."""
        return self.source is not None and self.source != self.protocol

    def rest(self, node: Node) -> Node:
        """A copy of a node for a pair to consume, without nulls where the document comes from another protocol.

        Most protocols declare no null where another does, and a null carries no information, so nothing is lost with
        it.
        """
        if None in node.values() and self.crosses:
            return {key: value for key, value in node.items() if value is not None}
        return node.copy()

    def node(self, mapping: Mapping, node: Node) -> Any:
        """Write one node; None when it cannot be written (and was reported)."""
        out = self.nodes(mapping, (node,))
        return out[0] if out else None

    def nodes(self, mapping: Mapping, nodes: Any) -> list[Any]:
        """Write a list of nodes, leaving out those the target has no form for (each reported)."""
        if type(nodes) is not list and type(nodes) is not tuple:
            raise IllTyped("not a list")
        writes, same, lists, shaped = mapping.writes, mapping.same_keys, mapping.same_lists, mapping.shaped
        out = []
        for node in nodes:
            kind = node.get("type")
            try:
                keys = same.get(kind)
            except TypeError:  # an object or a list, which no kind is called
                out += self._native(node, mapping.name, "")
                continue
            if keys is not None:
                wire: Any = self.rest(node)
                # Grouped the items; has no place on the wire.
                wire.pop("turn", None)
                rest = {key: wire.pop(key) for key in [*wire] if key not in keys} if not wire.keys() <= keys else None
                if kind in lists:
                    for key, family in lists[kind]:
                        if type(wire.get(key)) is list:
                            wire[key] = self.nodes(family, wire[key])
            else:
                pair = writes.get(kind)
                if pair is None:
                    out += self._native(node, mapping.name, mapping.cannots.get(kind, ""))
                    continue
                if pair in shaped:
                    rest, wire = None, pair(node, self)
                else:
                    rest = self.rest(node)
                    del rest["type"]
                    wire = pair(rest, self)
                if wire is None:
                    self.drop(node, mapping.cannots.get(kind, ""))
                    continue
            out.append(self._finish(node, rest, wire, mapping.tag) if rest else wire)
        return out

    def piece(self, pair: WritePair, node: Node) -> Any:
        """Write one node with `pair` where the wire has no node of its own for it but a piece of another."""
        rest = self.rest(node)
        rest.pop("type", None)
        wire = pair(rest, self)
        return self._finish(node, rest, wire) if rest else wire

    def said(self, part: Node, detail: str = "") -> Any:
        """The text of a part of which nothing else is taken; `detail` is that of the approximation, if it is one."""

        def pair(c: Node, w: Writer) -> Any:
            text = c.pop("text", None)
            if detail and text:
                c["text"] = Fated("approximated", detail)
            return text

        return self.piece(pair, part)

    def turn(self, first: Node, wire: Node) -> Node:
        """Give a wire message what its reader left on the first item of its turn."""
        extra = first.get("extra")
        own = extra.get(self.protocol) if extra else None
        return self._filled(wire, own["turn"]) if own and "turn" in own else wire

    def _filled(self, wire: Node, gaps: Node) -> Node:
        """What was left of a node put back; what was added to it is added to what it has become."""
        new = fill(wire, gaps)
        if "added" in self.context:
            remade(wire, new, self.context)
        return new

    def parts(self, mapping: Mapping, content: Any) -> Any:
        """Content that may be a string or a list of parts."""
        return content if type(content) is str or content is None else self.nodes(mapping, content)

    def form(self, node: Node, key: str) -> Any:
        """The marker of form this protocol's reader left on the node, None when it left none.

        Anybody may have made a canonical document: what no reader leaves there is ignored (`Adapter.forms`).
        """
        extra = node.get("extra")
        if extra is None:
            return None
        own = extra.get(self.protocol)
        found = own["form"].get(key) if own and "form" in own else None
        return found if found is not None and is_marker(key, found, self.adapter.forms) else None

    def marked(self, node: Node) -> Collection[str]:
        """The keys of all markers of form on the node; `form` gives the value of each."""
        extra = node.get("extra")
        own = extra.get(self.protocol) if extra is not None else None
        found: Collection[str] = own["form"].keys() if own and "form" in own else ()
        return found

    def is_silent(self, extra: Any, own: Node | None = None) -> bool:
        """Whether what is kept with a node is nothing but the forms it had on other wires: nothing to write or to lose.

        `own` is what this protocol itself may have kept.
        """
        if type(extra) is not dict:
            return False
        for protocol, drawer in extra.items():
            if protocol == self.protocol:
                if own is None or drawer != own:
                    return False
            elif type(drawer) is not dict or "rest" in drawer or "turn" in drawer:
                return False
        return True

    def report(
        self, node: Node, keys: tuple[Any, ...], fate: str, detail: str = "", capability: str | None = None
    ) -> None:
        """Record a fate of the canonical leaf `keys` below `node`; for `added`, of the wire leaf below a wire node."""
        if fate == "parked" and detail == NOTE and not self.restores(keys):
            fate, detail = "lost", UNKEPT
        self.raw.append((node, keys, fate, detail, capability))

    def restores(self, keys: tuple[Any, ...]) -> bool:
        """Whether what an envelope holds at `keys` of an item comes back: without a secret opaque data alone."""
        return self.secret is not None or self.vault is not None or not keys or "opaque" in keys

    def added(self, wire: Node, key: str, detail: str = "") -> None:
        """Record a key of the result that the source does not have."""
        self.context.setdefault("added", set()).add(id(wire))
        self.raw.append((wire, (key,), "added", detail, None))

    def travels(self, item: Node, rest: Node | None = None) -> None:
        """Report what other protocols keep with an item in an envelope, and with its parts, as kept with it.

        `rest` is the copy of the item that is being consumed, if it is.
        """
        if rest is not None and "extra" in rest:
            rest["extra"] = {key: drawer for key, drawer in rest["extra"].items() if key == self.protocol}
        inner = [part for key in ("summary", "content") for part in item.get(key) or () if type(part) is dict]
        for node in (item, *inner):
            for protocol, drawer in (node.get("extra") or {}).items():
                for slot in ("rest", "turn"):
                    if drawer.get(slot) and protocol != self.protocol:
                        self.report(node, ("extra", protocol, slot), "parked", "kept in an envelope")

    def too_late(self, node: Node, detail: str) -> None:
        """Report what this protocol itself keeps with a node whose start had been streamed before that was known."""
        extra = node.get("extra")
        if extra and "rest" in extra.get(self.protocol, ()):
            self.raw.append((node, ("extra", self.protocol, "rest"), "lost", detail, None))

    def _finish(self, node: Node, rest: Node, wire: Any, tag: str = "type") -> Any:
        """Give a written node its own extras back and report whatever the pair left."""
        extra = rest.pop("extra", None)
        rest.pop("turn", None)
        if extra is not None:
            for protocol, drawer in extra.items():
                if protocol == self.protocol:
                    gaps = drawer.get("rest")
                    if (mark := drawer.get("form", {}).get("tag")) and type(wire) is dict:
                        wire = {k: None if k == tag else v for k, v in wire.items() if k != tag or mark == "null"}
                    if gaps:
                        if type(wire) is dict:
                            self._overruled(node, wire, gaps)
                            wire = self._filled(wire, gaps)
                        else:
                            self._foreign(node, ("extra", protocol, "rest"), gaps)
                else:
                    for slot in ("rest", "turn"):
                        if slot in drawer:
                            self._foreign(node, ("extra", protocol, slot), drawer[slot])
        if rest:
            self._leftover(node, (), node, rest)
        return wire

    def leftover(self, node: Node, key: str) -> None:
        """Record that nothing of a key was written, unless it holds what the library itself made."""
        self._leftover(node, (), node, {key: node[key]})

    def _leftover(self, node: Node, keys: tuple[Any, ...], original: Any, rest: Node) -> None:
        for key, value in rest.items():
            if type(value) is Owned:
                self._leftover(node, (*keys, key), original[key], value)
            elif type(value) is Fated:
                self.report(node, (*keys, key), value.fate, value.detail)
            elif type(value) is list and value and type(value[0]) is Owned:
                for index, each in enumerate(value):
                    self._leftover(node, (*keys, key, index), original[key][index], each)
            elif key == "name" and not keys and self._is_called(node, value):
                self.raw.append((node, *REPEATED, None))
            elif key == "opaque" and type(value) is list and any(not is_own(piece, self) for piece in value):
                self.raw.append((node, (*keys, key), "parked" if self.vault is not None else "lost", "foreign", None))
            elif (not value or type(value) is dict) and says_nothing(value):
                continue
            elif key not in _MADE or not self._is_ours(key, value):
                self.raw.append((node, (*keys, key), "lost", "", None))

    def _is_ours(self, key: str, value: Any) -> bool:
        """Whether the library made a value, or took it from the exchange (`restore_response.py`): it cannot be lost."""
        if key in ("id", "call_id"):
            return is_made(value)
        filled = self.exchange and (self.exchange.created_at if key == "created_at" else self.exchange.previous)
        return filled is not None and bool(filled == value)

    def _is_called(self, node: Node, name: Any) -> bool:
        """Whether `name`, left on a result, is the name of the call it answers."""
        call_id = node.get("call_id")
        return node.get("type") in _RESULTS and type(call_id) is str and self.called().get(call_id) == name

    def called(self) -> dict[Any, Any]:
        """The names of the calls of the document that is written, by their ids."""
        names: dict[Any, Any] | None = self.context.get("called")
        if names is None:
            items = self.doc.get("input") or self.doc.get("output") if type(self.doc) is dict else None
            names = self.context["called"] = {
                item.get("call_id"): item.get("name")
                for item in (items if type(items) is list else ())
                if type(item) is dict and item.get("type") in _CALLS
            }
        return names

    def _foreign(self, node: Node, keys: tuple[Any, ...], rest: Any) -> None:
        self.raw.append((node, keys, "lost", "", None))

    def _overruled(self, node: Node, wire: Node, gaps: Node) -> None:
        for key, value in gaps.items():
            if key in wire and not (type(wire[key]) is dict and type(value) is dict) and not alike(wire[key], value):
                self.raw.append((node, ("extra", self.protocol, "rest", key), "lost", "the canonical value wins", None))

    def native(self, node: Node, family: str, reason: str = "") -> Any:
        """The wire node that `Reader.unread` kept, if this protocol kept it; None (reported) for any other node."""
        found = self._native(node, family, reason)
        return found[0] if found else None

    def _native(self, node: Node, family: str, reason: str) -> list[Any]:
        """The same as a list of one or none, since an element that was kept may be null."""
        extra = node.get("extra")  # on a wire a key like any other
        own: Any = extra.get(self.protocol) if type(extra) is dict else None
        if type(own) is dict and (own.get("form") or {}).get("native") == family:
            rest: Any = own.get("rest")
            kind = node.get("type", NATIVE)
            return [{**rest, "type": kind} if kind != NATIVE else rest]
        self.drop(node, reason)
        return []


# What may be left without being a loss, and what the name of a result may repeat.
_MADE = frozenset(("id", "call_id", "created_at", "previous_response_id"))
_RESULTS = frozenset(("function_call_output", "custom_tool_call_output"))
_CALLS = frozenset(("function_call", "custom_tool_call"))
