"""`client.responses`: create, parse, run, and what a provider keeps; the same methods for threads and event loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .event_loops import AsyncResponses
    from .input_tokens import AsyncInputTokens, InputTokens
    from .threads import Responses

__all__ = ["AsyncInputTokens", "AsyncResponses", "InputTokens", "Responses"]

# A client has the methods of one of the two.
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "event_loops": "AsyncResponses",
            "input_tokens": "AsyncInputTokens InputTokens",
            "threads": "Responses",
        },
    )
