"""Offsets of citations: Google counts the bytes of UTF-8, the canonical model characters.

https://ai.google.dev/api/generate-content#Segment and https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from itertools import accumulate

__all__ = ["Span", "offsets", "size"]


def offsets(text: str) -> list[int]:
    """The byte offset of every character of a text, and of its end."""
    return list(accumulate((len(char.encode("utf-8", "surrogatepass")) for char in text), initial=0))


def size(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# So many places of a text are counted out one by one.
_FEW = 4


class Span:
    """The text that annotations point into. Bytes and characters are the same thing where the text is plain ASCII."""

    __slots__ = ("_asked", "_bytes", "_chars", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._bytes: list[int] | None = None
        self._chars: dict[int, int] = {}
        self._asked = 0  # of a text that is read for one annotation, as in a stream, no table is made

    def _known(self) -> list[int]:
        if self._bytes is None:
            self._bytes = offsets(self.text)
            self._chars = {offset: index for index, offset in enumerate(self._bytes)}
        return self._bytes

    def char(self, offset: int) -> int | None:
        """The character at a byte offset; None where no character begins or the text is over."""
        if self.text.isascii():
            return offset if 0 <= offset <= len(self.text) else None
        self._known()
        return self._chars.get(offset)

    def byte(self, index: int) -> int | None:
        """The byte offset of a character; None outside the text."""
        if not 0 <= index <= len(self.text):
            return None
        if self.text.isascii():
            return index
        if self._bytes is None and self._asked < _FEW:
            self._asked += 1
            return len(self.text[:index].encode("utf-8", "surrogatepass"))
        return self._known()[index]
