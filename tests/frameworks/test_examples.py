"""The examples run as they stand, against local/echo and against another upstream that is named."""

from __future__ import annotations

import pathlib
import re
import runpy
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "frameworks"
NEEDS = {
    "with_google_adk": "google.adk",
    "with_langchain_anthropic": "langchain_anthropic",
    "with_langchain_google": "langchain_google_genai",
    "with_langchain_openai": "langchain_openai",
    "with_openai_agents": "agents",
    "with_pydantic_ai": "pydantic_ai.models.anthropic",
}


def test_every_example_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NEEDS)


def test_the_page_names_every_example_and_shows_what_they_do() -> None:
    page = (ROOT / "docs" / "frameworks.md").read_text("utf-8")
    assert set(re.findall(r"examples/frameworks/(\w+)\.py", page)) == set(NEEDS)
    code = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    shown = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(shown) == len(NEEDS)
    for fence in shown:
        for name in re.findall(r"\b(?:\w+=|ul\.\w+|[A-Z]\w+(?=\())", fence):
            assert name in code, "the page does something that no example does"


@pytest.mark.parametrize("upstream", [None, "local/echo:openai-chat"])
@pytest.mark.parametrize("name", sorted(NEEDS))
def test_an_example(
    name: str, upstream: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed: make frameworks", exc_type=ImportError)
    monkeypatch.setattr(sys, "argv", [name, *([upstream] if upstream else [])])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    for words in ("> get_weather", "> get_time", "Rain in Oslo.", "Noon in Rome.", "Rain in Paris.", "did not survive"):
        assert words in said
