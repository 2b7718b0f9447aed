"""`unified-llm matrix` and `unified-llm drift ...`: the matrix, the lock file and the official SDKs.

Results go to stdout, remarks to stderr. Exit codes: 0 as it should be, 1 something drifted, 2 bad usage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..foundation.errors import UnifiedLLMError
from ..foundation.json_codec import dump
from ..foundation.terminal import draw, fail

if TYPE_CHECKING:
    from .layout import Matrix

__all__ = ["drift", "matrix"]

Glob = Annotated[str, typer.Argument(help="a glob of capabilities, e.g. 'reasoning.*'", metavar="[GLOB]")]
Name = "a protocol[:dialect], * for every protocol, protocol:* for its dialects"

drift: typer.Typer = typer.Typer(
    no_args_is_help=True, help="Compare what is carried with the lock file, or SDKs with the adapters."
)


def matrix(
    capabilities: Glob = "*",
    source: Annotated[str | None, typer.Option("--from", help=Name, metavar="PROTOCOL")] = None,
    target: Annotated[str | None, typer.Option("--to", help=Name, metavar="PROTOCOL")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="request, response, stream or error; repeatable")] = None,
    model: Annotated[str, typer.Option(help="the target's model, where the profiles differ by model")] = "",
    fate: Annotated[list[str] | None, typer.Option(help="only rows with this fate in them; repeatable")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="every cell as JSON")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="a table in Markdown")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="a heat map as one HTML page")] = False,
) -> None:
    """Measure what is carried: without --from per protocol, with it from a source to the other protocols."""
    from . import layout
    from .observe import OBSERVED
    from .probing import KINDS
    from .render import html, markdown

    for name in fate or ():
        if name not in OBSERVED:
            fail(f"{name!r} is not a fate; choose one of: {', '.join(OBSERVED)}")
    try:
        found = layout.matrix(source, target, kind or KINDS, capabilities, model)
    except (UnifiedLLMError, ValueError) as error:
        fail(error)
    if fate:
        kept = {key.capability for key, cell in found.cells.items() if cell.fate in fate}
        cells = {key: cell for key, cell in found.cells.items() if key.capability in kept}
        found = layout.Matrix(found.columns, found.kinds, cells)
    if as_json:
        sys.stdout.flush()
        sys.stdout.buffer.write(dump(found.to_json()) + b"\n")
    elif as_html:
        print(html(found), end="")
    elif as_markdown:
        print(markdown(found))
    else:
        _print(found)


_COLORS = {
    "native": "green",
    "emulated": "green",
    "approximated": "yellow",
    "parked": "cyan",
    "lost": "red",
    "refused": "red",
    "denied": "bold magenta",
    "silent": "bold magenta",
    "broken": "bold magenta",
}


_MANY = 8


def _print(found: Matrix) -> None:
    """A table in words; of many columns, one in marks, with numbered heads."""
    from rich.table import Table
    from rich.text import Text

    from .layout import table
    from .render import MARKS, legend

    shown = table(found)
    many = len(found.columns) > _MANY
    printed = Table(padding=(0, 0) if many else (0, 1))
    for number, head in enumerate(shown.head):
        printed.add_column(str(number) if many and number else head, overflow="fold")
    for row in shown.rows:
        cells = [Text(cell, style=_COLORS.get(cell, "")) for cell in row[1:]]
        if many:
            # "~" where the kinds differ.
            cells = [Text(MARKS.get(cell, "~"), style=_COLORS.get(cell, "yellow")) for cell in row[1:]]
        printed.add_row(row[0], *cells)
    draw(printed)
    if many:
        print("\n".join(f"{number}: {head}" for number, head in enumerate(shown.head) if number))
        print(legend() + "\n- `~` not the same for every kind of document (--kind)")
    sys.stdout.flush()
    for each in found.columns if not many else ():
        counts = ", ".join(f"{count} {fate}" for fate, count in found.counts(each).items() if fate != "-")
        print(f"{each.title}: {counts or 'no cells'}", file=sys.stderr)


@drift.command()
def lock(
    path: Annotated[Path, typer.Argument(help="the lock file")] = Path("capabilities.lock.json"),
    update: Annotated[bool, typer.Option("--update", help="rewrite the lock file")] = False,
) -> None:
    """Compare what is carried today with a lock file; exit code 1 where it differs."""
    from .lock import Lock, format_changes

    try:
        locked = Lock.read(path) if path.exists() or not update else Lock()
    except OSError as error:
        fail(f"{path}: {error.strerror}; --update makes one")
    except ValueError as error:
        fail(error)
    observed = locked.observed()
    changes = locked.changes(observed)
    if changes:
        print(format_changes(changes))
    print(f"{len(observed)} cells checked, {len(changes)} differ", file=sys.stderr)
    if update:
        locked.renewed(observed).write(path)
    elif changes:
        raise typer.Exit(1)


@drift.command()
def sdk(
    protocol: Annotated[list[str] | None, typer.Argument(help="by default all whose SDK is installed")] = None,
    path: Annotated[Path | None, typer.Option(help="look at the SDK in this folder (pip install --target)")] = None,
    since: Annotated[Path | None, typer.Option(help="compare with the SDK in this folder instead")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="every difference as JSON")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="pin what is declared, when all of it is classified")
    ] = False,
) -> None:
    """Compare what the official SDKs declare with what the adapters support; exit code 1 where they differ."""
    from ..engine.sdk_declarations import pin
    from . import sdk as found

    try:
        if update:
            for each in found.everything(protocol or None, path):
                pin(each)
                print(f"pinned: {each.protocol}, {each.sdk}", file=sys.stderr)
            return
        told = found.drifted(protocol or None, path, since)
    except (ImportError, UnifiedLLMError) as error:
        fail(error)
    if not told:
        fail(f"no SDK of a protocol is {'installed' if path is None else f'in {path}'}")
    if as_json:
        sys.stdout.flush()
        sys.stdout.buffer.write(
            dump([{"sdk": one.sdk, **each._asdict()} for one, differences in told for each in differences]) + b"\n"
        )
    for one, differences in told if not as_json else ():
        print(f"{one.protocol}: {one.sdk}, {len(differences) or 'no'} differences")
        for difference in differences:
            print(f"  {difference}")
    if any(differences for _, differences in told):
        raise typer.Exit(1)
