"""A lone object where the API expects a list: it takes it for a list of one, and clients send it (curl, R).

Reading puts the brackets where they belong and notes where (a marker of form), so that pairs handle lists alone;
writing takes them off again, where there is still one.

https://protobuf.dev/programming-guides/json/
"""

from __future__ import annotations

from typing import Any

__all__ = ["bracketed", "unbracketed"]

Node = dict[str, Any]

_LISTS = (("contents",), ("tools",), ("safetySettings",), ("systemInstruction", "parts"))


def bracketed(w: Node) -> list[str]:
    """Make lists of the lone objects of a request (our own copy, in camelCase); where they stood."""
    found = []
    for *above, last in _LISTS:
        home = w.get(above[0]) if above else w
        if isinstance(home, dict) and type(home.get(last)) is dict:
            if above:
                home = w[above[0]] = home.copy()
            home[last] = [home[last]]
            found.append("/".join((*above, last)))
    return found


def unbracketed(wire: Node, paths: list[str]) -> list[str]:
    """The inverse, on the request that was written, or on what was left over of reading one; the paths without it."""
    other = []
    for path in paths:
        *above, last = path.split("/")
        home = wire.get(above[0]) if above else wire
        if isinstance(home, dict) and type(home.get(last)) is list and len(home[last]) == 1:
            home[last] = home[last][0]
        else:
            other.append(path)
    return other
