"""Effort in a field of the model's own: the data name it for each model that has one (`effort_field`).

Nova has an object, which switches thinking on; OpenAI's open models have the field of their own API, a word.

https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.effort import effort_of, nearest
from unified_llm.models.profiles import ReasoningProfile

__all__ = ["FIELDS", "read_field", "write_field", "write_own_field"]

Node = dict[str, Any]

FIELDS = "additionalModelRequestFields"
_CONFIG, _EFFORT, _WORD = "reasoningConfig", "maxReasoningEffort", "reasoning_effort"


def read_field(fields: Node, node: Node, r: Reader) -> bool:
    """Read the effort in such a field; whether there is one."""
    config = fields.get(_CONFIG)
    if type(config) is dict and config.get("type") == "enabled" and type(config.get(_EFFORT)) is str:
        own = take(fields, _CONFIG)
        node.setdefault("reasoning", {}).update(control=own.pop("type"), effort=own.pop(_EFFORT))
        for name, key in (("control", "type"), ("effort", _EFFORT)):
            r.place(node, ("reasoning", name), (FIELDS, _CONFIG, key))
        r.form(node, "config", True)
        return True
    if type(fields.get(_WORD)) is not str:
        return False
    node.setdefault("reasoning", {})["effort"] = fields.pop(_WORD)
    r.place(node, ("reasoning", "effort"), (FIELDS, _WORD))
    r.form(node, "config", "word")
    return True


def write_own_field(own: Node, form: Any) -> Node:
    """The field as it was read, from our own copy of the settings."""
    if form == "word":
        return {_WORD: own.pop("effort")} if "effort" in own else {}
    keys = (("type", "control"), (_EFFORT, "effort"))
    return {_CONFIG: {key: own.pop(name) for key, name in keys if name in own}}


def write_field(own: Node, wire: Node, w: Writer, facts: ReasoningProfile, off: bool) -> None:
    """Effort in the field of the model, beside which it may take neither a limit nor sampling."""
    effort, budget, control = own.get("effort"), own.get("budget_tokens"), own.get("control")
    if type(effort) is not str and type(budget) is not int and control not in ("enabled", "adaptive", "disabled"):
        return
    if off:
        asked = "none"
    elif type(budget) is int and type(effort) is not str:
        asked = effort_of(budget, facts.efforts)
    else:
        asked = effort if type(effort) is str else "medium"
    word = nearest(asked, facts.efforts)
    is_word = facts.effort_field == _WORD
    wire[FIELDS] = {facts.effort_field: word if is_word else {"type": "enabled", _EFFORT: word}}
    if control == "enabled" and not is_word:
        del own["control"]
    for key, same in (("effort", effort == word), ("budget_tokens", False), ("control", False)):
        if own.get(key) is not None:
            own.pop(key) if same else own.update({key: Fated("approximated", f"sent as effort {word!r}")})
    inference = wire.get("inferenceConfig") or {}
    for key, name in (("maxTokens", "max_output_tokens"), ("temperature", "temperature"), ("topP", "top_p")):
        if word == facts.unlimited and inference.pop(key, None) is not None:
            w.report(w.doc, (name,), "lost", f"the model refuses it beside effort {word!r}")
    if not inference:
        wire.pop("inferenceConfig", None)
