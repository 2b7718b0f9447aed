"""One emitter: a shape's rows as one straight-line Python function a direction.

Reading and writing are the same walk: over the keys of a source object, filling a target object. `Emitter` holds the
walk; what differs between the directions is the dozen places that check `self.reads`. A function counts down the keys
it understood and looks for leftovers only when the count is not zero. It may answer in two ways: with the result, or by
raising one of `FAULTS`, "not mine"; `explain.py` finds the reason on request. So that nothing is recorded of what is
refused, everything that can raise comes before everything that records.

Modes: "whole" (an object is a node), "flat" (its keys are keys of a node that others fill too), "slot" (a node is made
of some keys of an object that others read too).
"""

from __future__ import annotations

import linecache
from itertools import count
from typing import TYPE_CHECKING, Any

from . import runtime
from .rows import SPREAD, Branch, Row, roots_of
from .signals import ABSENT, FAULTS, Approximate, Mismatch, Path, is_same
from .source import Source, branches_of, is_safe

if TYPE_CHECKING:
    from ..shapes.shape import Shape

__all__ = ["compiled", "source_of"]

STEP = 5
"""After so many absent keys a function checks whether anything is left at all."""

_NAMES: dict[str, Any] = {
    "ABSENT": ABSENT,
    "Approximate": Approximate,
    "FAULTS": FAULTS,
    "Mismatch": Mismatch,
    "is_same": is_same,
    **{name: getattr(runtime, name) for name in runtime.__all__},
}
_FILES = count(1)


def compiled(shape: Shape, reads: bool, mode: str) -> Any:
    """The function of a shape for one direction and mode. Its source is found by tracebacks."""
    emitter = Emitter(shape, reads, mode)
    source = emitter.source()
    file = f"<shape {shape.name} {emitter.title} #{next(_FILES)}>"
    names = {**_NAMES, **emitter.names}
    exec(compile(source, file, "exec"), names)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    return names[emitter.title]


def source_of(shape: Shape, reads: bool, mode: str = "whole") -> str:
    """The generated source of one direction, for reading."""
    return Emitter(shape, reads, mode).source()


