"""Answers of Chat Completions: choices to items and back.

The first choice is the response's output, the others are its choices. What a choice or its message had beside what is
understood lives on the first item of its turn. Writing joins all items of a choice into the one message a choice has;
the word for its end is computed where the source has another. A failed response has no form of its own
here: it is written as the error body a failed request gets.

https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import UNDER_WAY
from unified_llm.foundation.generated_ids import made_id

from ..errors import write_http
from .error_places import failed, marked_places, placed
from .errors import read_error_node, write_error_body
from .turns.answer_message import write_answer
from .turns.messages import read_message_items
from .values.finish import finish_word, read_finish
from .values.tables import COMPLETION, RESPONSE
from .values.timings import TIMINGS, has_timings, is_in_timings, read_timings, write_timings
from .values.usage import USAGE_PLACES, is_told, read_usage, write_usage

__all__ = [
    "consume_status",
    "is_born_here",
    "message_and_choice",
    "read_head",
    "read_response",
    "whole",
    "write_head",
    "write_response",
]

Node = dict[str, Any]

_choices = Mapping("openai-chat choices")
# What Perplexity puts beside the message of an answer that is not streamed.
_HOLLOW_DELTA = {"role": "assistant", "content": ""}


def whole(w: Writer, pair: Any, node: Node) -> Any:
    """Write a node that has no type of its own (usage, an error) with `pair`, its leftovers seen to by the engine."""
    doc = w.doc
    try:
        return w.root(pair, node)
    finally:
        w.doc = doc


# ---- reading --------------------------------------------------------------------------------------------------------


def read_response(w: Node, r: Reader) -> Node:
    """Read a completion, or the error that a server sent in its place. Raises `IllTyped` for invalid choices."""
    node: Node = {}
    r.seed = w["id"] if type(w.get("id")) is str else ""
    choices = w.get("choices")
    if (w.get("error") or failed(w, r)) and not (type(choices) is list and choices):
        node["status"] = "failed"
        node["error"] = read_error_node(w, r)
        w.pop("choices", None)
        r.form(node, "choices", "absent" if "choices" not in r.doc else "null" if choices is None else "empty")
        if w.get("object") == COMPLETION:
            r.form(node, "object", "present")
    if "error" not in node:
        if type(choices) is list and choices:
            del w["choices"]
            for place, wire in enumerate(choices):
                _read_choice(wire, place, node, r)
        elif choices is None or type(choices) is list:
            r.form(node, "choices", "absent" if "choices" not in w else "null" if choices is None else "empty")
            w.pop("choices", None)
            node["output"] = []
        else:
            raise IllTyped("choices")
        if "object" not in w:
            r.form(node, "object", "absent")
    read_head(w, node)
    if type(w.get("usage")) is dict:
        node["usage"] = read_usage(w.pop("usage"), r)
        r.lay(node, USAGE_PLACES)
    elif w.get("usage") is None and has_timings(w):
        if "usage" in w:
            del w["usage"]
            r.form(node, "usage", "null")
        node["usage"] = read_timings(w, r, w)
    elif "usage" in w and w["usage"] is None:
        node["usage"] = w.pop("usage")
    return node


def read_head(w: Node, node: Node) -> None:
    """What stands beside the choices of an answer or a chunk."""
    if w.get("object") == COMPLETION:
        del w["object"]
    RESPONSE.read(w, node)


def _read_choice(wire: Any, place: int, node: Node, r: Reader) -> None:
    failure = wire.get("error") if type(wire) is dict and place == 0 else None
    if type(failure) is dict and failure:
        # Routers send it where the answer begins, or beside as much of it as there was.
        node["status"], node["error"] = "failed", read_error_node({"error": failure}, r)
        r.form(node, "error", "choice")
    bare = type(wire) is dict and _is_bare(wire)
    if type(wire) is not dict or not (bare or type(wire.get("message")) is dict):
        items = [r.unread(wire, _choices.name)]
        finish = None
    else:
        rest = wire.copy()
        if "error" in node:
            del rest["error"]
        message: Node = {} if bare else take(rest, "message")
        items = read_message_items(message, {} if bare else wire["message"], place, r, [], answer=True)
        if bare:
            r.form(items[0], "message", "null" if "message" in rest else "absent")
            rest.pop("message", None)
        finish = message_and_choice(items, rest, message, wire, place, r)
    if place == 0:
        node["output"] = items
        if finish:
            node["finish"] = finish
            _place_finish(node, ("choices", 0), finish, items, r)
        return
    choice = {"index": place, "output": items, **({"finish": finish} if finish else {})}
    if finish:
        _place_finish(choice, (), finish, items, r)
    node.setdefault("choices", []).append(r.made(choice, wire if type(wire) is dict else {}))


def _is_bare(wire: Node) -> bool:
    """Whether a choice has an end and no message: Azure filters the whole text of an answer so."""
    return (
        wire.get("message") is None
        and type(wire.get("finish_reason")) is str
        and "text" not in wire
        and not wire.get("delta")
    )


def _place_finish(node: Node, above: tuple[Any, ...], finish: Node, items: list[Node], r: Reader) -> None:
    r.place(node, ("finish", "reason"), (*above, "finish_reason"))
    beside = items[0]["extra"][r.protocol]["form"].get("finish") == "beside"
    r.place(node, ("finish", "native"), (*above, "native_finish_reason" if beside else "finish_reason"))


def message_and_choice(items: list[Node], rest: Node, message: Node, wire: Node, place: int, r: Reader) -> Node | None:
    """Read what a choice has beside its message's items; the leftovers of both go to the first item. The finish."""
    first = items[0]
    r.form(first, "turn", "choice")
    if "role" not in message:
        r.form(first, "role", "absent")
    elif message["role"] == "assistant":
        del message["role"]
    if "index" not in rest:
        r.form(first, "place", "absent")
    elif rest["index"] == place and type(rest["index"]) is int:
        del rest["index"]
    delta = rest.get("delta")
    if delta and type(delta) is dict and delta.items() <= _HOLLOW_DELTA.items():
        r.form(first, "delta", list(rest.pop("delta")))
    _read_logprobs(rest, items, wire, r)
    finish = read_finish(rest, items, r)
    r.turn(items, wire, rest, place)
    return finish


