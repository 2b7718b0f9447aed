"""Known bugs of other translators with the Responses API's reasoning items, one test each."""

from __future__ import annotations

import json
from typing import Any

import unified_llm as ul
from unified_llm.engine.registry import adapter
from unified_llm.foundation.json_codec import load

P = "openai-responses"
Node = dict[str, Any]
E_ = {"kind": "encrypted_content", "data": "E", "origin": {"protocol": P}}


def lost(done: ul.Converted) -> set[str]:
    return {loss.path for loss in done.losses if loss.fate == "lost"}


def test_trap_016_reasoning_without_the_item_it_led_to_is_not_sent() -> None:
    dangling = {"type": "reasoning", "id": "rs_1", "summary": []}
    body = {"model": "m", "input": [dangling, {"role": "user", "content": "next"}]}
    done = ul.convert(body, source=P, target=P, repair="always")
    assert done.value["input"] == [{"role": "user", "content": "next"}]
    assert lost(done) == {"/input/0"}


def test_trap_016_reasoning_stays_before_its_item() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "opaque": [E_]}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "1"}
    done = ul.write({"model": "m", "input": [thought, call, output]}, P)
    assert [item["type"] for item in done.value["input"]] == ["reasoning", "function_call", "function_call_output"]
    assert not done.losses


def test_trap_017_a_call_of_another_surface_has_no_id() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    value = ul.convert({"model": "m", "messages": messages}, source="openai-chat", target=P).value
    assert value["input"][1] == {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}


def test_trap_018_an_empty_summary_survives() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    assert ul.convert({"input": [item]}, source=P, target=P).value == {"input": [item]}


def test_trap_019_nulls_are_read_and_stay_apart_from_absence() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "encrypted_content": None}
    node = load(ul.read({"input": [item]}, P))["input"][0]
    assert node["content"] is None
    assert "opaque" not in node
    assert ul.convert({"input": [item]}, source=P, target=P).value == {"input": [item]}


def test_trap_020_reasoning_without_cipher_is_not_sent_for_another_surface() -> None:
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "A", "reasoning_content": "T"},
        {"role": "user", "content": "y"},
    ]
    done = ul.convert({"model": "m", "messages": messages}, source="openai-chat", target=P)
    assert "reasoning" not in {item["type"] for item in done.value["input"]}
    assert "/messages/1/reasoning_content" in lost(done)


def test_trap_020_a_server_that_takes_reasoning_in_clear_gets_it() -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "A", "reasoning_content": "T"}]
    done = ul.convert({"model": "m", "messages": messages}, source="openai-chat", target=f"{P}:vllm")
    thought = done.value["input"][1]
    assert thought.pop("id").startswith("rs_")  # the API's types require one
    assert thought == {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "T"}]}


def test_trap_021_cipher_of_another_maker_is_not_sent() -> None:
    theirs = {"kind": "encrypted_content", "data": "X", "origin": {"protocol": P, "scope": "org-x"}}
    from unified_llm.engine.pairs.writing import Writer
    from unified_llm_openai.responses.request.document import write_request

    writer = Writer(adapter(P), scope="org-y")
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "opaque": [theirs]}
    wire = writer.root(write_request, {"model": "m", "input": [thought, call]})
    assert [item["type"] for item in wire["input"]] == ["function_call"]
    assert [(fate, detail) for _, _, fate, detail, _ in writer.raw] == [("lost", "foreign")]


def test_trap_022_another_vendors_signature_is_never_encrypted_content() -> None:
    piece = {"kind": "signature", "data": "SIG", "origin": {"protocol": "anthropic-messages"}}
    thought = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "T"}],
        "opaque": [piece],
    }
    answer = {"type": "message", "role": "assistant", "content": "A"}
    value = ul.write({"model": "m", "input": [thought, answer]}, P).value
    assert "SIG" not in json.dumps(value)
    assert "T" not in json.dumps(value["input"])


def test_trap_023_reasoning_is_never_visible_text() -> None:
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "T"}]}
    answer = {"type": "message", "role": "assistant", "content": "A"}
    value = ul.write({"output": [thought, answer]}, P, "response").value
    texts = [part["text"] for item in value["output"] if item["type"] == "message" for part in _parts(item)]
    assert "T" not in texts


def _parts(item: Node) -> list[Node]:
    content = item["content"]
    return [{"text": content}] if type(content) is str else content


def test_trap_024_content_summary_and_cipher_are_three_things() -> None:
    summary = [{"type": "summary_text", "text": "s"}]
    item = {"type": "reasoning", "content": [], "summary": summary, "encrypted_content": "E"}
    node = load(ul.read({"input": [item]}, P))["input"][0]
    assert (node["content"], node["summary"], node["opaque"]) == ([], summary, [E_])
    assert ul.convert({"input": [item]}, source=P, target=P).value == {"input": [item]}
