"""Plain text and calls of functions go between all protocols without a loss, so that `on_loss="raise"` is of use.

Requests are those of the official SDKs: once with what they require alone, once with every default written out.
"""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.pairs import PROTOCOLS, Pair
from client.providers import upstream
from sdk_surfaces import NAME, PARAMETERS, SURFACES, SDKCall, Surface

Node = dict[str, Any]

STRICT: dict[str, ul.Levels] = {"one level": "raise", "a pattern": {"*": "raise"}}

# Every setting at the value that the API's pages name as its default, as arguments of the SDK.
DEFAULTS: dict[str, Node] = {
    "openai-chat": {
        "n": 1, "temperature": 1, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0, "logprobs": False,
        "store": False, "parallel_tool_calls": True, "service_tier": "auto", "modalities": ["text"],
        "verbosity": "medium", "response_format": {"type": "text"}, "tool_choice": "auto", "metadata": {},
        "stop": None, "seed": None, "logit_bias": None, "reasoning_effort": None, "audio": None,
    },
    "openai-responses": {
        "temperature": 1, "top_p": 1, "top_logprobs": 0, "store": True, "background": False,
        "parallel_tool_calls": True, "service_tier": "auto", "truncation": "disabled", "tool_choice": "auto",
        "text": {"format": {"type": "text"}, "verbosity": "medium"}, "metadata": {}, "include": [],
        "instructions": None, "previous_response_id": None, "max_output_tokens": None, "reasoning": None,
    },
    "anthropic-messages": {
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": False}, "service_tier": "auto",
        "stop_sequences": [], "extra_body": {"temperature": 1},
    },
    "google-generate-content": {
        "candidate_count": 1, "presence_penalty": 0, "frequency_penalty": 0, "response_logprobs": False,
        "response_mime_type": "text/plain", "response_modalities": ["TEXT"],
        "thinking_config": {"include_thoughts": False},
        "tool_config": {"function_calling_config": {"mode": "AUTO"}},
    },
    "google-interactions": {
        "store": True, "background": False, "service_tier": "standard",
        "generation_config": {"tool_choice": "auto", "thinking_summaries": "none"},
    },
}  # fmt: skip

# Defaults that some targets do not share: the value is written there, or it is lost and has to be reported.
DIFFERS: dict[tuple[str, str], set[str]] = {
    ("openai-responses", "anthropic-messages"): {"/store"},
    ("openai-responses", "google-generate-content"): {"/tools/0/strict"},
    ("openai-responses", "google-interactions"): {"/tools/0/strict"},
    ("google-interactions", "anthropic-messages"): {"/store"},
}


def bare(surface: type[Surface]) -> type[Surface]:
    """The surface with the arguments its SDK requires, and none of the others."""

    class Bare(surface):  # type: ignore[misc, valid-type]
        def arguments(self, stream: bool) -> Node:
            found: Node = super().arguments(stream)
            for key in ("store", "include"):
                found.pop(key, None)
            if self.protocol == "openai-responses":
                found["tools"] = [{**found["tools"][0], "strict": None}]
            return found

    return Bare


def spelled_out(surface: type[Surface]) -> type[Surface]:
    """The surface with every default written out."""

    class SpelledOut(bare(surface)):  # type: ignore[misc]
        def arguments(self, stream: bool) -> Node:
            found: Node = super().arguments(stream)
            more = DEFAULTS[self.protocol]
            if self.protocol == "google-generate-content":
                return {**found, "config": {**found["config"], **more}}
            tool = found["tools"][0]
            if self.protocol == "openai-chat":
                tool = {**tool, "function": {**tool["function"], "strict": False}}
            if self.protocol == "openai-responses":
                tool = {**tool, "strict": True}
            if self.protocol == "anthropic-messages":
                tool = {**tool, "type": "custom", "strict": False}
            return {**found, **more, "tools": [tool]}

    return SpelledOut


def sent(surface: Surface) -> Node:
    """The request that an SDK makes of a conversation."""
    bodies: list[Node] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        return httpx2.Response(500, json={"error": {"message": "that is all"}})

    surface.http = httpx2.Client(transport=httpx2.MockTransport(handle))
    with pytest.raises(Exception, match="that is all"):
        surface.call()
    return bodies[0]


