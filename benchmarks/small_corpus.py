"""A small corpus made in the shape of recordings: many short documents, each with something of its own protocol.

Recorded traffic is short (half of the requests have less than 1 KB), and nearly every document has one thing that most
others have not: a null, an explicit default, an unknown key, an image, a signature. The speed of conversions on one
large agent request shows little of it. Nothing here was recorded, and no document is another one converted.
"""

from __future__ import annotations

from benchmarks.answers import chat_stream, generate_stream, interactions_stream, messages_stream, responses_stream
from benchmarks.documents import CHAT, GENERATE, INTERACTIONS, MESSAGES, RESPONSES, Json, words

__all__ = ["ANSWERS", "REQUESTS", "SMALLEST", "STREAMS"]

SMALLEST: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

_SCHEMA: Json = {
    "type": "object",
    "properties": {"section": {"type": "string", "description": "part of the station"}, "limit": {"type": "integer"}},
    "required": ["section"],
}
_NAME, _SAYS = "list_sensors", "List the sensors installed in one part of the station."
_ASKED, _GIVEN = '{"section":"north stair"}', '["thermometer","tide gauge"]'
_SYSTEM = "You keep the books of a lighthouse. Answer shortly."
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_PROOF = "CsQBAb4+9vsHc3VwcG9zZWRseSBzaWduZWQgYnkgc29tZWJvZHk=" * 3
_CALL = "call_1Zr7vTq0aB3xYz9KpLmW4u7c"


def _function(**more: object) -> Json:
    return {"name": _NAME, "description": _SAYS, "parameters": _SCHEMA, **more}


# --- Chat Completions ------------------------------------------------------------------------------------------------

_CHAT_TOOL: Json = {"type": "function", "function": _function()}
_CHAT_CALL: Json = {"id": _CALL, "type": "function", "function": {"name": _NAME, "arguments": _ASKED}}


def _chat(*messages: Json, **settings: object) -> Json:
    return {"messages": [*messages], "model": "gpt-5.5-mini", **settings}


def _says(role: str, content: object, **more: object) -> Json:
    return {"role": role, "content": content, **more}


_CHAT_REQUESTS = [
    _chat(_says("user", "Say this is a test."), stream=False),
    _chat(_says("user", words(1, 1)), n=1, stream=True, stream_options={"include_usage": True}),
    _chat(_says("system", _SYSTEM), _says("user", words(2, 2)), temperature=0.2, max_tokens=256, top_p=1),
    _chat(_says("user", "Which sensors?"), n=1, stream=False, tools=[_CHAT_TOOL], tool_choice="auto"),
    _chat(
        _says("user", "Which sensors?"),
        tools=[{"type": "function", "function": _function(strict=True)}],
        tool_choice={"type": "function", "function": {"name": _NAME}},
        parallel_tool_calls=False,
    ),
    _chat(
        _says("system", _SYSTEM), _says("user", "Which sensors?"),
        _says("assistant", None, tool_calls=[_CHAT_CALL], refusal=None, annotations=[]),
        _says("tool", _GIVEN, tool_call_id=_CALL),
        tools=[_CHAT_TOOL], stream=True,
    ),
    _chat(
        _says("user", [
            {"type": "text", "text": "What is in the image?"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}},
        ]),
        max_completion_tokens=300,
    ),
    _chat(
        _says("user", words(3, 1)),
        response_format={"type": "json_schema", "json_schema": {"name": "row", "schema": _SCHEMA, "strict": True}},
        seed=7,
    ),
    _chat(
        _says("user", "Hi"), _says("assistant", words(4, 2)), _says("user", "And the tide?"),
        reasoning_effort="low", station_mood="calm",
    ),
]  # fmt: skip


