"""How fragments of what nobody understands add up: text concatenates, lists merge by `index`, the rest follow.

The rules are those of the official SDK's own accumulator, less its traps: a repeated `role` or `id` stays one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ONCE", "merged", "merged_details"]

Node = dict[str, Any]

ONCE = frozenset(("index", "type", "role", "id", "format", "name"))


def merged(old: Any, new: Any) -> Any:
    """`old` with the fragment `new` added; neither is changed."""
    if type(old) is dict and type(new) is dict:
        out = dict(old)
        for key, value in new.items():
            if key not in out or out[key] is None or (key in ONCE and value is not None):
                out[key] = value
            elif value is not None:
                out[key] = merged(out[key], value)
        return out
    if type(old) is str and type(new) is str:
        return old + new
    if type(old) is list and type(new) is list:
        return _lists(old, new)
    return new


def _lists(old: list[Any], new: list[Any]) -> list[Any]:
    out = list(old)
    for entry in new:
        index = entry.get("index") if type(entry) is dict else None
        place = None
        if index is not None:
            place = next((i for i, one in enumerate(out) if type(one) is dict and one.get("index") == index), None)
        if place is None:
            out.append(entry)
        else:
            out[place] = merged(out[place], entry)
    return out


def merged_details(old: list[Any], new: list[Any]) -> list[Any]:
    """`reasoning_details` with more fragments: entries of one index and type are one."""
    out = list(old)
    for entry in new:
        same = None
        if type(entry) is dict and "index" in entry:
            keys = ("index", "type")
            same = next(
                (i for i, x in enumerate(out) if type(x) is dict and all(x.get(k) == entry.get(k) for k in keys)), None
            )
        if same is None:
            out.append(entry)
        else:
            out[same] = merged(out[same], entry)
    return out
