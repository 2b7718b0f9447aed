"""Why an answer was refused or stopped, in the words that its provider has for people, between the protocols."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

MESSAGES, GENERATE, INTERACTIONS = "anthropic-messages", "google-generate-content", "google-interactions"
WHY = "This request concerns harbor locks."
Node = dict[str, Any]

CLAUDE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "refusal",
    "stop_sequence": None, "stop_details": {"type": "refusal", "category": "cyber", "explanation": WHY},
    "usage": {"input_tokens": 3, "output_tokens": 2},
}  # fmt: skip
BLOCKED = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": WHY}}
STOPPED = {"candidates": [{"index": 0, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": WHY}]}
FAILED = {
    "id": "i", "object": "interaction", "status": "failed", "model": "m", "steps": [],
    "errors": [{"code": "safety", "message": WHY}],
}  # fmt: skip


def told(value: Node, protocol: str) -> Any:
    if protocol == MESSAGES:
        return (value["stop_details"] or {}).get("explanation")
    if protocol == INTERACTIONS:
        return value["errors"][0].get("message")
    feedback = value.get("promptFeedback") or {}
    return feedback.get("blockReasonMessage") or value["candidates"][0].get("finishMessage")


CASES = [(MESSAGES, CLAUDE), (GENERATE, BLOCKED), (GENERATE, STOPPED), (INTERACTIONS, FAILED)]


@pytest.mark.parametrize(("source", "body"), CASES, ids=["refusal", "blocked prompt", "stopped", "failed"])
@pytest.mark.parametrize("target", [MESSAGES, GENERATE, INTERACTIONS])
def test_an_explanation_arrives(source: str, body: Node, target: str) -> None:
    done = ul.convert(body, source=source, target=target, kind="response")
    assert told(done.value, target) == WHY
    events = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    said = [event["data"] for event in ul.convert_stream(iter(events), source=source, target=target)]
    assert WHY in str(said)


def test_the_category_of_a_refusal_is_reported() -> None:
    losses = ul.convert(CLAUDE, source=MESSAGES, target=GENERATE, kind="response").losses
    assert [loss.path for loss in losses if loss.fate == "lost"] == ["/stop_details/category"]


def test_an_explanation_without_a_category_stays_within_messages() -> None:
    for details in ({"type": "refusal", "category": None, "explanation": WHY}, {"type": "refusal", "explanation": WHY}):
        body = {**CLAUDE, "stop_details": details}
        assert ul.convert(body, source=MESSAGES, target=MESSAGES, kind="response").value == body
        events = list(ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES))
        assert WHY in str(list(ul.convert_stream(iter(events), source=MESSAGES, target=MESSAGES)))


@pytest.mark.parametrize("category", ["cyber", None])
def test_the_canonical_explanation_is_a_text_wherever_it_came_from(category: str | None) -> None:
    details = {"type": "refusal", "category": category, "explanation": WHY}
    claude = ul.read({**CLAUDE, "stop_details": details}, MESSAGES, "response")
    found = [claude.finish, *(ul.read(body, source, "response").finish for source, body in CASES[1:])]
    assert [each.detail for each in found if each is not None] == [WHY] * len(CASES)
    node = claude.dump()
    node["finish"]["detail"] = "Another."
    answer = ul.write(type(claude).model_validate(node), MESSAGES, "response").value
    assert answer["stop_details"] == {"type": "refusal", "category": category, "explanation": "Another."}


def test_a_stop_sequence_explains_no_refusal() -> None:
    body = {**CLAUDE, "stop_reason": "stop_sequence", "stop_sequence": "END", "stop_details": None}
    value = ul.convert(body, source=MESSAGES, target=GENERATE, kind="response").value
    assert "finishMessage" not in value["candidates"][0]


@pytest.mark.parametrize("status", ["in_progress", "queued"])
@pytest.mark.parametrize("target", ["openai-chat", MESSAGES, "amazon-converse"])
def test_an_answer_under_way_does_not_end_in_a_plain_stop(status: str, target: str) -> None:
    """Clients take a plain stop for success, and an answer without a text for a finished one."""
    body = {"id": "i", "object": "interaction", "status": status, "model": "m", "steps": []}
    done = ul.convert(body, source=INTERACTIONS, target=target, kind="response")
    word = (
        done.value["choices"][0]["finish_reason"]
        if target == "openai-chat"
        else (done.value["stop_reason"] if target == MESSAGES else done.value["stopReason"])
    )
    assert word == ("length" if target == "openai-chat" else "max_tokens")
    assert [loss.fate for loss in done.losses if loss.path == "/status"] == ["approximated"]


CHAT, RESPONSES, CONVERSE = "openai-chat", "openai-responses", "amazon-converse"
MESSAGE = {"role": "assistant", "content": "x"}
BROKEN: dict[str, tuple[str, Node]] = {
    "error": (CHAT, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "finish_reason": "error", "message": MESSAGE}]}),
    "malformed": (CONVERSE, {
        "output": {"message": {"role": "assistant", "content": [{"text": "x"}]}},
        "stopReason": "malformed_model_output",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}),
    "no errors": (INTERACTIONS, {"id": "i", "object": "interaction", "status": "failed", "model": "m", "steps": []}),
    "explained": (GENERATE, STOPPED),
    "named": (GENERATE, {"candidates": [
        {"content": {"parts": [{"text": "x"}]}, "finishReason": "UNEXPECTED_TOOL_CALL"}]}),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_failed_response_has_an_error_whole_and_streamed(case: str) -> None:
    """Clients of OpenAI read `error.message` of a failed response."""
    source, body = BROKEN[case]
    done = ul.convert(body, source=source, target=RESPONSES, kind="response")
    events = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    streamed = list(ul.convert_stream(iter(events), source=source, target=RESPONSES))[-1]["data"]["response"]
    for answer in (done.value, streamed):
        assert answer["status"] == "failed"
        assert answer["error"] == {
            "code": "server_error",
            "message": {"explained": WHY, "named": "the response failed: UNEXPECTED_TOOL_CALL"}.get(
                case, "the response failed"
            ),
        }
    added = {loss.path for loss in done.losses if loss.fate == "added" and loss.path.startswith("/error")}
    assert added == {"/error/code" if case in ("explained", "named") else "/error"}
    assert not [loss for loss in done.losses if loss.path.endswith("/finishMessage")]


@pytest.mark.parametrize(
    "word", ["TOO_MANY_TOOL_CALLS", "NO_IMAGE", "MISSING_THOUGHT_SIGNATURE", "UNEXPECTED_TOOL_CALL"]
)
def test_a_failure_of_gemini_has_its_code_in_interactions(word: str) -> None:
    """Interactions has the finish reasons of its sister protocol as codes of errors, in small letters."""
    candidate = {"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": word, "finishMessage": WHY}
    body = {"candidates": [candidate], "responseId": "r", "modelVersion": "m"}
    done = ul.convert(body, source=GENERATE, target=INTERACTIONS, kind="response")
    assert (done.value["status"], done.value["errors"]) == ("failed", [{"code": word.lower(), "message": WHY}])
    back = ul.convert(done.value, source=INTERACTIONS, target=RESPONSES, kind="response")
    assert back.value["status"] == "failed" and WHY in back.value["error"]["message"]


CODES = """language prohibited_content spii blocklist image_safety image_prohibited_content image_recitation image_other
    unexpected_tool_call too_many_tool_calls no_image missing_thought_signature""".split()


@pytest.mark.parametrize("code", CODES)
def test_a_code_of_interactions_is_the_finish_reason_of_its_sister_protocol(code: str) -> None:
    """They have the same words, one in small letters and one in capitals."""
    steps = [{"type": "model_output", "content": [{"type": "text", "text": "x"}]}]
    body = {**FAILED, "steps": steps, "errors": [{"code": code, "message": WHY}]}
    done = ul.convert(body, source=INTERACTIONS, target=GENERATE, kind="response")
    candidate = done.value["candidates"][0]
    assert (candidate["finishReason"], candidate["finishMessage"]) == (code.upper(), WHY)
    events = list(ul.write_stream(ul.decompose(ul.read(body, INTERACTIONS, "response")), INTERACTIONS))
    last = list(ul.convert_stream(iter(events), source=INTERACTIONS, target=GENERATE))[-1]["data"]["candidates"][0]
    assert (last["finishReason"], last["finishMessage"]) == (code.upper(), WHY)


@pytest.mark.parametrize("code", [code for code in CODES if code != "image_other"])
def test_such_a_word_means_the_same_at_both(code: str) -> None:
    """`image_other` alone is documented as a block by the one, and as no more than another reason by the other."""
    steps = [{"type": "model_output", "content": [{"type": "text", "text": "x"}]}]
    failed = {**FAILED, "steps": steps, "errors": [{"code": code}]}
    candidate = {"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": code.upper()}
    ended = [ul.convert(failed, source=INTERACTIONS, target=other, kind="response").value for other in OTHERS]
    body = {"candidates": [candidate], "responseId": "r", "modelVersion": "m"}
    same = [ul.convert(body, source=GENERATE, target=other, kind="response").value for other in OTHERS]
    assert list(map(ending, ended)) == list(map(ending, same))


OTHERS = ("openai-chat", "openai-responses", "anthropic-messages", "amazon-converse")


def ending(answer: Node) -> list[Any]:
    """The fields with the reason for the end of an answer."""
    words = [answer.get(key) for key in ("stop_reason", "stopReason", "status", "incomplete_details")]
    return [*words, *(choice["finish_reason"] for choice in answer.get("choices") or ())]


def test_a_failure_without_a_code_is_explained_in_interactions() -> None:
    """A failed interaction without `errors` has no explanation."""
    candidate = {"content": {"role": "model"}, "finishReason": "MALFORMED_RESPONSE", "finishMessage": WHY}
    done = ul.convert({"candidates": [candidate]}, source=GENERATE, target=INTERACTIONS, kind="response")
    assert (done.value["status"], done.value["errors"]) == ("failed", [{"message": WHY}])
    assert not [loss for loss in done.losses if loss.path.endswith("/finishMessage")]
