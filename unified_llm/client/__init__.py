"""The client: upstreams, the wire to them, and HTTP transports under the SDKs one already has.

Nothing here is loaded by `import unified_llm`; names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .background import AsyncBackground, Background
    from .client import AsyncClient, Client
    from .results import Listed, Result, RunResult, Step, TokenCount
    from .sending.retry import Retry
    from .state.store import MemoryStore, Store
    from .streams import AsyncEventStream, AsyncRunStream, EventStream, RunStream
    from .telemetry.events import RequestEvent, ResponseEvent, RetryEvent
    from .tools.function_tools import Tool, ToolContext, tool
    from .tools.mcp import AsyncToolServer, ToolServer
    from .tools.tool_loop import Hooks, ToolOutput, TurnDone
    from .tools.tool_outputs import ToolError, file, image
    from .transports.transport import async_http_client, http_client
    from .upstreams.upstream import Upstream

__all__ = [
    "AsyncBackground",
    "AsyncClient",
    "AsyncEventStream",
    "AsyncRunStream",
    "AsyncToolServer",
    "Background",
    "Client",
    "EventStream",
    "Hooks",
    "Listed",
    "MemoryStore",
    "RequestEvent",
    "ResponseEvent",
    "Result",
    "Retry",
    "RetryEvent",
    "RunResult",
    "RunStream",
    "Step",
    "Store",
    "TokenCount",
    "Tool",
    "ToolContext",
    "ToolError",
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

# No module here bears the name of a function: importing it would hide the function.
_HOMES = {
    "background": "AsyncBackground Background",
    "client": "AsyncClient Client",
    "tools.mcp": "AsyncToolServer ToolServer",
    "tools.tool_outputs": "ToolError file image",
    "results": "Listed Result RunResult Step TokenCount",
    "state.store": "MemoryStore Store",
    "streams": "AsyncEventStream AsyncRunStream EventStream RunStream",
    "telemetry.events": "RequestEvent ResponseEvent RetryEvent",
    "tools.tool_loop": "Hooks ToolOutput TurnDone",
    "tools.function_tools": "Tool ToolContext tool",
    "sending.retry": "Retry",
    "transports.transport": "async_http_client http_client",
    "upstreams.upstream": "Upstream",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
    return value
