"""How long to think and what is shown of it: `thinking` and `output_config.effort`.

Which of the four forms of `thinking` and which efforts a model takes is model data (`unified_llm.models`); a request of
another protocol is written in the form that the target's model takes. A forced tool wins over thinking (the program
depends on it), a budget that the client names over its limit of the answer. Nothing of this touches a request that was
read from this protocol.

https://docs.claude.com/en/docs/build-with-claude/extended-thinking
https://docs.claude.com/en/docs/build-with-claude/effort
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.effort import EFFORTS, budget_within, clamp, effort_of, nearest
from unified_llm.models.profiles import ModelProfile, ReasoningProfile, profile

from .content import own_born
from .tables import DEFAULT_MAX_TOKENS, PROTOCOL

__all__ = ["model_of", "read_thinking", "write_thinking"]

Node = dict[str, Any]

_CONTROLS = ("enabled", "adaptive", "disabled", "between_tools")
_ALWAYS = "thinking cannot be switched off"


def read_thinking(w: Node, c: Node, r: Reader) -> None:
    """Read `thinking` into the canonical reasoning settings of `c`; an unknown form stays."""
    thinking = w["thinking"]
    if type(thinking.get("type")) is not str:
        return
    own = take(w, "thinking")
    reasoning = c.setdefault("reasoning", {})
    reasoning["control"] = own.pop("type")
    r.place(c, ("reasoning", "control"), ("thinking", "type"))
    for key, kinds in (("budget_tokens", (int, type(None))), ("display", (str, type(None)))):
        if key in own and type(own[key]) in kinds:
            reasoning[key] = own.pop(key)
            r.place(c, ("reasoning", key), ("thinking", key))


def model_of(w: Writer) -> ModelProfile:
    """What is known of the model that the request goes to."""
    return profile(w.model or w.doc.get("model"), PROTOCOL)


def write_thinking(c: Node, wire: Node, w: Writer) -> None:
    """Write the reasoning settings as `thinking` and effort, as far as the model supports them."""
    own = take(c, "reasoning")
    if own_born(w):
        _write_own(own, wire)
        return
    facts = model_of(w).reasoning
    effort, control = (own.get(key) if type(own.get(key)) is str else None for key in ("effort", "control"))
    budget = own.get("budget_tokens") if type(own.get("budget_tokens")) is int else None
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    shown = own.get("include") is True or own.get("display") == "summarized" or own.get("summary") not in (None, "none")
    if not facts.thinks:
        _write_nothing(own, off)
    elif off:
        _write_off(own, wire, facts, w)
    elif control in _CONTROLS or effort is not None or budget is not None or shown:
        _write_effort(own, wire, facts, budget)
        if (wire.get("tool_choice") or {}).get("type") in ("any", "tool"):
            _yield(own, effort)
        else:
            _write_form(own, c, wire, facts, w, effort, budget, control)
            _write_display(own, wire, facts, w)
    else:
        _write_display(own, wire, facts, w)


def _write_own(own: Node, wire: Node) -> None:
    if "control" in own:
        wire["thinking"] = {"type": own.pop("control")}
        for key in ("budget_tokens", "display"):
            if key in own:
                wire["thinking"][key] = own.pop(key)
    if "effort" in own:
        wire["output_config"] = {"effort": own.pop("effort")}


# ---- off ------------------------------------------------------------------------------------------------------------


def _write_nothing(own: Node, off: bool) -> None:
    """A model that does not think."""
    for key in ("control", "effort", "budget_tokens", "summary", "include", "display"):
        if own.get(key) is not None:
            silent = off or own[key] in ("none", "omitted", False)
            own[key] = Fated("approximated" if silent else "lost", "the model does not think")


def _write_off(own: Node, wire: Node, facts: ReasoningProfile, w: Writer) -> None:
    """Thinking off; where that cannot be, between tools only, else as little as there is."""
    effort, control = own.get("effort"), own.get("control")
    told = "thinking is switched off"
    if facts.off:
        wire["thinking"] = {"type": "disabled"}
        if control == "disabled":
            del own["control"]
        else:
            w.added(wire["thinking"], "type")
        if effort is not None and effort != "none" and facts.efforts:
            most = nearest(effort, facts.efforts)
            if facts.off_most and EFFORTS.index(most) > EFFORTS.index(facts.off_most):
                most = facts.off_most
            wire["output_config"] = {"effort": most}
            told = f"sent as {most!r}"
            if most == effort:
                del own["effort"]
    elif facts.between_tools:
        wire["thinking"] = {"type": "between_tools"}
        told = f"{_ALWAYS}: between tools only"
    elif facts.efforts:
        wire["output_config"] = {"effort": nearest("none", facts.efforts)}
        told = f"{_ALWAYS}: sent as effort {wire['output_config']['effort']!r}"
    for key in ("control", "effort", "budget_tokens"):
        if own.get(key) is not None:
            own[key] = Fated("approximated", told)
    for key in ("include", "display", "summary"):
        if own.get(key) not in (None, True, "summarized"):
            own[key] = Fated("approximated", "there are no thoughts to show")


def _yield(own: Node, effort: str | None) -> None:
    """A forced tool and thinking are refused together. What is left of the wish is the effort."""
    for key in ("control", "budget_tokens", "summary", "display", "include"):
        if own.get(key) is not None and type(own[key]) is not Fated:
            own[key] = Fated("lost", "no thinking beside a forced tool")
    if effort is not None:
        own["effort"] = Fated("approximated", "no thinking beside a forced tool")


# ---- on -------------------------------------------------------------------------------------------------------------


def _write_effort(own: Node, wire: Node, facts: ReasoningProfile, budget: int | None) -> None:
    """The effort, in a word the model takes; drawn from a budget where the model takes none."""
    effort = own.get("effort")
    if not facts.efforts:
        return
    if type(effort) is str and effort != "none":
        word = nearest(effort, facts.efforts)
        if word == effort:
            del own["effort"]
        else:
            own["effort"] = Fated("approximated", f"sent as {word!r}")
    elif budget is not None and budget > 0 and facts.budget is None:
        word = effort_of(budget, facts.efforts)
    else:
        return
    wire["output_config"] = {"effort": word}
    if budget is not None and budget > 0 and facts.budget is None:
        own["budget_tokens"] = Fated("approximated", f"sent as effort {word!r}")


def _write_form(
    own: Node,
    c: Node,
    wire: Node,
    facts: ReasoningProfile,
    w: Writer,
    effort: str | None,
    budget: int | None,
    control: str | None,
) -> None:
    """The form of thinking: a budget, adaptive, between tools; nothing where the model thinks without a word."""
    if budget is not None and budget >= 0 and facts.budget is not None:
        _write_budget(budget, own, wire, c, facts, w)
        return
    if control == "between_tools" and facts.between_tools:
        wire["thinking"] = {"type": own.pop("control")}
    elif facts.adaptive:
        if control is None and facts.default == "on":
            if budget is not None and budget < 0:
                own["budget_tokens"] = Fated("approximated", "the model chooses by itself")
            return
        thinking = wire["thinking"] = {"type": "adaptive"}
        if control == "adaptive":
            del own["control"]
        elif control is not None:
            own["control"] = Fated("approximated", "sent as 'adaptive'")
        else:
            w.added(thinking, "type", "effort alone does not switch thinking on")
    elif facts.budget is not None:
        _write_budget(None, own, wire, c, facts, w)
    if budget is not None and budget < 0:
        own["budget_tokens"] = Fated("approximated", f"sent as {(wire.get('thinking') or {}).get('type')!r}")


def _write_budget(budget: int | None, own: Node, wire: Node, c: Node, facts: ReasoningProfile, w: Writer) -> None:
    """Thinking by budget: in the model's range, and below max_tokens, which a budget the client names may raise."""
    limit = c.get("max_output_tokens")
    effort = own.get("effort")
    most = (facts.budget or (0, None))[1]
    wanted = clamp(budget, facts) if budget is not None else budget_within(limit, _requested_effort(w), facts)
    if wanted is None:
        for key in ("effort", "control"):
            if own.get(key) is not None and type(own[key]) is not Fated:
                own[key] = Fated("lost", "max_tokens leaves no room for thinking")
        return
    if type(limit) is int and wanted >= limit:
        c["max_output_tokens"] = Fated("approximated", "raised above the thinking budget")
        w.context["max_tokens"] = wanted + limit if most is None else min(wanted + limit, most + 1)
    elif limit is None:
        room = wanted + DEFAULT_MAX_TOKENS
        w.context["max_tokens"] = room if most is None else min(room, most + 1)
    thinking = wire["thinking"] = {"type": "enabled", "budget_tokens": wanted}
    if own.get("control") == "enabled":
        del own["control"]
    elif own.get("control") is not None:
        own["control"] = Fated("approximated", "sent as 'enabled'")
    else:
        w.added(thinking, "type")
    if budget is None:
        if type(effort) is str:
            own["effort"] = Fated("approximated", f"sent as a budget of {wanted} tokens")
        w.added(thinking, "budget_tokens")
        return
    if wanted == budget:
        del own["budget_tokens"]
    else:
        own["budget_tokens"] = Fated("approximated", f"sent as {wanted}")
    if type(effort) is str:
        own["effort"] = Fated("approximated", "represented by the budget")


