"""OpenAI Responses, a superset of Open Responses: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.engine.adapter import CARRIED, Adapter, Framing, Kind, Route, Specification, Streams
from unified_llm.passes.repair import CALLS, MADE_IMAGES, Rules
from unified_llm.streams.collect_and_decompose import ALONE
from unified_llm.types._tables import KEYS

from ..dialects import Dialects
from .conversations import CONVERSATION_ROUTES, CONVERSATIONS
from .errors import read_error, write_error
from .files import FILE_ROUTES, FILES
from .parts import answer_parts, assistant_parts, citations, parts, user_parts
from .request.document import read_request, write_compact_request, write_count_tokens_request, write_request
from .response import lists
from .response.document import read_response, write_response
from .schema import SCHEMAS
from .socket import SOCKET
from .stream.reader import ResponsesReader
from .stream.writer import ResponsesWriter
from .tools import foreign_tools, tools
from .turns import screens  # noqa: F401  (it declares pairs of `items`)
from .turns.items import ORIGIN, answer_items, items, request_items
from .values.tables import NATIVES, REFUSES, REQUEST, RESPONSE
from .values.usage import usage_of

__all__ = ["adapter"]

adapter = Adapter(
    protocol="openai-responses",
    title="OpenAI Responses",
    url="https://platform.openai.com/docs/api-reference/responses",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider", ("input",)),
        "response": Kind(
            read_response,
            write_response,
            "response",
            signs=("output", "error"),
            mark=("object", "response"),
            proof={"output": list, "object": ("response",)},
        ),
        "error": Kind(read_error, write_error, "error", signs=("error",)),
        "compact_request": Kind(read_request, write_compact_request, "request", "provider"),
        "compact_response": Kind(lists.read_compact_response, lists.write_compact_response, "response"),
        "count_tokens_request": Kind(read_request, write_count_tokens_request, "request", "provider"),
        "count_tokens_response": Kind(
            lists.read_count_tokens_response, lists.write_count_tokens_response, "count_tokens_response"
        ),
        "input_items": Kind(lists.read_input_items, lists.write_input_items, "input_items"),
        "deleted": Kind(lists.read_deleted, lists.write_deleted, "deleted"),
        "models": Kind(lists.read_models, lists.write_models, "models"),
    },
    streams=Streams(
        ResponsesReader,
        ResponsesWriter,
        Framing(named=True),
        alone=ALONE,
        proof={"type": ("response.",)},
        opening=KEYS["response"] - {"usage", "finish", "choices"},
    ),
    mappings=(
        parts,
        user_parts,
        assistant_parts,
        answer_parts,
        citations,
        items,
        request_items,
        answer_items,
        tools,
        foreign_tools,
        lists.models,
    ),
    settings={"request": REQUEST, "response": RESPONSE},
    natives=NATIVES,
    # https://platform.openai.com/docs/guides/tools-connectors-mcp (approvals: every call, by default)
    implied={"mcp": {"require_approval": "always"}},
    refuses=REFUSES,
    resume=("starting_after", "sequence_number"),
    routes=(
        Route("POST", "responses", "request"),
        Route("POST", "responses/compact", "compact_request", False),
        Route("POST", "responses/input_tokens", "count_tokens_request", False),
        Route("GET", "responses/{id}", "response"),
        Route("DELETE", "responses/{id}", "deleted", False),
        Route("POST", "responses/{id}/cancel", "response", False),
        Route("GET", "responses/{id}/input_items", "input_items", False),
        Route("GET", "models", "models", False),
        Route("GET", "models/{model}", "models", False),
        *FILE_ROUTES,
        *CONVERSATION_ROUTES,
    ),
    files=FILES,
    conversations=CONVERSATIONS,
    # https://www.openresponses.org/specification
    specification=Specification(
        "openresponses-version",
        {"latest": "2026-04-24", "2026-04-24": "2026-04-24", "2026-01-15": "2026-01-15"},
        "2026-04-24",
        "open-responses",
        "openresponses",
    ),
    socket=SOCKET,
    auth=(("authorization", "Bearer {}"), ("api-key", "{}")),
    clients={"openai": "unified_llm_openai.sdk_client:upstream"},
    usage=usage_of,
    sdk={
        "response": "openai.types.responses:Response",
        "stream": "openai.types.responses:ResponseStreamEvent",
        "compact_response": "openai.types.responses:CompactedResponse",
        "count_tokens_response": "openai.types.responses.input_token_count_response:InputTokenCountResponse",
        "models": "openai.pagination:SyncPage",
    },
    sdk_extra="openai",
    origin=ORIGIN,
    family="openai",
    id_prefix="resp_",
    unknown_previous=400,
    carries=CARRIED | {"computer_call"},
    # https://platform.openai.com/docs/guides/conversation-state https://platform.openai.com/docs/guides/reasoning
    repair=Rules(
        calls={
            **CALLS,
            "computer_call": "computer_call_output",
            "apply_patch_call": "apply_patch_call_output",
            # As Codex answers it; an output of its own has the id of the call.
            "local_shell_call": "function_call_output",
        },
        paired=True,
        by_name="any",
        unique=True,
        call_id_length=64,
        elsewhere=frozenset(("previous_response_id", "conversation", "prompt", "item_reference")),
        closes="told",
        images=MADE_IMAGES - {"image_generation_call"},
        item_ids={"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_"},
        reasoning_follower=True,
    ),
    schemas=SCHEMAS,
    dialects=Dialects("responses"),
    declared={
        "request": "openai.types.responses.response_create_params:ResponseCreateParams",
        "response": "openai.types.responses:Response",
        "event": "openai.types.responses:ResponseStreamEvent",
        "open-responses": "llm_comply:specs/openresponses.json",
    },
)
