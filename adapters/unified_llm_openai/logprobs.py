"""Log probabilities of another protocol, in the form that both of OpenAI's surfaces require.

Every token has the list of its alternatives, which may be empty, and none has an id: tokens are identified by their
text.

https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import take_all
from unified_llm.engine.pairs.writing import Writer

from .demands import refused

__all__ = ["NO_ALTERNATIVES", "fit_alternatives", "take_logprobs", "trimmed"]

Node = dict[str, Any]

NO_ALTERNATIVES = "required; the source has no alternatives"
_KEYS = ("token", "logprob", "bytes")
_KNOWN = frozenset((*_KEYS, "top_logprobs"))


def fit_alternatives(c: Node, wire: Node, w: Writer) -> None:
    """Chat refuses a number of alternatives without `logprobs`: none are left out, others request them."""
    if not w.crosses or "logprobs" in wire or type(c.get("top_logprobs")) is not int:
        return
    if c["top_logprobs"] == 0:
        del c["top_logprobs"]
        w.report(w.doc, ("top_logprobs",), "lost", "it has no effect without log probabilities")
    elif refused("logprobs", w) is None:
        wire["logprobs"] = True
        w.added(wire, "logprobs", "required beside the number of alternatives")


def take_logprobs(c: Node, w: Writer) -> Any:
    """Pop the log probabilities of a text; what a token has beyond OpenAI's keys is left there and reported."""
    given = c["logprobs"]
    if not w.crosses or type(given) is not list or not _has_more(given):
        return c.pop("logprobs")
    out = []
    for token in take_all(c, "logprobs"):
        wire = _token(token)
        if type(token.get("top_logprobs")) is list and token["top_logprobs"]:
            wire["top_logprobs"] = [_token(each) for each in take_all(token, "top_logprobs")]
        elif "top_logprobs" in token:
            wire["top_logprobs"] = token.pop("top_logprobs")
        out.append(wire)
    return out


def trimmed(given: Any) -> Any:
    """The same for an event of a stream, of which the end of the item reports what is lost."""
    if type(given) is not list or not _has_more(given):
        return given
    out = [_token(token.copy()) for token in given]
    for wire, token in zip(out, given):
        if type(token.get("top_logprobs")) is list:
            wire["top_logprobs"] = [_token(each.copy()) for each in token["top_logprobs"]]
    return out


def _token(token: Node) -> Node:
    return {name: token.pop(name) for name in _KEYS if name in token}


def _has_more(tokens: list[Any]) -> bool:
    """Whether a list is one of tokens, of which one has keys that OpenAI's surfaces lack."""
    more = False
    for token in tokens:
        if type(token) is not dict:
            return False
        more = more or not token.keys() <= _KNOWN
        best = token.get("top_logprobs")
        if type(best) is list and best:
            if not all(type(each) is dict for each in best):
                return False
            more = more or any(not each.keys() <= _KNOWN for each in best)
    return more
