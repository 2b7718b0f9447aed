"""Requests that go on from an answer of the client's store, and answers that are kept there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.registry import split
from ...losses import Loss, Losses
from ..history import accepted
from ..requests import Call
from ..results import Made, Result, items_of, result_of
from ..upstreams.upstream import Upstream
from .store import PREVIOUS, Store, recalled, takes, unknown

__all__ = ["is_alone", "keep", "kept_result", "resolve"]

Node = dict[str, Any]
_AT_ONCE = "awaited at once, and kept in the client's store"


def resolve(store: Store | None, call: Call, upstreams: Sequence[Upstream]) -> None:
    """Put the conversation that a call names in front of its input, where an upstream does not keep it.

    Raises `NotFoundError` for a name that the store does not have. Without a store nothing is resolved: such a call is
    refused for each upstream that keeps nothing.
    """
    id_ = call.body.get(PREVIOUS)
    # The later turns of a tool loop bring their conversation with them.
    call.previous, call.said = id_ if type(id_) is str else None, None
    if store is None:
        return
    if type(id_) is str:
        turn = store.get(id_)
        kept = _keep_all(PREVIOUS, upstreams) and (turn is None or turn.get("upstream") == _place(upstreams[0]))
        if not kept:
            call.said = items_of(call.body.get("input"))
            body = {name: value for name, value in call.body.items() if name != PREVIOUS}
            call.body = {**body, "input": [*recalled(store, id_), *call.said]}
    conversation = call.body.get("conversation")
    if conversation and not _keep_all("conversation", upstreams):
        named = conversation.get("id") if isinstance(conversation, dict) else conversation
        raise unknown(str(named), "conversation")
    if call.body.get("background") and not any(_keeps("background", each) for each in upstreams):
        call.body = {name: value for name, value in call.body.items() if name != "background"}
        call.losses = Losses([*call.losses, Loss("/background", "state.background", "emulated", _AT_ONCE, "source")])


def keep(store: Store | None, call: Call, node: Node, upstream: Upstream) -> None:
    """Keep an answer under its id, unless the call has `store=False`."""
    id_ = node.get("id")
    if store is None or type(id_) is not str or call.body.get("store") is False:
        return
    said = call.said if call.said is not None else items_of(call.body.get("input"))
    previous = call.previous if call.said is not None or call.body.get(PREVIOUS) else None
    output = node.get("output") or []
    output = [*output, *accepted(output, call.value_tool)]
    turn = {"previous": previous, "input": said, "output": output, "response": node}
    store.put(id_, {**turn, "upstream": _place(upstream)})


def kept_result(turn: Mapping[str, Any], upstream: Upstream) -> Result:
    """The result of an answer that is kept."""
    made = Made(
        upstream=upstream,
        request={"input": list(turn["input"])},
        losses=Losses(),
        exchange=None,
        raw=None,
        hops=(),
        request_id=None,
        headers={},
        segments=(),
    )
    return result_of(dict(turn["response"]), made)


def is_alone(turn: Mapping[str, Any] | None, upstream: Upstream) -> bool:
    """Whether an answer is in the client's store alone: its upstream keeps none, or another one gave it."""
    return turn is not None and (
        not takes(split(upstream.protocol)[0], PREVIOUS) or turn.get("upstream") != _place(upstream)
    )


def _place(upstream: Upstream) -> str:
    return f"{upstream.protocol} {upstream.origin}"


def _keep_all(name: str, upstreams: Sequence[Upstream]) -> bool:
    return all(_keeps(name, each) for each in upstreams)


def _keeps(name: str, upstream: Upstream) -> bool:
    return takes(split(upstream.protocol)[0], name) is not None
