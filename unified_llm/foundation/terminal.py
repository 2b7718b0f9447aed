"""What is printed for people: text from elsewhere as a terminal may show it, tables that fit, and errors in one form.

A terminal obeys control characters: a text of a model, a server or a document could move the cursor, set the title, or
write over what stands there. They are shown as escapes; text that is piped is escaped too, since it may end in one.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from .command_words import command_words
from .errors import APIError, CapabilityLost
from .hints import rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

__all__ = ["any_text", "columns", "draw", "error_line", "fail", "failure", "plain_row", "printable", "read_input"]

# C0 but tab and line feed, DEL, C1, and what turns the direction of the text behind it.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with its control characters as escapes; line ends and tabs stay.

    >>> printable("a" + chr(27) + "[2Jb") == "a" + chr(92) + "x1b[2Jb"
    True
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def any_text() -> None:
    """Let standard output and input have any text: what their encoding has not is written as an escape, or read as
    a mark. Models answer in any language, and terminals and pipes of many systems have an encoding of their own.
    """
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stdin, "replace")):
        if getattr(stream, "errors", None) in ("strict", "surrogateescape"):
            stream.reconfigure(errors=errors)  # type: ignore[union-attr]


def plain_row(table: Table, *cells: Any) -> None:
    """Add a row to a table of rich, its strings as they are: `[bold]` in them is text."""
    from rich.text import Text

    table.add_row(*(Text(printable(each)) if isinstance(each, str) else each for each in cells))


def columns(stream: IO[str] | None = None) -> int:
    """How many columns the terminal behind a stream (standard output by default) has; 0 if it is none.

    `COLUMNS` where it is set, as for other programs. Other outputs have no width: other programs read it.
    """
    try:
        found = os.get_terminal_size((stream or sys.stdout).fileno()).columns
    except (OSError, ValueError, AttributeError):  # a file, a pipe, a stream in memory, none at all
        return 0
    named = os.environ.get("COLUMNS", "")
    return int(named) if named.isdigit() and int(named) else found


def draw(table: Table) -> None:
    """Print a table of rich on standard output: as wide as the terminal, and elsewhere with no line broken.

    Where the terminal is too narrow for whole words, each row is a paragraph.
    """
    from rich.console import Console
    from rich.measure import Measurement

    width = columns()
    if not width:
        table.box = None  # other programs read columns, not frames
    out = Console(width=width or _UNBROKEN, no_color=None if width else True)
    if width and Measurement.get(out, out.options.update(max_width=_UNBROKEN), table).minimum > width:
        print("\n".join(_paragraphs(table, width)))
    else:
        out.print(table)


_UNBROKEN = 100_000


def _paragraphs(table: Table, width: int) -> Iterator[str]:
    """The rows of a table as lines: the first cell, and indented the others with the names of their columns."""
    import textwrap
    from functools import partial

    wrapped = partial(textwrap.wrap, width=width, break_on_hyphens=False)
    names = [str(each.header) if table.show_header else "" for each in table.columns]
    if table.title is not None:
        yield from wrapped(str(table.title))
    for row in zip(*(each.cells for each in table.columns), strict=True):
        head, *cells = (", ".join(str(cell).split("\n")) for cell in row)
        told = "; ".join(
            f"{name}: {cell}" if name else cell for name, cell in zip(names[1:], cells, strict=True) if cell
        )
        if head:
            yield from wrapped(head)
        yield from wrapped(told, initial_indent="  ", subsequent_indent="  ")


def error_line(reason: str) -> str:
    """An error in the one form that all commands have.

    >>> error_line("no such\\nmodel")
    'unified-llm: no such model'
    """
    return printable(f"unified-llm: {' '.join(reason.split())}")


def failure(error: Exception) -> tuple[str, int]:
    """The reason and the exit code of a command that ends with this error.

    >>> failure(ValueError("an empty file"))
    ('an empty file', 2)
    """
    text = rendered(error, command_words())
    if isinstance(error, APIError):
        return f"{type(error).__name__}: {text}", 4
    return text, 3 if isinstance(error, CapabilityLost) else 2


def fail(reason: str | Exception, code: int = 2) -> NoReturn:
    """End a command with an error, on one line of stderr; an exception has its own exit code."""
    import typer

    if isinstance(reason, Exception):
        reason, code = failure(reason)
    reason = rendered(reason, command_words())
    sys.stdout.flush()
    print(error_line(reason), file=sys.stderr)
    raise typer.Exit(code)


def read_input(file: str) -> bytes:
    """The bytes of a file, or of standard input for `-`; with a prompt where a person has to type them."""
    if file != "-":
        return Path(file).read_bytes()
    if sys.stdin.isatty():
        print("reading standard input; end it with Ctrl-D, or give a FILE", file=sys.stderr)
    return sys.stdin.buffer.read()
