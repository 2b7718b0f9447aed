"""Each rule of the strict validators, with a request that breaks it and the words it is refused in."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from oracles.surfaces import (
    CHAT,
    CONTENT,
    HEADERS,
    INTERACTIONS,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    TOOLS,
    Node,
    answer,
    calls,
    client,
    history,
    path,
    post,
    request,
    stream,
    then,
)

Break = Callable[[Node], Any]
KEY = {CHAT: "messages", MESSAGES: "messages", CONTENT: "contents", RESPONSES: "input", INTERACTIONS: "input"}
every = pytest.mark.parametrize("protocol", PROTOCOLS)


def loop(protocol: str, text: str = "[[reason Both.]] Look. [[parallel]]") -> Node:
    """A request whose tool loop is whole, which is accepted."""
    first = request(protocol, text, TOOLS)
    return then(protocol, first, answer(protocol, first))


def refused(protocol: str, body: Node, headers: Node | None = None) -> str:
    with client() as http:
        response = http.post(path(protocol), json=body, headers=headers or HEADERS.get(protocol))
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert {CHAT: "type", RESPONSES: "type", MESSAGES: "type", CONTENT: "status", INTERACTIONS: "code"}[
        protocol
    ] in error
    message: str = error["message"]
    return message


def broken(protocol: str, body: Node, change: Break) -> str:
    body = copy.deepcopy(body)
    change(body)
    return refused(protocol, body)


def at(*path: Any) -> Callable[[Any], Break]:
    """Puts a value at a path."""

    def put(value: Any) -> Break:
        def change(body: Node) -> None:
            node: Any = body
            for step in path[:-1]:
                node = node[step]
            node[path[-1]] = value

        return change

    return put


def without(*path: Any) -> Break:
    def change(body: Node) -> None:
        node: Any = body
        for step in path[:-1]:
            node = node[step]
        del node[path[-1]]

    return change


@every
def test_a_whole_loop_is_accepted(protocol: str) -> None:
    assert post(protocol, loop(protocol)).status_code == 200


# ---- calls and results: turns of `loop` are user, model (one wire message or several items), results

ORPHANED: dict[str, tuple[Break, str]] = {
    CHAT: (lambda b: b["messages"].pop(1), "must be a response to a preceeding message with 'tool_calls'"),
    RESPONSES: (
        lambda b: b.update(input=[i for i in b["input"] if i.get("type") in (None, "function_call_output")]),
        "No tool call found for function call output with call_id",
    ),
    MESSAGES: (lambda b: b["messages"].pop(1), "unexpected `tool_use_id` found in `tool_result` blocks"),
    CONTENT: (lambda b: b["contents"].pop(1), "function response turn comes immediately after a function call turn"),
    INTERACTIONS: (
        lambda b: b.update(input=[s for s in b["input"] if s["type"] in ("user_input", "function_result")]),
        "No function call found for function result",
    ),
}
UNANSWERED: dict[str, tuple[Break, str]] = {
    CHAT: (
        lambda b: b["messages"].__setitem__(3, {"role": "user", "content": "Stop."}),
        "did not have response messages: call_",
    ),
    RESPONSES: (
        lambda b: b["input"].__setitem__(-1, {"role": "user", "content": "Stop."}),
        "No tool output found for function call",
    ),
    MESSAGES: (lambda b: b["messages"][-1]["content"].pop(), "`tool_use` ids were found without `tool_result` blocks"),
    CONTENT: (
        lambda b: b["contents"][-1]["parts"].pop(),
        "number of function response parts is equal to the number of function call",
    ),
    INTERACTIONS: (
        lambda b: b["input"].__setitem__(-1, {"type": "user_input", "content": [{"type": "text", "text": "Stop."}]}),
        "has no function result",
    ),
}


@every
def test_a_result_without_its_call(protocol: str) -> None:
    change, words = ORPHANED[protocol]
    assert words in broken(protocol, loop(protocol), change)


@every
def test_a_call_without_its_result(protocol: str) -> None:
    change, words = UNANSWERED[protocol]
    assert words in broken(protocol, loop(protocol), change)


def test_results_come_first_and_together() -> None:
    body = loop(MESSAGES)
    text = {"type": "text", "text": "And?"}
    assert "come before other content" in broken(MESSAGES, body, lambda b: b["messages"][-1]["content"].insert(0, text))
    results = body["messages"][-1]["content"]
    split = [*body["messages"][:-1], *({"role": "user", "content": [result]} for result in results)]
    assert "without `tool_result` blocks immediately after" in refused(MESSAGES, {**body, "messages": split})
    twice = [*body["messages"][:-1], {"role": "user", "content": [*results, results[0]]}]
    assert "must have a single result" in refused(MESSAGES, {**body, "messages": twice})


def test_responses_of_other_functions() -> None:
    change = at("contents", -1, "parts", 0, "functionResponse", "name")
    assert "names match" in broken(CONTENT, loop(CONTENT), change("fly"))
    change = at("contents", -1, "parts", 0, "functionResponse", "id")
    assert "ids match" in broken(CONTENT, loop(CONTENT), change("nowhere"))


def test_a_conversation_that_opens_with_a_call() -> None:
    words = broken(CONTENT, loop(CONTENT), lambda b: b["contents"].pop(0))
    assert "function call turn comes immediately after a user turn" in words


# ---- signatures


def signed(protocol: str, body: Node) -> list[tuple[Node, str]]:
    """Where the signatures of a request are."""
    found: list[tuple[Node, str]] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            found.extend(
                (node, k) for k in ("encrypted_content", "signature", "thoughtSignature", "data") if node.get(k)
            )
            for value in node.values():
                walk(value)
        for value in node if isinstance(node, list) else ():
            walk(value)

    walk(history(protocol, body))
    return found


SIGNING = (RESPONSES, MESSAGES, CONTENT, INTERACTIONS)


@pytest.mark.parametrize("protocol", SIGNING)
def test_signatures_of_others_are_refused(protocol: str) -> None:
    def change(body: Node) -> None:
        node, key = signed(protocol, body)[0]
        node[key] = "bm90IG9uZSBvZiBvdXJz"

    words = broken(protocol, loop(protocol), change)
    assert any(w in words for w in ("could not be verified", "Invalid `signature`", "Corrupted thought signature"))


@pytest.mark.parametrize("protocol", SIGNING)
def test_signatures_that_were_changed_are_refused(protocol: str) -> None:
    def change(body: Node) -> None:
        node, key = signed(protocol, body)[0]
        node[key] = node[key][:-3] + ("A==" if node[key][-3] != "A" else "g==")

    broken(protocol, loop(protocol), change)


@pytest.mark.parametrize("protocol", SIGNING)
def test_signatures_that_were_moved_are_refused(protocol: str) -> None:
    first = loop(protocol)
    second = then(protocol, first, answer(protocol, first), {}, text="[[reason Again.]] Now. [[call read_clock]]")
    whole = then(protocol, second, answer(protocol, second))
    assert post(protocol, whole).status_code == 200

    def change(body: Node) -> None:
        (one, key), (other, its) = signed(protocol, body)[0], signed(protocol, body)[-1]
        one[key], other[its] = other[its], one[key]

    words = broken(protocol, whole, change)
    assert any(w in words for w in ("could not be verified", "changed or moved", "made for another part"))


def test_what_was_signed_may_not_change() -> None:
    thinking = at("messages", 1, "content", 0, "thinking")
    assert "Invalid `signature`" in broken(MESSAGES, loop(MESSAGES), thinking("Other thoughts."))
    call = at("contents", 1, "parts", 2, "functionCall", "args")
    assert "Thought signature is not valid" in broken(CONTENT, loop(CONTENT), call({"city": "Rome"}))


def test_signatures_that_are_missing() -> None:
    assert "thinking.signature: Field required" in broken(
        MESSAGES, loop(MESSAGES), without("messages", 1, "content", 0, "signature")
    )
    assert "Invalid `signature`" in broken(MESSAGES, loop(MESSAGES), at("messages", 1, "content", 0, "signature")(""))
    words = broken(CONTENT, loop(CONTENT), without("contents", 1, "parts", 2, "thoughtSignature"))
    assert "missing a thought_signature" in words and "`default_api:get_weather`" in words
    thoughtless = lambda b: b.update(input=[s for s in b["input"] if s["type"] != "thought"])  # noqa: E731
    assert "missing a thought signature" in broken(INTERACTIONS, loop(INTERACTIONS), thoughtless)
    assert "has no signature" in broken(INTERACTIONS, loop(INTERACTIONS), at("input", 1, "signature")(""))


def test_calls_of_others_pass_with_the_documented_stand_in_and_earlier_turns_without() -> None:
    body = loop(CONTENT)
    body["contents"][1]["parts"][2]["thoughtSignature"] = "skip_thought_signature_validator"
    assert post(CONTENT, body).status_code == 200
    del body["contents"][1]["parts"][2]["thoughtSignature"]
    body["contents"] += [{"role": "model", "parts": [{"text": "Well."}]}, {"role": "user", "parts": [{"text": "And?"}]}]
    assert post(CONTENT, body).status_code == 200


def test_the_signature_behind_a_text_may_stand_on_the_text() -> None:
    """Clients join the pieces of a stream, its signed empty end too; nothing else may have that signature."""
    first = request(CONTENT, "[[reason Hm.]] Good morning, you.")
    parts = [p for f in stream(CONTENT, first) for p in f["data"]["candidates"][0]["content"]["parts"]]
    (signature,) = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
    assert {"text": "", "thoughtSignature": signature} in parts

    def home(part: Node) -> Node:
        turns = [{"role": "model", "parts": [part]}, {"role": "user", "parts": [{"text": "And?"}]}]
        return {**first, "contents": [*first["contents"], *turns]}

    for text in ("Good morning, you.", ""):
        assert post(CONTENT, home({"text": text, "thoughtSignature": signature})).status_code == 200
    call = {"functionCall": {"name": "get_weather", "args": {}}, "thoughtSignature": signature}
    assert "made for another part" in refused(CONTENT, home(call))


def test_reasoning_and_what_it_led_to_stay_together() -> None:
    body = loop(RESPONSES)  # user, reasoning, message, two calls, two outputs
    assert "without its required 'reasoning' item" in broken(RESPONSES, body, lambda b: b["input"].pop(1))
    words = broken(RESPONSES, body, lambda b: b["input"].insert(1, b["input"].pop(2)))
    assert "without its required 'reasoning' item" in words
    lonely = [*body["input"], {"type": "reasoning", "id": "rs_1", "summary": []}]
    assert "required following item" in refused(RESPONSES, {**body, "input": lonely})
    user = {"role": "user", "content": "Next."}
    assert "required following item" in broken(RESPONSES, body, lambda b: b["input"].insert(2, user))


def test_a_reference_to_reasoning_stands_before_a_reference_to_what_it_led_to() -> None:
    """As the AI SDK sends them."""
    with client() as http:
        body = request(RESPONSES, "[[reason Both.]] Look.")
        output = http.post(path(RESPONSES), json=body, headers=HEADERS.get(RESPONSES)).json()["output"]
        known = [{"type": "item_reference", "id": item["id"]} for item in output]
        asked = {**body, "input": [*known, {"role": "user", "content": "Next."}]}
        assert http.post(path(RESPONSES), json=asked, headers=HEADERS.get(RESPONSES)).status_code == 200
        lonely = {**asked, "input": asked["input"][1:]}
        without = http.post(path(RESPONSES), json=lonely, headers=HEADERS.get(RESPONSES))
    assert "without its required 'reasoning' item" in without.text


def test_items_that_are_not_stored() -> None:
    body = request(RESPONSES, "Hi.")
    named = {**body, "input": [{"type": "item_reference", "id": "rs_1"}, {"role": "user", "content": "Hi."}]}
    assert "Item with id 'rs_1' not found" in refused(RESPONSES, named)
    twice = [{"type": "message", "id": "msg_1", "role": "user", "content": "Hi."}] * 2
    assert "Duplicate item found with id msg_1" in refused(RESPONSES, {**body, "input": twice})


def test_thinking_rules() -> None:
    on = {"type": "enabled", "budget_tokens": 1024}
    plain = request(MESSAGES, "Hi.", TOOLS)
    budget = {**plain, "thinking": {**on, "budget_tokens": 1000}}
    assert "greater than or equal to 1024" in refused(MESSAGES, budget)
    assert "must be greater than `thinking.budget_tokens`" in refused(
        MESSAGES, {**plain, "thinking": on, "max_tokens": 1024}
    )
    with client() as http:
        beta = {**(HEADERS.get(MESSAGES) or {}), "anthropic-beta": "interleaved-thinking-2025-05-14"}
        above = {**plain, "thinking": {**on, "budget_tokens": 9000}, "max_tokens": 1024}
        assert http.post(path(MESSAGES), json=above, headers=beta).status_code == 200
    forced = {**plain, "thinking": on, "tool_choice": {"type": "any"}}
    assert "Thinking may not be enabled when tool_choice forces" in refused(MESSAGES, forced)
    old = {"anthropic-version": "2023-06-01"}
    warm = {**plain, "thinking": on, "temperature": 0.5}
    assert "may only be set to 1" in refused(MESSAGES, warm, old)
    assert "temperature: Extra inputs are not permitted" in refused(MESSAGES, {**plain, "temperature": 1})
    unthought = loop(MESSAGES, "[[call *]]")
    assert "Expected `thinking` or `redacted_thinking`, but found `tool_use`" in refused(
        MESSAGES, {**unthought, "thinking": on}
    )


def test_strict_mode_is_judged_in_depth() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}}, "required": [], "additionalProperties": False}
    outer = {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}
    tool = {"type": "function", "name": "f", "parameters": outer, "strict": True}
    words = refused(RESPONSES, {**request(RESPONSES, "Hi."), "tools": [tool]})
    assert "In context=('properties', 'a'), 'required' is required" in words and "Missing 'x'" in words
    inner["required"] = ["x"]
    assert post(RESPONSES, {**request(RESPONSES, "Hi."), "tools": [tool]}).status_code == 200


def test_strangers_may_pass() -> None:
    from oracles import mounts

    body = {**request(CHAT, "Hi."), "top_k": 3}
    assert post(CHAT, body).status_code == 400
    assert post(CHAT, body, mounts.Oracle(strangers=True)).status_code == 200


@every
def test_what_it_answers_it_takes_back(protocol: str) -> None:
    body = request(protocol, "[[reason A.]] One. [[cite http://a]]", TOOLS)
    for text in ("[[redact]] [[call get_weather]]", "", "[[reason B.]] Two.", "Three."):
        found = answer(protocol, body)
        assert text or calls(protocol, found)
        body = then(protocol, body, found, text=text)
    assert post(protocol, body).status_code == 200
