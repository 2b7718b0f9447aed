"""LangChain's ChatOpenAI over other providers' protocols, in both protocols that it uses."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from frameworks.langchain_loop import check, check_move, check_structured
from frameworks.world import MOVES, WAYS, World, foreign

langchain_openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed: make frameworks")
SURFACES = ("openai-chat", "openai-responses")


def model_of(surface: str, world: World, **options: Any) -> Any:
    return langchain_openai.ChatOpenAI(
        model="gpt-5",
        api_key="unused",
        http_client=world.http(),
        http_async_client=world.ahttp(),
        use_responses_api=surface == "openai-responses",
        **options,
    )


@WAYS
@pytest.mark.parametrize(("surface", "protocol"), foreign(*SURFACES))
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_streamed_conversation_with_tools(surface: str, protocol: str, mode: str) -> None:
    check(partial(model_of, surface), protocol, mode)


@pytest.mark.parametrize(("surface", "protocol"), foreign("openai-responses"))
def test_a_conversation_by_the_ids_of_answers(surface: str, protocol: str) -> None:
    """It sends what came after the last answer, and that answer's id."""
    check(partial(model_of, surface, use_previous_response_id=True), protocol, "sync")


@WAYS
@pytest.mark.parametrize(("one", "other"), MOVES)
@pytest.mark.parametrize("surface", SURFACES)
def test_another_provider_in_between(surface: str, one: str, other: str) -> None:
    check_move(partial(model_of, surface), one, other)


@pytest.mark.parametrize(("surface", "protocol"), foreign(*SURFACES))
@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_structured_output(surface: str, protocol: str, method: str) -> None:
    check_structured(partial(model_of, surface), protocol, method)
