"""Images that the model made, for a target whose messages of the model hold none: they are sent as the user's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...provenance.opaque import withheld
from .editor import Mending, is_model, is_system

__all__ = ["carry_images", "has_images"]

Node = dict[str, Any]

_PART, _CALL = "output_image", "image_generation_call"
_WHY = "sent as an image of the user's; the target takes none of the model"
_USUAL = "png"
# What the image itself shows, or its place does.
_SHOWN = frozenset(("id", "type", "result", "output_format", "status"))


def has_images(items: list[Node], refused: frozenset[str]) -> bool:
    """Whether the model made an image in these items in a form that is refused."""
    return any(True for item in items for _ in _images(item, refused))


def _images(item: Node, refused: frozenset[str]) -> Iterator[Node]:
    kind = item.get("type")
    if kind == _CALL and _CALL in refused:
        if type(item.get("result")) is str and item["result"]:
            yield item
    elif kind == "message" and item.get("role") == "assistant" and type(item.get("content")) is list:
        for part in item["content"]:
            if part.get("type") == _PART in refused and type(part.get("image_url")) is str:
                yield part


def carry_images(m: Mending, refused: frozenset[str]) -> None:
    """Put each image in front of the next message of the user, or behind the results of tools that come before it.

    One that neither follows stays where it is: a message behind it would be another question.
    """
    waiting: list[tuple[Node, list[Node]]] = []  # items, and their images
    gone: set[int] = set()
    behind: dict[int, Node] = {}
    result: Node | None = None  # the last result of a tool since they were made
    for item in [*m.items, None]:
        if item is None or is_model(item):
            if waiting and result is not None:
                behind[id(result)] = m.make({"type": "message", "role": "user", "content": _all(m, waiting, gone)})
                waiting = []
            result = None
            if item is not None and (found := list(_images(item, refused))):
                waiting.append((item, found))
        elif item.get("type") != "message":
            result = item
        elif waiting and not is_system(item):
            m.own(item, content=[*_all(m, waiting, gone), *_content(item)])
            waiting = []
    if behind:
        m.put([each for item in m.items for each in (item, behind.get(id(item))) if each is not None])
    m.leave_out(gone)


def _all(m: Mending, waiting: list[tuple[Node, list[Node]]], gone: set[int]) -> list[Node]:
    return [part for item, found in waiting for part in _taken(m, item, found, gone)]


def _content(item: Node) -> list[Node]:
    content = item.get("content")
    return [{"type": "input_text", "text": content}] if type(content) is str else list(content or ())


def _taken(m: Mending, item: Node, images: list[Node], gone: set[int]) -> Iterator[Node]:
    """The images of an item as the user's; an item that holds nothing else is left out."""
    if item.get("type") == _CALL:
        gone.add(id(item))
        yield _of_call(m, item)
        return
    moved = {id(image) for image in images}
    left = [part for part in item["content"] if id(part) not in moved]
    if left:
        m.own(item, content=left)
    else:
        gone.add(id(item))
        m.report(item, ("role",), "approximated", _WHY)
    for part in images:
        m.report(part, ("type",), "approximated", _WHY)
        own = {key: value for key, value in part.items() if key not in ("opaque", "extra")}
        if part.get("opaque"):
            m.report(part, ("opaque",), withheld(m.writer), "foreign")
        _leave_rest(m, part)
        yield _made(m, part, {**own, "type": "input_image"})


def _of_call(m: Mending, item: Node) -> Node:
    m.report(item, ("type",), "approximated", _WHY)
    for key in item.keys() - _SHOWN - {"extra", "turn"}:
        if item[key] is not None:
            m.report(item, (key,), "lost", "the image alone is sent")
    _leave_rest(m, item)
    if item.get("id"):
        m.report(item, ("id",), "approximated", "the image is known by its position")
    url = f"data:image/{item.get('output_format') or _USUAL};base64,{item['result']}"
    return _made(m, item, {"type": "input_image", "image_url": url})


def _leave_rest(m: Mending, node: Node) -> None:
    for protocol, kept in (node.get("extra") or {}).items():
        if "rest" in kept:
            m.report(node, ("extra", protocol, "rest"), "lost", "")


def _made(m: Mending, node: Node, part: Node) -> Node:
    """A part that stands, in the report, where the node stood that it is made of."""
    copy = m.copy(node)
    copy.clear()
    copy.update(part)
    return copy