def _read_logprobs(rest: Node, items: list[Node], wire: Node, r: Reader) -> None:
    logprobs = rest.get("logprobs", 0)
    if logprobs is None:
        del rest["logprobs"]
        r.form(items[0], "logprobs", "null")
    if type(logprobs) is not dict:
        return
    if not logprobs or logprobs == {"content": None, "refusal": None}:
        del rest["logprobs"]
        r.form(items[0], "logprobs", "nulls" if logprobs else "empty")
        return
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    own = take(rest, "logprobs")
    for key, kind in (("content", "output_text"), ("refusal", "refusal")):
        part = next((part for part in parts if part.get("type") == kind), None)
        if part is not None and type(own.get(key)) is list:
            # In a stream those of the text are there; some servers go on with those of the calls.
            part["logprobs"] = [*(part.get("logprobs") or ()), *own.pop(key)]
            r.made(part, wire)
            r.place(part, ("logprobs",), ("logprobs", key))
            r.place(part, ("annotations",), ("message", "annotations"))
            r.place(part, ("text",), ("message", "content"))
            r.place(part, ("refusal",), ("message", "refusal"))


# ---- writing --------------------------------------------------------------------------------------------------------


def write_response(c: Node, w: Writer) -> Any:
    """Write a completion; one that failed without output becomes an error document."""
    inside = w.form(c, "error") == "choice" and c.get("error")
    if (c.get("status") == "failed" or (c.get("error") and not c.get("output"))) and not inside:
        return _write_failure(c, w)
    wire: Node = {}
    if w.source is None and not is_born_here(w.doc, w):
        # Of another protocol, or built by hand: completed like an answer that is converted.
        w.source = ""
    consume_status(c, w)
    write_head(c, wire, w)
    form = w.form(c, "choices")
    output = c.pop("output", None)
    if not output and form:
        c.pop("finish", None)
        if form != "absent":
            wire["choices"] = None if form == "null" else []
    else:
        wire["choices"] = [_write_choice(output or [], finish_word(c, w.doc, output, w), 0, w)]
        for place, choice in enumerate(c.pop("choices", None) or (), 1):
            wire["choices"].append(w.piece(partial(_write_other, node=choice, place=place), choice))
        if inside:
            c.pop("status", None)
            body = write_error_body(c.pop("error"), w)
            wire["choices"][0] = {**body, **wire["choices"][0]}
    usage = c.get("usage")
    if is_in_timings(usage, w):
        wire[TIMINGS] = whole(w, write_timings, c.pop("usage"))
        if w.form(c, "usage") == "null":
            wire["usage"] = None
    elif type(usage) is dict:
        del c["usage"]
        counts = whole(w, write_usage, usage)
        if is_told(counts, usage, w):
            wire["usage"] = counts
    elif "usage" in c:
        wire["usage"] = c.pop("usage")
    return wire


