"""An answer of Messages that pauses ends with a call of the provider's without its result."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from sdk_surfaces import Chat, Contents, Interactions, Responses, Surface, plain
from upstreams import MESSAGE, Canned

Node = dict[str, Any]
HM = {"type": "text", "text": "Hm."}
THOUGHT = {"type": "thinking", "thinking": "Well.", "signature": "c2ln"}
NAMES = ["web_search", "bash_code_execution", "advisor"]


def call(name: str) -> Node:
    return {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {"query": "x"}}


FIELD = {"openai-responses": "previous_response_id", "google-interactions": "previous_interaction_id"}


def go_on_by_name(surface: type[Surface], canned: Canned) -> None:
    talk = surface(ul.http_client(canned.upstream))
    talk.ask("Look.")
    first = plain(talk.method(False)(**{**talk.arguments(False), "store": True}))
    talk.history.clear()
    talk.ask("And?")
    given = {**talk.arguments(False), "store": True, FIELD[surface.protocol]: first["id"]}
    talk.method(False)(**given)


def paused(*content: Node) -> Canned:
    first = {**MESSAGE, "content": list(content), "stop_reason": "pause_turn"}
    return Canned(first, MESSAGE, protocol="anthropic-messages")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("surface", [Chat, Contents, Interactions, Responses], ids=lambda each: each.protocol)
def test_a_text_of_the_user_ends_a_call_that_never_got_its_result(surface: type[Surface], name: str) -> None:
    canned = paused(HM, call(name))
    talk = surface(ul.http_client(canned.upstream))
    for text in ("Look.", "And?"):
        talk.ask(text)
        talk.take(plain(talk.method(False)(**talk.arguments(False))))
    assert call(name) not in canned.sent[1]["messages"][1]["content"]
    assert HM in canned.sent[1]["messages"][1]["content"]
    assert canned.sent[1]["messages"][2] == {"role": "user", "content": "And?"}


@pytest.mark.parametrize("surface", [Interactions, Responses], ids=lambda each: each.protocol)
def test_so_does_one_behind_an_answer_that_is_named(surface: type[Surface]) -> None:
    canned = paused(HM, call("web_search"))
    go_on_by_name(surface, canned)
    assert canned.sent[1]["messages"][1] == {"role": "assistant", "content": [HM]}


def test_thoughts_that_led_to_it_do_not_end_the_message() -> None:
    canned = paused(HM, THOUGHT, call("web_search"))
    go_on_by_name(Responses, canned)
    assert canned.sent[1]["messages"][1] == {"role": "assistant", "content": [HM]}


@pytest.mark.parametrize("name", NAMES)
def test_a_client_goes_on_with_the_call_and_ends_it_with_a_text(name: str) -> None:
    for given, kept in (([], [HM, call(name)]), ("And?", [HM])):
        canned = paused(HM, call(name))
        made = ul.Client(canned.upstream)
        made.responses.create(input=given, previous=made.responses.create(input="Look."))
        assert canned.sent[1]["messages"][1] == {"role": "assistant", "content": kept}


def test_a_client_of_another_protocol_goes_on_with_the_call() -> None:
    canned = paused(HM, call("web_search"))
    talk = Responses(ul.http_client(canned.upstream))
    talk.ask("Look.")
    talk.take(plain(talk.method(False)(**talk.arguments(False))))
    talk.method(False)(**talk.arguments(False))
    assert canned.sent[1]["messages"][1:] == [{"role": "assistant", "content": [HM, call("web_search")]}]


def test_a_call_that_has_its_result_stays() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    canned = paused(call("web_search"), result, HM)
    go_on_by_name(Responses, canned)
    assert canned.sent[1]["messages"][1]["content"] == [call("web_search"), result, HM]
