"""Requests of Converse and ConverseStream, and those that count tokens.

The model and whether to stream are in the path. System text is the canonical instructions; of another protocol's system
and developer messages the leading run joins it. A request for a count holds a part of that under `input.converse`.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any
from urllib.parse import unquote

from unified_llm.engine.pairs.mapping import Fated, IllTyped, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import AS_JSON, SENT_AS_INSTRUCTION, is_json_mode
from unified_llm.engine.shared.nearest_values import NEAREST_TIERS, leave_out_blank_stops
from unified_llm.foundation.errors import InvalidBody
from unified_llm.foundation.urls import segment

from .parts import parts, read_point, with_points
from .passes.requests import FIELDS, model_of, read_reasoning, settle_settings, write_reasoning
from .tools import read_single, read_tools, write_single, write_tools
from .turns import read_messages, write_messages
from .values import REQUEST, is_own, move

__all__ = ["read_count_request", "read_request", "write_count_request", "write_request"]

Node = dict[str, Any]

_STREAM = "converse-stream"
_ANTHROPIC = "anthropic"  # the maker of the models that refuse stop sequences of white space
_INFERENCE = {
    "maxTokens": ("max_output_tokens", (int,)),
    "temperature": ("temperature", (int, float)),
    "topP": ("top_p", (int, float)),
    "stopSequences": ("stop", (list,)),
}
# Where models take it, in `additionalModelRequestFields`: the data name it for each that does (`top_k_field`).
# https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html
# https://docs.aws.amazon.com/nova/latest/userguide/complete-request-schema.html
_TOP_K = ("top_k", "inferenceConfig.topK")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_request(w: Node, r: Reader) -> Node:
    """Return the canonical request of a body and its path."""
    if type(w) is not dict:
        raise IllTyped("no object")
    if "messages" in w and type(w["messages"]) is not list:
        raise InvalidBody("/messages", "messages must be a list")
    if "messages" not in w and "promptVariables" not in w and "system" not in w:
        raise InvalidBody("/messages", "required field is missing")
    node: Node = {}
    r.form(node, "own", True)
    _read_path(node, r)
    _read_prompt(w, node, r, ())
    own = _taken(w, "inferenceConfig")
    for key, (name, kinds) in _INFERENCE.items():
        if name != "stop" or all(type(text) is str for text in own.get(key) or ()):
            move(own, key, node, name, r, ("inferenceConfig",), *kinds)
    fields = _taken(w, FIELDS)
    read_reasoning(w, fields, node, r)
    _read_top_k(fields, node, r)
    read_single(fields, node, r)
    move(_taken(w, "serviceTier"), "type", node, "service_tier", r, ("serviceTier",), str)
    if type(w.get("requestMetadata")) is dict:
        REQUEST.read(w, node)
    return node


def _taken(w: Node, key: str) -> Node:
    """The object under `key`, if there is one."""
    return take(w, key) if type(w.get(key)) is dict else {}


def _read_top_k(fields: Node, node: Node, r: Reader) -> None:
    for name in _TOP_K:
        *path, key = name.split(".")
        own: Any = fields
        for step in path:
            own = _taken(own, step)
        if move(own, key, node, "top_k", r, (FIELDS, *path), int, float):
            r.form(node, "top_k", name)
            return


def read_count_request(w: Node, r: Reader) -> Node:
    """Return the canonical request whose tokens are counted."""
    outer = w.get("input")
    if type(outer) is not dict or type(outer.get("converse")) is not dict:
        raise InvalidBody("/input/converse", "required field is missing or not an object")
    own = take(take(w, "input"), "converse")
    node: Node = {}
    r.form(node, "own", True)
    _read_path(node, r)
    _read_prompt(own, node, r, ("input", "converse"))
    return node


def _read_path(node: Node, r: Reader) -> None:
    """The model and the streaming that the path gives."""
    path = str(r.http.get("path") or "").partition("?")[0].strip("/")
    head, _, verb = path.rpartition("/")
    model = head.rpartition("model/")[2]
    if model:
        node["model"] = unquote(model)
    if verb == _STREAM:
        node["stream"] = True


def _read_prompt(w: Node, node: Node, r: Reader, at: tuple[Any, ...]) -> None:
    if type(w.get("system")) is list:
        found: list[Node] = []
        system = w.pop("system")
        for index, wire in enumerate(system):
            if not read_point(wire, found[-1] if found else None, r, (*at, "system", index)):
                found.append(r.nodes(parts, (wire,))[0])
                if type(wire) is not dict:
                    r.made(found[-1], r.doc, *at, "system", index)
        node["instructions"] = found
        r.place(node, ("instructions",), (*at, "system"))
    if type(w.get("messages")) is list:
        node["input"] = read_messages(w.pop("messages"), r, (*at, "messages"))
        r.place(node, ("input",), (*at, "messages"))
    read_tools(w, node, r, at)


# ---- writing --------------------------------------------------------------------------------------------------------


def write_request(c: Node, w: Writer) -> Node:
    """Return the body of a canonical request; the path is beside it."""
    wire: Node = {}
    _write_path(c, w, _STREAM if c.get("stream") is True else "converse")
    _write_prompt(c, wire, w)
    settle_settings(c, w)
    if c.get("stop") and not is_own(w):
        # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html
        leave_out_blank_stops(c, w, spaces=model_of(w).provider == _ANTHROPIC)
    config: Node = {}
    for key, (name, _) in _INFERENCE.items():
        if c.get(name) is not None and type(c[name]) is not Fated:
            config[key] = c.pop(name)
    if config:
        wire["inferenceConfig"] = config
    write_reasoning(c, wire, w)
    _write_top_k(c, wire, w)
    write_single(c, wire, w)
    if type(c.get("service_tier")) is str:
        _write_tier(c, wire, w)
    metadata = c.get("metadata")
    if type(metadata) is dict and (is_own(w) or metadata):
        REQUEST.write(c, wire, w, w.doc)
    for index, _ in enumerate(c.pop("include", None) or ()):
        w.report(w.doc, ("include", index), "lost")
    if "stream" in c:
        streams = c.pop("stream")
        if streams is False:
            c["stream"] = Fated("approximated", "represented by the path")
        elif streams is True and "path" not in w.http:
            c["stream"] = Fated("lost", "represented by the path, which needs a model")
    return wire


def _write_top_k(c: Node, wire: Node, w: Writer) -> None:
    """In the field that the model has for it, after the settings of reasoning, which may exclude it."""
    if c.get("top_k") is None:
        return
    model = model_of(w)
    name = model.top_k_field
    if is_own(w):
        name = str(w.form(c, "top_k") or name or _TOP_K[0])
    else:
        if model.refused("top_k", c["top_k"], True):
            c["top_k"] = Fated("lost", "the model refuses it")
            return
        if ((wire.get(FIELDS) or {}).get("thinking") or {}).get("type") in ("enabled", "adaptive"):
            c["top_k"] = Fated("lost", "no sampling beside thinking")
            return
    if name:
        *path, key = (FIELDS, *name.split("."))
        own = wire
        for step in path:
            own = own.setdefault(step, {})
        own[key] = c.pop("top_k")


_TIERS = {"auto": "default", "standard_only": "default", "standard": "default"}
_KNOWN_TIERS = ("default", "flex", "priority", "reserved")


def _write_tier(c: Node, wire: Node, w: Writer) -> None:
    tier = c["service_tier"]
    if is_own(w) or tier in _KNOWN_TIERS:
        wire["serviceTier"] = {"type": c.pop("service_tier")}
    elif NEAREST_TIERS.get(tier) in _KNOWN_TIERS:
        wire["serviceTier"] = {"type": NEAREST_TIERS[tier]}
        c["service_tier"] = Fated("approximated", f"sent as {NEAREST_TIERS[tier]!r}")
    elif tier in _TIERS:
        c["service_tier"] = Fated("approximated", f"{_TIERS[tier]!r} is what amazon-converse does unasked")


def write_count_request(c: Node, w: Writer) -> Node:
    """A request that counts tokens: what makes no difference to the count has no place in it."""
    wire: Node = {}
    _write_path(c, w, "count-tokens")
    _write_prompt(c, wire, w)
    c.pop("stream", None)
    return {"input": {"converse": wire}}


def _write_path(c: Node, w: Writer, verb: str) -> None:
    model = w.model or c.get("model")
    c.pop("model", None)
    w.http["method"] = "POST"
    if type(model) is str and model:
        w.http["path"] = f"model/{segment(model, '/model')}/{verb}"


def _write_prompt(c: Node, wire: Node, w: Writer) -> None:
    is_own(w)
    write_tools(c, wire, w)
    items = c.pop("input", None)
    leading: list[Node] = []
    if type(items) is list:
        leading = list(takewhile(lambda item: _is_leading(item, w), items))
        items = items[len(leading) :]
    said = c.pop("instructions", None)
    system: list[Any] = []
    if type(said) is str:
        system = [{"text": said}] if said else []
    elif type(said) is list:
        system = _system(said, w)
    for item in leading:
        system += w.piece(_write_leading, item)
    if is_json_mode(c) and not is_own(w):
        take(take(c, "text"), "format")["type"] = Fated("approximated", SENT_AS_INSTRUCTION)
        system.append({"text": AS_JSON})
    if system or (is_own(w) and type(said) is list):
        wire["system"] = system
    if items is not None:
        wire["messages"] = write_messages(items, w)


def _is_leading(item: Node, w: Writer) -> bool:
    if item.get("type") != "message" or item.get("role") not in ("system", "developer"):
        return False
    return w.form(item, "place") is None and not (is_own(w) and w.form(item, "opens"))


def _write_leading(c: Node, w: Writer) -> list[Any]:
    if c.pop("role") == "developer":
        c["role"] = Fated("approximated", "sent as system text")
    content = c.pop("content", None)
    if type(content) is str:
        return [{"text": content}] if content else []
    return _system(content, w) if type(content) is list else []


def _system(content: list[Node], w: Writer) -> list[Any]:
    out: list[Any] = []
    w.context["system"] = not is_own(w)
    for part in content:
        if part.get("type") in _TEXTS or is_own(w):
            out += with_points(parts, (part,), w)
        else:
            w.drop(part, "system is text only")
    del w.context["system"]
    return out


_TEXTS = frozenset(("input_text", "output_text", "text", "refusal"))
