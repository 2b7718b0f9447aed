"""What Bedrock demands of the history of a request, and what it takes in place of one that it refused.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Amended
from unified_llm.engine.shared.refused_thoughts import are_refused, without_thoughts
from unified_llm.passes.repair import MADE_IMAGES, Rules

from .requests import thinking_form

__all__ = ["RULES", "amended"]

# Models that refuse a last message of the assistant, which older ones continue; those refuse white space at its end.
# https://docs.claude.com/en/docs/about-claude/models/overview
_NO_PREFILL: dict[str, Any] = {"closes": "asked"}

RULES = Rules(
    paired=True,
    adjacent=True,
    call_id_length=64,
    call_id_form="[a-zA-Z0-9_.:-]+",
    opens="assistant",
    alternates=True,
    system="user",
    images=MADE_IMAGES,
    blank="blank",
    filled=True,
    reasoning_proof=True,
    reasoning_form=thinking_form,
    reasoning_opens="budget",
    reasoning_off="said",
    models={
        "claude": {"trailing": True},
        "claude-opus-4-6": _NO_PREFILL,
        "claude-sonnet-4-6": _NO_PREFILL,
        "claude-opus-4-7": _NO_PREFILL,
        "claude-opus-4-8": _NO_PREFILL,
        "claude-opus-5": _NO_PREFILL,
        "claude-sonnet-5": _NO_PREFILL,
        "claude-haiku-5": _NO_PREFILL,
        "claude-fable": _NO_PREFILL,
        "claude-mythos": _NO_PREFILL,
        "nova-2-lite": _NO_PREFILL,
    },
)


def amended(body: Any, message: str) -> Amended | None:
    """A request without the thoughts that Claude refused."""
    if not are_refused(message) or type(body) is not dict or type(body.get("messages")) is not list:
        return None
    return without_thoughts(body, lambda block: "reasoningContent" in block)
