"""Items of hosted tools: searches, pages, code, images, places, media.

`*_call` items have the Responses wire's shape, with results inline where a wire has them inline; `*_result` items hold
them where a wire keeps them apart. https://platform.openai.com/docs/api-reference/responses/object
"""

from typing import Annotated, Any, ClassVar, Literal

from .base import Model, Node, Opaque, cap
from .itembase import CallBase, ResultBase
from .parts import Part

__all__ = [
    "CodeInterpreterCall",
    "CodeInterpreterResult",
    "CodeOutput",
    "FileSearchCall",
    "FileSearchHit",
    "FileSearchResult",
    "ImageGenerationCall",
    "MapsCall",
    "MapsResult",
    "ProcessingCall",
    "ProcessingResult",
    "RetrievalCall",
    "RetrievalResult",
    "WebFetchCall",
    "WebFetchPage",
    "WebFetchResult",
    "WebSearchAction",
    "WebSearchCall",
    "WebSearchHit",
    "WebSearchResult",
]


class WebSearchAction(Model):
    """The action of a web search: search (query, queries, sources), open_page (url), find_in_page (url, pattern).

    https://platform.openai.com/docs/guides/tools-web-search
    """

    node_name: ClassVar[str] = "web_search_call.action"
    node_capability: ClassVar[str] = "tools.hosted.web_search"

    type: Annotated[str | None, cap("tools.hosted.web_search")] = None
    query: Annotated[str | None, cap("tools.hosted.web_search")] = None
    queries: Annotated[list[str] | None, cap("tools.hosted.web_search")] = None
    sources: Annotated[list[Any] | None, cap("tools.hosted.web_search")] = None
    url: Annotated[str | None, cap("tools.hosted.web_search")] = None
    pattern: Annotated[str | None, cap("tools.hosted.web_search")] = None


class WebSearchHit(Node):
    """One page that was found; its encrypted content, if any, is in `opaque`.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
    """

    node_name: ClassVar[str] = "web_search_hit"
    node_capability: ClassVar[str] = "tools.hosted.web_search"

    url: Annotated[str | None, cap("tools.hosted.web_search")] = None
    title: Annotated[str | None, cap("tools.hosted.web_search")] = None
    page_age: Annotated[str | None, cap("tools.hosted.web_search")] = None
    snippet: Annotated[str | None, cap("tools.hosted.web_search")] = None
    opaque: Annotated[list[Opaque] | None, cap("reasoning.signature")] = None


class WebSearchCall(CallBase):
    """A web search; `search_type` is web, image, enterprise, ...

    https://platform.openai.com/docs/guides/tools-web-search https://ai.google.dev/gemini-api/docs/google-search
    """

    node_capability: ClassVar[str] = "tools.hosted.web_search"

    type: Literal["web_search_call"] = "web_search_call"
    action: Annotated[WebSearchAction | None, cap("tools.hosted.web_search")] = None
    results: Annotated[list[WebSearchHit] | None, cap("tools.hosted.web_search")] = None
    search_type: Annotated[str | None, cap("tools.hosted.web_search")] = None


class WebSearchResult(ResultBase):
    """Results of a web search; `suggestions` is markup that must be displayed.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool https://ai.google.dev/gemini-api/docs/google-search
    """

    node_capability: ClassVar[str] = "tools.hosted.web_search"

    type: Literal["web_search_result"] = "web_search_result"
    results: Annotated[list[WebSearchHit] | None, cap("tools.hosted.web_search")] = None
    suggestions: Annotated[str | list[Any] | None, cap("tools.hosted.web_search")] = None


class WebFetchCall(CallBase):
    """URLs that the provider reads.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-fetch-tool https://ai.google.dev/gemini-api/docs/url-context
    """

    node_capability: ClassVar[str] = "tools.hosted.web_fetch"

    type: Literal["web_fetch_call"] = "web_fetch_call"
    urls: Annotated[list[str] | None, cap("tools.hosted.web_fetch")] = None


class WebFetchPage(Node):
    """One page that was read: `status` is success, error, paywall, unsafe; `document` its content.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-fetch-tool https://ai.google.dev/gemini-api/docs/url-context
    """

    node_name: ClassVar[str] = "web_fetch_page"
    node_capability: ClassVar[str] = "tools.hosted.web_fetch"

    url: Annotated[str | None, cap("tools.hosted.web_fetch")] = None
    status: Annotated[str | None, cap("tools.hosted.web_fetch")] = None
    retrieved_at: Annotated[str | None, cap("tools.hosted.web_fetch")] = None
    document: Annotated[Part | None, cap("tools.hosted.web_fetch")] = None


class WebFetchResult(ResultBase):
    """The pages that were read.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-fetch-tool https://ai.google.dev/gemini-api/docs/url-context
    """

    node_capability: ClassVar[str] = "tools.hosted.web_fetch"

    type: Literal["web_fetch_result"] = "web_fetch_result"
    results: Annotated[list[WebFetchPage] | None, cap("tools.hosted.web_fetch")] = None


class CodeOutput(Model):
    """One output of code: `type` logs (`logs`), image (`url`), file (`file_id`).

    https://platform.openai.com/docs/guides/tools-code-interpreter
    """

    node_name: ClassVar[str] = "code_output"
    node_capability: ClassVar[str] = "tools.hosted.code_interpreter"

    type: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    logs: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    url: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    file_id: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    files: Annotated[list[Any] | None, cap("tools.hosted.code_interpreter")] = None


