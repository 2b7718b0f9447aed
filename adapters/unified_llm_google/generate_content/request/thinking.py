"""How long to think and what to show of it: `thinkingConfig`.

Some models take a level, some a budget, which is model data (`unified_llm.models`); whichever the model takes is drawn
from the source's settings.

https://ai.google.dev/gemini-api/docs/thinking
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, Fated, lookup, take, take_whole
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.effort import budget_within, clamp, effort_of, nearest
from unified_llm.models.profiles import ReasoningProfile, profile

from ..values.enums import marked, number_of, take_name

__all__ = ["read_thinking", "write_thinking"]

Node = dict[str, Any]

_LEVELS = Bimap(
    {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"},
    writing={"none": "MINIMAL", "max": "HIGH"},
)


def read_thinking(config: Node, c: Node, r: Reader) -> None:
    """Read `thinkingConfig` into the canonical reasoning settings of `c`."""
    thinking = take_whole(config, "thinkingConfig")
    if not thinking:
        r.form(c, "thinking", "empty")
    reasoning: Node = {}
    if type(thinking.get("includeThoughts")) is bool:
        reasoning["include"] = thinking.pop("includeThoughts")
    take_name(thinking, "thinkingLevel", "ThinkingLevel", c, r, "level")
    level = thinking.get("thinkingLevel")
    if type(level) is str and level.upper() in _LEVELS.reads and level in (level.upper(), level.lower()):
        reasoning["effort"] = _LEVELS.read(thinking.pop("thinkingLevel").upper())
        if level != level.upper():
            r.form(c, "level", "lower")
    if type(thinking.get("thinkingBudget")) is int:
        reasoning["budget_tokens"] = thinking.pop("thinkingBudget")
    c["reasoning"] = reasoning


def write_thinking(c: Node, config: Node, w: Writer) -> None:
    """Write the reasoning settings as `thinkingConfig`, as far as the model supports them."""
    thinking: Node = {}
    if type(c.get("reasoning")) is dict:
        reasoning = take(c, "reasoning")
        _write_depth(reasoning, thinking, c, w)
        if type(reasoning.get("include")) is bool:
            thinking["includeThoughts"] = reasoning.pop("include")
        else:
            _write_visibility(reasoning, thinking, w)
    if thinking or w.form(c, "thinking") == "empty":
        config["thinkingConfig"] = thinking


def _write_depth(reasoning: Node, thinking: Node, c: Node, w: Writer) -> None:
    """A level or a budget, whichever the model takes; both only where they came from here."""
    if w.source == w.protocol:
        _write_as_said(reasoning, thinking, c, w)
        return
    facts = profile(w.context.get("model"), w.protocol).reasoning
    effort, control = (reasoning.get(key) if type(reasoning.get(key)) is str else None for key in ("effort", "control"))
    budget = reasoning.get("budget_tokens") if type(reasoning.get("budget_tokens")) is int else None
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    if not facts.thinks:
        for key in ("effort", "control", "budget_tokens", "summary", "include", "display"):
            if reasoning.get(key) is not None:
                silent = off or reasoning[key] in ("none", "omitted", False)
                reasoning[key] = Fated("approximated" if silent else "lost", "the model does not think")
    elif off:
        _write_off(reasoning, thinking, facts)
    elif budget is not None and (facts.budget is not None and (effort is None or not facts.efforts)):
        thinking["thinkingBudget"] = clamp(budget, facts)
        del reasoning["budget_tokens"]
        if thinking["thinkingBudget"] != budget:
            reasoning["budget_tokens"] = Fated("approximated", f"sent as {thinking['thinkingBudget']}")
        _approximate(reasoning, ("effort",), "represented by the budget")
    elif effort is not None and facts.efforts:
        word = nearest(effort, facts.efforts)
        thinking["thinkingLevel"] = _LEVELS.write(word)
        del reasoning["effort"]
        if word != effort:
            reasoning["effort"] = Fated("approximated", f"sent as {thinking['thinkingLevel']!r}")
        _approximate(reasoning, ("budget_tokens",), "represented by the level")
    elif effort is not None and effort in facts.budgets:
        within = budget_within(w.doc.get("max_output_tokens"), effort, facts)
        thinking["thinkingBudget"] = clamp(0 if facts.off else 1, facts) if within is None else within
        reasoning["effort"] = Fated("approximated", f"as a budget of {thinking['thinkingBudget']} tokens")
    elif budget is not None and budget > 0:
        thinking["thinkingLevel"] = _LEVELS.write(effort_of(budget, facts.efforts))
        reasoning["budget_tokens"] = Fated("approximated", f"as level {thinking['thinkingLevel']!r}")
    elif facts.dynamic and control == "adaptive":
        thinking["thinkingBudget"] = -1
        reasoning["control"] = Fated("approximated", "a budget the model chooses")
    elif facts.default == "off":
        thinking["thinkingBudget"] = -1
        _approximate(reasoning, ("control",), "a budget the model chooses")
    _approximate(reasoning, ("budget_tokens",), "the model chooses by itself")
    if control in ("enabled", "adaptive"):
        _approximate(reasoning, ("control",), "thinking is on by default")


def _write_as_said(reasoning: Node, thinking: Node, c: Node, w: Writer) -> None:
    """What was read here goes back as it was."""
    effort, budget, control = reasoning.get("effort"), reasoning.get("budget_tokens"), reasoning.get("control")
    if type(effort) is str and effort in _LEVELS.writes:
        level = _LEVELS.write(reasoning.pop("effort"))
        named = number_of(level, "ThinkingLevel", marked(c, w, "level"))
        thinking["thinkingLevel"] = level.lower() if w.form(c, "level") == "lower" else named
        if not _LEVELS.exact(effort):
            reasoning["effort"] = Fated("approximated", f"sent as {level!r}")
    if type(budget) is int:
        thinking["thinkingBudget"] = reasoning.pop("budget_tokens")
    if control == "disabled" and not thinking:
        thinking["thinkingBudget"] = 0
        del reasoning["control"]
    elif control == "adaptive" and not thinking:
        thinking["thinkingBudget"] = -1
        reasoning["control"] = Fated("approximated", "a budget the model chooses")
    elif control in ("enabled", "adaptive"):
        reasoning["control"] = Fated("approximated", "thinking is on by default")


def _write_off(reasoning: Node, thinking: Node, facts: ReasoningProfile) -> None:
    """A budget of nothing; where that cannot be, as little as there is."""
    said = next(key for key in ("control", "budget_tokens", "effort") if reasoning.get(key) in ("disabled", 0, "none"))
    if facts.budget is not None and (said != "effort" or not facts.efforts):
        thinking["thinkingBudget"] = clamp(0, facts)
        exact = not thinking["thinkingBudget"]
    else:
        thinking["thinkingLevel"] = _LEVELS.write(nearest("none", facts.efforts))
        exact = False
    detail = "as a budget of 0" if exact else "the least there is"
    if exact and said != "effort":
        del reasoning[said]
    for key in ("control", "effort", "budget_tokens"):
        if reasoning.get(key) is not None and (key == said or reasoning[key] in (0, "none")):
            reasoning[key] = Fated("approximated", detail)


def _approximate(reasoning: Node, keys: tuple[str, ...], detail: str) -> None:
    for key in keys:
        if reasoning.get(key) is not None and type(reasoning[key]) is not Fated:
            reasoning[key] = Fated("approximated", detail)


_SHOWN = {"summarized": True, "omitted": False}


def _write_visibility(reasoning: Node, thinking: Node, w: Writer) -> None:
    """Reasoning is returned only on request."""
    summary = reasoning.get("summary")
    if type(summary) is str:
        thinking["includeThoughts"] = summary != "none"
        del reasoning["summary"]
        if summary not in ("auto", "none"):
            reasoning["summary"] = Fated("approximated", "there is one kind of summary")
    elif lookup(_SHOWN, reasoning.get("display")) is not None:
        thinking["includeThoughts"] = _SHOWN[reasoning.pop("display")]
    elif (w.doc.get("reasoning") or {}).get("control") in ("enabled", "adaptive") and (thinking or _thinks(w)):
        thinking["includeThoughts"] = True
        w.added(thinking, "includeThoughts", "reasoning is returned only on request")


def _thinks(w: Writer) -> bool:
    """Whether the model thinks, for a client of another protocol, which sees the thoughts that it requests."""
    return w.crosses and profile(w.context.get("model"), w.protocol).reasoning.thinks
