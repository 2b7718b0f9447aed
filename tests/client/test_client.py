"""The client: what is asked and what comes back, over every protocol, in both forms."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, message, response, stream, upstream
from unified_llm._tables import KEYS
from unified_llm.client import background, client, responses, steps
from unified_llm.client.params import Asked, Given

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_over_every_protocol(protocol: str) -> None:
    with ul.Client(upstream(protocol)) as client:
        result = client.responses.create(input="Good morning.", instructions="Be brief.", max_output_tokens=500)
    assert isinstance(result, ul.Response)
    assert result.output_text == "Good morning."
    assert result.usage is not None and result.usage.input_tokens and result.usage.output_tokens
    assert result.raw and result.exchange is not None and result.exchange.model == "echo"
    assert result.upstream.protocol == protocol
    assert result.tool_calls == []
    assert [item["role"] for item in result.items] == ["user", "assistant"]
    assert not [loss for loss in result.losses if loss.fate == "lost"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_over_every_protocol(protocol: str) -> None:
    plain = ul.Client(upstream(protocol)).responses.create(input="[[reason why]] Good morning.")
    with ul.Client(upstream(protocol)).responses.create(input="[[reason why]] Good morning.", stream=True) as events:
        seen = list(events)
        final = events.get_final_response()
    assert {type(event).__module__.partition(".")[0] for event in seen} == {"unified_llm"}
    assert seen[0].type == "response.created" and seen[-1].type == "response.completed"
    assert "".join(event.delta for event in seen if event.type == "response.output_text.delta") == "Good morning."
    assert final.output_text == plain.output_text
    assert [item.type for item in final.output] == [item.type for item in plain.output]
    assert final.usage.output_tokens == plain.usage.output_tokens


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_in_an_event_loop(protocol: str) -> None:
    async def main() -> tuple[Any, str, Any]:
        async with ul.AsyncClient(upstream(protocol)) as client:
            result = await client.responses.create(input="Good morning.")
            async with await client.responses.create(input="Good morning.", stream=True) as events:
                text = "".join([piece async for piece in events.text_deltas])
                return result, text, await events.get_final_response()

    result, text, final = asyncio.run(main())
    assert result.output_text == text == final.output_text == "Good morning."


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    for one, other in [
        (client.Client, client.AsyncClient),
        (client.Models, client.AsyncModels),
        (responses.Responses, responses.AsyncResponses),
        (responses.InputTokens, responses.AsyncInputTokens),
        (background.Background, background.AsyncBackground),
    ]:
        names = {name for name in vars(one) if not name.startswith("_")} - {"close"}
        assert names == {name for name in vars(other) if not name.startswith("_")} - {"aclose"}
        for name in names:
            mine, theirs = inspect.signature(getattr(one, name)), inspect.signature(getattr(other, name))
            assert list(mine.parameters) == list(theirs.parameters), name
            assert inspect.iscoroutinefunction(getattr(other, name)), name


def test_the_arguments_are_the_fields_of_a_request() -> None:
    own = {"stream", "background"}  # parameters of their own
    assert set(Given.__annotations__) - set(Asked.__annotations__) == KEYS["request"] - own


# ---- what is asked --------------------------------------------------------------------------------------------------


def asked(**given: Any) -> Any:
    canned = Canned("openai-responses", response(message("Hi")))
    ul.Client(canned.upstream).responses.create(**given)
    return canned.bodies[0]


def test_input_in_all_its_forms() -> None:
    user = {"type": "message", "role": "user", "content": "Hi"}
    assert asked(input="Hi")["input"] == "Hi"
    for given in (["Hi"], [{"role": "user", "content": "Hi"}], [ul.Message(role="user", content="Hi")]):
        assert asked(input=given)["input"] == [user]
    picture = {"type": "input_image", "image_url": PNG}
    assert asked(input={"role": "user", "content": [picture]})["input"][0]["content"] == [picture]


def test_settings_tools_and_what_only_one_provider_knows() -> None:
    body = asked(
        input="Hi",
        temperature=0.5,
        reasoning={"effort": "low"},
        metadata={"a": "b"},
        tools=["web_search", ul.FunctionTool(name="f", parameters={"type": "object", "properties": {}})],
        extra_body={"new_thing": 1},
    )
    assert (body["temperature"], body["reasoning"], body["metadata"]) == (0.5, {"effort": "low"}, {"a": "b"})
    assert [tool["type"] for tool in body["tools"]] == ["web_search", "function"]
    assert body["new_thing"] == 1


def test_headers_of_a_call() -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    ul.Client(canned.upstream, headers={"x-one": "1"}).responses.create(input="Hi", extra_headers={"x-two": "2"})
    assert (canned.requests[0].headers["x-one"], canned.requests[0].headers["x-two"]) == ("1", "2")


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"temprature": 1}, TypeError, "did you mean 'temperature'"),
        ({"new_thing": 1}, TypeError, "extra_body"),
        ({"temperature": "hot"}, ul.InvalidBody, "/temperature"),
        ({"reasoning": {"effort": 3}}, ul.InvalidBody, "/reasoning/effort"),
        ({"input": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]}, ul.InvalidBody,
         "/input/0/content/0/type"),
        ({"input": [{"type": "mesage", "role": "user"}]}, ul.InvalidBody, "did you mean 'message'"),
        ({"input": [7]}, ul.InvalidBody, "/input/0"),
        ({"previous": "resp_1"}, TypeError, "previous_response_id"),
        ({"tools": [len, len]}, ValueError, "two tools"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_before_anything_is_sent(given: Any, error: Any, told: str) -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    if "tools" in given:
        given = {"tools": [ul.tool(name="a")(_one), ul.tool(name="a")(_one)]}
    with pytest.raises(error, match=told):
        ul.Client(canned.upstream).responses.create(**{"input": "Hi", **given})
    assert canned.requests == []


def _one(x: int) -> int:
    return x


def test_a_model_without_a_provider_needs_an_upstream() -> None:
    with pytest.raises(ValueError, match="provider/"):
        ul.Client().responses.create(model="gpt", input="Hi")
    with pytest.raises(ValueError, match="whom to ask"):
        ul.Client().responses.create(input="Hi")


def test_a_plain_model_is_one_of_the_upstream() -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    made = ul.Client(canned.upstream)
    for model in ("other", "canned/other"):
        made.responses.create(model=model, input="Hi")
    assert [body["model"] for body in canned.bodies] == ["other", "other"]


@pytest.mark.parametrize(
    ("provider", "model", "asked"),
    [
        ("openrouter", "anthropic/claude-opus-4.7", "anthropic/claude-opus-4.7"),  # a router's own names have slashes
        (None, "meta/llama", "meta/llama"),  # and on a server that nobody knows they may
    ],
)
def test_names_with_a_slash_may_be_the_upstreams_own(provider: str | None, model: str, asked: str) -> None:
    canned = Canned("openai-responses", response(message("Hi")), provider=provider)
    ul.Client(canned.upstream).responses.create(model=model, input="Hi")
    ul.Client().responses.create(upstream=canned.upstream, model="any/thing", input="Hi")
    assert [body["model"] for body in canned.bodies] == [asked, "any/thing"]


def test_a_name_of_another_provider_goes_there() -> None:
    canned = Canned("openai-responses", response(message("Hi")), provider="openai")
    assert ul.Client(canned.upstream).responses.create(model="local/echo", input="Hello").output_text == "Hello"
    assert canned.requests == []


def test_a_loss_at_level_raise_is_raised_before_anything_is_sent() -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    with pytest.raises(ul.CapabilityLost, match=r"sampling\.seed"):
        ul.Client(canned.upstream, on_loss={"sampling.*": "raise"}).responses.create(input="Hi", seed=7)
    assert canned.requests == []
    result = ul.Client(canned.upstream).responses.create(input="Hi", seed=7)
    assert [(loss.path, loss.fate) for loss in result.losses] == [("/seed", "lost")]


def test_fallbacks_are_asked_in_their_order_and_the_reason_is_kept() -> None:
    busy = Canned("openai-chat", lambda _: httpx2.Response(401, json={"error": {"message": "no"}}), provider="busy")
    fine = Canned("openai-responses", response(message("Hi")), provider="fine")
    result = ul.Client().responses.create(models=[busy.upstream, fine.upstream], input="Hi")
    assert result.output_text == "Hi"
    assert result.upstream is fine.upstream
    (hop,) = result.hops
    assert hop.upstream == "busy/m" and "AuthenticationFailed" in hop.reason


# ---- a conversation on the move -------------------------------------------------------------------------------------


def test_a_conversation_goes_on_at_another_provider() -> None:
    made = ul.Client()
    first = made.responses.create(upstream=upstream("anthropic-messages"), input="[[reason deep]] One.")
    second = made.responses.create(upstream=upstream("google-generate-content"), previous=first, input="Two.")
    third = made.responses.create(upstream=upstream("anthropic-messages"), previous=second, input="Three.")
    assert third.output_text == "Three."
    assert [item["type"] for item in third.items] == ["reasoning" if n == 1 else "message" for n in range(7)]
    sent = third.exchange
    assert sent is not None
    kept = [item for item in third.request["input"] if item["type"] == "reasoning"]
    assert kept[0]["opaque"][0]["data"] == first.output[0].opaque[0].data


def test_items_can_be_passed_by_hand() -> None:
    made = ul.Client(upstream("anthropic-messages"))
    first = made.responses.create(input="[[reason deep]] One.")
    for more in ([*first.items, "Two."], ["One.", first, "Two."], ["One.", *first.output, "Two."]):
        assert made.responses.create(input=more).output_text == "Two."


def test_a_file_of_one_provider_is_not_sent_to_another() -> None:
    here = Canned("openai-responses", response(message("Seen.")), provider="here")
    there = Canned("openai-responses", response(message("Hm.")), provider="there")
    upload = {
        "role": "user",
        "content": [{"type": "input_file", "file_id": "file_1"}, {"type": "input_text", "text": "?"}],
    }
    made = ul.Client()
    first = made.responses.create(upstream=here.upstream, input=[upload])
    again = made.responses.create(upstream=here.upstream, previous=first, input="And?")
    moved = made.responses.create(upstream=there.upstream, previous=again, input="And?")
    assert "file_1" in str(here.bodies[1])
    assert "file_1" not in str(there.bodies[0])
    assert [(loss.path, loss.fate, loss.detail) for loss in moved.losses] == [("/input/0/content/0", "lost", "foreign")]
    assert not again.losses
    with pytest.raises(ul.CapabilityLost, match="/input/0/content/0"):
        made.responses.create(upstream=there.upstream, previous=again, input="And?", on_loss="raise")
    assert len(there.requests) == 1
    made.responses.create(upstream=here.upstream, previous=moved, input="And now?")
    assert "file_1" in str(here.bodies[2])


def test_turns_of_two_answers_are_not_one() -> None:
    made = ul.Client(upstream("openai-chat"))
    first = made.responses.create(input="[[reason a]] One.")
    second = made.responses.create(previous=first, input="[[reason b]] Two.")
    turns = [item.get("turn") for item in second.items if "turn" in item]
    assert turns == [0, 0, 1, 1]


# ---- streams that fail ----------------------------------------------------------------------------------------------


def test_a_stream_that_is_cut_off_is_broken_and_what_came_is_there() -> None:
    canned = Canned("openai-responses", stream("Hello", end=False))
    events = ul.Client(canned.upstream).responses.create(input="Hi", stream=True)
    seen = []
    with pytest.raises(ul.StreamBroken):
        for event in events:
            seen.append(event)
    assert [event.delta for event in seen if event.type == "response.output_text.delta"] == list("Hello")
    assert events.partial["output"][0]["content"][0]["text"] == "Hello"
    with pytest.raises(ul.StreamBroken):
        events.get_final_response()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocols_broken_stream_is_broken(protocol: str) -> None:
    with pytest.raises(ul.APIError):
        list(ul.Client(upstream(protocol)).responses.create(input="[[break after 2]] Hello there", stream=True))


def test_an_error_in_a_stream_is_the_typed_error() -> None:
    events = stream("Hello", end=False)
    error = {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None}
    canned = Canned("openai-responses", [*events, {**error, "sequence_number": len(events)}])
    with pytest.raises(ul.RateLimited, match="slow down"):
        list(ul.Client(canned.upstream).responses.create(input="Hi", stream=True))


def test_an_error_in_a_stream_is_raised_when_it_comes() -> None:
    class Talking(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            for event in stream("Hello")[:4]:
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            error = {"type": "error", "code": "server_error", "message": "boom", "param": None, "sequence_number": 4}
            yield f"event: error\ndata: {json.dumps(error)}\n\n".encode()
            raise AssertionError("nobody waits for more")

    canned = Canned(
        "openai-responses",
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Talking()),
    )
    with pytest.raises(ul.ServerFailed, match="boom"):
        list(ul.Client(canned.upstream).responses.create(input="Hi", stream=True))


# ---- tokens and models ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tokens_are_counted_where_they_are_and_estimated_elsewhere(protocol: str) -> None:
    count = ul.Client(upstream(protocol)).count_tokens(input="Good morning.")
    counts = protocol not in ("openai-chat", "google-interactions")
    assert count.estimated is not counts
    assert count.input_tokens > 0


def test_a_server_that_does_not_count_is_estimated() -> None:
    canned = Canned("openai-responses", lambda _: httpx2.Response(404, json={"error": {"message": "no such route"}}))
    count = ul.Client(canned.upstream).responses.input_tokens.count(input="x" * 400)
    assert (count.estimated, count.input_tokens) == (True, 104)
    assert "no such route" in count.how


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "google-interactions"])
def test_models_are_listed(protocol: str) -> None:
    assert "echo" in [each.id for each in ul.Client(upstream(protocol)).models.list()]


def test_what_an_answer_cost() -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    canned = Canned(
        "openai-responses", response(message("Hi"), usage=usage), provider="anthropic", model="claude-opus-4-7"
    )
    cost = ul.Client(canned.upstream).responses.create(input="Hi").cost
    assert cost is not None and str(cost.total) == "0.0075"  # $5 and $25 a million, as listed
    unknown = Canned("openai-responses", response(message("Hi")))
    assert ul.Client(unknown.upstream).responses.create(input="Hi").cost is None


# ---- in the background ----------------------------------------------------------------------------------------------


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
    assert [item["type"] for item in result.items] == ["message", "message"]
    assert str(slow.canned.requests[-1].url) == "http://canned/v1/responses/resp_1"
    # What the request lost is still lost, and the conversation can go on from there.
    assert [loss.path for loss in result.losses] == ["/seed"]
    assert sum(segment.length for segment in result.segments) == len(result.items)


def test_looks_become_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    slow.looks = -20
    slept: list[float] = []
    handle = ul.Client(slow.canned.upstream).responses.create(input="Hi", background=True)
    monkeypatch.setattr(steps.time, "sleep", slept.append)
    handle.wait()
    assert slept[:3] == [1.0, 1.5, 2.25] and slept[-1] == 15.0


def test_and_in_an_event_loop_with_a_limit() -> None:
    async def main() -> None:
        slow = Slow()
        handle = await ul.AsyncClient(slow.canned.upstream).responses.create(input="Hi", background=True)
        slow.looks = -(10**6)
        with pytest.raises(ul.Timeout, match="still in_progress"):
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
        with pytest.raises(ul.CapabilityRefused, match="is not kept and cannot be"):
            ask("resp_1")
    handle = made.responses.create(input="Hi", background=True)
    assert handle.done and handle.wait().output_text == "Hi"
    assert [loss.capability for loss in handle.result.losses if loss.fate == "lost"] == ["state.background"]


@pytest.mark.parametrize("protocol", ["openai-responses", "google-interactions"])
def test_what_is_kept_is_retrieved_and_deleted(protocol: str) -> None:
    made = ul.Client(upstream(protocol))
    result = made.responses.create(input="Keep this.", store=True)
    assert made.responses.retrieve(result.id).output_text == "Keep this."
    assert made.responses.delete(result.id) is True
    with pytest.raises(ul.NotFound):
        made.responses.retrieve(result.id)


@pytest.mark.parametrize("other", [{"provider": "there"}, {"scope": "b"}])
def test_what_one_provider_sealed_stays_there_in_the_same_protocol_too(other: dict[str, str]) -> None:
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
    assert [item["type"] for item in first.items] == ["message", "reasoning", "function_call"]
    result = {"type": "function_call_output", "call_id": first.items[2]["call_id"], "output": "Rain"}
    second = made.responses.create(previous=first, input=[result], tools=[tool], **asked).wait(poll=0.001)
    assert [item["type"] for item in second.items] == [
        *("message", "reasoning", "function_call", "function_call_output", "message"),
    ]
    assert sum(each.length for each in second.segments) == 5
    kept = made.responses.retrieve(second, upstream="local/echo")
    assert [item["type"] for item in kept.items][-1] == "message" and len(kept.items) == len(kept.output)


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
            raise AssertionError("nobody listens any more")

        def close(self) -> None:
            closed.append(True)

    canned = Canned(
        "openai-responses",
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Endless()),
    )
    with ul.Client(canned.upstream).responses.create(input="Hi", stream=True) as events:
        next(event for event in events if event.type == "response.output_text.delta")
    assert closed
