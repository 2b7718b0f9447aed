"""What is not one to one: how long to think, the form of the output, and sampling.

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
from unified_llm.engine.shared.nearest_values import raise_output_limit
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.models.effort import budget_within, clamp, effort_of, nearest
from unified_llm.models.profiles import ModelProfile, profile

from ..values import PROTOCOL, is_own, was_own
from .display import is_shown, write_display
from .effort_fields import FIELDS, read_field, write_field, write_own_field

__all__ = [
    "FIELDS",
    "model_of",
    "read_reasoning",
    "settle_settings",
    "taken",
    "thinking_form",
    "write_reasoning",
]

Node = dict[str, Any]

# How a schema, which is text here, may be spelled.
_SPELLINGS: Mapping[str, Callable[[Any], str]] = {
    "compact": dump_text,
    "spaced": lambda value: json.dumps(value, ensure_ascii=False),
    "ascii": json.dumps,
    "indented": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
}
_OUTPUT, _OTHER = "output_config", "reasoning_config"
_MEDIA = {
    f"{side}_{kind}": "document" if kind == "file" else kind
    for side in ("input", "output")
    for kind in ("image", "audio", "video", "file")
}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_reasoning(w: Node, fields: Node, node: Node, r: Reader) -> None:
    """`outputConfig`, and the `fields` of models that have a canonical form."""
    output = take(w, "outputConfig") if type(w.get("outputConfig")) is dict else None
    if output is not None:
        if type(output.get("effort")) is str:
            node.setdefault("reasoning", {})["effort"] = output.pop("effort")
            r.place(node, ("reasoning", "effort"), ("outputConfig", "effort"))
        if type(output.get("textFormat")) is dict:
            _read_format(output, node, r)
    inner = take(fields, _OUTPUT) if type(fields.get(_OUTPUT)) is dict else {}
    if "text" not in node and type(inner.get("format")) is dict:
        _read_field_format(inner, node, r)
    one = "effort" not in (node.get("reasoning") or ())
    if one and read_field(fields, node, r):
        return
    if one and type(inner.get("effort")) is str:
        node.setdefault("reasoning", {})["effort"] = inner.pop("effort")
        r.place(node, ("reasoning", "effort"), (FIELDS, _OUTPUT, "effort"))
        r.form(node, "effort", "field")
    key = _OTHER if _OTHER in fields and "thinking" not in fields else "thinking"
    thinking = fields.get(key)
    if type(thinking) is dict and type(thinking.get("type")) is str:
        own = take(fields, key)
        if key == _OTHER:
            r.form(node, "thinking", "other")
        node.setdefault("reasoning", {})["control"] = own.pop("type")
        r.place(node, ("reasoning", "control"), (FIELDS, key, "type"))
        if type(own.get("budget_tokens")) is int:
            node["reasoning"]["budget_tokens"] = own.pop("budget_tokens")
            r.place(node, ("reasoning", "budget_tokens"), (FIELDS, key, "budget_tokens"))
        if type(own.get("display")) is str:
            node["reasoning"]["display"] = own.pop("display")
            r.place(node, ("reasoning", "display"), (FIELDS, key, "display"))


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


def _read_field_format(inner: Node, node: Node, r: Reader) -> None:
    """The format of Messages among the fields of the model: its schema is an object here. The AI SDK sends it."""
    if inner["format"].get("type") != "json_schema" or type(inner["format"].get("schema")) is not dict:
        return
    own = take(inner, "format")
    node["text"] = {"format": {key: own.pop(key) for key in ("type", "schema")}}
    for key in ("type", "schema"):
        r.place(node, ("text", "format", key), (FIELDS, _OUTPUT, "format", key))
    r.form(node, "format", "field")


# ---- writing --------------------------------------------------------------------------------------------------------


def model_of(w: Writer) -> ModelProfile:
    """What is known of the model that the request goes to."""
    return profile(w.model or w.doc.get("model"), PROTOCOL)


def taken(parts: list[Any], w: Writer, result: bool = False) -> list[Any]:
    """The parts that the model takes, of a message or of the `result` of a call; the others are reported."""
    if is_own(w) or w.facing != "provider":
        return parts
    model, out = model_of(w), []
    for part in parts:
        kind = _MEDIA.get(str(part.get("type")))
        if kind is not None and model.media is not None and kind not in model.media:
            w.drop(part, f"the model takes no {kind}")
        elif kind == "image" and result and not model.result_media:
            w.drop(part, "the model takes no images in results")
        elif kind == "audio" and result:
            w.drop(part, "a tool result holds no audio")
        else:
            out.append(part)
    return out


def settle_settings(c: Node, w: Writer) -> None:
    """Leave out what the model refuses, and more output than it makes; a temperature is at most 1 here."""
    if is_own(w):
        return
    raise_output_limit(c, w)
    model = model_of(w)
    most, limit = model.output_tokens, c.get("max_output_tokens")
    if most is not None and type(limit) is int and limit > most:
        w.report(w.doc, ("max_output_tokens",), "approximated", f"{most} is the most of this model")
        c["max_output_tokens"] = most
    for key in ("temperature", "top_p"):
        if model.refused(key, c.get(key), True):
            c[key] = Fated("lost", "the model refuses it")
    heat = c.get("temperature")
    if isinstance(heat, (int, float)) and heat > 1:
        w.report(w.doc, ("temperature",), "approximated", "1 is the most")
        c["temperature"] = 1
    said = all(c.get(key) is not None and type(c[key]) is not Fated for key in ("temperature", "top_p"))
    if said and (model.reasoning.adaptive or model.reasoning.budget is not None):
        c["top_p"] = Fated("lost", "Anthropic's models do not take it together with temperature")


def write_reasoning(c: Node, wire: Node, w: Writer) -> None:
    """Write how long to think and the form of the output."""
    output: Node = {}
    _write_format(c, output, wire, w)
    if type(c.get("reasoning")) is dict:
        own = take(c, "reasoning")
        if is_own(w):
            _write_own(own, output, wire, c, w)
        else:
            _write_effort(own, output, wire, w)
    if output:
        wire["outputConfig"] = output


def _write_format(c: Node, output: Node, wire: Node, w: Writer) -> None:
    text = c.get("text")
    if type(text) is not dict or type(text.get("format")) is not dict:
        return
    kind = text["format"].get("type")
    if kind != "text" and not (kind == "json_schema" and type(text["format"].get("schema")) is dict):
        return
    own = take(take(c, "text"), "format")
    if kind == "text":
        own["type"] = Fated("approximated", "text is what amazon-converse writes unasked")
        return
    del own["type"]
    if w.form(c, "format") == "field" and not {"name", "description"} & own.keys():
        wire[FIELDS] = {_OUTPUT: {"format": {"type": kind, "schema": own.pop("schema")}}}
        return
    spell = _SPELLINGS.get(str(w.form(c, "schema")), dump_text)
    schema: Node = {"schema": spell(own.pop("schema"))}
    for key in ("name", "description"):
        if type(own.get(key)) is str:
            schema[key] = own.pop(key)
    if own.get("strict") is True:
        own["strict"] = Fated("approximated", "every schema is enforced")
    output["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": schema}}


def _write_own(own: Node, output: Node, wire: Node, c: Node, w: Writer) -> None:
    fields: Node = wire.get(FIELDS) or {}
    if w.form(c, "config"):
        fields.update(write_own_field(own, w.form(c, "config")))
    elif "effort" in own:
        (fields.setdefault(_OUTPUT, {}) if w.form(c, "effort") == "field" else output)["effort"] = own.pop("effort")
    if "control" in own and not w.form(c, "config"):
        place = _OTHER if w.form(c, "thinking") else "thinking"
        names = {"type": "control", "budget_tokens": "budget_tokens", "display": "display"}
        fields[place] = {key: own.pop(name) for key, name in names.items() if name in own}
    if fields:
        wire[FIELDS] = fields


def thinking_form(request: Node, w: Writer) -> str:
    """The `thinking.type` with which a request is written, "" where it is written without."""
    asked = request.get("reasoning")
    if type(asked) is not dict:
        return ""
    if was_own(request, w):
        return str(asked.get("control") or "")
    return _planned(request, profile(w.model or request.get("model"), PROTOCOL))[0]


def _planned(request: Node, model: ModelProfile) -> tuple[str, int | None]:
    """The form of thinking at Anthropic's models, with the budget that an enabled one has; None: there is no room.

    The repair of the history and the writer both go by it.
    """
    facts, asked = model.reasoning, request["reasoning"]
    budget, control = asked.get("budget_tokens"), asked.get("control")
    if not _thinks(model) or facts.effort_field or (facts.budget is None and not facts.adaptive):
        return "", None
    if _is_off(asked):
        return "disabled" if facts.off and (facts.default == "on" or control == "disabled") else "", None
    if _is_asked(asked) and _is_forced(request, model):
        return "", None
    if facts.budget is not None and _is_asked(asked) and (type(budget) is int or not facts.adaptive):
        wanted = _budget(request, model)
        return ("", None) if wanted is None else ("enabled", wanted)
    if facts.adaptive and (control is not None or (facts.default != "on" and (_is_asked(asked) or is_shown(asked)))):
        return "adaptive", None
    return "", None


def _thinks(model: ModelProfile) -> bool:
    facts = model.reasoning
    return facts.thinks and (bool(facts.efforts) or facts.budget is not None or facts.adaptive or not model.known)


def _is_off(asked: Node) -> bool:
    control = asked.get("control")
    return (
        control == "disabled" or asked.get("effort") == "none" or (control is None and asked.get("budget_tokens") == 0)
    )


def _is_asked(asked: Node) -> bool:
    amount = type(asked.get("effort")) is str or type(asked.get("budget_tokens")) is int
    return amount or asked.get("control") in ("enabled", "adaptive")


def _is_forced(request: Node, model: ModelProfile) -> bool:
    """Whether the model has to call a tool, which Anthropic's models refuse beside thinking."""
    choice: Any = request.get("tool_choice")
    if type(choice) is dict and choice.get("type") == "allowed_tools":
        choice = choice.get("mode")
    forced = choice == "required" or (type(choice) is dict and choice.get("type") in ("function", "custom"))
    return forced and bool(request.get("tools")) and model.refuses.isdisjoint(("tools", "tool_choice"))


