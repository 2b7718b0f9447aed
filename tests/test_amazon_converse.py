"""Converse against botocore: its service model, serializer, parsers and client, and a strict server of its own."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

pytest.importorskip("botocore", reason="the extra amazon is not installed")

import botocore.session
from botocore.config import Config
from botocore.eventstream import EventStream, EventStreamBuffer
from botocore.parsers import EventStreamJSONParser, create_parser
from botocore.serialize import create_serializer

import unified_llm as ul
from corpus import fixtures
from oracles.amazon_converse import MODEL, Converse, Refused, check, decoded, event, failure
from oracles.platforms import frame
from unified_llm import suite
from unified_llm.engine.registry import adapter

CONVERSE = "amazon-converse"
OTHERS = [name for name in ul.protocols() if name != CONVERSE]
# Requests in which no user says a word.
NOTHING_SAID = ("empty_string_input", "function_result_forms")


def shape_of(operation: str, side: str = "output_shape") -> Any:
    return getattr(MODEL.operation_model(operation), side)


# ---- what is declared, and what is read -----------------------------------------------------------------------------


def members(shape: Any, seen: dict[str, set[str]]) -> dict[str, set[str]]:
    """The members of all structures below a shape, by the structure's name."""
    if shape.type_name == "list":
        members(shape.member, seen)
    elif shape.type_name == "map":
        members(shape.value, seen)
    elif shape.type_name == "structure" and not shape.metadata.get("document") and shape.name not in seen:
        seen[shape.name] = set(shape.members)
        for each in shape.members.values():
            members(each, seen)
    return seen


def used(value: Any, shape: Any, found: dict[str, set[str]]) -> None:
    """The members that a document has, by the structure's name."""
    if shape.type_name == "structure" and not shape.metadata.get("document") and isinstance(value, dict):
        for key in value.keys() & shape.members.keys():
            found.setdefault(shape.name, set()).add(key)
            used(value[key], shape.members[key], found)
    elif shape.type_name == "list" and isinstance(value, list):
        for each in value:
            used(each, shape.member, found)
    elif shape.type_name == "map" and isinstance(value, dict):
        for each in value.values():
            used(each, shape.value, found)


def test_every_member_of_the_service_model_is_in_a_fixture() -> None:
    """So that the law of completeness is about all of them. What a guardrail finds is kept whole."""
    declared: dict[str, set[str]] = {}
    found: dict[str, set[str]] = {}
    for operation, kind in (("Converse", "request"), ("ConverseStream", "request"), ("Converse", "response")):
        shape = shape_of(operation, "input_shape" if kind == "request" else "output_shape")
        members(shape, declared)
        for record in fixtures(CONVERSE, kind):
            used(record["body"], shape, found)
    events = shape_of("ConverseStream").members["stream"]
    members(events, declared)
    for record in fixtures(CONVERSE, "stream"):
        for each in record["events"]:
            used({each["event"]: each["data"]}, events, found)
    kept = {"ConverseRequest": {"modelId"}, "ConverseStreamRequest": {"modelId"}, "ConverseStreamOutput": set()}
    missing = {
        name: left
        for name, keys in declared.items()
        if not name.startswith(("Guardrail", "Applied")) or name.startswith(("GuardrailConv", "GuardrailConf"))
        if (left := keys - found.get(name, set()) - kept.get(name, set()))
    }
    assert missing == {
        "ConverseStreamOutput": {"internalServerException", "validationException", "serviceUnavailableException"},
        "InternalServerException": {"message"},
        "ValidationException": {"message"},
        "ServiceUnavailableException": {"message"},
    }


@pytest.mark.parametrize("kind", ["request", "response"])
def test_fixtures_are_valid_by_the_service_model(kind: str) -> None:
    shape = shape_of("ConverseStream", "input_shape") if kind == "request" else shape_of("Converse")
    for record in fixtures(CONVERSE, kind):
        if record["id"].endswith(("oddities", "something_new")):
            continue
        decoded(record["body"], shape)


