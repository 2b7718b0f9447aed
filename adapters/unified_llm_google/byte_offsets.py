"""Offsets of citations: Google counts the bytes of UTF-8, the canonical model characters.

https://ai.google.dev/api/generate-content#Segment and https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

__all__ = ["Span", "size"]


def size(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# So many places of a text are counted out one by one.
_FEW = 4


class Span:
    """A text that citations point into; of one in pieces, the list may grow.

    Bytes and characters are the same thing where the text is plain ASCII. Otherwise both are counted, each piece once.

    >>> pieces = ["ab"]
    >>> text = Span(pieces)
    >>> text.byte(2), text.byte(3)
    (2, None)
    >>> pieces.append("é!")
    >>> [text.byte(index) for index in range(6)], text.char(4), text.char(3), text.length
    ([0, 1, 2, 4, 5, None], 3, None, 4)
    """

    __slots__ = ("_asked", "_bytes", "_chars", "_counted", "_is_ascii", "_length", "_seen", "pieces")

    def __init__(self, text: str | list[str]) -> None:
        self.pieces: list[str] = [text] if type(text) is str else text  # type: ignore[assignment]
        self._seen = self._length = 0  # pieces, and characters of them
        self._is_ascii = True
        self._bytes: list[int] = [0]
        self._chars: dict[int, int] = {0: 0}
        self._counted = 0  # pieces that are in the tables
        self._asked = 0  # of a text that is read for one citation, as in a stream, no table is made

    @property
    def length(self) -> int:
        """The characters of the text."""
        self._look()
        return self._length

    @property
    def size(self) -> int:
        """The bytes of the text."""
        return sum(map(size, self.pieces))

    def char(self, offset: int) -> int | None:
        """The character at a byte offset; None where no character begins or the text is over."""
        self._look()
        if self._is_ascii:
            return offset if 0 <= offset <= self._length else None
        self._count()
        return self._chars.get(offset)

    def byte(self, index: int) -> int | None:
        """The byte offset of a character; None outside the text."""
        self._look()
        if not 0 <= index <= self._length:
            return None
        if self._is_ascii:
            return index
        if not self._counted and self._asked < _FEW:
            self._asked += 1
            return size("".join(self.pieces)[:index])
        self._count()
        return self._bytes[index]

    def _look(self) -> None:
        for piece in self.pieces[self._seen :]:
            self._length += len(piece)
            self._is_ascii = self._is_ascii and piece.isascii()
        self._seen = len(self.pieces)

    def _count(self) -> None:
        for piece in self.pieces[self._counted :]:
            for char in piece:
                self._bytes.append(self._bytes[-1] + size(char))
                self._chars[self._bytes[-1]] = len(self._bytes) - 1
        self._counted = len(self.pieces)
