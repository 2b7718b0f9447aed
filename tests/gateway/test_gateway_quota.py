"""Limits and budgets of keys: refused in the envelope of each protocol, counted from what the upstream used."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import httpx2
import pytest

from gateway.serving import PROTOCOLS, House, config
from gateway.test_gateway_access import ROUTES, said
from unified_llm.client.upstreams.upstream import Upstream
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.access.quota import Quota
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.responses.replies import Refusal
from upstreams import CHAT, CHAT_STREAM, Canned, chunk, frames, streamed

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
USED = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}
BLUE = {"authorization": "Bearer blue"}


def keys(**rules: Any) -> dict[str, Any]:
    return {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **given} for name, given in rules.items()}


def post(house: House, gateway: Any, *, key: str = "blue", path: str = ROUTES["openai-chat"], **more: Any) -> Any:
    headers = {"authorization": f"Bearer {key}"}
    return house.ask(gateway, "POST", path, json={**BODY, **more}, headers=headers)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_too_many_requests_are_refused_in_the_clients_words(house: House, protocol: str) -> None:
    gateway = house.gateway(keys=keys(blue={"limits": ["1/minute"]}, red={}))
    path = ROUTES[protocol]
    assert post(house, gateway, path=path).status_code != 429
    done = post(house, gateway, path=path)
    assert done.status_code == 429 and "1 requests/minute" in said(protocol, done.json())
    assert 0 < int(done.headers["retry-after"]) <= 60
    assert post(house, gateway, path=path, key="red").status_code != 429, "each key has its own"


@pytest.mark.parametrize("way", ["plain", "converted", "stream", "converted stream"])
def test_tokens_are_those_of_the_response(house: House, way: str) -> None:
    usage = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": USED}
    events = [*CHAT_STREAM[:-1], *frames(usage, b"[DONE]")]
    answer = {**CHAT, "usage": USED}
    up = Canned((lambda: streamed(*events)) if "stream" in way else answer, model="m")
    limits = {"limits": ["101 tokens/minute"]}
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue=limits))
    path = ROUTES["anthropic-messages"] if "converted" in way else ROUTES["openai-chat"]
    more: dict[str, Any] = {"max_tokens": 99, "stream": "stream" in way}
    codes = [post(house, gateway, path=path, **more).status_code for _ in range(3)]
    assert codes == [200, 200, 429], "one token is left after the first"
    assert len(up.seen) == 2


def test_what_the_upstream_does_not_count_is_estimated(house: House) -> None:
    many = [chunk({"role": "assistant", "content": "a"}), *[chunk({"content": "b"}) for _ in range(38)]]
    up = Canned(lambda: streamed(*frames(*many, chunk({}, "stop"), b"[DONE]")), model="m")
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue={"limits": ["1000 tokens/minute"]}))
    assert post(house, gateway, stream=True, messages=[{"role": "user", "content": "x" * 400}]).status_code == 200
    (rule,) = gateway.quota.rules(Key("blue"))
    left = rule.left
    # 400 bytes and about 80 around them, four a token; 40 events and [DONE].
    assert 1_000 - 170 < left < 1_000 - 140


@pytest.mark.parametrize("usage", [{"prompt_tokens": "many"}, {"prompt_tokens": -5, "completion_tokens": [1]}, [], "x"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_usage_that_is_none_is_estimated(house: House, usage: Any, stream: bool) -> None:
    last = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage}
    events = [*CHAT_STREAM[:-1], *frames(last, b"[DONE]")]
    up = Canned((lambda: streamed(*events)) if stream else {**CHAT, "usage": usage}, model="gpt-4o", provider="openai")
    rules = {"limits": ["10000 tokens/minute"], "budget": "9 USD/month"}
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue=rules))
    assert post(house, gateway, stream=stream).status_code == 200
    left = [each.left for each in gateway.quota.rules(Key("blue"))]
    assert 9_900 < left[0] < 10_000 and 8_990_000 < left[1] < 9_000_000


def test_a_compaction_of_the_upstream_is_counted(house: House) -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}
    usage = {"input_tokens": 500, "output_tokens": 50, "total_tokens": 550}
    answer = {"id": "resp_1", "object": "response.compaction", "created_at": 1, "output": [item], "usage": usage}
    up = Canned(answer, protocol="openai-responses", model="gpt-4o", provider="openai")
    rules = {"limits": ["1000 tokens/minute"], "budget": "9 USD/month"}
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue=rules), telemetry={"log": "logging"})
    done = house.ask(gateway, "POST", "/v1/responses/compact", json={"model": "m", "input": "Hi"}, headers=BLUE)
    assert done.status_code == 200 and done.json()["usage"]["total_tokens"] == 550
    tokens, budget = gateway.quota.rules(Key("blue"))
    assert tokens.left == 450 and budget.left < budget.limit.amount
    line = json.loads(gateway.recorder.kept[-1])
    assert line["usage"] == {"input_tokens": 500, "output_tokens": 50} and line["cost"] > 0


def test_a_client_that_leaves_is_counted(house: House) -> None:
    events = frames(*[chunk({"content": "b"}) for _ in range(50)])
    up = Canned(lambda: streamed(*events, httpx2.ReadError("gone")), model="m")
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue={"limits": ["1000 tokens/minute"]}))
    assert post(house, gateway, stream=True).status_code == 200
    (rule,) = gateway.quota.rules(Key("blue"))
    assert 900 < rule.left < 950


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("way", ["http", "vault", "background"])
def test_a_client_that_leaves_before_the_response_is_counted(house: House, stream: bool, way: str) -> None:
    """Its upstream answers, and charges, all the same."""
    asked = asyncio.Event()

    async def answer(request: httpx2.Request) -> httpx2.Response:
        asked.set()
        await asyncio.sleep(60)
        raise AssertionError("it is cancelled")

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    up = Upstream(
        protocol="openai-chat", base_url="http://up/v1", model="m", provider="canned", async_http_client=client
    )
    gateway = house.gateway({"m": up}, keys=keys(blue={"limits": ["1000 tokens/minute"]}))
    (rule,) = gateway.quota.rules(Key("blue"))
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x" * 400}]}

    async def main() -> int:
        if way == "vault":  # a request is converted before it looks into a vault that is not empty
            await gateway.store.open()
            vault = await gateway.continuity.within("blue")
            vault.put("k", [])
        async with house.http(gateway) as http:
            if way == "background":
                sent = {"model": "m", "input": "x" * 400, "background": True}
                id_ = (await http.post("/v1/responses", json=sent, headers=BLUE)).json()["id"]
                await asked.wait()
                done = await http.post(f"/v1/responses/{id_}/cancel", headers=BLUE)
                assert done.json()["status"] == "cancelled"
            else:
                task = asyncio.create_task(http.post(ROUTES["openai-chat"], json=body, headers=BLUE))
                await asked.wait()
                assert rule.left == 1_000
                task.cancel()
                await asyncio.wait([task])
        return rule.left

    assert 850 < house.run(main()) < 900


def test_a_run_in_the_background_is_counted(house: House) -> None:
    gateway = house.gateway(
        {"m": Canned(lambda: streamed(*CHAT_STREAM), model="m").upstream},
        keys=keys(blue={"limits": ["1000 tokens/minute"]}),
        state={"url": "sqlite://"},
    )
    body = {"model": "m", "input": "Hi", "background": True}
    (rule,) = gateway.quota.rules(Key("blue"))

    async def main() -> int:
        async with house.http(gateway) as http:
            done = await http.post("/v1/responses", json=body, headers=BLUE)
            assert done.status_code == 200 and done.json()["status"] != "failed"
            while (left := rule.left) == 1_000:
                await asyncio.sleep(0.01)
            return int(left)

    assert 950 < house.run(main()) < 1_000


def test_the_same_events_with_and_without_a_limit(house: House) -> None:
    up = Canned(lambda: streamed(*CHAT_STREAM), model="m")
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue={"limits": ["1000 tokens/minute"]}, red={}))
    read, passed = (post(house, gateway, stream=True, key=each).text.split("\n\n") for each in ("blue", "red"))
    assert len(read) == len(passed) and read[-2] == passed[-2] == "data: [DONE]"
    # A converted response has the requested model's name; the bytes of the upstream have its own.
    renamed = [{**json.loads(each[6:]), "model": "m"} for each in passed[:-2]]
    assert [json.loads(each[6:]) for each in read[:-2]] == renamed


@pytest.mark.parametrize(("provider", "codes"), [("openai", [200, 429]), ("mystery", [403, 403])])
def test_a_budget_is_spent_at_list_prices(house: House, provider: str, codes: list[int]) -> None:
    """A million tokens in of gpt-4o are 2.50 dollars; a model without a price is refused."""
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0, "total_tokens": 1_000_000}
    up = Canned({**CHAT, "usage": usage}, model="gpt-4o", provider=provider)
    gateway = house.gateway({"m": up.upstream}, keys=keys(blue={"budget": "2.50 USD/month"}))
    done = [post(house, gateway) for _ in codes]
    assert [each.status_code for each in done] == codes
    if codes[-1] == 429:
        assert "2.5 USD/month" in said("openai-chat", done[-1].json()) and done[-1].headers["x-should-retry"] == "false"
        assert int(done[-1].headers["retry-after"]) > 29 * 86_400
    more = house.gateway({"m": up.upstream}, keys=keys(blue={"budget": "2.51 USD/month"}))
    assert [post(house, more).status_code for _ in codes] == ([200, 200] if codes[-1] == 429 else codes)


def test_parallel_requests_and_their_end(house: House) -> None:
    gate = asyncio.Event()

    async def slow(request: httpx2.Request) -> httpx2.Response:
        await gate.wait()
        return httpx2.Response(200, json=CHAT)

    client = httpx2.AsyncClient(transport=httpx2.MockTransport(slow))
    up = house.upstream("openai-chat", async_http_client=client)
    gateway = house.gateway({"m": up}, keys=keys(blue={"limits": ["2 parallel"]}))

    async def main() -> list[int]:
        async with house.http(gateway) as http:
            ask = lambda: http.post(ROUTES["openai-chat"], json=BODY, headers=BLUE)  # noqa: E731
            two = [asyncio.ensure_future(ask()) for _ in range(2)]
            while sum(gateway.quota._parallel.values()) < 2:
                await asyncio.sleep(0)
            third = await ask()
            gate.set()
            codes = [third.status_code, *[(await each).status_code for each in two]]
            return [*codes, (await ask()).status_code]

    assert house.run(main()) == [429, 200, 200, 200]
    assert not gateway.quota._parallel


def test_what_was_used_survives_another_configuration() -> None:
    quota, blue = Quota(config(keys=keys(blue={"limits": ["1/hour"]}))), Key("blue")
    quota.enter(blue)
    quota.load(config(keys=keys(blue={"limits": ["1/hour", "9 parallel"]})))
    with pytest.raises(Refusal, match="1 requests/hour"):
        quota.enter(blue)
    quota.load(config(keys=keys(blue={})))
    quota.enter(blue)


def test_a_refused_request_counts_in_no_window() -> None:
    quota, blue = Quota(config(keys=keys(blue={"limits": ["2/hour", "1/minute"]}))), Key("blue")
    quota.enter(blue)
    for _ in range(5):
        with pytest.raises(Refusal, match="1 requests/minute"):
            quota.enter(blue)
    assert [each.left for each in quota.rules(blue)] == [1, 0]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("limits = ['600 per minute']", "keys.blue.limits.0: must be a limit such as '600/minute'"),
        ("limits = ['0/minute']", "keys.blue.limits.0: must be a limit"),
        ("limits = ['1.5/minute']", "keys.blue.limits.0: must be a limit"),
        ("limits = ['50 USD/month']", "keys.blue.limits.0: dollars are a budget"),
        ("budget = '600/minute'", "keys.blue.budget: must be a budget such as '50 USD/month'"),
        ("budget = '50 EUR/month'", "keys.blue.budget: must be a limit such as"),
    ],
)
def test_what_is_wrong_with_a_limit(tmp_path: Any, rule: str, problem: str) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f"[keys.blue]\nsha256 = '{'a' * 64}'\n{rule}\n")
    with pytest.raises(ConfigError, match=problem):
        load(path)