def test_the_path_has_the_model_and_the_streaming() -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    for name in ("amazon.nova-pro-v1:0", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.a.b-v1:0"):
        for verb in ("converse", "converse-stream"):
            http = {"path": f"model/{name.replace('/', '%2F').replace(':', '%3A')}/{verb}"}
            done = ul.convert(body, source=CONVERSE, target=CONVERSE, http=http)
            assert (done.value, done.http) == (body, {"method": "POST", "path": http["path"]})
            chat = ul.convert(body, source=CONVERSE, target="openai-chat", http=http).value
            assert chat["model"] == name and chat.get("stream", False) is (verb == "converse-stream")


def test_a_count_is_asked_for_a_part_of_a_request() -> None:
    inner = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "system": [{"text": "S"}]}
    body = {"input": {"converse": {**inner, "additionalModelRequestFields": {"a": 1}}}}
    http = {"path": "model/m/count-tokens"}
    for kind, given in (("count_tokens_request", body), ("count_tokens_response", {"inputTokens": 7, "more": 1})):
        done = ul.convert(given, source=CONVERSE, target=CONVERSE, kind=kind, http=http)
        assert done.value == given and not done.losses
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "system": "S"}
    done = ul.convert(asked, source="anthropic-messages", target=CONVERSE, kind="count_tokens_request")
    assert done.value == {"input": {"converse": inner}} and done.http["path"] == "model/m/count-tokens"
    counted = ul.convert({"inputTokens": 7}, source=CONVERSE, target="anthropic-messages", kind="count_tokens_response")
    assert counted.value == {"input_tokens": 7}


ERRORS = {
    "ValidationException": (400, "invalid_request"),
    "AccessDeniedException": (403, "permission"),
    "ResourceNotFoundException": (404, "not_found"),
    "ModelTimeoutException": (408, "timeout"),
    "ModelErrorException": (424, "server_error"),
    "ThrottlingException": (429, "rate_limit"),
    "ModelNotReadyException": (429, "overloaded"),
    "InternalServerException": (500, "server_error"),
    "ServiceUnavailableException": (503, "overloaded"),
    "ExpiredTokenException": (403, "authentication"),
    "BrandNewException": (418, "invalid_request"),
}


@pytest.mark.parametrize(("word", "status", "kind"), [(word, *found) for word, found in ERRORS.items()])
def test_the_class_of_an_error_is_in_a_header(word: str, status: int, kind: str) -> None:
    http = {"status": status, "headers": {"x-amzn-ErrorType": f"{word}:http://internal/coral/", "retry-after": "7"}}
    body = {"message": "It failed.", "originalStatusCode": 500}
    error = ul.read(body, CONVERSE, "error", http=http).error
    assert [error[key] for key in ("type", "message", "status", "retry_after")] == [kind, "It failed.", status, 7]
    done = ul.convert(body, source=CONVERSE, target=CONVERSE, kind="error", http=http)
    assert done.value == body and done.http["status"] == status
    assert done.http["headers"] == {"x-amzn-errortype": word, "retry-after": "7"}
    said = create_parser("rest-json").parse(
        {"status_code": status, "headers": done.http["headers"], "body": json.dumps(done.value).encode()},
        shape_of("Converse"),
    )
    assert said["Error"] == {"Message": "It failed.", "Code": word}


# ---- what is written ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", OTHERS)
def test_requests_of_others_are_valid(source: str) -> None:
    """By the service model, its limits, and the rules of the guide for conversations."""
    failures = []
    for record in fixtures(source, "request"):
        done = suite.outcome(record, CONVERSE)
        if done.error is None and done.value.get("messages") and not record["id"].endswith(NOTHING_SAID):
            try:
                check(done.value, "Converse", "amazon.nova-pro-v1:0")
            except Refused as refused:
                failures.append((record["id"], str(refused)))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("source", OTHERS)
def test_responses_of_others_are_parsed(source: str) -> None:
    parser, shape = create_parser("rest-json"), shape_of("Converse")
    for record in fixtures(source, "response"):
        done = suite.outcome(record, CONVERSE)
        assert done.error is None
        if "output" not in done.value:
            continue
        raw = {"status_code": 200, "headers": {}, "body": json.dumps(done.value).encode()}
        parsed = parser.parse(raw, shape)
        del parsed["ResponseMetadata"]
        assert parsed == decoded(done.value, shape), record["id"]
        assert {"output", "stopReason", "usage", "metrics"} <= parsed.keys()


