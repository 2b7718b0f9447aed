"""Answers turned back: names, arguments, output and custom tools as the client declared them.

A provider answers to what it was sent; with the exchange of the request, its answer is one to what the client sent, in
one piece and in a stream, on every surface.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.streams.collect_and_decompose import collect, decompose
from unified_llm.streams.conversion import convert_stream, read_stream
from unified_llm.streams.writing import write_stream

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENT, INTERACTIONS = "google-generate-content", "google-interactions"
PROVIDERS = (RESPONSES, MESSAGES, CONTENT, INTERACTIONS, CHAT)
Node = dict[str, Any]

AB = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
LIST = {"type": "array", "items": {"type": "string"}}
OPEN = {"type": "object", "properties": {"x": {"type": "object"}}, "required": ["x"]}


def asked(source: str, provider: str) -> ul.Exchange:
    """The exchange of a request with every kind of tool, through its JSON form."""
    flat: list[Node] = [
        {"type": "function", "name": "look up", "parameters": AB, "strict": True},
        {"type": "function", "name": "list", "parameters": LIST},
        {"type": "function", "name": "plain", "parameters": {"type": "object", "properties": {}}},
        {"type": "custom", "name": "apply.patch"},
    ]
    body: Node = {"model": "m", "input": "q", "tools": flat}
    if source == CHAT:
        tools = [
            {"type": tool["type"], tool["type"]: {key: tool[key] for key in tool if key != "type"}} for tool in flat
        ]
        body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": tools}
    done = ul.convert(body, source=source, target=provider)
    assert done.exchange is not None
    return ul.Exchange.from_json(json.loads(json.dumps(done.exchange.to_json())))


def answered(provider: str, exchange: ul.Exchange) -> Node:
    """What a provider answers, in canonical form: under its names, with arguments in the lowered form."""
    alias = {name: new for new, name in exchange.names.items()}
    patch: Node = {"type": "function_call", "call_id": "c4", "name": alias["apply.patch"]}
    if exchange.tools.get(patch["name"]) == "custom":
        patch["arguments"] = '{"input":"*** Begin\\n+é"}'
    else:
        patch.update(type="custom_tool_call", input="*** Begin\n+é")
    return {
        "id": "r",
        "status": "completed",
        "model": "m",
        "output": [
            {"type": "function_call", "call_id": "c1", "name": alias["look up"], "arguments": '{"a":"x","b":null}'},
            {"type": "function_call", "call_id": "c2", "name": "list", "arguments": '{"value":["x"]}'},
            {"type": "function_call", "call_id": "c3", "name": "plain", "arguments": '{"n":1}'},
            patch,
        ],
    }


def said(items: list[Node]) -> list[tuple[Any, ...]]:
    """The calls among canonical items."""
    keys = ("type", "name", "arguments", "input", "call_id")
    return [tuple(item.get(key) for key in keys) for item in items if "name" in item]


def streamed(events: list[Node], protocol: str) -> list[Node]:
    """The items of a stream as in their ends, which their deltas have to add up to."""
    canonical = list(read_stream(events, protocol))
    ends = {e["output_index"]: e["item"] for e in canonical if e["type"] == "response.output_item.done"}
    for index, item in ends.items():
        for key in ("arguments", "input"):
            deltas = [
                e["delta"] for e in canonical if e["type"].endswith(f"_{key}.delta") and e["output_index"] == index
            ]
            assert "".join(deltas) == item.get(key, "")
    return [ends[index] for index in sorted(ends)]


def expected(provider: str) -> list[tuple[Any, ...]]:
    # Only a target with a nullable `b` has its null undone.
    made = '{"a":"x"}' if provider in (RESPONSES, CHAT) else '{"a":"x","b":null}'
    return [
        ("function_call", "look up", made, None, "c1"),
        ("function_call", "list", '["x"]', None, "c2"),
        ("function_call", "plain", '{"n":1}', None, "c3"),
        ("custom_tool_call", "apply.patch", None, "*** Begin\n+é", "c4"),
    ]


PAIRS = [(client, provider) for client in (CHAT, RESPONSES) for provider in PROVIDERS if client != provider]
ENDS = [(client, provider) for client, provider in PAIRS if {client, provider} != {CHAT, RESPONSES}] + [
    (RESPONSES, CHAT)
]


@pytest.fixture(params=ENDS, ids=lambda pair: f"{pair[1]} for {pair[0]}")
def case(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, ul.Exchange, Node]]:
    client, provider = request.param
    exchange = asked(client, provider)
    names = set(exchange.names.values())
    if not {"look up", "apply.patch"} <= names:  # dots are fine there
        exchange = ul.Exchange.from_json(
            {**exchange.to_json(), "names": {**exchange.names, "apply.patch": "apply.patch"}}
        )
    yield client, provider, exchange, answered(provider, exchange)


def test_traps_060_101_107_an_answer_is_turned_back(case: tuple[str, str, ul.Exchange, Node]) -> None:
    client, provider, exchange, answer = case
    wire = ul.write(answer, provider, "response").value
    done = ul.convert(wire, source=provider, target=client, kind="response", exchange=exchange)
    back = ul.read(done.value, client, "response").model_dump(mode="json", exclude_unset=True)
    assert said(back["output"]) == expected(provider)


def test_traps_060_101_107_a_stream_is_turned_back(case: tuple[str, str, ul.Exchange, Node]) -> None:
    client, provider, exchange, answer = case
    events = list(write_stream(decompose(answer), provider))
    out = list(convert_stream(events, source=provider, target=client, exchange=exchange))
    assert said(streamed(out, client)) == expected(provider)


def chunks(name: str, *pieces: str) -> list[Node]:
    """A chat stream of one call whose arguments come in pieces."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    deltas: list[Node] = [{"role": "assistant", "tool_calls": [call]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    out = [{"event": None, "data": {**head, "choices": [choice]}} for choice in choices]
    return [*out, {"event": None, "data": "[DONE]"}]


