"""How much of a conversation one request may go on from: it is compressed in the database, and small there."""

from __future__ import annotations

from collections.abc import Iterable

import zstandard

from ..responses.replies import Refusal

__all__ = ["check_history"]

_MOST = 128_000_000  # bytes of the requests of one conversation


def check_history(requests: Iterable[bytes]) -> None:
    """Raise `Refusal` (413) for compressed requests that are too large together."""
    if sum(map(zstandard.frame_content_size, requests)) > _MOST:
        reason = f"the requests of the conversation have more than {_MOST} bytes together"
        raise Refusal(413, "too_large", reason, code="conversation_too_large")
