"""Signatures of Claude are valid at Anthropic and at Bedrock: a conversation keeps its thoughts at both."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from folds import FOLDS
from test_law_mind import ASKED, HISTORY, forget

Node = dict[str, Any]
MESSAGES, CONVERSE, CHAT = "anthropic-messages", "amazon-converse", "openai-chat"
CLAUDE = {MESSAGES: "claude-sonnet-4-5", CONVERSE: "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}
OTHERS = [
    (CONVERSE, "amazon.nova-2-lite-v1:0"),
    (CONVERSE, "meta.llama4-maverick-17b-instruct-v1:0"),
    (CONVERSE, "an-unknown-model"),
    (MESSAGES, "kimi-k2-thinking"),
    (CHAT, "gpt-5"),
    ("openai-responses", "gpt-5"),
    ("google-generate-content", "gemini-2.5-pro"),
]
SIGNED = "c2lnbmF0dXJlLW9mLWNsYXVkZQ=="
# Messages is sent no thought where thinking is off.
THINKING: dict[str, Node] = {
    CHAT: {"reasoning_effort": "low"},
    "openai-responses": {"reasoning": {"effort": "low"}},
    "google-generate-content": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1024}}},
}
BOTH = pytest.mark.parametrize(("source", "target"), [(MESSAGES, CONVERSE), (CONVERSE, MESSAGES)])


def answer(protocol: str) -> Node:
    """An answer of Claude's, with a thought and a call."""
    if protocol == MESSAGES:
        thought = {"type": "thinking", "thinking": "Hm.", "signature": SIGNED}
        call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE[MESSAGES],
                "content": [thought, call], "stop_reason": "tool_use", "usage": usage}  # fmt: skip
    blocks = [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": SIGNED}}},
        {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}},
    ]
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    said = {"role": "assistant", "content": blocks}
    return {"output": {"message": said}, "stopReason": "tool_use", "usage": usage, "metrics": {"latencyMs": 1}}


