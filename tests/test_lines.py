"""Streams as one JSON value a line: the splitter (chunking never matters), clients and surfaces, the command line."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unified_llm as ul
from unified_llm.client.cli.recorded import events_of, is_framed
from unified_llm.engine import registry
from unified_llm.engine.adapter import Framing
from unified_llm.gateway.requests.body import peek
from unified_llm.streams.framings.lines import LinesDecoder

FILE = Path(__file__).parents[1] / "examples" / "adapter" / "acme_talk.py"
ACME = "acme-talk"
DATA: list[dict[str, Any]] = [
    {"is": "open", "ref": "r", "engine": "a-1"},
    {"is": "more", "text": "Ra"},
    {"is": "more", "text": "in\u2028é."},
    {"is": "close", "end": "over", "tokens": {"heard": 3, "said": 4}},
]
WIRE = b"".join(json.dumps(data).encode() + b"\n" for data in DATA)
TALK = {"engine": "a-1", "live": True, "talk": [{"step": "say", "who": "user", "what": "Rain?"}]}


@pytest.fixture
def acme() -> Iterator[None]:
    """The example's protocol, framed as lines."""
    found = runpy.run_path(str(FILE))["adapter"]
    framing = Framing(lines=True, content_type="application/x-ndjson")
    ul.register(replace(found, streams=found.streams._replace(framing=framing)))
    yield
    del registry._loaded[ACME]


def decoded(*chunks: bytes) -> list[str]:
    decoder = LinesDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [event["data"] for event in [*events, *decoder.close()]]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=5), st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans(), st.integers(1, 7))
def test_chunking_never_matters(values: list[Any], end: str, whole: bool, size: int) -> None:
    texts = [json.dumps(value) for value in values]
    wire = (end.join(texts) + (end if whole else "")).encode()
    assert decoded(wire) == texts
    assert decoded(*(wire[i : i + size] for i in range(0, len(wire), size))) == texts


def test_a_line_is_handed_out_with_the_byte_that_ends_it() -> None:
    decoder = LinesDecoder()
    assert decoder.feed(b'\xef\xbb\xbf {"a": 1}') == []
    assert decoder.feed(b"\n") == [{"event": None, "data": '{"a": 1}'}]
    assert decoder.feed(b'{"b": "') == [] and decoder.close() == [] and decoder.truncated == b'{"b": "'


def test_server_sent_events_are_read_too() -> None:
    assert decoded(b"da", b'ta: {"a": 1}\n\n', b": ping\n\ndata: 2\n\n") == ['{"a": 1}', "2"]
    assert decoded(b"") == decoded(b"\xef\xbb") == []


def answered(content: bytes) -> ul.Upstream:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["accept"] == "application/x-ndjson"
        return httpx2.Response(200, headers={"content-type": "application/x-ndjson"}, content=content)

    pool = httpx2.Client(transport=httpx2.MockTransport(answer))
    return ul.Upstream(protocol=ACME, base_url="https://acme.test/v1", model="a-1", http_client=pool)


@pytest.mark.usefixtures("acme")
def test_a_client_reads_lines() -> None:
    events = ul.Client(answered(WIRE)).responses.create(input="Rain?", stream=True)
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Ra", "in\u2028é."]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("content", [WIRE[: WIRE.index(b"\n") + 20], WIRE.replace(b'"text"', b'"text', 1)])
def test_lines_that_break_are_an_error(content: bytes) -> None:
    with pytest.raises(ul.APIError):
        list(ul.Client(answered(content), retry=ul.Retry(attempts=1)).responses.create(input="Rain?", stream=True))


@pytest.mark.usefixtures("acme")
def test_a_client_of_the_surface_gets_lines() -> None:
    """From an upstream of another protocol, and from one of its own, whose bytes go through the same."""
    for upstream in ("local/echo:openai-chat", answered(WIRE)):
        response = ul.http_client(upstream).post("https://any.test/talk", json=TALK)
        assert response.headers["content-type"].startswith("application/x-ndjson")
        data = [json.loads(line) for line in response.content.splitlines()]
        assert [data[0]["is"], data[-1]["is"]] == ["open", "close"]
        assert "Rai" in "".join(each.get("text", "") for each in data)


@pytest.mark.usefixtures("acme")
def test_a_surface_may_stream_by_default() -> None:
    """The field of a body that requests a stream, and what a body without it requests, are the protocol's own."""
    known = registry.adapter(ACME)
    live = (known.routes[0]._replace(path="live"),)
    streams = known.streams._replace(by_default=True)
    ul.register(replace(known, protocol="acme-live", streams=streams, routes=live))
    silent = {name: value for name, value in TALK.items() if name != "live"}
    try:
        for name, body, streamed in (
            (ACME, TALK, True),
            (ACME, silent, False),
            (ACME, {**silent, "stream": True}, False),
            ("acme-live", silent, True),
            ("acme-live", {**silent, "live": False}, False),
        ):
            found = registry.adapter(name)
            assert found.requests_stream(body) is streamed
            assert (peek(name, json.dumps(body).encode()).stream is True) is streamed
            path = "talk" if name == ACME else "live"
            response = ul.http_client("local/echo").post(f"https://any.test/{path}", json=body)
            assert ("ndjson" in response.headers["content-type"]) is streamed
    finally:
        del registry._loaded["acme-live"]


@pytest.mark.usefixtures("acme")
def test_bytes_are_translated_both_ways() -> None:
    pieces = [WIRE[i : i + 7] for i in range(0, len(WIRE), 7)]
    chat = b"".join(ul.translate_sse(pieces, source=ACME, target="openai-chat"))
    assert chat.startswith(b"data: {") and chat.endswith(b"data: [DONE]\n\n")
    back = b"".join(ul.translate_sse([chat], source="openai-chat", target=ACME))
    assert [json.loads(line)["is"] for line in back.splitlines()] == ["open", "more", "more", "close"]
    same = b"".join(ul.translate_sse(pieces, source=ACME, target=ACME))
    assert [json.loads(line) for line in same.splitlines()] == DATA


@pytest.mark.usefixtures("acme")
def test_a_recorded_stream_of_lines_is_told_from_a_request() -> None:
    assert is_framed(WIRE, ACME, "request") and is_framed(WIRE.splitlines()[0], ACME)
    assert not is_framed(json.dumps(TALK).encode() + b"\n", ACME, "request")
    assert not is_framed(json.dumps(TALK, indent=1).encode(), ACME, "request")
    assert [event["data"] for event in events_of(WIRE, ACME)] == DATA
    ours = b"".join(json.dumps({"event": None, "data": data}).encode() + b"\n" for data in DATA)
    assert not is_framed(ours, ACME) and [event["data"] for event in events_of(ours, ACME)] == DATA


def test_white_space_before_the_first_line_is_not_kept() -> None:
    decoder = LinesDecoder()
    for _ in range(1_000):
        assert decoder.feed(b" \n" * 50) == []
    assert sum(map(len, decoder._pieces)) == 0
    assert decoder.feed(b'{"n":1}\n') == [{"event": None, "data": '{"n":1}'}]
