"""Canonical classes built by a caller: a keyword that is not a field is refused; a wire document keeps every key."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.types import validate
from unified_llm.types.base import Model


def test_a_signature_names_the_fields_before_and_after_the_first_use() -> None:
    for _ in range(2):
        shown = str(inspect.signature(ul.Message))  # also where its base class was completed before
        assert shown.startswith(
            "(*, role: str, type: Literal['message'] = 'message', content: str | list[Part] | None = None, "
        )
        assert "**" not in shown and "Annotated" not in shown and "agent: dict[str, Any] | None = None" in shown
        ul.Message(role="user", content="Hi")
        Model.model_rebuild()
    assert "tools: list[Tool] | None = None" in str(inspect.signature(ul.Request))
    assert "output: list[Item] | None = None" in str(inspect.signature(ul.Response))


@pytest.mark.parametrize(
    ("made", "given", "path", "told"),
    [
        (ul.Message, {"role": "user", "contents": "x"}, "/contents", "no field 'contents'; did you mean 'content'"),
        (ul.Message, {"role": "usr", "content": "x"}, "/role", "did you mean 'user'? It is one of: user, assistant, "),
        (ul.Message, {"role": "user", "content": "x", "qqq": 1}, "/qqq", "it is one of: type, role, content, "),
        (ul.Request, {"input": "x", "max_output_token": 5}, "/max_output_token", "did you mean 'max_output_tokens'"),
        (ul.FunctionTool, {"name": "f", "paramters": {}}, "/paramters", "did you mean 'parameters'"),
        (ul.Opaque, {"kind": "signature", "data": "x", "orgin": None}, "/orgin", "did you mean 'origin'"),
    ],
)
def test_a_misspelled_field_is_refused(made: Any, given: dict[str, Any], path: str, told: str) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        made(**given)
    assert caught.value.path == path
    assert told in caught.value.reason


def test_a_document_keeps_what_a_constructor_refuses() -> None:
    document = {"type": "message", "role": "usr", "contents": "x"}
    assert validate("item", document, strict=True).dump() == document
    assert ul.Message.model_validate(document).dump() == document
    request = {"input": [document], "new_thing": 1}
    assert ul.Request.model_validate(request).dump() == request
    body = {"model": "m", "input": [{**document, "content": "x"}], "new_thing": 1}
    assert ul.read(body, "openai-responses").input[0].role == "usr"


def test_nodes_inside_a_constructor_are_documents_too() -> None:
    made = ul.Request(input=[{"type": "message", "role": "critic", "content": "x", "new_thing": 1}])
    assert made.dump()["input"][0]["new_thing"] == 1


def test_a_field_that_python_has_another_word_for_goes_by_both_names() -> None:
    assert ul.FunctionTool(name="f", async_=True).dump() == {"type": "function", "name": "f", "async": True}
    assert ul.FunctionTool(name="f", **{"async": True}).async_ is True


def test_a_node_of_an_unknown_type_takes_any_field() -> None:
    assert ul.UnknownTool(type="new_tool", anything=1).dump() == {"type": "new_tool", "anything": 1}
