"""Answers of the Responses API: the response resource, whole or as a stream's events hold it.

An answer of another protocol is completed to what the API's clients demand (complete.py); one that was read from the
API is written as it is.

https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import FAILED, is_input, refuses

from ..errors import read_error_node, write_response_error
from ..request.settings import read_settings, write_instructions, write_settings
from ..turns.history import NOT_SAID, is_own, read_items, write_items
from ..values.tables import INCOMPLETE, RESPONSE
from ..values.usage import read_usage, write_usage
from .complete import complete_items, complete_response

__all__ = ["give_error", "is_born_here", "pop_implied", "read_response", "resource", "status_of", "write_response"]

Node = dict[str, Any]

# What leaves an answer incomplete; the API has a word for some of it.
_INCOMPLETE = frozenset(("length", "context_window", "safety", "recitation", "pause", "other"))

# What the API calls a failure, whatever another provider calls the answer.
_BROKEN = frozenset(("error", "malformed_call"))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_response(w: Node, r: Reader) -> Node:
    """Read a response; also a partial one, in the events of a stream."""
    node: Node = {}
    if type(w.get("id")) is str:
        r.seed = w["id"]
    if "object" not in w:
        r.form(node, "object", "absent")
    for key in ("output", "input", "instructions"):
        if key not in w:
            continue
        if type(w[key]) is list:
            node[key] = read_items(w.pop(key), r)
        elif w[key] is None and key == "output":
            node[key] = w.pop(key) or []
            r.form(node, key, "null")
        elif w[key] is None or (type(w[key]) is str and key != "output"):
            node[key] = w.pop(key)
    read_settings(w, node, r)
    _read_end(w, node, r)
    if type(w.get("usage")) is dict:
        node["usage"] = read_usage(w, r)
    elif w.get("usage", 0) is None:
        node["usage"] = w.pop("usage")
    RESPONSE.read(w, node)
    return node


def _read_end(w: Node, node: Node, r: Reader) -> None:
    if type(w.get("error")) is dict and w["error"]:
        node["error"] = read_error_node(w.pop("error"), r)
    elif w.get("error", 0) is None:
        node["error"] = w.pop("error")
    if w.get("incomplete_details", 0) is None:
        node["incomplete_details"] = w.pop("incomplete_details")
    elif type(w.get("incomplete_details")) is dict:
        word = w["incomplete_details"].get("reason")
        if type(word) is str:
            reason = _reason_of(word)
            node["finish"] = {"reason": reason}
            if word != INCOMPLETE.writes.get(reason, reason):
                node["finish"]["native"] = word
            take(w, "incomplete_details").pop("reason")
            for key in ("reason", "native"):
                r.place(node, ("finish", key), ("incomplete_details", "reason"))


def _reason_of(word: Any) -> str:
    return INCOMPLETE.reads.get(word) or "other"


# ---- writing --------------------------------------------------------------------------------------------------------


def is_born_here(response: Node, protocol: str) -> bool:
    """Whether a response without an origin was read from this API, as far as it shows."""
    return "object" in response or protocol in (response.get("extra") or ())


def write_response(c: Node, w: Writer) -> Node:
    """Write a response; one of another protocol gets its required fields."""
    if w.source is None and "events" not in w.context and not is_born_here(w.doc, w.protocol):
        # Of another protocol, or built by hand: completed like an answer that is converted.
        w.source = ""
    own = is_own(w)
    if own and not w.dialect.get("strict"):
        wire = resource(c, w)
        wire.update({key: write_items(c.pop(key), w) for key in ("output", "input") if key in c})
        form = w.form(c, "output")
        if form and not wire.get("output"):
            wire["output"] = None if form == "null" else []
        return _with_alias(wire, w)
    output = c.pop("output", None) or []
    if not own:
        for item in output:
            if is_input(item):
                w.drop(item, NOT_SAID)
        output = [item for item in output if not is_input(item)]
    wire = resource(c, w)
    status = status_of(w.doc)
    wire["output"] = complete_items(write_items(output, w), w, is_cut=status == "incomplete")
    if wire.get("status") is None:
        wire["status"] = status
        if not (w.doc.get("finish") or w.doc.get("error")):
            w.added(wire, "status", "no finish reason in the source")
    elif not own and wire["status"] != status:
        w.report(w.doc, ("status",), "approximated", f"sent as {status!r}")
        wire["status"] = status
    pop_implied(c, wire, output)
    give_error(c, wire, w)
    for choice in c.pop("choices", None) or ():
        w.drop(choice, "the API gives one answer")
    complete_response(wire, w, w.doc)
    return _with_alias(wire, w)


def resource(c: Node, w: Writer) -> Node:
    """The resource without its items; pops what it understands."""
    wire: Node = {}
    own = is_own(w)
    if type(c.get("instructions")) is list and own:
        wire["instructions"] = write_items(c.pop("instructions"), w)
    write_instructions(c, wire, w)
    write_settings(c, wire, w)
    if not own:
        _fit_diagnostics(c, w)
    moderation = c.pop("moderation") if not own and type(c.get("moderation")) is dict else None
    RESPONSE.write(c, wire, w, w.doc)
    if moderation is not None:
        c["moderation"] = moderation
        wire["moderation"] = _moderation(c)
    if type(c.get("error")) is dict:
        wire["error"] = write_response_error(c.pop("error"), w)
    elif "error" in c:
        wire["error"] = c.pop("error")
    if type(c.get("usage")) is dict:
        wire["usage"] = write_usage(c, w, own)
    elif "usage" in c:
        wire["usage"] = c.pop("usage")
    _write_end(c, wire, refuses(w.doc.get("output") or ()), own)
    return wire


def _fit_diagnostics(c: Node, w: Writer) -> None:
    """The instructions are a part of the input here: a change of theirs has no word of its own."""
    said = c.get("prompt_cache_diagnostics")
    if type(said) is dict and said.get("reason") == "system_changed":
        c["prompt_cache_diagnostics"] = {**said, "reason": "input_changed"}
        w.report(w.doc, ("prompt_cache_diagnostics", "reason"), "approximated", "sent as 'input_changed'")


def _moderation(c: Node) -> Node:
    """Each side is one result here, and a list of results on other surfaces."""
    sides = take(c, "moderation")
    wire: Node = {}
    for side in tuple(sides):
        results = sides[side].get("results") if type(sides[side]) is dict else None
        if type(results) is list and len(results) == 1:
            wire[side] = take(sides, side).pop("results")[0]
        else:
            wire[side] = sides.pop(side)
    return wire


def _write_end(c: Node, wire: Node, refused: bool, own: bool) -> None:
    """`incomplete_details` of the finish; a reason that only repeats the status is left in `c`."""
    if "incomplete_details" in c and not (c["incomplete_details"] is None and c.get("finish")):
        wire["incomplete_details"] = c.pop("incomplete_details")
    if type(c.get("finish")) is not dict:
        c.pop("finish", None)
        return
    c.pop("incomplete_details", None)
    finish = take(c, "finish")
    reason, native = finish.get("reason"), finish.get("native")
    if native is not None and own and reason == _reason_of(native):
        wire["incomplete_details"] = {"reason": finish.pop("native")}
        del finish["reason"]
    elif reason == "refusal" and not refused:
        wire["incomplete_details"] = {"reason": "content_filter"}
        finish["reason"] = Fated("approximated", "sent as 'content_filter'")
    elif reason in INCOMPLETE.writes:
        word = INCOMPLETE.writes[reason]
        wire["incomplete_details"] = {"reason": word}
        finish["reason"] = Fated("approximated", f"sent as {word!r}") if INCOMPLETE.read(word) != reason else None
        if native is not None:
            finish["native"] = Fated("approximated", f"sent as {word!r}")


def pop_implied(c: Node, wire: Node, output: list[Node]) -> None:
    """An end that status and items imply: `stop`, `tool_calls` where calls wait, a refusal in words."""
    finish = c.get("finish")
    if not finish:
        return
    reason = finish.get("reason")
    if type(reason) is not str:
        return
    calls = any(item.get("type") in ("function_call", "custom_tool_call") for item in output)
    if reason == ("tool_calls" if calls else "stop") or (reason == "refusal" and refuses(output)):
        del finish["reason"]
    else:
        # The words for it are closed: clients of the API accept no others.
        for key in ("reason", "native"):
            if finish.get(key) is not None and not (key == "native" and _explains(finish, wire)):
                finish[key] = Fated("approximated", f"sent as status {wire['status']!r}")


def _explains(finish: Node, wire: Node) -> bool:
    """Whether the provider's own word for the end is all that explains why a response failed."""
    bare = wire["status"] == "failed" and not wire.get("error") and type(finish.get("detail")) is not str
    return bare and type(finish.get("native")) is str


