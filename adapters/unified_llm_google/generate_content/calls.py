"""Calls and results: functions the client runs, code and tools the provider runs.

A call without an id gets one made from its place, which is dropped on the way back. A result names its function: the name
is that of the call with its id, kept with the result only where it says something else. A result is an object; text
travels as `{"output": text}`, a failure as `{"error": text}`.

https://ai.google.dev/gemini-api/docs/function-calling https://ai.google.dev/gemini-api/docs/tool-combination
"""

from __future__ import annotations

from typing import Any

from unified_llm.ids import is_made, made_id, seed_of
from unified_llm.jsonvalue import dump_text, load_text
from unified_llm.mapping import Fated, IllTyped, Reader, Writer, take

from .content import items, parts, read_part
from .signature import write_signature
from .spelling import actual, to_snake
from .tables import TOOL_TYPES

__all__ = ["names_of"]

Node = dict[str, Any]


def _place(r: Reader, node: Node, key: str, *wire: str) -> None:
    r.place(node, (key,), actual(wire, r.context.get("spelled") or []))


def _seal(c: Node, wire: Node, w: Writer) -> Node:
    """The part with its signature and in its own spelling."""
    if w.form(c, "thought"):
        wire["thought"] = False
    if "opaque" in c or "sealed" in w.context:
        write_signature(c, wire, w)
    spelled = w.form(c, "snake")
    return to_snake(wire, spelled) if spelled else wire


def _read_id(own: Node, node: Node, r: Reader, waiting: list[Node] | None = None) -> None:
    """The id of a call, or of a result: its own, that of the call it answers, or one made from its place."""
    if "id" in own:
        if type(own["id"]) is not str or not own["id"]:
            raise IllTyped("id")
        node["call_id"] = own.pop("id")
        return
    r.form(node, "id", "absent")
    if waiting:
        node["call_id"] = waiting[0]["call_id"]
        return
    if not r.seed and type(r.doc) is dict and type(r.doc.get("contents")) is list:
        r.seed = seed_of(r.doc["contents"][:1])
    node["call_id"] = made_id("call", r.seed, *r.context["at"])


def _write_id(c: Node, w: Writer) -> Node:
    call_id = c.pop("call_id", None)
    if call_id is None or is_made(call_id) or w.form(c, "id") == "absent":
        return {}
    return {"id": call_id}


# ---- functions ------------------------------------------------------------------------------------------------------


@items.read("functionCall")
def read_function_call(w: Node, r: Reader) -> Node:
    call = take(w, "functionCall")
    item: Node = {"type": "function_call", "call_id": "", "name": call.pop("name")}
    if type(item["name"]) is not str:
        raise IllTyped("name")
    _read_id(call, item, r)
    if "args" in call:
        if type(call["args"]) is not dict:
            raise IllTyped("args")
        item["arguments"] = dump_text(call.pop("args"))
        _place(r, item, "arguments", "functionCall", "args")
    else:
        item["arguments"] = "{}"
        r.form(item, "arguments", "absent")
    _place(r, item, "name", "functionCall", "name")
    _place(r, item, "call_id", "functionCall", "id")
    r.context.setdefault("open", []).append(item)
    return item


@items.write("function_call")
def write_function_call(c: Node, w: Writer) -> Node:
    call: Node = {**_write_id(c, w), "name": c.pop("name")}
    arguments = _arguments(c)
    if arguments or w.form(c, "arguments") != "absent":
        call["args"] = arguments
    return _seal(c, {"functionCall": call}, w)


def _arguments(c: Node) -> Node:
    """Arguments as an object; text that is none is wrapped, so that the call stays a call."""
    text = c.pop("arguments", None)
    if not text:
        return {}
    try:
        value = load_text(text)
    except ValueError:
        value = None
    if type(value) is dict:
        return value
    c["arguments"] = Fated("approximated", "not an object: wrapped in one")
    return {"_raw": text}


@items.write("custom_tool_call")
def write_custom_call(c: Node, w: Writer) -> Node:
    call: Node = {**_write_id(c, w), "name": c.pop("name"), "args": {"input": c.get("input") or ""}}
    c["input"] = Fated("emulated", "as the one argument of a function")
    return _seal(c, {"functionCall": call}, w)


