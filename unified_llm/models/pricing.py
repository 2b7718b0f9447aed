"""What a usage costs: tokens split into parts that do not overlap, each at its listed price, in decimals.

A part whose price is not listed is named in `.missing` and leaves `.total` None: a missing price is not a free one.
Canonical sums include their parts, so plain input is what is left of `input_tokens` without cache and audio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

from ..foundation.errors import InvalidBody
from ..foundation.usage_errors import InvalidArgument
from .catalog import get
from .entries import CatalogModel, Prices, Rates
from .provider_table import table

__all__ = ["Cost", "Missing", "Part", "cost"]

# Exact for any price and count there is, whatever the caller's own decimal context rounds to.
_EXACT = Context(prec=60)
_OLD_BOUND = 200_000


@dataclass(frozen=True, slots=True)
class Part:
    """`tokens` of one kind at `price` dollars a million; `amount` in dollars. `note` is the reason for that price."""

    name: str
    tokens: int
    price: Decimal
    note: str = ""

    @property
    def amount(self) -> Decimal:
        """What the part costs, in dollars, unrounded."""
        with localcontext(_EXACT):
            return _plain((self.price * self.tokens).scaleb(-6))


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was used and has no listed price; `count` is None where the usage has no number."""

    name: str
    count: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Money: `.total` in `.currency`, made of `.parts`; None while something in `.missing` has no price.

    `.known` is the sum of what has one, a lower bound. `.tier` is the input length that was exceeded, if the prices are
    those of long requests. Costs add up: `sum(costs)` of several answers keeps every part.

    >>> from unified_llm import models
    >>> bill = models.cost({"input_tokens": 1_000_000, "output_tokens": 0}, "anthropic/claude-opus-4-7")
    >>> bill.total, bill.currency, (bill + bill).total
    (Decimal('5'), 'USD', Decimal('10'))
    """

    parts: tuple[Part, ...] = ()
    missing: tuple[Missing, ...] = ()
    tier: int | None = None
    currency: str = "USD"

    @property
    def known(self) -> Decimal:
        """The sum of the parts that have a price."""
        with localcontext(_EXACT):
            return _plain(sum((part.amount for part in self.parts), Decimal(0)))

    @property
    def total(self) -> Decimal | None:
        """What it cost; None while a price is missing."""
        return None if self.missing else self.known

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        tier = self.tier if self.tier == other.tier else None
        return Cost(self.parts + other.parts, self.missing + other.missing, tier)

    def __radd__(self, other: Any) -> Cost:
        return self if other == 0 else NotImplemented

    def __str__(self) -> str:
        told = f"${self.known:f}"
        if not self.missing:
            return told
        unpriced = ", ".join(f"{m.name} ({'?' if m.count is None else m.count})" for m in self.missing)
        return f"{told} and what has no listed price: {unpriced}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; amounts and prices are strings, so that nothing is rounded."""
        return {
            "currency": self.currency,
            "total": None if self.total is None else str(self.total),
            "known": str(self.known),
            "tier": self.tier,
            "parts": [
                {"name": p.name, "tokens": p.tokens, "price": str(p.price), "amount": str(p.amount), "note": p.note}
                for p in self.parts
            ],
            "missing": [{"name": m.name, "count": m.count, "reason": m.reason} for m in self.missing],
        }


def cost(
    usage: Any, model: CatalogModel | Prices | str, *, mode: str | None = None, fallback: bool = False,
    provider: str = "",
) -> Cost:  # fmt: skip
    """The cost of a canonical usage (`unified_llm.Usage` or its JSON form) at the listed prices of a model.

    `model` is a `CatalogModel` or "provider/model", or prices by themselves, for which `provider` chooses the rules of
    cached tokens. `mode` is one of the catalog's modes with prices of their own
    (such as "fast"). With `fallback=True` what has no price of its own is charged as plain input or output, and its
    part has a note; otherwise it is in `.missing`. Discounts of batches, service tiers and contracts are not listed
    anywhere and not known.

    Raises `UnknownModel`/`UnknownProvider`, `InvalidBody` for a usage whose parts exceed its sums, and `ValueError`
    for a mode the model does not have. https://models.dev

    >>> usage = {"input_tokens": 1000, "output_tokens": 100, "input_tokens_details": {"cached_tokens": 400}}
    >>> bill = cost(usage, "anthropic/claude-opus-4-7")      # $5 in, $0.50 cached, $25 out
    >>> bill.total, [(part.name, str(part.amount)) for part in bill.parts]
    (Decimal('0.0057'), [('input', '0.003'), ('cache_read', '0.0002'), ('output', '0.0025')])
    """
    known = get(model) if isinstance(model, str) else model
    if mode is not None and isinstance(known, Prices):
        raise InvalidArgument(f"prices have no mode {mode!r}; give a model of the catalog")
    counts = usage.model_dump(mode="json", exclude_unset=True) if hasattr(usage, "model_dump") else dict(usage)
    prices = known if isinstance(known, Prices) else _mode(known, mode)
    tokens_in = counts.get("input_tokens")
    rates, tier = _tier(prices, tokens_in or 0)
    if mode is not None and tier is None and not isinstance(known, Prices):
        # The catalog lists a mode's prices once; without the price of a long request in that mode.
        tier = _tier(known.cost or Prices(), tokens_in or 0)[1]
        rates = rates if tier is None else Rates()
    bill = _Bill(rates, prices, tier, fallback)
    if tokens_in is None:
        bill.missing.append(Missing("input", None, "the usage has no number of input tokens"))
    else:
        for part in _input(counts, provider if isinstance(known, Prices) else known.provider_id):
            bill.charge(*part)
    if counts.get("output_tokens") is None:
        bill.missing.append(Missing("output", None, "the usage has no number of output tokens"))
    else:
        for part in _output(counts, bill.own("reasoning")):
            bill.charge(*part)
    for tool, calls in (counts.get("hosted_tools") or {}).items():
        if calls:
            number = calls if type(calls) is int else None
            bill.missing.append(Missing(f"hosted_tools.{tool}", number, "calls of hosted tools have no listed price"))
    return Cost(tuple(bill.parts), tuple(bill.missing), tier)


