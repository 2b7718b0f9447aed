"""Streams in other frames than server-sent events, which their adapter turns into these."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import httpx2

from ...foundation.errors import RemoteProtocolError
from ...models.provider_table import framings
from ...streams.framings.eventstream import Unframed
from ..upstreams.loading import loaded

__all__ = ["AsyncEvents", "decoder_of", "events"]


def decoder_of(response: Any, binary: bool) -> Any:
    """What decodes the frames of a response; None for one in server-sent events.

    `binary`: the protocol itself frames its events so; otherwise a platform does, which has a decoder.
    """
    for name, value in response.headers.raw:
        if name.lower() == b"content-type":
            where = framings().get(value.partition(b";")[0].strip().lower().decode("latin-1"))
            if where is None:
                return None
            return Unframed() if binary else loaded(where)()
    return None


def _fed(decoder: Any, chunk: bytes) -> bytes:
    failure = ""
    try:
        found: bytes = decoder.feed(chunk)
    except (ValueError, RemoteProtocolError) as error:
        failure = str(error)
    if failure:
        raise httpx2.RemoteProtocolError(failure)
    return found


def events(decoder: Any, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks as server-sent events."""
    for chunk in chunks:
        if found := _fed(decoder, chunk):
            yield found


class AsyncEvents:
    """The same, of an iterator that `aclose` ends where it stands."""

    __slots__ = ("_chunks", "_decoder")

    def __init__(self, decoder: Any, chunks: Any) -> None:
        self._decoder, self._chunks = decoder, chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while True:
            if found := _fed(self._decoder, await anext(self._chunks)):
                return found

    async def aclose(self) -> None:
        """End the iterator below."""
        await self._chunks.aclose()
