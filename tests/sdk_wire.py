"""What the three official SDKs declare of all five wire protocols, and what a strict server takes: a check each."""

from __future__ import annotations

import functools
from typing import Any, TypedDict, Union

from anthropic.types import Message, RawMessageStreamEvent, message_create_params
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from anthropic.types.beta import message_create_params as beta_message_create_params
from google.genai import types
from google.genai._gaos.types import interactions

from oracles import (
    strict_anthropic_messages,
    strict_google_generate_content,
    strict_google_interactions,
    strict_openai_chat,
    strict_openai_responses,
)
from oracles.refusal import Refused
from sdk_types import TYPES, examine, members


class GenerateContentRequest(TypedDict, total=False):
    """The body of a generateContent request, which the SDK itself takes apart into one flat object of settings.

    https://ai.google.dev/api/generate-content#request-body, with what Vertex AI adds.
    """

    model: str
    contents: list[types.Content]
    systemInstruction: types.Content
    tools: list[types.Tool]
    toolConfig: types.ToolConfig
    safetySettings: list[types.SafetySetting]
    generationConfig: types.GenerationConfig
    modelArmorConfig: types.ModelArmorConfig
    cachedContent: str
    labels: dict[str, str]
    serviceTier: types.ServiceTier
    store: bool


MODELS = {
    "anthropic-messages": "claude-opus-4-7",
    "google-generate-content": "gemini-3-pro-preview",
    "google-interactions": "gemini-3-pro-preview",
    "openai-chat": "gpt-5.5",
    "openai-responses": "gpt-5.5",
}
"""For which model a request is written: sources name those of their own protocol, or name it in the URL."""

WIRE: dict[tuple[str, str], Any] = {
    **{key: Union[tuple(options)] for key, options in TYPES.items()},  # noqa: UP007
    ("anthropic-messages", "request"): message_create_params.MessageCreateParamsNonStreaming
    | message_create_params.MessageCreateParamsStreaming
    | beta_message_create_params.MessageCreateParamsNonStreaming
    | beta_message_create_params.MessageCreateParamsStreaming,
    ("anthropic-messages", "response"): Message | BetaMessage,
    ("anthropic-messages", "stream"): Union[RawMessageStreamEvent, BetaRawMessageStreamEvent],  # noqa: UP007
    ("google-generate-content", "request"): GenerateContentRequest,
    ("google-generate-content", "response"): types.GenerateContentResponse,
    ("google-generate-content", "stream"): types.GenerateContentResponse,
    ("google-interactions", "request"): interactions.CreateModelInteractionParam
    | interactions.CreateAgentInteractionParam,
    ("google-interactions", "response"): interactions.InteractionTypedDict,
    ("google-interactions", "stream"): interactions.InteractionSSEEventTypedDict,
}
"""The type of a document on the wire; for streams, that of every event's data."""

STRICT: dict[str, Any] = {
    "openai-chat": strict_openai_chat.check,
    "openai-responses": strict_openai_responses.check,
    "anthropic-messages": strict_anthropic_messages.check,
    "google-generate-content": functools.partial(strict_google_generate_content.check, model="gemini-3"),
    "google-interactions": strict_google_interactions.check,
}


def declared(protocol: str, kind: str, value: Any) -> list[str]:
    """What a document, or a list of wire events, has that the SDK's types do not have, and the other way round."""
    if kind == "request" and isinstance(value, dict):
        twins = [each for each in members(WIRE[protocol, kind]) if value.get("stream") is True or not _streams(each)]
        options = [each for each in twins if value.get("stream") is not True or _streams(each)] or twins
        return min((examine(value, each).problems for each in options), key=len)
    if kind != "stream":
        return examine(value, WIRE[protocol, kind]).problems
    payloads = [(index, event["data"]) for index, event in enumerate(value) if not _is_framing(event["data"])]
    return [
        problem
        for index, data in payloads
        for problem in examine(data, WIRE[protocol, "stream"], f"/{index}/data").problems
    ]


def _is_framing(data: Any) -> bool:
    """Whether the SDK's own decoder takes an event for itself: an end, a ping, an error that it raises."""
    if not isinstance(data, dict):
        return bool(data == "[DONE]")
    return data.get("type") == "ping" or ("error" in data and data.get("type", "error") == "error")


def _streams(request: Any) -> bool:
    """Whether a type is that of the requests for a stream, where they have one of their own."""
    return bool(request.__name__.endswith("ParamsStreaming"))


def refused(protocol: str, body: Any) -> list[str]:
    """What the strict server of a protocol answers to a request that it does not take."""
    try:
        STRICT[protocol](body)
    except Refused as error:
        return [f": {error.message}"]
    return []
