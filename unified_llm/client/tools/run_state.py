"""A run as JSON: everything it needs to go on in another process, over any provider, and no credential.

The conversation is kept once: the input of an earlier turn is mostly the beginning of the last turn's, and then only
its length is written. Data that only its provider can read (signatures, encrypted reasoning) is part of the items.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import index
from typing import Any

from ...foundation.errors import InvalidBody
from ...foundation.json_codec import load_text
from ...losses import Loss, Losses
from ..history import Segment
from ..requests import check_settings
from ..results import Made, Result, RunResult, Step, items_of, objects_of, result_of
from ..upstreams.upstream import Upstream
from .withholding import withheld_from

__all__ = ["run_from_json", "run_to_json"]

Node = dict[str, Any]
TYPE, VERSION = "unified_llm:run", 1
_UPSTREAM = ("protocol", "base_url", "provider", "model", "scope")


def run_to_json(run: RunResult) -> Node:
    """The JSON object of a run."""
    withheld: list[str] = list(run.withheld)
    upstreams: list[Node] = []
    whole = items_of(run.final.request.get("input"))
    steps = [_step(step, whole, upstreams, withheld) for step in run.steps]
    asked = {  # its `extra` has request fields of one protocol
        key: withheld_from(each, "/asked/extra", withheld, inside=True) if key == "extra" else each
        for key, each in withheld_from(run.asked, "/asked", withheld).items()
    }
    state = {"type": TYPE, "version": VERSION, "stopped": run.stopped, "asked": asked, "input": whole, "steps": steps}
    state["input"] = withheld_from(whole, "/input", withheld)
    return json.loads(json.dumps({**state, "upstreams": upstreams, "withheld": withheld}))  # type: ignore[no-any-return]


def _step(step: Step, whole: list[Node], upstreams: list[Node], withheld: list[str]) -> Node:
    result = step.response
    given = items_of(result.request.get("input"))
    same = given == whole[: len(given)]
    node: Node = {
        "number": step.number,
        # Some APIs repeat the tools in their answers; where only the answer has them, they are not passed again.
        "response": withheld_from(result.dump(), "", []),
        "outputs": list(step.output_nodes),
        "input": len(given) if same else withheld_from(given, "/input", withheld),
        "upstream": _place(result.upstream, upstreams),
        "segments": [[each.length, _place(each.upstream, upstreams)] for each in result.segments],
        "losses": result.losses.to_json(),
        "request_id": result.request_id,
        "strategy": result.strategy,
    }
    asked = result.exchange.model if result.exchange else None
    return {**node, "model": asked or getattr(result.upstream, "model", None)}  # whose price it has


def _place(upstream: Any, upstreams: list[Node]) -> int | None:
    """The number of an upstream in the list of them, without its credentials."""
    if upstream is None:
        return None
    node = upstream.place()
    if node not in upstreams:
        upstreams.append(node)
    return upstreams.index(node)


def run_from_json(state: Any) -> RunResult:
    """The run of a JSON object or text. Raises `InvalidBody` for one that is none."""
    if isinstance(state, (str, bytes)):
        try:
            state = load_text(state)
        except ValueError as error:
            raise InvalidBody("", f"the run is not JSON: {error}") from error
    if not isinstance(state, Mapping) or state.get("type") != TYPE:
        raise InvalidBody("/type", f"a run has type {TYPE!r}; pass what RunResult.to_json() returned")
    if state.get("version") != VERSION:
        raise InvalidBody("/version", f"version {state.get('version')!r} is not supported; supported: {VERSION}")
    try:
        upstreams = [
            Upstream(**{name: each[name] for name in _UPSTREAM if name in each}) for each in state["upstreams"]
        ]
        if not all(type(each.protocol) is str for each in upstreams):
            raise TypeError("an upstream has no protocol")
        check_settings({name: value for name, value in state["asked"].items() if name != "tools"})
        if not all(type(each["type"]) is str for each in state["asked"].get("tools") or ()):
            raise TypeError("a tool has no type")
        _check_items(state["input"])
        steps = tuple(_read_step(node, state, upstreams) for node in state["steps"])
        run = RunResult(steps, state["stopped"], dict(state["asked"]), tuple(state["withheld"]))
        _ = run.final, run.pending
        return run
    except InvalidBody:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise InvalidBody("", f"the run is incomplete ({type(error).__name__}: {error})") from error


def _check_items(items: list[Node]) -> None:
    """Raise `TypeError` or `ValueError` for what is not a list of items."""
    objects_of(items)
    if not all(type(each["type"]) is str and type(each.get("role", "")) is str for each in items):
        raise TypeError("an item has no type")


def _read_step(node: Node, state: Mapping[str, Any], upstreams: list[Upstream]) -> Step:
    def at(place: int | None) -> Upstream | None:
        return None if place is None else upstreams[place]

    given = node["input"]
    items = list(state["input"][:given] if type(given) is int else given)
    _check_items([*(() if type(given) is int else items), *(node["response"].get("output") or ()), *node["outputs"]])
    upstream = at(node["upstream"])
    if upstream is not None and upstream.model != node["model"]:
        upstream = upstream.with_(model=node["model"])
    made = Made(
        upstream=upstream,
        request={**state["asked"], "input": items},
        losses=Losses(Loss(*(each[name] for name in Loss._fields)) for each in node["losses"]),
        request_id=node["request_id"],
        segments=tuple(Segment(index(length), at(place)) for length, place in node["segments"]),
    )
    result: Result = result_of(node["response"], made)
    result._strategy = node["strategy"]
    return Step(index(node["number"]), result, tuple(node["outputs"]))
