"""What the vault keeps of answers and gives back, through conversions and beside envelopes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import unified_llm as ul
from corpus import pairs, records
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.registry import adapter
from unified_llm.provenance.conversation_digest import thread_later, thread_of
from unified_llm.provenance.vault import OfRequest
from vaults import ASKED, call, result, said, thought

Node = dict[str, Any]
GEMINI, CHAT, MESSAGES = "google-generate-content", "openai-chat", "anthropic-messages"


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


ASKS = {"model": "m", "messages": [{"role": "user", "content": "q"}]}


def answered(vault: ul.Vault, answer: Node = ANSWER, asks: Node = ASKS) -> Node:
    """The answer that a client of Chat gets to a request."""
    exchange = ul.convert(asks, source=CHAT, target=GEMINI, vault=vault).exchange
    done = ul.convert(answer, source=GEMINI, target=CHAT, kind="response", vault=vault, exchange=exchange)
    return dict(done.value)


def parts(vault: ul.Vault) -> list[Node]:
    value = ul.convert(FORGETFUL, source=CHAT, target=GEMINI, vault=vault).value
    found: list[Node] = value["contents"][1]["parts"]
    return found


def test_a_client_that_drops_signatures_gets_them_back() -> None:
    vault = ul.MemoryVault()
    answered(vault)
    assert [part.get("thoughtSignature") for part in parts(vault)] == ["U0lH", None]


def test_streams_are_parked_as_well() -> None:
    vault = ul.MemoryVault()
    exchange = ul.convert(ASKS, source=CHAT, target=GEMINI, vault=vault).exchange
    events = [{"event": None, "data": ANSWER}]
    assert list(ul.convert_stream(events, source=GEMINI, target=CHAT, vault=vault, exchange=exchange))
    assert [part.get("thoughtSignature") for part in parts(vault)] == ["U0lH", None]


def test_another_scope_gets_nothing() -> None:
    vault = ul.MemoryVault("tenant")
    answered(vault)
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


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("request"))
def test_the_thread_is_that_of_the_conversation_as_it_came(source: str, target: str, _kind: str) -> None:
    """Whenever it is computed, and whatever the conversion did to the items: also where the vault was searched."""
    searched = ul.MemoryVault()
    searched.put("turn:of another", [thought("U0lH")])
    threads = 0
    for record in records(source, "request"):
        given = {"source": source, "target": target, "http": record.get("http")}
        vaults: list[Any] = [each for kept in (ul.MemoryVault(), searched) for each in (kept, OfRequest(kept))]
        try:
            found = [ul.convert(record["body"], vault=vault, **given) for vault in vaults]
        except ul.CapabilityRefused:
            continue
        # As readers leave it: the keys of a file are in another order in what was validated.
        reader = Reader(adapter(source), http=record.get("http"))
        canonical = reader.root(adapter(source).kinds["request"].read, copy.deepcopy(record["body"]))
        named = [each.exchange.thread for each in found if each.exchange is not None]
        told = [thread or getattr(vault, "thread", "") for thread, vault in zip(named, vaults, strict=True)]
        assert set(told) == {thread_of(canonical)}, record["id"]
        threads += bool(told[0])
    assert threads > 5


def test_a_thread_waits_without_files_in_memory() -> None:
    texts = [ASKED, said("a"), call("c"), result("c"), {"type": "message", "role": "user", "content": "on"}]
    node: Node = {"input": copy.deepcopy(texts), "instructions": "Be brief."}
    later, wanted = thread_later(node), thread_of(node)
    for item in node["input"]:
        for part in item["content"] if isinstance(item.get("content"), list) else ():
            part["text"] = "other"
        item["arguments"] = item["output"] = item["content"] = "other"
    assert callable(later) and later() == wanted
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    file = {"type": "message", "role": "user", "content": [image]}
    for items in ([*texts, file], [result("c"), {**result("d"), "output": [image]}]):
        assert thread_later({"input": items}) == thread_of({"input": items})
    beside = said("a", "user")
    beside["content"][0] |= {"image_url": "data:image/png;base64,AA", "extra": {"p": {"rest": {"zz": "AA"}}}}
    waiting: Any = thread_later({"input": [beside]})
    assert "AA" not in repr(waiting.args) and waiting() == thread_of({"input": [beside]})


def test_a_signature_that_looks_like_an_envelope_is_sent_back_as_it_was() -> None:
    vault, signature = ul.MemoryVault(), "dW5pZmllZF9sbG06YWJj"
    ask: Node = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    sent = ul.convert(ask, source=CHAT, target=MESSAGES, vault=vault)
    answer = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "thinking", "thinking": "why", "signature": signature}, {"type": "text", "text": "a"}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    back = {"source": MESSAGES, "target": CHAT, "kind": "response", "exchange": sent.exchange}
    ul.convert(answer, vault=vault, **back)  # type: ignore[call-overload]
    ask["messages"] += [{"role": "assistant", "content": "a"}, {"role": "user", "content": "more"}]
    again = ul.convert(ask, source=CHAT, target=MESSAGES, vault=vault).value
    assert again["messages"][1]["content"][0] == {"type": "thinking", "thinking": "why", "signature": signature}


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


def test_what_is_kept_goes_to_its_origin_alone() -> None:
    """Another provider gets what the client shows; there is nothing of the client's to report."""
    vault = ul.MemoryVault()
    answered(vault)
    done = ul.convert(FORGETFUL, source=CHAT, target="openai-responses", vault=vault)
    assert "U0lH" not in json.dumps(done.value)
    assert done.value == ul.convert(FORGETFUL, source=CHAT, target="openai-responses").value
    assert not [loss for loss in done.losses if loss.detail == "foreign"]


