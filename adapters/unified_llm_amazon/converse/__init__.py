"""Amazon Bedrock Converse: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.engine.adapter import Adapter, Framing, Kind, Route, Streams
from unified_llm.engine.bridge import reads, writes
from unified_llm.models.profiles import shares_signature

from .calls import blocks
from .errors import read_error, write_error
from .parts import answers, citations, parts
from .passes.demands import RULES, amended
from .request import read_count_request, read_request, write_count_request, write_request
from .response import count, read_response, usage_of, write_response
from .stream import ConverseReader, ConverseWriter
from .tools import SCHEMAS, tools
from .values import FORMS, NATIVES, PROTOCOL, REFUSES, REQUEST, RESPONSE

__all__ = ["adapter"]

adapter = Adapter(
    protocol=PROTOCOL,
    title="Amazon Bedrock Converse",
    url="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider", ("messages",)),
        "response": Kind(
            read_response, write_response, "response", signs=("output", "stopReason"), proof={"output": dict}
        ),
        "error": Kind(read_error, write_error, "error", signs=("message",)),
        "count_tokens_request": Kind(read_count_request, write_count_request, "request", "provider"),
        "count_tokens_response": Kind(reads(count), writes(count), "usage"),
    },
    streams=Streams(
        ConverseReader,
        ConverseWriter,
        Framing(named=True, content_type="application/vnd.amazon.eventstream", binary=True),
        proof={"role": str, "contentBlockIndex": int, "stopReason": str, "usage": dict},
        headers=True,
    ),
    mappings=(parts, answers, blocks, citations, tools),
    settings={"request": REQUEST, "response": RESPONSE},
    natives=NATIVES,
    forms=FORMS,
    refuses=REFUSES,
    routes=(
        Route("POST", "model/{model}/converse", "request", False),
        Route("POST", "model/{model}/converse-stream", "request", True),
        Route("POST", "model/{model}/count-tokens", "count_tokens_request"),
    ),
    auth=(("authorization", "Bearer {}"),),
    marks=("amz-sdk-invocation-id", "amz-sdk-request", "x-amz-date"),
    origin=("protocol", "model"),
    shares=shares_signature,
    carries=frozenset(("reasoning",)),
    family="amazon",
    merges=True,
    by_hand=frozenset(("message",)),
    repair=RULES,
    amends=amended,
    usage=usage_of,
    schemas=SCHEMAS,
    sdk_extra="amazon",
    declared={
        "request": "unified_llm_amazon.service_model:ConverseStreamRequest",
        "response": "unified_llm_amazon.service_model:ConverseResponse",
        "event": "unified_llm_amazon.service_model:ConverseStreamOutput",
    },
)
