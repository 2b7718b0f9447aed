"""Answers that take their time: handles on them, what a provider keeps of them, and streams taken up again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import Canned, message, response, stream, upstream
from unified_llm.client.sending import flows


class Slow:
    """A provider that works in the background: done at the third look."""

    def __init__(self) -> None:
        self.looks = 0
        self.canned = Canned("openai-responses", self.answer)

    def answer(self, request: httpx2.Request) -> Any:
        path, method = request.url.path, request.method
        if method == "DELETE":
            return {"id": "resp_1", "object": "response", "deleted": True}
        if path.endswith("/cancel"):
            return response(status="cancelled")
        if method == "GET" and request.url.params.get("stream") == "true":
            after = int(request.url.params.get("starting_after", -1))
            return [event for event in stream("Hello") if event["sequence_number"] > after]
        self.looks += method == "GET"
        return response(message("Done.")) if self.looks >= 3 else response(status="in_progress")


def test_a_background_answer_is_waited_for() -> None:
    slow, looks = Slow(), []
    handle = ul.Client(slow.canned.upstream).responses.create(input="Hi", background=True, seed=7)
    assert (handle.id, handle.status, handle.done) == ("resp_1", "in_progress", False)
    assert slow.canned.bodies[0]["background"] is True
    result = handle.wait(poll=0.001, on_progress=lambda each: looks.append(each.status))
    assert result.output_text == "Done." and handle.done
    assert looks == ["in_progress", "in_progress", "completed"]
    assert [item.type for item in result.items] == ["message", "message"]
    assert str(slow.canned.requests[-1].url) == "http://canned/v1/responses/resp_1"
    # What the request lost is still lost, and the conversation can go on from there.
    assert [loss.path for loss in result.losses] == ["/seed"]
    assert sum(segment.length for segment in result.segments) == len(result.items)


def test_looks_become_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    slow.looks = -20
    slept: list[float] = []
    handle = ul.Client(slow.canned.upstream).responses.create(input="Hi", background=True)
    monkeypatch.setattr(flows.time, "sleep", slept.append)
    handle.wait()
    assert slept[:3] == [1.0, 1.5, 2.25] and slept[-1] == 15.0


def test_and_in_an_event_loop_with_a_limit() -> None:
    async def main() -> None:
        slow = Slow()
        handle = await ul.AsyncClient(slow.canned.upstream).responses.create(input="Hi", background=True)
        slow.looks = -(10**6)
        with pytest.raises(ul.APITimeoutError, match="still in_progress"):
            await handle.wait(timeout=0.02, poll=0.005)
        slow.looks = 2
        assert (await handle.wait(poll=0.001)).output_text == "Done."

    asyncio.run(main())


def test_a_line_on_the_terminal_says_that_something_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    handle = ul.Client(Slow().canned.upstream).responses.create(input="Hi", background=True)
    handle.wait(poll=0.001, progress=True)
    out, err = capsys.readouterr()
    assert out == "" and "resp_1: in_progress, 0 s" in err and err.endswith("\r")


def test_a_background_answer_is_cancelled_looked_at_and_deleted() -> None:
    slow = Slow()
    made = ul.Client(slow.canned.upstream)
    handle = made.responses.create(input="Hi", background=True)
    assert handle.cancel().status == "cancelled" and handle.done
    assert made.responses.retrieve("resp_1").id == "resp_1"
    assert made.responses.retrieve(handle).id == "resp_1"
    assert made.responses.delete(handle) is True


def test_a_stream_is_taken_up_again_where_it_broke() -> None:
    made = ul.Client(Slow().canned.upstream)
    handle = made.responses.create(input="Hi", background=True)
    whole = list(handle.events())
    assert whole[-1].response.output[0].content[0].text == "Hello"
    events = handle.events(after=4)
    rest = list(events)
    assert "".join(event.delta for event in rest if event.type == "response.output_text.delta") == "llo"
    assert events.last == whole[-1].sequence_number
    assert events.get_final_response().output_text == "Hello"


@pytest.mark.parametrize("protocol", ["anthropic-messages", "google-generate-content"])
def test_where_nothing_is_kept_there_is_nothing_to_retrieve(protocol: str) -> None:
    made = ul.Client(upstream(protocol))
    for ask in (made.responses.retrieve, made.responses.cancel, made.responses.delete):
        with pytest.raises(ul.CapabilityRefused, match="does not store responses, so a response cannot be"):
            ask("resp_1")
    # An answer that is stored nowhere cannot be waited for; one that the client keeps is done at once.
    with pytest.raises(ul.CapabilityRefused, match="does not keep it"):
        made.responses.create(input="Hi", background=True)
    handle = ul.Client(upstream(protocol), store=ul.MemoryStore()).responses.create(input="Hi", background=True)
    assert handle.done and handle.wait().output_text == "Hi"
    assert [loss.capability for loss in handle.result.losses if loss.fate == "emulated"] == ["state.background"]


@pytest.mark.parametrize("protocol", ["openai-responses", "google-interactions"])
def test_what_is_kept_is_retrieved_and_deleted(protocol: str) -> None:
    made = ul.Client(upstream(protocol))
    result = made.responses.create(input="Keep this.", store=True)
    assert made.responses.retrieve(result.id).output_text == "Keep this."
    assert made.responses.delete(result.id) is True
    with pytest.raises(ul.NotFoundError):
        made.responses.retrieve(result.id)


@pytest.mark.parametrize("other", [{"provider": "there"}, {"scope": "b"}])
def test_what_one_provider_encrypted_stays_there_in_the_same_protocol_too(other: dict[str, str]) -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "SECRET"}
    here = Canned("openai-responses", response(sealed, message("One.")), provider="here", scope="a")
    there = Canned("openai-responses", response(message("Two.")), **{"provider": "here", "scope": "a", **other})
    made = ul.Client()
    first = made.responses.create(upstream=here.upstream, input="Hi")
    moved = made.responses.create(upstream=there.upstream, previous=first, input="And?")
    made.responses.create(upstream=here.upstream, previous=moved, input="And?")
    assert "SECRET" not in str(there.bodies) and "SECRET" in str(here.bodies[1])
    assert [loss.detail for loss in moved.losses if loss.capability.startswith("reasoning")] == ["foreign"]


def test_an_agent_works_in_the_background_and_its_stream_is_taken_up_again() -> None:
    # https://ai.google.dev/gemini-api/docs/interactions: an agent in the place of a model, kept, looked at by its id
    def answer(request: httpx2.Request) -> Any:
        told: dict[str, Any] = {
            "id": "int_1",
            "object": "interaction",
            "agent": "deep-research",
            "status": "in_progress",
        }
        if request.url.params.get("stream") == "true":
            assert request.url.params["last_event_id"] == "e2"
            step = {
                "event_type": "step.delta",
                "index": 0,
                "delta": {"type": "text", "text": "Found."},
                "event_id": "e3",
            }
            whole = {**told, "status": "completed", "steps": [_found]}
            frames = [
                {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}, "event_id": "e2b"},
                step,
                {"event_type": "step.stop", "index": 0, "event_id": "e4"},
                {"event_type": "interaction.completed", "interaction": whole, "event_id": "e5"},
            ]
            text = "".join(f"event: {each['event_type']}\ndata: {json.dumps(each)}\n\n" for each in frames)
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text + "data: [DONE]\n\n")
        return told if request.method == "POST" else {**told, "status": "completed", "steps": [_found]}

    canned = Canned("google-interactions", answer)
    made = ul.Client(canned.upstream)
    handle = made.responses.create(input="Look into it.", agent="deep-research", background=True, store=True)
    assert canned.bodies[0] == {
        "input": "Look into it.",
        "agent": "deep-research",
        "background": True,
        "store": True,
    }
    assert (handle.id, handle.done) == ("int_1", False)
    assert handle.result.upstream.model is None
    assert handle.wait(poll=0.001).output_text == "Found."
    assert canned.requests[1].url.path == "/v1/interactions/int_1"
    events = handle.events(after="e2")
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Found."]
    assert events.last == "e5"


def test_what_was_said_is_once_in_the_conversation_although_the_provider_keeps_it_with_the_answer() -> None:
    # https://ai.google.dev/gemini-api/docs/interactions: a kept interaction is the whole timeline, user input included
    made = ul.Client(model="local/echo", protocol="google-interactions")
    asked = {"background": True, "store": True}
    text = "[[reason Hm.]] [[call get_weather city=Oslo]] [[then]] Rain."
    tool = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}
    first = made.responses.create(input=text, tools=[tool], **asked).wait(poll=0.001)
    assert [item.type for item in first.items] == ["message", "reasoning", "function_call"]
    result = {"type": "function_call_output", "call_id": first.items[2].call_id, "output": "Rain"}
    second = made.responses.create(previous=first, input=[result], tools=[tool], **asked).wait(poll=0.001)
    assert [item.type for item in second.items] == [
        *("message", "reasoning", "function_call", "function_call_output", "message"),
    ]
    assert sum(each.length for each in second.segments) == 5
    kept = made.responses.retrieve(second, upstream="local/echo")
    assert [item.type for item in kept.items][-1] == "message" and len(kept.items) == len(kept.output)


_found = {"type": "model_output", "content": [{"type": "text", "text": "Found."}]}


def test_a_caller_that_is_cancelled_hangs_up() -> None:
    closed = []

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            frames = stream("Hello")
            for event in frames[:5]:
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            await asyncio.Event().wait()

        async def aclose(self) -> None:
            closed.append(True)

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless())

    async def main() -> list[str]:
        seen: list[str] = []

        async def listen() -> None:
            events = await ul.AsyncClient(Canned("openai-responses", answer).upstream).responses.create(
                input="Hi", stream=True
            )
            async for event in events:
                seen.append(event.type)

        task = asyncio.create_task(listen())
        while len(seen) < 5:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return seen

    assert asyncio.run(main())[-1] == "response.output_text.delta"
    assert closed


def test_leaving_a_stream_early_hangs_up() -> None:
    closed = []

    class Endless(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            for event in stream("Hello")[:5]:
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            raise AssertionError("the listener has gone")

        def close(self) -> None:
            closed.append(True)

    canned = Canned(
        "openai-responses",
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless()),
    )
    with ul.Client(canned.upstream).responses.create(input="Hi", stream=True) as events:
        next(event for event in events if event.type == "response.output_text.delta")
    assert closed
