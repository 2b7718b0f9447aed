"""Headers with the limits of a key: on each response, by the names of the client's protocol, from memory."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.serving import PROTOCOLS, House, config
from gateway.test_gateway_access import ROUTES
from gateway.test_gateway_quota import USED, keys, post
from gateway.test_gateway_shared_limits import settle
from unified_llm.engine.registry import adapter
from unified_llm.engine.shared.error_headers import RateHeaders
from unified_llm.gateway.access import windows
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.access.quota import Quota
from unified_llm.gateway.responses.replies import Refusal
from upstreams import CHAT, CHAT_STREAM, Canned, streamed

LIMITS = {"limits": ["3/hour", "1000 tokens/hour"]}


def made(house: House, answer: Any = None, *, state: Any = None, **rules: Any) -> Any:
    up = Canned(answer or {**CHAT, "usage": USED}, model="m")
    return house.gateway(
        {"m": up.upstream}, keys=keys(blue=rules or LIMITS, red={}), state=state or {"url": "sqlite://"}
    )


def limits(answer: Any, name: str = "x-ratelimit") -> dict[str, str]:
    return {each.removeprefix(f"{name}-"): value for each, value in answer.headers.items() if "ratelimit" in each}


def test_the_names_of_openai(house: House) -> None:
    gateway = made(house)
    found = limits(post(house, gateway))
    resets = [found.pop(f"reset-{each}") for each in ("requests", "tokens")]
    assert found == {
        "limit-requests": "3",
        "remaining-requests": "2",
        "limit-tokens": "1000",
        "remaining-tokens": "900",
    }
    assert all(each in ("60m0s", "59m59s", "59m58s") for each in resets)
    assert limits(post(house, gateway))["remaining-requests"] == "1"


def test_the_names_of_anthropic(house: House) -> None:
    found = limits(post(house, made(house), path=ROUTES["anthropic-messages"], max_tokens=9), "anthropic-ratelimit")
    assert found["requests-remaining"] == "2" and found["tokens-limit"] == "1000"
    ends = datetime.fromisoformat(found["requests-reset"]) - datetime.now(UTC)
    assert 3_500 < ends.total_seconds() <= 3_601 and len(found) == 6


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_has_the_names_that_it_declares(house: House, protocol: str) -> None:
    rates = adapter(protocol).rates or RateHeaders()
    gateway = house.gateway(keys=keys(blue={"limits": ["1/minute"]}))
    for left in ("0", "0"):
        done = post(house, gateway, path=ROUTES[protocol])
        assert done.headers[rates.name.format(kind="requests", field="remaining")] == left
    assert done.status_code == 429


def test_a_stream_and_a_refusal_have_them_too(house: House) -> None:
    gateway = made(house, lambda: streamed(*CHAT_STREAM), limits=["1/hour"])
    done = [post(house, gateway, stream=True) for _ in range(2)]
    assert [each.status_code for each in done] == [200, 429]
    assert [limits(each)["remaining-requests"] for each in done] == ["0", "0"]
    assert "limit-tokens" not in limits(done[0])


def test_a_key_without_limits_has_none(house: House) -> None:
    assert limits(post(house, made(house), key="red")) == {}
    assert limits(post(house, made(house, budget="5 USD/day"))) == {}, "dollars have no header"
    assert limits(post(house, made(house), key="unknown")) == {}


def test_of_several_limits_it_is_the_one_with_least_left() -> None:
    quota = Quota(config(keys=keys(blue={"limits": ["50/minute", "20/hour"], "team": "t"}), teams={"t": {
        "limits": ["30/day"]}}))  # fmt: skip
    blue = Key("blue", team="t")
    quota.enter(blue)
    assert quota.headers(blue, "openai-chat")["x-ratelimit-limit-requests"] == "20"
    for _ in range(15):
        quota.enter(Key("red", team="t"))
    found = quota.headers(blue, "openai-chat")
    assert (found["x-ratelimit-limit-requests"], found["x-ratelimit-remaining-requests"]) == ("30", "14")


def test_they_cost_no_access_to_the_database(house: House, database: str) -> None:
    gateway = made(house, state={"url": database, "limits": "shared"})
    post(house, gateway)
    settle(house, gateway)
    key, reads = Key("blue"), []
    gateway.counters._read = reads.append
    gateway.counters.store = None
    assert gateway.quota.headers(key, "openai-chat")["x-ratelimit-remaining-tokens"] == "900"
    assert not reads


def test_the_wait_and_the_reset_of_a_moving_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request is admitted after the oldest is over, and all are after the newest."""
    at = [time.time()]
    monkeypatch.setattr(windows.time, "time", lambda: at[0])
    rules: dict[str, Any] = {"limits": ["3/minute"]}
    quota, blue = Quota(config(keys=keys(blue=rules))), Key("blue")
    for pause in (10, 10, 0):
        quota.enter(blue)
        at[0] += pause
    with pytest.raises(Refusal) as caught:
        quota.enter(blue)
    assert caught.value.headers["retry-after"] == "40"
    assert quota.headers(blue, "openai-chat")["x-ratelimit-reset-requests"] == "1m0s"
    quota.load(config(keys=keys(blue={"limits": ["2/minute"]})))
    with pytest.raises(Refusal) as caught:
        quota.enter(blue)
    assert caught.value.headers["retry-after"] == "50", "one of three over a limit of two is not enough"
    at[0] += 50
    quota.enter(blue)
