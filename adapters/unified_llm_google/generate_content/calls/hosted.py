"""Tools that the provider runs: code, and what it shows of its searches.

Code and its result are parts of their own. Other tools show themselves as `toolCall` and `toolResponse` where a
request requires it; those are signed, and only the provider's own are taken back.

https://ai.google.dev/gemini-api/docs/code-execution https://ai.google.dev/gemini-api/docs/tool-combination
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, lookup, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import (
    are_code,
    failed,
    said_by,
    take_commands,
    take_printed,
    take_ran,
)

from ..parts.media import is_base64
from ..parts.searches import FETCHED
from ..turns.contents import items
from ..values.enums import MARKER, number_of, take_name
from ..values.tables import TOOL_TYPES
from .calls_and_results import place, read_id, sealed_part, write_id

Node = dict[str, Any]

# ---- code the provider runs -----------------------------------------------------------------------------------------


@items.read("executableCode")
def read_code(w: Node, r: Reader) -> Node:
    """Read code that the provider executes, as a code interpreter call."""
    own = take(w, "executableCode")
    item: Node = {"type": "code_interpreter_call"}
    read_id(own, item, r)
    take_name(own, "language", "Language", item, r)
    for key in ("code", "language"):
        if type(own.get(key)) is str:
            item[key] = own.pop(key)
    if "language" in item:
        if item["language"].isupper():
            item["language"] = item["language"].lower()
        else:
            r.form(item, "language", "as is")
        place(r, item, "language", "executableCode", "language")
    place(r, item, "code", "executableCode", "code")
    r.context["code"] = item["call_id"]
    return item


@items.write("code_interpreter_call")
def write_code(c: Node, w: Writer) -> Node:
    """Write a code interpreter call as `executableCode`."""
    own: Node = {}
    if type(c.get("language")) is str:
        language = c.pop("language")
        word = language if w.form(c, "language") else language.upper()
        own["language"] = number_of(word, "Language", w.form(c, MARKER))
        if w.crosses and own["language"] != "PYTHON":
            own["language"] = "PYTHON"
            c["language"] = Fated("approximated", "sent as 'PYTHON', the only one there is")
    elif (c.get("extra") or {}).get(w.protocol) is None:
        own["language"] = "PYTHON"
        w.added(own, "language", "the only one there is")
    if "code" in c:
        own["code"] = c.pop("code")
    elif w.crosses:
        own["code"] = ""
        w.added(own, "code", "required; not in the source")
    call_id = c.get("call_id")
    own.update(write_id(c, w))
    wire = sealed_part(c, {"executableCode": own}, w)
    bad = failed(c)
    text = take_printed(c)
    if text is not None:
        result: Node = {"outcome": "OUTCOME_FAILED" if bad else "OUTCOME_OK", "output": text}
        if c.get("status") in ("completed", "failed"):
            c["status"] = Fated("approximated", "represented by the outcome")
        if call_id is not None and "id" in own:
            result["id"] = call_id
        w.context["after"] = {"codeExecutionResult": result}
    return wire


_OUTCOME = "OUTCOME_"
_TIMED_OUT = "execution_time_exceeded"


@items.read("codeExecutionResult")
def read_code_result(w: Node, r: Reader) -> Node:
    """Read the result of executed code; its call is the code before it."""
    own = take(w, "codeExecutionResult")
    item: Node = {"type": "code_interpreter_result"}
    before = r.context.pop("code", None)
    read_id(own, item, r, {"call_id": before} if before else None)
    take_name(own, "outcome", "Outcome", item, r)
    outcome = own.get("outcome")
    if type(outcome) is str and outcome.startswith(_OUTCOME) and outcome.isupper():
        item["outcome"] = own.pop("outcome").removeprefix(_OUTCOME).lower()
        place(r, item, "outcome", "codeExecutionResult", "outcome")
    if type(own.get("output")) is str:
        item["output"] = own.pop("output")
        place(r, item, "output", "codeExecutionResult", "output")
    return item


@items.write("code_interpreter_result")
def write_code_result(c: Node, w: Writer) -> Node:
    """Write a code interpreter result as `codeExecutionResult`."""
    own: Node = {}
    if type(c.get("outcome")) is str:
        own["outcome"] = number_of(_OUTCOME + c.pop("outcome").upper(), "Outcome", w.form(c, MARKER))
    elif (c.get("extra") or {}).get(w.protocol) is None:
        late = type(c.get("error")) is dict and c["error"].get("code") == _TIMED_OUT
        own["outcome"] = "OUTCOME_DEADLINE_EXCEEDED" if late else "OUTCOME_FAILED" if failed(c) else "OUTCOME_OK"
        said_by(c, "the outcome")
    output = c.get("output")
    if type(output) is list:
        texts = [part for part in c.pop("output") if type(part) is dict and type(part.get("text")) is str]
        for part in output:
            if type(part) is dict and not any(part is each for each in texts):
                w.drop(part, "what code prints is text")
        own["output"] = "".join(w.said(part, "joined") for part in texts)
    else:
        printed = take_printed(c)
        if printed is not None:
            own["output"] = printed
    if type(c.get("error")) is dict and c["error"]:
        _write_error(take(c, "error"), own)
    own.update(write_id(c, w))
    return sealed_part(c, {"codeExecutionResult": own}, w)


def _write_error(error: Node, own: Node) -> None:
    """The reason why the code was not run: the outcome marks the failure, the output contains the reason as text."""
    said = [error[key] for key in ("message", "code") if type(error.get(key)) is str]
    if said and not own.get("output"):
        own["output"] = said[0]
    for key in ("message", "code"):
        if key in error:
            error[key] = Fated("approximated", "represented by the outcome and its output")


@items.write("shell_call")
def write_commands(c: Node, w: Writer) -> Node | None:
    """Write commands that another provider ran as `executableCode`, for a client that requested code execution."""
    if not are_code(c, w):
        return None
    own: Node = {"language": "PYTHON"}
    c["type"] = Fated("approximated", "sent as 'PYTHON', the only one there is")
    code = take_commands(c)
    own["code"] = code or ""
    if code is None:
        w.added(own, "code", "required; not in the source")
    own.update(write_id(c, w))
    return sealed_part(c, {"executableCode": own}, w)


@items.write("shell_call_output")
def write_ran(c: Node, w: Writer) -> Node | None:
    """Write what they gave as `codeExecutionResult`."""
    if not are_code(c, w):
        return None
    late = type(c.get("error")) is dict and c["error"].get("code") == _TIMED_OUT
    printed, bad = take_ran(c, "the outcome")
    own: Node = {"outcome": "OUTCOME_DEADLINE_EXCEEDED" if late else "OUTCOME_FAILED" if bad else "OUTCOME_OK"}
    if printed is not None:
        own["output"] = printed
    own.update(write_id(c, w))
    return sealed_part(c, {"codeExecutionResult": own}, w)


# ---- images ---------------------------------------------------------------------------------------------------------


@items.write("image_generation_call")
def write_picture(c: Node, w: Writer) -> Node | None:
    """An image that a tool made, as the part that a model's own is."""
    if type(c.get("result")) is not str:
        return None
    if w.crosses and not is_base64(c["result"]):
        return None
    data: Node = {"mimeType": f"image/{c.get('output_format') or 'png'}", "data": c.pop("result")}
    if not c.pop("output_format", None):
        w.added(data, "mimeType", "the usual one")
    if c.get("status") == "completed":
        del c["status"]
    c["type"] = Fated("approximated", "sent as a part of the answer")
    return sealed_part(c, {"inlineData": data}, w)


