"""Images in the messages of an answer: items of their own here, between the messages that they part one into.

https://platform.openai.com/docs/guides/tools-image-generation
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer

from ..parts import PICTURE, is_picture
from ..values.tables import SLUG

__all__ = ["PICTURES", "PICTURE_ITEMS", "is_picture_item", "parted", "parted_nodes", "picture_item"]

Node = dict[str, Any]

PICTURES = "pictures"
"""The key of the writer's context for whether there are images in the message just written."""
PICTURE_ITEMS = (PICTURE, SLUG + PICTURE)
"""The types of an image's item, the second one in the strict form of Open Responses."""


def is_picture_item(wire: Any) -> bool:
    """Whether an item that was written is an image, whatever a provider sent in its place."""
    return type(wire) is dict and wire.get("type") in PICTURE_ITEMS


def picture_item(part: Node, w: Writer) -> Node:
    """The item of an image that was written as a part of a message."""
    return {**part, "type": PICTURE_ITEMS[1]} if w.dialect.get("strict") else part


def parted(wire: Node, w: Writer, sealed: bool = False) -> list[Node]:
    """A message that was just written, as the messages and images it amounts to, in its order.

    Without a message if images are all of it. One whose pieces travel `sealed` is there in any case: it is what they
    are put back into.
    """
    if not w.context.pop(PICTURES, False):
        return [wire]
    out: list[Node] = []
    last: Node | None = None
    behind = True  # whether the next part begins a message
    for part in wire["content"]:
        if part["type"] == PICTURE:
            out.append(picture_item(part, w))
            behind = True
            continue
        if behind:
            last, behind = _next_message(wire, last), False
            out.append(last)
        last["content"].append(part)  # type: ignore[index]
    return [*out, {**wire, "content": []}] if last is None and sealed else out


def _next_message(wire: Node, last: Node | None) -> Node:
    """The next message of those that one is parted into, `last` being the one before: its id is that of the first."""
    if last is None:
        return {**wire, "content": []}
    if last.get("status") == "incomplete":
        last["status"] = "completed"
    return {**{key: value for key, value in wire.items() if key != "id"}, "content": []}


def parted_nodes(node: Node, empty: list[bool]) -> list[Node]:
    """The canonical messages that images part one into; `empty` are those of its texts that are not written.

    Each has the opaque data of its texts, the first one that of the message; those of images stay with the complete
    answer. A message without an image between texts is the only one.
    """
    content = node.get("content") if node.get("type") == "message" else None
    runs: list[list[Node]] = []
    left = iter(empty)
    behind = True
    for part in content if type(content) is list else ():
        if is_picture(part):
            behind = True
            continue
        unwritten = part.get("type") == "output_text" and next(left, False)
        if behind and not (unwritten and runs):
            runs.append([])
            behind = False
        runs[-1].append(part)
    if len(runs) < 2:
        return [node]
    rest = {key: value for key, value in node.items() if key != "opaque"}
    return [{**(rest if number else node), "content": run} for number, run in enumerate(runs)]
