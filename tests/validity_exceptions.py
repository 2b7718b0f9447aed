"""Where what is written from a valid document does not pass the target's check: patterns of problems, with the reason.

A pattern is matched (`fnmatch`) against `"/json/pointer: problem"`; a place inside a stream opens with `/<event>/data`.
A pattern that no problem matches any more fails the test. Nothing excuses a problem but a fact of the target's API, a
source outside its own API, or a conversation that was incomplete in its source.
"""

from __future__ import annotations

CONTINUES = "the source goes on with a conversation that its server keeps, whose earlier turns are not in the request"
EMPTY = "the source has no input, as its API allows for a stored prompt or a conversation; no other protocol has these"
UNANSWERED = "the source itself leaves the call unanswered: Interactions takes that, and the user goes on"
UNDECLARED = "the API documents and sends it; the SDK's model lacks it and keeps it as an extra"
OLD_SERVERS = "a field of other servers of this protocol, for what OpenAI's has no place for; its SDK keeps it"
WORDS = "a word that the source's open enum permits and the target's lacks: sent as it is, not guessed at"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "anthropic-messages": {
        ": messages.0: user messages must have non-empty content": EMPTY,
        ": messages.*: unexpected `tool_use_id` found in `tool_result` blocks: *": CONTINUES,
        ": messages.1: `tool_use` ids were found without `tool_result` blocks *": UNANSWERED,
        "*/data/usage/service_tier: not declared *": "known at the end of the source's stream only; message_start is "
        "gone by then (https://docs.anthropic.com/en/api/messages-streaming)",
    },
    "google-generate-content": {
        "*/usageMetadata/serviceTier: not declared *": UNDECLARED + " (https://ai.google.dev/gemini-api/docs/flex)",
        ": Please ensure that function response turn comes immediately after *": CONTINUES,
        "/generationConfig/imageConfig: not declared *": UNDECLARED
        + " (https://ai.google.dev/api/generate-content#ImageConfig)",
        "/continuationToken: not declared *": UNDECLARED + " (https://ai.google.dev/api/generate-content)",
        "/generationConfig/responseModalities/*: * is none *": WORDS,
        ": Invalid value at *(TYPE_ENUM), *": WORDS,
    },
    "google-interactions": {
        "/object: not declared *": UNDECLARED + " (https://ai.google.dev/api/interactions-api)",
        "*/data/interaction/*: not declared *": UNDECLARED + ": the events hold an Interaction with all its keys",
        "*/data/step/*: missing": "a step starts empty where its content follows in deltas",
        ": The value of 'input' must not be empty.": EMPTY,
        ": No function call found for function result *": CONTINUES,
    },
    "openai-chat": {
        **{
            f"*/{place}/{key}: not declared *": OLD_SERVERS
            for place in ("message", "delta")
            for key in ("reasoning_content", "reasoning_details")
        },
        "*/extra_content: not declared *": OLD_SERVERS + " (https://ai.google.dev/gemini-api/docs/openai)",
        "*/native_finish_reason: not declared *": OLD_SERVERS,
        "*/data/choices/*/delta/annotations: not declared *": UNDECLARED,
        "*/delta/tool_calls/*/custom: not declared *": UNDECLARED,
        "*/delta/tool_calls/*/type: 'custom' is none *": UNDECLARED,
        "*/type: 'video_url' is none *": OLD_SERVERS,
        "*/video_url: not declared *": OLD_SERVERS,
        "/messages/*/text: missing": OLD_SERVERS,
        "/messages/*/content: not str but list": OLD_SERVERS + ": the message with a video",
        "/messages/*/role: 'user' is none *": OLD_SERVERS + ": the message with a video",
        "/messages/*/name: missing": OLD_SERVERS + ": the message with a video",
        ": Invalid value: 'video_url'. *": OLD_SERVERS,
        "/top_k: not declared *": OLD_SERVERS,
        ": Unknown parameter: 'top_k'.": OLD_SERVERS,
        "/modalities/*: 'image' is none *": OLD_SERVERS,
        "/modalities/*: 'video' is none *": OLD_SERVERS,
        "/modalities/*: * is none *": WORDS,
        "*/prompt_tokens_details/video_tokens: not declared *": OLD_SERVERS,
        "*/completion_tokens_details/image_tokens: not declared *": OLD_SERVERS,
        "*/finish_reason: 'error' is none *": OLD_SERVERS,
        "/service_tier: 'batch' is none *": WORDS,
        ": Invalid parameter: messages with role 'tool' *": CONTINUES,
        ": An assistant message with 'tool_calls' must be followed *": UNANSWERED,
    },
    "openai-responses": {
        "/input/*/id: missing": "a message of history, which the API takes without; a made one might be looked up",
        "/input/*/status: missing": "a message of history, which the API takes without",
        "/input/*/type: 'refusal' is none *": "a refusal of history, which the API takes without the message's id",
        "/input/*/refusal: not declared *": "a refusal of history, which the API takes without the message's id",
        "*/action: missing": "a search is added before its query is known, by the API itself as well",
        "/tool_choice/type: 'web_search' is none *": "the API takes it; the SDK types the preview's name only",
        "/service_tier: 'batch' is none *": WORDS,
        "/status: 'meditating' is none *": WORDS,
        ": No tool call found for function call output *": CONTINUES,
        ": No tool output found for function call *": UNANSWERED,
    },
}
