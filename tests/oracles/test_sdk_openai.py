"""The official openai SDK in front of its oracle, both surfaces: it takes what comes, and what it sends is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pydantic
import pytest

from oracles import mounts
from oracles.surfaces import CLOCK, WEATHER

FUNCTIONS = {"get_weather": WEATHER, "read_clock": CLOCK}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in FUNCTIONS.items()]
TOOLS: Any = [{"type": "function", "name": n, "parameters": s, "strict": False} for n, s in FUNCTIONS.items()]


class City(pydantic.BaseModel):
    name: str
    people: int


@pytest.fixture
def sdk() -> Iterator[openai.OpenAI]:
    with httpx2.Client(transport=mounts.transport(mounts.Oracle())) as http:
        yield openai.OpenAI(api_key="none", base_url="http://echo/v1", http_client=http, max_retries=0)


def asynchronous() -> openai.AsyncOpenAI:
    http = httpx2.AsyncClient(transport=mounts.transport(mounts.Oracle()))
    return openai.AsyncOpenAI(api_key="none", base_url="http://echo/v1", http_client=http, max_retries=0)


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


# ---- chat


def test_chat_plain(sdk: openai.OpenAI) -> None:
    done = sdk.chat.completions.create(model="echo", messages=user("Hello."), n=2)
    assert [choice.message.content for choice in done.choices] == ["Hello.", "Hello."]
    assert done.usage is not None and done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens


def test_chat_streamed_is_chat_plain(sdk: openai.OpenAI) -> None:
    asked = user("[[reason Hm.]] One two [[cite http://a title=A]] [[call get_weather city=Oslo]] [[call read_clock]]")
    plain = sdk.chat.completions.create(model="echo", messages=asked, tools=CHAT_TOOLS)
    with sdk.chat.completions.stream(
        model="echo", messages=asked, tools=CHAT_TOOLS, stream_options={"include_usage": True}
    ) as stream:
        folded = stream.get_final_completion()
    assert folded.id == plain.id and folded.usage == plain.usage
    one, other = plain.choices[0], folded.choices[0]
    assert one.finish_reason == other.finish_reason == "tool_calls"
    calls = [
        [(c.id, c.function.name, c.function.arguments) for c in each.message.tool_calls or ()] for each in (one, other)
    ]
    assert calls[0] == calls[1] and len(calls[0]) == 2
    assert one.message.content == other.message.content == "One two"


def test_chat_tool_loop(sdk: openai.OpenAI) -> None:
    messages = user("[[reason Both.]] [[parallel]]")
    done = sdk.chat.completions.create(model="echo", messages=messages, tools=CHAT_TOOLS)
    messages.append(done.choices[0].message)  # as the SDK gives it, reasoning and all
    for call in done.choices[0].message.tool_calls or ():
        messages.append({"role": "tool", "tool_call_id": call.id, "content": f"<{call.function.name}>"})
    done = sdk.chat.completions.create(model="echo", messages=messages, tools=CHAT_TOOLS)
    assert done.choices[0].message.content == "get_weather: <get_weather>\nread_clock: <read_clock>"


def test_chat_structured(sdk: openai.OpenAI) -> None:
    done = sdk.chat.completions.parse(model="echo", messages=user("A city."), response_format=City)
    assert done.choices[0].message.parsed == City(name="name", people=1)


def test_chat_logprobs(sdk: openai.OpenAI) -> None:
    done = sdk.chat.completions.create(model="echo", messages=user("a b"), logprobs=True)
    assert done.choices[0].logprobs is not None
    assert [each.token for each in done.choices[0].logprobs.content or ()] == ["a", " b"]


# ---- responses


def test_responses_plain(sdk: openai.OpenAI) -> None:
    done = sdk.responses.create(model="echo", input="Hello.", instructions="Be brief.", metadata={"a": "b"})
    assert done.output_text == "Hello." and done.status == "completed"
    assert (done.instructions, done.metadata) == ("Be brief.", {"a": "b"})


def test_responses_streamed_is_responses_plain(sdk: openai.OpenAI) -> None:
    text = "[[reason Hm.]] One two. [[cite http://a title=A]] [[call *]] [[image]] [[refuse No.]]"
    plain = sdk.responses.create(model="echo", input=text, tools=TOOLS)
    with sdk.responses.stream(model="echo", input=text, tools=TOOLS) as stream:
        numbers = [event.sequence_number for event in stream]
        folded = stream.get_final_response()
    assert numbers == sorted(set(numbers)) and numbers[0] == 0
    dumped = [each.model_dump(exclude={"parsed", "output_parsed"}, mode="json") for each in (plain, folded)]
    for response in dumped:
        for item in response["output"]:
            item.pop("parsed_arguments", None)
            for part in item.get("content") or ():
                part.pop("parsed", None)
    assert dumped[0] == dumped[1]


def test_responses_tool_loop_with_items(sdk: openai.OpenAI) -> None:
    history: Any = user("[[reason Both.]] [[parallel]]")
    done = sdk.responses.create(model="echo", input=history, tools=TOOLS, store=False)
    history += done.output  # reasoning, encrypted, before its call
    history += [
        {"type": "function_call_output", "call_id": item.call_id, "output": f"<{item.name}>"}
        for item in done.output
        if item.type == "function_call"
    ]
    done = sdk.responses.create(model="echo", input=history, tools=TOOLS, store=False)
    assert done.output_text == "get_weather: <get_weather>\nread_clock: <read_clock>"


def test_responses_tool_loop_with_a_stored_response(sdk: openai.OpenAI) -> None:
    first = sdk.responses.create(model="echo", input="[[call read_clock]]", tools=TOOLS)
    call = next(item for item in first.output if item.type == "function_call")
    result: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "noon"}]
    second = sdk.responses.create(model="echo", previous_response_id=first.id, input=result, tools=TOOLS)
    assert second.output_text == "read_clock: noon"
    third = sdk.responses.create(model="echo", previous_response_id=second.id, input="Thanks.")
    assert third.output_text == "Thanks."
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
        sdk.responses.create(model="echo", previous_response_id=first.id, input="Never mind.")
    with pytest.raises(openai.BadRequestError) as refused:
        sdk.responses.create(model="echo", previous_response_id="resp_no", input="Hm.")
    assert refused.value.code == "previous_response_not_found"


def test_responses_structured(sdk: openai.OpenAI) -> None:
    assert sdk.responses.parse(model="echo", input="A city.", text_format=City).output_parsed == City(
        name="name", people=1
    )


def test_responses_that_are_stored(sdk: openai.OpenAI) -> None:
    done = sdk.responses.create(model="echo", input="Hello.")
    assert sdk.responses.retrieve(done.id).output_text == "Hello."
    listed: Any = list(sdk.responses.input_items.list(done.id))
    assert [(item.role, item.content[0].text) for item in listed] == [("user", "Hello.")]
    assert sdk.responses.input_tokens.count(model="echo", input="Hello.").input_tokens > 0
    sdk.responses.delete(done.id)
    with pytest.raises(openai.NotFoundError):
        sdk.responses.retrieve(done.id)
    with pytest.raises(openai.NotFoundError):
        sdk.responses.retrieve(sdk.responses.create(model="echo", input="Hello.", store=False).id)


def test_responses_in_the_background(sdk: openai.OpenAI) -> None:
    done = sdk.responses.create(model="echo", input="Hello there.", background=True)
    assert (done.status, done.output_text) == ("queued", "")
    assert sdk.responses.retrieve(done.id).status == "in_progress"
    assert sdk.responses.retrieve(done.id).output_text == "Hello there."
    assert sdk.responses.cancel(done.id).status == "completed"
    other = sdk.responses.create(model="echo", input="Something else.", background=True)
    assert sdk.responses.cancel(other.id).status == "cancelled"
    assert sdk.responses.retrieve(other.id).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="synchronous"):
        sdk.responses.cancel(sdk.responses.create(model="echo", input="Hello.").id)


def test_a_background_stream_goes_on_where_it_was_left(sdk: openai.OpenAI) -> None:
    stream = sdk.responses.create(model="echo", input="One two three.", background=True, stream=True)
    events = list(stream)
    assert [event.type for event in events[:3]] == ["response.created", "response.queued", "response.in_progress"]
    name = events[0].response.id  # type: ignore[union-attr]
    rest = list(sdk.responses.retrieve(name, stream=True, starting_after=events[4].sequence_number))
    assert [event.model_dump() for event in rest] == [event.model_dump() for event in events[5:]]


# ---- both


def test_models(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == ["echo", "echo-mini"]
    assert sdk.models.retrieve("echo").object == "model"
    with pytest.raises(openai.NotFoundError):
        sdk.models.retrieve("nowhere")


ERRORS = [(400, openai.BadRequestError), (401, openai.AuthenticationError), (403, openai.PermissionDeniedError),
          (404, openai.NotFoundError), (409, openai.ConflictError), (429, openai.RateLimitError),
          (500, openai.InternalServerError), (503, openai.InternalServerError)]  # fmt: skip


@pytest.mark.parametrize(("status", "kind"), ERRORS)
def test_errors(sdk: openai.OpenAI, status: int, kind: type[openai.APIStatusError]) -> None:
    with pytest.raises(kind, match="on purpose") as refused:
        sdk.responses.create(model="echo", input=f'[[error {status} retry-after=7 message="on purpose"]]')
    assert refused.value.response.headers["retry-after"] == "7" and refused.value.request_id
    with pytest.raises(kind):
        sdk.chat.completions.create(model="echo", messages=user(f"[[error {status}]]"), stream=True)


def test_an_error_that_passes_is_retried_by_the_sdk(sdk: openai.OpenAI) -> None:
    patient = sdk.with_options(max_retries=2)
    asked = '[[error 503 times=2 retry-after=0.01 message="soon"]] Done.'
    assert patient.responses.create(model="echo", input=asked).output_text == "Done."


def test_errors_within_a_stream(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.APIError, match="on purpose"):
        for _ in sdk.responses.create(
            model="echo", input='a b c [[error 503 after 4 message="on purpose"]]', stream=True
        ):
            pass
    with pytest.raises(openai.APIError, match="on purpose"):
        for _ in sdk.chat.completions.create(
            model="echo", messages=user('a b c [[error 503 after 2 message="on purpose"]]'), stream=True
        ):
            pass


def test_breaks(sdk: openai.OpenAI) -> None:
    stream = sdk.chat.completions.create(model="echo", messages=user("a b c d [[break after 3]]"), stream=True)
    heard: list[Any] = []
    with pytest.raises(openai.APIConnectionError):
        for chunk in stream:
            heard.append(chunk.choices[0].delta.content)
    assert heard == ["", "a", " b"]
    quiet = sdk.responses.create(model="echo", input="a b c d [[break after 3 quietly]]", stream=True)
    assert [event.type for event in quiet] == ["response.created", "response.in_progress", "response.output_item.added"]
    with pytest.raises(openai.APIConnectionError):
        sdk.responses.create(model="echo", input="a [[break after 1]]")


def test_asynchronously() -> None:
    async def run() -> None:
        async with asynchronous() as sdk:
            done = await sdk.responses.create(model="echo", input="Hello.")
            assert done.output_text == "Hello."
            stream = await sdk.chat.completions.create(model="echo", messages=user("a b"), stream=True)
            assert [c.choices[0].delta.content async for c in stream] == ["", "a", " b", None]

    asyncio.run(run())


def test_the_older_http_library() -> None:
    httpx = pytest.importorskip("httpx")
    with httpx.Client(transport=mounts.transport(mounts.Oracle(), "httpx")) as http:
        sdk = openai.OpenAI(api_key="none", base_url="http://echo/v1", http_client=http)
        assert sdk.responses.create(model="echo", input="Hello.").output_text == "Hello."
