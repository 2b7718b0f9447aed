"""Neighboring contents of the model are one turn: over other protocols one message, at home as they came."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from counting import lines
from unified_llm import suite

GC = "google-generate-content"
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
OTHERS = [protocol for protocol in ul.protocols() if protocol != GC]
WORDS = ["un", "believ", "able", " wea", "ther", " today", "."]
WHOLE = "unbelievable weather today."
Node = dict[str, Any]


def text(said: str, **more: Any) -> Node:
    return {"text": said, **more}


def call(city: str) -> Node:
    return {"functionCall": {"id": f"call_{city}", "name": "weather", "args": {"city": city}}}


def model(*parts: Node, **more: Any) -> Node:
    return {"role": "model", "parts": list(parts), **more}


def user(*parts: Node) -> Node:
    return {"role": "user", "parts": list(parts)}


def answered(city: str) -> Node:
    return user({"functionResponse": {"id": f"call_{city}", "name": "weather", "response": {"output": "cold"}}})


def history(*turn: Node) -> Node:
    return {"model": "m", "contents": [user(text("Hi")), *turn, user(text("On"))]}


def converted(target: str, *turn: Node, **options: Any) -> Any:
    return ul.convert(history(*turn), source=GC, target=target, **options)


def between(done: Any) -> list[Node]:
    """What stands between the two messages of the user."""
    return list(done.value.get("messages") or done.value["input"])[1:-1]


def told(done: Any) -> dict[str, str]:
    return {loss.path: loss.fate for loss in done.losses if loss.path.startswith("/contents")}


def texts(done: Any) -> list[str]:
    found = []
    for message in between(done):
        content = message["content"]
        found += [content] if type(content) is str else [part["text"] for part in content]
    return found


@pytest.mark.parametrize("target", OTHERS)
def test_the_pieces_of_an_answer_are_one_text(target: str) -> None:
    done = converted(target, *(model(text(word)) for word in WORDS), model(text("")))
    assert len(between(done)) == 1 and texts(done) == [WHOLE]
    assert told(done) == {"/contents/8": "approximated", "/contents/8/role": "approximated"}


@pytest.mark.parametrize("target", OTHERS)
def test_pieces_without_a_blank_end_are_joined_without_a_loss(target: str) -> None:
    done = converted(target, *(model(text(word)) for word in WORDS))
    assert len(between(done)) == 1 and texts(done) == [WHOLE] and not told(done)


def test_calls_stand_in_the_message_of_their_text() -> None:
    turn = [model(text("Let")), model(text(" me look.")), model(call("Oslo")), model(call("Rome")), model(text(""))]
    turn.append(user(*answered("Oslo")["parts"], *answered("Rome")["parts"]))
    message, *results = between(converted(CHAT, *turn))
    assert message["content"] == "Let me look." and len(message["tool_calls"]) == 2
    assert [result["role"] for result in results] == ["tool", "tool"]
    items = between(converted(RESPONSES, *turn))
    assert [item["type"] for item in items] == ["message", *["function_call"] * 2, *["function_call_output"] * 2]
    (message,) = between(converted(MESSAGES, *turn))  # the results stand with what the user says next
    assert [block["type"] for block in message["content"]] == ["text", "tool_use", "tool_use"]


def test_a_call_alone_has_no_blank_text_beside_it() -> None:
    done = converted(CHAT, model(call("Oslo")), model(text("")), answered("Oslo"))
    assert between(done)[0]["content"] is None and len(between(done)) == 2
    assert told(done)["/contents/2"] == "approximated"


@pytest.mark.parametrize("target", OTHERS)
def test_a_blank_part_beside_others_is_left_out(target: str) -> None:
    """Clients that keep the parts of a stream in one content keep the blank one of its last frame."""
    said = converted(target, model(text("cold", thoughtSignature="U0lH"), text("")), user(text("Why?")))
    assert texts(said)[0] == "cold" and told(said)["/contents/1/parts/1"] == "approximated"
    called = between(converted(target, model(call("Oslo"), text("")), answered("Oslo")))
    alone = between(converted(target, model(call("Oslo")), answered("Oslo")))
    assert called == alone


def test_their_own_protocol_gets_the_pieces_as_they_came() -> None:
    turn = [model(text("a", thought=True)), model(text("b", thoughtSignature="U0lH")), model(text("c"))]
    turn += [model({**call("Oslo"), "thoughtSignature": "T0RE"}), model(text("")), answered("Oslo")]
    done = converted(GC, *turn)
    assert done.value["contents"] == history(*turn)["contents"] and not done.losses
    canonical = ul.read(history(*turn), GC)
    assert ul.write(canonical, GC, repair="never").value["contents"] == history(*turn)["contents"]


@pytest.mark.parametrize("target", [f"{GC}:vertex", f"{GC}:openapi"])
def test_a_dialect_of_their_own_protocol_gets_every_part(target: str) -> None:
    turn = [*(model(text(word)) for word in WORDS), model(text("", thoughtSignature="U0lH"))]
    contents = converted(target, *turn).value["contents"]
    assert [part for content in contents[1:-1] for part in content["parts"]] == [part["parts"][0] for part in turn]


def test_what_has_more_to_it_than_a_text_stays_apart() -> None:
    turn = [model(text("a")), model(text("b", thoughtSignature="U0lH")), model(text("c")), model(text("d"))]
    done = converted(MESSAGES, *turn, model(text("e", odd=1)), model(text("f"), text("g")), model(text("h")))
    (message,) = between(done)
    assert [block["text"] for block in message["content"]] == ["a", "b", "cd", "e", "f", "gh"]
    assert told(done) == {"/contents/2/parts/0/thoughtSignature": "lost", "/contents/5/parts/0/odd": "lost"}
    odd = converted(CHAT, model(text("a")), model(text("b"), odd=1), model(text("c")))
    assert len(between(odd)) == 1 and told(odd) == {"/contents/2/odd": "lost"}


def test_thoughts_are_one_thought_and_each_is_reported() -> None:
    turn = [model(text("Rea", thought=True)), model(text("son", thought=True)), model(text("Yes")), model(text("."))]
    message, _ = between(converted(f"{CHAT}:deepseek", *turn, model(call("Oslo")), model(text("")), answered("Oslo")))
    assert message["reasoning_content"] == "Reason" and message["content"] == "Yes."
    assert told(converted(CHAT, *turn)) == {"/contents/1": "lost", "/contents/2": "lost"}
    lost = told(converted(MESSAGES, model(text("a"), text("b", thought=True)), model(text("c", thought=True))))
    assert [path for path in lost if path.startswith("/contents/2")]


SECRET = b"of the envelopes in these tests."
SIGNED = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": "Oslo, then.", "signature": "U0lH"},
        {"type": "redacted_thinking", "data": "UkVE"},
        {"type": "tool_use", "id": "call_Oslo", "name": "weather", "input": {"city": "Oslo"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("target", [MESSAGES, CHAT, RESPONSES])
def test_a_signed_thought_that_was_shown_in_pieces_stands_once(target: str, edited: bool) -> None:
    """What its client was shown of it goes where the whole goes; words of the client's own are no piece of it."""
    shown = ul.convert(SIGNED, source=MESSAGES, target=GC, kind="response", secret=SECRET).value
    thought, *parts = shown["candidates"][0]["content"]["parts"]
    assert thought == text("Oslo, then.", thought=True)
    pieces = [text("Oslo, ", thought=True), text("now." if edited else "then.", thought=True), *parts]
    done = converted(target, *map(model, pieces), answered("Oslo"), secret=SECRET)
    lost = {path for path, fate in told(done).items() if fate == "lost"}
    if target == MESSAGES:
        assert between(done)[0]["content"] == SIGNED["content"]
        assert lost == ({"/contents/1", "/contents/2"} if edited else set())
    else:
        assert {"/contents/1", "/contents/2"} <= lost, "each piece is reported"


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
def test_what_the_user_said_is_not_joined(target: str) -> None:
    body = {"model": "m", "contents": [user(text("a")), user(text("b")), model(text("c"))]}
    done = ul.convert(body, source=GC, target=target)
    assert [message["content"] for message in done.value.get("messages") or done.value["input"]] == ["a", "b", "c"]


