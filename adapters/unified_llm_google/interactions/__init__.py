"""Google Interactions: `adapter` is the whole declaration."""

from __future__ import annotations

from unified_llm.engine.adapter import CARRIED, Adapter, Framing, Kind, Route, Streams
from unified_llm.engine.pairs.markers import MOST
from unified_llm.passes.repair import Rules
from unified_llm.streams.collect_and_decompose import PASSING
from unified_llm.types._tables import KEYS

from ..constants import CONSTANTS
from .errors import read_error, write_error
from .parts import citations, model_parts, summaries, user_parts
from .request.document import read_request, write_request
from .response import read_response, write_response
from .schema import SCHEMAS
from .stream.reader import StreamReader
from .stream.writer import StreamWriter
from .tools import tools
from .turns.steps import steps
from .values.tables import NATIVES, REQUEST, RESPONSE
from .values.usage import usage_of

__all__ = ["adapter"]

_SDK = "google.genai._gaos.types.interactions"
adapter = Adapter(
    protocol="google-interactions",
    title="Google Interactions",
    url="https://ai.google.dev/api/interactions-api",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider", ("input",)),
        "response": Kind(
            read_response,
            write_response,
            "response",
            signs=("steps", "outputs", "status", "error", "errors"),
            mark=("object", "interaction"),
            proof={"steps": list, "outputs": list, "object": ("interaction",)},
        ),
        "error": Kind(read_error, write_error, "error", signs=("error",)),
    },
    streams=Streams(
        StreamReader,
        StreamWriter,
        Framing(named=True),
        alone=PASSING,
        proof={"event_type": ("interaction.", "step.", "content.")},
        opening=KEYS["response"] - {"usage", "finish", "choices"},
    ),
    mappings=(user_parts, model_parts, summaries, citations, steps, tools),
    settings={"request": REQUEST, "response": RESPONSE},
    natives=NATIVES,
    forms={
        "errors": range(MOST + 1),
        "signature": ("empty", "null", "absent", *CONSTANTS),
        "allowed_mode": ("auto",),
    },
    narrows={"allowed_tools": "mcp"},
    refuses={
        "parallel_tool_calls": "google-interactions has no parallel-call setting",
        "logit_bias": "google-interactions has no such setting",
        "presence_penalty": "google-interactions has no penalties",
        "frequency_penalty": "google-interactions has no penalties",
        "top_k": "google-interactions has no such setting",
        "top_logprobs": "google-interactions returns no log probabilities",
        "n": "google-interactions returns one response",
        "choices": "google-interactions returns one response",
        "prompt_cache_key": "google-interactions caches automatically",
        "truncation": "google-interactions has no truncation setting",
        "context_management": "google-interactions has no truncation setting",
    },
    resume=("last_event_id", "event_id"),
    routes=(
        Route("POST", "/interactions", "request"),
        Route("GET", "/interactions/{id}", "response"),
        Route("POST", "/interactions/{id}/cancel", "response"),
        Route("DELETE", "/interactions/{id}", "response"),
    ),
    auth=(("x-goog-api-key", "{}"), ("authorization", "Bearer {}")),
    marks=("x-goog-api-key", "x-goog-api-client"),
    clients={"google.genai": "unified_llm_google.sdk_client:upstream"},
    usage=usage_of,
    sdk={"response": f"{_SDK}:Interaction", "stream": f"{_SDK}:InteractionSSEStreamEvent"},
    sdk_extra="google",
    declared={
        "request": f"{_SDK}:CreateModelInteraction",
        "agent": f"{_SDK}:CreateAgentInteraction",
        "response": f"{_SDK}:Interaction",
        "event": f"{_SDK}:InteractionSSEStreamEvent",
    },
    schemas=SCHEMAS,
    # Calls without a signature are preceded by one that skips the check, unless a dialect declares otherwise.
    constants=CONSTANTS,
    family="google",
    carries=CARRIED | {"compaction"},
    chosen=frozenset(("function", "custom")),
    # https://ai.google.dev/gemini-api/docs/interactions
    repair=Rules(
        paired=True,
        adjacent=True,
        unique=True,
        elsewhere=frozenset(("previous_response_id",)),
        closes="asked",
        system="user",
        blank="empty",
        filled=True,
    ),
    dialects={"unsigned": {"provider": None, "placeholder": False}},
)
