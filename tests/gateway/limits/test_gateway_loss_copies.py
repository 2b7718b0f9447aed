"""The losses that a client finds in a response are those of the stored response, whichever way it was made."""

from __future__ import annotations

import json

import pytest

from gateway.background import begun, ended, streamed
from gateway.serving import House

PATH = "/v1/responses"


def last_of(text: str) -> dict[str, dict[str, str]]:
    """The response in the last event of a stream."""
    found: dict[str, dict[str, str]] = json.loads(text.rpartition("data: ")[2])["response"]
    return found


@pytest.mark.parametrize("where", ["body", "both", "header"])
def test_a_stored_stream_has_the_losses_that_were_sent(house: House, where: str) -> None:
    gateway = house.gateway(telemetry={"losses": where})
    body = {
        "model": "anthropic-messages",
        "input": "Hi",
        "service_tier": "flex",
        "metadata": {"a": "b"},
        "stream": True,
    }
    sent = last_of(house.ask(gateway, "POST", PATH, json=body).text)
    told = json.loads(sent["metadata"].get("unified_llm.losses", "null"))
    assert (told is not None) == (where != "header")
    assert told is None or "service.tier" in [capability for _, capability, _ in told["first"]]
    stored = house.ask(gateway, "GET", f"{PATH}/{sent['id']}").json()
    assert stored["metadata"] == sent["metadata"]


def test_a_conversation_is_named_beside_the_losses(house: House) -> None:
    gateway = house.gateway(telemetry={"losses": "body"})
    made = house.ask(gateway, "POST", "/v1/conversations", json={}).json()["id"]
    body = {"model": "anthropic-messages", "input": "Hi", "service_tier": "flex", "stream": True, "conversation": made}
    sent = last_of(house.ask(gateway, "POST", PATH, json=body).text)
    assert sent["conversation"] == {"id": made} and "unified_llm.losses" in sent["metadata"]


def test_a_run_has_its_losses_at_its_end(house: House) -> None:
    gateway = house.gateway(telemetry={"losses": "body"})
    run = begun(house, gateway, PATH, "anthropic-messages", service_tier="flex")
    found = ended(house, gateway, PATH, run["id"])
    assert "service.tier" in found["metadata"]["unified_llm.losses"]
    shown = streamed(house, gateway, PATH, run["id"])
    assert last_of(shown)["metadata"] == found["metadata"]
    assert shown.count("unified_llm.losses") == 1, "in the last event alone"