items.cannot("image_generation_call", "only images in base64 have a form here")


# ---- other tools the provider runs ----------------------------------------------------------------------------------

# Tool to the canonical key of what it was called with, and of what it gave; the wire keys are the tools' own.
_ASKED = {"web_fetch": ("urls", "urls"), "maps": ("queries", "queries"), "file_search": ("queries", "queries")}
_GAVE = {
    "web_search": (("search_suggestions", "suggestions"),),
    "maps": (("places", "places"), ("google_maps_widget_context_token", "widget_context_token")),
}
_WIRE_TYPES = {tool: wire for wire, tool in reversed(TOOL_TYPES.items())}
_IMAGE = "GOOGLE_SEARCH_IMAGE"


def _begin(w: Node, key: str, kind: str, r: Reader) -> tuple[Node, Node, str]:
    """What stands under a key of a hosted tool, the item it begins, and the tool."""
    own = take(w, key)
    tool: str | None = lookup(TOOL_TYPES, own["toolType"])
    if tool is None:
        raise IllTyped("toolType")
    item: Node = {"type": f"{tool}_{kind}"}
    read_id(own, item, r)
    r.form(item, "hosted", True)
    return own, item, tool


@items.read("toolCall")
def read_tool_call(w: Node, r: Reader) -> Node:
    """Read a call of a hosted tool."""
    own, item, tool = _begin(w, "toolCall", "call", r)
    if own.pop("toolType") == _IMAGE:
        item["search_type"] = "image"
        r.place(item, ("search_type",), ("toolCall", "toolType"))
    if type(own.get("args")) is not dict:
        return item
    place(r, item, "action", "toolCall", "args")
    place(r, item, "arguments", "toolCall", "args")
    if tool == "processing":
        item["arguments"] = own.pop("args")
        return item
    args = take(own, "args")
    if tool == "web_search":
        item["action"] = {"type": "search"}
        if _is_strings(args.get("queries")):
            item["action"]["queries"] = args.pop("queries")
    else:
        key, hub = _ASKED[tool]
        if _is_strings(args.get(key)):
            item[hub] = args.pop(key)
    if not own["args"] and not (item.get("action") or item.keys() & {"urls", "queries"}):
        r.form(item, "args", "empty")
    return item


