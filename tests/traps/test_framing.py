"""Traps of server-sent events, towards every surface: however bytes are cut and framed, the answer is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
OTHERS = [RESPONSES, MESSAGES, INTERACTIONS, GENERATE]
Node = dict[str, Any]


def chunk(delta: Node, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps(body, ensure_ascii=False)


HELLO, END = chunk({"role": "assistant", "content": "北\u2028a"}), chunk({}, "stop")
PLAIN = f"data: {HELLO}\n\ndata: {END}\n\ndata: [DONE]\n\n".encode()


def through(chunks: list[bytes], target: str) -> bytes:
    return b"".join(ul.translate_sse(chunks, source=CHAT, target=target))


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize(
    "raw",
    [
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b"\r"),
        PLAIN.replace(b"data: ", b"data:"),
        PLAIN.replace(b"\n\ndata: [", b"\r\n\r\ndata: ["),
    ],
    ids=["crlf", "cr", "no-space", "mixed"],
)
def test_traps_155_156_160_line_ends_and_cuts_change_nothing(raw: bytes, target: str) -> None:
    wanted = through([PLAIN], target)
    assert "北\u2028a".encode() in wanted.replace(b"\\u2028", "\u2028".encode())
    assert through([raw], target) == wanted
    assert through([raw[i : i + 1] for i in range(len(raw))], target) == wanted
    cut = raw.index("北".encode()) + 1
    assert through([raw[:cut], raw[cut:]], target) == wanted


@pytest.mark.parametrize("target", OTHERS)
def test_trap_157_mark_at_the_start_data_in_lines_and_no_end(target: str) -> None:
    wanted = through([PLAIN], target)
    lines = HELLO.replace(', "choices"', ',\ndata: "choices"')
    assert through([f"\ufeffdata: {lines}\n\ndata: {END}\n\ndata: [DONE]".encode()], target) == wanted
    assert through([f"data: {HELLO}\n\ndata: {END}".encode()], target) == wanted


def events_of(raw: bytes) -> list[Any]:
    frames = [line[6:] for line in raw.decode().split("\n") if line.startswith("data: ")]
    return [json.loads(frame) for frame in frames if frame != "[DONE]"]


@pytest.mark.parametrize("target", OTHERS)
def test_traps_157_160_what_is_cut_off_is_a_failure(target: str) -> None:
    for tail in (END.encode()[:-5], END.replace("stop", "北").encode()[:-20]):
        last = events_of(through([f"data: {HELLO}\n\ndata: ".encode() + tail], target))[-1]
        told = json.dumps(last)
        assert "error" in told and "completed" not in told and "end_turn" not in told, told


@pytest.mark.parametrize("target", OTHERS)
def test_trap_158_comments_and_empty_data_are_not_sent(target: str) -> None:
    noise = b": OPENROUTER PROCESSING\n\n:\n\ndata: : keepalive\n\ndata:\n\n"
    first, _, rest = PLAIN.partition(b"\n\n")
    wanted = through([PLAIN], target)
    assert through([noise + first + b"\n\n" + noise + rest], target) == wanted


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_trap_158_nor_on_the_same_surface_where_bytes_pass(end: bytes) -> None:
    noise = b": ping\n\n:\n\ndata: : keepalive\n\ndata:\n\ndata:: x\n\nevent: ping\ndata: \n\n"
    quiet = b": ping\n\n:\n\n: keepalive\n\n:\n\n: x\n\nevent: ping\n:\n\n"
    lines = b'data: {"a":\ndata:\ndata: :1}\n\n'  # data of one event, whatever it is
    raw, wanted = ((part + PLAIN + lines + part).replace(b"\n", end) for part in (noise, quiet))
    for size in (1, 2, 3, 7, 64, len(raw)):
        chunks = [raw[i : i + size] for i in range(0, len(raw), size)]
        assert through(chunks, CHAT) == wanted
    assert through([b"data: x\n\ndata: "], CHAT) == b"data: x\n\ndata: "


@pytest.mark.parametrize("target", OTHERS)
def test_trap_161_a_missing_mark_is_not_a_failure_and_no_surface_gets_one_it_does_not_know(target: str) -> None:
    wanted = through([PLAIN], target)
    assert through([PLAIN.removesuffix(b"data: [DONE]\n\n")], target) == wanted
    # Interactions' own streams end with it.
    assert (b"[DONE]" in wanted) is (target == INTERACTIONS)
    ended = events_of(through([f"data: {HELLO}\n\n".encode()], target))[-1]
    assert "error" in json.dumps(ended)


@pytest.mark.parametrize("target", OTHERS)
def test_trap_162_an_unknown_object_in_a_stream_is_skipped_and_told(target: str) -> None:
    foreign = {"event": None, "data": {"object": "billing.summary", "cost": 1}}
    events = [{"event": None, "data": json.loads(text)} for text in (HELLO, END)]
    done = ul.convert_stream([events[0], foreign, events[1]], source=CHAT, target=target)
    assert [e["data"] for e in done] == [e["data"] for e in ul.convert_stream(events, source=CHAT, target=target)]
    assert {"/1/data/object", "/1/data/cost"} <= {loss.path for loss in done.losses if loss.fate == "lost"}


def named(*events: Node) -> list[Node]:
    return [{"event": data["type"], "data": data} for data in events]


def test_trap_162_unknown_blocks_and_words_of_messages() -> None:
    message = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    said = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "hi"}}
    events = named(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "x_result", "foo": 1}},
        {"type": "content_block_stop", "index": 0},
        {"type": "billing", "cost": 1},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        said,
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "new_reason", "stop_sequence": None},
         "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    )  # fmt: skip
    assert list(ul.convert_stream(events, source=MESSAGES, target=MESSAGES)) == events
    for target in (CHAT, RESPONSES, INTERACTIONS, GENERATE):
        done = ul.convert_stream(events, source=MESSAGES, target=target)
        told = json.dumps([event["data"] for event in done])
        assert '"hi"' in told and "x_result" not in told
        paths = [loss.path for loss in done.losses if loss.fate == "lost"]
        assert any(path.startswith("/1/data") for path in paths) and any(path.startswith("/3/data") for path in paths)


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize(
    ("first", "second", "text"), [("a\\ud83d", "\\ude00b", "a😀b"), ("a\\ud83d", "b", "a�b"), ("a", "\\ude00", "a�")]
)
def test_trap_180_a_character_cut_by_two_deltas_is_one_again(first: str, second: str, text: str, target: str) -> None:
    deltas = [chunk({"content": "@"}).replace("@", half) for half in (first, second)]
    raw = "".join(f"data: {each}\n\n" for each in (*deltas, END, "[DONE]")).encode()
    out = through([raw], target)
    found = []
    for event in events_of(out):
        if target == RESPONSES and event["type"] == "response.output_text.delta":
            found.append(event["delta"])
        elif target == MESSAGES and event["type"] == "content_block_delta":
            found.append(event["delta"]["text"])
        elif target == INTERACTIONS and event["event_type"] == "step.delta":
            found.append(event["delta"]["text"])
        elif target == GENERATE:
            found += [part["text"] for part in event["candidates"][0]["content"]["parts"]]
    assert "".join(found) == text
    if target == RESPONSES:
        assert events_of(out)[-1]["response"]["output"][0]["content"][0]["text"] == text