def _chat_usage(sent: int, made: int) -> Json:
    return {
        "prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    }  # fmt: skip


def _chat_answer(message: Json, finish: str, **more: object) -> Json:
    return {
        "id": "chatcmpl-0a6bb9db7c31ec1d016a5c0a66b8c", "object": "chat.completion", "created": 1_790_000_000,
        "model": "gpt-5.5-mini-2026-08-01",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": _chat_usage(31, 18), "service_tier": "default", **more,
    }  # fmt: skip


_CHAT_ANSWERS = [
    _chat_answer(_says("assistant", "This is a test.", refusal=None, annotations=[]), "stop", system_fingerprint=None),
    _chat_answer(_says("assistant", words(5, 3), refusal=None, annotations=[]), "stop", system_fingerprint="fp_1a2b"),
    _chat_answer(_says("assistant", None, tool_calls=[_CHAT_CALL], refusal=None, annotations=[]), "tool_calls"),
    _chat_answer(_says("assistant", words(6, 1), reasoning=words(7, 1)), "length", x_keeper={"id": "req_7"}),
]


# --- Responses -------------------------------------------------------------------------------------------------------

_FLAT_TOOL: Json = {"type": "function", **_function(strict=True)}
_FLAT_CALL: Json = {
    "type": "function_call", "id": "fc_0a6bb9db7c31ec1d", "call_id": _CALL, "name": _NAME, "arguments": _ASKED,
    "status": "completed",
}  # fmt: skip
_OUTPUT: Json = {"type": "function_call_output", "call_id": _CALL, "output": _GIVEN}
_THOUGHT: Json = {
    "type": "reasoning", "id": "rs_0a6bb9db7c31ec1d", "summary": [], "encrypted_content": _PROOF,
}  # fmt: skip


def _responses(given: object, **settings: object) -> Json:
    return {"input": given, "model": "gpt-5.5", **settings}


_RESPONSES_REQUESTS = [
    _responses("Say this is a test.", stream=False),
    _responses([_says("user", words(1, 1))], stream=True, store=False, include=["reasoning.encrypted_content"]),
    _responses([_says("user", words(2, 2))], instructions=_SYSTEM, temperature=0.2, max_output_tokens=256),
    _responses([_says("user", "Which sensors?")], tools=[_FLAT_TOOL], tool_choice="auto", stream=False),
    _responses(
        [_says("user", "Which sensors?"), _THOUGHT, _FLAT_CALL, _OUTPUT],
        tools=[_FLAT_TOOL], include=["reasoning.encrypted_content"], reasoning={"effort": "low", "summary": "auto"},
    ),
    _responses([
        _says("user", [
            {"type": "input_text", "text": "What is in the image?"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXEL}", "detail": "auto"},
        ]),
    ]),
    _responses(
        words(3, 1), parallel_tool_calls=True, metadata={"keeper": "second"}, truncation="disabled",
        text={"format": {"type": "json_schema", "name": "row", "schema": _SCHEMA, "strict": True}},
    ),
    _responses(
        [_says("user", "Hi"), {
            "type": "message", "id": "msg_0a6bb9db7c31ec1d", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": words(4, 2), "annotations": [], "logprobs": []}],
        }, _says("user", "And the tide?")],
        tools=[{"type": "web_search"}],
    ),
]  # fmt: skip


def _responses_answer(*output: Json, **more: object) -> Json:
    return {
        "id": "resp_0a6bb9db7c31ec1d016a5c0a66b8cc81", "object": "response", "created_at": 1_790_000_000,
        "status": "completed", "background": False, "error": None, "incomplete_details": None, "instructions": None,
        "max_output_tokens": None, "max_tool_calls": None, "model": "gpt-5.5-2026-08-01", "output": [*output],
        "parallel_tool_calls": True, "previous_response_id": None, "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None}, "safety_identifier": None, "service_tier": "default",
        "store": True, "temperature": 1.0, "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto", "tools": [], "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled",
        "usage": {
            "input_tokens": 31, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 18,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 49,
        },
        "user": None, "metadata": {}, **more,
    }  # fmt: skip


def _responses_message(text: str) -> Json:
    return {
        "id": "msg_0a6bb9db7c31ec1d", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}],
    }  # fmt: skip


_RESPONSES_ANSWERS = [
    _responses_answer(_responses_message("This is a test.")),
    _responses_answer(_THOUGHT, _responses_message(words(5, 3)), reasoning={"effort": "low", "summary": "detailed"}),
    _responses_answer(_THOUGHT, _FLAT_CALL, tools=[_FLAT_TOOL]),
    _responses_answer(
        _responses_message(words(6, 1)), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    ),
]


# --- Messages --------------------------------------------------------------------------------------------------------

_BLOCK_TOOL: Json = {"name": _NAME, "description": _SAYS, "input_schema": _SCHEMA}
_USE = "toolu_01A09q90qw90lq917835lq9"
_BLOCK_CALL: Json = {"type": "tool_use", "id": _USE, "name": _NAME, "input": {"section": "north stair"}}


def _messages(*messages: Json, **settings: object) -> Json:
    return {"max_tokens": 1024, "messages": [*messages], "model": "claude-opus-4-7", **settings}


def _text(text: str, **more: object) -> Json:
    return {"type": "text", "text": text, **more}