def _budget(request: Node, model: ModelProfile) -> int | None:
    """A budget in the model's range, below the limit of the answer; None where that leaves no room."""
    facts, asked, limit = model.reasoning, request["reasoning"], request.get("max_output_tokens")
    if model.output_tokens is not None and type(limit) is int:
        limit = min(limit, model.output_tokens)
    budget, least = asked.get("budget_tokens"), (facts.budget or (0, None))[0]
    if type(budget) is not int:
        # (Without a limit of the client's the model's own holds, of which the answer needs its part too.)
        return budget_within(model.output_tokens if limit is None else limit, _effort(asked), facts)
    wanted = clamp(budget, facts)
    if type(limit) is int and wanted >= limit:
        return limit - 1 if limit > least else None
    return wanted


def _write_effort(own: Node, output: Node, wire: Node, w: Writer) -> None:
    """Effort in a word that the model takes, thinking as in its profile, and what is shown of it."""
    model = model_of(w)
    facts = model.reasoning
    effort, budget, control = own.get("effort"), own.get("budget_tokens"), own.get("control")
    off = _is_off(own)
    if not _thinks(model):
        for key in own:
            if own[key] is not None:
                own[key] = Fated("approximated" if off else "lost", "the model does not think")
        return
    form, wanted = _planned(w.doc, model)
    if off and not (facts.effort_field and facts.off is False):
        if form == "disabled":
            wire[FIELDS] = {"thinking": {"type": "disabled"}}
            own.pop("control") if control == "disabled" else None
        for key in ("effort", "budget_tokens", "control"):
            if own.get(key) is not None:
                own[key] = Fated("approximated", "thinking is off")
        return
    if facts.effort_field:
        write_field(own, wire, w, facts, off)
        return
    if type(effort) is str:
        word = nearest(effort, facts.efforts) if facts.efforts else None
        if word is not None:
            output["effort"] = word
            own.pop("effort") if word == effort else own.update(effort=Fated("approximated", f"sent as {word!r}"))
    if type(budget) is int and budget > 0 and facts.budget is None and facts.efforts:
        word = output.setdefault("effort", effort_of(budget, facts.efforts))
        own["budget_tokens"] = Fated("approximated", f"sent as effort {word!r}")
    if form == "enabled" and wanted is not None:
        _write_budget(own, wire, w, wanted)
    elif form == "adaptive":
        thinking: Node = {"type": "adaptive"}
        wire[FIELDS] = {"thinking": thinking}
        own.pop("control") if control == "adaptive" else None
        if control is None:
            w.added(thinking, "type", "effort alone does not switch thinking on")
        elif control != "adaptive":
            own["control"] = Fated("approximated", "sent as 'adaptive'")
        if type(own.get("budget_tokens")) is int:
            own["budget_tokens"] = Fated("approximated", "the model chooses by itself")
    elif _is_asked(w.doc["reasoning"]) and (facts.budget is not None or facts.adaptive):
        forced = _is_forced(w.doc, model)
        if forced or not (facts.budget is None or (facts.adaptive and type(budget) is not int)):
            why = "no thinking beside a forced tool" if forced else "maxTokens leaves no room for thinking"
            for key in ("budget_tokens", "effort", "control"):
                if own.get(key) is not None and type(own[key]) is not Fated:
                    own[key] = Fated("lost", why)
            return
    write_display(own, wire, w, facts)