def test_a_turn_of_nothing_but_blanks_keeps_one() -> None:
    done = converted(CHAT, model(text("")), model(text("")))
    assert texts(done) == [""] and told(done) == {"/contents/2": "approximated", "/contents/2/role": "approximated"}
    assert not between(converted(MESSAGES, model(text("")), model(text(""))))


def test_without_repair_the_pieces_stay() -> None:
    assert len(between(converted(CHAT, *(model(text(word)) for word in WORDS), repair="never"))) == len(WORDS)


def test_a_content_that_cannot_be_read_parts_two_turns() -> None:
    done = converted(CHAT, model(text("a")), {"role": "user", "parts": 5}, model(text("b")))
    assert [message["content"] for message in between(done)] == ["a", "b"]


PICTURE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
TURNS: dict[str, list[Node]] = {
    "a loop": [
        *(model(text(word)) for word in WORDS),
        model(call("Oslo")),
        model(text("")),
        answered("Oslo"),
        *(model(text(word, thought=True)) for word in ("Rea", "son")),
        *(model(text("x")), model(text("y"), text("z")), model(text("w", thoughtSignature="U0lH")), model(text("v"))),
    ],
    "odd pieces": [
        *(model(text("a")), model(text("b"), odd=1), model(text("c", odd=1)), model(text("d"))),
        *({"role": "model"}, model(PICTURE), model(text("x")), model(), model(text("y"))),
    ],
}


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("turn", TURNS)
def test_the_laws_hold_of_pieces(turn: str, target: str) -> None:
    record = {"id": turn, "protocol": GC, "kind": "request", "vendor": "fixture", "body": history(*TURNS[turn])}
    record |= {"status": None, "path": None, "pair": None}
    assert not [*suite.certified([record], target)]
    assert not suite.injection([record], target, set())
    assert not suite.sensitivity([record], target, set())


@pytest.mark.parametrize("target", OTHERS)
def test_work_is_linear(target: str) -> None:
    def work(count: int) -> int:
        turn = [model(text("word ", thought=number < count)) for number in range(3 * count)]
        body = history(*turn, model(text("")))
        return lines(lambda: ul.convert(body, source=GC, target=target).losses)

    work(8)
    one, two, four = work(200), work(400), work(800)
    assert four - two < 2.1 * (two - one)
