"""Cache breakpoints of Messages at the two OpenAI protocols, which only newer models of OpenAI take."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

MESSAGES, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
Node = dict[str, Any]


def asked() -> Node:
    part = {"type": "text", "text": "q", "cache_control": {"type": "ephemeral"}}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [part]}]}


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gpt-5.6", True),
        ("gpt-5.6-sol", True),
        ("own-model", True),
        ("gpt-5.5", False),
        ("gpt-4.1", False),
        ("o3", False),
    ],
)
def test_a_breakpoint_goes_to_models_that_take_it(target: str, model: str, takes: bool) -> None:
    """OpenAI has them from GPT-5.6 on; a server of another kind gets what its client set."""
    done = ul.convert(asked(), source=MESSAGES, target=target, model=model)
    part = (done.value.get("messages") or done.value.get("input"))[0]["content"]
    sent = [each for each in part if "prompt_cache_breakpoint" in each] if type(part) is list else []
    assert bool(sent) is takes
    told = {loss.path: (loss.fate, loss.detail) for loss in done.losses}
    lost = ("lost", "the model takes no cache breakpoints")
    assert (told.get("/messages/0/content/0/cache_control") == lost) is not takes


def test_a_request_of_openai_is_not_changed() -> None:
    part = {"type": "text", "text": "q", "prompt_cache_breakpoint": {"mode": "explicit"}}
    body = {"model": "gpt-5.5", "messages": [{"role": "user", "content": [part]}]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
