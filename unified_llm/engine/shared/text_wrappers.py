"""What a target has no field for, as text in a fixed form, of the kind that agent command lines use (decision 0025).

Both forms are only written around text, never searched for inside it. A reminder is not turned back into a system
message: the author of a user's text could otherwise write a system message. A failure is turned back, since the
author of a result may also report a failure.
"""

from __future__ import annotations

__all__ = ["FAILURE", "REMINDER", "as_failure", "failure_of", "reminder_ends"]

REMINDER = "system-reminder"
"""The tag around instructions given in mid conversation."""

FAILURE = ("<tool_error>", "</tool_error>")
"""What stands before and behind the text of a failed tool's result."""


def reminder_ends() -> tuple[str, str]:
    """What stands before and behind instructions that are sent as the user's."""
    return f"<{REMINDER}>\n", f"\n</{REMINDER}>"


def as_failure(text: str) -> str:
    """The text of a failed tool's result, where the protocol has no field for the failure.

    >>> as_failure("no such file")
    '<tool_error>no such file</tool_error>'
    """
    return text.join(FAILURE)


def failure_of(text: str) -> str | None:
    """What `as_failure` made `text` of; None if it did not.

    >>> failure_of(as_failure("no such file")), failure_of("no such file")
    ('no such file', None)
    """
    before, behind = FAILURE
    if text.startswith(before) and text.endswith(behind) and len(text) >= len(before) + len(behind):
        return text[len(before) : -len(behind)]
    return None
