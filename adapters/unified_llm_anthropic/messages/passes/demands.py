"""What the API demands of the history of a request, and what differs by model.

Neighbors of one role are accepted, and so is an assistant that opens a conversation or an id that recurs in a later
turn; what follows is refused. A model that is not listed is taken for one of the newest that still take a beginning of
their answer.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
https://docs.claude.com/en/docs/build-with-claude/extended-thinking#extended-thinking-with-tool-use
https://docs.claude.com/en/docs/about-claude/models/overview (read 2026-10)
"""

from __future__ import annotations

from typing import Any

from unified_llm.passes.repair import CALLS, MADE_IMAGES, Rules

from .thinking import thinking_form

__all__ = ["DEMANDS"]

_NO_SYSTEM: dict[str, Any] = {"system": "user"}
_NO_PREFILL: dict[str, Any] = {"closes": "asked"}
_NEITHER: dict[str, Any] = {**_NO_SYSTEM, **_NO_PREFILL}
# Thinking that is off by default.
_OFF: dict[str, Any] = {"reasoning_off": "unsaid"}

DEMANDS = Rules(
    calls={**CALLS, "shell_call": "shell_call_output", "computer_call": "computer_call_output"},
    paired=True,
    adjacent=True,
    call_id_form="[a-zA-Z0-9_-]+",
    system="place",
    images=MADE_IMAGES,
    blank="blank",
    trailing=True,
    filled=True,
    reasoning_proof=True,
    reasoning_form=thinking_form,
    reasoning_opens="budget",
    reasoning_off="said",
    models={
        "claude-3": {**_NO_SYSTEM, **_OFF},
        "claude-opus-4": {**_NO_SYSTEM, **_OFF},
        "claude-sonnet-4": {**_NO_SYSTEM, **_OFF},
        "claude-haiku-4": {**_NO_SYSTEM, **_OFF},
        "claude-opus-4-6": {**_NEITHER, **_OFF},
        "claude-sonnet-4-6": {**_NEITHER, **_OFF},
        "claude-opus-4-7": {**_NEITHER, **_OFF},
        "claude-opus-4-8": {**_NO_PREFILL, **_OFF},
        "claude-opus-5": _NO_PREFILL,
        "claude-haiku-5": _NO_PREFILL,
        "claude-sonnet-5": _NEITHER,
        "claude-sonnet-5-5": _NO_PREFILL,
        "claude-fable": _NO_PREFILL,
        "claude-mythos": _NO_PREFILL,
    },
)
