"""Whole conversations keep their mind: recorded histories, and made-up tool loops that hop over several surfaces.

A history of one provider, as a client of another surface holds it, goes back with every opaque byte on its part, and
to any other provider with none. The made-up ones have parallel calls, and signatures on whatever may have them.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import unified_llm as ul
from corpus import records, show
from covering import examples
from test_law_mind import HOPS, PROTOCOLS
from unified_llm import suite
from unified_llm.provenance.opaque import is_sealed
from unified_llm.suite.walk import dumps, leaves

Node = dict[str, Any]


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds_of_recorded_conversations(provider: str, surface: str) -> None:
    found = list(records(provider, "request"))
    failures = suite.minds_of_conversations(provider, surface, found)
    assert not failures, show(failures, "minds of conversations", len(found))


# ---- made-up conversations ------------------------------------------------------------------------------------------

# A turn: the model's reasoning, its text, and how many calls it makes; each with whether it is signed.
TURN = st.fixed_dictionaries(
    {
        "thoughts": st.lists(st.booleans(), max_size=2),
        "texts": st.lists(st.sampled_from(("signed", "plain")), max_size=2),
        "calls": st.lists(st.booleans(), max_size=3),
    }
).filter(lambda turn: bool(turn["texts"] or turn["calls"]))
CONVERSATION = st.lists(TURN, min_size=1, max_size=4)


class _Maker:
    """Numbers for everything that has to be distinct, and signatures that are valid base64 and all different."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, what: str) -> str:
        self.count += 1
        return f"{what}_{self.count}"

    def signature(self) -> str:
        return base64.b64encode(self("signature-of-the-provider").encode()).decode()


def claude(turns: list[Node]) -> Node:
    make = _Maker()
    messages: list[Node] = []
    for turn in turns:
        messages.append({"role": "user", "content": make("question")})
        blocks: list[Node] = []
        for clear in turn["thoughts"]:
            block = {"type": "thinking", "thinking": make("thought"), "signature": make.signature()}
            blocks.append(block if clear else {"type": "redacted_thinking", "data": make.signature()})
        blocks += [{"type": "text", "text": make("text")} for _ in turn["texts"]]
        calls = [make("toolu") for _ in turn["calls"]]
        blocks += [{"type": "tool_use", "id": call, "name": "f", "input": {"id": call}} for call in calls]
        messages.append({"role": "assistant", "content": blocks})
        if calls:
            results = [{"type": "tool_result", "tool_use_id": call, "content": make("result")} for call in calls]
            messages.append({"role": "user", "content": results})
            messages.append({"role": "assistant", "content": [{"type": "text", "text": make("text")}]})
    thinking = {"type": "enabled", "budget_tokens": 1024}
    return {"model": "m", "max_tokens": 4096, "thinking": thinking, "messages": messages}


def gemini(turns: list[Node]) -> Node:
    make = _Maker()
    contents: list[Node] = []
    for turn in turns:
        contents.append({"role": "user", "parts": [{"text": make("question")}]})
        parts: list[Node] = []
        for signed in turn["thoughts"]:
            parts.append({"text": make("thought"), "thought": True})
            if signed:
                parts[-1]["thoughtSignature"] = make.signature()
        for kind in turn["texts"]:
            parts.append({"text": make("text")})
            if kind == "signed":
                parts[-1]["thoughtSignature"] = make.signature()
        calls = []
        for signed in turn["calls"]:
            calls.append(make("call"))
            parts.append({"functionCall": {"id": calls[-1], "name": "f", "args": {"id": calls[-1]}}})
            if signed:
                parts[-1]["thoughtSignature"] = make.signature()
        contents.append({"role": "model", "parts": parts})
        if calls:
            results = [{"id": call, "name": "f", "response": {"result": make("result")}} for call in calls]
            contents.append({"role": "user", "parts": [{"functionResponse": result} for result in results]})
            contents.append({"role": "model", "parts": [{"text": make("text"), "thoughtSignature": make.signature()}]})
    return {"contents": contents}


