"""The canonical model: what goes in comes out, unknown nodes pass, every key has a capability, tables are current."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

import strategies
import strategies_documents
from unified_llm.foundation.errors import InvalidBody
from unified_llm.types import (
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    McpApprovalRequest,
    Message,
    Reasoning,
    Response,
    ShellCall,
    UnknownEvent,
    UnknownItem,
    UnknownPart,
    UnknownTool,
    Usage,
    _tables,
    dump,
    validate,
)
from unified_llm.types import _generate as generate
from unified_llm.types.base import KNOWN
from unified_llm.types.validation import KINDS

NODES = generate.nodes()


def same(left: Any, right: Any) -> bool:
    """Equal with types: True is not 1, 1 is not 1.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


# Law: dump(validate(d)) == d -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["item", "part", "annotation", "tool", "tool_choice", "event"])
def test_any_node_comes_back_as_it_went_in(kind: str) -> None:
    @given(document=strategies.nodes(kind))
    def law(document: dict[str, Any]) -> None:
        assert same(dump(validate(kind, document, strict=True)), document)

    law()


@pytest.mark.parametrize("name", sorted(NODES))
def test_every_class_comes_back_with_all_its_keys(name: str) -> None:
    cls = NODES[name]
    kind = cls.node_kind if cls.node_kind != "struct" else None
    type_ = {"type": name.partition(":")[2] if name.partition(":")[0] in KNOWN else name} if kind else {}

    @settings(max_examples=3)
    @given(document=strategies.of_class(cls, every=True))
    def law(document: dict[str, Any]) -> None:
        document = {**document, **type_}
        assert {info.alias or key for key, info in cls.__pydantic_fields__.items()} <= document.keys()
        made = validate(kind, document, strict=True) if kind else cls.model_validate(document)
        assert type(made) is cls
        assert same(made.dump(), document)
        assert same(made.model_dump(mode="json", by_alias=True, exclude_unset=True), document)

    law()


@given(document=strategies_documents.requests())
def test_requests_come_back(document: dict[str, Any]) -> None:
    assert same(dump(validate("request", document, strict=True)), document)


@given(document=strategies_documents.responses())
def test_responses_come_back(document: dict[str, Any]) -> None:
    assert same(dump(validate("response", document, strict=True)), document)


@given(document=strategies.of_class(KINDS["request"]))
def test_wild_requests_come_back(document: dict[str, Any]) -> None:
    assert same(dump(validate("request", document, strict=True)), document)


@given(document=strategies.of_class(KINDS["response"]))
def test_wild_responses_come_back(document: dict[str, Any]) -> None:
    assert same(dump(validate("response", document, strict=True)), document)


def test_absent_null_and_empty_stay_apart() -> None:
    for document in (
        {"type": "message", "role": "user"},
        {"type": "message", "role": "user", "content": None},
        {"type": "message", "role": "user", "content": ""},
        {"type": "message", "role": "user", "content": []},
    ):
        assert same(dump(validate("item", document, strict=True)), document)


@pytest.mark.parametrize("number", [1, 1.0, 0, 0.0, -0.0, 1e300, 10**30])
def test_numbers_keep_their_type(number: float) -> None:
    document = {"temperature": number}
    assert repr(dump(validate("request", document, strict=True))) == repr(document)


def test_keys_that_python_has_other_plans_for() -> None:
    document = {
        "type": "function_call",
        "call_id": "c",
        "name": "f",
        "arguments": "",
        "async": True,
        "async_": "not the same key",
        "model_dump": 1,
        "schema": {"a": 1},
        "node_kind": "x",
        "__class__": "y",
    }
    call = validate("item", document, strict=True)
    assert call.async_ is True
    assert same(dump(call), document)
    format_ = {"text": {"format": {"type": "json_schema", "schema": {"type": "object"}, "schema_": 1}}}
    assert same(dump(validate("request", format_, strict=True)), format_)


# Objects users build -------------------------------------------------------------------------------------------------


def test_a_node_built_by_hand_prints_its_type_and_nothing_else_that_was_not_given() -> None:
    call = FunctionCall(call_id="c1", name="now", arguments="{}")
    document = {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"}
    assert call.dump() == document
    assert call.model_dump(exclude_unset=True) == document
    assert next(iter(call.dump())) == "type"
    assert "created_by" not in repr(call)


def test_nodes_built_by_hand_nest() -> None:
    message = Message(role="user", content=[{"type": "input_text", "text": "hi"}])
    response = Response(output=[message, FunctionCall(name="f")])
    message.name = "ada"
    assert response.dump() == {
        "output": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}], "name": "ada"},
            {"type": "function_call", "name": "f"},
        ]
    }


def test_building_by_hand_is_strict() -> None:
    with pytest.raises(ValidationError):
        FunctionCall(call_id="c1", name="now", arguments={})
    with pytest.raises(ValidationError):
        FunctionCall(type="message", name="now")


