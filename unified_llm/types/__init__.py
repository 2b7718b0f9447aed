"""The canonical model of a conversation with a language model: items, parts, tools, requests, responses, events.

Declarations only. In flight the canonical form is its own JSON. These classes are for callers who use objects, and they
are the source of the tables and TypedDict twins that conversion uses (`python -m unified_llm.types._generate`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .action_items import *
    from .annotations import *
    from .base import Cache, Capability, Kind, Model, Node, Opaque, Origin, Unknown, cap
    from .content_events import *
    from .context_items import *
    from .errors import *
    from .events import *
    from .hosted_events import *
    from .hosted_items import *
    from .hosted_tools import *
    from .items import *
    from .parts import *
    from .request import *
    from .response import *
    from .settings import *
    from .tool_choice import *
    from .tools import *
    from .usage import *
    from .validation import dump, validate

__all__ = [
    "AdditionalTools",
    "AgentMessage",
    "AllowedTools",
    "Annotation",
    "AnnotationAdded",
    "ApplyPatchCall",
    "ApplyPatchCallOutput",
    "ApplyPatchDiffDelta",
    "ApplyPatchDiffDone",
    "ApplyPatchTool",
    "AudioConfig",
    "AudioEvent",
    "Cache",
    "Capability",
    "Choice",
    "CitationsConfig",
    "CodeInterpreterCall",
    "CodeInterpreterCallCodeDelta",
    "CodeInterpreterCallCodeDone",
    "CodeInterpreterCallProgress",
    "CodeInterpreterResult",
    "CodeInterpreterTool",
    "CodeOutput",
    "Compaction",
    "CompactionProgress",
    "CompactionTrigger",
    "ComputerCall",
    "ComputerCallOutput",
    "ComputerScreenshot",
    "ComputerTool",
    "ConfigurationUpdate",
    "ContainerFileCitation",
    "ContentPartAdded",
    "ContentPartDone",
    "ContextManagement",
    "CustomFormat",
    "CustomTool",
    "CustomToolCall",
    "CustomToolCallInputDelta",
    "CustomToolCallInputDone",
    "CustomToolCallOutput",
    "DocumentCitation",
    "EncryptedContent",
    "ErrorBody",
    "ErrorEvent",
    "Event",
    "Fallback",
    "FileCitation",
    "FilePath",
    "FileSearchCall",
    "FileSearchCallProgress",
    "FileSearchHit",
    "FileSearchResult",
    "FileSearchTool",
    "Finish",
    "FrameEvent",
    "FunctionCall",
    "FunctionCallArgumentsDelta",
    "FunctionCallArgumentsDone",
    "FunctionCallOutput",
    "FunctionTool",
    "HostedToolChoice",
    "ImageConfig",
    "ImageGenerationCall",
    "ImageGenerationCallPartialImage",
    "ImageGenerationCallProgress",
    "ImageGenerationTool",
    "IncompleteDetails",
    "InputAudio",
    "InputFile",
    "InputImage",
    "InputText",
    "InputTokensDetails",
    "InputVideo",
    "Item",
    "ItemReference",
    "Kind",
    "LocalShellCall",
    "LocalShellCallOutput",
    "LocalShellTool",
    "LogProb",
    "MapsCall",
    "MapsResult",
    "MapsTool",
    "McpApprovalRequest",
    "McpApprovalResponse",
    "McpCall",
    "McpCallArgumentsDelta",
    "McpCallArgumentsDone",
    "McpCallProgress",
    "McpListTools",
    "McpListToolsProgress",
    "McpResult",
    "McpTool",
    "MediaProcessing",
    "Message",
    "Model",
    "MultiAgentCall",
    "MultiAgentCallOutput",
    "NamespaceTool",
    "Node",
    "Opaque",
    "Origin",
    "OutputAudio",
    "OutputAudioDelta",
    "OutputAudioDone",
    "OutputAudioTranscriptDelta",
    "OutputAudioTranscriptDone",
    "OutputFile",
    "OutputImage",
    "OutputImageDelta",
    "OutputImageDone",
    "OutputItemAdded",
    "OutputItemDone",
    "OutputText",
    "OutputTextDelta",
    "OutputTextDone",
    "OutputTokensDetails",
    "OutputVideo",
    "Part",
    "PlaceCitation",
    "ProcessingCall",
    "ProcessingResult",
    "Program",
    "ProgramOutput",
    "ProgrammaticToolCallingTool",
    "PromptCacheOptions",
    "PromptTemplate",
    "Reasoning",
    "ReasoningConfig",
    "ReasoningSummaryPartAdded",
    "ReasoningSummaryPartDone",
    "ReasoningSummaryTextDelta",
    "ReasoningSummaryTextDone",
    "ReasoningText",
    "ReasoningTextDelta",
    "ReasoningTextDone",
    "Refusal",
    "RefusalDelta",
    "RefusalDone",
    "Request",
    "Response",
    "ResponseEvent",
    "RetrievalCall",
    "RetrievalResult",
    "RetrievalTool",
    "SafetySetting",
    "SearchFilters",
    "SearchResult",
    "SearchResultCitation",
    "Settings",
    "ShellAction",
    "ShellCall",
    "ShellCallCommandAdded",
    "ShellCallCommandDelta",
    "ShellCallCommandDone",
    "ShellCallOutput",
    "ShellCallOutputContentDelta",
    "ShellCallOutputContentDone",
    "ShellOutput",
    "ShellTool",
    "SpeechMetadata",
    "SteerEvent",
    "StreamOptions",
    "SummaryText",
    "Text",
    "TextConfig",
    "TextFormat",
    "Tool",
    "ToolChange",
    "ToolChoice",
    "ToolChoiceCustom",
    "ToolChoiceFunction",
    "ToolChoiceMcp",
    "ToolReference",
    "ToolSearchCall",
    "ToolSearchOutput",
    "ToolSearchResult",
    "ToolSearchTool",
    "Unknown",
    "UnknownAnnotation",
    "UnknownEvent",
    "UnknownItem",
    "UnknownPart",
    "UnknownTool",
    "UrlCitation",
    "Usage",
    "UserLocation",
    "WebFetchCall",
    "WebFetchPage",
    "WebFetchResult",
    "WebFetchTool",
    "WebSearchAction",
    "WebSearchCall",
    "WebSearchCallProgress",
    "WebSearchHit",
    "WebSearchResult",
    "WebSearchTool",
    "WordInfo",
    "cap",
    "dump",
    "validate",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "action_items": (
                "ApplyPatchCall ApplyPatchCallOutput ComputerCall ComputerCallOutput LocalShellCall "
                "LocalShellCallOutput McpApprovalRequest McpApprovalResponse McpCall McpListTools McpResult "
                "ShellAction ShellCall ShellCallOutput ShellOutput"
            ),
            "annotations": (
                "Annotation ContainerFileCitation DocumentCitation FileCitation FilePath PlaceCitation "
                "SearchResultCitation SpeechMetadata UnknownAnnotation UrlCitation WordInfo"
            ),
            "base": "Cache Capability Kind Model Node Opaque Origin Unknown cap",
            "tool_choice": "AllowedTools HostedToolChoice ToolChoice ToolChoiceCustom ToolChoiceFunction ToolChoiceMcp",
            "content_events": (
                "AnnotationAdded CustomToolCallInputDelta CustomToolCallInputDone FunctionCallArgumentsDelta "
                "FunctionCallArgumentsDone OutputAudioDelta OutputAudioDone OutputAudioTranscriptDelta "
                "OutputAudioTranscriptDone OutputImageDelta OutputImageDone OutputTextDelta OutputTextDone "
                "ReasoningSummaryPartAdded ReasoningSummaryPartDone ReasoningSummaryTextDelta "
                "ReasoningSummaryTextDone ReasoningTextDelta ReasoningTextDone RefusalDelta RefusalDone"
            ),
            "context_items": (
                "AdditionalTools AgentMessage Compaction CompactionTrigger ConfigurationUpdate Fallback "
                "ItemReference MultiAgentCall MultiAgentCallOutput Program ProgramOutput ToolChange "
                "ToolSearchCall ToolSearchOutput ToolSearchResult"
            ),
            "errors": "ErrorBody",
            "events": (
                "ContentPartAdded ContentPartDone ErrorEvent Event FrameEvent OutputItemAdded OutputItemDone "
                "ResponseEvent UnknownEvent"
            ),
            "hosted_items": (
                "CodeInterpreterCall CodeInterpreterResult CodeOutput FileSearchCall FileSearchHit "
                "FileSearchResult ImageGenerationCall MapsCall MapsResult ProcessingCall ProcessingResult "
                "RetrievalCall RetrievalResult WebFetchCall WebFetchPage WebFetchResult WebSearchAction "
                "WebSearchCall WebSearchHit WebSearchResult"
            ),
            "hosted_events": (
                "ApplyPatchDiffDelta ApplyPatchDiffDone AudioEvent CodeInterpreterCallCodeDelta "
                "CodeInterpreterCallCodeDone CodeInterpreterCallProgress CompactionProgress "
                "FileSearchCallProgress ImageGenerationCallPartialImage ImageGenerationCallProgress "
                "McpCallArgumentsDelta McpCallArgumentsDone McpCallProgress McpListToolsProgress "
                "ShellCallCommandAdded ShellCallCommandDelta ShellCallCommandDone ShellCallOutputContentDelta "
                "ShellCallOutputContentDone SteerEvent WebSearchCallProgress"
            ),
            "hosted_tools": (
                "CodeInterpreterTool FileSearchTool ImageGenerationTool MapsTool McpTool RetrievalTool "
                "SearchFilters UserLocation WebFetchTool WebSearchTool"
            ),
            "items": (
                "CustomToolCall CustomToolCallOutput FunctionCall FunctionCallOutput Item Message Reasoning UnknownItem"
            ),
            "parts": (
                "CitationsConfig ComputerScreenshot EncryptedContent InputAudio InputFile InputImage InputText "
                "InputVideo LogProb MediaProcessing OutputAudio OutputFile OutputImage OutputText OutputVideo "
                "Part ReasoningText Refusal SearchResult SummaryText Text ToolReference UnknownPart"
            ),
            "request": "ContextManagement Request",
            "response": "Choice Finish IncompleteDetails Response",
            "settings": (
                "AudioConfig ImageConfig PromptCacheOptions PromptTemplate ReasoningConfig SafetySetting Settings "
                "StreamOptions TextConfig TextFormat"
            ),
            "tools": (
                "ApplyPatchTool ComputerTool CustomFormat CustomTool FunctionTool LocalShellTool "
                "NamespaceTool ProgrammaticToolCallingTool ShellTool Tool ToolSearchTool UnknownTool"
            ),
            "usage": "InputTokensDetails OutputTokensDetails Usage",
            "validation": "dump validate",
        },
    )
