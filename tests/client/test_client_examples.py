"""The examples of the client run, and show what they are there to show."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
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


def test_an_agent_moves_to_another_provider_half_way(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("trip_planner.py", capsys)
    assert lines[:3] == [
        "[get_weather {'city': 'Bergen'} -> 11 degrees, rain]",
        "[find_ferry {'origin': 'Bergen', 'destination': 'Stavanger'} -> 08:20 Bergen to Stavanger, 5 h 30 min]",
        "It rains in Bergen. A ferry to Stavanger leaves at 08:20.",
    ]
    growing = [line for line in lines if line.startswith("so far: Plan(")]
    assert len(growing) > 2 and "stops=[]" in growing[0] and "Stop(" in growing[-1]
    assert lines[-1].startswith("anthropic-messages, then google-generate-content; ")


def test_structured_output_is_the_same_model_by_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("structured_output.py", capsys)
    assert [line.split()[:2] for line in lines] == [
        [protocol, strategy] for protocol in ul.protocols() for strategy in ("native", "tool")
    ]
    assert all("Recipe(title=" in line for line in lines)


# ---- the agents of swap_providers, and the demo that shows them ----------------------------------------------------

AGENTS = EXAMPLES / "swap_providers"


def ran(*command: str) -> str:
    """What an example prints, started as its readers start it; the modules it shares are no modules of the tests."""
    done = subprocess.run([sys.executable, *command], cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["openai_agent.py", "anthropic_agent.py", "google_agent.py"])
@pytest.mark.parametrize("upstream", [(), ("local/echo:openai-chat",)], ids=["by default", "chosen"])
def test_an_agent_runs_over_another_provider(
    name: str, upstream: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process; the demo below starts all of them as its readers do."""
    monkeypatch.setattr(sys, "argv", [name, *upstream])
    monkeypatch.syspath_prepend(AGENTS)
    try:
        runpy.run_path(str(AGENTS / name), run_name="__main__")
    finally:
        sys.modules.pop("travel", None)  # what the agents share is not a module of the tests
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines] == [
        "thinks The weather there, and a ferry: two look-ups, at once.",
        "calls get_weather(Stavanger)",
        "gets 14 degrees, dry",
        "calls find_ferry(Bergen, Stavanger)",
        "gets 08:20 Bergen to Stavanger, 5 h 30 min",
        "thinks It is dry, so the ferry is worth it.",
        "says Take the ferry at 08:20. It is dry in Stavanger: no umbrella.",
    ]


@pytest.mark.parametrize("path", sorted(AGENTS.glob("*_agent.py")), ids=lambda path: path.stem)
def test_an_agent_knows_of_the_swap_in_one_place(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(re.findall(r"\bul\.\w+", text)) == 1
    assert len(re.findall(r"# was: \w+\.\w+\(\)$", text, re.MULTILINE)) == 1


def test_the_demo_shows_what_survived() -> None:
    out = ran(str(EXAMPLES / "demo.py"))
    for sdk in ("openai", "anthropic", "google-genai"):
        assert f"{sdk} SDK (" in out
    plain = " ".join(out.split())
    assert plain.count("says Take the ferry at 08:20. It is dry in Stavanger: no umbrella.") == 3
    assert out.count("word for word") == 3 and "not the original" not in out and "no signed reasoning" not in out
    rows = [line.split() for line in out.splitlines() if re.match(r"  \S+, \w+ +T", line)]
    assert len(rows) == 5
    # Chat signs no thoughts, so there are none to go home; everybody else's did.
    assert [[cell for cell in row if cell in "TCM·"] for row in rows] == [[*"TC·", *"TCM" * 4]] * 5
    assert [row.count("=") for row in rows] == [1] * 5


def test_the_demo_of_documents_loses_nothing_where_nothing_is_translated() -> None:
    out = ran(str(EXAMPLES / "demo.py"), "--traffic")
    assert "equal: True | losses: 0" in out
    assert out.count("A request from openai-chat to ") == len(ul.protocols())
