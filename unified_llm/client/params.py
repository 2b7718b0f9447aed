"""The keyword arguments of the client's methods, for type checkers: a canonical request's fields, and how to ask.

Names and meanings are those of the Responses API where it has them. A test holds them against the canonical model.
https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..losses import Levels

__all__ = ["Asked", "Given"]


class Asked(TypedDict, total=False):
    """How to ask, beside what: `models` are fallbacks in their order, `previous` an answer to go on from (of any
    provider), `upstream` whom to ask, `protocol` which wire to speak in any case, `timeout` how long to wait for each
    piece of an answer, `total_timeout` how many seconds the call may take with everything in it. `api_key`,
    `extra_headers` and `extra_query` belong to the first upstream of the call: a fallback at another origin does not
    get them."""

    models: Sequence[Any]
    previous: Any
    upstream: Any
    protocol: str | None
    on_loss: Levels | None
    timeout: Any
    total_timeout: float | None
    extra_headers: Mapping[str, str] | None
    extra_query: Mapping[str, Any] | None
    extra_body: Mapping[str, Any] | None
    api_key: Any
    base_url: str | None


class Given(Asked, total=False):
    """A canonical request. `input` is a string, items, or results; `tools` functions, `Tool`s or canonical ones."""

    model: Any
    input: Any
    instructions: Any
    tools: Sequence[Any] | None
    tool_choice: Any
    parallel_tool_calls: bool | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    temperature: float | None
    top_p: float | None
    top_k: float | None
    seed: int | None
    presence_penalty: float | None
    frequency_penalty: float | None
    logit_bias: Mapping[str, Any] | None
    top_logprobs: int | None
    stop: Sequence[str] | None
    n: int | None
    modalities: Sequence[str] | None
    audio: Mapping[str, Any] | None
    image: Mapping[str, Any] | None
    text: Mapping[str, Any] | None
    reasoning: Mapping[str, Any] | None
    include: Sequence[str] | None
    store: bool | None
    previous_response_id: str | None
    conversation: Any
    prompt: Mapping[str, Any] | None
    prediction: Mapping[str, Any] | None
    container: Any
    continuation_token: str | None
    context_management: Sequence[Any] | None
    truncation: str | None
    metadata: Mapping[str, Any] | None
    labels: Mapping[str, Any] | None
    service_tier: str | None
    fallbacks: Any
    safety_identifier: str | None
    user: str | None
    safety_settings: Sequence[Any] | None
    moderation: Mapping[str, Any] | None
    access_programs: Mapping[str, Any] | None
    prompt_cache_key: str | None
    prompt_cache_options: Mapping[str, Any] | None
    prompt_cache_retention: str | None
    cached_content: str | None
    cache: Mapping[str, Any] | None
    agent: str | None
    agent_config: Mapping[str, Any] | None
    multi_agent: Mapping[str, Any] | None
    background_options: Mapping[str, Any] | None
    stream_options: Mapping[str, Any] | None
    extra: Mapping[str, Any] | None