@pytest.mark.parametrize(
    "constant", ["skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="]
)
def test_a_value_that_every_client_sends_is_not_withheld(constant: str) -> None:
    """A client of Gemini's sends its stand-in for a signature: that is not data of the conversation."""
    vault = ul.MemoryVault()
    called = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": constant}
    history = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [called]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "r"}}}]},
    ]
    for target in (CHAT, MESSAGES, "openai-responses"):
        done = ul.convert({"contents": history}, source=GEMINI, target=target, vault=vault, model="m")
        assert constant not in json.dumps(done.value)
        assert not [
            loss for loss in done.losses if loss.fate in ("lost", "parked") and "signature" in loss.path.lower()
        ]
    assert vault.empty
    assert ul.convert({"contents": history}, source=GEMINI, target=GEMINI, vault=vault).value == {"contents": history}
    assert not any(item.opaque for item in ul.read({"contents": history}, GEMINI).input)


# ---- beside envelopes -----------------------------------------------------------------------------------------------

STEPS: list[Node] = [
    {"type": "thinking", "thinking": "a", "signature": "SIG-ONE"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "print(1)"}},
    {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0, "content": []}},
    {"type": "thinking", "thinking": "b", "signature": "SIG-TWO"},
    {"type": "text", "text": "One."},
]  # fmt: skip


@pytest.mark.parametrize("client", ["google-interactions", "openai-responses"])
def test_a_client_that_echoes_envelopes_gets_back_what_they_may_not_hold(client: str) -> None:
    """Without a secret an envelope only adds to what the client shows; hosted calls are kept in the vault."""
    user: Node = {"type": "user_input", "content": [{"type": "text", "text": "hi"}]}
    asks: Node = {"model": "a", "generation_config": {"thinking_level": "high"}, "input": [user]}
    shown = "steps"
    if client == "openai-responses":
        user, shown = {"role": "user", "content": "hi"}, "output"
        asks = {"model": "a", "reasoning": {"effort": "high"}, "input": [user]}
    wire = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": STEPS,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    vault = ul.MemoryVault()
    options: dict[str, Any] = {"vault": vault, "model": "claude-opus-4-8"}
    exchange = ul.convert(asks, source=client, target=MESSAGES, **options).exchange
    given = ul.convert(wire, source=MESSAGES, target=client, kind="response", exchange=exchange, vault=vault).value
    again = {**asks, "input": [user, *given[shown], user]}
    sent = ul.convert(again, source=client, target=MESSAGES, **options)
    assert sent.value["messages"][1]["content"] == STEPS
    assert not [loss for loss in sent.losses if loss.fate == "lost"]
    elsewhere = ul.convert(again, source=client, target=CHAT, vault=vault).value
    assert "SIG-" not in json.dumps(elsewhere) and "srvtoolu" not in json.dumps(elsewhere)


def test_opaque_data_of_any_type_is_compared_with_what_is_kept() -> None:
    vault = ul.MemoryVault()
    vault.put("call:a", [{"type": "reasoning"}])
    odd = [{"kind": "x", "data": {"a": 1}, "provider": "p"}]
    text = {"type": "output_text", "text": "x"}
    said = {"type": "message", "role": "assistant", "content": [text], "opaque": odd}
    turns = [
        {"type": "message", "role": "user", "content": "a"},
        said,
        {"type": "message", "role": "user", "content": "b"},
    ]
    done = ul.write({"model": "m", "input": turns}, "openai-responses", vault=vault)
    assert done.value["input"][1]["content"] == [text]
