"""Chat: which call a fragment belongs to, where servers send less, or something else, than OpenAI does."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from upstreams import Canned, chunk, frames, streamed

Node = dict[str, Any]


def fragment(index: int, call_id: str | None, name: str | None, arguments: str) -> Node:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {
        "index": index,
        **({"id": call_id} if call_id is not None else {}),
        "type": "function",
        "function": function,
    }


def calls(fragments: list[list[Node]]) -> list[tuple[str, str]]:
    chunks = [chunk({"tool_calls": each}) for each in fragments]
    events = [{"data": each} for each in [*chunks, chunk({}, "tool_calls")]]
    items = ul.collect(ul.read_stream([*events, {"data": "[DONE]"}], "openai-chat"))["output"]
    return [(item["name"], item["arguments"]) for item in items]


@pytest.mark.parametrize(
    "fragments",
    [
        [[fragment(0, "same", "f", '{"a":1}'), fragment(1, "same", "g", '{"b":2}')]],
        [[fragment(0, "same", "f", '{"a":1}')], [fragment(1, "same", "g", '{"b":2}')]],
        [
            [fragment(0, "same", "f", "")],
            [fragment(0, None, None, '{"a":1}')],
            [fragment(1, "same", "g", '{"b"')],
            [fragment(1, "same", None, ":2}")],
        ],
    ],
    ids=["one chunk", "a chunk each", "in pieces"],
)
def test_calls_that_share_an_id_are_two(fragments: list[list[Node]]) -> None:
    assert calls(fragments) == [("f", '{"a":1}'), ("g", '{"b":2}')]


def test_a_call_that_repeats_its_id_and_name_under_new_indexes_is_one() -> None:
    pieces = [[fragment(0, "a", "f", '{"a"')], [fragment(1, "a", "f", ":1")], [fragment(2, "a", "f", "}")]]
    assert calls(pieces) == [("f", '{"a":1}')]


FUNCTION_CALLS: dict[str, list[Node]] = {
    "arguments first": [{"arguments": '{"a":'}, {"arguments": "1}"}, {"name": "f"}],
    "the name with the last of them": [{"arguments": '{"a":'}, {"name": "f", "arguments": "1}"}],
    "the name in each": [{"name": "f", "arguments": '{"a":'}, {"name": "f", "arguments": "1}"}],
    "nothing first": [{"name": "", "arguments": ""}, {"name": "f", "arguments": '{"a":1}'}],
    "an object": [{"name": "f", "arguments": {"a": 1}}],
    "an object first": [{"arguments": {"a": 1}}, {"name": "f"}],
}


@pytest.mark.parametrize("pieces", FUNCTION_CALLS.values(), ids=[*FUNCTION_CALLS])
@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages", "google-generate-content"])
def test_a_function_call_of_old_is_whole_however_it_comes(pieces: list[Node], target: str) -> None:
    chunks = [chunk({"role": "assistant", "content": None}), *(chunk({"function_call": each}) for each in pieces)]
    events = [{"event": None, "data": each} for each in [*chunks, chunk({}, "function_call"), "[DONE]"]]
    assert list(ul.convert_stream(events, source="openai-chat", target="openai-chat")) == events
    stream = ul.convert_stream(events, source="openai-chat", target=target)
    (call,) = ul.collect(ul.read_stream(list(stream), target))["output"]
    assert (call["name"], json.loads(call["arguments"])) == ("f", {"a": 1})
    assert not [loss.path for loss in stream.losses if loss.fate == "lost"]


@pytest.mark.parametrize(
    ("more", "path"),
    [({"name": "g"}, "name"), ({"arguments": [1]}, "arguments")],
)
def test_what_does_not_belong_to_a_function_call_of_old_is_lost_where_it_stands(more: Node, path: str) -> None:
    pieces = [chunk({"function_call": {"name": "f", "arguments": "{}"}}), chunk({"function_call": more})]
    events = [{"data": each} for each in [*pieces, chunk({}, "function_call"), "[DONE]"]]
    stream = ul.convert_stream(events, source="openai-chat", target="anthropic-messages")
    list(stream)
    assert f"/1/data/choices/0/delta/function_call/{path}" in [loss.path for loss in stream.losses]


NAMELESS = {"type": "function_call", "call_id": "c1", "arguments": '{"a":1}'}


@pytest.mark.parametrize(
    "target", ["openai-responses", "anthropic-messages", "google-generate-content", "amazon-converse"]
)
@pytest.mark.parametrize("pieces", [['{"a":1}'], ['{"a"', ":1}"]], ids=["whole", "in pieces"])
def test_a_call_that_never_gets_a_name_is_sent_without_one(pieces: list[str], target: str) -> None:
    chunks = [chunk({"tool_calls": [fragment(0, "c1", None, text)]}) for text in pieces]
    events = [{"event": None, "data": each} for each in [*chunks, chunk({}, "tool_calls"), "[DONE]"]]
    made = list(ul.convert_stream(events, source="openai-chat", target=target))
    (call,) = ul.collect(ul.read_stream(made, target))["output"]
    assert (call["call_id"], call["name"], json.loads(call["arguments"])) == ("c1", "", {"a": 1})


@pytest.mark.parametrize("target", ["anthropic-messages", "amazon-converse"])
def test_a_name_that_an_api_requires_is_added(target: str) -> None:
    written = ul.write({"model": "m", "input": [NAMELESS]}, target)
    assert '"name": ""' in json.dumps(written.value)
    assert [loss.fate for loss in written.losses if loss.path.endswith("/name")] == ["added"]
    assert "lost" not in [loss.fate for loss in written.losses]


@pytest.mark.parametrize("odd", [7, True, ["c1"], {"a": 1}])
def test_an_id_that_is_not_a_string_is_lost_where_it_stands(odd: Any) -> None:
    first = {**fragment(0, None, "f", '{"a"'), "id": odd}
    events = [chunk({"tool_calls": [first]}), chunk({"tool_calls": [fragment(0, None, None, ":1}")]})]
    wires = [{"data": each} for each in [*events, chunk({}, "tool_calls"), "[DONE]"]]
    stream = ul.convert_stream(wires, source="openai-chat", target="anthropic-messages")
    (call,) = ul.collect(ul.read_stream(list(stream), "anthropic-messages"))["output"]
    assert (call["name"], json.loads(call["arguments"])) == ("f", {"a": 1})
    lost = [loss.path for loss in stream.losses if loss.fate == "lost"]
    assert lost and all(path.startswith("/0/data/choices/0/delta/tool_calls/0/id") for path in lost)


# ---- names in pieces ------------------------------------------------------------------------------------------------

TARGETS = [
    "openai-responses", "anthropic-messages", "google-generate-content", "google-interactions", "amazon-converse"
]  # fmt: skip
NAMES = ("get_weather", "get_time", "get", "lookup")


def requested(source: str, *names: str) -> ul.Exchange | None:
    """The exchange of a request with these functions, in the protocol of its client."""
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in names]
    canonical = {"model": "m", "input": "q", "tools": tools}
    body = ul.write(canonical, source).value
    return ul.convert(body, source=source, target="openai-chat", model="m").exchange


def piece(name: str | None, arguments: str | None, call_id: str | None = None, index: int | None = 0) -> Node:
    function = {"name": name, "arguments": arguments}
    given = {"index": index, "id": call_id, "function": {k: v for k, v in function.items() if v is not None}}
    return {key: value for key, value in given.items() if value is not None}


PIECES: dict[str, tuple[str, list[Node]]] = {
    "before the arguments": ("get_weather", [piece("get_", "", "c1"), piece("weather", ""), piece(None, '{"a":1}')]),
    "the last with the arguments": (
        "get_weather",
        [piece("get_w", None, "c1"), piece("eather", '{"a":'), piece(None, "1}")],
    ),
    "many": ("get_time", [*(piece(sign, None, "c1") for sign in "get_time"), piece(None, '{"a":1}')]),
    "the id with each": (
        "get_time",
        [piece("get_", "", "c1"), piece("time", "", "c1"), piece(None, '{"a":1}', "c1")],
    ),
    "the id last": ("get_time", [piece("get_", None), piece("time", None), piece(None, '{"a":1}', "c1")]),
    "each repeated": (
        "get_time",
        [piece("get_", "", "c1"), piece("get_", "", "c1"), piece("time", ""), piece("get_time", '{"a":1}')],
    ),
    "without an index": (
        "get_time",
        [piece("get_", "", "c1", None), piece("time", "", None, None), piece(None, '{"a":1}', None, None)],
    ),
}


def convert(fragments: list[Node], target: str, exchange: ul.Exchange | None) -> tuple[list[Node], list[str]]:
    """The calls of the converted stream, and the places of what was lost."""
    chunks = [chunk({"tool_calls": [each]}) for each in fragments]
    events = [{"event": None, "data": each} for each in [*chunks, chunk({}, "tool_calls"), "[DONE]"]]
    stream = ul.convert_stream(events, source="openai-chat", target=target, exchange=exchange)
    output = ul.collect(ul.read_stream(list(stream), target))["output"]
    return output, [loss.path for loss in stream.losses if loss.fate == "lost"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "fragments"), PIECES.values(), ids=[*PIECES])
def test_a_name_in_pieces_is_whole(name: str, fragments: list[Node], target: str) -> None:
    (call,), lost = convert(fragments, target, requested(target, "get_weather", "get_time"))
    assert (call["name"], json.loads(call["arguments"]), lost) == (name, {"a": 1}, [])


@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages", "google-interactions"])
@pytest.mark.parametrize(
    "first",
    [piece(name, arguments, "c1") for name in ("get_weather", "get", "made_up") for arguments in (None, "", "{")],
    ids=str,
)
def test_a_whole_name_is_not_late(first: Node, target: str) -> None:
    """Also one that other names begin with, and one that the request does not declare."""
    taken: list[int] = []

    def source() -> Any:
        for number, data in enumerate([chunk({"tool_calls": [first]}), chunk({"tool_calls": [piece(None, "{}")]})]):
            taken.append(number)
            yield {"event": None, "data": data}

    name = first["function"]["name"]
    events = ul.convert_stream(source(), source="openai-chat", target=target, exchange=requested(target, *NAMES))
    assert next(number for event in events for number in [len(taken)] if f"'{name}'" in str(event)) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_name_is_repeated_with_each_fragment(target: str) -> None:
    """llama-cpp-python's form."""
    fragments = [piece("get_time", text, "c1") for text in ('{"a"', ":", "1}")]
    (call,), lost = convert(fragments, target, requested(target, *NAMES))
    assert (call["name"], json.loads(call["arguments"]), lost) == ("get_time", {"a": 1}, [])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("more", ["get_time", "x"])
