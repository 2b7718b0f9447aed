"""The models that a key may request, as the clients of each protocol list them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from ...client.sending.effects import Answer, Ask
from ...client.sending.model_list import listed, page
from ...client.sending.request_flow import steps
from ...client.sending.retry import Retry
from ...client.transports.route_matching import Match
from ...client.upstreams.upstream import Upstream
from ...client.upstreams.upstream import upstream as make_upstream
from ...engine.adapter import Adapter
from ...engine.registry import adapter
from ...foundation.errors import APIError, CapabilityRefused, InvalidRequestError
from ...models.catalog import current
from ...passes.convert import write
from ..access.callers import Key
from ..responses.replies import Refusal, Whole, json_reply
from .routing import Router

__all__ = ["ModelList", "model_list"]

Node = dict[str, Any]
_FRESH = 300.0  # seconds for which a list of models is kept
_PATIENCE = 10.0  # seconds that one upstream may take to list its models


class ModelList:
    """The models that can be requested: the names of `[models]`, the upstreams, and what their providers list.

    Upstreams are queried at the same time, and their lists are kept for five minutes. One that does not answer is left
    out, or replaced by the catalog where that lists its models.
    """

    def __init__(self, router: Router) -> None:
        self._router = router
        self._kept: dict[str, tuple[float, list[Node]]] = {}

    async def all(self, wire: Any, key: Key) -> list[Node]:
        """The canonical entries that a key may use."""
        router = self._router
        names = (name for name in router.models if "*" not in name and router.routes(name, key))
        found: dict[str, Node] = {name: _entry(name) for name in names}
        open_ended = []
        for name, upstream in router.upstreams.items():
            if not key.may_reach(name):
                continue
            found.setdefault(name, _entry(name))
            if upstream.model is None:
                open_ended.append((name, upstream))
        open_ended += [(name, make_upstream(name)) for name in router.providers if key.may_reach(name)]
        lists = await asyncio.gather(*(self._of(wire, name, each) for name, each in open_ended))
        for (name, _), entries in zip(open_ended, lists):
            for each in entries:
                found.setdefault(f"{name}/{each['id']}", {**each, "id": f"{name}/{each['id']}"})
        return [each for each in found.values() if key.may_request(each["id"])]

    async def _of(self, wire: Any, name: str, upstream: Upstream) -> list[Node]:
        kept = self._kept.get(name)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        try:
            found = await wire.run(listed(upstream, _send))
        except (APIError, CapabilityRefused):
            found = [_entry(each) for each in (current().raw.get(name) or {}).get("models", ())]
        found = [each for each in found if each.get("id")]
        self._kept[name] = (time.monotonic() + _FRESH, found)
        return found


def _send(ask: Ask, upstream: Upstream) -> Generator[Any, Any, Answer]:
    plain = Ask(kind=ask.kind, http=ask.http, patience=_PATIENCE)
    answer = yield from steps(plain, [upstream], Retry.never())
    return answer  # type: ignore[return-value]


def model_list(models: Sequence[Node], match: Match, query: Mapping[str, Any]) -> Whole:
    """The list of models, or one of them, in the shape of the client's protocol. Raises `Refusal`."""
    known, alone = adapter(match.protocol), match.names.get("model")
    try:
        node = list_document(models, known, query, alone)
    except InvalidRequestError as error:
        raise Refusal(400, "invalid_request", error.message) from None
    done = write(node, match.protocol, "models")
    return json_reply(done.value if alone is None else done.value[known.entries][0])


def list_document(models: Sequence[Node], known: Adapter, query: Mapping[str, Any], alone: str | None) -> Node:
    """The canonical list for a client: a page of it, or (with `alone`) the one entry. Raises `Refusal`."""
    if alone is None:
        return page(models, known, query)
    one = next((each for each in models if each["id"] == alone), None)
    if one is None:
        raise Refusal(404, "not_found", f"model {alone!r} not found", code="model_not_found")
    return {"models": [one]}


def _entry(name: str) -> Node:
    """A canonical model of which only the name is known."""
    # Clients demand both fields; 0 stands for an unknown date, as at providers.
    return {"type": "model", "id": name, "created_at": 0, "owned_by": "unified_llm"}
