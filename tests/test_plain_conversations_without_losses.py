"""Plain text and tool calls lose nothing, in any of the 30 pairs: requests, answers and streams.

Once with the required arguments alone, as official SDKs send them, and once with every setting written out at the
default that its API documents.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import pairs

Node = dict[str, Any]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ARGUMENTS = '{"city":"Oslo"}'
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
CONVERSE = "amazon-converse"

ASKED: dict[str, Node] = {
    CHAT: {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Oslo?"},
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            {"role": "assistant", "content": "It is sunny."},
            {"role": "user", "content": "Thanks. And tomorrow?"},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "description": "W", "parameters": SCHEMA}}],
    },
    RESPONSES: {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Weather in Oslo?"},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": ARGUMENTS},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            {"role": "assistant", "content": "It is sunny."},
            {"role": "user", "content": "Thanks. And tomorrow?"},
        ],
        "tools": [
            {"type": "function", "name": "weather", "description": "W", "parameters": SCHEMA, "strict": False},
        ],
    },
    MESSAGES: {
        "model": "m",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Weather in Oslo?"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
            {"role": "assistant", "content": "It is sunny."},
            {"role": "user", "content": "Thanks. And tomorrow?"},
        ],
        "tools": [{"name": "weather", "description": "W", "input_schema": SCHEMA}],
    },
    GENERATE: {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Oslo?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "weather", "response": {"result": "sunny"}}}],
            },
            {"role": "model", "parts": [{"text": "It is sunny."}]},
            {"role": "user", "parts": [{"text": "Thanks. And tomorrow?"}]},
        ],
        "tools": [
            {"functionDeclarations": [{"name": "weather", "description": "W", "parametersJsonSchema": SCHEMA}]},
        ],
    },
    INTERACTIONS: {
        "model": "m",
        "system_instruction": "Be brief.",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
            {"type": "function_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
            {"type": "function_result", "call_id": "c1", "name": "weather", "result": "sunny"},
            {"type": "model_output", "content": [{"type": "text", "text": "It is sunny."}]},
            {"type": "user_input", "content": [{"type": "text", "text": "Thanks. And tomorrow?"}]},
        ],
        "tools": [{"type": "function", "name": "weather", "description": "W", "parameters": SCHEMA}],
    },
    CONVERSE: {
        "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Weather in Oslo?"}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}}],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "sunny"}]}}]},
            {"role": "assistant", "content": [{"text": "It is sunny."}]},
            {"role": "user", "content": [{"text": "Thanks. And tomorrow?"}]},
        ],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "weather", "description": "W", "inputSchema": {"json": SCHEMA}}}],
        },
    },
}

DEFAULTS: dict[str, Node] = {
    CHAT: {
        "n": 1,
        "temperature": 1,
        "top_p": 1,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        "logprobs": False,
        "store": False,
        "parallel_tool_calls": True,
        "service_tier": "auto",
        "modalities": ["text"],
        "verbosity": "medium",
        "response_format": {"type": "text"},
        "stream": False,
        "tool_choice": "auto",
        "logit_bias": {},
        "metadata": {},
    },
    RESPONSES: {
        "temperature": 1,
        "top_p": 1,
        "background": False,
        "parallel_tool_calls": True,
        "service_tier": "auto",
        "truncation": "disabled",
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "stream": False,
        "store": True,
        "tool_choice": "auto",
        "include": [],
        "metadata": {},
    },
    MESSAGES: {
        "temperature": 1,
        "service_tier": "auto",
        "stream": False,
        "stop_sequences": [],
        "metadata": {},
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
    },
    GENERATE: {
        "generationConfig": {
            "candidateCount": 1,
            "presencePenalty": 0,
            "frequencyPenalty": 0,
            "responseLogprobs": False,
            "responseMimeType": "text/plain",
            "responseModalities": ["TEXT"],
            "stopSequences": [],
        },
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    },
    INTERACTIONS: {
        "background": False,
        "store": True,
        "stream": False,
        "response_modalities": ["text"],
        "generation_config": {"stop_sequences": [], "tool_choice": "auto"},
    },
    CONVERSE: {
        "inferenceConfig": {"stopSequences": []},
        "toolConfig": {**ASKED[CONVERSE]["toolConfig"], "toolChoice": {"auto": {}}},
        "performanceConfig": {"latency": "standard"},
        "serviceTier": {"type": "default"},
        "requestMetadata": {},
    },
}

KEPT = "/store"
"""A default that is a promise others do not keep: APIs without the setting keep nothing (decision 0027)."""

USAGE: dict[str, Node] = {
    CHAT: {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    RESPONSES: {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 5,
    },
    MESSAGES: {"input_tokens": 3, "output_tokens": 2},
    GENERATE: {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
    INTERACTIONS: {"total_input_tokens": 3, "total_output_tokens": 2, "total_tokens": 5},
    CONVERSE: {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
OUTPUT = [
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "status": "completed",
        "call_id": "c1",
        "name": "weather",
        "arguments": ARGUMENTS,
    },
]

ANSWERED: dict[str, Node] = {
    CHAT: {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "I look.", "refusal": None, "tool_calls": [CALL]},
                "finish_reason": "tool_calls",
                "logprobs": None,
            }
        ],
        "usage": USAGE[CHAT],
    },
    RESPONSES: {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": OUTPUT,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": USAGE[RESPONSES],
    },
    MESSAGES: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": USAGE[MESSAGES],
    },
    GENERATE: {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "I look."},
                        {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
                    ],
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": USAGE[GENERATE],
        "modelVersion": "m",
        "responseId": "r1",
    },
    INTERACTIONS: {
        "id": "i1",
        "object": "interaction",
        "status": "requires_action",
        "model": "m",
        "created": "2026-01-01T00:00:00Z",
        "updated": "2026-01-01T00:00:00Z",
        "steps": [
            {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
            {"type": "function_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
        ],
        "usage": USAGE[INTERACTIONS],
    },
    CONVERSE: {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": USAGE[CONVERSE],
        "metrics": {"latencyMs": 5},
    },
}


def lost(losses: Any) -> list[tuple[str, str]]:
    return [(loss.path, loss.detail) for loss in losses if loss.fate == "lost"]


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("request"))
def test_a_plain_request_loses_nothing(source: str, target: str, _kind: str) -> None:
    assert lost(ul.convert(ASKED[source], source=source, target=target).losses) == []


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("request"))
def test_a_plain_request_with_all_defaults_loses_nothing(source: str, target: str, _kind: str) -> None:
    done = ul.convert({**ASKED[source], **DEFAULTS[source]}, source=source, target=target)
    assert [entry for entry in lost(done.losses) if entry[0] != KEPT] == []


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("response"))
def test_a_plain_answer_loses_nothing(source: str, target: str, _kind: str) -> None:
    assert lost(ul.convert(ANSWERED[source], source=source, target=target, kind="response").losses) == []


@pytest.mark.parametrize(("source", "target", "_kind"), pairs("response"))
def test_a_plain_answer_as_a_stream_loses_nothing(source: str, target: str, _kind: str) -> None:
    canonical = ul.read(ANSWERED[source], source, "response")
    events = list(ul.write_stream(ul.decompose(canonical), source))
    stream = ul.convert_stream(events, source=source, target=target)
    assert list(stream)
    assert lost(stream.losses) == []
