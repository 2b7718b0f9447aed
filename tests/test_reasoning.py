"""How much to think, from every protocol's control to every other's, by the data of the target's model.

A row is a control as its source's wire has it; a column is a target and a model of one class (tests/thinking.py).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import _reasoning
import unified_llm as ul
from thinking import (
    ASKED,
    CHAT,
    CONTENTS,
    CONTROLS,
    GENERATE,
    INTERACTIONS,
    MESSAGES,
    RESPONSES,
    TABLE,
    Node,
    controls_of,
)
from unified_llm.models.effort import EFFORTS, budget_of, effort_of, nearest
from unified_llm.models.profiles import DATA, profile

ROWS = [(*column, control) for column, rows in TABLE.items() for control in rows]
_ABOUT = ("reasoning", "thinking", "output_config/effort", "Thinking")


def about_thinking(done: ul.Converted) -> list[ul.Loss]:
    return [loss for loss in done.losses if any(word in loss.path for word in _ABOUT) and loss.fate != "added"]


@pytest.mark.parametrize(("target", "model", "control"), ROWS)
def test_a_control_is_written_as_the_model_takes_it(target: str, model: str, control: str) -> None:
    source, body = CONTROLS[control]
    given = body if source == GENERATE else {"model": "ours", **body}
    done = ul.convert(given, source=source, target=target, model=model)
    expected, mark = TABLE[target, model][control]
    assert controls_of(target, done.value) == expected
    fates = {loss.fate for loss in about_thinking(done)}
    if mark == "!":
        assert "lost" in fates
    elif mark == "~":
        assert fates == {"approximated"}
    else:
        assert fates <= {"approximated"}
        assert not [loss for loss in about_thinking(done) if "effort" in loss.path or "evel" in loss.path]


@pytest.mark.parametrize(
    ("target", "control"),
    [
        (target, control)
        for target in (CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE)
        for control in CONTROLS
        if CONTROLS[control][0] != target
    ],
)
def test_every_control_is_carried_or_told_for_every_known_model(target: str, control: str) -> None:
    source, body = CONTROLS[control]
    models = [name for family in json.loads(DATA.read_bytes())["families"] for name in family["models"]]
    silent, illegal = [], []
    for model in models:
        done = ul.convert({"model": "ours", **body}, source=source, target=target, model=model)
        wire = controls_of(target, done.value)
        facts = profile(model, target).reasoning
        if not wire and not about_thinking(done):
            silent.append(model)
        word = wire.get("reasoning_effort") or wire.get("effort") or wire.get("thinking_level")
        word = word or (wire.get("output_config") or {}).get("effort") or (wire.get("thinkingLevel") or "").lower()
        form = (wire.get("thinking") or {}).get("type")
        if word and (not facts.thinks or word not in facts.efforts):
            illegal.append((model, word))
        allowed = {
            "enabled": facts.budget is not None,
            "adaptive": facts.adaptive,
            "disabled": facts.off,
            "between_tools": facts.between_tools,
        }
        if form and not allowed[form]:
            illegal.append((model, form))
    assert not silent and not illegal


def test_the_same_protocol_is_left_as_it_is() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [ASKED], "thinking": {"type": "enabled", "budget_tokens": 4}}
    assert ul.convert(body, source=MESSAGES, target=MESSAGES, model="claude-opus-5-5").value["thinking"] == {
        "type": "enabled",
        "budget_tokens": 4,
    }


# ---- the rules around it --------------------------------------------------------------------------------------------


def to_messages(model: str, **settings: Any) -> ul.Converted:
    body = {"model": "m", "messages": [ASKED], **settings}
    return ul.convert(body, source=CHAT, target=MESSAGES, model=model)


@pytest.mark.parametrize(
    ("limit", "budget", "fate"), [(16384, 13108, "approximated"), (32000, 16384, "approximated"), (1024, None, "lost")]
)
def test_trap_039_a_budget_drawn_from_effort_stays_below_the_limit(limit: int, budget: int | None, fate: str) -> None:
    done = to_messages("claude-haiku-4-5", reasoning_effort="high", max_tokens=limit)
    assert done.value["max_tokens"] == limit
    assert (done.value.get("thinking") or {}).get("budget_tokens") == budget
    assert [loss.fate for loss in done.losses if loss.path == "/reasoning_effort"] == [fate]


def test_trap_039_a_budget_that_is_named_raises_the_limit_up_to_what_the_model_answers() -> None:
    said = {"thinkingConfig": {"thinkingBudget": 60000}, "maxOutputTokens": 20000}
    body = {**CONTENTS, "generationConfig": said}
    done = ul.convert(body, source=GENERATE, target=MESSAGES, model="claude-haiku-4-5")
    assert done.value["thinking"]["budget_tokens"] == 60000
    assert done.value["max_tokens"] == 64000
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/generationConfig/maxOutputTokens"] == "approximated"


def test_trap_040_a_forced_tool_leaves_the_effort() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    done = to_messages("claude-opus-4-8", reasoning_effort="high", tool_choice="required", temperature=0, tools=[tool])
    assert "thinking" not in done.value and done.value["output_config"] == {"effort": "high"}
    assert "temperature" not in done.value
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/reasoning_effort"] == "approximated" and fates["/temperature"] == "lost"


def test_trap_041_two_rows_of_the_table_and_what_they_refuse() -> None:
    body = {"model": "m", "input": "q", "reasoning": {"effort": "high"}, "temperature": 0.2}
    newer = ul.convert(body, source=RESPONSES, target=MESSAGES, model="claude-opus-4-7")
    older = ul.convert(body, source=RESPONSES, target=MESSAGES, model="claude-sonnet-4-5-20250929")
    assert newer.value["thinking"] == {"type": "adaptive"} and newer.value["output_config"] == {"effort": "high"}
    assert older.value["thinking"] == {"type": "enabled", "budget_tokens": 16384}
    assert "output_config" not in older.value
    for done in (newer, older):
        assert "temperature" not in done.value
        assert [loss.fate for loss in done.losses if loss.path == "/temperature"] == ["lost"]


def test_trap_041_a_budget_of_nothing_is_not_adaptive() -> None:
    source, body = CONTROLS["budget 0"]
    for model in ("claude-opus-4-8", "claude-haiku-4-5"):
        done = ul.convert(body, source=source, target=MESSAGES, model=model)
        assert done.value["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    ("model", "settings", "kept", "lost"),
    [
        ("gpt-5", {"temperature": 0.3, "top_p": 0.5}, set(), {"/temperature", "/top_p"}),
        ("gpt-5", {"temperature": 1}, {"temperature"}, set()),
        ("gpt-4o", {"temperature": 0.3}, {"temperature"}, set()),
        ("gpt-5.1", {"temperature": 0.3}, {"temperature"}, set()),  # thinks only on request
        ("gpt-5.1", {"temperature": 0.3, "output_config": {"effort": "low"}}, set(), {"/temperature"}),
        ("gpt-5.5", {"temperature": 0.3}, set(), {"/temperature"}),
        ("gpt-5.5", {"temperature": 0.3, "thinking": {"type": "disabled"}}, {"temperature"}, set()),
        ("some-model", {"temperature": 0.3, "top_p": 0.5}, {"temperature", "top_p"}, set()),
    ],
)
@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_trap_133_what_a_thinking_model_refuses(
    target: str, model: str, settings: Node, kept: set[str], lost: set[str]
) -> None:
    body = {"model": "m", "max_tokens": 99, "messages": [ASKED], **settings}
    done = ul.convert(body, source=MESSAGES, target=target, model=model)
    assert {key for key in ("temperature", "top_p") if key in done.value} == kept
    assert {loss.path for loss in done.losses if loss.path in ("/temperature", "/top_p")} == lost
    assert all(loss.fate == "lost" for loss in done.losses if loss.path in lost)


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("o4-mini-2025-04-16", "low", False),
        ("gpt-5", "low", False),
        ("gpt-5.1", "none", False),  # thinking or not
        ("gpt-5.5", "low", True),
        ("o3-mini", "low", True),
        ("some-model", "low", True),
    ],
)
def test_trap_133_stop_sequences_are_not_sent_to_a_model_without_them(model: str, effort: str, sent: bool) -> None:
    config = {"stopSequences": ["END"], "thinkingConfig": {"thinkingBudget": 0 if effort == "none" else 1024}}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": config}
    done = ul.convert(body, source=GENERATE, target=CHAT, model=model)
    lost = [loss for loss in done.losses if loss.path.startswith("/generationConfig/stopSequences")]
    assert done.value.get("stop") == (["END"] if sent else None)
    assert [(loss.capability, loss.fate, loss.detail) for loss in lost] == (
        [] if sent else [("output.stop", "lost", "the model refuses it")]
    )
    other = ul.convert(body, source=GENERATE, target=RESPONSES, model=model)
    assert [loss.detail for loss in other.losses if loss.capability == "output.stop"] == [
        "openai-responses has no such stop sequence"
    ]


@pytest.mark.parametrize(
    ("model", "limit", "sent"),
    [("claude-haiku-4-5", None, 16384), ("claude-3-haiku", None, 4096), ("claude-haiku-4-5", 70000, 64000)],
)
def test_trap_132_the_limit_of_the_answer_is_one_the_model_takes(model: str, limit: int | None, sent: int) -> None:
    done = to_messages(model, **({} if limit is None else {"max_completion_tokens": limit}))
    assert done.value["max_tokens"] == sent
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/max_tokens" if limit is None else "/max_completion_tokens"] == (
        "added" if limit is None else "approximated"
    )


# ---- the data and its lookup ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "protocol", "found"),
    [
        ("claude-opus-4-5", MESSAGES, "claude-opus-4-5"),
        ("claude-opus-4-5-20251101", MESSAGES, "claude-opus-4-5"),
        ("claude-opus-4-5@20251101", MESSAGES, "claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", MESSAGES, "claude-opus-4-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", MESSAGES, "claude-opus-4-5"),
        ("models/gemini-3-pro-preview", GENERATE, "gemini-3-pro"),
        ("publishers/google/models/gemini-2.5-flash-preview-09-2025", GENERATE, "gemini-2.5-flash"),
        ("gpt-5-2025-08-07", CHAT, "gpt-5"),
        ("gpt-5-turbo", CHAT, ""),  # begins like a model, and is none
        ("gpt-55", CHAT, ""),
        ("claude-opus-4-5-2025-11-01", MESSAGES, ""),  # not how this family dates its models
        ("", CHAT, ""),
    ],
)
def test_a_model_is_found_by_what_the_data_declare(name: str, protocol: str, found: str) -> None:
    assert profile(name, protocol).id == found
    assert profile(name, protocol).known is bool(found)


def test_an_unknown_model_has_no_facts() -> None:
    unknown = profile(None, CHAT)
    assert (unknown.known, unknown.refuses, unknown.output_tokens) == (False, frozenset(), None)
    assert profile("gpt-5", MESSAGES).reasoning == profile("no-such-model", MESSAGES).reasoning


def test_the_provider_narrows_the_search_down() -> None:
    assert profile("gpt-5", CHAT, "openai").known
    assert not profile("gpt-5", CHAT, "anthropic").known


def test_the_data_say_where_they_are_from_and_hold_together() -> None:
    data = json.loads(DATA.read_bytes())
    assert data["efforts"] == list(EFFORTS)
    names: list[str] = []
    for family in data["families"]:
        assert family["sources"] and set(family["sources"]) <= set(data["sources"])
        assert set(family["endings"]) <= set(data["endings"])
        for name, facts in family["models"].items():
            names += [name, *facts.get("aliases", ())]
            for protocol in family["facts"]["reasoning"]:
                reasoning = profile(name, protocol).reasoning
                assert set(reasoning.efforts) <= set(EFFORTS), name
                assert list(reasoning.efforts) == sorted(reasoning.efforts, key=EFFORTS.index), name
                assert not reasoning.thinks or reasoning.efforts or reasoning.budget, name
                least, most = reasoning.budget or (0, 0)
                assert most is None or least <= most, name
    assert len(names) == len(set(names))
    for source in data["sources"].values():
        assert len(source["read"]) == 10 and source["url"].startswith("https://")


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-1"])
def test_effort_and_budget_are_each_others_inverse_where_both_are_said(model: str) -> None:
    facts = profile(model, MESSAGES).reasoning
    words = ("low", "medium", "high")
    assert [effort_of(budget_of(word, facts), words) for word in words] == list(words)


@pytest.mark.parametrize(
    ("effort", "allowed", "word"),
    [
        ("medium", ("low", "high"), "low"),
        ("max", ("low", "medium"), "medium"),
        ("minimal", ("none", "low"), "low"),
        ("none", ("minimal", "low"), "minimal"),
        ("low", ("high",), "high"),
        ("turbo", ("low", "high"), "turbo"),
    ],
)
def test_the_nearest_word_is_never_more_than_was_asked_for_where_there_is_one(
    effort: str, allowed: tuple[str, ...], word: str
) -> None:
    assert nearest(effort, allowed) == word


def test_the_page_is_written_from_the_data() -> None:
    assert _reasoning.PAGE.read_text("utf-8") == _reasoning.written(), "run: python docs/_reasoning.py"
    assert "| `claude-haiku-4-5` |  | 1024 to 63999 | does not | yes | 64,000 |" in _reasoning.written()
