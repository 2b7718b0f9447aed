"""generateContent under the official SDK, over a mock transport."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types

import unified_llm as ul
from corpus import fixtures

GC = "google-generate-content"
Node = dict[str, Any]


def convert(body: Any, target: str = GC, source: str = GC, **options: Any) -> ul.Converted:
    return ul.convert(body, source=source, target=target, **options)


def fixture(name: str) -> Any:
    found = next(record for record in fixtures(GC) if record["id"] == f"{GC}/{name}")
    return found["events"] if found["kind"] == "stream" else found["body"]


def client(answer: Any) -> genai.Client:
    transport = httpx2.MockTransport(answer)
    options = types.HttpOptions(base_url="http://gateway.test", httpx_client=httpx2.Client(transport=transport))
    return genai.Client(api_key="none", http_options=options)


def test_a_unary_answer_reaches_the_sdk() -> None:
    seen: list[Node] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        chat = convert(seen[-1], "openai-chat", http={"path": request.url.path}).value
        assert chat["model"] == "m"
        message = {"role": "assistant", "content": "Hi!", "tool_calls": []}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        return httpx2.Response(200, json=convert(body, GC, "openai-chat", kind="response").value)

    got = client(answer).models.generate_content(model="m", contents="Hello")
    assert got.text == "Hi!"
    assert got.candidates and got.candidates[0].finish_reason == types.FinishReason.STOP
    assert got.usage_metadata and got.usage_metadata.total_token_count == 5
    assert seen


def test_a_stream_reaches_the_sdk() -> None:
    def chunk(delta: Node, finish: str | None = None) -> Node:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    events = [chunk({"role": "assistant", "content": "Wa"}), chunk({"content": "it"}), chunk({"tool_calls": [call]})]
    events.append(chunk({}, "tool_calls"))
    raw = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path.endswith(":streamGenerateContent")
        body = b"".join(ul.translate_sse([raw], source="openai-chat", target=GC))
        assert all(line.startswith(b"data: ") for line in body.splitlines() if line)
        return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})

    chunks = list(client(answer).models.generate_content_stream(model="m", contents="Hello"))
    parts = [part for chunk in chunks for c in chunk.candidates or () for part in (c.content and c.content.parts) or ()]
    assert "".join(part.text or "" for part in parts) == "Wait"
    calls = [part.function_call for part in parts if part.function_call]
    assert [(one.name, one.args, one.id) for one in calls] == [("f", {"a": 1}, "c1")]
    assert chunks[-1].candidates and chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP


def test_what_the_sdk_sends_is_read() -> None:
    seen: list[Node] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return httpx2.Response(200, json=fixture("response/text"))

    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        temperature=0.5,
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW),
        tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="f", parameters_json_schema={})])],
        safety_settings=[types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")],
    )
    client(answer).models.generate_content(model="m", contents="Hello", config=config)
    assert convert(seen[0]).value == seen[0]
    node = ul.read(seen[0], GC)
    assert node.instructions == "Be brief."
    assert node.reasoning.effort == "low" and node.reasoning.include is True
    assert node.safety_settings[0].category == "harassment"
    assert node.tools[0].name == "f"


def test_errors_raise_in_the_sdk() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        body = {"error": {"message": "Slow down.", "type": "rate_limit_error", "code": None, "param": None}}
        done = convert(body, GC, "openai-chat", kind="error", http={"status": 429})
        return httpx2.Response(done.http["status"], json=done.value)

    with pytest.raises(genai.errors.ClientError) as raised:
        client(answer).models.generate_content(model="m", contents="Hello")
    assert (raised.value.code, raised.value.status) == (429, "RESOURCE_EXHAUSTED")
