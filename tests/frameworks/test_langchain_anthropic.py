"""LangChain's ChatAnthropic over other providers' protocols: it takes no HTTP client, its SDK's clients do."""

from __future__ import annotations

from typing import Any

import pytest

from frameworks.langchain_loop import check, check_move, check_structured
from frameworks.world import MOVES, WAYS, World, foreign

langchain_anthropic = pytest.importorskip(
    "langchain_anthropic", reason="langchain-anthropic is not installed: make frameworks"
)


def model_of(world: World) -> Any:
    model = langchain_anthropic.ChatAnthropic(model="claude-opus-4-7", api_key="unused", max_tokens=4000)
    model._client = model._client.with_options(http_client=world.http())
    model._async_client = model._async_client.with_options(http_client=world.ahttp())
    return model


@WAYS
@pytest.mark.parametrize(("surface", "protocol"), foreign("anthropic-messages"))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, mode: str) -> None:
    check(model_of, protocol, mode)


@WAYS
@pytest.mark.parametrize(("one", "other"), MOVES)
def test_another_provider_in_between(one: str, other: str) -> None:
    check_move(model_of, one, other)


@pytest.mark.parametrize(("surface", "protocol"), foreign("anthropic-messages"))
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(surface: str, protocol: str, method: str) -> None:
    check_structured(model_of, protocol, method)