def names_of(history: Any) -> dict[str, str]:
    """The name of every call of a conversation, by its id."""
    calls = history if type(history) is list else ()
    return {
        item["call_id"]: item["name"]
        for item in calls
        if item.get("type") in ("function_call", "custom_tool_call") and item.get("call_id") and item.get("name")
    }


@items.read("functionResponse")
def read_function_response(w: Node, r: Reader) -> Node:
    answer = take(w, "functionResponse")
    name = answer.pop("name")
    if type(name) is not str:
        raise IllTyped("name")
    item: Node = {"type": "function_call_output", "call_id": ""}
    waiting: list[Node] = r.context.setdefault("open", [])
    of_name = [call for call in waiting if call["name"] == name]
    _read_id(answer, item, r, of_name)
    call = next((call for call in waiting if call["call_id"] == item["call_id"]), None)
    if call is not None:
        waiting.remove(call)
    item["output"] = _read_result(answer, item, r)
    if call is None or call["name"] != name:
        item["name"] = name
        if call is not None:
            r.form(item, "name", "other")
        _place(r, item, "name", "functionResponse", "name")
    _place(r, item, "call_id", "functionResponse", "id")
    _place(r, item, "output", "functionResponse", "response")
    _place(r, item, "is_error", "functionResponse", "response")
    media = answer.get("parts")
    if type(media) is list:
        del answer["parts"]
        model, r.context["model"] = r.context.get("model"), False
        spelled = r.context.get("spelled")
        read = [read_part(part, r) for part in media]
        r.context["model"], r.context["spelled"] = model, spelled
        text = [r.made({"type": "input_text", "text": item["output"]}, w)] if item["output"] != "" else []
        item["output"] = [*text, *read]
    return item


def _read_result(answer: Node, item: Node, r: Reader) -> str:
    """The result as text, and a marker of the object it came in."""
    if "response" not in answer:
        r.form(item, "response", "absent")
        return ""
    response = answer.pop("response")
    if type(response) is not dict:
        raise IllTyped("response")
    if len(response) == 1:
        key, value = next(iter(response.items()))
        if key in ("output", "error"):
            if key == "error":
                item["is_error"] = True
            if type(value) is str:
                return value
            r.form(item, "response", "value")
            return dump_text(value)
    if not response:
        r.form(item, "response", "empty")
        return ""
    r.form(item, "response", "object")
    return dump_text(response)


@items.write("function_call_output", "custom_tool_call_output")
def write_function_response(c: Node, w: Writer) -> Node:
    call_id = c.get("call_id")
    known = w.context.get("names", {}).get(call_id)
    name = c.get("name")
    if type(name) is not str or (known is not None and w.form(c, "name") != "other"):
        name = known if known is not None else name
    answer: Node = {**_write_id(c, w), "name": name or "unknown"}
    if name is None:
        w.added(answer, "name", "no call of that id is there to name it")
    if c.get("name") == name or known is not None:
        c.pop("name", None)
    output = c.pop("output", None)
    media: list[Any] = []
    if type(output) is list:
        texts = [part["text"] for part in output if part.get("type") in _TEXTS and type(part.get("text")) is str]
        others = [part for part in output if part.get("type") not in _TEXTS]
        if len(texts) > 1 or (texts and others and output[0].get("type") not in _TEXTS):
            c["output"] = Fated("approximated", "texts joined, media behind them")
        for part in output:
            if part.get("type") in _TEXTS:
                w.piece(_consume_text, part)
        media = w.nodes(parts, others)
        text = "\n\n".join(texts) if texts else ""
    else:
        text = output or ""
    response = _result(text, c, w, bool(media))
    if response is not None:
        answer["response"] = response
    if media:
        answer["parts"] = media
    return _seal(c, {"functionResponse": answer}, w)


_TEXTS = frozenset(("input_text", "output_text", "text"))


def _consume_text(c: Node, w: Writer) -> Node:
    del c["text"]
    return {}


