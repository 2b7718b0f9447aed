"""Log probabilities: a candidate's two parallel lists to tokens of its text, each with its alternatives, and back.

https://ai.google.dev/api/generate-content#LogprobsResult
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import take, take_all
from unified_llm.engine.pairs.reading import Reader

__all__ = ["are_tokens", "read_logprobs", "write_logprobs"]

Node = dict[str, Any]

_TOKEN = (("token", "token"), ("logProbability", "logprob"), ("tokenId", "token_id"))
_NAMES = frozenset(name for name, _ in _TOKEN)


def _tokens(value: Any) -> list[Node] | None:
    if type(value) is not list or not all(type(each) is dict and each.keys() <= _NAMES for each in value):
        return None
    return [{hub: each[name] for name, hub in _TOKEN if name in each} for each in value]


def read_logprobs(own: Node, part: Node, at: tuple[Any, ...], r: Reader) -> None:
    """Pop the log probabilities of a candidate into its first text; what is not two lists of a length stays."""
    result = own.get("logprobsResult")
    if type(result) is not dict:
        return
    chosen = _tokens(result.get("chosenCandidates"))
    if not chosen:
        return
    if "topCandidates" in result:
        top = result["topCandidates"]
        if type(top) is not list or len(top) != len(chosen):
            return
        for each, token in zip(top, chosen):
            best = _tokens(each.get("candidates")) if type(each) is dict and each.keys() == {"candidates"} else None
            if best is None:
                return
            token["top_logprobs"] = best
    taken = take(own, "logprobsResult")
    del taken["chosenCandidates"]
    taken.pop("topCandidates", None)
    part["logprobs"] = chosen
    here = (..., *at, "logprobsResult")
    for index, token in enumerate(chosen):
        _place(part, token, ("logprobs", index), (*here, "chosenCandidates", index), r)
        for rank, best in enumerate(token.get("top_logprobs", ())):
            keys = ("logprobs", index, "top_logprobs", rank)
            _place(part, best, keys, (*here, "topCandidates", index, "candidates", rank), r)


def _place(part: Node, token: Node, keys: tuple[Any, ...], at: tuple[Any, ...], r: Reader) -> None:
    for name, hub in _TOKEN:
        if hub in token:
            r.place(part, (*keys, hub), (*at, name))


def are_tokens(value: Any) -> bool:
    """Whether a list holds tokens, and their alternatives do as well."""
    return type(value) is list and all(
        type(each) is dict and (type(each.get("top_logprobs")) is not list or are_tokens(each["top_logprobs"]))
        for each in value
    )


def write_logprobs(c: Node) -> Node:
    """The `logprobsResult` of a text part's `logprobs`, which are consumed."""
    chosen: list[Node] = []
    top: list[Node] = []
    for token in take_all(c, "logprobs"):
        chosen.append({name: token.pop(hub) for name, hub in _TOKEN if token.get(hub) is not None})
        if type(token.get("top_logprobs")) is list:
            best = take_all(token, "top_logprobs") if token["top_logprobs"] else token.pop("top_logprobs")
            top.append({"candidates": [{name: each.pop(hub) for name, hub in _TOKEN if hub in each} for each in best]})
    return {"chosenCandidates": chosen, **({"topCandidates": top} if len(top) == len(chosen) else {})}
