"""Clients that send an answer back in another form: under ids of their own (magentic), thoughts first (Haystack).

What was signed returns as it was.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
CHAT, MESSAGES, INTERACTIONS = "openai-chat", "anthropic-messages", "google-interactions"
GENERATE = "google-generate-content"
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


def asked(*turns: Node) -> Node:
    return {"model": "m", "messages": [{"role": "user", "content": "q"}, *turns], "tools": TOOLS}


def called(*ids: str) -> Node:
    calls = [
        {"id": each, "type": "function", "function": {"name": "f", "arguments": json.dumps({"n": number})}}
        for number, each in enumerate(ids)
    ]
    return {"role": "assistant", "tool_calls": calls}


def results(*ids: str) -> list[Node]:
    return [{"role": "tool", "tool_call_id": each, "content": f"result {n}"} for n, each in enumerate(ids)]


def thought(data: str) -> Node:
    return {"type": "thinking", "thinking": "Hm.", "signature": data}


def answer(data: str, *ids: str) -> Node:
    calls = [{"type": "tool_use", "id": each, "name": "f", "input": {"n": number}} for number, each in enumerate(ids)]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**head, "content": [thought(data), *calls], "stop_sequence": None, "usage": usage}


def exchanged(vault: ul.MemoryVault, request: Node, response: Node) -> None:
    there = ul.convert(request, source=CHAT, target=MESSAGES, facing="provider", vault=vault)
    ul.convert(
        response, source=MESSAGES, target=CHAT, kind="response", facing="client", vault=vault, exchange=there.exchange
    )


def sent(vault: ul.MemoryVault, request: Node) -> list[Node]:
    done = ul.convert(request, source=CHAT, target=MESSAGES, facing="provider", vault=vault)
    found: list[Node] = done.value["messages"]
    return found


def ids_of(messages: list[Node]) -> list[str]:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return [each for block in blocks if (each := block.get("id") or block.get("tool_use_id"))]


def signatures(messages: list[Node]) -> list[str]:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return [block["signature"] for block in blocks if "signature" in block]


def test_calls_under_ids_of_the_clients_return_under_their_own() -> None:
    vault = ul.MemoryVault()
    exchanged(vault, asked(), answer("QUJD", "toolu_1", "toolu_2"))
    history = asked(called("a", "b"), *results("a", "b"))
    back = sent(vault, history)
    assert signatures(back) == ["QUJD"]
    assert ids_of(back) == ["toolu_1", "toolu_2", "toolu_1", "toolu_2"]
    # And so they do in the next turn.
    exchanged(vault, history, answer("REVG", "toolu_3"))
    back = sent(vault, {**history, "messages": [*history["messages"], called("c"), *results("c")]})
    assert signatures(back) == ["QUJD", "REVG"]
    assert ids_of(back) == ["toolu_1", "toolu_2", "toolu_1", "toolu_2", "toolu_3", "toolu_3"]


@pytest.mark.parametrize("second", ["kept", "not kept"])
def test_an_id_that_two_calls_have_is_left_as_it_is(second: str) -> None:
    """Some clients number the calls of each turn: a result must not be given to a call of another one."""
    vault = ul.MemoryVault()
    exchanged(vault, asked(), answer("QUJD", "toolu_1"))
    history = asked(called("call_0"), *results("call_0"))
    if second == "kept":
        exchanged(vault, history, answer("REVG", "toolu_2"))
    back = sent(vault, {**history, "messages": [*history["messages"], called("call_0"), *results("call_0")]})
    first, its, other, results_of_it = ids_of(back)
    assert (first, other) == (its, results_of_it), "each result answers its own call"


@pytest.mark.parametrize("thoughts", [0, 1])
def test_thoughts_that_a_client_puts_first_return_in_their_places(thoughts: int) -> None:
    vault = ul.MemoryVault()
    steps: list[Node] = [
        *[{"type": "thought", "summary": [{"type": "text", "text": "Hm."}], "signature": "QUJD"}] * thoughts,
        {"type": "model_output", "content": [{"type": "text", "text": "Let me look."}]},
        {"type": "thought", "signature": "REVG"},
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {"n": 1}},
        {"type": "function_call", "id": "c2", "name": "f", "arguments": {"n": 2}},
    ]
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    question = {"model": "m", "max_tokens": 9, "tools": [tool], "messages": [{"role": "user", "content": "q"}]}
    options: Node = {"vault": vault, "secret": b"a secret of this test, which is long"}
    there = ul.convert(question, source=MESSAGES, target=INTERACTIONS, facing="provider", **options)
    interaction = {"id": "i", "model": "m", "status": "requires_action", "steps": steps, "object": "interaction"}
    options["exchange"] = there.exchange
    answered = ul.convert(
        interaction, source=INTERACTIONS, target=MESSAGES, kind="response", facing="client", **options
    )
    blocks = answered.value["content"]
    moved = sorted(blocks, key=lambda block: "thinking" not in block["type"])
    assert moved != blocks
    results = [{"type": "tool_result", "tool_use_id": each, "content": "done"} for each in ("c1", "c2")]
    del options["exchange"]
    for sent in (blocks, moved):
        turns = [{"role": "assistant", "content": sent}, {"role": "user", "content": results}]
        request = {**question, "messages": [*question["messages"], *turns]}
        back = ul.convert(request, source=MESSAGES, target=INTERACTIONS, facing="provider", **options)
        found = back.value["input"][1 : 1 + len(steps)]
        assert [(s["type"], s.get("signature")) for s in found] == [(s["type"], s.get("signature")) for s in steps]


def test_what_a_call_carried_finds_it_in_an_earlier_message_or_is_reported() -> None:
    """Mastra makes two messages of two parallel calls where thinking stands between them."""
    parts = [{"functionCall": {"id": each, "name": "f", "args": {}}} for each in ("c1", "c2")]
    parts[0]["thoughtSignature"] = "QUJD"
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    options: Node = {"secret": b"a secret of this test, which is long"}
    answer = {"candidates": [candidate], "responseId": "r"}
    blocks = ul.convert(answer, source=GENERATE, target=MESSAGES, kind="response", **options).value["content"]
    carrier, first, second = blocks
    turns = [
        {"role": role, "content": content}
        for call, thinking in ((first, []), (second, [carrier]))
        for role, content in (
            ("assistant", [*thinking, call]),
            ("user", [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"}]),
        )
    ]
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    request = {"model": "m", "max_tokens": 9, "tools": [tool], "messages": [{"role": "user", "content": "q"}, *turns]}
    back = ul.convert(request, source=MESSAGES, target=GENERATE, **options)
    assert back.value["contents"][1]["parts"][0]["thoughtSignature"] == "QUJD"
    assert not [loss for loss in back.losses if loss.fate == "lost"]
    request["messages"][1]["content"][0] = {**first, "id": "c0"}
    request["messages"][2]["content"][0]["tool_use_id"] = "c0"
    strange = ul.convert(request, source=MESSAGES, target=GENERATE, **options)
    assert "thoughtSignature" not in strange.value["contents"][1]["parts"][0]
    assert [(loss.path, loss.fate) for loss in strange.losses if loss.fate == "lost"] == [
        ("/messages/3/content/0", "lost")
    ]


def on_the_way(client: str, request: Node, home: str, answer: Node, turns: Any) -> list[Node]:
    """A request that goes on after an answer of `home`: sent there, to Responses, and there again.

    `turns` are what the client makes of the answer it gets.
    """
    options: Node = {"vault": ul.MemoryVault(), "secret": b"a secret of this test, which is long"}
    there = ul.convert(request, source=client, target=home, facing="provider", model="m", **options)
    options["exchange"] = there.exchange
    shown = ul.convert(answer, source=home, target=client, kind="response", facing="client", **options).value
    del options["exchange"]
    place = "contents" if client == GENERATE else "messages"
    longer = {**request, place: [*request[place], *turns(shown)]}
    targets = (home, "openai-responses", home)
    return [
        ul.convert(longer, source=client, target=target, facing="provider", model="m", **options).value
        for target in targets
    ]


def test_ids_that_a_client_drops_return_after_another_provider() -> None:
    """pi sends Gemini calls without ids. What the signature was made for are the ids of its provider."""

    def turns(shown: Node) -> list[Node]:
        parts = [part for part in shown["candidates"][0]["content"]["parts"] if part.get("text") != ""]
        names = [part["functionCall"]["name"] for part in parts if part.get("functionCall", {}).pop("id", None)]
        assert len(names) == 2
        done = [{"functionResponse": {"name": name, "response": {"output": "done"}}} for name in names]
        return [{"role": "model", "parts": parts}, {"role": "user", "parts": done}]

    request = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}
    given = answer("QUJD", "toolu_1", "toolu_2")
    given["content"].insert(1, {"type": "text", "text": "Let me look."})
    first, _, last = on_the_way(GENERATE, request, MESSAGES, given, turns)
    assert ids_of(first["messages"]) == ["toolu_1", "toolu_2"] * 2 and signatures(first["messages"]) == ["QUJD"]
    assert last == first


def test_data_that_a_client_drops_in_part_returns_after_another_provider() -> None:
    """pi keeps the thinking of Messages that has a text, and drops the block without one behind it."""

    def turns(shown: Node) -> list[Node]:
        kept = [block for block in shown["content"] if block.get("thinking") != ""]
        assert len(kept) == len(shown["content"]) - 1
        done = [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]
        return [{"role": "assistant", "content": kept}, {"role": "user", "content": done}]

    steps = [
        {"type": "thought", "summary": [{"type": "text", "text": "Hm."}], "signature": "QUJD"},
        {"type": "model_output", "content": [{"type": "text", "text": "Let me look."}]},
        {"type": "thought", "signature": "REVG"},
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {"n": 1}},
    ]
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    request = {"model": "m", "max_tokens": 9, "tools": [tool], "messages": [{"role": "user", "content": "q"}]}
    given = {"id": "i", "model": "m", "status": "requires_action", "steps": steps, "object": "interaction"}
    first, _, last = on_the_way(MESSAGES, request, INTERACTIONS, given, turns)
    assert [step.get("signature") for step in first["input"][1:5]] == ["QUJD", None, "REVG", None]
    assert last == first


def test_a_job_that_is_run_twice_has_the_ids_and_the_signature_of_its_last_run() -> None:
    """The second run gets the same calls under other ids. A client that drops them shows nothing else of either."""
    vault = ul.MemoryVault()
    for data, its in (("QUJD", "toolu_1"), ("REVG", "toolu_2")):
        exchanged(vault, asked(), answer(data, its))
        back = sent(vault, asked(called("a"), *results("a")))
        assert ids_of(back) == [its, its] and signatures(back) == [data]