def _result(text: str, c: Node, w: Writer, media: bool) -> Node | None:
    marker = w.form(c, "response")
    failed = c.get("is_error")
    if failed is not None:
        del c["is_error"]
    if text == "" and marker in ("absent", "empty") and not failed:
        return None if marker == "absent" else {}
    key = "error" if failed else "output"
    if marker in ("object", "value"):
        try:
            value = load_text(text)
        except ValueError:
            return {key: text}
        if marker == "value" and type(value) is not str:
            return {key: value}
        if marker == "object" and type(value) is dict and not failed:
            return value
    return {} if media and text == "" and not failed else {key: text}


# ---- code the provider runs -----------------------------------------------------------------------------------------


@items.read("executableCode")
def read_code(w: Node, r: Reader) -> Node:
    own = take(w, "executableCode")
    item: Node = {"type": "code_interpreter_call"}
    _read_id(own, item, r)
    for key in ("code", "language"):
        if type(own.get(key)) is str:
            item[key] = own.pop(key)
    if "language" in item:
        if item["language"].isupper():
            item["language"] = item["language"].lower()
        else:
            r.form(item, "language", "as is")
        _place(r, item, "language", "executableCode", "language")
    _place(r, item, "code", "executableCode", "code")
    r.context["code"] = item["call_id"]
    return item


@items.write("code_interpreter_call")
def write_code(c: Node, w: Writer) -> list[Any]:
    own: Node = {}
    if type(c.get("language")) is str:
        language = c.pop("language")
        own["language"] = language if w.form(c, "language") else language.upper()
    elif (c.get("extra") or {}).get(w.protocol) is None:
        own["language"] = "PYTHON"
        w.added(own, "language", "the only one there is")
    if "code" in c:
        own["code"] = c.pop("code")
    call_id = c.get("call_id")
    own.update(_write_id(c, w))
    out: list[Any] = [_seal(c, {"executableCode": own}, w)]
    outputs = c.get("outputs")
    if type(outputs) is list and outputs and all(each.get("type") == "logs" for each in outputs):
        c["outputs"] = Fated("approximated", "as the output of the code")
        text = "".join(each.get("logs") or "" for each in outputs)
        result: Node = {"outcome": "OUTCOME_OK", "output": text}
        if call_id is not None and "id" in own:
            result["id"] = call_id
        out.append({"codeExecutionResult": result})
    return out


_OUTCOME = "OUTCOME_"


@items.read("codeExecutionResult")
def read_code_result(w: Node, r: Reader) -> Node:
    own = take(w, "codeExecutionResult")
    item: Node = {"type": "code_interpreter_result"}
    before = r.context.pop("code", None)
    _read_id(own, item, r, [{"call_id": before}] if before else None)
    outcome = own.get("outcome")
    if type(outcome) is str and outcome.startswith(_OUTCOME) and outcome.isupper():
        item["outcome"] = own.pop("outcome").removeprefix(_OUTCOME).lower()
        _place(r, item, "outcome", "codeExecutionResult", "outcome")
    if type(own.get("output")) is str:
        item["output"] = own.pop("output")
        _place(r, item, "output", "codeExecutionResult", "output")
    return item


@items.write("code_interpreter_result")
def write_code_result(c: Node, w: Writer) -> Node:
    own: Node = {}
    failed = c.get("is_error") or bool(c.get("return_code"))
    if type(c.get("outcome")) is str:
        own["outcome"] = _OUTCOME + c.pop("outcome").upper()
    elif (c.get("extra") or {}).get(w.protocol) is None:
        own["outcome"] = "OUTCOME_FAILED" if failed else "OUTCOME_OK"
        c.pop("is_error", None)
    output = c.get("output")
    if type(output) is str:
        own["output"] = c.pop("output")
    elif type(output) is list:
        own["output"] = "".join(part.get("text") or "" for part in output)
        c["output"] = Fated("approximated", "its text")
    elif type(c.get("stdout")) is str or type(c.get("stderr")) is str:
        streams = [key for key in ("stdout", "stderr") if c.get(key)]
        own["output"] = "".join(c[key] for key in streams)
        for key in streams:
            c[key] = Fated("approximated", "joined")
    own.update(_write_id(c, w))
    return _seal(c, {"codeExecutionResult": own}, w)


