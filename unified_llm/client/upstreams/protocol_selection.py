"""Which protocol of a provider a request is sent in: the one with the least losses.

Client and transports call this for each request, with the upstream of a name; it holds its other
protocols. The dry run over all of them (`unified_llm.models.select`) is done once for requests of one shape: which
fields and kinds of nodes there are decides between protocols, and which word a setting has, not the texts. What
decided is in `Upstream.why`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...foundation.errors import CapabilityRefused, InvalidBody, UnknownProvider
from ...models.selection import Candidate, ProtocolChoice, select
from .upstream import Upstream

__all__ = ["settled", "shape_of"]

_MOST = 1_000
_REASONS = 3  # listed of each rejected protocol
_LONGEST = 40  # of a word in a list: what to include, where to stop
_chosen: dict[Any, str] = {}
_told: dict[Any, str] = {}


class _Reasons:
    """A text that is made when it is first read: to weigh the protocols behind the best one loads their adapters."""

    __slots__ = ("_make", "_text")

    def __init__(self, make: Callable[[], str]) -> None:
        self._make: Callable[[], str] | None = make
        self._text = ""

    def __str__(self) -> str:
        make = self._make
        if make is not None:
            # In this order: another thread may read in between. The function holds a request, and is let go.
            self._text = make()
            self._make = None
        return self._text


def settled(upstream: Upstream, body: Any, source: str | None = None) -> Upstream:
    """The upstream in the protocol that carries most of a request: a wire document of `source`, or a canonical one.

    One without `others` stays as it is, and so does one without a possible dry run: an invalid request fails
    when it is converted.
    """
    model = upstream.model or (body.get("model") if isinstance(body, dict) else None)
    if not upstream.others or upstream.provider is None or not isinstance(body, dict) or not isinstance(model, str):
        return upstream
    # A dialect is the upstream's own matter.
    offered = {each.protocol.partition(":")[0]: each for each in (*upstream.others, upstream)}
    key = (upstream.provider, model, source, *offered, shape_of(body))
    ask = partial(_select, upstream.provider, model, body, source)
    protocol = _kept(_chosen, key, lambda: choice.protocol if (choice := ask(thorough=False)) else "")
    best = offered.get(protocol)
    if best is None:
        return upstream
    reasons = _Reasons(lambda: _kept(_told, key, lambda: _passed_by(ask())))
    return best.with_(reasons=reasons, others=())


def _kept(kept: dict[Any, str], key: Any, make: Callable[[], str]) -> str:
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST:
            kept.clear()  # all at once, because threads share it
        found = kept[key] = make()
    return found


def _select(
    provider: str, model: str, body: dict[str, Any], source: str | None, thorough: bool = True
) -> ProtocolChoice | None:
    asked = {"model": model, **{name: value for name, value in body.items() if name != "model"}}
    try:
        return select(provider, model, asked, source=source, thorough=thorough)
    except (CapabilityRefused, InvalidBody, UnknownProvider, ValueError):
        return None


def _passed_by(choice: ProtocolChoice | None) -> str:
    return "; ".join(_against(each) for each in choice.ranked[1:]) if choice is not None else ""


def _against(candidate: Candidate) -> str:
    """Why not this one, in a line."""
    reasons = (
        [candidate.impossible] if candidate.impossible else [each.text for each in candidate.reasons if each.weight]
    )
    more = f", and {len(reasons) - _REASONS} more" if len(reasons) > _REASONS else ""
    said = ", ".join(reasons[:_REASONS]) or "no fewer losses, and later in the provider's order"
    return f"not {candidate.endpoint.protocol}: {said}{more}"


def shape_of(body: dict[str, Any]) -> frozenset[Any]:
    """What of a request decides between protocols, canonical or of any wire: keys, kinds of nodes, words of settings.

    >>> one = {"input": [{"type": "message", "role": "user", "content": "Hi"}], "seed": 1}
    >>> shape_of(one) == shape_of({**one, "input": [{"type": "message", "role": "user", "content": "Hello"}] * 9})
    True
    >>> shape_of(one) == shape_of({**one, "top_k": 3}), shape_of({"store": True}) == shape_of({"store": False})
    (False, False)
    """
    return frozenset(_marks(body))


def _marks(body: dict[str, Any]) -> Iterator[Any]:
    for name, value in body.items():
        kind = type(value)
        yield name, kind, _mark(value)
        if kind is dict:
            yield from _settings(name, value)
            for key, inner in value.items():
                if type(inner) is dict:
                    yield from _settings(key, inner)
        elif kind is list:
            if value and type(value[0]) is str:
                yield name, *(each if type(each) is str and len(each) <= _LONGEST else type(each) for each in value)
            for node in value:
                if type(node) is dict:
                    yield name, node.get("type"), node.get("role"), *node
                    for key, inner in node.items():
                        if type(inner) is list:
                            for part in inner:
                                if type(part) is dict:
                                    yield name, key, part.get("type"), *part


def _settings(name: str, table: dict[str, Any]) -> Iterator[Any]:
    for key, value in table.items():
        yield name, key, type(value), _mark(value)


def _mark(value: Any) -> Any:
    """What of a setting may decide: its word, whether it is on, whether there is none, one or more of it."""
    kind = type(value)
    if kind is bool:
        return value
    if kind is int:
        return min(value, 2)
    if kind is str and len(value) <= _LONGEST and value.isalpha() and value.islower():
        return value
    return bool(value)
