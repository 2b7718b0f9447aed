"""Why a candidate ended: `finishReason`, a blocked prompt, and the meaning of a status without a reason.

Function calls end with STOP here, which is read with the calls as what it means; a refusal in words is plain text, so
that only the end determines what it is.

https://ai.google.dev/api/generate-content#FinishReason
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import is_run_by_provider, refuses

from .enums import MARKER, number_of, take_name
from .tables import BLOCKED, FINISH

__all__ = ["finish_of", "is_refused", "read_block", "read_finish", "write_block", "write_finish"]

Node = dict[str, Any]

_CALLS = frozenset(("function_call", "custom_tool_call"))
_FAILED = frozenset(("safety", "recitation", "malformed_call", "error"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))


# ---- reading --------------------------------------------------------------------------------------------------------


def _waits(output: list[Node]) -> bool:
    """Whether calls wait for the client: those that the answer does not hold the result of."""
    waiting = {item.get("call_id") for item in output if item["type"] in _CALLS}
    return bool(waiting) and not waiting <= {item.get("call_id") for item in output if item["type"] in _OUTPUTS}


def finish_of(word: str, calls: bool) -> tuple[str, bool]:
    """The canonical reason of a finishReason, and whether the word has to be kept to be written again."""
    reason = FINISH.reads.get(word, "other")
    if reason == "stop" and calls:
        return "tool_calls", False
    return reason, FINISH.write(reason) != word


def read_finish(own: Node, home: Node, output: list[Node], above: tuple[Any, ...], r: Reader) -> None:
    """The end of a candidate, popped from it."""
    take_name(own, "finishReason", "FinishReason", home, r)
    word = own.get("finishReason")
    if type(word) is not str:
        r.form(home, "end", "absent")
        return
    del own["finishReason"]
    reason, odd = finish_of(word, _waits(output))
    finish: Node = {"reason": reason}
    if odd:
        finish["native"] = word
        r.form(home, "finish", "native")
        r.place(home, ("finish", "native"), (*above, "finishReason"))
    if type(own.get("finishMessage")) is str:
        finish["detail"] = own.pop("finishMessage")
        r.place(home, ("finish", "detail"), (*above, "finishMessage"))
    r.place(home, ("finish",), (*above, "finishReason"))
    home["finish"] = finish


def read_block(w: Node, node: Node, r: Reader) -> None:
    """A prompt that was blocked: an empty answer that ended for safety."""
    feedback = w.get("promptFeedback")
    if "finish" in node or type(feedback) is not dict:
        return
    own = take(w, "promptFeedback")
    take_name(own, "blockReason", "BlockReason", node, r)
    if type(own.get("blockReason")) is not str:
        return
    word = own.pop("blockReason")
    node["finish"] = {"reason": "safety"}
    r.form(node, "blocked", True)
    r.place(node, ("finish",), ("promptFeedback", "blockReason"))
    if word != BLOCKED:
        node["finish"]["native"] = word
    if type(own.get("blockReasonMessage")) is str:
        node["finish"]["detail"] = own.pop("blockReasonMessage")
        r.place(node, ("finish", "detail"), ("promptFeedback", "blockReasonMessage"))


# ---- writing --------------------------------------------------------------------------------------------------------


def is_refused(output: list[Node]) -> bool:
    """Whether an answer refuses in words of its own and does not wait for the client."""
    calls = [item for item in output if item.get("type") in _CALLS and not is_run_by_provider(item)]
    return not calls and refuses(output)


def write_finish(c: Node, wire: Node, w: Writer) -> None:
    """`finishReason`, from the canonical end or, where there is none, from the status."""
    if type(c.get("finish")) is not dict:
        word = _from_status(c)
        if word == "STOP" and w.context.pop("refused", False):
            word = FINISH.write("refusal")
        if word is not None:
            wire["finishReason"] = word
        elif type(c.get("status")) is str:
            # Still under way, or stopped short in a way this API has no word for: no answer that is finished.
            c["status"] = Fated("approximated", "represented by finishReason")
            wire["finishReason"] = "OTHER"
        elif w.form(c, "end") != "absent":
            wire["finishReason"] = w.context.get("ended", "STOP")
            w.added(wire, "finishReason", "no finish reason in the source")
        return
    finish = take(c, "finish")
    reason, native = finish.get("reason"), finish.get("native")
    known = type(native) is str and FINISH.reads.get(native) == reason
    if known or (native is not None and w.form(c, "finish") == "native" and reason == "other"):
        word = native
        finish.pop("reason", None)
        del finish["native"]
    elif type(native) is str and _FAILED >= {reason, FINISH.reads.get(native.upper())}:
        # Its sister protocol has the same words in small letters.
        word = native.upper()
        finish.pop("reason", None)
        finish["native"] = Fated("approximated", f"sent as {word!r}")
    else:
        word = FINISH.writes.get(reason, "OTHER")
        if reason is not None and (FINISH.read(word) == reason or (reason == "tool_calls" and word == "STOP")):
            del finish["reason"]
        elif reason is not None:
            finish["reason"] = Fated("approximated", f"sent as {word!r}")
    wire["finishReason"] = number_of(word, "FinishReason", w.form(c, MARKER))
    if reason != "stop_sequence" and type(finish.get("detail")) is str:
        wire["finishMessage"] = finish.pop("detail")
    _from_status(c)


_STATUS = {"completed": "STOP", "requires_action": "STOP", "idle": "STOP", "cancelled": "OTHER", "failed": "OTHER"}
_INCOMPLETE = {"max_output_tokens": "MAX_TOKENS", "content_filter": "SAFETY"}


def _from_status(c: Node) -> str | None:
    """The word a status stands for, popped; None for one that has not ended, or is unknown."""
    status = c.get("status")
    if status in _STATUS:
        c["status"] = Fated("approximated", "represented by finishReason")
        return _STATUS[status]
    if status == "incomplete":
        details = c.get("incomplete_details")
        reason = details.get("reason") if type(details) is dict else None
        if reason in _INCOMPLETE:
            take(c, "incomplete_details")["reason"] = Fated("approximated", "represented by finishReason")
        c["status"] = Fated("approximated", "represented by finishReason")
        return _INCOMPLETE.get(reason, "OTHER") if type(reason) is str else "OTHER"
    return None


def write_block(c: Node, w: Writer) -> Node:
    """The `promptFeedback` of a blocked prompt. Consumes `finish` of `c`."""
    finish = take(c, "finish")
    finish.pop("reason", None)
    feedback: Node = {"blockReason": number_of(finish.pop("native", BLOCKED), "BlockReason", w.form(c, MARKER))}
    if type(finish.get("detail")) is str:
        feedback["blockReasonMessage"] = finish.pop("detail")
    return feedback