# ---- other tools the provider runs ----------------------------------------------------------------------------------

# Tool to the canonical key of what it was called with, and of what it gave; the wire keys are the tools' own.
_ASKED = {"web_fetch": ("urls", "urls"), "maps": ("queries", "queries"), "file_search": ("queries", "queries")}
_GAVE = {
    "web_search": (("search_suggestions", "suggestions"),),
    "maps": (("places", "places"), ("google_maps_widget_context_token", "widget_context_token")),
}
_WIRE_TYPES = {tool: wire for wire, tool in reversed(TOOL_TYPES.items())}
_IMAGE = "GOOGLE_SEARCH_IMAGE"


def _tool_of(own: Node) -> str:
    """The tool, and nothing popped, of a known `toolType`."""
    tool = TOOL_TYPES.get(own["toolType"])
    if tool is None:
        raise IllTyped("toolType")
    return tool


@items.read("toolCall")
def read_tool_call(w: Node, r: Reader) -> Node:
    own = take(w, "toolCall")
    tool = _tool_of(own)
    item: Node = {"type": f"{tool}_call"}
    _read_id(own, item, r)
    if own.pop("toolType") == _IMAGE:
        item["search_type"] = "image"
    r.form(item, "hosted", True)
    if type(own.get("args")) is not dict:
        return item
    _place(r, item, "action", "toolCall", "args")
    _place(r, item, "arguments", "toolCall", "args")
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
        own: Node = {**_write_id(c, w), "toolType": _WIRE_TYPES[tool]}
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
        return _seal(c, {"toolCall": own}, w)

    return write


def _write_action(c: Node, own: Node) -> None:
    if type(c.get("action")) is not dict:
        return
    action = take(c, "action")
    own["args"] = {}
    if action.get("type") == "search":
        del action["type"]
    if type(action.get("queries")) is list:
        own["args"]["queries"] = action.pop("queries")
        if action.get("query") in own["args"]["queries"]:
            del action["query"]
    elif type(action.get("query")) is str:
        own["args"]["queries"] = [action.pop("query")]


@items.read("toolResponse")
def read_tool_response(w: Node, r: Reader) -> Node:
    own = take(w, "toolResponse")
    tool = _tool_of(own)
    item: Node = {"type": f"{tool}_result"}
    _read_id(own, item, r)
    if own.pop("toolType") == _IMAGE:
        r.form(item, "tool", "image")
    r.form(item, "hosted", True)
    if type(own.get("response")) is not dict:
        return item
    if tool == "processing":
        item["result"] = own.pop("response")
        _place(r, item, "result", "toolResponse", "response")
        return item
    response = take(own, "response")
    if not response:
        r.form(item, "response", "empty")
    for key, hub in _GAVE.get(tool, ()):
        if type(response.get(key)) is (list if key == "places" else str):
            item[hub] = response.pop(key)
            _place(r, item, hub, "toolResponse", "response", key)
    return item


def _write_tool_response(tool: str) -> Any:
    def write(c: Node, w: Writer) -> Node | None:
        if not _is_ours(c, w):
            return None
        own: Node = {**_write_id(c, w), "toolType": _IMAGE if w.form(c, "tool") else _WIRE_TYPES[tool]}
        if tool == "processing":
            if "result" in c:
                own["response"] = c.pop("result")
        else:
            response = {key: c.pop(hub) for key, hub in _GAVE.get(tool, ()) if hub in c}
            if response or w.form(c, "response"):
                own["response"] = response
        return _seal(c, {"toolResponse": own}, w)

    return write


_NOT_OURS = "only tool calls that this provider made itself are taken back"
for _tool in dict.fromkeys(TOOL_TYPES.values()):
    items.write(f"{_tool}_call")(_write_tool_call(_tool))
    items.write(f"{_tool}_result")(_write_tool_response(_tool))
    items.cannot(f"{_tool}_call {_tool}_result", _NOT_OURS)
