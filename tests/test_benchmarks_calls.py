"""The rows of `make bench` about calls: every one runs, for everybody at hand, and no first text is kept waiting.

Nothing here looks at a clock. The processes are those that are measured, over real sockets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks import calls, run

pytestmark = pytest.mark.long

pytest.importorskip("openai")
pytest.importorskip("anthropic")

HERE = {"sdks": sys.executable, "peers": sys.executable}
ROWS = calls.rows(quick=False)


@contextmanager
def callers(scratch: Path) -> Iterator[dict[calls.Contender, calls.Process]]:
    with calls.serving(scratch) as port, ExitStack() as stack:
        spec = scratch / "spec.json"
        spec.write_bytes(orjson.dumps({**calls.spec(), "port": port}))
        found = {}
        for each in (calls.FLOOR, calls.BARE, calls.CLIENT, calls.UNDER):
            found[each] = calls.Process(each, sys.executable, spec)
            stack.callback(found[each].close)
        yield found


@pytest.mark.bench
def test_everybody_at_hand_runs_every_row(tmp_path: Path) -> None:
    # One test: each worker with some of the rows would start all of the processes, which import two SDKs.
    with callers(tmp_path) as processes:
        for row in ROWS:
            for contender in (calls.FLOOR, calls.BARE, row.ours):
                found = processes[contender].ask(row.job(contender), 1)
                assert "error" not in found, (row.name, contender, found)
                assert len(found["seconds"]) == 1, (row.name, contender)
                if row.form == "first":
                    # The server would have gone on only two seconds later.
                    assert found["early"] == 1, (row.name, contender)


def test_a_row_says_why_there_is_no_figure(tmp_path: Path) -> None:
    process = calls.Process(calls.Contender("floor", "sdks"), sys.executable, tmp_path / "there is no such file")
    try:
        assert process.absent.startswith("does not import: FileNotFoundError")
        assert process.ask("chat-chat-short-plain", 1) == {"error": process.absent}
    finally:
        process.close()


def test_overhead_is_what_is_left_above_the_floor() -> None:
    row = next(row for row in ROWS if row.name == "client-under-chat-messages-plain")
    # The SDK is measured on a server of its own, whose floor is another one.
    found = calls._row(
        row, {"floor": 5e-6, "base": 2e-6, calls.SDK: 12e-6, calls.OURS: 35e-6, "LiteLLM": "not installed"}
    )
    assert (found["floor_us"], found["sdk_us"]) == (pytest.approx(5), pytest.approx(10))
    assert found["figures"] == {calls.SDK: pytest.approx(1), calls.OURS: pytest.approx(3), "LiteLLM": "not installed"}
    assert (found["budget"], found["met"]) == (2.5, False)
    _, (line,), notes = calls.cells([found])
    assert line == [row.label, "5 µs", "10 µs", "3.0×", "not installed", "–", "–", "≤ 2.5 OVER"]
    assert notes == []


@pytest.mark.parametrize(("ours", "other", "met"), [(12e-6, 30e-6, True), (12e-6, 11e-6, False), (18e-6, 30e-6, False)])
def test_the_client_is_within_its_budget_and_below_the_others(ours: float, other: float, met: bool) -> None:
    row = next(row for row in ROWS if row.name == "client-chat-plain")
    found = calls._row(row, {"floor": 2e-6, "base": 2e-6, calls.SDK: 12e-6, calls.OURS: ours, "any-llm": other})
    assert (found["budget"], found["met"]) == (1.5, met)


class Given:
    """A process that starts nothing; of its first texts one waited."""

    absent, versions = "", {"python": "3"}

    def __init__(self, contender: calls.Contender, python: str, spec_file: Path) -> None:
        assert Path(spec_file).is_file()

    def ask(self, job: str, times: int) -> dict[str, Any]:
        return {"seconds": [1e-5] * times, "early": times - 1}

    def close(self) -> None:
        pass


def test_rows_are_chosen_by_name_and_go_to_their_place_in_the_page(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The processes are those of the first test.
    monkeypatch.setattr(calls, "Process", Given)
    page = tmp_path / "page.md"
    (begin, end), (other, last) = ([mark.format(name) for mark in run.MARKS] for name in ("calls", "results"))
    page.write_text(f"{other}\nstays\n{last}\n{begin}\nold\n{end}\nafter\n")
    run.main(["--only", "client-chat-first", "--rounds", "1", "--quick", "--write", str(page)])
    text = page.read_text()
    assert [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")] == [
        "a call's overhead",
        "chat: the first text of a stream",
        "first texts that waited for the event behind them",
    ]
    assert "old" not in text
    assert text.startswith(f"{other}\nstays\n{last}\n{begin}\n") and text.endswith(f"{end}\nafter\n")
    assert "chat: the first text of a stream" in capsys.readouterr().out
