"""How much to think: controls as their sources' wires have them, and what each is at a target and a model of one class.

Expected values are written by hand from the providers' documentation (each model's forms, efforts and budget range),
never taken from a run.
"""

from __future__ import annotations

from typing import Any

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
Node = dict[str, Any]

ASKED: Node = {"role": "user", "content": "q"}
CONTENTS: Node = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}
CONTROLS: dict[str, tuple[str, Node]] = {
    "effort high": (CHAT, {"messages": [ASKED], "reasoning_effort": "high"}),
    "effort none": (CHAT, {"messages": [ASKED], "reasoning_effort": "none"}),
    "effort xhigh": (CHAT, {"messages": [ASKED], "reasoning_effort": "xhigh"}),
    "low, shown": (RESPONSES, {"input": "q", "reasoning": {"effort": "low", "summary": "auto"}}),
    "budget 4000": (
        MESSAGES,
        {"max_tokens": 8000, "messages": [ASKED], "thinking": {"type": "enabled", "budget_tokens": 4000}},
    ),
    "disabled": (MESSAGES, {"max_tokens": 99, "messages": [ASKED], "thinking": {"type": "disabled"}}),
    "adaptive max": (
        MESSAGES,
        {
            "max_tokens": 64_000,
            "messages": [ASKED],
            "thinking": {"type": "adaptive", "display": "omitted"},
            "output_config": {"effort": "max"},
        },
    ),
    "between tools": (MESSAGES, {"max_tokens": 99, "messages": [ASKED], "thinking": {"type": "between_tools"}}),
    "level minimal": (INTERACTIONS, {"input": "q", "generation_config": {"thinking_level": "minimal"}}),
    "level high, shown": (
        INTERACTIONS,
        {"input": "q", "generation_config": {"thinking_level": "high", "thinking_summaries": "auto"}},
    ),
    "budget 0": (GENERATE, {**CONTENTS, "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
    "budget -1": (GENERATE, {**CONTENTS, "generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}),
    "budget 10000, shown": (
        GENERATE,
        {**CONTENTS, "generationConfig": {"thinkingConfig": {"thinkingBudget": 10000, "includeThoughts": True}}},
    ),
    "LOW": (GENERATE, {**CONTENTS, "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}),
}


def controls_of(protocol: str, wire: Node) -> Node:
    """The reasoning settings of a wire request."""
    if protocol == CHAT:
        return {key: wire[key] for key in ("reasoning_effort", "reasoning", "thinking") if key in wire}
    if protocol == RESPONSES:
        return dict(wire.get("reasoning") or {})
    if protocol == MESSAGES:
        return {key: wire[key] for key in ("thinking", "output_config") if key in wire}
    if protocol == INTERACTIONS:
        config = wire.get("generation_config") or {}
        return {key: config[key] for key in ("thinking_level", "thinking_summaries") if key in config}
    return dict((wire.get("generationConfig") or {}).get("thinkingConfig") or {})


def _effort(word: str | None = None, **more: Any) -> Node:
    return {**({"effort": word} if word else {}), **more}


def _chat(word: str | None = None) -> Node:
    return {"reasoning_effort": word} if word else {}


def _claude(effort: str | None = None, type_: str | None = None, **more: Any) -> Node:
    config = {"output_config": {"effort": effort}} if effort else {}
    return {**({"thinking": {"type": type_, **more}} if type_ else {}), **config}


def _level(word: str | None = None, shown: str | None = None) -> Node:
    return {**({"thinking_level": word} if word else {}), **({"thinking_summaries": shown} if shown else {})}


def _gemini(level: str | None = None, budget: int | None = None, shown: bool | None = None) -> Node:
    said = {"thinkingLevel": level, "thinkingBudget": budget, "includeThoughts": shown}
    return {key: value for key, value in said.items() if value is not None}


SHOWN = {"display": "summarized"}
# Target and model -> a row for every control: the value of the wire, and "" where the value is the same in other words,
# "~" where it is another value, "!" where it has no form.
TABLE: dict[tuple[str, str], dict[str, tuple[Node, str]]] = {
    # none, low ... max; thinks without a word.
    (RESPONSES, "gpt-5.6"): {
        "effort high": (_effort("high"), ""),
        "effort none": (_effort("none"), ""),
        "effort xhigh": (_effort("xhigh"), ""),
        "budget 4000": (_effort("medium"), "~"),
        "disabled": (_effort("none"), "~"),
        "adaptive max": (_effort("max"), "~"),
        "between tools": ({}, "!"),
        "level minimal": (_effort("low"), "~"),
        "level high, shown": (_effort("high", summary="auto"), ""),
        "budget 0": (_effort("none"), "~"),
        "budget -1": ({}, "~"),
        "budget 10000, shown": (_effort("high", summary="auto"), "~"),
        "LOW": (_effort("low"), ""),
    },
    # minimal ... high; cannot be switched off.
    (RESPONSES, "gpt-5-mini-2025-08-07"): {
        "effort high": (_effort("high"), ""),
        "effort none": (_effort("minimal"), "~"),
        "effort xhigh": (_effort("high"), "~"),
        "budget 4000": (_effort("medium"), "~"),
        "disabled": (_effort("minimal"), "~"),
        "adaptive max": (_effort("high"), "~"),
        "between tools": ({}, "!"),
        "level minimal": (_effort("minimal"), ""),
        "level high, shown": (_effort("high", summary="auto"), ""),
        "budget 0": (_effort("minimal"), "~"),
        "budget -1": ({}, "~"),
        "budget 10000, shown": (_effort("high", summary="auto"), "~"),
        "LOW": (_effort("low"), ""),
    },
    # none, low, medium, high; does not think without a word.
    (CHAT, "gpt-5.1"): {
        "low, shown": (_chat("low"), "!"),
        "budget 4000": (_chat("medium"), "~"),
        "disabled": (_chat("none"), "~"),
        "adaptive max": (_chat("high"), "~"),
        "between tools": ({}, "!"),
        "level minimal": (_chat("low"), "~"),
        "level high, shown": (_chat("high"), "!"),
        "budget 0": (_chat("none"), "~"),
        "budget -1": (_chat("medium"), "~"),
        "budget 10000, shown": (_chat("high"), "!"),
        "LOW": (_chat("low"), ""),
    },
    # Does not think.
    (CHAT, "gpt-4o-2024-08-06"): {
        "low, shown": ({}, "!"),
        "budget 4000": ({}, "!"),
        "disabled": ({}, "~"),
        "adaptive max": ({}, "!"),
        "level minimal": ({}, "!"),
        "budget 0": ({}, "~"),
        "budget 10000, shown": ({}, "!"),
        "LOW": ({}, "!"),
    },
    # It is unknown: words pass as they are, a budget becomes one of three.
    (CHAT, "some-model"): {
        "low, shown": (_chat("low"), "!"),
        "budget 4000": (_chat("medium"), "~"),
        "disabled": (_chat("none"), "~"),
        "adaptive max": (_chat("max"), "~"),
        "level minimal": (_chat("minimal"), ""),
        "budget 0": (_chat("none"), "~"),
        "budget -1": ({}, "~"),
        "budget 10000, shown": (_chat("high"), "!"),
        "LOW": (_chat("low"), ""),
    },
    # Adaptive, always on.
    (MESSAGES, "claude-opus-5-5"): {
        "effort high": (_claude("high"), ""),
        "effort none": (_claude("low"), "~"),
        "effort xhigh": (_claude("xhigh"), ""),
        "low, shown": (_claude("low", "adaptive", **SHOWN), "~"),
        "level minimal": (_claude("low"), "~"),
        "level high, shown": (_claude("high", "adaptive", **SHOWN), "~"),
        "budget 0": (_claude("low"), "~"),
        "budget -1": ({}, "~"),
        "budget 10000, shown": (_claude("high", "adaptive", **SHOWN), "~"),
        "LOW": (_claude("low"), ""),
    },
    # Adaptive, always on but between tools only.
    (MESSAGES, "claude-sonnet-5-5"): {
        "effort high": (_claude("high"), ""),
        "effort none": (_claude(None, "between_tools"), "~"),
        "budget 0": (_claude(None, "between_tools"), "~"),
        "level minimal": (_claude("low"), "~"),
    },
    # Adaptive, off without a word.
    (MESSAGES, "claude-opus-4-8"): {
        "effort high": (_claude("high", "adaptive"), ""),
        "effort none": (_claude(None, "disabled"), "~"),
        "effort xhigh": (_claude("xhigh", "adaptive"), ""),
        "low, shown": (_claude("low", "adaptive", **SHOWN), "~"),
        "level minimal": (_claude("low", "adaptive"), "~"),
        "budget 0": (_claude(None, "disabled"), "~"),
        "budget -1": (_claude(None, "adaptive"), "~"),
        "budget 10000, shown": (_claude("high", "adaptive", **SHOWN), "~"),
        "LOW": (_claude("low", "adaptive"), ""),
    },
    # Effort and budget, not adaptive; efforts up to high.
    (MESSAGES, "claude-opus-4-5-20251101"): {
        "effort high": (_claude("high", "enabled", budget_tokens=16384), ""),
        "effort none": (_claude(None, "disabled"), "~"),
        "effort xhigh": (_claude("high", "enabled", budget_tokens=32768), "~"),
        "low, shown": (_claude("low", "enabled", budget_tokens=1024, **SHOWN), "~"),
        "budget 0": (_claude(None, "disabled"), "~"),
        "budget 10000, shown": (_claude(None, "enabled", budget_tokens=10000, **SHOWN), "~"),
        "LOW": (_claude("low", "enabled", budget_tokens=1024), ""),
    },
    # A budget alone.
    (MESSAGES, "claude-haiku-4-5"): {
        "effort high": (_claude(None, "enabled", budget_tokens=16384), "~"),
        "effort none": (_claude(None, "disabled"), "~"),
        "effort xhigh": (_claude(None, "enabled", budget_tokens=32768), "~"),
        "low, shown": (_claude(None, "enabled", budget_tokens=1024, **SHOWN), "~"),
        "level minimal": (_claude(None, "enabled", budget_tokens=1024), "~"),
        "level high, shown": (_claude(None, "enabled", budget_tokens=16384, **SHOWN), "~"),
        "budget 0": (_claude(None, "disabled"), ""),
        "budget 10000, shown": (_claude(None, "enabled", budget_tokens=10000, **SHOWN), "~"),
        "LOW": (_claude(None, "enabled", budget_tokens=1024), "~"),
    },
    (MESSAGES, "claude-3-5-haiku-20241022"): {
        "effort high": ({}, "!"),
        "effort none": ({}, "~"),
        "budget 0": ({}, "~"),
        "LOW": ({}, "!"),
    },
    # Levels low and high.
    (INTERACTIONS, "gemini-3-pro-preview"): {
        "effort high": (_level("high"), ""),
        "effort none": (_level("low"), "~"),
        "effort xhigh": (_level("high"), "~"),
        "low, shown": (_level("low", "auto"), ""),
        "budget 4000": (_level("low", "auto"), "~"),
        "disabled": (_level("low"), "~"),
        "adaptive max": (_level("high", "none"), "~"),
        "between tools": ({}, "!"),
        "budget 0": (_level("low"), "~"),
        "budget -1": ({}, "~"),
        "budget 10000, shown": (_level("high", "auto"), "~"),
        "LOW": (_level("low"), ""),
    },
    # Levels from minimal.
    (INTERACTIONS, "gemini-3.6-flash"): {
        "effort none": (_level("minimal"), "~"),
        "budget 4000": (_level("medium", "auto"), "~"),
        "disabled": (_level("minimal"), "~"),
        "budget 0": (_level("minimal"), "~"),
    },
    # Levels here, a budget in the other protocol.
    (INTERACTIONS, "gemini-2.5-flash"): {
        "effort none": (_level("low"), "~"),
        "budget 4000": (_level("medium", "auto"), "~"),
        "budget 0": (_level("low"), "~"),
    },
    (GENERATE, "gemini-3-pro-preview"): {
        "effort high": (_gemini("HIGH"), ""),
        "effort none": (_gemini("LOW"), "~"),
        "effort xhigh": (_gemini("HIGH"), "~"),
        "low, shown": (_gemini("LOW", shown=True), ""),
        "budget 4000": (_gemini("LOW", shown=True), "~"),
        "disabled": (_gemini("LOW"), "~"),
        "adaptive max": (_gemini("HIGH", shown=False), "~"),
        "between tools": ({}, "!"),
        "level minimal": (_gemini("LOW"), "~"),
        "level high, shown": (_gemini("HIGH", shown=True), ""),
    },
    # 128 to 32768, never off.
    (GENERATE, "gemini-2.5-pro"): {
        "effort high": (_gemini(budget=24576), "~"),
        "effort none": (_gemini(budget=128), "~"),
        "effort xhigh": (_gemini(budget=32768), "~"),
        "low, shown": (_gemini(budget=1024, shown=True), "~"),
        "budget 4000": (_gemini(budget=4000, shown=True), "~"),
        "disabled": (_gemini(budget=128), "~"),
        "adaptive max": (_gemini(budget=32768, shown=False), "~"),
        "level minimal": (_gemini(budget=512), "~"),
        "level high, shown": (_gemini(budget=24576, shown=True), "~"),
    },
    # Up to 24576, 0 is off.
    (GENERATE, "gemini-2.5-flash"): {
        "effort none": (_gemini(budget=0), "~"),
        "effort xhigh": (_gemini(budget=24576), "~"),
        "disabled": (_gemini(budget=0), ""),
        "adaptive max": (_gemini(budget=24576, shown=False), "~"),
    },
    (GENERATE, "gemini-2.0-flash-001"): {
        "effort high": ({}, "!"),
        "disabled": ({}, "~"),
        "level high, shown": ({}, "!"),
    },
}
