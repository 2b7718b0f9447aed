"""Traps of ends, blocks, usage and streams at generateContent; expected values are those of the trap."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

GC = "google-generate-content"
CHAT = "openai-chat"
RESPONSES = "openai-responses"
Node = dict[str, Any]


def candidate(*parts: Node, finish: str | None = "STOP") -> Node:
    content = {"parts": list(parts), "role": "model"}
    return {"content": content, "index": 0, **({"finishReason": finish} if finish else {})}


def answer(*parts: Node, finish: str = "STOP", **more: Any) -> Node:
    return {"candidates": [candidate(*parts, finish=finish)], "responseId": "r", "modelVersion": "m", **more}


def to(target: str, body: Node) -> Any:
    return ul.convert(body, source=GC, target=target, kind="response").value


def events(*chunks: Any) -> list[Node]:
    return [{"event": None, "data": chunk} for chunk in chunks]


def test_trap_141_calls_end_with_stop() -> None:
    body = answer({"functionCall": {"name": "f", "args": {}, "id": "c"}})
    assert to(CHAT, body)["choices"][0]["finish_reason"] == "tool_calls"
    assert to(RESPONSES, body)["status"] == "completed"


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "NO_IMAGE"]
)
def test_trap_142_aborts_are_no_success(reason: str) -> None:
    body = {"candidates": [{"finishReason": reason}], "responseId": "r"}
    assert to(CHAT, body)["choices"][0]["finish_reason"] not in ("stop", "content_filter")
    assert ul.convert(body, source=GC, target=GC, kind="response").value == body


def test_trap_142_unknown_reasons_pass() -> None:
    node = ul.read(answer({"text": "x"}, finish="NEXT_YEARS_REASON"), GC, "response")
    assert (node.finish.reason, node.finish.native) == ("other", "NEXT_YEARS_REASON")


def test_trap_143_a_blocked_prompt() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}}
    chat = to(CHAT, body)
    assert [choice["finish_reason"] for choice in chat["choices"]] == ["content_filter"]
    assert chat["usage"]["prompt_tokens"] == 5
    assert to(RESPONSES, body)["incomplete_details"] == {"reason": "content_filter"}
    stream = list(ul.convert_stream(events(body), source=GC, target=RESPONSES))
    assert stream[-1]["event"] == "response.incomplete"


def test_trap_144_a_candidate_without_parts() -> None:
    body = {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}], "responseId": "r"}
    assert to(RESPONSES, body)["status"] == "incomplete"
    choice = to(CHAT, body)["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", None)


def test_trap_146_a_refusal_is_text_here() -> None:
    message = {"role": "assistant", "content": None, "refusal": "No."}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    done = ul.convert(body, source=CHAT, target=GC, kind="response")
    assert done.value["candidates"][0]["content"]["parts"] == [{"text": "No."}]
    assert done.value["candidates"][0]["finishReason"] == "SAFETY"
    assert "approximated" in [loss.fate for loss in done.losses]


def test_traps_149_150_usage_buckets() -> None:
    counts = {"promptTokenCount": 20, "candidatesTokenCount": 151, "thoughtsTokenCount": 382, "totalTokenCount": 553}
    usage = to(RESPONSES, answer({"text": "x"}, usageMetadata=counts))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (20, 533, 553)
    assert usage["output_tokens_details"]["reasoning_tokens"] == 382
    more = {**counts, "toolUsePromptTokenCount": 7, "cachedContentTokenCount": 4}
    node = ul.read(answer({"text": "x"}, usageMetadata=more), GC, "response").usage
    assert (node.input_tokens, node.input_tokens_details.tool_tokens, node.input_tokens_details.cached_tokens) == (
        27,
        7,
        4,
    )


def test_trap_150_back_to_buckets() -> None:
    usage = {
        "input_tokens": 20,
        "output_tokens": 533,
        "total_tokens": 553,
        "output_tokens_details": {"reasoning_tokens": 382},
    }
    value = ul.write({"id": "r", "output": [], "finish": {"reason": "stop"}, "usage": usage}, GC, "response").value
    assert value["usageMetadata"] == {
        "promptTokenCount": 20, "candidatesTokenCount": 151, "totalTokenCount": 553, "thoughtsTokenCount": 382,
    }  # fmt: skip


def test_trap_152_stream_usage_is_cumulative() -> None:
    def chunk(count: int, finish: str | None = None) -> Node:
        usage = {"promptTokenCount": 10, "candidatesTokenCount": count, "totalTokenCount": 10 + count}
        return {"candidates": [candidate({"text": "a"}, finish=finish)], "usageMetadata": usage}

    last = {"candidates": [candidate({"text": ""})]}
    response = ul.collect(ul.read_stream(events(chunk(1), chunk(2), chunk(3), last), GC))
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (10, 3)
    chat = list(ul.convert_stream(events(chunk(1), chunk(2), last), source=GC, target=RESPONSES))
    assert chat[-1]["data"]["response"]["usage"]["input_tokens"] == 10


def test_trap_082_arguments_in_pieces() -> None:
    def chunk(call: Node, finish: str | None = None) -> Node:
        return {"candidates": [candidate({"functionCall": call}, finish=finish)], "responseId": "r"}

    stream = events(
        chunk({"name": "f", "willContinue": True}),
        chunk({"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}], "willContinue": True}),
        chunk({}, "STOP"),
    )
    assert list(ul.convert_stream(stream, source=GC, target=GC)) == stream
    items = ul.collect(ul.read_stream(stream, GC))["output"]
    assert [(item["name"], item["arguments"]) for item in items] == [("f", '{"a":1}')]


def test_trap_080_a_call_after_text_keeps_both() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c"}}
    stream = events({"candidates": [candidate({"text": "Wait"}, finish=None)]}, {"candidates": [candidate(call)]})
    chunks = [event["data"] for event in ul.convert_stream(stream, source=GC, target=CHAT) if event["data"] != "[DONE]"]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Wait"
    calls = [one for delta in deltas for one in delta.get("tool_calls") or ()]
    assert "".join(one["function"].get("arguments") or "" for one in calls) == '{"a":1}'


def test_trap_161_frames_are_bare_and_end_without_a_mark() -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta = {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]}
    end = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    out = list(ul.convert_stream([*events(delta, end), {"event": None, "data": "[DONE]"}], source=CHAT, target=GC))
    assert all(event["event"] is None and "candidates" in event["data"] for event in out)
    assert [event["data"]["candidates"][0].get("finishReason") for event in out] == [None, "STOP"]


def test_trap_161_a_cut_stream_is_an_error() -> None:
    stream = events({"candidates": [candidate({"text": "Fo"}, finish=None)]})
    with pytest.raises(ul.RemoteProtocolError):
        ul.collect(ul.read_stream(stream, GC))
    out = list(ul.convert_stream(stream, source=GC, target=RESPONSES))
    assert out[-1]["event"] in ("error", "response.failed")


def test_trap_162_unknown_things_pass() -> None:
    first = {"candidates": [{**candidate({"hologram": {}}, finish=None), "newKey": 1}], "newTop": 2}
    stream = events(first, {"billing": "summary"}, {"candidates": [candidate({"text": "x"})]})
    assert list(ul.convert_stream(stream, source=GC, target=GC)) == stream
    assert list(ul.convert_stream(stream, source=GC, target=CHAT))[-1]["data"] == "[DONE]"


def test_trap_168_errors_in_the_stream() -> None:
    failure = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    stream = events({"candidates": [candidate({"text": "Fo"}, finish=None)]}, failure)
    assert list(ul.convert_stream(stream, source=GC, target=GC)) == stream
    failed = [event for event in ul.read_stream(stream, GC) if event["type"] == "error"]
    assert (failed[0]["error"]["type"], failed[0]["error"]["status"]) == ("overloaded", 503)


def test_trap_179_offsets_count_bytes_here_and_characters_there() -> None:
    text = "Bjørk på øy"
    start, end = len("Bjørk ".encode()), len("Bjørk på".encode())
    support = {"segment": {"startIndex": start, "endIndex": end, "text": "på"}, "groundingChunkIndices": [0]}
    meta = {"groundingChunks": [{"web": {"uri": "https://e.x", "title": "e.x"}}], "groundingSupports": [support]}
    body = answer({"text": text})
    body["candidates"][0]["groundingMetadata"] = meta
    note = to(RESPONSES, body)["output"][0]["content"][0]["annotations"][0]
    assert (text[note["start_index"] : note["end_index"]], note["url"]) == ("på", "https://e.x")
    back = ul.convert(to(RESPONSES, body), source=RESPONSES, target=GC, kind="response").value
    segment = back["candidates"][0]["groundingMetadata"]["groundingSupports"][0]["segment"]
    assert (segment["startIndex"], segment["endIndex"]) == (start, end)
