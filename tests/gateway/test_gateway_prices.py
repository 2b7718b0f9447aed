"""Prices of the operator's own: in budgets, metrics and the request log, checked, reloaded, and imported."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

import unified_llm as ul
from gateway.serving import House
from gateway.test_gateway_doubts import HEAD, SHA, doubted
from gateway.test_gateway_quota import keys, post
from gateway.test_gateway_reload import FIRST, Running, keyed
from gateway.test_gateway_telemetry import LOG, lines, samples
from unified_llm.gateway.access import prices
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.configuration.yaml_import import imported
from upstreams import CHAT, CHAT_STREAM, Canned, frames, streamed

PRICE = {"input": 1.25, "output": 10, "cache_read": 0.125}
USED = {
    "prompt_tokens": 1_000_000,
    "completion_tokens": 100_000,
    "total_tokens": 1_100_000,
    "prompt_tokens_details": {"cached_tokens": 400_000},
}
COST = 0.6 * 1.25 + 0.4 * 0.125 + 0.1 * 10
USAGE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": USED}


@pytest.mark.parametrize(("budget", "codes"), [("1.80 USD/month", [200, 429]), ("1.81 USD/month", [200, 200])])
@pytest.mark.parametrize("model", ["m", "gpt-4o"])
def test_a_budget_is_spent_at_the_operators_prices(house: House, model: str, budget: str, codes: list[int]) -> None:
    """They take the place of a list price too."""
    up = Canned({**CHAT, "usage": USED}, model=model, provider="openai", price=PRICE)
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue={"budget": budget}))
    assert [post(house, gateway).status_code for _ in codes] == codes


@pytest.mark.parametrize("way", ["plain", "stream", "budget"])
def test_a_cost_is_in_the_metrics_and_in_the_request_log(house: House, way: str) -> None:
    stream = way == "stream"
    answer = (lambda: streamed(*CHAT_STREAM[:-1], *frames(USAGE, b"[DONE]"))) if stream else {**CHAT, "usage": USED}
    up = Canned(answer, model="m", price=PRICE)
    rules = {"budget": "100 USD/day"} if way == "budget" else {}
    gateway = house.gateway({"m": up.upstream}, telemetry=LOG, keys=keys(blue=rules))
    assert post(house, gateway, stream=stream).status_code == 200
    assert lines(gateway)[0]["cost"] == pytest.approx(COST)
    (found,) = (value for name, value in samples(gateway).items() if name.startswith("unified_llm_cost_usd_total{"))
    assert found == pytest.approx(COST)


def test_a_price_is_computed_once_for_budgets_metrics_and_log(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    prices._price.cache_clear()
    bills: list[Any] = []
    bill = prices.bill
    monkeypatch.setattr(prices, "bill", lambda *given, **more: bills.append(given) or bill(*given, **more))
    rules = {"blue": {"budget": "9 USD/day", "team": "sales"}}
    teams = {"sales": {"budget": "9 USD/day"}}
    up = Canned({**CHAT, "usage": USED}, model="m", price=PRICE)
    gateway = house.gateway({"m": up.upstream}, telemetry=LOG, keys=keys(**rules), teams=teams)
    assert post(house, gateway).status_code == 200 and len(bills) == 1
    assert lines(gateway)[0]["cost"] == pytest.approx(COST)


def test_a_response_without_a_price_has_no_cost(house: House) -> None:
    gateway = house.gateway(
        {"m": Canned({**CHAT, "usage": USED}, model="m").upstream}, telemetry=LOG, keys=keys(blue={})
    )
    assert post(house, gateway).status_code == 200
    assert "cost" not in lines(gateway)[0] and not [name for name in samples(gateway) if "cost_usd" in name]


@pytest.mark.parametrize(
    ("price", "problem"),
    [
        ("{ input = 1, output = 2, cache_red = 1 }", "upstreams.u.price: a price has no 'cache_red'; did you mean"),
        ("{ input = 1 }", "upstreams.u.price: the price of output is missing; 0 is free"),
        ("{ input = -1, output = 2 }", "upstreams.u.price: the price of input must be a number of at least 0"),
        ("{ input = inf, output = 2 }", "upstreams.u.price: the price of input must be a number of at least 0"),
        ("{ input = true, output = 2 }", "upstreams.u.price: the price of input must be a number of at least 0"),
        ("{ input = '1', output = 2 }", "upstreams.u.price: the price of input must be a number of at least 0"),
        ("1.25", "upstreams.u.price: input should be a valid dictionary, got 1.25"),
    ],
)
def test_what_is_wrong_with_a_price(tmp_path: Path, price: str, problem: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f"[upstreams.u]\nmodel = 'openai/x'\nprice = {price}\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert problem in str(caught.value)


@pytest.mark.parametrize("price", ["{ input = 1, output = 2 }", "{ input = 0, output = 0 }"])
def test_an_upstream_with_a_price_is_not_doubted(tmp_path: Path, price: str) -> None:
    text = f"{HEAD}[upstreams.u]\nmodel = 'x'\nbase_url = 'http://localhost/v1'\n"
    key = f"[keys.k]\nsha256 = '{SHA}'\nbudget = '5 USD/day'\n"
    assert doubted(tmp_path, text + key)
    assert doubted(tmp_path, f"{text}price = {price}\n{key}") == []


def test_a_price_is_reloaded(tmp_path: Path) -> None:
    text = f"{FIRST}{keyed('blue')}[upstreams.u]\nmodel = 'x'\nbase_url = 'http://localhost/v1'\n"
    found = Running(tmp_path, text)
    assert found.gateway.router.upstreams["u"].price is None
    assert found.reload(f"{text}price = {{ input = 1.1, output = 2 }}")
    assert found.gateway.router.upstreams["u"].price.input == Decimal("1.1")


def test_a_price_is_that_of_each_model_of_the_upstream(tmp_path: Path) -> None:
    path = tmp_path / "upstreams.toml"
    path.write_text("[upstreams.u]\nbase_url = 'http://localhost/v1'\nprice = { input = 1, output = 2 }\n")
    upstream = ul.Upstream.load(path)["u"]
    assert upstream.with_(model="a").price == upstream.with_(model="b", label="u/b").price is not None


def entry(facts: Any = None, **parameters: Any) -> dict[str, Any]:
    given = {"model_name": "m", "litellm_params": {"model": "openai/gpt-4o", **parameters}}
    return {**given, **({"model_info": facts} if facts is not None else {})}


@pytest.mark.parametrize(
    ("given", "price", "left"),
    [
        (entry(input_cost_per_token=0.00000125, output_cost_per_token="1e-05"), {"input": 1.25, "output": 10}, []),
        (
            entry({"input_cost_per_token": 2e-6, "output_cost_per_token": 0, "cache_read_input_token_cost": 1e-7,
                   "mode": "chat"}),
            {"input": 2, "output": 0, "cache_read": 0.1},
            ["model_list[0].model_info.mode"],
        ),
        (
            entry({"output_cost_per_token": 3e-6}, input_cost_per_token=1e-6, output_cost_per_token=2e-6),
            {"input": 1, "output": 2},
            [],
        ),
        (entry(input_cost_per_token=1e-6), None, ["model_list[0].litellm_params.input_cost_per_token"]),
        (
            entry(input_cost_per_token="free", output_cost_per_token=-1),
            None,
            [f"model_list[0].litellm_params.{each}_cost_per_token" for each in ("input", "output")],
        ),
    ],
)  # fmt: skip
def test_the_prices_of_a_token_are_imported(given: Any, price: Any, left: list[str]) -> None:
    found = imported(yaml.safe_dump({"model_list": [given]}))
    assert [each.price for each in found.config.upstreams.values()] == ([price] if price else [])
    assert list(found.left) == left


def test_a_client_has_the_cost_at_the_upstreams_own_price() -> None:
    up = Canned({**CHAT, "usage": USED}, model="m", price=PRICE)
    done = ul.Client(up.upstream).responses.create(input="Hi")
    assert done.cost is not None and done.cost.total == Decimal("1.8")
