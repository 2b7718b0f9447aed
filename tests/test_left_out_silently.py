"""An unknown key of what a target cannot be sent is in the report: of blank messages, strays, copies, openings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GEMINI, INTERACTIONS = "google-generate-content", "google-interactions"


def said(text: Any, role: str = "user", **more: Any) -> Node:
    return {"type": "message", "role": role, "content": text, **more}


def call(zz: int) -> Node:
    return {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "zz": zz}


def result(zz: int) -> Node:
    return {"type": "function_call_output", "call_id": "c", "output": "r", "zz": zz}


def step(kind: str, *texts: str, **more: Any) -> Node:
    return {"type": kind, "content": [{"type": "text", "text": text, "zz": 5} for text in texts], **more}


def content(role: str, *parts: Node) -> Node:
    return {"role": role, "parts": list(parts), "zz": 6}


THERE = content("user", {"text": "x"})
TOOL_CALL = {"id": "c", "type": "function", "zz": 1, "function": {"name": "f", "arguments": "{}", "zz": 3}}
X, Y = ({"role": "user", "content": text} for text in "xy")
EMPTY = {"type": "text", "text": "", "zz": 1}
BODIES: dict[str, list[list[Node]]] = {
    RESPONSES: [
        [said("", zz=1), said("x")],
        [said([{"type": "input_text", "text": "", "zz": 1}], zz=2), said("x")],
        [said("x"), call(1)],
        [said("x"), result(1)],
        [said("x"), call(1), call(3), result(2), result(4)],
        [said("h", "assistant", zz=1), said("x", zz=2)],
        [said("x", zz=1), said("y", zz=2), said("h ", "assistant", zz=3)],
        [said("x"), said("s", "system", zz=3), said("y")],
        [said("", "system", zz=3), said("y")],
        [{"type": "reasoning", "summary": [], "zz": 3}, said("y")],
    ],
    CHAT: [
        [{"role": "user", "content": "", "zz": 1}, X],
        [{"role": "user", "content": [EMPTY], "zz": 2}, X],
        [X, {"role": "assistant", "content": None, "zz": 2, "tool_calls": [TOOL_CALL]}],
        [X, {"role": "tool", "tool_call_id": "c", "content": "r", "zz": 1}],
        [X, {"role": "assistant", "content": "", "zz": 1}, Y],
    ],
    MESSAGES: [
        [{"role": "user", "content": "", "zz": 1}, X],
        [{"role": "user", "content": [EMPTY], "zz": 2}, X],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r", "zz": 1}], "zz": 2}],
        [X, {"role": "assistant", "content": [], "zz": 1}, Y],
    ],
    GEMINI: [
        [content("user", {"text": "", "zz": 1}), THERE],
        [content("user"), THERE],
        [THERE, content("model", {"functionCall": {"name": "f", "args": {}, "zz": 1}, "zz": 2})],
        [content("model", {"text": "x"}), THERE],
    ],
    INTERACTIONS: [
        [step("user_input", "", zz=2), step("user_input", "x")],
        [step("user_input", zz=2), step("user_input", "x")],
        [step("user_input", "x"), {"type": "function_call", "id": "c", "name": "f", "arguments": {}, "zz": 1}],
        [step("model_output", "x", zz=1), step("user_input", "x")],
    ],
}  # fmt: skip
KEYS = {CHAT: "messages", MESSAGES: "messages", GEMINI: "contents"}


def unknown(value: Any, path: str = "") -> Iterator[str]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if key == "zz":
            yield f"{path}/zz"
        else:
            yield from unknown(inner, f"{path}/{key}")


@pytest.mark.parametrize(
    ("source", "number"), [(source, number) for source, bodies in BODIES.items() for number in range(len(bodies))]
)
def test_unknown_keys_of_what_is_left_out_are_reported(source: str, number: int) -> None:
    body = {"model": "m", "max_tokens": 9, KEYS.get(source, "input"): BODIES[source][number]}
    there = list(unknown(body))
    assert there
    for target in ul.protocols():
        if target != source:
            losses = ul.convert(body, source=source, target=target).losses
            named, whole = (
                {loss.path for loss in losses},
                tuple(f"{loss.path}/" for loss in losses if loss.fate == "lost"),
            )
            assert not {path for path in there if path not in named and not path.startswith(whole)}, (target, named)
