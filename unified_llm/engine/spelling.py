"""How a document was spelled, found by comparing what would be written with what came.

Differences that say nothing are closed markers, by wire path: they hold no value of the document, so that an edit in
between is never undone, and they are never a loss. A difference that has no marker is an error of the declaration.

| marker | the document | what is written |
| --- | --- | --- |
| `absent` | no such key | null or an empty value; or an optional constant, recorded while reading |
| `null`, `empty_string`, `empty_list`, `empty_object` | that | no such key, or another empty value |
| `lone` | a value | the list of it |
| `alias` | another spelling of a key | the key itself; recorded while reading |
| `word:...` | that declared word of an enum | the word that means the same; recorded while reading |
| `said` | a constant, where it may not be written | no such key; recorded while reading |
"""

from __future__ import annotations

from typing import Any

from .signals import ABSENT, VOID, Node, is_same

__all__ = ["MARKERS", "compared", "respelled", "spelled_as"]

_EMPTY: dict[str, Any] = {"null": None, "empty_string": "", "empty_list": [], "empty_object": {}}
MARKERS = frozenset(("absent", "alias", "lone", "native", "said", *_EMPTY))
"""Every marker that may stand in `extra[protocol].form`; `native` names the union of a node that was not read."""


def compared(written: Any, given: Any) -> dict[tuple[Any, ...], str]:
    """The markers, by path, that make `written` spelled as `given`.

    >>> compared({"stop": ["END"], "user": None}, {"stop": "END", "n": []})
    {('user',): 'absent', ('n',): 'empty_list', ('stop',): 'lone'}
    """
    out: dict[tuple[Any, ...], str] = {}
    stack: list[tuple[Any, Any, tuple[Any, ...]]] = [(written, given, ())]
    while stack:
        mine, its, path = stack.pop()
        if mine == its:
            continue  # as most values are
        if type(mine) is dict and type(its) is dict:
            for key, value in mine.items():
                if key not in its:
                    if value in VOID or _is_hollow(value):
                        out[*path, key] = "absent"
                else:
                    stack.append((value, its[key], (*path, key)))
            for key, value in its.items():
                if key not in mine and value in VOID and type(value) is not bool:
                    out[*path, key] = _marker(value)
        elif type(mine) is list and type(its) is list:
            stack += [(value, other, (*path, number)) for number, (value, other) in enumerate(zip(mine, its))]
        elif type(mine) is list and len(mine) == 1 and is_same(mine[0], its):
            out[path] = "lone"
        elif mine in VOID and its in VOID and mine is not its and mine != its:
            out[path] = _marker(its)
    return out


def _is_hollow(value: Any) -> bool:
    return type(value) is dict and all(each in VOID or _is_hollow(each) for each in value.values())


def _marker(value: Any) -> str:
    return next(name for name, empty in _EMPTY.items() if type(empty) is type(value))


def respelled(wire: Any, form: dict[str, str], shape: Any, above: str = "") -> Any:
    """A wire object spelled as the markers say, so far as they still fit what it holds.

    A marker's key is the path in the wire object, joined by "/". `above`: only the markers that begin with it, which
    are those of the message that holds the object.
    """
    if type(wire) is not dict:
        return wire
    out = dict(wire)
    for name, marker in form.items() if type(form) is dict else ():
        # (Anybody may have made a canonical document.)
        if type(marker) is str and name.startswith("../") == bool(above) and name.startswith(above):
            path = tuple(name.removeprefix(above).split("/"))
            _apply(out, path, marker, shape)
    return out


def spelled_as(written: Node, given: Any) -> Node:
    """What was written, spelled as the document that it was read from, where nobody came between.

    >>> spelled_as({"stop": ["END"], "user": None}, {"stop": "END", "n": []})
    {'stop': 'END', 'n': []}
    """
    markers = compared(written, given) if written != given else None
    if not markers:
        return written
    out = dict(written)
    for path, marker in markers.items():
        _apply(out, tuple(map(str, path)), marker, None)
    return out


def _apply(out: Any, path: tuple[str, ...], marker: str, shape: Any) -> None:
    here, key = out, path[-1]
    if marker == "alias":
        _rename(out, path, shape)
        return
    for step in path[:-1]:
        inner = _step(here, step)
        if inner is ABSENT and marker == "said" and shape is not None and path in shape.optional_constants:
            inner = {}
        if type(inner) is not dict and type(inner) is not list:
            return
        copy = dict(inner) if type(inner) is dict else list(inner)
        here[step if type(here) is dict else int(step)] = copy
        here = copy
    value = _step(here, key)
    if type(here) is list:
        if marker == "lone" and type(value) is list and len(value) == 1:
            here[int(key)] = value[0]
    elif marker.startswith("word:"):
        word = marker.removeprefix("word:")
        if shape is not None and value == shape.words.get(path, {}).get(word, ABSENT):
            here[key] = word
    elif marker == "said":
        if value is ABSENT and shape is not None and path in shape.optional_constants:
            here[key] = shape.said(path)
    elif marker == "lone":
        if type(value) is list and len(value) == 1:
            here[key] = value[0]
    elif marker == "absent":
        constant = shape.optional_constants.get(path, ABSENT) if shape is not None else ABSENT
        if value is not ABSENT and (value in VOID or _is_hollow(value) or is_same(value, constant)):
            del here[key]
    elif marker in _EMPTY and (value is ABSENT or value in VOID):
        empty = _EMPTY[marker]
        here[key] = type(empty)() if empty is not None else None


def _step(here: Any, key: str) -> Any:
    if type(here) is dict:
        return here.get(key, ABSENT)
    return here[int(key)] if key.isdigit() and int(key) < len(here) else ABSENT


def _rename(out: Node, path: tuple[str, ...], shape: Any) -> None:
    """Write a value under the other spelling of its key."""
    main = shape.aliases.get(path) if shape is not None else None
    here = out
    for step in main[:-1] if main else ():
        here = here.get(step, {})
        if type(here) is not dict:
            return
    if main is None or main[-1] not in here:
        return
    value = here.pop(main[-1])
    for step in path[:-1]:
        out = out.setdefault(step, {})
    out[path[-1]] = value
