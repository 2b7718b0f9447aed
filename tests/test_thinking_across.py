"""The thinking and the voices that a request sets, at the models of another provider."""

from __future__ import annotations

import pytest

import unified_llm as ul
from across import (
    CHAT,
    CLAUDE,
    CONVERSE,
    GENERATE,
    INTERACTIONS,
    MESSAGES,
    RESPONSES,
    Node,
    interaction,
    messages,
    told,
)

# ---- thinking --------------------------------------------------------------------------------------------------------

THINKERS = {MESSAGES: "claude-sonnet-4-5", CONVERSE: CLAUDE, GENERATE: "gemini-2.5-flash"}


def budget_in(value: Node) -> int | None:
    found = value.get("additionalModelRequestFields") or value
    thinking = found.get("thinking") or (found.get("generationConfig") or {}).get("thinkingConfig") or {}
    budget: int | None = thinking.get("budget_tokens", thinking.get("thinkingBudget"))
    return budget


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
@pytest.mark.parametrize("control", [{"type": "enabled", "budget_tokens": 2_000}, {"type": "adaptive"}])
def test_thinking_that_is_switched_on_is_shown_at_google(control: Node, model: str) -> None:
    """OpenAI's models get no request for summaries: it returns them to verified organizations only."""
    for display, shown in ((None, True), ("summarized", True), ("omitted", False)):
        thinking = control if display is None else {**control, "display": display}
        body = messages(thinking=thinking, max_tokens=8_000)
        gemini = ul.convert(body, source=MESSAGES, target=GENERATE, model=model).value
        assert gemini["generationConfig"]["thinkingConfig"]["includeThoughts"] is shown
        done = ul.convert(body, source=MESSAGES, target=INTERACTIONS, model=model)
        assert done.value["generation_config"]["thinking_summaries"] == ("auto" if shown else "none")
        added = [loss.path for loss in done.losses if loss.path.endswith("_summaries")]
        assert added == ([] if display else ["/generation_config/thinking_summaries"])


@pytest.mark.parametrize("target", THINKERS)
def test_a_budget_that_follows_from_an_effort_leaves_a_fifth_to_the_answer(target: str) -> None:
    body = {"model": "m", "input": "q", "reasoning": {"effort": "high"}}
    for limit, most in ((5_000, 4_000), (1_500, 1_200), (1_025, 820)):
        done = ul.convert({**body, "max_output_tokens": limit}, source=RESPONSES, target=target, model=THINKERS[target])
        if most < 1_024 and target != GENERATE:
            # A budget of Claude's has 1,024 tokens or more.
            assert budget_in(done.value) is None
            assert told(done)["/reasoning/effort"] == ("reasoning.effort", "lost")
        else:
            assert budget_in(done.value) == most
            assert told(done)["/reasoning/effort"] == ("reasoning.effort", "approximated")
    free = ul.convert(body, source=RESPONSES, target=target, model=THINKERS[target])
    assert (budget_in(free.value) or 0) >= 16_384


# ---- voices ----------------------------------------------------------------------------------------------------------


def spoken(source: str, voice: str) -> Node:
    if source == CHAT:
        said = {"modalities": ["text", "audio"], "audio": {"voice": voice, "format": "wav"}}
        return {"model": "m", "messages": [{"role": "user", "content": "q"}], **said}
    if source == GENERATE:
        speech = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}}
        settings = {"responseModalities": ["AUDIO"], "speechConfig": speech}
        return {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": settings}
    return interaction(response_format={"type": "audio"}, generation_config={"speech_config": [{"voice": voice}]})


@pytest.mark.parametrize("target", [CHAT, GENERATE, INTERACTIONS])
@pytest.mark.parametrize("source", [CHAT, GENERATE, INTERACTIONS])
def test_the_name_of_a_voice_is_sent_to_no_other_provider(source: str, target: str) -> None:
    done = ul.convert(spoken(source, "Foreign"), source=source, target=target)
    lost = [loss.path for loss in done.losses if loss.detail == "foreign"]
    if (source == CHAT) is (target == CHAT):
        assert "Foreign" in str(done.value) and not lost
    else:
        assert "Foreign" not in str(done.value)
        assert len(lost) == 1 and lost[0].rpartition("/")[2] in ("voice", "voiceName")
        # Chat requires a voice.
        assert target != CHAT or done.value["audio"]["voice"] == "alloy"


@pytest.mark.parametrize("effort", ["high", "xhigh", "max"])
@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_the_highest_effort_leaves_the_answer_its_part_of_what_the_model_writes(target: str, effort: str) -> None:
    body = {"model": THINKERS[target], "input": "?", "reasoning": {"effort": effort}}
    done = ul.convert(body, source=RESPONSES, target=target)
    budget = budget_in(done.value)
    assert budget is not None and budget <= 0.8 * done.value.get("max_tokens", 64_000)
    assert told(done)["/reasoning/effort"] == ("reasoning.effort", "approximated")
