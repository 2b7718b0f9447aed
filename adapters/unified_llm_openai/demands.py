"""The constraints of a dialect's server on the parameters of a request, applied after writing it.

A parameter it refuses or ignores is not sent; a value it has not becomes the nearest or is left out. Each is reported
at its canonical place. Nothing of this is done to a request that was its own (`Writer.same`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Owned, lookup
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import INPUT, as_function
from unified_llm.foundation.json_codec import dump_text
from unified_llm.passes import schemas

from .schema import STRICT

__all__ = [
    "JSON_UNMENTIONED",
    "called_as_function",
    "declared_as_function",
    "enforce_schema",
    "fit_identifier",
    "fit_values",
    "fit_words",
    "is_json_unmentioned",
    "lacks_raw_text",
    "leave_out",
    "name_schema",
    "nearest_choice",
    "nearest_effort",
    "refused",
    "send_nearest",
    "with_mode",
    "withhold",
]

Node = dict[str, Any]
Home = Callable[[str, Writer], tuple[Any, ...]]

_SCALE = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_EFFORTS = ("reasoning_effort", "reasoning.effort")
# Choices of tools in the words of others, and the nearest there are here.
_CHOICES = {"validated": "auto", "any": "required"}
_SCHEMA_NAME = "response"
# The protocols in which a schema without `strict` is only shown to the model.
_OPTIONAL_STRICT = ("openai-chat", "openai-responses")
_LONGEST_IDENTIFIER = 128
_STRANGE = "the server refuses unknown parameters"


def refused(key: str, w: Writer) -> str | None:
    """Why the server of the dialect does not get a parameter; None where it does."""
    if key in w.dialect.get("refuses", ()):
        return "the server does not take it"
    return "the server ignores it" if key in w.dialect.get("ignores", ()) else None


def nearest_effort(effort: str, w: Writer) -> str | None:
    """The effort the server has that is nearest; None for a word that stands on no scale."""
    table = w.dialect.get("nearest", {})
    said = next((table[key][effort] for key in _EFFORTS if effort in table.get(key, ())), None)
    efforts = w.dialect.get("efforts")
    if said is not None or efforts is None or effort in efforts:
        return said or effort
    steps = [_SCALE.index(each) for each in efforts if each in _SCALE and each != "none"]
    if effort not in _SCALE or not steps:
        return None
    place = _SCALE.index(effort)
    return _SCALE[min(steps, key=lambda step: (abs(step - place), step))]


def nearest_choice(choice: Any, w: Writer) -> str | None:
    """What to send for a `tool_choice` that the server has not: a word, "" for nothing, "none" for no tools at all.

    None where it takes the choice as it is.
    """
    kinds = w.dialect.get("tool_choices")
    kind = choice.get("type") if type(choice) is dict else choice
    if kinds is None or type(kind) is not str or kind in kinds:
        return None
    if kind == "none":
        return kind
    said = choice.get("mode") if kind == "allowed_tools" else kind
    wanted = lookup(_CHOICES, said, said if kind == "allowed_tools" else "required")
    return next((word for word in (wanted, "auto") if word in kinds), "")


def fit_words(c: Node, w: Writer) -> None:
    """A choice of tools in another protocol's word, as one of this protocol."""
    choice = c.get("tool_choice")
    if nearest_choice(choice, w) is not None:
        return  # `send_nearest` reports the result
    if type(choice) is str and choice in _CHOICES:
        c["tool_choice"] = _CHOICES[choice]
        w.report(w.doc, ("tool_choice",), "approximated", f"sent as {_CHOICES[choice]!r}")
    elif type(choice) is dict and lookup(_CHOICES, choice.get("mode")) is not None:
        c["tool_choice"] = {**choice, "mode": _CHOICES[choice["mode"]]}
        w.report(w.doc, ("tool_choice", "mode"), "approximated", f"sent as {c['tool_choice']['mode']!r}")


