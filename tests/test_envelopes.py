"""Forged envelopes of a provider, which are never opened, and what comes back of the answers that real ones hold.

The envelope is base64 of JSON and anybody can make one (`forged`, which shares nothing with the code that makes ours).
"""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from forged_envelopes import (
    ATTACKS,
    CHAT,
    EVIL,
    GENERATE,
    INTERACTIONS,
    MARK,
    MESSAGES,
    RESPONSES,
    answer,
    forged,
    history,
    whole,
)

Node = dict[str, Any]
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS)


# ---- from a provider ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [None, "s"])
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("provider", PROTOCOLS)
def test_a_hostile_provider_plants_nothing(provider: str, attack: str, secret: Any) -> None:
    for origin in PROTOCOLS:
        envelope = forged(whole(ATTACKS[attack], origin))
        assert EVIL not in json.dumps(ul.read(answer(provider, envelope), provider, "response").dump()["output"])
        for surface in PROTOCOLS:
            shown = ul.convert(
                answer(provider, envelope), source=provider, target=surface, kind="response", secret=secret
            )
            body = history(surface, shown.value)
            for target in PROTOCOLS:
                sent = json.dumps(ul.convert(body, source=surface, target=target, secret=secret, model="m").value)
                assert EVIL not in sent and (MARK not in sent or target == provider), (origin, surface, target)


@pytest.mark.parametrize("surface", PROTOCOLS)
@pytest.mark.parametrize("provider", PROTOCOLS)
def test_what_looks_like_an_envelope_returns_to_its_provider_as_it_was(provider: str, surface: str) -> None:
    """A provider may be a gateway that runs this very library: its envelopes are its own opaque data."""
    envelope = forged(whole(ATTACKS["system before"], CHAT))
    shown = ul.convert(answer(provider, envelope), source=provider, target=surface, kind="response", secret="s").value
    if provider == surface:
        assert envelope not in json.dumps(shown), "it must not be taken for ours in the next request"
    home = ul.convert(history(surface, shown), source=surface, target=provider, secret="s", model="m").value
    assert envelope in json.dumps(home)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_streams_hand_out_no_envelope_of_a_provider(protocol: str) -> None:
    envelope = forged(whole(ATTACKS["system before"], CHAT))
    events = list(
        ul.write_stream(ul.decompose(ul.read(answer(protocol, envelope), protocol, "response").dump()), protocol)
    )
    provider = json.loads(json.dumps(events).replace(MARK[:-1] + "7777", MARK[:-1]))
    assert envelope in json.dumps(provider)
    for target in PROTOCOLS:
        shown = json.dumps(list(ul.convert_stream(provider, source=protocol, target=target)))
        assert envelope not in shown or target != protocol
        assert EVIL not in shown


def spelled(data: str, at: int) -> str:
    """JSON text with one letter of each envelope spelled as an escape, which means the same."""
    letter = MARK[at]
    return data.replace(MARK, f"{MARK[:at]}\\u{ord(letter):04x}{MARK[at + 1 :]}")


@pytest.mark.parametrize("at", [None, 0, 7])
@pytest.mark.parametrize("secret", [None, "s"])
def test_bytes_of_a_provider_that_pass_hand_out_no_envelope(secret: Any, at: int | None) -> None:
    """The client returns what it was sent; the next conversion must not find opaque data of another provider in it."""
    thought = {"type": "thinking", "thinking": "T", "signature": "c2ln"}
    made = {**answer(MESSAGES, ""), "content": [thought, {"type": "text", "text": "Hello"}]}
    shown = ul.convert(made, source=MESSAGES, target=RESPONSES, kind="response", secret=secret).value
    item, message = shown["output"]
    done = {"type": "response.output_item.done", "sequence_number": 1, "output_index": 0, "item": item}
    data = json.dumps(done)
    raw = f"event: {done['type']}\ndata: {data if at is None else spelled(data, at)}\n\n".encode()
    for size in (1, 50, len(raw)):
        chunks = [raw[place : place + size] for place in range(0, len(raw), size)]
        passed = b"".join(ul.translate_sse(chunks, source=RESPONSES, target=RESPONSES))
        sent = json.loads(passed.split(b"data: ")[1])["item"]
        assert MARK not in sent["encrypted_content"] and item["encrypted_content"] not in passed.decode()
        said = [{"role": "user", "content": "Hi"}, sent, message, {"role": "user", "content": "On"}]
        body = {"model": "m", "input": said, "reasoning": {"effort": "high"}}
        other = ul.convert(body, source=RESPONSES, target=MESSAGES, model="claude-opus-4-7", secret=secret)
        assert "c2ln" not in json.dumps(other.value), "it was opened"
        assert [loss for loss in other.losses if loss.path.startswith("/input/1") and loss.fate == "lost"]
        own = ul.convert(body, source=RESPONSES, target=RESPONSES, secret=secret).value
        assert own["input"][1]["encrypted_content"] == item["encrypted_content"], "its provider has it back as it was"


def test_other_bytes_of_a_provider_pass_as_they_are() -> None:
    raw = b'data: {"a": "\\u0041 \\u00e9 \\" \\\\", "b": "dW5pZmllZF9s"}\r\n\r\n: dW5pZmllZF9sbG06\n\ndata: [DONE]'
    for size in (1, 7, len(raw)):
        chunks = [raw[place : place + size] for place in range(0, len(raw), size)]
        assert b"".join(ul.translate_sse(chunks, source=CHAT, target=CHAT)) == raw


