"""Responses: the Interaction resource, its steps as output, its status, usage and errors.

`status` has words of its own and they stay: `completed` may still hold open calls, `requires_action` means that it
does. A finish reason of other protocols is written as the status that means it; an answer that failed since it was
blocked, which the code of an error marks, is one that ended for safety. An interaction of older servers has `outputs`
in place of `steps`; it is read, and written back to its own protocol alone.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, lookup, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import refuses, waits

from .errors import read_error, read_error_body, write_error_body, write_failure
from .request.document import read_input, write_input
from .request.settings import read_settings, write_settings
from .turns.answered_calls import mark_answered
from .turns.timeline import read_steps, write_steps
from .values.tables import CODES, RESPONSE
from .values.usage import read_usage, write_usage

__all__ = ["note_pending", "read_response", "read_time", "write_response"]

Node = dict[str, Any]

_OBJECT = "interaction"

# Why an answer ended, by the status for it; other statuses are missing.
_FINISH = {
    "incomplete": "length",
    "budget_exceeded": "length",
    "cancelled": "cancelled",
    "requires_continuation": "pause",
}
_STATUS = {
    "stop": "completed",
    "stop_sequence": "completed",
    "refusal": "failed",
    "tool_calls": "requires_action",
    "length": "incomplete",
    "context_window": "incomplete",
    "pause": "incomplete",
    "cancelled": "cancelled",
    "safety": "failed",
    "recitation": "failed",
    "malformed_call": "failed",
    "error": "failed",
    "other": "incomplete",
}
# Finish reasons that an error code represents.
_CODED = {
    "safety": "safety",
    "refusal": "content_blocked",
    "recitation": "recitation",
    "malformed_call": "malformed_function_call",
}
_BLOCKED = {code: "recitation" if "recitation" in code else "safety" for code in CODES["content_filter"]}
_BROKEN = ("malformed_function_call", "malformed_tool_call", "unexpected_tool_call")
# Failures that its sister protocol names in capitals, as finish reasons.
_FAILURES = frozenset(("no_image", "image_other", "too_many_tool_calls", "missing_thought_signature"))
# What ended an answer and is an error: the sister protocol has its text and its usage beside it.
_ENDED = ("no_image", "too_many_tool_calls", "missing_thought_signature")
_REASONS = {**_BLOCKED, **dict.fromkeys(_BROKEN, "malformed_call"), **dict.fromkeys(_ENDED, "error")}
_NAMES = {reason: status for status, reason in _FINISH.items()}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_response(w: Node, r: Reader) -> Node:
    """Read an interaction, or the error document of a failed request."""
    if type(w.get("error")) is dict and not w.keys() & {"steps", "outputs", "status"}:
        # The body of a failed request, whatever its status was.
        failure: Node = {"status": "failed", **read_error(w, r)}
        r.form(failure, "body", "error")
        return failure
    node: Node = {}
    if w.get("object") == _OBJECT:
        del w["object"]
    else:
        r.form(node, "object", "absent")
    if w.get("id") == "":
        del w["id"]  # what is not stored has no id; a stream has an empty one
        r.form(node, "id", "empty")
    _read_times(w, node, r)
    read_input(w, node, r)
    if type(w.get("steps")) is list:
        node["output"] = read_steps(w.pop("steps"), r)
        mark_answered(node["output"], r)
    elif type(w.get("outputs")) is list:
        node["output"] = read_steps(w.pop("outputs"), r, "assistant")
        r.form(node, "steps", "outputs")
    read_settings(w, node, r, RESPONSE)
    if type(w.get("usage")) is dict:
        _read_usage(w, node, r)
    elif w.get("usage", 0) is None:
        node["usage"] = w.pop("usage")
    if type(w.get("errors")) is list and not (w.get("status") == "failed" and _read_block(w, node, r)):
        _read_errors(w, node, r)
    if "status" in w:
        _read_status(w, node, r)
    else:
        r.form(node, "status", "absent")
    return node


def _read_usage(w: Node, node: Node, r: Reader) -> None:
    source = w["usage"]
    usage = take(w, "usage")
    if not usage:
        r.form(node, "usage", "empty")
    node["usage"] = read_usage(usage, source, r)
    if usage:
        r.keep(node["usage"], usage)
    del w["usage"]


def _read_block(w: Node, node: Node, r: Reader) -> bool:
    """An answer that was blocked, or broke off in a call, has ended so: for other protocols that is not an error."""
    source = w["errors"]
    if not source or not all(type(each) is dict for each in source):
        return False
    code = source[0].get("code")
    reason = lookup(_REASONS, code)
    if reason is None:
        return False
    first = take_all(w, "errors")[0]
    del first["code"]
    finish = node["finish"] = {"reason": reason}
    for keys in (("finish",), ("finish", "reason")):
        r.place(node, keys, ("errors", 0, "code"))
    if code != _CODED.get(reason):
        finish["native"] = code
        r.place(node, ("finish", "native"), ("errors", 0, "code"))
    if type(first.get("message")) is str:
        finish["detail"] = first.pop("message")
        r.place(node, ("finish", "detail"), ("errors", 0, "message"))
    if len(source) > 1:
        r.form(node, "errors", len(source))
    return True


def _read_errors(w: Node, node: Node, r: Reader) -> None:
    source = w["errors"]
    if not source or not all(type(each) is dict for each in source):
        return
    owned = take_all(w, "errors")
    error = read_error_body(owned[0], r)
    if owned[0]:
        r.keep(error, owned[0])
    if len(owned) > 1:
        error["details"] = source[1:]
        for index in range(1, len(source)):
            r.place(error, ("details", index - 1), (..., *r.context.get("at", ()), "errors", index))
    del w["errors"]
    node["error"] = r.made(error, source[0])
    for key in ("type", "code"):
        r.place(error, (key,), ("code",))


def _read_status(w: Node, node: Node, r: Reader) -> None:
    status = w["status"]
    if type(status) is not str:
        r.form(node, "status", "unread")
        if status is None:
            node["status"] = w.pop("status")
        return
    node["status"] = w.pop("status")
    reason = lookup(_FINISH, status)
    if reason is not None:
        node["finish"] = {"reason": reason}
        r.place(node, ("finish",), ("status",))
        r.place(node, ("status",), ("status",))
    elif status == "failed" and "finish" in node:
        node["status"] = "incomplete"
        r.place(node, ("status",), ("status",))
    note_pending(node, r)


def note_pending(node: Node, r: Reader) -> None:
    """`completed` stays what it is, beside open calls too, where a writer would write `requires_action`."""
    if node.get("status") == "completed":
        r.form(node, "status", "completed")


def _read_times(w: Node, node: Node, r: Reader) -> None:
    for key, hub in (("created", "created_at"), ("updated", "completed_at")):
        if type(w.get(key)) is str:
            if key == "updated" and w.get("status") in ("in_progress", "queued"):
                continue
            seconds = read_time(w[key])
            if seconds is not None:
                node[hub] = seconds
                r.place(node, (hub,), (key,))
                del w[key]


def read_time(text: str) -> int | float | None:
    """Seconds since 1970; None for what would not come back as it is written."""
    try:
        moment = datetime.fromisoformat(text)
        stamp = moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    seconds: int | float = int(stamp) if stamp == int(stamp) else stamp
    return seconds if _time(seconds) == text else None


def _time(seconds: int | float) -> str | None:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="seconds" if type(seconds) is int else "auto").replace("+00:00", "Z")


# ---- writing --------------------------------------------------------------------------------------------------------


def write_response(c: Node, w: Writer) -> Node:
    """Write an interaction; a body that was read as an error is written as one."""
    if w.form(c, "body") == "error" and type(c.get("error")) is dict:
        c.pop("status", None)
        return {"error": write_failure(c.pop("error"), w)}
    wire: Node = {}
    if type(c.get("output")) is list:
        items = c.pop("output")
        if w.context.get("streamed"):
            pass  # its steps were streamed
        elif w.form(c, "steps") == "outputs":
            wire["outputs"] = write_steps(items, w, bare=True)
        else:
            wire["steps"] = write_steps(items, w)
    if "input" in c:
        wire["input"] = write_input(c, w)
    echo = type(c.get("instructions")) is list
    if echo:
        del c["instructions"]
    if type(c.get("choices")) is list:
        for choice in c["choices"]:
            w.drop(choice, "google-interactions returns one response")
        del c["choices"]
    write_settings(c, wire, w, RESPONSE)
    if echo:
        c["instructions"] = Fated("lost", "an echo of the request")
    _write_status(c, wire, w)
    if type(c.get("usage")) is dict:
        usage = c["usage"]
        del c["usage"]
        written = w.piece(write_usage, usage)
        if written or w.form(c, "usage") == "empty":
            wire["usage"] = written
    elif "usage" in c:
        wire["usage"] = c.pop("usage")
    for key, hub in (("created", "created_at"), ("updated", "completed_at")):
        if type(c.get(hub)) in (int, float):
            text = _time(c[hub])
            if text is not None:
                wire[key] = text
                del c[hub]
    alias = w.exchange.alias if w.exchange is not None else None
    if alias and ("model" in wire or w.crosses):
        wire["model"] = alias
    if w.form(c, "id") == "empty" and "id" not in wire:
        wire["id"] = ""
    if w.form(c, "object") != "absent":
        wire["object"] = _OBJECT
    return wire


def _write_status(c: Node, wire: Node, w: Writer) -> None:
    """The status and the errors that the canonical status, finish and error mean together."""
    said, finish = c.get("status"), c.get("finish")
    reason = finish.get("reason") if type(finish) is dict else None
    status = said
    if reason is not None and (
        said in (None, "completed") or (said == "incomplete" and (reason in _CODED or reason == "error"))
    ):
        status = _STATUS.get(reason, said or "completed")
    elif said in (None, "completed") and not w.form(c, "status"):
        answer = w.context.get("answer") or w.doc
        refused = refuses(answer.get("output") or ()) and not waits(answer.get("output") or [])
        failed = refused or (said is None and type(c.get("error")) is dict)
        status = "failed" if failed else "requires_action" if waits(answer.get("output") or []) else "completed"
        if refused and type(c.get("error")) is not dict:
            wire["errors"] = [{"code": _CODED["refusal"]}]
    if reason == "pause" and status == "incomplete" and "continuation_token" in wire:
        status = "requires_continuation"
    form = w.form(c, "status")
    if form == "unread" and said is None:
        if "status" in c:
            wire["status"] = None
    elif form != "absent" or status not in (None, "completed"):
        wire["status"] = status
        if said is None and reason is None:
            w.added(wire, "status", "an interaction has one")
        elif said == "incomplete" and reason is None and w.source not in (None, w.protocol):
            w.added(wire, "status", "no reason in the source")
    if said not in (None, status) and w.source is None:
        c["status"] = Fated("approximated", f"sent as {status}")
    elif said == "incomplete" and reason is not None and w.source not in (None, w.protocol):
        c["status"] = Fated("approximated", "one value represents it and the reason")
    else:
        c.pop("status", None)
    error = c.get("error")
    if type(error) is dict:
        del c["error"]
        wire["errors"] = _write_errors(error, w)
    if type(finish) is dict:
        own = take(c, "finish")
        # A status that means the same, though it is not read as that: reported to protocols that have it on their own
        # wire.
        meant = status in (_STATUS.get(reason or ""), _NAMES.get(reason or "")) and w.source not in (None, w.protocol)
        told = meant or reason == (lookup(_FINISH, status) or (reason if status == "failed" else None))
        if told and reason in _CODED:
            if error is None:
                wire["errors"] = _write_block(own, c, w)
            # A refusal has no code of its own: it is read as a block for safety.
            told = lookup(_REASONS, (error or wire["errors"][0]).get("code")) == reason
        elif told and error is None and (first := _write_failure(own)):
            wire["errors"] = [first, *({} for _ in range(1, w.form(c, "errors") or 1))]
        if told:
            own.pop("reason", None)
        elif reason is not None:
            own["reason"] = Fated("approximated", f"sent as {status}")


def _write_block(finish: Node, c: Node, w: Writer) -> list[Node]:
    """The inverse of `_read_block`, `finish` being popped from. Its sister protocol has the same words in capitals."""
    native = finish.get("native")
    code = native.lower() if type(native) is str else None
    if lookup(_REASONS, code) == finish["reason"]:
        finish["native"] = Fated("approximated", f"sent as {code!r}")
        if native == code:
            del finish["native"]
    else:
        code = _CODED[finish["reason"]]
    first = {"code": code}
    if type(finish.get("detail")) is str:
        first["message"] = finish.pop("detail")
    return [first, *({} for _ in range(1, w.form(c, "errors") or 1))]


def _write_failure(finish: Node) -> Node:
    """The error of a failure: its code, if there is one, and why it failed, `finish` being popped from."""
    first: Node = {}
    native = finish.pop("native", None)
    code = str(native).lower()
    if code in _FAILURES:
        first["code"] = code
    if native not in (None, first.get("code")):
        finish["native"] = Fated("approximated", f"sent as {code!r}") if first else native
    if finish.get("reason") == "error" and type(finish.get("detail")) is str:
        first["message"] = finish.pop("detail")
    return first


def _write_errors(error: Node, w: Writer) -> list[Any]:
    w.context["class"] = error.get("type")
    details = error.get("details")
    if type(details) is list and w.form(error, "code") is None:
        return [w.piece(_write_first, error), *details]
    return [w.piece(write_error_body, error)]


def _write_first(c: Node, w: Writer) -> Node:
    del c["details"]
    return write_error_body(c, w)
