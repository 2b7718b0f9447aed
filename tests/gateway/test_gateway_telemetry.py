"""The request log and the metrics of the gateway: what a request leaves there, who may read it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import Any

import httpx2
import pytest

from client.asking import openai, refusal
from gateway.serving import BASES, PROTOCOLS, House, Served, config, until
from gateway.test_gateway_quota import keys
from unified_llm.gateway.configuration.config import ConfigError
from unified_llm.gateway.responses.passed_usage import Tap
from unified_llm.gateway.telemetry.metrics import Bounded
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, frames, streamed

pytest.importorskip("opentelemetry.sdk")

from gateway.logged import BODY, CHAT_PATH, LOG, MESSAGES_PATH, lines, over, post

USAGE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
         "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}  # fmt: skip
STREAMED = [*CHAT_STREAM[:-1], *frames(USAGE, b"[DONE]")]


def samples(gateway: Any) -> dict[str, float]:
    """The metrics as they are exposed, without their times."""
    text = gateway.recorder.metrics.text().decode()
    rows = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in rows if "_created" not in name}


@pytest.mark.parametrize("way", ["plain", "converted", "stream", "converted stream"])
def test_a_request_is_one_line(house: House, way: str) -> None:
    up = Canned((lambda: streamed(*STREAMED)) if "stream" in way else CHAT, model="m")
    gateway = over(house, up)
    path = MESSAGES_PATH if "converted" in way else CHAT_PATH
    answer = post(house, gateway, path, {"x-client-id": "desk"}, stream="stream" in way)
    (line,) = lines(gateway)
    expected = {
        "method": "POST",
        "path": path,
        "protocol": "anthropic-messages" if "converted" in way else "openai-chat",
        "route": "request",
        "client": "desk",
        "model": "m",
        "status": 200,
        "complete": True,
        "upstream": "canned/m",
        "upstream_name": "up0",
        "upstream_protocol": "openai-chat",
        "upstream_status": 200,
        "usage": {"input_tokens": 3, "output_tokens": 1},
        "bytes": len(answer.content),
    }
    assert {name: line.get(name) for name in expected} == expected
    assert answer.headers["x-unified-llm-request-id"] == line["id"]
    assert 0 <= line["first_byte_seconds"] <= line["seconds"] and "secret plan" not in json.dumps(line)


def test_losses_are_in_the_line_and_in_the_metrics(house: House) -> None:
    gateway = over(house, Canned(MESSAGE, protocol="anthropic-messages", model="m"))
    post(house, gateway, seed=7)
    assert lines(gateway)[0]["losses"]["sampling.seed"] == 1
    assert samples(gateway)['unified_llm_losses_total{capability="sampling.seed",fate="lost"}'] == 1


def test_retries_and_errors(house: House) -> None:
    busy, bad = refusal(503, openai("server_error", None)), refusal(400, openai("invalid_request_error", None))
    gateway = over(house, Canned(busy, model="m"), Canned(CHAT, bad, model="m2"))
    assert [post(house, gateway).status_code for _ in range(2)] == [200, 400]
    first, second = lines(gateway)
    assert first["retries"] == [{"upstream": "canned/m", "reason": "fallback", "error": "OverloadedError"}]
    assert first["upstream"] == "canned/m2" and second["error"] == "InvalidRequestError" and second["status"] == 400
    told = samples(gateway)
    assert told['unified_llm_retries_total{provider="canned",reason="fallback"}'] == 1
    outcome = 'unified_llm_upstream_responses_total{model="m2",outcome="InvalidRequestError",protocol="openai-chat",'
    assert told[f'{outcome}provider="canned",upstream="up1"}}'] == 1


def test_a_refusal_is_a_line_too(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"), keys=keys(blue={"models": ["other"]}))
    blue = {"authorization": "Bearer blue"}
    assert post(house, gateway).status_code == 401
    assert post(house, gateway, headers=blue).status_code == 403
    assert house.ask(gateway, "GET", "/v1/nothing?key=blue").status_code == 404
    told = [(each["status"], each["error"], each.get("key")) for each in lines(gateway)]
    wanted = [(401, "invalid_api_key", None), (403, "model_not_allowed", "blue"), (404, "unknown_route", "blue")]
    assert told == wanted and "key=" not in json.dumps(lines(gateway))


def test_probes_are_no_requests(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"))
    for path in ("/health/ready", "/", "/metrics"):
        assert house.ask(gateway, "GET", path).status_code == 200
    assert not lines(gateway)


def test_metrics_count_requests_tokens_and_times(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"), keys=keys(blue={}))
    for _ in range(2):
        post(house, gateway, headers={"authorization": "Bearer blue", "x-client-id": "desk"})
    told = samples(gateway)
    labels = 'client="desk",key="blue",protocol="openai-chat",route="request",status="200"'
    assert told[f"unified_llm_requests_total{{{labels}}}"] == 2
    tokens = 'unified_llm_tokens_total{client="desk",key="blue",model="m",provider="canned",type='
    assert told[f'{tokens}"input",upstream="up0"}}'] == 6 and told[f'{tokens}"output",upstream="up0"}}'] == 2
    assert told['unified_llm_request_seconds_count{protocol="openai-chat",route="request"}'] == 2
    assert told["unified_llm_requests_in_progress"] == 0


def test_a_model_that_a_client_names_is_in_no_label_of_its_upstream(house: House) -> None:
    gateway = over(house, Canned(CHAT))
    for model in ("up0/one", "up0/two"):
        post(house, gateway, model=model)
    names = {name for name in samples(gateway) if "upstream=" in name}
    assert names and all('upstream="up0"' in name for name in names)
    assert [line["upstream_name"] for line in lines(gateway)] == ["up0", "up0"]
    seconds = 'unified_llm_upstream_seconds_count{protocol="openai-chat",provider="canned",upstream="up0"}'
    assert samples(gateway)[seconds] == 2


def test_clients_are_bounded(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"clients": 2})
    for number in range(5):
        post(house, gateway, headers={"x-client-id": f"c{number}"})
    found = {name.partition('client="')[2].partition('"')[0]: value for name, value in samples(gateway).items()
             if name.startswith("unified_llm_requests_total")}  # fmt: skip
    assert found == {"c0": 1, "c1": 1, "other": 3}
    assert [Bounded(1)(each) for each in ("", "a")] == ["", "a"]


def test_who_may_read_them(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"), keys=keys(blue={}, boss={"admin": True}))
    for path in ("/metrics", "/requests"):
        for key, status in (("", 401), ("wrong", 401), ("blue", 403), ("boss", 200)):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            assert house.ask(gateway, "GET", path, headers=headers).status_code == status
        boss = {"authorization": "Bearer boss"}
        assert house.ask(gateway, "POST", path, headers=boss).status_code == 405
        assert house.ask(gateway, "GET", path, headers={**boss, "origin": "http://evil"}).status_code == 403


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
def test_a_web_page_cannot_read_them(house: House, headers: dict[str, str]) -> None:
    gateway = over(house, Canned(CHAT, model="m"))
    for path in ("/metrics", "/requests"):
        assert house.ask(gateway, "GET", path).status_code == 200
        assert house.ask(gateway, "GET", path, headers=headers).status_code == 403


def test_the_newest_lines(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"log": "logging", "keep": 3})
    for number in range(5):
        post(house, gateway, headers={"x-client-id": f"c{number}"})
    reply = house.ask(gateway, "GET", "/requests?limit=2")
    assert [json.loads(line)["client"] for line in reply.text.splitlines()] == ["c3", "c4"]
    assert len(house.ask(gateway, "GET", "/requests").text.splitlines()) == 3
    assert house.ask(gateway, "GET", "/requests?limit=0").text == ""
    assert house.ask(gateway, "GET", "/requests?limit=x").status_code == 400


def test_what_is_off_is_not_there(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"), telemetry={"metrics": False})
    assert post(house, gateway).status_code == 200
    assert not gateway.recorder.is_on and gateway.recorder.metrics is None
    for path in ("/metrics", "/requests"):
        assert house.ask(gateway, "GET", path).status_code == 404


def test_changing_it_needs_a_restart() -> None:
    changed = list(config().fixed_changes(config(telemetry={"log": "stdout"})))
    assert changed == ["telemetry.log"]
    with pytest.raises((ConfigError, ValueError)):
        config(telemetry={"log": ""})


def test_a_client_that_leaves_is_a_line(house: House) -> None:
    from client.loopback import event, loopback, piece
    from client.loopback import streamed as head

    with loopback() as up:
        up.answer = lambda exchange: exchange.drip(head(event("a"), end=False) + piece(event("b")), every=0.001)
        gateway = house.gateway({"m": up.upstream()}, telemetry=LOG, gateway={"listen": "127.0.0.1:0"})
        with Served(gateway) as served, httpx2.Client(timeout=20) as http:
            with http.stream("POST", f"{served.url}{CHAT_PATH}", json={**BODY, "stream": True}) as reply:
                next(reply.iter_bytes())
            until(lambda: lines(gateway))
    (line,) = lines(gateway)
    assert line["status"] == 200 and not line["complete"]


TEXTS = [{"role": "user", "content": "Good morning."}]
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": ("chat/completions", {"messages": TEXTS, "stream_options": {"include_usage": True}}),
    "openai-responses": ("responses", {"input": "Good morning.", "store": False}),
    "anthropic-messages": ("messages", {"messages": TEXTS, "max_tokens": 9}),
    "google-generate-content": (
        "models/m:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user", "parts": [{"text": "Good morning."}]}]},
    ),
    "google-interactions": ("interactions", {"input": "Good morning.", "store": False}),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_usage_of_a_stream_that_goes_through(house: House, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of a few events is what a conversion reads of all of them."""
    tapped: list[Any] = []
    usage = Tap.usage
    monkeypatch.setattr(Tap, "usage", lambda tap: tapped.append(usage(tap)) or tapped[-1])
    gateway = house.gateway({"m": house.upstream(protocol, model="m")}, models={"n": "m"}, telemetry=LOG)
    path, body = STREAMS[protocol]
    for model in "mn":
        where = f"{BASES[protocol]}/{path.replace('/m:', f'/{model}:')}"
        sent = body if "contents" in body else {"model": model, "stream": True, **body}
        assert house.ask(gateway, "POST", where, json=sent).status_code == 200
    through, converted = (each.get("usage") for each in lines(gateway))
    assert through and through == converted
    assert len(tapped) == 1, "only the first one went through"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_usage_of_a_response_that_goes_through(house: House, protocol: str) -> None:
    gateway = house.gateway({"m": house.upstream(protocol, model="m")}, models={"n": "m"}, telemetry=LOG)
    path, body = STREAMS[protocol]
    for model in "mn":
        where = path.replace("/m:streamGenerateContent?alt=sse", f"/{model}:generateContent")
        sent = body if "contents" in body else {"model": model, **body}
        sent = {name: value for name, value in sent.items() if name != "stream_options"}
        assert house.ask(gateway, "POST", f"{BASES[protocol]}/{where}", json=sent).status_code == 200
    through, converted = (each.get("usage") for each in lines(gateway))
    assert through == converted and through["input_tokens"] > 0 and through["output_tokens"] > 0


