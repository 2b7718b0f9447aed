"""Parts that are text in themselves, as text: documents without a file, and results of a search.

Their texts are the user's content, so a target that has no form for such a part is still sent the words.
"""

from __future__ import annotations

from typing import Any

from ..pairs.mapping import Fated
from ..pairs.writing import Writer

__all__ = ["is_written", "tell"]

Node = dict[str, Any]

_FILES = ("file_data", "file_url", "file_uri", "file_id")
_DOCUMENTS = frozenset(("input_file", "output_file"))
_HOW = "sent as text"


def is_written(part: Node) -> bool:
    """Whether all there is of a part is text: a document without a file, or a result of a search.

    >>> is_written({"type": "input_file", "text": "words"}), is_written({"type": "input_file", "file_id": "f"})
    (True, False)
    """
    kind = part.get("type")
    if kind in _DOCUMENTS:
        return not any(part.get(key) for key in _FILES) and bool(part.get("text") or part.get("content"))
    return kind == "search_result" and bool(part.get("content"))


def tell(c: Node, w: Writer) -> str | None:
    """The text of such a part, consumed from the copy `c`; None if it has none, or is a file.

    What a search found is preceded by its title and its source.
    """
    if any(c.get(key) for key in _FILES):
        return None
    if type(c.get("text")) is str:
        text: str = c["text"]
        c["text"] = Fated("approximated", _HOW)
        return _told(c, [text])
    inner = c.get("content")
    if type(inner) is str:
        c["content"] = Fated("approximated", _HOW)
        return _told(c, [inner])
    if type(inner) is not list:
        return None
    said = [part for part in inner if type(part) is dict and type(part.get("text")) is str]
    if not said:
        return None
    del c["content"]
    for part in inner:
        if not any(part is each for each in said):
            w.drop(part, "only the text of it is sent")
    return _told(c, [w.said(part, _HOW) for part in said])


def _told(c: Node, texts: list[str]) -> str:
    found = ("title", "source") if "source" in c else ()
    head = [c.pop(key) for key in found if type(c.get(key)) is str]
    if c.get("media_type") is not None:
        c["media_type"] = Fated("approximated", _HOW)
    c["type"] = Fated("approximated", _HOW)
    return "\n".join([*head, *texts])
