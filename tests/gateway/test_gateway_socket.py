"""Responses over WebSocket: the official SDK's connections, over an upstream of every protocol."""

from __future__ import annotations

import dataclasses
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

pytest.importorskip("websockets")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from client.loopback import STREAM, held, loopback, streamed
from client.loopback import event as piece_of
from gateway.serving import PROTOCOLS, House, Served, until
from unified_llm.engine.registry import adapter
from unified_llm.gateway.routes import websocket

upstreams = pytest.mark.parametrize("protocol", PROTOCOLS)
ENDS = ("response.completed", "response.failed", "response.incomplete", "error")
TOOL: Any = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}


class Socket:
    """A plain connection: what is sent and received, and nothing more."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def send(self, **body: Any) -> None:
        self.raw.send(json.dumps({"type": "response.create", "store": False, **body}))

    def turn(self) -> list[dict[str, Any]]:
        """The events of one response."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] not in ENDS:
            events.append(json.loads(self.raw.recv(timeout=20)))
        return events

    def ask(self, **body: Any) -> dict[str, Any]:
        """The last event of the response to a request."""
        self.send(**body)
        return self.turn()[-1]


@contextmanager
def opened(served: Served, path: str = "/v1/responses", **options: Any) -> Iterator[Socket]:
    with connect(f"ws{served.url.removeprefix('http')}{path}", open_timeout=20, **options) as raw:
        yield Socket(raw)


def text_of(event: dict[str, Any]) -> str:
    assert event["type"] == "response.completed", event
    found = (part["text"] for item in event["response"]["output"] for part in item.get("content") or ())
    return "".join(found)


@upstreams
@pytest.mark.filterwarnings("ignore:connect.. must be used:DeprecationWarning")  # the SDK uses websockets as before 17
def test_the_synchronous_sdk(served: Served, house: House, protocol: str) -> None:
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key="unused")
    with client, client.responses.connect() as connection:
        connection.response.create(model=protocol, input="One.", store=False)
        first = last_of(connection)
        connection.response.create(model=protocol, input="Two.", previous_response_id=first.id, store=False)
        second = last_of(connection)
    assert (first.output_text, second.output_text) == ("One.", "Two.")
    assert second.model == protocol and second.previous_response_id in (first.id, None)
    assert [seen.protocol for seen in house.seen] == [protocol] * 2
    assert "One." in str(house.seen[1].body) and "resp_" not in str(house.seen[1].body.get("previous_response_id"))


def last_of(connection: Any) -> Any:
    numbers = []
    for event in connection:
        assert event.type != "error", event
        numbers.append(event.sequence_number)
        if event.type == "response.completed":
            assert numbers == list(range(len(numbers)))
            return event.response
    raise AssertionError("the connection ended")


@upstreams
def test_a_tool_loop_of_the_asynchronous_sdk(served: Served, house: House, protocol: str) -> None:
    async def talked() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="unused") as client:
            async with client.responses.connect() as connection:

                async def asked(**body: Any) -> Any:
                    await connection.response.create(model=protocol, tools=[TOOL], store=False, **body)
                    async for event in connection:
                        assert event.type != "error", event
                        if event.type == "response.completed":
                            return event.response

                first = await asked(input="[[call get_weather]] [[then]] It is: [[results]]")
                (call,) = [item for item in first.output if item.type == "function_call"]
                result = {"type": "function_call_output", "call_id": call.call_id, "output": "4 degrees"}
                return await asked(input=[result], previous_response_id=first.id)

    assert house.run(talked()).output_text == "It is: get_weather: 4 degrees"


@upstreams
def test_a_prepared_response_is_gone_on_from(served: Served, house: House, protocol: str) -> None:
    with opened(served) as socket:
        socket.send(model=protocol, input="One.", instructions="Be kind.", generate=False, stream=True)
        events = socket.turn()
        assert [each["type"] for each in events] == ["response.created", "response.in_progress", "response.completed"]
        prepared = events[-1]["response"]
        assert prepared["output"] == [] and prepared["instructions"] == "Be kind." and not house.seen
        last = socket.ask(model=protocol, input="Two.", previous_response_id=prepared["id"], stream=True)
        assert text_of(last).endswith("Two.") and "One." in str(house.seen[0].body)
        empty = socket.ask(model=protocol, input=[], prompt_cache_options={"prewarm": True})["response"]["id"]
        assert text_of(socket.ask(model=protocol, input="Three.", previous_response_id=empty)) == "Three."