def consume_status(c: Node, w: Writer) -> None:
    """Pop what `finish_reason` represents; where it is all there is, it becomes the finish."""
    reason = None
    if type(c.get("incomplete_details")) is dict:
        reason = take(c, "incomplete_details").pop("reason", None)
    status = c.get("status")
    if status in _SAID:
        del c["status"]
        w.report(w.doc, ("status",), "approximated", "represented by finish_reason")
    if (status == "cancelled" or status in UNDER_WAY) and not c.get("finish"):
        del c["status"]
        w.report(w.doc, ("status",), "approximated", "represented by finish_reason")
        c["finish"] = {"reason": "cancelled" if status == "cancelled" else "other"}
    if not c.get("finish") and (status == "incomplete" or reason):
        c["finish"] = {
            "reason": {"content_filter": "safety", "max_output_tokens": "length"}.get(reason or "", "length")
        }
        if reason is None:
            w.context["made finish"] = True
    if "error" in c and not c["error"]:
        del c["error"]
    if c.get("object") == "response":
        del c["object"]
        w.report(w.doc, ("object",), "approximated", f"sent as {COMPLETION!r}")


_SAID = frozenset(("completed", "incomplete", "requires_action", "idle"))


def write_head(c: Node, wire: Node, w: Writer) -> None:
    """The fields every answer has, made up where the source has none; the client's own name for the model."""
    kept = ((c.get("extra") or {}).get(w.protocol) or {}).get("rest") or {}
    bare = w.form(c, "object") == "absent"
    RESPONSE.write(c, wire, w, w.doc)
    if not is_born_here(w.doc, w):
        _add_missing(wire, w)
        if type(wire.get("created")) is float:
            # The key is an integer for the API's clients.
            if not wire["created"].is_integer():
                w.report(w.doc, ("created_at",), "approximated", "whole seconds")
            wire["created"] = int(wire["created"])
    alias = w.exchange.alias if w.exchange is not None else None
    if alias and wire.get("model") != alias:
        if wire.get("model"):
            w.http.setdefault("headers", {})["x-resolved-model"] = wire["model"]
        wire["model"] = alias
    if "object" not in kept and not bare:
        wire["object"] = COMPLETION


def is_born_here(response: Node, w: Writer) -> bool:
    """Whether an answer was read from this API, as far as it shows."""
    first: Node = next(iter(response.get("output") or ()), {})
    return w.protocol in (response.get("extra") or {}) or w.form(first, "turn") == "choice"


