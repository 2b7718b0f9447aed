"""OpenAI Chat Completions: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.engine.adapter import Adapter, Framing, Kind, Route, Streams
from unified_llm.passes.repair import Rules

from ..dialects import Dialects
from .errors import read_error, write_error
from .models import models, read_models, write_models
from .parts.content import assistant_parts, citations, pictures, thinking_parts, user_parts
from .request.demands import refused_images
from .request.document import read_request, write_request
from .response import read_response, write_response
from .schema import SCHEMAS
from .stream.reader import ChatReader
from .stream.writer import ChatWriter
from .tools import calls, tools
from .turns.answer_message import answer_parts
from .values.tables import CONSTANTS, FORMS, NATIVES, REFUSES, REQUEST, RESPONSE
from .values.usage import usage_of

__all__ = ["adapter"]

adapter = Adapter(
    protocol="openai-chat",
    title="OpenAI Chat Completions",
    url="https://platform.openai.com/docs/api-reference/chat",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider", ("messages",)),
        "response": Kind(
            read_response,
            write_response,
            "response",
            signs=("choices", "error"),
            mark=("object", "chat.completion"),
            proof={"choices": {"message": dict, "error": dict}, "object": ("chat.completion.",)},
            errors=(("error",), ("choices", 0, "error")),
        ),
        "error": Kind(read_error, write_error, "error", signs=("error",)),
        "models": Kind(read_models, write_models, "models"),
    },
    streams=Streams(
        ChatReader,
        ChatWriter,
        Framing(named=False),
        proof={
            "choices": {"delta": dict, "message": dict, "finish_reason": str, "error": dict},
            "object": ("chat.completion",),
        },
        opening=frozenset(("id", "created_at", "model", "service_tier")),
        usage="",
    ),
    mappings=(user_parts, assistant_parts, thinking_parts, answer_parts, citations, pictures, calls, tools, models),
    by_hand=frozenset(("message", "reasoning", "function_call_output", "custom_tool_call_output")),
    settings={"request": REQUEST, "response": RESPONSE},
    natives=NATIVES,
    forms=FORMS,
    refuses=REFUSES,
    routes=(
        Route("POST", "chat/completions", "request"),
        Route("GET", "chat/completions/{id}", "response"),
        Route("POST", "chat/completions/{id}", "response"),
        Route("DELETE", "chat/completions/{id}", "response"),
        Route("GET", "models", "models"),
        Route("GET", "models/{model}", "models"),
    ),
    auth=(("authorization", "Bearer {}"), ("api-key", "{}")),
    streaming={"stream_options": {"include_usage": True}},
    clients={"openai": "unified_llm_openai.sdk_client:upstream"},
    usage=usage_of,
    sdk={
        "response": "openai.types.chat:ChatCompletion",
        "stream": "openai.types.chat:ChatCompletionChunk",
    },
    sdk_extra="openai",
    origin=("protocol", "provider", "scope"),
    # Gemini's endpoint of this protocol: https://ai.google.dev/gemini-api/docs/thought-signatures
    constants=CONSTANTS,
    family="openai",
    joins=True,
    schemas=SCHEMAS,
    chosen=frozenset(("function", "custom")),
    # https://platform.openai.com/docs/guides/function-calling
    repair=Rules(
        paired=True,
        adjacent=True,
        one_turn="calls",
        by_name="text",
        images=refused_images,
        name_form="[a-zA-Z0-9_-]{1,64}",
    ),
    dialects=Dialects("chat"),
    declared={
        "request": "openai.types.chat.completion_create_params:CompletionCreateParams",
        "response": "openai.types.chat:ChatCompletion",
        "chunk": "openai.types.chat:ChatCompletionChunk",
    },
)
