"""Traps of tool calls and what comes with them, towards every surface; expected values are those of the trap."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
Node = dict[str, Any]
Calls = list[tuple[str, str, Any]]


def calls_of(value: Node, surface: str) -> Calls:
    """Id, name and arguments (read) of the calls of an answer."""
    if surface == CHAT:
        found = [call for choice in value["choices"] for call in choice["message"].get("tool_calls") or ()]
        return [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in found]
    if surface == RESPONSES:
        items = [item for item in value["output"] if item["type"] == "function_call"]
        return [(c["call_id"], c["name"], json.loads(c["arguments"])) for c in items]
    if surface == MESSAGES:
        return [(c["id"], c["name"], c["input"]) for c in value["content"] if c["type"] == "tool_use"]
    if surface == INTERACTIONS:
        return [(c["id"], c["name"], c["arguments"]) for c in value["steps"] if c["type"] == "function_call"]
    parts = [part["functionCall"] for part in value["candidates"][0]["content"]["parts"] if "functionCall" in part]
    return [(c.get("id"), c["name"], c.get("args")) for c in parts]


def folded(events: list[Node], source: str, target: str) -> Calls:
    """The calls a client of `target` puts together from a stream of `source`, by that surface's own rules."""
    data = [event["data"] for event in ul.convert_stream(events, source=source, target=target)]
    made: dict[Any, list[str]] = {}
    for each in data:
        if target == CHAT and each != "[DONE]":
            for call in [c for choice in each["choices"] for c in choice["delta"].get("tool_calls") or ()]:
                parts = made.setdefault(call["index"], ["", "", ""])
                function = call.get("function") or {}
                for place, text in enumerate((call.get("id"), function.get("name"), function.get("arguments"))):
                    parts[place] += text or ""
        elif target == RESPONSES:
            if each["type"] == "response.output_item.added" and each["item"]["type"] == "function_call":
                made[each["output_index"]] = [each["item"]["call_id"], each["item"]["name"], ""]
            elif each["type"] == "response.output_item.done" and each["output_index"] in made:
                made[each["output_index"]][2] = each["item"]["arguments"]
        elif target == MESSAGES and "content_block" in each and each["content_block"]["type"] == "tool_use":
            made[each["index"]] = [each["content_block"]["id"], each["content_block"]["name"], ""]
        elif target == MESSAGES and each["type"] == "content_block_delta" and "partial_json" in each["delta"]:
            made[each["index"]][2] += each["delta"]["partial_json"]
        elif target == INTERACTIONS and each != "[DONE]" and each["event_type"] == "step.start":
            if each["step"]["type"] == "function_call":
                made[each["index"]] = [each["step"]["id"], each["step"]["name"], ""]
        elif target == INTERACTIONS and each != "[DONE]" and each.get("delta", {}).get("type") == "arguments_delta":
            made[each["index"]][2] += each["delta"]["arguments"]
        elif target == GENERATE:
            for part in each["candidates"][0]["content"]["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    made[len(made)] = [call["id"], call["name"], json.dumps(call["args"])]
    return [(i, n, json.loads(arguments or "{}")) for i, n, arguments in made.values()]


def chunk(delta: Node, finish: str | None = None) -> Node:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return {"event": None, "data": body}


def piece(arguments: str, index: int | None, call_id: str | None = None, name: str | None = None) -> Node:
    call: Node = {"function": {"arguments": arguments, **({"name": name} if name else {})}}
    call |= {} if index is None else {"index": index}
    return chunk({"tool_calls": [call | ({"id": call_id, "type": "function"} if call_id else {})]})


END = [chunk({}, "tool_calls"), {"event": None, "data": "[DONE]"}]
OTHERS = [RESPONSES, MESSAGES, INTERACTIONS, GENERATE]
EVERYBODY = [CHAT, *OTHERS]


def started(*blocks: Node, stop: str = "tool_use") -> list[Node]:
    """A stream of Messages."""
    message = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    delta = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}}
    data = [{"type": "message_start", "message": message}, *blocks]
    data += [{**delta, "usage": {"output_tokens": 3}}, {"type": "message_stop"}]
    return [{"event": each["type"], "data": each} for each in data]


def tool_use(*pieces: str) -> list[Node]:
    opened = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": text} for text in pieces]
    return [
        {"type": "content_block_start", "index": 0, "content_block": opened},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
    ]


@pytest.mark.parametrize("target", EVERYBODY)
@pytest.mark.parametrize("pieces", [[], [""]])
def test_trap_074_a_streamed_call_without_arguments_has_an_empty_object(pieces: list[str], target: str) -> None:
    if target != MESSAGES:
        assert folded(started(*tool_use(*pieces)), MESSAGES, target) == [("t", "f", {})]
    assert folded([piece("", 0, "t", "f"), *END], CHAT, target) == [("t", "f", {})]