def _is_strings(value: Any) -> bool:
    return type(value) is list and all(type(each) is str for each in value)


def _is_ours(c: Node, w: Writer) -> bool:
    """Whether a call of a provider's tool may stand here: its own, or any that a client is only shown."""
    return w.facing == "client" or bool(w.form(c, "hosted"))


def _write_tool_call(tool: str) -> Any:
    def write(c: Node, w: Writer) -> Node | None:
        if not _is_ours(c, w):
            return None
        if tool == "web_fetch" and type(c.get("call_id")) is str:
            w.context.setdefault(FETCHED, {})[c.get("call_id")] = c.get("urls")
        own: Node = {**write_id(c, w), "toolType": _WIRE_TYPES[tool]}
        if tool == "web_search" and c.get("search_type") == "image":
            del c["search_type"]
            own["toolType"] = _IMAGE
        if tool == "processing":
            if "arguments" in c:
                own["args"] = c.pop("arguments")
        elif tool == "web_search":
            _write_action(c, own)
        else:
            key, hub = _ASKED[tool]
            if hub in c:
                own["args"] = {key: c.pop(hub)}
        if w.form(c, "args") == "empty":
            own.setdefault("args", {})
        return sealed_part(c, {"toolCall": own}, w)

    return write


def _write_action(c: Node, own: Node) -> None:
    if type(c.get("action")) is not dict or c["action"].get("type") != "search":
        return
    action = take(c, "action")
    own["args"] = {}
    del action["type"]
    if type(action.get("queries")) is list:
        own["args"]["queries"] = action.pop("queries")
        if "query" in action and action["query"] in own["args"]["queries"]:
            del action["query"]
    elif type(action.get("query")) is str:
        own["args"]["queries"] = [action.pop("query")]


@items.read("toolResponse")
def read_tool_response(w: Node, r: Reader) -> Node:
    """Read a result of a hosted tool."""
    own, item, tool = _begin(w, "toolResponse", "result", r)
    if own.pop("toolType") == _IMAGE:
        r.form(item, "tool", "image")
    if type(own.get("response")) is not dict:
        return item
    if tool == "processing":
        item["result"] = own.pop("response")
        place(r, item, "result", "toolResponse", "response")
        return item
    response = take(own, "response")
    if not response:
        r.form(item, "response", "empty")
    for key, hub in _GAVE.get(tool, ()):
        if type(response.get(key)) is (list if key == "places" else str):
            item[hub] = response.pop(key)
            place(r, item, hub, "toolResponse", "response", key)
    return item


def _write_tool_response(tool: str) -> Any:
    def write(c: Node, w: Writer) -> Node | None:
        if not _is_ours(c, w):
            return None
        own: Node = {**write_id(c, w), "toolType": _IMAGE if w.form(c, "tool") else _WIRE_TYPES[tool]}
        if tool == "processing":
            if "result" in c:
                own["response"] = c.pop("result")
        else:
            response = {key: c.pop(hub) for key, hub in _GAVE.get(tool, ()) if hub in c}
            if response or w.form(c, "response"):
                own["response"] = response
        return sealed_part(c, {"toolResponse": own}, w)

    return write


_NOT_OURS = "only tool calls that this provider made itself are taken back"
for _tool in dict.fromkeys(TOOL_TYPES.values()):
    items.write(f"{_tool}_call")(_write_tool_call(_tool))
    items.write(f"{_tool}_result")(_write_tool_response(_tool))
    items.cannot(f"{_tool}_call {_tool}_result", _NOT_OURS)