def moments(name: str, *pieces: str) -> list[int]:
    """After how many chunks each piece of the arguments came out."""
    exchange = asked(RESPONSES, CHAT)
    alias = {old: new for new, old in exchange.names.items()}
    fed, out = 0, []

    def counting() -> Iterator[Node]:
        nonlocal fed
        for chunk in chunks(alias.get(name, name), *pieces):
            fed += 1
            yield chunk

    pipe = convert_stream(counting(), source=CHAT, target=RESPONSES, exchange=exchange)
    for event in pipe:
        if event["event"] == "response.function_call_arguments.delta":
            out.append(fed)
    return out


def test_only_arguments_that_have_to_be_whole_are_held() -> None:
    assert moments("plain", '{"n"', ":1", "}") == [2, 3, 4]
    assert len(moments("list", '{"value"', ':["x"]', "}")) == 1
    assert moments("list", '{"value"', ':["x"]', "}")[0] >= 5


@pytest.mark.parametrize("text", ['{"value":["x"', "no JSON", ""])
def test_arguments_that_broke_off_come_as_they_are(text: str) -> None:
    exchange = asked(RESPONSES, CHAT)
    stream = convert_stream(chunks("list", text), source=CHAT, target=RESPONSES, exchange=exchange)
    [call] = collect(read_stream(list(stream), RESPONSES))["output"]
    assert (call["name"], call["arguments"]) == ("list", text or "{}")


@pytest.mark.parametrize("name", ["list", "apply.patch"])
def test_a_stream_that_is_cut_off_keeps_what_was_held(name: str) -> None:
    cut = chunks({v: k for k, v in asked(RESPONSES, CHAT).names.items()}.get(name, name), '{"value"', ":[1,")[:3]
    events = list(convert_stream(cut, source=CHAT, target=RESPONSES, exchange=asked(RESPONSES, CHAT)))
    deltas = [e["data"]["delta"] for e in events if e["event"].endswith(".delta")]
    assert "".join(deltas) == '{"value":[1,'
    assert events[-1]["event"] == "response.failed"


