"""LangChain's ChatGoogleGenerativeAI over other providers' protocols: one transport of httpx for both calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from frameworks.langchain_loop import check, check_move, check_structured
from frameworks.world import MOVES, World, foreign
from unified_llm.client.transports.transport import transport

langchain_google = pytest.importorskip(
    "langchain_google_genai", reason="langchain-google-genai is not installed: make frameworks"
)
NAMES = pytest.mark.parametrize("name", ["any", "gemini-3-pro-preview"])
"""To models of the third generation it sends stand-ins for signatures that it lacks."""


def model_of(world: World, name: str = "any") -> Any:
    inside = transport(world.upstream, library="httpx", **world.options)
    return langchain_google.ChatGoogleGenerativeAI(model=name, api_key="unused", client_args={"transport": inside})


@NAMES
@pytest.mark.parametrize(("surface", "protocol"), foreign("google-generate-content"))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, mode: str, name: str) -> None:
    check(partial(model_of, name=name), protocol, mode)


@pytest.mark.parametrize(("one", "other"), MOVES)
def test_another_provider_in_between(one: str, other: str) -> None:
    check_move(model_of, one, other)


@pytest.mark.parametrize(("surface", "protocol"), foreign("google-generate-content"))
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(surface: str, protocol: str, method: str) -> None:
    check_structured(model_of, protocol, method)
