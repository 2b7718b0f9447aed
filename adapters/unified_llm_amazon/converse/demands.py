"""What Bedrock demands of the history of a request.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
"""

from __future__ import annotations

from unified_llm.passes.repair import Rules

from .passes import thinking_form

__all__ = ["RULES"]

RULES = Rules(
    paired=True,
    adjacent=True,
    call_id_length=64,
    call_id_form="[a-zA-Z0-9_.:-]+",
    opens="assistant",
    alternates=True,
    system="user",
    blank="blank",
    filled=True,
    reasoning_proof=True,
    reasoning_form=thinking_form,
    reasoning_opens="budget",
    reasoning_off="said",
)
