"""Answers, usage and errors of a dialect, read and written: the vendors' own spellings on both sides."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm_openai.dialects import Dialects

Node = dict[str, Any]
Body = dict[str, Any]

REASONING = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "T"}]}
TEXT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}


def completion(message: Node, finish: Any = "stop", **more: Any) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}


def read(vendor: str, body: Any, kind: str = "response", **http: Any) -> Node:
    name = f"openai-chat:{vendor}" if vendor else "openai-chat"
    found: Node = ul.read(body, name, kind, http=http or None).model_dump(exclude_unset=True)
    assert ul.convert(body, source=name, target=name, kind=kind, http=http or None).value == body
    return found


def write(vendor: str, **more: Any) -> Node:
    """The answer a client of the vendor's gets."""
    body = {"id": "r", "created_at": 1, "model": "m", "output": [TEXT], **more}
    found: Node = ul.write(body, f"openai-chat:{vendor}", "response").value
    return found


def text_of(items: list[Node], kind: str) -> list[str]:
    return [part["text"] for item in items if item["type"] == kind for part in item.get("content") or ()]


# ---- reasoning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vendor", [*Dialects("chat")])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_trap_044_every_name_of_the_field_is_read_in_every_dialect(vendor: str, field: str) -> None:
    found = read(vendor, completion({"content": "A", field: "T"}))
    assert text_of(found["output"], "reasoning") == ["T"] and text_of(found["output"], "message") == ["A"]


@pytest.mark.parametrize(("vendor", "first"), [("", "one"), ("sglang", "one"), ("vllm", "two"), ("groq", "two")])
def test_of_two_fields_the_servers_own_is_believed(vendor: str, first: str) -> None:
    found = read(vendor, completion({"content": "A", "reasoning_content": "one", "reasoning": "two"}))
    assert text_of(found["output"], "reasoning") == [first]


@pytest.mark.parametrize(
    ("vendor", "message"),
    [
        ("deepseek", {"reasoning_content": "T", "content": "A"}),
        ("groq", {"reasoning": "T", "content": "A"}),
        ("copilot", {"reasoning_text": "T", "content": "A"}),
        ("minimax", {"content": "<think>T</think>A"}),
        ("google", {"content": "<thought>T</thought>A"}),
    ],
)
def test_a_client_finds_reasoning_where_its_vendor_has_it(vendor: str, message: Node) -> None:
    written = write(vendor, output=[REASONING, TEXT])["choices"][0]["message"]
    assert {key: written[key] for key in message} == message
    found = read(vendor, completion(message))
    assert text_of(found["output"], "reasoning") == ["T"] and text_of(found["output"], "message") == ["A"]


@pytest.mark.parametrize(
    ("content", "reasoning", "text"),
    [
        ("<think>\nT\n</think>\n\nA", ["\nT\n"], ["\n\nA"]),
        ("<think>T</think>", ["T"], []),
        ("<think></think>A", [], ["A"]),
        ("<think>cut off", ["cut off"], []),
        ("<think>a</think>b<think>c</think>", ["a"], ["b<think>c</think>"]),
        ("says <think> in passing", [], ["says <think> in passing"]),
        ("<thinking>no tag</thinking>", [], ["<thinking>no tag</thinking>"]),
    ],
)
def test_tags(content: str, reasoning: list[str], text: list[str]) -> None:
    found = read("minimax", completion({"content": content}))
    assert text_of(found["output"], "reasoning") == reasoning
    assert text_of(found["output"], "message") == text
    # Only where the dialect declares it.
    assert text_of(read("", completion({"content": content}))["output"], "message") == [content]


def test_tags_in_a_history() -> None:
    user = {"role": "user", "content": "q"}
    body = {"model": "m", "messages": [user, {"role": "assistant", "content": "<think>T</think>A"}, user]}
    done = ul.convert(body, source="openai-chat:minimax", target="anthropic-messages")
    assert done.value["messages"][1]["content"] != "<think>T</think>A"
    moved = ul.convert(body, source="openai-chat:minimax", target="openai-chat:moonshot").value["messages"][1]
    assert moved == {"role": "assistant", "reasoning_content": "T", "content": "A"}
    assert ul.convert(body, source="openai-chat:minimax", target="openai-chat:minimax").value == body


# ---- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vendor", "word", "reason"),
    [
        ("deepseek", "insufficient_system_resource", "error"),
        ("mistral", "model_length", "context_window"),
        ("zai", "sensitive", "safety"),
        ("zai", "network_error", "error"),
        ("zai", "model_context_window_exceeded", "context_window"),
        ("vllm", "abort", "cancelled"),
        ("sglang", "abort", "cancelled"),
        ("together", "eos", "stop_sequence"),
    ],
)
def test_words_for_the_end(vendor: str, word: str, reason: str) -> None:
    found = read(vendor, completion({"content": "A"}, word))
    assert found["finish"] == {"reason": reason, "native": word}
    assert write(vendor, finish={"reason": reason})["choices"][0]["finish_reason"] == word
    assert write("openai", finish={"reason": reason})["choices"][0]["finish_reason"] != word


