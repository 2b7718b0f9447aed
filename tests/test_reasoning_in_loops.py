"""Thinking of Claude's in a loop of tools, and of the turn before: on, off and left out, as the settings are written.

Claude refuses a budget of thinking in a loop of tools whose first output has no thought of its own (trap 25). Models
with adaptive thinking accept it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from corpus import records
from thinking import CHAT, CONTROLS, GENERATE, INTERACTIONS, MESSAGES, RESPONSES, Node
from unified_llm.models.profiles import DATA, profile
from unified_llm.suite.outcome import document

CONVERSE = "amazon-converse"
WITH_BUDGET = [
    "claude-haiku-4-5",
    "claude-sonnet-4-5",
    "claude-opus-4-5",
    "claude-sonnet-4-20250514",
    "claude-3-7-sonnet-20250219",
]
WHY = "the thoughts of this tool loop are not there"
SCHEMA: Node = {"type": "object", "properties": {}}
FUNCTION = {"name": "f", "parameters": SCHEMA}


def at(target: str, model: str) -> dict[str, Any]:
    """The options of a conversion to a model of Anthropic's, at the provider that the target stands for."""
    name = f"anthropic.{model}-v1:0" if target == CONVERSE and model != "m" else model
    return {"target": target, "model": name, "secret": "s"}


def written_form(target: str, wire: Node) -> str:
    """The `type` of thinking in a wire request."""
    at_top = wire if target == MESSAGES else wire.get("additionalModelRequestFields") or {}
    return str((at_top.get("thinking") or {}).get("type") or "")


def loop(source: str) -> Node:
    """A request in the middle of a loop of tools whose call another provider's model made."""
    if source == CHAT:
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        turns = [{"role": "assistant", "content": None, "tool_calls": [call]}]
        result = {"role": "tool", "tool_call_id": "c1", "content": "r"}
        tools = [{"type": "function", "function": FUNCTION}]
        return {"model": "g", "messages": [{"role": "user", "content": "q"}, *turns, result], "tools": tools}
    if source == RESPONSES:
        called = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": "c1", "output": "r"}
        tools = [{"type": "function", "strict": False, **FUNCTION}]
        return {"model": "g", "input": [{"role": "user", "content": "q"}, called, output], "tools": tools}
    if source == INTERACTIONS:
        steps = [
            {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
            {"type": "function_call", "id": "c1", "name": "f", "arguments": {}},
            {"type": "function_result", "call_id": "c1", "name": "f", "result": "r"},
        ]
        return {"model": "g", "input": steps, "tools": [{"type": "function", **FUNCTION}]}
    if source == GENERATE:
        contents = [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "r"}}}]},
        ]
        return {"contents": contents, "tools": [{"functionDeclarations": [FUNCTION]}]}
    use = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    answered = {"type": "tool_result", "tool_use_id": "c1", "content": "r"}
    messages = [("user", "q"), ("assistant", [use]), ("user", [answered])]
    return {
        "model": "g",
        "max_tokens": 8000,
        "messages": [{"role": role, "content": content} for role, content in messages],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
    }


