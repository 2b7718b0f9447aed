"""What a client sends again of the answer that it names.

A client that goes on from an answer by its id has that answer. Some (CAMEL) send it once more, in front of the results
of its calls, which providers that keep answers accept. Written out, each call would be there twice, once without a
result.
"""

from __future__ import annotations

from typing import Any

from ...passes.repair.editor import is_model, text_of

__all__ = ["without_repeats"]

Node = dict[str, Any]


def without_repeats(items: list[Node], past: list[Node]) -> list[Node]:
    """The items of a request without those at its head that the answer at the end of `past` consists of.

    They stay, all of them, where one of them is of the client's own.

    >>> call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    >>> without_repeats([call, {"type": "function_call_output", "call_id": "c1", "output": "x"}], [call])
    [{'type': 'function_call_output', 'call_id': 'c1', 'output': 'x'}]
    """
    end = next((place for place, item in enumerate(items) if not is_model(item)), len(items))
    if not end:
        return items
    start = next((place for place in range(len(past), 0, -1) if not is_model(past[place - 1])), 0)
    answered = iter(past[start:])  # each is looked for behind the one before
    if all(any(_is_same(item, each) for each in answered) for item in items[:end]):
        return items[end:]
    return items


def _is_same(item: Node, answered: Node) -> bool:
    """Whether an item is one of an answer: by its id, by that of its call, or, for messages and thoughts, by its text.

    Clients leave out ids that they cannot refer to.
    """
    if item.get("type") != answered.get("type"):
        return False
    for key in ("id", "call_id"):
        if item.get(key) and item[key] == answered.get(key):
            return True
    if item["type"] == "reasoning":
        return not item.get("id") and _thought(item) == _thought(answered)
    text = text_of(item.get("content")) if item["type"] == "message" else None
    return bool(text) and text == text_of(answered.get("content"))


def _thought(item: Node) -> list[str | None]:
    return [text_of(item.get(key)) for key in ("summary", "content")]