# ---- usage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vendor", "usage", "meant"),
    [
        ("sglang", {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9, "reasoning_tokens": 3},
         {"output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 3}}),
        ("mistral", {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "num_cached_tokens": 4},
         {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}),
        ("moonshot", {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "cached_tokens": 4},
         {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}),
        ("qwen", {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7,
                  "prompt_tokens_details": {"cached_tokens": 1, "cache_creation_input_tokens": 3, "cache_type": "e"}},
         {"input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 3}}),
        ("perplexity", {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14, "reasoning_tokens": 4,
                        "citation_tokens": 3},
         {"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}}),
        ("xai", {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 40,
                 "completion_tokens_details": {"reasoning_tokens": 28}},
         {"input_tokens": 9, "output_tokens": 31, "total_tokens": 40}),
        ("google", {"prompt_tokens": 9, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 28}},
         {"output_tokens": 31}),
        ("openai", {"prompt_tokens": 9, "completion_tokens": 31, "total_tokens": 40,
                    "completion_tokens_details": {"reasoning_tokens": 28}},
         {"output_tokens": 31}),
    ],
)  # fmt: skip
def test_usage(vendor: str, usage: Node, meant: Node) -> None:
    found = read(vendor, completion({"content": "A"}, usage=usage))["usage"]
    assert {key: found[key] for key in meant} == meant


def test_usage_for_a_client() -> None:
    counts = {
        "input_tokens": 9,
        "output_tokens": 31,
        "total_tokens": 40,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 28},
    }
    assert write("xai", usage=counts)["usage"]["completion_tokens"] == 3
    assert write("openai", usage=counts)["usage"]["completion_tokens"] == 31
    assert write("mistral", usage=counts)["usage"]["num_cached_tokens"] == 4
    assert write("openai", usage=counts)["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vendor", "body", "status", "kind", "message"),
    [
        ("zai", {"error": {"code": "1210", "message": "m"}}, 400, "invalid_request", "m"),
        ("zai", {"error": {"code": "1113", "message": "m"}}, 429, "quota", "m"),
        ("zai", {"error": {"code": "1302", "message": "m"}}, 429, "rate_limit", "m"),
        ("zai", {"error": {"code": "1261", "message": "m"}}, 400, "context_overflow", "m"),
        ("zai", {"error": {"code": "1301", "message": "m"}}, 400, "content_filter", "m"),
        ("minimax", {"base_resp": {"status_code": 1008, "status_msg": "m"}}, 200, "quota", "m"),
        ("minimax", {"base_resp": {"status_code": 1002, "status_msg": "m"}}, 200, "rate_limit", "m"),
        ("openrouter", {"error": {"code": 402, "message": "m", "metadata": {"raw": "r"}}}, 402, "quota", "m"),
        ("mistral", {"object": "error", "message": {"detail": [{"msg": "m", "loc": ["a"]}, {"msg": "n"}]}}, 422,
         "invalid_request", "m"),
        ("vllm", {"detail": [{"type": "missing", "loc": ["body"], "msg": "m"}]}, 422, "invalid_request", "m"),
        ("vllm", {"detail": "m"}, 404, "not_found", "m"),
        ("tgi", {"error": "m", "error_type": "overloaded"}, 429, "overloaded", "m"),
        ("tgi", {"error": "m", "error_type": "validation"}, 422, "invalid_request", "m"),
        ("xai", {"error": "m", "code": "c"}, 400, "invalid_request", "m"),
        ("google", [{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}], 400, "invalid_request",
         "m"),
        ("groq", {"error": {"message": "m", "type": "invalid_request_error", "code": "tool_use_failed",
                            "failed_generation": "g"}}, 400, "invalid_request", "m"),
    ],
)  # fmt: skip
def test_errors(vendor: str, body: Any, status: int, kind: str, message: str) -> None:
    error = read(vendor, body, "error", status=status)["error"]
    assert (error["type"], error["message"]) == (kind, message)


def test_an_answer_that_is_an_error_in_the_servers_own_way() -> None:
    body = {"id": "c", "choices": None, "base_resp": {"status_code": 1027, "status_msg": "sensitive"}}
    found = read("minimax", body)
    assert found["status"] == "failed"
    assert (found["error"]["type"], found["error"]["message"]) == ("content_filter", "sensitive")
    fine = completion({"content": "A"}, base_resp={"status_code": 0, "status_msg": ""})
    assert read("minimax", fine).get("status") != "failed"
