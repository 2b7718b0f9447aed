"""What Gemini models take, by their profiles, of requests of other protocols."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

CHAT, GENERATE = "openai-chat", "google-generate-content"
REFUSING = ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.1-flash-lite"]
OTHERS = ["gemini-2.0-flash", "unknown"]
PENALTIES = {"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty"}


def sent(model: str, target: str = GENERATE, **settings: Any) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, **settings}
    done = ul.convert(body, source=CHAT, target=target, model=model)
    return done.value, [(loss.path, loss.fate, loss.detail) for loss in done.losses]


@pytest.mark.parametrize("key", PENALTIES)
@pytest.mark.parametrize("model", REFUSING)
def test_penalties_are_not_sent_to_models_that_refuse_them(model: str, key: str) -> None:
    value, told = sent(model, **{key: 0.4})
    assert value["generationConfig"] == {"maxOutputTokens": 9}
    assert (f"/{key}", "lost", "the model refuses it") in told


@pytest.mark.parametrize("key", PENALTIES)
@pytest.mark.parametrize("model", REFUSING)
def test_no_penalty_is_taken(model: str, key: str) -> None:
    value, told = sent(model, **{key: 0})
    assert value["generationConfig"] == {"maxOutputTokens": 9, PENALTIES[key]: 0}
    assert told == []


@pytest.mark.parametrize("key", PENALTIES)
@pytest.mark.parametrize("model", OTHERS)
def test_other_models_take_penalties(model: str, key: str) -> None:
    value, told = sent(model, **{key: 0.4})
    assert value["generationConfig"][PENALTIES[key]] == 0.4
    assert told == []


@pytest.mark.parametrize("model", REFUSING)
def test_penalties_behind_an_interface_of_chat(model: str) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"presencePenalty": 0.4}}
    done = ul.convert(body, source=GENERATE, target=f"{CHAT}:google", model=model)
    assert "presence_penalty" not in done.value
    found = [loss.fate for loss in done.losses if loss.path == "/generationConfig/presencePenalty"]
    assert found == ["lost"]
    assert ul.convert(body, source=GENERATE, target=GENERATE, model=model).value == body
