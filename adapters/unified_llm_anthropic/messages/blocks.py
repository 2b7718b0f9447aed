"""The family of content blocks that are items of a conversation: each read and written in a file of its topic.

`reasoning.py` has what the model thinks, `calls.py` the calls of tools and their results, `hosted.py` those of the
provider's own tools.
"""

from __future__ import annotations

from unified_llm.mapping import Mapping

__all__ = ["blocks"]

blocks = Mapping("anthropic-messages blocks")
