"""Mutants of JSON values, of bytes, and of their division into chunks.

Every function takes its randomness from the dice it is given, so the same seed makes the same mutant. A mutant shares
what is unchanged with the value it is made of, and no function changes its argument.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Path", "at", "chunks", "mutate", "mutate_bytes", "places", "with_value", "without"]

Path = tuple[Any, ...]

# Wherever something else is expected: every JSON type, the borders of numbers, words that mean something to a parser.
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, -0.0, 1e308, 2**53 + 1, 2**70, 10**400, float("nan"), float("inf"), 30_000_000,
    "", " ", "x", "null", "true", "5", "[DONE]", "{", "{}", "[1,2", '{"a":', '{"a":1}', '"x"', "NaN", "1e999",
    "9" * 5_000,
    "data:", "data: x\n\n", "\n\n", "\r", "\x00", "\u2028", "\ud83d", "a\ude00b", "é", "/", "~", "~1", "a/b~c", "../..",
    "data:image/png;base64,", "data:;base64", "data:,", "file:///etc/passwd", "http://[", "gs://",
    "https://a.example/b", "dW5pZmllZF9sbG06", "assistant", "function", "text", "message", "2026-13-45T99:99:99Z",
)  # fmt: skip
CONTAINERS: tuple[Any, ...] = (
    [], {}, [[]], [None], [{}], [5], ["x"], [[[]]], {"": None}, {"/": 1}, {"~": {"~1": 2}}, {"a/b": [1]},
    {"type": None}, {"type": []}, {"type": {}}, {"type": 5}, {"type": "message"}, {"type": "text"},
    {"type": "function"}, [{"type": "text"}], [{"type": "text", "text": None}], [{"type": "text", "text": {}}],
    {"role": 5}, {"role": "assistant", "content": None}, {"opaque": 5}, {"opaque": [5]}, {"extra": "x"},
    {"extra": {"openai-chat": 5}}, {"cache": {}}, {"error": "x"}, {"error": None}, {"id": []}, {"index": -1},
    {"$ref": "#"}, {"$ref": 5}, {"$ref": "#/properties/~2"}, {"$ref": "https://a.example/b"}, {"$defs": []},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    {"properties": []}, {"properties": {"a": 5}}, {"required": 5},
    {"enum": 5}, {"anyOf": {}}, {"anyOf": []}, {"allOf": [5]}, {"type": ["string", 5]},
)  # fmt: skip
ODD = SCALARS + CONTAINERS
KEYS = ("", "/", "~", "a/b", "\x00", "\ud800", "é", "x" * 5_000, "type", "extra", "opaque", "cache", "content", "id",
        "index", "choice", "finish", "error", "$ref", "turn", "status", "__proto__")  # fmt: skip
DEPTHS = (50, 120, 190, 210, 260, 400, 900, 1_500, 10_000)
_LEVELS: tuple[Callable[[Any], Any], ...] = (
    lambda inner: [inner],
    lambda inner: {"a": inner},
    lambda inner: {"type": "object", "properties": {"p": inner}},
    lambda inner: {"type": "array", "items": inner},
    lambda inner: {"anyOf": [inner]},
    lambda inner: {"type": "message", "role": "user", "content": [inner]},
)
_LOOKED_AT = 3_000


def places(value: Any) -> list[tuple[Path, Any]]:
    """Every value inside a JSON value with its path, itself first; of very large ones a part."""
    out: list[tuple[Path, Any]] = []
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack and len(out) < _LOOKED_AT:
        path, node = stack.pop()
        out.append((path, node))
        inner = node.items() if type(node) is dict else enumerate(node) if type(node) is list else ()
        stack += [((*path, key), each) for key, each in inner]
    return out


def at(value: Any, path: Path) -> Any:
    """The value at a path."""
    for key in path:
        value = value[key]
    return value


def _around(value: Any, path: Path) -> tuple[Any, Any]:
    """A copy of the value, and in it the container of the last key of the path, which may be changed."""
    top = here = value.copy()
    for key in path[:-1]:
        here[key] = here[key].copy()
        here = here[key]
    return top, here


def with_value(value: Any, path: Path, new: Any) -> Any:
    """A copy with something else at a path."""
    if not path:
        return new
    top, around = _around(value, path)
    around[path[-1]] = new
    return top


def without(value: Any, path: Path) -> Any:
    """A copy without what is at a path."""
    top, around = _around(value, path)
    del around[path[-1]]
    return top


def mutate(value: Any, dice: random.Random, pool: Sequence[Any], words: Sequence[str], times: int = 1) -> Any:
    """A copy with some places changed; `pool` and `words` are values and strings of other documents."""
    for _ in range(times):
        value = _mutated(value, dice, pool, words)
    return value


def _mutated(value: Any, dice: random.Random, pool: Sequence[Any], words: Sequence[str]) -> Any:
    found = places(value)
    path, node = dice.choice(found)
    if not path:
        return dice.choice(ODD) if dice.random() < 0.02 else value
    change = dice.choice(_CHANGES)
    new = change(value, path, node, dice, (found, pool, words))
    return with_value(value, path, dice.choice(ODD)) if new is _NOTHING else new


_NOTHING = object()  # the change does not apply to what is there
_More = tuple[list[tuple[Path, Any]], Sequence[Any], Sequence[str]]


def _odd(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    return _NOTHING


def _delete(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    return without(value, path)


def _swap(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    return with_value(value, path, dice.choice(more[0])[1])


def _transplant(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    return with_value(value, path, dice.choice(more[1])) if more[1] else _NOTHING


def _repeat(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(path[-1]) is not int:
        return _NOTHING
    siblings = list(at(value, path[:-1]))
    for _ in range(dice.choice((1, 1, 3, 20))):
        siblings.insert(dice.randrange(len(siblings) + 1), node)
    return with_value(value, path[:-1], siblings)


def _shuffle(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(path[-1]) is not int:
        return _NOTHING
    siblings = list(at(value, path[:-1]))
    dice.shuffle(siblings)
    return with_value(value, path[:-1], siblings)


def _rewrap(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(node) is not list:
        return with_value(value, path, [node])
    named = {str(index): each for index, each in enumerate(node)}
    return with_value(value, path, named if dice.random() < 0.5 else node[0] if node else None)


def _cut(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(node) in (list, str):
        return with_value(value, path, node[: dice.randrange(len(node) + 1)])
    if type(node) is dict:
        kept = dice.sample(list(node), dice.randrange(len(node) + 1))
        return with_value(value, path, {key: node[key] for key in kept})
    return _NOTHING


def _add_key(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(node) is not dict:
        return _NOTHING
    return with_value(value, path, {**node, dice.choice(KEYS): dice.choice(ODD)})


def _rename_key(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(node) is not dict or not node:
        return _NOTHING
    old = dice.choice(list(node))
    new = dice.choice((old.upper(), old + "_", "", dice.choice(more[2] or KEYS)))
    return with_value(value, path, {new if key == old else key: each for key, each in node.items()})


def _respell(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if type(node) is str:
        ways = (node + "\ud83d", node * dice.choice((2, 50)), node.upper(), "\x00" + node, node[::-1], node + "/../",
                node.replace("_", "-"), dice.choice(more[2] or ("x",)))  # fmt: skip
        return with_value(value, path, dice.choice(ways))
    if type(node) in (int, float):
        ways = (str(node), -node, node + 0.5 if abs(node) < 2**60 else 0.5, True, [node], node * 10**20)
        return with_value(value, path, dice.choice(ways))
    return _NOTHING


def _nest(value: Any, path: Path, node: Any, dice: random.Random, more: _More) -> Any:
    if dice.random() < 0.7:
        return _NOTHING
    level, deep = dice.choice(_LEVELS), node
    for _ in range(dice.choice(DEPTHS)):
        deep = level(deep)
    return with_value(value, path, deep)


_CHANGES = (_odd, _odd, _odd, _delete, _delete, _swap, _transplant, _repeat, _shuffle, _rewrap, _cut, _add_key,
            _rename_key, _respell, _respell, _nest)  # fmt: skip


# ---- bytes ----------------------------------------------------------------------------------------------------------

_SNIPPETS = (b"\r", b"\n", b"\n\n", b"\r\n\r\n", b"\xff", b"\xf0\x9f", b'"', b"{", b"}", b"[", b",", b"\x00", b"data: ",
             b"retry: 9\n", b"retry: " + b"9" * 4_400 + b"\n", b"id: x\n", b"event: x\n", b": x\n\n", b"\xef\xbb\xbf",
             b"data: [DONE]\n\n", b"\\ud83d")  # fmt: skip


def mutate_bytes(raw: bytes, dice: random.Random, times: int = 1) -> bytes:
    """A copy with some bytes changed, taken out, put in or repeated, or cut off at some point."""
    data = bytearray(raw)
    for _ in range(times):
        if not data:
            break
        place, what = dice.randrange(len(data)), dice.randrange(5)
        if what == 0:
            data[place] = dice.randrange(256)
        elif what == 1:
            del data[place : place + dice.choice((1, 5, 100))]
        elif what == 2:
            data[place:place] = dice.choice(_SNIPPETS)
        elif what == 3:
            data[place:place] = data[place : place + 200]
        elif dice.random() < 0.3:
            del data[place:]
    return bytes(data)


def chunks(raw: bytes, dice: random.Random) -> list[bytes]:
    """The bytes in pieces of a random size, now and then with an empty one between."""
    size = dice.choice((1, 3, 7, 64, 1_000, 10**9)) if len(raw) < 5_000 else dice.choice((64, 1_000, 10**9))
    out = [raw[start : start + size] for start in range(0, len(raw), size)]
    if dice.random() < 0.2:
        out.insert(dice.randrange(len(out) + 1), b"")
    return out
