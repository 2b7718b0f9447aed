"""The tools of MCP servers as tools of ours, through the official `mcp` package (the extra `mcp`).

A server's schemas and descriptions go to the model as they are, its results come back as text, images and files, and
what it calls an error is one. https://modelcontextprotocol.io/specification
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack
from importlib import import_module
from typing import Any

from ...foundation.errors import APIConnectionError
from ...foundation.terminal import printable
from ...foundation.usage_errors import InvalidArgument, MissingExtra
from ..upstreams.redaction import Secrets
from ..upstreams.references import taken_apart
from .function_tools import Tool
from .tool_outputs import ToolError

__all__ = ["AsyncToolServer", "ToolServer"]

Node = dict[str, Any]


def _package() -> Any:
    try:
        return import_module("mcp")
    except ModuleNotFoundError as error:
        raise MissingExtra("an MCP server", "mcp") from error


class AsyncToolServer:
    """A connection to an MCP server, for event loops. `.tools` are its tools; so is the server itself, in `tools=`.

    It is connected in an `async with` block; outside of one `.tools` raises `InvalidArgument`. `server` is a URL
    (streamable HTTP), a command as a list of words (started here, over stdin and stdout), a server object of the `mcp`
    package, or its connected `Client`. `only` are the names to be offered, as the server has them; a name that it does
    not have is an error. `prefix` goes before each name, which keeps the tools of several servers apart. Raises
    `MissingExtra` naming the extra.
    https://modelcontextprotocol.io; an example is in docs/tools.md.
    """

    def __init__(self, server: Any, *, only: Container[str] | None = None, prefix: str = "") -> None:
        if server is None or isinstance(server, (bool, int, float, bytes)) or server in ("", [], ()):
            raise InvalidArgument(f"server= should be a URL, a command as a list of words, or a server, not {server!r}")
        if isinstance(only, str):
            raise InvalidArgument(f"only= should be a list of names, not a string; pass [{only!r}]")
        self._server, self._only, self._prefix = server, only, prefix
        self._stack = AsyncExitStack()
        self._tools: list[Tool] | None = None

    def __repr__(self) -> str:
        return _shown(self, self._tools)

    @property
    def tools(self) -> list[Tool]:
        """The tools of the server, while it is connected."""
        return _connected(self, self._tools)

    async def __aenter__(self) -> AsyncToolServer:
        failure: BaseException | None = None
        try:
            return await self._enter()
        except Exception as error:
            failure = _cause(error)
            if not isinstance(failure, (OSError, *_transport_errors())):
                raise
        raise self._unreachable(failure)

    def _unreachable(self, error: BaseException) -> APIConnectionError:
        """The error of a server that does not answer: of its command or URL, without its query."""
        server, secrets = self._server, Secrets()
        where = str(server[0]) if isinstance(server, (list, tuple)) else type(server).__name__
        if isinstance(server, str):
            parts = taken_apart(server)
            where = parts.base
            secrets.add(parts.username, parts.password)
            secrets.add_query(parts.query.items())
        told = printable(secrets.hide(" ".join(str(error).split())))[:300] or type(error).__name__
        code = {"type": "server_error", "code": "connection_failed"}
        reason = f"no connection to the MCP server {where}: {told}; check that it is running"
        return APIConnectionError(reason, error=code)

    async def _enter(self) -> AsyncToolServer:
        self._client = self._server
        # A server of the package has tools to call as well, but no session with anybody.
        if not hasattr(type(self._server), "session"):
            server, package = self._server, _package()
            if isinstance(server, (list, tuple)):
                command, *words = server
                server = package.StdioServerParameters(command=command, args=list(words))
            self._client = await self._stack.enter_async_context(package.Client(server))
        cursor = None
        found: list[Any] = []
        while True:
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                self._tools = [self._tool(each) for each in self._chosen(found)]
                return self

    def _chosen(self, found: list[Any]) -> list[Any]:
        """The tools of `only`. Raises `InvalidArgument` for a name that the server does not have."""
        if self._only is None:
            return found
        names = [each.name for each in found]
        given = self._only if isinstance(self._only, Iterable) else ()
        if unknown := [name for name in given if name not in names]:
            wrong = printable(", ".join(map(repr, unknown)))
            reason = f"only= has names that the MCP server does not have: {wrong}; its tools are"
            raise InvalidArgument(f"{reason} {printable(', '.join(map(str, names))) or 'none'}")
        return [each for each in found if each.name in self._only]

    async def __aexit__(self, *_: object) -> None:
        self._tools = None
        await self._stack.aclose()

    def _tool(self, told: Any) -> Tool:
        async def call(**arguments: Any) -> Any:
            return _result(await self._client.call_tool(told.name, arguments))

        return _made(call, f"{self._prefix}{told.name}", told)


class ToolServer:
    """`AsyncToolServer` for blocking calls: the connection lives in an event loop of its own, in a thread.

    More is in docs/tools.md.

    ```python
    with ToolServer(["uvx", "mcp-server-fetch"]) as server:
        client.responses.run(model="local/echo", input="...", tools=[server, my_own_tool])
    ```
    """

    def __init__(self, server: Any, *, only: Container[str] | None = None, prefix: str = "") -> None:
        self._there = AsyncToolServer(server, only=only, prefix=prefix)
        self._stack = ExitStack()
        self._tools: list[Tool] | None = None

    def __repr__(self) -> str:
        return _shown(self, self._tools)

    @property
    def tools(self) -> list[Tool]:
        """The tools of the server, while it is connected."""
        return _connected(self, self._tools)

    def __enter__(self) -> ToolServer:
        from anyio.from_thread import start_blocking_portal

        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._there))
            self._tools = [_blocking(each, portal.call) for each in self._there.tools]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._tools = None
        self._stack.close()


def _shown(server: ToolServer | AsyncToolServer, tools: list[Tool] | None) -> str:
    """What `repr` gives: not the server, whose URL or command may have a key in it."""
    names = "not connected" if tools is None else ", ".join(each.name for each in tools) or "no tools"
    return f"{type(server).__name__}({names})"


def _connected(server: ToolServer | AsyncToolServer, tools: list[Tool] | None) -> list[Tool]:
    if tools is None:
        name = type(server).__name__
        block = "async with" if isinstance(server, AsyncToolServer) else "with"
        raise InvalidArgument(f"this {name} is not connected; use it in a block: {block} {name}(...) as server")
    return tools


def _cause(error: BaseException) -> BaseException:
    """The first exception inside the groups of task groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _transport_errors() -> tuple[type[BaseException], ...]:
    """What the HTTP libraries of the package raise, and the package itself for a server that ends or refuses."""
    found = [(sys.modules.get(name), "HTTPError") for name in ("httpx", "httpx2")]
    found += [(sys.modules.get("mcp.shared.exceptions"), name) for name in ("MCPError", "McpError")]
    return tuple(getattr(module, name) for module, name in found if hasattr(module, name))


