"""Actions on a screen: Claude has one in each call of its tool, OpenAI one or several in a call of a computer.

Each side's clients take calls of their own shape only: an agent that gets none stops.
"""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ResponseComputerToolCall
from pydantic import TypeAdapter

import unified_llm as ul
from sdk_streams import final_response

MESSAGES, RESPONSES = "anthropic-messages", "openai-responses"
Node = dict[str, Any]

CLAUDE: Node = {
    "type": "computer_20250124",
    "name": "computer",
    "display_width_px": 1024,
    "display_height_px": 768,
}
PREVIEW: Node = {
    "type": "computer_use_preview",
    "display_width": 1024,
    "display_height": 768,
    "environment": "browser",
}
PNG = "iVBORw0KGgo="
IMAGE: Node = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
SCREEN: Node = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}
CLICK: Node = {"type": "click", "button": "left", "x": 1, "y": 2}

# The actions of one call, and the input of each call that Claude's client gets.
SAME: list[tuple[list[Node], list[Node]]] = [
    ([CLICK], [{"action": "left_click", "coordinate": [1, 2]}]),
    ([{**CLICK, "button": "right"}], [{"action": "right_click", "coordinate": [1, 2]}]),
    ([{**CLICK, "button": "wheel"}], [{"action": "middle_click", "coordinate": [1, 2]}]),
    ([{**CLICK, "keys": ["CTRL"]}], [{"action": "left_click", "coordinate": [1, 2], "text": "ctrl"}]),
    ([{"type": "double_click", "x": 1, "y": 2}], [{"action": "double_click", "coordinate": [1, 2]}]),
    ([{"type": "double_click", "x": 1, "y": 2}, CLICK], [{"action": "triple_click", "coordinate": [1, 2]}]),
    ([{"type": "move", "x": 1, "y": 2}], [{"action": "mouse_move", "coordinate": [1, 2]}]),
    (
        [{"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}],
        [{"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}],
    ),
    ([{"type": "keypress", "keys": ["ENTER"]}], [{"action": "key", "text": "Return"}]),
    ([{"type": "keypress", "keys": ["CTRL", "L"]}], [{"action": "key", "text": "ctrl+l"}]),
    ([{"type": "keypress", "keys": ["CTRL", "+"]}], [{"action": "key", "text": "ctrl+plus"}]),
    ([{"type": "keypress", "keys": ["a"]}], [{"action": "key", "text": "a"}]),
    (
        [{"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 300}],
        [{"action": "scroll", "coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 3}],
    ),
    (
        [{"type": "scroll", "x": 1, "y": 2, "scroll_x": -100, "scroll_y": 0}],
        [{"action": "scroll", "coordinate": [1, 2], "scroll_direction": "left", "scroll_amount": 1}],
    ),
    ([{"type": "type", "text": "a+b"}], [{"action": "type", "text": "a+b"}]),
    ([{"type": "screenshot"}], [{"action": "screenshot"}]),
    (
        [CLICK, {"type": "type", "text": "x"}, {"type": "screenshot"}],
        [{"action": "left_click", "coordinate": [1, 2]}, {"action": "type", "text": "x"}, {"action": "screenshot"}],
    ),
]


def answer(*output: Node) -> Node:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    return {**head, "output": [*output], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}


def called(actions: list[Node]) -> Node:
    call = {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed"}
    return {**call, "actions": actions, "pending_safety_checks": []}


def asked_by_claudes_client(*history: Node, secret: str | None = None) -> ul.Converted:
    messages = [{"role": "user", "content": "q"}, *history]
    body = {"model": "m", "max_tokens": 20, "messages": messages, "tools": [CLAUDE]}
    return ul.convert(body, source=MESSAGES, target=RESPONSES, secret=secret)


def to_claudes_client(*output: Node, secret: str | None = None) -> ul.Converted:
    options: Node = {"exchange": asked_by_claudes_client().exchange, "secret": secret}
    return ul.convert(answer(*output), source=RESPONSES, target=MESSAGES, kind="response", **options)


def results(blocks: list[Node]) -> Node:
    uses = [block for block in blocks if block["type"] == "tool_use"]
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": use["id"], "content": [IMAGE]} for use in uses],
    }


@pytest.mark.parametrize(("actions", "inputs"), SAME)
def test_a_client_of_claude_gets_a_call_of_its_tool_for_each_action(actions: list[Node], inputs: list[Node]) -> None:
    done = to_claudes_client(called(actions))
    blocks = done.value["content"]
    assert [(block["type"], block["name"], block["input"]) for block in blocks] == [
        ("tool_use", "computer", given) for given in inputs
    ]
    assert done.value["stop_reason"] == "tool_use"
    assert len({block["id"] for block in blocks}) == len(blocks)
    assert not [loss for loss in done.losses if loss.fate == "lost"]


@pytest.mark.parametrize(("actions", "inputs"), SAME)
def test_its_screens_are_the_result_of_the_call(actions: list[Node], inputs: list[Node]) -> None:
    blocks = to_claudes_client(called(actions)).value["content"]
    back = asked_by_claudes_client({"role": "assistant", "content": blocks}, results(blocks))
    call, result = back.value["input"][1:]
    assert (call["type"], call["call_id"], call["actions"]) == ("computer_call", "call_1", actions)
    assert (call["status"], call["pending_safety_checks"]) == ("completed", [])
    assert result == {"type": "computer_call_output", "call_id": "call_1", "output": SCREEN}


def test_a_single_action_is_a_call_too() -> None:
    call = {key: value for key, value in called([]).items() if key != "actions"}
    (block,) = to_claudes_client({**call, "action": CLICK}).value["content"]
    assert (block["id"], block["input"]) == ("call_1", {"action": "left_click", "coordinate": [1, 2]})


@pytest.mark.parametrize(
    ("action", "given", "path", "fate"),
    [
        (
            {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": -340},
            [{"action": "scroll", "coordinate": [1, 2], "scroll_direction": "up", "scroll_amount": 3}],
            "scroll_y",
            "approximated",
        ),
        (
            {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 9, "y": 9}, {"x": 3, "y": 4}]},
            [{"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}],
            "path",
            "approximated",
        ),
        ({**CLICK, "button": "back"}, [{"action": "key", "text": "alt+Left"}], "x", "approximated"),
        ({"type": "screenshot", "scale": 2}, [{"action": "screenshot"}], "scale", "lost"),
    ],
)
def test_what_claudes_tool_says_otherwise_is_reported(action: Node, given: list[Node], path: str, fate: str) -> None:
    done = to_claudes_client(called([{"type": "wait"}, action]))
    assert [block["input"] for block in done.value["content"]] == [{"action": "wait", "duration": 1}, *given]
    assert {loss.path: loss.fate for loss in done.losses}[f"/output/0/actions/1/{path}"] == fate


def test_checks_that_wait_are_reported() -> None:
    checks = [{"id": "sc_1", "code": "malicious_instructions", "message": "?"}]
    done = to_claudes_client({**called([CLICK]), "pending_safety_checks": checks})
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost and all(path.startswith("/output/0/pending_safety_checks") for path in lost)


def test_an_unknown_action_is_reported() -> None:
    done = to_claudes_client(called([{"type": "pinch"}]))
    assert "/output/0" in [loss.path for loss in done.losses if loss.fate == "lost"]


def test_a_stream_to_claudes_client_amounts_to_the_same() -> None:
    body = answer(called([CLICK, {"type": "screenshot"}]))
    exchange = asked_by_claudes_client().exchange
    frames = ul.write_stream(ul.decompose(ul.read(body, RESPONSES, "response")), RESPONSES)
    events = list(ul.convert_stream(frames, source=RESPONSES, target=MESSAGES, exchange=exchange))
    whole = to_claudes_client(*body["output"]).value
    starts = [event["data"]["content_block"] for event in events if event["event"] == "content_block_start"]
    assert [start["id"] for start in starts] == [block["id"] for block in whole["content"]]
    assert events[-2]["data"]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize("secret", [None, "s"])
def test_reasoning_before_a_call_returns(secret: str | None) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
    blocks = to_claudes_client(reasoning, called([CLICK, {"type": "screenshot"}]), secret=secret).value["content"]
    history = [{"role": "assistant", "content": blocks}, results(blocks)]
    first, call = asked_by_claudes_client(*history, secret=secret).value["input"][1:3]
    assert (first["encrypted_content"], call["actions"]) == ("ENC", [CLICK, {"type": "screenshot"}])


def test_a_result_without_a_screen_stays_one_of_a_function() -> None:
    blocks = to_claudes_client(called([CLICK])).value["content"]
    said = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "no display"}]}
    back = asked_by_claudes_client({"role": "assistant", "content": blocks}, said).value["input"]
    assert [item["type"] for item in back[1:]] == ["function_call", "function_call_output"]


def test_a_function_of_that_name_stays_a_function() -> None:
    use = {"type": "tool_use", "id": "c", "name": "computer", "input": {"action": "screenshot"}}
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [use]}, results([use])]
    tool = {"name": "computer", "input_schema": {"type": "object"}}
    body = {"model": "m", "max_tokens": 20, "messages": messages, "tools": [tool]}
    back = ul.convert(body, source=MESSAGES, target=RESPONSES).value["input"]
    assert [item["type"] for item in back[1:]] == ["function_call", "function_call_output"]


# ---- a client of Responses over Claude ------------------------------------------------------------------------------


def message(*inputs: Node) -> Node:
    uses = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": "computer", "input": given}
        for number, given in enumerate(inputs)
    ]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**head, "content": uses, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}


def asked_by_openais_client(*history: Node, tool: Node = PREVIEW) -> ul.Converted:
    body = {"model": "m", "input": [{"role": "user", "content": "q"}, *history], "tools": [tool]}
    return ul.convert(body, source=RESPONSES, target=MESSAGES)


def to_openais_client(*inputs: Node, exchange: ul.Exchange | None = None) -> ul.Converted:
    exchange = exchange or asked_by_openais_client().exchange
    return ul.convert(message(*inputs), source=MESSAGES, target=RESPONSES, kind="response", exchange=exchange)


ONE = [(actions[0], inputs[0]) for actions, inputs in SAME if len(actions) == len(inputs) == 1]
KEPT: list[tuple[Node, Node]] = [
    ({"type": "wait", "duration": 2}, {"action": "wait", "duration": 2}),
    ({"type": "keypress", "keys": ["SHIFT"], "duration": 2}, {"action": "hold_key", "text": "shift", "duration": 2}),
    ({"type": "keypress", "keys": ["TAB"], "repeat": 3}, {"action": "key", "text": "Tab", "repeat": 3}),
]


@pytest.mark.parametrize(("action", "given"), [*ONE, *KEPT])
def test_a_client_of_openai_gets_a_call_of_a_computer(action: Node, given: Node) -> None:
    (call,) = to_openais_client(given).value["output"]
    assert (call["type"], call["call_id"], call["action"]) == ("computer_call", "toolu_0", action)
    TypeAdapter(ResponseComputerToolCall).validate_python(call)


@pytest.mark.parametrize(("action", "given"), [*ONE, *KEPT])
def test_its_screen_is_the_result_of_claudes_call(action: Node, given: Node) -> None:
    output = to_openais_client(given).value["output"]
    result = {"type": "computer_call_output", "call_id": "toolu_0", "output": SCREEN}
    back = asked_by_openais_client(*output, result).value["messages"]
    assert back[1]["content"] == message(given)["content"]
    assert back[2]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_0", "content": [IMAGE]}]


@pytest.mark.parametrize(
    "given",
    [
        {"action": "left_click"},
        {"action": "cursor_position"},
        {"action": "left_mouse_down"},
        {"action": "triple_click", "coordinate": [1, 2]},
        {"action": "left_click", "coordinate": ["1", 2]},
    ],
)
def test_any_other_input_stays_in_a_call_of_a_function(given: Node) -> None:
    """The client answers that there is no such function, and the model goes on. The preview has one action a call."""
    (call,) = to_openais_client(given).value["output"]
    assert (call["type"], call["name"]) == ("function_call", "computer")


INPUTS: list[list[Node]] = [
    [{"action": "screenshot"}, {"action": "left_click", "coordinate": [1, 2]}],
    [{"action": "cursor_position"}],
]


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_stream_to_openais_client_amounts_to_the_same(inputs: list[Node]) -> None:
    exchange = asked_by_openais_client().exchange
    frames = ul.write_stream(ul.decompose(ul.read(message(*inputs), MESSAGES, "response")), MESSAGES)
    stream = ul.convert_stream(frames, source=MESSAGES, target=RESPONSES, exchange=exchange)
    events = list(stream)
    whole = to_openais_client(*inputs).value["output"]
    assert events[-1]["data"]["response"]["output"] == whole
    items = [event["data"]["item"]["type"] for event in events if "item" in event["data"]]
    assert items == [item["type"] for item in whole for _ in range(2)]
    assert final_response(events)["output"] == whole
    assert not [loss for loss in stream.losses if loss.fate == "lost"]


def test_a_stream_that_ends_in_a_call_has_its_beginning() -> None:
    exchange = asked_by_openais_client().exchange
    body = message({"action": "left_click", "coordinate": [1, 2]})
    frames = list(ul.write_stream(ul.decompose(ul.read(body, MESSAGES, "response")), MESSAGES))
    cut = [frame for frame in frames if frame["event"] in ("message_start", "content_block_start")]
    events = list(ul.convert_stream(iter(cut), source=MESSAGES, target=RESPONSES, exchange=exchange))
    added = [event["event"] for event in events if event["event"] == "response.output_item.added"]
    assert len(added) == 1 and events[-1]["event"] == "response.failed"


@pytest.mark.parametrize("secret", [None, "s"])
def test_thoughts_before_a_call_return_signed(secret: str | None) -> None:
    body = message({"action": "screenshot"})
    thought = {"type": "thinking", "thinking": "t", "signature": "SIG"}
    body["content"].insert(0, thought)
    exchange = asked_by_openais_client().exchange
    options: Node = {"exchange": exchange, "secret": secret}
    done = ul.convert(body, source=MESSAGES, target=RESPONSES, kind="response", **options)
    result = {"type": "computer_call_output", "call_id": "toolu_0", "output": SCREEN}
    asked = {
        "model": "m",
        "input": [{"role": "user", "content": "q"}, *done.value["output"], result],
        "tools": [PREVIEW],
    }
    back = ul.convert(asked, source=RESPONSES, target=MESSAGES, secret=secret).value["messages"]
    assert back[1]["content"] == body["content"]


# ---- clients whose surface has no such calls -------------------------------------------------------------------------


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES])
def test_a_computer_of_gemini_is_withheld(target: str) -> None:
    """Its client executes functions (`click_at`); of a `computer_call` it would get an empty answer."""
    contents = [{"role": "user", "parts": [{"text": "q"}]}]
    body = {"contents": contents, "tools": [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}]}
    done = ul.convert(body, source="google-generate-content", target=target, model="m")
    assert "tools" not in done.value
    assert ("/tools/0/computerUse", "lost") in [(loss.path, loss.fate) for loss in done.losses]


