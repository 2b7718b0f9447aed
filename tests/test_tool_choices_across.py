"""Which tool is called, or which ones may be, means the same at another provider."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from across import (
    CHAT,
    CONVERSE,
    GENERATE,
    INTERACTIONS,
    LOCAL,
    MESSAGES,
    PARAMETERS,
    RESPONSES,
    Node,
    interaction,
    told,
)

# ---- the choice of tools ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["validated", {"allowed_tools": {"mode": "validated", "tools": ["f"]}}])
@pytest.mark.parametrize("target", [CONVERSE, MESSAGES, CHAT, RESPONSES])
def test_validated_calls_stay_optional(target: str, choice: Any) -> None:
    tools = [{"type": "function", "name": "f", "parameters": PARAMETERS}]
    body = interaction(tools=tools, generation_config={"tool_choice": choice})
    done = ul.convert(body, source=INTERACTIONS, target=target)
    sent = str(done.value.get("tool_choice") or done.value["toolConfig"]["toolChoice"])
    assert "auto" in sent and "any" not in sent and "required" not in sent
    assert "approximated" in {loss.fate for loss in done.losses if "tool_choice" in loss.path}


@pytest.mark.parametrize("content", [None, "x"])
def test_a_choice_that_becomes_the_list_of_tools_is_reported_as_a_choice(content: str | None) -> None:
    """A system message in mid conversation makes the history change too, and the path must not follow it."""
    tool = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}
    named = [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    body = {
        "model": "m",
        "tools": [tool],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": named}},
        "messages": [
            {"role": "assistant", "content": content, "tool_calls": calls},
            {"role": "system", "content": "l"},
        ],
    }
    done = ul.convert(body, source=CHAT, target=CONVERSE)
    places = [loss.path for loss in done.losses if loss.capability in ("tools.choice", "tools.allowed")]
    assert places and all(place.startswith("/tool_choice") for place in places)


GEMINI_TOOLS = [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": PARAMETERS}]}, {"googleSearch": {}}]
ANY = {
    "contents": [{"role": "user", "parts": [{"text": "q"}]}],
    "tools": GEMINI_TOOLS,
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
}
SEARCHES: dict[str, tuple[Node, str]] = {
    GENERATE: (ANY, "/toolConfig/functionCallingConfig/mode"),
    INTERACTIONS: (
        interaction(
            tools=[{"type": "function", "name": "f", "parameters": PARAMETERS}, {"type": "google_search"}],
            generation_config={"tool_choice": "any"},
        ),
        "/generation_config/tool_choice",
    ),
}


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
@pytest.mark.parametrize("source", SEARCHES)
def test_a_call_of_a_function_that_is_required_may_be_a_search_elsewhere(source: str, target: str) -> None:
    body, path = SEARCHES[source]
    done = ul.convert(body, source=source, target=target)
    assert [loss.detail for loss in done.losses if loss.path == path] == ["a call of a hosted tool meets it too"]
    alone = {**body, "tools": body["tools"][:1]}
    assert path not in told(ul.convert(alone, source=source, target=target))
    # Chat's choice, and that of the sister protocol, is about functions too.
    for same in (CHAT, *({*SEARCHES} - {source})):
        assert path not in told(ul.convert(body, source=source, target=same))


@pytest.mark.parametrize("target", SEARCHES)
def test_a_tool_call_that_is_required_is_one_of_a_function_at_google(target: str) -> None:
    tools = [{"type": "function", "name": "f", "parameters": PARAMETERS}, {"type": "web_search"}]
    body = {"model": "m", "input": "q", "tools": tools, "tool_choice": "required"}
    done = ul.convert(body, source=RESPONSES, target=target)
    assert [loss.detail for loss in done.losses if loss.path == "/tool_choice"] == [
        "only a call of a function meets it"
    ]
    alone = {**body, "tools": tools[:1]}
    assert "/tool_choice" not in told(ul.convert(alone, source=RESPONSES, target=target))


@pytest.mark.parametrize(("spelled", "choice"), [("any", "required"), ({"function": {"name": "f"}}, "named")])
def test_choices_as_servers_of_chat_spell_them_force_a_call_elsewhere_too(spelled: Any, choice: str) -> None:
    """Recorded from Mistral's API and from clients of Hugging Face's router."""
    tool = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [tool], "tool_choice": spelled}
    assert ul.convert(body, source=CHAT, target=CHAT).value == body
    sent = {target: ul.convert(body, source=CHAT, target=target).value for target in (RESPONSES, MESSAGES, CONVERSE)}
    named = choice == "named"
    assert sent[RESPONSES]["tool_choice"] == ({"type": "function", "name": "f"} if named else "required")
    assert sent[MESSAGES]["tool_choice"] == ({"type": "tool", "name": "f"} if named else {"type": "any"})
    assert sent[CONVERSE]["toolConfig"]["toolChoice"] == ({"tool": {"name": "f"}} if named else {"any": {}})
    openai = ul.convert(body, source=CHAT, target="openai-chat:openai").value["tool_choice"]
    assert openai == ({"type": "function", "function": {"name": "f"}} if named else "required")


# ---- the choice among tools of the provider and functions ------------------------------------------------------------

SEARCH = {"type": "web_search"}
OTHER = {**LOCAL, "name": "g"}
ONLY = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}


def searches(value: Node) -> bool:
    """Whether a document of Chat or of Google's protocols lets the model search."""
    return any(word in str(value) for word in ("web_search_options", "googleSearch", "google_search"))


