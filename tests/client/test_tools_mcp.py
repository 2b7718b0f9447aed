"""Tools of MCP servers: with a stand-in for a connected client, and with the real package where it is installed."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, function_call, message, response, upstream
from unified_llm.client import AsyncToolServer, ToolServer
from unified_llm.client.tools import mcp

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def block(kind: str, **fields: Any) -> Any:
    return SimpleNamespace(type=kind, **fields)


class Connected:
    """What a connected client of the package looks like from here."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    @property
    def session(self) -> Any:
        raise AssertionError("it is not needed")

    async def list_tools(self, *, cursor: str | None) -> Any:
        names = {None: ["weather", "time"], "2": ["picture"]}[cursor]
        tools = [SimpleNamespace(name=name, description=f"The {name}.", input_schema=SCHEMA) for name in names]
        return SimpleNamespace(tools=tools, next_cursor="2" if cursor is None else None)

    async def call_tool(self, name: str, arguments: Any) -> Any:
        self.calls.append((name, arguments))
        if name == "time":
            return SimpleNamespace(is_error=True, content=[block("text", text="no clock")], structured_content=None)
        content = [block("text", text=f"21 in {arguments['city']}")]
        if name == "picture":
            blob = SimpleNamespace(uri="file:///a/b.pdf", mime_type="application/pdf", blob="JVBERg==")
            content += [
                block("image", data="iVBORw==", mime_type="image/png"),
                block("audio", data="UklGRg==", mime_type="audio/wav"),
                block("resource", resource=SimpleNamespace(uri="x", mime_type=None, text="a note")),
                block("resource", resource=blob),
                block("resource_link", name="more", uri="https://x/y"),
            ]
        return SimpleNamespace(is_error=False, content=content, structured_content=None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_servers_tools_run_over_every_protocol(protocol: str) -> None:
    there = Connected()
    asked = "[[call weather city=Oslo]] [[then]] [[results]] Done."
    with ToolServer(there) as server:
        run = ul.Client(upstream(protocol)).responses.run(input=asked, tools=[server])
    assert there.calls == [("weather", {"city": "Oslo"})]
    assert "21 in Oslo" in run.output_text
    with pytest.raises(ul.InvalidArgument, match="is not connected"):
        print(server.tools)


def test_and_in_an_event_loop_beside_others_under_their_own_names() -> None:
    @ul.tool
    def own() -> str:
        """Own."""
        return "own"

    async def main() -> Any:
        calls = [function_call("there_weather", '{"city": "Rome"}', "call_a"), function_call("own", "{}", "call_b")]
        canned = Canned("openai-responses", response(*calls), response(message("Done.")))
        async with AsyncToolServer(Connected(), only=["weather"], prefix="there_") as server:
            run = await ul.AsyncClient(canned.upstream).responses.run(input="Hi", tools=[server, own])
        return canned, run

    canned, run = asyncio.run(main())
    assert [tool["name"] for tool in canned.bodies[0]["tools"]] == ["there_weather", "own"]
    assert canned.bodies[0]["tools"][0]["description"] == "The weather."
    assert [item.output for item in run.steps[0].outputs] == ["21 in Rome", "own"]


def test_only_names_that_the_server_does_not_have_are_refused() -> None:
    with ToolServer(Connected(), only={"picture", "time"}) as server:
        assert [each.name for each in server.tools] == ["time", "picture"]
    with pytest.raises(ul.InvalidArgument, match="does not have: 'wether', 'Time'; its tools are weather, time, pict"):
        ToolServer(Connected(), only=["wether", "time", "Time"], prefix="x_").__enter__()
    with pytest.raises(ul.InvalidArgument, match=r"list of names, not a string; pass \['weather'\]"):
        AsyncToolServer(Connected(), only="weather")


def test_an_error_is_one_and_media_are_parts() -> None:
    calls = [function_call(name, '{"city": "Oslo"}', f"call_{name}") for name in ("time", "picture")]
    canned = Canned("openai-responses", response(*calls), response(message("Done.")))
    with ToolServer(Connected()) as server:
        run = ul.Client(canned.upstream).responses.run(input="Hi", tools=[server])
    failed, drawn = run.steps[0].outputs
    assert (failed.output, failed.is_error) == ("no clock", True)
    assert [part.dump() for part in drawn.output] == [
        {"type": "input_text", "text": "21 in Oslo"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
        {"type": "input_audio", "data": "UklGRg==", "format": "wav"},
        {"type": "input_text", "text": "a note"},
        {"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "input_text", "text": "more https://x/y"},
    ]


def test_without_the_package_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(mcp, "import_module", gone)
    with pytest.raises(ImportError, match=r"unified-llm\[mcp\]"):
        ToolServer("http://localhost:1/mcp").__enter__()


def test_a_real_server() -> None:
    package = pytest.importorskip("mcp.server.mcpserver")
    real = package.MCPServer("tests")

    @real.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    asked = "[[call add a=1 b=2]] [[then]] [[results]] Done."
    with ToolServer(real) as server:
        (tool,) = server.tools
        assert tool.definition()["parameters"]["required"] == ["a", "b"]
        run = ul.Client(upstream("openai-chat")).responses.run(input=asked, tools=[server])
    assert run.steps[0].outputs[0].output == "3"


def test_a_command_that_ends_at_once_raises_a_connection_error() -> None:
    pytest.importorskip("mcp")
    with pytest.raises(ul.APIConnectionError, match="no connection to the MCP server"):
        with ToolServer([sys.executable, "-c", "raise SystemExit(1)"]):
            pass
