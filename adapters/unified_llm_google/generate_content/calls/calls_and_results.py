"""Calls and results: functions the client runs, code and tools the provider runs.

A call without an id gets one made from its place, dropped when it comes back. A result names its function: a name
it lacks is that of the call it answers, which is reported. A result is an object; text travels as `{"output": text}`, a
failure as `{"error": text}`.

https://ai.google.dev/gemini-api/docs/function-calling https://ai.google.dev/gemini-api/docs/tool-combination
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, lookup, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import RAN
from unified_llm.engine.shared.text_fallbacks import is_text_only, part_as_text
from unified_llm.foundation.generated_ids import is_made, made_id, seed_of
from unified_llm.foundation.json_codec import dump_text, load_text
from unified_llm.models import profile

from ..turns.contents import items, parts, read_part
from ..turns.signature import write_signature
from ..turns.unanswered_calls import waiting_of
from ..values.spelling import actual, to_snake

__all__ = ["NAMED", "answers_among", "is_unnamed", "names_of", "place", "read_id", "sealed_part", "write_id"]

Node = dict[str, Any]

NAMED = ("copied from the tool call", "tools.function")
"""The detail for a result that was given the name of its call."""


def place(r: Reader, node: Node, key: str, *wire: str) -> None:
    """Note the wire keys of a canonical field, in the spelling of the document."""
    spelled = r.context.get("spelled")
    r.place(node, (key,), actual(wire, spelled) if spelled else wire)


def sealed_part(c: Node, wire: Node, w: Writer) -> Node:
    """The part with its signature and in its own spelling."""
    if w.form(c, "thought"):
        wire["thought"] = False
    if "opaque" in c or "extra" in c or "sealed" in w.context:
        write_signature(c, wire, w)
    spelled = w.form(c, "snake")
    return to_snake(wire, spelled) if spelled else wire


def read_id(own: Node, node: Node, r: Reader, waiting: Node | None = None) -> None:
    """The id of a call, or of a result: its own, that of the call it answers, or one made from its place."""
    if own.get("id", "") not in (None, ""):  # what names nothing is left over
        if type(own["id"]) is not str:
            raise IllTyped("id")
        if not (waiting and is_unnamed(waiting, own["id"], r)):
            node["call_id"] = own.pop("id")
            return
    r.form(node, "id", "absent")
    if waiting:
        node["call_id"] = waiting["call_id"]
        return
    if not r.seed and type(r.doc) is dict and type(r.doc.get("contents")) is list:
        r.seed = seed_of(r.doc["contents"][:1])
    ordinal = r.context["made"] = r.context.get("made", 0) + 1
    node["call_id"] = made_id("call", r.seed, *r.context["at"], ordinal)


def is_unnamed(call: Node, call_id: str, r: Reader) -> bool:
    """Whether a call without an id is answered under one that no call has: the client made it up for the result."""
    return is_made(call["call_id"]) and waiting_of(r).of("call_id", call_id) is None


def write_id(c: Node, w: Writer) -> Node:
    """The `id` of a call or result as a dict to merge; empty for a generated or absent id."""
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
    read_id(call, item, r)
    if "args" in call:
        if type(call["args"]) is not dict:
            raise IllTyped("args")
        item["arguments"] = dump_text(call.pop("args"))
        place(r, item, "arguments", "functionCall", "args")
    else:
        item["arguments"] = "{}"
        r.form(item, "arguments", "absent")
    if _is_answered(item, r.context.get("answers") or []):
        item["executor"] = "provider"
        r.form(item, "executor", "answered")
    waiting_of(r).add(item)
    return item


def answers_among(wires: Any) -> list[Node]:
    """The results among the parts of an answer: Gemini executed those calls itself (`mcpServers`)."""
    found = []
    for part in wires if type(wires) is list else ():
        if type(part) is dict and not _RESULTS.isdisjoint(part):
            result = part.get("functionResponse", part.get("function_response"))
            if type(result) is dict:
                found.append(result)
    return found


_RESULTS = frozenset(("functionResponse", "function_response"))


def _is_answered(call: Node, answers: list[Node]) -> bool:
    """Whether one of these results is that of a call: by its id, or by its name where the result has no id."""
    for place, answer in enumerate(answers):
        key, value = ("call_id", answer["id"]) if answer.get("id") else ("name", answer.get("name"))
        if call[key] == value:
            del answers[place]
            return True
    return False


items.cannot("function_call custom_tool_call function_call_output custom_tool_call_output", RAN)


def _is_run(c: Node, w: Writer) -> bool:
    """Whether another provider executed a call, or made a result; what Gemini did itself goes back to it."""
    if c.get("executor") == "provider" and w.form(c, "executor"):
        del c["executor"]
    return c.get("executor") == "provider"


@items.write("function_call")
def write_function_call(c: Node, w: Writer) -> Node | None:
    if _is_run(c, w):
        return None
    call: Node = {**write_id(c, w), "name": c.pop("name", "")}
    if "arguments" in c:
        arguments = _arguments(c)
        if arguments or w.form(c, "arguments") != "absent":
            call["args"] = arguments
    return sealed_part(c, {"functionCall": call}, w)


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
def write_custom_call(c: Node, w: Writer) -> Node | None:
    if _is_run(c, w):
        return None
    call: Node = {**write_id(c, w), "name": c.pop("name", ""), "args": {"input": c.get("input") or ""}}
    c["type"] = c["input"] = Fated("emulated", "as the one argument of a function")
    return sealed_part(c, {"functionCall": call}, w)


_CALLS = frozenset(("function_call", "custom_tool_call"))


def names_of(history: Any) -> dict[str, str]:
    """The name of every call of a conversation, by its id."""
    calls = history if type(history) is list else ()
    return {
        item["call_id"]: item["name"]
        for item in calls
        if item.get("type") in _CALLS and type(item.get("call_id")) is str and type(item.get("name")) is str
    }


@items.read("functionResponse")
def read_function_response(w: Node, r: Reader) -> Node:
    answer = take(w, "functionResponse")
    named, name = "name" in answer, answer.pop("name", None)
    if type(name) is not str and (named or not answer.get("id")):
        raise IllTyped("name")
    item: Node = {"type": "function_call_output", "call_id": ""}
    waiting = waiting_of(r)
    read_id(answer, item, r, waiting.of("name", name) if type(name) is str else None)
    call = waiting.of("call_id", item["call_id"])
    if call is not None:
        waiting.answer(call)
        if "executor" in call:
            item["executor"] = "provider"
            r.form(item, "executor", "answered")
    item["output"] = _read_result(answer, item, r)
    if named:
        item["name"] = name
        place(r, item, "name", "functionResponse", "name")
    else:
        r.form(item, "name", "absent")
    place(r, item, "output", "functionResponse", "response")
    place(r, item, "is_error", "functionResponse", "response")
    media = answer.get("parts")
    if media and type(media) is list:
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


@items.write("custom_tool_call_output")
def write_custom_result(c: Node, w: Writer) -> Node | None:
    if _is_run(c, w):
        return None
    c["type"] = Fated("emulated", "as the result of a function")
    return _write_response(c, w)


@items.write("function_call_output")
def write_function_response(c: Node, w: Writer) -> Node | None:
    if _is_run(c, w):
        return None
    return _write_response(c, w)


def _write_response(c: Node, w: Writer) -> Node:
    known = lookup(w.context.get("names", {}), c.get("call_id"))
    answer: Node = write_id(c, w)
    if type(c.get("name")) is str:
        answer["name"] = c.pop("name")
    elif w.form(c, "name") != "absent":
        answer["name"] = known or "unknown"
        if known:
            w.report(answer, ("name",), "added", *NAMED)
        else:
            w.added(answer, "name", "no call of that id is there to name it")
    output = c.pop("output", None)
    media: list[Any] = []
    others: list[Node] = []
    if type(output) is list:
        crosses = w.source != w.protocol
        said = [part for part in output if part.get("type") in _TEXTS or (crosses and is_text_only(part))]
        pieces = [w.piece(_text_of if part.get("type") in _TEXTS else part_as_text, part) for part in said]
        texts = [text for text in pieces if type(text) is str]
        taken = {id(part) for part in said}
        others = [part for part in output if id(part) not in taken]
        if len(texts) > 1 or (texts and others and output[0] is not said[0]):
            c["output"] = Fated("approximated", "texts joined, media behind them")
        media = w.nodes(parts, others)
        text = "\n\n".join(texts) if texts else ""
    else:
        text = output or ""
    if media and w.source != w.protocol and not profile(w.context.get("model"), w.protocol).result_media:
        _move(others, media, answer.get("name", "the call"), w)
        media, text = [], text or "The result follows."
    response = _result(text, c, w, bool(media))
    if response is not None:
        answer["response"] = response
    if media:
        answer["parts"] = media
    return sealed_part(c, {"functionResponse": answer}, w)


def _move(others: list[Node], media: list[Any], name: str, w: Writer) -> None:
    """Media that the model does not take in a result follow it, in a content of the user's own."""
    for part in others:
        w.drop(part, "moved to a content of the user after the results", "approximated")
    w.context.setdefault("moved", []).extend([{"text": f"Result of {name}:"}, *media])


_TEXTS = frozenset(("input_text", "output_text", "text"))


def _text_of(c: Node, w: Writer) -> Any:
    return c.pop("text", None)


def _result(text: str, c: Node, w: Writer, media: bool) -> Node | None:
    marker = w.form(c, "response")
    failed = c.get("is_error")
    if failed is False:
        c["is_error"] = Fated("approximated", "represented by the key of the result")
    elif failed is not None:
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
