"""How much a loss matters, the report by what matters, and levels that go by it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.losses import Loss, Losses, check_levels, level_of, levels_from
from unified_llm.losses.severity import _weights, weight_of

REPEATED = "repeats a setting of the request"
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
SEED = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "Hi"}]}
AUDIO = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, SOUND]}]}


@pytest.mark.parametrize(
    ("loss", "severity"),
    [
        (Loss("/input/0/content/1", "image.input", "lost"), "high"),
        (Loss("/input/3/opaque", "reasoning.signature", "lost"), "high"),
        (Loss("/previous_response_id", "state.previous_response", "lost"), "high"),
        (Loss("/tools/0", "tools.hosted.web_search", "lost"), "high"),
        (Loss("/tools/0/user_location", "tools.hosted.web_search", "lost"), "medium"),
        (Loss("/tools/0/googleSearch", "tools.hosted.web_search", "lost"), "high"),
        (Loss("/tools/0/googleSearch/excludeDomains", "tools.hosted.web_search", "lost"), "medium"),
        (Loss("/9/data/content_block", "tools.hosted.web_search", "lost"), "high"),
        (Loss("/candidates/0/content/parts/5", "image.output", "lost"), "high"),
        (Loss("/generationConfig/imageConfig/aspectRatio", "image.output", "lost"), "medium"),
        (Loss("/tools/0/strict", "tools.strict", "lost"), "medium"),
        (Loss("/messages/0/content/1/title", "file.input", "lost"), "medium"),
        (Loss("/messages/0/content/1/context", "file.input", "lost"), "high"),
        (Loss("/contents/0/parts/1/inlineData/displayName", "file.input", "lost"), "medium"),
        (Loss("/tools/0/input_examples", "tools.function", "lost"), "medium"),
        (Loss("/tools/0/functionDeclarations/0/response_json_schema", "tools.function", "lost"), "medium"),
        (Loss("/contents/1/parts/0/functionResponse/response", "tools.function", "lost"), "high"),
        (Loss("/tools/0/output_schema", "tools.function", "lost"), "medium"),
        (Loss("/output_config/task_budget", "reasoning.budget", "lost"), "medium"),
        (Loss("/cachedContent", "cache.key", "lost"), "high"),
        (Loss("/cached_content", "cache.key", "lost"), "high"),
        (Loss("/prompt_cache_key", "cache.key", "lost"), "medium"),
        (Loss("/agent", "agent.config", "lost"), "high"),
        (Loss("/inference_geo", "service.tier", "lost"), "medium"),
        (Loss("/usage/inference_geo", "service.tier", "lost"), "low"),
        (Loss("/seed", "sampling.seed", "lost"), "medium"),
        (Loss("/acme", "native.field", "lost"), "medium"),
        (Loss("/6/data/item", "tools.hosted.web_search", "lost"), "high"),
        (Loss("/6/data/item/action", "tools.hosted.web_search", "lost"), "medium"),
        (Loss("/3/data/content_block", "native.item", "lost"), "high"),
        (Loss("/input/0", "context.compaction", "lost"), "high"),
        (Loss("/4/data/item", "context.compaction", "lost"), "high"),
        (Loss("/context_management", "context.compaction", "lost"), "medium"),
        (Loss("/context_management/edits/0", "context.compaction", "lost"), "medium"),
        (Loss("/input/0/content/1/filename", "file.input", "lost"), "medium"),
        (Loss("/messages/0/content/1", "native.item", "lost"), "high"),
        (Loss("/tools/0", "native.item", "lost"), "high"),
        (Loss("/messages/0/content/1/form", "native.item", "lost"), "medium"),
        (Loss("/text/format/name", "output.structured", "lost"), "low"),
        (Loss("/output/0/id", "item.id", "lost"), "low"),
        (Loss("/usage/cost", "usage.detail", "lost"), "low"),
        (Loss("/reasoning/effort", "reasoning.effort", "approximated"), "low"),
        (Loss("/input/3/opaque", "reasoning.signature", "parked"), "low"),
        (Loss("/store", "state.store", "added", "", "target"), "low"),
        (Loss("/reasoning", "reasoning.effort", "lost", "b has no such setting"), "high"),
        (Loss("/reasoning", "reasoning.effort", "lost", f"{REPEATED}; b responses have no field for it"), "low"),
    ],
)  # fmt: skip
def test_severity(loss: Loss, severity: str) -> None:
    assert loss.severity == severity


def test_severity_is_the_weight_in_words() -> None:
    least = _weights()["severity"]
    for capability in ("image.input", "sampling.seed", "item.id"):
        loss = Loss("/a", capability, "lost")
        words = [word for word in ("high", "medium") if weight_of(loss) >= least[word]]
        assert loss.severity == (words[0] if words else "low")


def test_a_report_leads_with_what_matters() -> None:
    losses = ul.preview(AUDIO, source="openai-chat", target="anthropic-messages")
    assert [loss.severity for loss in losses.significant] == ["high", "medium"]
    assert losses.significant[0].capability == "audio.input"
    assert losses.summary.startswith(f"{len(losses)} losses: 1 high, 1 medium, ")
    assert "audio.input lost at /messages/0/content/1, sampling.seed lost at /seed" in losses.summary
    assert {row["path"]: row["severity"] for row in losses.to_json()}["/seed"] == "medium"
    assert "\n" not in losses.summary and json.dumps(losses.to_json())


def test_an_answer_that_repeats_its_settings_has_nothing_significant() -> None:
    answer = {
        "id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "temperature": 0.5,
        "reasoning": {"effort": "high"}, "instructions": "Be short.", "tool_choice": {"type": "image_generation"},
        "tools": [{"type": "image_generation"}, {"type": "shell"}], "store": True, "background": True,
        "truncation": "auto", "prompt_cache_key": "k", "parallel_tool_calls": False, "max_tool_calls": 3,
        "previous_response_id": "resp_0",
        "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}],
    }  # fmt: skip
    for target in (
        "openai-chat",
        "anthropic-messages",
        "google-generate-content",
        "google-interactions",
        "amazon-converse",
    ):
        losses = ul.convert(answer, source="openai-responses", target=target, kind="response").losses
        assert any(loss.fate == "lost" for loss in losses)
        assert list(losses.significant) == []
    steps = {
        "id": "i", "object": "interaction", "status": "completed", "model": "m", "previous_interaction_id": "v1_0",
        "background": True, "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}],
    }  # fmt: skip
    for target in ("openai-chat", "anthropic-messages", "google-generate-content"):
        losses = ul.convert(steps, source="google-interactions", target=target, kind="response").losses
        assert {"/previous_interaction_id", "/background"} <= {loss.path for loss in losses}
        assert list(losses.significant) == []


@pytest.mark.parametrize("body", [SEED, AUDIO])
def test_levels_go_by_severity(body: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    levels = {"*@high": "raise", "*@medium": "warn"}
    with caplog.at_level(logging.WARNING, logger="unified_llm"):
        if body is AUDIO:
            with pytest.raises(ul.CapabilityLost) as caught:
                ul.convert(body, source="openai-chat", target="anthropic-messages", on_loss=levels)  # type: ignore[arg-type]
            assert [loss.severity for loss in caught.value.losses] == ["high"]
            assert "audio.input, lost: " in str(caught.value) and str(caught.value).endswith("on_loss or the target")
        else:
            ul.convert(body, source="openai-chat", target="anthropic-messages", on_loss=levels)  # type: ignore[arg-type]
    assert [record.getMessage() for record in caplog.records] == ["1 loss: 1 medium; sampling.seed lost at /seed"]


def test_levels_by_severity_on_a_command_line() -> None:
    levels = levels_from("sampling.*=ignore, *@medium=warn, *@high=raise")
    assert level_of(Loss("/seed", "sampling.seed", "lost"), levels) == "ignore"
    assert level_of(Loss("/stop", "output.stop", "lost"), levels) == "warn"
    assert level_of(Loss("/input/0", "image.input", "lost"), levels) == "raise"
    assert level_of(Loss("/input/0", "image.input", "approximated"), levels) == "ignore"


@pytest.mark.parametrize(("pattern", "meant"), [("high", "*@high"), ("lost", "*@lost"), ("*@hihg", "hihg")])
def test_a_misspelled_pattern_is_an_error(pattern: str, meant: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_levels({pattern: "raise"})
    assert meant in str(caught.value)


def test_the_report_of_nothing() -> None:
    assert (Losses().summary, Losses().table(), list(Losses().significant)) == ("no losses", "No losses.", [])
