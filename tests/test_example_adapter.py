"""The adapter that docs/adapters.md shows keeps the laws, so that it is a good start."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

import unified_llm as ul
from covering import in_turn
from unified_llm import suite
from unified_llm.engine import registry

FILE = Path(__file__).parents[1] / "examples" / "adapter" / "acme_talk.py"
OTHERS = [
    "amazon-converse",
    "anthropic-messages",
    "google-generate-content",
    "google-interactions",
    "openai-chat",
    "openai-responses",
]
ACME = "acme-talk"


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"event": None, "data": {"is": kind, **data}}


# Each has unknown fields, too.
REQUEST = {
    "engine": "a-1",
    "limit": 50,
    "heat": 0.5,
    "mood": "calm",
    "tools": [
        {"name": "weather", "takes": {"type": "object", "properties": {}}, "since": 3},
        {"sort": "function", "name": "time", "takes": {"type": "object", "properties": {}}},
    ],
    "talk": [
        {"step": "say", "who": "system", "what": "Be brief."},
        {
            "step": "say",
            "who": "user",
            "what": [
                {"is": "words", "text": "Where?"},
                {"is": "picture", "url": "https://example.com/a.png", "grain": 1},
            ],
        },
        {"step": "ask", "no": "1", "tool": "weather", "with": "{}"},
        {"step": "gave", "no": "1", "what": "Rain"},
        {"step": "wink"},
        {"step": "say", "who": "user", "what": "And now?"},
    ],
}
ASK = {"step": "ask", "no": "2", "tool": "weather", "with": '{"a":1}'}
ANSWER = {
    "ref": "r",
    "engine": "a-1",
    "talk": [{"step": "say", "who": "assistant", "what": [{"is": "words", "text": "Rain."}]}, ASK],
    "end": "asks",
    "tokens": {"heard": 3, "said": 4},
}
EVENTS = [
    event("open", ref="r", engine="a-1", mood="calm"),
    event("more", text="Ra"),
    event("more", text="in.", loud=1),
    event("step", what=ASK),
    event("blink", speed=3, near={"eye": "left"}),
    event("close", end="asks", tokens={"heard": 3, "said": 4}),
]
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "request", "protocol": ACME, "kind": "request", "body": REQUEST},
    {"id": "answer", "protocol": ACME, "kind": "response", "body": {**ANSWER, "weight": 1}},
    {"id": "fault", "protocol": ACME, "kind": "error", "body": {"fault": {"kind": "busy", "text": "later", "x": 1}}},
    {"id": "odd", "protocol": ACME, "kind": "error", "body": {"fault": {"kind": "asleep", "text": "hush"}}},
]
STREAM: dict[str, Any] = {"id": "stream", "protocol": ACME, "kind": "stream", "events": EVENTS}


@pytest.fixture(autouse=True)
def acme() -> Iterator[None]:
    ul.register(runpy.run_path(str(FILE))["adapter"])
    yield
    del registry._loaded[ACME]


def test_every_law_that_needs_records_alone() -> None:
    """To and from every other protocol, with all that the packaged records hold where CI runs it."""
    others = in_turn(suite.covering(suite.records()), ACME)
    assert {record["protocol"] for record in others} == {*OTHERS}
    assert suite.all(ACME, [*DOCUMENTS, STREAM], others) == {}


def test_a_broken_adapter_is_told_by_law_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(done: ul.Converted) -> ul.Converted:
        return replace(done, losses=ul.Losses(loss for loss in done.losses if loss.path != "/mood"))

    monkeypatch.setattr(ul, "convert", lambda body, real=ul.convert, **given: deaf(real(body, **given)))
    names: list[str] = []
    found = suite.all(ACME, DOCUMENTS[:1], others=[], mutants=0, progress=names.append)
    assert [str(failure) for failure in found["sensitivity to openai-chat"]] == [
        'request /mood: "calm" altered, nothing changed',
        'request /mood: "calm" deleted, nothing changed',
    ]
    assert set(found) == {f"{law} to {target}" for law in ("sensitivity", "injection") for target in OTHERS}
    assert "identity" in names and "truncation" in names


def test_everything_is_classified() -> None:
    """The records have unknown fields; the answer that others are made of holds nothing of the kind."""
    assert suite.unclassified_types(ACME) == []
    assert suite.unclassified_fields(ACME, [{**DOCUMENTS[1], "body": ANSWER}]) == []


@pytest.mark.parametrize("target", OTHERS)
def test_a_past_stays(target: str) -> None:
    history = {"google-generate-content": "contents", "openai-chat": "messages", "anthropic-messages": "messages"}
    grown = suite.prefix_stability(
        DOCUMENTS[:1],
        target,
        history="talk",
        target_history=history.get(target, "input"),
        opens=lambda node: node.get("who") == "user",
    )
    assert grown == []


def test_canonical_documents_come_back() -> None:
    asked = {"type": "message", "role": "user", "content": "Where?"}
    assert suite.canonical_round_trip(ACME, "request", {"model": "a-1", "input": [asked], "temperature": 0.5}) == []


def test_a_document_that_was_read_is_written_as_it_was() -> None:
    """Nothing is added to it; to what a caller made, the limit is."""
    talk = {"engine": "a-1", "talk": [{"step": "say", "who": "user", "what": "Hi"}]}
    for kind, body in (("request", talk), ("error", DOCUMENTS[3]["body"])):
        done = ul.write(ul.read(body, ACME, kind), ACME, kind)
        assert (done.value, list(done.losses)) == (body, [])
    made = ul.write({"model": "a-1", "input": "Hi"}, ACME)
    assert made.value == {**talk, "limit": 4096} and [loss.path for loss in made.losses] == ["/limit"]


def test_a_stream_is_its_answer() -> None:
    assert suite.collecting(ACME, [STREAM], lambda _: ANSWER, ("/extra",)) == []
    assert suite.decomposing(ACME, [{**DOCUMENTS[1], "body": ANSWER}]) == []


@pytest.mark.parametrize("data", [{"is": "blink", "speed": 3}, {"is": "open"}, "ping", "", [1], 0])
def test_an_unknown_frame_is_reported_where_it_stands(data: Any) -> None:
    """Whatever its data are; to its own protocol it goes as it came."""
    events = [EVENTS[0], {"event": None, "data": data}, *EVENTS[1:]]
    done = ul.convert_stream(events, source=ACME, target="openai-chat")
    list(done)
    assert [loss.path for loss in done.losses if loss.path.startswith("/1/")] == ["/1/data"]
    assert list(ul.convert_stream(events, source=ACME, target=ACME)) == events


def test_a_client_and_an_sdk_ask_such_a_server_without_a_row_in_any_table() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert (request.method, request.url.path) == ("POST", "/v1/talk")
        if json.loads(request.content).get("live"):
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=suite.sse_bytes(EVENTS))
        return httpx2.Response(200, json=ANSWER)

    pool = httpx2.Client(transport=httpx2.MockTransport(answer))
    acme = ul.Upstream(protocol=ACME, base_url="https://acme.test/v1", model="a-1", http_client=pool)
    done = ul.Client(acme).responses.create(input="Rain?", seed=3)
    assert done.output_text == "Rain." and "/seed" in [loss.path for loss in done.losses]
    chat = openai.OpenAI(api_key="-", http_client=ul.http_client(acme)).chat.completions
    chunks = chat.create(model="m", stream=True, messages=[{"role": "user", "content": "Rain?"}])
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Rain."


def test_a_stream_that_mixes_choices_is_found() -> None:
    """As is one that streams the text of a user's message: the law compares content, not how it is grouped."""
    acme = registry.adapter(ACME)

    class Mixed:
        def __init__(self, writer: Any) -> None:
            self.inner = acme.streams.writer(writer)
            self.close = self.inner.close

        def feed(self, event: dict[str, Any]) -> list[dict[str, Any]]:
            return self.inner.feed({name: value for name, value in event.items() if name != "choice"})

    found = {record["id"]: record for record in suite.records(kind="response")}
    two = found["openai-chat/response/n_two_choices"]
    stored = found["google-interactions/response/full_timeline"]
    assert suite.streamed_content([two, stored], ACME) == []
    ul.register(replace(acme, streams=acme.streams._replace(writer=Mixed), protocol="acme-mixed"))
    try:
        assert [str(failure) for failure in suite.streamed_content([two, stored], "acme-mixed")] == [
            'openai-chat/response/n_two_choices /: the text is "Heads.Tails." in a stream, and "Heads." in one piece'
        ]
    finally:
        del registry._loaded["acme-mixed"]


