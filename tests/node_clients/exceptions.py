"""Recorded answers that the AI SDK refuses or misunderstands as its provider would send them, and why."""

from __future__ import annotations

CHAT, RESPONSES, MESSAGES, GOOGLE = "ai, OpenAI Chat", "ai, OpenAI Responses", "ai, Anthropic", "ai, Google"
BOTH = (CHAT, "ai, OpenAI-compatible")

_KNOWN: dict[str, tuple[tuple[str, ...], str]] = {
    "its schema has functions only, Chat has custom tools too": (
        BOTH,
        """
        openai-responses/response/custom_tool_call openai-responses/response/custom_tool_call_by_program
        openai-responses/response/everything openai-responses/stream/custom_tool_call
        openai-responses/stream/custom_tool_call_by_program openai-responses/stream/everything ver-f6998a3440
        """,
    ),
    "its schema demands a status of a custom call in a stream, OpenAI's type has none": (
        (RESPONSES,),
        "openai-chat/stream/custom_tool_call openai-chat/stream/everything openai-chat/stream/mixed_tool_calls",
    ),
    "its schema has no search_result_location": (
        (MESSAGES,),
        "amazon-converse/response/citations amazon-converse/stream/citations",
    ),
    "its schema has no mcp_tool_listing": (
        (MESSAGES,),
        """
        openai-responses/response/mcp_failures openai-responses/response/mcp_list_and_call
        openai-responses/stream/mcp_failures openai-responses/stream/mcp_list_and_call ver-72e134c0ac pai-cb07d2da32
        ver-6df8525828 ver-b607e5dc4d ver-1bd232bac7 ver-34ee7999ef pai-1c65a65863 ver-78da97cbc3
        """,
    ),
    "it takes a shell for its own unless it declared one that runs at the provider": (
        (RESPONSES,),
        """
        anthropic-messages/response/hosted_code pai-ae03f509a5 pai-48432b6cc2 pai-6f2ffc65bb ver-d4fd16f5a0
        pai-84359421d7 ver-b7627ee164 ver-a145b46aac pai-d2cfa26a16
        """,
    ),
    "a call of the client's shell is one of its function bash": (
        (MESSAGES,),
        "openai-responses/response/shell_call openai-responses/stream/shell_call ver-77e0243f4c",
    ),
    "a call of the client's computer is one of its function computer": (
        (MESSAGES,),
        """
        openai-responses/response/computer_call openai-responses/response/computer_call_click
        openai-responses/response/computer_call_double_click openai-responses/response/computer_call_keypress
        openai-responses/response/computer_call_move openai-responses/response/computer_call_screenshot
        openai-responses/response/computer_call_scroll openai-responses/response/computer_call_type
        openai-responses/response/computer_call_wait openai-responses/stream/computer_call
        """,
    ),
    "it reads the choices of a stream as one": (BOTH, "google-generate-content/stream/two_candidates_in_turns"),
    "it reads the candidates of a stream as one": (
        (GOOGLE,),
        """
        openai-chat/stream/everything openai-chat/stream/n_two_choices openai-chat/stream/n_two_choices_interleaved
        openai-chat/stream/n_two_choices_one_chunk openai-chat/stream/n_two_choices_tools
        """,
    ),
    "the content of message_start is in the item, not in deltas": (
        (RESPONSES,),
        "anthropic-messages/stream/resume_with_content",
    ),
    "the source names no page, and the target demands one": (
        (CHAT, RESPONSES, MESSAGES),
        """
        google-generate-content/response/grounding_explicit_zero google-generate-content/response/grounding_search
        google-generate-content/response/grounding_maps_and_images
        """,
    ),
    "a place on a map is a source with a URL": (
        (GOOGLE,),
        "google-interactions/response/annotations google-interactions/stream/annotations",
    ),
    "the source has a total only": (BOTH, "google-interactions/response/usage_odd"),
    "the recorder changed the item, and left its deltas": (
        (*BOTH, MESSAGES),
        "btj-ea96e551c6 btj-ab7cc8ddbc btj-3ff5906dc3 btj-fcac4a5b57",
    ),
}

KNOWN = {
    (f"{client}, recorded", id_): reason
    for reason, (clients, ids) in _KNOWN.items()
    for client in clients
    for id_ in ids.split()
}
"""Why, by the client and the id of the record."""