def test_a_name_alone_behind_its_id_is_sent_once(more: str, target: str) -> None:
    """Fragments that differ in nothing but a name are no pieces of arguments."""
    fragments = [piece(None, "", "c1"), piece("get_time", None), piece(more, None), piece(None, '{"a":1}')]
    (call,), lost = convert(fragments, target, None)
    path = "/2/data/choices/0/delta/tool_calls/0/function/name"
    assert (call["name"], json.loads(call["arguments"])) == ("get_time", {"a": 1})
    assert lost == ([path] if more == "x" else [])


@pytest.mark.parametrize("names", [None, ("get", "get_weather")])
def test_a_name_that_was_sent_does_not_go_on(names: tuple[str, ...] | None) -> None:
    """It is the name of a function, or nothing is known of the request: the rest is reported."""
    exchange = requested("anthropic-messages", *names) if names else None
    fragments = [piece("get", "", "c1"), piece("_weather", ""), piece(None, '{"a":1}')]
    (call,), lost = convert(fragments, "anthropic-messages", exchange)
    assert (call["name"], lost) == ("get", ["/1/data/choices/0/delta/tool_calls/0/function/name"])


@pytest.mark.parametrize("target", TARGETS)
def test_a_name_that_stays_a_beginning_is_sent(target: str) -> None:
    second = piece("get_time", "{}", "c2", 1)
    found, lost = convert([piece("get_", "", "c1"), second], target, requested(target, "get_weather", "get_time"))
    assert [call["name"] for call in found] == ["get_", "get_time"]
    assert lost == []


