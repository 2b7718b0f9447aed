"""Signatures and encrypted reasoning survive a round trip over another client surface, and reach no other provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import unified_llm as ul

from ..models.profiles import shares_signature
from ..provenance.opaque import is_sealed
from .outcome import Failure, Record, canonical, checked
from .walk import dumps, leaves

__all__ = ["foreign_minds", "forgetful_minds", "minds", "minds_of_conversations"]

History = Callable[[Any], Any]
Piece = tuple[str, str, str]

SECRET = "the secret of the suite"


def minds(
    provider: str, surface: str, records: Iterable[Record], history: History, fold: History | None = None
) -> list[Failure]:
    """Answers of `provider` go to a client of `surface` and come back in its next request, every opaque byte in order.

    `history` makes the surface's next request of the answer a client got (`{..., "messages": [..., answer]}`), `fold`
    the answer of a stream's wire events as the client accumulates them. No envelope may reach the provider.
    """
    failures = []
    for record in checked(records):
        wanted = _told(record, provider)
        if not wanted:
            continue
        if record["kind"] == "stream":
            assert fold is not None
            told = fold(list(ul.convert_stream(record["events"], source=provider, target=surface, secret=SECRET)))
        else:
            told = ul.convert(record["body"], source=provider, target=surface, kind="response", secret=SECRET).value
        failures += _home(record, history(told), provider, surface, wanted)
    return failures


def minds_of_conversations(provider: str, surface: str, records: Iterable[Record]) -> list[Failure]:
    """Whole histories of `provider` as clients of `surface` hold them, and back: every opaque byte, part and order."""
    failures = []
    for record in checked(records, "body"):
        wanted = list(_pieces(canonical(record["body"], provider, "request").get("input") or [], provider))
        if wanted:
            held = ul.convert(record["body"], source=provider, target=surface, facing="client", secret=SECRET).value
            failures += _home(record, held, provider, surface, wanted)
    return failures


def forgetful_minds(
    provider: str, surface: str, records: Iterable[Record], history: History, forget: History, asked: Any
) -> list[Failure]:
    """The same as `minds` for clients that drop unknown fields: `forget` does it to a request; a vault helps.

    `asked` is the request of the surface that the answers are to, as `history` has it before them.

    An answer of which a client is shown neither text nor a call has nothing to be recognized by, and is not looked for.
    """
    from ..provenance.answer_envelope import shown

    failures = []
    for record in checked(records, "body"):
        wanted = _told(record, provider)
        if not wanted:
            continue
        vault = ul.MemoryVault()
        exchange = ul.convert(asked, source=surface, target=provider, vault=vault).exchange
        response: dict[str, Any] = {"kind": "response", "vault": vault, "exchange": exchange}
        told = ul.convert(record["body"], source=provider, target=surface, **response).value
        if not any(shown(canonical(told, surface, "response").get("output") or [])):
            continue
        failures += _home(record, forget(history(told)), provider, surface, wanted, vault)
    return failures


def foreign_minds(
    source: str, target: str, records: Iterable[Record], public: frozenset[str] = frozenset()
) -> list[Failure]:
    """No opaque piece of `source` is in what a provider of `target` is sent, but for `public` placeholders.

    A signature that is valid for the same model at both (`shares_signature`) is none of the foreign ones.
    """
    failures = []
    for record in checked(records, "body"):
        read = canonical(record["body"], source, "request")
        here, there = ({"protocol": each, "model": read.get("model")} for each in (source, target))
        pieces = {data for _, kind, data in _pieces(read, source) if not shares_signature(kind, here, there)} - public
        if not pieces:
            continue
        sent = ul.convert(record["body"], source=source, target=target).value
        text, said = dumps(sent), {value for _, value in leaves(sent) if type(value) is str}
        # A short one may be part of any word by chance, and is looked for as a whole.
        leaked = [piece for piece in pieces if piece in said or (len(piece) > 8 and _holds(text, piece))]
        failures += [Failure(record["id"], "", f"{piece[:40]}... reached {target}") for piece in leaked]
        failures += _envelopes(record, sent)
    return failures


def _holds(text: str, piece: str) -> bool:
    return piece in text or dumps(piece)[1:-1] in text


def _home(
    record: Record, held: Any, provider: str, surface: str, wanted: list[Piece], vault: ul.Vault | None = None
) -> list[Failure]:
    """What is wrong with the way of a client's request to the provider that its pieces are from."""
    # Repair may have to leave out reasoning whose follower this surface lost; that is a law of its own.
    request = ul.convert(held, source=surface, target=provider, repair="never", vault=vault, secret=SECRET).value
    found = list(_pieces(canonical(request, provider, "request").get("input") or [], provider))
    failures = _envelopes(record, request)
    if found != wanted:
        detail = f"{len(wanted)} opaque pieces went out, {len(found)} were restored"
        if len(found) == len(wanted):
            detail = "opaque pieces came home in another order, place or spelling"
        failures.append(Failure(record["id"], "", detail))
    return failures


def _envelopes(record: Record, sent: Any) -> list[Failure]:
    if any(is_sealed(text) for _, text in leaves(sent)):
        return [Failure(record["id"], "", "an envelope reached the provider")]
    return []


def _told(record: Record, provider: str) -> list[Piece]:
    """The pieces of an answer. In a stream the end of an item is the truth, not what the end of the stream repeats."""
    if record["kind"] != "stream":
        return list(_pieces(canonical(record["body"], provider, "response").get("output") or [], provider))
    events = list(ul.read_stream(record["events"], provider))
    if not any(event["type"] in ("response.completed", "response.incomplete") for event in events):
        return []  # cut off: no client gets an answer of it
    done = [event for event in events if event["type"] == "response.output_item.done" and not event.get("choice")]
    return list(_pieces([event["item"] for event in done], provider))


def _entries(data: str) -> list[str]:
    """A piece that is a list of entries, one by one: two lists may come back as the one there is room for."""
    try:
        entries = json.loads(data) if data[:2] == "[{" else None
    except ValueError:
        entries = None
    return [data] if entries is None else list(map(dumps, entries))


def _pieces(value: Any, protocol: str, bearer: str = "") -> Iterator[Piece]:
    """(type of the bearer, kind, data) of every opaque piece of a protocol, in document order."""
    if type(value) is list:
        for inner in value:
            yield from _pieces(inner, protocol, bearer)
    elif type(value) is dict:
        bearer = str(value.get("type", bearer))
        for piece in value.get("opaque") or ():
            if (piece.get("origin") or {}).get("protocol") == protocol and piece.get("data"):
                for each in _entries(piece["data"]):
                    yield bearer, piece["kind"], each
        for key, inner in value.items():
            if key not in ("opaque", "extra"):
                yield from _pieces(inner, protocol, bearer)
