"""What is fixed for a conversion before its document: both surfaces, both kinds, and who reads the result.

A route is looked up by what the caller names, and is kept. None of it depends on a document.
"""

from __future__ import annotations

from typing import NamedTuple

from ..engine.adapter import Adapter, Kind, Surface
from ..engine.registry import is_current, surface
from ..foundation.usage_errors import InvalidArgument
from .argument_checks import check_words

__all__ = ["Route", "kind_of", "route_of"]

# Routes that are kept. There are as many as names in use, of which a program has few.
_MOST = 1024
_routes: dict[tuple[str, str, str, str | None], Route] = {}


class Route(NamedTuple):
    """One direction: documents of `here` are read as `reads`, and written as `writes` of `there` for `facing`."""

    here: Surface
    there: Surface
    origin: Adapter
    goal: Adapter
    reads: Kind
    writes: Kind
    crossing: bool
    facing: str
    is_request: bool
    is_answered: bool  # by a provider of another protocol, to a client of this one


def route_of(source: str, target: str, kind: str, facing: str | None) -> Route:
    """The route of documents of this kind from `source` to `target`."""
    key = (source, target, kind, facing)
    try:
        route = _routes.get(key)
    except TypeError:
        route = None
    if route is None or not _is_current(route, source, target, kind):
        if facing is not None:
            check_words(facing=facing)
        here, there = surface(source), surface(target)
        reads, writes = kind_of(here.adapter, kind), kind_of(there.adapter, kind)
        side, is_request = facing or writes.facing, writes.node == "request"
        origin, goal, crossing = here.adapter, there.adapter, source != target
        is_answered = crossing and side == "provider" and writes is goal.kinds.get("request")
        route = Route(here, there, origin, goal, reads, writes, crossing, side, is_request, is_answered)
        if len(_routes) >= _MOST:
            _routes.clear()
        _routes[key] = route
    return route


def _is_current(route: Route, source: str, target: str, kind: str) -> bool:
    """Whether neither an adapter, a dialect nor what they declare of this kind was replaced since."""
    if route.origin.kinds.get(kind) is not route.reads or route.goal.kinds.get(kind) is not route.writes:
        return False
    return is_current(route.here, source, route.there, target)


def kind_of(adapter: Adapter, kind: str) -> Kind:
    """What an adapter declares of a kind of document."""
    found = adapter.kinds.get(kind)
    if found is None:
        known = ", ".join(adapter.kinds)
        raise InvalidArgument(f"unknown kind {kind!r} for {adapter.protocol}; choose one of: {known}")
    return found