def test_what_of_a_stream_is_not_the_models_stays_apart() -> None:
    """A choice that Acme has no form for is reported, and a user's message in a response is a step."""
    found = {record["id"]: record for record in suite.records(kind="response")}
    two = found["openai-chat/response/n_two_choices"]["body"]
    done = ul.write_stream(ul.decompose(suite.canonical(two, "openai-chat", "response")), ACME)
    assert "".join(wire["data"].get("text", "") for wire in done) == "Heads."
    assert "Acme gives one answer" in {loss.detail for loss in done.losses}
    stored = found["google-interactions/response/full_timeline"]["body"]
    wires = list(ul.write_stream(ul.decompose(suite.canonical(stored, "google-interactions", "response")), ACME))
    said = [wire["data"]["what"] for wire in wires if wire["data"].get("is") == "step"]
    assert said[0] == {"step": "say", "who": "user", "what": [{"is": "words", "text": "Hi"}]}


def test_a_documented_default_of_an_adapter_from_outside_is_not_reported() -> None:
    """As those in the package's own table: where the target does the same without it."""
    acme = registry.adapter(ACME)
    page = "https://example.com/talk"
    rows = ({"path": "/mood", "value": "calm", "url": page}, {"path": "/heat", "value": 0.5, "url": page})
    ul.register(replace(acme, protocol="acme-calm", defaults={"request": rows}))
    try:
        told = []
        for name, mood in ((ACME, "calm"), ("acme-calm", "calm"), ("acme-calm", "angry")):
            body = {**REQUEST, "mood": mood}
            losses = ul.convert(body, source=name, target="openai-chat").losses
            told.append("/mood" in [loss.path for loss in losses])
            record = {"id": "r", "protocol": name, "kind": "request", "body": body}
            assert suite.sensitivity([record], "openai-chat") == suite.no_noise([record], "openai-chat") == []
        assert told == [True, False, True]
        silent = {**DOCUMENTS[0], "protocol": "acme-calm"}
        assert {path for path, _ in suite.documented_defaults(silent)} == {("mood",), ("heat",)}
    finally:
        del registry._loaded["acme-calm"]