class CodeInterpreterCall(CallBase):
    """Code that the provider runs.

    https://platform.openai.com/docs/guides/tools-code-interpreter https://ai.google.dev/gemini-api/docs/code-execution
    """

    node_capability: ClassVar[str] = "tools.hosted.code_interpreter"

    type: Literal["code_interpreter_call"] = "code_interpreter_call"
    code: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    language: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    container_id: Annotated[str | None, cap("state.environment")] = None
    outputs: Annotated[list[CodeOutput] | None, cap("tools.hosted.code_interpreter")] = None


class CodeInterpreterResult(ResultBase):
    """Result of the code: its text as `output` or split in `stdout` and `stderr`, its files in `outputs`.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool https://ai.google.dev/gemini-api/docs/code-execution
    """

    node_capability: ClassVar[str] = "tools.hosted.code_interpreter"

    type: Literal["code_interpreter_result"] = "code_interpreter_result"
    output: Annotated[str | list[Part] | None, cap("tools.hosted.code_interpreter")] = None
    stdout: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    stderr: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    return_code: Annotated[int | None, cap("tools.hosted.code_interpreter")] = None
    outcome: Annotated[str | None, cap("tools.hosted.code_interpreter")] = None
    outputs: Annotated[list[CodeOutput] | None, cap("tools.hosted.code_interpreter")] = None


class FileSearchHit(Node):
    """One passage that was found.

    https://platform.openai.com/docs/guides/tools-file-search
    """

    node_name: ClassVar[str] = "file_search_hit"
    node_capability: ClassVar[str] = "tools.hosted.file_search"

    file_id: Annotated[str | None, cap("tools.hosted.file_search")] = None
    filename: Annotated[str | None, cap("tools.hosted.file_search")] = None
    score: Annotated[int | float | None, cap("tools.hosted.file_search")] = None
    text: Annotated[str | None, cap("tools.hosted.file_search")] = None
    attributes: Annotated[dict[str, Any] | None, cap("tools.hosted.file_search")] = None
    vector_store_id: Annotated[str | None, cap("tools.hosted.file_search")] = None


class FileSearchCall(CallBase):
    """A search of stored documents.

    https://platform.openai.com/docs/guides/tools-file-search https://ai.google.dev/gemini-api/docs/file-search
    """

    node_capability: ClassVar[str] = "tools.hosted.file_search"

    type: Literal["file_search_call"] = "file_search_call"
    queries: Annotated[list[str] | None, cap("tools.hosted.file_search")] = None
    results: Annotated[list[FileSearchHit] | None, cap("tools.hosted.file_search")] = None


class FileSearchResult(ResultBase):
    """Results of a search of stored documents.

    https://ai.google.dev/gemini-api/docs/file-search
    """

    node_capability: ClassVar[str] = "tools.hosted.file_search"

    type: Literal["file_search_result"] = "file_search_result"
    results: Annotated[list[FileSearchHit] | None, cap("tools.hosted.file_search")] = None


class ImageGenerationCall(CallBase):
    """An image that the provider generates; `result` is base64.

    https://platform.openai.com/docs/guides/tools-image-generation
    """

    node_capability: ClassVar[str] = "tools.hosted.image_generation"

    type: Literal["image_generation_call"] = "image_generation_call"
    result: Annotated[str | None, cap("image.output")] = None
    action: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    background: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    output_format: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    quality: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    size: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    revised_prompt: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    prompt: Annotated[str | None, cap("tools.hosted.image_generation")] = None
    error: Annotated[dict[str, Any] | None, cap("tools.result.error")] = None
    svg_usage: Annotated[dict[str, Any] | None, cap("usage.detail")] = None


class MapsCall(CallBase):
    """A search for places.

    https://ai.google.dev/gemini-api/docs/maps-grounding
    """

    node_capability: ClassVar[str] = "tools.hosted.maps"

    type: Literal["maps_call"] = "maps_call"
    queries: Annotated[list[str] | None, cap("tools.hosted.maps")] = None


class MapsResult(ResultBase):
    """The places that were found; the token displays them in a widget.

    https://ai.google.dev/gemini-api/docs/maps-grounding
    """

    node_capability: ClassVar[str] = "tools.hosted.maps"

    type: Literal["maps_result"] = "maps_result"
    places: Annotated[list[Any] | None, cap("tools.hosted.maps")] = None
    widget_context_token: Annotated[str | None, cap("tools.hosted.maps")] = None


class RetrievalCall(CallBase):
    """Retrieval from the provider's other stores and partners.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.hosted.other"

    type: Literal["retrieval_call"] = "retrieval_call"
    queries: Annotated[list[str] | None, cap("tools.hosted.other")] = None
    retrieval_type: Annotated[str | None, cap("tools.hosted.other")] = None


class RetrievalResult(ResultBase):
    """Result of a retrieval.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.hosted.other"

    type: Literal["retrieval_result"] = "retrieval_result"
    result: Annotated[Any, cap("tools.hosted.other")] = None


class ProcessingCall(CallBase):
    """The provider processes media in steps.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.hosted.other"

    type: Literal["processing_call"] = "processing_call"
    arguments: Annotated[Any, cap("tools.hosted.other")] = None


class ProcessingResult(ResultBase):
    """Result of media processing.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.hosted.other"

    type: Literal["processing_result"] = "processing_result"
    result: Annotated[Any, cap("tools.hosted.other")] = None
