"""The examples of the client run, and show what they are there to show."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import unified_llm as ul

EXAMPLES = Path(__file__).parents[2] / "examples"


def shown(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXAMPLES / name))["main"]([])
    return capsys.readouterr().out.splitlines()


def test_one_tool_is_called_over_every_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("one_tool_every_provider.py", capsys)
    heads = [line for line in lines if line.startswith("local/echo over ")]
    assert len(heads) == len(ul.protocols())
    assert all(line.endswith(": Take an umbrella to Oslo.") for line in heads)
    assert lines.count('  {"city":"Rome","days":1,"temperature":21}') == len(heads)


def test_a_conversation_moves_at_every_turn(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("moving_conversation.py", capsys)
    assert [line.split("   [")[0] for line in lines] == [
        "1. It is warm in Oslo.",
        "2. As warm as in Oslo.",
        "3. Pack for summer.",
        "4. It is warm in Oslo.",
        "5. As warm as in Oslo.",
        "6. Pack for summer.",
    ]
    assert {line.split("   [")[1].split(",")[0] for line in lines} == set(ul.protocols())


def test_structured_output_is_the_same_model_by_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("structured_output.py", capsys)
    assert [line.split()[:2] for line in lines] == [
        [protocol, strategy] for protocol in ul.protocols() for strategy in ("native", "tool")
    ]
    assert all("Recipe(title=" in line for line in lines)