def send_nearest(word: str, choice: Any, c: Node, wire: Node, w: Writer, *lists: str) -> None:
    """Write the nearest to `choice` (`nearest_choice`); where none may be called, the `lists` of tools stay out."""
    if word == "none":
        if [wire.pop(key) for key in lists if key in wire]:
            c["tools"] = Fated("lost", "left out, since none may be called")
        c["tool_choice"] = Fated("emulated", "sent as no tools")
        return
    if word:
        wire["tool_choice"] = word
    told = f"sent as {word!r}" if word else "left to the server"
    if type(choice) is not dict:
        c["tool_choice"] = Fated("approximated", told)
        return
    # A word is all that is left of it: whether tools are called, and not which.
    left = {key: Fated("lost", told) for key, value in choice.items() if value is not None and value != word}
    left["type"] = Fated("approximated", told)
    if word and lookup(_CHOICES, choice.get("mode")) == word:
        left["mode"] = Fated("approximated", told)
    c["tool_choice"] = Owned(left)
    if choice["type"] == "allowed_tools" and choice.get("mode") is None and word:
        w.added(wire, "tool_choice", "required; the target's default was written")


def with_mode(allowed: Node, w: Writer) -> Node:
    """The allowed tools, with the mode that the API demands and other protocols may leave out."""
    if allowed.get("mode") is not None:
        return allowed
    allowed = {**allowed, "mode": "auto"}
    w.added(allowed, "mode", "the API demands one")
    return allowed


def name_schema(format_: Node, w: Writer) -> None:
    """Give a schema of structured output the name that the API requires and other protocols do not have."""
    if format_.get("name") is None:
        format_["name"] = _SCHEMA_NAME
        w.added(format_, "name", "the API demands one")


