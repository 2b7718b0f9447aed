"""One model of a conversation with a language model, and every provider's wire format mapped to it and back.

>>> import unified_llm as ul
>>> done = ul.convert({"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
...                   source="openai-chat", target="openai-responses")
>>> done.value["input"]
[{'type': 'message', 'role': 'user', 'content': 'Hi'}]

Everything but the errors loads on first use, and only what it needs: a conversion neither pydantic nor the HTTP
library. The canonical classes (`ul.Request`, `ul.Message`, `ul.FunctionCall`, ...) are listed in
`unified_llm.types.__all__`, those that call models in `unified_llm.client.__all__`.
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING

from .foundation.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    CapabilityLost,
    CapabilityRefused,
    ContentFilterError,
    ContextOverflowError,
    InvalidBody,
    InvalidRequestError,
    LocalProtocolError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RemoteProtocolError,
    ServerError,
    StreamInterruptedError,
    UnifiedLLMError,
    UnknownModel,
    UnknownProtocol,
    UnknownProvider,
)
from .foundation.lazy import load as _load
from .foundation.lazy import on_first_use as _on_first_use
from .foundation.run_errors import OutputParseError, ToolLoopLimitError, UnknownPrice
from .foundation.usage_errors import InvalidArgument, MissingExtra

# fmt: off
# isort: off
if TYPE_CHECKING:
    from typing import Any

    from . import client, drift, models, suite, types
    from .engine.registry import protocols, register
    from .foundation.exchange import Exchange
    from .losses import Fate, Level, Levels, Loss, Losses, LossGroup, Severity
    from .passes.convert import Converted, convert, preview, to_sdk, write
    from .passes.reading import read
    from .provenance.vault import MemoryVault, Vault
    from .streams.byte_pipeline import atranslate_sse, translate_sse
    from .streams.conversion import ConvertedStream, aconvert_stream, convert_stream, read_stream
    from .streams.collect_and_decompose import collect, decompose
    from .streams.framings import jsonarray, sse
    from .streams.writing import write_stream
    from .client import (
        AsyncBackground, AsyncClient, AsyncEventStream, AsyncParsedStream, AsyncRunStream, AsyncToolServer,
        Background, Client, EventStream, Hooks, Input, InputItem, MemoryStore, ModelInfo, ParsedStream, PendingCall,
        RequestInfo, ResponseInfo, Result, Retry, RetryInfo, RunResult, RunStream, Step, Store, TokenCount, Tool,
        ToolContext, ToolError, ToolLike, ToolOutput, ToolServer, TurnDone, Upstream, async_http_client, file,
        http_client, image, tool,
    )
    from .losses.certificate import Trace
    from .types import (  # without its `Tool`: the client's is at the front
        AdditionalTools, AgentMessage, AllowedTools, Annotation, AnnotationAdded, ApplyPatchCall,
        ApplyPatchCallOutput, ApplyPatchDiffDelta, ApplyPatchDiffDone, ApplyPatchTool, AudioConfig, AudioEvent, Cache,
        Capability, Choice, CitationsConfig, CodeInterpreterCall, CodeInterpreterCallCodeDelta,
        CodeInterpreterCallCodeDone, CodeInterpreterCallProgress, CodeInterpreterResult, CodeInterpreterTool,
        CodeOutput, Compaction, CompactionProgress, CompactionTrigger, ComputerCall, ComputerCallOutput,
        ComputerScreenshot, ComputerTool, ConfigurationUpdate, ContainerFileCitation, ContentPartAdded,
        ContentPartDone, ContextManagement, CustomFormat, CustomTool, CustomToolCall, CustomToolCallInputDelta,
        CustomToolCallInputDone, CustomToolCallOutput, DocumentCitation, EncryptedContent, ErrorBody, ErrorEvent,
        Event, Fallback, FileCitation, FilePath, FileSearchCall, FileSearchCallProgress, FileSearchHit,
        FileSearchResult, FileSearchTool, Finish, FrameEvent, FunctionCall, FunctionCallArgumentsDelta,
        FunctionCallArgumentsDone, FunctionCallOutput, FunctionTool, HostedToolChoice, ImageConfig,
        ImageGenerationCall, ImageGenerationCallPartialImage, ImageGenerationCallProgress, ImageGenerationTool,
        IncompleteDetails, InputAudio, InputFile, InputImage, InputText, InputTokensDetails, InputVideo, Item,
        ItemReference, Kind, LocalShellCall, LocalShellCallOutput, LocalShellTool, LogProb, MapsCall, MapsResult,
        MapsTool, McpApprovalRequest, McpApprovalResponse, McpCall, McpCallArgumentsDelta, McpCallArgumentsDone,
        McpCallProgress, McpListTools, McpListToolsProgress, McpResult, McpTool, MediaProcessing, Message, Model,
        MultiAgentCall, MultiAgentCallOutput, NamespaceTool, Node, Opaque, Origin, OutputAudio, OutputAudioDelta,
        OutputAudioDone, OutputAudioTranscriptDelta, OutputAudioTranscriptDone, OutputFile, OutputImage,
        OutputImageDelta, OutputImageDone, OutputItemAdded, OutputItemDone, OutputText, OutputTextDelta,
        OutputTextDone, OutputTokensDetails, OutputVideo, Part, PlaceCitation, ProcessingCall, ProcessingResult,
        Program, ProgramOutput, ProgrammaticToolCallingTool, PromptCacheOptions, PromptTemplate, Reasoning,
        ReasoningConfig, ReasoningSummaryPartAdded, ReasoningSummaryPartDone, ReasoningSummaryTextDelta,
        ReasoningSummaryTextDone, ReasoningText, ReasoningTextDelta, ReasoningTextDone, Refusal, RefusalDelta,
        RefusalDone, Request, Response, ResponseEvent, RetrievalCall, RetrievalResult, RetrievalTool, SafetySetting,
        SearchFilters, SearchResult, SearchResultCitation, Settings, ShellAction, ShellCall, ShellCallCommandAdded,
        ShellCallCommandDelta, ShellCallCommandDone, ShellCallOutput, ShellCallOutputContentDelta,
        ShellCallOutputContentDone, ShellOutput, ShellTool, SpeechMetadata, SteerEvent, StreamOptions, SummaryText,
        Text, TextConfig, TextFormat, ToolChange, ToolChoice, ToolChoiceCustom, ToolChoiceFunction, ToolChoiceMcp,
        ToolReference, ToolSearchCall, ToolSearchOutput, ToolSearchResult, ToolSearchTool, Unknown, UnknownAnnotation,
        UnknownEvent, UnknownItem, UnknownPart, UnknownTool, UrlCitation, Usage, UserLocation, WebFetchCall,
        WebFetchPage, WebFetchResult, WebFetchTool, WebSearchAction, WebSearchCall, WebSearchCallProgress,
        WebSearchHit, WebSearchResult, WebSearchTool, WordInfo, cap, dump, validate,
    )
# isort: on
# fmt: on

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "APIConnectionError", "APIError", "APITimeoutError", "AdditionalTools", "AgentMessage", "AllowedTools",
    "Annotation", "AnnotationAdded", "ApplyPatchCall", "ApplyPatchCallOutput", "ApplyPatchDiffDelta",
    "ApplyPatchDiffDone", "ApplyPatchTool", "AsyncBackground", "AsyncClient", "AsyncEventStream", "AsyncParsedStream",
    "AsyncRunStream", "AsyncToolServer", "AudioConfig", "AudioEvent", "AuthenticationError", "Background", "Cache",
    "Capability", "CapabilityLost", "CapabilityRefused", "Choice", "CitationsConfig", "Client", "CodeInterpreterCall",
    "CodeInterpreterCallCodeDelta", "CodeInterpreterCallCodeDone", "CodeInterpreterCallProgress",
    "CodeInterpreterResult", "CodeInterpreterTool", "CodeOutput", "Compaction", "CompactionProgress",
    "CompactionTrigger", "ComputerCall", "ComputerCallOutput", "ComputerScreenshot", "ComputerTool",
    "ConfigurationUpdate", "ContainerFileCitation", "ContentFilterError", "ContentPartAdded", "ContentPartDone",
    "ContextManagement", "ContextOverflowError", "Converted", "ConvertedStream", "CustomFormat", "CustomTool",
    "CustomToolCall", "CustomToolCallInputDelta", "CustomToolCallInputDone", "CustomToolCallOutput", "DocumentCitation",
    "EncryptedContent", "ErrorBody", "ErrorEvent", "Event", "EventStream", "Exchange", "Fallback", "Fate",
    "FileCitation", "FilePath", "FileSearchCall", "FileSearchCallProgress", "FileSearchHit", "FileSearchResult",
    "FileSearchTool", "Finish", "FrameEvent", "FunctionCall", "FunctionCallArgumentsDelta", "FunctionCallArgumentsDone",
    "FunctionCallOutput", "FunctionTool", "Hooks", "HostedToolChoice", "ImageConfig", "ImageGenerationCall",
    "ImageGenerationCallPartialImage", "ImageGenerationCallProgress", "ImageGenerationTool", "IncompleteDetails",
    "Input", "InputAudio", "InputFile", "InputImage", "InputItem", "InputText", "InputTokensDetails", "InputVideo",
    "InvalidArgument", "InvalidBody", "InvalidRequestError", "Item", "ItemReference", "Kind", "Level", "Levels",
    "LocalProtocolError", "LocalShellCall", "LocalShellCallOutput", "LocalShellTool", "LogProb", "Loss", "LossGroup",
    "Losses", "MapsCall", "MapsResult", "MapsTool", "McpApprovalRequest", "McpApprovalResponse", "McpCall",
    "McpCallArgumentsDelta", "McpCallArgumentsDone", "McpCallProgress", "McpListTools", "McpListToolsProgress",
    "McpResult", "McpTool", "MediaProcessing", "MemoryStore", "MemoryVault", "Message", "MissingExtra", "Model",
    "ModelInfo", "MultiAgentCall", "MultiAgentCallOutput", "NamespaceTool", "Node", "NotFoundError", "Opaque", "Origin",
    "OutputAudio", "OutputAudioDelta", "OutputAudioDone", "OutputAudioTranscriptDelta", "OutputAudioTranscriptDone",
    "OutputFile", "OutputImage", "OutputImageDelta", "OutputImageDone", "OutputItemAdded", "OutputItemDone",
    "OutputParseError", "OutputText", "OutputTextDelta", "OutputTextDone", "OutputTokensDetails", "OutputVideo",
    "OverloadedError", "ParsedStream", "Part", "PendingCall", "PermissionDeniedError", "PlaceCitation",
    "ProcessingCall", "ProcessingResult", "Program", "ProgramOutput", "ProgrammaticToolCallingTool",
    "PromptCacheOptions", "PromptTemplate", "ProtocolError", "QuotaExceededError", "RateLimitError", "Reasoning",
    "ReasoningConfig", "ReasoningSummaryPartAdded", "ReasoningSummaryPartDone", "ReasoningSummaryTextDelta",
    "ReasoningSummaryTextDone", "ReasoningText", "ReasoningTextDelta", "ReasoningTextDone", "Refusal", "RefusalDelta",
    "RefusalDone", "RemoteProtocolError", "Request", "RequestInfo", "Response", "ResponseEvent", "ResponseInfo",
    "Result", "RetrievalCall", "RetrievalResult", "RetrievalTool", "Retry", "RetryInfo", "RunResult", "RunStream",
    "SafetySetting", "SearchFilters", "SearchResult", "SearchResultCitation", "ServerError", "Settings", "Severity",
    "ShellAction", "ShellCall", "ShellCallCommandAdded", "ShellCallCommandDelta", "ShellCallCommandDone",
    "ShellCallOutput", "ShellCallOutputContentDelta", "ShellCallOutputContentDone", "ShellOutput", "ShellTool",
    "SpeechMetadata", "SteerEvent", "Step", "Store", "StreamInterruptedError", "StreamOptions", "SummaryText", "Text",
    "TextConfig", "TextFormat", "TokenCount", "Tool", "ToolChange", "ToolChoice", "ToolChoiceCustom",
    "ToolChoiceFunction", "ToolChoiceMcp", "ToolContext", "ToolError", "ToolLike", "ToolLoopLimitError", "ToolOutput",
    "ToolReference", "ToolSearchCall", "ToolSearchOutput", "ToolSearchResult", "ToolSearchTool", "ToolServer", "Trace",
    "TurnDone", "UnifiedLLMError", "Unknown", "UnknownAnnotation", "UnknownEvent", "UnknownItem", "UnknownModel",
    "UnknownPart", "UnknownPrice", "UnknownProtocol", "UnknownProvider", "UnknownTool", "Upstream", "UrlCitation",
    "Usage", "UserLocation", "Vault", "WebFetchCall", "WebFetchPage", "WebFetchResult", "WebFetchTool",
    "WebSearchAction", "WebSearchCall", "WebSearchCallProgress", "WebSearchHit", "WebSearchResult", "WebSearchTool",
    "WordInfo", "__version__", "aconvert_stream", "async_http_client", "atranslate_sse", "cap", "client", "collect",
    "convert", "convert_stream", "decompose", "drift", "dump", "file", "http_client", "image", "jsonarray", "models",
    "preview", "protocols", "read", "read_stream", "register", "sse", "suite", "to_sdk", "tool", "translate_sse",
    "types", "validate", "write", "write_stream",
]
# fmt: on

_MODULES = {
    **{name: f".{name}" for name in ("client", "drift", "models", "suite", "types")},
    **{name: f".streams.framings.{name}" for name in ("jsonarray", "sse")},
}

if not TYPE_CHECKING:
    _conversions = _on_first_use(
        __name__,
        {
            "engine.registry": "protocols register",
            "foundation.exchange": "Exchange",
            "losses": "Fate Level Levels Loss Losses LossGroup Severity",
            "losses.certificate": "Trace",
            "passes.convert": "Converted convert preview to_sdk write",
            "passes.reading": "read",
            "provenance.vault": "MemoryVault Vault",
            "streams.byte_pipeline": "atranslate_sse translate_sse",
            "streams.conversion": "ConvertedStream aconvert_stream convert_stream read_stream",
            "streams.collect_and_decompose": "collect decompose",
            "streams.writing": "write_stream",
        },
    )

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return _load(_MODULES[name], __name__)
        if name in _conversions[1]():
            return _conversions[0](name)
        if name in __all__:
            # Not `from . import types`, which would call this function for the name.
            for home in (".client", ".types"):
                module = _load(home, __name__)
                if name in module.__all__:
                    value = globals()[name] = getattr(module, name)
                    return value
        # With these two an interpreter shows the nearest name.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__])

    def __dir__() -> list[str]:
        return list(__all__)
