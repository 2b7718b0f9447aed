"""The facts of generateContent that are tables: the shapes of its objects, its enums, and what only it has."""

from __future__ import annotations

from unified_llm.engine.pairs.mapping import Bimap
from unified_llm.engine.pairs.markers import MOST
from unified_llm.engine.shared.nearest_values import NEAREST_TIERS

from .spelling import Shape

__all__ = [
    "BLOCKED",
    "CONTENT",
    "ERROR_TYPES",
    "FINISH",
    "FUNCTION_CALLING",
    "NATIVES",
    "PART",
    "PROTOCOL",
    "REFUSES",
    "REQUEST_SHAPE",
    "SERVICE_TIERS",
    "TOOL",
    "TOOL_TYPES",
]

PROTOCOL = "google-generate-content"

# ---- shapes: which keys are the API's own ---------------------------------------------------------------------------

_BLOB = Shape("mimeType displayName")
_FILE = Shape("fileUri mimeType displayName")
PART = Shape(
    "thoughtSignature partMetadata audioTranscription mediaProcessing speechMetadata",
    inlineData=_BLOB,
    fileData=_FILE,
    functionCall=Shape(
        "willContinue", partialArgs=Shape("jsonPath stringValue numberValue boolValue nullValue willContinue")
    ),
    functionResponse=Shape("willContinue"),
    executableCode=Shape(),
    codeExecutionResult=Shape(),
    toolCall=Shape("toolType"),
    toolResponse=Shape("toolType"),
    videoMetadata=Shape("startOffset endOffset contentLayers"),
    audioMetadata=Shape("startOffset endOffset"),
    documentMetadata=Shape("startPage endPage contentLayers"),
    spreadsheetMetadata=Shape("sheetIndex visibleCells contentLayers"),
    mediaResolution=Shape("numTokens"),
)
CONTENT = Shape()

_VOICE = Shape(
    "",
    prebuiltVoiceConfig=Shape("voiceName"),
    replicatedVoiceConfig=Shape("mimeType voiceSampleAudio"),
)
_GENERATION_CONFIG = Shape(
    """topP topK candidateCount maxOutputTokens stopSequences presencePenalty frequencyPenalty responseLogprobs
    responseMimeType responseSchema responseJsonSchema responseModalities mediaResolution
    audioTranscriptionConfig enableEnhancedCivicAnswers audioTimestamp routingConfig modelConfig""",
    thinkingConfig=Shape("includeThoughts thinkingLevel thinkingBudget"),
    imageConfig=Shape("aspectRatio imageSize personGeneration prominentPeople imageOutputOptions"),
    responseFormat=Shape(
        "",
        text=Shape("mimeType"),
        image=Shape("mimeType aspectRatio imageSize"),
        audio=Shape("mimeType sampleRate bitRate"),
        video=Shape("aspectRatio gcsUri"),
    ),
    speechConfig=Shape(
        "languageCode",
        voiceConfig=_VOICE,
        multiSpeakerVoiceConfig=Shape("", speakerVoiceConfigs=Shape("", voiceConfig=_VOICE)),
    ),
)
REQUEST_SHAPE = Shape(
    "systemInstruction safetySettings cachedContent serviceTier continuationToken modelArmorConfig outputConfig",
    generationConfig=_GENERATION_CONFIG,
    toolConfig=Shape(
        "includeServerSideToolInvocations",
        functionCallingConfig=Shape("allowedFunctionNames streamFunctionCallArguments"),
        retrievalConfig=Shape("languageCode", latLng=Shape()),
    ),
)
TOOL = Shape(
    "urlContext codeExecution",
    functionDeclarations=Shape("parametersJsonSchema responseJsonSchema"),
    googleSearch=Shape(
        "excludeDomains blockingConfidence",
        searchTypes=Shape("webSearch imageSearch"),
        timeRangeFilter=Shape("startTime endTime"),
    ),
    googleSearchRetrieval=Shape("dynamicRetrievalConfig"),
    enterpriseWebSearch=Shape("excludeDomains blockingConfidence"),
    googleMaps=Shape("enableWidget authConfig groundingTypes"),
    computerUse=Shape("excludedPredefinedFunctions enablePromptInjectionDetection disabledSafetyPolicies"),
    fileSearch=Shape("fileSearchStoreNames topK metadataFilter"),
    mcpServers=Shape("", streamableHttpTransport=Shape("sseReadTimeout terminateOnClose")),
    parallelAiSearch=Shape("apiKey customConfigs enableDataRetention enableZeroDataRetention"),
    exaAiSearch=Shape("apiKey customConfigs"),
    retrieval=Shape(
        "externalApi disableAttribution",
        vertexAiSearch=Shape("maxResults", dataStoreSpecs=Shape("dataStore")),
        vertexRagStore=Shape(
            "ragCorpora similarityTopK storeContext vectorDistanceThreshold",
            ragResources=Shape("ragCorpus ragFileIds"),
            ragRetrievalConfig=Shape(
                "topK",
                filter=Shape("metadataFilter vectorDistanceThreshold vectorSimilarityThreshold"),
                hybridSearch=Shape(),
                ranking=Shape("", llmRanker=Shape("modelName"), rankService=Shape("modelName")),
            ),
        ),
    ),
)

