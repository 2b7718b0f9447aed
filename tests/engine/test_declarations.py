"""A declaration that cannot work both ways is refused where it is made, and the message names shape and key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from unified_llm.engine import (
    Blocks,
    Choices,
    DeclarationError,
    Shape,
    Slots,
    Turns,
    Union,
    choices,
    constant,
    enum,
    flatten,
    integer,
    json,
    nested,
    string,
    turns,
)


def union(*cases: tuple[dict[str, Any], str], tag: str | None = "type", **kw: Any) -> Union:
    found = Union("u", tag, **kw)
    for wire, type_ in cases:
        found.case(wire, type_)
    return found


def spread() -> Union:
    return union(({"type": "url", "url": string("image_url")}, ""))


def marked_case(*others: dict[str, Any]) -> Union:
    found = Union("u")
    for wire in ({"type": "a", "j": string("j"), "k?": "v"}, *others):
        found.case(wire)
    return found


def using(made: Union) -> None:
    made.read([], None)
    made.case({"type": "late"}, "late")


PARTS, ITEMS = union(({"type": "text", "text": string("text")}, "input_text")), Union("items", items=True)
MARKED = marked_case()
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "key twice": (
        lambda: Shape({"a": string("k"), "b": string("k")}, name="s"),
        "shape s: canonical key 'k' is declared at /a and at /b",
    ),
    "wire key twice": (
        lambda: Shape({"a": string("k"), "a?": string("l")}, name="s"),
        "shape s: the wire key /a is declared twice",
    ),
    "nested wire key twice": (
        lambda: Shape({"o": {"a": string("k"), "a?": string("l")}}, name="s"),
        "/o/a is declared twice",
    ),
    "no wire key": (lambda: Shape({"?": string("k")}, name="s"), "shape s: '\\?' is not a wire key"),
    "key inside a value": (lambda: Shape({"a": json("k", dict), "b": string("k.l")}, name="s"), "'k.l' is below 'k'"),
    "reserved": (lambda: Shape({"a": string("extra")}, name="s"), "shape s: 'extra' cannot be a canonical key"),
    "constant and field": (
        lambda: Shape({"a": string("role")}, name="s", constants={"role": "user"}),
        "'role' is declared at the constants of the case and at /a",
    ),
    "no JSON": (lambda: Shape({"a": object()}, name="s"), "shape s: /a: .* is neither a field nor a JSON value"),
    "NaN": (lambda: Shape({"a?": integer("k").required(float("nan"))}, name="s"), "shape s: /a: nan"),
    "alias of nothing": (
        lambda: Shape({"a?": string("k").alias()}, name="s"),
        "shape s: /a is an alias of 'k', which has no field",
    ),
    "required alias": (
        lambda: Shape({"a?": string("k"), "b": string("k").alias()}, name="s"),
        "the alias /b has to be optional",
    ),
    "grows": (lambda: Shape({"a?": integer("k").growing()}, name="s"), "shape s: /a cannot grow"),
    "cannot": (
        lambda: Shape({"a": string("k")}, name="s", cannot={"k": "why"}),
        "shape s: cannot\\['k'\\] names a key that has a field",
    ),
    "enum": (lambda: enum("k", {"a": "x", "b": "x"}), "enum 'k': two wire words mean 'x'"),
    "enum borrows": (lambda: enum("k", {"a": "x"}, {"x": "a"}), "enum 'k': 'x' is in the table already"),
    "enum borrows nothing": (lambda: enum("k", {"a": "x"}, {"y": "b"}), "enum 'k': 'y' borrows 'b'"),
    "unreachable": (
        lambda: union(({"type": "a", "k": string("k")}, "n"), ({"type": "a", "k": string("k"), "l": string("l")}, "m")),
        "union u: case u.m is never reached: u.n reads all of it",
    ),
    "unreachable oneof": (
        lambda: union(({"a": string("k")}, "n"), ({"a": string("k"), "b": string("l")}, "m"), tag=None),
        "union u: case u.m is never reached",
    ),
    "no required key": (lambda: union(({"a?": string("k")}, "n"), tag=None), "union u: case u.n has no required key"),
    "no tag": (lambda: union(({"a": string("k")}, "n")), "union u: case u.n has no constant 'type'"),
    "written twice": (
        lambda: union(({"type": "a", "k": string("k")}, "n"), ({"type": "b", "k": string("k")}, "n")),
        "union u: u.n is never written: u.n writes every 'n'",
    ),
    "also written": (
        lambda: [u := union(({"type": "a"}, "n")), u.case({"type": "b"}, "m", "n")],
        "union u: 'n' is written as u.n and as u.m",
    ),
    "cannot a case": (
        lambda: union(({"type": "a"}, "n")).cannot("n", "why"),
        "union u: cannot\\('n'\\) names a type that has a case",
    ),
    "changed in use": (lambda: using(union(({"type": "a"}, "n"))), "union u is in use and cannot be changed"),
    "include": (
        lambda: union(({"type": "a"}, "n")).include(union(({"type": "a"}, "m"))),
        "union u: the tag 'a' of u is taken",
    ),
    "include type": (
        lambda: union(({"type": "a"}, "n")).include(union(({"type": "b"}, "n"))),
        "union u: the type 'n' of u is taken",
    ),
    "include tag": (lambda: Union("v", None).include(union()), "union v: u has another tag"),
    "spread over a key": (
        lambda: Shape({"s": flatten(spread()), "a?": string("image_url")}, name="s"),
        "canonical key 'image_url' is declared at /a and inside /s",
    ),
    "spread twice": (
        lambda: Shape({"s": flatten(spread()), "t": flatten(spread())}, name="s"),
        "'image_url' is declared at /s and inside /t",
    ),
    "nested half": (
        lambda: nested("k", Shape({}, name="s"), read=lambda v: v),
        "nested 'k': read and write come together",
    ),
    "choices": (
        lambda: choices(Choices(Shape({}, name="s"))),
        "choices of s: the shape has no field for the key 'index'",
    ),
    "slots": (
        lambda: [s := Slots("a", role="a"), s.item({"k": string("k")}, "n"), s.item({"k": string("l")}, "m")],
        "slots a: the wire key 'k' is in two slots",
    ),
    "slots type": (
        lambda: [s := Slots("a", role="a"), s.item({"k": string("k")}, "n"), s.item({"l": string("l")}, "n")],
        "slots a: 'n' has two slots",
    ),
    "slots items": (lambda: Slots("a", role="a").items("k", PARTS), "slots a: u is not a union of items"),
    "turns": (
        lambda: turns("input", Turns("t", messages=PARTS)),
        "turns t: u has to be a union of items distinguished by 'role'",
    ),
    "sides": (
        lambda: Turns("t", layouts={}, sides={"function_call": "user"}),
        "turns t: 'function_call' is written as 'user', which is not a layout",
    ),
    "blocks": (
        lambda: Blocks("b", role="user", parts=PARTS, items=ITEMS, text=False),
        "blocks b: no case of u is declared as plain text",
    ),
    "extend": (
        lambda: Shape({"a?": string("k")}, name="s").extend(name="d", without=("b",)),
        "shape d: 'b' is not a key of s",
    ),
    "a constant at two places": (
        lambda: [Shape({key: flatten(MARKED)}, name="s") for key in "ab"],
        "union u: u.0 is at /a and at /b",
    ),
    "two constants at one place": (
        lambda: Shape({"a": flatten(marked_case({"type": "b", "l": string("l"), "k?": "w"}))}, name="s"),
        "union u: two cases have another constant at /k",
    ),
    "words of a constant": (lambda: constant("a", "a"), "constant 'a': only another word"),
    "words of no word": (lambda: constant(1, "a"), "constant 1: only another word"),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str) -> None:
    declare, message = CASES[case]
    with pytest.raises(DeclarationError, match=message):
        declare()
