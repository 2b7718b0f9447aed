"""What is shown of the thoughts of Anthropic's models: `display` in `additionalModelRequestFields.thinking`.

From Claude Opus 4.7 on, thoughts have no text without it.

https://platform.claude.com/docs/en/build-with-claude/extended-thinking#controlling-thinking-display
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.profiles import ReasoningProfile

from .effort_fields import FIELDS

__all__ = ["is_shown", "write_display"]

Node = dict[str, Any]


def is_shown(asked: Node) -> bool:
    """Whether thoughts are requested, which an answer without thinking does not have."""
    shown = asked.get("include") is True or asked.get("display") == "summarized"
    return shown or asked.get("summary") not in (None, "none")


def write_display(own: Node, wire: Node, w: Writer, facts: ReasoningProfile) -> None:
    """What is shown of thoughts, where it differs from what Anthropic's model shows without a word."""
    said = [key for key in ("display", "include", "summary") if own.get(key) is not None]
    if not said or not facts.display:
        return
    display = own.get("display")
    if display is None:
        display = "omitted" if own.get("include") is False or own.get("summary") == "none" else "summarized"
    if display not in ("summarized", "omitted"):
        return
    thinking: Node | None = (wire.get(FIELDS) or {}).get("thinking")
    if thinking is None and facts.default != "on":
        return
    why = "what the model shows anyway"
    if display != facts.display:
        if thinking is None:
            thinking = {"type": "adaptive"}
            wire[FIELDS] = {"thinking": thinking}
            w.added(thinking, "type", "what is shown stands beside it")
        thinking["display"], why = display, f"sent as display {display!r}"
        if "display" not in said:
            w.added(thinking, "display")
        else:
            del own["display"]
            said.remove("display")
    for key in said:
        own[key] = Fated("approximated", why)
