"""The errors of structured output and of tool loops: an answer that does not fit, a limit, an unknown price."""

from __future__ import annotations

from typing import Any

from .errors import UnifiedLLMError

__all__ = ["OutputParseError", "ToolLoopLimitError", "UnknownPrice"]


class ToolLoopLimitError(UnifiedLLMError):
    """A tool loop came to its limit without an answer: raise the limit and go on from `.result`, or take what is there.

    `result` is the `RunResult` so far; `responses.resume(error.result, ...)` goes on where it stopped. `limit` is the
    argument that was reached: max_turns, max_tool_calls, max_total_tokens or max_cost.

    >>> import unified_llm as ul
    >>> def now() -> str:
    ...     return "noon"
    >>> try:
    ...     ul.Client().responses.run(model="local/echo", input="[[call now]]", tools=[now], max_turns=1)
    ... except ToolLoopLimitError as error:
    ...     print(error.limit, len(error.result.steps))
    max_turns 1
    """

    def __init__(self, reason: str, result: Any, limit: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.result = result
        self.limit = limit


class UnknownPrice(UnifiedLLMError, LookupError):
    """`max_cost` cannot be checked, because a price is not listed: limit `max_total_tokens` instead.

    Raised before anything is sent for a model without a price. `result` is None then, else the `RunResult` so far: a
    turn used something that has no price of its own.

    >>> import unified_llm as ul
    >>> try:
    ...     ul.Client().responses.run(model="local/echo", input="Hi", tools=[], max_cost=1)
    ... except UnknownPrice as error:
    ...     print(error)
    local/echo has no listed price; max_cost cannot be checked, use max_total_tokens
    """

    def __init__(self, reason: str, result: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.result = result


class OutputParseError(UnifiedLLMError, ValueError):
    """The answer does not match the requested structured output: pass `retries=`, or read `.text` yourself.

    `response` is the whole answer that was paid for, `text` what should have been it, `reason` what does not fit;
    `truncated` is True where the answer was cut off (raise `max_output_tokens`). `result` is the `RunResult` so far of
    a tool loop, else None.

    >>> import unified_llm as ul
    >>> from unified_llm.drift import FakeUpstream
    >>> try:
    ...     ul.Client(FakeUpstream("openai-chat").returns("No.")).responses.parse(input="Count.", text_format=list[int])
    ... except OutputParseError as error:
    ...     print(error.text)
    No.
    """

    def __init__(self, reason: str, response: Any, text: str | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.response = response
        self.text = text
        self.truncated = False
        self.result: Any = None
