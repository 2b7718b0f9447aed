"""Limits of a run: turns, tool calls, tokens and money, checked before anything more is spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ...foundation.errors import InvalidBody, UnknownModel, UnknownProvider
from ...foundation.hints import Argument, Either, Hint
from ...foundation.run_errors import ToolLoopLimitError, UnknownPrice
from .run_results import RunResult, Step

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a run. None means unlimited; `max_cost` is in US dollars at list prices.

    Raises `InvalidBody` for a limit that is none.

    >>> Limits(max_cost="0.50").dollars
    Decimal('0.50')
    """

    max_turns: int = 10
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost: Decimal | float | str | None = None

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_tool_calls", "max_total_tokens"):
            value = getattr(self, name)
            least = 0 if name == "max_tool_calls" else 1
            if value is None and name != "max_turns":
                continue
            if type(value) is not int or value < least:
                raise InvalidBody(f"/{name}", f"should be a whole number of at least {least}, not {value!r}")
        if self.max_cost is not None and not (self.dollars.is_finite() and self.dollars > 0):
            raise InvalidBody("/max_cost", f"should be an amount of dollars above 0, not {self.max_cost!r}")

    @property
    def dollars(self) -> Decimal:
        """`max_cost`, exactly as it is written."""
        try:
            return Decimal(str(self.max_cost))
        except InvalidOperation:
            return Decimal("NaN")

    def check_prices(self, upstreams: Iterable[Any]) -> None:
        """Raise `UnknownPrice` for a model without a listed price, where there is a `max_cost`."""
        from ...models.catalog import get

        for each in upstreams if self.max_cost is not None else ():
            try:
                listed = get(f"{each.provider}/{each.model}").cost if each.provider and each.model else None
            except (UnknownModel, UnknownProvider):
                listed = None
            if listed is None or listed.input is None or listed.output is None:
                raise UnknownPrice(f"{each.name} has no listed price; max_cost cannot be checked, use max_total_tokens")

    def check_calls(self, steps: Sequence[Step], response: Any, calls: int) -> None:
        """Raise `ToolLoopLimitError` where a turn calls more tools than may still be called."""
        ran = sum(len(step.output_nodes) for step in steps) + calls
        if self.max_tool_calls is not None and ran > self.max_tool_calls:
            self._stop("max_tool_calls", f"more than max_tool_calls={self.max_tool_calls} tool calls", steps)

    def check_spent(self, steps: Sequence[Step]) -> None:
        """Raise `ToolLoopLimitError` where another turn would exceed the tokens or the cost, `UnknownPrice` where that
        cannot be computed."""
        if self.max_total_tokens is not None:
            counts = [_tokens(step.response.usage) for step in steps]
            if None in counts:
                number = steps[counts.index(None)].number
                self._stop("max_total_tokens", f"turn {number} has no usage; max_total_tokens cannot be checked", steps)
            used = sum(count or 0 for count in counts)
            if used >= self.max_total_tokens:
                self._stop(
                    "max_total_tokens", f"{used} tokens used; max_total_tokens is {self.max_total_tokens}", steps
                )
        if self.max_cost is not None:
            cost = RunResult(tuple(steps)).cost
            if cost is not None and cost.known >= self.dollars:
                self._stop("max_cost", f"${cost.known:f} spent; max_cost is ${self.dollars:f}", steps)
            if cost is None or cost.missing:
                why = f"no price is listed for {', '.join(each.name for each in cost.missing)}" if cost else "no usage"
                raise UnknownPrice(f"the cost of the run is not known ({why})", RunResult(tuple(steps), "limit"))

    def check_turns(self, steps: Sequence[Step]) -> None:
        """Raise `ToolLoopLimitError` where there may be no other turn."""
        if len(steps) >= self.max_turns:
            turns = f"{self.max_turns} turn{'s' if self.max_turns > 1 else ''}"
            limit = Argument("max_turns", self.max_turns)
            after = Either((Hint(limit, "; raise it or continue from error.result"), turns))
            self._stop("max_turns", Hint("no final response after ", after), steps)

    def _stop(self, limit: str, reason: str, steps: Sequence[Step]) -> None:
        raise ToolLoopLimitError(reason, RunResult(tuple(steps), "limit"), limit)


def _tokens(usage: Any) -> int | None:
    if usage is None:
        return None
    if usage.total_tokens is not None:
        return int(usage.total_tokens)
    known = [each for each in (usage.input_tokens, usage.output_tokens) if each is not None]
    return sum(known) if known else None
