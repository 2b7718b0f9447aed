"""Functions as tools: their description for the model, how they are called, and what becomes of what they give back."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import unified_llm as ul
from unified_llm.client import Tool, file, image
from unified_llm.client.sending.flows import ado, adrive, do, drive
from unified_llm.client.tools.docstrings import parse
from unified_llm.client.tools.function_tools import answering

PNG = b"\x89PNG\r\n\x1a\n"


class Place(BaseModel):
    """Somewhere on earth."""

    lat: float
    lon: float = Field(default=0, description="east is positive")


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


def called(tool: Tool, arguments: str, **context: Any) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "c1", "name": tool.name, "arguments": arguments}
    return drive(answering(tool, call, ul.ToolContext("c1", tool.name, **context)), do)


# ---- the description for the model ----------------------------------------------------------------------------------

GOOGLE = """Look it up.

    More of it.

    Args:
        city (str): where
            to look
        days: how far

    Returns:
        nothing of interest
    """
NUMPY = """Look it up.

    More of it.

    Parameters
    ----------
    city : str
        where
        to look
    days : int, optional
        how far

    Returns
    -------
    str
        nothing of interest
    """
REST = """Look it up.

    More of it.

    :param str city: where
        to look
    :param days: how far
    :returns: nothing of interest
    """


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_the_three_styles_of_docstrings_say_the_same(doc: str) -> None:
    found = parse(doc)
    assert found.text == "Look it up.\n\nMore of it."
    assert found.parameters == {"city": "where to look", "days": "how far"}


def test_a_sentence_that_ends_in_a_colon_is_not_a_section() -> None:
    assert parse("Use it like this.\n\nNote:\nnothing is indented here").text.endswith("nothing is indented here")


def test_the_schema_is_that_of_the_signature() -> None:
    @ul.tool
    def weather(
        place: Place,
        unit: Unit = Unit.C,
        when: date | None = None,
        days: Annotated[int, Field(ge=1, le=7, description="how many")] = 1,
        kind: Literal["brief", "long"] = "brief",
    ) -> str:
        """Look up the weather.

        Args:
            place: where
            days: not this, the annotation is closer
        """
        return ""

    told = weather.definition()
    assert (told["type"], told["name"], told["description"]) == ("function", "weather", "Look up the weather.")
    properties = told["parameters"]["properties"]
    assert told["parameters"]["required"] == ["place"]
    assert told["parameters"]["additionalProperties"] is False
    assert properties["place"] == {"$ref": "#/$defs/Place", "description": "where"}
    assert properties["days"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 7,
        "default": 1,
        "description": "how many",
    }
    assert properties["kind"]["enum"] == ["brief", "long"]
    assert told["parameters"]["$defs"]["Place"]["properties"]["lon"]["description"] == "east is positive"
    assert "title" not in json.dumps(told)


def test_a_parameter_called_title_and_a_default_with_a_title_stay() -> None:
    @ul.tool
    def note(title: str, meta: dict[str, str] = {"title": "x"}) -> None:  # noqa: B006
        """Note."""

    properties = note.definition()["parameters"]["properties"]
    assert properties["title"] == {"type": "string"}
    assert properties["meta"]["default"] == {"title": "x"}


def test_options_name_and_description_go_into_the_tool() -> None:
    @ul.tool(name="find", description="Finds.", strict=True, cache={"mode": "ephemeral"})
    def anything(q: str) -> str:
        """Not this."""
        return q

    told = anything.definition()
    assert (told["name"], told["description"], told["strict"], told["cache"]) == (
        "find",
        "Finds.",
        True,
        {"mode": "ephemeral"},
    )
    assert anything("x") == "x"


def test_a_context_is_not_shown_and_is_given() -> None:
    seen = []

    @ul.tool
    def who(context: ul.ToolContext[dict[str, str]], name: str) -> str:
        """Who."""
        seen.append(context)
        return context.data["user"] + name

    assert list(who.definition()["parameters"]["properties"]) == ["name"]
    item = called(who, '{"name": "!"}', turn=3, data={"user": "ada"})
    assert item["output"] == "ada!"
    assert (seen[0].call_id, seen[0].name, seen[0].turn) == ("c1", "who", 3)


def test_a_method_and_a_callable_object_are_tools() -> None:
    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @ul.tool
        def buy(self, item: str) -> str:
            """Buy it."""
            return f"{item} at {self.name}"

        def __call__(self, item: str) -> str:
            """Look."""
            return item

    shop = Shop("Karl's")
    assert list(shop.buy.definition()["parameters"]["properties"]) == ["item"]
    assert called(shop.buy, '{"item": "tea"}')["output"] == "tea at Karl's"
    assert called(ul.tool(name="look")(shop), '{"item": "tea"}')["output"] == "tea"


def test_positional_only_and_further_keywords() -> None:
    @ul.tool
    def add(a: int, /, b: int, **more: int) -> int:
        """Add."""
        return a + b + sum(more.values())

    assert called(add, '{"a": 1, "b": 2, "c": 4}')["output"] == "7"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: ul.tool(lambda x: x), "name"),
        (lambda: ul.tool(_variadic), "list"),
        (lambda: ul.tool(_unresolved), "Nope"),
    ],
)
def test_a_function_no_model_could_call_is_refused_at_once(make: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        make()


def _variadic(*args: int) -> None: ...


def _unresolved(x: Nope) -> None: ...  # type: ignore[name-defined]  # noqa: F821


# ---- calls ----------------------------------------------------------------------------------------------------------


def test_arguments_are_validated_into_what_the_function_takes() -> None:
    @ul.tool
    def ask(place: Place, unit: Unit, when: date) -> str:
        """Look up."""
        return f"{type(place).__name__} {unit.name} {when:%Y}"

    given = '{"place": {"lat": 1}, "unit": "celsius", "when": "2026-01-02"}'
    assert called(ask, given) == {"type": "function_call_output", "call_id": "c1", "output": "Place C 2026"}


@pytest.mark.parametrize("arguments", ['{"a": "x"}', '{"b": 1}', "{", "[]", '{"a": 1, "zz": 2}'])
def test_bad_arguments_go_back_to_the_model_and_the_function_is_not_called(arguments: str) -> None:
    ran = []

    @ul.tool
    def add(a: int) -> None:
        """Add."""
        ran.append(a)

    item = called(add, arguments)
    assert item["is_error"] is True and item["output"].startswith("invalid arguments:")
    assert not ran


def test_what_a_tool_raises_is_told_to_the_model(caplog: pytest.LogCaptureFixture) -> None:
    @ul.tool
    def plain() -> None:
        """Fail."""
        raise ValueError("no such city")

    @ul.tool
    def spoken() -> None:
        """Fail."""
        raise ul.ToolError("Ask for the country first.")

    assert called(plain, "")["output"] == "ValueError: no such city"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert called(spoken, "{}") == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "Ask for the country first.",
        "is_error": True,
    }
    assert len(caplog.records) == 1


def test_async_tools_run_without_a_loop_and_plain_tools_do_not_hold_one_up() -> None:
    threads = []

    @ul.tool
    async def there() -> str:
        """There."""
        await asyncio.sleep(0)
        return "there"

    @ul.tool
    def here() -> str:
        """Here."""
        threads.append(threading.current_thread())
        return "here"

    assert called(there, "{}")["output"] == "there"

    async def main() -> list[str]:
        out = []
        for tool in (there, here):
            call = {"type": "function_call", "call_id": "c1", "name": tool.name, "arguments": "{}"}
            item = await adrive(answering(tool, call, ul.ToolContext("c1", tool.name)), ado)
            out.append(item["output"])
        return out

    assert asyncio.run(main()) == ["there", "here"]
    assert threads[-1] is not threading.main_thread()


def test_a_tool_of_free_text() -> None:
    @ul.tool(format={"type": "grammar", "syntax": "lark", "definition": "start: /.+/"})
    def shell(command: str) -> str:
        """Run it."""
        return command.upper()

    assert shell.definition() == {
        "type": "custom",
        "name": "shell",
        "description": "Run it.",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
    }
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": "ls"}
    item = drive(answering(shell, call, ul.ToolContext("c1", "shell")), do)
    assert item == {"type": "custom_tool_call_output", "call_id": "c1", "output": "LS"}


# ---- what they give back --------------------------------------------------------------------------------------------


@dataclass
class Point:
    x: int


class Picture:
    def _repr_png_(self) -> bytes:
        return PNG


URL = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ("text", "text"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        ({"a": [1, 2.5]}, '{"a":[1,2.5]}'),
        ([1, "x"], '[1,"x"]'),
        ([], "[]"),
        (Place(lat=1, lon=2.5), '{"lat":1.0,"lon":2.5}'),
        (Point(2), '{"x":2}'),
        (date(2026, 1, 2), '"2026-01-02"'),
        ({"when": date(2026, 1, 2)}, '{"when":"2026-01-02"}'),
        (PNG, [{"type": "input_image", "image_url": URL}]),
        (Picture(), [{"type": "input_image", "image_url": URL}]),
        (image(PNG, detail="low"), [{"type": "input_image", "image_url": URL, "detail": "low"}]),
        (image("https://x/y.png"), [{"type": "input_image", "image_url": "https://x/y.png"}]),
        (
            file(b"%PDF", filename="a.pdf"),
            [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}],
        ),
        (file("https://x/y.pdf"), [{"type": "input_file", "file_url": "https://x/y.pdf"}]),
        (["look:", PNG, {"n": 1}], [
            {"type": "input_text", "text": "look:"},
            {"type": "input_image", "image_url": URL},
            {"type": "input_text", "text": '{"n":1}'},
        ]),
        (ul.InputText(text="hi"), [{"type": "input_text", "text": "hi"}]),
    ],
)  # fmt: skip
def test_results(value: Any, output: Any) -> None:
    @ul.tool
    def give() -> Any:
        """Give."""
        return value

    assert called(give, "{}") == {"type": "function_call_output", "call_id": "c1", "output": output}


def test_a_path_is_the_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.csv").write_bytes(b"1,2")

    @ul.tool
    def give(name: str) -> Path:
        """Give."""
        return tmp_path / name

    assert called(give, '{"name": "a.png"}')["output"] == [{"type": "input_image", "image_url": URL}]
    csv = {"type": "input_file", "filename": "b.csv", "file_data": "data:text/csv;base64,MSwy"}
    assert called(give, '{"name": "b.csv"}')["output"] == [csv]
    assert called(give, '{"name": "c.csv"}')["is_error"] is True
