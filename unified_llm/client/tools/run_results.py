"""A tool loop that has ended, and the same as JSON: all it needs to go on in another process, and no credential.

In the JSON the conversation is kept once: the input of an earlier turn is mostly the beginning of the last turn's, and
then only its length is written. Data that only its provider can read (signatures, encrypted reasoning) is part of the
items.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any, Generic

from ...foundation.errors import InvalidBody
from ...foundation.json_codec import load_text
from ...losses import Loss, Losses
from ...types.usage import Usage
from ..history import Segment, answered_by, id_of
from ..inputs.settings import check_settings
from ..results import Made, Result, T, counted, items_of, objects_of, result_of, short
from ..upstreams.upstream import Upstream
from .withholding import withheld_from

if TYPE_CHECKING:
    from ...models.pricing import Cost
    from ...types.items import CustomToolCallOutput, FunctionCallOutput, Item
    from ...types.response import PendingCall

__all__ = ["RunResult", "Step"]

Node = dict[str, Any]
TYPE, VERSION = "unified_llm:run", 1
_UPSTREAM = ("protocol", "base_url", "provider", "model", "scope")


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """One turn of a tool loop: the answer and the outputs of its tools. `number` counts from 1.

    >>> import unified_llm as ul
    >>> def now() -> str:
    ...     return "noon"
    >>> run = ul.Client().responses.run(model="local/echo", input="[[call now]]", tools=[now])
    >>> [(step.number, [item.output for item in step.outputs]) for step in run.steps]
    [(1, ['noon']), (2, [])]
    """

    number: int
    response: Result[T]
    output_nodes: tuple[Node, ...] = field(default=(), repr=False)

    @property
    def outputs(self) -> tuple[FunctionCallOutput | CustomToolCallOutput, ...]:
        """What the tools of this turn returned, as canonical items; `output_nodes` are the same as JSON."""
        from ...types.validation import validate

        return tuple(validate("items", list(self.output_nodes)))


@dataclass(frozen=True, slots=True)
class RunResult(Generic[T]):
    """A tool loop that has ended: `final` is the last answer, `steps` all of them.

    `stopped` is the reason: "answered"; "calls" where the last answer calls tools that do not run here; "approval"
    where calls wait for one; "limit" and "error" in the `.result` of errors. The calls are in `pending`, and
    `responses.resume` goes on. `asked` is the canonical request of the run without its input.

    >>> import unified_llm as ul
    >>> asked = {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}}
    >>> run = ul.Client().responses.run(model="local/echo", input="[[call now]]", tools=[asked])
    >>> run.stopped, [call.name for call in run.pending]
    ('calls', ['now'])
    """

    steps: tuple[Step[T], ...]
    stopped: str = "answered"
    asked: Node = field(default_factory=dict, repr=False)
    withheld: tuple[str, ...] = field(default=(), repr=False)

    def to_json(self) -> Node:
        """The run as a JSON object, to go on with in another process: `RunResult.from_json`, `responses.resume`.

        It has the conversation and the usage, but no credential: those of tools are left out, and `withheld` are their
        paths. `output_parsed` and functions of tools are not in it.
        """
        return _to_json(self)

    @classmethod
    def from_json(cls, state: Any) -> RunResult:
        """The run of `to_json`, as an object or as JSON text. Raises `InvalidBody` for anything else.

        >>> import unified_llm as ul
        >>> run = ul.Client().responses.run(model="local/echo", input="Hi", tools=[])
        >>> ul.client.RunResult.from_json(run.to_json()).output_text
        'Hi'
        """
        return _from_json(state)

    def __repr__(self) -> str:
        usage, losses = counted(self.usage), len(self.losses)
        text = f"text={short(self.output_text)!r}, " if self.output_text else ""
        return f"RunResult({self.stopped!r}, steps={len(self.steps)}, {text}usage={usage!r}, losses={losses})"

    @property
    def final(self) -> Result[T]:
        """The last answer."""
        return self.steps[-1].response

    @property
    def output_text(self) -> str:
        """The text of the last answer."""
        return self.final.output_text

    @property
    def output_parsed(self) -> T | None:
        """The value of the last answer, of a run with `text_format=`; None before there is one."""
        return self.final.output_parsed

    @property
    def pending(self) -> list[PendingCall]:
        """The calls of the last answer that wait for the caller."""
        answered = {answered_by(item) for item in self.steps[-1].output_nodes}
        return [call for call in self.final.pending_calls if id_of(call.dump()) not in answered]

    @property
    def items(self) -> list[Item]:
        """The whole conversation as canonical items, ready to be sent on."""
        return objects_of(self.item_nodes)

    @property
    def item_nodes(self) -> list[Node]:
        """`items` as JSON."""
        here = {answered_by(item) for item in self.final._accepted}
        return [
            *self.final.item_nodes,
            *(each for each in self.steps[-1].output_nodes if answered_by(each) not in here),
        ]

    @property
    def losses(self) -> Losses:
        """The losses of all requests, each once."""
        return Losses(dict.fromkeys(loss for step in self.steps for loss in step.response.losses))

    @property
    def usage(self) -> Usage:
        """The sums of all turns' tokens; counts that no provider gave are None."""
        return sum((step.response.usage for step in self.steps if step.response.usage is not None), Usage())

    @property
    def cost(self) -> Cost | None:
        """The listed price of all turns together; None where one of them has none."""
        costs = [step.response.cost for step in self.steps]
        known = [each for each in costs if each is not None]
        return sum(known[1:], known[0]) if known and len(known) == len(costs) else None


def _to_json(run: RunResult) -> Node:
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


def _from_json(state: Any) -> RunResult:
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