@pytest.mark.parametrize("choice", ["none", ONLY, {"type": "function", "name": "f"}])
@pytest.mark.parametrize("target", [CHAT, GENERATE, INTERACTIONS])
def test_a_search_that_the_choice_leaves_out_is_not_left_on(target: str, choice: Any) -> None:
    """There `tool_choice` decides about functions only: what is declared beside them is called all the same."""
    body = {"model": "m", "input": "q", "tools": [SEARCH, LOCAL], "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=target, model="m")
    assert not searches(done.value) and "'f'" in str(done.value)
    assert told(done)["/tools/0"] == ("tools.hosted.web_search", "lost")


@pytest.mark.parametrize("choice", ["auto", "required", {**ONLY, "tools": [*ONLY["tools"], SEARCH]}])
@pytest.mark.parametrize("target", [CHAT, GENERATE, INTERACTIONS])
def test_a_search_that_the_choice_holds_stays(target: str, choice: Any) -> None:
    body = {"model": "m", "input": "q", "tools": [SEARCH, LOCAL, OTHER], "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=target, model="m")
    assert searches(done.value) and "'g'" in str(done.value)
    assert "lost" not in {loss.fate for loss in done.losses if "tool" in loss.path}


def test_no_function_calls_are_no_search_either_where_the_choice_is_about_all_tools() -> None:
    tools = [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]
    config = {"functionCallingConfig": {"mode": "NONE"}}
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "tools": tools, "toolConfig": config}
    for target in (RESPONSES, MESSAGES):
        done = ul.convert(body, source=GENERATE, target=target, model="m")
        assert told(done)["/toolConfig/functionCallingConfig/mode"] == ("tools.choice", "approximated")
    kept = ul.convert(body, source=GENERATE, target=INTERACTIONS, model="m")
    assert searches(kept.value) and not [loss for loss in kept.losses if "tool" in loss.capability]


@pytest.mark.parametrize("target", [each for each in ul.protocols() if each != "google-interactions"])
@pytest.mark.parametrize("kind", [[], {}, None, 5])
def test_a_choice_of_an_odd_type_makes_no_tool_callable(target: str, kind: Any) -> None:
    choice = {"type": "allowed_tools", "tools": [{"type": kind}]}
    tools = [{"type": "function", "name": "f"}, {"type": "web_search"}]
    written = ul.write({"model": "m", "input": "x", "tools": tools, "tool_choice": choice}, target).value
    none = {"anthropic-messages": "tools", "amazon-converse": "toolConfig"}.get(target)
    if none is not None:
        assert none not in written
    elif target == "google-generate-content":
        assert written["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    else:
        assert written["tool_choice"] == ("none" if target == "openai-chat" else choice)


@pytest.mark.parametrize("mode", [[], {}, 5])
def test_a_mode_of_an_odd_type_is_lost_where_no_choice_has_it(mode: Any) -> None:
    choice = {"allowed_tools": {"mode": mode, "tools": ["f"]}}
    body = {"model": "m", "input": "x", "tools": [{"type": "function", "name": "f"}]}
    body["generation_config"] = {"tool_choice": choice}
    done = ul.convert(body, source="google-interactions", target="openai-chat:deepseek", repair="never")
    assert "tool_choice" not in done.value
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost == ["/generation_config/tool_choice/allowed_tools/mode"]


# ---- what a choice does not decide about -----------------------------------------------------------------------------

NAMES = ["f", "g"]


def google(protocol: str, mode: str, names: list[str]) -> Node:
    """A request with two functions and two tools that Google runs, about which its choice does not decide."""
    if protocol == GENERATE:
        functions = [{"name": name, "parametersJsonSchema": PARAMETERS} for name in NAMES]
        return {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "tools": [{"functionDeclarations": functions}, {"googleSearch": {}}, {"codeExecution": {}}],
            "toolConfig": {"functionCallingConfig": {"mode": mode.upper(), "allowedFunctionNames": names}},
        }
    functions = [{"type": "function", "name": name, "parameters": PARAMETERS} for name in NAMES]
    return interaction(
        tools=[*functions, {"type": "google_search"}, {"type": "code_execution"}],
        generation_config={"tool_choice": {"allowed_tools": {"mode": mode, "tools": names}}},
    )


@pytest.mark.parametrize("source", [GENERATE, INTERACTIONS])
def test_hosted_tools_stay_callable_beside_allowed_functions(source: str) -> None:
    """Google's choice names functions alone; OpenAI's would keep every other tool from being called."""
    body = google(source, "validated", ["f"])
    value = ul.convert(body, source=source, target=RESPONSES, model="gpt-5.5").value
    named = [{"type": "function", "name": "f"}, {"type": "web_search"}, {"type": "code_interpreter"}]
    assert value["tool_choice"] == {"type": "allowed_tools", "mode": "auto", "tools": named}
    done = ul.convert(body, source=source, target=MESSAGES, model="claude-opus-4-8")
    assert [tool["name"] for tool in done.value["tools"]] == ["f", "web_search", "code_execution"]
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost == [f"/tools/{'0/functionDeclarations/1' if source == GENERATE else 1}"]
    other = INTERACTIONS if source == GENERATE else GENERATE
    value = ul.convert(body, source=source, target=other, model="gemini-3-pro-preview").value
    calling = (value.get("toolConfig") or {}).get("functionCallingConfig") or value["generation_config"]["tool_choice"]
    assert calling.get("allowedFunctionNames") == ["f"] or calling["allowed_tools"]["tools"] == ["f"]


@pytest.mark.parametrize("source", [GENERATE, INTERACTIONS])
def test_a_call_of_a_function_that_is_forced_is_not_met_by_a_hosted_tool(source: str) -> None:
    body = google(source, "any", ["f", "g"])
    value = ul.convert(body, source=source, target=RESPONSES, model="gpt-5.5").value
    assert value["tool_choice"]["mode"] == "required"
    assert value["tool_choice"]["tools"] == [{"type": "function", "name": name} for name in NAMES]


# ---- how often a tool is called --------------------------------------------------------------------------------------

SMALL: Node = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "q"}]}
LIMITED: Node = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
DECLARED: Node = {"name": "f", "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("beside", [[], [DECLARED]], ids=["alone", "beside a function"])
def test_the_limit_of_the_only_hosted_tool_is_that_of_all_of_them(beside: list[Node]) -> None:
    """`max_tool_calls` counts the calls of all hosted tools. Claude Code searches with this limit."""
    body = {**SMALL, "tools": [LIMITED, *beside]}
    done = ul.convert(body, source=MESSAGES, target=RESPONSES)
    assert done.value["tools"][0] == {"type": "web_search"} and done.value["max_tool_calls"] == 8
    assert told(done)["/tools/0/max_uses"] == ("tools.choice", "approximated")


def test_the_limit_of_one_hosted_tool_among_several_is_not_that_of_all() -> None:
    body = {**SMALL, "tools": [LIMITED, {"type": "code_execution_20250825", "name": "code_execution"}]}
    done = ul.convert(body, source=MESSAGES, target=RESPONSES)
    assert [tool["type"] for tool in done.value["tools"]] == ["code_interpreter"]
    assert "max_tool_calls" not in done.value and told(done)["/tools/0"][1] == "lost"
