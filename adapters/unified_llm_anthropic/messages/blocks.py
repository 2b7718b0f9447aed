"""The family of content blocks that are items of a conversation: each read and written in a file of its topic.

`turns/reasoning.py` has what the model thinks, `calls/client_calls.py` the calls of tools and their results,
`calls/hosted.py` those of the provider's own tools.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Union
from unified_llm.engine.bridge import After, Before
from unified_llm.engine.pairs.mapping import Mapping

__all__ = ["after", "before", "blocks", "cases", "ordered"]

blocks = Mapping("anthropic-messages blocks")
cases = Union(blocks.name, items=True)
before: dict[str, Before] = {}
after: dict[Any, After] = {}
"""What of these is not one to one, by canonical type when writing and by wire tag when reading."""


def ordered(value: Any) -> Any:
    """A JSON value with its keys in order, so that equal envelopes are spelled alike."""
    if type(value) is dict:
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(inner) for inner in value] if type(value) is list else value
