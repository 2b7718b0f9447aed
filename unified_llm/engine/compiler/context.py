"""The state of one conversion, with its losses until they are read.

Losses are recorded as (canonical node, key path, fate, detail) and located afterwards, from structure, when there are
any (`places.py`). Nothing is written down while reading. A pass between reading and writing works on copies and notes
what replaced what; `weigh` then finds what left the document and was not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...losses import Fate
from .runtime import drawers, fill, respelled, said
from .signals import Node, is_same

__all__ = ["Context", "Raw"]


class Raw(NamedTuple):
    """One loss, not yet located: a canonical node (for `added`, a wire object of the result) and a key path in it."""

    node: Any
    keys: tuple[Any, ...]
    fate: Fate
    detail: str = ""
    about: tuple[str, tuple[str, ...]] | None = None  # of what is added: the target's node, and its canonical key


class Context:
    """One conversion from protocol `source` to protocol `target`; the same object is given to reader and writer.

    >>> x = Context("openai-chat", "anthropic-messages")
    >>> x.own, x.flags, x.raw
    (False, 0, [])
    """

    flags = 0
    trace: list[tuple[Node, Any]] | None = None  # (canonical node, wire object written for it); a list turns it on
    before: Node | None = None  # the document as it was read, if a pass was run

    def __init__(
        self,
        source: str,
        target: str,
        *,
        origin: Node | None = None,
        here: Node | None = None,
        match: tuple[str, ...] = (),
    ) -> None:
        self.source = source
        self.target = target
        self.own: bool = source == target
        # The origin of opaque data that is read, the provider it is written for, and what of both has to match.
        self.maker = origin
        self.here = here
        self.match = match
        self.raw: list[Raw] = []
        self.moved: dict[int, tuple[Node, Node]] = {}  # by identity: what a pass made, and what it stands for
        self.kept: set[tuple[int, str]] = set()  # keys whose values a pass moved
        self.supplied: list[tuple[tuple[str, ...], str]] = []  # what a pass put into the document, and why

    @property
    def origin(self) -> Node:
        """The origin of opaque data that is read, another object for each piece."""
        return {"protocol": self.source, **(self.maker or {})}

    def piece(self, kind: str, data: str) -> Node | None:
        """A piece of opaque data that came in its protocol's own field; None for what is none of its protocol's."""
        return {"kind": kind, "data": data, "origin": self.origin}

    def owns(self, origin: Any) -> bool:
        """Whether opaque data of this origin goes back to the target. A value that only one side has always matches.

        >>> x = Context("a", "b", here={"scope": "key-1"}, match=("scope",))
        >>> [x.owns(origin) for origin in ({"protocol": "b"}, {"protocol": "b", "scope": "key-2"}, {"protocol": "a"})]
        [True, False, False]
        """
        if type(origin) is not dict or origin.get("protocol") != self.target:
            return False
        here = self.here or {}
        return all(here.get(key) in (None, origin.get(key)) or origin.get(key) is None for key in self.match)

    # ---- losses ----------------------------------------------------------------------------------------------------

    def lost(self, c: Node, keys: tuple[Any, ...], detail: str = "") -> None:
        """Nothing of the value at `keys` of the canonical node was written. An empty value is not a loss."""
        value: Any = c
        for key in keys:
            value = value[key]
        if said(value):
            self.raw.append(Raw(c, keys, "lost", detail))

    def report(self, c: Node, keys: tuple[Any, ...], fate: Fate, detail: str = "") -> None:
        """What became of the value at `keys` of the canonical node."""
        self.raw.append(Raw(c, keys, fate, detail))

    def approximated(self, c: Node, keys: tuple[Any, ...], detail: str = "") -> None:
        """The value was written, in another form that is close."""
        self.raw.append(Raw(c, keys, "approximated", detail))

    def added(self, wire: Node, key: str, detail: str = "", about: tuple[str, tuple[str, ...]] | None = None) -> None:
        """The target requires a key that the source does not have."""
        self.raw.append(Raw(wire, (key,), "added", detail, about))

    def dropped(self, c: Node, detail: str = "") -> None:
        """Nothing of the node was written, nor of what other protocols keep with it."""
        self.raw.append(Raw(c, (), "lost", detail))
        for protocol, kept in drawers(c):
            if "turn" in kept and protocol != self.target:
                self.raw.append(Raw(c, ("extra", protocol, "turn"), "lost", detail))

    def said_more(self, c: Node, number: int, piece: Node) -> None:
        """The fields of opaque data beside the data itself: an origin that has more than a protocol is not a loss."""
        for key, value in piece.items():
            if key not in ("kind", "data", "origin", "carried_on") and said(value):
                self.raw.append(Raw(c, ("opaque", number, key), "lost"))

    # ---- extra -----------------------------------------------------------------------------------------------------

    def restored(self, c: Node, wire: Any, shape: Any) -> Any:
        """The wire object with what this protocol kept beside it; what others kept is lost here."""
        for protocol, kept in drawers(c):
            if protocol != self.target:
                self.foreign(c, protocol, kept)
                continue
            if "form" in kept:
                wire = respelled(wire, kept["form"], shape)
            if kept.get("rest"):
                self._overruled(c, wire, kept["rest"], ("extra", protocol, "rest"), shape)
                wire = fill(wire, kept["rest"], shape.optional_constants, (), shape.wire_tree)
        return wire

    def foreign(self, c: Node, protocol: str, kept: Node) -> None:
        """Record what another protocol keeps with a node."""
        for slot in ("rest", "turn"):
            if said(kept.get(slot)):
                self.raw.append(Raw(c, ("extra", protocol, slot), "lost"))

    def turn_of(self, c: Node, wire: Node, head: Any = None) -> Node:
        """A wire message with what its reader left on the first item of the turn."""
        kept = dict(drawers(c)).get(self.target)
        if not kept:
            return wire
        if "form" in kept:
            wire = respelled(wire, kept["form"], head, "../")
        return fill(wire, kept["turn"], head.optional_constants if head is not None else ()) if "turn" in kept else wire

    def _overruled(self, c: Node, wire: Any, gaps: Any, keys: tuple[Any, ...], shape: Any) -> None:
        if type(wire) is dict and type(gaps) is dict:
            for key, gap in gaps.items():
                if key in wire and (*keys[3:], key) not in shape.optional_constants:
                    self._overruled(c, wire[key], gap, (*keys, key), shape)
        elif type(wire) is list and type(gaps) is list:
            for number, (value, gap) in enumerate(zip(wire, gaps)):
                self._overruled(c, value, gap, (*keys, number), shape)
        elif said(gaps) and not is_same(wire, gaps):
            self.raw.append(Raw(c, keys, "lost", "the canonical value wins"))

    # ---- passes ----------------------------------------------------------------------------------------------------

    def replaced(self, old: Node, new: Node) -> Node:
        """Note that `new` stands in place of `old`: losses of it are located where that stood."""
        first = self.moved.get(id(old))
        self.moved[id(new)] = (new, first[1] if first else old)
        return new

    def carried(self, c: Node, key: str) -> None:
        """Note that the value of a key that a pass removes lives on elsewhere in the document."""
        self.kept.add((id(c), key))

    def supply(self, c: Node, keys: tuple[str, ...], value: Any, why: str = "") -> None:
        """Put into the document what the target requires, a value that depends on others of it.

        It is reported as added, at the place where it is written; `required` is the same for a constant.
        """
        for key in keys[:-1]:
            c = c.setdefault(key, {})
        c[keys[-1]] = value
        self.supplied.append((keys, why))

    def weigh(self, c: Node, run: Callable[[Node, Context], None], lists: Iterable[str] = ("input", "output")) -> None:
        """Run a pass on a canonical document; report what it removed without a note.

        A pass may set and remove keys of the document, and put items into new lists. It changes an item by replacing
        it with a copy (`replaced`), never in place. A value that it moved is `carried`; objects and lists are known
        again.

        >>> doc, x = {"seed": 1, "input": [{"type": "message", "role": "user", "content": "Hi"}]}, Context("a", "b")
        >>> def careless(c, x):
        ...     del c["seed"]
        ...     c["input"] = []
        >>> x.weigh(doc, careless)
        >>> [(raw.keys, raw.fate) for raw in x.raw]
        [(('seed',), 'lost'), ((), 'lost')]
        """
        before = dict(c)
        held = {key: list(c[key]) for key in lists if type(c.get(key)) is list}
        mark = len(self.raw)
        run(c, self)
        if self.before is None:
            self.before = before
        self.moved[id(before)] = (before, self.before)
        self.moved[id(c)] = (c, self.before)
        if not [key for key in held if type(c.get(key)) is not list or [*map(id, c[key])] != [*map(id, held[key])]]:
            if not [key for key in before if key not in c and (id(c), key) not in self.kept]:
                return  # it took nothing away
        told = {(id(raw.node), raw.keys) for raw in self.raw[mark:]}
        known = {id(value) for value in c.values()}
        known.update(id(each) for value in c.values() if type(value) is list for each in value)
        stands: dict[int, Node] = {id(old): new for new, old in self.moved.values() if id(new) in known}
        self._weigh(before, c, known, told, id(c), skip=held)
        for key, items in held.items():
            now = c.get(key)
            for item in items if now is not items else ():
                if id(item) in known or (id(item), ()) in told:
                    continue
                new = stands.get(id(item), {})
                if not new and not any(self._lives(value, known) for value in item.values()):
                    self.dropped(item, "removed")
                else:
                    self._weigh(item, new, known, told, id(item))

    def _weigh(
        self, old: Node, new: Node, known: set[int], told: set[tuple[int, Any]], mark: int, skip: Iterable[str] = ()
    ) -> None:
        """Report the keys of a node that another, which stands in its place, has not."""
        for key, value in old.items():
            if key in new or key in skip or key in ("type", "role", "turn") or (mark, (key,)) in told:
                continue
            if key == "extra":
                for protocol, kept in drawers(old):
                    self.foreign(old, protocol, kept)
            elif (mark, key) not in self.kept and not self._lives(value, known):
                self.lost(old, (key,), "removed")

    def _lives(self, value: Any, known: set[int]) -> bool:
        """Whether an object or list, or what it holds, is still in the document."""
        if type(value) is list:
            return id(value) in known or (bool(value) and all(id(each) in known for each in value))
        return type(value) is dict and id(value) in known