def give_error(c: Node, wire: Node, w: Writer) -> None:
    """A response that failed has an error: the explanation of its end, where it has none of its own.

    https://platform.openai.com/docs/api-reference/responses/object#responses-object-error
    """
    if wire.get("status") != "failed" or wire.get("error"):
        return
    finish = c.get("finish")
    text = finish.pop("detail") if finish and type(finish.get("detail")) is str else None
    if text is None and finish and type(finish.get("native")) is str:
        text = f"{FAILED}: {finish['native']}"
        finish["native"] = Fated("approximated", "in the message of the error")
    wire["error"] = {"code": "server_error", "message": FAILED if text is None else text}
    if text is None:
        w.added(wire, "error", "required of a failed response; no error in the source")
    else:
        w.added(wire["error"], "code", "required of an error; no code in the source")


# Statuses of other protocols, by the one that means it here; open calls are no status.
_STATUS = {
    "requires_action": "completed",
    "idle": "completed",
    "budget_exceeded": "incomplete",
    "requires_continuation": "incomplete",
}


def status_of(node: Node) -> str:
    """The status of a canonical response, in a word of this API."""
    said, reason = node.get("status"), (node.get("finish") or {}).get("reason")
    if said == "incomplete" and reason in _BROKEN:
        return "failed"
    if said and (said != "completed" or not node.get("finish")):
        return _STATUS.get(said, str(said))
    if reason == "refusal" and not refuses(node.get("output") or ()):
        return "incomplete"
    if node.get("error") or reason in _BROKEN:
        return "failed"
    if reason == "cancelled":
        return "cancelled"
    return "incomplete" if reason in _INCOMPLETE else "completed"


def _with_alias(wire: Node, w: Writer) -> Node:
    """The model under the name the client requested; what it resolved to goes into a header."""
    alias = w.exchange.alias if w.exchange is not None else None
    if alias and wire.get("model") != alias:
        if wire.get("model"):
            w.http.setdefault("headers", {})["x-resolved-model"] = wire["model"]
        wire["model"] = alias
    return wire