def enforce_schema(format_: Node, w: Writer) -> None:
    """Other protocols make the model follow every schema of structured output, which is done with `strict` only here.

    It is written where the schema becomes one that it accepts by closing objects and describing what it does not check.
    A schema whose answers would have to be turned back (an optional property made nullable) stays, reported.

    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    schema = format_.get("schema")
    if format_.get("strict") is not None or type(schema) is not dict or w.source in _OPTIONAL_STRICT:
        return
    done = schemas.lower(schema, STRICT)
    at = ("text", "format", "schema")
    if done.undo or type(done.schema) is not dict:
        w.report(w.doc, at, "approximated", "followed less closely: strict does not accept this schema")
        return
    if done.changes:
        from unified_llm.passes.tool_schemas import schema_losses  # as few requests need it

        for keys, fate, detail in schema_losses(done, schema):
            w.report(w.doc, (*at, *keys), fate, detail, "output.structured")
        format_["schema"] = done.schema
    format_["strict"] = True
    w.added(format_, "strict", "written because the target's default differs")


def fit_identifier(c: Node, w: Writer) -> None:
    """An identifier of the end user that is too long becomes its digest: equal for equal users, and the API advises it.

    https://developers.openai.com/api/docs/guides/safety-best-practices#implement-safety-identifiers
    """
    value = c.get("safety_identifier")
    if type(value) is str and len(value) > _LONGEST_IDENTIFIER:
        c["safety_identifier"] = hashlib.sha256(value.encode()).hexdigest()
        told = f"sent as its SHA-256, because the API accepts at most {_LONGEST_IDENTIFIER} characters"
        w.report(w.doc, ("safety_identifier",), "approximated", told)


def leave_out(key: str, value: Any, w: Writer, home_of: Home) -> None:
    """Record that a parameter with a value was not sent."""
    if value is not None:
        w.report(w.doc, home_of(key, w), "lost", refused(key, w) or "")


def fit_values(wire: Node, w: Writer, home_of: Home) -> None:
    """Bring values into the limits of the dialect; `home_of` gives the canonical place of a parameter."""
    for bound, worse in (("least", min), ("most", max)):
        for key, limit in w.dialect.get(bound, {}).items():
            holder, leaf = _holder(wire, key)
            value = holder.get(leaf)
            if type(value) is list and len(value) > limit:
                holder[leaf] = value[: int(limit)]
                for place in range(int(limit), len(value)):
                    w.report(w.doc, (*home_of(key, w), place), "lost", f"at most {limit}")
            elif type(value) in (int, float) and value != limit and worse(value, limit) == value:
                holder[leaf] = limit
                w.report(w.doc, home_of(key, w), "approximated", f"the {bound} is {limit}")
    for key, table in w.dialect.get("nearest", {}).items():
        holder, leaf = _holder(wire, key)
        value = holder.get(leaf)
        if type(value) is str and value in table and key not in _EFFORTS:
            holder[leaf] = table[value]
            w.report(w.doc, home_of(key, w), "approximated", f"sent as {table[value]!r}")
    for key, values in w.dialect.get("only", {}).items():
        holder, leaf = _holder(wire, key)
        value = holder.get(leaf)
        if type(value) is list:
            holder[leaf] = [each for each in value if each in values]
            for place, each in enumerate(value):
                if each not in values:
                    w.report(w.doc, (*home_of(key, w), place), "lost", f"the server takes {_listed(values)} only")
            if value and not holder[leaf]:
                del holder[leaf]
        elif value is not None and not any(type(one) is type(value) and one == value for one in values):
            del holder[leaf]
            w.report(w.doc, home_of(key, w), "lost", f"the server takes {_listed(values)} only")


def _listed(values: Collection[Any]) -> str:
    return ", ".join(map(str, values))


def _holder(wire: Node, key: str) -> tuple[Node, str]:
    *above, leaf = key.split(".")
    node: Any = wire
    for name in above:
        node = node.get(name) if type(node) is dict else None
    return (node if type(node) is dict else {}), leaf


def withhold(c: Node, w: Writer, known: Collection[str]) -> None:
    """Unknown parameters are not sent to a server that refuses them, nor are those of other servers."""
    drawer = (c.get("extra") or {}).get(w.protocol) or {}
    rest = drawer.get("rest")
    if type(rest) is not dict:
        return
    takes = w.dialect.get("takes")
    if takes is not None:
        takes = {*takes, *w.dialect.get("renames", {}).values()}
    kept = {}
    for key, value in rest.items():
        reason = refused(key, w) or (_STRANGE if takes is not None and key not in takes and key not in known else None)
        if reason is None:
            kept[key] = value
        else:
            w.report(w.doc, ("extra", w.protocol, "rest", key), "lost", reason)
    if len(kept) < len(rest):
        c["extra"] = {**c["extra"], w.protocol: {**drawer, "rest": kept}}


def lacks_raw_text(w: Writer) -> bool:
    """Whether the server has functions and no custom tools: these are functions of one string there."""
    kinds = None if w.same or w.facing != "provider" else w.dialect.get("tool_kinds")
    return kinds is not None and "custom" not in kinds and "function" in kinds


def declared_as_function(c: Node, w: Writer) -> Node:
    """The function of one string that a custom tool is declared as; answers call it by its name, and are restored."""
    function = as_function(c, w)
    c["type"] = Fated("emulated", "custom tool sent as a function with one string")
    return function


def called_as_function(c: Node) -> Node:
    """Name and arguments of the function call that stands for the call of a custom tool."""
    function = {"name": c.pop("name", None), "arguments": dump_text({INPUT: c.get("input") or ""})}
    c["type"] = c["input"] = Fated("emulated", "as the one argument of a function")
    return function


JSON_UNMENTIONED = "JSON mode is refused where no message mentions JSON"
"""Why there is a message about JSON that the source does not have."""


def is_json_unmentioned(form: Any, messages: list[Node]) -> bool:
    """Whether JSON mode would be refused, since no message mentions JSON.

    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    https://platform.openai.com/docs/guides/structured-outputs#json-mode
    """
    return type(form) is dict and form.get("type") == "json_object" and not any(map(_mentions_json, messages))


def _mentions_json(message: Node) -> bool:
    content = message.get("content")
    texts = [part.get("text") for part in content if type(part) is dict] if type(content) is list else [content]
    return any(type(text) is str and "json" in text.lower() for text in texts)