def interactions(turns: list[Node]) -> Node:
    make = _Maker()
    steps: list[Node] = []
    for turn in turns:
        steps.append({"type": "user_input", "content": [{"type": "text", "text": make("question")}]})
        for told in turn["thoughts"]:
            steps.append({"type": "thought", "signature": make.signature()})
            if told:
                steps[-1]["summary"] = [{"type": "text", "text": make("thought")}]
        for _ in turn["texts"]:
            steps.append({"type": "model_output", "content": [{"type": "text", "text": make("text")}]})
        calls = [make("call") for _ in turn["calls"]]
        for call, signed in zip(calls, turn["calls"]):
            steps.append({"type": "function_call", "id": call, "name": "f", "arguments": {"id": call}})
            if signed:
                steps[-1]["signature"] = make.signature()
        steps += [{"type": "function_result", "call_id": call, "result": make("result")} for call in calls]
    return {"model": "m", "input": steps}


def responses(turns: list[Node]) -> Node:
    make = _Maker()
    items: list[Node] = []
    for turn in turns:
        items.append({"type": "message", "role": "user", "content": make("question")})
        for told in turn["thoughts"]:
            summary = [{"type": "summary_text", "text": make("thought")}] if told else []
            items.append({"type": "reasoning", "id": make("rs"), "summary": summary})
            items[-1]["encrypted_content"] = make.signature()
        for _ in turn["texts"]:
            content = [{"type": "output_text", "text": make("text"), "annotations": []}]
            items.append({"type": "message", "role": "assistant", "content": content})
        calls = [make("call") for _ in turn["calls"]]
        for call in calls:
            items.append({"type": "function_call", "call_id": call, "name": "f", "arguments": f'{{"id":"{call}"}}'})
        items += [{"type": "function_call_output", "call_id": call, "output": make("result")} for call in calls]
    return {"model": "m", "store": False, "input": items}


def chat(turns: list[Node]) -> Node:
    make = _Maker()
    messages: list[Node] = []
    for turn in turns:
        messages.append({"role": "user", "content": make("question")})
        said: Node = {"role": "assistant", "content": make("text") if turn["texts"] else None}
        if turn["thoughts"]:
            details = [{"type": "reasoning.encrypted", "data": make.signature(), "index": 0} for _ in turn["thoughts"]]
            said["reasoning_details"] = [{**detail, "index": at} for at, detail in enumerate(details)]
        calls = [make("call") for _ in turn["calls"]]
        if calls:
            said["tool_calls"] = []
        for call, signed in zip(calls, turn["calls"]):
            function = {"name": "f", "arguments": f'{{"id":"{call}"}}'}
            said["tool_calls"].append({"id": call, "type": "function", "function": function})
            if signed:
                signature = {"google": {"thought_signature": make.signature()}}
                said["tool_calls"][-1]["extra_content"] = signature
        messages.append(said)
        messages += [{"role": "tool", "tool_call_id": call, "content": make("result")} for call in calls]
    return {"model": "m", "messages": messages}


def converse(turns: list[Node]) -> Node:
    make = _Maker()
    messages: list[Node] = []
    for turn in turns:
        messages.append({"role": "user", "content": [{"text": make("question")}]})
        blocks: list[Node] = []
        for clear in turn["thoughts"]:
            text = {"reasoningText": {"text": make("thought"), "signature": make.signature()}}
            blocks.append({"reasoningContent": text if clear else {"redactedContent": make.signature()}})
        blocks += [{"text": make("text")} for _ in turn["texts"]]
        calls = [make("tooluse") for _ in turn["calls"]]
        blocks += [{"toolUse": {"toolUseId": call, "name": "f", "input": {"id": call}}} for call in calls]
        messages.append({"role": "assistant", "content": blocks})
        if calls:
            results = [{"toolUseId": call, "content": [{"text": make("result")}]} for call in calls]
            messages.append({"role": "user", "content": [{"toolResult": result} for result in results]})
            messages.append({"role": "assistant", "content": [{"text": make("text")}]})
    return {"messages": messages}


