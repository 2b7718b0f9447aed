"""Places of which a certificate does not give a true account yet: this list may only become shorter.

Each is the protocol of the document (the source, or the target), its kind, and a path without list positions, with a
packaged document that shows it and the protocol to which that is converted. The value itself is carried or reported,
which `test_law_sensitivity.py` holds; what is missing is where it went, or the relation that `suite.verify` lacks.
"""

from __future__ import annotations

__all__ = ["GAPS"]

GAPS: dict[tuple[str, str, str], tuple[str, str]] = {
    # The media type of a document that is sent as plain text is not in the report; its bytes are.
    ("amazon-converse", "request", "/messages/*/content/*/toolResult/content/*/document/format"): (
        "amazon-converse/request/tools",
        "anthropic-messages",
    ),
    # An answer that refuses ends with `stop`, and what the other protocol has for it follows from the refusal.
    ("openai-chat", "response", "/choices/*/finish_reason"): ("openai-chat/response/refusal", "anthropic-messages"),
    # A detail is added whose reason is the status; the reason of the source is matched with that.
    ("google-interactions", "error", "/error/details/*/reason"): (
        "google-interactions/error/404_rpc",
        "google-generate-content",
    ),
}
