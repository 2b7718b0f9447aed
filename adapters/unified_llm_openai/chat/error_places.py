"""Errors that are not where OpenAI has them: the places that a dialect declares, read from and written back to.

A place is a dotted path; a number in it is a place in a list, of objects. What stood there is noted as a form.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import IllTyped, Owned, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["PLACES", "failed", "mark_places", "marked_places", "placed", "read_places"]

Node = dict[str, Any]

PLACES = "places"
_FINE = (0, "0", "", None)


def read_places(w: Node, r: Reader) -> Node:
    """What of an error (message, code, type) is where the dialect declares it, popped; under `PLACES`, where it was."""
    found: Node = {}
    places = {}
    for key in ("message", "code", "type"):
        for path in r.dialect.get(f"error_{key}", ()):
            value = _at(w, path.split("."))
            if type(value) is str or (key == "code" and type(value) is int):
                _pop(w, path.split("."))
                found[key], places[key] = value, path
                break
    return {**found, PLACES: places} if places else {}


def mark_places(error: Node, places: dict[str, str], r: Reader) -> None:
    """Note where each key stood."""
    r.form(error, PLACES, [f"{key}={path}" for key, path in places.items()])


def marked_places(error: Node, w: Writer) -> dict[str, str]:
    """Where each key stood, as far as the written dialect declares it too."""
    noted = w.form(error, PLACES)
    pairs = (each.partition("=") for each in noted) if type(noted) is list else ()
    return {key: path for key, _, path in pairs if path in w.dialect.get(f"error_{key}", ())}


def failed(w: Node, r: Reader) -> bool:
    """Whether an answer is an error, in the server's own form."""
    for path in r.dialect.get("error_code", ()):
        if _at(w, path.split(".")) not in _FINE:
            return True
    return False


def _at(node: Any, keys: list[str]) -> Any:
    for key in keys:
        if type(node) is list and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        elif type(node) in (dict, Owned):
            node = node.get(key)
        else:
            return None
    return node


def _pop(node: Any, keys: list[str]) -> None:
    *above, leaf = keys
    for number, key in enumerate(above):
        following = keys[number + 1]
        if type(node) is list:
            node = node[int(key)]
        elif following.isdigit():
            node = node[key] if type(node[key][0]) is Owned else take_all(node, key)
        else:
            node = node[key] if type(node[key]) is Owned else take(node, key)
    if type(node) is not Owned and leaf not in node:
        raise IllTyped(leaf)
    del node[leaf]


def placed(error: Node, body: Node, form: Any, w: Writer) -> Any:
    """The body of an error as it was: what had a place of its own is there again."""
    inner = body["error"]
    elsewhere = {path: inner.pop(key) for key, path in marked_places(error, w).items() if key in inner}
    if form == "flat":
        value: Any = inner
    elif form == "string":
        value = {"error": inner.get("message"), **({"code": inner["code"]} if "code" in inner else {})}
    else:
        value = body
    kept = ((w.doc.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    for path, said in elsewhere.items():
        _put(value, path.split("."), said, kept)
    return value


def _put(node: Any, keys: list[str], value: Any, kept: Any) -> None:
    """Put a value at a path; a list on the way is as long as the one that is kept."""
    key, *below = keys
    kept = kept.get(key) if type(kept) is dict else None
    if not below:
        node[key] = value
    elif below[0].isdigit():
        count = len(kept) if type(kept) is list else 1
        listed = node.get(key)
        if type(listed) is not list:
            listed = node[key] = [{} for _ in range(count)]
        place = int(below[0])
        _put(listed[place], below[1:], value, kept[place] if type(kept) is list else None)
    else:
        _put(node.setdefault(key, {}), below, value, kept)
