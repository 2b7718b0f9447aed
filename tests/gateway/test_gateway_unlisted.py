"""Models without a price: a key with a budget may not request them, unless the configuration has a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.serving import House
from gateway.test_gateway_doubts import HEAD, SHA, doubted
from gateway.test_gateway_quota import keys, post
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import ConfigError, load
from upstreams import CHAT, Canned

USED = {"prompt_tokens": 1_000_000, "completion_tokens": 0, "total_tokens": 1_000_000}
BUDGET = {"budget": "2 USD/month"}
TWO = {"input": 2, "output": 0}


def made(
    house: House, *, rules: Any = BUDGET, provider: str | None = "openai", **tables: Any
) -> tuple[Gateway, Canned]:
    up = Canned({**CHAT, "usage": USED}, model="gpt-of-tomorrow", provider=provider)
    return house.gateway({"m": up.upstream}, keys=keys(blue=rules), **tables), up


def codes(house: House, gateway: Gateway, **more: Any) -> list[int]:
    return [post(house, gateway, **more).status_code for _ in range(2)]


@pytest.mark.parametrize("provider", ["openai", "mystery", None])
def test_a_key_with_a_budget_is_refused_by_default(house: House, provider: str | None) -> None:
    gateway, up = made(house, provider=provider)
    refused = post(house, gateway)
    assert refused.status_code == 403 and refused.json()["error"]["code"] == "model_without_price"
    assert "this API key has a budget, and model 'm' has no price" in refused.text
    assert not up.seen


def test_so_is_one_whose_team_has_a_budget(house: House) -> None:
    gateway, _ = made(house, rules={"team": "sales"}, teams={"sales": BUDGET})
    assert codes(house, gateway) == [403, 403]
    gateway, _ = made(house, rules={"team": "sales"}, teams={"sales": {"limits": ["9/day"]}})
    assert codes(house, gateway) == [200, 200]


def test_a_key_without_a_budget_is_answered(house: House) -> None:
    gateway, _ = made(house, rules={})
    assert codes(house, gateway) == [200, 200]


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"gateway": {"unlisted": "free"}}, [200, 200]),
        ({"gateway": {"unlisted": TWO}}, [200, 429]),
        ({"models": {"m": {"to": "m", "price": TWO}}}, [200, 429]),
        ({"models": {"*": {"to": "m", "price": TWO}}}, [200, 429]),
        ({"models": {"m": {"to": "m", "price": {**TWO, "input": 1}}}, "gateway": {"unlisted": TWO}}, [200, 200]),
        ({"models": {"m": {"to": "m", "price": {"input": 0, "output": 0}}}}, [200, 200]),
    ],
)
def test_it_is_answered_as_it_is_configured(house: House, tables: Any, expected: list[int]) -> None:
    gateway, _ = made(house, **tables)
    assert codes(house, gateway) == expected


def test_a_listed_price_takes_precedence(house: House) -> None:
    """A million tokens in of gpt-4o are 2.50 dollars."""
    up = Canned({**CHAT, "usage": USED}, model="gpt-4o", provider="openai")
    models = {"m": {"to": "m", "price": {"input": 0, "output": 0}}}
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue=BUDGET), models=models)
    assert codes(house, gateway) == [200, 429]


def test_targets_without_a_price_are_left_out(house: House) -> None:
    """A fallback with a price answers; the first target would have been free."""
    free, paid = (Canned({**CHAT, "usage": USED}, model=each, provider="openai") for each in ("gpt-x", "gpt-4o"))
    upstreams = {"free": free.upstream, "paid": paid.upstream}
    gateway = house.gateway(upstreams, keys=keys(blue=BUDGET), models={"m": ["free", "paid"]})
    assert post(house, gateway).status_code == 200
    assert (len(free.seen), len(paid.seen)) == (0, 1)


def test_the_offline_model_needs_no_price(house: House) -> None:
    gateway = house.gateway({}, keys=keys(blue=BUDGET), models={"m": "local/echo"})
    assert codes(house, gateway) == [200, 200]


def test_an_upstream_that_is_named_without_a_model_has_no_price(house: House) -> None:
    up = Canned({**CHAT, "usage": USED}, provider="openai")
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue=BUDGET))
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    headers = {"authorization": "Bearer blue", "x-llm-upstream": "m"}
    refused = house.ask(gateway, "POST", "/v1/chat/completions", json=body, headers=headers)
    assert refused.status_code == 403 and "model 'm' has no price" in refused.text


UPSTREAM = "[upstreams.u]\nmodel = 'azure/ours'\nvariables = { resource = 'r' }\nauth = 'azure'\n"
KEY = f"[keys.k]\nsha256 = '{SHA}'\nbudget = '5 USD/day'\n"


@pytest.mark.parametrize(
    ("settings", "more", "doubt"),
    [
        ("", "", "keys.k.budget: no price for u: requests for them are refused, or go to other targets; set price"),
        ("unlisted = 'free'\n", "", "keys.k.budget: no price for u: their requests cost nothing; set price"),
        ("", "[models]\nfast = ['u', 'local/echo']\n", "keys.k.budget: no price for fast, u: requests for them"),
        ("unlisted = { input = 1, output = 2 }\n", "", None),
        ("", "[models]\nu = { to = 'u', price = { input = 0, output = 0 } }\n", None),
    ],
)
def test_check_names_models_without_a_price(tmp_path: Path, settings: str, more: str, doubt: str | None) -> None:
    found = doubted(tmp_path, f"{HEAD}{settings}{UPSTREAM}{more}{KEY}")
    assert [each[: len(doubt or "")] for each in found] == ([doubt] if doubt else [])


@pytest.mark.parametrize("text", ["'maybe'", "{ input = 1 }", "{ input = -1, output = 1 }", "1.5"])
def test_what_is_wrong_with_a_rule(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f"[gateway]\nunlisted = {text}\n")
    with pytest.raises(ConfigError, match=r"gateway\.unlisted"):
        load(path)
