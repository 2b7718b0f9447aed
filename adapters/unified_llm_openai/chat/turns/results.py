"""Results of calls: messages of a tool, which hold text only, and what of them follows in a message of the user."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.text_fallbacks import is_text_only
from unified_llm.engine.shared.text_wrappers import FAILURE, as_failure

from ...cache import mark_last_text, write_own_control
from ..parts.content import takeable, user_parts
from ..tools import is_foreign

__all__ = ["content_of_result", "write_media", "write_result"]

Node = dict[str, Any]

_CALLS = frozenset(("function_call", "custom_tool_call"))
_TEXTS = frozenset(("input_text", "output_text", "text"))


def content_of_result(rest: Node, item: Node, r: Reader) -> Any:
    """Take the content of a result; that of a function which returned nothing may be null, or missing."""
    if rest.get("content") is None:
        r.form(item, "content", "null" if "content" in rest else "absent")
    content = rest.pop("content", None)
    return "" if content is None else content


def write_result(item: Node, media: list[tuple[Node, list[Node]]], c: Node, w: Writer) -> Node:
    """The message of a result; what a tool message cannot hold is added to `media`."""
    given = c.pop("output", None)
    content = "" if given is None else given
    call_id = c.pop("call_id", None)
    # A result that answers no call but names its function has the form it had before there were call ids.
    by_name = not call_id and type(c.get("name")) is str and type(content) is str and w.form(c, "id") is None
    if by_name or w.form(c, "role") == "function":
        return _as_given(
            {"role": "function", "name": c.pop("name", None), "content": w.parts(user_parts, content)}, c, w
        )
    content = mark_last_text(c, content, w)
    if type(content) is list and w.form(c, "role") != "tool":
        content = _without_media(content, item, media, w)
    wire: Node = {"role": "tool", "tool_call_id": call_id, "content": w.parts(user_parts, content)}
    if c.get("is_error") is True:
        _write_failure(c, wire, w)
    elif c.get("is_error") is False:
        c["is_error"] = Fated("approximated", "the text of the result has no failure")
    if content == "" and type(given) is list:
        w.added(wire, "content", "nothing of the result has a form here")
    if w.form(c, "cache"):
        write_own_control(c, wire, w)
    _as_given(wire, c, w)
    marker = w.form(c, "id")
    if marker == "absent":
        del wire["tool_call_id"]
    elif marker:
        wire["tool_call_id"] = None if marker == "null" else ""
    if w.dialect.get("result_names") and not w.same:
        named = c.pop("name", None) or _called(call_id, w)
        if type(named) is str:
            wire["name"] = named
            if "name" not in item:
                w.added(wire, "name", "required by the server")
    elif "name" in c and not is_foreign(w):
        wire["name"] = c.pop("name")
    return wire


def _as_given(wire: Node, c: Node, w: Writer) -> Node:
    marker = w.form(c, "content")
    if wire["content"] == "" and marker == "absent":
        del wire["content"]
    elif wire["content"] == "" and marker == "null":
        wire["content"] = None
    return wire


def _write_failure(c: Node, wire: Node, w: Writer) -> None:
    """Write into the text of a result that the tool failed, for which Chat has no field."""
    content = wire["content"]
    if type(content) is list:
        before, behind = ({"type": "text", "text": end} for end in FAILURE)
        wire["content"] = [before, *content, behind]
    else:
        wire["content"] = as_failure(content)
    if w.form(c, "failure"):
        del c["is_error"]
        return
    c["is_error"] = Fated("approximated", "in the text of the result")
    if type(content) is str and content:
        c["output"] = Fated("approximated", f"in {FAILURE[0]}")


def _called(call_id: Any, w: Writer) -> Any:
    """The name of the function that was called under an id."""
    names = w.context.get("called names")
    if names is None:
        items = w.doc.get("input")
        calls = [item for item in items if item.get("type") in _CALLS] if type(items) is list else []
        names = w.context["called names"] = {item.get("call_id"): item.get("name") for item in calls}
    return names.get(call_id) if type(call_id) is str else None


def _without_media(parts: list[Node], item: Node, media: list[tuple[Node, list[Node]]], w: Writer) -> Any:
    """A tool message holds text only; everything else waits for the user message after the results."""
    texts = []
    moved: list[Node] = []
    for part in parts:
        if part.get("type") in _TEXTS or is_text_only(part):
            texts.append(part)
            continue
        written = w.nodes(user_parts, takeable([part], w) or [])
        moved += written
        if written:
            w.report(part, (), "approximated", "moved to a user message after the results", "tools.result.media")
    if moved:
        media.append((item, moved))
    if not texts:
        return "The result follows." if moved else ""
    return texts


def write_media(media: list[tuple[Node, list[Node]]]) -> Node:
    """One user message with the media of all results of a turn, each labeled with its call."""
    content: list[Node] = []
    for item, moved in media:
        content.append({"type": "text", "text": f"Result of tool call {item.get('call_id')}:"})
        content += moved
    media.clear()
    return {"role": "user", "content": content}
