"""The client: upstreams, the wire to them, and HTTP transports under the SDKs one already has.

Nothing here is loaded by `import unified_llm`; names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .background import AsyncBackground, Background
    from .client import AsyncClient, Client
    from .inputs.media import file, image
    from .params import Input, InputItem, PendingCall, ToolLike
    from .results import ModelInfo, Result, TokenCount
    from .sending.retry import Retry
    from .state.store import MemoryStore, Store
    from .streams import AsyncEventStream, EventStream
    from .structured.parsed_streams import AsyncParsedStream, ParsedStream
    from .telemetry.events import RequestInfo, ResponseInfo, RetryInfo
    from .tools.function_tools import Tool, ToolContext, tool
    from .tools.mcp import AsyncToolServer, ToolServer
    from .tools.run_results import RunResult, Step
    from .tools.run_streams import AsyncRunStream, RunStream
    from .tools.tool_loop import Hooks, ToolOutput, TurnDone
    from .tools.tool_outputs import ToolError
    from .transports.transport import async_http_client, http_client
    from .upstreams.upstream import Upstream

__all__ = [
    "AsyncBackground",
    "AsyncClient",
    "AsyncEventStream",
    "AsyncParsedStream",
    "AsyncRunStream",
    "AsyncToolServer",
    "Background",
    "Client",
    "EventStream",
    "Hooks",
    "Input",
    "InputItem",
    "MemoryStore",
    "ModelInfo",
    "ParsedStream",
    "PendingCall",
    "RequestInfo",
    "ResponseInfo",
    "Result",
    "Retry",
    "RetryInfo",
    "RunResult",
    "RunStream",
    "Step",
    "Store",
    "TokenCount",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolLike",
    "ToolOutput",
    "ToolServer",
    "TurnDone",
    "Upstream",
    "async_http_client",
    "file",
    "http_client",
    "image",
    "tool",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "background": "AsyncBackground Background",
            "client": "AsyncClient Client",
            "inputs.media": "file image",
            "params": "Input InputItem PendingCall ToolLike",
            "results": "ModelInfo Result TokenCount",
            "tools.run_results": "RunResult Step",
            "sending.retry": "Retry",
            "state.store": "MemoryStore Store",
            "streams": "AsyncEventStream EventStream",
            "tools.run_streams": "AsyncRunStream RunStream",
            "structured.parsed_streams": "AsyncParsedStream ParsedStream",
            "telemetry.events": "RequestInfo ResponseInfo RetryInfo",
            "tools.function_tools": "Tool ToolContext tool",
            "tools.mcp": "AsyncToolServer ToolServer",
            "tools.tool_loop": "Hooks ToolOutput TurnDone",
            "tools.tool_outputs": "ToolError",
            "transports.transport": "async_http_client http_client",
            "upstreams.upstream": "Upstream",
        },
    )
