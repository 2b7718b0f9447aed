"""An answer that a client keeps returns to its maker as it was made, whatever protocol the client has.

Each maker's answers (`answers_of_makers.py`) go to clients of every other protocol, whole and as a stream, and from
their next request home. What the maker gets is compared with what a client of its own protocol sends. A difference
that is a decision is in `DECIDED`, with its reason; one that is none any more fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from answers_of_makers import (
    ANSWERS,
    CHAT,
    CONVERSE,
    DEEPSEEK,
    GENERATE,
    INTERACTIONS,
    MESSAGES,
    RESPONSES,
    asked_on,
    said,
)
from folds import FOLDS
from test_law_mind import PROTOCOLS

Node = dict[str, Any]
SECRET = "the secret of the tests"
OTHERS = (CONVERSE, MESSAGES, GENERATE, INTERACTIONS)
ROWS = [(maker, surface) for maker in ANSWERS for surface in PROTOCOLS if surface != maker]

DECIDED: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    (CHAT, "a refusal"): (OTHERS, "shown as text: OpenAI's protocols alone have refusals"),
    (DEEPSEEK, "reasoning"): ((*OTHERS, CHAT, RESPONSES), "docs/dialects.md: reasoning goes back with calls"),
    (RESPONSES, "two messages with phases"): ((INTERACTIONS,), "0024: a phase alone needs no envelope"),
    (GENERATE, "a thought and signed text"): ((CHAT,), "an unsigned thought is not in a history"),
}
"""By maker and answer: the surfaces over which another one returns, and why."""


def home(maker: str, surface: str, told: Node) -> list[Any]:
    """What its maker is sent of an answer that a client of this surface kept."""
    return said(ul.convert(asked_on(surface, told), source=surface, target=maker, secret=SECRET).value, maker)


def wanted(maker: str, answer: Node) -> list[Any]:
    """What a client of the maker's own protocol sends of it."""
    return said(ul.convert(asked_on(maker, answer), source=maker, target=maker).value, maker)


def whole(maker: str, surface: str, answer: Node) -> Node:
    done: Node = ul.convert(answer, source=maker, target=surface, kind="response", secret=SECRET).value
    return done


def streamed(maker: str, surface: str, answer: Node) -> Node:
    frames = list(ul.write_stream(ul.decompose(ul.read(answer, maker, "response")), maker))
    told: Node = FOLDS[surface](list(ul.convert_stream(frames, source=maker, target=surface, secret=SECRET)))
    return told


def differing(maker: str, surface: str, show: Callable[[str, str, Node], Node]) -> set[str]:
    """The names of the answers of which the maker gets another one."""
    return {
        name
        for name, answer in ANSWERS[maker].items()
        if home(maker, surface, show(maker, surface, answer)) != wanted(maker, answer)
    }


@pytest.mark.parametrize("show", [whole, streamed])
@pytest.mark.parametrize(("maker", "surface"), ROWS)
def test_an_answer_returns_as_it_was_made(maker: str, surface: str, show: Callable[[str, str, Node], Node]) -> None:
    decided = {name for (of, name), (surfaces, _) in DECIDED.items() if of == maker and surface in surfaces}
    assert differing(maker, surface, show) == decided
