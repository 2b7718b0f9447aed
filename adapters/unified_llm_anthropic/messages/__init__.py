"""Anthropic Messages: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.engine.adapter import CARRIED, Adapter, Framing, Kind, Paging, Route, Streams, Thread
from unified_llm.engine.bridge import declare, reads, writes
from unified_llm.engine.source_places import settings_of
from unified_llm.models.profiles import shares_signature

from .blocks import after, before, blocks, cases
from .calls import client_calls, hosted, results  # noqa: F401  (they declare the pairs of `blocks`)
from .errors import RATES, read_error, write_error
from .files import FILE_ROUTES, FILES
from .mcp import servers
from .models import fill_page, models
from .parts.citations import citations
from .parts.content import answer_parts, parts
from .passes.demands import DEMANDS
from .passes.refused_thinking import amended
from .request import REQUEST, edits, read_request, write_count_request, write_request
from .response import count, read_response, write_response
from .schema import SCHEMAS
from .stream.reader import MessagesReader
from .stream.writer import MessagesWriter
from .tools import tools
from .turns import reasoning  # noqa: F401  (it declares pairs of `blocks`)
from .values.tables import FORMS, LEGACY_VERSION, NATIVES, PROTOCOL, REFUSES, REQUEST_HEADERS, RESPONSE
from .values.usage import usage_of

__all__ = ["adapter"]

declare(blocks, cases, before, after)
adapter = Adapter(
    protocol=PROTOCOL,
    title="Anthropic Messages",
    url="https://docs.claude.com/en/api/messages",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider", ("messages",)),
        "response": Kind(
            read_response,
            write_response,
            "response",
            signs=("content", "error"),
            mark=("type", "message"),
            proof={"content": list, "type": ("message",)},
        ),
        "error": Kind(read_error, write_error, "error", signs=("error",)),
        "count_tokens_request": Kind(read_request, write_count_request, "request", "provider"),
        "count_tokens_response": Kind(reads(count), writes(count), "usage"),
        "models": Kind(reads(models), writes(models, fill_page, lists=("models",)), "models"),
    },
    streams=Streams(
        MessagesReader,
        MessagesWriter,
        Framing(named=True),
        proof={"type": ("message_", "content_block_")},
        opening=frozenset(("id", "model", "service_tier", "usage")),
    ),
    mappings=(parts, answer_parts, blocks, citations, results.hits, tools, servers, edits),
    settings={"request": settings_of(REQUEST), "response": RESPONSE},
    natives=NATIVES,
    forms=FORMS,
    summaries=True,
    narrows={"mcp_toolset": "mcp", "tool_configuration": "mcp", "url_sources": "url_fetch"},
    refuses=REFUSES,
    routes=(
        Route("POST", "v1/messages", "request"),
        Route("POST", "v1/messages/count_tokens", "count_tokens_request"),
        Route("GET", "v1/models", "models"),
        Route("GET", "v1/models/{model}", "models"),
        *FILE_ROUTES,
    ),
    files=FILES,
    # https://docs.claude.com/en/api/models-list
    paging=Paging("limit", "after_id", "last_id", 1000, more="has_more", before="before_id"),
    auth=(("authorization", "Bearer {}"), ("x-api-key", "{}")),
    headers={"anthropic-version": LEGACY_VERSION},
    request_headers=REQUEST_HEADERS,
    rates=RATES,
    marks=("anthropic-version",),
    clients={"anthropic": "unified_llm_anthropic.sdk_client:upstream"},
    usage=usage_of,
    # https://docs.claude.com/en/api/beta/messages/create
    thread=Thread(
        "thread",
        "previous_message_id",
        ("system", "tools"),
        providers=("anthropic",),
        beta=("anthropic-beta", "message-threads-2026-08-12"),
    ),
    sdk={
        "response": "anthropic.types.beta:BetaMessage",
        "stream": "anthropic.types.beta:BetaRawMessageStreamEvent",
        "count_tokens_response": "anthropic.types.beta:BetaMessageTokensCount",
        "models": "anthropic.pagination:SyncPage",
    },
    sdk_extra="anthropic",
    origin=("protocol",),
    shares=shares_signature,
    family="anthropic",
    merges=True,
    by_hand=frozenset(("message",)),
    carries=CARRIED | {"computer_call"},
    repair=DEMANDS,
    amends=amended,
    schemas=SCHEMAS,
    declared={
        "request": "anthropic.types.beta.message_create_params:MessageCreateParams",
        "response": "anthropic.types.beta:BetaMessage",
        "event": "anthropic.types.beta:BetaRawMessageStreamEvent",
    },
)