def loop(protocol: str, budget: bool = True) -> Node:
    """The request behind it, in the midst of a loop of tools."""
    body = HISTORY[protocol](answer(protocol))
    if protocol == MESSAGES:
        result: Node = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
        body |= {
            "model": CLAUDE[MESSAGES],
            "max_tokens": 4000,
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        }
        if budget:
            body["thinking"] = {"type": "enabled", "budget_tokens": 2000}
    else:
        result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}], "status": "success"}}
        spec = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
        body |= {"inferenceConfig": {"maxTokens": 4000}, "toolConfig": {"tools": [spec]}}
        if budget:
            body["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    body["messages"].append({"role": "user", "content": [result]})
    return body


def sent(body: Node, source: str, target: str, model: str, made_by: str = "") -> Any:
    http = {"path": f"model/{made_by or CLAUDE[CONVERSE]}/converse"} if source == CONVERSE else None
    return ul.convert(body, source=source, target=target, model=model, http=http)


def thoughts(wire: Node, protocol: str) -> list[Any]:
    found = [block for message in wire["messages"] if type(message["content"]) is list for block in message["content"]]
    if protocol == MESSAGES:
        return [(each["thinking"], each["signature"]) for each in found if each["type"] == "thinking"]
    texts = [each["reasoningContent"]["reasoningText"] for each in found if "reasoningContent" in each]
    return [(each["text"], each["signature"]) for each in texts]


def budget_of(wire: Node) -> Any:
    return (wire.get("additionalModelRequestFields") or wire)["thinking"]


@BOTH
def test_a_loop_of_tools_goes_on_with_its_thought(source: str, target: str) -> None:
    done = sent(loop(source), source, target, CLAUDE[target])
    assert thoughts(done.value, target) == [("Hm.", SIGNED)]
    assert budget_of(done.value) == {"type": "enabled", "budget_tokens": 2000}
    assert not [loss for loss in done.losses if loss.fate in ("lost", "parked")]


@pytest.mark.parametrize("source", [MESSAGES, CONVERSE])
@pytest.mark.parametrize(("target", "model"), OTHERS)
def test_no_other_model_is_sent_a_signature(source: str, target: str, model: str) -> None:
    if source == target:
        return
    assert SIGNED not in json.dumps(sent(loop(source), source, target, model).value)


@pytest.mark.parametrize("made_by", ["amazon.nova-2-lite-v1:0", "openai.gpt-oss-120b-1:0", "an-unknown-model"])
def test_claude_is_sent_no_signature_of_another_model_of_bedrock(made_by: str) -> None:
    done = sent(loop(CONVERSE, False), CONVERSE, MESSAGES, CLAUDE[MESSAGES], made_by)
    assert SIGNED not in json.dumps(done.value) and "foreign" in [loss.detail for loss in done.losses]
    unnamed = ul.convert(loop(CONVERSE, False), source=CONVERSE, target=MESSAGES, model=CLAUDE[MESSAGES])
    assert SIGNED not in json.dumps(unnamed.value)


@BOTH
def test_encrypted_thoughts_stay_with_their_platform(source: str, target: str) -> None:
    body = loop(source, False)
    sealed = {"type": "redacted_thinking", "data": SIGNED} if source == MESSAGES else {
        "reasoningContent": {"redactedContent": SIGNED}
    }  # fmt: skip
    body["messages"][1]["content"][0] = sealed
    done = sent(body, source, target, CLAUDE[target])
    assert SIGNED not in json.dumps(done.value) and "foreign" in [loss.detail for loss in done.losses]


@BOTH
@pytest.mark.parametrize("signer", [CLAUDE, "gemini-2.5-pro"], ids=["claude", "gemini"])
def test_canonical_items_of_another_platform(source: str, target: str, signer: Any) -> None:
    """As a client holds them (`previous=`): the origin has the model, and the request only that it goes to."""
    model = signer[source] if signer is CLAUDE else signer
    origin = {"protocol": source, "model": model}
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}],
               "opaque": [{"kind": "signature", "data": SIGNED, "origin": origin}]}  # fmt: skip
    call = {"type": "function_call", "call_id": "t1", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "t1", "output": "r"}
    said = {"type": "message", "role": "user", "content": "q"}
    request: Node = {"model": CLAUDE[target], "input": [said, thought, call, result], "reasoning": {"effort": "low"}}
    wire = ul.write(request, target).value
    assert thoughts(wire, target) == ([("Hm.", SIGNED)] if signer is CLAUDE else [])
    del origin["model"]
    assert thoughts(ul.write(request, target).value, target) == []


@pytest.mark.parametrize("named", [False, True])
def test_a_signature_of_bedrock_stays_with_its_model_where_the_request_alone_names_another(named: bool) -> None:
    thought: Node = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    thought["opaque"] = [
        {"kind": "signature", "data": SIGNED, "origin": {"protocol": CONVERSE, "model": CLAUDE[CONVERSE]}}
    ]
    nova = "amazon.nova-2-lite-v1:0"
    request: Node = {"model": nova, "input": [{"type": "message", "role": "user", "content": "q"}, thought]}
    done = ul.write(request, CONVERSE, model=nova if named else None)
    assert SIGNED not in json.dumps(done.value)
    request["model"] = CLAUDE[CONVERSE].replace("us.", "eu.")
    assert thoughts(ul.write(request, CONVERSE).value, CONVERSE) == [("Hm.", SIGNED)]


