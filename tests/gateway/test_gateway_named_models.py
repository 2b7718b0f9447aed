"""Models that a body names beside its own: a key has to be allowed each one of them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from gateway.serving import House
from unified_llm.gateway.app import Gateway
from upstreams import CHAT, MESSAGE, Canned

AUTH = {"authorization": "Bearer blue", "content-type": "application/json"}
RESPONSE = {"id": "resp_1", "object": "response", "status": "completed", "created_at": 1, "model": "a", "output": []}
CONTENT = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
USER = [{"role": "user", "content": "Hi"}]
CHAT_BODY = {"model": "or/a", "messages": USER}
MESSAGES_BODY = {"model": "or/a", "max_tokens": 9, "messages": USER}
RESPONSES_BODY = {"model": "or/a", "input": "Hi", "store": False}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def made(house: House, *models: str, answer: Any = CHAT, protocol: str = "openai-chat") -> tuple[Gateway, Canned]:
    up = Canned(answer, protocol=protocol, model=None)
    key = {"sha256": hashlib.sha256(b"blue").hexdigest(), **({"models": list(models)} if models else {})}
    return house.gateway({"or": up.upstream}, keys={"blue": key}, models={"fast": "or/a"}), up


def sent(house: House, gateway: Gateway, path: str, body: Any) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return house.ask(gateway, "POST", path, content=content, headers=AUTH)


CASES: list[tuple[str, str, Any, Any]] = [
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"models": ["a", "b"]}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"models": ["b"], "route": "fallback"}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"Models": ["b"]}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"Model": "b"}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"fallbacks": ["b"]}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"plugins": [{"id": "auto-router", "allowed_models": ["b"]}]}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"plugins": [{"id": "fusion", "analysis_models": ["b"]}]}),
    ("openai-chat", "/v1/chat/completions", CHAT_BODY, {"extra_body": {"models": ["b"]}}),
    ("anthropic-messages", "/v1/messages", MESSAGES_BODY, {"fallbacks": [{"model": "b"}]}),
    ("anthropic-messages", "/v1/messages", MESSAGES_BODY, {"fallbacks": "b"}),
    ("anthropic-messages", "/v1/messages", MESSAGES_BODY, {"tools": [{"type": "advisor_20260301", "name": "advisor", "model": "b"}]}),  # noqa: E501
    ("openai-responses", "/v1/responses", RESPONSES_BODY, {"tools": [{"type": "image_generation", "model": "b"}]}),
    ("openai-responses", "/v1/responses", RESPONSES_BODY, {"models": ["b"]}),
    ("google-generate-content", "/v1beta/models/or%2Fa:generateContent", CONTENTS, {"model": "models/b"}),
    ("google-generate-content", "/v1beta/models/or%2Fa:generateContent", CONTENTS, {"generationConfig": {"routingConfig": {"manualMode": {"modelName": "b"}}}}),  # noqa: E501
]  # fmt: skip
ANSWERS = {"openai-chat": CHAT, "anthropic-messages": MESSAGE, "openai-responses": RESPONSE,
           "google-generate-content": CONTENT}  # fmt: skip


@pytest.mark.parametrize(("protocol", "path", "body", "more"), CASES)
def test_a_model_that_the_key_may_not_use_is_refused(
    house: House, protocol: str, path: str, body: Any, more: Any
) -> None:
    gateway, up = made(house, "or/a", "fast", answer=ANSWERS[protocol], protocol=protocol)
    assert sent(house, gateway, path, body).status_code == 200
    count = len(up.seen)
    refused = sent(house, gateway, path, {**body, **more})
    assert refused.status_code == 403, refused.text
    assert "this API key may not use model" in refused.text and "which the request names in" in refused.text
    assert len(up.seen) == count


@pytest.mark.parametrize("models", [("or/a", "or/b"), ("or/*",), ("or/a", "b"), ("*",), ()])
def test_models_that_the_key_may_use_are_sent(house: House, models: tuple[str, ...]) -> None:
    gateway, up = made(house, *models)
    body = {**CHAT_BODY, "models": ["a", "b"]}
    assert sent(house, gateway, "/v1/chat/completions", body).status_code == 200
    assert up.sent[0]["models"] == ["a", "b"]


def test_the_model_of_the_route_itself_may_be_named(house: House) -> None:
    gateway, up = made(house, "fast")
    body = {**CHAT_BODY, "model": "fast", "models": ["a", "fast"]}
    assert sent(house, gateway, "/v1/chat/completions", body).status_code == 200 and up.sent[0]["model"] == "a"


@pytest.mark.parametrize(
    "more",
    [
        {"messages": [{"role": "user", "content": "Hi", "model": "b"}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"model": "b"}}}}]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"model": "b"}}}},
        {"metadata": {"model": "b"}},
        {"modalities": ["text"]},
    ],
)
def test_what_names_no_model_to_answer_is_not_looked_at(house: House, more: Any) -> None:
    gateway, _ = made(house, "or/a")
    assert sent(house, gateway, "/v1/chat/completions", {**CHAT_BODY, **more}).status_code == 200


@pytest.mark.parametrize(
    "names", ['"model":"b","model":"or/a"', '"mod\\u0065l":"b","model":"or/a"', '"model":"or/a","mod\\u0065l":"or/a"']
)
def test_a_body_with_two_models_is_not_passed_through_as_it_is(house: House, names: str) -> None:
    """Some servers read the first one, others the last one."""
    gateway, up = made(house, "or/a")
    raw = f'{{{names},"messages":[{{"role":"user","content":"Hi"}}]}}'.encode()
    assert sent(house, gateway, "/v1/chat/completions", raw).status_code == 200
    content = up.seen[0].content
    assert content.count(b'"model"') == 1 and b"\\u0065" not in content and up.sent[0]["model"] == "a"


def test_of_two_models_the_last_one_is_checked(house: House) -> None:
    gateway, up = made(house, "or/a")
    raw = b'{"model":"or/a","model":"or/b","messages":[{"role":"user","content":"Hi"}]}'
    assert sent(house, gateway, "/v1/chat/completions", raw).status_code == 403
    assert not up.seen


def test_so_is_what_a_run_in_the_background_names(house: House) -> None:
    gateway, up = made(house, "or/a", answer=RESPONSE, protocol="openai-responses")
    body = {**RESPONSES_BODY, "store": True, "background": True, "models": ["b"]}
    assert sent(house, gateway, "/v1/responses", body).status_code == 403 and not up.seen


def test_a_body_goes_through_byte_for_byte_where_it_is_unambiguous(house: House) -> None:
    up = Canned(CHAT, model="a")
    key = {"sha256": hashlib.sha256(b"blue").hexdigest(), "models": ["a"]}
    gateway = house.gateway({"or": up.upstream}, keys={"blue": key}, models={"a": "or"})
    raw = b'{"model": "a",  "messages": [{"role": "user", "content": "a \\"model\\""}]}'
    assert sent(house, gateway, "/v1/chat/completions", raw).status_code == 200 and up.seen[0].content == raw
    twice = raw.replace(b'{"model"', b'{"model": "b", "model"', 1)
    assert sent(house, gateway, "/v1/chat/completions", twice).status_code == 200
    assert up.seen[1].content.count(b'"model"') == 1
