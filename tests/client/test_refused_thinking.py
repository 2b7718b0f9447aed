"""Claude refuses thoughts before which the conversation changed: a client of another protocol is answered all the same.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
"""

from __future__ import annotations

from typing import Any

import httpx2
import openai
import pytest

import unified_llm as ul
from client.providers import Canned

Node = dict[str, Any]
MESSAGES = "anthropic-messages"
BETA = "thinking-binding-controls-2026-08-01"
REFUSAL = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def answer(text: str) -> Node:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
    end = {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {**head, "content": [THOUGHT, {"type": "text", "text": text}], **end}


def refusal(message: str = REFUSAL) -> httpx2.Response:
    error = {"type": "invalid_request_error", "message": message}
    return httpx2.Response(400, json={"type": "error", "error": error})


def talk(canned: Canned, **settings: Any) -> tuple[Any, list[ul.Losses]]:
    """A second turn by the openai SDK, whose first message is another one by now."""
    losses: list[ul.Losses] = []
    http = ul.http_client(canned.upstream, on_losses=lambda report, *_: losses.append(report))
    client = openai.OpenAI(api_key="unused", http_client=http, max_retries=0)
    given: Node = {"model": "claude-opus-5-5", **settings}
    first = client.chat.completions.create(messages=[{"role": "user", "content": "Hi"}], **given)
    said = first.choices[0].message.model_dump(exclude_none=True)
    history: list[Any] = [{"role": "user", "content": "Hi!"}, said, {"role": "user", "content": "And now?"}]
    return client.chat.completions.create(messages=history, **given), losses


def thoughts(body: Node) -> int:
    content = [block for message in body["messages"] for block in message["content"] if type(block) is dict]
    return sum(block["type"] == "thinking" for block in content)


def test_thinking_that_is_requested_is_dropped_by_the_server() -> None:
    canned = Canned(MESSAGES, answer("Hello."), refusal(), answer("Now."), model="claude-opus-5-5")
    done, losses = talk(canned, reasoning_effort="high")
    assert done.choices[0].message.content == "Now."
    _, refused, sent = canned.bodies
    assert thoughts(refused) == thoughts(sent) == 1 and "thinking" not in refused
    assert sent["thinking"] == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert BETA in canned.requests[-1].headers["anthropic-beta"].split(",")
    assert [(loss.fate, loss.side) for loss in losses[-1] if loss.path == "/thinking/block_binding"] == [
        ("added", "target")
    ]


def test_without_settings_of_thinking_the_thoughts_are_left_out() -> None:
    canned = Canned(MESSAGES, answer("Hello."), refusal(), answer("Now."), model="claude-opus-5-5")
    done, losses = talk(canned)
    assert done.choices[0].message.content == "Now."
    assert canned.bodies[1].keys().isdisjoint(("thinking", "output_config"))
    assert [thoughts(body) for body in canned.bodies[1:]] == [1, 0]
    assert any(loss.fate == "lost" and "refused thoughts" in loss.detail for loss in losses[-1])


@pytest.mark.parametrize("message", ["max_tokens: too large", "messages.1.content.0: Invalid `signature`"])
def test_another_refusal_is_one(message: str) -> None:
    canned = Canned(MESSAGES, answer("Hello."), refusal(message), answer("Now."), model="claude-opus-5-5")
    with pytest.raises(openai.BadRequestError, match=message.partition(" ")[0]):
        talk(canned, reasoning_effort="high")


def test_a_second_refusal_is_one() -> None:
    canned = Canned(MESSAGES, answer("Hello."), refusal(), refusal(), model="claude-opus-5-5")
    with pytest.raises(openai.BadRequestError, match="different conversation"):
        talk(canned, reasoning_effort="high")
    assert len(canned.requests) == 3


def test_the_caller_of_its_own_protocol_decides() -> None:
    canned = Canned(MESSAGES, refusal(), answer("Now."), model="claude-opus-5-5")
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 9,
        "thinking": {"type": "adaptive"},
        "messages": [
            {"role": "user", "content": "Hi!"},
            {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Hello."}]},
            {"role": "user", "content": "And now?"},
        ],
    }
    with httpx2.Client(transport=ul.http_client(canned.upstream)._transport, base_url="http://surface") as http:
        answered = http.post("/v1/messages", json=body, headers={"anthropic-version": "2023-06-01"})
    assert answered.status_code == 400 and REFUSAL in answered.json()["error"]["message"]
    assert len(canned.requests) == 1


def test_bedrock_gets_none_of_them() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    end = {"stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {}}

    def said(text: str) -> Node:
        return {"output": {"message": {"role": "assistant", "content": [thought, {"text": text}]}}, **end}

    wrapped = f"The model returned the following errors: {REFUSAL}"
    headers = {"x-amzn-errortype": "ValidationException"}
    refused = httpx2.Response(400, json={"message": wrapped}, headers=headers)
    model = "anthropic.claude-opus-5-5"
    canned = Canned("amazon-converse", said("Hello."), refused, said("Now."), model=model)
    done, losses = talk(canned, reasoning_effort="high")
    assert done.choices[0].message.content == "Now."
    first, second = ([block for each in body["messages"] for block in each["content"]] for body in canned.bodies[1:])
    assert thought in first and second == [block for block in first if block != thought]
    assert any(loss.fate == "lost" and "refused thoughts" in loss.detail for loss in losses[-1])


def test_a_caller_of_the_client_is_answered_too() -> None:
    canned = Canned(MESSAGES, answer("Hello."), refusal(), answer("Now."), model="claude-opus-5-5")
    client = ul.Client(canned.upstream)
    first = client.responses.create(input="Hi", reasoning={"effort": "high"})
    history: list[Any] = [{"role": "user", "content": "Hi!"}, *first.output, {"role": "user", "content": "And now?"}]
    done = client.responses.create(input=history, reasoning={"effort": "high"})
    assert done.output_text == "Now."
    assert "block_binding" in canned.bodies[-1]["thinking"] and thoughts(canned.bodies[-1]) == 1
    assert any(loss.path == "/thinking/block_binding" and loss.fate == "added" for loss in done.losses)
