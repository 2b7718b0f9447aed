"""What a usage costs at an upstream: at prices of the upstream's own, else at those that the catalog lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..foundation.usage_errors import InvalidArgument

if TYPE_CHECKING:
    from .entries import Prices
    from .pricing import Cost

__all__ = ["Place", "bill", "prices_of"]

_REQUIRED = ("input", "output")


class Place(Protocol):
    """An upstream, as far as its prices are concerned."""

    @property
    def provider(self) -> str | None:
        """The name of its provider."""

    @property
    def model(self) -> str | None:
        """The model of its requests, where they name none."""

    @property
    def price(self) -> Prices | None:
        """Its own prices."""


def prices_of(given: Mapping[str, Any]) -> Prices:
    """Prices in US dollars for a million tokens, by the names of the catalog. Raises `InvalidArgument`.

    >>> prices_of({"input": 1.25, "output": 10}).output
    Decimal('10')
    """
    from .entries import Prices, Rates

    known = [*Rates.model_fields]
    for name, value in given.items():
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise InvalidArgument(f"a price has no {name!r}; {hint}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise InvalidArgument(f"the price of {name} must be a number of at least 0, in USD for a million tokens")
    for name in _REQUIRED:
        if name not in given:
            raise InvalidArgument(f"the price of {name} is missing; 0 is free")
    return Prices.model_validate(dict(given))


def bill(usage: Any, upstream: Place, model: str | None, *, fallback: bool = False) -> Cost:
    """The cost of a usage of a model at an upstream; `fallback`, and what is raised, are those of `models.cost`."""
    from .pricing import cost

    if upstream.price is None:
        return cost(usage, f"{upstream.provider}/{model or upstream.model}", fallback=fallback)
    return cost(usage, upstream.price, fallback=fallback, provider=upstream.provider or "")
