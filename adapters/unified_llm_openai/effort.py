"""Reasoning settings of this protocol: one word for the effort, derived from another protocol's settings.

Which words a model takes is model data (`unified_llm.models`). A budget becomes the effort it amounts to, a switch the
word that means it, and the rest is reported as lost. Settings that a thinking model refuses are
not sent to it. Nothing of this touches a request that was read from the protocol it is written to.

https://platform.openai.com/docs/guides/reasoning
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.effort import effort_of, nearest
from unified_llm.models.profiles import ModelProfile, ReasoningProfile, profile

__all__ = ["LOGPROBS", "drop_refused", "fit_reasoning", "model_of", "rest_beside_functions"]

Node = dict[str, Any]

# What `include` of Responses, and of the canonical form, calls log probabilities.
LOGPROBS = "message.output_text.logprobs"
_REFUSED, _REFUSED_ALWAYS = "the model refuses it while it thinks", "the model refuses it"
_DISPLAYS = {"summarized": True, "omitted": False}


def model_of(w: Writer) -> ModelProfile:
    """What is known of the model that a request goes to."""
    return profile(w.model or w.doc.get("model"), w.protocol)


def fit_reasoning(c: Node, w: Writer, takes: frozenset[str]) -> None:
    """Write `reasoning` in the target's form: an effort, and the canonical keys in `takes` as they are."""
    facts = model_of(w).reasoning
    own = c["reasoning"] = dict(c["reasoning"])
    effort, control = (own.get(key) if type(own.get(key)) is str else None for key in ("effort", "control"))
    budget = own.get("budget_tokens") if type(own.get("budget_tokens")) is int else None
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    if not facts.thinks:
        _fit_nothing(own, off, w)
    elif off:
        _fit_off(own, facts, takes, w)
    else:
        _fit_on(own, facts, takes, effort, budget, control, w)
    _fit_shown(own, takes, w)


def _report(own: Node, key: str, detail: str, w: Writer, fate: str = "approximated") -> None:
    """A setting that is not sent unchanged."""
    if own.pop(key, None) is not None:
        w.report(w.doc, ("reasoning", key), fate, detail)


def _fit_nothing(own: Node, off: bool, w: Writer) -> None:
    for key in ("effort", "control", "budget_tokens", "summary", "include", "display"):
        silent = off or own.get(key) in ("none", "omitted", False)
        if key in own and own[key] is not None:
            _report(own, key, "the model does not think", w, "approximated" if silent else "lost")


def _fit_off(own: Node, facts: ReasoningProfile, takes: frozenset[str], w: Writer) -> None:
    """The word for not thinking, else the one for the least."""
    if "control" in takes or ("budget_tokens" in takes and own.get("budget_tokens") == 0):
        return
    word = "none" if "none" in facts.efforts else nearest("none", facts.efforts)
    said = own.get("effort")
    detail = f"sent as effort {word!r}" if word == "none" else f"thinking cannot be switched off: effort {word!r}"
    if own.get("control") is not None:
        _report(own, "control", detail, w)
    elif own.get("budget_tokens") == 0:
        _report(own, "budget_tokens", detail, w)
    if said is not None and said != word:
        _report(own, "effort", detail, w)
    own["effort"] = word


def _fit_on(
    own: Node,
    facts: ReasoningProfile,
    takes: frozenset[str],
    effort: str | None,
    budget: int | None,
    control: str | None,
    w: Writer,
) -> None:
    word = nearest(effort, facts.efforts) if effort is not None else None
    if word is not None and word != effort:
        _report(own, "effort", f"sent as {word!r}", w)
    if budget is not None and "budget_tokens" not in takes:
        if word is not None:
            _report(own, "budget_tokens", "represented by the effort", w)
        elif budget > 0:
            word = effort_of(budget, facts.efforts)
            _report(own, "budget_tokens", f"sent as effort {word!r}", w)
        else:
            word = _usual(facts) if facts.default is not None else None
            _report(own, "budget_tokens", "left to the model" if word is None else f"sent as effort {word!r}", w)
    if control in ("enabled", "adaptive") and "control" not in takes:
        if word is None and facts.default is not None:
            word = _usual(facts)
            _report(own, "control", "thinking is on by itself" if word is None else f"sent as effort {word!r}", w)
        elif word is not None:
            _report(own, "control", "represented by the effort", w)
        else:
            _report(own, "control", "left to the model", w)
    if word is not None:
        own["effort"] = word


def _usual(facts: ReasoningProfile) -> str | None:
    """The word that switches thinking on, None where it is on."""
    return None if facts.default == "on" else facts.usual or nearest("medium", facts.efforts)


def _fit_shown(own: Node, takes: frozenset[str], w: Writer) -> None:
    """What is shown of thoughts: a summary where it is requested, else nothing."""
    if own.get("summary") == "none":
        _report(own, "summary", "reasoning is returned only on request", w)
    for key in ("include", "display"):
        said = own.get(key)
        shown = _DISPLAYS.get(said) if type(said) is str else said
        if key in takes or type(shown) is not bool:
            continue
        if not shown:
            _report(own, key, "reasoning is returned only on request", w)
        elif "summary" in takes:
            own.setdefault("summary", "auto")
            _report(own, key, f"sent as summary {own['summary']!r}", w)


def drop_refused(c: Node, w: Writer, reasoning: Any) -> None:
    """Withhold what the model answers with an error, most of it while it thinks (by its settings, `reasoning`)."""
    model = model_of(w)
    if not model.refuses:
        return
    said = reasoning.get("effort") if type(reasoning) is dict else None
    thinking = said != "none" if type(said) is str else model.reasoning.default != "off"
    for key in [key for key in c if key in model.refuses and key not in w.adapter.refuses]:
        if c[key] is not None:
            if model.refused(key, c[key], thinking):
                w.report(w.doc, (key,), "lost", _REFUSED_ALWAYS if key in model.refuses_always else _REFUSED)
                del c[key]
    include = c.get("include")
    if type(include) is list and LOGPROBS in include and model.refused("top_logprobs", 0, thinking):
        w.report(w.doc, ("include", include.index(LOGPROBS)), "lost", _REFUSED, "output.logprobs")
        c["include"] = [value for value in include if value != LOGPROBS]
        if not c["include"]:
            del c["include"]


def rest_beside_functions(c: Node, w: Writer) -> bool:
    """Leave out the settings of reasoning that the model refuses beside functions; whether it must not think there.

    https://github.com/openai/openai-openapi/issues/541
    """
    facts = model_of(w).reasoning
    own: Any = c.get("reasoning")
    if type(own) is not dict:
        return facts.beside_functions == "off"
    if not facts.beside_functions or own.get("control") == "disabled":
        return False
    if own.get("effort") == "none" or own.get("budget_tokens") == 0:
        return False
    own = c["reasoning"] = dict(own)
    goes_on = facts.beside_functions == "unset" and facts.default == "on"
    for key in ("effort", "budget_tokens") if goes_on else ("effort", "budget_tokens", "control"):
        _report(own, key, "the model refuses it beside functions", w, "lost")
    return facts.beside_functions == "off"