_MESSAGES_REQUESTS = [
    _messages(_says("user", "Say this is a test."), stream=False),
    _messages(_says("user", [_text(words(1, 1))]), stream=True, temperature=0.2),
    _messages(_says("user", words(2, 2)), system=_SYSTEM, metadata={"user_id": "keeper-2"}),
    _messages(_says("user", [_text("Which sensors?")]), tools=[_BLOCK_TOOL], tool_choice={"type": "auto"}, stream=True),
    _messages(
        _says("user", [_text("Which sensors?")]),
        _says("assistant", [_text("I look."), _BLOCK_CALL]),
        _says("user", [{"type": "tool_result", "tool_use_id": _USE, "content": [_text(_GIVEN)], "is_error": False}]),
        system=[_text(_SYSTEM, cache_control={"type": "ephemeral"})], tools=[_BLOCK_TOOL],
    ),
    _messages(
        _says("user", [_text("Which sensors?")]),
        _says("assistant", [{"type": "thinking", "thinking": words(7, 1), "signature": _PROOF}, _BLOCK_CALL]),
        _says("user", [{"type": "tool_result", "tool_use_id": _USE, "content": _GIVEN}]),
        tools=[_BLOCK_TOOL], thinking={"type": "enabled", "budget_tokens": 1024}, stream=True, max_tokens=4096,
    ),
    _messages(
        _says("user", [
            _text("What is in the image?"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}},
        ]),
    ),
    _messages(
        _says("user", "Hi"), _says("assistant", words(4, 2)), _says("user", "And the tide?"),
        tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}], station_mood="calm",
    ),
]  # fmt: skip


def _messages_answer(*content: Json, stop: str = "end_turn", **more: object) -> Json:
    return {
        "model": "claude-opus-4-7", "id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
        "content": [*content], "stop_reason": stop, "stop_sequence": None,
        "usage": {
            "input_tokens": 31, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 18, "service_tier": "standard", "inference_geo": "not_available",
        },
        **more,
    }  # fmt: skip


_MESSAGES_ANSWERS = [
    _messages_answer(_text("This is a test.")),
    _messages_answer(_text(words(5, 3)), stop_details=None),
    _messages_answer({"type": "thinking", "thinking": words(7, 1), "signature": _PROOF}, _BLOCK_CALL, stop="tool_use"),
    _messages_answer(_text(words(6, 1)), stop="max_tokens", context_management={"applied_edits": []}),
]


# --- generateContent -------------------------------------------------------------------------------------------------


def _turn(role: str, *parts: Json) -> Json:
    return {"parts": [*parts], "role": role}


def _generate(*contents: Json, **settings: object) -> Json:
    return {"contents": [*contents], "generationConfig": {}, **settings}


_GOOGLE_TOOL: Json = {"functionDeclarations": [_function()]}
_GOOGLE_CALL: Json = {"functionCall": {"name": _NAME, "args": {"section": "north stair"}}, "thoughtSignature": _PROOF}

_GENERATE_REQUESTS = [
    _generate(_turn("user", {"text": "Say this is a test."})),
    _generate(_turn("user", {"text": words(1, 1)}), generationConfig={"temperature": 0.2, "maxOutputTokens": 256}),
    _generate(_turn("user", {"text": words(2, 2)}), systemInstruction=_turn("user", {"text": _SYSTEM})),
    _generate(
        _turn("user", {"text": "Which sensors?"}), tools=[_GOOGLE_TOOL],
        toolConfig={"functionCallingConfig": {"mode": "AUTO"}},
    ),
    _generate(
        _turn("user", {"text": "Which sensors?"}), _turn("model", _GOOGLE_CALL),
        _turn("user", {"functionResponse": {"name": _NAME, "response": {"result": _GIVEN}}}),
        tools=[_GOOGLE_TOOL], generationConfig={"thinkingConfig": {"includeThoughts": True}},
    ),
    _generate(_turn(
        "user", {"text": "What is in the image?"}, {"inlineData": {"mimeType": "image/png", "data": _PIXEL}},
    )),
    _generate(
        _turn("user", {"text": words(3, 1)}),
        generationConfig={"responseMimeType": "application/json", "responseJsonSchema": _SCHEMA, "topP": 0.9},
    ),
    _generate(
        _turn("user", {"text": "Hi"}), _turn("model", {"text": words(4, 2)}), _turn("user", {"text": "And the tide?"}),
        tools=[{"googleSearch": {}}], labels={"keeper": "second"},
    ),
]  # fmt: skip


