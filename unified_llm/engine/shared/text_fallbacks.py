"""Parts that are text in themselves, as text: documents without a file, what a search found, transcripts of audio.

Their texts are the user's content, so a target that has no form for such a part is still sent the words.
"""

from __future__ import annotations

from typing import Any

from ..pairs.mapping import Fated
from ..pairs.writing import Writer

__all__ = ["is_text_only", "part_as_text", "transcript_as_text", "without_media"]

Node = dict[str, Any]

_FILES = ("file_data", "file_url", "file_uri", "file_id")
_DOCUMENTS = frozenset(("input_file", "output_file"))
_MEDIA = _DOCUMENTS | {f"{side}_{kind}" for side in ("input", "output") for kind in ("image", "audio", "video")}
_AS_TEXT = "sent as text"


def is_text_only(part: Node) -> bool:
    """Whether all there is of a part is text: a document without a file, or a result of a search.

    >>> is_text_only({"type": "input_file", "text": "words"}), is_text_only({"type": "input_file", "file_id": "f"})
    (True, False)
    """
    kind = part.get("type")
    if kind in _DOCUMENTS:
        return not any(part.get(key) for key in _FILES) and bool(part.get("text") or part.get("content"))
    if kind == "tool_reference":
        return type(part.get("name")) is str
    return kind == "search_result" and bool(part.get("content"))


def without_media(content: Any, w: Writer, reason: str) -> Any:
    """The parts of a system text that are text; the others, which few protocols have there, are reported."""
    if type(content) is not list or not w.crosses:
        return content
    out = []
    for part in content:
        if part.get("type") in _MEDIA and not is_text_only(part):
            w.drop(part, reason)
        else:
            out.append(part)
    return out


def part_as_text(c: Node, w: Writer) -> str | None:
    """The text of such a part, consumed from the copy `c`; None if it has none, or is a file.

    What a search found is preceded by its title and its source; a tool that was found is its name.
    """
    if any(c.get(key) for key in _FILES):
        return None
    if type(c.get("name")) is str:
        name: str = c["name"]
        c["name"] = Fated("approximated", _AS_TEXT)
        return name
    if type(c.get("text")) is str:
        text: str = c["text"]
        c["text"] = Fated("approximated", _AS_TEXT)
        return _joined(c, [text])
    inner = c.get("content")
    if type(inner) is str:
        c["content"] = Fated("approximated", _AS_TEXT)
        return _joined(c, [inner])
    if type(inner) is not list:
        return None
    texts = [part for part in inner if type(part) is dict and type(part.get("text")) is str]
    if not texts:
        return None
    del c["content"]
    for part in inner:
        if not any(part is each for each in texts):
            w.drop(part, "only the text of it is sent")
    return _joined(c, [w.said(part, _AS_TEXT) for part in texts])


def transcript_as_text(c: Node) -> str | None:
    """The transcript of generated audio, consumed from the copy `c`, for targets without audio; None if it has none."""
    text = c.get("transcript")
    if type(text) is not str or not text:
        return None
    c["transcript"] = Fated("approximated", _AS_TEXT)
    return text


def _joined(c: Node, texts: list[str]) -> str:
    found = ("title", "source") if "source" in c else ()
    head = [c.pop(key) for key in found if type(c.get(key)) is str]
    if c.get("media_type") is not None:
        c["media_type"] = Fated("approximated", _AS_TEXT)
    c["type"] = Fated("approximated", _AS_TEXT)
    return "\n".join([*head, *texts])