def test_a_client_has_the_whole_name() -> None:
    chunks = [chunk({"tool_calls": [each]}) for each in (piece("get_", "", "c1"), piece("weather", ""))]
    canned = Canned(streamed(*frames(*chunks, chunk({}, "tool_calls"), b"[DONE]")))
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in ("get_weather", "get")]
    with ul.Client(upstream=canned.upstream) as client:
        events = list(client.responses.create(input="q", tools=tools, stream=True))
    added = [event for event in events if event.type == "response.output_item.added"]
    assert [event.model_dump()["item"]["name"] for event in added] == ["get_weather"]


def test_a_function_call_of_old_has_its_name_in_pieces() -> None:
    given = [{"name": "get_"}, {"name": "weather", "arguments": ""}, {"arguments": '{"a":1}'}]
    chunks = [*(chunk({"function_call": each}) for each in given), chunk({}, "function_call"), "[DONE]"]
    exchange = requested("anthropic-messages", *NAMES[:2])
    stream = ul.convert_stream(
        [{"event": None, "data": each} for each in chunks],
        source="openai-chat",
        target="anthropic-messages",
        exchange=exchange,
    )
    (call,) = ul.collect(ul.read_stream(list(stream), "anthropic-messages"))["output"]
    assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"a": 1})
    assert not [loss.path for loss in stream.losses if loss.fate == "lost"]