def test_output_text_and_function_calls() -> None:
    response = Response(
        output=[
            Reasoning(summary=[{"type": "summary_text", "text": "hm"}]),
            Message(
                role="assistant", content=[{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "no"}]
            ),
            FunctionCall(call_id="c1", name="f", arguments="{}"),
            Message(role="assistant", content="b"),
        ]
    )
    assert response.output_text == "ab"
    assert [call.name for call in response.function_calls] == ["f"]
    assert (Response().output_text, Response().function_calls, Response().pending_calls) == ("", [], [])


def test_pending_calls_are_those_the_client_must_answer() -> None:
    response = Response(
        output=[
            FunctionCall(call_id="done", name="f", arguments="{}"),
            FunctionCallOutput(call_id="done", output="x"),
            FunctionCall(call_id="open", name="f", arguments="{}"),
            FunctionCall(name="without an id", arguments="{}"),
            FunctionCall(call_id="theirs", name="f", arguments="{}", executor="agent"),
            ShellCall(call_id="shell"),
            McpApprovalRequest(id="asked", name="t"),
            McpApprovalRequest(id="told", name="t"),
            validate("item", {"type": "mcp_approval_response", "approval_request_id": "told", "approve": True}),
            validate("item", {"type": "tool_search_call", "call_id": "s", "execution": "server"}),
            validate("item", {"type": "tool_search_call", "call_id": "t", "execution": "client"}),
        ]
    )
    found = [getattr(item, "call_id", None) or item.id or item.name for item in response.pending_calls]
    assert found == ["open", "without an id", "shell", "asked", "t"]


@pytest.mark.parametrize("cls", [Reasoning, Compaction])
def test_encrypted_content_is_the_opaque_piece_of_that_kind(cls: type[Any]) -> None:
    node = cls(opaque=[{"kind": "signature", "data": "s"}, {"kind": "encrypted_content", "data": "e"}])
    assert node.encrypted_content == "e"
    assert cls().encrypted_content is None
    assert cls(opaque=[{"kind": "signature", "data": "s"}]).encrypted_content is None


# Unknown and ill-typed nodes -----------------------------------------------------------------------------------------

UNKNOWN = {"item": UnknownItem, "part": UnknownPart, "tool": UnknownTool, "event": UnknownEvent}


@pytest.mark.parametrize("kind", sorted(UNKNOWN))
def test_an_unknown_type_passes_whole(kind: str) -> None:
    document = {"type": "acme:new", "a": {"b": [1, None, 1.5]}, "id": 7}
    node = validate(kind, document, strict=True)
    assert type(node) is UNKNOWN[kind]
    assert node.problems == ()
    assert same(node.dump(), document)


@pytest.mark.parametrize("kind", sorted(UNKNOWN))
def test_the_fallback_refuses_known_types(kind: str) -> None:
    for name in sorted(_tables.KNOWN_TYPES):
        with pytest.raises(ValidationError):
            UNKNOWN[kind](type=name)


def test_an_ill_typed_node_is_kept_with_its_problems_and_its_neighbors_are_read() -> None:
    document = {
        "input": [
            {"type": "message", "role": "user", "content": "hi"},
            {"type": "message", "role": 5, "content": "hi", "mine": 1},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": 7}, {"type": "output_text", "text": "fine"}],
            },
            {"type": "function_call", "arguments": "{}"},
            {"no": "type"},
            {"type": 3},
        ],
        "tools": [{"type": "function"}, {"type": "function", "name": "f"}],
    }
    request = validate("request", document)
    assert same(dump(request), document)
    types = [type(item).__name__ for item in request.input]
    assert types == ["Message", "UnknownItem", "Message", "UnknownItem", "UnknownItem", "UnknownItem"]
    assert request.input[1].problems == ("/role: Input should be a valid string",)
    assert [type(part).__name__ for part in request.input[2].content] == ["UnknownPart", "OutputText"]
    assert request.input[2].content[0].problems == ("/text: Input should be a valid string",)
    assert request.input[3].problems == ("/name: Field required",)
    assert request.input[4].problems == request.input[5].problems == ("/type: not a string",)
    assert [type(tool).__name__ for tool in request.tools] == ["UnknownTool", "FunctionTool"]
    with pytest.raises(ValidationError):
        validate("request", document, strict=True)


def test_ill_typed_nodes_deep_in_an_event() -> None:
    document = {
        "type": "response.completed",
        "response": {"choices": [{"index": 1, "output": [{"type": "reasoning", "summary": "not a list"}]}]},
    }
    event = validate("event", document)
    assert same(dump(event), document)
    (item,) = event.response.choices[0].output
    assert isinstance(item, UnknownItem)
    assert item.problems == ("/summary: Input should be a valid list",)


