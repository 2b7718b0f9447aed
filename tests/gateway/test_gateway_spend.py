"""What keys and teams have used and have left: `GET /spend` and `unified-llm gateway spend`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from gateway.served import Served
from gateway.serving import House
from gateway.test_gateway_prices import PRICE, USED
from gateway.test_gateway_quota import BODY, keys, post
from gateway.test_gateway_shared_limits import settle
from gateway.test_gateway_telemetry import LOG, lines
from unified_llm.cli import app
from unified_llm.gateway.state import counters
from unified_llm.gateway.state.store import StoreUnavailable
from upstreams import CHAT, Canned

MEMBER = {"team": "sales", "budget": "50 USD/month"}


def made(house: House, *, state: Any = None, **more: Any) -> Any:
    """Two keys of a team, an operator's, and one without limits. A request costs 1.80 dollars."""
    up = Canned({**CHAT, "usage": USED}, model="m", price=PRICE)
    found = keys(blue=MEMBER, red={**MEMBER, "limits": ["9/hour", "5 parallel"]}, boss={"admin": True}, green={})
    return house.gateway({"m": up.upstream}, keys=found, teams={"sales": {"budget": "100 USD/month"}},
                         state=state or {"url": "sqlite://"}, **more)  # fmt: skip


def spent(house: House, gateway: Any, key: str) -> dict[Any, Any]:
    done = house.ask(gateway, "GET", "/spend", headers={"authorization": f"Bearer {key}"})
    assert done.status_code == 200, done.text
    rows = done.json()["data"]
    return {
        (f"{'key' if 'key' in row else 'team'} {row.get('key') or row['team']}", row["limit"]): (
            row["used"],
            row["left"],
        )
        for row in rows
    }


def test_a_key_reads_its_own_limits_and_those_of_its_team(house: House) -> None:
    gateway = made(house)
    for key in ("blue", "red", "red"):
        assert post(house, gateway, key=key).status_code == 200
    assert spent(house, gateway, "blue") == {
        ("key blue", "50 USD/month"): (1.8, 48.2),
        ("team sales", "100 USD/month"): (5.4, 94.6),
    }
    assert spent(house, gateway, "green") == {}
    assert spent(house, gateway, "boss") == {
        ("key blue", "50 USD/month"): (1.8, 48.2),
        ("key red", "50 USD/month"): (3.6, 46.4),
        ("key red", "9 requests/hour"): (2, 7),
        ("team sales", "100 USD/month"): (5.4, 94.6),
    }


def test_a_key_without_a_budget_reads_what_it_has_spent(house: House) -> None:
    gateway = made(house)
    for key in ("green", "green", "blue"):
        assert post(house, gateway, key=key).status_code == 200
    assert spent(house, gateway, "green") == {("key green", None): (3.6, None)}
    assert spent(house, gateway, "boss")["key green", None] == (3.6, None)
    assert ("key green", None) not in spent(house, gateway, "blue")
    assert ("key blue", None) not in spent(house, gateway, "boss")
    silent = made(house, telemetry={"metrics": False})
    assert post(house, silent, key="green").status_code == 200 and spent(house, silent, "green") == {}


def test_it_is_read_from_the_database_of_all_nodes(house: House, database: str) -> None:
    one, other = (made(house, state={"url": database, "limits": "shared"}) for _ in range(2))
    assert post(house, one, key="blue").status_code == 200
    settle(house, one)
    assert spent(house, other, "blue")["team sales", "100 USD/month"] == (1.8, 98.2)


