"""A gateway that logs its requests."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from gateway.serving import House
from gateway.test_gateway_access import ROUTES
from upstreams import Canned

CHAT_PATH, MESSAGES_PATH = ROUTES["openai-chat"], ROUTES["anthropic-messages"]
BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "my secret plan"}]}
LOG: dict[str, Any] = {"log": "logging"}


def over(house: House, *canned: Canned, telemetry: Any = LOG, **tables: Any) -> Any:
    ups = {f"up{number}": each.upstream for number, each in enumerate(canned)}
    models = {"m": list(ups), "M": ["up0"]}
    return house.gateway(ups, models=models, telemetry=telemetry, **tables)


def post(house: House, gateway: Any, path: str = CHAT_PATH, headers: Any = None, **more: Any) -> httpx2.Response:
    return house.ask(gateway, "POST", path, json={**BODY, **more}, headers=headers)


def lines(gateway: Any) -> list[dict[str, Any]]:
    return [json.loads(each) for each in gateway.recorder.kept]
