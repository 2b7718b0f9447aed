"""`client.responses`: create, parse, run, and what a provider keeps; the same methods for threads and event loops."""

from __future__ import annotations

from .event_loops import AsyncResponses
from .input_tokens import AsyncInputTokens, InputTokens
from .threads import Responses

__all__ = ["AsyncInputTokens", "AsyncResponses", "InputTokens", "Responses"]
