"""`client.responses.input_tokens`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ...passes.keyword_arguments import spelled_out
from ..params import Given, meanings
from ..results import TokenCount

if TYPE_CHECKING:
    from ..client import AsyncClient, Client

__all__ = ["AsyncInputTokens", "InputTokens"]


class InputTokens:
    """`client.responses.input_tokens`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @spelled_out(Given, meanings=meanings)
    def count(self, **given: Unpack[Given]) -> TokenCount:
        """How many tokens a request takes: as its provider counts them, else an estimate (`.estimated`)."""
        return self._client._run(self._client._core.count_tokens(self._client._core.call(given)))


class AsyncInputTokens:
    """`client.responses.input_tokens`, in an event loop."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    @spelled_out(Given, meanings=meanings)
    async def count(self, **given: Unpack[Given]) -> TokenCount:
        """As `InputTokens.count`."""
        return await self._client._run(self._client._core.count_tokens(self._client._core.call(given)))
