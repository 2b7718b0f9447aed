"""The vault restores what clients drop, bounded and scoped, and never mixes two conversations."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.vault import park, thread_of, unpark

Node = dict[str, Any]
GEMINI, CHAT, MESSAGES = "google-generate-content", "openai-chat", "anthropic-messages"


def signed(data: str) -> list[Node]:
    return [{"kind": "thought_signature", "data": data, "origin": {"protocol": "p"}}]


def thought(data: str) -> Node:
    return {"type": "reasoning", "summary": [], "opaque": signed(data)}


def call(call_id: str, city: str = "Oslo", **more: Any) -> Node:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": f'{{"city":"{city}"}}', **more}


def said(text: str, role: str = "assistant") -> Node:
    return {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}


def data_of(items: list[Node]) -> list[str]:
    return [piece["data"] for item in items for piece in item.get("opaque") or ()]


# ---- the memory -----------------------------------------------------------------------------------------------------


def test_the_vault_is_bounded_and_scopes_are_apart() -> None:
    vault = ul.MemoryVault("tenant", limit=2)
    for key in "abc":
        vault.put(key, [{"type": "reasoning", "id": key}])
    assert vault.get("a") is None
    assert vault.get("c") == [{"type": "reasoning", "id": "c"}]
    vault.get("b")
    vault.put("d", [])
    assert vault.get("c") is None and vault.get("b") is not None
    other = vault.within("another")
    assert other.get("b") is None
    other.put("e", [])
    other.put("f", [])
    assert vault.get("b") is None, "the limit holds for all scopes together"


# ---- parking and bringing back --------------------------------------------------------------------------------------


def test_pieces_come_back_on_the_nodes_they_were_on() -> None:
    vault = ul.MemoryVault()
    on_call = call("c1", opaque=signed("ON-CALL"))
    on_part = said("done")
    on_part["content"][0]["opaque"] = signed("ON-PART")
    park([thought("BEFORE"), on_call, call("c2")], vault)
    park([on_part], vault)
    history = [
        said("q", "user"),
        call("c1"),
        call("c2"),
        {"type": "function_call_output", "call_id": "c1"},
        said("done"),
    ]
    home = unpark(history, vault)
    assert [item["type"] for item in home] == [
        "message", "reasoning", "function_call", "function_call", "function_call_output", "message",
    ]  # fmt: skip
    assert data_of(home) == ["BEFORE", "ON-CALL"]
    assert [item.get("call_id") for item in home] == [None, None, "c1", "c2", "c1", None]
    assert home[-1]["content"][0]["opaque"] == signed("ON-PART")


def test_a_conversation_that_kept_its_pieces_is_not_touched() -> None:
    vault = ul.MemoryVault()
    answer = [thought("T"), call("c1")]
    park(answer, vault)
    assert unpark(answer, vault) is answer
    asked = [said("q", "user")]
    assert unpark(asked, vault) is asked


def test_one_call_id_for_two_things_is_two_answers() -> None:
    vault = ul.MemoryVault()
    park([thought("OSLO"), call("call_1", "Oslo")], vault, "thread-1")
    park([thought("ROME"), call("call_1", "Rome")], vault, "thread-2")
    assert data_of(unpark([call("call_1", "Oslo")], vault, "thread-1")) == ["OSLO"]
    assert data_of(unpark([call("call_1", "Rome")], vault, "thread-2")) == ["ROME"]
    assert data_of(unpark([call("call_1", "Bern")], vault, "thread-1")) == []


def test_the_same_answer_in_two_conversations_is_two_answers() -> None:
    vault = ul.MemoryVault()
    park([thought("ONE"), call("call_1")], vault, "thread-1")
    park([thought("TWO"), call("call_1")], vault, "thread-2")
    assert data_of(unpark([call("call_1")], vault, "thread-1")) == ["ONE"]
    assert data_of(unpark([call("call_1")], vault, "thread-2")) == ["TWO"]
    # Of a thread nobody knows it cannot be said whose it is, so it is nobody's.
    assert data_of(unpark([call("call_1")], vault, "thread-3")) == []


def test_a_call_without_its_id_is_known_in_its_thread_alone() -> None:
    vault = ul.MemoryVault()
    park([call("c1", opaque=signed("S"))], vault, "thread-1")
    made = "call_ulm_0123456789"
    result = {"type": "function_call_output", "call_id": made, "output": "mild"}
    home = unpark([call(made), result], vault, "thread-1")
    assert data_of(home) == ["S"]
    assert [item["call_id"] for item in home] == ["c1", "c1"], "the call has its own id again, and so has its result"
    assert data_of(unpark([call("call_ulm_0123456789")], vault, "thread-2")) == []


def test_a_thread_is_known_by_its_first_words_however_they_are_written() -> None:
    one = thread_of({"input": "Hi"})
    assert one == thread_of({"input": [{"type": "message", "role": "user", "content": "Hi"}]})
    assert one == thread_of({"input": [said("Be brief.", "system"), said("Hi", "user"), said("Yes?")]})
    assert one != thread_of({"input": "Ho"})
    assert thread_of({"input": []}) == ""


# ---- through conversions --------------------------------------------------------------------------------------------

ANSWER = {
    "responseId": "r1",
    "candidates": [
        {
            "index": 0,
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "U0lH"},
                    {"functionCall": {"id": "c2", "name": "f", "args": {"n": 1}}},
                ],
            },
        }
    ],
}
FORGETFUL = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "f", "arguments": '{ "n": 1.0 }'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "tool", "tool_call_id": "c2", "content": "s"},
    ],
}


def parts(vault: ul.Vault) -> list[Node]:
    value = ul.convert(FORGETFUL, source=CHAT, target=GEMINI, vault=vault).value
    found: list[Node] = value["contents"][1]["parts"]
    return found


def test_a_client_that_drops_signatures_gets_them_back() -> None:
    vault = ul.MemoryVault()
    ul.convert(ANSWER, source=GEMINI, target=CHAT, kind="response", vault=vault)
    assert [part.get("thoughtSignature") for part in parts(vault)] == ["U0lH", None]


def test_streams_are_parked_as_well() -> None:
    vault = ul.MemoryVault()
    events = [{"event": None, "data": ANSWER}]
    assert list(ul.convert_stream(events, source=GEMINI, target=CHAT, vault=vault))
    assert [part.get("thoughtSignature") for part in parts(vault)] == ["U0lH", None]


def test_another_scope_gets_nothing() -> None:
    vault = ul.MemoryVault("tenant")
    ul.convert(ANSWER, source=GEMINI, target=CHAT, kind="response", vault=vault)
    assert "U0lH" not in [part.get("thoughtSignature") for part in parts(vault.within("another"))]


def test_an_exchange_tells_the_thread() -> None:
    vault = ul.MemoryVault()
    for question, signature in (("q", "U0lHMQ=="), ("another", "U0lHMg==")):
        request = {"model": "m", "messages": [{"role": "user", "content": question}]}
        asked = ul.convert(request, source=CHAT, target=GEMINI, vault=vault)
        answer = {**ANSWER, "candidates": [dict(ANSWER["candidates"][0])]}  # type: ignore[call-overload]
        first, second = ANSWER["candidates"][0]["content"]["parts"]  # type: ignore[index]
        content = {"role": "model", "parts": [{**first, "thoughtSignature": signature}, second]}
        answer["candidates"][0]["content"] = content  # type: ignore[index]
        ul.convert(answer, source=GEMINI, target=CHAT, kind="response", vault=vault, exchange=asked.exchange)
    assert parts(vault)[0]["thoughtSignature"] == "U0lHMQ=="


@pytest.mark.parametrize("vault", [None, ul.MemoryVault()])
def test_what_is_withheld_is_parked_only_where_there_is_a_vault(vault: ul.MemoryVault | None) -> None:
    thinking = {"type": "thinking", "thinking": "why", "signature": "c2lnbmF0dXJl"}
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [thinking, {"type": "text", "text": "a"}]},
            {"role": "user", "content": "more"},
        ],
    }
    done = ul.convert(body, source=MESSAGES, target="openai-responses", vault=vault)
    fates = {
        loss.fate for loss in done.losses if loss.path.startswith("/messages/1/content/0") and loss.detail == "foreign"
    }
    assert fates == {"lost" if vault is None else "parked"}
    if vault is not None:
        # The client of another surface forgot it; the provider it is from gets it.
        dropped = {"model": "m", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
        home = ul.convert(dropped, source=CHAT, target=MESSAGES, vault=vault).value
        assert home["messages"][1]["content"][0] == thinking


def test_what_came_from_the_vault_and_may_not_go_on_is_told_at_the_answer_it_belongs_to() -> None:
    vault = ul.MemoryVault()
    ul.convert(ANSWER, source=GEMINI, target=CHAT, kind="response", vault=vault)
    done = ul.convert(FORGETFUL, source=CHAT, target="openai-responses", vault=vault)
    told = [loss for loss in done.losses if loss.detail == "foreign"]
    assert [(loss.path, loss.fate) for loss in told] == [("/messages/1/tool_calls/0", "parked")]
