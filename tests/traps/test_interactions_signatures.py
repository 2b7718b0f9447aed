"""Thought signatures on Interactions: they stay on their step, cross others in envelopes, and no foreign one is sent.

The traps are numbered as in index.toml: 1, 9 to 13 (signatures), 53 and 110 (ids and pairs).
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.provenance.opaque import is_sealed

IA = "google-interactions"
SIGNATURE = "CiQBDDnWx+/signed=="
SECRET = "s"
TURN = [
    {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
    {"type": "thought", "signature": SIGNATURE, "summary": [{"type": "text", "text": "look it up"}]},
    {"type": "function_call", "id": "c1", "name": "w", "arguments": {"city": "Oslo"}},
]
RESULT = {"type": "function_result", "call_id": "c1", "name": "w", "result": "sunny"}


def convert(body: Any, source: str, target: str, kind: str = "request", **options: Any) -> Any:
    return ul.convert(body, source=source, target=target, kind=kind, **options)


def signatures(steps: list[dict[str, Any]]) -> list[Any]:
    return [step.get("signature") for step in steps if step["type"] == "thought"]


@pytest.mark.parametrize("surface", ["openai-responses", "openai-chat"])
def test_traps_001_009_a_signature_survives_another_surface(surface: str) -> None:
    answer = {"id": "v1_a", "status": "requires_action", "steps": TURN[1:], "object": "interaction"}
    there = convert(answer, IA, surface, "response").value
    if surface == "openai-responses":
        history: Any = {"model": "m", "input": [{"role": "user", "content": "Weather?"}, *there["output"]]}
    else:
        messages = [{"role": "user", "content": "Weather?"}, there["choices"][0]["message"]]
        history = {"model": "m", "messages": messages}
    back = convert(history, surface, IA).value["input"]
    assert signatures(back) == [SIGNATURE]
    assert [step["type"] for step in back] == ["user_input", "thought", "function_call"]


def test_trap_010_the_signature_is_a_delta_of_the_preceding_thought() -> None:
    events = [
        {"event_type": "interaction.created", "interaction": {"id": "v1_a", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_signature", "signature": SIGNATURE}},
        {"event_type": "step.stop", "index": 0},
        {
            "event_type": "step.start",
            "index": 1,
            "step": {"type": "function_call", "id": "c", "name": "f", "arguments": {}},
        },
        {"event_type": "step.stop", "index": 1},
        {"event_type": "interaction.completed", "interaction": {"id": "v1_a", "status": "requires_action"}},
    ]
    stream = [{"event": data["event_type"], "data": data} for data in events]
    thought, call = ul.collect(ul.read_stream(stream, IA))["output"]
    assert [piece["data"] for piece in thought["opaque"]] == [SIGNATURE]
    assert "opaque" not in call


def test_trap_010_unknown_deltas_are_kept() -> None:
    events = [
        {"event_type": "interaction.created", "interaction": {"id": "v1_a", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "sparkle", "glitter": 1}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"id": "v1_a", "status": "completed"}},
    ]
    stream = [{"event": data["event_type"], "data": data} for data in events]
    assert list(ul.convert_stream(stream, source=IA, target=IA)) == stream


def test_trap_011_an_unsigned_thought_of_others_is_not_replayed() -> None:
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    body = {"model": "m", "input": [{"role": "user", "content": "Hi"}, reasoning, {"role": "user", "content": "So?"}]}
    done = convert(body, "openai-responses", IA)
    assert [step["type"] for step in done.value["input"]] == ["user_input", "user_input"]
    assert any(loss.path == "/input/1" and loss.fate == "lost" for loss in done.losses)


def test_trap_012_foreign_calls_get_the_documented_placeholder_once() -> None:
    calls = [{"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"} for n in (1, 2)]
    results = [{"type": "function_call_output", "call_id": f"c{n}", "output": "x"} for n in (1, 2)]
    done = convert(
        {"model": "m", "input": [{"role": "user", "content": "Hi"}, *calls, *results]}, "openai-responses", IA
    )
    kinds = [step["type"] for step in done.value["input"]]
    assert kinds == ["user_input", "thought", "function_call", "function_call", "function_result", "function_result"]
    assert [(loss.path, loss.fate) for loss in done.losses] == [("/input/1/signature", "added")]
    off = convert({"model": "m", "input": calls}, "openai-responses", f"{IA}:unsigned").value
    assert [step["type"] for step in off["input"]] == ["function_call", "function_call"]


def test_trap_012_own_calls_are_left_alone() -> None:
    body = {"model": "m", "input": [TURN[0], TURN[2], RESULT]}
    assert convert(body, IA, IA).value == body


@pytest.mark.parametrize("signature", ["/wA=", "_wA", "AAAA", "a+b/c=="])
def test_trap_013_the_signature_is_a_string_and_stays_one(signature: str) -> None:
    steps = [{"type": "thought", "signature": signature}]
    assert convert({"model": "m", "input": steps}, IA, IA).value["input"] == steps


def test_no_foreign_piece_is_sent_and_none_is_lost_on_a_client() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA-secret"}
    request = {"model": "m", "input": [{"role": "user", "content": "Hi"}, item, {"role": "user", "content": "So?"}]}
    sent = convert(request, "openai-responses", IA)
    assert "secret" not in repr(sent.value)
    assert any(loss.capability == "reasoning.signature" and loss.fate == "lost" for loss in sent.losses)

    answer = {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
    client = convert(answer, "openai-responses", IA, "response", secret=SECRET).value
    (thought,) = client["steps"]
    assert is_sealed(thought["signature"])
    said = {"type": "model_output", "content": [{"type": "text", "text": "Hello"}]}
    history = {"model": "m", "input": [thought, said]}
    back = convert(history, IA, "openai-responses", secret=SECRET).value["input"]
    assert (back[0]["id"], back[0]["encrypted_content"]) == ("rs_1", "gAAAA-secret")


def test_an_enveloped_thought_never_reaches_the_provider() -> None:
    answer = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA-secret"}],
    }
    steps = convert(answer, "openai-responses", IA, "response").value["steps"]
    assert convert({"model": "m", "input": steps}, IA, IA).value["input"] == []
    broken = [{**steps[0], "signature": steps[0]["signature"][:-8] + "AAAAAAAA"}]
    assert convert({"model": "m", "input": broken}, IA, IA).value["input"] == []


def test_what_hangs_on_a_call_is_carried_beside_it_and_comes_back() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    piece = {"kind": "thought_signature", "data": "U0lH", "origin": {"protocol": "google-generate-content"}}
    answer = {"status": "completed", "output": [{**call, "opaque": [piece]}]}
    steps = ul.write(answer, IA, "response").value["steps"]
    assert [step["type"] for step in steps] == ["thought", "function_call"]
    node = ul.read({"model": "m", "input": steps}, IA).dump()
    assert [item.get("opaque") for item in node["input"]] == [[piece]]
    without = [step for step in steps if step["type"] != "thought"]
    assert "opaque" not in ul.read({"model": "m", "input": without}, IA).dump()["input"][0]


def test_trap_110_a_hosted_step_keeps_its_signature() -> None:
    steps = [
        {"type": "google_search_call", "id": "s", "arguments": {"queries": ["q"]}, "signature": SIGNATURE},
        {
            "type": "google_search_result",
            "call_id": "s",
            "result": [{"search_suggestions": "<b>"}],
            "signature": "Ug==",
        },
    ]
    node = ul.read({"model": "m", "input": steps}, IA).dump()
    assert [item["opaque"][0]["data"] for item in node["input"]] == [SIGNATURE, "Ug=="]
    assert convert({"model": "m", "input": steps}, IA, IA).value["input"] == steps
