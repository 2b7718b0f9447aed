"""Summaries of compacted history, as text for targets that read none.

A compaction that is only opaque means nothing to another provider. One that can be read is what the model has left of
the history before it, so its text is sent, as a message of the model, in its place. What stands before it is sent
too: its own provider ignores that, and clients may leave it out.

https://docs.claude.com/en/docs/build-with-claude/compaction
"""

from __future__ import annotations

from typing import Any

from ..engine.pairs.writing import Writer

__all__ = ["send_summaries"]

Node = dict[str, Any]

_KEPT = ("turn", "extra", "opaque")


def send_summaries(request: Node, writer: Writer) -> list[tuple[Node, Node]]:
    """Make messages of the readable compactions of a request; gives them, each with the item it stands for."""
    items = request.get("input")
    if type(items) is not list:
        return []
    made = [(_message(item, writer), item) for item in items if item.get("type") == "compaction" and _is_readable(item)]
    if made:
        known = {id(item): message for message, item in made}
        writer.context.setdefault("given", {**request})
        request["input"] = [known.get(id(item), item) for item in items]
    return made


def _is_readable(item: Node) -> bool:
    content = item.get("content")
    if type(content) is list:
        return bool(content) and all(type(part) is dict and type(part.get("text")) is str for part in content)
    return type(content) is str and bool(content.strip())


def _message(item: Node, writer: Writer) -> Node:
    writer.report(item, ("type",), "approximated", "sent as text")
    for key, value in item.items():
        if value is not None and key not in (*_KEPT, "type", "content"):
            writer.report(item, (key,), "lost", "a summary that is sent as text has no such field")
    kept = {key: item[key] for key in _KEPT if key in item}
    return {"type": "message", "role": "assistant", "content": item["content"], **kept}
