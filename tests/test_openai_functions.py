"""Functions beside thinking, which the models of OpenAI from GPT-5.4 on refuse in Chat, and take in Responses."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES, GENERATE = "openai-chat", "openai-responses", "anthropic-messages", "google-generate-content"
Node = dict[str, Any]
TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
THINKING: Node = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
SILENT = ["gpt-5.4", "gpt-5.4-mini", "gpt-5.5", "gpt-5.5-2026-04-23"]
OFF = ["gpt-5.6", "gpt-5.6-terra", "openai/gpt-5.6-sol"]


def sent(target: str, model: str, **body: Any) -> tuple[Node, dict[str, tuple[str, str]]]:
    request = {"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "Hi"}], **body}
    done = ul.convert(request, source=MESSAGES, target=target, model=model)
    return done.value, {loss.path: (loss.fate, loss.detail) for loss in done.losses}


@pytest.mark.parametrize("dialect", ["", ":openai", ":azure"])
@pytest.mark.parametrize("model", SILENT)
def test_an_effort_is_not_sent_beside_functions(model: str, dialect: str) -> None:
    value, told = sent(CHAT + dialect, model, tools=[TOOL], **THINKING)
    assert "reasoning_effort" not in value
    assert told["/output_config/effort"] == ("lost", "the model refuses it beside functions")
    value, told = sent(CHAT + dialect, model, tools=[TOOL])
    assert "reasoning_effort" not in value


@pytest.mark.parametrize("dialect", ["", ":openai", ":azure"])
@pytest.mark.parametrize("model", OFF)
@pytest.mark.parametrize("settings", [{}, THINKING, {"thinking": {"type": "enabled", "budget_tokens": 2000}}])
def test_models_that_think_by_themselves_do_not_beside_functions(model: str, dialect: str, settings: Node) -> None:
    value, told = sent(CHAT + dialect, model, tools=[TOOL], temperature=1, **settings)
    assert value["reasoning_effort"] == "none"
    assert told["/reasoning_effort"] == ("added", "the model takes functions only where it does not think")
    for key, inner in settings.items():
        for name in inner:
            assert told[f"/{key}/{name}"][0] == "lost"
    value, _ = sent(CHAT + dialect, model, tools=[TOOL], temperature=0.5)
    assert value["temperature"] == 0.5  # which the model takes where it does not think


@pytest.mark.parametrize("model", [*SILENT, *OFF])
def test_thinking_that_is_off_stays_off(model: str) -> None:
    value, told = sent(CHAT, model, tools=[TOOL], thinking={"type": "disabled"})
    assert value["reasoning_effort"] == "none"
    assert "/reasoning_effort" not in told


@pytest.mark.parametrize("model", [*SILENT, *OFF])
def test_the_effort_is_sent_where_it_is_taken(model: str) -> None:
    """Without functions, in Responses, and to a router, which has a setting of its own."""
    assert sent(CHAT, model, **THINKING)[0]["reasoning_effort"] == "high"
    assert sent(RESPONSES, model, tools=[TOOL], **THINKING)[0]["reasoning"] == {"effort": "high"}
    assert sent(f"{CHAT}:openrouter", model, tools=[TOOL], **THINKING)[0]["reasoning"]["effort"] == "high"


@pytest.mark.parametrize("model", ["gpt-5", "o4-mini", "unknown"])
def test_other_models_take_both(model: str) -> None:
    assert sent(CHAT, model, tools=[TOOL], **THINKING)[0]["reasoning_effort"] == "high"


@pytest.mark.parametrize("model", OFF)
def test_a_request_of_chat_stays_as_it_is(model: str) -> None:
    function = {"type": "function", "function": {"name": "f"}}
    body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], "tools": [function]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body


def test_budgets_are_reported_at_their_place() -> None:
    config = {"thinkingConfig": {"thinkingBudget": 2000}}
    body: Node = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}
    body["tools"] = [{"functionDeclarations": [{"name": "f"}]}]
    done = ul.convert(body, source=GENERATE, target=CHAT, model="gpt-5.4")
    assert "reasoning_effort" not in done.value
    found = [loss.fate for loss in done.losses if loss.path == "/generationConfig/thinkingConfig/thinkingBudget"]
    assert found == ["lost"]
