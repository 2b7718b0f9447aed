"""Settings: what a request sets and a response echoes, under the Responses wire's names.

Those of other protocols stand beside them where two protocols have them: stop, top_k, seed, penalties, n, modalities,
audio, safety_settings. https://platform.openai.com/docs/api-reference/responses/create
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from .base import Model, Node, cap
from .unions import Tool, ToolChoice

__all__ = [
    "AudioConfig",
    "ImageConfig",
    "PromptCacheOptions",
    "PromptTemplate",
    "ReasoningConfig",
    "SafetySetting",
    "Settings",
    "StreamOptions",
    "TextConfig",
    "TextFormat",
]


class TextFormat(Model):
    """The form of the text: text, json_object or json_schema (with `schema`); `media_type` where a wire has one.

    https://platform.openai.com/docs/guides/structured-outputs
    """

    node_name: ClassVar[str] = "text_format"
    node_capability: ClassVar[str] = "output.structured"

    type: Annotated[str | None, cap("output.structured")] = None
    name: Annotated[str | None, cap("output.structured")] = None
    description: Annotated[str | None, cap("output.structured")] = None
    schema_: Annotated[dict[str, Any] | None, cap("output.structured")] = Field(default=None, alias="schema")
    strict: Annotated[bool | None, cap("output.structured")] = None
    media_type: Annotated[str | None, cap("output.structured")] = None


class TextConfig(Model):
    """Form and length of the text.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_name: ClassVar[str] = "text_config"
    node_capability: ClassVar[str] = "output.structured"

    format: Annotated[TextFormat | None, cap("output.structured")] = None
    verbosity: Annotated[str | None, cap("output.verbosity")] = None


class ReasoningConfig(Model):
    """How the model thinks.

    `effort` is none, minimal, low, medium, high, xhigh, max; `control` enabled, adaptive, disabled, between_tools;
    `budget_tokens` a limit (-1: dynamic); `include` whether reasoning is returned; `summary` auto, concise, detailed;
    `display` summarized, omitted, ...

    https://platform.openai.com/docs/guides/reasoning https://docs.claude.com/en/docs/build-with-claude/extended-thinking
    """

    node_name: ClassVar[str] = "reasoning_config"
    node_capability: ClassVar[str] = "reasoning.effort"

    effort: Annotated[str | None, cap("reasoning.effort")] = None
    summary: Annotated[str | None, cap("reasoning.summary")] = None
    generate_summary: Annotated[str | None, cap("reasoning.summary")] = None
    context: Annotated[str | None, cap("reasoning.context")] = None
    mode: Annotated[str | None, cap("reasoning.context")] = None
    control: Annotated[str | None, cap("reasoning.control")] = None
    budget_tokens: Annotated[int | None, cap("reasoning.budget")] = None
    include: Annotated[bool | None, cap("reasoning.visibility")] = None
    display: Annotated[str | None, cap("reasoning.visibility")] = None


class StreamOptions(Model):
    """What a stream holds: padding against length analysis, usage at the end.

    https://platform.openai.com/docs/api-reference/responses/create https://platform.openai.com/docs/api-reference/chat/create
    """

    node_name: ClassVar[str] = "stream_options"
    node_capability: ClassVar[str] = "stream.options"

    include_obfuscation: Annotated[bool | None, cap("stream.options")] = None
    include_usage: Annotated[bool | None, cap("stream.options")] = None


class PromptTemplate(Model):
    """A prompt kept by the provider, with its variables.

    https://platform.openai.com/docs/api-reference/responses/create
    """

    node_name: ClassVar[str] = "prompt_template"
    node_capability: ClassVar[str] = "state.conversation"

    id: Annotated[str | None, cap("state.conversation")] = None
    version: Annotated[str | None, cap("state.conversation")] = None
    variables: Annotated[dict[str, Any] | None, cap("state.conversation")] = None


class PromptCacheOptions(Model):
    """How prompts are cached: `mode` implicit or explicit, `ttl` the least lifetime.

    https://platform.openai.com/docs/guides/prompt-caching
    """

    node_name: ClassVar[str] = "prompt_cache_options"
    node_capability: ClassVar[str] = "cache.key"

    mode: Annotated[str | None, cap("cache.key")] = None
    ttl: Annotated[str | None, cap("cache.key")] = None
    prewarm: Annotated[bool | None, cap("cache.key")] = None
    comparison_response_id: Annotated[str | None, cap("cache.key")] = None


class AudioConfig(Model):
    """Generated audio: `voice` is a name or an object, `speakers` several voices.

    https://platform.openai.com/docs/api-reference/chat/create https://ai.google.dev/gemini-api/docs/speech-generation
    """

    node_name: ClassVar[str] = "audio_config"
    node_capability: ClassVar[str] = "audio.output"

    voice: Annotated[str | dict[str, Any] | None, cap("audio.output")] = None
    format: Annotated[str | None, cap("audio.output")] = None
    language: Annotated[str | None, cap("audio.output")] = None
    speakers: Annotated[list[Any] | None, cap("audio.output")] = None
    sample_rate: Annotated[int | None, cap("audio.output")] = None
    bit_rate: Annotated[int | None, cap("audio.output")] = None


