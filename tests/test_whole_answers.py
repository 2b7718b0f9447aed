"""A signed answer returns to its provider whole: in the same blocks, in the same order, with its sources and results.

Claude refuses thoughts before which anything is not as it was sent
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking), and a client's own protocol may have room
for one text and the calls behind it only.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from corpus import records, show
from folds import FOLDS
from test_law_mind import ASKED, HISTORY, HOPS, forget
from unified_llm import suite
from unified_llm.suite import Failure
from unified_llm.suite.walk import dumps

Node = dict[str, Any]
MESSAGES, CHAT = "anthropic-messages", "openai-chat"
SURFACES = [surface for provider, surface in HOPS if provider == MESSAGES]
SECRET = "the secret of the tests"


def thought(number: int) -> Node:
    return {"type": "thinking", "thinking": "Hm.", "signature": f"c2lnbmF0dXJl{number}"}


def text(said: str, *citations: Node) -> Node:
    return {"type": "text", "text": said, **({"citations": [*citations]} if citations else {})}


def call(number: int) -> Node:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "f", "input": {"b": 1, "a": [2.5, None]}}


CITED = {"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": "t"}
PAGE = {"type": "text", "data": "page", "media_type": "text/plain"}
FOUND = {"type": "document", "source": PAGE, "title": "P"}
FETCH = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_fetch", "input": {"url": "https://example.com/p"}},
    {
        "type": "web_fetch_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "web_fetch_result", "url": "https://example.com/p", "retrieved_at": "t", "content": FOUND},
    },
]
ANSWERS = {
    "one text and a call": [thought(1), text("A"), call(1)],
    "two texts": [thought(1), text("A"), text("B"), call(1)],
    "a text behind a call": [thought(1), call(1), text("A")],
    "a thought between calls": [thought(1), call(1), thought(2), call(2)],
    "a thought between texts": [thought(1), text("A"), thought(2), text("B"), call(1)],
    "a quoted document": [thought(1), text("A"), text("B", {**CITED, "start_char_index": 0, "end_char_index": 1})],
    "a fetched page": [thought(1), *FETCH, text("A")],
}


def answer(content: list[Node]) -> Node:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
    end = {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {**head, "content": content, **end}


def frames(content: list[Node]) -> list[Node]:
    """A stream of Messages with these blocks."""
    begun = {**answer([]), "stop_reason": None}
    out: list[Node] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(content):
        empty = dict(block)
        deltas: list[Node] = []
        if block["type"] == "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "citations_delta", "citation": each} for each in block.get("citations", ())]
            deltas.append({"type": "text_delta", "text": block["text"]})
        elif block["type"] == "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif "input" in block:
            empty["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        out.append({"type": "content_block_start", "index": index, "content_block": empty})
        out += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        out.append({"type": "content_block_stop", "index": index})
    out.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}})
    out.append({"type": "message_stop"})
    return [{"event": each["type"], "data": each} for each in out]


def blocks(request: Node) -> list[Node]:
    return [block for message in request["messages"] if message["role"] == "assistant" for block in message["content"]]


@pytest.mark.parametrize("content", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("surface", SURFACES)
def test_whole_from_a_client_that_returns_envelopes(surface: str, content: list[Node]) -> None:
    told = ul.convert(answer(content), source=MESSAGES, target=surface, kind="response", secret=SECRET)
    back = ul.convert(HISTORY[surface](told.value), source=surface, target=MESSAGES, secret=SECRET)
    assert blocks(back.value) == content
    assert not [loss for loss in told.losses if loss.fate == "lost"]


@pytest.mark.parametrize("content", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("surface", SURFACES)
def test_whole_from_a_client_that_reads_a_stream(surface: str, content: list[Node]) -> None:
    stream = ul.convert_stream(frames(content), source=MESSAGES, target=surface, secret=SECRET)
    told = FOLDS[surface](list(stream))
    back = ul.convert(HISTORY[surface](told), source=surface, target=MESSAGES, secret=SECRET)
    assert blocks(back.value) == content
    assert not [loss for loss in stream.losses if loss.fate == "lost"]


@pytest.mark.parametrize("content", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("returns", ["nothing", "envelopes"])
def test_whole_with_a_vault(surface: str, content: list[Node], returns: str) -> None:
    vault = ul.MemoryVault()
    exchange = ul.convert(ASKED[surface], source=surface, target=MESSAGES, vault=vault, secret=SECRET).exchange
    told = ul.convert(
        answer(content), source=MESSAGES, target=surface, kind="response", vault=vault, exchange=exchange, secret=SECRET
    )
    history = HISTORY[surface](told.value)
    history = forget(history) if returns == "nothing" else history
    back = ul.convert(history, source=surface, target=MESSAGES, vault=vault, secret=SECRET)
    assert blocks(back.value) == content


@pytest.mark.parametrize("form", ["document", "stream"])
def test_without_a_secret_a_thought_between_calls_stays_out_of_where_it_was_not(form: str) -> None:
    content = [text("A"), call(1), thought(1), call(2)]
    if form == "document":
        done = ul.convert(answer(content), source=MESSAGES, target=CHAT, kind="response")
        told, losses = done.value, done.losses
    else:
        stream = ul.convert_stream(frames(content), source=MESSAGES, target=CHAT)
        told, losses = FOLDS[CHAT](list(stream)), stream.losses
    back = ul.convert(HISTORY[CHAT](told), source=CHAT, target=MESSAGES).value
    assert [block["type"] for block in blocks(back)] == ["text", "tool_use", "tool_use"]
    assert any(loss.fate == "lost" and "its place among the calls" in loss.detail for loss in losses)


TWO = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Y2lwaGVy"},
    *(
        {
            "type": "message",
            "id": f"msg_{said}",
            "role": "assistant",
            "status": "completed",
            "phase": phase,
            "content": [{"type": "output_text", "text": said, "annotations": []}],
        }
        for said, phase in (("One", "commentary"), ("Two", "final_answer"))
    ),
]


@pytest.mark.parametrize("surface", ["amazon-converse", CHAT, MESSAGES, "google-generate-content"])
def test_two_messages_that_a_client_is_shown_as_one_return_as_two(surface: str) -> None:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    told = ul.convert(
        {**head, "output": TWO}, source="openai-responses", target=surface, kind="response", secret=SECRET
    )
    assert not [loss for loss in told.losses if loss.fate == "lost"]
    back = ul.convert(HISTORY[surface](told.value), source=surface, target="openai-responses", secret=SECRET)
    assert back.value["input"][1:] == TWO


def whole(surface: str) -> list[Failure]:
    """The recorded answers of Claude with anything signed that return otherwise than from a client of its own."""
    failures = []
    for record in records(MESSAGES, "response"):
        body = record["body"]
        if "opaque" not in dumps(suite.canonical(body, MESSAGES, "response")):
            continue
        wanted, told = (
            HISTORY[name](ul.convert(body, source=MESSAGES, target=name, kind="response", secret=SECRET).value)
            for name in (MESSAGES, surface)
        )
        home = ul.convert(told, source=surface, target=MESSAGES, secret=SECRET).value
        same = ul.convert(wanted, source=MESSAGES, target=MESSAGES).value
        if content_of(home) != content_of(same):
            failures.append(Failure(record["id"], "", "another answer returned"))
    return failures


def content_of(request: Node) -> Any:
    """The answer in a request, without what requests do not have."""

    def plain(value: Any) -> Any:
        if type(value) is list:
            return [plain(each) for each in value]
        if type(value) is dict:
            return {key: plain(each) for key, each in value.items() if each is not None and each != []}
        return value

    return plain(blocks(request))


@pytest.mark.parametrize("surface", SURFACES)
def test_recorded_answers_return_whole(surface: str) -> None:
    failures = whole(surface)
    assert not failures, show(failures, "whole answers", len(list(records(MESSAGES, "response"))))