def asked(surface: type[Surface], last: type[Surface]) -> Node:
    """A conversation of text and one call, as the official SDK sends it with the settings of `last`.

    None of its answers held any reasoning.
    """
    before = Pair(bare(surface), "openai-chat").sdk
    converse(before)
    sdk = last(None)
    sdk.history = before.history
    sdk.ask("And tomorrow?")
    return sent(sdk)


def converse(sdk: Surface, mode: str = "plain") -> list[SDKCall]:
    """Text, a call, its result, and text again."""

    def call() -> list[SDKCall]:
        return sdk.call("stream" in mode).calls

    sdk.ask("Say hello.")
    assert not call()
    sdk.ask(f"[[call {NAME} city=Oslo]]")
    calls = call()
    for each in calls:
        sdk.give(each, "Sunny.")
    assert not call()
    sdk.ask("Thanks.")
    call()
    return calls


PAIRS = [(surface, target) for surface in SURFACES for target in PROTOCOLS if target != surface.protocol]
pairs = pytest.mark.parametrize(("surface", "target"), PAIRS, ids=lambda each: getattr(each, "protocol", each))


@pairs
def test_what_an_sdk_requires_is_carried(surface: type[Surface], target: str) -> None:
    done = ul.convert(asked(surface, bare(surface)), source=surface.protocol, target=target, model="m")
    assert lost(done.losses) == set()


@pairs
def test_a_default_that_is_written_out_is_not_a_loss(surface: type[Surface], target: str) -> None:
    body = asked(surface, spelled_out(surface))
    done = ul.convert(body, source=surface.protocol, target=target, model="m")
    differs = DIFFERS.get((surface.protocol, target), set())
    assert lost(done.losses) == differs


def lost(losses: ul.Losses) -> set[str]:
    return {loss.path for loss in losses if loss.fate == "lost"}


@pairs
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_an_sdk_converses_where_losses_are_refused(surface: type[Surface], target: str, mode: str) -> None:
    """The request, the answer and the stream of it, four times, with what the conversation has grown by."""
    for levels in STRICT.values():
        pair = Pair(bare(surface), target, on_loss=levels)
        (call,) = converse(pair.sdk, mode)
        assert call.name == NAME
        assert [losses for losses in pair.losses if lost(losses)] == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("second", PROTOCOLS)
@pytest.mark.parametrize("first", PROTOCOLS)
def test_a_client_changes_providers_where_losses_are_refused(first: str, second: str, stream: bool) -> None:
    """Two providers take turns. Reasoning stays with the one it is from, which is a loss; nothing else is."""
    levels: ul.Levels = {"reasoning.*": "ignore", "*": "raise"}
    tool = {"type": "function", "name": NAME, "parameters": PARAMETERS}
    conversation: list[Any] = []

    def turn(protocol: str, *items: Node) -> Any:
        conversation.extend(items)
        with ul.Client(upstream=upstream(protocol), on_loss=levels) as client:
            made = client.responses.create(input=list(conversation), tools=[tool], stream=stream)
            answer = made.get_final_response() if stream else made
        conversation.extend(answer.output)
        return answer

    def user(text: str) -> Node:
        return {"type": "message", "role": "user", "content": text}

    assert turn(first, user("Say hello.")).output_text
    (call,) = turn(second, user(f"[[call {NAME} city=Oslo]]")).pending_calls
    assert turn(first, {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."}).output_text
    assert turn(second, user("Thanks.")).output_text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_converses_with_one_provider_where_losses_are_refused(protocol: str) -> None:
    def get_weather(city: str) -> str:
        """Look up the weather of a city."""
        return f"Sunny in {city}."

    with ul.Client(upstream=upstream(protocol), on_loss={"*": "raise"}) as client:
        run = client.responses.run(input=f"[[call {NAME} city=Oslo]]", tools=[get_weather])
    assert len(run.steps) == 2 and run.output_text
    assert lost(run.losses) == set()
