"""Structured output in the background: the value of an answer that is looked at later, here or in another process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

import unified_llm as ul
from client.providers import Canned, function_call, message, response, stream


class Report(BaseModel):
    """Strict schemas have neither defaults nor free keys, so this one is lowered and its values are restored."""

    title: str
    pages: int = 3
    words: dict[str, int] = {}


SENT = json.dumps({"title": "A", "pages": None, "words": '{"a": 1}'})
WHOLE = Report(title="A", pages=3, words={"a": 1})
STREAM = {"stream": "true"}


def canned(text: str = SENT, status: str = "completed", *output: Any) -> Canned:
    def answer(request: httpx2.Request) -> Any:
        if request.method == "POST":
            return response(status="in_progress")
        if request.url.params.get("stream") == "true":
            return stream(text)
        return response(*(output or (message(text),)), status=status)

    return Canned("openai-responses", answer)


def test_a_handle_restores_what_was_lowered() -> None:
    client = ul.Client(canned().upstream)
    handle = client.responses.parse(input="Hi", text_format=Report, background=True)
    assert handle.wait(poll=0.001).output_parsed == WHOLE
    with handle.events() as events:
        assert events.get_final_response().output_parsed == WHOLE


def test_an_answer_is_parsed_where_only_its_id_is_known() -> None:
    client = ul.Client(canned().upstream)
    result = client.responses.retrieve("resp_1", text_format=Report)
    assert result.output_parsed == WHOLE and result.strategy == "native"
    assert client.responses.retrieve("resp_1").output_parsed is None
    with client.responses.retrieve("resp_1", text_format=Report, stream=True) as events:
        assert list(events.snapshots)[-1] == WHOLE
        assert events.get_final_response().output_parsed == WHOLE
    again = client.responses.retrieve(result, text_format=Report)
    assert again.output_parsed == WHOLE

    async def main() -> None:
        async with ul.AsyncClient(canned().upstream) as client:
            assert (await client.responses.retrieve("resp_1", text_format=Report)).output_parsed == WHOLE
            events = await client.responses.retrieve("resp_1", text_format=Report, stream=True)
            assert (await events.get_final_response()).output_parsed == WHOLE

    asyncio.run(main())


def test_an_answer_is_parsed_however_it_was_asked_for() -> None:
    call = function_call("Report", WHOLE.model_dump_json())
    result = ul.Client(canned("", "completed", call).upstream).responses.retrieve("resp_1", text_format=Report)
    assert (result.output_parsed, result.strategy) == (WHOLE, "tool")
    named = ul.Client(canned("", "completed", function_call("report", WHOLE.model_dump_json())).upstream)
    assert named.responses.retrieve("resp_1", text_format=Report, name="report").output_parsed == WHOLE
    assert named.responses.retrieve("resp_1", text_format=Report).output_parsed is None  # the call of another tool
    told = f"Here it is:\n```json\n{WHOLE.model_dump_json()}\n```\n"
    result = ul.Client(canned(told).upstream).responses.retrieve("resp_1", text_format=Report)
    assert (result.output_parsed, result.strategy) == (WHOLE, "prompt")


def test_what_has_no_answer_has_no_value_and_what_does_not_fit_is_told() -> None:
    for status in ("queued", "in_progress", "failed", "cancelled"):
        found = ul.Client(canned("{", status).upstream).responses.retrieve("resp_1", text_format=Report)
        assert (found.status, found.output_parsed) == (status, None)
    with pytest.raises(ul.OutputParseError) as caught:
        ul.Client(canned('{"title": 1}').upstream).responses.retrieve("resp_1", text_format=Report)
    assert caught.value.response.id == "resp_1"
    asked = canned()
    responses = ul.Client(asked.upstream).responses
    given: Any = {"text_format": Report, "stream": True, "after": 3}
    with pytest.raises(ul.InvalidBody, match=r"^/text_format: cannot be combined with after="):
        responses.retrieve("resp_1", **given)
    with pytest.raises(ul.InvalidArgument, match=r"^name= should be a string"):
        responses.retrieve("resp_1", text_format=Report, name=1)  # type: ignore[call-overload]
    assert asked.requests == []


def test_an_idle_interaction_is_done_and_has_its_answer() -> None:
    """The provider's own words: all processing and background reasoning are complete."""
    step = {"type": "model_output", "content": [{"type": "text", "text": WHOLE.model_dump_json()}]}
    head = {"id": "v1_a", "object": "interaction", "model": "m"}

    def answer(request: httpx2.Request) -> Any:
        if request.method == "POST":
            return {**head, "status": "in_progress", "steps": []}
        return {**head, "status": "idle", "steps": [step]}

    handle = ul.Client(Canned("google-interactions", answer).upstream).responses.parse(
        input="Hi", text_format=Report, background=True, store=True
    )
    assert not handle.done
    result = handle.wait(poll=0.001)
    assert (handle.done, handle.status, result.output_parsed) == (True, "idle", WHOLE)
