"""Traps of chat answers and errors; expected values are those of the trap, not of the code."""

from __future__ import annotations

from typing import Any

import unified_llm as ul
from traps.chat_wire import CHAT, completion, read, request, same, wire_call

Node = dict[str, Any]


def test_trap_141_stop_beside_calls() -> None:
    body = completion({"content": None, "tool_calls": [wire_call()]}, "stop")
    assert read(body, "response")["finish"]["reason"] == "tool_calls"
    same(body, "response")


def test_trap_142_an_abort_is_not_a_stop() -> None:
    finish = {"reason": "malformed_call", "native": "MALFORMED_FUNCTION_CALL"}
    (choice,) = ul.write({"id": "r", "output": [], "finish": finish}, CHAT, "response").value["choices"]
    assert (choice["finish_reason"], choice["native_finish_reason"]) == ("error", "MALFORMED_FUNCTION_CALL")
    odd = completion({"content": "x"}, "zz_new")
    assert read(odd, "response")["finish"] == {"reason": "other", "native": "zz_new"}
    same(odd, "response")


def test_trap_143_a_blocked_prompt_is_one_filtered_choice() -> None:
    usage = {"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}
    done = ul.write({"id": "r", "output": [], "finish": {"reason": "safety"}, "usage": usage}, CHAT, "response").value
    (choice,) = done["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("content_filter", None)
    assert done["usage"]["prompt_tokens"] == 5


def test_trap_145_refusal_and_pause_and_a_full_window() -> None:
    part = {"type": "refusal", "refusal": "No."}
    output_ = [{"type": "message", "role": "assistant", "content": [part]}]
    refused = ul.write({"id": "r", "output": output_, "finish": {"reason": "refusal"}}, CHAT, "response")
    (choice,) = refused.value["choices"]
    assert (choice["message"]["refusal"], choice["finish_reason"]) == ("No.", "stop")
    for reason, word in (("context_window", "length"), ("pause", "length"), ("refusal", "content_filter")):
        done = ul.write({"id": "r", "output": [], "finish": {"reason": reason}}, CHAT, "response")
        assert done.value["choices"][0]["finish_reason"] == word
        assert [loss.fate for loss in done.losses if loss.path == "/finish/reason"] == ["approximated"]


def test_trap_146_a_refusal_is_a_part_and_a_reason() -> None:
    got = read(completion({"content": None, "refusal": "No."}), "response")
    assert got["output"][0]["content"] == [{"type": "refusal", "refusal": "No."}]
    assert got["finish"]["reason"] == "refusal"


def test_trap_148_an_error_that_is_a_completion() -> None:
    body = completion({"content": ""}, "content_filter")
    done = ul.convert(body, source=CHAT, target=CHAT, kind="error", http={"status": 400})
    assert done.value == body
    adapter, _ = ul.engine.registry.split(CHAT)
    error = ul.engine.pairs.reading.Reader(adapter, http={"status": 400}).root(adapter.kinds["error"].read, body)[
        "error"
    ]
    assert error["type"] == "content_filter"


def test_trap_167_nulls_of_the_wire_stay_nulls() -> None:
    assert not same(request({"role": "user", "content": "x"}, parallel_tool_calls=None, tools=None, stop=None))
    assert "tool_calls" not in ul.write({"id": "r", "output": []}, CHAT, "response").value["choices"][0]["message"]


def test_trap_170_the_envelope_is_ours_whatever_came() -> None:
    error = {"type": "rate_limit", "message": "m", "status": 429}
    done = ul.write({"error": error}, CHAT, "error")
    told = {"message": "m", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}
    assert done.value == {"error": told}
    assert done.http["status"] == 429


def test_trap_171_retry_after_travels() -> None:
    error = {"type": "overloaded", "message": "m", "retry_after": 7}
    done = ul.write({"error": error}, CHAT, "error")
    assert (done.http["status"], done.http["headers"]) == (503, {"retry-after": "7"})


def test_trap_172_overflow_stays_recognizable() -> None:
    done = ul.write({"error": {"type": "context_overflow", "message": "input token count exceeds"}}, CHAT, "error")
    assert done.value["error"]["code"] == "context_length_exceeded"
    body = {
        "error": {"message": "m", "type": "invalid_request_error", "param": None, "code": "context_length_exceeded"}
    }
    adapter, _ = ul.engine.registry.split(CHAT)
    error = ul.engine.pairs.reading.Reader(adapter).root(adapter.kinds["error"].read, body)["error"]
    assert error["type"] == "context_overflow"
