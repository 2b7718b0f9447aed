"""Streams of Converse, read by botocore and by clients, and the client and its SDK over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("botocore", reason="the extra amazon is not installed")

import botocore.session
from botocore.config import Config

import unified_llm as ul
from botocore_wire import at, framed, read_by_botocore, unframed
from corpus import fixtures
from oracles.amazon_converse import Converse
from unified_llm import suite

CONVERSE = "amazon-converse"
OTHERS = [name for name in ul.protocols() if name != CONVERSE]


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


def test_the_id_of_a_stream_is_a_header_of_its_opening() -> None:
    """What comes when the headers are sent already is lost."""

    def chunk(id: str, delta: dict[str, str], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return {"event": None, "data": data}

    for last, late in (("c1", {}), ("c2", {"/1/data/id": "lost"})):
        events = [chunk("c1", {"role": "assistant", "content": "Hi"}), chunk(last, {}, "stop")]
        stream = ul.convert_stream(events, source="openai-chat", target=CONVERSE)
        assert next(stream)["event"] == "messageStart"
        assert stream.http == {"headers": {"x-amzn-requestid": "c1"}}
        assert list(stream) and stream.http == {"headers": {"x-amzn-requestid": "c1"}}
        found = {loss.path: loss.fate for loss in stream.losses if loss.path.endswith("/id")}
        assert found == {"/0/data/id": "approximated", **late}


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
    assert done["ResponseMetadata"]["RequestId"].startswith("resp_")
    streamed = client.converse_stream(**asked)
    assert streamed["ResponseMetadata"]["RequestId"].startswith("resp_")
    stream = streamed["stream"]
    texts = [each["contentBlockDelta"]["delta"]["text"] for each in stream if "contentBlockDelta" in each]
    assert "".join(texts) == "Good morning."
