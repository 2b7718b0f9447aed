"""Streams of a dialect: tags that are cut anywhere, usage that was not requested."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import suite

Node = dict[str, Any]
MINIMAX = "openai-chat:minimax"


def chunk(delta: Node, finish: str | None = None) -> Node:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return {"event": None, "data": data}


def stream(pieces: list[str], finish: str = "stop", **last: Any) -> list[Node]:
    first = chunk({"role": "assistant", "content": ""})
    return [
        first,
        *(chunk({"content": piece}) for piece in pieces),
        chunk({**last}, finish),
        {"event": None, "data": "[DONE]"},
    ]


def answer(content: str, finish: str = "stop") -> Node:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def told(events: list[Node]) -> list[tuple[str, str]]:
    """The texts of a stream, item by item."""
    found: list[tuple[str, str]] = []
    for item in ul.collect(ul.read_stream(events, MINIMAX))["output"]:
        found.append((item["type"], "".join(part["text"] for part in item.get("content") or ())))
    return found


def same(events: list[Node]) -> bool:
    return list(ul.convert_stream(events, source=MINIMAX, target=MINIMAX)) == events


CONTENTS = {
    "<think>one\n</think>\n\ntwo": [("reasoning", "one\n"), ("message", "\n\ntwo")],
    "<think>a < b</think>c": [("reasoning", "a < b"), ("message", "c")],
    "<think></think>c": [("reasoning", ""), ("message", "c")],
    "<think>one</think>": [("reasoning", "one")],
    "<thinly veiled": [("message", "<thinly veiled")],
    "plain</think>text": [("message", "plain</think>text")],
    "<think>cut </thi": [("reasoning", "cut </thi")],
}


@pytest.mark.parametrize("content", CONTENTS)
def test_tags_may_be_cut_anywhere(content: str) -> None:
    for cut in range(1, len(content)):
        for more in range(cut, len(content)):
            pieces = [piece for piece in (content[:cut], content[cut:more], content[more:]) if piece]
            events = stream(pieces)
            assert told(events) == CONTENTS[content], pieces
            assert same(events), pieces


@pytest.mark.parametrize("content", CONTENTS)
def test_a_letter_at_a_time(content: str) -> None:
    events = stream([*content])
    assert told(events) == CONTENTS[content]
    assert same(events)


@pytest.mark.parametrize("content", CONTENTS)
def test_a_stream_amounts_to_its_answer(content: str) -> None:
    record = {"id": content, "protocol": MINIMAX, "kind": "stream", "events": stream([*content])}
    assert not suite.collecting(MINIMAX, [record], lambda _: answer(content))


def test_elsewhere_tags_are_text() -> None:
    done = ul.collect(ul.read_stream(stream(["<think>one</think>two"]), "openai-chat"))
    assert [item["type"] for item in done["output"]] == ["message"]


def test_tags_and_calls() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    events = stream(["<think>one</think>"], "tool_calls", tool_calls=[call])
    items = ul.collect(ul.read_stream(events, MINIMAX))["output"]
    assert [item["type"] for item in items] == ["reasoning", "function_call"]
    assert same(events)


RESPONSE: Node = {
    "id": "r",
    "created_at": 1,
    "model": "m",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "one"}]},
        {"type": "message", "id": "m_1", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
}


@pytest.mark.parametrize("pieces", [["", "one"], ["one", ""], [""]])
def test_empty_pieces_of_reasoning_leave_its_tags_as_they_are(pieces: list[str]) -> None:
    text = "".join(pieces)
    reasoning = {**RESPONSE["output"][0], "content": [{"type": "reasoning_text", "text": text}]}
    events: list[Node] = []
    for event in ul.decompose({**RESPONSE, "output": [reasoning, RESPONSE["output"][1]]}):
        kind = event["type"]
        if kind == "response.reasoning_text.done":
            events += [{**event, "type": "response.reasoning_text.delta", "delta": piece} for piece in pieces]
        if kind != "response.reasoning_text.delta":
            events.append({key: value for key, value in event.items() if key != "text" or kind.endswith("done")})
    deltas = [each["data"]["choices"][0]["delta"] for each in ul.write_stream(events, MINIMAX) if _has_choice(each)]
    tagged = "<think>one</think>" if text else ""
    assert "".join(delta.get("content") or "" for delta in deltas) == f"{tagged}two"


def _has_choice(event: Node) -> bool:
    return type(event["data"]) is dict and bool(event["data"].get("choices"))


def written(vendor: str, **options: Any) -> list[Any]:
    wire = list(ul.write_stream(ul.decompose(RESPONSE), "openai-responses"))
    done = ul.convert_stream(wire, source="openai-responses", target=f"openai-chat:{vendor}", **options)
    return [event["data"] for event in done]


def deltas(chunks: list[Any], key: str) -> str:
    found = [data["choices"][0]["delta"].get(key) for data in chunks if isinstance(data, dict) and data["choices"]]
    return "".join(text for text in found if text)


@pytest.mark.parametrize(
    ("vendor", "key", "text"),
    [
        ("groq", "reasoning", "one"),
        ("deepseek", "reasoning_content", "one"),
        ("copilot", "reasoning_text", "one"),
        ("minimax", "content", "<think>one</think>two"),
    ],
)
def test_a_client_is_told_reasoning_where_its_vendor_tells_it(vendor: str, key: str, text: str) -> None:
    assert deltas(written(vendor), key) == text


@pytest.mark.parametrize(("vendor", "usages"), [("groq", 1), ("mistral", 1), ("openai", 0), ("openrouter", 0)])
def test_usage_that_was_not_requested(vendor: str, usages: int) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stream": True}
    exchange = ul.convert(request, source=f"openai-chat:{vendor}", target="openai-responses").exchange
    chunks = written(vendor, exchange=exchange)
    assert len([data for data in chunks if isinstance(data, dict) and data.get("usage")]) == usages
