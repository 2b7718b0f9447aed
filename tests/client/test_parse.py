"""Structured output: the same model in and out, whatever a provider can do, and what happens where it does not fit."""

from __future__ import annotations

import asyncio
import pickle
import sys
import typing
from typing import Any

import pytest
from pydantic import BaseModel

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, function_call, message, response, upstream


class Person(BaseModel):
    """A person."""

    name: str
    age: int
    friends: list[str] = []


SCHEMA = {
    "title": "Point",
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
ADA = '{"name": "Ada", "age": 36}'


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("strategy", ["auto", "native", "tool"])
def test_a_model_comes_back_over_every_protocol(protocol: str, strategy: str) -> None:
    result = ul.Client(upstream(protocol)).responses.parse(input="Ada", text_format=Person, strategy=strategy)
    assert isinstance(result.output_parsed, Person)
    assert result.strategy == ("native" if strategy == "auto" else strategy)
    emulated = [(loss.path, loss.capability) for loss in result.losses if loss.fate == "emulated"]
    assert emulated == ([] if result.strategy == "native" else [("/text/format", "output.structured")])


def test_and_in_an_event_loop() -> None:
    async def main() -> Any:
        client = ul.AsyncClient(upstream("anthropic-messages"))
        return await client.responses.parse(input="Ada", text_format=Person)

    assert isinstance(asyncio.run(main()).output_parsed, Person)


@pytest.mark.parametrize(("format_", "text", "value"), [
    (SCHEMA, '{"x": 1}', {"x": 1}),
    (list[int], "[1, 2]", [1, 2]),
    (dict[str, float], '{"a": 1}', {"a": 1.0}),
    (Person, ADA, Person(name="Ada", age=36)),
])  # fmt: skip
def test_types_and_schemas(format_: Any, text: str, value: Any) -> None:
    canned = Canned("openai-responses", response(message(text)))
    assert ul.Client(canned.upstream).responses.parse(input="?", text_format=format_).output_parsed == value


def test_native_asks_with_the_schema() -> None:
    canned = Canned("openai-responses", response(message('{"x": 1}')))
    client = ul.Client(canned.upstream)
    client.responses.parse(input="?", text_format=SCHEMA, text={"verbosity": "low"})
    (body,) = canned.bodies
    assert body["text"]["verbosity"] == "low"
    assert {**body["text"]["format"], "schema": None} == {
        "type": "json_schema",
        "name": "Point",
        "strict": True,
        "schema": None,
    }
    assert body["text"]["format"]["schema"]["properties"] == {"x": {"type": "integer"}}


def test_a_list_as_the_arguments_of_a_tool() -> None:
    canned = Canned("openai-responses", response(function_call("answer", '{"value": [1, 2]}')))
    result = ul.Client(canned.upstream).responses.parse(
        input="?", text_format=list[int], strategy="tool", name="answer"
    )
    assert result.output_parsed == [1, 2]
    (body,) = canned.bodies
    assert body["tool_choice"] == {"type": "function", "name": "answer"}
    assert body["tools"][0]["parameters"]["required"] == ["value"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", ["openai-responses", "openai-chat", "anthropic-messages"])
def test_a_call_that_is_the_value_is_accepted_and_waits_for_no_one(protocol: str, stream: bool) -> None:
    client = ul.Client(model="local/echo", protocol=protocol)
    options: dict[str, Any] = {"text_format": Person, "strategy": "tool"}
    result: Any = client.responses.parse(input="Who?", **options, stream=stream)
    result = result.get_final_response() if stream else result
    assert result.tool_calls == result.pending_calls == [] and len(result.function_calls) == 1
    assert [item.type for item in result.items] == ["message", "function_call", "function_call_output"]
    assert sum(each.length for each in result.segments) == len(result.items)
    for again in (result, pickle.loads(pickle.dumps(result)), result.item_nodes):
        following = client.responses.parse(input="And who?", previous=again, **options)
        assert "interrupted" not in str(following.request) + str(following.losses.to_json())
        assert len(following.items) == 6
    run = client.responses.run(input="Who?", **options)
    assert [item.type for item in run.items] == ["message", "function_call", "function_call_output"]
    following = client.responses.create(input=["Who?", result, "And?"])
    assert [item.type for item in following.items[1:3]] == ["function_call", "function_call_output"]
    keeping = ul.Client(model="local/echo", protocol="anthropic-messages", store=ul.MemoryStore())
    kept = keeping.responses.parse(input="Who?", **options)
    following = keeping.responses.create(input="And?", previous_response_id=kept.id)
    assert [item.type for item in following.items[:3]] == ["message", "function_call", "function_call_output"]
    assert "interrupted" not in str(following.losses.to_json()) + str(following.request)
    state = ul.RunResult.from_json(run.to_json())
    for before in (run, state):
        assert len(client.responses.create(input="And?", previous=before).items) == 5


@pytest.mark.parametrize(
    "text",
    [ADA, f"```json\n{ADA}\n```", f"Here you are:\n\n```\n{ADA}\n```\nAnything else?", f"Sure: {ADA}", f"{ADA}\n"],
)
def test_the_prompt_strategy_reads_what_models_say_around_it(text: str) -> None:
    canned = Canned("openai-responses", response(message(text)))
    client = ul.Client(canned.upstream)
    result = client.responses.parse(input="?", text_format=Person, strategy="prompt", instructions="Be kind.")
    assert result.output_parsed == Person(name="Ada", age=36)
    (body,) = canned.bodies
    assert body["instructions"].startswith("Be kind.\n\n")
    assert '"friends"' in body["instructions"]
    assert "text" not in body


def test_a_model_that_has_no_structured_output_is_asked_by_a_tool_and_one_without_tools_in_words() -> None:
    from unified_llm import models

    found = {each.structured_output: each for each in models.find("", where=lambda m: m.tool_call is not None)}
    known = next(each for each in models.find("") if each.structured_output is False and each.tool_call is True)
    bare = next(each for each in models.find("") if each.structured_output is False and each.tool_call is False)
    assert found
    tool = Canned("openai-chat", _chat(known.id), provider=known.provider_id, model=known.id)
    result = ul.Client(tool.upstream).responses.parse(input="?", text_format=Person)
    assert (result.strategy, result.output_parsed.name) == ("tool", "Ada")
    words = Canned("openai-chat", _chat(bare.id, text=ADA), provider=bare.provider_id, model=bare.id)
    result = ul.Client(words.upstream).responses.parse(input="?", text_format=Person)
    assert (result.strategy, result.output_parsed.name) == ("prompt", "Ada")


def _chat(model: str, text: str | None = None) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "Person", "arguments": ADA}}
    said = {"role": "assistant", "content": text, **({} if text else {"tool_calls": [call]})}
    choice = {"index": 0, "message": said, "finish_reason": "stop" if text else "tool_calls"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}