def test_it_waits_for_a_database_that_requests_do_not_wait_for(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (made(house, state={"url": database, "limits": "shared"}) for _ in range(2))
    assert post(house, one, key="blue").status_code == 200
    settle(house, one)
    monkeypatch.setattr(counters, "_PATIENCE", 0)
    assert post(house, other, key="blue").status_code == 200
    settle(house, other)
    assert spent(house, other, "red")["team sales", "100 USD/month"] == (3.6, 96.4)


def test_without_the_database_of_all_nodes_it_is_an_error(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what this node has used: that may be nothing."""
    gateway = made(house, state={"url": "sqlite://", "limits": "shared"})

    async def away(*_: Any) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(gateway.counters, "_read", away)
    done = house.ask(gateway, "GET", "/spend", headers={"authorization": "Bearer blue"})
    assert done.status_code == 503 and "data" not in done.json()


def test_a_key_whose_limit_is_reached_can_read_it(house: House) -> None:
    up = Canned({**CHAT, "usage": USED}, model="m", price=PRICE)
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue={"limits": ["1/hour"], "budget": "1 USD/day"}))
    assert [post(house, gateway).status_code for _ in range(2)] == [200, 429]
    for _ in range(2):
        assert spent(house, gateway, "blue") == {
            ("key blue", "1 requests/hour"): (1, 0),
            ("key blue", "1 USD/day"): (1.0, 0.0),
        }
    row = house.ask(gateway, "GET", "/spend", headers={"authorization": "Bearer blue"}).json()["data"][0]
    assert 3_500 < (datetime.fromisoformat(row["more_at"]) - datetime.now(UTC)).total_seconds() <= 3_600


def test_a_window_that_has_not_begun_has_no_end(house: House) -> None:
    done = house.ask(made(house), "GET", "/spend", headers={"authorization": "Bearer blue"})
    assert [each["more_at"] for each in done.json()["data"]] == [None, None]


@pytest.mark.parametrize("key", ["", "unknown"])
def test_without_a_key_nothing_is_shown(house: House, key: str) -> None:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    done = house.ask(made(house, telemetry=LOG), "GET", "/spend", headers=headers)
    assert done.status_code == 401 and done.json()["error"]["code"] == "invalid_api_key"


def test_it_is_neither_counted_nor_logged(house: House) -> None:
    gateway = made(house, telemetry=LOG)
    spent(house, gateway, "red")
    assert spent(house, gateway, "red")["key red", "9 requests/hour"] == (0, 9) and not lines(gateway)
    red = {"authorization": "Bearer red"}
    assert house.ask(gateway, "POST", "/spend", headers=red).status_code == 405


def test_a_gateway_without_keys_has_no_limits(house: House) -> None:
    done = house.ask(house.gateway(), "GET", "/spend")
    assert (done.status_code, done.json()) == (200, {"object": "list", "data": []})


def run(*arguments: str, key: str = "") -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["gateway", "spend", *arguments], env={"UNIFIED_LLM_GATEWAY_KEY": key})
    return done.exit_code, done.stdout, done.stderr


def test_the_command_prints_a_table_or_json(house: House) -> None:
    with Served(made(house)) as served:
        red = {"authorization": "Bearer red"}
        assert httpx2.post(f"{served.url}/v1/chat/completions", json=BODY, headers=red).status_code == 200
        code, out, _ = run("--url", served.url, key="red")
        rows = [" ".join(line.split()[:7]) for line in out.splitlines()]
        assert code == 0 and rows[0] == "whose limit used left more at"
        assert rows[1].startswith("key red 9 requests/hour 1 8 20")
        assert rows[2].startswith("key red 50 USD/month 1.80 48.20")
        assert rows[3].startswith("team sales 100 USD/month 1.80 98.20")
        code, out, _ = run("--url", f"{served.url}/", "--json", key="boss")
        assert code == 0 and len(json.loads(out)) == 4
        assert run("--url", served.url, key="green") == (0, "no limits: this key and its team have none\n", "")
        green = {"authorization": "Bearer green"}
        assert httpx2.post(f"{served.url}/v1/chat/completions", json=BODY, headers=green).status_code == 200
        code, out, _ = run("--url", served.url, key="green")
        assert code == 0 and out.splitlines()[1].split() == ["key", "green", "-", "1.80", "-"]
        code, out, err = run("--url", served.url)
        assert (code, out) == (2, "") and "requires an API key; set UNIFIED_LLM_GATEWAY_KEY" in err
        code, _, err = run("--url", served.url, key="unknown")
        assert code == 2 and "status 401: the API key is not valid" in err


def test_a_url_without_a_gateway_is_one_line() -> None:
    for url in ("http://127.0.0.1:1", "nonsense", "http://[::1"):
        code, out, err = run("--url", url)
        assert (code, out) == (2, "") and err.startswith(f"unified-llm: {url}/spend: ") and err.count("\n") == 1
