"""A conversation on its way between providers: whose items are whose, and what of them stays with its maker.

Signatures and encrypted reasoning carry their own origin. The handles of files, containers and the like do
not: a conversation is kept as segments, each with the upstream of its turn, and a handle of one upstream is withheld
from every other, and reported. https://platform.openai.com/docs/guides/conversation-state
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..engine.registry import adapter
from ..foundation.json_paths import pointer
from ..losses import Fate, Loss
from ..provenance.provider_references import _nodes, is_foreign_here
from ..types._tables import CAPABILITY

__all__ = ["ASKS", "Segment", "accepted", "answered_by", "continued", "id_of", "said", "withheld"]

Node = dict[str, Any]

ASKS = "mcp_approval_request"
"""A call that a provider runs, once it is approved."""


class Segment(NamedTuple):
    """So many items of a conversation, and the upstream of the turn they are from."""

    length: int
    upstream: Any


def said(item: Node) -> Node:
    """An item of an answer as an item of a request: without the fields of its answer.

    What is left of a wire message lives on the first of its items; where it belongs to the answer around it (by its
    form), it has no place in a request.
    """
    drawers = item.get("extra")
    if not drawers or not any("turn" in drawer and "turn" in drawer.get("form", ()) for drawer in drawers.values()):
        return item
    kept = {
        protocol: {slot: value for slot, value in drawer.items() if slot != "turn"}
        if "turn" in drawer.get("form", ())
        else drawer
        for protocol, drawer in drawers.items()
    }
    return {**item, "extra": kept}


def continued(items: list[Node], output: Sequence[Node]) -> list[Node]:
    """A conversation with an answer behind it. Turns are counted on: those of two answers are not the same ones."""
    base = 1 + max((item["turn"] for item in items if type(item.get("turn")) is int), default=-1)
    out = list(items)
    for item in map(said, output[_repeated_input(items, output) :]):
        out.append({**item, "turn": item["turn"] + base} if base and type(item.get("turn")) is int else item)
    return out


def _repeated_input(items: list[Node], output: Sequence[Node]) -> int:
    """The number of input items at the start of an output: stored answers may begin with those.

    https://ai.google.dev/gemini-api/docs/interactions
    """
    outputs = [item.get("call_id") for item in items if str(item.get("type")).endswith("_output")]
    given = {call_id for call_id in outputs if type(call_id) is str}
    for at in range(len(output), 0, -1) if items else ():
        item = output[at - 1]
        if item.get("type") == "message":
            ours = item.get("role") in ("user", "system", "developer")
        else:
            ours = str(item.get("type")).endswith("_output") and str(item.get("call_id")) in given
        if ours:
            return at
    return 0


class _Report:
    """What stands for a writer: it notes what was withheld."""

    def __init__(self) -> None:
        self.noted: list[tuple[Node, tuple[Any, ...], Fate, str]] = []

    def report(self, node: Node, keys: tuple[Any, ...], fate: Fate, detail: str = "", capability: Any = None) -> None:
        self.noted.append((node, keys, fate, detail))

    def drop(self, node: Node, detail: str = "", fate: Fate = "lost") -> None:
        self.noted.append((node, (), fate, detail))


def withheld(items: list[Node], segments: Sequence[Segment], upstreams: Sequence[Any]) -> tuple[list[Node], list[Loss]]:
    """The items without the handles that are foreign to any of the upstreams, and the losses to report for that.

    >>> class There:
    ...     def __init__(self, protocol, provider): self.protocol, self.provider = protocol, provider
    >>> here, other = There("openai-responses", "a"), There("anthropic-messages", "b")
    >>> message = {"type": "message", "role": "user", "content": [{"type": "input_file", "file_id": "f1"}]}
    >>> withheld([message], [Segment(1, here)], [here])[1]
    []
    >>> [loss.path for loss in withheld([message], [Segment(1, here)], [other])[1]]
    ['/input/0/content/0']
    """
    out: list[Node] = []
    found: list[Loss] = []
    at = 0
    for segment in segments:
        mine = items[at : at + segment.length]
        if any(_is_foreign(segment.upstream, each) for each in upstreams):
            report = _Report()
            kept = _nodes(mine, report, [])  # type: ignore[arg-type]
            for node, keys, fate, detail in report.noted:
                path = _path(items, node) or ()
                capability = CAPABILITY.get(node.get("type", ""), {})
                name = capability.get(keys[0] if keys else "", capability.get("", "native.field"))
                found.append(Loss(pointer(("input", *path, *keys)), name, fate, detail))
            out += kept
        else:
            out += mine
        at += segment.length
    return [*out, *items[at:]], found


def _is_foreign(maker: Any, here: Any) -> bool:
    if maker is None:
        return False
    ours, theirs = adapter(here.protocol).family, adapter(maker.protocol).family
    return is_foreign_here(theirs, maker.provider, ours, here.provider)


def _path(value: Any, node: Node) -> tuple[Any, ...] | None:
    """Where a node stands in a value, by its identity."""
    if value is node:
        return ()
    entries = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, inner in entries:
        found = _path(inner, node) if type(inner) in (dict, list) else None
        if found is not None:
            return (key, *found)
    return None


def id_of(call: Mapping[str, Any]) -> str | None:
    """What a call is decided by: its `call_id`, or the id of a request for approval."""
    return call.get("id" if call.get("type") == ASKS else "call_id")


def accepted(output: Sequence[Node], name: str | None) -> list[Node]:
    """The outputs of the calls whose arguments are a value, those of the tool `name`: no call stays open behind it."""
    return [
        {"type": "function_call_output", "call_id": each["call_id"], "output": "accepted"}
        for each in output
        if name is not None and each["type"] == "function_call" and each.get("name") == name and each.get("call_id")
    ]


def answered_by(item: Mapping[str, Any]) -> str | None:
    """The id of the call that an item answers."""
    return item.get("approval_request_id" if item.get("type") == "mcp_approval_response" else "call_id")
