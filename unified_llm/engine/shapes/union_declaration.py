"""The cases of a union, as they are declared: which there are, and what is contradictory in them.

A case that no object reaches, a type that two cases write, or a tag that is taken is refused where it is declared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

from ..compiler.fields import Field
from ..compiler.signals import DeclarationError, Node, is_same
from .cases import OnDemand, Whole, accepts_all, chosen_writer, constant_roots, first_reader, fixed
from .shape import Shape

__all__ = ["UnionDeclaration"]

_LOCK = threading.RLock()


class UnionDeclaration:
    """The cases of one place of a protocol; `Union` reads and writes with them.

    `tag`: the wire key that distinguishes them, None for a oneof. `items`: they are items of a conversation, which
    carry a turn. `text`: the case as which a plain text is written where the wire takes no string.
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

        >>> from unified_llm.engine import Context, Shape, Union, codec, flatten
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

        >>> from unified_llm.engine import Union
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

    def include(self, *others: UnionDeclaration) -> Self:
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