def test_errors_keep_the_socket(served: Served, house: House) -> None:
    with opened(served) as socket:
        for raw, code in [("{", "invalid_json"), ("[]", "invalid_json"), ('{"type": "x"}', "unknown_event_type")]:
            socket.raw.send(raw)
            (event,) = socket.turn()
            assert (event["status"], event["error"]["code"]) == (400, code)
            assert event["error"]["type"] == "invalid_request_error"
        cases: list[tuple[dict[str, Any], int, str]] = [
            ({"model": "nowhere/has-this"}, 404, "model_not_found"),
            ({}, 400, "missing_model"),
            ({"model": "openai-chat", "background": True}, 400, "background"),
            ({"model": "openai-chat", "stream_id": "a b"}, 400, "invalid_stream_id"),
            ({"model": "openai-chat", "previous_response_id": "resp_1"}, 400, "previous_response_not_found"),
            ({"model": "openai-chat", "previous_response_id": "resp_1", "generate": False}, 400,
             "previous_response_not_found"),
        ]  # fmt: skip
        for body, status, code in cases:
            event = socket.ask(input="Hi", **body)
            assert (event["type"], event["status"], event["error"]["code"]) == ("error", status, code), event
        event = socket.ask(model="openai-chat", input='[[error 429 message="on purpose"]]')
        assert (event["status"], event["error"]["message"]) == (429, "on purpose")
        assert text_of(socket.ask(model="openai-chat", input="Hi")) == "Hi"


def test_steering_is_refused_in_its_own_event(served: Served) -> None:
    with opened(served) as socket:
        socket.raw.send(json.dumps({"type": "response.steer", "previous_response_id": "resp_1", "input": "Stop."}))
        event = json.loads(socket.raw.recv(timeout=20))
        assert event["type"] == "response.steer.failed" and event["error"]["code"] == "steering_not_supported"
        assert event["steer"] == {"previous_response_id": "resp_1", "input": "Stop."}


@pytest.mark.parametrize("protocol", ["anthropic-messages", "google-generate-content"])
def test_a_stream_that_breaks(served: Served, house: House, protocol: str) -> None:
    with opened(served) as socket:
        first = socket.ask(model=protocol, input="One.")["response"]["id"]
        text = "One two three four. [[break after 4]]"
        event = socket.ask(model=protocol, input=text, previous_response_id=first)
        assert event["type"] in ("error", "response.failed"), event
        event = socket.ask(model=protocol, input="Two.", previous_response_id=first)
        assert event["error"]["code"] == "previous_response_not_found"


def test_what_is_not_stored_stays_on_its_socket(served: Served) -> None:
    with opened(served) as socket:
        passing = socket.ask(model="openai-chat", input="One.")["response"]["id"]
        stored = socket.ask(model="openai-chat", input="Two.", previous_response_id=passing, store=True)["response"][
            "id"
        ]
        alone = socket.ask(model="openai-chat", input="Three.", store=True)["response"]["id"]
        assert text_of(socket.ask(model="openai-chat", input="Four.", previous_response_id=stored)) == "Four."
    assert httpx2.get(f"{served.url}/v1/responses/{passing}").status_code == 404
    assert httpx2.get(f"{served.url}/v1/responses/{alone}").json()["output"][0]["content"][0]["text"] == "Three."
    with opened(served) as socket:
        event = socket.ask(model="openai-chat", input="Five.", previous_response_id=passing)
        assert event["error"]["code"] == "previous_response_not_found"
        mixed = socket.ask(model="openai-chat", input="Six.", previous_response_id=alone)
        assert text_of(mixed) == "Six."
        event = socket.ask(model="openai-chat", input="Seven.", previous_response_id=mixed["response"]["id"])
        assert text_of(event) == "Seven.", "turns of the socket and stored ones are one conversation"


def test_a_failed_continuation_evicts(served: Served, house: House) -> None:
    with opened(served) as socket:
        first = socket.ask(model="openai-chat", input="One.")["response"]["id"]
        output = [{"type": "function_call_output", "call_id": "call_unknown", "output": "x"}]
        other = socket.ask(model="openai-chat", input=output, previous_response_id=first, stream_id="fork")
        assert (other["type"], other["status"], other["stream_id"]) == ("error", 400, "fork")
        assert text_of(socket.ask(model="openai-chat", input="Two.", previous_response_id=first)) == "Two."
        failed = socket.ask(model="openai-chat", input=output, previous_response_id=first)
        assert failed["status"] == 400 and "call_unknown" in failed["error"]["message"]
        event = socket.ask(model="openai-chat", input="Three.", previous_response_id=first)
        assert event["error"]["code"] == "previous_response_not_found"
    assert len(house.seen) == 2, "no upstream is asked"


