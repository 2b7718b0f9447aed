"""A conversation keeps its mind: what a provider signed returns over any client protocol, and goes nowhere else.

There are no exceptions: whatever has opaque pieces in the corpus (reasoning, calls, texts, hosted calls and their
results, citations, media, compactions, programs) is looked for. What a client drops, a vault restores.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unified_llm as ul
from corpus import records, show
from covering import examples
from folds import FOLDS
from unified_llm import suite
from unified_llm.provenance.opaque import is_sealed
from unified_llm.suite.walk import dumps, leaves

Node = dict[str, Any]


def chat_history(answer: Node) -> Node:
    return {"model": "m", "messages": [{"role": "user", "content": "q"}, answer["choices"][0]["message"]]}


def responses_history(answer: Node) -> Node:
    return {"model": "m", "input": [{"role": "user", "content": "q"}, *answer["output"]]}


def messages_history(answer: Node) -> Node:
    said = {"role": "assistant", "content": answer["content"]}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}, said]}


def contents_history(answer: Node) -> Node:
    asked = {"role": "user", "parts": [{"text": "q"}]}
    return {"contents": [asked, *(c["content"] for c in answer.get("candidates") or ())]}


def steps_history(answer: Node) -> Node:
    asked = {"type": "user_input", "content": [{"type": "text", "text": "q"}]}
    return {"model": "m", "input": [asked, *(answer.get("steps") or ())]}


def converse_history(answer: Node) -> Node:
    asked = {"role": "user", "content": [{"text": "q"}]}
    return {"messages": [asked, *([answer["output"]["message"]] if "output" in answer else [])]}


HISTORY = {
    "openai-chat": chat_history,
    "openai-responses": responses_history,
    "anthropic-messages": messages_history,
    "google-generate-content": contents_history,
    "google-interactions": steps_history,
    "amazon-converse": converse_history,
}
ASKED = {
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "q"}]},
    "openai-responses": {"model": "m", "input": [{"type": "message", "role": "user", "content": "q"}]},
    "anthropic-messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]},
    "google-generate-content": {"contents": [{"role": "user", "parts": [{"text": "q"}]}]},
    "google-interactions": {"model": "m", "input": "q"},
    "amazon-converse": {"messages": [{"role": "user", "content": [{"text": "q"}]}]},
}
PROTOCOLS = [name for name in ul.protocols() if name in HISTORY]
PLACEHOLDERS = frozenset(("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", "skip_thought_signature_validator"))
"""A documented constant that stands for a missing signature, and has no origin."""
HOPS = [(provider, surface) for provider in PROTOCOLS for surface in PROTOCOLS if provider != surface]


def forget(value: Any) -> Any:
    """A request without any envelope, as a client sends it that supports text and calls only."""
    if type(value) is list:
        kept = [forget(inner) for inner in value if not _is_carrier(inner)]
        return kept
    if type(value) is dict:
        return {key: forget(inner) for key, inner in value.items() if not is_sealed(inner)}
    return value


def _is_carrier(value: Any) -> bool:
    """Whether a node is there for the opaque data in it: a thought, a detail of reasoning, an empty signed part."""
    if type(value) is not dict or not any(map(is_sealed, value.values())):
        return False
    return value.get("type") in ("reasoning", "thinking", "redacted_thinking", "thought", "reasoning.encrypted") or (
        not value.get("text") and value.keys() <= {"text", "thoughtSignature"}
    )


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds(provider: str, surface: str) -> None:
    found = list(records(provider, "response"))
    failures = suite.minds(provider, surface, found, HISTORY[surface])
    assert not failures, show(failures, "minds", len(found))


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds_of_streams(provider: str, surface: str) -> None:
    found = list(records(provider, "stream"))
    failures = suite.minds(provider, surface, found, HISTORY[surface], FOLDS[surface])
    assert not failures, show(failures, "minds of streams", len(found))


@pytest.mark.parametrize(("provider", "surface"), HOPS)
def test_minds_of_forgetful_clients(provider: str, surface: str) -> None:
    found = list(records(provider, "response"))
    failures = suite.forgetful_minds(provider, surface, found, HISTORY[surface], forget, ASKED[surface])
    assert not failures, show(failures, "minds of forgetful clients", len(found))


@pytest.mark.parametrize(("source", "target"), HOPS)
def test_foreign_minds(source: str, target: str) -> None:
    found = list(records(source, "request"))
    failures = suite.foreign_minds(source, target, found, PLACEHOLDERS)
    assert not failures, show(failures, "foreign minds", len(found))


# ---- what stands between the signed pieces --------------------------------------------------------------------------

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def signed(number: int) -> str:
    return base64.b64encode(f"signature-{number}-of-the-provider".encode()).decode()


def of_claude(kind: str, n: int) -> list[Node]:
    use = {"type": "server_tool_use", "id": f"srvtoolu_{n}"}
    if kind == "search":
        hit = {"type": "web_search_result", "url": f"https://a.b/{n}", "title": "A", "encrypted_content": signed(n)}
        found = {"type": "web_search_tool_result", "tool_use_id": use["id"], "content": [hit]}
        return [{**use, "name": "web_search", "input": {"query": f"q{n}"}}, found]
    if kind == "advisor":
        advice = {"type": "advisor_redacted_result", "encrypted_content": signed(n)}
        told = {"type": "advisor_tool_result", "tool_use_id": use["id"], "content": advice}
        return [{**use, "name": "advisor", "input": {}}, told]
    if kind == "code":
        printed = {"type": "code_execution_result", "stdout": f"{n}", "stderr": "", "return_code": 0, "content": []}
        ran = {"type": "code_execution_tool_result", "tool_use_id": use["id"], "content": printed}
        return [{**use, "name": "code_execution", "input": {"code": f"print({n})"}}, ran]
    if kind == "hidden":
        return [{"type": "redacted_thinking", "data": signed(n)}]
    if kind == "thought":
        return [{"type": "thinking", "thinking": f"thought {n}", "signature": signed(n)}]
    return [{"type": "text", "text": f"text {n}"}]


def of_openai(kind: str, n: int) -> list[Node]:
    if kind == "search":
        action = {"type": "search", "query": f"q{n}"}
        return [{"type": "web_search_call", "id": f"ws_{n}", "status": "completed", "action": action}]
    if kind == "picture":
        return [{"type": "image_generation_call", "id": f"ig_{n}", "status": "completed", "result": PIXEL}]
    if kind == "code":
        call = {"type": "code_interpreter_call", "id": f"ci_{n}", "status": "completed", "container_id": "cntr_1"}
        return [{**call, "code": f"print({n})", "outputs": [{"type": "logs", "logs": f"{n}"}]}]
    if kind in ("thought", "hidden"):
        summary = [{"type": "summary_text", "text": f"thought {n}"}] if kind == "thought" else []
        return [{"type": "reasoning", "id": f"rs_{n}", "summary": summary, "encrypted_content": signed(n)}]
    content = [{"type": "output_text", "text": f"text {n}", "annotations": []}]
    return [{"type": "message", "id": f"msg_{n}", "status": "completed", "role": "assistant", "content": content}]


def of_gemini(kind: str, n: int) -> list[Node]:
    if kind == "code":
        code = {"executableCode": {"language": "PYTHON", "code": f"print({n})"}, "thoughtSignature": signed(n)}
        return [code, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": f"{n}"}}]
    if kind == "picture":
        return [{"inlineData": {"mimeType": "image/png", "data": PIXEL}, "thoughtSignature": signed(n)}]
    thought = {"thought": True} if kind == "thought" else {}
    return [{"text": f"text {n}", **thought, "thoughtSignature": signed(n)}]


def of_interactions(kind: str, n: int) -> list[Node]:
    if kind == "search":
        call = {"type": "google_search_call", "id": f"g{n}", "arguments": {"queries": [f"q{n}"]}}
        found = {"type": "google_search_result", "call_id": f"g{n}", "result": [{"search_suggestions": f"<b>{n}</b>"}]}
        return [{**call, "signature": signed(n)}, {**found, "signature": signed(n + 1000)}]
    if kind == "code":
        call = {
            "type": "code_execution_call",
            "id": f"c{n}",
            "arguments": {"language": "python", "code": f"print({n})"},
        }
        return [call, {"type": "code_execution_result", "call_id": f"c{n}", "result": f"{n}", "signature": signed(n)}]
    if kind in ("thought", "hidden"):
        summary = {"summary": [{"type": "text", "text": f"thought {n}"}]} if kind == "thought" else {}
        return [{"type": "thought", "signature": signed(n), **summary}]
    picture = [{"type": "image", "data": PIXEL, "mime_type": "image/png"}] if kind == "picture" else []
    return [{"type": "model_output", "content": [*picture, {"type": "text", "text": f"text {n}"}]}]


def message(blocks: list[Node]) -> Node:
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks}
    return {**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def candidate(parts: list[Node]) -> Node:
    said = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {"candidates": [said], "modelVersion": "m", "responseId": "r"}


def answer_of_openai(items: list[Node]) -> Node:
    return {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": items}


def interaction(found: list[Node]) -> Node:
    return {"id": "i", "object": "interaction", "status": "completed", "model": "m", "steps": found}


MADE: dict[str, tuple[Callable[[str, int], list[Node]], Callable[[list[Node]], Node], Callable[[Node], Any]]] = {
    # provider: its pieces by kind, the answer they make, and where they are in the next request
    "anthropic-messages": (of_claude, message, lambda request: request["messages"][-1]["content"]),
    "openai-responses": (of_openai, answer_of_openai, lambda request: request["input"][1:]),
    "google-generate-content": (of_gemini, candidate, lambda request: request["contents"][-1]["parts"]),
    "google-interactions": (of_interactions, interaction, lambda request: request["input"][1:]),
}
OTHERS = st.lists(st.sampled_from(("thought", "search", "advisor", "hidden", "picture", "text")), max_size=3)
KINDS = st.builds(lambda before, after: [*before, "code", *after], OTHERS, OTHERS)
"""What an answer may hold; other surfaces have no form for a run of code that the provider would know as its own."""
HOMES = [(provider, surface) for provider, surface in HOPS if provider in MADE]


def pieces(provider: str, kinds: list[str]) -> list[Node]:
    """What an answer holds: a thought first, text last, and between them what else there is and a run of code."""
    make = MADE[provider][0]
    return [piece for number, kind in enumerate(["thought", *kinds, "text"], 1) for piece in make(kind, number)]


@pytest.mark.parametrize("how", ["secret", "vault"])
@pytest.mark.parametrize(("provider", "surface"), HOMES)
@given(kinds=KINDS)
@settings(max_examples=examples(12), deadline=None)
def test_what_stands_between_signed_pieces_returns(provider: str, surface: str, how: str, kinds: list[str]) -> None:
    _, answer, at = MADE[provider]
    wanted = pieces(provider, kinds)
    kept: dict[str, Any] = {"secret": "the secret of the test"} if how == "secret" else {"vault": ul.MemoryVault()}
    exchange = ul.convert(ASKED[surface], source=surface, target=provider, **kept).exchange
    told = ul.convert(answer(wanted), source=provider, target=surface, kind="response", exchange=exchange, **kept)
    held = HISTORY[surface](told.value)
    # A vault is for clients that do not return envelopes. Repair would leave out reasoning that nothing follows.
    back = held if how == "secret" else forget(held)
    home = ul.convert(back, source=surface, target=provider, repair="never", **kept).value
    assert at(home) == wanted


@pytest.mark.parametrize(("provider", "surface"), HOMES)
@given(kinds=KINDS)
@settings(max_examples=examples(12), deadline=None)
def test_no_other_provider_gets_what_was_signed(provider: str, surface: str, kinds: list[str]) -> None:
    _, answer, _ = MADE[provider]
    wanted = pieces(provider, kinds)
    told = ul.convert(answer(wanted), source=provider, target=surface, kind="response", secret="the secret of the test")
    held = HISTORY[surface](told.value)
    for other in PROTOCOLS:
        if other not in (provider, surface):
            sent = ul.convert(held, source=surface, target=other, secret="the secret of the test").value
            text = dumps(sent)
            assert not [n for n in range(1, 1020) if signed(n) in text]
            assert not any(is_sealed(value) for _, value in leaves(sent))
