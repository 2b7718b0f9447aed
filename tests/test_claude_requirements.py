"""What Claude models take at Messages and at Converse, by their profiles, of requests of other protocols."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES, CONVERSE = "openai-chat", "openai-responses", "anthropic-messages", "amazon-converse"
GENERATE = "google-generate-content"
Node = dict[str, Any]
SCREEN = {"type": "computer_use_preview", "display_width": 1024, "display_height": 768, "environment": "browser"}
FORCED = ["claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-opus-5-5", "claude-sonnet-5-5"]


def sent(target: str, model: str, **body: Any) -> tuple[Node, dict[str, tuple[str, str]]]:
    done = ul.convert({"model": "m", "input": "Hi", **body}, source=RESPONSES, target=target, model=model)
    return done.value, {loss.path: (loss.fate, loss.detail) for loss in done.losses if loss.side == "source"}


def functions(*names: str) -> list[Node]:
    return [{"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}} for name in names]


# ---- forced calls ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FORCED)
def test_no_call_is_forced_of_models_that_refuse_it(model: str) -> None:
    value, told = sent(MESSAGES, model, tools=functions("f", "g"), tool_choice="required", reasoning={"effort": "high"})
    assert value["tool_choice"] == {"type": "auto"}
    assert value["output_config"] == {"effort": "high"}
    assert told["/tool_choice"] == ("lost", "the model refuses a forced call")
    assert "/reasoning/effort" not in told
    value, told = sent(CONVERSE, f"anthropic.{model}", tools=functions("f", "g"), tool_choice="required")
    assert "toolChoice" not in value["toolConfig"]
    assert told["/tool_choice"][0] == "lost"


@pytest.mark.parametrize("model", FORCED)
def test_a_function_that_cannot_be_forced_is_the_only_one(model: str) -> None:
    """Another function, which the client excluded, is not called in its place."""
    value, told = sent(MESSAGES, model, tools=functions("f", "g"), tool_choice={"type": "function", "name": "f"})
    assert [tool["name"] for tool in value["tools"]] == ["f"]
    assert value.get("tool_choice", {"type": "auto"}) == {"type": "auto"}
    assert told["/tool_choice/type"][0] == "lost"


@pytest.mark.parametrize("model", ["claude-fable-5", "claude-opus-5", "claude-haiku-5-5", "claude-opus-4-8", "unknown"])
def test_a_call_is_forced_of_the_others(model: str) -> None:
    value, _ = sent(MESSAGES, model, tools=functions("f"), tool_choice="required")
    assert value["tool_choice"] == {"type": "any"}


@pytest.mark.parametrize("choice", ["none", "auto"])
def test_choices_that_force_nothing_stay(choice: str) -> None:
    value, told = sent(MESSAGES, FORCED[0], tools=functions("f"), tool_choice=choice, parallel_tool_calls=True)
    assert value["tool_choice"]["type"] == choice
    assert "/tool_choice" not in told


# ---- the computer tool ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "version", "beta"),
    [
        ("claude-sonnet-4-5-20250929", "computer_20250124", "computer-use-2025-01-24"),
        ("claude-opus-4-5", "computer_20251124", "computer-use-2025-11-24"),
        ("claude-sonnet-4-6", "computer_20251124", "computer-use-2025-11-24"),
        ("claude-opus-4-8", "computer_20251124", "computer-use-2025-11-24"),
        ("unknown", "computer_20250124", "computer-use-2025-01-24"),
    ],
)
def test_the_computer_tool_has_the_version_of_the_model(model: str, version: str, beta: str) -> None:
    done = ul.convert({"model": "m", "input": "Hi", "tools": [SCREEN]}, source=RESPONSES, target=MESSAGES, model=model)
    size = {"display_width_px": 1024, "display_height_px": 768}
    assert done.value["tools"] == [{"type": version, "name": "computer", **size}]
    assert beta in done.http["headers"]["anthropic-beta"].split(",")


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2"])
def test_a_computer_tool_that_the_model_refuses_is_reported(model: str) -> None:
    value, told = sent(MESSAGES, model, tools=[SCREEN, *functions("f")], tool_choice={"type": "computer_use_preview"})
    assert [tool["name"] for tool in value["tools"]] == ["f"]
    assert value["tool_choice"] == {"type": "none"}
    assert told["/tools/0"] == ("lost", "the model takes no computer tool of this kind")


# ---- compaction -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "value"), [(1000, 50_000), (50_000, 50_000), (200_000, 200_000)])
def test_compaction_begins_where_the_api_lets_it(threshold: int, value: int) -> None:
    edits = [{"type": "compaction", "compact_threshold": threshold}]
    wire, told = sent(MESSAGES, "claude-opus-4-8", context_management=edits)
    trigger = {"type": "input_tokens", "value": value}
    assert wire["context_management"] == {"edits": [{"type": "compact_20260112", "trigger": trigger}]}
    found = told.get("/context_management/0/compact_threshold")
    assert found == (None if threshold == value else ("approximated", "the least is 50000"))
    assert edits == [{"type": "compaction", "compact_threshold": threshold}]


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-5", "claude-3-5-haiku"])
def test_models_that_nothing_is_compacted_for(model: str) -> None:
    wire, told = sent(MESSAGES, model, context_management=[{"type": "compaction", "compact_threshold": 200_000}])
    assert "context_management" not in wire
    assert told["/context_management"] == ("lost", "the model refuses it")


# ---- what is shown of thoughts at Converse --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", ["anthropic.claude-opus-4-7", "us.anthropic.claude-opus-5", "anthropic.claude-opus-5-5"]
)
def test_thoughts_are_shown_at_converse_where_the_client_requests_them(model: str) -> None:
    thinking = {"thinking": {"type": "adaptive", "display": "summarized"}}
    value, told = sent(CONVERSE, model, reasoning={"effort": "high", "summary": "auto"})
    assert value["additionalModelRequestFields"] == thinking
    assert told["/reasoning/summary"] == ("approximated", "sent as display 'summarized'")
    body: Node = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    body["generationConfig"] = {"thinkingConfig": {"includeThoughts": True}}
    assert (
        ul.convert(body, source=GENERATE, target=CONVERSE, model=model).value["additionalModelRequestFields"]
        == thinking
    )
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], **thinking}
    done = ul.convert(body, source=MESSAGES, target=CONVERSE, model=model)
    assert done.value["additionalModelRequestFields"] == thinking
    assert not [loss for loss in done.losses if "display" in loss.path]


def test_what_is_shown_anyway_is_not_sent() -> None:
    """Models before Claude Opus 4.7 show their thoughts, and may refuse the key."""
    value, told = sent(CONVERSE, "anthropic.claude-opus-4-6-v1", reasoning={"effort": "high", "summary": "auto"})
    assert value["additionalModelRequestFields"] == {"thinking": {"type": "adaptive"}}
    assert told["/reasoning/summary"] == ("approximated", "what the model shows anyway")


def test_what_is_shown_at_converse_is_read() -> None:
    body: Node = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    body["additionalModelRequestFields"] = {"thinking": {"type": "adaptive", "display": "omitted"}}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target=MESSAGES, model="claude-opus-4-6")
    assert done.value["thinking"] == {"type": "adaptive", "display": "omitted"}


@pytest.mark.parametrize("reasoning", [{"mode": "pro"}, {"summary": "none"}, {"context": "auto"}])
def test_settings_that_request_no_thinking_do_not_switch_it_on(reasoning: Node) -> None:
    value, _ = sent(CONVERSE, "anthropic.claude-opus-4-7", reasoning=reasoning)
    assert "additionalModelRequestFields" not in value


# ---- usage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "split"),
    [
        ([{"ttl": "5m", "inputTokens": 40}, {"ttl": "1h", "inputTokens": 60}], (40, 60)),
        ([{"ttl": "1h", "inputTokens": 100}], (0, 100)),
    ],
)
def test_the_lifetimes_of_what_was_cached_at_bedrock_are_those_of_messages(
    written: Any, split: tuple[int, int]
) -> None:
    usage = {
        "inputTokens": 3,
        "outputTokens": 4,
        "totalTokens": 107,
        "cacheWriteInputTokens": 100,
        "cacheDetails": written,
    }
    message = {"role": "assistant", "content": [{"text": "x"}]}
    body = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    done = ul.convert(body, source=CONVERSE, target=MESSAGES, kind="response")
    found = done.value["usage"]["cache_creation"]
    assert found == {"ephemeral_5m_input_tokens": split[0], "ephemeral_1h_input_tokens": split[1]}
    assert not [loss for loss in done.losses if "cacheDetails" in loss.path]
