"""The gateway behind uvicorn: events as they come, clients that disconnect, headers without end, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from client.loopback import STREAM, event, held, loopback, streamed
from gateway.serving import House, Served, until
from unified_llm.gateway.server import _Joined
from unified_llm.gateway.state.runs.runs import Runs
from waiting import PATIENCE

ROOT = Path(__file__).parents[2]
KEYS = {"blue": {"sha256": hashlib.sha256(b"blue").hexdigest()}}
ASKED = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}


def served_over(house: House, upstream: Any, **settings: Any) -> Served:
    return Served(house.gateway({"up": upstream, "m": upstream}, gateway={"listen": "127.0.0.1:0", **settings}))


@pytest.mark.parametrize("model", ["m", "up/other"])
def test_events_come_one_by_one(house: House, model: str) -> None:
    """Straight through and converted alike: the first event is here before the upstream sends the second."""
    with loopback() as up:
        seen: list[bytes] = []
        up.answer = held(lambda: seen)
        with served_over(house, up.upstream()) as served, httpx2.Client(timeout=PATIENCE) as http:
            body = {"model": model, **ASKED}
            with http.stream("POST", f"{served.url}/v1/chat/completions", json=body) as reply:
                for chunk in reply.iter_bytes():
                    seen.append(chunk)
            text = b"".join(seen)
            assert b"[DONE]" in text and text.count(b"data: ") >= len(STREAM)
            assert (text == b"".join(STREAM)) == (model == "m")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_disconnects_ends_the_request_to_the_upstream(house: House, path: str, stream: bool) -> None:
    with loopback() as up:
        up.answer = lambda exchange: (
            exchange.send(streamed(event("a"), end=False)) if stream else None,
            exchange.stall(),
        )
        with served_over(house, up.upstream()) as served:
            with socket.create_connection(
                ("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE
            ) as client:
                body = json.dumps({"model": "m", **ASKED, "stream": stream, "max_tokens": 9}).encode()
                head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
                until(lambda: up.asked)
                if stream:
                    assert b"200 OK" in client.recv(10_000)
            up.until(lambda: up.open == 0)
            until(lambda: served.gateway.busy == 0)


def test_headers_without_end(house: House) -> None:
    with served_over(house, house.upstream("openai-chat"), max_headers=2_000) as served:
        port = int(served.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
            for number in range(100):
                try:
                    client.sendall(b"x-%d: %s\r\n" % (number, b"x" * 100))
                except OSError:
                    break
            assert client.recv(100).startswith(b"HTTP/1.1 431 ")
        assert httpx2.get(f"{served.url}/health", timeout=PATIENCE).status_code == 200


def test_a_header_without_end(house: House) -> None:
    with served_over(house, house.upstream("openai-chat"), max_headers=2_000) as served:
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx-long: ")
            with contextlib.suppress(OSError):
                for _ in range(100):
                    client.sendall(b"x" * 10_000)
            assert client.recv(100).startswith(b"HTTP/1.1 431 ")


CHUNKED = (
    b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n"
)


def test_trailers_are_not_read_as_headers(house: House) -> None:
    """https://www.rfc-editor.org/rfc/rfc9110#section-6.5.1: a proxy in front has checked the headers alone."""
    body = json.dumps({**ASKED, "model": "m", "stream": False}).encode()
    keyed = house.gateway({"m": house.upstream("openai-chat")}, gateway={"listen": "127.0.0.1:0"}, keys=KEYS)
    with Served(keyed) as served:
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE) as client:
            client.sendall(CHUNKED % (len(body), body) + b"authorization: Bearer blue\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 401 ")
            head, rest = CHUNKED.split(b"\r\n", 1)
            client.sendall(
                head + b"\r\nauthorization: Bearer blue\r\n" + rest % (len(body), body) + b"x-more: 1\r\n\r\n"
            )
            until(lambda: b"HTTP/1.1 200 " in client.recv(10_000))


@pytest.mark.parametrize("line", [b"x-more: 1\r\n", b"x" * 13])
def test_trailers_without_end(house: House, line: bytes) -> None:
    with served_over(house, house.upstream("openai-chat"), max_headers=2_000) as served:
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE) as client:
            client.sendall(CHUNKED % (2, b"{}"))
            with pytest.raises(OSError):  # the connection is closed
                for _ in range(100):
                    client.sendall(line * 10_000)
        assert httpx2.get(f"{served.url}/health", timeout=PATIENCE).status_code == 200


def test_a_head_with_a_long_body_is_not_a_long_head(house: House) -> None:
    with served_over(house, house.upstream("openai-chat"), max_headers=300) as served:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi " * 2_000}]}
        found = httpx2.post(f"{served.url}/v1/chat/completions", json=body, timeout=PATIENCE)
        assert found.status_code == 200, found.text