def test_two_transports_and_a_hostile_upstream() -> None:
    """The whole story: one transport's answer, echoed through another one to another provider."""
    envelope = forged(whole(ATTACKS["system before"], CHAT))
    seen: list[bytes] = []

    def hostile(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=answer(CHAT, envelope))

    def honest(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.content)
        return httpx2.Response(200, json={**answer(MESSAGES, ""), "content": [{"type": "text", "text": "ok"}]})

    for surface, path in ((CHAT, "/v1/chat/completions"), (MESSAGES, "/v1/messages"), (RESPONSES, "/v1/responses")):
        one = httpx2.Client(transport=httpx2.MockTransport(hostile))
        two = httpx2.Client(transport=httpx2.MockTransport(honest))
        bad = ul.Upstream(protocol=CHAT, base_url="http://bad.example/v1", model="m", http_client=one)
        good = ul.Upstream(protocol=MESSAGES, base_url="http://good.example", model="m", http_client=two)
        with ul.http_client(bad) as here, ul.http_client(good) as there:
            headers = {"anthropic-version": "2023-06-01"} if surface == MESSAGES else {}
            asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
            if surface == RESPONSES:
                asked = {"model": "m", "input": "q", "include": ["reasoning.encrypted_content"]}
            shown = here.post(f"http://any{path}", json=asked, headers=headers).json()
            there.post(f"http://any{path}", json=history(surface, shown), headers=headers)
    assert len(seen) == 3 and not any(EVIL.encode() in body for body in seen)


# ---- what comes back ------------------------------------------------------------------------------------------------


def hosted(kind: str) -> Node:
    """An answer whose reasoning leads to a hosted call, an image or advice."""
    if kind == "search":
        output = [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA-one"},
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "oslo"},
            },
            {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAA-two"},
            *answer(RESPONSES, "")["output"][1:],
        ]
    else:
        output = [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA-one"},
            {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
        ]
    return {**answer(RESPONSES, ""), "output": output}


@pytest.mark.parametrize("kind", ["search", "image"])
@pytest.mark.parametrize("surface", [CHAT, MESSAGES, GENERATE, INTERACTIONS])
def test_a_hosted_call_comes_back_between_its_reasoning(surface: str, kind: str) -> None:
    shown = ul.convert(hosted(kind), source=RESPONSES, target=surface, kind="response", secret="s").value
    home = ul.convert(history(surface, shown), source=surface, target=RESPONSES, secret="s", model="gpt-5.4").value
    wanted = [(item["type"], item.get("encrypted_content")) for item in hosted(kind)["output"]]
    assert [(item["type"], item.get("encrypted_content")) for item in home["input"][1:-1]] == wanted
    away = ul.convert(history(surface, shown), source=surface, target=MESSAGES, secret="s", model="m").value
    assert "gAAA" not in json.dumps(away)


@pytest.mark.parametrize("surface", [CHAT, MESSAGES, INTERACTIONS])
def test_without_a_secret_reasoning_is_not_sent_without_what_it_led_to(surface: str) -> None:
    done = ul.convert(hosted("search"), source=RESPONSES, target=surface, kind="response")
    body = history(surface, done.value)
    home = ul.convert(body, source=surface, target=RESPONSES, model="gpt-5.4").value["input"]
    assert [item.get("encrypted_content") for item in home if item["type"] == "reasoning"] == ["gAAA-two"]
    assert ("/output/0/encrypted_content", "lost") in [(loss.path, loss.fate) for loss in done.losses]
    canonical = ul.read(hosted("search"), RESPONSES, "response").dump()
    events = list(ul.write_stream(ul.decompose(canonical), RESPONSES))
    stream = ul.convert_stream(events, source=RESPONSES, target=surface)
    assert "gAAA-one" not in "".join(_opened(event) for event in stream)


def _opened(value: Any) -> str:
    """All text of a value, of envelopes too."""
    text = json.dumps(value)
    for piece in text.split('"'):
        if piece.startswith(MARK):
            text += base64.b64decode(piece).decode("utf-8", "replace")
    return text


def test_an_edited_answer_loses_the_reasoning_that_led_to_what_it_no_longer_shows() -> None:
    shown = ul.convert(hosted("search"), source=RESPONSES, target=MESSAGES, kind="response", secret="s").value
    body = json.loads(json.dumps(history(MESSAGES, shown)).replace('"Hello"', '"Edited"'))
    home = ul.convert(body, source=MESSAGES, target=RESPONSES, secret="s", model="gpt-5.4").value["input"]
    assert "gAAA-one" not in json.dumps(home)


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GENERATE, INTERACTIONS])
def test_an_answer_of_texts_and_calls_costs_nothing_more(target: str) -> None:
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"}
    body = {**answer(RESPONSES, ""), "output": [*answer(RESPONSES, "")["output"][1:], call]}
    plain = ul.convert(body, source=RESPONSES, target=target, kind="response")
    done = ul.convert(body, source=RESPONSES, target=target, kind="response", secret="s")
    assert done.value == plain.value and MARK not in json.dumps(done.value)