# ---- structured output ----------------------------------------------------------------------------------------------


def formatted(provider: str) -> ul.Exchange:
    format_ = {"type": "json_schema", "name": "out", "strict": True, "schema": OPEN}
    done = ul.convert({"model": "m", "input": "q", "text": {"format": format_}}, source=RESPONSES, target=provider)
    assert done.exchange is not None
    return ul.Exchange.from_json(json.loads(json.dumps(done.exchange.to_json())))


def message(text: str) -> Node:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": "r",
        "status": "completed",
        "model": "m",
        "output": [{"type": "message", "role": "assistant", "content": content}],
    }


@pytest.mark.parametrize("provider", [CHAT, MESSAGES])
def test_output_under_a_lowered_schema_is_turned_back(provider: str) -> None:
    exchange = formatted(provider)
    assert exchange.output["undo"] == ["text"]
    answer = message('{"x":"{\\"k\\":1}"}')
    wire = ul.write(answer, provider, "response").value
    done = ul.convert(wire, source=provider, target=RESPONSES, kind="response", exchange=exchange)
    assert done.value["output"][0]["content"][0]["text"] == '{"x":{"k":1}}'
    events = list(write_stream(decompose(answer), provider))
    stream = list(convert_stream(events, source=provider, target=RESPONSES, exchange=exchange))
    texts = [event["data"]["delta"] for event in stream if event["event"] == "response.output_text.delta"]
    assert texts == ['{"x":{"k":1}}']
    [part] = [event["data"]["part"] for event in stream if event["event"] == "response.content_part.done"]
    assert part["text"] == '{"x":{"k":1}}'
    assert collect(read_stream(stream, RESPONSES))["output"][0]["content"][0]["text"] == '{"x":{"k":1}}'


def test_text_that_is_not_json_stays_what_it_is() -> None:
    events = list(write_stream(decompose(message("I cannot do that.")), CHAT))
    stream = list(convert_stream(events, source=CHAT, target=RESPONSES, exchange=formatted(CHAT)))
    assert collect(read_stream(stream, RESPONSES))["output"][0]["content"][0]["text"] == "I cannot do that."


def test_properties_that_were_renamed_get_their_names_back() -> None:
    schema = {"type": "object", "properties": {"größe in m": {"type": "number"}}, "additionalProperties": False}
    tools = [{"type": "function", "name": "f", "parameters": schema, "strict": False}]
    done = ul.convert({"model": "m", "input": "q", "tools": tools}, source=RESPONSES, target=MESSAGES)
    [name] = done.value["tools"][0]["input_schema"]["properties"]
    assert name.isascii() and " " not in name
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {name: 2}}
    wire = {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": [call]}
    wire["stop_reason"] = "tool_use"
    exchange = ul.Exchange.from_json(json.loads(json.dumps(done.exchange.to_json()))) if done.exchange else None
    back = ul.convert(wire, source=MESSAGES, target=RESPONSES, kind="response", exchange=exchange)
    assert back.value["output"][0]["arguments"] == '{"größe in m":2}'


def test_a_call_that_was_unwrapped_is_sent_back_wrapped() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "list", "arguments": '["x"]'}
    result = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    tools = [{"type": "function", "name": "list", "parameters": LIST, "strict": False}]
    body = {"model": "m", "input": [{"role": "user", "content": "q"}, call, result], "tools": tools}
    done = ul.convert(body, source=RESPONSES, target=MESSAGES)
    assert done.value["messages"][1]["content"][0]["input"] == {"value": ["x"]}
    assert not [loss for loss in done.losses if loss.path.startswith("/input")]


