"""A stored response, and its row: request and response are compressed there."""

from __future__ import annotations

from typing import Any, NamedTuple

import zstandard

__all__ = ["Stored"]

_packer, _unpacker = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()


class Stored(NamedTuple):
    """A response as its client saw it, and its request as the client sent it: bytes of the protocol `surface`."""

    tenant: str
    id: str
    surface: str
    previous: str | None
    upstream: str
    streamed: bool
    request: bytes
    response: bytes
    created: int
    expires: int

    @classmethod
    def of(cls, row: Any) -> Stored:
        """The response of a row."""
        found = cls(*(getattr(row, name) for name in cls._fields))
        return found._replace(
            request=_unpacker.decompress(found.request), response=_unpacker.decompress(found.response)
        )

    def packed(self) -> dict[str, Any]:
        """Its row."""
        contents = {"request": _packer.compress(self.request), "response": _packer.compress(self.response)}
        return {**self._asdict(), **contents}
