"""Words and small values of Converse: media formats, ends, error types, and what only this protocol has.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, IllTyped
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.pairs.writing import Writer

__all__ = [
    "ERRORS",
    "EXCEPTIONS",
    "FINISH",
    "FORMS",
    "INCOMPLETE",
    "LIFETIMES",
    "MEDIA",
    "NATIVES",
    "POINTS",
    "PROTOCOL",
    "REFUSES",
    "REQUEST",
    "RESPONSE",
    "STATUS",
    "format_of",
    "is_own",
    "media_type_of",
    "move",
    "was_own",
]

Node = dict[str, Any]

PROTOCOL = "amazon-converse"
LIFETIMES = ("5m", "1h")
POINTS = Bimap({"default": "explicit"})

# Settings beside `inferenceConfig`; the others are in `request.py`.
REQUEST = Table("request", Field("requestMetadata", "metadata"))
RESPONSE = Table("response")

FINISH = Bimap(
    {
        "end_turn": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "stop_sequence": "stop_sequence",
        "content_filtered": "safety",
        "malformed_model_output": "error",
        "malformed_tool_use": "malformed_call",
        "model_context_window_exceeded": "context_window",
    },
    reading={"guardrail_intervened": "safety"},
    # What did not end well is not sent as the end of a turn, which clients take for success.
    writing={
        "refusal": "content_filtered",
        "recitation": "content_filtered",
        "pause": "max_tokens",
        "cancelled": "max_tokens",
        "other": "max_tokens",
    },
)
INCOMPLETE = frozenset(("length", "context_window", "safety", "recitation"))

ERRORS = Bimap(
    {
        "ValidationException": "invalid_request",
        "UnrecognizedClientException": "authentication",
        "AccessDeniedException": "permission",
        "ResourceNotFoundException": "not_found",
        "ConflictException": "conflict",
        "ThrottlingException": "rate_limit",
        "ServiceQuotaExceededException": "quota",
        "ModelTimeoutException": "timeout",
        "InternalServerException": "server_error",
        "ServiceUnavailableException": "overloaded",
    },
    reading={
        "ModelErrorException": "server_error",
        "ModelStreamErrorException": "server_error",
        "ModelNotReadyException": "overloaded",
        "ExpiredTokenException": "authentication",
        "IncompleteSignatureException": "authentication",
        "InvalidSignatureException": "authentication",
        "MissingAuthenticationTokenException": "authentication",
        "InvalidClientTokenId": "authentication",
    },
    writing={
        "context_overflow": "ValidationException",
        "content_filter": "ValidationException",
        "too_large": "ValidationException",
        "other": "InternalServerException",
    },
)
# The exceptions by their status in the model of the service; the common errors of AWS have one more of status 403.
EXCEPTIONS = {
    400: ("ValidationException", "ServiceQuotaExceededException", "ConflictException"),
    403: ("AccessDeniedException", "UnrecognizedClientException"),
    404: ("ResourceNotFoundException",),
    408: ("ModelTimeoutException",),
    424: ("ModelErrorException",),
    429: ("ThrottlingException", "ModelNotReadyException"),
    500: ("InternalServerException",),
    503: ("ServiceUnavailableException",),
}
STATUS = {
    "invalid_request": 400,
    "context_overflow": 400,
    "content_filter": 400,
    "too_large": 400,
    "quota": 400,
    "conflict": 400,
    "authentication": 403,
    "permission": 403,
    "not_found": 404,
    "timeout": 408,
    "rate_limit": 429,
    "server_error": 500,
    "other": 500,
    "overloaded": 503,
}

# ---- media: a format is one word here, and a media type elsewhere ---------------------------------------------------

MEDIA = {
    "image": Bimap({word: f"image/{word}" for word in ("png", "jpeg", "gif", "webp")}, writing={"image/jpg": "jpeg"}),
    "video": Bimap(
        {
            "mkv": "video/x-matroska",
            "mov": "video/quicktime",
            "mp4": "video/mp4",
            "webm": "video/webm",
            "flv": "video/x-flv",
            "mpeg": "video/mpeg",
            "mpg": "video/mpg",
            "wmv": "video/x-ms-wmv",
            "three_gp": "video/3gpp",
        },
        writing={"video/mov": "mov", "video/wmv": "wmv"},
    ),
    "audio": Bimap(
        {
            **{word: f"audio/{word}" for word in ("opus", "wav", "aac", "flac", "mp4", "ogg", "x-aac", "m4a", "webm")},
            "mp3": "audio/mp3",
            "mkv": "audio/x-matroska",
            "mka": "audio/matroska",
            "mpeg": "audio/mpeg",
            "mpga": "audio/mpga",
            "pcm": "audio/pcm",
        },
        writing={"audio/x-wav": "wav", "audio/l16": "pcm"},
    ),
    "document": Bimap(
        {
            "pdf": "application/pdf",
            "csv": "text/csv",
            "doc": "application/msword",
            "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "xls": "application/vnd.ms-excel",
            "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "html": "text/html",
            "txt": "text/plain",
            "md": "text/markdown",
        },
        writing={"text/x-markdown": "md"},
    ),
}


def media_type_of(kind: str, word: Any) -> str | None:
    """The media type of a format; None for a word that is not declared."""
    return MEDIA[kind].reads.get(word) if type(word) is str else None


def format_of(kind: str, media_type: Any) -> str | None:
    """The format of a media type, whatever its parameters; None for one that the API does not take."""
    return MEDIA[kind].writes.get(media_type.partition(";")[0].strip().lower()) if type(media_type) is str else None


# ---- helpers --------------------------------------------------------------------------------------------------------


def is_own(w: Writer) -> bool:
    """Whether the document being written was read from this protocol: then it is left as it is."""
    own = w.context.get("own")
    if own is None:
        own = w.context["own"] = was_own(w.doc, w)
    return bool(own)


def was_own(doc: Any, w: Writer) -> bool:
    """The same of a document that is to be written."""
    extra = doc.get("extra") if type(doc) is dict else None
    return w.source == w.protocol or PROTOCOL in (extra or {})


def move(w: Node, key: str, node: Node, name: str, r: Reader, at: tuple[Any, ...], *kinds: type) -> bool:
    """Move a value of one of these types from a wire object to the canonical node; `at` is where that object stands."""
    if key not in w or type(w[key]) not in kinds:
        return False
    node[name] = w.pop(key)
    r.place(node, (name,), (*at, key))
    return True


def need(w: Node, key: str, node: Node, name: str, r: Reader, at: tuple[Any, ...], *kinds: type) -> None:
    """The same for a value without which the object is none of its kind."""
    if not move(w, key, node, name, r, at, *kinds):
        raise IllTyped(key)


# ---- what only this protocol has, and what it has no form for -------------------------------------------------------

NATIVES = {
    # requests
    "guardrailConfig": "safety.settings",
    "projectIdentifier": "metadata",
    "additionalModelRequestFields": "native.field",
    "additionalModelResponseFieldPaths": "include",
    "promptVariables": "state.conversation",
    "performanceConfig": "service.tier",
    "systemTool": "tools.hosted.other",
    # blocks
    "bucketOwner": "file.reference",
    "cachePoint": "cache.breakpoint",
    "domain": "citations.url",
    "error": "image.output",
    "guardContent": "safety.settings",
    "source": "citations.document",
    "sourceContent": "citations.document",
    "citationsContent": "citations.document",
    "toolAddition": "context.changes",
    "toolRemoval": "context.changes",
    "toolResult": "tools.executor",
    "image": "image.output",
    "audio": "audio.output",
    "video": "file.reference",
    "document": "file.reference",
    "location": "citations.url",
    "unified_llm:native": "native.field",
    # responses
    "metrics": "native.field",
    "trace": "safety.settings",
    "additionalModelResponseFields": "include",
    "cacheDetails": "usage.cache",
    # errors
    "__type": "error.code",
    "originalStatusCode": "error.detail",
    "originalMessage": "error.detail",
    "resourceName": "error.detail",
}
FORMS = {
    "total": ("fresh", "absent"),
    "guard": ("text", "image"),
    "role": ("user", "assistant", "system"),
    "signature": ("absent",),
    "top_k": ("top_k", "inferenceConfig.topK"),
    "schema": ("compact", "spaced", "ascii", "indented"),
    "body": ("Message", "text", "flat", "value"),
}
_ONE = "amazon-converse returns one response"
_STATELESS = "amazon-converse has no server-side state"
_PENALTIES = "amazon-converse has no penalties"
_HOSTED = "amazon-converse has no hosted tool of this kind"

REFUSES = {
    "n": _ONE,
    "seed": "amazon-converse has no seed",
    "top_k": "a field of some models only: additionalModelRequestFields",
    "presence_penalty": _PENALTIES,
    "frequency_penalty": _PENALTIES,
    "logit_bias": _PENALTIES,
    "top_logprobs": "amazon-converse returns no log probabilities",
    "parallel_tool_calls": "a setting of some models, beside a free choice of tools only",
    "store": _STATELESS,
    "previous_response_id": _STATELESS,
    "conversation": _STATELESS,
    "prompt": "amazon-converse takes the ARN of a prompt as its model",
    "item_reference": _STATELESS,
    "background": "amazon-converse has no background mode",
    "truncation": "amazon-converse has no truncation setting",
    "modalities": "amazon-converse has no setting of modalities",
    "audio": "amazon-converse has no settings of audio output",
    "image": "amazon-converse has no settings of image output",
    "prediction": "amazon-converse has no predicted output",
    "prompt_cache_key": "caching goes by cache points",
    **dict.fromkeys(
        """apply_patch apply_patch_call apply_patch_call_output code_interpreter code_interpreter_call
        code_interpreter_result computer computer_call computer_call_output computer_use_preview file_search
        file_search_call file_search_result image_generation image_generation_call local_shell local_shell_call
        local_shell_call_output maps maps_call maps_result mcp mcp_approval_request mcp_approval_response mcp_call
        mcp_list_tools mcp_result processing_call processing_result retrieval retrieval_call retrieval_result shell
        shell_call shell_call_output tool_search tool_search_call tool_search_output tool_search_result url_fetch
        web_fetch web_fetch_call web_fetch_result web_search web_search_2025_08_26 web_search_call
        web_search_preview web_search_preview_2025_03_11 web_search_result""".split(),
        _HOSTED,
    ),
    **dict.fromkeys(
        """additional_tools agent_message compaction compaction_trigger configuration_update fallback
        multi_agent_call multi_agent_call_output program program_output programmatic_tool_calling""".split(),
        "amazon-converse has no such item",
    ),
    **dict.fromkeys(("computer_screenshot", "encrypted_content"), "amazon-converse has no such part"),
    "namespace": "amazon-converse has no namespaces",
    **dict.fromkeys("reasoning_text summary_text".split(), "reasoning is a block of its own"),
    "file_path": "amazon-converse has no such citation",
}
