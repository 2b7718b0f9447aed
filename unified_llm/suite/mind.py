"""The law of the mind: opaque pieces survive a hop over another client surface, and reach nobody they are not from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import unified_llm as ul

from ..provenance import is_sealed
from .outcome import Failure, Record, canonical
from .walk import leaves

__all__ = ["foreign_minds", "minds"]

History = Callable[[Any], Any]


def minds(
    provider: str, surface: str, records: Iterable[Record], history: History, bearers: frozenset[str]
) -> list[Failure]:
    """Answers of `provider` go to a client of `surface` and come back in its next request, every opaque byte in order.

    `history` makes the surface's next request of the answer a client got (`{..., "messages": [..., answer]}`);
    `bearers` are the types of items and parts whose pieces are looked for. No envelope may reach the provider.
    """
    failures = []
    for record in records:
        read = canonical(record["body"], provider, "response")
        wanted = [piece for piece in _pieces(read.get("output") or [], provider) if piece[0] in bearers]
        if not wanted:
            continue
        told = ul.convert(record["body"], source=provider, target=surface, kind="response").value
        # Repair may have to leave out reasoning whose follower this surface lost; that is a law of its own.
        request = ul.convert(history(told), source=surface, target=provider, repair="never").value
        came = _pieces(canonical(request, provider, "request").get("input") or [], provider)
        found = [piece for piece in came if piece[0] in bearers]
        if found != wanted:
            detail = f"{len(wanted)} opaque pieces went out, {len(found)} came home"
            if len(found) == len(wanted):
                detail = "opaque pieces came home in another order, place or spelling"
            failures.append(Failure(record["id"], "", detail))
        if any(is_sealed(text) for _, text in leaves(request)):
            failures.append(Failure(record["id"], "", "an envelope reached the provider"))
    return failures


def foreign_minds(
    source: str, target: str, records: Iterable[Record], public: frozenset[str] = frozenset()
) -> list[Failure]:
    """No opaque piece of `source` is in what a provider of `target` is sent, but for `public` placeholders."""
    failures = []
    for record in records:
        read = canonical(record["body"], source, "request")
        pieces = {data for _, _, data in _pieces(read, source) if len(data) > 8} - public
        if not pieces:
            continue
        sent = ul.convert(record["body"], source=source, target=target).value
        leaked = [text for _, text in leaves(sent) if type(text) is str and (text in pieces or is_sealed(text))]
        failures += [Failure(record["id"], "", f"{text[:40]}... reached {target}") for text in leaked]
    return failures


def _pieces(value: Any, protocol: str, bearer: str = "") -> Iterator[tuple[str, str, str]]:
    """(type of the bearer, kind, data) of every opaque piece of a protocol, in document order."""
    if type(value) is list:
        for inner in value:
            yield from _pieces(inner, protocol, bearer)
    elif type(value) is dict:
        bearer = str(value.get("type", bearer))
        for piece in value.get("opaque") or ():
            if (piece.get("origin") or {}).get("protocol") == protocol and piece.get("data"):
                yield bearer, piece["kind"], piece["data"]
        for key, inner in value.items():
            if key not in ("opaque", "extra"):
                yield from _pieces(inner, protocol, bearer)
