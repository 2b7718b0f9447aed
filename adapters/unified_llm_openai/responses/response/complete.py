"""What clients of the API demand of an answer and another protocol's answer does not have.

The settings of the request are echoed from the exchange; what is not set gets the documented default and is recorded
as added. Ids that have to be made follow from the conversation. The strict form of Open Responses requires every key of
the resource, an id and a status on every item, and some values in a form of its own.

https://www.openresponses.org/specification
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import made_id
from unified_llm.foundation.json_codec import detached, load_text

from ...logprobs import NO_ALTERNATIVES, trimmed
from ..request.settings import write_instructions, write_settings
from ..values.tables import RESPONSE, SLUG
from ..values.usage import complete_usage

__all__ = [
    "complete_item",
    "complete_items",
    "complete_response",
    "complete_text",
    "id_prefix",
    "with_bytes",
    "without_bytes",
]

Node = dict[str, Any]

_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "web_search_call": "ws",
    "file_search_call": "fs",
    "code_interpreter_call": "ci",
    "image_generation_call": "ig",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcpl",
    "mcp_approval_request": "mcpr",
    "shell_call": "sh",
    "shell_call_output": "sho",
    "apply_patch_call": "apc",
    "computer_call": "cu",
    "compaction": "cmp",
    "program": "cm",
    "tool_search_call": "tsc",
    "tool_search_output": "tso",
}
# Types that have no status on this wire; Open Responses' own schema has none for the first two either.
_NO_STATUS = frozenset(
    """reasoning compaction mcp_list_tools mcp_approval_request mcp_approval_response program additional_tools
    item_reference custom_tool_call""".split()
)
DONE = "completed"
_SEARCHES = frozenset(("tool_search_call", "tool_search_output"))
# The defaults of a request; a client that reads the echo may rely on the keys.
_DEFAULTS: Node = {
    "error": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
# The defaults of the API itself: written where the request is known.
_ECHOED: Node = {
    **_DEFAULTS,
    "background": False,
    "completed_at": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "store": True,
    "text": {"format": {"type": "text"}},
    "top_logprobs": 0,
    "truncation": "disabled",
}
_STRICT: Node = {
    **_DEFAULTS,
    "completed_at": None,
    "previous_response_id": None,
    "truncation": "disabled",
    "text": {"format": {"type": "text"}},
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "temperature": 1,
    "reasoning": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": False,
    "background": False,
    "service_tier": "default",
    "safety_identifier": None,
    "prompt_cache_key": None,
}
_NOT_NULL = frozenset(key for key, value in _STRICT.items() if value is not None)
_NOT_ECHOED = frozenset(("model", "service_tier", "stream", "stream_options", "include", "id", "status"))


def id_prefix(kind: str) -> str:
    """The prefix of the ids of a type of items, with or without its slug."""
    return _PREFIXES.get(kind.removeprefix(SLUG), "item")


# ---- items ----------------------------------------------------------------------------------------------------------


def complete_items(wires: list[Any], w: Writer, is_cut: bool = False) -> list[Any]:
    """The items of an answer, each with the fields that clients expect; the message it breaks off in is incomplete."""
    last = len(wires) - 1
    while is_cut and last >= 0 and type(wires[last]) is dict and wires[last].get("type") == "reasoning":
        last -= 1  # it may carry what the message has no slot for
    return [
        complete_item(wire, w, index, status="incomplete" if is_cut and index == last and _is_message(wire) else DONE)
        for index, wire in enumerate(wires)
    ]


def _is_message(wire: Any) -> bool:
    return type(wire) is dict and wire.get("type") == "message"


def _is_cut_call(wire: Node) -> bool:
    """Whether the arguments of a call break off: they are no JSON."""
    arguments = wire.get("arguments") if wire["type"] == "function_call" else None
    if type(arguments) is not str or arguments == "":
        return False  # of a function without parameters, from some servers
    try:
        load_text(arguments)
    except ValueError:
        return True
    return False


def complete_item(wire: Any, w: Writer, *position: Any, status: str = DONE) -> Any:
    """One item, completed in place."""
    if type(wire) is not dict or type(wire.get("type")) is not str:
        return wire
    kind = wire["type"]
    if wire.get("id") is None:
        wire["id"] = made_id(id_prefix(kind), w.seed, *position)
        w.added(wire, "id")
    if kind == "reasoning":
        if type(wire.get("summary")) is not list:
            wire["summary"] = []
        for key in ("content", "encrypted_content", "status"):
            if wire.get(key, 0) is None:
                del wire[key]
    elif kind.removeprefix(SLUG) not in _NO_STATUS or kind.startswith(SLUG):
        if wire.get("status") is None:
            wire["status"] = "incomplete" if status == DONE and _is_cut_call(wire) else status
            w.added(wire, "status")
    if kind == "message":
        wire.setdefault("role", "assistant")
        if type(wire.get("content")) is str:
            wire["content"] = [{"type": "output_text", "text": wire["content"]}]
        content = wire.get("content")
        for part in content if type(content) is list else ():
            if type(part) is dict and part.get("type") == "output_text":
                complete_text(part, w)
        if w.dialect.get("strict") and wire.get("phase", 0) is None:
            del wire["phase"]
    elif kind.removeprefix(SLUG) == "code_interpreter_call":
        for key in ("code", "outputs"):
            wire.setdefault(key, None)
        if wire.get("container_id") is None:
            wire["container_id"] = ""
            w.added(wire, "container_id", "no container in the source")
    elif kind.removeprefix(SLUG) == "file_search_call" and type(wire.get("queries")) is not list:
        wire["queries"] = []
        w.added(wire, "queries", "no value in the source")
    elif kind.removeprefix(SLUG) in _SEARCHES and wire.get("execution") is None:
        wire["execution"] = "server"
        w.added(wire, "execution", "required; another protocol's tool search is run by its provider")
        if kind.removeprefix(SLUG) == "tool_search_call":
            wire.setdefault("arguments", {})
    elif kind == "shell_call" and status == "in_progress":
        # The API sends the commands of a call after its beginning. https://developers.openai.com/api/docs/guides/tools-shell
        wire.setdefault("action", {"commands": [], "max_output_length": None, "timeout_ms": None})
    elif kind == "compaction":
        wire.setdefault("encrypted_content", "")
    elif kind == "function_call":
        if type(wire.get("arguments")) is not str:
            wire["arguments"] = ""
        if wire.get("call_id") is None:
            wire["call_id"] = wire["id"]
    return wire


def complete_text(part: Node, w: Writer) -> None:
    """A text part, completed in place; Open Responses has no citations but those of URLs."""
    part.setdefault("annotations", [])
    if part.get("logprobs"):
        filled: list[tuple[Any, ...]] = []
        bare: list[tuple[Any, ...]] = []
        part["logprobs"] = with_bytes(part["logprobs"], filled, ("logprobs",), bare)
        if filled:
            w.filled.append((part, filled, ("bytes",), "those of the token", "output.logprobs"))
        if bare:
            w.filled.append((part, bare, ("top_logprobs",), NO_ALTERNATIVES, "output.logprobs"))
    elif part.get("logprobs", 0) is None:
        del part["logprobs"]
    if w.dialect.get("strict"):
        sources = part["annotations"] if type(part["annotations"]) is list else ()
        part["annotations"] = [each for each in sources if type(each) is dict and each.get("type") == "url_citation"]


def with_bytes(
    logprobs: Any,
    filled: list[tuple[Any, ...]],
    above: tuple[Any, ...] = (),
    bare: list[tuple[Any, ...]] | None = None,
) -> Any:
    """Log probabilities in the form of items, where every token has its bytes; `filled` gets where it had none.

    With `bare`, which gets where there was none, every token has a list of alternatives as well.
    """
    if type(logprobs) is not list:
        return logprobs
    out = []
    for index, each in enumerate(logprobs):
        if type(each) is dict:
            each = dict(each)
            if type(each.get("bytes")) is not list:
                filled.append((*above, index))
                each["bytes"] = list(str(each.get("token", "")).encode("utf-8", "surrogatepass"))
            if "top_logprobs" in each:
                each["top_logprobs"] = with_bytes(each["top_logprobs"] or [], filled, (*above, index, "top_logprobs"))
            elif bare is not None:
                each["top_logprobs"] = []
                bare.append((*above, index))
        out.append(each)
    return out


def without_bytes(logprobs: Any) -> Any:
    """Log probabilities in the form of a stream's events, where no token has its bytes."""
    if type(logprobs) is not list:
        return logprobs
    out = []
    for each in trimmed(logprobs):
        if type(each) is dict:
            each = {key: value for key, value in each.items() if key != "bytes"}
            if "top_logprobs" in each:
                each["top_logprobs"] = without_bytes(each["top_logprobs"] or [])
        out.append(each)
    return out


