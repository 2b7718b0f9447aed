"""What the headers of an answer tell a client of ours beside the answer: losses, who gave it and why, who did not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...losses import Losses
from ..sending.effects import Hop
from ..upstreams.upstream import Upstream

__all__ = ["ESTIMATE", "HOPS", "LOSSES", "PROTOCOL", "UPSTREAM", "told"]

CALLER = "x-unified-llm-caller"
LOSSES = "x-unified-llm-losses"
UPSTREAM = "x-unified-llm-upstream"
PROTOCOL = "x-unified-llm-protocol"
HOPS = "x-unified-llm-hops"
ESTIMATE = "x-unified-llm-estimate"
_LONGEST = 4_000  # HTTP servers and clients take headers of 8 kB


def told(losses: Losses, hops: Sequence[Hop], whose: Upstream | None) -> dict[str, str]:
    """The headers for an answer's losses, the upstreams that were passed by, and the one that gave it."""
    headers = {LOSSES: _bounded([[loss.path, loss.capability, loss.fate, loss.side] for loss in losses])}
    if whose is not None:
        headers[UPSTREAM] = _ascii(whose.name)[1:-1]
        headers[PROTOCOL] = f"{whose.protocol}; {_ascii(whose.why)[1:-1][:500]}" if whose.why else whose.protocol
    if hops:
        headers[HOPS] = _bounded([[hop.upstream, hop.attempts, hop.reason[:200]] for hop in hops])
    return headers


_ascii = json.JSONEncoder(separators=(",", ":")).encode


def _bounded(rows: list[list[Any]]) -> str:
    """`{"count": n, "first": [...]}` in ASCII, as many of the first as a header may hold."""
    shown: list[str] = []
    size = 0
    for row in rows:
        text = _ascii(row)
        size += len(text) + 1
        if size > _LONGEST:
            break
        shown.append(text)
    return f'{{"count":{len(rows)},"first":[{",".join(shown)}]}}'