@pytest.mark.parametrize("fragments", [fragments for _, fragments in PIECES.values()], ids=[*PIECES])
def test_fragments_of_names_are_those_of_the_same_protocol(fragments: list[Node]) -> None:
    chunks = [chunk({"tool_calls": [each]}) for each in fragments]
    events = [{"event": None, "data": each} for each in [*chunks, chunk({}, "tool_calls"), "[DONE]"]]
    exchange = ul.convert(
        {
            "model": "gpt-up",
            "messages": [{"role": "user", "content": "q"}],
            "tools": [{"type": "function", "function": {"name": name}} for name in ("get_weather", "get_time")],
        },
        source="openai-chat",
        target="openai-chat",
    ).exchange
    assert list(ul.convert_stream(events, source="openai-chat", target="openai-chat", exchange=exchange)) == events


@pytest.mark.parametrize("pieces", [["{"], ['{"a"', ': "b'], ["not JSON"], ["[1]"], ['{"a"', ': "b', '"}']])
@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("anthropic-messages", ("delta", "partial_json")),
        ("google-interactions", ("delta", "arguments")),
        ("amazon-converse", ("delta", "toolUse", "input")),
        ("google-generate-content", None),
    ],
)
def test_pieces_of_a_call_that_is_cut_off_are_sent_as_they_came_and_nothing_is_wrapped(
    target: str, place: tuple[str, ...] | None, pieces: list[str]
) -> None:
    """A chunk of Gemini has whole calls, whose arguments are an object; the other streams have the text itself."""
    fragments = [fragment(0, "c1", "f", pieces[0]), *(fragment(0, None, None, each) for each in pieces[1:])]
    events = [{"data": chunk({"tool_calls": [each]})} for each in fragments]
    stream = ul.convert_stream([*events, {"data": chunk({}, "length")}], source="openai-chat", target=target)
    written = [event["data"] for event in stream if type(event["data"]) is dict]
    told = [(loss.path, loss.fate) for loss in stream.losses if "arguments" in loss.path]
    if place is None:
        broken = "".join(pieces) != '{"a": "b"}'
        assert [fate for _, fate in told] == (["approximated"] if broken else [])
        return
    found = []
    for data in written:
        for key in place:
            data = data.get(key) if type(data) is dict else None
        found += [data] if data else []
    assert found == pieces and told == []
