"""Unions, read and written: shapes that are distinguished on the wire by a tag or by the key that is there, and in the
canonical form by `type` and constants.

With a tag, several cases may share a tag value; the first that reads an object is it (its constants and required
fields decide). Without a tag (a oneof) the case is the first declared whose required keys are all there. An object that
no case reads is kept whole for its own protocol, and reported to every other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...types import _tables
from ..compiler.runtime import native_of, spell, spelled
from ..compiler.signals import ABSENT, FAULTS, NATIVE, NATIVES, REST, Mismatch, Node
from .cases import constant_roots, holds, writes
from .shape import Shape
from .union_declaration import UnionDeclaration

__all__ = ["Union"]


class Union(UnionDeclaration):
    """Reads and writes the cases of one place of a protocol.

    >>> from unified_llm.engine import Context, Union, string
    >>> parts = Union("parts", tag=None)
    >>> _ = parts.case({"text": string("text")}, "input_text")
    >>> _ = parts.case({"inlineData": {"data": string("data")}}, "input_audio")
    >>> x = Context("demo", "demo")
    >>> nodes = parts.read([{"inlineData": {"data": "QQ=="}}, {"thing": 1}], x)
    >>> nodes[0], nodes[1]["type"]
    ({'type': 'input_audio', 'data': 'QQ=='}, 'unified_llm:native')
    >>> parts.write(nodes, x)
    [{'inlineData': {'data': 'QQ=='}}, {'thing': 1}]
    """

    # ---- reading ---------------------------------------------------------------------------------------------------

    def read(self, wires: list[Any], x: Any) -> list[Node]:
        """The canonical nodes of a list of wire objects, one each."""
        if not self._frozen:
            self.freeze()
        out: list[Node] = []
        add, readers, tag = out.append, self.readers, self.tag
        if tag is None:
            for w in wires:
                try:
                    (key,) = w
                    add(readers[key](w, x) if type(w) is dict else self.general_read(w, x))
                except FAULTS:
                    add(self.general_read(w, x))
            return out
        for w in wires:
            try:
                add(readers[w[tag]](w, x))
            except FAULTS:
                add(self.general_read(w, x))
        return out

    def read_text(self, value: Any, x: Any) -> Any:
        """The same where a string may stand for the list."""
        return value if type(value) is str else self.read(value, x)

    def read_lone(self, value: Any, x: Any) -> list[Node]:
        """The same where one object may stand for the list."""
        return self.read([value] if type(value) is dict else value, x)

    def read_one(self, w: Any, x: Any) -> Node:
        """The canonical node of one wire object."""
        return self.read([w], x)[0]

    def read_flat(self, w: Any, x: Any, node: Node) -> Any:
        """Read an object into the node around it; what is left over, or the object itself if no case reads it."""
        for shape in self.candidates(w):
            inner: Node = {}
            try:
                rest = shape.read_flat(w, x, inner)
            except FAULTS:
                continue
            node.update(inner)
            if shape.name in self.rivals and any(writes(rival, inner) for rival in self.rivals[shape.name]):
                spell(node, "/".join(self.above), f"case:{w[self.tag]}", x)
            return rest
        return w

    def general_read(self, w: Any, x: Any) -> Node:
        """The node of an object that the table of readers does not lead to."""
        for shape in self.candidates(w):
            try:
                node: Node = shape.read(w, x)
                return node
            except FAULTS:
                continue
        return self.unread(w, x)

    def unread(self, w: Any, x: Any) -> Node:
        """A node that keeps the wire value whole for its own protocol."""
        x.flags |= NATIVES | REST
        type_ = w.get(self.tag) if type(w) is dict and self.tag == "type" else None
        if type(type_) is str and type_ and type_ not in _tables.KNOWN_TYPES and type_ != NATIVE:
            w = {key: value for key, value in w.items() if key != "type"}
        else:
            type_ = NATIVE
        return {"type": type_, "extra": {x.source: {"rest": w, "form": {"native": self.name}}}}

    def candidates(self, w: Any) -> Iterable[Shape]:
        """The cases that an object may be of, in the order in which they are tried."""
        if type(w) is not dict:
            return ()
        if self.tag is None:
            return self.cases
        value = w.get(self.tag)
        found = self.by_tag.get(value, ()) if value is None or type(value) is str else ()
        return found if value is not None or self.tag not in w else ()

    def shape_of(self, w: Any, node: Node) -> Shape | None:
        """The case that read this object as this node."""
        if self.tag is not None and type(w) is dict:
            value = w.get(self.tag)
            found = self.by_tag.get(value) if type(value) is str or self.tag not in w else None
            if found is not None and len(found) == 1:
                return found[0] if found[0].constants.get("type") == node.get("type") else None
        for shape in self.candidates(w):
            if shape.constants.get("type") == node.get("type") and shape.matches(node) and shape.matches_wire(w):
                return shape
        return None

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write(self, nodes: list[Node], x: Any) -> list[Any]:
        """The wire objects of a list of nodes; what has no form is left out and reported."""
        out: list[Any] = []
        self.write_into(nodes, x, out.append)
        return out

    def write_into(self, nodes: Iterable[Node], x: Any, add: Callable[[Any], None]) -> None:
        """The same, added to a list that others add to."""
        if not self._frozen:
            self.freeze()
        writers = self.writers
        for c in nodes:
            try:
                wire = writers[c["type"]](c, x)
            except FAULTS:
                wire = self.general_write(c, x)
                if wire is ABSENT:
                    continue
            add(wire)

    def write_text(self, value: Any, x: Any) -> Any:
        """The same where a string may stand for the list."""
        return value if type(value) is str else self.write(value, x)

    def write_list(self, value: Any, x: Any) -> Any:
        """The same where the wire takes no string: a plain text becomes the case of plain text."""
        if type(value) is not str:
            return self.write(value, x)
        assert self.text is not None  # by the field's types
        return [self.text.write({"type": self.text.constants["type"], "text": value}, x)] if value else []

    def write_one(self, c: Node, x: Any) -> Any:
        """The wire object of one node. Raises `Mismatch` for a node that has no form."""
        mark = len(x.raw)
        out = self.write([c], x)
        if not out:
            why = x.raw[-1].detail
            del x.raw[mark:]
            raise Mismatch((), why)
        return out[0]

    def write_flat(self, c: Node, x: Any) -> tuple[Any, tuple[str, ...]]:
        """The object of some keys of a node, and which they were; ABSENT where no case has them."""
        cases = self.cases
        if self.rivals and "extra" in c:
            said = spelled(c, "/".join(self.above), x).removeprefix("case:")
            cases = [*self.by_tag.get(said, ()), *cases]
        for shape in cases:
            if shape.matches(c, flat=True):
                mark = len(x.raw)
                try:
                    wire, used = shape.write_flat(c, x)
                except FAULTS:
                    del x.raw[mark:]
                    continue
                return wire, (*used, *(root for root in constant_roots(shape) if root in c and root not in used))
        return ABSENT, ()

    def general_write(self, c: Node, x: Any) -> Any:
        """The wire object of a node that the compiled writers refuse; ABSENT, and reported, where there is none."""
        if type(c) is not dict:
            c = {"type": NATIVE, "value": c}
        type_ = c.get("type")
        why = self.refused.get(type_, "") if type(type_) is str else ""
        for shape, when in self.by_type.get(type_, ()) if type_ is None or type(type_) is str else ():
            if shape.matches(c) and holds(when, c):
                try:
                    return shape.write_or_explain(c, x)
                except Mismatch as error:
                    why = f"{'.'.join(map(str, error.path))} {error.reason}".strip()
        if native_of(c, x.target) == self.name:
            rest = c["extra"][x.target].get("rest")
            wire = rest if type_ == NATIVE or type(rest) is not dict else {"type": type_, **rest}
            if x.trace is not None:
                x.trace.append((c, wire))
            return wire
        x.dropped(c, why)
        return ABSENT
