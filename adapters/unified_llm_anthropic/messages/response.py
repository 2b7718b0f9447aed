"""Answers of Messages: one message whose blocks are the items of the output.

Why it ended is read to one canonical finish and written from it; where the source has no such word, it is
computed, and open calls win over a plain stop. A failed response has no form of its own here: it is the error body a
failed request gets.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Shape, integer
from unified_llm.engine.pairs.mapping import Fated, IllTyped, Owned, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import (
    CALLS,
    RAN,
    answered_by_tools,
    call_id_of,
    consume_status,
    has_failed,
    is_run_by_provider,
    reason_of,
    settle_call,
    write_failure,
)
from unified_llm.foundation.generated_ids import made_id

from .calls.hosted import is_hosted
from .errors import read_error, write_error
from .parts.content import own_born
from .turns.messages import read_content, role_of, write_blocks
from .values.tables import FINISH, PROTOCOL, RESPONSE, SERVED_TIER
from .values.usage import read_usage, write_usage

__all__ = [
    "answered",
    "count",
    "finish_keys",
    "no_content",
    "read_message",
    "read_response",
    "write_head",
    "write_response",
]

Node = dict[str, Any]


# ---- reading --------------------------------------------------------------------------------------------------------


def read_response(w: Node, r: Reader) -> Node:
    """Read a message, or the error document of a failed request."""
    if w.get("type") == "error":
        doc = w.copy()
        w.clear()
        node = read_error(doc, r)
        if doc:
            r.keep(node, doc)
        return {"status": "failed", **node}
    # Ollama's server has null for an answer without a block. https://docs.ollama.com/api/anthropic-compatibility
    content = w.pop("content", None) if w.get("type") == "message" else w.pop("content")
    if type(content) is not list and content is not None:
        raise IllTyped("content")
    node = read_message(w, r)
    node["output"] = read_content(content, "assistant", r.doc, r) if content is not None else no_content(node, r.doc, r)
    return node


def no_content(node: Node, message: Node, r: Reader) -> list[Node]:
    """The output of a message without a list of blocks."""
    if "content" not in message:
        r.form(node, "content", "absent")
    elif message["content"] is None:
        r.form(node, "content", "null")
    return []


def read_message(w: Node, r: Reader) -> Node:
    """The fields of a message beside its content; pops the known ones."""
    node: Node = {}
    r.form(node, "own", True)
    for key, value in (("type", "message"), ("role", "assistant")):
        if w.get(key) == value:
            del w[key]
        elif key not in w:
            r.form(node, key, "absent")
    RESPONSE.read(w, node)
    _read_finish(w, node, r)
    if type(w.get("usage")) is dict:
        usage = w.pop("usage")
        inner = usage.copy()
        tier = inner.get("service_tier", 0)
        if tier is None or type(tier) is str:
            node["service_tier"] = SERVED_TIER.read(inner.pop("service_tier"))
            r.place(node, ("service_tier",), ("usage", "service_tier"))
        node["usage"] = read_usage(inner, r)
        r.trace.append((node["usage"], usage))
    elif w.get("usage", 0) is None:
        node["usage"] = w.pop("usage")
    return node


def _read_finish(w: Node, node: Node, r: Reader) -> None:
    reason, stop, details = w.get("stop_reason"), w.get("stop_sequence"), w.get("stop_details")
    finish: Node = {}
    if type(reason) is str:
        del w["stop_reason"]
        known = FINISH.reads.get(reason)
        finish = node["finish"] = {"reason": known or "other"}
        r.place(node, ("finish", "reason"), ("stop_reason",))
        if known is None or FINISH.write(known) != reason:
            finish["native"] = reason
            r.place(node, ("finish", "native"), ("stop_reason",))
    elif "stop_reason" in w and reason is None:
        del w["stop_reason"]
    else:
        r.form(node, "stop_reason", "absent")
    if "stop_sequence" not in w:
        r.form(node, "stop_sequence", "absent")
    elif stop is None:
        del w["stop_sequence"]
    elif type(stop) is str and finish.get("reason") == "stop_sequence":
        finish["detail"] = w.pop("stop_sequence")
        r.place(node, ("finish", "detail"), ("stop_sequence",))
    else:
        r.form(node, "stop_sequence", "absent")  # it stays where it is
    if "stop_details" in w and details is None:
        del w["stop_details"]
        r.form(node, "stop_details", "null")
    elif type(details) is dict and finish and "detail" not in finish:
        if details.get("type") == "refusal" and type(details.get("explanation")) is str:
            _read_explanation(take(w, "stop_details"), node, r)


def _read_explanation(own: Node, node: Node, r: Reader) -> None:
    """The text of an object that explains a refusal; its category stays, which no other protocol has.

    https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
    """
    del own["type"]
    node["finish"]["detail"] = own.pop("explanation")
    r.place(node, ("finish", "detail"), ("stop_details", "explanation"))
    r.form(node, "stop_details", "no category" if "category" not in own else "category" if own["category"] else "text")
    if own.get("category", 0) is None:
        del own["category"]


# ---- writing --------------------------------------------------------------------------------------------------------


def write_response(c: Node, w: Writer) -> Any:
    """Write a message; a response that failed without output becomes an error document."""
    own_born(w)
    if has_failed(c):
        return write_failure(c, w, write_error)
    output = c.pop("output", None) or []
    content = write_blocks(answered(output, w), w)
    if not own_born(w):
        # The API's description demands the key, and clients' own schemas (AI SDK) refuse null.
        for block in content:
            if block.get("type") == "text":
                block.setdefault("citations", [])
    return write_head(c, content, output, w)


def answered(output: list[Node], w: Writer) -> list[Node]:
    """The items that an answer may hold: what users say and what their tools gave has no place in one.

    Nor has a call that was answered where it was made: a client would make it again.
    """
    if own_born(w):
        return output
    out: list[Node] = []
    results = answered_by_tools(output)
    for item in output:
        done = call_id_of(item) in results and not item.get("opaque")
        if is_run_by_provider(item) or (item.get("type") in _RESULTS and item.get("executor") == "provider"):
            w.drop(item, RAN)
        elif item.get("type") in CALLS and done:
            w.piece(_settled, item)
        elif (item.get("type") == "shell_call" and is_hosted(item, w)) or role_of(item, w) == "assistant":
            out.append(item)
        elif str(item.get("type")).endswith("_output"):
            w.piece(_settled, item)
        else:
            w.drop(item, _NOT_SAID)
    return out


_RESULTS = frozenset(f"{call}_output" for call in CALLS)
_NOT_SAID = "an answer holds messages of the assistant only"


def _settled(c: Node, w: Writer) -> Node:
    settle_call(c, "stop_reason", _NOT_SAID)
    return {}


_REUSABLE = "comparison_reusable_tokens"


def write_head(c: Node, content: list[Any], output: list[Node], w: Writer) -> Node:
    """The message around its content."""
    own = own_born(w)
    wire: Node = {}
    head: Node = {}
    diagnostics = c.get("prompt_cache_diagnostics")
    if type(diagnostics) is dict and _REUSABLE in diagnostics:
        c["prompt_cache_diagnostics"] = {key: value for key, value in diagnostics.items() if key != _REUSABLE}
        w.report(w.doc, ("prompt_cache_diagnostics", _REUSABLE), "lost", "counted for a cache miss by OpenAI only")
    RESPONSE.write(c, head, w, w.doc)
    for key in ("container", "diagnostics"):
        if head.get(key) is None and not own:
            head.pop(key, None)
    if type(head.get("container")) is str and not own:
        c["container"] = Fated("lost", "foreign")
        del head["container"]
    if not own:
        _add_missing(head, w)
    alias = w.exchange.alias if w.exchange is not None else None
    if alias and head.get("model") != alias:
        if head.get("model"):
            w.http.setdefault("headers", {})["x-resolved-model"] = head["model"]
        head["model"] = alias
    if "id" in head:
        wire["id"] = head.pop("id")
    if c.get("extra"):
        kept = (c["extra"].get(w.protocol) or {}).get("rest") or {}
        for key, value in (("type", "message"), ("role", "assistant")):
            if w.form(c, key) != "absent" and key not in kept:
                wire[key] = value
    else:
        wire["type"], wire["role"] = "message", "assistant"
    wire.update(head)
    form = w.form(c, "content") if own and not content else None
    if form != "absent":
        wire["content"] = None if form == "null" else content
    write_finish(c, wire, output, w)
    tier = c.pop("service_tier", None) if "service_tier" in c else ...
    usage = c.get("usage")
    if type(usage) is dict:
        del c["usage"]
        doc = w.doc
        wire["usage"] = w.root(write_usage, usage)
        w.doc = doc
    elif "usage" in c and own:
        wire["usage"] = c.pop("usage")
    elif not own:
        c.pop("usage", None)
        wire["usage"] = {"input_tokens": 0, "output_tokens": 0, **dict.fromkeys(CACHED, 0)}
        w.added(wire, "usage", "no value in the source")
    if tier is not ...:
        if type(wire.get("usage")) is dict and (own or tier in SERVED_TIER.writes or tier in ("priority", "batch")):
            if tier is not None or own:
                wire["usage"]["service_tier"] = SERVED_TIER.write(tier)
        else:
            c["service_tier"] = tier
    if not own:
        consume_status(c, "stop_reason", "sent as type 'message'")
        for place, keys in ((wire, NULLABLE), (wire["usage"], NULLABLE_COUNTS)):
            for key in keys:
                place.setdefault(key, None)
        for key in CACHED:
            if wire["usage"][key] is None:
                wire["usage"][key] = 0
                w.added(wire["usage"], key, "count not in the source; 0 written")
    for choice in c.pop("choices", None) or ():
        w.drop(choice, "anthropic-messages returns one response")
    return wire


CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Counts that the API always has as numbers, and that clients add to the others, though its types allow null."""
NULLABLE = ("container", "stop_details")
NULLABLE_COUNTS = (
    "cache_creation",
    *CACHED,
    "inference_geo",
    "output_tokens_details",
    "server_tool_use",
    "service_tier",
)
"""The fields that are null by default in a message, and in its usage: clients' types have these keys in every message.

https://docs.claude.com/en/api/messages
"""


