"""What a usage costs, against sums done by hand from the catalog's prices (dollars for a million tokens)."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.models.entries import CatalogModel
from unified_llm.models.pricing import Cost, cost

pytestmark = pytest.mark.usefixtures("own_catalog")


def used(input: int | None, output: int | None, inputs: Any = None, outputs: Any = None, **more: Any) -> dict[str, Any]:
    usage: dict[str, Any] = {"input_tokens": input, "output_tokens": output, **more}
    return usage | {"input_tokens_details": inputs, "output_tokens_details": outputs}


def model(**prices: Any) -> CatalogModel:
    return CatalogModel.read("acme", {"id": "m", "cost": prices})


def amounts(bill: Cost) -> dict[str, str]:
    return {part.name: str(part.amount) for part in bill.parts}


def missing(bill: Cost) -> dict[str, int | None]:
    return {each.name: each.count for each in bill.missing}


def test_input_cache_and_output() -> None:
    # in 5, cache read 0.50, cache write 6.25, out 25; 3000 of 10 000 tokens neither came from the cache nor went to it.
    usage = used(10_000, 500, {"cached_tokens": 6_000, "cache_write_tokens": 1_000})
    bill = cost(usage, "anthropic/claude-opus-4-7")
    assert amounts(bill) == {"input": "0.015", "cache_read": "0.003", "cache_write": "0.00625", "output": "0.0125"}
    assert (bill.total, bill.known, bill.currency, bill.tier) == (Decimal("0.03675"), Decimal("0.03675"), "USD", None)


def test_what_a_provider_reports_costs_what_it_says() -> None:
    # The same counts as this wire has them: input_tokens without cache.
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-7",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 3_000,
            "cache_read_input_tokens": 6_000,
            "cache_creation_input_tokens": 1_000,
            "cache_creation": {"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 400},
            "output_tokens": 500,
        },
    }
    bill = cost(ul.read(answer, "anthropic-messages", "response").usage, "anthropic/claude-opus-4-7")
    # An hour in the cache costs twice the input price to write: 400 * 10; the other 600 cost 6.25.
    assert amounts(bill)["cache_write.ephemeral_1h_input_tokens"] == "0.004"
    assert amounts(bill)["cache_write"] == "0.00375"
    assert bill.total == Decimal("0.015") + Decimal("0.003") + Decimal("0.00775") + Decimal("0.0125")


def test_only_the_provider_with_that_rule_has_it() -> None:
    usage = used(100, 0, {"cache_write_tokens": 100, "cache_write_tokens_details": {"ephemeral_1h_input_tokens": 100}})
    assert amounts(cost(usage, model(input=5, output=1, cache_write=6))) == {"cache_write": "0.0006"}


@pytest.mark.parametrize(
    ("tokens", "tier", "total"),
    [
        (250_000, None, "1.25"),  # the older field has 200 000, the tiers have the real bound
        (272_000, None, "1.36"),  # has to be exceeded
        (272_001, 272_000, "2.72001"),  # and then the whole request costs 10
    ],
)
def test_a_long_input_has_prices_of_its_own(tokens: int, tier: int | None, total: str) -> None:
    bill = cost(used(tokens, 0), "openai/gpt-5.5")
    assert (bill.tier, bill.total) == (tier, Decimal(total))


def test_what_came_from_the_cache_counts_towards_the_tier() -> None:
    bill = cost(used(300_000, 1_000, {"cached_tokens": 200_000}), "openai/gpt-5.5")  # 10, cached 1, out 45
    assert amounts(bill) == {"input": "1", "cache_read": "0.2", "output": "0.045"}


def test_the_highest_tier_that_is_exceeded_counts() -> None:
    tiers = [
        {"tier": {"type": "context", "size": 256_000}, "input": 4, "output": 1},
        {"tier": {"type": "context", "size": 32_000}, "input": 2, "output": 1},
    ]
    priced = model(input=1, output=1, tiers=tiers)
    assert [cost(used(n, 0), priced).tier for n in (32_000, 32_001, 256_000, 256_001)] == [
        None,
        32_000,
        32_000,
        256_000,
    ]
    assert cost(used(256_001, 0), priced).total == Decimal("1.024004")


def test_the_older_form_of_a_tier_counts_where_it_is_alone() -> None:
    priced = model(input=1, output=2, context_over_200k={"input": 3, "output": 4})
    assert cost(used(200_000, 0), priced).total == Decimal("0.2")
    bill = cost(used(200_001, 10), priced)
    assert (bill.tier, amounts(bill)) == (200_000, {"input": "0.600003", "output": "0.00004"})


def test_audio_has_prices_of_its_own() -> None:
    # in 0.3, audio in 1, cache read 0.03, out 2.5
    bill = cost(used(1_000, 200, {"audio_tokens": 400, "cached_tokens": 100}), "google/gemini-2.5-flash")
    assert amounts(bill) == {"input": "0.00015", "input_audio": "0.0004", "cache_read": "0.000003", "output": "0.0005"}
    # in 0.43, audio in 3.81, out 1.66, audio out 15.11
    bill = cost(used(100, 100, {"audio_tokens": 50}, {"audio_tokens": 80}), "alibaba/qwen3-omni-flash")
    assert amounts(bill) == {
        "input": "0.0000215",
        "input_audio": "0.0001905",
        "output": "0.0000332",
        "output_audio": "0.0012088",
    }


def test_audio_from_the_cache_is_charged_once() -> None:
    details = {"audio_tokens": 400, "cached_tokens": 300, "cached_tokens_details": {"audio": 300}}
    bill = cost(used(400, 0, details), "google/gemini-2.5-flash")
    assert amounts(bill) == {"input_audio": "0.0001", "cache_read": "0.000009"}


def test_reasoning_is_output_unless_it_has_a_price_of_its_own() -> None:
    usage = used(100, 50, None, {"reasoning_tokens": 30})
    # in 0.4, out 1.2, reasoning 4
    assert amounts(cost(usage, "alibaba/qwen-plus")) == {
        "input": "0.00004",
        "output": "0.000024",
        "reasoning": "0.00012",
    }
    assert amounts(cost(usage, "openai/gpt-5.5")) == {"input": "0.0005", "output": "0.0015"}


def test_reasoning_above_a_tier_that_does_not_list_it() -> None:
    tiers = [{"tier": {"type": "context", "size": 10}, "input": 2, "output": 20}]
    usage = used(11, 50, None, {"reasoning_tokens": 30})
    # The same price as other output below: output above too.
    assert amounts(cost(usage, model(input=1, output=10, reasoning=10, tiers=tiers)))["output"] == "0.001"
    # Another price below: unknown above.
    bill = cost(usage, model(input=1, output=10, reasoning=40, tiers=tiers))
    assert (amounts(bill)["output"], missing(bill)) == ("0.0004", {"reasoning": 30})


# ---- what has no price ----------------------------------------------------------------------------------------------


def test_a_missing_price_is_said_and_not_taken_as_nothing() -> None:
    bill = cost(used(1_000, 10, {"cached_tokens": 400}), "alibaba/qwen-plus")
    assert missing(bill) == {"cache_read": 400}
    assert bill.total is None
    assert bill.known == Decimal("0.000252")  # 600 * 0.4 + 10 * 1.2
    assert str(bill) == "$0.000252 and what has no listed price: cache_read (400)"


def test_a_price_of_nothing_is_a_price() -> None:
    bill = cost(used(1_000, 10), model(input=0, output=0))
    assert (bill.total, bill.missing, len(bill.parts)) == (Decimal(0), (), 2)


def test_a_missing_price_can_be_charged_as_plain_on_request() -> None:
    bill = cost(used(1_000, 10, {"cached_tokens": 400}), "alibaba/qwen-plus", fallback=True)
    assert (bill.missing, bill.total) == ((), Decimal("0.000412"))  # 1000 * 0.4 + 10 * 1.2
    assert [part.note for part in bill.parts if part.name == "cache_read"] == [
        "no price of its own is listed; charged as input"
    ]


def test_a_price_that_only_short_requests_have_is_missing_above() -> None:
    tiers = [{"tier": {"type": "context", "size": 100}, "input": 2, "output": 2}]
    priced = model(input=1, output=1, cache_read=0.1, tiers=tiers)
    assert cost(used(100, 0, {"cached_tokens": 50}), priced).missing == ()
    bill = cost(used(101, 0, {"cached_tokens": 50}), priced)
    assert [(each.name, each.count, each.reason) for each in bill.missing] == [
        ("cache_read", 50, "no price of cache_read is listed above 100 tokens")
    ]


def test_a_model_without_prices_has_an_unknown_cost() -> None:
    bill = cost(used(5, 6), CatalogModel.read("acme", {"id": "m"}))
    assert (bill.total, missing(bill), bill.parts) == (None, {"input": 5, "output": 6}, ())
    assert cost(used(5, 6), CatalogModel.read("acme", {"id": "m"}), fallback=True).total is None


def test_counts_that_the_usage_does_not_say_are_missing() -> None:
    bill = cost(used(None, 6), model(input=1, output=1))
    assert (missing(bill), bill.total) == ({"input": None}, None)
    assert missing(cost({"input_tokens": 1}, model(input=1, output=1))) == {"output": None}


def test_calls_of_hosted_tools_have_no_listed_price() -> None:
    bill = cost(used(5, 6, hosted_tools={"web_search": 2, "web_fetch": 0}), model(input=1, output=1))
    assert (missing(bill), bill.total) == ({"hosted_tools.web_search": 2}, None)


# ---- modes, sums, mistakes ------------------------------------------------------------------------------------------


def test_a_mode_has_prices_of_its_own() -> None:
    usage = used(1_000, 100, {"cached_tokens": 400})
    assert cost(usage, "anthropic/claude-opus-4-7", mode="fast").total == Decimal("0.0342")  # 30, 3, 150
    with pytest.raises(ValueError, match=r"no mode 'slow'; it has: fast"):
        cost(usage, "anthropic/claude-opus-4-7", mode="slow")


def test_the_price_of_a_mode_for_long_requests_is_not_listed() -> None:
    bill = cost(used(300_000, 100), "openai/gpt-5.5", mode="fast")
    assert (bill.total, missing(bill)) == (None, {"input": 300_000, "output": 100})


def test_costs_add_up() -> None:
    bills = [cost(used(1_000, 0), "anthropic/claude-opus-4-7"), cost(used(0, 1_000), "openai/gpt-5.5")]
    assert sum(bills, Cost()).total == sum(bills).total == Decimal("0.035")  # type: ignore[union-attr]
    assert (bills[0] + cost(used(None, 0), "openai/gpt-5.5")).total is None


def test_sums_are_exact_whatever_the_callers_precision() -> None:
    with localcontext(Context(prec=3)):
        bill = cost(used(123_456_789, 1), model(input=0.123457, output=1))
        total, first = bill.total, bill.parts[0].amount
    assert first == Decimal("15.241604799573")
    assert total == Decimal("15.241605799573")  # 123456789 * 0.123457 / 10**6, and 0.000001 for the output
    assert str(cost(used(2_000_000, 0), model(input=5, output=1)).total) == "10"


@pytest.mark.parametrize(
    ("usage", "path"),
    [
        (used(10, 0, {"cached_tokens": 6, "cache_write_tokens": 5}), "/input_tokens_details"),
        (used(0, 10, None, {"reasoning_tokens": 11}), "/output_tokens_details"),
        (used(-1, 0), "/input_tokens"),
        (used(1.5, 0), "/input_tokens"),  # type: ignore[arg-type]
        (used(1, 0, {"cached_tokens": "1"}), "/input_tokens_details/cached_tokens"),
    ],
)
def test_a_usage_that_contradicts_itself_is_refused(usage: dict[str, Any], path: str) -> None:
    with pytest.raises(ul.InvalidBody) as error:
        cost(usage, model(input=1, output=1))
    assert error.value.path == path


def test_more_written_for_an_hour_than_written_at_all_is_refused() -> None:
    details = {"cache_write_tokens": 5, "cache_write_tokens_details": {"ephemeral_1h_input_tokens": 6}}
    with pytest.raises(ul.InvalidBody, match="cache_write_tokens"):
        cost(used(10, 0, details), "anthropic/claude-opus-4-7")


def test_an_unknown_model_has_no_price() -> None:
    with pytest.raises(ul.UnknownModel):
        cost(used(1, 1), "anthropic/claude-opus-47")


def test_the_parts_as_json() -> None:
    told = cost(used(1_000, 0, {"cached_tokens": 1}), model(input=5, output=1)).to_json()
    assert told == {
        "currency": "USD",
        "total": None,
        "known": "0.004995",
        "tier": None,
        "parts": [{"name": "input", "tokens": 999, "price": "5", "amount": "0.004995", "note": ""}],
        "missing": [{"name": "cache_read", "count": 1, "reason": "no price of cache_read is listed"}],
    }
