"""What a client sends back, and what it gets back, in growing conversations: ids, names and opaque data restored.

Each entry is a name, how the input of size n is made, and the operation over it (see `growth.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import unified_llm as ul
from benchmarks.growth_nodes import (
    PROTOCOLS,
    QUESTION,
    Node,
    answer,
    answered,
    asks,
    call,
    reasoning,
    result,
    said,
    tool,
)

__all__ = ["LARGEST", "returns"]

LARGEST = 2000
"""Each turn of an input is itself the result of a conversion."""
SECRET = "of a benchmark"
Entry = tuple[str, Callable[[int], Any], Callable[[Any], object]]

CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS = PROTOCOLS
# Who answers, and what its client uses.
_PAIRS = (
    (MESSAGES, CHAT),
    (GENERATE, MESSAGES),
    (RESPONSES, GENERATE),
    (INTERACTIONS, RESPONSES),
    (CHAT, INTERACTIONS),
)


def _wire(node: Node, protocol: str, kind: str) -> Any:
    return ul.write(node, protocol, kind, repair="never").value


def _renamed(client: str, provider: str, stream: bool) -> Callable[[int], Any]:
    """An answer that calls n tools by the provider's names, and the exchange with these."""

    def make(n: int) -> Any:
        asked = _wire(asks(QUESTION, tools=[tool(f"bad name! {i}") for i in range(n)]), client, "request")
        exchange = ul.convert(asked, source=client, target=provider).exchange
        sent = {known: name for name, known in exchange.names.items()}
        calls = [{**call(i), "name": sent.get(f"tool_bad name! {i}", "f")} for i in range(n)]
        if stream:
            return list(ul.write_stream(ul.decompose(answer(*calls)), provider)), exchange
        return _wire(answer(*calls), provider, "response"), exchange

    return make


def _answered_back(client: str, provider: str) -> Callable[[Any], object]:
    def run(given: Any) -> object:
        body, exchange = given
        return ul.convert(body, source=provider, target=client, kind="response", exchange=exchange).losses

    return run


def _streamed_back(client: str, provider: str) -> Callable[[Any], object]:
    def run(given: Any) -> object:
        frames, exchange = given
        stream = ul.convert_stream(frames, source=provider, target=client, exchange=exchange)
        return len(list(stream)), len(stream.losses)

    return run


def _shown(items: tuple[Node, ...], client: str, provider: str, **options: Any) -> Iterator[Node]:
    """What a client shows of an answer, and the results of the calls in it."""
    body = _wire(answer(*items), provider, "response")
    shown = ul.convert(body, source=provider, target=client, kind="response", **options).value
    given = ul.read(shown, client, "response").model_dump(mode="json", exclude_unset=True)["output"]
    yield from given
    yield from (result(item["call_id"]) for item in given if item["type"] == "function_call")


def _turns(client: str, provider: str) -> Callable[[int], Any]:
    """A conversation of n turns, with an envelope in each."""

    def make(n: int) -> Any:
        items: list[Node] = []
        for i in range(n):
            seen = answered(said(i)) if i % 3 == 0 else call(i)
            items += [QUESTION, *_shown((reasoning(i, provider), seen), client, provider, secret=SECRET)]
        return _wire(asks(*items, QUESTION), client, "request")

    return make


def _parked(client: str, provider: str) -> Callable[[int], Any]:
    """A conversation whose client dropped the opaque data of an answer with n calls, and the vault that kept it."""

    def make(n: int) -> Any:
        vault = ul.MemoryVault(limit=1 << 20)
        asked = ul.convert(_wire(asks(QUESTION), client, "request"), source=client, target=provider, vault=vault)
        pieces = tuple(node for i in range(n) for node in (reasoning(i, provider), call(i)))
        options = {"vault": vault, "exchange": asked.exchange}
        shown = [item for item in _shown(pieces, client, provider, **options) if item["type"] != "reasoning"]
        bare = [{key: value for key, value in item.items() if key != "opaque"} for item in shown]
        return _wire(asks(QUESTION, *bare, QUESTION), client, "request"), vault

    return make


def returns() -> Iterator[Entry]:
    for provider, client in _PAIRS:
        way = f"{client} < {provider}"
        yield f"exchange, back: calls: {way}", _renamed(client, provider, False), _answered_back(client, provider)
        yield f"exchange, stream: calls: {way}", _renamed(client, provider, True), _streamed_back(client, provider)
        yield (
            f"envelopes, back: turns: {way}",
            _turns(client, provider),
            lambda body, c=client, p=provider: ul.convert(body, source=c, target=p, secret=SECRET).losses,
        )
        yield (
            f"envelopes, elsewhere: turns: {way}",
            _turns(client, provider),
            lambda body, c=client: ul.convert(body, source=c, target=c, secret=SECRET).losses,
        )
        yield (
            f"vault, back: calls: {way}",
            _parked(client, provider),
            lambda given, c=client, p=provider: ul.convert(given[0], source=c, target=p, vault=given[1]).losses,
        )