def ends(events: list[Node], source: str, target: str) -> str:
    return json.dumps([event["data"] for event in ul.convert_stream(events, source=source, target=target)])


@pytest.mark.parametrize(
    ("target", "word", "never"),
    [
        (CHAT, '"finish_reason": "length"', '"tool_calls",'),
        (RESPONSES, '"type": "response.incomplete"', "response.completed"),
        (INTERACTIONS, '"status": "incomplete"', "requires_action"),
        (GENERATE, '"finishReason": "MAX_TOKENS"', '"STOP"'),
    ],
)
def test_trap_077_a_call_cut_short_is_an_answer_cut_short(target: str, word: str, never: str) -> None:
    told = ends(started(*tool_use('{"a":'), stop="max_tokens"), MESSAGES, target)
    assert word in told
    assert f'"finish_reason": {never}' not in told if target == CHAT else never not in told
    if target == RESPONSES:
        data = [e["data"] for e in ul.convert_stream(started(*tool_use('{"a":'), stop="max_tokens"),
                                                     source=MESSAGES, target=RESPONSES)]  # fmt: skip
        assert data[-1]["response"]["output"][0]["status"] == "incomplete"
        assert data[-1]["response"]["output"][0]["arguments"] == '{"a":'


@pytest.mark.parametrize("target", OTHERS)
def test_trap_080_text_and_arguments_in_one_opening_survive_everywhere(target: str) -> None:
    events = [chunk({"role": "assistant", "content": "Hm"}), piece('{"a":1}', 0, "c1", "f"), *END]
    assert folded(events, CHAT, target) == [("c1", "f", {"a": 1})]
    assert '"Hm"' in ends(events, CHAT, target)


@pytest.mark.parametrize("target", EVERYBODY)
@pytest.mark.parametrize("index", [0, None])
def test_traps_083_084_calls_with_one_index_or_none_stay_apart(index: int | None, target: str) -> None:
    events = [piece(f'{{"n":{n}}}', index, f"c{n}", name) for n, name in ((1, "f"), (2, "g"), (3, "f"))]
    if target != CHAT:
        wanted = [("c1", "f", {"n": 1}), ("c2", "g", {"n": 2}), ("c3", "f", {"n": 3})]
        assert folded([*events, *END], CHAT, target) == wanted


def test_trap_083_calls_of_one_part_each_are_counted_in_chat() -> None:
    events = [{"event": None, "data": {"candidates": [{"content": {"role": "model", "parts": [
        {"functionCall": {"id": i, "name": "f", "args": {"n": i}}}]}, "index": 0,
        **({"finishReason": "STOP"} if i == "c" else {})}]}} for i in "abc"]  # fmt: skip
    assert folded(events, GENERATE, CHAT) == [(i, "f", {"n": i}) for i in "abc"]


@pytest.mark.parametrize("target", OTHERS)
def test_trap_085_interleaved_fragments_arrive_whole(target: str) -> None:
    events = [piece('{"x":', 0, "a", "f"), piece('{"y":', 1, "b", "g"), piece("1}", 0), piece("2}", 1), *END]
    assert folded(events, CHAT, target) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


CALL = {"name": "f", "args": {"a": 1}, "id": "c"}
BESIDE = {"text": "Let me check.", "functionCall": CALL, "thoughtSignature": "Uw=="}


def test_trap_086_a_part_with_text_and_a_call_is_both_and_stays_one_at_home() -> None:
    parts = [{"text": "x", "thoughtSignature": "Ug=="}, BESIDE, {"text": "y"}]
    content = {"role": "model", "parts": parts}
    body = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "responseId": "r"}
    request = {"contents": [{"role": "user", "parts": [{"text": "q"}]}, content]}
    stream = [{"event": None, "data": body}]
    assert ul.convert(body, source=GENERATE, target=GENERATE, kind="response").value == body
    assert ul.convert(request, source=GENERATE, target=GENERATE).value == request
    assert list(ul.convert_stream(stream, source=GENERATE, target=GENERATE)) == stream
    first, call, last = ul.read(body, GENERATE, "response").output
    assert [part.text for part in first.content] == ["x", "Let me check."] and last.content[0].text == "y"
    assert (call.name, call.arguments, call.opaque[0].data) == ("f", '{"a":1}', "Uw==")