def test_what_botocore_sends_comes_back_the_same() -> None:
    """The body that its serializer writes, through the canonical form."""
    serializer = create_serializer("rest-json")
    operation = MODEL.operation_model("ConverseStream")
    for record in fixtures(CONVERSE, "request"):
        if record["id"].endswith("oddities"):
            continue
        params = {**decoded(record["body"], operation.input_shape), "modelId": "amazon.nova-pro-v1:0"}
        request = serializer.serialize_to_request(params, operation)
        http = {"path": request["url_path"].lstrip("/")}
        done = ul.convert(request["body"], source=CONVERSE, target=CONVERSE, http=http)
        assert done.value == json.loads(request["body"]) == record["body"], record["id"]
        assert done.http["path"] == http["path"]


class Raw:
    """A response as botocore's event streams read it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def stream(self) -> Iterator[bytes]:
        yield from (self.data[at : at + 100] for at in range(0, len(self.data), 100))

    def close(self) -> None:
        pass


def read_by_botocore(data: bytes) -> list[dict[str, Any]]:
    shape = shape_of("ConverseStream").members["stream"]
    return list(EventStream(Raw(data), shape, EventStreamJSONParser(), "ConverseStream"))


@pytest.mark.parametrize("source", OTHERS)
def test_streams_of_others_are_read_by_botocore(source: str) -> None:
    """And make up the whole response, as its callers put it together."""
    for record in fixtures(source, "stream"):
        events = [each for each in record["events"] if isinstance(each["data"], dict)]
        data = b"".join(ul.translate_sse([suite.sse_bytes(events)], source=source, target=CONVERSE))
        try:
            found = read_by_botocore(data)
        except botocore.exceptions.EventStreamError as error:
            assert error.response["Error"]["Message"] is not None
            continue
        kinds = [next(iter(each)) for each in found]
        assert kinds[:1] in ([], ["messageStart"]), record["id"]
        if "messageStop" in kinds:
            assert kinds[-2:] == ["messageStop", "metadata"]
        open_: set[int] = set()
        for kind, body in (next(iter(each.items())) for each in found):
            index = body.get("contentBlockIndex")
            if kind == "contentBlockStop":
                open_.remove(index)
            elif index is not None:
                assert not open_ - {index}, "blocks do not overlap"
                open_.add(index)
        assert not open_, record["id"]


def test_a_stream_of_its_own_in_frames_is_the_same() -> None:
    for record in fixtures(CONVERSE, "stream"):
        data = b"".join(framed(each) for each in record["events"])
        out = b"".join(ul.translate_sse([data[:77], data[77:]], source=CONVERSE, target=CONVERSE))
        if not record["id"].rpartition("/")[2].startswith("truncated"):
            assert list(unframed(out)) == list(unframed(data)), record["id"]


def unframed(data: bytes) -> Iterator[tuple[dict[str, Any], Any]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    for each in buffer:
        yield each.headers, json.loads(each.payload)


def framed(wire: dict[str, Any]) -> bytes:
    if wire["event"].endswith("Exception"):
        headers = {":exception-type": wire["event"], ":content-type": "application/json"}
        return frame({**headers, ":message-type": "exception"}, json.dumps(wire["data"]).encode())
    return event(wire["event"], wire["data"])


# ---- tools, reasoning, media ----------------------------------------------------------------------------------------


def test_tools_are_declared_where_a_history_has_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    asked = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "4"},
        ],
    }
    done = ul.convert(asked, source="openai-chat", target=CONVERSE)
    assert [each["toolSpec"]["name"] for each in done.value["toolConfig"]["tools"]] == ["look_up"]
    assert ("/toolConfig", "added") in [(loss.path, loss.fate) for loss in done.losses]


def test_reasoning_is_asked_for_as_the_model_takes_it() -> None:
    asked = {"model": "m", "input": "Hi", "reasoning": {"effort": "high"}, "max_output_tokens": 20_000}

    def written(model: str) -> Any:
        value = ul.convert(asked, source="openai-responses", target=CONVERSE, model=model).value
        return value.get("outputConfig"), value.get("additionalModelRequestFields")

    budget = {"thinking": {"type": "enabled", "budget_tokens": 16384}}
    assert written("us.anthropic.claude-sonnet-4-5-20250929-v1:0") == (None, budget)
    assert written("anthropic.claude-opus-4-7") == ({"effort": "high"}, {"thinking": {"type": "adaptive"}})
    assert written("meta.llama3-1-70b-instruct-v1:0") == (None, None)


def test_reasoning_of_another_provider_reaches_no_provider_and_returns_to_its_own() -> None:
    """A client of Converse over Messages: the signature travels in an envelope in the field that it echoes."""
    said = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Hello"}]
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": said,
              "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    more = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
    asked = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], **more}
    first = ul.convert(asked, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-5")
    shown = ul.convert(
        answer, source="anthropic-messages", target=CONVERSE, kind="response", exchange=first.exchange
    ).value["output"]["message"]
    inner = shown["content"][0]["reasoningContent"]["reasoningText"]
    assert inner["text"] == "Hm." and base64.b64decode(inner["signature"], validate=True)
    history = {"messages": [*asked["messages"], shown, {"role": "user", "content": [{"text": "Go on"}]}], **more}
    back = ul.convert(history, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-5").value
    assert back["messages"][1]["content"] == said
    away = ul.convert(history, source=CONVERSE, target="openai-chat").value
    assert "c2ln" not in json.dumps(away) and inner["signature"] not in json.dumps(away)


def test_documents_have_names_that_the_api_takes() -> None:
    pdf = "data:application/pdf;base64,JVBERg=="
    files = [{"type": "input_file", "filename": name, "file_data": pdf} for name in ("a.b_c.pdf", "a.b_c.pdf")]
    asked = {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "Read"}, *files]}]}
    done = ul.convert(asked, source="openai-responses", target=CONVERSE)
    names = [block["document"]["name"] for block in done.value["messages"][0]["content"][1:]]
    assert names == ["a-b-c-pdf", "a-b-c-pdf (2)"]


# ---- over HTTP ------------------------------------------------------------------------------------------------------


def at(server: Any, **given: Any) -> ul.Upstream:
    def answer(request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        status, headers, body = server.handle(request.method, path, dict(request.headers), request.content)
        return httpx2.Response(status, headers=headers, content=body)

    transport = httpx2.MockTransport(answer)
    return ul.Upstream.of(
        "amazon-bedrock/amazon.nova-pro-v1:0",
        variables={"region": "eu-west-1"},
        http_client=httpx2.Client(transport=transport),
        async_http_client=httpx2.AsyncClient(transport=transport),
        **{"api_key": "a-key", **given},
    )


@ul.tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}."


def test_a_client_asks_streams_counts_and_runs_tools() -> None:
    server = Converse()
    client = ul.Client(at(server))
    assert client.responses.create(input="Good morning.").output_text == "Good morning."
    with client.responses.create(input="Good morning.", stream=True) as stream:
        pieces = [each.delta for each in stream if each.type == "response.output_text.delta"]
        assert pieces == ["Good", " morning."] and stream.get_final_response().usage.input_tokens == 7
    done = client.responses.run(input="Rain?", tools=[get_weather])
    assert done.output_text == "Rain in Oslo."
    assert client.responses.input_tokens.count(input="Hi").input_tokens == 7
    assert [verb for verb, _, _ in server.seen] == [
        "converse",
        "converse-stream",
        "converse",
        "converse",
        "count-tokens",
    ]
    assert {model for _, model, _ in server.seen} == {"amazon.nova-pro-v1:0"}

    async def ask() -> str:
        answer = await ul.AsyncClient(at(server)).responses.create(input="Hi", stream=True)
        return (await answer.get_final_response()).output_text

    assert asyncio.run(ask()) == "Hi"


def test_reasoning_goes_back_as_it_came() -> None:
    server = Converse()
    upstream = at(server).with_(model="anthropic.claude-sonnet-4-5-20250929-v1:0")
    client = ul.Client(upstream)
    first = client.responses.create(input="Rain?", tools=[get_weather], reasoning={"effort": "low"})
    result = {"type": "function_call_output", "call_id": "t1", "output": "wet"}
    client.responses.create(previous=first, input=[result], tools=[get_weather], reasoning={"effort": "low"})
    block = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    assert server.seen[-1][2]["messages"][1]["content"][0] == block


def test_errors_are_typed() -> None:
    with pytest.raises(ul.PermissionDeniedError, match="no credentials"):
        ul.Client(at(Converse("another"))).responses.create(input="Hi")
    with pytest.raises(ul.InvalidRequestError, match="too large"):
        ul.Client(at(Converse())).responses.create(input="Hi", extra_body={"inferenceConfig": {"topP": 3}})


class Streaming:
    """A server whose stream is these bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def handle(self, *_: Any) -> tuple[int, dict[str, str], bytes]:
        return 200, {"content-type": "application/vnd.amazon.eventstream"}, self.data


