"""Answers that a provider keeps, or the client's store: looked at, listened to, cancelled, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.registry import split
from ..foundation.errors import CapabilityRefused, InvalidBody
from ..foundation.exchange import Exchange
from ..foundation.urls import filled
from ..foundation.usage_errors import InvalidArgument
from .inputs.argument_types import check_arguments
from .results import Result
from .sending.effects import Answer
from .sending.flows import Send, Steps
from .state.stored_responses import is_alone, kept_result
from .stream_results import Opening
from .structured.formats import format_of
from .structured.strategies import ANSWERED, Parser, asked_for, choose, parser_of
from .upstreams.upstream import Upstream

if TYPE_CHECKING:
    from .call_flows import Core

__all__ = ["delete", "kept", "kept_at", "reopen", "reopened", "retrieved"]

Node = dict[str, Any]


def kept_at(core: Core, response: Any, upstream: Any) -> tuple[Upstream, str, Result | None]:
    """Where an answer is kept, its id there, and what is known of it: `response` is its id, a `Result` or a handle."""
    if isinstance(response, str):
        given: dict[str, Any] = {} if upstream is None else {"upstream": upstream}
        return core.upstreams(core.call(given))[0], response, None
    found = getattr(response, "result", response)
    if not isinstance(found, Result):
        kind = type(response).__name__
        raise InvalidArgument(f"response= should be the id of a response, a Result or a handle, not {kind}")
    return found.upstream, found.id or "", found


def _route(upstream: Upstream, method: str, kinds: tuple[str, ...], id_: str, end: str = "") -> Node:
    adapter = split(upstream.protocol)[0]
    for route in adapter.routes:
        path = route.path
        fits = path.endswith(end) if end else path.endswith("{id}")
        if route.method == method and route.kind in kinds and "{id}" in path and fits:
            return {"method": method, "path": filled(path, id=id_), "kind": route.kind}
    verb = {"GET": "retrieved", "DELETE": "deleted"}.get(method, "cancelled")
    raise CapabilityRefused(
        "", "state.store", f"{adapter.title} does not store responses, so a response cannot be {verb}"
    )


def kept(
    core: Core,
    upstream: Upstream,
    method: str,
    id_: str,
    end: str = "",
    body: Node | None = None,
    exchange: Exchange | None = None,
) -> Steps[Result]:
    """An answer that the provider keeps, or the client's store: looked at, or cancelled.

    `exchange` is that of the request it is the answer to, where that is known.
    """
    turn = core.store.get(id_) if core.store is not None and not end else None
    if turn is not None and is_alone(turn, upstream):
        return kept_result(turn, upstream)
    route = _route(upstream, method, ("response",), id_, end)
    ask = core._plain("response", route)
    answer: Answer = yield Send(ask, (upstream,))
    return core.result(answer, None, body or {}, exchange=exchange)


def retrieved(core: Core, response: Any, upstream: Any, text_format: Any, name: str | None) -> Steps[Result]:
    """An answer that is kept, with the value of its structured output where one is requested."""
    check_arguments({"name": name})
    where, id_, known = kept_at(core, response, upstream)
    found = None if text_format is None else format_of(text_format, name)
    exchange = known.exchange if known is not None else None
    if found is not None:
        exchange = asked_for(found, where, exchange)
    result = yield from kept(core, where, "GET", id_, exchange=exchange)
    if found is not None and result.status in ANSWERED:
        parser_of(found, result).read(result)
    return result


def reopened(
    core: Core, response: Any, upstream: Any, after: Any, text_format: Any, name: str | None
) -> Steps[tuple[Opening, Parser | None]]:
    """The stream of an answer that is kept, and what reads its structured output where one is requested."""
    check_arguments({"name": name})
    where, id_, known = kept_at(core, response, upstream)
    found = None if text_format is None else format_of(text_format, name)
    if found is not None and after is not None:
        raise InvalidBody("/text_format", "cannot be combined with after=; a value is read from its beginning")
    exchange = known.exchange if known is not None else None
    parser = None
    if found is not None:
        exchange = asked_for(found, where, exchange)
        parser = Parser(found, (known.strategy if known is not None else None) or choose(found, where))
    opening = yield from reopen(core, where, id_, after, exchange=exchange)
    return opening, parser


def delete(core: Core, upstream: Upstream, id_: str) -> Steps[bool]:
    """Have the provider, or the client's store, forget an answer."""
    turn = core.store.get(id_) if core.store is not None else None
    if core.store is not None and core.store.delete(id_) and is_alone(turn, upstream):
        return True
    route = _route(upstream, "DELETE", ("deleted", "response"), id_)
    ask = core._plain(route["kind"], route)
    answer: Answer = yield Send(ask, (upstream,))
    return not isinstance(answer.value, dict) or answer.value.get("deleted") is not False


def reopen(
    core: Core, upstream: Upstream, id_: str, after: Any, body: Node | None = None, exchange: Exchange | None = None
) -> Steps[Opening]:
    """Take up the stream of an answer that the provider keeps, behind the event that was seen last."""
    adapter = split(upstream.protocol)[0]
    if not adapter.resume:
        raise CapabilityRefused(
            "", "state.background", f"{adapter.title} cannot resume streams; send the request again"
        )
    query = {"stream": "true", **({} if after is None else {adapter.resume[0]: after})}
    route = {**_route(upstream, "GET", ("response",), id_), "query": query}
    ask = core._plain("response", route, stream=True)
    stream = yield Send(ask, (upstream,))
    return Opening(core, stream, None, body or {}, resumed=after is not None, exchange=exchange)