MAKE = {
    "amazon-converse": converse,
    "anthropic-messages": claude,
    "google-generate-content": gemini,
    "google-interactions": interactions,
    "openai-responses": responses,
    "openai-chat": chat,
}
SECRET = b"of the test"
ENVELOPE = "dW5pZmllZF9sbG06"  # and how every envelope does
SIGNED = "c2lnbmF0dXJlLW9mLXRoZS1wcm92aWRlc"  # how every made-up signature begins


def signatures(value: Any) -> list[str]:
    """What of a wire document is a signature of the provider's, in order."""
    return [text for _, text in leaves(value) if type(text) is str and text.startswith(SIGNED)]


def hop(body: Node, path: list[str], secret: bytes | None = SECRET) -> Node:
    """A conversation from surface to surface, each time as the next one's client holds it, and home in the end."""
    here = path[0]
    for there in path[1:]:
        body = ul.convert(body, source=here, target=there, facing="client", repair="never", secret=secret).value
        assert not signatures(body)
        here = there
    home: Node = ul.convert(body, source=here, target=path[0], repair="never", secret=secret).value
    return home


@settings(max_examples=examples(60), deadline=None)
@given(turns=CONVERSATION, steps=st.lists(st.integers(0, len(PROTOCOLS) - 2), min_size=1, max_size=3))
def test_made_up_conversations_return(turns: list[Node], steps: list[int]) -> None:
    for provider in PROTOCOLS:
        others = [name for name in PROTOCOLS if name != provider]
        path = [provider, *(others[step] for step in steps)]
        note(f"{path}")
        body = MAKE[provider](turns)
        home = hop(body, path)
        assert signatures(home) == signatures(body)
        assert _places(home) == _places(body)
        assert not any(is_sealed(text) for _, text in leaves(home))


def _places(value: Any) -> list[str]:
    """Each signature with what it stands on: the node without its signatures, as text."""
    found = []
    for node in _nodes(value):
        signed = [text for text in node.values() if type(text) is str and text.startswith(SIGNED)]
        rest = {key: inner for key, inner in node.items() if inner not in signed and key not in ("index", "format")}
        found += [f"{text} on {json.dumps(rest, sort_keys=True)}" for text in signed]
    return found


def _nodes(value: Any) -> list[Node]:
    if type(value) is dict:
        return [value, *(node for inner in value.values() for node in _nodes(inner))]
    return [node for inner in value for node in _nodes(inner)] if type(value) is list else []


@pytest.mark.parametrize("secret", [SECRET, None])
@pytest.mark.parametrize("provider", ["google-interactions", "openai-chat"])
def test_a_signature_on_a_call_passes_over_a_surface_without_a_field_for_it(
    provider: str, secret: bytes | None
) -> None:
    """It comes to Converse in an envelope of another surface, and travels on beside the answer."""
    body = MAKE[provider]([{"thoughts": [], "texts": ["plain"], "calls": [True, False]}])
    for between in PROTOCOLS:
        if between not in (provider, "amazon-converse"):
            home = hop(body, [provider, between, "amazon-converse"], secret)
            assert _places(home) == _places(body), between


@settings(max_examples=examples(15), deadline=None)
@given(turns=CONVERSATION)
def test_made_up_conversations_tell_no_other_provider(turns: list[Node]) -> None:
    for provider, target in HOPS:
        note(f"{provider} to {target}")
        body = MAKE[provider](turns)
        text = dumps(ul.convert(body, source=provider, target=target).value)
        assert not any(signature in text for signature in signatures(body))
        assert SIGNED not in text and ENVELOPE not in text