def _requested_effort(w: Writer) -> str:
    effort = w.doc["reasoning"].get("effort")
    return effort if type(effort) is str else "medium"


# ---- what is shown --------------------------------------------------------------------------------------------------


def _write_display(own: Node, wire: Node, facts: ReasoningProfile, w: Writer) -> None:
    """What is shown of thoughts, where it differs from what is shown without a word."""
    said = [key for key in ("summary", "include", "display") if own.get(key) is not None]
    if not said or (wire.get("thinking") or {}).get("type") == "between_tools":
        return
    display = own.get("display")
    if type(display) is not str:
        hidden = own.get("include") is False or own.get("summary") == "none"
        display = "omitted" if hidden else "summarized"
    if "thinking" not in wire:
        if display == facts.display or not (facts.adaptive and facts.default == "on"):
            for key in said if display == "omitted" else ():
                own[key] = Fated("approximated", "reasoning is returned only on request")
            return
        wire["thinking"] = {"type": "adaptive"}
        w.added(wire["thinking"], "type", "what is shown stands beside it")
    wire["thinking"]["display"] = display
    for key in said:
        if key == "display":
            del own[key]
        else:
            own[key] = Fated("approximated", f"sent as display {display!r}")
    if "display" not in said:
        w.added(wire["thinking"], "display")
