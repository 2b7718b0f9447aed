"""The upstream in memory: any SDK's requests, any protocol's answers, and what was lost between them."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types

import unified_llm as ul
from unified_llm.drift.upstream import FakeUpstream

PROTOCOLS = ul.protocols()
TOOL: Any = {
    "type": "function",
    "function": {"name": "now", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_openai_sdk_over_chat(protocol: str) -> None:
    upstream = FakeUpstream(protocol).calls("now", zone="UTC").returns("Noon.")
    client = openai.OpenAI(api_key="-", http_client=upstream.http_client())
    messages: list[Any] = [{"role": "user", "content": "Time?"}]
    first = client.chat.completions.create(model="m", messages=messages, tools=[TOOL], seed=7).choices[0]
    assert first.finish_reason == "tool_calls"
    assert first.message.tool_calls is not None
    call: Any = first.message.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("now", '{"zone":"UTC"}')
    messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": "12:00"}]
    assert (
        client.chat.completions.create(model="m", messages=messages, tools=[TOOL]).choices[0].message.content == "Noon."
    )
    assert len(upstream.requests) == 2
    assert "12:00" in str(upstream.requests[1])
    assert upstream.survives("sampling.seed") == (
        protocol not in ("openai-responses", "anthropic-messages", "amazon-converse")
    )


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "openai-chat:groq"])
def test_the_client_and_a_transport_take_it_and_their_own_losses_count(protocol: str) -> None:
    def now(zone: str) -> str:
        """The time."""
        return f"12:00 {zone}"

    upstream = FakeUpstream(protocol).calls("now", zone="UTC").returns("Noon.")
    run = ul.Client(upstream).responses.run(model="m", input="Time?", tools=[now], seed=7, top_k=3)
    assert (run.output_text, len(upstream.requests)) == ("Noon.", 2)
    lost = {loss.capability for loss in run.losses if loss.fate == "lost"}
    assert {loss.capability for loss in upstream.losses if loss.fate == "lost"} == lost
    for capability in ("sampling.seed", "sampling.top_k"):
        assert upstream.survives(capability) == (capability not in lost)

    async def streamed() -> str:
        async with ul.AsyncClient(upstream) as client:
            return (await (await client.responses.create(input="Hi", stream=True)).get_final_response()).output_text

    assert asyncio.run(streamed()) == "Noon."
    upstream = FakeUpstream(protocol).returns("Noon.")
    own = openai.OpenAI(api_key="-", http_client=ul.http_client(upstream))
    asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Time?"}], "seed": 7}
    assert own.chat.completions.create(**asked).choices[0].message.content == "Noon."
    assert upstream.survives("sampling.seed") == ("sampling.seed" not in lost)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_streams_and_the_other_surfaces(protocol: str) -> None:
    upstream = FakeUpstream(protocol).returns("Hello there.")
    client = openai.OpenAI(api_key="-", http_client=upstream.http_client())
    with client.responses.stream(model="m", input="Hi") as stream:
        assert stream.get_final_response().output_text == "Hello there."
    other = anthropic.Anthropic(api_key="-", http_client=upstream.http_client())
    asked: Any = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}
    assert other.messages.create(**asked).content[0].text == "Hello there."  # type: ignore[union-attr]
    with other.messages.stream(**asked) as told:
        assert told.get_final_text() == "Hello there."
    assert len(upstream.requests) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_google_sdk(protocol: str) -> None:
    upstream = FakeUpstream(protocol).returns("Hello there.")
    options = types.HttpOptions(httpx_client=upstream.http_client())
    client = genai.Client(api_key="-", http_options=options)
    assert client.models.generate_content(model="some-model", contents="Hi").text == "Hello there."
    streamed = client.models.generate_content_stream(model="some-model", contents="Hi")
    assert "".join(chunk.text or "" for chunk in streamed) == "Hello there."
    assert client.interactions.create(model="some-model", input="Hi").output_text == "Hello there."
    assert len(upstream.requests) == 3


def test_generate_content_by_its_paths() -> None:
    upstream = FakeUpstream("openai-chat").returns("Hello.")
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    root = "https://upstream.example/v1beta/models/some-model"
    with upstream.http_client() as client:
        answer = client.post(f"{root}:generateContent", json=body).json()
        assert answer["candidates"][0]["content"]["parts"][0]["text"] == "Hello."
        streamed = client.post(f"{root}:streamGenerateContent?alt=sse", json=body)
        assert streamed.headers["content-type"].startswith("text/event-stream")
        whole = client.post(f"{root}:streamGenerateContent", json=body).json()
        assert isinstance(whole, list)
    assert [request["model"] for request in upstream.requests] == ["some-model"] * 3
    assert "stream" not in upstream.requests[0]
    assert upstream.requests[1]["stream"] is True


def test_asynchronous_clients() -> None:
    upstream = FakeUpstream("google-interactions").returns("Hello.")

    async def ask() -> str | None:
        async with openai.AsyncOpenAI(api_key="-", http_client=upstream.async_http_client()) as client:
            messages: Any = [{"role": "user", "content": "Hi"}]
            answer = await client.chat.completions.create(model="m", messages=messages)
            return answer.choices[0].message.content

    assert asyncio.run(ask()) == "Hello."


def test_an_answer_may_follow_from_the_request() -> None:
    upstream = FakeUpstream("anthropic-messages")

    def echo(request: dict[str, Any]) -> dict[str, Any]:
        text = request["input"][0]["content"].upper()
        return {
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
        }

    upstream.answers.append(echo)
    with upstream.http_client() as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        answer = client.post("https://upstream.example/chat/completions", json=body).json()
    assert answer["choices"][0]["message"]["content"] == "HI"


def test_what_is_not_a_request_is_answered_with_an_error_of_the_surface() -> None:
    upstream = FakeUpstream("openai-responses")
    client = openai.OpenAI(api_key="-", http_client=upstream.http_client(), max_retries=0)
    with pytest.raises(openai.BadRequestError, match="messages"):
        client.chat.completions.create(model="m", messages="Hi")  # type: ignore[call-overload]
    with upstream.http_client() as plain:
        assert plain.get("https://upstream.example/v1/embeddings").status_code == 404
    assert upstream.requests == []


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ul.UnknownProtocol):
        FakeUpstream("carrier-pigeon")


def test_the_transport_opens_no_socket() -> None:
    client = FakeUpstream("openai-chat").http_client()
    assert isinstance(client, httpx2.Client)
    assert client.post("https://192.0.2.1/v1/responses", json={"model": "m", "input": "Hi"}).status_code == 200
