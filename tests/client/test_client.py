"""The client: requests and responses, over every protocol, in both forms."""

from __future__ import annotations

import asyncio
import inspect
import json
import pydoc
import re
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, message, response, upstream
from unified_llm.client import background, client, responses
from unified_llm.client.params import Asked, Fields, Given, ParseGiven, ResumeGiven, RunGiven, RunOptions, meanings
from unified_llm.types._tables import KEYS

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
    assert [item.role for item in result.items] == ["user", "assistant"]
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
    assert set(Fields.__annotations__) == KEYS["request"] - own
    assert not set(Fields.__annotations__) & {*Asked.__annotations__, *RunOptions.__annotations__}


METHODS = [
    (getattr(cls, name), given)
    for cls in (responses.Responses, responses.AsyncResponses)
    for name, given in (("create", Given), ("parse", ParseGiven), ("run", RunGiven), ("resume", ResumeGiven))
] + [
    (each, Given)
    for each in (
        responses.InputTokens.count,
        responses.AsyncInputTokens.count,
        client.Client.count_tokens,
        client.AsyncClient.count_tokens,
    )
]


OWN = ("self", "run")


@pytest.mark.parametrize(("method", "given"), METHODS)
def test_help_shows_every_argument_with_its_type_and_meaning(method: Any, given: Any) -> None:
    shown = inspect.signature(method).parameters
    assert set(given.__annotations__) < set(shown)
    assert all(each.kind is each.KEYWORD_ONLY and each.annotation for name, each in shown.items() if name not in OWN)
    assert str(shown["temperature"]) == "temperature: float | None = None"
    documented = pydoc.render_doc(method, renderer=pydoc.plaintext)
    silent = [name for name in given.__annotations__ if f" {name}: {meanings()[name]}\n" not in f"{documented}\n"]
    assert not silent


def test_the_sync_and_async_methods_take_the_same() -> None:
    for name in ("create", "parse", "run", "resume"):
        one, other = (getattr(cls, name) for cls in (responses.Responses, responses.AsyncResponses))
        assert [*inspect.signature(one).parameters.values()] == [*inspect.signature(other).parameters.values()]
    assert inspect.signature(responses.Responses.run).parameters["max_turns"].default == 10


def test_a_result_is_shown_in_one_short_line() -> None:
    with ul.Client(model="local/echo") as client:
        result = client.responses.create(input="Good day. " * 500)
        run = client.responses.run(input="[[call now]]", tools=[ul.tool(lambda: "noon", name="now")])
    shown = re.sub("resp_[0-9a-f]+", "resp_1", repr(result))
    start = "Result(id='resp_1', status='completed', model='echo', text='Good day. Good day. Good day. Good day. "
    usage = f"{result.usage.input_tokens} in, {result.usage.output_tokens} out"  # type: ignore[union-attr]
    assert shown.startswith(start) and shown.endswith(f"...', usage='{usage}', losses=0)"), shown
    assert len(shown) < 250 and len(str(result)) < 250
    assert "tool_calls=['now']" in repr(run.steps[0].response)
    assert repr(run).startswith("RunResult('answered', steps=2, text='now: noon', usage=")


def test_everything_handed_out_is_an_object_with_its_json_beside_it() -> None:
    with ul.Client(model="local/echo") as client:
        run = client.responses.run(input="[[call now]]", tools=[ul.tool(lambda: "noon", name="now")])
        with client.responses.create(input="Hi", stream=True) as events:
            next(events)
            assert isinstance(events.partial, ul.Response) and events.partial.model == "echo"
    first = run.steps[0]
    assert [type(item) for item in run.items] == [ul.Message, ul.FunctionCall, ul.FunctionCallOutput, ul.Message]
    assert isinstance(first.outputs[0], ul.FunctionCallOutput) and first.outputs[0].output == "noon"
    assert isinstance(run.usage, ul.Usage) and first.response.tool_calls[0].parsed_arguments == {}
    assert [item.dump() for item in run.items] == run.item_nodes
    assert [item.dump() for item in first.outputs] == list(first.output_nodes)
    assert [item.dump() for item in run.final.items] == run.final.item_nodes


# ---- requests -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("effort", [None, "none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_a_known_effort_is_sent_and_a_new_one_in_extra_body(effort: str | None) -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    client = ul.Client(canned.upstream)
    client.responses.create(input="Hi", reasoning={"effort": effort})
    client.responses.create(input="Hi", reasoning={"summary": "auto"}, extra_body={"reasoning": {"effort": "ultra"}})
    sent = [json.loads(request.content)["reasoning"] for request in canned.requests]
    assert [each.get("effort") for each in sent] == [effort, "ultra"]


def test_a_new_effort_of_a_wire_request_is_sent() -> None:
    body = {"model": "m", "input": "Hi", "reasoning": {"effort": "ultra"}}
    done = ul.convert(body, source="openai-responses", target="openai-chat")
    assert done.value["reasoning_effort"] == "ultra" and not done.losses


def test_headers_of_a_call() -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    ul.Client(canned.upstream, headers={"x-one": "1"}).responses.create(input="Hi", extra_headers={"x-two": "2"})
    assert (canned.requests[0].headers["x-one"], canned.requests[0].headers["x-two"]) == ("1", "2")


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"temprature": 1}, TypeError, "did you mean 'temperature'"),
        ({"messages": []}, TypeError, "did you mean 'input'"),
        ({"tools": [{"type": "function", "function": {"nam": "f"}}]}, ul.InvalidBody, "/tools/0/function/nam"),
        ({"new_thing": 1}, TypeError, "extra_body"),
        ({"temperature": "hot"}, ul.InvalidBody, "/temperature"),
        ({"reasoning": {"effort": 3}}, ul.InvalidBody, "/reasoning/effort"),
        ({"reasoning": {"effort": "hgh"}}, ul.InvalidBody, "^/reasoning/effort: .*did you mean 'high'.*extra_body="),
        ({"reasoning": ul.ReasoningConfig(effort="HIGH")}, ul.InvalidBody, "did you mean 'high'"),
        ({"reasoning": {"effort": "maximum"}}, ul.InvalidBody, "did you mean 'max'"),
        ({"reasoning": {"effort": "off"}}, ul.InvalidBody, "known: none, minimal, low, medium, high, xhigh, max;"),
        ({"input": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]}, ul.InvalidBody,
         "/input/0/content/0/type"),
        ({"input": [{"type": "mesage", "role": "user"}]}, ul.InvalidBody, "did you mean 'message'"),
        ({"input": [7]}, ul.InvalidBody, "/input/0"),
        ({"previous": "resp_1"}, ul.InvalidBody, "^/previous: .*previous_response_id="),
        ({"tools": [len, len]}, ValueError, "duplicate tool name"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_before_anything_is_sent(given: Any, error: Any, told: str) -> None:
    canned = Canned("openai-responses", response(message("Hi")))
    if given.get("tools") == [len, len]:
        given = {"tools": [ul.tool(name="a")(_one), ul.tool(name="a")(_one)]}
    with pytest.raises(error, match=told):
        ul.Client(canned.upstream).responses.create(**{"input": "Hi", **given})
    assert canned.requests == []


def _one(x: int) -> int:
    return x


def test_a_model_without_a_provider_needs_an_upstream() -> None:
    with pytest.raises(ValueError, match="provider/"):
        ul.Client().responses.create(model="gpt", input="Hi")
    with pytest.raises(ValueError, match="no model given"):
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
        (None, "meta/llama", "meta/llama"),  # and on an unknown server they may
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
    assert hop.upstream == "busy/m" and "AuthenticationError" in hop.reason


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
    assert "no such route" in count.method


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