class _Bill:
    """Charges parts at one row of prices, and writes down what has none."""

    def __init__(self, rates: Rates, base: Rates, tier: int | None, fallback: bool) -> None:
        self.rates, self.base, self.tier, self.fallback = rates, base, tier, fallback
        self.parts: list[Part] = []
        self.missing: list[Missing] = []

    def own(self, name: str) -> bool:
        """Whether that kind is not simply charged as output."""
        base = getattr(self.base, name)
        return getattr(self.rates, name) is not None or (base is not None and base != self.base.output)

    def charge(self, name: str, tokens: int, plain: str, rule: Mapping[str, Any] | None = None) -> None:
        if not tokens:
            return
        label, _, kind = name.partition(".")
        price: Decimal | None = getattr(self.rates, label)
        note = ""
        if rule is not None:
            of = getattr(self.rates, rule["of"])
            price = None if of is None else of * Decimal(str(rule["times"]))
            note = f"{kind}: {rule['times']} times the price of {rule['of']}"
        if price is None and self.fallback and getattr(self.rates, plain) is not None:
            price, note = getattr(self.rates, plain), f"no price of its own is listed; charged as {plain}"
        if price is not None:
            self.parts.append(Part(name, tokens, price, note))
            return
        above = "" if self.tier is None else f" above {self.tier} tokens"
        self.missing.append(Missing(name, tokens, f"no price of {label} is listed{above}"))


def _mode(model: CatalogModel, mode: str | None) -> Prices:
    if mode is None:
        return model.cost or Prices()
    modes = model.experimental.modes if model.experimental else {}
    if mode not in modes:
        raise InvalidArgument(f"{model.ref} has no mode {mode!r}; it has: {', '.join(modes) or 'none'}")
    rates = modes[mode].cost
    return Prices() if rates is None else Prices.model_validate(rates.model_dump(exclude_unset=True))


def _tier(prices: Prices, tokens: int) -> tuple[Rates, int | None]:
    """The row of prices for an input of that length; the whole request is charged at it."""
    exceeded = [each for each in prices.tiers if each.tier.type == "context" and tokens > each.tier.size]
    if exceeded:
        highest = max(exceeded, key=lambda each: each.tier.size)
        return highest, highest.tier.size
    if not prices.tiers and prices.context_over_200k is not None and tokens > _OLD_BOUND:
        return prices.context_over_200k, _OLD_BOUND
    return prices, None


Charge = tuple[str, int, str, Mapping[str, Any] | None]


def _input(usage: Mapping[str, Any], provider: str) -> Iterator[Charge]:
    where = "/input_tokens_details"
    details = usage.get("input_tokens_details") or {}
    total = _count(usage, "input_tokens", "")
    cached, written, audio = (_count(details, f"{each}_tokens", where) for each in ("cached", "cache_write", "audio"))
    # Audio from the cache is charged as cached, like everything that did.
    split = details.get("cached_tokens_details") or {}
    audio -= min(audio, split.get("audio") or split.get("audio_tokens") or 0)
    left = total - cached - written - audio
    if left < 0:
        raise InvalidBody(where, f"the parts are more than the {total} input_tokens")
    yield "input", left, "input", None
    yield "input_audio", audio, "input", None
    yield "cache_read", cached, "input", None
    lifetimes = details.get("cache_write_tokens_details") or {}
    for name, rule in table().get(provider, {}).get("cache_write", {}).items():
        ruled = lifetimes.get(name) or 0
        written -= ruled
        yield f"cache_write.{name}", ruled, "input", rule
    if written < 0:
        raise InvalidBody(f"{where}/cache_write_tokens_details", "the parts are more than the cache_write_tokens")
    yield "cache_write", written, "input", None


def _output(usage: Mapping[str, Any], reasoning_apart: bool) -> Iterator[Charge]:
    where = "/output_tokens_details"
    details = usage.get("output_tokens_details") or {}
    total = _count(usage, "output_tokens", "")
    audio = _count(details, "audio_tokens", where)
    reasoning = _count(details, "reasoning_tokens", where)
    left = total - audio - reasoning
    if left < 0:
        raise InvalidBody(where, f"the parts are more than the {total} output_tokens")
    if not reasoning_apart:
        left, reasoning = left + reasoning, 0
    yield "output", left, "output", None
    yield "reasoning", reasoning, "output", None
    yield "output_audio", audio, "output", None


def _plain(amount: Decimal) -> Decimal:
    """The same number without zeros at its end, and without an exponent."""
    return amount.quantize(Decimal(1)) if amount == amount.to_integral_value() else amount.normalize()


def _count(node: Mapping[str, Any], key: str, where: str) -> int:
    value = node.get(key)
    if value is None:
        return 0
    if type(value) is not int or value < 0:
        raise InvalidBody(f"{where}/{key}", "a number of tokens is a whole number of at least 0")
    return value