# ---- the resource ---------------------------------------------------------------------------------------------------


def complete_response(wire: Node, w: Writer, node: Node | None) -> Node:
    """The resource with all that its readers need, in place.

    `node` is the canonical response; None for the head of a stream, whose losses are reported with its end.
    """
    strict = bool(w.dialect.get("strict"))
    echo = _echo(w)
    for key, value in echo.items():
        if wire.get(key) is None:
            wire[key] = value
    wire["object"] = wire.get("object") or "response"
    _head(wire, w)
    for key, value in (_STRICT if strict else _DEFAULTS if w.exchange is None else _ECHOED).items():
        if key in wire and not (strict and wire[key] is None and key in _NOT_NULL):
            continue
        wire[key] = value if type(value) not in (list, dict) else detached(value) if value else value.copy()
        if value is not None and w.exchange is None:
            w.added(wire, key, "required; the target's default was written")
    wire.setdefault("incomplete_details", None)
    wire.setdefault("output", [])
    if node is not None:
        complete_usage(wire, w)
    else:
        wire.setdefault("usage", None)
    if strict:
        _make_strict(wire, w, node)
    return wire


def _head(wire: Node, w: Writer) -> None:
    if type(wire.get("id")) is not str:
        wire["id"] = made_id("resp", w.seed)
        w.added(wire, "id")
    if wire.get("created_at") is None:
        asked = w.exchange.created_at if w.exchange is not None else None
        wire["created_at"] = asked or 0
        if not asked:
            w.added(wire, "created_at", "no timestamp in the source")
    if wire.get("model") is None:
        wire["model"] = w.model or (w.exchange.model if w.exchange is not None else None) or ""
        w.added(wire, "model")


