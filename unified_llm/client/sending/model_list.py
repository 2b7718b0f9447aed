"""Lists of models: read from one upstream or several, page by page, and cut into the pages that a client requests.

The names of paging parameters differ (`Adapter.paging`). A list is read to its end; a page that repeats the last one
is an end. Nothing here waits: its driver sends the requests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from ...engine.adapter import Adapter, Paging
from ...engine.registry import adapter, protocols
from ...foundation.errors import APIError, CapabilityRefused, InvalidRequestError
from ..transports.route_matching import route_of
from ..upstreams.upstream import Upstream
from .decoding import read_answer
from .effects import Answer, Ask, Hop

__all__ = ["kin", "listed", "merged", "page"]

Node = dict[str, Any]
Sending = Callable[[Ask, Upstream], Generator[Any, Any, Answer]]
"""Sends one question to one upstream."""


def kin(upstream: Upstream, kind: str) -> Upstream | None:
    """The upstream in a protocol that has such documents: its own, or another of its family at the same place."""
    own = adapter(upstream.protocol)
    if kind in own.kinds:
        return upstream
    for name in protocols():
        other = adapter(name)
        if other.family == own.family and kind in other.kinds:
            dialect = upstream.protocol.partition(":")[2]
            return upstream.with_(protocol=f"{name}:{dialect}" if dialect in other.dialects else name)
    return None


def listed(upstream: Upstream, send: Sending, limit: int | None = None) -> Generator[Any, Any, list[Node]]:
    """The models of one upstream in canonical form, `limit` of them at most.

    Raises `CapabilityRefused` where it has no list.
    """
    able = kin(upstream, "models")
    route = route_of(able.protocol, "models") if able is not None else None
    if able is None or route is None:
        raise CapabilityRefused("", "metadata", f"{adapter(upstream.protocol).title} has no model-list route")
    paging = adapter(able.protocol).paging
    query: dict[str, Any] = {}
    if paging is not None:
        query = {paging.size: paging.most if limit is None else min(limit, paging.most)}
    out: dict[str, Node] = {}
    while True:
        answer = yield from send(
            Ask(kind="models", http={"method": route.method, "path": route.path, "query": query}), able
        )
        node = read_answer(answer.value, able.protocol, "models", provider=able.provider)
        known = len(out)
        for each in node.get("models") or ():
            out.setdefault(str(each.get("id")), each)
        after = _next(paging, answer.value)
        if paging is None or after is None or len(out) == known or (limit is not None and len(out) >= limit):
            return [*out.values()][:limit]
        query = {**query, paging.after: after}


def _next(paging: Paging | None, value: Any) -> str | None:
    """The query value of the next page; None where there is none."""
    if paging is None or not isinstance(value, dict) or (paging.more and value.get(paging.more) is not True):
        return None
    found = value.get(paging.next)
    return found if isinstance(found, str) and found else None


def merged(
    upstreams: Sequence[Upstream], send: Sending, limit: int | None = None
) -> Generator[Any, Any, tuple[list[tuple[Upstream, Node]], tuple[Hop, ...]]]:
    """The models of several upstreams, each place queried once, and the upstreams that did not answer.

    Where none of them does, what the first of them raised is raised.
    """
    found: list[tuple[Upstream, Node]] = []
    hops: list[Hop] = []
    places: dict[Any, Upstream] = {}
    for each in upstreams:
        places.setdefault((each.base_url, each.provider), each)
    for upstream in places.values():
        left = None if limit is None else limit - len(found)
        if left == 0:
            break
        try:
            found += [(upstream, node) for node in (yield from listed(upstream, send, left))]
        except (APIError, CapabilityRefused) as error:
            hops.append(Hop(upstream.name, 1, f"{type(error).__name__}: {error}", error))
    if len(hops) == len(places) and hops:
        raise hops[0].error or AssertionError("a hop without its error")
    return found, tuple(hops)


def page(models: Sequence[Node], surface: Adapter, query: Mapping[str, Any]) -> Node:
    """The canonical list that a client of a surface requested: all of it, or the page that its query names.

    Its key `next` is what the page behind it begins after. Raises `InvalidRequestError` for a place that is none.
    """
    paging = surface.paging
    known: dict[str, Node] = {}
    for each in models:
        known.setdefault(str(each.get("id")), each)
    once, ids = [*known.values()], [*known]
    if paging is None:
        return {"models": once}
    size = _size(query.get(paging.size), paging)
    start, end = 0, len(once)
    if query.get(paging.after):
        start = _place(ids, str(query[paging.after]), paging.after) + 1
    if paging.before and query.get(paging.before):
        end = _place(ids, str(query[paging.before]), paging.before)
        start = max(start, end - size) if size else start
    if size:
        end = min(end, start + size)
    node: Node = {"models": once[start:end]}
    if start < end < len(ids):
        node["next"] = ids[end - 1]
    return node


def _place(ids: list[str], wanted: str, name: str) -> int:
    if wanted not in ids:
        raise InvalidRequestError(
            f"{name}={wanted!r} is not a model id of this list; use an id from the previous page",
            error={"type": "invalid_request"},
        )
    return ids.index(wanted)


def _size(given: Any, paging: Paging) -> int:
    """How many a page has at most; 0 for all of them."""
    if given in (None, ""):
        return 0
    try:
        size = int(given)
    except ValueError:
        size = 0
    if size < 1:
        raise InvalidRequestError(
            f"{paging.size} must be an integer >= 1, got {given!r}", error={"type": "invalid_request"}
        )
    return min(size, paging.most)
