"""How long to think and what is shown of it, as the target's model takes it: a pass over another protocol's request.

Which of the four forms of `thinking` and which efforts a model takes is model data (`unified_llm.models`). A forced
tool wins over thinking (the program depends on it), a budget that the client names over its limit of the answer.

https://docs.claude.com/en/docs/build-with-claude/extended-thinking
https://docs.claude.com/en/docs/build-with-claude/effort
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.bridge import Joined
from unified_llm.engine.pairs.writing import Writer
from unified_llm.losses import Fate
from unified_llm.models.effort import EFFORTS, budget_within, clamp, effort_of, nearest
from unified_llm.models.profiles import ModelProfile, ReasoningProfile, profile

from ..parts.content import is_own_born
from ..values.tables import DEFAULT_MAX_TOKENS, PROTOCOL

__all__ = ["model_of", "settle_thinking", "thinking_form"]

Node = dict[str, Any]

_CONTROLS = ("enabled", "adaptive", "disabled", "between_tools")
_ALWAYS = "thinking cannot be switched off"


def thinking_form(request: Node, w: Writer) -> str:
    """The `thinking.type` with which a canonical request is written, "" where it is written without."""
    if type(request.get("reasoning")) is not dict:
        return ""
    if is_own_born(request, w):
        return str(request["reasoning"].get("control") or "")
    return str(_planned(request, model_of(request, w)).sent.get("control") or "")


def model_of(request: Node, w: Writer) -> ModelProfile:
    """What is known of the model that the request goes to."""
    return profile(w.model or request.get("model"), PROTOCOL)


def settle_thinking(c: Node, w: Writer, x: Joined) -> None:
    """Make the reasoning settings of a request what the model supports of `thinking` and effort."""
    wish = _planned(w.doc, model_of(c, w))
    if wish.raised:
        x.approximated(c, ("max_output_tokens",), "raised above the thinking budget")
    if wish.limit is not None:
        w.context["max_tokens"] = wish.limit
    for key, (fate, why) in wish.told.items():
        x.report(c, ("reasoning", key), fate, why)
    for key in wish.left:
        x.lost(c, ("reasoning", key))
    c["reasoning"] = wish.sent
    for key, why in wish.added.items():
        x.supply(c, ("reasoning", key), wish.sent[key], why)


def _planned(request: Node, model: ModelProfile) -> _Wish:
    """What becomes of the reasoning settings of a request.

    The repair of the history and the writer both go by it: where they differed, thoughts would be sent to a model that
    refuses them, or left out for one that requires them.
    """
    facts = model.reasoning
    wish = _Wish(request, facts)
    effort, control, budget, left = wish.effort, wish.control, wish.budget, wish.left
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    shown = left.get("include") is True or left.get("display") == "summarized"
    shown = shown or left.get("summary") not in (None, "none")
    if not facts.thinks:
        _settle_nothing(wish, off)
    elif off:
        _settle_off(wish)
    elif control in _CONTROLS or effort is not None or budget is not None or shown:
        _settle_effort(wish)
        if _is_forced(request) and "tool_choice" not in model.refuses:
            _yield(wish)
        else:
            _settle_form(wish)
            _settle_display(wish)
    else:
        _settle_display(wish)
    return wish


def _is_forced(request: Node) -> bool:
    """Whether the model has to call a tool."""
    choice: Any = request.get("tool_choice")
    if type(choice) is dict and choice.get("type") == "allowed_tools":
        choice = choice.get("mode")
    return bool(request.get("tools")) and (choice == "required" or type(choice) is dict)


class _Wish:
    """The reasoning settings of a request: what is left of them, what became of the others, and what is sent."""

    def __init__(self, request: Node, facts: ReasoningProfile) -> None:
        self.facts = facts
        self.left: Node = {key: value for key, value in request["reasoning"].items() if value is not None}
        self.effort, self.control = (self._typed(key, str) for key in ("effort", "control"))
        self.budget: int | None = self._typed("budget_tokens", int)
        self.told: dict[str, tuple[Fate, str]] = {}
        self.sent: Node = {}
        self.added: dict[str, str] = {}
        # The limit of the answer that the request has, and the one that the budget requires, raised or supplied.
        self.most: Any = request.get("max_output_tokens")
        self.limit: int | None = None
        self.raised = False

    def _typed(self, key: str, kind: type) -> Any:
        return self.left[key] if type(self.left.get(key)) is kind else None

    def tell(self, why: str, *keys: str, fate: Fate = "approximated") -> None:
        """What becomes of settings that are not sent as they are, so far as they are left."""
        for key in keys:
            if self.left.pop(key, None) is not None:
                self.told[key] = fate, why

    def send(self, key: str, value: Any, told: str = "", added: str = "") -> None:
        """Send a value: that of the request, another in its place (`told`), or one that is required (`added`)."""
        self.sent[key] = value
        if key not in self.left:
            self.added[key] = added
        elif self.left[key] == value:
            del self.left[key]
        else:
            self.tell(told or f"sent as {value!r}", key)


# ---- off ------------------------------------------------------------------------------------------------------------


def _settle_nothing(wish: _Wish, off: bool) -> None:
    """A model that does not think."""
    for key in ("control", "effort", "budget_tokens", "summary", "include", "display"):
        silent = off or wish.left.get(key) in ("none", "omitted", False)
        wish.tell("the model does not think", key, fate="approximated" if silent else "lost")


def _settle_off(wish: _Wish) -> None:
    """Thinking off; where that cannot be, between tools only, else as little as there is."""
    facts, effort, told = wish.facts, wish.effort, "thinking is switched off"
    if facts.off:
        wish.send("control", "disabled", told)
        if effort is not None and effort != "none" and facts.efforts:
            most = nearest(effort, facts.efforts)
            if facts.off_most and EFFORTS.index(most) > EFFORTS.index(facts.off_most):
                most = facts.off_most
            told = f"sent as {most!r}"
            wish.send("effort", most, told)
    elif facts.between_tools:
        told = f"{_ALWAYS}: between tools only"
        wish.sent["control"] = "between_tools"
    elif facts.efforts:
        least = wish.sent["effort"] = nearest("none", facts.efforts)
        told = f"{_ALWAYS}: sent as effort {least!r}"
    wish.tell(told, "control", "effort", "budget_tokens")
    for key in ("include", "display", "summary"):
        if wish.left.get(key) not in (True, "summarized"):
            wish.tell("there are no thoughts to show", key)


def _yield(wish: _Wish) -> None:
    """A forced tool and thinking are refused together. What is left of the wish is the effort."""
    wish.tell(
        "no thinking beside a forced tool", "control", "budget_tokens", "summary", "display", "include", fate="lost"
    )
    if wish.effort is not None:
        wish.left.pop("effort", None)
        wish.told["effort"] = "approximated", "no thinking beside a forced tool"


# ---- on -------------------------------------------------------------------------------------------------------------


def _settle_effort(wish: _Wish) -> None:
    """The effort, in a word the model takes; drawn from a budget where the model takes none."""
    facts, budget = wish.facts, wish.budget
    drawn = budget is not None and budget > 0 and facts.budget is None
    if not facts.efforts:
        return
    if wish.effort is not None and wish.effort != "none":
        wish.send("effort", nearest(wish.effort, facts.efforts))
    elif drawn:
        wish.sent["effort"] = effort_of(budget or 0, facts.efforts)
    if drawn:
        wish.tell(f"sent as effort {wish.sent['effort']!r}", "budget_tokens")


def _settle_form(wish: _Wish) -> None:
    """The form of thinking: a budget, adaptive, between tools; nothing where the model thinks without a word."""
    facts, budget, control = wish.facts, wish.budget, wish.control
    if budget is not None and budget >= 0 and facts.budget is not None:
        _settle_budget(wish, budget)
        return
    if control == "between_tools" and facts.between_tools:
        wish.send("control", "between_tools")
    elif facts.adaptive:
        if control is None and facts.default == "on":
            if budget is not None and budget < 0:
                wish.tell("the model chooses by itself", "budget_tokens")
            return
        wish.send("control", "adaptive", added="effort alone does not switch thinking on")
    elif facts.budget is not None:
        _settle_budget(wish, None)
    if budget is not None and budget < 0:
        wish.tell(f"sent as {wish.sent.get('control')!r}", "budget_tokens")


def _settle_budget(wish: _Wish, budget: int | None) -> None:
    """Thinking by budget: in the model's range, and below max_tokens, which a budget the client names may raise."""
    facts, limit = wish.facts, wish.most
    most = (facts.budget or (0, None))[1]
    # (Without a limit of the client's the model's own holds, of which the answer needs its part too.)
    within = most + 1 if limit is None and most is not None else limit
    wanted = clamp(budget, facts) if budget is not None else budget_within(within, wish.effort or "medium", facts)
    if wanted is None:
        wish.tell("max_tokens leaves no room for thinking", "effort", "control", fate="lost")
        return
    wish.raised = type(limit) is int and wanted >= limit
    if wish.raised or limit is None:
        room = wanted + (DEFAULT_MAX_TOKENS if limit is None else limit)
        wish.limit = room if most is None else min(room, most + 1)
    wish.send("control", "enabled")
    wish.send("budget_tokens", wanted, f"sent as {wanted}")
    wish.tell("represented by the budget" if budget is not None else f"sent as a budget of {wanted} tokens", "effort")


# ---- what is shown --------------------------------------------------------------------------------------------------


def _settle_display(wish: _Wish) -> None:
    """What is shown of thoughts, where it differs from what is shown without a word."""
    facts, left = wish.facts, wish.left
    said = [key for key in ("summary", "include", "display") if key in left]
    if not said or wish.sent.get("control") == "between_tools":
        return
    display = left.get("display")
    if type(display) is not str:
        hidden = left.get("include") is False or left.get("summary") == "none"
        display = "omitted" if hidden else "summarized"
    if "control" not in wish.sent:
        if display == facts.display or not (facts.adaptive and facts.default == "on"):
            if display == "omitted":
                wish.tell("reasoning is returned only on request", *said)
            return
        wish.sent["control"] = "adaptive"
        wish.added["control"] = "what is shown stands beside it"
    wish.send("display", display)
    wish.tell(f"sent as display {display!r}", *said)