ON: dict[str, tuple[str, Node]] = {
    "an effort of Chat": (CHAT, {"reasoning_effort": "high"}),
    "an effort of Responses": (RESPONSES, {"reasoning": {"effort": "low"}}),
    "a level": (INTERACTIONS, {"generation_config": {"thinking_level": "high"}}),
    "a level of Gemini": (GENERATE, {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}}),
    "a budget of Gemini": (GENERATE, {"generationConfig": {"thinkingConfig": {"thinkingBudget": 4000}}}),
    "a budget left to the model": (GENERATE, {"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}),
    "a budget": (MESSAGES, {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
    "adaptive": (MESSAGES, {"thinking": {"type": "adaptive"}}),
}
SHOWN: dict[str, tuple[str, Node]] = {
    "shown by Responses": (RESPONSES, {"reasoning": {"summary": "auto"}}),
    "shown by Gemini": (GENERATE, {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
    "shown in steps": (INTERACTIONS, {"generation_config": {"thinking_summaries": "auto"}}),
}


@pytest.mark.parametrize("model", WITH_BUDGET)
@pytest.mark.parametrize(
    ("asked", "target"),
    # The form of thinking is left as it is in its own protocol.
    [(asked, target) for asked in ON for target in (MESSAGES, CONVERSE) if (asked, target) != ("adaptive", MESSAGES)],
)
def test_trap_025_thinking_goes_off_where_a_budget_follows_from_any_setting(
    asked: str, target: str, model: str
) -> None:
    source, settings = ON[asked]
    options = {**at(target, model), "repair": "always" if source == target else "auto"}
    done = ul.convert({**loop(source), **settings}, source=source, **options)
    assert written_form(target, done.value) == "disabled"
    told = [loss for loss in done.losses if loss.detail == WHY]
    assert told and {loss.capability.partition(".")[0] for loss in told} == {"reasoning"}
    assert {loss.fate for loss in told} <= {"lost", "approximated"}


@pytest.mark.parametrize("model", WITH_BUDGET)
@pytest.mark.parametrize("asked", SHOWN)
def test_trap_025_thinking_goes_off_where_it_was_on_only_to_be_shown(asked: str, model: str) -> None:
    source, settings = SHOWN[asked]
    done = ul.convert({**loop(source), **settings}, source=source, **at(MESSAGES, model))
    assert done.value["thinking"] == {"type": "disabled"}
    assert [loss.fate for loss in done.losses if loss.detail == WHY] == ["lost"]


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5-5", "m"])
@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_adaptive_thinking_stays_on_in_a_loop_without_a_thought(target: str, model: str) -> None:
    done = ul.convert({**loop(CHAT), "reasoning_effort": "high"}, source=CHAT, **at(target, model))
    assert written_form(target, done.value) in ("adaptive", "")
    assert not [loss for loss in done.losses if loss.detail == WHY]


# ---- with a thought of Claude's --------------------------------------------------------------------------------------

THOUGHT = {"type": "thinking", "thinking": "T", "signature": "SIG"}


def carried(source: str, *blocks: Node) -> list[Any]:
    """An answer of Claude's, as a client of another protocol returns it."""
    answer = {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [THOUGHT, *blocks],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    shown = ul.convert(answer, source=MESSAGES, target=source, kind="response", secret="s").value
    if source == CHAT:
        return [shown["choices"][0]["message"]]
    if source == GENERATE:
        return [shown["candidates"][0]["content"]]
    if source == MESSAGES:
        return [{"role": "assistant", "content": [THOUGHT, *blocks]}]
    made: list[Any] = shown["output" if source == RESPONSES else "steps"]
    return made


def after_a_thought(source: str, calls: bool) -> Node:
    """A conversation whose last turn of the model has a thought of Claude's, with or without a call behind it."""
    body = loop(source)
    key = "contents" if source == GENERATE else "messages" if source in (CHAT, MESSAGES) else "input"
    asked, _, answered = body[key]
    block = {"type": "tool_use", "id": "c1", "name": "f", "input": {}} if calls else {"type": "text", "text": "A"}
    return {**body, key: [asked, *carried(source, block), answered if calls else asked]}


def thoughts_in(wire: Node) -> list[Node]:
    blocks = [block for message in wire["messages"] if type(message["content"]) is list for block in message["content"]]
    return [block for block in blocks if block.get("type") == "thinking"]


@pytest.mark.parametrize("model", WITH_BUDGET)
@pytest.mark.parametrize("source", [CHAT, RESPONSES, GENERATE, INTERACTIONS])
def test_thinking_stays_on_in_a_loop_that_opens_with_a_thought(source: str, model: str) -> None:
    settings = next(settings for known, settings in ON.values() if known == source)
    done = ul.convert({**after_a_thought(source, True), **settings}, source=source, **at(MESSAGES, model))
    assert done.value["thinking"]["type"] == "enabled" and thoughts_in(done.value) == [THOUGHT]


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-7", "claude-opus-5-5", "m"])
@pytest.mark.parametrize("asked", SHOWN)
def test_a_thought_is_kept_where_thinking_is_on_only_to_be_shown(asked: str, model: str) -> None:
    source, settings = SHOWN[asked]
    for calls in (False, True):
        done = ul.convert({**after_a_thought(source, calls), **settings}, source=source, **at(MESSAGES, model))
        assert done.value["thinking"]["display"] == "summarized" and thoughts_in(done.value) == [THOUGHT]
        assert not [loss for loss in done.losses if loss.detail == "reasoning is switched off"]


@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_what_a_user_adds_to_the_results_ends_no_loop(target: str) -> None:
    """The last turn has results; the message of the assistant before it has to begin with a thought all the same."""
    added = {"role": "user", "content": "and hurry"}
    for body, form in ((loop(CHAT), "disabled"), (after_a_thought(CHAT, True), "enabled")):
        if target == CONVERSE and form == "enabled":
            continue
        body = {**body, "messages": [*body["messages"], added], "reasoning_effort": "high"}
        wire = ul.convert(body, source=CHAT, **at(target, "claude-sonnet-4-5")).value
        assert written_form(target, wire) == form
        assert "and hurry" in json.dumps(wire["messages"][-1]) and len(wire["messages"][-1]["content"]) == 2
    answered = [*loop(CHAT)["messages"], {"role": "assistant", "content": "A"}, added]
    wire = ul.convert({**loop(CHAT), "messages": answered, "reasoning_effort": "high"}, source=CHAT,
                      **at(target, "claude-sonnet-4-5")).value  # fmt: skip
    assert written_form(target, wire) == "enabled"


def claude_models() -> list[str]:
    families = json.loads(DATA.read_bytes())["families"]
    return [name for family in families if family["provider"] == "anthropic" for name in family["models"]]


@pytest.mark.parametrize("control", [*CONTROLS, *SHOWN, "nothing"])
@pytest.mark.parametrize("forced", [False, True])
def test_trap_026_a_thought_is_in_the_last_turn_where_and_only_where_thinking_is_on(control: str, forced: bool) -> None:
    """Whether thinking is on is read from what was written, and from what the model does without a word."""
    source, settings = (CHAT, {}) if control == "nothing" else (SHOWN | CONTROLS)[control]
    settings = {key: value for key, value in settings.items() if key not in ("input", "messages", "contents")}
    body = {**after_a_thought(source, False), **settings}
    if forced and source == GENERATE:
        body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
    elif forced and source == INTERACTIONS:
        body["generation_config"] = {**body.get("generation_config", {}), "tool_choice": "any"}
    elif forced:
        body["tool_choice"] = {"type": "any"} if source == MESSAGES else "required"
    different = []
    for model in claude_models():
        options = {**at(MESSAGES, model), "repair": "always"}
        done = ul.convert(body, source=source, **options)
        form = written_form(MESSAGES, done.value)
        on = form != "disabled" if form else profile(model, MESSAGES).reasoning.default == "on"
        if thoughts_in(done.value) != ([THOUGHT] if on else []):
            different.append((model, form))
    assert not different


# ---- the law ---------------------------------------------------------------------------------------------------------


def opens_with_a_thought(target: str, messages: list[Node]) -> bool:
    """Whether there is no loop of tools at the end of the messages, or one that opens with a thought."""
    blocks: list[Node] = []
    for number, message in enumerate(reversed(messages)):
        content = message["content"]
        content = [{"type": "text"}] if type(content) is str else content
        results = all(block.get("type") == "tool_result" or "toolResult" in block for block in content)
        if message["role"] == "user" and not results:
            break
        if message["role"] == "assistant":
            if number == 0:
                return True
            blocks = content
    if not blocks:
        return True
    return blocks[0].get("type") in ("thinking", "redacted_thinking") or "reasoningContent" in blocks[0]


@pytest.mark.long
@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-6"])
@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_a_loop_of_tools_opens_with_a_thought_or_has_no_budget(target: str, model: str) -> None:
    """For every request there is, as it is and with an effort; also for those of the target's own protocol."""
    refused, examined = [], 0
    for record in records(None, "request"):
        source, body = record["protocol"], document(record)
        asked = {CHAT: {"reasoning_effort": "high"}, RESPONSES: {"reasoning": {"effort": "high"}}}.get(source)
        for given in (body, {**body, **asked}) if asked and type(body) is dict else (body,):
            options = {**at(target, model), "repair": "always" if source == target else "auto"}
            try:
                wire = ul.convert(given, source=source, **options).value
            except ul.UnifiedLLMError:
                continue
            if written_form(target, wire) == "enabled":
                examined += 1
                if not opens_with_a_thought(target, wire.get("messages") or []):
                    refused.append(record["id"])
    assert examined and not refused


# ---- servers of Chat whose reasoning has no signature ---------------------------------------------------------------


@pytest.mark.parametrize("dropped", [False, True])
def test_reasoning_without_a_signature_returns_over_generate_content_and_nothing_beside_it(dropped: bool) -> None:
    """What a server has in the choice besides is lost, and reported."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "reasoning_content": "Well.", "odd": 1, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls", "token_ids": [1]}
    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    done = ul.convert(answer, source=CHAT, target=GENERATE, kind="response", secret="s")
    lost = {loss.path for loss in done.losses if loss.fate == "lost"}
    assert {"/choices/0/message/odd", "/choices/0/token_ids"} <= lost
    content = done.value["candidates"][0]["content"]
    if dropped:
        content["parts"] = [part for part in content["parts"] if not part.get("thought")]
    result = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "r"}}}
    turns = [{"role": "user", "parts": [{"text": "q"}]}, content, {"role": "user", "parts": [result]}]
    body = {"contents": turns, "tools": [{"functionDeclarations": [{"name": "f"}]}]}
    back = ul.convert(body, source=GENERATE, target=CHAT, secret="s").value["messages"][1]
    assert back == {"role": "assistant", "content": None, "reasoning_content": "Well.", "tool_calls": [call]}
    # Another key opens no envelope.
    other = ul.convert(body, source=GENERATE, target=CHAT, secret="t").value["messages"][1]
    assert "reasoning_content" not in other
