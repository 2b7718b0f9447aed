"""OpenRouter: a search of the web that is declared among the tools, and what it becomes elsewhere.

https://openrouter.ai/docs/guides/features/server-tools/web-search
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


def test_a_client_of_no_dialect_has_its_tool_there() -> None:
    body = asked(search(engine="exa"))
    assert convert(body, CHAT, OPENROUTER).value["tools"] == body["tools"]


def test_what_only_it_has_is_reported() -> None:
    done = convert(asked(search(engine="exa", max_results=3)), OPENROUTER, RESPONSES)
    assert done.value["tools"] == [{"type": "web_search"}]
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost == ["/tools/0/parameters/engine", "/tools/0/parameters/max_results"]
