"""Probes: one small canonical document per capability and kind, as data (`probes/*.json`).

A probe contains its capability in a few places and holds little else. Places are paths down the canonical document:
`[type]` are the elements of a list that have that type, `*` all of them, `|` stands between places that mean the same,
`=` before the value (JSON) that means it there. Where protocols have several forms of one thing (a budget, an effort) a
capability has several documents; a source gets the first it can express. `$protocol` stands for the protocol of the
document. A stream's probe is the response's, as events, unless it has events of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..foundation.capabilities import CAPABILITIES

__all__ = ["KINDS", "UNPROBED", "Place", "Probe", "places", "plain", "probes"]

Node = dict[str, Any]

KINDS = ("request", "response", "stream", "error")
"""The kinds of documents that are probed."""

FOLDER = Path(__file__).with_name("probes")

UNPROBED: dict[str, dict[str, str]] = {
    "item.turn": {"": "grouping is form and never a loss: every writer groups by its target's rule"},
    "stream.detail": {"": "numbers and padding have no meaning; every writer makes its own"},
    "native.field": {"stream": "the response contains it; a stream repeats it"},
}
"""Capabilities without a probe, by kind ("" for all), and why."""


class Probe(NamedTuple):
    """One document that contains a capability: `bears` are the paths that must arrive, `only` its protocols."""

    capability: str
    kind: str
    bears: tuple[str, ...]
    document: Any
    only: tuple[str, ...] = ()

    def of(self, protocol: str) -> Any:
        """The document in the form of `protocol`: a copy of its own."""
        return _spoken(self.document, protocol.partition(":")[0])


class Place(NamedTuple):
    """A bearing leaf: its JSON pointer in the plain form of the document, its value, and what it means.

    Two leaves that mean the same are one thing in two forms; most mean their value.
    """

    pointer: str
    value: Any
    meaning: Any


@cache
def probes(kind: str) -> dict[str, tuple[Probe, ...]]:
    """Every probe of a kind by capability, in the order of the closed list.

    >>> probes("request")["sampling.seed"][0].document["seed"]
    7
    """
    name = "response" if kind == "stream" else kind
    told = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    if kind == "stream":
        told |= json.loads((FOLDER / "stream.json").read_text("utf-8"))
    found = {}
    for capability in (each for each in CAPABILITIES if each in told):
        if kind in UNPROBED.get(capability, ()):
            continue
        found[capability] = tuple(
            Probe(
                capability,
                kind,
                tuple(entry["bears"]),
                _whole(entry["document"], name),
                tuple(entry.get("only", ())),
            )
            for entry in told[capability]
        )
    return found


_ASKED: Node = {"model": "probe", "input": [{"type": "message", "role": "user", "content": "Hi"}]}
_ANSWERED: Node = {
    "id": "resp_probe",
    "created_at": 1760000000,
    "model": "probe",
    "status": "completed",
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}],
}


def _whole(document: Any, kind: str) -> Any:
    """With what every document of the kind has."""
    if kind == "error" or type(document) is not dict:
        return document
    whole = {**(_ASKED if kind == "request" else _ANSWERED), **document}
    return {key: value for key, value in whole.items() if value is not None}


def _spoken(value: Any, protocol: str) -> Any:
    if type(value) is dict:
        return {key.replace("$protocol", protocol): _spoken(inner, protocol) for key, inner in value.items()}
    if type(value) is list:
        return [_spoken(inner, protocol) for inner in value]
    return value.replace("$protocol", protocol) if type(value) is str else value


# ---- finding the values of a capability ------------------------------------------------------------------------------


def places(document: Any, bears: Sequence[str], protocol: str) -> list[Place]:
    """The bearing leaves of a document in plain form (`plain`), in their order."""
    found: list[Place] = []
    for paths in bears:
        for path in paths.replace("$protocol", protocol.partition(":")[0]).split("|"):
            path, told, value = path.partition("=")
            for at, leaf in _below(document, path.split("/"), ""):
                if not told:
                    found.append(Place(at, leaf, leaf))
                elif leaf == json.loads(value):
                    found.append(Place(at, leaf, paths))
    return found


def _below(node: Any, steps: list[str], at: str) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield at, node
        return
    step, rest = steps[0], steps[1:]
    if type(node) is list:
        for index, inner in enumerate(node):
            if step == "*" or (type(inner) is dict and f"[{inner.get('type')}]" == step):
                yield from _below(inner, rest, f"{at}/{index}")
    elif type(node) is dict and step in node:
        yield from _below(node[step], rest, f"{at}/{step}")


def plain(document: Any) -> Any:
    """A canonical document in the one of its equal forms that places are looked up in.

    Content is parts, a lone input string is a message, system texts before the conversation are instructions, and a
    result that is one text is a string.
    """
    if type(document) is not dict:
        return document
    out = dict(document)
    items = out.get("input")
    if type(items) is str:
        items = [{"type": "message", "role": "user", "content": items}]
    if type(items) is list:
        told = _parts(out.get("instructions"), "input_text")
        leading = 0
        while leading < len(items) and items[leading].get("role") in ("system", "developer"):
            told += _parts(items[leading].get("content"), "input_text")
            leading += 1
        out["input"] = [_item(item) for item in items[leading:]]
        if told:
            out["instructions"] = told
    if type(out.get("output")) is list:
        out["output"] = [_item(item) for item in out["output"]]
    if type(out.get("choices")) is list:
        out["choices"] = [
            {**each, "output": [_item(item) for item in each.get("output") or ()]} for each in out["choices"]
        ]
    return out


def _item(item: Any) -> Any:
    if type(item) is not dict:
        return item
    if item.get("type") == "message":
        type_ = "output_text" if item.get("role") == "assistant" else "input_text"
        return {**item, "content": _parts(item.get("content"), type_)}
    result = item.get("output")
    if type(result) is list and len(result) == 1 and type(result[0]) is dict and type(result[0].get("text")) is str:
        return {**item, "output": result[0]["text"]}
    return item


def _parts(content: Any, type_: str) -> list[Any]:
    if type(content) is list:
        return list(content)
    return [{"type": type_, "text": content}] if type(content) is str else []
