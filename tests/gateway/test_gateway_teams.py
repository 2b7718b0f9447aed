"""Limits and budgets of a team: counted over its keys and over nodes, and named in what is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.serving import House, config
from gateway.test_gateway_access import ROUTES, said
from gateway.test_gateway_doubts import HEAD, SHA, doubted
from gateway.test_gateway_prices import PRICE, USED
from gateway.test_gateway_quota import keys, post
from gateway.test_gateway_reload import FIRST, Running, keyed
from gateway.test_gateway_shared_limits import settle
from gateway.test_gateway_telemetry import LOG, lines
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.access.quota import Quota
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.configuration.yaml_import import imported
from unified_llm.gateway.responses.replies import Refusal
from upstreams import CHAT, Canned

MEMBER = {"team": "sales"}


def team(house: House, used: Any = USED, *, state: Any = None, telemetry: Any = None, **rules: Any) -> Any:
    """A gateway with a team of two keys, and a key without one."""
    up = Canned({**CHAT, "usage": used}, model="m", price=PRICE)
    more = {**({"state": state} if state else {}), **({"telemetry": telemetry} if telemetry else {})}
    members = keys(blue=MEMBER, red=MEMBER, green={})
    return house.gateway({"m": up.upstream}, keys=members, teams={"sales": rules}, **more)


@pytest.mark.parametrize("rules", [{"limits": ["2/hour"]}, {"limits": ["2200000 tokens/hour"]},
                                   {"budget": "3.6 USD/month"}])  # fmt: skip
def test_keys_of_a_team_use_up_its_limit_together(house: House, rules: dict[str, Any]) -> None:
    gateway = team(house, **rules)
    done = [post(house, gateway, key=each) for each in ("blue", "red", "blue", "red", "green")]
    assert [each.status_code for each in done] == [200, 200, 429, 429, 200]
    assert "the team 'sales'" in said("openai-chat", done[2].json())
    assert done[2].json()["error"]["code"] == ("budget_exceeded" if "budget" in rules else "limit_exceeded")
    assert int(done[2].headers["retry-after"]) > 3_500


@pytest.mark.parametrize("rules", [{"limits": ["3/hour"]}, {"budget": "5.4 USD/month"}])
def test_nodes_count_a_team_together(house: House, database: str, rules: dict[str, Any]) -> None:
    nodes = [team(house, state={"url": database, "limits": "shared"}, **rules) for _ in range(2)]
    codes = []
    for number, key in enumerate(["blue", "red", "blue", "red", "blue"]):
        codes.append(post(house, nodes[number % 2], key=key).status_code)
        settle(house, *nodes)
        for node in nodes:
            house.run(node.counters.open())
    assert codes == [200] * 3 + [429] * 2


def test_each_key_of_a_team_has_its_own_limit_too() -> None:
    quota = Quota(config(keys=keys(blue={**MEMBER, "limits": ["1/hour"]}, red=MEMBER), teams={"sales": {
        "limits": ["3/hour"]}}))  # fmt: skip
    blue, red = Key("blue", team="sales"), Key("red", team="sales")
    quota.enter(blue)
    with pytest.raises(Refusal, match="the limit of this API key is reached: 1 requests/hour"):
        quota.enter(blue)
    quota.enter(red)
    quota.enter(red)
    with pytest.raises(Refusal, match="the limit of the team 'sales' is reached: 3 requests/hour"):
        quota.enter(red)


def test_a_team_and_a_key_of_the_same_name_are_counted_apart() -> None:
    quota = Quota(config(keys=keys(x={"limits": ["1/hour"]}, y={"team": "x"}), teams={"x": {"limits": ["1/hour"]}}))
    quota.enter(Key("x"))
    quota.enter(Key("y", team="x"))


def test_parallel_requests_of_a_team() -> None:
    quota = Quota(config(keys=keys(blue=MEMBER, red=MEMBER), teams={"sales": {"limits": ["2 parallel"]}}))
    blue, red = Key("blue", team="sales"), Key("red", team="sales")
    quota.enter(blue)
    quota.enter(red)
    with pytest.raises(Refusal, match="the limit of the team 'sales' is reached: 2 parallel"):
        quota.enter(blue)
    quota.leave(red)
    quota.enter(blue)
    quota.leave(blue)
    quota.leave(blue)
    assert not quota._parallel


def test_the_wait_is_that_of_the_limit_that_ends_last() -> None:
    limits = {"limits": ["1/minute"]}
    quota = Quota(config(keys=keys(blue={**MEMBER, **limits}), teams={"sales": {"limits": ["1/hour"]}}))
    blue = Key("blue", team="sales")
    quota.enter(blue)
    with pytest.raises(Refusal, match="the team 'sales' is reached: 1 requests/hour") as caught:
        quota.enter(blue)
    assert int(caught.value.headers["retry-after"]) > 3_500


def test_a_socket_counts_against_the_team(house: House) -> None:
    gateway = team(house, limits=["1/hour"])
    key = gateway.access.admit({"authorization": "Bearer blue"}, {})
    assert key.team == "sales"
    with gateway.counted(key), pytest.raises(Refusal, match="the team 'sales'"), gateway.counted(key):
        pass


def test_a_run_in_the_background_counts_against_the_team(house: House) -> None:
    gateway = team(house, limits=["9000000 tokens/hour"])
    (rule,) = gateway.quota.rules(Key("red", team="sales"))

    async def main() -> int:
        async with house.http(gateway) as http:
            body = {"model": "m", "input": "Hi", "background": True}
            done = await http.post("/v1/responses", json=body, headers={"authorization": "Bearer blue"})
            assert done.status_code == 200
            while rule.left == 9_000_000:
                await asyncio.sleep(0.01)
            return int(rule.left)

    assert house.run(main()) < 9_000_000


def test_the_team_is_in_the_request_log(house: House) -> None:
    gateway = team(house, telemetry=LOG)
    post(house, gateway, key="blue")
    post(house, gateway, key="green", path=ROUTES["openai-chat"])
    assert [each.get("team") for each in lines(gateway)] == ["sales", None]


def test_a_team_is_reloaded_and_what_it_used_stays_counted(tmp_path: Path, house: House) -> None:
    limited = "[teams.sales]\nlimits = ['{}/hour']\n"
    text = FIRST + keyed("blue", "team = 'sales'") + keyed("red", "team = 'sales'")
    found = Running(tmp_path, text + limited.format(1))
    house.gateways.append(found.gateway)
    path, blue, red = "/v1/models", *({"authorization": f"Bearer {each}"} for each in ("blue", "red"))
    ask = lambda headers: house.ask(found.gateway, "GET", path, headers=headers).status_code  # noqa: E731
    assert [ask(blue), ask(red)] == [200, 429]
    assert found.reload(text + limited.format(2))
    assert [ask(red), ask(blue)] == [200, 429]
    assert found.reload(FIRST + keyed("blue") + keyed("red", "team = 'sales'") + limited.format(2))
    assert [ask(blue), ask(red)] == [200, 429]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("team = 'sale'\n[teams.sales]", "keys.k.team: unknown team 'sale'; did you mean 'sales'?"),
        ("team = 'sales'", "keys.k.team: unknown team 'sales'; add [teams.\"sales\"]"),
        ("team = ''", "keys.k.team: string should have at least 1 character"),
        ("[teams.sales]\nlimits = ['9 per day']", "teams.sales.limits.0: must be a limit such as"),
        ("[teams.sales]\nbudget = '9/day'", "teams.sales.budget: must be a budget such as"),
        ("[teams.sales]\nlimit = []", "teams.sales.limit: unknown field; did you mean 'limits'?"),
    ],
)
def test_what_is_wrong_with_a_team(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f"[keys.k]\nsha256 = '{SHA}'\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert problem in str(caught.value)


def test_a_team_without_keys_or_prices_is_doubted(tmp_path: Path) -> None:
    text = f"{HEAD}[upstreams.u]\nmodel = 'x'\nbase_url = 'http://localhost/v1'\n"
    member = f"[keys.k]\nsha256 = '{SHA}'\nteam = 'sales'\n"
    budget = "[teams.sales]\nbudget = '5 USD/day'\n"
    assert doubted(tmp_path, text + budget) == ["teams.sales: no key has it as its team"]
    (doubt,) = doubted(tmp_path, text + member + budget)
    assert doubt.startswith("teams.sales.budget: no price for u: requests for them are refused")


def test_a_budget_of_all_keys_is_not_imported_in_silence() -> None:
    settings = {"max_budget": 100, "budget_duration": "30d"}
    models = [{"model_name": "m", "litellm_params": {"model": "openai/gpt-4o"}}]
    found = imported(yaml.safe_dump({"model_list": models, "litellm_settings": settings}))
    period, budget = sorted(found.left)
    assert budget.startswith("litellm_settings.max_budget: write it as the budget of a table in [teams]")
    assert period.startswith("litellm_settings.budget_duration: it is the period of a budget")