def test_a_tap_keeps_the_end_alone() -> None:
    found = type("Found", (), {"upstream": Canned().upstream, "operation": None})()
    tap = Tap(found)
    for chunk in [CHAT_STREAM[0], *frames(*({"x": "y" * 10_000} for _ in range(100))), *STREAMED[1:]]:
        tap.feed(chunk)
    assert tap._size < 300_000
    usage = tap.usage()
    assert usage is not None and (usage["input_tokens"], usage["output_tokens"]) == (3, 1)


def test_a_trace_is_continued(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import format_trace_id

    from unified_llm.client.telemetry import opentelemetry as otel

    exporter = InMemorySpanExporter()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(otel, "_look_again", 0.0)
    monkeypatch.setattr(otel, "_provider", lambda given, signal: tracers if signal == "trace" else None)
    up = Canned(CHAT, model="m")
    gateway = over(house, up, telemetry={"metrics": False})
    trace = "0af7651916cd43dd8448eb211c80319c"
    post(house, gateway, headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    (span,) = exporter.get_finished_spans()
    assert format_trace_id(span.context.trace_id) == trace and span.attributes["gen_ai.usage.output_tokens"] == 1
    assert "traceparent" not in up.seen[0].headers


def test_requests_at_once_have_lines_of_their_own(house: House) -> None:
    gateway = over(house, Canned(CHAT, model="m"))

    async def asked() -> None:
        async with house.http(gateway) as http:
            ids = [f"c{number}" for number in range(20)]
            await asyncio.gather(*(http.post(CHAT_PATH, json=BODY, headers={"x-client-id": each}) for each in ids))

    house.run(asked())
    assert sorted(each["client"] for each in lines(gateway)) == sorted(f"c{number}" for number in range(20))
    assert all(each["usage"] == {"input_tokens": 3, "output_tokens": 1} for each in lines(gateway))


@pytest.mark.parametrize("where", ["header", "body", "both", "off"])
@pytest.mark.parametrize("path", ["/v1/responses", CHAT_PATH, "responses, streamed", "responses, stored"])
def test_where_the_losses_are(house: House, where: str, path: str) -> None:
    gateway = over(house, Canned(MESSAGE, protocol="anthropic-messages", model="m"), telemetry={"losses": where})
    stream = path.endswith("streamed")
    body: dict[str, Any] = {
        "model": "m",
        "input": "Hi",
        "service_tier": "flex",
        "stream": stream,
        "metadata": {"a": "b"},
    }
    if path == CHAT_PATH:
        body = {**BODY, "seed": 7}
    else:
        body["store"] = path.endswith("stored")
    reply = house.ask(gateway, "POST", path if path.startswith("/") else "/v1/responses", json=body)
    assert reply.status_code == 200
    assert ("x-unified-llm-losses" in reply.headers) == (where in ("header", "both"))
    node = reply.json() if not stream else json.loads(reply.text.rpartition("data: ")[2])["response"]
    told = (node.get("metadata") or {}).get("unified_llm.losses")
    assert (told is not None) == (where in ("body", "both"))
    if told is not None:
        wanted = "sampling.seed" if path == CHAT_PATH else "service.tier"
        assert len(told) <= 512 and wanted in [capability for _, capability, _ in json.loads(told)["first"]]
    if path.endswith("stored"):
        stored = house.ask(gateway, "GET", f"/v1/responses/{node['id']}").json()
        assert stored["metadata"] == node["metadata"]


CANARY = "cAnary-K3y-that-none-may-see"


@pytest.mark.parametrize("path", [CHAT_PATH, MESSAGES_PATH])
@pytest.mark.parametrize("stream", [False, True])
def test_no_key_is_in_the_log_or_in_the_metrics(
    house: House, path: str, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the client's key nor the upstream's, which the upstream repeats in all its answers."""
    caplog.set_level(logging.DEBUG)
    echo = {"error": {"message": f"bad key {CANARY}", "type": CANARY, "code": CANARY}}

    def refuse() -> httpx2.Response:
        if stream:
            return streamed(*frames(echo))
        return httpx2.Response(401, json=echo, headers={"x-request-id": CANARY, "x-echo": CANARY})

    up = Canned(refuse, model="m", headers={"authorization": f"Bearer {CANARY}"}, query={"key": CANARY})
    digest = hashlib.sha256(CANARY.encode()).hexdigest()
    gateway = over(house, up, keys={"blue": {"sha256": digest}})
    reply = house.ask(gateway, "POST", f"{path}?key={CANARY}", json={**BODY, "stream": stream})
    assert reply.status_code != 200 and lines(gateway)[0]["key"] == "blue"
    told = [each.getMessage() for each in caplog.records if each.name.startswith("unified_llm")]
    shown = [json.dumps(lines(gateway)), gateway.recorder.metrics.text().decode(), *told]
    assert len(told) > 3 and not [each for each in shown if CANARY.lower() in each.lower()]


def test_each_request_of_a_websocket_is_a_line(house: House) -> None:
    pytest.importorskip("websockets")
    from gateway.test_gateway_socket import opened

    up = house.upstream("openai-responses")
    gateway = house.gateway({"m": up}, telemetry=LOG, gateway={"listen": "127.0.0.1:0"})
    with Served(gateway) as served, opened(served) as socket:
        socket.ask(model="m", input="One.")
        socket.ask(model="unknown", input="Two.")
        until(lambda: len(lines(gateway)) == 2)
    first, second = lines(gateway)
    assert (first["method"], first["status"], first["complete"], first["model"]) == ("WEBSOCKET", 200, True, "m")
    assert first["usage"]["output_tokens"] > 0 and first["protocol"] == "openai-responses"
    assert (second["status"], second["error"], second["complete"]) == (404, "model_not_found", False)
