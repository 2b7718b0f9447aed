"""The headers that an answer gets in addition: losses, the upstream with the reason, the failed upstreams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...losses import Losses
from ..sending.effects import Hop
from ..upstreams.upstream import Upstream

__all__ = ["ESTIMATE", "HOPS", "LOSSES", "PROTOCOL", "UPSTREAM", "bounded", "loss_headers", "served"]

CALLER = "x-unified-llm-caller"
LOSSES = "x-unified-llm-losses"
UPSTREAM = "x-unified-llm-upstream"
PROTOCOL = "x-unified-llm-protocol"
HOPS = "x-unified-llm-hops"
ESTIMATE = "x-unified-llm-estimate"
_LONGEST = 4_000  # HTTP servers and clients take headers of 8 kB


def loss_headers(losses: Losses, hops: Sequence[Hop], whose: Upstream | None) -> dict[str, str]:
    """The headers for an answer's losses, the upstreams that were passed by, and the one that gave it."""
    rows = [[loss.path, loss.capability, loss.fate, loss.side] for loss in losses] if losses else []
    headers = {LOSSES: bounded(rows) if rows else _NOTHING_LOST}
    if whose is not None:
        headers |= served(whose.name, whose.protocol, whose.why)
    if hops:
        headers[HOPS] = bounded([[hop.upstream, hop.attempts, hop.reason[:200]] for hop in hops])
    return headers


@lru_cache(1024)
def served(name: str, protocol: str, why: str = "") -> dict[str, str]:
    """The headers that name an upstream, and its protocol with the reason for it."""
    told = f"{protocol}; {_ascii(why)[1:-1][:500]}" if why else protocol
    return {UPSTREAM: _ascii(name)[1:-1], PROTOCOL: told}


_NOTHING_LOST = '{"count":0,"first":[]}'
_ascii = json.JSONEncoder(separators=(",", ":")).encode


def bounded(rows: list[list[Any]], longest: int = _LONGEST) -> str:
    """`{"count": n, "first": [...]}` in ASCII, with as many of the first as fit."""
    whole = _ascii(rows)
    if len(whole) - 2 < longest:
        return f'{{"count":{len(rows)},"first":{whole}}}'
    shown: list[str] = []
    size = 0
    for row in rows:
        text = _ascii(row)
        size += len(text) + 1
        if size > longest:
            break
        shown.append(text)
    return f'{{"count":{len(rows)},"first":[{",".join(shown)}]}}'