def _echo(w: Writer) -> Node:
    """The client's own settings as an answer repeats them."""
    if w.exchange is None or not w.exchange.settings:
        return {}
    settings = {key: value for key, value in w.exchange.settings.items() if key not in _NOT_ECHOED}
    mark, doc = len(w.raw), w.doc
    wire: Node = {}
    write_instructions(settings, wire, w)
    write_settings(settings, wire, w)
    RESPONSE.write(settings, wire, w, settings)
    w.doc = doc
    del w.raw[mark:]  # losses of the echo were reported with the request
    return wire


def _make_strict(wire: Node, w: Writer, node: Node | None) -> None:
    for tool in wire["tools"] if type(wire["tools"]) is list else ():
        if type(tool) is not dict:
            continue
        if tool.get("type") == "function":
            for key in ("description", "parameters", "strict"):
                tool.setdefault(key, None)
        elif type(tool.get("type")) is str and ":" not in tool["type"]:
            tool["type"] = SLUG + tool["type"]
    reasoning = wire.get("reasoning")
    if type(reasoning) is dict:
        wire["reasoning"] = {"effort": None, "summary": None, **reasoning}
    text = wire.get("text")
    if type(text) is dict:
        format_ = text.get("format")
        if type(format_) is not dict:
            format_ = {"type": "text"}
        if format_.get("type") == "json_schema":
            # The contract types the echoed schema as null.
            format_ = {"name": "", "description": None, **format_, "schema": None}
            format_["strict"] = bool(format_.get("strict"))
        wire["text"] = {**text, "format": format_}
        if wire["text"].get("verbosity", 0) is None:
            del wire["text"]["verbosity"]
    if type(wire.get("instructions")) is list:
        wire["instructions"] = None
    for key in ("created_at", "completed_at"):
        if type(wire[key]) is float and isfinite(wire[key]):
            wire[key] = int(wire[key])
    if type(wire.get("error")) is dict:
        wire["error"] = {"code": "server_error", "message": "", **wire["error"]}
    choice = wire.get("tool_choice")
    if type(choice) is dict and choice.get("type") == "allowed_tools":
        choice.setdefault("mode", "auto")
    elif type(choice) is dict and choice.get("type") != "function":
        wire["tool_choice"] = "required"
        if node is not None:
            w.report(node, ("tool_choice",), "approximated", "sent as 'required'")
