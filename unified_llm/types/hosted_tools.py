"""Tools that a provider runs: searches, retrieval, code, images, and servers of tools.

Those that two vendors offer carry the options of both.
"""

from typing import Annotated, Any, ClassVar, Literal

from .base import FREE, Model, cap, narrows
from .toolbase import ToolBase

__all__ = [
    "CodeInterpreterTool",
    "FileSearchTool",
    "ImageGenerationTool",
    "MapsTool",
    "McpTool",
    "RetrievalTool",
    "SearchFilters",
    "UserLocation",
    "WebFetchTool",
    "WebSearchTool",
]


class UserLocation(Model):
    """About where the user is.

    https://platform.openai.com/docs/guides/tools-web-search https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
    """

    node_name: ClassVar[str] = "user_location"
    node_capability: ClassVar[str] = "tools.hosted.web_search"

    type: Annotated[str | None, cap("tools.hosted.web_search")] = None
    city: Annotated[str | None, cap("tools.hosted.web_search")] = None
    country: Annotated[str | None, cap("tools.hosted.web_search")] = None
    region: Annotated[str | None, cap("tools.hosted.web_search")] = None
    timezone: Annotated[str | None, cap("tools.hosted.web_search")] = None


class SearchFilters(Model):
    """Which domains a search or fetch may use.

    https://platform.openai.com/docs/guides/tools-web-search https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
    """

    node_name: ClassVar[str] = "search_filters"
    node_capability: ClassVar[str] = "tools.hosted.web_search"

    allowed_domains: Annotated[list[str] | None, cap("tools.hosted.web_search"), narrows()] = None
    blocked_domains: Annotated[list[str] | None, cap("tools.hosted.web_search"), narrows([])] = None


class WebSearchTool(ToolBase):
    """Search of the web. `search_content_types` holds text, image, enterprise, ...; `time_range` is {start, end}.

    https://platform.openai.com/docs/guides/tools-web-search https://ai.google.dev/gemini-api/docs/google-search
    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
    """

    node_capability: ClassVar[str] = "tools.hosted.web_search"

    type: Literal["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"] = (
        "web_search"
    )
    search_context_size: Annotated[str | None, cap("tools.hosted.web_search"), FREE] = None
    user_location: Annotated[UserLocation | None, cap("tools.hosted.web_search"), FREE] = None
    filters: Annotated[SearchFilters | None, cap("tools.hosted.web_search"), narrows({})] = None
    search_content_types: Annotated[
        list[str] | None, cap("tools.hosted.web_search"), narrows([], ["text"], ["text", "image"], ["image", "text"])
    ] = None
    external_web_access: Annotated[bool | None, cap("tools.hosted.web_search"), narrows(True)] = None
    max_uses: Annotated[int | None, cap("tools.choice"), narrows()] = None
    time_range: Annotated[dict[str, Any] | None, cap("tools.hosted.web_search"), narrows({})] = None


class WebFetchTool(ToolBase):
    """The provider reads URLs that stand in the conversation.

    https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-fetch-tool https://ai.google.dev/gemini-api/docs/url-context
    """

    node_capability: ClassVar[str] = "tools.hosted.web_fetch"

    type: Literal["url_fetch", "web_fetch"] = "url_fetch"
    filters: Annotated[SearchFilters | None, cap("tools.hosted.web_fetch"), narrows({})] = None
    max_uses: Annotated[int | None, cap("tools.choice"), narrows()] = None
    max_content_tokens: Annotated[int | None, cap("tools.hosted.web_fetch"), FREE] = None
    citations: Annotated[dict[str, Any] | None, cap("citations.document"), FREE] = None


class MapsTool(ToolBase):
    """Places and maps, around a point if one is given.

    https://ai.google.dev/gemini-api/docs/maps-grounding
    """

    node_capability: ClassVar[str] = "tools.hosted.maps"

    type: Literal["maps"] = "maps"
    latitude: Annotated[int | float | None, cap("tools.hosted.maps"), FREE] = None
    longitude: Annotated[int | float | None, cap("tools.hosted.maps"), FREE] = None
    language_code: Annotated[str | None, cap("tools.hosted.maps"), FREE] = None
    enable_widget: Annotated[bool | None, cap("tools.hosted.maps"), FREE] = None


