"""Responses that a gateway stores."""

from __future__ import annotations

from typing import Any

from gateway.serving import House
from unified_llm.gateway.app import Gateway

RESPONSES, INTERACTIONS = "/v1/responses", "/v1beta/interactions"
PREVIOUS = {RESPONSES: "previous_response_id", INTERACTIONS: "previous_interaction_id"}


def create(house: House, gateway: Gateway, path: str, model: str, text: str, before: str = "", **more: Any) -> Any:
    headers = more.pop("headers", {})
    named = {PREVIOUS[path]: before} if before else {}
    done = house.ask(gateway, "POST", path, json={"model": model, "input": text, **named, **more}, headers=headers)
    assert done.status_code == 200, done.text
    return done.json()
