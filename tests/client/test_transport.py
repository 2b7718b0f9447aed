"""Official SDKs over transports of ours, over strict upstreams of every protocol: plain, streamed, in tool loops, in
threads and event loops. What is said is what the upstream said, under the model's name that the SDK asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from client.pairs import TWO, Pair, modes, protocols, surfaces
from sdk_surfaces import Contents, Surface


@surfaces
@protocols
@modes
def test_what_the_upstream_says(surface: type[Surface], protocol: str, mode: str) -> None:
    pair = Pair(surface, protocol)
    pair.sdk.ask("[[reason Hm.]] Good morning, Oslo.")
    said = pair.call(mode)
    assert said.text.strip() == "Good morning, Oslo." and not said.calls
    assert said.model == pair.sdk.alias
    (seen,) = pair.service.seen
    assert seen.protocol == protocol and seen.ended in ("done", "closed")


@surfaces
@protocols
@pytest.mark.parametrize("mode", ["stream", "async plain"])
def test_a_tool_loop_with_parallel_calls(surface: type[Surface], protocol: str, mode: str) -> None:
    pair = Pair(surface, protocol)
    pair.sdk.ask(TWO)
    first = pair.call(mode)
    assert [(call.name, call.arguments) for call in first.calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]
    assert len({call.id for call in first.calls}) == 2
    pair.sdk.give(first.calls[0], "4 degrees")
    pair.sdk.give(first.calls[1], "20 degrees")
    assert pair.call(mode).text == "get_weather: 4 degrees\nget_weather: 20 degrees"
    assert [seen.status for seen in pair.service.seen] == [200, 200], "the strict upstream takes what it is sent"


def opaque(value: Any) -> Iterator[str]:
    """What providers sign and encrypt, wherever it stands in a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("signature", "encrypted_content", "thoughtSignature") and isinstance(inner, str):
                yield inner
            else:
                yield from opaque(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from opaque(inner)


SIGNING = ["anthropic-messages", "google-generate-content", "google-interactions", "openai-responses"]


@surfaces
@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("mode", ["plain", "async stream"])
@pytest.mark.parametrize("echoing", [True, False], ids=["echoes", "drops"])
def test_a_conversation_keeps_its_mind(surface: type[Surface], protocol: str, mode: str, echoing: bool) -> None:
    """Signatures come home byte for byte; who keeps nothing but words and calls is helped by the vault."""
    pair = Pair(surface, protocol)
    answers: list[bytes] = []
    pair.upstream.http_client.event_hooks = {"response": [lambda r: answers.append(r.read())]}  # type: ignore[union-attr]

    async def keep(response: httpx2.Response) -> None:
        answers.append(await response.aread())

    pair.upstream.async_http_client.event_hooks = {"response": [keep]}  # type: ignore[union-attr]
    pair.sdk.ask(TWO)
    first = pair.call(mode)
    if not echoing:
        pair.sdk.history[:] = [bare(each) for each in pair.sdk.history]
        pair.sdk.history[:] = [each for each in pair.sdk.history if each]
    for call in first.calls:
        pair.sdk.give(call, "mild")
    pair.call(mode)
    signed = [each for each in opaque(pair.service.seen[1].body) if not each.startswith("skip")]
    assert signed, "the upstream's own signatures are back"
    # Google's SDK decodes base64 and spells it anew in the alphabet of URLs.
    said = answers[0].decode().replace("-", "+").replace("_", "/")
    assert all(each.replace("-", "+").replace("_", "/") in said for each in signed), "and nothing else is"


def bare(turn: Any) -> Any:
    """A turn as a careless client keeps it: words and calls, and no more."""
    if turn.get("type") in ("reasoning", "thought"):
        return None
    kept = {key: value for key, value in turn.items() if key not in ("signature", "extra_content", "reasoning_details")}
    kept.pop("reasoning_content", None)
    for key in ("content", "parts", "tool_calls"):
        if isinstance(kept.get(key), list):
            kept[key] = [
                _bare_part(each) for each in kept[key] if not each.get("thought") and each.get("type") not in _MIND
            ]
    return kept


_MIND = ("thinking", "redacted_thinking")


def _bare_part(part: Any) -> Any:
    return {key: value for key, value in part.items() if key not in ("thoughtSignature", "extra_content", "signature")}


@pytest.mark.parametrize("protocol", SIGNING)
@pytest.mark.parametrize("signed", [True, False], ids=["keeps signatures", "drops them too"])
def test_calls_that_lost_their_ids_get_them_back(protocol: str, signed: bool) -> None:
    """LangChain's Gemini sends calls and results without the ids they came with; what is signed may be for an id."""
    pair = Pair(Contents, protocol)
    history: list[Any] = pair.sdk.history
    for city in ("Oslo", "Rome"):
        pair.sdk.ask(
            f"[[reason Well.]] [[call get_weather city={city}]] [[call get_weather city=Bonn]] [[then]] [[results]]"
        )
        for call in pair.call("stream").calls:
            pair.sdk.give(call, f"mild as {city}")
        _drop_ids(history, signed)
        assert pair.call("stream").text == f"get_weather: mild as {city}\nget_weather: mild as {city}"
        _drop_ids(history, signed)
    assert [seen.status for seen in pair.service.seen] == [200] * 4
    seen = json.dumps(pair.service.seen[3].body)
    assert "call_ulm_" not in seen, "the ids are the provider's own"


def _drop_ids(history: list[Any], signed: bool) -> None:
    history[:] = [turn if signed else bare(turn) for turn in history]
    for turn in history:
        for part in turn["parts"]:
            for key in ("functionCall", "function_response"):
                part.get(key, {}).pop("id", None)