def test_a_dialect_of_the_clients_own_protocol_is_turned_back_too() -> None:
    other = "openai-chat:moonshot"
    exchange = ul.Exchange(source=CHAT, target=other, names={"alias": "a.b"}, tools={"alias": "custom"})
    out = list(convert_stream(chunks("alias", '{"inp', 'ut":"raw"}'), source=other, target=CHAT, exchange=exchange))
    [call] = collect(read_stream(out, CHAT))["output"]
    assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "a.b", "raw")


@pytest.mark.parametrize("kind", ["text/x.enum", "application/json"])
def test_an_answer_that_is_one_of_a_list_of_texts_is_the_bare_text(kind: str) -> None:
    """Gemini answers in `text/x.enum` without quotes; other providers answer in JSON, in an object."""
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Pick."}]}],
        "generationConfig": {"responseMimeType": kind, "responseSchema": {"type": "STRING", "enum": ["A", "B"]}},
    }
    asked = ul.convert(body, source="google-generate-content", target="openai-chat", model="m")
    text = '{"value":"A"}'
    answer = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
    }  # fmt: skip
    done = ul.convert(
        answer, source="openai-chat", target="google-generate-content", kind="response", exchange=asked.exchange
    )
    expected = "A" if kind == "text/x.enum" else '"A"'
    assert done.value["candidates"][0]["content"]["parts"] == [{"text": expected}]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [{"delta": {"role": "assistant", "content": text[:6]}}, {"delta": {"content": text[6:]}}]
    chunks = [{**head, "choices": [{"index": 0, "finish_reason": None, **each}]} for each in deltas]
    end = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = ({"event": None, "data": each} for each in (*chunks, end, "[DONE]"))
    streamed = ul.convert_stream(
        events, source="openai-chat", target="google-generate-content", exchange=asked.exchange
    )
    parts = [part for event in streamed for part in event["data"]["candidates"][0]["content"].get("parts", ())]
    assert "".join(part["text"] for part in parts) == expected


@pytest.mark.parametrize("said", ['"A"', "A"])
def test_a_text_without_quotes_is_requested_of_interactions_as_json(said: str) -> None:
    """Interactions takes `application/json` and `text/plain` alone, and a schema beside the former alone."""
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Pick."}]}],
        "generationConfig": {
            "responseMimeType": "text/x.enum",
            "responseSchema": {"type": "STRING", "enum": ["A", "B"]},
        },
    }
    asked = ul.convert(body, source=CONTENT, target=INTERACTIONS, model="m")
    assert asked.value["response_format"] == {
        "type": "text", "mime_type": "application/json", "schema": {"type": "string", "enum": ["A", "B"]},
    }  # fmt: skip
    told = {loss.path: loss.fate for loss in asked.losses if "responseMimeType" in loss.path}
    assert told == {"/generationConfig/responseMimeType": "emulated"}
    steps = [{"type": "model_output", "content": [{"type": "text", "text": said}]}]
    answer = {"id": "i", "object": "interaction", "status": "completed", "model": "m", "steps": steps}
    done = ul.convert(answer, source=INTERACTIONS, target=CONTENT, kind="response", exchange=asked.exchange)
    assert done.value["candidates"][0]["content"]["parts"] == [{"text": "A"}]
    events = write_stream(decompose(ul.read(answer, INTERACTIONS, "response")), INTERACTIONS)
    streamed = convert_stream(events, source=INTERACTIONS, target=CONTENT, exchange=asked.exchange)
    parts = [part for event in streamed for part in event["data"]["candidates"][0]["content"].get("parts", ())]
    assert "".join(part["text"] for part in parts) == "A"


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, "amazon-converse"])
def test_a_text_without_quotes_is_not_reported_as_lost(target: str) -> None:
    """It is requested as JSON, and the answer is the bare text."""
    schema = {"type": "STRING", "enum": ["A", "B"]}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Pick."}]}],
        "generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": schema},
    }
    asked = ul.convert(body, source=CONTENT, target=target, model="m")
    assert "/generationConfig/responseMimeType" in {loss.path for loss in asked.losses if loss.fate == "emulated"}
    assert not [loss for loss in asked.losses if loss.fate == "lost"]
