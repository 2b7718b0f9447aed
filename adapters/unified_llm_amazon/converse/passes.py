"""What is not one to one: how long to think, the form of the output, sampling, and what a history needs.

Effort is `outputConfig.effort`; a budget, and whether to think at all, are fields of Anthropic's models under
`additionalModelRequestFields.thinking`, which are written only for models whose profile has them.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_OutputConfig.html
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.models.effort import budget_of, clamp, nearest
from unified_llm.models.profiles import ModelProfile, profile
from unified_llm.passes.repair import Rules

from .values import PROTOCOL, is_own

__all__ = ["RULES", "read_reasoning", "settle_sampling", "write_reasoning"]

Node = dict[str, Any]

RULES = Rules(
    paired=True,
    adjacent=True,
    call_id_length=64,
    call_id_form="[a-zA-Z0-9_.:-]+",
    opens="assistant",
    alternates=True,
    system="user",
    blank="blank",
    filled=True,
    reasoning_proof=True,
)

# How a schema, which is text here, may be spelled.
_SPELLINGS: Mapping[str, Callable[[Any], str]] = {
    "compact": dump_text,
    "spaced": lambda value: json.dumps(value, ensure_ascii=False),
    "ascii": json.dumps,
    "indented": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
}
_THINKING = "additionalModelRequestFields"


# ---- reading --------------------------------------------------------------------------------------------------------


def read_reasoning(w: Node, node: Node, r: Reader) -> None:
    """`outputConfig`, and the fields of models that have a canonical form."""
    output = take(w, "outputConfig") if type(w.get("outputConfig")) is dict else None
    if output is not None:
        if type(output.get("effort")) is str:
            node.setdefault("reasoning", {})["effort"] = output.pop("effort")
            r.place(node, ("reasoning", "effort"), ("outputConfig", "effort"))
        if type(output.get("textFormat")) is dict:
            _read_format(output, node, r)
    more = w.get(_THINKING)
    thinking = more.get("thinking") if type(more) is dict else None
    if type(thinking) is dict and type(thinking.get("type")) is str:
        own = take(take(w, _THINKING), "thinking")
        reasoning = node.setdefault("reasoning", {})
        reasoning["control"] = own.pop("type")
        r.place(node, ("reasoning", "control"), (_THINKING, "thinking", "type"))
        if type(own.get("budget_tokens")) is int:
            reasoning["budget_tokens"] = own.pop("budget_tokens")
            r.place(node, ("reasoning", "budget_tokens"), (_THINKING, "thinking", "budget_tokens"))


def _read_format(output: Node, node: Node, r: Reader) -> None:
    wire = output["textFormat"]
    structure = wire.get("structure")
    schema = structure.get("jsonSchema") if type(structure) is dict else None
    text = schema.get("schema") if type(schema) is dict else None
    if wire.get("type") != "json_schema" or type(text) is not str:
        return
    try:
        value = load_text(text)
    except ValueError:
        return
    spelled = next((name for name, spell in _SPELLINGS.items() if spell(value) == text), None)
    if type(value) is not dict or spelled is None:
        return
    own = take(output, "textFormat")
    del own["type"]
    inner = take(take(own, "structure"), "jsonSchema")
    del inner["schema"]
    found: Node = {"type": "json_schema", "schema": value}
    at = ("outputConfig", "textFormat", "structure", "jsonSchema")
    for key in ("name", "description"):
        if type(inner.get(key)) is str:
            found[key] = inner.pop(key)
            r.place(node, ("text", "format", key), (*at, key))
    node["text"] = {"format": found}
    r.place(node, ("text", "format", "schema"), (*at, "schema"))
    r.place(node, ("text", "format", "type"), ("outputConfig", "textFormat", "type"))
    if spelled != "compact":
        r.form(node, "schema", spelled)


# ---- writing --------------------------------------------------------------------------------------------------------


def model_of(w: Writer) -> ModelProfile:
    """What is known of the model that the request goes to."""
    return profile(w.model or w.doc.get("model"), PROTOCOL)


def settle_sampling(c: Node, w: Writer) -> None:
    """Leave out what the model refuses; a temperature is at most 1 here."""
    if is_own(w):
        return
    model = model_of(w)
    for key in ("temperature", "top_p"):
        if model.refused(key, c.get(key), True):
            c[key] = Fated("lost", "the model refuses it")
    heat = c.get("temperature")
    if isinstance(heat, (int, float)) and heat > 1:
        w.report(w.doc, ("temperature",), "approximated", "1 is the most")
        c["temperature"] = 1


def write_reasoning(c: Node, wire: Node, w: Writer) -> None:
    """Write how long to think and the form of the output."""
    output: Node = {}
    _write_format(c, output, w)
    if type(c.get("reasoning")) is dict:
        own = take(c, "reasoning")
        if is_own(w):
            _write_own(own, output, wire)
        else:
            _write_effort(own, output, c, wire, w)
    if output:
        wire["outputConfig"] = output


def _write_format(c: Node, output: Node, w: Writer) -> None:
    text = c.get("text")
    if type(text) is not dict or type(text.get("format")) is not dict:
        return
    own = take(take(c, "text"), "format")
    if own.get("type") == "text":
        own["type"] = Fated("approximated", "text is what amazon-converse writes unasked")
        return
    if own.get("type") != "json_schema" or type(own.get("schema")) is not dict:
        return
    del own["type"]
    spell = _SPELLINGS.get(str(w.form(c, "schema")), dump_text)
    schema: Node = {"schema": spell(own.pop("schema"))}
    for key in ("name", "description"):
        if type(own.get(key)) is str:
            schema[key] = own.pop(key)
    if own.get("strict") is True:
        own["strict"] = Fated("approximated", "every schema is enforced")
    output["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": schema}}


def _write_own(own: Node, output: Node, wire: Node) -> None:
    if "effort" in own:
        output["effort"] = own.pop("effort")
    if "control" in own:
        thinking = {"type": own.pop("control")}
        if "budget_tokens" in own:
            thinking["budget_tokens"] = own.pop("budget_tokens")
        wire[_THINKING] = {"thinking": thinking}


def _write_effort(own: Node, output: Node, c: Node, wire: Node, w: Writer) -> None:
    """Effort in a word that the model takes, and thinking as in its profile."""
    model = model_of(w)
    facts = model.reasoning
    effort, budget, control = own.get("effort"), own.get("budget_tokens"), own.get("control")
    off = control == "disabled" or effort == "none" or (control is None and budget == 0)
    thinks = facts.thinks and (bool(facts.efforts) or facts.budget is not None or facts.adaptive or not model.known)
    if not thinks:
        for key in own:
            if own[key] is not None:
                own[key] = Fated("approximated" if off else "lost", "the model does not think")
        return
    if off:
        if facts.off and (facts.budget is not None or facts.adaptive) and facts.default == "on":
            wire[_THINKING] = {"thinking": {"type": "disabled"}}
        for key in ("effort", "budget_tokens", "control"):
            if own.get(key) is not None:
                own[key] = Fated("approximated", "thinking is off")
        return
    if type(effort) is str:
        word = nearest(effort, facts.efforts) if facts.efforts else None
        if word is not None:
            output["effort"] = word
            own.pop("effort") if word == effort else own.update(effort=Fated("approximated", f"sent as {word!r}"))
    asked = type(effort) is str or type(budget) is int or control in ("enabled", "adaptive")
    if facts.budget is not None and asked and (type(budget) is int or not facts.adaptive):
        _write_budget(own, c, wire, w, model)
    elif facts.adaptive and (control is not None or facts.default != "on"):
        wire[_THINKING] = {"thinking": {"type": "adaptive"}}
        own.pop("control") if control == "adaptive" else None
        if control not in (None, "adaptive"):
            own["control"] = Fated("approximated", "sent as 'adaptive'")
        if type(budget) is int:
            own["budget_tokens"] = Fated("approximated", "the model chooses by itself")


def _write_budget(own: Node, c: Node, wire: Node, w: Writer, model: ModelProfile) -> None:
    """A budget in the model's range, below the limit of the answer."""
    facts = model.reasoning
    budget, effort, limit = own.get("budget_tokens"), own.get("effort"), c.get("max_output_tokens")
    wanted = clamp(budget, facts) if type(budget) is int else budget_of(_asked(w), facts)
    least = (facts.budget or (0, None))[0]
    inference = wire.get("inferenceConfig") or {}
    limit = inference.get("maxTokens", limit)
    if type(limit) is int and wanted >= limit:
        if limit <= least:
            for key in ("budget_tokens", "effort", "control"):
                if own.get(key) is not None and type(own[key]) is not Fated:
                    own[key] = Fated("lost", "maxTokens leaves no room for thinking")
            return
        wanted = limit - 1
    wire[_THINKING] = {"thinking": {"type": "enabled", "budget_tokens": wanted}}
    for key, value in (("temperature", 1), ("topP", None)):
        if inference.get(key) not in (None, value):
            del inference[key]
            name = "top_p" if key == "topP" else key
            w.report(w.doc, (name,), "lost", "no sampling beside thinking")
    if own.get("control") == "enabled":
        del own["control"]
    elif own.get("control") is not None:
        own["control"] = Fated("approximated", "sent as 'enabled'")
    if type(budget) is int:
        own.pop("budget_tokens") if wanted == budget else own.update(
            budget_tokens=Fated("approximated", f"sent as {wanted}")
        )
    if type(effort) is str:
        own["effort"] = Fated("approximated", f"sent as a budget of {wanted} tokens")


def _asked(w: Writer) -> str:
    effort = w.doc["reasoning"].get("effort")
    return effort if type(effort) is str else "medium"
