"""The memory of files that small requests name: bounded for the process, and given back once an upstream answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from client.loopback import Loopback, loopback, whole
from gateway.background import Slow, begun, ended
from gateway.serving import PROTOCOLS, House, Served, until
from gateway.test_gateway_access import said
from gateway.test_gateway_file_use import ask, request, upload
from gateway.test_gateway_files import GOOGLE
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.responses.replies import Refusal
from unified_llm.gateway.state import file_references, vault

SMALL = {"url": "sqlite://", "max_file": 100, "max_files_held": 200}


@contextmanager
def full(gateway: Gateway) -> Iterator[None]:
    """While other requests hold all but 50 bytes."""
    gateway.files.files.budget.take(150)
    yield
    gateway.files.files.budget.give(150)


@pytest.mark.parametrize("surface", PROTOCOLS)
def test_a_request_is_refused_while_others_fill_the_memory(house: House, surface: str) -> None:
    gateway = house.gateway(state=SMALL)
    id = upload(house, gateway, b"x" * 60, "a.txt")
    for protocol in ("openai-chat", surface):
        with full(gateway):
            done = ask(house, gateway, surface, protocol, id)
            assert done.status_code == 429 and "try again" in said(surface, done.json()), done.text
            assert done.headers["retry-after"] == "5" and gateway.files.files.budget.used == 150
    assert not house.seen
    assert ask(house, gateway, surface, "openai-chat", id).status_code == 200
    assert gateway.files.files.budget.used == 0


@contextmanager
def served(house: House) -> Iterator[tuple[Gateway, Loopback, dict[str, Any], str]]:
    """A gateway over an upstream in the hand of a test, and a request that names a file of 60 bytes."""
    with loopback() as up:
        settings = {"listen": "127.0.0.1:0"}
        gateway = house.gateway({"it": up.upstream(timeout=600)}, gateway=settings, state=SMALL)
        with Served(gateway) as server:
            made = httpx2.post(f"{server.url}/v1/files", files={"file": ("a.txt", b"x" * 60)}).json()
            _, body, _ = request("openai-responses", "it", made["id"].removeprefix("file-"))
            yield gateway, up, body, f"{server.url}/v1/responses"


def test_what_a_request_holds_is_given_back_when_its_client_leaves(house: House) -> None:
    with served(house) as (gateway, up, body, url):
        budget = gateway.files.files.budget
        up.answer = lambda exchange: exchange.stall()
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(url, json=body, timeout=httpx2.Timeout(20, read=0.5))
        until(lambda: up.asked == 1 and budget.used == 0)


def test_what_a_request_holds_is_given_back_when_its_upstream_fails(house: House) -> None:
    with served(house) as (gateway, up, body, url):
        held = []
        up.answer = lambda exchange: (held.append(gateway.files.files.budget.used),
                                      exchange.send(whole({"error": {"message": "no"}}, status=400)))  # fmt: skip
        assert httpx2.post(url, json=body).status_code == 400
        assert held == [60] and gateway.files.files.budget.used == 0


def test_a_stream_holds_nothing_once_it_has_begun(house: House) -> None:
    with served(house) as (gateway, up, body, url):
        slow = Slow(up)
        with httpx2.stream("POST", url, json={**body, "stream": True}, timeout=20) as reply:
            events = reply.iter_bytes()
            next(events)
            assert gateway.files.files.budget.used == 0 and gateway.busy == 1
            slow.go = True
            assert b"response.completed" in b"".join(events)


def test_sockets_share_the_memory(house: House) -> None:
    pytest.importorskip("websockets")
    from gateway.test_gateway_socket import opened

    gateway = house.gateway(gateway={"listen": "127.0.0.1:0"}, state=SMALL)
    with Served(gateway) as server, opened(server) as socket:
        made = httpx2.post(f"{server.url}/v1/files", files={"file": ("a.txt", b"x" * 60)}).json()
        _, body, _ = request("openai-responses", "openai-chat", made["id"].removeprefix("file-"))
        for generate in (True, False):
            with full(gateway):
                event = socket.ask(**body, generate=generate)
                assert (event["status"], event["error"]["code"]) == (429, "files_busy"), event
            assert socket.ask(**body, generate=generate)["type"] == "response.completed"
        assert gateway.files.files.budget.used == 0


def test_a_cached_prompt_counts(house: House) -> None:
    gateway = house.gateway(state={**SMALL, "max_file": 100})
    cache = {"model": "models/openai-chat", "contents": [{"role": "user", "parts": [{"text": "x" * 10}]}]}
    made = house.ask(gateway, "POST", "/v1beta/cachedContents", headers=GOOGLE, json=cache).json()
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "cachedContent": made["name"]}
    path = "/v1beta/models/openai-chat:generateContent"
    with full(gateway):
        assert house.ask(gateway, "POST", path, headers=GOOGLE, json=body).status_code == 429
    assert house.ask(gateway, "POST", path, headers=GOOGLE, json=body).status_code == 200
    assert gateway.files.files.budget.used == 0


def test_a_run_that_was_accepted_waits_for_memory(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "_PAUSE", 0.01)
    gateway = house.gateway(state=SMALL)
    budget = gateway.files.files.budget
    take, looks = budget.take, []

    def taken(size: int) -> None:
        looks.append(size)
        take(size if len(looks) in (1, 4) else 201)  # else others hold it

    id = upload(house, gateway, b"x" * 60, "a.txt")
    _, body, _ = request("openai-responses", "openai-chat", id)
    monkeypatch.setattr(budget, "take", taken)
    run = begun(house, gateway, "/v1/responses", "openai-chat", input=body["input"])
    assert ended(house, gateway, "/v1/responses", run["id"])["status"] == "completed"
    assert looks == [60] * 4 and budget.used == 0, "once before it was accepted, and until there was room"


@pytest.mark.parametrize("lasts", [True, False])
def test_a_run_does_not_wait_for_ever(house: House, monkeypatch: pytest.MonkeyPatch, lasts: bool) -> None:
    monkeypatch.setattr(vault, "_PAUSE", 0.01)
    monkeypatch.setattr(vault, "_PATIENCE", 0.1 if lasts else 1_000)
    gateway = house.gateway(state=SMALL)
    budget = gateway.files.files.budget
    take, looks = budget.take, []

    def taken(size: int) -> None:
        looks.append(size)
        if len(looks) > 2 and not lasts:
            raise Refusal(404, "not_found", "the file is gone", code="file_not_found")
        take(size if len(looks) == 1 else 201)

    id = upload(house, gateway, b"x" * 60, "a.txt")
    _, body, _ = request("openai-responses", "openai-chat", id)
    monkeypatch.setattr(budget, "take", taken)
    run = begun(house, gateway, "/v1/responses", "openai-chat", input=body["input"])
    done = ended(house, gateway, "/v1/responses", run["id"])
    assert done["status"] == "failed" and not house.seen
    assert ("memory for files" if lasts else "the file is gone") in done["error"]["message"]


def test_a_request_names_so_many_files(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_references, "_MOST", 2)
    gateway = house.gateway()
    ids = [upload(house, gateway, b"x", "a.txt") for _ in range(3)]
    path, body, _ = request("openai-responses", "openai-chat", ids[0])
    more = [{"type": "input_file", "file_id": f"file-{id}"} for id in (ids[0], ids[0], ids[1])]
    body["input"][0]["content"] += more
    first = house.ask(gateway, "POST", path, json=body)
    assert first.status_code == 200, first.text
    _, body, _ = request("openai-responses", "openai-chat", ids[2])
    done = house.ask(gateway, "POST", path, json={**body, "previous_response_id": first.json()["id"]})
    assert done.status_code == 413 and done.json()["error"]["code"] == "too_many_files"


def test_two_of_the_largest_files_must_fit(tmp_path: Any) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text("[state]\nmax_file = 100\nmax_files_held = 199\n")
    with pytest.raises(ConfigError, match=r"state\.max_files_held: below 200, twice state\.max_file"):
        load(path)
    path.write_text("[state]\nmax_file = 100\nmax_files_held = 200\n")
    assert load(path).state.most_files_held() == 200
