"""Upstreams that failed are skipped and come back; weights share requests; patterns hand on their text."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx2
import pytest

from gateway.serving import House, config
from unified_llm.foundation.errors import (
    APIConnectionError,
    APIError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    ServerError,
)
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.upstreams.cooldown import Cooldown
from unified_llm.gateway.upstreams.routing import Router
from upstreams import CHAT, MESSAGE, Canned

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def router(**models: Any) -> Router:
    upstreams = {name: Canned(CHAT, model=None, provider=name).upstream for name in ("one", "two", "three")}
    return Router(config(models=models, gateway={"providers": ["local"]}), upstreams)


def order(found: Router, model: str = "m") -> list[str]:
    return [each.label for each in found.resolve(model, Key()).upstreams]


@pytest.mark.parametrize("failure", ["overloaded", "server", "connection"])
def test_an_upstream_that_failed_is_skipped_and_comes_back(house: House, failure: str) -> None:
    first: dict[str, Any] = {
        "overloaded": httpx2.Response(429, json={"error": {"message": "slow"}}),
        "server": httpx2.Response(500, json={"error": {"message": "oops"}}),
        "connection": httpx2.ConnectError("refused"),
    }
    flaky = Canned(first[failure], CHAT)
    good = Canned(MESSAGE, protocol="anthropic-messages", base_url="http://other")
    route = {"to": ["flaky", "good"], "cooldown": "1m"}
    gateway = house.gateway({"flaky": flaky.upstream, "good": good.upstream}, models={"m": route})
    clock = Clock()
    gateway.router.cooldown = Cooldown(clock)
    for step, asked in ((0, (1, 1)), (59, (1, 2)), (2, (2, 2)), (0, (3, 2))):
        clock.now += step
        assert house.ask(gateway, "POST", "/v1/chat/completions", json=BODY).status_code == 200
        assert (len(flaky.seen), len(good.seen)) == asked


def test_bytes_that_go_through_count_too(house: House) -> None:
    """With one of two left, the request of the same protocol goes as it is, and its failure is noted all the same."""
    down = Canned(httpx2.Response(503, json={"error": {"message": "busy"}}), model="m")
    gateway = house.gateway({"one": down.upstream, "two": down.upstream}, models={"m": ["one", "two"]})
    clock = Clock()
    gateway.router.cooldown = Cooldown(clock)
    one, two = gateway.router.upstreams.values()
    gateway.router.cooldown.failed(one, OverloadedError("busy"), 10)
    assert house.ask(gateway, "POST", "/v1/chat/completions", json=BODY).status_code == 503
    clock.now += 11
    assert [each.label for each in gateway.router.cooldown.available((one, two))] == ["one"]


@pytest.mark.parametrize(
    ("error", "until"),
    [
        (OverloadedError("busy"), 30),
        (ServerError("oops", status=500), 30),
        (APIConnectionError("refused"), 30),
        (RateLimitError("slow", error={"retry_after": 7}), 7),
        (RateLimitError("slow", error={"retry_after": 90}), 90),
        (RateLimitError("slow", error={"retry_after": 10**9}), 3_600),
        (ServerError("cannot do that", status=501), 0),
        (InvalidRequestError("no", status=400), 0),
    ],
)
def test_how_long_it_is_skipped(error: APIError, until: float) -> None:
    clock = Clock()
    found, ups = Cooldown(clock), router().upstreams
    found.failed(ups["one"], error, 30)
    pair = (ups["one"], ups["two"])
    for step in (until - 1, 2):
        clock.now += step
        skipped = until and clock.now < 1_000 + until
        assert [each.label for each in found.available(pair)] == (["two"] if skipped else ["one", "two"])


def test_where_all_failed_the_first_to_come_back_is_tried_first() -> None:
    found = router(m=["one", "two"])
    found.cooldown.failed(found.upstreams["one"], OverloadedError("busy"), 30)
    found.cooldown.failed(found.upstreams["two"], OverloadedError("busy"), 20)
    assert order(found) == ["two", "one"]


def test_only_routes_with_a_cooldown_skip() -> None:
    found = router(m={"to": ["one", "two"], "cooldown": 0}, n=["one", "two"])
    found.cooldown.failed(found.upstreams["one"], OverloadedError("busy"), 30)
    assert order(found) == ["one", "two"] and order(found, "n") == ["two"]
    assert found.resolve("m", Key()).on_failure is None
    assert [each.label for each in found.resolve("x", Key(), "one").upstreams] == ["one/x"]


def test_models_of_one_upstream_fail_apart() -> None:
    found = router(m=["one/a", "one/b"])
    first, _ = found.resolve("m", Key()).upstreams
    found.cooldown.failed(first, OverloadedError("busy"), 30)
    assert order(found) == ["one/b"]


def test_weights_share_the_requests() -> None:
    found = router(m={"to": ["one", "two", "three"], "weights": [3, 1, 0]})
    counts = Counter(order(found)[0] for _ in range(2_000))
    # The standard deviation of a share of 3/4 in 2,000 draws is 19.
    assert set(counts) == {"one", "two"} and abs(counts["one"] - 1_500) < 120
    assert all(order(found)[2] == "three" for _ in range(20)), "a weight of 0 is a fallback"


def test_a_pattern_hands_on_what_it_matched() -> None:
    found = router(**{"team/*": "one/*", "*:*": "two/*-*", "all-*": "three/{model}", "[x]*": "one/*"})
    assert order(found, "team/qwen3") == ["one/qwen3"]
    assert order(found, "a:b") == ["two/a-b"]
    assert order(found, "all-b") == ["three/all-b"]
    assert order(found, "[x]y") == ["one/y"], "only * is special"


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        ("m = {to = ['local/echo'], weights = [1, 2]}", "models.m.weights: 2 weights for 1 targets"),
        ("m = {to = ['local/echo'], weights = [0]}", "models.m.weights: at least one must be above 0"),
        ("m = {to = ['local/echo'], weights = [-1]}", "models.m.weights.0: input should be greater than or equal to 0"),
        ("m = 'local/*'", "models.m.to: a target has more '*' than the name"),
        ("m = {to = 'local/echo', cooldown = 'long'}", "models.m.cooldown: must be a number of seconds"),
    ],
)
def test_what_is_wrong_with_a_route(tmp_path: Any, route: str, problem: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f"[models]\n{route}\n")
    with pytest.raises(ConfigError, match=problem.replace("*", r"\*")):
        load(path)


def test_the_name_of_a_client_goes_to_no_upstream(house: House) -> None:
    said = Canned(CHAT)
    gateway = house.gateway({"m": said.upstream, "up-1": said.upstream})
    for model in ("m", "up-1"):  # converted, and byte for byte
        headers = {"x-client-id": "laptop-7"}
        done = house.ask(gateway, "POST", "/v1/chat/completions", json={**BODY, "model": model}, headers=headers)
        assert done.status_code == 200
    assert len(said.seen) == 2 and not any("laptop-7" in str(each.headers) for each in said.seen)