@BOTH
@pytest.mark.parametrize("way", ["envelope", "stream", "vault"])
@pytest.mark.parametrize("surface", [CHAT, "openai-responses", "google-generate-content"])
def test_over_a_client_of_another_protocol(source: str, target: str, surface: str, way: str) -> None:
    """Claude answers at one platform, and the client's next request goes to it at the other."""
    vault = ul.MemoryVault() if way == "vault" else None
    options: Node = {"secret": "s"} if vault is None else {"vault": vault}
    first = ul.convert(ASKED[surface], source=surface, target=source, model=CLAUDE[source], **options)
    back: Node = {"source": source, "target": surface, "exchange": first.exchange, **options}
    if way == "stream":
        events = list(ul.convert_stream(stream_of(source), **back))
        shown = FOLDS[surface](events)
    else:
        shown = ul.convert(answer(source), kind="response", **back).value
    held = HISTORY[surface](shown) | THINKING[surface]
    if vault is not None:
        held = forget(held)
    done = ul.convert(held, source=surface, target=target, model=CLAUDE[target], **options)
    assert thoughts(done.value, target) == [("Hm.", SIGNED)]
    other = ul.convert(held, source=surface, target=CONVERSE, model="amazon.nova-2-lite-v1:0", **options)
    assert SIGNED not in json.dumps(other.value)


def stream_of(protocol: str) -> list[Any]:
    """The wire events of a complete answer."""
    if protocol == MESSAGES:
        start = {**answer(MESSAGES), "content": [], "stop_reason": None}
        thought, call = answer(MESSAGES)["content"]
        ended = {"stop_reason": "tool_use", "stop_sequence": None}
        data: list[Node] = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {**thought, "thinking": "", "signature": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": SIGNED}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": call},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
            {"type": "content_block_stop", "index": 1},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]  # fmt: skip
        return [{"event": each["type"], "data": each} for each in data]
    named: list[tuple[str, Node]] = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm."}}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": SIGNED}}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", {"usage": answer(CONVERSE)["usage"], "metrics": {"latencyMs": 1}}),
    ]
    return [{"event": name, "data": data} for name, data in named]


@pytest.mark.parametrize("surface", [CHAT, "google-generate-content"])
def test_an_answer_that_travels_whole(surface: str) -> None:
    """What no client of the surface is shown stands between the thoughts: the answer is put back, with both of them."""
    said = answer(MESSAGES)
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    hit = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "aGl0cw=="}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [hit]}
    again = {"type": "thinking", "thinking": "So.", "signature": SIGNED[::-1]}
    said |= {
        "content": [said["content"][0], use, found, again, {"type": "text", "text": "A"}],
        "stop_reason": "end_turn",
    }
    first = ul.convert(ASKED[surface], source=surface, target=MESSAGES, model=CLAUDE[MESSAGES], secret="s")
    shown = ul.convert(
        said, source=MESSAGES, target=surface, kind="response", exchange=first.exchange, secret="s"
    ).value
    held = HISTORY[surface](shown)
    done = ul.convert(held, source=surface, target=CONVERSE, model=CLAUDE[CONVERSE], secret="s")
    assert thoughts(done.value, CONVERSE) == [("Hm.", SIGNED), ("So.", SIGNED[::-1])]
    assert "aGl0cw" not in json.dumps(done.value)
    other = ul.convert(held, source=surface, target=CONVERSE, model="amazon.nova-2-lite-v1:0", secret="s").value
    assert thoughts(other, CONVERSE) == []


@BOTH
def test_our_client_from_one_platform_to_the_other(source: str, target: str) -> None:
    """A client that goes on with its answer (`previous=`) at the other platform."""
    seen: list[Node] = []

    def serve(request: httpx2.Request) -> httpx2.Response:
        seen.append(json.loads(request.content))
        return httpx2.Response(200, json=answer(CONVERSE if "/model/" in request.url.path else MESSAGES))

    http = httpx2.Client(transport=httpx2.MockTransport(serve))
    given: Node = {"base_url": "https://a.example", "http_client": http}
    client: Any = ul.Client(api_key="k")
    settings: Node = {"reasoning": {"effort": "low"}, "max_output_tokens": 4000}
    settings["tools"] = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
    one, other = (ul.Upstream(protocol=each, model=CLAUDE[each], **given) for each in (source, target))
    before = client.responses.create(input="q", upstream=one, **settings)
    result = {"type": "function_call_output", "call_id": "t1", "output": "r"}
    client.responses.create(input=[result], previous=before, upstream=other, **settings)
    assert thoughts(seen[1], target) == [("Hm.", SIGNED)]
    assert budget_of(seen[1])["type"] == "enabled"