def _generate_answer(*parts: Json, finish: str = "STOP", **more: object) -> Json:
    return {
        "candidates": [
            {"content": _turn("model", *parts), "finishReason": finish, "index": 0, "avgLogprobs": -0.1, **more}
        ],
        "usageMetadata": {
            "promptTokenCount": 31, "candidatesTokenCount": 18, "totalTokenCount": 61, "thoughtsTokenCount": 12,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 31}],
            "candidatesTokensDetails": [{"modality": "TEXT", "tokenCount": 18}],
        },
        "modelVersion": "gemini-3-pro-preview", "responseId": "z3ShaY5T5aWDxQ-93o7xBw",
    }  # fmt: skip


_GENERATE_ANSWERS = [
    _generate_answer({"text": "This is a test."}),
    _generate_answer({"text": words(7, 1), "thought": True}, {"text": words(5, 3), "thoughtSignature": _PROOF}),
    _generate_answer(_GOOGLE_CALL),
    _generate_answer({"text": words(6, 1)}, finish="MAX_TOKENS"),
]


# --- Interactions ----------------------------------------------------------------------------------------------------


def _interaction(given: object, **settings: object) -> Json:
    return {"model": "gemini-3-pro-preview", "input": given, **settings}


_STEP_CALL: Json = {
    "type": "function_call", "id": "zd8dk1u2", "name": _NAME, "arguments": {"section": "north stair"},
    "signature": _PROOF,
}  # fmt: skip
_INTERACTIONS_REQUESTS = [
    _interaction("Say this is a test."),
    _interaction(words(1, 1), stream=True, generation_config={"temperature": 0.2}),
    _interaction([_text(words(2, 2))], system_instruction=_SYSTEM),
    _interaction("Which sensors?", tools=[{"type": "function", **_function()}]),
    _interaction(
        [
            {"type": "user_input", "content": [_text("Which sensors?")]},
            _STEP_CALL,
            {"type": "function_result", "call_id": "zd8dk1u2", "name": _NAME, "result": _GIVEN},
        ],
        tools=[{"type": "function", **_function()}],
    ),
    _interaction([_text("What is in the image?"), {"type": "image", "data": _PIXEL, "mime_type": "image/png"}]),
]


def _interaction_answer(*steps: Json, **more: object) -> Json:
    return {
        "id": "v1_ChdNMGNOYXB2UEhkSFF2ZElQd1pUdzJBVRIX", "status": "completed",
        "usage": {
            "total_tokens": 61, "total_input_tokens": 31,
            "input_tokens_by_modality": [{"modality": "text", "tokens": 31}],
            "total_cached_tokens": 0, "total_output_tokens": 18, "total_tool_use_tokens": 0, "total_thought_tokens": 12,
        },
        "created": "2026-10-05T14:46:04Z", "updated": "2026-10-05T14:46:04Z", "service_tier": "standard",
        "steps": [*steps], "object": "interaction", "model": "gemini-3-pro-preview", **more,
    }  # fmt: skip


_INTERACTIONS_ANSWERS = [
    _interaction_answer({"type": "model_output", "content": [_text("This is a test.")]}),
    _interaction_answer(
        {"type": "thought", "signature": _PROOF}, {"type": "model_output", "content": [_text(words(5, 3))]}
    ),
    _interaction_answer({"type": "thought", "signature": _PROOF}, _STEP_CALL, status="requires_action"),
]

REQUESTS: dict[str, list[Json]] = {
    CHAT: _CHAT_REQUESTS,
    RESPONSES: _RESPONSES_REQUESTS,
    MESSAGES: _MESSAGES_REQUESTS,
    GENERATE: _GENERATE_REQUESTS,
    INTERACTIONS: _INTERACTIONS_REQUESTS,
}
ANSWERS: dict[str, list[Json]] = {
    CHAT: _CHAT_ANSWERS,
    RESPONSES: _RESPONSES_ANSWERS,
    MESSAGES: _MESSAGES_ANSWERS,
    GENERATE: _GENERATE_ANSWERS,
    INTERACTIONS: _INTERACTIONS_ANSWERS,
}
STREAMS: dict[str, list[list[Json]]] = {
    CHAT: [chat_stream(size) for size in (12, 35, 110)],
    RESPONSES: [responses_stream(size) for size in (18, 35, 110)],
    MESSAGES: [messages_stream(size) for size in (18, 35, 110)],
    GENERATE: [generate_stream(size) for size in (3, 12, 35)],
    INTERACTIONS: [interactions_stream(size) for size in (18, 35, 110)],
}
"""About as short as recorded ones, half of which have fewer than twenty events."""
