"""Where what is written from a valid document does not pass the target's check: patterns of problems, with the reason.

A pattern is matched (`fnmatch`) against `"/json/pointer: problem"`; a place inside a stream opens with `/<event>/data`.
A pattern that no problem matches any more fails the test. `OPEN` marks a defect that is to be mended; nothing else
excuses a problem but a fact of the target's API or a conversation that was incomplete in its source.
"""

from __future__ import annotations

OPEN = "open defect: "
CONTINUES = "the source goes on with a conversation that its server keeps, whose earlier turns are not in the request"
EMPTY = "the source has no input, which its API takes with a stored prompt or a conversation; nobody else has these"
UNANSWERED = "the source itself leaves the call unanswered: Interactions takes that, and the user goes on"
UNDECLARED = "the API documents and sends it; the SDK's model lacks it and keeps it as an extra"
OLD_SERVERS = "a field of other servers of this protocol, for what OpenAI's has no place for; its SDK keeps it"
WORDS = "a word that the source's open enum permits and the target's lacks: sent as it is, not guessed at"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "anthropic-messages": {
        ": messages: at least one message is required": EMPTY,
        ": messages.0: user messages must have non-empty content": EMPTY,
        ": messages.*: unexpected `tool_use_id` found in `tool_result` blocks: *": CONTINUES,
        ": messages.1: `tool_use` ids were found without `tool_result` blocks *": UNANSWERED,
        "*/data/usage/service_tier: not declared *": "known at the end of the source's stream only; message_start is "
        "gone by then (https://docs.anthropic.com/en/api/messages-streaming)",
        "*/tools/*/annotations: not declared *": OPEN + "annotations of a listed MCP tool have no key here",
        "/diagnostics/*: not declared *": OPEN + "OpenAI's cache diagnostics are written in their own shape",
        "*/type: 'mcp_tool_listing' is none *": OPEN + "a listing without a server's answer matches no block",
        "*/mcp_server_name: not declared by text_block*": OPEN + "the same listing",
        "*/tools: not declared by text_block*": OPEN + "the same listing",
        "*/text: missing": OPEN + "the same listing",
        "/usage/server_tool_use/web_fetch_requests: missing": OPEN + "counts of searches come without those of fetches",
    },
    "google-generate-content": {
        "*/usageMetadata/serviceTier: not declared *": UNDECLARED + " (https://ai.google.dev/gemini-api/docs/flex)",
        ": Please ensure that function response turn comes immediately after *": CONTINUES,
        ": [*] GenerateContentRequest.contents: contents is not specified*": EMPTY,
        "/generationConfig/imageConfig: not declared *": UNDECLARED
        + " (https://ai.google.dev/api/generate-content#ImageConfig)",
        "/continuationToken: not declared *": UNDECLARED + " (https://ai.google.dev/api/generate-content)",
        "/contents/*/contentLayers/*: * is none *": OPEN + "layers of a medium are sent in the words of Interactions",
        "/contents/*/documentMetadata/*: not declared *": OPEN + "snake_case keys of Interactions' page options",
        "/contents/*/spreadsheetMetadata/*: not declared *": OPEN + "snake_case keys of Interactions' sheet options",
        "/generationConfig/responseModalities/*: * is none *": WORDS,
        ": Invalid value at *(TYPE_ENUM), *": WORDS,
        "/serviceTier: 'ultrafast' is none *": WORDS,
    },
    "google-interactions": {
        "/object: not declared *": UNDECLARED + " (https://ai.google.dev/api/interactions-api)",
        "/store: not declared *": OPEN + "echoed, though an interaction does not say it",
        "/background: not declared *": OPEN + "echoed, though an interaction does not say it",
        "*/data/interaction/*: not declared *": UNDECLARED + ": the events hold an Interaction with all its keys",
        "*/data/step/*: missing": "a step starts empty where its content follows in deltas",
        ": The value of 'input' must not be empty.": EMPTY,
        ": The required parameter 'input' is missing.": EMPTY,
        ": No function call found for function result *": CONTINUES,
        ": Invalid value 'ultrafast' at 'service_tier'*": WORDS,
        "*/arguments/*: not declared *toolsearchcallsteparguments*": OPEN + "arguments of others' tool searches",
        "*: not declared *filesearch*": OPEN + "results and queries of others' file searches",
        "*/result: not declared *processingresultstep*": OPEN + "results of a processing step",
        "*: not declared *urlcontextresult*": OPEN + "the text of fetched pages",
        "*/is_error: not declared *mcpservertoolresult*": OPEN + "a failed MCP call has no mark here",
        "*/search_type: not declared *googlesearchcalldelta*": OPEN + "the kind of search stands on the step only",
        "*/annotations/*/custom_metadata: not an object but list": OPEN + "metadata of a chunk is a list in the source",
        "*/review_snippets/*: not declared *": OPEN + "review snippets keep the keys of generateContent",
        "/input/*/processing/type: missing": OPEN + "an offset or a rate alone makes no processing",
        "/input/*/type: 'user_input' is none *": OPEN + "contents beside steps in one list",
        "/input/*/content: not declared *": OPEN + "contents beside steps in one list",
        "*/call_id: not str but NoneType": OPEN + "a result whose call has no id",
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
        "*/token_id: not declared *": OPEN + "ids of tokens have no key here",
        "*/top_logprobs: missing": OPEN + "chosen tokens come without the list of others",
        "*/finish_reason: 'error' is none *": OLD_SERVERS,
        "*/url_citation/title: missing": OPEN + "the source has no title",
        "*/url_citation/url: missing": OPEN + "the source has no URL",
        "*/url_citation/start_index: missing": OPEN + "the source has no positions",
        "*/url_citation/end_index: missing": OPEN + "the source has no positions",
        "*/usage/*tokens: missing": OPEN + "the source counts some tokens only",
        "*/audio/*: missing": OPEN + "what generated audio and a voice have at OpenAI only",
        "/audio/*: not declared *": OPEN + "settings of Google's voices",
        "/audio/format: 'ogg_opus' is none *": WORDS,
        "/messages/*/audio/data: not declared *": OPEN + "audio of the model in the history",
        "/service_tier: 'batch' is none *": WORDS,
        ": Invalid parameter: messages with role 'tool' *": CONTINUES,
        ": An assistant message with 'tool_calls' must be followed *": UNANSWERED,
        ": Invalid 'messages': empty array. *": EMPTY,
    },
    "openai-responses": {
        "/input/*/id: missing": "a message of history, which the API takes without; a made one might be looked up",
        "/input/*/status: missing": "a message of history, which the API takes without",
        "/input/*/type: 'refusal' is none *": "a refusal of history, which the API takes without the message's id",
        "/input/*/refusal: not declared *": "a refusal of history, which the API takes without the message's id",
        "*/files: not declared *": OPEN + "files of others' code execution",
        "*/action: missing": "a search is added before its query is known, by the API itself as well",
        "*/token_id: not declared *": OPEN + "ids of tokens have no key here",
        "*/top_logprobs: missing": OPEN + "chosen tokens come without the list of others",
        "*/title: missing": OPEN + "the source has no title",
        "*/url: missing": OPEN + "the source has no URL",
        "*/start_index: missing": OPEN + "the source has no positions",
        "*/end_index: missing": OPEN + "the source has no positions",
        "/prompt_cache_diagnostics/*": OPEN + "Anthropic's cache diagnostics are written in their own shape",
        "/input_transformations/*": OPEN + "Anthropic's transformations are written in their own shape",
        "*/incomplete_details/reason: * is none *": WORDS,
        "/output/*/role: 'user' is none *": "the timeline of an interaction holds what the user said",
        "/tool_choice/type: 'web_search' is none *": "the API takes it; the SDK types the preview's name only",
        "/output/*/execution: missing": OPEN + "a tool search that does not say who runs it",
        "/text/format/name: missing": OPEN + "an echoed schema without a name",
        "/service_tier: 'batch' is none *": WORDS,
        "/status: 'meditating' is none *": WORDS,
        ": No tool call found for function call output *": CONTINUES,
        ": No tool output found for function call *": UNANSWERED,
    },
}
