"""Identifiers that have to be made, made the same way every time.

A made id is a hash of what it stands for (the conversation's seed, the position, the kind), so the same input gives
the same bytes and a longer conversation keeps the ids of its past. It carries a mark, so that it is known again and
dropped when converted back to a protocol that had none.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

__all__ = ["is_made", "made_among", "made_id", "seed_of"]

_MARK = "_ulm_"


def made_id(prefix: str, seed: str, *position: object) -> str:
    """An id such as `fc_ulm_1f0c...`: `prefix`, our mark, and a digest of seed and position (32 characters at most).

    >>> made_id("fc", "resp_1", 0) == made_id("fc", "resp_1", 0) != made_id("fc", "resp_1", 1)
    True
    """
    text = "\x1f".join((prefix, seed, *map(str, position)))
    return f"{prefix}{_MARK}{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=10).hexdigest()}"


def is_made(value: Any) -> bool:
    """True for an id that `made_id` made."""
    return type(value) is str and _MARK in value and len(value) < 64 and value.partition(_MARK)[2].isalnum()


def made_among(ids: list[Any]) -> frozenset[str]:
    """Those of the ids that `made_id` made: mostly none, and then one look at all of them is enough."""
    try:
        if _MARK not in "\0".join(ids):
            return frozenset()
    except TypeError:
        pass
    return frozenset(filter(is_made, ids))


def seed_of(*texts: object) -> str:
    """A seed from what opens a conversation, which stays the same while the conversation grows."""
    return blake2b(repr(texts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
