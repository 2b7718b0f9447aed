"""How long to think and what to show of it: `thinkingConfig`.

Some models take a level, some a budget; whichever the model takes is drawn from what the source said.

https://ai.google.dev/gemini-api/docs/thinking
"""

from __future__ import annotations

from typing import Any

from unified_llm.mapping import Bimap, Fated, lookup, take
from unified_llm.reading import Reader
from unified_llm.writing import Writer

from .models import thinking_of

__all__ = ["read_thinking", "write_thinking"]

Node = dict[str, Any]

_LEVELS = Bimap(
    {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"},
    writing={"none": "MINIMAL", "max": "HIGH"},
)


def read_thinking(config: Node, c: Node, r: Reader) -> None:
    thinking = take(config, "thinkingConfig")
    if not thinking:
        r.form(c, "thinking", "empty")
    reasoning: Node = {}
    if type(thinking.get("includeThoughts")) is bool:
        reasoning["include"] = thinking.pop("includeThoughts")
    level = thinking.get("thinkingLevel")
    if type(level) is str and level.upper() in _LEVELS.reads and level in (level.upper(), level.lower()):
        reasoning["effort"] = _LEVELS.read(thinking.pop("thinkingLevel").upper())
        if level != level.upper():
            r.form(c, "level", "lower")
    if type(thinking.get("thinkingBudget")) is int:
        reasoning["budget_tokens"] = thinking.pop("thinkingBudget")
    c["reasoning"] = reasoning


def write_thinking(c: Node, config: Node, w: Writer) -> None:
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
    effort, budget, control = reasoning.get("effort"), reasoning.get("budget_tokens"), reasoning.get("control")
    native = w.source in (None, w.protocol)
    facts = thinking_of(w.context.get("model")) if not native else None
    if type(effort) is str and effort in _LEVELS.writes:
        if facts and facts.by == "budget" and budget is None:
            thinking["thinkingBudget"] = facts.budget(effort)
            reasoning["effort"] = Fated("approximated", f"as a budget of {thinking['thinkingBudget']} tokens")
        elif native or budget is None or not (facts and facts.by == "budget"):
            level = _LEVELS.write(reasoning.pop("effort"))
            thinking["thinkingLevel"] = level.lower() if w.form(c, "level") == "lower" else level
            if not _LEVELS.exact(effort):
                reasoning["effort"] = Fated("approximated", f"sent as {level!r}")
        if budget is not None and not native:
            if "thinkingLevel" in thinking:
                reasoning["budget_tokens"] = Fated("approximated", "the level says it")
                return
            reasoning["effort"] = Fated("approximated", "the budget says it")
    if type(budget) is int:
        if facts and facts.by == "level":
            thinking["thinkingLevel"] = facts.level(budget)
            reasoning["budget_tokens"] = Fated("approximated", f"as level {thinking['thinkingLevel']!r}")
        else:
            thinking["thinkingBudget"] = facts.clamp(budget) if facts else budget
            del reasoning["budget_tokens"]
            if thinking["thinkingBudget"] != budget:
                reasoning["budget_tokens"] = Fated("approximated", f"sent as {thinking['thinkingBudget']}")
    if control == "disabled" and not thinking:
        if facts and facts.by == "level":
            thinking["thinkingLevel"] = "MINIMAL"
            reasoning["control"] = Fated("approximated", "the least there is")
        else:
            thinking["thinkingBudget"] = facts.clamp(0) if facts else 0
            if thinking["thinkingBudget"]:
                reasoning["control"] = Fated("approximated", "the least there is")
            else:
                del reasoning["control"]
    elif control == "adaptive" and not thinking and not (facts and facts.by == "level"):
        thinking["thinkingBudget"] = -1
        reasoning["control"] = Fated("approximated", "a budget the model chooses")
    elif control in ("enabled", "adaptive"):
        reasoning["control"] = Fated("approximated", "thinking is on by default")


_SHOWN = {"summarized": True, "omitted": False}


def _write_visibility(reasoning: Node, thinking: Node, w: Writer) -> None:
    """Thoughts are returned only where they are asked for."""
    summary = reasoning.get("summary")
    if type(summary) is str:
        thinking["includeThoughts"] = True
        del reasoning["summary"]
        if summary != "auto":
            reasoning["summary"] = Fated("approximated", "there is one kind of summary")
    elif lookup(_SHOWN, reasoning.get("display")) is not None:
        thinking["includeThoughts"] = _SHOWN[reasoning.pop("display")]
    elif type(reasoning.get("control")) is Fated and thinking.get("thinkingBudget") != 0:
        thinking["includeThoughts"] = True
        w.added(thinking, "includeThoughts", "thoughts are shown only where that is asked for")
