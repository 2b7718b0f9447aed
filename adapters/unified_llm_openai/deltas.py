"""What a delta of a stream goes on with, for the writers with a template for the next one."""

from __future__ import annotations

from typing import Any

__all__ = ["spot_of"]


def spot_of(event: dict[str, Any]) -> tuple[Any, ...]:
    """Which text, or which arguments, a delta goes on with."""
    return (event["type"], *map(event.get, ("output_index", "content_index", "summary_index", "choice")))
