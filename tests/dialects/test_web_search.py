"""Searches of the web in Chat: OpenRouter's (a tool, a plugin, the end of a model's name), and OpenAI's, by model.

https://openrouter.ai/docs/guides/features/server-tools/web-search
https://platform.openai.com/docs/guides/tools-web-search?api-mode=chat
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

Node = dict[str, Any]
OPENROUTER, CHAT, RESPONSES, MESSAGES = (
    "openai-chat:openrouter",
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
)
PLACE = {"type": "approximate", "country": "NO"}


def asked(*tools: Node) -> Node:
    return {"model": "m", "messages": [{"role": "user", "content": "News?"}], "tools": list(tools)}


def search(**parameters: Any) -> Node:
    return {"type": "openrouter:web_search", "parameters": parameters}


def convert(body: Node, source: str, target: str) -> ul.Converted:
    return ul.convert(body, source=source, target=target, model="m")


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "openrouter:web_search"},
        search(),
        search(engine="exa", max_results=3),
        search(allowed_domains=["a.example"], search_context_size="high", user_location=PLACE),
        search(allowed_domains=None, search_context_size=3, user_location="Oslo"),
        {"type": "openrouter:web_search", "parameters": None},
        {"type": "openrouter:web_search", "parameters": "p", "more": 1},
    ],
)
def test_it_comes_back_as_it_was(tool: Node) -> None:
    for body in (asked(tool), asked({"type": "function", "function": {"name": "f"}}, tool)):
        assert convert(body, OPENROUTER, OPENROUTER).value == body
        assert ul.write(ul.read(body, OPENROUTER), OPENROUTER).value == body


def test_a_search_of_others_is_one_of_its_tools() -> None:
    tool = {"type": "web_search", "search_context_size": "high", "user_location": PLACE}
    body = {"model": "m", "input": "News?", "tools": [{**tool, "filters": {"allowed_domains": ["a.example"]}}]}
    done = convert(body, RESPONSES, OPENROUTER)
    wanted = search(search_context_size="high", user_location=PLACE, allowed_domains=["a.example"])
    assert done.value["tools"] == [wanted]
    assert not done.losses
    assert convert(done.value, OPENROUTER, RESPONSES).value["tools"] == body["tools"]
    claude: Node = {"type": "web_search_20250305", "name": "web_search", "blocked_domains": ["b.example"]}
    body = {"model": "m", "max_tokens": 9, "messages": asked()["messages"], "tools": [claude]}
    done = convert(body, MESSAGES, OPENROUTER)
    assert done.value["tools"] == [search(excluded_domains=["b.example"])]
    assert convert(done.value, OPENROUTER, MESSAGES).value["tools"] == [claude]


def test_an_option_of_openai_is_one_of_its_tools() -> None:
    body = {**asked(), "web_search_options": {"search_context_size": "low"}}
    del body["tools"]
    assert convert(body, OPENROUTER, OPENROUTER).value == body
    done = convert(body, CHAT, OPENROUTER)
    assert done.value["tools"] == [search(search_context_size="low")]
    assert "web_search_options" not in done.value


def test_what_only_it_has_is_reported() -> None:
    done = convert(asked(search(engine="exa", max_results=3)), OPENROUTER, RESPONSES)
    assert done.value["tools"] == [{"type": "web_search"}]
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost == ["/tools/0/parameters/engine", "/tools/0/parameters/max_results"]


# https://openrouter.ai/docs/guides/features/plugins/web-search
ONLINE = "openai/gpt-5:online"
WEB = {"id": "web", "max_results": 3, "engine": "exa", "search_prompt": "See:", "include_domains": ["a.example"]}
PARSER = {"id": "file-parser", "pdf": {"engine": "native"}}
FUNCTION = {"type": "function", "function": {"name": "f"}}


def plain(**more: Any) -> Node:
    return {"model": "m", "messages": [{"role": "user", "content": "News?"}], **more}


@pytest.mark.parametrize(
    "more",
    [
        {"model": ONLINE},
        {"model": ONLINE, "tools": []},
        {"model": ONLINE, "tools": None},
        {"model": ONLINE, "tools": [FUNCTION]},
        {"model": ONLINE, "tools": [search()], "plugins": [WEB]},
        {"model": ONLINE, "web_search_options": {"search_context_size": "low", "max_results": 2}},
        {"model": ONLINE, "plugins": [{"id": "web"}]},
        {"plugins": [WEB]},
        {"plugins": [WEB, PARSER], "tools": [FUNCTION]},
        {"plugins": [PARSER, WEB, WEB]},
        {"plugins": [PARSER, {"id": "web"}]},
        {"plugins": [{"id": "web"}, {}]},
        {"plugins": [{"id": "web", "enabled": False}]},
        {"plugins": [PARSER]},
        {"plugins": "web"},
        {"plugins": []},
        {"plugins": [{"id": "web", "include_domains": None, "user_location": "Oslo"}, 3]},
    ],
)
def test_a_plugin_and_the_name_of_a_model_stay_as_they_were(more: Node) -> None:
    body = plain(**more)
    assert ul.convert(body, source=OPENROUTER, target=OPENROUTER).value == body
    if "web_search_options" not in body:  # (written anew, that is one of the tools)
        assert ul.write(ul.read(body, OPENROUTER), OPENROUTER).value == body


@pytest.mark.parametrize("more", [{"model": ONLINE}, {"plugins": [{"id": "web"}]}, {"model": "a/b:free:online"}])
def test_a_search_by_the_name_of_a_model_or_a_plugin_is_the_tool_of_others(more: Node) -> None:
    for target, wanted in (
        (RESPONSES, {"type": "web_search"}),
        (MESSAGES, {"type": "web_search_20250305", "name": "web_search"}),
        ("google-generate-content", {"googleSearch": {}}),
        ("google-interactions", {"type": "google_search"}),
    ):
        done = convert(plain(**more), OPENROUTER, target)
        assert done.value["tools"] == [wanted], target
        assert not [loss for loss in done.losses if loss.fate == "lost"]
    assert convert(plain(**more), OPENROUTER, CHAT).value["web_search_options"] == {}


@pytest.mark.parametrize(
    ("more", "path"), [({"model": ONLINE}, "/model"), ({"plugins": [PARSER, {"id": "web"}]}, "/plugins/1")]
)
def test_it_is_reported_where_there_is_no_search(more: Node, path: str) -> None:
    for target in ("openai-chat:groq", "amazon-converse"):
        done = convert(plain(**more), OPENROUTER, target)
        found = [(loss.path, loss.capability) for loss in done.losses if loss.fate == "lost"]
        assert (path, "tools.hosted.web_search") in found
        assert "web_search" not in str(done.value)


def test_another_model_of_the_same_server_searches_too() -> None:
    for model in ("a/b", "a/b:online"):
        done = ul.convert(plain(model=ONLINE), source=OPENROUTER, target=OPENROUTER, model=model)
        assert done.value.get("tools") == (None if ":" in model else [{"type": "openrouter:web_search"}])
        assert done.value["model"] == model and not done.losses


def test_settings_of_its_own_search_go_to_no_other_server() -> None:
    own = {"max_results": 3, "engine": "exa", "search_prompt": "See:"}
    cases: list[tuple[Node, str]] = [
        (plain(web_search_options={"search_context_size": "low", **own}), "/web_search_options/"),
        (plain(tools=[search(search_context_size="low", **own)]), "/tools/0/parameters/"),
        (plain(plugins=[PARSER, {"id": "web", **own}]), "/plugins/1/"),
    ]
    for body, place in cases:
        done = convert(body, OPENROUTER, CHAT)
        assert done.value["web_search_options"] in ({"search_context_size": "low"}, {})
        assert done.value.get("plugins") in (None, [PARSER])
        lost = [loss.path for loss in done.losses if loss.fate == "lost"]
        assert sorted(path for path in lost if path.startswith(place)) == [place + key for key in sorted(own)]
    done = convert(plain(plugins=[WEB, PARSER]), OPENROUTER, RESPONSES)
    assert done.value["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}]
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert sorted(lost) == [f"/plugins/0/{key}" for key in sorted(own)] + ["/plugins/1/id", "/plugins/1/pdf"]


def test_a_client_of_no_dialect_has_its_tool_there() -> None:
    body = plain(tools=[search(engine="exa")])
    assert convert(body, CHAT, OPENROUTER).value["tools"] == body["tools"]


@pytest.mark.parametrize("target", [CHAT, "openai-chat:openai", "openai-chat:azure"])
@pytest.mark.parametrize(
    ("model", "searches"),
    [
        ("gpt-5.5", False),
        ("gpt-5.1-2025-11-13", False),
        ("gpt-4.1", False),
        ("o4-mini", False),
        ("gpt-5-search-api", True),
        ("gpt-4o-search-preview", True),
        ("some-model", True),
    ],
)
def test_a_model_of_openai_that_does_not_search_in_chat_is_not_sent_the_option(
    target: str, model: str, searches: bool
) -> None:
    tools: list[Node] = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "f", "input_schema": {}}]
    body = {"model": "m", "max_tokens": 9, "messages": asked()["messages"], "tools": tools}
    done = ul.convert(body, source=MESSAGES, target=target, model=model)
    lost = [loss for loss in done.losses if loss.path == "/tools/0"]
    assert ("web_search_options" in done.value) is searches
    assert [(loss.capability, loss.fate, loss.severity) for loss in lost] == (
        [] if searches else [("tools.hosted.web_search", "lost", "high")]
    )
    assert [tool["function"]["name"] for tool in done.value["tools"]] == ["f"]
    alone = ul.convert({**body, "tools": tools[:1]}, source=MESSAGES, target=target, model=model)
    assert "tools" not in alone.value and ("web_search_options" in alone.value) is searches


def test_a_choice_of_the_search_that_is_not_sent_is_not_sent_either() -> None:
    tools = [{"type": "web_search"}, {"type": "function", "name": "f", "parameters": {}}]
    body = {"model": "m", "input": "News?", "tools": tools, "tool_choice": {"type": "web_search"}}
    for given in (tools, tools[:1]):
        done = ul.convert({**body, "tools": given}, source=RESPONSES, target=CHAT, model="gpt-5.5")
        assert done.value.get("tool_choice") in (None, "auto", "none")
        assert "/tools/0" in {loss.path for loss in done.losses if loss.fate == "lost"}


def test_openrouter_searches_with_any_model() -> None:
    done = ul.convert({**asked(), "tools": [search()]}, source=OPENROUTER, target=OPENROUTER, model="openai/gpt-5.5")
    assert done.value["tools"] == [search()]
    body = {"model": "m", "input": "News?", "tools": [{"type": "web_search"}]}
    done = ul.convert(body, source=RESPONSES, target=OPENROUTER, model="openai/gpt-5.5")
    assert done.value["tools"] == [{"type": "openrouter:web_search"}] and not done.losses