@pytest.mark.parametrize("target", [CHAT, RESPONSES, MESSAGES, INTERACTIONS])
def test_trap_086_and_both_reach_the_others(target: str) -> None:
    content = {"role": "model", "parts": [BESIDE]}
    body = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "responseId": "r"}
    done = ul.convert(body, source=GENERATE, target=target, kind="response")
    assert calls_of(done.value, target) == [("c", "f", {"a": 1})]
    assert "Let me check." in json.dumps(done.value)
    assert folded([{"event": None, "data": body}], GENERATE, target) == [("c", "f", {"a": 1})]
    assert "Let me check." in ends([{"event": None, "data": body}], GENERATE, target)


@pytest.mark.parametrize(
    ("target", "word"),
    [(MESSAGES, '"stop_reason": "end_turn"'), (RESPONSES, '"response.completed"'), (INTERACTIONS, '"completed"'),
     (GENERATE, '"STOP"')],
)  # fmt: skip
def test_trap_088_an_end_for_calls_without_any_is_a_plain_end(target: str, word: str) -> None:
    events = [chunk({"content": "x"}), chunk({"tool_calls": []}, "tool_calls"), END[1]]
    told = ends(events, CHAT, target)
    assert word in told and '"tool_use"' not in told and "requires_action" not in told


# ---- calls that were answered where they were made -------------------------------------------------------------------

ANSWERED = [
    {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "py", "arguments": "{}"},
    {"type": "function_call_output", "id": "fco_1", "call_id": "call_a", "output": "4"},
]


@pytest.mark.parametrize("target", [RESPONSES, f"{RESPONSES}:open-responses", INTERACTIONS, GENERATE])
def test_traps_058_059_a_result_in_an_answer_has_the_id_and_the_name_of_its_call(target: str) -> None:
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": ANSWERED}
    value = ul.convert(body, source=RESPONSES, target=target, kind="response").value
    canonical = ul.decompose(ul.read(body, RESPONSES, "response").dump())
    events = [event["data"] for event in ul.write_stream(canonical, target)]
    for told in (json.dumps(value), json.dumps(events)):
        if target == GENERATE:
            assert told.count('"id": "call_a", "name": "py"') == 2
        else:
            ids = {word.split('"')[0] for word in told.split('"call_id": "')[1:]}
            assert ids == {"call_a"}


TEXT = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]}


@pytest.mark.parametrize("target", [CHAT, MESSAGES])
def test_traps_058_088_a_call_that_was_answered_is_not_handed_to_a_client_to_make_again(target: str) -> None:
    open_ = {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "g", "arguments": "{}"}
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    done = ul.convert({**body, "output": [*ANSWERED, TEXT]}, source=RESPONSES, target=target, kind="response")
    assert calls_of(done.value, target) == [] and ends_of(done.value) in ("stop", "end_turn")
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/output/0/name"] == fates["/output/0/arguments"] == fates["/output/1/output"] == "lost"
    done = ul.convert({**body, "output": [*ANSWERED, TEXT, open_]}, source=RESPONSES, target=target, kind="response")
    assert calls_of(done.value, target) == [("call_b", "g", {})]
    # A stream contains the call before that is known; its end marks it as not waiting.
    events = ul.decompose(ul.read({**body, "output": [*ANSWERED, TEXT]}, RESPONSES, "response").dump())
    told = json.dumps([event["data"] for event in ul.write_stream(events, target)])
    assert '"stop"' in told or '"end_turn"' in told
    assert "call_a" in told and '"tool_use"}' not in told


def ends_of(value: Node) -> str:
    return str(value["stop_reason"] if "stop_reason" in value else value["choices"][0]["finish_reason"])


# ---- signatures and ids ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", [CHAT, RESPONSES, MESSAGES, INTERACTIONS])
def test_trap_008_a_signature_is_never_hidden_in_an_id(surface: str) -> None:
    signature = "U2ln" * 200
    part = {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": signature}
    content = {"role": "model", "parts": [part]}
    body = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "responseId": "r"}
    value = ul.convert(body, source=GENERATE, target=surface, kind="response").value
    assert calls_of(value, surface) == [("c1", "f", {})]


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
def test_trap_008_an_id_that_another_hid_one_in_is_fitted_and_its_result_with_it(target: str) -> None:
    long = "call_1__thought__" + "U2ln+/=" * 130
    call = {"id": long, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    body = {"model": "m", "messages": [*said, {"role": "tool", "tool_call_id": long, "content": "r"}]}
    done = ul.convert(body, source=CHAT, target=target)
    if target == RESPONSES:
        ids = [item["call_id"] for item in done.value["input"][1:]]
    else:
        ids = [done.value["messages"][1]["content"][0]["id"], done.value["messages"][2]["content"][0]["tool_use_id"]]
    assert ids[0] == ids[1] and len(ids[0]) <= 64 and "U2ln" not in ids[0]
    assert all(c.isalnum() or c in "_-" for c in ids[0])
    assert done.exchange is not None and done.exchange.ids[ids[0]] == long
