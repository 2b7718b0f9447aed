"""Tools as callers write them: one or a list, functions, objects, and data in any protocol's shape; nothing dropped."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from client.providers import PROTOCOLS, Canned, message, response, upstream

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ABOUT = "Look up the weather."
SHAPES: dict[str, Any] = {
    "openai-chat": {
        "type": "function",
        "function": {"name": "get_weather", "description": ABOUT, "parameters": SCHEMA},
    },
    "openai-responses": {"type": "function", "name": "get_weather", "description": ABOUT, "parameters": SCHEMA},
    "anthropic-messages": {"name": "get_weather", "description": ABOUT, "input_schema": SCHEMA},
    "anthropic-messages with a type": {
        "type": "custom",
        "name": "get_weather",
        "description": ABOUT,
        "input_schema": SCHEMA,
    },
    "google-generate-content": {
        "functionDeclarations": [{"name": "get_weather", "description": ABOUT, "parametersJsonSchema": SCHEMA}]
    },
    "google-generate-content in snake_case": {
        "function_declarations": [
            {
                "name": "get_weather",
                "description": ABOUT,
                "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
            }
        ]
    },
    "amazon-converse": {
        "toolSpec": {"name": "get_weather", "description": ABOUT, "inputSchema": {"json": SCHEMA}},
    },
    "without a type": {"name": "get_weather", "description": ABOUT, "parameters": SCHEMA},
    "of an MCP server": {"name": "get_weather", "description": ABOUT, "inputSchema": SCHEMA},
    "canonical": ul.FunctionTool(name="get_weather", description=ABOUT, parameters=SCHEMA),
}


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"rain in {city}"


def sent(protocol: str = "openai-responses", **given: Any) -> Any:
    """What an upstream is sent, of the Responses protocol by default."""
    answer = response(message("Hi"))
    if protocol != "openai-responses":
        answer = ul.convert(answer, source="openai-responses", target=protocol, kind="response").value
    canned = Canned(protocol, answer)
    ul.Client(canned.upstream).responses.create(input="Hi", **given)
    return canned.bodies[0]


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def refused(**given: Any) -> ul.InvalidBody:
    canned = Canned("openai-responses", response(message("Hi")))
    with pytest.raises(ul.InvalidBody) as caught:
        ul.Client(canned.upstream).responses.create(input="Hi", **given)
    assert canned.requests == []
    return caught.value


@pytest.mark.parametrize("shape", SHAPES)
def test_a_declaration_in_any_shape_is_the_same_tool(shape: str) -> None:
    want = {"type": "function", "name": "get_weather", "description": ABOUT, "parameters": SCHEMA}
    for given in (SHAPES[shape], [SHAPES[shape]]):
        (tool,) = sent(tools=given)["tools"]
        assert {key: tool[key] for key in want} == want


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_provider_accepts_every_shape(shape: str, protocol: str) -> None:
    client = ul.Client(upstream(protocol))
    result = client.responses.create(input="[[call get_weather city=Oslo]]", tools=SHAPES[shape])
    assert [(call.name, call.arguments) for call in result.tool_calls] == [("get_weather", '{"city":"Oslo"}')]
    assert not [loss for loss in result.losses if loss.fate == "lost"]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("web_search", "web_search"),
        ({"type": "web_search_20250305", "name": "web_search"}, "web_search"),
        ({"google_search": {}}, "web_search"),
        ({"type": "google_search"}, "web_search"),
        ({"codeExecution": {}}, "code_interpreter"),
        ({"type": "mcp_server", "name": "a", "url": "https://example.org"}, "mcp"),
        (ul.WebSearchTool(), "web_search"),
    ],
)
def test_hosted_tools_go_by_the_names_of_any_protocol(given: Any, kind: str) -> None:
    assert [tool["type"] for tool in sent(tools=given)["tools"]] == [kind]


@pytest.mark.parametrize("given", [get_weather, ul.tool(get_weather), [get_weather], (get_weather,), [[get_weather]]])
def test_a_function_may_stand_alone(given: Any) -> None:
    run = ul.Client().responses.run(model="local/echo", input="[[call get_weather city=Oslo]]", tools=given)
    assert run.output_text == "get_weather: rain in Oslo"


def test_an_async_function_may_stand_alone() -> None:
    async def get_weather(city: str) -> str:
        return f"snow in {city}"

    run = ul.Client().responses.run(model="local/echo", input="[[call get_weather city=Oslo]]", tools=get_weather)
    assert run.output_text == "get_weather: snow in Oslo"


def test_tools_of_an_official_sdk() -> None:
    types = pytest.importorskip("google.genai.types")
    declared = types.FunctionDeclaration(name="f", description="d", parameters_json_schema=SCHEMA)
    both = types.Tool(function_declarations=[declared], google_search=types.GoogleSearch())
    tools = {tool["type"]: tool for tool in sent(tools=both)["tools"]}
    assert tools.keys() == {"function", "web_search"}
    assert (tools["function"]["name"], tools["function"]["parameters"]) == ("f", SCHEMA)


@pytest.mark.parametrize(
    ("given", "path", "told"),
    [
        ([{"type": "functoin", "name": "f"}], "/tools/0/type", "unknown tool type 'functoin'; did you mean 'function'"),
        ([get_weather, {"type": "functoin"}], "/tools/1/type", "did you mean 'function'"),
        ({"type": "functoin"}, "/tools/type", "did you mean 'function'"),
        (["w"], "/tools/0/type", "unknown tool type 'w'; a type that one provider alone has goes into extra_body"),
        (["web_serch"], "/tools/0/type", "did you mean 'web_search'"),
        ([{"a": 1}], "/tools/0", "no protocol has such a tool; pass a function, or {'type': 'function'"),
        ([7], "/tools/0", "a tool is a function, a Tool or an object, not int"),
        ([lambda x: x], "/tools/0", "a tool needs a name"),
        ([dict], "/tools/0", "no signature found for builtin type"),
        ([{"toolSpec": {"nam": "f"}}], "/tools/0/toolSpec/nam", "did you mean 'name'"),
        ([[get_weather, 7]], "/tools/0/1", "not int"),
        ([get_weather, None], "/tools/1", "a tool is a function, a Tool or an object, not NoneType"),
        ([[None]], "/tools/0/0", "not NoneType"),
        ([{"type": "function"}], "/tools/0/name", "Field required"),
        ([{"name": 5}], "/tools/0/name", "valid string"),
        ([{"type": "function", "name": "f", "paramters": {}}], "/tools/0/paramters", "did you mean 'parameters'"),
        ([{"type": "function", "name": "f", "parameters": {"type": "OBJECT"}}], "/tools/0/parameters/type", "'object'"),
        ([{"type": "function", "function": {"name": "f", "strikt": True}}], "/tools/0/function/strikt", "'strict'"),
        ([{"name": "f", "input_shema": SCHEMA}], "/tools/0/input_shema", "did you mean 'input_schema'"),
        ([{"function_declaratons": []}], "/tools/0/function_declaratons", "did you mean 'function_declarations'"),
        ([{"functionDeclarations": [{"nam": "f"}]}], "/tools/0/functionDeclarations/0/nam", "did you mean 'name'"),
        ([{"google_serch": {}}], "/tools/0/google_serch", "did you mean 'google_search'"),
        ([get_weather, get_weather], "/tools/1", "duplicate tool name 'get_weather'"),
        ([{"type": "function", "name": "f", "parameters": {"x": {1}}}], "/tools/0/parameters/x", ""),
        ([{"type": "function", "name": "f", "parameters": _nested(5000)}], "/tools/0/parameters/a", "nested deeper"),
    ],
)
def test_what_is_not_a_tool_is_refused_with_the_nearest_name(given: Any, path: str, told: str) -> None:
    error = refused(tools=given)
    assert error.path == path or (error.path.startswith(path) and "nested" in told)
    assert told in error.reason


def test_a_tool_that_one_provider_alone_has_is_sent_there_and_reported_elsewhere() -> None:
    tool = {"type": "memory_20250818", "name": "memory"}
    done = ul.write(ul.Request(model="m", input="Hi", tools=_canonical(tool)), "anthropic-messages")
    assert done.value["tools"] == [tool]
    canned = Canned("openai-responses", response(message("Hi")))
    result = ul.Client(canned.upstream).responses.create(input="Hi", tools=[tool, get_weather])
    assert [(loss.path, loss.fate) for loss in result.losses] == [("/tools/0", "lost")]


def test_a_version_that_came_later_is_sent_whole() -> None:
    tool = {"type": "web_search_20991231", "name": "web_search"}
    done = ul.write(ul.Request(model="m", input="Hi", tools=_canonical(tool)), "anthropic-messages")
    assert done.value["tools"] == [tool]


@pytest.mark.parametrize(
    ("protocol", "tool"),
    [
        ("openai-responses", {"type": "function", "name": "f", "parameters": SCHEMA, "new_thing": 1}),
        ("google-interactions", {"type": "function", "name": "f", "parameters": SCHEMA, "new_thing": 1}),
        ("openai-chat", {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "new_thing": 1}}),
    ],
)
def test_an_unknown_field_goes_to_the_protocols_that_have_the_shape(protocol: str, tool: Any) -> None:
    made = ul.write(ul.Request(model="m", input="Hi", tools=_canonical(tool)), protocol)
    assert made.value["tools"] == [tool]
    other = ul.write(ul.Request(model="m", input="Hi", tools=_canonical(tool)), "anthropic-messages")
    assert any(loss.path.startswith("/tools/0/extra") and loss.fate == "lost" for loss in other.losses)


def _canonical(tool: Any) -> Any:
    from unified_llm.client.tools.function_tools import tools_of

    return tools_of([tool])[0]


# ---- the choice -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("get_weather", {"type": "function", "name": "get_weather"}),
        (get_weather, {"type": "function", "name": "get_weather"}),
        ("web_search", {"type": "web_search"}),
        ("docs", {"type": "mcp", "server_label": "docs"}),
        ("auto", "auto"),
        ({"type": "tool", "name": "get_weather"}, {"type": "function", "name": "get_weather"}),
        ({"type": "function", "function": {"name": "get_weather"}}, {"type": "function", "name": "get_weather"}),
        ({"type": "any"}, "required"),
        (ul.ToolChoiceFunction(name="get_weather"), {"type": "function", "name": "get_weather"}),
    ],
)
def test_a_tool_is_chosen_by_its_name(given: Any, want: Any) -> None:
    tools = [get_weather, "web_search", {"type": "mcp", "server_label": "docs", "server_url": "https://example.org"}]
    assert sent(tools=tools, tool_choice=given)["tool_choice"] == want


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_provider_is_told_the_choice(protocol: str) -> None:
    client = ul.Client(upstream(protocol))
    result = client.responses.create(input="Hello", tools=[get_weather], tool_choice="get_weather")
    assert [call.name for call in result.tool_calls] == ["get_weather"]


@pytest.mark.parametrize(
    ("given", "told"),
    [("get_wether", "did you mean 'get_weather'"), ("any", "did you mean 'required'"), ("x", "none, auto, required")],
)
def test_a_choice_of_no_tool_is_refused(given: str, told: str) -> None:
    error = refused(tools=[get_weather], tool_choice=given)
    assert error.path == "/tool_choice"
    assert told in error.reason


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"type": "function", "name": "get_wether"}, "/tool_choice/name"),
        ({"type": "function", "function": {"name": "get_wether"}}, "/tool_choice/name"),
        ({"type": "tool", "name": "get_wether"}, "/tool_choice/name"),
        ({"type": "custom", "name": "get_wether"}, "/tool_choice/name"),
        (ul.ToolChoiceFunction(name="get_wether"), "/tool_choice/name"),
        ({"type": "mcp", "server_label": "get_wether"}, "/tool_choice/server_label"),
        ({"type": "allowed_tools", "mode": "auto", "tools": [
            {"type": "function", "name": "get_weather"}, {"type": "function", "name": "get_wether"},
        ]}, "/tool_choice/tools/1/name"),
    ],
)  # fmt: skip
def test_an_object_that_names_no_tool_is_refused(given: Any, path: str) -> None:
    server = {"type": "mcp", "server_label": "get_weather", "server_url": "https://example.org"}
    error = refused(tools=[get_weather, server], tool_choice=given)
    assert error.path == path
    assert error.reason.endswith("did you mean 'get_weather'?")


def test_an_object_may_name_a_tool_inside_another_or_one_that_is_not_in_the_request() -> None:
    inside = {"type": "namespace", "name": "weather", "tools": [{"type": "function", "name": "inside"}]}
    choice = {"type": "function", "name": "inside"}
    assert sent(tools=[inside], tool_choice=choice)["tool_choice"] == choice
    assert sent(prompt={"id": "p"}, tool_choice=choice)["tool_choice"] == choice
    assert sent(extra_body={"tools": [choice]}, tool_choice=choice)["tool_choice"] == choice


# ---- servers of the Messages API ------------------------------------------------------------------------------------

SERVER = {"type": "url", "url": "https://mcp.example/sse", "name": "docs", "authorization_token": "key"}


def test_a_server_of_the_messages_api_is_a_tool() -> None:
    body = sent("anthropic-messages", tools=[SERVER, get_weather])
    assert body["mcp_servers"] == [SERVER]
    assert [each.get("mcp_server_name") or each["name"] for each in body["tools"]] == ["docs", "get_weather"]
    want = {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/sse", "authorization": "key"}
    assert sent(tools=[SERVER])["tools"] == [want]
    allowed = {**SERVER, "tool_configuration": {"enabled": True, "allowed_tools": ["search"]}}
    assert sent("anthropic-messages", tools=[allowed])["mcp_servers"] == [allowed]
    assert sent(tools=[allowed])["tools"][0]["allowed_tools"] == ["search"]


def test_a_misspelled_field_of_a_server_is_refused() -> None:
    server = {name: value for name, value in SERVER.items() if name != "authorization_token"}
    error = refused(tools=[{**server, "authorizaton_token": "key"}])
    assert error.path == "/tools/0/authorizaton_token"
    assert "'authorization_token'" in error.reason
