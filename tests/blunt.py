"""Reports that are too blunt, each a debt: a node is called approximated, and what of it did not arrive is not named.

`BLUNT` gives by record and target the node that the report names. `test_blunt.py` sees to it that no entry is stale:
whoever makes a report sharper takes the entry out.
"""

from __future__ import annotations

from typing import Any

from unified_llm.suite.walk import is_prefix

BLUNT: dict[tuple[str, str], str] = {
    # Sent as text, whose parts may hold more than text.
    ("anthropic-messages/request/search_results", "google-interactions"): "/messages/0/content/0/content",
    ("anthropic-messages/request/tool_results", "google-interactions"): "/messages/2/content/2/content",
    # The result of a hosted tool is sent as the titles and addresses, or as the text, that is in it.
    ("google-interactions/request/steps_hosted", "anthropic-messages"): "/input/6",
    ("google-interactions/request/steps_hosted", "google-generate-content"): "/input/4",
    ("google-interactions/response/hosted", "google-generate-content"): "/steps/4",
    # A summary is sent as one text.
    ("google-interactions/response/text_summary", "openai-chat"): "/steps/0/summary",
    # A subset of the tools: only those are declared, and the choice is called approximated as a whole.
    ("google-interactions/request/tool_choice_allowed", "anthropic-messages"): "/generation_config/tool_choice",
    ("google-interactions/request/tool_choice_allowed", "google-generate-content"): "/generation_config/tool_choice",
    ("openai-responses/request/tool_choice_allowed_tools", "anthropic-messages"): "/tool_choice",
    ("openai-responses/request/tool_choice_allowed_tools", "google-interactions"): "/tool_choice",
    ("openai-responses/request/tool_choice_custom", "google-interactions"): "/tool_choice",
    ("openai-responses/request/tool_choice_function", "google-interactions"): "/tool_choice",
    # What a shell printed is sent as text, without how it ended.
    ("openai-responses/request/item_shell_call", "anthropic-messages"): "/input/2/output",
}


def sharp(failures: list[Any], target: str) -> list[Any]:
    """The failures that are no known debt."""
    return [each for each in failures if not _is_known(each, target)]


def _is_known(failure: Any, target: str) -> bool:
    place = BLUNT.get((failure.record, target))
    return place is not None and is_prefix(place, failure.path)
