"""The family of content blocks that are items of a conversation: each read and written in a file of its topic.

`reasoning.py` has what the model thinks, `calls.py` the calls of tools and their results, `hosted.py` those of the
provider's own tools.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Mapping

__all__ = ["blocks", "ordered"]

blocks = Mapping("anthropic-messages blocks")


def ordered(value: Any) -> Any:
    """A JSON value with its keys in order, so that equal envelopes are spelled alike."""
    if type(value) is dict:
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(inner) for inner in value] if type(value) is list else value
