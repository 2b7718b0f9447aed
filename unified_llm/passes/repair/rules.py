"""What a target may demand of the history of a request: data, declared by its adapter, by a dialect, or by model.

Everything is off by default, since a protocol that demands nothing is the rule to start from. The documents
with the rules of each target are named where the adapters declare it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ...engine.pairs.writing import Writer

__all__ = [
    "CALLS",
    "MADE_IMAGES",
    "Rules",
    "fits",
]

CALLS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
"""Calls that the client answers, and the items it answers them with, wherever there are tools at all."""


MADE_IMAGES = frozenset(("output_image", "image_generation_call"))
"""What holds an image that the model made, or its provider's tool."""


def requested_form(request: dict[str, Any], writer: Writer) -> str:
    """The form of the reasoning that a request sets, as an adapter writes it that changes none of it."""
    asked = request.get("reasoning")
    if type(asked) is not dict:
        return ""
    budget, effort, control = asked.get("budget_tokens"), asked.get("effort"), asked.get("control")
    if control is None and (effort == "none" or budget == 0):
        return "disabled"
    if control is None and type(budget) is int and budget > 0:
        return "enabled"
    return str(control or effort or ("adaptive" if type(budget) is int else ""))


class Rules(NamedTuple):
    """The demands of a target on a conversation.

    Calls and results:

    * `calls`: the calls its client has to answer, each with the type of its result. Calls that the provider executes
      are none of them, and a call at the open end of the conversation may still be answered.
    * `paired`: a call has a result and a result has a call.
    * `adjacent`: the results stand right behind the calls of their step; `ordered`: and in the order of these.
    * `one_turn`: what is one wire message in a step: "calls" (from the first call that was answered on), "all" where
      there are calls, or nothing of the kind.
    * `named`: a result names its function, and the name is that of its call.
    * `by_name`: a result may name its function instead of a call: a "text", or "any".
    * `call_id_length`, `call_id_form`: the longest call id, and the pattern it has to match as a whole.
    * `unique`: call ids differ in the whole request; otherwise it is enough that they do within a step.
    * `elsewhere`: fields of the request and types of items by which a part of the history lies with the provider, so
      that a call that is not there is not missing.
    * `declared`: the tools that the history uses are declared.

    Turns and texts:

    * `opens`: "call" where a conversation may not open with a call, "assistant" where it may not with anything the
      model sent.
    * `closes`: the last output of the model is not taken for the beginning of its answer, which is `"told"`; where a
      conversation may not even end with it, the user has `"asked"` to go on.
    * `bridged`: nothing but the model's output may stand right behind results: a message of the model's is put between.
    * `alternates`: neighboring messages of one role are one message.
    * `system`: a system message in mid conversation is refused ("user": it is sent as the user's, in a
      `<system-reminder>`), or has its "place" between a user's message and one of the model.
    * `images`: which of `MADE_IMAGES` the target refuses, while it takes images of the user: each is sent in front of
      what the user says next. A function where the dialect decides.
    * `result_media`: the kinds of parts that the target refuses in the result of a call, while it takes them of the
      user: they are sent in a message behind the results.
    * `blank`: texts that are refused: "empty" ones, or "blank" ones too.
    * `trailing`: the last output of the model does not end in white space.
    * `filled`: what the user said may not vanish as a whole, even where it was nothing but empty texts.
    * `name_form`: the pattern of a speaker's name.
    * `item_ids`: the prefix of the ids of items, by type; any other id is not sent.

    Reasoning:

    * `reasoning_follower`: a reasoning item stands before the item it led to.
    * `reasoning_proof`: a reasoning item of this protocol has opaque data.
    * `reasoning_form`: how the adapter writes the reasoning of a request: "enabled" with a budget, "disabled", "" where
      it writes nothing, or any other word for reasoning that is on. The two that follow go by it.
    * `reasoning_opens`: a loop of tools opens with reasoning of this provider, if reasoning has a `"budget"`, or in
      "any" form.
    * `reasoning_off`: the last output of the model holds no reasoning where reasoning is switched off: where the
      request sets it (`"said"`), or by default (`"unsaid"`).

    * `models`: rules that differ, by what is in the name of a model; the longest that fits counts.

    A dialect may have a mapping under `repair` with any of these names; it wins over the adapter's rules, and its
    `models` win over both.
    """

    calls: Mapping[str, str] = CALLS
    paired: bool = False
    adjacent: bool = False
    ordered: bool = False
    one_turn: str = ""
    named: bool = False
    by_name: str = ""
    call_id_length: int | None = None
    call_id_form: str | None = None
    unique: bool = False
    elsewhere: frozenset[str] = frozenset()
    declared: bool = False
    opens: str = ""
    closes: str = ""
    bridged: bool = False
    alternates: bool = False
    system: str = ""
    images: frozenset[str] | Callable[[Writer], frozenset[str]] = frozenset()
    result_media: Collection[str] = ()
    blank: str = ""
    trailing: bool = False
    filled: bool = False
    name_form: str | None = None
    item_ids: Mapping[str, str] = {}
    reasoning_follower: bool = False
    reasoning_proof: bool = False
    reasoning_form: Callable[[dict[str, Any], Writer], str] = requested_form
    reasoning_opens: str = ""
    reasoning_off: str = ""
    models: Mapping[str, Mapping[str, Any]] = {}

    def of(self, dialect: Mapping[str, Any], model: Any) -> Rules:
        """These rules as a dialect and a model have them."""
        own = dialect.get("repair") if dialect else None
        if not own and (not self.models or type(model) is not str):
            return self
        key = (id(self), id(own), model if type(model) is str else None)
        found = _FOUND.get(key)
        if found is None:
            if len(_FOUND) >= _REMEMBERED:
                _FOUND.clear()
            # With the objects that are known by their identity, so that no others can take it.
            found = _FOUND[key] = (self, own, self._of(own, model))
        return found[2]

    def _of(self, own: Mapping[str, Any] | None, model: Any) -> Rules:
        rules = self._with(own) if own else self
        if rules.models and type(model) is str:
            known = max((name for name in rules.models if name in model), key=len, default=None)
            if known is not None:
                return rules._with(rules.models[known])
        return rules

    def _with(self, own: Mapping[str, Any]) -> Rules:
        """These rules with some of them set; `_replace` alone raises another error since Python 3.13."""
        unknown = own.keys() - set(self._fields)
        if unknown:
            raise ValueError(f"unknown repair rules: {', '.join(sorted(unknown))}")
        return self._replace(**own)


_FOUND: dict[tuple[int, int, str | None], tuple[Rules, Any, Rules]] = {}
_REMEMBERED = 256


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(form, re.DOTALL)


def fits(word: str, form: str | None, longest: int | None = None) -> bool:
    """Whether an id or a name is one the target takes."""
    if longest is not None and len(word) > longest:
        return False
    return form is None or _pattern(form).fullmatch(word) is not None
