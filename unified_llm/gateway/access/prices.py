"""What a response costs: at the prices that the configuration gives its upstream, else at those of the catalog."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ...client.upstreams.upstream import Upstream
from ...foundation.errors import InvalidBody, UnknownModel, UnknownProvider
from ...foundation.json_codec import dump, parse
from ...models.catalog import Catalog, current
from ...models.endpoints import provider
from ...models.own_prices import bill

__all__ = ["has_price", "price"]


def price(upstream: Upstream, model: str | None, usage: Mapping[str, Any]) -> int:
    """Millionths of a dollar; 0 for a model that has no price."""
    catalog = current()
    if upstream.price is None and not _is_listed(catalog, f"{upstream.provider}/{model}"):
        return 0
    try:
        return _price(catalog, upstream, model, dump(usage))
    except (ArithmeticError, InvalidBody, TypeError, UnknownModel, UnknownProvider, ValueError):
        return 0  # an upstream may send anything as its usage


def has_price(upstream: Upstream) -> bool:
    """Whether it is known what a model costs at an upstream: by the configuration, by the catalog, or because its
    provider is a server of the operator, such as the offline one."""
    return (
        upstream.price is not None
        or _is_local(upstream.provider)
        or _is_listed(current(), f"{upstream.provider}/{upstream.model}")
    )


@lru_cache(1_000)
def _is_local(name: str | None) -> bool:
    try:
        return bool(name) and provider(str(name)).local
    except (UnknownProvider, ValueError):
        return False


@lru_cache(64)
def _price(catalog: Catalog, upstream: Upstream, model: str | None, usage: bytes) -> int:
    """The same, computed once for the budgets, the metrics and the log of a response."""
    return math.ceil(bill(parse(usage), upstream, model, fallback=True).known * 1_000_000)


@lru_cache(1_000)
def _is_listed(catalog: Catalog, ref: str) -> bool:
    """Whether the catalog has prices of a model. The error for an unknown one is slow: it names the nearest ones."""
    try:
        return catalog.get(ref).cost is not None
    except (InvalidBody, UnknownModel, UnknownProvider, ValueError):
        return False
