"""The messages of the generateContent wire: what each may hold, in camelCase; the API takes snake_case as well.

From Google's API description of GenerateContentRequest, both of the Developer API and of the cloud platform.
"""

from __future__ import annotations

BODY = """contents!:a systemInstruction:o tools:a toolConfig:o safetySettings:a generationConfig:o cachedContent:s
labels:o
serviceTier:s store:b continuationToken:s modelArmorConfig:o outputConfig:o model:s generationOutputConfig:o"""
CONTENT = "role?:s parts:a"
PART = """text:s inlineData:o fileData:o functionCall:o functionResponse:o executableCode:o codeExecutionResult:o
toolCall:o
toolResponse:o audioTranscription thought:b thoughtSignature:s videoMetadata:o mediaResolution mediaProcessing:s
documentMetadata:o spreadsheetMetadata:o audioMetadata:o speechMetadata:o partMetadata:o"""
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
        "toolCall", "toolResponse", "audioTranscription")  # fmt: skip
PARTS = {
    "inlineData": "mimeType!:s data!:s displayName:s",
    "fileData": "fileUri!:s mimeType:s displayName:s",
    "functionCall": "id:s name!:s args?:o partialArgs:a willContinue:b",
    "functionResponse": "id:s name!:s response!:o parts:a scheduling:s willContinue:b",
    "executableCode": "language:s code:s id:s",
    "codeExecutionResult": "outcome:s output:s id:s",
    "toolCall": "id:s toolType:s args:o",
    "toolResponse": "id:s toolType:s response:o",
}
CONFIG = """temperature:n topP:n topK:n candidateCount:i maxOutputTokens:i stopSequences:a seed:i presencePenalty:n
frequencyPenalty:n responseLogprobs:b logprobs:i responseMimeType:s responseSchema:o responseJsonSchema responseFormat
responseModalities:a mediaResolution:s speechConfig:o thinkingConfig:o imageConfig:o audioTranscriptionConfig:o
enableEnhancedCivicAnswers:b audioTimestamp:b routingConfig:o modelConfig:o translationConfig:o"""
THINKING = "includeThoughts:b thinkingBudget:i thinkingLevel:s"
LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH", "THINKING_LEVEL_UNSPECIFIED")
MODALITIES = ("TEXT", "IMAGE", "AUDIO", "VIDEO", "MODALITY_UNSPECIFIED")
TOOL = """functionDeclarations:a googleSearch:o googleSearchRetrieval:o urlContext:o codeExecution:o googleMaps:o
computerUse:o
fileSearch:o mcpServers:a retrieval:o enterpriseWebSearch:o parallelAiSearch:o exaAiSearch:o"""
DECLARATION = """name!:s description:s parameters:o parametersJsonSchema response:o responseJsonSchema behavior:s"""
TOOL_CONFIG = "functionCallingConfig:o retrievalConfig:o includeServerSideToolInvocations:b"
CALLING = "mode:s allowedFunctionNames:a streamFunctionCallArguments:b"
MODES = ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED")
SAFETY = "category!:s threshold!:s method:s"

SCHEMA = """type format title description nullable enum items minItems maxItems properties required minProperties
maxProperties minLength maxLength pattern example anyOf propertyOrdering default minimum maximum additionalProperties
defs
ref""".split()  # fmt: skip
"""The keys of the Schema message; any other is an unknown name. It is not a JSON schema."""