def test_the_head_of_a_response_leaves_with_its_body() -> None:
    async def run() -> list[bytes]:
        written: list[bytes] = []
        transport: Any = SimpleNamespace(write=written.append, close=lambda: written.append(b"closed"))
        for rest in (b"body", b""):
            cycle = SimpleNamespace(transport=transport)
            cycle.transport = _Joined(cycle, asyncio.get_running_loop())
            cycle.transport.write(b"head ")
            if rest:
                cycle.transport.write(rest)
            await asyncio.sleep(0)
            cycle.transport.write(b"more")
        cycle.transport = _Joined(cycle, asyncio.get_running_loop())
        cycle.transport.write(b"head ")
        cycle.transport.close()
        await asyncio.sleep(0)
        return written

    assert asyncio.run(run()) == [b"head body", b"more", b"head ", b"more", b"head ", b"closed"]


def test_two_user_agents_are_accepted(served: Served) -> None:
    port = int(served.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\nuser-agent: a\r\nuser-agent: b\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")


def test_open_streams_are_finished_before_the_end(house: House) -> None:
    """SIGTERM: ready fails, the stream that is open goes on to its end, the listener is gone."""
    with loopback() as up:
        go: list[bool] = []
        up.answer = held(lambda: go)
        served = served_over(house, up.upstream())
        with httpx2.Client(timeout=PATIENCE) as http:
            body = {"model": "m", **ASKED}
            with http.stream("POST", f"{served.url}/v1/chat/completions", json=body) as reply:
                chunks = reply.iter_bytes()
                first = next(chunks)
                served.server.handle_exit(signal.SIGTERM, None)
                assert served.gateway.draining
                time.sleep(0.3)
                go.append(True)
                rest = b"".join(chunks)
        assert first + rest == b"".join(STREAM)
        served.thread.join(PATIENCE)
        assert not served.thread.is_alive()


def test_new_requests_are_answered_while_probes_are_told(house: House) -> None:
    """`drain`: SIGTERM, ready is 503 on a new connection, and a request is answered; a second signal ends it."""
    served = served_over(house, house.upstream("openai-chat"), drain=3_600)
    served.server.handle_exit(signal.SIGTERM, None)
    assert httpx2.get(f"{served.url}/health/ready", timeout=PATIENCE).status_code == 503
    assert httpx2.get(f"{served.url}/health/live", timeout=PATIENCE).status_code == 200
    body = {"model": "m", "messages": ASKED["messages"]}
    assert httpx2.post(f"{served.url}/v1/chat/completions", json=body, timeout=PATIENCE).status_code == 200
    assert not served.server.should_exit
    served.server.handle_exit(signal.SIGTERM, None)
    served.thread.join(PATIENCE)
    assert not served.thread.is_alive()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{served.url}/health/ready", timeout=PATIENCE)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_the_time_of_new_requests_ends(house: House, sig: signal.Signals) -> None:
    served = served_over(house, house.upstream("openai-chat"), drain=0.2 if sig == signal.SIGTERM else 3_600)
    served.server.handle_exit(sig, None)
    served.thread.join(PATIENCE)
    assert not served.thread.is_alive()


def test_a_connection_without_a_request_stays_open_as_long_as_configured(house: House) -> None:
    """Longer than with uvicorn alone (5 s): a load balancer in front has connections that it uses a minute later."""
    with Served(house.gateway(gateway={"listen": "127.0.0.1:0"})) as served:
        assert served.server.config.timeout_keep_alive == 75
    with Served(house.gateway(gateway={"listen": "127.0.0.1:0", "keep_alive": 1})) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.sendall(b"GET /health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            read = b"".join(iter(lambda: connection.recv(4096), b""))  # until the gateway closes it
    assert read.startswith(b"HTTP/1.1 200") and b"connection: close" not in read.lower()


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
@pytest.mark.parametrize("begun", [True, False])
def test_what_outlives_the_end_gets_an_error(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, begun: bool
) -> None:
    """Straight through and converted: an error event of its own protocol, or status 503; no traceback."""
    log = tmp_path / "requests.log"
    with loopback() as up:
        up.answer = lambda exchange: (
            exchange.send(streamed(STREAM[0], end=False)) if begun else None,
            exchange.stall(),
        )
        settings = {"listen": "127.0.0.1:0", "graceful": 1}
        upstreams = {"m": up.upstream()}
        served = Served(house.gateway(upstreams, gateway=settings, telemetry={"log": str(log)}))
        turn = {"input": "Hi"} if path.endswith("responses") else {"messages": ASKED["messages"]}
        body = {"model": "m", "stream": True, "max_tokens": 99, **turn}
        if path.endswith("responses"):
            body["max_output_tokens"] = body.pop("max_tokens")

        def ended() -> None:
            until(lambda: up.asked)
            until(lambda: served.gateway.busy == 1)
            served.server.handle_exit(signal.SIGTERM, None)

        ending = threading.Thread(target=ended)
        ending.start()
        with httpx2.Client(timeout=PATIENCE) as http:
            reply = http.post(f"{served.url}{path}", json=body)
        ending.join(PATIENCE)
        served.thread.join(PATIENCE)
        assert not served.thread.is_alive()
    assert reply.status_code == (200 if begun else 503)
    assert "error" in reply.text and "the gateway is stopping" in reply.text
    (line,) = [json.loads(each) for each in log.read_text().splitlines()]
    assert line["error"] == "gateway_stopping" and line["status"] == reply.status_code
    assert line["complete"] is not begun
    assert capsys.readouterr().err == ""


def test_requests_and_background_runs_end_in_the_same_time(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service manager waits for `drain` and `graceful`: runs get no time of their own behind that of the requests."""
    with loopback() as up:
        up.answer = lambda exchange: (exchange.send(streamed(STREAM[0], end=False)), exchange.stall())
        settings = {"listen": "127.0.0.1:0", "graceful": 1}
        left: list[float] = []
        close = Runs.aclose

        async def closed(self: Runs, seconds: float) -> None:
            left.append(seconds)
            await close(self, seconds)

        monkeypatch.setattr(Runs, "aclose", closed)
        served = Served(
            house.gateway({"m": up.upstream()}, gateway=settings, state={"url": f"sqlite:///{tmp_path}/g.db"})
        )
        with httpx2.Client(timeout=PATIENCE) as http:
            run = http.post(f"{served.url}/v1/responses", json={"model": "m", "input": "Hi", "background": True})
            assert run.status_code == 200, run.text
            with http.stream("POST", f"{served.url}/v1/chat/completions", json={"model": "m", **ASKED}) as reply:
                chunks = reply.iter_bytes()
                next(chunks)
                served.server.handle_exit(signal.SIGTERM, None)
                assert b"the gateway is stopping" in b"".join(chunks)
        served.thread.join(PATIENCE)
        assert not served.thread.is_alive() and max(left) <= 0.25, "the rest of the time of requests"


def test_a_body_that_never_ends_gets_an_error(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    served = served_over(house, house.upstream("openai-chat"), graceful=1)
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=PATIENCE) as client:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        client.sendall(head + b"content-length: 1000\r\n\r\n{")
        until(lambda: served.gateway.busy == 1)
        served.server.handle_exit(signal.SIGTERM, None)
        assert client.recv(100).startswith(b"HTTP/1.1 503 ")
    served.thread.join(PATIENCE)
    assert not served.thread.is_alive() and capsys.readouterr().err == ""


def test_the_command_starts_says_how_to_use_it_and_stops(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    command = [sys.executable, "-W", "error", "-m", "unified_llm", "gateway", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines = []
        while not (lines and lines[-1].startswith("Models:")):
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            lines.append(line)
        url = lines[0].split()[-1]
        assert f"export OPENAI_BASE_URL={url}/v1\n" in lines and "local/MODEL" in lines[-1]
        body = {"model": "local/echo", "max_tokens": 9, "messages": ASKED["messages"]}
        done = httpx2.post(
            f"{url}/v1/messages", json=body, headers={"anthropic-version": "2023-06-01"}, timeout=PATIENCE
        )
        assert done.json()["content"][0]["text"] == "Hi"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) in ((0, ""), (-signal.SIGTERM, ""))
    finally:
        process.kill()
        process.communicate()


def test_many_streams_at_once(house: House, served: Served) -> None:
    async def one(http: httpx2.AsyncClient, number: int) -> str:
        text = f"Number {number}, and words."
        body = {"model": "anthropic-messages", "stream": True, "messages": [{"role": "user", "content": text}]}
        reply = await http.post(f"{served.url}/v1/chat/completions", json=body)
        events = [json.loads(each[6:]) for each in reply.text.split("\n\n") if each.startswith("data: {")]
        said = "".join(each["choices"][0]["delta"].get("content") or "" for each in events if each["choices"])
        assert said == text
        return said

    async def all_of_them() -> list[str]:
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            return await asyncio.gather(*(one(http, number) for number in range(40)))

    assert len(set(house.run(all_of_them()))) == 40
    until(lambda: served.gateway.busy == 0)
