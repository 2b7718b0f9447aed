"""The official google-genai SDK in front of its oracles, both surfaces: each takes what the other sends."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pydantic
import pytest
from google import genai
from google.genai import errors, types

import google_sdk  # noqa: F401 (each of its classes is made once)
from oracles import mounts
from oracles.surfaces import CLOCK, WEATHER

TOOLS: Any = [
    {
        "function_declarations": [
            {"name": "get_weather", "parameters_json_schema": WEATHER},
            {"name": "read_clock", "parameters_json_schema": CLOCK},
        ]
    }
]
STEP_TOOLS: Any = [
    {"type": "function", "name": "get_weather", "parameters": WEATHER},
    {"type": "function", "name": "read_clock", "parameters": CLOCK},
]


class City(pydantic.BaseModel):
    name: str
    people: int


@pytest.fixture
def sdk() -> genai.Client:
    service = mounts.Oracle()
    options: Any = {
        "base_url": "http://echo",
        "httpx_client": httpx2.Client(transport=mounts.transport(service)),
        "httpx_async_client": httpx2.AsyncClient(transport=mounts.transport(service)),
        "retry_options": {"attempts": 1},
    }
    return genai.Client(api_key="none", http_options=options)


# ---- generateContent


def test_plain(sdk: genai.Client) -> None:
    config: Any = {
        "system_instruction": "Be brief.",
        "candidate_count": 2,
        "thinking_config": {"thinking_level": "low"},
    }
    done = sdk.models.generate_content(model="echo", contents="Hello.", config=config)
    assert done.text == "Hello." and len(done.candidates or ()) == 2
    assert done.model_version == "echo"


def test_streamed_says_what_plain_says(sdk: genai.Client) -> None:
    asked, config = (
        "[[reason Hm.]] One two. [[call *]]",
        types.GenerateContentConfig(tools=TOOLS, automatic_function_calling={"disable": True}),
    )  # type: ignore[arg-type]
    plain = sdk.models.generate_content(model="echo", contents=asked, config=config)
    chunks = list(sdk.models.generate_content_stream(model="echo", contents=asked, config=config))
    calls = [call for chunk in chunks for call in chunk.function_calls or ()]
    assert calls == plain.function_calls and len(calls) == 2
    assert "".join(part.text or "" for chunk in chunks for part in chunk.parts or () if not part.thought) == "One two."
    assert "".join(part.text or "" for chunk in chunks for part in chunk.parts or () if part.thought) == "Hm."
    assert chunks[-1].usage_metadata == plain.usage_metadata
    signed = [part.thought_signature for chunk in chunks for part in chunk.parts or () if part.thought_signature]
    assert signed == [part.thought_signature for part in plain.parts or () if part.thought_signature]


def test_tool_loop(sdk: genai.Client) -> None:
    config = types.GenerateContentConfig(tools=TOOLS, automatic_function_calling={"disable": True})  # type: ignore[arg-type]
    contents: Any = [{"role": "user", "parts": [{"text": "[[reason Both.]] [[parallel]]"}]}]
    done = sdk.models.generate_content(model="echo", contents=contents, config=config)
    assert done.candidates and done.candidates[0].content
    contents.append(done.candidates[0].content)
    parts = [
        {"function_response": {"id": call.id, "name": call.name, "response": {"output": f"<{call.name}>"}}}
        for call in done.function_calls or ()
    ]
    contents.append({"role": "user", "parts": parts})
    done = sdk.models.generate_content(model="echo", contents=contents, config=config)
    assert done.text == "get_weather: <get_weather>\nread_clock: <read_clock>"


def test_a_chat_gives_back_what_it_was_given(sdk: genai.Client) -> None:
    chat = sdk.chats.create(model="echo")
    assert chat.send_message("[[reason Hm.]] Yes.").text == "Yes."
    assert "".join(chunk.text or "" for chunk in chat.send_message_stream("[[reason Hm.]] No.")) == "No."
    assert chat.send_message("Why?").text == "Why?"


def test_a_python_function_is_called_by_the_sdk(sdk: genai.Client) -> None:
    heard: list[str] = []

    def get_weather(city: str) -> str:
        """The weather."""
        heard.append(city)
        return "4 degrees"

    done = sdk.models.generate_content(
        model="echo", contents="[[call get_weather city=Oslo]]", config={"tools": [get_weather]}
    )
    assert heard == ["Oslo"] and done.text == "get_weather: 4 degrees"


def test_structured(sdk: genai.Client) -> None:
    config: Any = {"response_mime_type": "application/json", "response_schema": City}
    assert sdk.models.generate_content(model="echo", contents="A city.", config=config).parsed == City(
        name="name", people=1
    )


def test_counting_and_models(sdk: genai.Client) -> None:
    assert (sdk.models.count_tokens(model="echo", contents="Hello.").total_tokens or 0) > 0
    assert [model.name for model in sdk.models.list()] == ["models/echo", "models/echo-mini"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, 503])
def test_errors(sdk: genai.Client, status: int) -> None:
    with pytest.raises(errors.APIError, match="on purpose") as refused:
        sdk.models.generate_content(model="echo", contents=f'[[error {status} retry-after=7 message="on purpose"]]')
    assert isinstance(refused.value, errors.ClientError if status < 500 else errors.ServerError)
    assert refused.value.code == status
    details: Any = refused.value.details
    assert details["error"]["details"][0]["retryDelay"] == "7s"


def test_an_error_within_a_stream(sdk: genai.Client) -> None:
    with pytest.raises(errors.ServerError, match="on purpose"):
        list(
            sdk.models.generate_content_stream(
                model="echo", contents='a b c [[error 503 after 2 message="on purpose"]]'
            )
        )


def test_breaks(sdk: genai.Client) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        list(sdk.models.generate_content_stream(model="echo", contents="a b c [[break after 2]]"))
    quiet = list(sdk.models.generate_content_stream(model="echo", contents="a b c [[break after 2 quietly]]"))
    assert [chunk.text for chunk in quiet] == ["a", " b"]


# ---- Interactions


def test_interactions_plain(sdk: genai.Client) -> None:
    done: Any = sdk.interactions.create(model="echo", input="Hello.", system_instruction="Be brief.")
    assert done.output_text == "Hello." and done.status == "completed"


def test_interactions_tool_loop(sdk: genai.Client) -> None:
    steps: Any = [{"type": "user_input", "content": [{"type": "text", "text": "[[reason Both.]] [[parallel]]"}]}]
    done: Any = sdk.interactions.create(model="echo", input=steps, tools=STEP_TOOLS, store=False)
    assert done.status == "requires_action" and done.id in (None, "")
    steps += [step.model_dump(exclude_none=True) for step in done.steps]
    steps += [
        {"type": "function_result", "call_id": step.id, "name": step.name, "result": f"<{step.name}>"}
        for step in done.steps
        if step.type == "function_call"
    ]
    done = sdk.interactions.create(model="echo", input=steps, tools=STEP_TOOLS, store=False)
    assert done.output_text == "get_weather: <get_weather>\nread_clock: <read_clock>"


def test_interactions_that_are_stored(sdk: genai.Client) -> None:
    first: Any = sdk.interactions.create(model="echo", input="[[call read_clock]]", tools=STEP_TOOLS)
    call = next(step for step in first.steps if step.type == "function_call")
    result: Any = [{"type": "function_result", "call_id": call.id, "name": call.name, "result": "noon"}]
    second: Any = sdk.interactions.create(
        model="echo", input=result, previous_interaction_id=first.id, tools=STEP_TOOLS
    )
    assert second.output_text == "read_clock: noon"
    found: Any = sdk.interactions.get(second.id)
    assert [step.type for step in found.steps] == ["function_result", "model_output"]  # the request as well
    sdk.interactions.delete(second.id)
    with pytest.raises(Exception, match="not found"):
        sdk.interactions.get(second.id)


def test_interactions_in_the_background(sdk: genai.Client) -> None:
    done: Any = sdk.interactions.create(agent="deep-research-pro", input="Find out.", background=True)
    assert done.status == "in_progress"
    assert sdk.interactions.get(done.id).status == "in_progress"
    found: Any = sdk.interactions.get(done.id)
    assert found.status == "completed" and found.steps[-1].content[0].text == "Find out."
    other: Any = sdk.interactions.create(agent="deep-research-pro", input="Find more.", background=True)
    assert sdk.interactions.cancel(other.id).status == "cancelled"


def test_interactions_streamed(sdk: genai.Client) -> None:
    asked = "[[reason Hm.]] One two. [[call get_weather city=Oslo]]"
    events: Any = list(sdk.interactions.create(model="echo", input=asked, tools=STEP_TOOLS, stream=True))
    kinds = [event.event_type for event in events]
    assert kinds[:2] == ["interaction.created", "interaction.status_update"] and kinds[-1] == "interaction.completed"
    deltas = [event.delta for event in events if event.event_type == "step.delta"]
    assert "".join(delta.text for delta in deltas if delta.type == "text") == "One two."
    assert "".join(d.arguments for d in deltas if d.type == "arguments_delta") == '{"city":"Oslo"}'
    assert sum(delta.type == "thought_signature" for delta in deltas) == 2
    assert events[-1].interaction.status == "requires_action"


def test_a_background_stream_goes_on_where_it_was_left(sdk: genai.Client) -> None:
    events: Any = list(sdk.interactions.create(agent="a", input="One two.", background=True, stream=True))
    name = events[0].interaction.id
    rest: Any = list(sdk.interactions.get(name, stream=True, last_event_id=events[2].event_id))
    assert [event.model_dump() for event in rest] == [event.model_dump() for event in events[3:]]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_interactions_errors(sdk: genai.Client, status: int) -> None:
    with pytest.raises(Exception, match="on purpose") as refused:
        sdk.interactions.create(model="echo", input=f'[[error {status} message="on purpose"]]')
    seen: Any = refused.value
    assert seen.status_code == status


def test_asynchronously(sdk: genai.Client) -> None:
    async def run() -> None:
        done = await sdk.aio.models.generate_content(model="echo", contents="Hello.")
        assert done.text == "Hello."
        stream = await sdk.aio.models.generate_content_stream(model="echo", contents="a b")
        assert [chunk.text async for chunk in stream] == ["a", " b", ""]
        found: Any = await sdk.aio.interactions.create(model="echo", input="Hello.")
        assert found.output_text == "Hello."

    asyncio.run(run())