class ImageConfig(Model):
    """Generated images, and how input images are compressed.

    https://platform.openai.com/docs/api-reference/responses/create https://ai.google.dev/gemini-api/docs/image-generation
    """

    node_name: ClassVar[str] = "image_config"
    node_capability: ClassVar[str] = "image.output"

    context_compression: Annotated[str | None, cap("media.detail")] = None
    aspect_ratio: Annotated[str | None, cap("image.output")] = None
    size: Annotated[str | None, cap("image.output")] = None
    format: Annotated[str | None, cap("image.output")] = None


class SafetySetting(Model):
    """From which probability or severity on a category of harm is blocked; names are lower case without prefix.

    https://ai.google.dev/gemini-api/docs/safety-settings
    """

    node_name: ClassVar[str] = "safety_setting"
    node_capability: ClassVar[str] = "safety.settings"

    category: Annotated[str | None, cap("safety.settings")] = None
    threshold: Annotated[str | None, cap("safety.settings")] = None
    method: Annotated[str | None, cap("safety.settings")] = None


class Settings(Node):
    """What request and response share.

    https://www.openresponses.org/specification
    """

    model: Annotated[str | None, cap("metadata")] = None
    tools: Annotated[list[Tool] | None, cap("tools.function")] = None
    tool_choice: Annotated[str | ToolChoice | None, cap("tools.choice")] = None
    parallel_tool_calls: Annotated[bool | None, cap("tools.parallel")] = None
    max_output_tokens: Annotated[int | None, cap("output.max_tokens")] = None
    max_tool_calls: Annotated[int | None, cap("tools.choice")] = None
    temperature: Annotated[int | float | None, cap("sampling.temperature")] = None
    top_p: Annotated[int | float | None, cap("sampling.top_p")] = None
    top_k: Annotated[int | float | None, cap("sampling.top_k")] = None
    seed: Annotated[int | None, cap("sampling.seed")] = None
    presence_penalty: Annotated[int | float | None, cap("sampling.penalties")] = None
    frequency_penalty: Annotated[int | float | None, cap("sampling.penalties")] = None
    logit_bias: Annotated[dict[str, Any] | None, cap("sampling.penalties")] = None
    top_logprobs: Annotated[int | None, cap("output.logprobs")] = None
    stop: Annotated[list[str] | None, cap("output.stop")] = None
    n: Annotated[int | None, cap("output.choices")] = None
    modalities: Annotated[list[str] | None, cap("output.modalities")] = None
    audio: Annotated[AudioConfig | None, cap("audio.output")] = None
    image: Annotated[ImageConfig | None, cap("image.output")] = None
    text: Annotated[TextConfig | None, cap("output.structured")] = None
    reasoning: Annotated[ReasoningConfig | None, cap("reasoning.effort")] = None
    store: Annotated[bool | None, cap("state.store")] = None
    background: Annotated[bool | None, cap("state.background")] = None
    previous_response_id: Annotated[str | None, cap("state.previous_response")] = None
    conversation: Annotated[str | dict[str, Any] | None, cap("state.conversation")] = None
    prompt: Annotated[PromptTemplate | None, cap("state.conversation")] = None
    container: Annotated[str | dict[str, Any] | None, cap("state.environment")] = None
    continuation_token: Annotated[str | None, cap("state.continuation")] = None
    truncation: Annotated[str | None, cap("context.compaction")] = None
    metadata: Annotated[dict[str, Any] | None, cap("metadata")] = None
    labels: Annotated[dict[str, Any] | None, cap("metadata")] = None
    service_tier: Annotated[str | None, cap("service.tier")] = None
    safety_identifier: Annotated[str | None, cap("safety.identifier")] = None
    user: Annotated[str | None, cap("safety.identifier")] = None
    safety_settings: Annotated[list[SafetySetting] | None, cap("safety.settings")] = None
    moderation: Annotated[dict[str, Any] | None, cap("safety.settings")] = None
    access_programs: Annotated[dict[str, Any] | None, cap("service.tier")] = None
    prompt_cache_key: Annotated[str | None, cap("cache.key")] = None
    prompt_cache_options: Annotated[PromptCacheOptions | None, cap("cache.key")] = None
    prompt_cache_retention: Annotated[str | None, cap("cache.key")] = None
    cached_content: Annotated[str | None, cap("cache.key")] = None
    agent: Annotated[str | None, cap("agent.config")] = None
    agent_config: Annotated[dict[str, Any] | None, cap("agent.config")] = None
