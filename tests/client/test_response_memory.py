"""Clients that name the answer they go on from, over upstreams that keep none: the conversation is whole."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from oracles import mounts
from sdk_surfaces import Contents, Interactions, Messages, Responses, Said, SDKCall, Surface, plain
from unified_llm.client.state import response_memory
from unified_llm.client.state.response_memory import Memory, keeps
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, chunk, frames, streamed
from waiting import PATIENCE

PROTOCOLS = ("anthropic-messages", "google-generate-content", "google-interactions", "openai-chat", "openai-responses")
FIELD = {"openai-responses": "previous_response_id", "google-interactions": "previous_interaction_id"}
KEEPING = pytest.mark.parametrize("surface", [Responses, Interactions], ids=lambda each: each.protocol)
FOREIGN = [
    (each, protocol) for each in (Responses, Interactions) for protocol in PROTOCOLS if protocol != each.protocol
]


class Naming:
    """A conversation of an SDK that sends what is new, and names the answer before it."""

    def __init__(self, surface: type[Surface], http: Any, ahttp: Any = None) -> None:
        self.sdk = surface(http, ahttp)
        self.previous: str | None = None

    def say(self, text: str = "", results: tuple[tuple[SDKCall, str], ...] = (), mode: str = "plain") -> Said:
        sdk = self.sdk
        sdk.history.clear()
        if text:
            sdk.ask(text)
        for call, result in results:
            sdk.give(call, result)
        given = {**sdk.arguments("stream" in mode), "store": True}
        if self.previous is not None:
            given[FIELD[sdk.protocol]] = self.previous
        found = asyncio.run(self._events(given)) if mode == "async stream" else sdk.method(False)(**given)
        if mode == "stream":
            found = [plain(each) for each in found]
        elif mode == "plain":
            found = plain(found)
        self.previous = next(_names(found))
        return sdk.take(found)

    async def _events(self, given: Any) -> list[Any]:
        return [plain(each) async for each in await self.sdk.method(True)(**given)]


def _names(found: Any) -> Iterator[str]:
    """The ids in a response, itself or in an event of its stream."""
    for each in found if isinstance(found, list) else [{"": found}]:
        yield from (inner["id"] for inner in each.values() if isinstance(inner, dict) and "id" in inner)


def upstream(protocol: str) -> tuple[mounts.Oracle, ul.Upstream]:
    service = mounts.Oracle()
    inside = mounts.transport(service)
    sync, other = httpx2.Client(transport=inside), httpx2.AsyncClient(transport=inside)
    return service, ul.Upstream.of(f"local/echo:{protocol}").with_(http_client=sync, async_http_client=other)


@pytest.mark.parametrize(("surface", "protocol"), FOREIGN)
@pytest.mark.parametrize("mode", ["plain", "stream", "async stream"])
def test_a_conversation_in_names(surface: type[Surface], protocol: str, mode: str) -> None:
    """Two turns with a tool loop: the strict upstream gets all of it each time, with its own signatures."""
    service, whom = upstream(protocol)
    talk = Naming(surface, ul.http_client(whom), ul.async_http_client(whom))
    first = "[[reason Both.]] [[call get_weather city=Oslo]] [[call get_weather city=Rome]] [[then]] [[results]]"
    calls = talk.say(first, mode=mode).calls
    assert [call.arguments for call in calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    said = talk.say(results=tuple((call, f"mild in {call.arguments['city']}") for call in calls), mode=mode)
    assert said.text == "get_weather: mild in Oslo\nget_weather: mild in Rome"
    assert talk.say("[[reason Well.]] And so on.", mode=mode).text.strip() == "And so on."
    assert talk.say("The end.", mode=mode).text == "The end."
    assert [seen.status for seen in service.seen] == [200] * 4
    last = json.dumps(service.seen[3].body)
    for words in ("mild in Rome", "And so on.", "The end."):
        assert words in last
    assert ("CgRlY2hv" in last) == (protocol != "openai-chat"), "what it signed is back"


def _shell() -> dict[str, Any]:
    """An answer in which Claude ran a command at its provider."""
    ran = {"type": "bash_code_execution_result", "stdout": "a.txt", "stderr": "", "return_code": 0, "content": []}
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}}
    result = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": ran}
    return {**MESSAGE, "content": [call, result, {"type": "text", "text": "One file."}]}


def _compaction() -> dict[str, Any]:
    return {**MESSAGE, "content": [{"type": "compaction", "content": "So far."}, {"type": "text", "text": "On."}]}


@KEEPING
@pytest.mark.parametrize("answer", [_shell(), _compaction()], ids=["shell", "compaction"])
def test_what_a_client_is_not_shown_is_part_of_what_it_goes_on_from(
    surface: type[Surface], answer: dict[str, Any]
) -> None:
    canned = Canned(answer, protocol="anthropic-messages")
    talk = Naming(surface, ul.http_client(canned.upstream))
    talk.say("Look.")
    talk.say("And now?")
    assert canned.sent[1]["messages"][1] == {"role": "assistant", "content": answer["content"]}


@pytest.mark.parametrize("answer", [_shell(), _compaction()], ids=["shell", "compaction"])
def test_what_a_client_is_not_shown_is_part_of_the_conversation_that_it_sends(answer: dict[str, Any]) -> None:
    canned = Canned(answer, protocol="anthropic-messages")
    talk = Responses(ul.http_client(canned.upstream))
    for text in ("Look.", "And now?", "And then?"):
        talk.ask(text)
        talk.call()
    for place in (1, 3):
        assert canned.sent[2]["messages"][place] == {"role": "assistant", "content": answer["content"]}


@KEEPING
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_reasoning_of_an_unknown_server_is_part_of_what_it_goes_on_from(
    surface: type[Surface], field: str, mode: str
) -> None:
    (choice,) = CHAT["choices"]
    pieces = [{"role": "assistant", field: "We"}, {field: "ll."}, {"content": "Hello"}]
    chunks = frames(*(chunk(piece) for piece in pieces), chunk({}, "stop"), b"[DONE]")
    answer = {**CHAT, "choices": [{**choice, "message": {**choice["message"], field: "Well."}}]}
    canned = Canned(answer if mode == "plain" else lambda: streamed(*chunks))
    talk = Naming(surface, ul.http_client(canned.upstream))
    talk.say("Look.", mode=mode)
    talk.say("And now?", mode=mode)
    told = {"role": "assistant", "content": "Hello", field: "Well."}
    assert canned.sent[1]["messages"][1] == told
    whole = surface(ul.http_client(canned.upstream))
    for text in ("Look.", "And now?"):
        whole.ask(text)
        whole.call(mode == "stream")
    assert canned.sent[3]["messages"][1] == told


@pytest.mark.parametrize(
    ("surface", "dropped"),
    [(Contents, False), (Contents, True), (Interactions, False), (Messages, False), (Responses, False)],
)
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_reasoning_of_an_unknown_server_returns_with_its_calls(
    surface: type[Surface], mode: str, dropped: bool
) -> None:
    """Servers as DeepSeek's refuse a loop of tools without it. Clients of Google's drop the thoughts that they show."""
    (choice,) = CHAT["choices"]
    called = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}
    message = {"role": "assistant", "content": None, "reasoning_content": "Well.", "tool_calls": [called]}
    pieces = [{"role": "assistant", "reasoning_content": "We"}, {"reasoning_content": "ll."}]
    chunks = [chunk(piece) for piece in (*pieces, {"tool_calls": [{"index": 0, **called}]})]
    answer = {**CHAT, "choices": [{**choice, "message": message, "finish_reason": "tool_calls"}]}
    stream = frames(*chunks, chunk({}, "tool_calls"), b"[DONE]")
    canned = Canned(answer if mode == "plain" else lambda: streamed(*stream))
    talk = surface(ul.http_client(canned.upstream))
    talk.ask("Look.")
    (call,) = talk.call(mode == "stream").calls
    if dropped:
        parts = talk.history[-1]["parts"]
        talk.history[-1]["parts"] = [part for part in parts if not part.get("thought")]
    talk.give(call, "mild")
    talk.call(mode == "stream")
    assert canned.sent[1]["messages"][1].get("reasoning_content") == "Well."
    assert [each["id"] for each in canned.sent[1]["messages"][1]["tool_calls"]] == ["call_1"]


@pytest.mark.parametrize("surface", [Contents, Interactions, Messages, Responses])
def test_reasoning_of_an_unknown_server_stays_from_openai(surface: type[Surface]) -> None:
    (choice,) = CHAT["choices"]
    answer = {**CHAT, "choices": [{**choice, "message": {**choice["message"], "reasoning_content": "Well."}}]}
    talk = surface(ul.http_client(Canned(answer).upstream))
    talk.ask("Look.")
    talk.call()
    talk.ask("And now?")
    canned = Canned(httpx2.Response(500), protocol="openai-responses")
    moved = surface(ul.http_client(canned.upstream))
    moved.history = talk.history
    with pytest.raises(Exception, match="500"):
        moved.call()
    assert [each.get("role") for each in canned.sent[0]["input"]] == ["user", "assistant", "user"]


class Forgetful:
    """A vault that keeps nothing."""

    def put(self, key: str, items: list[Any]) -> None:
        pass

    def get(self, key: str) -> None:
        return None


@pytest.mark.parametrize(("surface", "protocol"), [each for each in FOREIGN if each[1] != "openai-chat"])
def test_signatures_return_by_the_memory_alone(surface: type[Surface], protocol: str) -> None:
    service, whom = upstream(protocol)
    talk = Naming(surface, ul.http_client(whom, vault=Forgetful()))
    (call,) = talk.say("[[reason Well.]] [[call get_weather city=Oslo]] [[then]] [[results]]").calls
    assert talk.say(results=((call, "mild"),), mode="stream").text == "get_weather: mild"
    assert "CgRlY2hv" in json.dumps(service.seen[1].body)


def shown_again(protocol: str, again: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """What an upstream is sent in three turns, with what `again` makes of each answer in front of what is new."""
    service, whom = upstream(protocol)
    tool = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}, "strict": False}
    given: list[Any] = [{"role": "user", "content": "[[reason Both.]] Words [[call get_weather]] [[call get_weather]]"}]
    previous = None
    with ul.http_client(whom) as http:
        for text in ("And now?", "Bye.", ""):
            body = {"model": "any", "input": given, "previous_response_id": previous, "tools": [tool]}
            done = http.post("https://api.openai.com/v1/responses", json=body)
            assert done.status_code == 200, done.text
            previous, output = done.json()["id"], done.json()["output"]
            calls = [item["call_id"] for item in output if item["type"] == "function_call"]
            results = [{"type": "function_call_output", "call_id": each, "output": "mild"} for each in calls]
            given = [*again(output), *results, *([] if calls else [{"role": "user", "content": text}])]
    return [seen.body for seen in service.seen]


def as_chat_has_it(output: list[Any]) -> list[Any]:
    """An answer without what a message of Chat Completions has no place for: CAMEL keeps all answers as such."""
    kept: list[Any] = []
    for item in output:
        if item["type"] == "message":
            kept.append({"role": "assistant", "content": "".join(part["text"] for part in item["content"])})
        elif item["type"] == "function_call":
            kept.append({"type": "function_call", **{key: item[key] for key in ("call_id", "name", "arguments")}})
    return kept


def without_ids(output: list[Any]) -> list[Any]:
    """An answer without the ids of its items, as clients send one that is not stored."""
    return [{key: value for key, value in item.items() if key != "id"} for item in output]


@pytest.mark.parametrize("again", [as_chat_has_it, list, without_ids])
@pytest.mark.parametrize("protocol", [each for each in PROTOCOLS if each != "openai-responses"])
def test_an_answer_that_is_sent_beside_its_name_is_there_once(protocol: str, again: Any) -> None:
    assert shown_again(protocol, again) == shown_again(protocol, lambda output: [])


def test_what_a_client_adds_to_the_answer_that_it_names_stays() -> None:
    def edited(output: list[Any]) -> list[Any]:
        return [{"role": "assistant", "content": "Other words"}]

    sent = shown_again("openai-chat", edited)
    assert json.dumps(sent[2]).count("Other words") == 2


@KEEPING
def test_a_conversation_may_branch(surface: type[Surface]) -> None:
    service, whom = upstream("openai-chat")
    talk = Naming(surface, ul.http_client(whom))
    talk.say("One.")
    one = talk.previous
    talk.say("Two.")
    talk.previous = one
    talk.say("Three.")
    said = [message["content"] for message in service.seen[2].body["messages"]]
    assert [each if isinstance(each, str) else each[0]["text"] for each in said] == ["One.", "One.", "Three."]


@KEEPING
def test_a_name_that_is_unknown_is_an_error(surface: type[Surface]) -> None:
    service, whom = upstream("anthropic-messages")
    talk = Naming(surface, ul.http_client(whom))
    talk.previous = "resp_of_another"
    with pytest.raises(Exception, match="resp_of_another") as caught:
        talk.say("Hi.")
    status = 400 if surface is Responses else 404
    assert caught.value.status_code == status and not service.seen  # type: ignore[attr-defined]
    if surface is Responses:
        assert caught.value.code == "previous_response_not_found"  # type: ignore[attr-defined]


@KEEPING
def test_what_the_provider_keeps_is_left_to_it(surface: type[Surface]) -> None:
    service, whom = upstream(surface.protocol)
    talk = Naming(surface, ul.http_client(whom))
    talk.say("One.")
    name = talk.previous
    talk.say("Two.")
    assert service.seen[1].body[FIELD[surface.protocol]] == name
    assert "One." not in json.dumps(service.seen[1].body)


@KEEPING
def test_what_is_not_to_be_stored_is_not(surface: type[Surface]) -> None:
    canned = Canned(CHAT, CHAT)
    sdk = surface(ul.http_client(canned.upstream))
    sdk.ask("Hi")
    name = sdk.call().answer["id"]  # the surfaces of these tests send store=False
    with pytest.raises(Exception, match="not found"):
        sdk.call(**{FIELD[surface.protocol]: name})
    assert len(canned.seen) == 1


@KEEPING
def test_an_answer_that_broke_off_is_nothing_to_go_on_from(surface: type[Surface]) -> None:
    canned = Canned(lambda: streamed(CHAT_STREAM[0], httpx2.ReadError("reset")))
    http = ul.http_client(canned.upstream)
    path = "/v1/responses" if surface is Responses else "/v1beta/interactions"
    body = {"model": "m", "input": "Hi", "stream": True}
    told = http.post(f"http://any{path}", json=body).text
    name = next(_names([json.loads(line[6:]) for line in told.splitlines() if line.startswith("data: {")]))
    answer = http.post(f"http://any{path}", json={**body, FIELD[surface.protocol]: name})
    assert answer.status_code == (400 if surface is Responses else 404) and len(canned.seen) == 1


def test_a_memory_is_bounded() -> None:
    memory = Memory(limit=2_500)
    whom = ul.Upstream.of("local/echo:openai-chat")
    for number in range(9):
        answer = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [], "x": "y" * 1000}
        memory.keep("openai-responses", b'{"input": "Hi"}', {"input": "Hi"}, [json.dumps(answer).encode()])
    asked: dict[str, Any] = {"input": "And?", "previous_response_id": "resp_8"}
    known = memory.recalled(asked, "openai-responses", [whom])
    assert [item["content"] for item in known["input"]] == ["Hi", "And?"] and "previous_response_id" not in known
    with pytest.raises(ul.InvalidRequestError, match="resp_0"):
        memory.recalled({**asked, "previous_response_id": "resp_0"}, "openai-responses", [whom])


def test_a_memory_may_be_asked_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two go on from the same answer at once: while one finds out which it is, the other waits and finds it too."""
    reading, real = threading.Event(), response_memory.answer

    def slow(turn: Any, secret: Any) -> Any:
        reading.set()
        time.sleep(0.05)
        return real(turn, secret)

    memory, whom = Memory(), ul.Upstream.of("local/echo:openai-chat")
    answer = {"id": "resp_1", "object": "response", "status": "completed", "output": []}
    memory.keep("openai-responses", b'{"input": "Hi"}', {"input": "Hi"}, [json.dumps(answer).encode()])
    monkeypatch.setattr(response_memory, "answer", slow)
    asked: dict[str, Any] = {"input": "And?", "previous_response_id": "resp_1"}
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(memory.recalled, asked, "openai-responses", [whom])
        assert reading.wait(PATIENCE)
        second = memory.recalled(asked, "openai-responses", [whom])
        assert first.result() == second
    assert [item["content"] for item in second["input"]] == ["Hi", "And?"]


