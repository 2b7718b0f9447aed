"""What an interpreter and a log show of the objects that users hold: one short line, and no credential."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm import models


@ul.tool
def now() -> str:
    return "noon"


def test_streams_show_their_state_and_upstream() -> None:
    stream = ul.Client(model="local/echo:openai-chat").responses.create(input="Hi", stream=True)
    assert repr(stream) == "EventStream('open', upstream='local/echo', protocol='openai-chat')"
    list(stream)
    assert repr(stream) == "EventStream('ended', upstream='local/echo', protocol='openai-chat')"
    parsed = ul.Client(model="local/echo:openai-chat").responses.parse(input="Hi", text_format=int, stream=True)
    assert repr(parsed).startswith("ParsedStream('open'")
    broken = ul.Client(model="local/echo:openai-chat").responses.create(
        input="[[break after 2]] one two three", stream=True
    )
    with pytest.raises(ul.StreamInterruptedError):
        list(broken)
    assert repr(broken).startswith("EventStream('failed'")


def test_a_streamed_run_shows_whether_it_is_complete() -> None:
    run = ul.Client(model="local/echo").responses.run(input="[[call now]]", tools=[now], stream=True)
    assert repr(run) == "RunStream('open')"
    run.get_final_result()
    assert repr(run) == "RunStream('complete')"


def test_stores_show_how_full_they_are() -> None:
    store = ul.MemoryStore(limit=5)
    ul.Client(model="local/echo:openai-chat", store=store).responses.create(input="Hi")
    assert repr(store) == "MemoryStore(1 of at most 5 turns)"
    vault = ul.MemoryVault("ann", limit=5)
    vault.put("call:a", [])
    assert repr(vault) == "MemoryVault('ann', 1 of at most 5 entries)"


@pytest.mark.parametrize("server", [ul.ToolServer, ul.AsyncToolServer])
def test_a_server_of_tools_shows_no_url(server: Any) -> None:
    assert repr(server("https://host/mcp?key=secret")) == f"{server.__name__}(not connected)"


def test_a_model_of_the_catalog_is_one_line() -> None:
    assert repr(models.get("openai/gpt-5.5")) == "CatalogModel('openai/gpt-5.5', name='GPT-5.5')"
