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


BLANK = [{"text": "\n"}, {"cachePoint": {"type": "default"}}, {"text": "q"}]


def blank_before_point(*parts: Node) -> tuple[list[Node], dict[str, tuple[str, str]]]:
    """The content at Messages of what has a cache point behind a blank text, and the report on the source."""
    body = {"messages": [{"role": "user", "content": [*parts, *BLANK]}]}
    done = ul.convert(body, source="amazon-converse", target=MESSAGES, model="claude-opus-4-7")
    told = {loss.path: (loss.capability, loss.fate) for loss in done.losses if loss.side == "source"}
    return done.value["messages"][0]["content"], told


def test_the_breakpoint_of_a_blank_text_is_set_on_the_part_before() -> None:
    """Clients of Bedrock send a blank text between a document and its cache point; Messages refuses blank texts."""
    content, told = blank_before_point({"text": "facts"})
    assert content[0] == {"type": "text", "text": "facts", "cache_control": {"type": "ephemeral"}}
    assert len(content) == 2
    assert told == {
        "/messages/0/content/1/text": ("text.input", "approximated"),
        "/messages/0/content/2/cachePoint/type": ("cache.breakpoint", "approximated"),
    }


@pytest.mark.parametrize("parts", [(), ({"text": "facts"}, {"cachePoint": {"type": "default", "ttl": "1h"}})])
def test_a_breakpoint_that_no_part_can_take_over_is_lost(parts: tuple[Node, ...]) -> None:
    content, told = blank_before_point(*parts)
    points = [part.get("cache_control") for part in content]
    assert points == ([{"type": "ephemeral", "ttl": "1h"}, None] if parts else [None])
    place = f"/messages/0/content/{len(parts) + 1}/cachePoint/type"
    assert told[place] == ("cache.breakpoint", "lost")


CONTROL = {"cache_control": {"type": "ephemeral"}}


def test_breakpoints_beside_a_request_and_its_messages_reach_messages() -> None:
    """OpenRouter takes one for the whole request, LiteLLM one beside the text of a message."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body: Node = {"model": "m", **CONTROL, "messages": [
        {"role": "system", "content": "s", **CONTROL}, {"role": "user", "content": "q", **CONTROL},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "r", **CONTROL},
    ]}  # fmt: skip
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    done = ul.convert(body, source=CHAT, target=MESSAGES)
    user, _, result = done.value["messages"]
    texts = [{"type": "text", "text": text, **CONTROL} for text in "sq"]
    assert [*done.value["system"], *user["content"]] == texts
    assert [node["cache_control"] for node in (done.value, result["content"][0])] == [CONTROL["cache_control"]] * 2
    assert not [loss for loss in done.losses if "cache" in loss.path]
    back = ul.convert(done.value, source=MESSAGES, target="openai-chat:openrouter")
    assert back.value["cache_control"] == CONTROL["cache_control"]


def test_a_breakpoint_beside_the_text_of_the_assistant_reaches_others() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": "a", "tool_calls": [call], **CONTROL}
    user, result = {"role": "user", "content": "q"}, {"role": "tool", "tool_call_id": "c", "content": "r"}
    body: Node = {"model": "m", "messages": [user, said, result]}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    done = ul.convert(body, source=CHAT, target=MESSAGES)
    assert done.value["messages"][1]["content"][0] == {"type": "text", "text": "a", **CONTROL}
    told = ul.convert(body, source=CHAT, target="amazon-converse", model="anthropic.claude-opus-4-7")
    assert told.value["messages"][1]["content"][1] == {"cachePoint": {"type": "default"}}
    assert not [loss for loss in (*done.losses, *told.losses) if "cache" in loss.path]
    request = ul.read(body, CHAT, "request")
    request.input[1].content[0].text = "b"
    assert ul.write(request, CHAT).value["messages"][1] == {**said, "content": "b"}


def test_an_edited_text_keeps_the_breakpoint_beside_it() -> None:
    body: Node = {"model": "m", "messages": [{"role": "user", "content": "q", **CONTROL}]}
    request = ul.read(body, CHAT, "request")
    request.input[0].content[0].text = "other"
    assert ul.write(request, CHAT).value["messages"] == [{"role": "user", "content": "other", **CONTROL}]


def answered(content: Any, **control: str) -> Node:
    """A request of Messages with a breakpoint on a result."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}
    result["cache_control"] = {"type": "ephemeral", **control}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}]
    return {"model": "m", "max_tokens": 9, "messages": [*turns, {"role": "user", "content": [result]}]}


TEXTS = [{"type": "text", "text": "Rain"}, {"type": "text", "text": "Wind"}]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
OPEN = {"mode": "explicit"}


def result_of(target: str, body: Node, model: str = "gpt-5.6") -> tuple[Any, dict[str, tuple[str, str]]]:
    """The output of the result at the target, and what is reported of its breakpoint."""
    done = ul.convert(body, source=MESSAGES, target=target, model=model)
    last = (done.value.get("messages") or done.value.get("input"))[2]
    told = {loss.path: (loss.fate, loss.detail) for loss in done.losses if "cache_control" in loss.path}
    return last["content" if "content" in last else "output"], told


@pytest.mark.parametrize(("target", "kind"), [(CHAT, "text"), (RESPONSES, "input_text")])
@pytest.mark.parametrize("content", ["Rain", TEXTS])
def test_a_breakpoint_of_a_result_is_on_its_last_text(target: str, kind: str, content: Any) -> None:
    """Claude Code and others set it there in each step; it is the end of the same text."""
    found, told = result_of(target, answered(content))
    texts = ["Rain"] if content == "Rain" else ["Rain", "Wind"]
    assert found == [
        *({"type": kind, "text": text} for text in texts[:-1]),
        {"type": kind, "text": texts[-1], "prompt_cache_breakpoint": OPEN},
    ]
    assert told == {}


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_a_lifetime_of_a_result_is_the_nearest(target: str) -> None:
    found, told = result_of(target, answered("Rain", ttl="5m"))
    assert found[0]["prompt_cache_breakpoint"] == {**OPEN, "ttl": "30m"}
    assert told == {"/messages/2/content/0/cache_control/ttl": ("approximated", "sent as '30m'")}


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize(("content", "model"), [("Rain", "gpt-5.5"), ([*TEXTS, IMAGE], "gpt-5.6"), ("", "gpt-5.6")])
def test_a_breakpoint_that_no_text_of_a_result_can_have_is_lost(target: str, content: Any, model: str) -> None:
    _, told = result_of(target, answered(content), model)
    assert {path: fate for path, (fate, _) in told.items()} == {"/messages/2/content/0/cache_control": "lost"}


def test_a_breakpoint_of_a_result_reaches_claude_behind_openrouter() -> None:
    found, told = result_of(f"{CHAT}:openrouter", answered("Rain"), "anthropic/claude-sonnet-4.5")
    assert found == [{"type": "text", "text": "Rain", "cache_control": {"type": "ephemeral"}}]
    assert told == {}
