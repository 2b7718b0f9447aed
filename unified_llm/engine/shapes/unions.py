"""Shapes of a union: distinguished on the wire by a tag or by the key that is there, in the canonical form by `type`
and constants.

With a tag, several cases may share a tag value; the first that reads an object is it (its constants and required
fields decide). Without a tag (a oneof) the case is the first declared whose required keys are all there. An object that
no case reads is kept whole for its own protocol, and reported to every other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from ...types import _tables
from ..compiler.fields import Field
from ..compiler.runtime import native_of, spell, spelled
from ..compiler.signals import ABSENT, FAULTS, NATIVE, NATIVES, REST, DeclarationError, Mismatch, Node, is_same
from .cases import OnDemand, Whole, accepts_all, chosen_writer, constant_roots, first_reader, fixed, holds, writes
from .shape import Shape

__all__ = ["Union"]

_LOCK = threading.RLock()


class Union:
    """The cases of one place of a protocol.

    `tag`: the wire key that distinguishes them, None for a oneof. `items`: they are items of a conversation, which
    carry a turn. `text`: the case as which a plain text is written where the wire takes no string.

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

    def __init__(self, name: str, tag: str | None = "type", *, items: bool = False) -> None:
        self.name = name
        self.tag = tag
        self.is_items = items
        self.cases: list[Shape] = []
        self.by_type: dict[Any, list[tuple[Shape, Callable[[Node], bool] | None]]] = {}
        self.refused: dict[str, str] = {}
        self.text: Shape | None = None
        self._frozen = False
        self.readers: dict[Any, Any] = OnDemand(self._reader)
        self.writers: dict[Any, Any] = OnDemand(lambda type_: chosen_writer(self.by_type[type_]))
        self.by_tag: dict[Any, list[Shape]] = {}
        # Of one that is part of a node: where its object is, and the cases before one that might write the same node.
        self.above: tuple[str, ...] = ()
        self.rivals: dict[str, list[Shape]] = {}

    def __repr__(self) -> str:
        return f"Union({self.name!r})"

    # ---- declaration -----------------------------------------------------------------------------------------------

    def case(
        self,
        wire: Mapping[str, Any],
        type_: str = "",
        *also: str,
        fact: int = 0,
        when: Callable[[Node], bool] | None = None,
        cannot: Mapping[str, str] | None = None,
        text: bool = False,
        **constants: Any,
    ) -> Shape:
        """Declare a case: a wire object, the canonical `type` it reads as, and other types that are written as it.

        `constants`: the constant values of its canonical node (a double underscore is a dot). Where several cases write
        one type, their constants choose, and `when`, a function of the node. `text`: plain text is written as this
        case.
        """
        self._open()
        always = {key.replace("__", "."): value for key, value in constants.items()}
        if type_:
            always = {"type": type_, **always}
        label = f"{self.name}.{type_ or len(self.cases)}"
        shape = Shape(wire, name=label, fact=fact, cannot=cannot, constants=always, tag=self.tag, is_item=self.is_items)
        for value in self._tags(shape):
            for before in self.by_tag.setdefault(value, []):
                if accepts_all(before, shape):
                    raise DeclarationError(
                        f"union {self.name}: case {label} is never reached: {before.name} reads all of it"
                    )
            self.by_tag[value].append(shape)
        for each in (type_, *also) if type_ else ():
            for earlier, condition in self.by_type.get(each, ()):
                if condition is None and each != type_:
                    raise DeclarationError(f"union {self.name}: {each!r} is written as {earlier.name} and as {label}")
                if condition is None and fixed(earlier).items() <= fixed(shape).items():
                    raise DeclarationError(
                        f"union {self.name}: {label} is never written: {earlier.name} writes every {each!r}"
                    )
            self.by_type.setdefault(each, []).append((shape, when))
        if not type_:
            self.by_type.setdefault(None, []).append((shape, when))
        if text:
            self.text = shape
        self.cases.append(shape)
        return shape

    def whole(self, tag: str, field: Field) -> None:
        """A case that is one value of the node around it: the object that a codec reads (media in base64).

        What the codec's inverse does not give back of an object is left over: the codec need not be checked (`exact`).

        >>> from unified_llm.engine import Context, Shape, codec, flatten
        >>> source = Union("source")
        >>> read, write = lambda v, x: v["data"], lambda v, x: {"type": "inline", "data": v}
        >>> source.whole("inline", codec("image_url", dict, read=read, write=write, canonical=(str,)))
        >>> Shape({"source": flatten(source)}, name="image").write({"image_url": "QQ=="}, Context("p", "p"))
        {'source': {'type': 'inline', 'data': 'QQ=='}}
        """
        self._open()
        shape = Whole(f"{self.name}.{tag}", tag, field, self.tag)
        if self.tag is None or self.by_tag.setdefault(tag, []):
            raise DeclarationError(f"union {self.name}: case {shape.name} has no distinct tag")
        self.by_tag[tag].append(shape)
        self.cases.append(shape)

    def cannot(self, types: str, why: str) -> None:
        """Canonical types (separated by blanks) that have no case here, and why.

        >>> parts = Union("parts")
        >>> parts.cannot("input_audio", "the target takes no audio")
        >>> parts.refused["input_audio"]
        'the target takes no audio'
        """
        self._open()
        for type_ in types.split():
            if type_ in self.by_type:
                raise DeclarationError(f"union {self.name}: cannot({type_!r}) names a type that has a case")
            self.refused[type_] = why

    def include(self, *others: Union) -> Union:
        """Take over the cases of other unions: those of both must be distinct."""
        self._open()
        for other in others:
            if other.tag != self.tag:
                raise DeclarationError(f"union {self.name}: {other.name} has another tag")
            for value, shapes in other.by_tag.items():
                if self.by_tag.get(value):
                    raise DeclarationError(f"union {self.name}: the tag {value!r} of {other.name} is taken")
                self.by_tag[value] = [*shapes]
            for type_, found in other.by_type.items():
                if type_ in self.by_type:
                    raise DeclarationError(f"union {self.name}: the type {type_!r} of {other.name} is taken")
                self.by_type[type_] = [*found]
            self.cases += other.cases
            self.refused.update(other.refused)
            self.text = self.text or other.text
        return self

    def _open(self) -> None:
        if self._frozen:
            raise DeclarationError(f"union {self.name} is in use and cannot be changed")

    def _tags(self, shape: Shape) -> list[Any]:
        """The tag values of a case; None where the tag may be absent, and for a oneof."""
        if self.tag is None:
            if not any(row.must for row in shape.rows):
                raise DeclarationError(
                    f"union {self.name}: case {shape.name} has no required key, so it is not distinct"
                )
            return [None]
        said = shape.declared.get(self.tag, shape.declared.get(f"{self.tag}?"))
        if isinstance(said, Field):
            words, said = said.words or (), said.default if said.kind == "constant" else None
        else:
            words = ()
        if type(said) is not str:
            raise DeclarationError(f"union {self.name}: case {shape.name} has no constant {self.tag!r}")
        return [said, *words, *([None] if f"{self.tag}?" in shape.declared else [])]

    def bind(self, wire: tuple[str, ...], outer: Shape) -> None:
        """Note where the object is in a shape of which it is a part, so that its spelling can be kept there."""
        self._find_rivals(wire)
        for case in self.cases:
            marked = {**case.optional_constants, **case.words}
            if marked and case.above not in ((), wire):
                raise DeclarationError(
                    f"union {self.name}: {case.name} is at /{'/'.join(case.above)} and at /{'/'.join(wire)}"
                )
            case.above = wire
            for path, value in case.optional_constants.items():
                if not is_same(outer.optional_constants.setdefault(wire + path, value), value):
                    raise DeclarationError(f"union {self.name}: two cases have another constant at /{'/'.join(path)}")
            for path, words in case.words.items():
                outer.words[wire + path] = {**outer.words.get(wire + path, {}), **words}

    def _find_rivals(self, wire: tuple[str, ...]) -> None:
        for number, case in enumerate(self.cases):
            before = [each for each in self.cases[:number] if each.roots & case.roots]
            if before and self.tag is not None:
                self.rivals[case.name] = before
        if self.rivals and self.above not in ((), wire):
            raise DeclarationError(f"union {self.name}: with cases of one key it can be at one path alone")
        self.above = wire

    def freeze(self) -> None:
        """Note that the union is in use: it cannot be changed afterwards."""
        with _LOCK:
            if self._frozen:
                return
            self._frozen = True

    def _reader(self, value: Any) -> Any:
        """The reader of objects with a tag value; of a oneof, of those with one key."""
        if self.tag is not None:
            return first_reader(self.by_tag[value])
        for shape in self.cases:
            if {row.wire[0] for row in shape.rows if row.must} == {value}:
                return shape.read
        raise KeyError(value)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The canonical keys of all cases, where they are part of the node around them."""
        self.freeze()
        return frozenset().union(*(shape.roots.union(constant_roots(shape)) for shape in self.cases))

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
