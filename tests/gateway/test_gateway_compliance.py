"""Compliance suites through the gateway: llm-comply's tests of five formats, and those of Open Responses' WebSocket.

`python tests/gateway/test_gateway_compliance.py` runs every format over every upstream and prints what fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llm_comply")
pytest.importorskip("websockets")

import llm_comply
import openai
from llm_comply.config import ComplianceConfig
from llm_comply.runner import TestRunner as Runner
from llm_comply.schema import SpecLoader
from llm_comply.tests import get_tests
from websockets.sync.client import connect

from gateway.serving import PROTOCOLS, House, Served

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:llm_comply")  # RefResolver of jsonschema
SPECS = Path(llm_comply.__file__).parent / "specs"
KEYS = {"auth_header": "x-api-key", "use_bearer_prefix": False}
# With names of other models, tests are skipped.
MODELS = {"gpt-5-*": "*", "claude-sonnet-4-*": "*"}
FORMATS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "open-responses": ("openresponses.json", "/openresponses/v1", {}),
    "openai-chat": ("openai_chat.json", "/v1", {}),
    "anthropic": ("anthropic.json", "/v1", {**KEYS, "extra_headers": {"anthropic-version": "2023-06-01"}}),
    "google-genai": ("", "", {**KEYS, "auth_header": "x-goog-api-key"}),
    "google-interactions": ("", "", {**KEYS, "auth_header": "x-goog-api-key"}),
}
# docs/gateway.md has the reasons.
EXCEPTIONS = {
    ("anthropic", "*"): {"Tool Calling"},
    ("google-interactions", "*"): {"Thinking Config"},
    ("openai-chat", "openai-chat"): {"Reasoning Summary"},
    ("google-genai", "google-interactions"): {"Basic Text Response", "Streaming Response"},
}


@lru_cache
def spec(format_: str) -> SpecLoader:
    name = FORMATS[format_][0]
    return SpecLoader(str(SPECS / name) if name else None)


def failed(url: str, format_: str, protocol: str) -> dict[str, list[str]]:
    """The tests of a format that fail over an upstream, each with its errors."""
    _, root, options = FORMATS[format_]
    model = f"{'claude-sonnet-4' if format_ == 'anthropic' else 'gpt-5'}-{protocol}"
    given = ComplianceConfig(base_url=f"{url}{root}", api_key="unused", model=model, **options)
    found = Runner(given, get_tests(format_), spec(format_)).run_all().results
    assert all(each.status.value != "skipped" for each in found)
    return {each.name: each.errors for each in found if each.status.value == "failed"}


@pytest.fixture(scope="module")
def url(_house: House) -> Iterator[str]:
    gateway = _house.gateway(gateway={"listen": "127.0.0.1:0"}, models=MODELS)
    _house.gateways.remove(gateway)
    with Served(gateway) as served:
        yield served.url


@pytest.mark.parametrize("format_", FORMATS)
def test_llm_comply(url: str, format_: str) -> None:
    """Two upstreams of each format: all of them are in turn over the formats."""
    place = list(FORMATS).index(format_)
    for protocol in (PROTOCOLS[place], PROTOCOLS[place - 2]):
        excepted = EXCEPTIONS.get((format_, "*"), set()) | EXCEPTIONS.get((format_, protocol), set())
        found = failed(url, format_, protocol)
        assert set(found) == excepted, found


class Socket:
    """A connection whose events are checked against the specification."""

    def __init__(self, raw: Any, model: str) -> None:
        self.raw, self.model = raw, model

    def ask(self, **body: Any) -> dict[str, Any]:
        """The response to a request, or the error."""
        self.raw.send(json.dumps({"type": "response.create", "model": self.model, "store": False, **body}))
        while True:
            event = json.loads(self.raw.recv(timeout=30))
            if event["type"] == "error":
                return dict(event)
            errors = spec("open-responses").validate_sse_event(event["type"], event)
            assert not errors, (event, errors)
            if event["type"] in ("response.completed", "response.failed", "response.incomplete"):
                errors = spec("open-responses").validate(event["response"], "ResponseResource")
                assert not errors and event["response"]["status"] == "completed", errors
                return dict(event["response"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_open_responses_over_websocket(url: str, protocol: str) -> None:
    """The seven cases of the suite of openresponses.org, by its specification of 2026-04-24."""
    at = f"ws{url.removeprefix('http')}/openresponses/v1/responses"

    def asked(text: Any, **more: Any) -> dict[str, Any]:
        return socket.ask(input=text, **more)

    with connect(at) as raw:
        assert raw.response is not None and raw.response.headers["openresponses-version"] == "2026-04-24"
        socket = Socket(raw, f"gpt-5-{protocol}")
        first = asked("Hello")  # websocket-response
        asked([{"type": "message", "role": "user", "content": "Again"}])  # sequential responses
        second = asked("And?", previous_response_id=first["id"])  # continuation
        unknown = asked("Hi", previous_response_id="resp_unknown")
        assert (unknown["type"], unknown["status"]) == ("error", 400)
        assert unknown["error"]["code"] == "previous_response_not_found"
        output = [{"type": "function_call_output", "call_id": "call_unknown", "output": "x"}]
        assert asked(output, previous_response_id=second["id"])["type"] == "error"
        evicted = asked("Hi", previous_response_id=second["id"])
        assert evicted["error"]["code"] == "previous_response_not_found"
    with connect(at) as raw:
        socket = Socket(raw, f"gpt-5-{protocol}")
        lost = asked("Hi", previous_response_id=first["id"])  # reconnect without store
        assert lost["error"]["code"] == "previous_response_not_found"
        asked("A fresh start")
        with openai.OpenAI(base_url=f"{url}/openresponses/v1", api_key="unused") as client:
            model = f"gpt-5-{protocol}"
            compact = client.responses.compact(model=model, input=[{"role": "user", "content": "Remember 7."}])
        items = [item.model_dump(mode="json", exclude_none=True) for item in compact.output]
        asked([*items, {"type": "message", "role": "user", "content": "Go on"}])  # a new chain from a compaction


if __name__ == "__main__":
    house = House()
    with Served(house.gateway(gateway={"listen": "127.0.0.1:0"}, models=MODELS)) as served:
        for format_ in FORMATS:
            for protocol in PROTOCOLS:
                count = len(get_tests(format_))
                found = failed(served.url, format_, protocol)
                print(f"{format_} over {protocol}: {count - len(found)} of {count}", found or "", flush=True)
