"""Whether opaque data may be sent to a target as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .writing import Writer

__all__ = ["is_own"]


def is_own(piece: Any, writer: Writer) -> bool:
    """True when a piece goes into the target's own slot as it is.

    A provider gets what its own origin rule (`Adapter.origin`) lets match. A client surface stands for no provider in
    particular: an origin with more than the surface has belongs into an envelope.
    """
    origin = piece.get("origin") if type(piece) is dict else None
    if not origin:
        return True
    if type(origin) is not dict:
        return False
    here, client = writer.here, writer.facing == "client"
    for key in writer.origin:
        theirs = origin.get(key)
        if theirs is not None:
            ours = here.get(key)
            if ours != theirs and (ours is not None or (client and key != "model")):
                return False
    return True
