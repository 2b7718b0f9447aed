"""Why a choice ended: `finish_reason`, read with what the choice holds and computed where the source has none.

A server that sends `stop` beside tool calls means `tool_calls`, and one that sends `tool_calls` without any means
`stop`; the word it used is kept and goes back to it. Another surface's own word travels in `native_finish_reason`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import waits

from .tables import FINISH

__all__ = ["CLIENT_CALLS", "finish_of", "finish_word", "read_finish"]

Node = dict[str, Any]

Words = Mapping[str, str]
_NO_WORDS: Words = {}
CLIENT_CALLS = frozenset(("function_call", "custom_tool_call"))


def finish_of(word: str, calls: bool, refusal: bool = False, own: Words = _NO_WORDS) -> tuple[str, bool]:
    """The canonical reason of a wire word, and whether the word has to be kept to be written again.

    `own` are the words of a dialect.
    """
    reason = own.get(word) or FINISH.reads.get(word, "other")
    if reason == "stop" and calls:
        return "tool_calls", True
    if reason == "tool_calls" and not calls:
        return "stop", True
    if reason == "stop" and refusal:
        return "refusal", False
    return reason, FINISH.write(reason) != word


def refused(items: list[Node]) -> bool:
    """Whether a message refuses."""
    for item in items:
        if item.get("type") == "message":
            content = item.get("content")
            for part in content if type(content) is list else ():
                if part.get("type") == "refusal":
                    return True
    return False


def read_finish(rest: Node, items: list[Node], r: Reader) -> Node | None:
    """The finish of a choice, popped from it; None (and a marker) where it has none."""
    word = rest.get("finish_reason")
    if type(word) is not str or not word:
        if word is None or word == "":
            r.form(items[0], "finish", "empty" if word == "" else "null" if "finish_reason" in rest else "absent")
            rest.pop("finish_reason", None)
        return None
    del rest["finish_reason"]
    calls = bool([1 for item in items if item["type"] in CLIENT_CALLS])
    reason, odd = finish_of(word, calls, refused(items), r.dialect.get("finish", _NO_WORDS))
    finish: Node = {"reason": reason}
    if odd:
        finish["native"] = word
        r.form(items[0], "finish", "word")
    elif type(rest.get("native_finish_reason")) is str:
        finish["native"] = rest.pop("native_finish_reason")
        r.form(items[0], "finish", "beside")
    return finish


def finish_word(c: Node, node: Node, output: Any, w: Writer) -> Any:
    """The word for the end of choice `c` (the copy being consumed of `node`); None where a chat server sent none."""
    items = output or []
    marker = w.form(items[0], "finish") if items else None
    said = c.get("finish")
    finish = take(c, "finish") if type(said) is dict and node.get("finish") else c.pop("finish", None)
    calls = waits(items, CLIENT_CALLS)
    if not finish:
        if marker in ("null", "empty", "absent"):
            return None
        w.context["made finish"] = True
        return "tool_calls" if calls else "stop"
    reason, native = finish.pop("reason", None), finish.pop("native", None)
    finish.pop("extra", None)
    if native is not None:
        if marker == "word" and finish_of(native, calls, False, w.dialect.get("finish", _NO_WORDS))[0] == reason:
            return native
        if marker == "word":
            finish["native"] = native
        else:
            w.context["native finish"] = native
    if reason == "stop" and calls and marker is None:
        if node.get("finish"):
            finish["reason"] = Fated("approximated", "sent as 'tool_calls', beside calls that wait")
        return "tool_calls"
    if reason is None:
        return "tool_calls" if calls else "stop"
    own = next((own for own, meant in w.dialect.get("finish", _NO_WORDS).items() if meant == reason), None)
    if own is not None and not w.same:
        return own
    word = FINISH.writes.get(reason, reason)
    if reason == "refusal" and not refused(items):
        # Where there is no refusal to show, `stop` would be a success.
        word = FINISH.write("safety")
    if reason == "stop" and marker is None and refused(items):
        finish["reason"] = Fated("approximated", "refusal beside a refusal")
    # An end from a status is reported as such.
    if node.get("finish") and FINISH.read(word) != reason and not (reason == "refusal" and word == "stop"):
        finish["reason"] = Fated("approximated", f"sent as {word!r}")
    return word