# ---- enums ----------------------------------------------------------------------------------------------------------

FUNCTION_CALLING = Bimap({"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "validated"})

SERVICE_TIERS = Bimap(
    {"flex": "flex", "priority": "priority", "standard": "default"},
    writing={
        **dict.fromkeys(("auto", "unspecified"), "standard"),
        **dict.fromkeys(("scale", "fast", "ultrafast"), "priority"),
        **NEAREST_TIERS,
    },
)

TOOL_TYPES = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "web_search",
    "URL_CONTEXT": "web_fetch",
    "GOOGLE_MAPS": "maps",
    "FILE_SEARCH": "file_search",
    "MEDIA_PROCESSING": "processing",
}

# finishReason. STOP also ends a turn of function calls, which the reader sees by the calls.
FINISH = Bimap(
    {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        "SAFETY": "safety",
        "RECITATION": "recitation",
        "MALFORMED_FUNCTION_CALL": "malformed_call",
        "CONTINUATION": "pause",
        "OTHER": "other",
        "MALFORMED_RESPONSE": "error",
    },
    reading={
        "BLOCKLIST": "safety",
        "PROHIBITED_CONTENT": "safety",
        "SPII": "safety",
        "LANGUAGE": "safety",
        "ESCALATION": "safety",
        "PUP_LIMITED_DISABLED": "safety",
        "MODEL_ARMOR": "safety",
        "IMAGE_SAFETY": "safety",
        "IMAGE_PROHIBITED_CONTENT": "safety",
        "IMAGE_RECITATION": "recitation",
        "IMAGE_OTHER": "error",
        "NO_IMAGE": "error",
        "UNEXPECTED_TOOL_CALL": "malformed_call",
        "TOO_MANY_TOOL_CALLS": "error",
        "MISSING_THOUGHT_SIGNATURE": "error",
        "FINISH_REASON_UNSPECIFIED": "other",
    },
    writing={
        "stop_sequence": "STOP",
        "context_window": "MAX_TOKENS",
        "tool_calls": "STOP",
        "refusal": "SAFETY",
        "cancelled": "OTHER",
    },
)
# promptFeedback.blockReason: every one of them is a block for safety.
BLOCKED = "SAFETY"

# google.rpc.Code, https://google.aip.dev/193
ERROR_TYPES = Bimap(
    {
        "INVALID_ARGUMENT": "invalid_request",
        "UNAUTHENTICATED": "authentication",
        "PERMISSION_DENIED": "permission",
        "NOT_FOUND": "not_found",
        "ABORTED": "conflict",
        "RESOURCE_EXHAUSTED": "rate_limit",
        "UNAVAILABLE": "overloaded",
        "INTERNAL": "server_error",
        "DEADLINE_EXCEEDED": "timeout",
        "UNKNOWN": "other",
    },
    reading={
        "FAILED_PRECONDITION": "invalid_request",
        "OUT_OF_RANGE": "invalid_request",
        "ALREADY_EXISTS": "conflict",
        "CANCELLED": "other",
        "UNIMPLEMENTED": "server_error",
        "DATA_LOSS": "server_error",
    },
    writing={
        "quota": "RESOURCE_EXHAUSTED",
        "too_large": "INVALID_ARGUMENT",
        "context_overflow": "INVALID_ARGUMENT",
        "content_filter": "INVALID_ARGUMENT",
    },
)

# ---- what only this protocol has, and what it has not ---------------------------------------------------------------

NATIVES = {
    "modelArmorConfig": "safety.settings",
    "model_armor_config": "safety.settings",
    "outputConfig": "native.field",
    "includeServerSideToolInvocations": "include",
    "include_server_side_tool_invocations": "include",
    "streamFunctionCallArguments": "stream.options",
    "retrievalConfig": "tools.hosted.maps",
    "toolConfig": "tools.choice",
    "functionCallingConfig": "tools.choice",
    "mediaResolution": "media.detail",
    "audioTranscriptionConfig": "audio.input",
    "audioTimestamp": "audio.input",
    **dict.fromkeys(("finished", "languageCode", "speakerLabel", "startOffset", "endOffset"), "audio.input"),
    "audioTranscription": "audio.input",
    "enableEnhancedCivicAnswers": "safety.settings",
    "routingConfig": "native.field",
    "modelConfig": "native.field",
    "responseFormat": "output.structured",
    **dict.fromkeys(("delivery", "gcsUri", "resolution", "duration"), "media.output"),
    "generationConfig.responseFormat.video.aspectRatio": "media.output",
    "safetySettings": "safety.settings",
    "generationConfig": "native.field",
    "numTokens": "media.detail",
    "audioMetadata": "media.detail",
    "partMetadata": "native.content",
    "functionResponse.id": "tools.call_id",
    "function_response.id": "tools.call_id",
    "scheduling": "tools.result",
    "functionResponse": "tools.result",
    "toolCall": "tools.hosted.other",
    "toolResponse": "tools.hosted.other",
    "streamableHttpTransport": "tools.mcp",
    "vertexAiSearch": "tools.hosted.other",
    "vertexRagStore": "tools.hosted.other",
    "externalApi": "tools.hosted.other",
    "apiKey": "tools.hosted.other",
    "candidates": "native.field",
    "willContinue": "tools.result",
    "dynamicRetrievalConfig": "tools.hosted.web_search",
    "blockingConfidence": "tools.hosted.web_search",
    "authConfig": "tools.hosted.maps",
    "groundingTypes": "tools.hosted.maps",
    "safetyRatings": "safety.settings",
    "promptFeedback": "safety.settings",
    "blockReason": "safety.settings",
    "blockReasonMessage": "safety.settings",
    "avgLogprobs": "output.logprobs",
    "logprobsResult": "output.logprobs",
    "logProbabilitySum": "output.logprobs",
    "tokenCount": "usage.detail",
    "trafficType": "usage.detail",
    "usageMetadata": "usage.detail",
    "promptTokensDetails": "usage.detail",
    "candidatesTokensDetails": "usage.detail",
    "modelStatus": "metadata",
    "createTime": "metadata",
    "groundingMetadata": "citations.url",
    "groundingChunks": "citations.url",
    "reviewSnippets": "citations.other",
    "customMetadata": "citations.document",
    "groundingSupports": "citations.url",
    "segment": "citations.url",
    "confidenceScores": "citations.url",
    "renderedParts": "citations.url",
    "citationMetadata": "citations.url",
    "license": "citations.url",
    "publicationDate": "citations.url",
    "searchEntryPoint": "tools.hosted.web_search",
    "sdkBlob": "tools.hosted.web_search",
    "googleMapsWidgetContextToken": "tools.hosted.maps",
    "retrievalMetadata": "tools.hosted.web_search",
    "urlContextMetadata": "tools.hosted.web_fetch",
    "finishReason": "finish.reason",
    "modelSelectionConfig": "native.field",
    "imageOutputOptions": "image.output",
    "personGeneration": "image.output",
    "replicatedVoiceConfig": "audio.output",
    "voiceConfig.voice": "audio.output",
    "mediaResolution.level": "media.detail",
    "functionCallingConfig.mode": "tools.choice",
    "latLng": "tools.hosted.maps",
    "lat_lng": "tools.hosted.maps",
    **dict.fromkeys(("timeout", "sseReadTimeout", "terminateOnClose"), "tools.mcp"),
    **dict.fromkeys(
        ("disableAttribution", "customConfigs", "enableDataRetention", "enableZeroDataRetention"), "tools.hosted.other"
    ),
    "chosenCandidates": "output.logprobs",
    "urlRetrievalStatus": "tools.hosted.web_fetch",
    **dict.fromkeys(
        """web.uri web.domain image.domain image.imageUri maps.text maps.route retrievedContext.text documentName
        ragChunk reviewSnippet placeAnswerSources.flagContentUri segment.startIndex segment.endIndex segment.text
        sourceFlaggingUris""".split(),
        "citations.url",
    ),
}

_STATELESS = "google-generate-content has no server-side state; send the full history"
_ITEMS = "google-generate-content has no such part"
REFUSES = {
    **dict.fromkeys(("previous_response_id", "conversation", "prompt", "item_reference"), _STATELESS),
    "background": "google-generate-content has no background mode",
    "container": "google-generate-content has no reference to a container",
    **dict.fromkeys(
        ("truncation", "context_management", "compaction", "compaction_trigger"),
        "google-generate-content has no context management",
    ),
    "parallel_tool_calls": "google-generate-content cannot disable parallel tool calls",
    "max_tool_calls": "google-generate-content cannot limit tool calls",
    "logit_bias": "google-generate-content has no logit bias",
    "prediction": "google-generate-content has no predicted output",
    **dict.fromkeys(
        """computer_call computer_call_output shell_call shell_call_output local_shell_call
        local_shell_call_output apply_patch_call apply_patch_call_output retrieval_call retrieval_result""".split(),
        _ITEMS,
    ),
    **dict.fromkeys(
        "mcp_list_tools mcp_call mcp_result mcp_approval_request mcp_approval_response".split(),
        "calls of MCP tools are not shown",
    ),
    **dict.fromkeys(
        """additional_tools tool_change configuration_update tool_search_call tool_search_output tool_search_result
        program program_output fallback agent_message multi_agent_call multi_agent_call_output""".split(),
        _ITEMS,
    ),
}

FORMS = {
    "chunk": range(MOST + 1),
    "chunks": range(MOST + 1),
    "citation": ("citationSources", "citations"),
    "grounding": (
        "empty", "webSearchQueries", "imageSearchQueries", "retrievalQueries", "searchEntryPoint", "urlContextMetadata",
    ),
    "group": range(MOST + 1),
    "key": ("googleSearchRetrieval",),
    "kind": ("image",),
    "padding": range(4),
    "role": ("null", "absent", "own", "other", "user", "function", "tool", "USER", "FUNCTION", "model",
             "MODEL", "assistant"),
    "status": ("absent",),
    "support": range(MOST + 1),
    "system role": ("user", "model", "system"),
}  # fmt: skip
"""The words, and the numbers, of markers of form (`Adapter.forms`)."""
