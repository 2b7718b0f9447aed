"""Whether data of a provider may be sent to a target as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .writing import Writer

__all__ = ["has_field", "is_own"]


def is_own(piece: Any, writer: Writer) -> bool:
    """True when a piece goes into the target's own slot as it is.

    A provider gets what its own origin rule (`Adapter.origin`) lets match, and what is valid there although it is of
    another (`Adapter.shares`). A client surface stands for no provider in particular: an origin with more than the
    surface has belongs into an envelope.
    """
    origin = piece.get("origin") if type(piece) is dict else None
    if not origin:
        return True
    if type(origin) is not dict:
        return False
    here, client = writer.here, writer.facing == "client"
    for key in writer.adapter.origin:
        theirs = origin.get(key)
        if theirs is not None:
            ours = here.get(key)
            if ours is None and key == "model" and not client:
                ours = writer.context.get("named")
            if ours != theirs and (ours is not None or (client and key != "model")):
                return not client and _is_shared(piece.get("kind"), origin, writer)
    return True


def has_field(item: dict[str, Any], writer: Writer) -> bool:
    """Whether reasoning without opaque data came in a field of its own. Only an envelope of ours brings it back."""
    if writer.secret is None or "extra" not in item or item.get("opaque") or not item.get("content"):
        return False
    return any(drawer.get("form") for protocol, drawer in item["extra"].items() if protocol != writer.protocol)


def _is_shared(kind: Any, origin: dict[str, Any], writer: Writer) -> bool:
    """Whether a piece of this origin is valid at the target too. A naked one is of the model that the source names."""
    named = writer.context.get("named")
    made = origin.get("model") or (named if origin.get("protocol") == writer.source else None)
    model = writer.model or named
    shares = writer.adapter.shares
    if shares is None or type(made) is not str or type(model) is not str:
        return False
    return shares(kind, {**origin, "model": made}, {**writer.here, "model": model})
