"""Gemini generateContent and streamGenerateContent: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.engine.adapter import CARRIED, Adapter, Framing, Kind, Paging, Route, Streams
from unified_llm.passes.repair import Rules

from ..constants import CONSTANTS
from .calls import calls_and_results as calls
from .calls import hosted
from .errors import read_error, write_error
from .files import CACHES, FILE_ROUTES, FILES, UPLOAD_MARK
from .models import models, read_model_list, write_model_list
from .request.counting import read_count, read_count_request, write_count, write_count_request
from .request.document import read_request, write_request
from .request.route import SSE
from .response import read_response, write_response
from .schema import SCHEMAS
from .stream.reader import GenerateContentReader
from .stream.writer import GenerateContentWriter
from .tools import hosted as hosted_tools
from .tools import retrieval
from .tools.functions import tools
from .turns.contents import items, parts
from .values.tables import FORMS, NATIVES, PROTOCOL, REFUSES
from .values.usage import usage_of

__all__ = ["adapter"]

# Importing these declares calls and results among the items, and the tools of the provider.
_DECLARING = (calls, hosted, hosted_tools, retrieval)
_VERTEX = "projects/{project}/locations/{location}/publishers/{publisher}/"
# A chunk of a stream is a response of its own.
_PROOF = {"candidates": list, "promptFeedback": dict, "usageMetadata": dict}

adapter = Adapter(
    protocol=PROTOCOL,
    title="Gemini generateContent",
    url="https://ai.google.dev/api/generate-content",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider", ("contents",)),
        "response": Kind(
            read_response,
            write_response,
            "response",
            signs=("candidates", "promptFeedback", "usageMetadata", "error"),
            proof=_PROOF,
        ),
        "error": Kind(read_error, write_error, "error", signs=("error",)),
        "count_tokens_request": Kind(read_count_request, write_count_request, "request", "provider"),
        "count_tokens_response": Kind(read_count, write_count, "usage"),
        "models": Kind(read_model_list, write_model_list, "models"),
    },
    streams=Streams(
        GenerateContentReader,
        GenerateContentWriter,
        Framing(named=False, array="application/json", sse=SSE),
        proof=_PROOF,
        # @google/generative-ai, Genkit, LlamaIndex.TS and Ax take what came before an error for the whole answer.
        breaks=True,
    ),
    mappings=(parts, items, tools, models),
    natives=NATIVES,
    forms=FORMS,
    narrows={"blockingConfidence": "web_search", "blocking_confidence": "web_search"},
    refuses=REFUSES,
    routes=tuple(
        route
        for prefix in ("", "publishers/{publisher}/", _VERTEX)
        for route in (
            Route("POST", prefix + "models/{model}:generateContent", "request", False),
            Route("POST", prefix + "models/{model}:streamGenerateContent", "request", True),
            Route("POST", prefix + "models/{model}:countTokens", "count_tokens_request", False),
            Route("GET", prefix + "models", "models"),
            Route("GET", prefix + "models/{model}", "models"),
        )
    )
    + (
        Route("POST", "tunedModels/{model}:generateContent", "request", False),
        Route("POST", "tunedModels/{model}:streamGenerateContent", "request", True),
        # The AI SDK takes a name with a slash for the whole path of a resource.
        Route("POST", "{model}:generateContent", "request", False),
        Route("POST", "{model}:streamGenerateContent", "request", True),
        Route("POST", "{model}:countTokens", "count_tokens_request", False),
    )
    + FILE_ROUTES,
    files=FILES,
    caches=CACHES,
    # https://ai.google.dev/api/models#method:-models.list
    paging=Paging("pageSize", "pageToken", "nextPageToken", 1000),
    auth=(("x-goog-api-key", "{}"), ("authorization", "Bearer {}")),
    marks=("x-goog-api-key", "x-goog-api-client", UPLOAD_MARK),
    roots=("v1beta", "v1alpha"),
    entries="models",
    clients={"google.genai": "unified_llm_google.sdk_client:upstream"},
    usage=usage_of,
    sdk={
        "response": "google.genai.types:GenerateContentResponse",
        "stream": "google.genai.types:GenerateContentResponse",
        "count_tokens_response": "google.genai.types:CountTokensResponse",
    },
    sdk_extra="google",
    schemas=SCHEMAS,
    # `openapi`: servers and models from before JSON schemas were taken.
    constants=CONSTANTS,
    family="google",
    merges=True,
    operation="generate_content",
    carries=CARRIED | {"compaction"},
    chosen=frozenset(("function", "custom")),
    # `Chat.send_message_stream` of google-genai keeps each chunk of an answer as a content of its own.
    pieces=True,
    # https://ai.google.dev/gemini-api/docs/function-calling https://ai.google.dev/api/caching#Content
    repair=Rules(
        paired=True,
        adjacent=True,
        ordered=True,
        one_turn="all",
        named=True,
        elsewhere=frozenset(("cached_content",)),
        opens="call",
        closes="asked",
        alternates=True,
        system="user",
        blank="empty",
        filled=True,
    ),
    dialects={"vertex": {"publishers": True, "lacks": ("store", "fileSearch")}, "openapi": {"schemas": "openapi"}},
    declared={
        "request": "google.genai.types:GenerateContentParameters",
        "response": "google.genai.types:GenerateContentResponse",
    },
)