DATED = {"type": "computer_20251124", "name": "computer", "display_width_px": 800, "display_height_px": 600}
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("target", ["google-generate-content", "google-interactions"])
@pytest.mark.parametrize("source", [CLAUDE, DATED, PREVIEW, {"type": "computer"}], ids=lambda tool: tool["type"])
def test_a_computer_of_others_is_withheld_from_gemini(source: Node, target: str) -> None:
    """Its calls are `click_at`, `type_text_at`, ...: functions that a client of another surface has no tool for."""
    if "name" in source:
        function = {"name": "f", "input_schema": FUNCTION["parameters"]}
        body = {"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": "q"}]}
    else:
        function, body = FUNCTION, {"model": "m", "input": "q"}
    body["tools"] = [source, function]
    done = ul.convert(body, source=MESSAGES if "name" in source else RESPONSES, target=target)
    (tool,) = done.value["tools"]
    assert tool.get("type", "function") == "function" and "computerUse" not in tool
    assert "/tools/0" in {loss.path for loss in done.losses if loss.fate == "lost" and "click_at" in loss.detail}


def test_a_computer_of_gemini_is_kept_between_its_protocols() -> None:
    body = {"model": "m", "input": "q", "tools": [{"type": "computer_use", "environment": "mobile"}]}
    done = ul.convert(body, source="google-interactions", target="google-generate-content")
    assert done.value["tools"] == [{"computerUse": {"environment": "ENVIRONMENT_MOBILE"}}]
    back = ul.convert(done.value, source="google-generate-content", target="google-interactions", model="m")
    assert back.value["tools"] == body["tools"]