# ---- what does not fit ----------------------------------------------------------------------------------------------


def test_an_answer_that_does_not_fit_is_an_error_with_the_answer() -> None:
    canned = Canned("openai-responses", response(message('{"name": "Ada"}')))
    with pytest.raises(ul.OutputParseError, match="/age: Field required") as caught:
        ul.Client(canned.upstream).responses.parse(input="?", text_format=Person)
    assert caught.value.response.id == "resp_1"
    assert caught.value.text == '{"name": "Ada"}'


def test_it_is_asked_again_as_often_as_allowed() -> None:
    canned = Canned("openai-responses", response(message("[]")), response(message(ADA)))
    result = ul.Client(canned.upstream).responses.parse(input="?", text_format=Person, retries=1)
    assert result.output_parsed.age == 36
    again = canned.bodies[1]["input"]
    assert [item.get("role") for item in again] == ["user", "assistant", "user"]
    assert "does not match the schema" in str(again[-1]["content"])


def test_an_answer_that_was_cut_off_is_not_asked_for_again() -> None:
    cut = response(message('{"name": "A'), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    canned = Canned("openai-responses", cut)
    with pytest.raises(ul.OutputParseError, match="is incomplete"):
        ul.Client(canned.upstream).responses.parse(input="?", text_format=Person, retries=5)
    assert len(canned.requests) == 1


@pytest.mark.parametrize("how", ["parse", "stream", "run"])
@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic-messages", "google-generate-content"])
def test_a_refusal_in_words_raises_nothing(protocol: str, how: str) -> None:
    """Messages and generateContent have the words as text, and the refusal as the reason of the end."""
    client = ul.Client(model="local/echo", protocol=protocol)
    options: dict[str, Any] = {"text_format": Person, "strategy": "native", "retries": 0}
    result: Any
    if how == "run":
        result = client.responses.run(input="[[refuse I will not.]]", **options)
    else:
        result = client.responses.parse(input="[[refuse I will not.]]", **options, stream=how == "stream")
        result = result.get_final_response() if how == "stream" else result
    assert result.output_parsed is None


def test_a_refusal_is_not_an_answer_and_no_error() -> None:
    said = {**message(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    canned = Canned("openai-responses", response(said))
    result = ul.Client(canned.upstream).responses.parse(input="?", text_format=Person)
    assert result.output_parsed is None
    assert result.output[0].content[0].refusal == "I will not."


@pytest.mark.parametrize("strategy", ["native", "tool"])
def test_an_answer_that_calls_a_tool_is_the_callers(strategy: str) -> None:
    canned = Canned("openai-responses", response(function_call("look", "{}")))
    look = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
    client = ul.Client(canned.upstream)
    result = client.responses.parse(input="?", text_format=Person, tools=[look], strategy=strategy, retries=1)
    assert result.output_parsed is None
    assert [call.name for call in result.tool_calls] == ["look"]
    assert len(canned.requests) == 1
    assert canned.bodies[0].get("tool_choice") == ("required" if strategy == "tool" else None)


def test_an_unknown_strategy() -> None:
    with pytest.raises(ValueError, match="native"):
        ul.Client(upstream("openai-chat")).responses.parse(input="?", text_format=Person, strategy="magic")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes both kinds there")
def test_a_typed_dict_that_this_python_has_no_schema_for() -> None:
    class Row(typing.TypedDict):
        a: int

    with pytest.raises(ul.InvalidArgument, match=r"use typing_extensions\.TypedDict"):
        ul.Client().responses.parse(model="local/echo", input="Hi", text_format=Row)


class Opaque:
    pass


@pytest.mark.parametrize(
    "format_", ["json", "int", None, 3, [int], Opaque, {"type": "json_object"}, {"type": "json_schema", "schema": {}}]
)
def test_what_is_not_a_type_and_no_schema_is_refused_in_our_words(format_: Any) -> None:
    with pytest.raises(ul.InvalidArgument, match=r"^text_format=.*pass a pydantic model"):
        ul.Client().responses.parse(model="local/echo", input="Hi", text_format=format_)


def test_a_mapping_of_any_keys_is_an_answer() -> None:
    """A closed object without properties could only be `{}`: the map is JSON text in a property."""
    canned = Canned("openai-responses", response(message('{"value": "{\\"oslo\\": 4}"}')))
    with ul.Client(canned.upstream) as client:
        found = client.responses.parse(input="?", text_format=dict[str, int])
    assert found.output_parsed == {"oslo": 4}
    assert canned.bodies[0]["text"]["format"]["schema"]["required"] == ["value"]
