"""The lines of background runs in the request log: one of the request, and one of what was executed."""

from __future__ import annotations

import pytest

from gateway.background import begun, ended, wait_for
from gateway.serving import House
from gateway.test_gateway_quota import BLUE, keys
from gateway.test_gateway_telemetry import LOG, lines, samples


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_is_a_line_with_its_usage(house: House, stream: bool) -> None:
    gateway = house.gateway(keys=keys(blue={}), telemetry=LOG)
    body = {"model": "anthropic-messages", "input": "Hi", "background": True, "service_tier": "flex", "stream": stream}
    headers = {**BLUE, "x-client-id": "desk"}
    assert house.ask(gateway, "POST", "/v1/responses", json=body, headers=headers).status_code == 200
    wait_for(house, lambda: len(lines(gateway)) == 2)
    run, request = sorted(lines(gateway), key=lambda line: str(line["method"]))
    same = ("path", "protocol", "route", "key", "tenant", "client", "model", "run")
    assert [run[name] for name in same] == [request[name] for name in same]
    assert (run["method"], request["method"], request["status"]) == ("BACKGROUND", "POST", 200)
    assert run["complete"] and run["usage"]["output_tokens"] > 0 and run["losses"]["service.tier"] >= 1
    assert "usage" not in request and "upstream" not in request, "what was executed is in one line alone"
    told = samples(gateway)
    assert sum(value for name, value in told.items() if name.startswith("unified_llm_requests_total")) == 1
    assert any('client="desk",key="blue"' in name for name in told if name.startswith("unified_llm_tokens_total"))


def test_a_run_that_fails_is_a_line_with_its_error(house: House) -> None:
    gateway = house.gateway(telemetry=LOG)
    run = begun(house, gateway, "/v1/responses", "openai-chat", '[[error 400 message="on purpose"]]')
    assert ended(house, gateway, "/v1/responses", run["id"])["status"] == "failed"
    wait_for(house, lambda: any(line["method"] == "BACKGROUND" for line in lines(gateway)))
    (line,) = (line for line in lines(gateway) if line["method"] == "BACKGROUND")
    assert line["error"] and not line["complete"] and line["run"] == run["id"]