class Emitter(Source):
    """The walk over one tree of a shape, filling the other."""

    depth: int

    def source(self) -> str:
        args = {"flat": f"{self.given}, x, node" if self.reads else "c, x"}.get(self.mode, f"{self.given}, x")
        self.lines.append(f"def {self.title}({args}):")
        self.demands(self.walked, self.given, "n", self.skipped())
        if not self.reads:
            for kind, _ in self.opaque(must=True):
                self.values["opaque", kind] = var = self.var()
                self.add(f"{var} = opaque_of(c, {kind!r}, x)")
            self.spread_out(must=True)
        if self.reads:
            self.add("r = None")
        self.literal()
        if self.reads and self.shape.fact:
            self.add(f"x.flags |= {self.shape.fact}")
        self.optionals(self.walked, self.given, "n", "r")
        for branch, var, number, rest in self.inner:
            self.inside(branch, var, number, rest)
        if self.reads:
            self.read_tail()
        else:
            self.write_tail()
        return "\n".join(self.lines) + "\n"

    def skipped(self) -> str:
        """Keys of a canonical node that are no field: its type, and in a list of items its turn."""
        if self.reads or self.mode == "flat":
            return ""
        return (" - 1" if "type" in self.shape.constants else "") + (" - ('turn' in c)" if self.shape.is_item else "")

    def is_demanded(self, child: Branch | Row) -> bool:
        """Whether the source object is not of this shape without it."""
        if isinstance(child, Branch) or self.reads:
            return child.must
        return child.must and child.field.default is ABSENT and bool(child.key)

    def demands(self, branch: Branch, var: str, number: str, skipped: str = "") -> None:
        """What has to be there, so far as it can raise: taken and checked, first of all."""
        needed = [(key, child) for key, child in branch.children.items() if self.is_demanded(child)]
        self.add(f"{number} = len({var}){skipped}{f' - {len(needed)}' if needed else ''}")
        for key, child in needed:
            if isinstance(child, Row) and child.field.kind == "constant" and key == self.shape.tag and var == "w":
                self.worded.append((child, f"w[{key!r}]"))
                continue  # the union looked at it
            value = self.var()
            self.add(f"{value} = {var}[{key!r}]")
            if isinstance(child, Branch):
                inner, rest = self.var("n"), self.var("r")
                self.add(f"if type({value}) is not dict: raise Mismatch")
                if self.reads:
                    self.add(f"{rest} = None")
                self.inner.append((child, value, inner, rest))
                self.demands(child, value, inner)
            else:
                self.demand(child, value)

    def demand(self, row: Row, var: str) -> None:
        field, goal = row.field, self.where(row, source=False)
        if field.kind == "constant":
            self.add(f"if {self.differs(var, field.default)}{self.nor_word(var, row)}: raise Mismatch")
            self.worded.append((row, var))
            return
        check = self.check(var, row)
        check = f"{var} is None or {check}" if field.null else check
        self.add(f"if not ({check}): raise Mismatch")
        self.values[goal or row.wire] = var
        if field.words and self.reads:
            # The value itself is changed below.
            self.worded.append((row, var := self.var()))
            self.add(f"{var} = {self.values[goal or row.wire]}")
            var = self.values[goal or row.wire]
        if field.fact and self.reads:
            self.add(f"if {var}: x.flags |= {field.fact}")
        if is_safe(field) or field.kind == "opaque":
            return
        change = self.changed(var, row)
        if change == var:
            return
        change = f"None if {var} is None else {change}" if field.null else change
        if field.inner is not None:
            self.guarded(f"{var} = {change}")
            return
        near = self.var("a")
        self.add(f"{near} = None")
        self.add(f"try: {var} = {change}")
        self.add(f"except Approximate as near: {var}, {near} = near.value, near.why")
        self.nears.append((row.key, near))

    def literal(self) -> None:
        """The target object with what is certain: constants, and fields that have to be there."""
        flat = self.reads and self.mode == "flat"
        for branch in branches_of(self.filled):
            text = self.entries(branch)
            self.holders[branch.path] = var = self.var("o")
            if text if self.reads else branch.must:
                self.certain.add(branch.path)
                self.add(f"{var} = {{{text}}}")
            else:
                self.openings[branch.path] = text
                self.add(f"{var} = None")
        if flat:
            for entry in self.pairs(self.filled):
                self.add(f"node[{entry[0]!r}] = {entry[1]}")
        else:
            self.add(f"{self.made} = {{{self.entries(self.filled)}}}")
        for path, near in self.nears:
            self.add(f"if {near} is not None: x.approximated({'node' if self.reads else 'c'}, {path!r}, {near})")
        for row, var in self.worded if self.reads else ():
            if row.field.words:
                self.word(row, var)
        for path, var in self.late:
            with self.block(f"if {var} is not ABSENT:"):
                self.store(path, var)
        for row in self.shape.rows:
            if row.must and self.reads and row.field.kind in SPREAD:
                self.spread_in(row, self.values[row.wire], "r", row.wire[-1])
            elif row.must and self.reads and row.field.kind == "opaque":
                self.add(f"opaque_in(node, {row.field.key!r}, {self.values[row.key]}, x)")

    def optionals(self, branch: Branch, var: str, number: str, rest: str) -> None:
        skipped = "type" if not self.reads and branch.path == () and "type" in self.shape.constants else ""
        entries = [(k, child) for k, child in branch.children.items() if k != skipped and not self.is_demanded(child)]
        late: list[tuple[str, Branch | Row]] = [
            (key, child) for key, child in entries if isinstance(child, Row) and child.field.is_alias
        ]
        fixed = [(key, child) for key, child in entries if self.always(child)]
        with self.block():
            for index, (key, child) in enumerate([e for e in entries if e not in late and e not in fixed] + late):
                if index % STEP == 0:
                    self.add(f"if {number}:")
                    self.depth += 1
                self.optional(key, child, var, number, rest)
        for key, child in fixed:
            self.optional(key, child, var, number, rest)

    def always(self, child: Branch | Row) -> bool:
        """Whether the absence of a key means something, so that it is checked even when nothing is left."""
        if isinstance(child, Branch):
            return not self.reads and any(map(self.always, child.children.values()))  # absent with what is in it
        if self.reads:
            return child.field.kind == "constant" and child.field.written
        return child.field.default is not ABSENT and child.field.kind != "constant" and not self.is_inner(child)

    def is_inner(self, row: Row) -> bool:
        """Whether it is demanded only where the object is that it is in."""
        return row in self.shape.inner_defaults

    def optional(self, key: str, child: Branch | Row, var: str, number: str, rest: str) -> None:
        if isinstance(child, Row) and not child.wire:  # a constant of the case: another value is left over
            value = f"{var}[{key!r}]"
            self.add(f"if {key!r} in {var} and not ({self.differs(value, child.field.default)}): {number} -= 1")
            return
        with self.block(f"if {key!r} in {var}:"):
            value = self.var()
            self.add(f"{value} = {var}[{key!r}]; {number} -= 1")
            if isinstance(child, Branch):
                self.optional_object(key, child, value, rest)
            elif self.reads:
                self.read_leaf(key, child, value, rest)
            else:
                self.write_leaf(child, value)
        if isinstance(child, Branch):
            self.defaults(child)
        elif self.always(child) and self.reads:
            self.add(f"elif x.own: spell(node, {self.marked(child)}, 'absent', x)")
        elif self.always(child):
            self.default(child)

    def optional_object(self, key: str, branch: Branch, value: str, rest: str) -> None:
        inner, more = self.var("n"), self.var("r")
        with self.block(f"if type({value}) is dict{f' and {value}' if self.reads else ''}:"):
            self.add(f"{inner} = len({value})" + (f"; {more} = None" if self.reads else ""))
            self.optionals(branch, value, inner, more)
            self.over(branch, value, inner, more, rest)
        if self.reads:
            self.add(f"else: {rest} = put({rest}, {key!r}, {value})")
        else:
            self.add(f"else: left(c, {value}, {branch.path!r}, S, x)")
            self.name_shape()

    def inside(self, branch: Branch, var: str, number: str, rest: str) -> None:
        """The optional fields of an object that has to be there."""
        self.optionals(branch, var, number, rest)
        outer = next((r for b, _, _, r in self.inner if b.path == branch.path[:-1]), "r")
        self.over(branch, var, number, rest, outer)

    def over(self, branch: Branch, var: str, number: str, rest: str, outer: str) -> None:
        if self.reads:
            known = self.name("known", frozenset(branch.children))
            self.add(f"if {number}: {rest} = unknown({var}, {known}, {rest})")
            self.add(f"if {rest}: {outer} = put({outer}, {branch.path[-1]!r}, {rest})")
        else:
            self.add(f"if {number}: left(c, {var}, {branch.path!r}, S, x)")
            self.name_shape()

    def read_leaf(self, key: str, row: Row, var: str, rest: str) -> None:
        field = row.field
        if field.kind == "constant":
            differs = f"{self.differs(var, field.default)}{self.nor_word(var, row)}"
            self.add(f"if {differs}: {rest} = put({rest}, {key!r}, {var})")
            if field.words:
                self.add(
                    f"elif {self.differs(var, field.default)}: spell(node, {self.marked(row)}, 'word:' + {var}, x)"
                )
            if not field.written:
                self.add(f"else: spell(node, {self.marked(row)}, 'said', x)")
            elif len(self.shape.above + row.wire) > 1:  # it may be all that its object holds
                self.add(f"elif x.own: spell(node, {self.marked(row)}, 'said', x)")
            return
        if field.kind == "opaque":
            self.add(f"if type({var}) is str and {var}: opaque_in(node, {field.key!r}, {var}, x)")
            self.add(f"else: {rest} = put({rest}, {key!r}, {var})")
            return
        if field.fact:
            self.add(f"if {var}: x.flags |= {field.fact}")
        free = ""
        if field.is_alias:
            holder = self.holders[row.key[:-1]]
            free = " and " + ("" if row.key[:-1] in self.certain else f"({holder} is None or ")
            free += f"{row.key[-1]!r} not in {holder}" + ("" if row.key[:-1] in self.certain else ")")
        with self.block(f"if {self.check(var, row)}{free}:"):
            if field.kind in SPREAD:
                self.spread_in(row, var, rest, key)
            elif field.read is None or is_safe(field):
                self.store(row.key, self.changed(var, row))
            else:
                self.tried(row, var, row.key, f"except FAULTS: {rest} = put({rest}, {key!r}, {var})")
            if field.is_alias:
                self.add(f"spell(node, {self.marked(row)}, 'alias', x)")
            if field.words:
                self.word(row, var)
        if field.null:
            with self.block(f"elif {var} is None{free}:"):
                self.store(row.key, "None")
                if field.is_alias:
                    self.add(f"spell(node, {self.marked(row)}, 'alias', x)")
        self.add(f"else: {rest} = put({rest}, {key!r}, {var})")

    def spread_in(self, row: Row, var: str, rest: str, key: str) -> None:
        more = self.var("r")
        self.add(f"{more} = {self.name(row.field.kind, row.field.inner.read_flat)}({var}, x, node)")
        if row.must and row.field.kind == "flatten":
            self.add(f"if {more} is {var}: raise Mismatch")  # no case reads it
        self.add(f"if {more} is not None: {rest} = put({rest}, {key!r}, {more})")

    def write_leaf(self, row: Row, var: str) -> None:
        field = row.field
        with self.block(f"if {self.check(var, row)}:"):
            if field.write is None or is_safe(field):
                value = self.changed(var, row)
                if field.is_filled and value != var:
                    self.add(f"{var} = {value}")
                with self.block(f"if {var} != [] or x.own:" if field.is_filled else ""):
                    self.store(row.wire, var if field.is_filled else value)
            else:
                refused = f"except FAULTS as fault: x.lost(c, {row.key!r}, getattr(fault, 'why', ''))"
                self.tried(row, var, row.wire, refused)
        if field.null:
            with self.block(f"elif {var} is None:"), self.block("if x.own:"):
                self.store(row.wire, "None")
        self.add(f"else: x.lost(c, {row.key!r})")

    def defaults(self, branch: Branch) -> None:
        if not self.reads:
            for child in branch.children.values():
                if isinstance(child, Branch):
                    self.defaults(child)
                elif self.always(child):
                    self.default(child)

    def default(self, row: Row) -> None:
        """What the target requires and the source does not have."""
        key, default, about = row.wire[-1], row.field.default, (self.shape.node, row.key)
        with self.block("" if row.must else "if not x.own:"):
            self.above(row.wire[:-1])
            holder = self.holders[row.wire[:-1]]
            told = f"; x.added({holder}, {key!r}, {row.field.why!r}, {about!r})" if default is not None else ""
            unsaid = f"{holder}[{key!r}] is ABSENT" if self.is_filled_in(row) else f"{key!r} not in {holder}"
            self.add(f"if {unsaid}: {holder}[{key!r}] = {default!r}{told}")

    def opaque(self, must: bool) -> list[tuple[str, Path]]:
        return [(row.field.key, row.wire) for row in self.shape.rows if row.field.kind == "opaque" and row.must == must]

    def read_tail(self) -> None:
        if self.mode == "slot":
            self.add("if r: keep(node, r, x)")
            self.add("return node, n")
            return
        known = self.name("known", frozenset(self.walked.children))
        self.add(f"if n: r = unknown(w, {known}, r)")
        if self.mode == "flat":
            self.add("return r")
            return
        self.add("if r: keep(node, r, x)")
        self.add("return node")

    def spread_out(self, must: bool) -> None:
        """Write a value that is made of several keys of the node; `used`: which those were."""
        for row in self.shape.rows:
            if row.field.kind in SPREAD and row.must == must:
                out, used = self.var(), self.var("d")
                line = f"{out}, {used} = {self.name(row.field.kind, row.field.inner.write_flat)}(c, x)"
                self.used.append(used)
                if must:
                    self.guarded(line)
                    self.add(f"if {out} is ABSENT and not is_kept(c, {row.wire!r}, x): raise Mismatch")
                    self.add(f"n -= len({used})")
                    self.late.append((row.wire, out))
                    continue
                self.add(f"{used} = ()")
                with self.block(f"if {' or '.join(f'{root!r} in c' for root in roots_of(row))}:"):
                    self.add(line)
                    with self.block(f"if {out} is not ABSENT:"):
                        self.store(row.wire, out)
                        self.add(f"n -= len({used})")

    def write_tail(self) -> None:
        if self.shape.opaque:
            self.name_shape()
            self.add("if 'opaque' in c:" + ("" if self.mode == "flat" else " n -= 1;") + " opaque_out(c, wire, S, x)")
        self.spread_out(must=False)
        if self.shape.inner_defaults:
            self.name_shape()
            there = " or ".join(
                f"{key!r} in wire" for key in dict.fromkeys(r.wire[0] for r in self.shape.inner_defaults)
            )
            self.add(f"if not x.own and ({there}): demand(wire, S, x)")
        if self.mode == "flat":
            roots = tuple(sorted(self.shape.roots))
            self.add(f"return wire, tuple([key for key in {roots!r} if key in c])")
            return
        self.name_shape()
        extra = f", {' + '.join(self.used)}" if self.used else ""
        self.add("if n == 1 and 'extra' in c: wire = x.restored(c, wire, S)")
        self.add(f"elif n: wire = finish(c, wire, S, x{extra})")
        self.add("if x.trace is not None: x.trace.append((c, wire))")
        self.add("return wire")