START = event("messageStart", {"role": "assistant"}) + event(
    "contentBlockDelta", {"delta": {"text": "Ra"}, "contentBlockIndex": 0}
)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (START + failure("throttlingException", "slow down"), ul.RateLimitError),
        (START + failure("modelStreamErrorException", "broke"), ul.ServerError),
        (START, ul.StreamInterruptedError),
        (START + event("messageStop", {"stopReason": "end_turn"})[:-5] + b"12345" + START, ul.StreamInterruptedError),
    ],
)
def test_a_stream_that_fails(data: bytes, kind: type[Exception]) -> None:
    client = ul.Client(at(Streaming(data)), retry=ul.Retry.never())
    with pytest.raises(kind):
        with client.responses.create(input="Hi", stream=True) as stream:
            stream.get_final_response()


def test_a_request_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAONE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    seen: list[dict[str, str]] = []

    class Noting(Converse):
        def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
            seen.append(headers)
            return super().handle(method, path, headers, body)

    client = ul.Client(at(Noting(), auth="aws", api_key=None))
    assert client.responses.create(input="Hi").output_text == "Hi"
    assert "/eu-west-1/bedrock/aws4_request" in seen[-1]["authorization"]


def test_botocores_client_over_the_gateways_surface() -> None:
    """What a client of Converse is sent of an upstream of another protocol, read by botocore's client."""
    client = botocore.session.get_session().create_client(
        "bedrock-runtime", region_name="eu-west-1", config=Config(retries={"max_attempts": 1}),
        aws_access_key_id="a", aws_secret_access_key="b",
    )  # fmt: skip
    inside = ul.http_client("local/echo:anthropic-messages")

    def send(request: Any, **_: Any) -> Any:
        from botocore.awsrequest import AWSResponse

        found = inside.post(request.url, content=request.body, headers={"content-type": "application/json"})

        class Body:
            def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
                yield from [found.content[n : n + 50] for n in range(0, len(found.content), 50)]

            def read(self, *_: Any) -> bytes:
                return found.content

            def close(self) -> None:
                pass

        return AWSResponse(request.url, found.status_code, dict(found.headers), Body())

    client.meta.events.register("before-send.bedrock-runtime", send)
    asked = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "Good morning."}]}]}
    done = client.converse(**asked)
    assert done["output"]["message"]["content"] == [{"text": "Good morning."}] and done["stopReason"] == "end_turn"
    stream = client.converse_stream(**asked)["stream"]
    texts = [each["contentBlockDelta"]["delta"]["text"] for each in stream if "contentBlockDelta" in each]
    assert "".join(texts) == "Good morning."


def test_the_adapter_speaks_of_no_field_twice() -> None:
    found = adapter(CONVERSE)
    assert not {*found.refuses} & {key for mapping in found.mappings for key in mapping.writes}
    assert suite.unclassified_types(CONVERSE) == []
