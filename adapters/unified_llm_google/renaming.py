"""Objects of settings that both APIs have in their own spelling: the keys of one become those of the other.

https://ai.google.dev/api/interactions-api and https://cloud.google.com/vertex-ai/generative-ai/docs/grounding/overview
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unified_llm.engine.pairs.mapping import are_objects, take, take_all

__all__ = ["Names", "inverse", "named", "renamed"]

Node = dict[str, Any]
Names = dict[str, tuple[str, Any]]
"""Key -> the other key, and the names of what is in the object, or the objects, below it; None for any value."""


def named(keys: str, spell: Callable[[str], str] = str, **below: Names) -> Names:
    """The names of keys that differ in their spelling alone.

    >>> named("a", x=named("b"))
    {'a': ('a', None), 'x': ('x', {'b': ('b', None)})}
    """
    found: Names = {key: (spell(key), None) for key in keys.split()}
    return {**found, **{key: (spell(key), inner) for key, inner in below.items()}}


def inverse(names: Names) -> Names:
    """The names for the reverse."""
    return {other: (key, None if below is None else inverse(below)) for key, (other, below) in names.items()}


def renamed(own: Node, names: Names) -> Node:
    """What is in `own` under known keys, popped from it, under the other keys; what is left is collected.

    >>> renamed({"a": 1, "b": 2}, {"a": ("x", None)})
    {'x': 1}
    """
    out: Node = {}
    for key, (other, below) in names.items():
        if key not in own:
            continue
        value = own[key]
        if below is None or not (type(value) is dict or are_objects(value)) or not value:
            out[other] = own.pop(key)
        elif type(value) is dict:
            out[other] = renamed(take(own, key), below)
        else:
            out[other] = [renamed(each, below) for each in take_all(own, key)]
        if key in own and not any(own[key] if type(own[key]) is list else (own[key],)):
            del own[key]
    return out