def _add_missing(wire: Node, w: Writer) -> None:
    if type(wire.get("id")) is not str:
        wire["id"] = made_id("chatcmpl", w.seed)
        w.added(wire, "id")
    if wire.get("created") is None:
        asked = w.exchange.created_at if w.exchange is not None else None
        wire["created"] = 0 if asked is None else asked
        w.added(wire, "created", "no timestamp in the source")
    if wire.get("model") is None:
        wire["model"] = w.model or (w.exchange.model if w.exchange is not None else None) or ""
        w.added(wire, "model")


def _write_other(c: Node, w: Writer, node: Node, place: int) -> Any:
    output = c.pop("output", None)
    return _write_choice(output or [], finish_word(c, node, output, w), c.pop("index", place), w)


def _write_choice(output: list[Node], word: Any, index: Any, w: Writer) -> Any:
    first = output[0] if output else None
    marked = w.marked(first) if first is not None else ()
    if first is not None and "native" in marked and w.form(first, "native") == _choices.name:
        return first["extra"][w.protocol]["rest"]
    message, logprobs = write_answer(output, w)
    chat_born = first is not None and "turn" in marked and w.form(first, "turn") == "choice"
    kept = ((first or {}).get("extra") or {}).get(w.protocol, {}).get("turn") or {}
    wire: Node = {"index": index, "message": message}
    if not output:
        w.added(wire, "message", "required in each choice; empty message written")
    if "index" in kept or (first is not None and "place" in marked and w.form(first, "place") == "absent"):
        del wire["index"]
    marker = w.form(first, "finish") if first is not None and "finish" in marked else None
    if "finish_reason" in kept:
        w.context.pop("made finish", None)
    elif word is not None or not chat_born:
        wire["finish_reason"] = word
    elif marker != "absent":
        wire["finish_reason"] = "" if marker == "empty" else None
    unsaid = w.form(first, "logprobs") if first is not None and "logprobs" in marked else None
    if unsaid == "nulls":
        logprobs = {"content": None, "refusal": None, **logprobs}
    if logprobs and not chat_born:
        logprobs = {"content": None, "refusal": None, **logprobs}
    if w.context.pop("made finish", False):
        w.added(wire, "finish_reason", "derived from the response content")
    if logprobs or not chat_born or unsaid:
        wire["logprobs"] = logprobs if logprobs or unsaid == "empty" else None
    if chat_born and first is not None:
        said = kept.get("message")
        if (type(said) is dict and "role" in said) or ("role" in marked and w.form(first, "role") == "absent"):
            del message["role"]
        form = w.form(first, "message") if "message" in marked else None
        if form is not None and not message:
            wire["message"] = None
            if form == "absent":
                del wire["message"]
        hollow = w.form(first, "delta") if "delta" in marked else None
        if hollow is not None:
            wire["delta"] = {key: _HOLLOW_DELTA[key] for key in hollow}
        native_word = w.context.pop("native finish", None)
        if native_word is not None:
            wire["native_finish_reason"] = native_word
        return w.turn(first, wire)
    native_word = w.context.pop("native finish", None)
    if native_word is not None:
        wire["native_finish_reason"] = native_word
    if first is not None:
        wire["message"] = w.turn(first, message)
    return wire


def _write_failure(c: Node, w: Writer) -> Node:
    """A failed response as the error body of a failed request."""
    if c.get("status") == "failed":
        del c["status"]
    error = c.pop("error", None) or {"type": "server_error", "message": "the response failed"}
    if w.source != w.protocol:
        write_http(error, w)
    wire: Node = placed(error, write_error_body(error, w), "flat" if marked_places(error, w) else None, w)
    form = w.form(c, "choices")
    if form:
        RESPONSE.write(c, wire, w, w.doc)
        if form != "absent":
            wire["choices"] = None if form == "null" else []
        if w.form(c, "object") == "present":
            wire["object"] = COMPLETION
        usage = c.pop("usage", None)
        if type(usage) is dict:
            wire["usage"] = whole(w, write_usage, usage)
    if not c.get("output"):
        c.pop("output", None)
    if c.get("object") == "response":
        c["object"] = Fated("approximated", "sent as an error")
    return wire
