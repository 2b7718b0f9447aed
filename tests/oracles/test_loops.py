"""A client of one protocol in front of a strict provider of another, through our adapters: tool loops with reasoning,
where every signature has to come back on the part it was made for.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from oracles import mounts
from oracles.surfaces import (
    CHAT,
    HEADERS,
    INTERACTIONS,
    PROTOCOLS,
    TOOLS,
    Node,
    calls,
    client,
    path,
    request,
    said,
    then,
)
from oracles.test_cross import MODELS

SECRET = "of the process between them"


def ask(surface: str, provider: str, body: Node, service: mounts.Oracle) -> tuple[Node, Any]:
    """One exchange: the answer as the client sees it, and the request that the provider got."""
    sent = ul.convert(body, source=surface, target=provider, model=MODELS[provider], repair="always", secret=SECRET)
    headers = {**HEADERS.get(provider, {}), **((sent.http or {}).get("headers") or {})}
    with client(service) as http:
        response = http.post(path(provider).replace("echo", MODELS[provider]), json=sent.value, headers=headers)
    assert response.status_code == 200, f"{response.text}\n{json.dumps(sent.value)}"
    back = ul.convert(
        response.json(),
        source=provider,
        target=surface,
        kind="response",
        exchange=sent.exchange,
        facing="client",
        secret=SECRET,
    )
    found: Node = back.value
    return found, sent.value


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("surface", PROTOCOLS)
def test_a_loop_of_four_turns_with_reasoning(surface: str, provider: str) -> None:
    service = mounts.Oracle()
    steps = ("[[reason Both.]] Look. [[parallel]]", "[[reason Once more.]] [[call read_clock]]", "Done: [[results]]")
    body = request(surface, " [[then]] ".join(steps), TOOLS)
    first, _ = ask(surface, provider, body, service)
    assert [name for _, name, _ in calls(surface, first)] == ["get_weather", "read_clock"]
    body = then(surface, body, first)
    second, _ = ask(surface, provider, body, service)
    assert [name for _, name, _ in calls(surface, second)] == ["read_clock"]
    body = then(surface, body, second)
    third, _ = ask(surface, provider, body, service)
    assert said(surface, third) == "Done: read_clock: result of read_clock"
    body = then(surface, body, third, text="[[reason And now?]] Bye.")
    fourth, sent = ask(surface, provider, body, service)
    assert said(surface, fourth) == "Bye."
    if provider != CHAT and surface != CHAT:
        assert "CgRlY2hvEh" in json.dumps(sent), "no signature came back to the provider that made it"


@pytest.mark.parametrize("surface", PROTOCOLS)
def test_a_conversation_that_changes_its_provider_at_every_turn(surface: str) -> None:
    """Each strict provider takes what the others made, and its own signatures again when the turn comes back to it."""
    service = mounts.Oracle()
    body = request(surface, "[[reason First.]] Look. [[parallel]]", TOOLS)
    for number, provider in enumerate(
        [*PROTOCOLS, *reversed(PROTOCOLS), *PROTOCOLS[::2], *PROTOCOLS[1::2], *PROTOCOLS]
    ):
        found, _ = ask(surface, provider, body, service)
        asked = "" if calls(surface, found) else f"[[reason Turn {number}.]] Look. [[parallel]]"
        body = then(surface, body, found, text=asked)


@pytest.mark.parametrize("text", ["[[reason Only.]]", "[[refuse No.]]"])
@pytest.mark.parametrize("surface", PROTOCOLS)
def test_an_answer_without_a_text_goes_on_with_another_provider(surface: str, text: str) -> None:
    """Nothing but thoughts, which reach no other provider, or a refusal without words: no empty message is left."""
    service = mounts.Oracle()
    for first in PROTOCOLS:
        body = request(surface, text)
        found, _ = ask(surface, first, body, service)
        body = then(surface, body, found, text="And now?")
        for provider in PROTOCOLS:
            if provider != first or provider != INTERACTIONS:  # its oracle takes no thought without its step
                ask(surface, provider, body, service)
