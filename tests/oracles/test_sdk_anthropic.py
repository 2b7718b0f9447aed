"""The official anthropic SDK in front of its oracle: it takes what comes, and what it sends is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pydantic
import pytest

from oracles import mounts
from oracles.surfaces import CLOCK, WEATHER

TOOLS: Any = [{"name": "get_weather", "input_schema": WEATHER}, {"name": "read_clock", "input_schema": CLOCK}]
ASK: Any = {"model": "echo", "max_tokens": 2000}


class City(pydantic.BaseModel):
    name: str
    people: int


@pytest.fixture
def sdk() -> Iterator[anthropic.Anthropic]:
    with httpx2.Client(transport=mounts.transport(mounts.Oracle())) as http:
        yield anthropic.Anthropic(api_key="none", base_url="http://echo", http_client=http, max_retries=0)


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def test_plain(sdk: anthropic.Anthropic) -> None:
    done = sdk.messages.create(**ASK, messages=user("Hello."), system="Be brief.")
    assert done.content[0].type == "text" and done.content[0].text == "Hello."
    assert done.stop_reason == "end_turn" and done._request_id


def test_streamed_is_plain(sdk: anthropic.Anthropic) -> None:
    asked = user("[[reason Hm.]] [[redact]] One two. [[cite http://a title=A]] [[call *]]")
    plain = sdk.messages.create(**ASK, messages=asked, tools=TOOLS)
    with sdk.messages.stream(**ASK, messages=asked, tools=TOOLS) as stream:
        folded = stream.get_final_message()
    assert [block.type for block in plain.content] == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert folded.model_dump(exclude={"parsed_output"}) == plain.model_dump()


def test_tool_loop_with_thinking(sdk: anthropic.Anthropic) -> None:
    thinking: Any = {"type": "enabled", "budget_tokens": 1024}
    messages = user("[[reason Both.]] [[parallel]]")
    done = sdk.messages.create(**ASK, messages=messages, tools=TOOLS, thinking=thinking)
    assert done.stop_reason == "tool_use"
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": f"<{block.name}>"}
        for block in done.content
        if block.type == "tool_use"
    ]
    messages += [{"role": "assistant", "content": done.content}, {"role": "user", "content": results}]
    done = sdk.messages.create(**ASK, messages=messages, tools=TOOLS, thinking=thinking)
    assert done.content[0].type == "text"
    assert done.content[0].text == "get_weather: <get_weather>\nread_clock: <read_clock>"


def test_thinking_that_is_not_shown_is_signed_all_the_same(sdk: anthropic.Anthropic) -> None:
    thinking: Any = {"type": "adaptive", "display": "omitted"}
    messages = user("[[reason Secret.]] Yes.")
    done = sdk.messages.create(**ASK, messages=messages, thinking=thinking)
    assert done.content[0].type == "thinking" and done.content[0].thinking == "" and done.content[0].signature
    messages += [{"role": "assistant", "content": done.content}, *user("Why?")]
    assert sdk.messages.create(**ASK, messages=messages, thinking=thinking).content[0].text == "Why?"  # type: ignore[union-attr]


def test_structured(sdk: anthropic.Anthropic) -> None:
    done = sdk.messages.parse(**ASK, messages=user("A city."), output_format=City)
    assert done.parsed_output == City(name="name", people=1)


def test_counting_and_models(sdk: anthropic.Anthropic) -> None:
    assert sdk.messages.count_tokens(model="echo", messages=user("Hello."), tools=TOOLS).input_tokens > 0
    assert [model.id for model in sdk.models.list()] == ["echo", "echo-mini"]
    assert sdk.models.retrieve("echo").type == "model"


ERRORS = [
    (400, anthropic.BadRequestError),
    (401, anthropic.AuthenticationError),
    (403, anthropic.PermissionDeniedError),
    (404, anthropic.NotFoundError),
    (409, anthropic.ConflictError),
    (429, anthropic.RateLimitError),
    (500, anthropic.InternalServerError),
    (529, anthropic.InternalServerError),
]


@pytest.mark.parametrize(("status", "kind"), ERRORS)
def test_errors(sdk: anthropic.Anthropic, status: int, kind: type[anthropic.APIStatusError]) -> None:
    with pytest.raises(kind, match="on purpose") as refused:
        sdk.messages.create(**ASK, messages=user(f'[[error {status} retry-after=7 message="on purpose"]]'))
    body: Any = refused.value.body
    assert body["type"] == "error" and body["request_id"] == refused.value.response.headers["request-id"]
    assert refused.value.response.headers["retry-after"] == "7"


def test_an_error_within_a_stream(sdk: anthropic.Anthropic) -> None:
    asked = user('a b c [[error 529 after 4 message="on purpose"]]')
    with pytest.raises(anthropic.APIStatusError, match="on purpose") as refused:
        for _ in sdk.messages.create(**ASK, messages=asked, stream=True):
            pass
    assert refused.value.type == "overloaded_error"


def test_breaks(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        list(sdk.messages.create(**ASK, messages=user("a b c [[break after 4]]"), stream=True))
    quiet = list(sdk.messages.create(**ASK, messages=user("a b c [[break after 4 quietly]]"), stream=True))
    assert [event.type for event in quiet] == ["message_start", "content_block_start", "content_block_delta"]


def test_asynchronously() -> None:
    async def run() -> None:
        http = httpx2.AsyncClient(transport=mounts.transport(mounts.Oracle()))
        async with anthropic.AsyncAnthropic(api_key="none", base_url="http://echo", http_client=http) as sdk:
            async with sdk.messages.stream(**ASK, messages=user("a b")) as stream:
                assert [text async for text in stream.text_stream] == ["a", " b"]

    asyncio.run(run())
