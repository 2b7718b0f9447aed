"""A streamed response that failed raises the error in it, as one without a stream."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from upstreams import MESSAGE, Canned, frames, streamed

QUICK = ul.Retry.never()
ERROR = {"code": "rate_limit_exceeded", "message": "too many tokens a minute"}


def response(status: str, **more: Any) -> dict[str, Any]:
    """https://platform.openai.com/docs/api-reference/responses-streaming/response/failed"""
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": [], **more}


def failing(error: Any) -> Canned:
    events = [
        {"type": "response.created", "sequence_number": 0, "response": response("in_progress")},
        {"type": "response.failed", "sequence_number": 1, "response": response("failed", error=error)},
    ]
    return Canned(lambda: streamed(*frames(*events)), protocol="openai-responses")


@pytest.mark.parametrize("how", ["create", "parse", "run"])
def test_a_stream_that_ends_in_a_failed_response_is_the_error_in_it(how: str) -> None:
    options: dict[str, Any] = {"text_format": int} if how == "parse" else {}
    with ul.Client(failing(ERROR).upstream, retry=QUICK) as client:
        stream = getattr(client.responses, how)(input="Hi", stream=True, **options)
        seen: list[str] = []
        with pytest.raises(ul.RateLimitError, match="too many tokens a minute"):
            seen.extend(event.type for event in stream)
        assert "response.created" in seen and "unified_llm:turn_done" not in seen
        if how != "run":
            with pytest.raises(ul.RateLimitError):
                stream.get_final_response()


def test_the_same_in_an_event_loop_and_without_an_explanation() -> None:
    async def main() -> None:
        async with ul.AsyncClient(failing(None).upstream, retry=QUICK) as client:
            stream = await client.responses.create(input="Hi", stream=True)
            with pytest.raises(ul.ServerError, match="the response failed"):
                await stream.get_final_response()
            assert stream.partial.status == "failed"

    asyncio.run(main())


def test_a_whole_failed_response_to_a_request_for_a_stream_goes_to_the_next_upstream() -> None:
    whole = Canned(httpx2.Response(200, json=response("failed", error=ERROR)), protocol="openai-responses")
    good = Canned(MESSAGE, protocol="anthropic-messages")
    with ul.Client(retry=QUICK) as client:
        stream = client.responses.create(models=[whole.upstream, good.upstream], input="Hi", stream=True)
        assert stream.get_final_response().output_text == "Hello"


def test_a_stream_that_was_blocked_has_not_failed() -> None:
    """https://ai.google.dev/gemini-api/docs/interactions: `errors` contain what stopped it."""
    head = {"id": "i", "object": "interaction", "model": "m", "created": "2026-01-01T00:00:00Z"}
    blocked = {**head, "status": "failed", "errors": [{"code": "safety", "message": "It is blocked."}]}
    events = [
        {"event_type": "interaction.created", "interaction": {**head, "status": "in_progress"}},
        {"event_type": "interaction.completed", "interaction": blocked},
    ]
    upstream = Canned(lambda: streamed(*frames(*events)), protocol="google-interactions").upstream
    with ul.Client(upstream, retry=QUICK) as client:
        found = client.responses.create(input="Hi", stream=True).get_final_response()
    assert found.finish is not None and found.finish.reason == "safety"


def test_the_stream_of_background_work_has_its_state() -> None:
    with ul.Client(failing(ERROR).upstream, retry=QUICK) as client:
        stream = client.responses.retrieve("resp_1", stream=True)
        assert stream.get_final_response().status == "failed"


def test_a_stream_that_broke_off_names_its_upstream_as_other_errors_do() -> None:
    half = Canned(lambda: streamed(*frames({"id": "c", "choices": []})), provider=None)
    with ul.Client(half.upstream, retry=QUICK) as client, pytest.raises(ul.StreamInterruptedError) as caught:
        client.responses.create(input="Hi", stream=True).get_final_response()
    down = Canned(httpx2.Response(500, json={"error": {"message": "no"}}), provider=None)
    with ul.Client(down.upstream, retry=QUICK) as client, pytest.raises(ul.ServerError) as other:
        client.responses.create(input="Hi", stream=True)
    assert caught.value.upstream == other.value.upstream == "up/up-1"


def test_what_cannot_be_done_at_all_has_no_empty_place_before_it() -> None:
    client = ul.Client(model="local/echo", protocol="anthropic-messages")
    with pytest.raises(ul.CapabilityRefused, match=r"^state\.store: Anthropic Messages does not store"):
        client.responses.delete("resp_1")