def test_what_is_kept_for_one_caller_is_unknown_to_every_other() -> None:
    """A transport that serves several: the vault and the answers that are named are the caller's own."""
    with ul.http_client("local/echo:openai-chat") as http:

        def ask(caller: str, **more: Any) -> Any:
            body = {"model": "m", "input": "Hi", **more}
            return http.post("http://any/v1/responses", json=body, headers={"x-unified-llm-caller": caller})

        name = ask("a").json()["id"]
        assert ask("a", previous_response_id=name).status_code == 200
        for other in ("b", ""):
            assert ask(other, previous_response_id=name).status_code == 400
        assert "x-unified-llm-caller" not in str(http._transport)


def test_which_surfaces_have_names_for_answers() -> None:
    assert {name: keeps(name) for name in PROTOCOLS if keeps(name)} == FIELD


def test_an_id_names_an_answer_of_its_own_surface() -> None:
    """Servers count: the same id at two surfaces, through one transport, is two answers."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]}
    answered = {"id": "1", "status": "completed", "output": [message]}
    other = {"id": "1", "status": "completed", "steps": []}
    memory = Memory()
    asked = {"openai-responses": answered, "google-interactions": other}
    for surface, body in asked.items():
        memory.keep(surface, b'{"input":"Hi"}', {"input": "Hi"}, [json.dumps(body).encode()])
    for surface in asked:
        (turn,) = memory.turns("1", surface) or ()
        assert turn.surface == surface
    memory.forget("1", "openai-responses")
    assert memory.turns("1", "openai-responses") is None and memory.turns("1", "google-interactions")