def _blocking(tool: Tool, run: Callable[..., Any]) -> Tool:
    def call(**arguments: Any) -> Any:
        async def waited() -> Any:
            found: Awaitable[Any] = tool.function(**arguments)
            return await found

        return run(waited)

    return Tool(call, tool.name, tool.description, None, tool.options, tool.parameters)


def _made(function: Callable[..., Any], name: str, told: Any) -> Tool:
    description = told.description or getattr(told, "title", None) or ""
    return Tool(function, name, description, None, {}, told.input_schema)


def _result(result: Any) -> Any:
    parts = [_part(each) for each in result.content]
    if result.is_error:
        raise ToolError("\n".join(part["text"] for part in parts if "text" in part) or "the tool failed")
    if not parts:
        return result.structured_content if result.structured_content is not None else ""
    return _joined(parts)


def _joined(parts: Sequence[Node]) -> Any:
    """Text alone is text."""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "input_text" else list(parts)


def _part(block: Any) -> Node:
    if block.type == "text":
        return {"type": "input_text", "text": block.text}
    if block.type == "image":
        return {"type": "input_image", "image_url": f"data:{block.mime_type};base64,{block.data}"}
    if block.type == "audio":
        return {"type": "input_audio", "data": block.data, "format": block.mime_type.rpartition("/")[2]}
    if block.type == "resource":
        resource = block.resource
        if getattr(resource, "text", None) is not None:
            return {"type": "input_text", "text": resource.text}
        kind = resource.mime_type or "application/octet-stream"
        if kind.startswith("image/"):
            return {"type": "input_image", "image_url": f"data:{kind};base64,{resource.blob}"}
        name = str(resource.uri).rstrip("/").rpartition("/")[2] or "file"
        return {"type": "input_file", "filename": name, "file_data": f"data:{kind};base64,{resource.blob}"}
    return {"type": "input_text", "text": f"{getattr(block, 'name', '')} {getattr(block, 'uri', '')}".strip()}
