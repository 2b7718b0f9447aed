"""The measure: two witnesses, and what is made of them. Expected fates are facts about the wires, not what came out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.drift import CANONICAL, Cell, Key, Lock, cell, layout, observe, survives
from unified_llm.drift.lock import Watch
from unified_llm.engine.registry import adapter

FACTS = [
    # Chat, generateContent and Interactions have a seed; Responses and Messages have none.
    ("request", "openai-chat", "openai-responses", "sampling.seed", "lost"),
    ("request", "openai-chat", "google-generate-content", "sampling.seed", "native"),
    ("request", CANONICAL, "anthropic-messages", "sampling.seed", "lost"),
    ("request", "openai-responses", "google-interactions", "sampling.seed", "-"),
    # A level becomes a budget or the reverse: close, not equal.
    ("request", "anthropic-messages", "openai-responses", "reasoning.budget", "approximated"),
    # One provider's signature is nothing to another, and waits where the client echoes it.
    ("request", "anthropic-messages", "google-generate-content", "reasoning.signature", "lost"),
    ("response", "anthropic-messages", "google-generate-content", "reasoning.signature", "parked"),
    ("stream", "openai-responses", "anthropic-messages", "reasoning.signature", "parked"),
    # Custom tools are functions of one string elsewhere.
    ("request", "openai-responses", "anthropic-messages", "tools.custom", "emulated"),
    ("request", "openai-responses", "openai-chat", "tools.custom", "native"),
    ("request", "openai-responses", "openai-chat", "tools.mcp", "lost"),
    ("response", "openai-chat", "anthropic-messages", "text.output", "native"),
    ("response", "anthropic-messages", "openai-chat", "usage.cache", "native"),
    ("stream", "google-generate-content", "openai-chat", "tools.function", "native"),
    ("error", "openai-chat", "anthropic-messages", "error.code", "native"),
    ("request", "openai-chat", "anthropic-messages", "native.field", "lost"),
    # A dialect's server is sent the protocol's own parts.
    ("request", CANONICAL, "openai-chat:azure", "image.input", "native"),
    ("request", "anthropic-messages", "openai-chat:openrouter", "cache.breakpoint", "native"),
    ("request", CANONICAL, "openai-chat:deepseek", "image.input", "lost"),  # takes text alone
    ("request", CANONICAL, "openai-chat:deepseek", "tools.result.media", "lost"),
    # Dialects: llama.cpp samples from the k best, the protocol's own server does not.
    ("request", CANONICAL, "openai-chat:vllm", "sampling.top_k", "native"),
    ("request", CANONICAL, "openai-chat:anthropic", "sampling.seed", "lost"),
]


@pytest.mark.parametrize(("kind", "source", "target", "capability", "fate"), FACTS)
def test_a_fact_of_the_wires(kind: str, source: str, target: str, capability: str, fate: str) -> None:
    assert cell(Key(kind, source, target, capability)).fate == fate


def test_dated_data_of_a_model_change_a_cell() -> None:
    key = Key("request", CANONICAL, "openai-responses", "sampling.temperature")
    assert cell(key).fate == "native"
    assert cell(key._replace(model="o3")).fate == "lost"  # the o-series answers temperature with an error


def test_survival() -> None:
    assert [survives(fate) for fate in ("native", "emulated", "approximated", "parked")] == [True] * 4
    assert [survives(fate) for fate in ("lost", "refused", "silent", "-")] == [False] * 4


def measure_anew(patch: pytest.MonkeyPatch) -> None:
    """Without what was measured before, which the next test finds again."""
    patch.setattr(observe, "_said", {})
    patch.setattr(observe, "_cells", {})


def test_the_whole_matrix_takes_few_conversions_and_is_the_same_twice() -> None:
    first = layout.every_pair()
    converted = 0

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal converted
            converted += 1
            return work(*arguments)

        return run

    with pytest.MonkeyPatch.context() as patch:
        measure_anew(patch)
        for name in ("_write", "_convert"):
            patch.setattr(observe, name, counted(getattr(observe, name)))
        again = layout.every_pair()
    assert again.cells == first.cells
    assert len(first.cells) > 4000
    # A probe is written once for each protocol, and not once for each pair.
    assert 1000 < converted < len(first.cells)


# ---- a broken adapter -----------------------------------------------------------------------------------------------

KEY = Key("request", "openai-chat", "anthropic-messages", "sampling.temperature")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a target's writer do something else to every request."""

    def put(change: Any) -> None:
        kinds = adapter("anthropic-messages").kinds
        kind = kinds["request"]
        monkeypatch.setitem(kinds, "request", kind._replace(write=lambda c, w: change(kind.write, c, w)))
        measure_anew(monkeypatch)

    return put


def drops_in_silence(write: Any, c: Any, w: Any) -> Any:
    value = write(c, w)
    value.pop("temperature", None)
    return value


def changes_the_value(write: Any, c: Any, w: Any) -> Any:
    value = write(c, w)
    if "temperature" in value:
        value["temperature"] = 1.0
    return value


def loses_and_says_so(write: Any, c: Any, w: Any) -> Any:
    w.report(w.doc, ("temperature",), "lost", "we forgot")
    value = write(c, w)
    value.pop("temperature", None)
    return value


def denies(write: Any, c: Any, w: Any) -> Any:
    w.report(w.doc, ("temperature",), "lost", "or so we say")
    return write(c, w)


@pytest.mark.parametrize(
    ("change", "fate"),
    [(drops_in_silence, "silent"), (changes_the_value, "silent"), (loses_and_says_so, "lost"), (denies, "denied")],
)
def test_a_broken_adapter_is_seen_for_what_it_is(broken: Any, change: Any, fate: str) -> None:
    before = cell(KEY)
    assert before == Cell("native")
    broken(change)
    after = cell(KEY)
    assert after.fate == fate
    lock = Lock((Watch("openai-chat", "anthropic-messages", ("sampling.temperature",), ("request",)),), {KEY: "native"})
    (found,) = lock.changes()
    assert found.direction == "worse"
    told = str(found)
    for word in ("openai-chat -> anthropic-messages", "sampling.temperature", "request", f"native -> {fate}"):
        assert word in told


def test_an_adapter_that_refuses_is_told_so(broken: Any) -> None:
    def refuse(write: Any, c: Any, w: Any) -> Any:
        raise ul.CapabilityRefused("/temperature", "sampling.temperature", "not with us")

    broken(refuse)
    found = cell(KEY)
    assert found.fate == "refused"
    assert "not with us" in found.detail
