"""Reports as text: like losses are one row, lines fit the terminal, and what is piped is a line for each row."""

from __future__ import annotations

import io
import os
import pty
import sys

import pytest
from rich.cells import cell_len

import unified_llm as ul
from counting import lines
from unified_llm.foundation.terminal import columns
from unified_llm.losses import Loss, Losses

MANY = Losses(
    [
        Loss("/metadata/request", "metadata", "lost", "b has no such metadata"),
        *(Loss(f"/tools/{number}/strict", "tools.strict", "lost", "b has no strict flag") for number in range(50_000)),
        Loss("/input/3/content/" + "very_long_key_" * 12, "image.input", "lost", "b takes no image " + "at all " * 20),
        Loss("/max_tokens", "output.max_tokens", "added", "b requires it", "target"),
    ]
)


def test_losses_that_are_alike_are_one_row() -> None:
    text = MANY.table(width=100)
    assert "/tools/*/strict" in text and text.count("strict flag") == 1
    assert "(50000 times)" in MANY.table(width=0) and "(in output)" in MANY.table(width=0)
    assert lines(lambda: MANY.table(width=100)) < 100 * len(MANY)  # with one row each it is a thousand for each
    groups = MANY.grouped()
    assert [(group.size, group.severity) for group in groups] == [
        (1, "high"),
        (50_000, "medium"),
        (1, "low"),
        (1, "low"),
    ]
    assert sum(group.size for group in groups) == len(MANY) and groups[1].first in MANY


def test_what_differs_in_more_than_an_index_is_not_alike() -> None:
    one = Loss("/tools/0/strict", "tools.strict", "lost", "x")
    for other in (one._replace(path="/tools/0/name"), one._replace(detail="y"), one._replace(fate="approximated")):
        assert len(Losses([one, other]).grouped()) == 2
    assert [group.path for group in Losses([one, one._replace(path="/tools/1/strict")]).grouped()] == [
        "/tools/*/strict"
    ]


@pytest.mark.parametrize("width", [30, 60, 79, 80, 100, 160])
def test_lines_fit_the_width(width: int) -> None:
    for text in (MANY.table(width=width), Losses(MANY[:1]).table(width=width)):
        # A word that has no place to break may be longer, in the narrow form.
        assert all(cell_len(line) <= width for line in text.split("\n") if width >= 80 or " " in line.strip())


def test_the_whole_text_is_shown_whatever_the_width() -> None:
    for width in (0, 30, 80, 120):
        shown = "".join(MANY.table(width=width).replace("│", "").split())
        assert "b takes no image".replace(" ", "") in shown and "bhasnosuchmetadata" in shown


def test_without_a_terminal_each_row_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    head, names, *rows = str(MANY).split("\n")
    assert head == "50003 losses: 1 high, 50000 medium, 2 low"
    assert names.split() == ["severity", "path", "capability", "fate", "detail"]
    assert len(rows) == 4 and not {*str(MANY)} & {*"│┃━"}


def test_columns_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    left, right = pty.openpty()
    with os.fdopen(left, "rb"), os.fdopen(right, "w") as there:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(there.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 30, 91, 0, 0))
        assert columns(there) == 91
        monkeypatch.setenv("COLUMNS", "64")
        assert columns(there) == 64
        monkeypatch.setenv("COLUMNS", "wide")
        assert columns(there) == 91
    monkeypatch.setenv("COLUMNS", "64")
    assert columns(io.StringIO()) == 0


def test_without_rich_there_are_plain_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    body = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": "Hi"}]}
    text = ul.preview(body, source="openai-chat", target="anthropic-messages").table(width=100)
    assert text.split("\n")[1].split() == ["severity", "path", "capability", "fate", "detail"]


def test_a_long_report_says_how_much_is_left_out() -> None:
    losses = Losses(
        Loss(f"/metadata/key_{chr(97 + number % 26) * number}", "metadata", "lost", "x") for number in range(300)
    )
    for width in (0, 60, 100):
        text = losses.table(width=width)
        assert text.endswith("... and 200 more kinds of losses; .to_json() lists all")
        assert "more kinds" not in losses.table(width=width, limit=None)