def _write_budget(own: Node, wire: Node, w: Writer, wanted: int) -> None:
    """Thinking with a budget, beside which there is no sampling."""
    budget, effort = own.get("budget_tokens"), own.get("effort")
    inference = wire.get("inferenceConfig") or {}
    thinking: Node = {"type": "enabled", "budget_tokens": wanted}
    wire[FIELDS] = {"thinking": thinking}
    for key, value in (("temperature", 1), ("topP", None)):
        if inference.get(key) not in (None, value):
            del inference[key]
            name = "top_p" if key == "topP" else key
            w.report(w.doc, (name,), "lost", "no sampling beside thinking")
    if own.get("control") == "enabled":
        del own["control"]
    elif own.get("control") is not None:
        own["control"] = Fated("approximated", "sent as 'enabled'")
    else:
        w.added(thinking, "type", "effort alone does not switch thinking on" if budget is None else "")
    if type(budget) is not int:
        w.added(thinking, "budget_tokens", "follows from the effort")
    if type(budget) is int:
        own.pop("budget_tokens") if wanted == budget else own.update(
            budget_tokens=Fated("approximated", f"sent as {wanted}")
        )
    if type(effort) is str:
        own["effort"] = Fated("approximated", f"sent as a budget of {wanted} tokens")


def _effort(asked: Node) -> str:
    effort = asked.get("effort")
    return effort if type(effort) is str else "medium"