@given(document=strategies.of_class(KINDS["request"]))
def test_lenient_equals_strict_where_all_is_well(document: dict[str, Any]) -> None:
    broken = {**document, "input": [*_items(document), {"type": "message", "role": 1}]}
    request = validate("request", broken)
    assert same(dump(request), broken)
    whole = validate("request", {**document, "input": _items(document)}, strict=True)
    assert [type(item) for item in request.input[:-1]] == [type(item) for item in whole.input]
    assert isinstance(request.input[-1], UnknownItem)


def _items(document: dict[str, Any]) -> list[Any]:
    given = document.get("input")
    return given if isinstance(given, list) else []


@pytest.mark.parametrize(
    ("kind", "document", "path"),
    [
        ("request", [], ""),
        ("request", "text", ""),
        ("request", {"temperature": "hot"}, "/temperature"),
        ("request", {"temperature": True}, "/temperature"),
        ("request", {"input": 5}, "/input"),
        ("request", {"input": [5]}, "/input/0"),
        ("request", {"reasoning": {"effort": 1}}, "/reasoning/effort"),
        ("response", {"usage": {"input_tokens": "many"}}, "/usage/input_tokens"),
        ("response", {"output": [{"type": "message", "role": "user"}, None]}, "/output/1"),
        ("item", 5, ""),
    ],
)
def test_an_impossible_skeleton_names_its_path(kind: str, document: Any, path: str) -> None:
    with pytest.raises(InvalidBody) as caught:
        validate(kind, document)
    assert caught.value.path == path
    assert caught.value.reason


# ---- what people read from nodes ------------------------------------------------------------------------------------


def test_usages_add_up_with_their_details() -> None:
    one = Usage(
        input_tokens=3,
        output_tokens=2,
        input_tokens_details={"cached_tokens": 1, "cached_tokens_details": {"audio": 1}},
        hosted_tools={"web_search": 1},
        extra={"openai-chat": {"rest": {"a": 1}}},
    )
    other = Usage(
        input_tokens=4,
        output_tokens=None,
        input_tokens_details={"cached_tokens": 2, "cache_write_tokens": 5, "cached_tokens_details": {"audio": 2}},
        hosted_tools={"web_search": 2, "code": 1},
    )
    assert (
        (one + other).dump()
        == (other + one).dump()
        == {
            "input_tokens": 7,
            "output_tokens": 2,
            "input_tokens_details": {
                "cached_tokens": 3,
                "cached_tokens_details": {"audio": 3},
                "cache_write_tokens": 5,
            },
            "hosted_tools": {"web_search": 3, "code": 1},
        }
    )
    assert sum((one, other, one), Usage()).input_tokens == 10
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "found"), [('{"a": [1, 2.5], "b": null}', {"a": [1, 2.5], "b": None}), ("", {}), (" ", {}), (None, {})]
)
def test_the_arguments_of_a_call_as_values(text: str | None, found: Any) -> None:
    assert FunctionCall(name="f", arguments=text).parsed_arguments == found


@pytest.mark.parametrize(("text", "why"), [("{", "not JSON"), ('{"a": NaN}', "not JSON"), ("[1]", "not a JSON object")])
def test_arguments_that_are_no_json_object_are_an_error_with_the_name_of_the_tool(text: str, why: str) -> None:
    with pytest.raises(InvalidBody, match=f"arguments of 'f' are {why}") as caught:
        _ = FunctionCall(name="f", arguments=text).parsed_arguments
    assert caught.value.path == "/arguments"


REQUEST = "print(Request(model='m', tools=[], input=[M(role='user', content='Hi')]).dump())"
NAMES = "from unified_llm import Request, Tool, Message as M"
OWN = ["class Message: pass", "class FunctionCall: pass"]
MINE = ["class Mine(Request):", "    note: 'FunctionCall | None' = None",
        "    model_config = {'arbitrary_types_allowed': True}"]  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [
        [NAMES, *OWN, REQUEST],
        ["def main():", *(f"    {line}" for line in (NAMES, *OWN, REQUEST)), "main()"],
        [NAMES, *MINE, *OWN, "Mine(model='m', note=FunctionCall())", REQUEST],
        [NAMES, "def main():", *(f"    {line}" for line in (*MINE, *OWN, "Mine.model_rebuild()")),
         "    Mine(model='m', note=FunctionCall())", "main()", REQUEST],
    ],
    ids=["in a module", "in a function", "a subclass", "a subclass in a function"],
)  # fmt: skip
def test_names_of_the_caller_are_not_taken_for_ours(lines: list[str]) -> None:
    # In an interpreter of its own: a class builds its validator when it is first used.
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = {"model": "m", "tools": [], "input": [{"type": "message", "role": "user", "content": "Hi"}]}
    assert ast.literal_eval(done.stdout) == told