def test_lanes_are_answered_side_by_side(served: Served, house: House) -> None:
    with opened(served) as socket:
        socket.send(model="openai-chat", input="Slow. [[slow 100]]", stream_id="a")
        socket.send(model="openai-chat", input="Next.", stream_id="a")
        socket.send(model="openai-chat", input="Quick.", stream_id="b")
        done: list[tuple[str, str]] = []
        while len(done) < 3:
            event = json.loads(socket.raw.recv(timeout=20))
            if event["type"] in ENDS:
                done.append((event["stream_id"], text_of(event).strip()))
    assert done.index(("a", "Slow.")) < done.index(("a", "Next."))
    assert {lane for lane, _ in done} == {"a", "b"}


def test_there_are_so_many_lanes(served: Served) -> None:
    with opened(served) as socket:
        for number in range(33):
            socket.send(model="local/echo", input="Hi", stream_id=f"lane-{number}", generate=False)
        ends: list[dict[str, Any]] = []
        while len(ends) < 33:
            event = json.loads(socket.raw.recv(timeout=20))
            ends += [event] if event["type"] in ENDS else []
    (refused,) = [each for each in ends if each["type"] == "error"]
    assert refused["error"]["code"] == "websocket_stream_limit_reached" and refused["stream_id"] == "lane-32"


# ---- who may connect, and how much ----------------------------------------------------------------------------------


def status_of(served: Served, path: str = "/v1/responses", **options: Any) -> tuple[int, Any]:
    with pytest.raises(InvalidStatus) as caught, opened(served, path, **options):
        pass
    return caught.value.response.status_code, json.loads(caught.value.response.body)


def test_a_web_page_may_not_connect(served: Served) -> None:
    status, body = status_of(served, origin="https://example.com")
    assert status == 403 and body["error"]["code"] == "origin_not_allowed"
    status, body = status_of(served, additional_headers={"Host": "evil.example"})
    assert status == 403 and body["error"]["code"] == "host_not_allowed"


