"""What hooks of a tool loop return: a value of another type is refused with the name of the hook."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import unified_llm as ul

RAN: list[str] = []


def find(city: str) -> str:
    RAN.append(city)
    return f"{city} found"


def hooks(name: str, value: Any) -> ul.Hooks:
    return type("Given", (ul.Hooks,), {name: lambda self, *arguments: value})()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("before_turn", "x", "Hooks.before_turn returns a Request or None, not str"),
        ("before_turn", True, "Hooks.before_turn returns a Request or None, not bool"),
        ("before_call", True, "Hooks.before_call returns a text or None, not bool"),
        ("before_call", False, "Hooks.before_call returns a text or None, not bool"),
        ("before_call", {"ok": 1}, "Hooks.before_call returns a text or None, not dict"),
        ("before_call", 5, "Hooks.before_call returns a text or None, not int"),
        ("after_call", {"n": 1}, "Hooks.after_call returns a text, a function_call_output or None, not dict"),
        ("after_call", 5, "Hooks.after_call returns a text, a function_call_output or None, not int"),
        ("after_call", True, "Hooks.after_call returns a text, a function_call_output or None, not bool"),
    ],
)
@pytest.mark.parametrize("calls", [1, 2])
def test_another_type_is_refused(name: str, value: Any, message: str, calls: int) -> None:
    given: Any = {"input": "[[call find city=Oslo]] " * calls, "tools": [find], "hooks": hooks(name, value)}
    RAN.clear()
    with pytest.raises(ul.InvalidArgument) as caught:
        ul.Client(model="local/echo").responses.run(**given)
    assert str(caught.value) == message and bool(RAN) is (name == "after_call")
    with pytest.raises(ul.InvalidArgument) as caught:
        asyncio.run(ul.AsyncClient(model="local/echo").responses.run(**given))
    assert str(caught.value) == message


def test_an_output_as_json_is_sent() -> None:
    class Change(ul.Hooks):
        def after_call(self, call: Any, output: Any) -> Any:
            return {**output.dump(), "output": "changed"}

    run = ul.Client(model="local/echo").responses.run(input="[[call find city=Oslo]]", tools=[find], hooks=Change())
    assert run.output_text == "find: changed"