def _add_missing(head: Node, w: Writer) -> None:
    if type(head.get("id")) is not str:
        head["id"] = made_id("msg", w.seed)
        w.added(head, "id")
    if head.get("model") is None:
        head["model"] = w.model or (w.exchange.model if w.exchange is not None else None) or ""
        w.added(head, "model")


_CLIENT_CALLS = CALLS | {"shell_call", "computer_call"}


_EXPLAINED = ("text", "category", "no category")


def write_finish(c: Node, wire: Node, output: list[Node], w: Writer) -> None:
    own = own_born(w) or bool(w.form(c, "own"))
    finish = c.get("finish")
    given = finish if type(finish) is dict else None
    said = given if own else {**(given or {}), "reason": reason_of(c, output, _CLIENT_CALLS)}
    c.pop("finish", None)
    wire["stop_reason"] = None
    wire["stop_sequence"] = None
    if "extra" in c:
        if w.form(c, "stop_reason") == "absent":
            del wire["stop_reason"]
        if w.form(c, "stop_sequence") == "absent":
            del wire["stop_sequence"]
        if w.form(c, "stop_details") == "null":
            wire["stop_details"] = None
    if said is None:
        return
    unsaid = c.get("status") == "incomplete" and not c.get("incomplete_details")
    if not own and finish is None and (c.get("status") is None or unsaid):
        w.added(wire, "stop_reason", "no value in the source" + (" why" if unsaid else ""))
    reason, native, detail = said.get("reason"), said.get("native"), said.get("detail")
    word = FINISH.write(reason)
    if own and type(native) is str and FINISH.reads.get(native, "other") == reason:
        word, native = native, None
    wire["stop_reason"] = word
    left: Node = {}
    if native is not None:
        left["native"] = Fated("approximated", f"sent as {word!r}")
    known = given.get("reason") if given is not None else None
    if known is not None and FINISH.read(word) != known and not (known == "other" and own):
        left["reason"] = Fated("approximated", f"sent as {word!r}")
    if detail is not None:
        if reason == "stop_sequence" and type(detail) is str:
            wire["stop_sequence"] = detail
        elif type(detail) is str and (word == "refusal" if not own else w.form(c, "stop_details") in _EXPLAINED):
            wire["stop_details"] = {"type": "refusal", "explanation": detail}
            if w.form(c, "stop_details") not in ("category", "no category"):
                wire["stop_details"]["category"] = None
        else:
            left["detail"] = detail
    if left:
        c["finish"] = Owned(left)


def finish_keys() -> tuple[str, ...]:
    """The keys of a message with the reason of its end, as a message_delta repeats them."""
    return ("stop_reason", "stop_sequence", "stop_details")


# ---- counting -------------------------------------------------------------------------------------------------------


count = Shape(
    {"input_tokens": integer("input_tokens").required(0, "no value in the source")},
    name=f"{PROTOCOL} count",
    node="usage",
)