def test_only_its_route_is_served_over_websocket(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    assert status_of(served, "/v1/chat/completions")[0] == 426
    assert status_of(served, "/v1/messages")[1]["type"] == "error", "in the words of that API"
    assert status_of(served, "/v1/nothing")[0] == 404
    assert not caplog.records, "a client that falls back is not an error"


def test_a_key_is_required_and_its_limits_hold(house: House) -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of "test"
    keys = {"team": {"sha256": digest, "limits": ["1/minute"], "models": ["openai-*"]}}
    gateway = house.gateway(gateway={"listen": "127.0.0.1:0"}, keys=keys)
    with Served(gateway) as served:
        assert status_of(served)[0] == 401
        with opened(served, additional_headers={"Authorization": "Bearer test"}) as socket:
            assert socket.ask(model="google-interactions", input="Hi")["status"] == 403
        with opened(served, "/v1/responses?key=test") as socket:
            event = socket.ask(model="openai-chat", input="Hi")
            assert (event["status"], event["error"]["code"]) == (429, "limit_exceeded"), event


def test_losses_are_in_the_response(house: House) -> None:
    gateway = house.gateway(gateway={"listen": "127.0.0.1:0"}, telemetry={"losses": "body"})
    with Served(gateway) as served, opened(served) as socket:
        event = socket.ask(model="anthropic-messages", input="Hi", top_logprobs=3)
    assert "/top_logprobs" in str(event["response"]["metadata"])


def test_a_message_that_is_too_large_ends_the_connection(house: House) -> None:
    gateway = house.gateway(gateway={"listen": "127.0.0.1:0", "max_body": 20_000})
    with Served(gateway) as served, opened(served) as socket:
        socket.send(model="openai-chat", input="x" * 30_000)
        with pytest.raises(ConnectionClosed) as caught:
            socket.turn()
        assert caught.value.rcvd is not None and caught.value.rcvd.code == 1009
        with opened(served) as other:
            first = other.ask(model="openai-chat", input="x" * 9_000)["response"]["id"]
            for _ in range(2):
                event = other.ask(model="openai-chat", input="y" * 9_000)
            event = other.ask(model="openai-chat", input="Hi", previous_response_id=first)
            assert event["error"]["code"] == "previous_response_not_found", "what a socket remembers is bounded"


def test_a_connection_has_an_end(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    known = adapter("openai-responses")
    assert known.socket is not None
    short = dataclasses.replace(known, socket=known.socket._replace(lifetime=0.2))
    monkeypatch.setattr(websocket, "adapter", lambda name: short if name == "openai-responses" else adapter(name))
    with opened(served) as found:
        event = json.loads(found.raw.recv(timeout=20))
        assert event["error"]["code"] == "websocket_connection_limit_reached"
        with pytest.raises(ConnectionClosed):
            found.raw.recv(timeout=20)


def test_the_upstream_is_closed_when_the_client_leaves(house: House) -> None:
    with loopback() as up:
        up.answer = lambda exchange: (exchange.send(streamed(piece_of("a"), end=False)), exchange.stall())
        gateway = house.gateway({"it": up.upstream(timeout=600)}, gateway={"listen": "127.0.0.1:0"})
        with Served(gateway) as served:
            with opened(served) as found:
                found.send(model="it", input="Hi")
                until(lambda: up.asked)
                assert gateway.sockets.total() == 1
            up.until(lambda: up.open == 0)
            until(lambda: gateway.busy == 0 and not gateway.sockets)


def test_a_server_that_stops_finishes_what_a_socket_has_begun(house: House) -> None:
    """As over HTTP: what is under way comes to its end, what is new is refused, and then the socket is closed."""
    with loopback() as up:
        go: list[bool] = []
        up.answer = held(lambda: go)
        served = Served(house.gateway({"it": up.upstream()}, gateway={"listen": "127.0.0.1:0"}))
        with opened(served) as idle, opened(served) as found:
            found.send(model="it", input="One.")
            until(lambda: up.asked)
            served.server.handle_exit(signal.SIGTERM, None)
            with pytest.raises(ConnectionClosed) as closed:
                idle.raw.recv(timeout=20)
            assert closed.value.rcvd.code == 1012
            found.send(model="it", input="Two.", stream_id="other")
            refused = found.turn()[-1]
            assert (refused["stream_id"], refused["status"]) == ("other", 503) and "stopping" in str(refused["error"])
            go.append(True)
            assert text_of(found.turn()[-1])
            with pytest.raises(ConnectionClosed) as closed:
                found.raw.recv(timeout=20)
            assert closed.value.rcvd.code == 1012
        served.thread.join(20)
        assert not served.thread.is_alive()


@pytest.mark.parametrize("begun", [True, False])
def test_what_outlives_the_end_of_a_socket_gets_an_error(house: House, begun: bool, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with loopback() as up:
        up.answer = lambda exchange: (
            exchange.send(streamed(STREAM[0], end=False)) if begun else None,
            exchange.stall(),
        )
        settings = {"listen": "127.0.0.1:0", "graceful": 1}
        served = Served(house.gateway({"it": up.upstream()}, gateway=settings, telemetry={"log": str(log)}))
        with opened(served) as found:
            found.send(model="it", input="One.")
            found.send(model="it", input="Two.")
            until(lambda: up.asked and served.gateway.busy)
            served.server.handle_exit(signal.SIGTERM, None)
            for last in (found.turn()[-1], found.turn()[-1]):
                assert last["type"] in ("response.failed", "error") and "the gateway is stopping" in str(last)
            with pytest.raises(ConnectionClosed):
                found.raw.recv(timeout=20)
        served.thread.join(20)
        assert not served.thread.is_alive() and up.asked == 1
    lines = [json.loads(each) for each in log.read_text().splitlines()]
    assert [each["error"] for each in lines] == ["gateway_stopping"] * 2


@pytest.mark.parametrize("store", [True, False])
def test_responses_of_one_id_are_continued_as_themselves(house: House, store: bool) -> None:
    """What their upstream gives the same id, whether it is stored or only remembered by the socket."""
    with loopback() as up:
        said = ""
        answer = up.answer

        def answered(exchange: Any) -> Any:
            nonlocal said
            said = exchange.body.decode()
            return answer(exchange)

        up.answer = answered
        gateway = house.gateway({"it": up.upstream()}, gateway={"listen": "127.0.0.1:0"})
        with Served(gateway) as served, opened(served) as found:
            one, two = (found.ask(model="it", input=f"turn {each}", store=store)["response"]["id"] for each in (1, 2))
            assert one != two
            for id_, own, other in ((one, "turn 1", "turn 2"), (two, "turn 2", "turn 1")):
                assert text_of(found.ask(model="it", input="on", store=store, previous_response_id=id_)) == "ab"
                assert own in said and other not in said


def test_the_name_of_a_model_is_bounded(served: Served, house: House) -> None:
    with opened(served) as found:
        for name in ("x" * 201, "a\nb"):
            (event,) = (found.send(model=name, input="Hi"), found.turn())[1]
            assert event["type"] == "error" and event["error"]["code"] == "invalid_model", event
        for name in ("local/" + "x" * 201, "local/a\nb"):
            event = found.ask(model=name, input="Hi", generate=False)
            assert event["type"] == "error" and event["error"]["code"] == "invalid_model", event