class FileSearchTool(ToolBase):
    """Search of stores of documents; `filters` is an object or, where a wire has it so, a filter string.

    https://platform.openai.com/docs/guides/tools-file-search https://ai.google.dev/gemini-api/docs/file-search
    """

    node_capability: ClassVar[str] = "tools.hosted.file_search"

    type: Literal["file_search"] = "file_search"
    vector_store_ids: Annotated[list[str] | None, cap("tools.hosted.file_search"), narrows()] = None
    filters: Annotated[str | dict[str, Any] | None, cap("tools.hosted.file_search"), narrows("", {})] = None
    max_num_results: Annotated[int | None, cap("tools.hosted.file_search"), FREE] = None
    ranking_options: Annotated[dict[str, Any] | None, cap("tools.hosted.file_search"), FREE] = None


class RetrievalTool(ToolBase):
    """Retrieval from the provider's other stores and search partners; each source may have its own settings.

    https://ai.google.dev/gemini-api/docs/interactions
    """

    node_capability: ClassVar[str] = "tools.hosted.other"

    type: Literal["retrieval"] = "retrieval"
    retrieval_types: Annotated[list[str] | None, cap("tools.hosted.other"), narrows()] = None
    data_store_config: Annotated[
        dict[str, Any] | None,
        cap("tools.hosted.other"),
        narrows(at=("datastores", "engine", "filter", "data_store_specs")),
    ] = None
    rag_store_config: Annotated[
        dict[str, Any] | None,
        cap("tools.hosted.other"),
        narrows(at=("rag_resources", "rag_corpora", "rag_retrieval_config")),
    ] = None
    exa_ai_search_config: Annotated[
        dict[str, Any] | None, cap("tools.hosted.other"), narrows(at=("custom_config",))
    ] = None
    parallel_ai_search_config: Annotated[
        dict[str, Any] | None, cap("tools.hosted.other"), narrows(at=("custom_config",))
    ] = None


class CodeInterpreterTool(ToolBase):
    """Code run by the provider; `container` is an id or {type: auto, file_ids, memory_limit, network_policy}.

    https://platform.openai.com/docs/guides/tools-code-interpreter https://docs.claude.com/en/docs/agents-and-tools/tool-use/code-execution-tool
    """

    node_capability: ClassVar[str] = "tools.hosted.code_interpreter"

    type: Literal["code_interpreter"] = "code_interpreter"
    container: Annotated[str | dict[str, Any] | None, cap("state.environment"), narrows(at=("network_policy",))] = None


class ImageGenerationTool(ToolBase):
    """Image generation during a response.

    https://platform.openai.com/docs/guides/tools-image-generation
    """

    node_capability: ClassVar[str] = "tools.hosted.image_generation"

    type: Literal["image_generation"] = "image_generation"
    action: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    background: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    complexity: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    frame_count: Annotated[int | None, cap("tools.hosted.image_generation"), FREE] = None
    frame_duration_ms: Annotated[int | None, cap("tools.hosted.image_generation"), FREE] = None
    input_fidelity: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    input_image_mask: Annotated[dict[str, Any] | None, cap("tools.hosted.image_generation"), FREE] = None
    model: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    moderation: Annotated[str | None, cap("safety.settings"), FREE] = None
    n: Annotated[int | None, cap("tools.hosted.image_generation"), FREE] = None
    output_compression: Annotated[int | None, cap("tools.hosted.image_generation"), FREE] = None
    output_format: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    partial_images: Annotated[int | None, cap("stream.options"), FREE] = None
    quality: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    size: Annotated[str | None, cap("tools.hosted.image_generation"), FREE] = None
    svg: Annotated[dict[str, Any] | None, cap("tools.hosted.image_generation"), FREE] = None


class McpTool(ToolBase):
    """A remote MCP server's tools; one of `server_url`, `connector_id`, `tunnel_id` is its address.

    https://platform.openai.com/docs/guides/tools-connectors-mcp https://docs.claude.com/en/docs/agents-and-tools/mcp-connector
    """

    node_capability: ClassVar[str] = "tools.mcp"

    type: Literal["mcp"] = "mcp"
    server_label: Annotated[str | None, cap("tools.mcp"), FREE] = None
    server_url: Annotated[str | None, cap("tools.mcp"), FREE] = None
    connector_id: Annotated[str | None, cap("tools.mcp"), FREE] = None
    tunnel_id: Annotated[str | None, cap("tools.mcp"), FREE] = None
    server_description: Annotated[str | None, cap("tools.mcp"), FREE] = None
    authorization: Annotated[str | None, cap("tools.mcp"), FREE] = None
    headers: Annotated[dict[str, Any] | None, cap("tools.mcp"), FREE] = None
    allowed_tools: Annotated[list[Any] | dict[str, Any] | None, cap("tools.allowed"), narrows()] = None
    require_approval: Annotated[str | dict[str, Any] | None, cap("tools.mcp.approval"), narrows("never")] = None
    enabled: Annotated[bool | None, cap("tools.mcp"), narrows(True)] = None
