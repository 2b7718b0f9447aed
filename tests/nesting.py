"""Values that are nested as deeply as a sender likes."""

from __future__ import annotations

from typing import Any

__all__ = ["nested"]


def nested(depth: int, key: str = "a") -> Any:
    """Objects of one key, `depth` of them, the innermost empty."""
    value: Any = {}
    for _ in range(depth - 1):
        value = {key: value}
    return value
