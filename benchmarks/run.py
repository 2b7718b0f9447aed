"""Print one table: what converting costs, ours and others', as multiples of parsing and printing the same bytes.

    python benchmarks/run.py [--quick] [--only GLOB] [--rounds N] [--json FILE] [--write docs/performance.md] [--check]
                             [--sdks PYTHON]

`floor` is `orjson.loads` + `orjson.dumps` of the same bytes in the same process; every other figure is bytes in to
bytes out, the loss report read to its end, as a multiple of it. The rows about start-up (`startup`, see `startup.py`),
about short documents (`recorded-*`, see `recorded.py`), about calls (`client-*`, see `calls.py`) and about gateways
(`gateway-*`, see `gateways.py`) have tables of their own, and so has `growth`: exponents of time over size (see
`complexity.py`). What cannot be measured has the reason in its cell.
`--check` exits 1 when one of our rows is over its budget, or an exponent over its limit.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

# The folder of this script holds a profile.py, which must not stand in for the standard library's.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks import calls, complexity, gateways, losscount, measure, recorded, silence, startup  # noqa: E402
from benchmarks.contenders import Contender, Floor, Ours, Unsupported  # noqa: E402
from benchmarks.peers import CONTENDERS  # noqa: E402
from benchmarks.workloads import workloads  # noqa: E402

Row = dict[str, Any]
Results = dict[str, Any]
Table = tuple[list[str], list[list[str]], list[str]]
IMPORT_BUDGET_MS, SIZE_BUDGET_MB = 60.0, 25.0
MARKS = "<!-- {}:begin -->", "<!-- {}:end -->"


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    contenders = [make() for make in CONTENDERS]
    results = measured(contenders, options)
    _print(results)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    if options.write:
        _write(Path(options.write), results)
    over = [row["label"] for row in _budgeted(results) if row["met"] is False]
    over += [each.name for each in results["growth"] if each.error or (each.exponent or 0.0) > complexity.LIMIT]
    return 1 if options.check and over else 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What converting costs, ours and others', in one table.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and rows: about twenty seconds")
    parser.add_argument(
        "--only",
        metavar="GLOB",
        default="*",
        help="rows by name: 'stream-*', 'recorded-*', 'startup', 'client-*', 'gateway-*', 'growth'",
    )
    parser.add_argument("--rounds", type=int, help="rounds to take the least of (default 15; 5 with --quick)")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    parser.add_argument(
        "--write", metavar="FILE", help="put what was measured between its markers in this Markdown file"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when one of our rows is over its budget")
    here = sys.executable
    parser.add_argument("--sdks", metavar="PYTHON", default=here, help="an interpreter with the newest official SDKs")
    return parser.parse_args(argv)


def measured(contenders: list[Contender], options: argparse.Namespace) -> Results:
    """Every row, with the ratios to its floor, and a reason where there is none."""
    rounds = options.rounds or (5 if options.quick else 15)
    everybody: list[Contender] = [Floor(), *contenders]
    chosen = [work for work in workloads(options.quick) if fnmatch.fnmatch(work.name, options.only)]
    rows: list[Row] = []
    processes: list[Row] = []
    with measure.quiet_process():
        for n, work in enumerate(chosen):
            _progress(f"{n + 1}/{len(chosen)} {work.label}")
            found = measure.fastest(work, everybody, rounds, 0.004 if options.quick else 0.01)
            base = float(found.pop(Floor.title))
            figures = {name: value / base if isinstance(value, float) else value for name, value in found.items()}
            size = {"floor_us": base * 1e6, "bytes": len(work.body)}
            rows.append(_row(work.name, work.label, "×", figures, work.budget, **size))
        if fnmatch.fnmatch("silent", options.only):
            _progress("leaves lost and not reported")
            rows += _loss_rows(contenders)
    if fnmatch.fnmatch("import", options.only):
        _progress("import time")
        spent = measure.import_ms(contenders, rounds)
        first = {Ours.title: spent.pop("first conversion", "not installed")}
        rows.append(_row("import", "import, over bare Python", "ms", spent, IMPORT_BUDGET_MS))
        rows.append(_row("import-convert", "import and a first conversion", "ms", first, None))
    if fnmatch.fnmatch("startup", options.only):
        _progress("start-up time")
        processes = startup.rows(options.rounds or (5 if options.quick else startup.RUNS))
    if fnmatch.fnmatch("size", options.only):
        sizes = measure.installed_mb(contenders)
        alone = {Ours.title: sizes.pop("unified_llm alone", "not installed")}
        rows.append(_row("size", "installed, with dependencies", "MB", sizes, SIZE_BUDGET_MB))
        rows.append(_row("size-alone", "installed, without them", "MB", alone, None))
    told: list[Row] = []
    if fnmatch.fnmatch("silence", options.only):
        # One column a library: its other ways of being called lose the same.
        told = silence.rows([each for each in contenders if "," not in each.title], options.quick, _progress)
    pythons = {"sdks": options.sdks, "peers": sys.executable}
    short = recorded.measured(contenders, options.only, options.quick, 4 if options.quick else 24, _progress)
    called = calls.measured(options.only, options.quick, rounds, 0.01 if options.quick else 0.03, pythons, _progress)
    served = gateways.measured(options.only, options.quick, options.rounds or (1 if options.quick else 3), _progress)
    growth: list[complexity.Growth] = []
    if fnmatch.fnmatch("growth", options.only):
        growth = complexity.sampled(1000 if options.quick else 8000, _progress)
    _progress("")
    versions = {c.title: c.version if c.version is not None else c.absent for c in contenders}
    return {
        "rows": rows, "startup": processes, "short": short, "silence": told, "calls": called, "gateways": served,
        "growth": growth, "versions": versions, "rounds": rounds, "contenders": [c.title for c in contenders],
        "python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }  # fmt: skip


def _row(name: str, label: str, unit: str, figures: dict[str, Any], budget: float | None, **more: Any) -> Row:
    ours = figures.get(Ours.title)
    met = ours <= budget if budget is not None and isinstance(ours, float) else None
    return {"name": name, "label": label, "unit": unit, "figures": figures, "budget": budget, "met": met, **more}


def _loss_rows(contenders: list[Contender]) -> list[Row]:
    silent: dict[str, Any] = {}
    reported: dict[str, Any] = {}
    leaves = len(losscount.marked_request()[1])
    for contender in contenders:
        try:
            found = losscount.count(contender)
            silent[contender.title], reported[contender.title] = float(len(found.silent)), float(found.reported)
        except Unsupported as reason:
            silent[contender.title] = reported[contender.title] = str(reason)
        except Exception as error:
            silent[contender.title] = reported[contender.title] = f"fails: {type(error).__name__}: {error}"[:200]
    label = f"of {leaves} leaves of the 50-turn request, "
    return [
        _row("silent", label + "lost and not reported", "", silent, 0.0),
        _row("reported", label + "lost and reported", "", reported, None),
    ]


# --- printing -------------------------------------------------------------------------------------------------------


def _figure(row: Row, value: float | str | None, notes: dict[str, None]) -> str:
    if isinstance(value, float):
        digits = 0 if row["unit"] == "" or value >= 100 else 1
        return f"{value:.{digits}f}{'×' if row['unit'] == '×' else ''}"
    if value is None:
        return "–"
    if value == "not installed":
        return value
    notes.setdefault(str(value))
    return f"[{list(notes).index(str(value)) + 1}]"


def _cells(results: Results) -> tuple[list[str], list[list[str]], list[str]]:
    """The header, the rows and the footnotes, as text."""
    notes: dict[str, None] = {}
    titles = results["contenders"]
    head = ["", "floor", *titles, "budget"]
    lines = []
    for row in results["rows"]:
        base = f"{row['floor_us']:.2f} µs" if row.get("floor_us") else row["unit"]
        figures = [_figure(row, row["figures"].get(title), notes) for title in titles]
        budget = "" if row["budget"] is None else f"≤ {row['budget']:g}"
        budget += {True: " met", False: " OVER", None: ""}[row["met"]]
        lines.append([row["label"], base, *figures, budget])
    return head, lines, [f"[{n}] {note}" for n, note in enumerate(notes, 1)]


def _closing(results: Results) -> list[str]:
    """What the table was made for, in words."""
    out = []
    row = next((row for row in results["rows"] if row["name"] == "request-50-back"), None)
    ours = row["figures"].get(Ours.title) if row else None
    if row and isinstance(ours, float):
        said = [
            f"{title} takes {value / ours:.1f} times as long"
            for title, value in row["figures"].items()
            if isinstance(value, float) and title != Ours.title
        ]
        out.append("; ".join([f"The reference request, there and back: {ours:.1f} times the floor", *said]) + ".")
    named = {title.split(",")[0]: version for title, version in results["versions"].items()}
    out.append("; ".join(f"{title} {version}" for title, version in named.items()) + ".")
    return [*out, f"{_machine(results)}; least of {results['rounds']} interleaved rounds in one process."]


def _machine(results: Results) -> str:
    return f"CPython {results['python']}, {results['system']}, {results['cores']} cores, load {results['load']}"


def _blocks(results: Results) -> dict[str, tuple[list[Table], list[str]]]:
    """What was measured, by the name of its place in the page: tables with their notes, and the words below them."""
    out: dict[str, tuple[list[Table], list[str]]] = {}
    tables = [_cells(results)] if results["rows"] else []
    if results["silence"]:
        titles = [title for title in results["contenders"] if "," not in title]
        tables.append(silence.cells(results["silence"], titles))
    if tables:
        out["results"] = tables, _closing(results)
    if results["startup"]:
        closing = [startup.closing(results["startup"]), f"{_machine(results)}."]
        out["startup"] = [startup.cells(results["startup"])], closing
    if results["short"]:
        closing = [recorded.closing(), f"{_machine(results)}."]
        out["short"] = [recorded.cells(results["short"], results["contenders"])], closing
    if results["calls"]["rows"]:
        called = results["calls"]
        out["calls"] = [calls.cells(called["rows"])], [calls.closing(called), f"{_machine(results)}."]
    if results["gateways"]["rows"]:
        served = results["gateways"]
        out["gateways"] = [gateways.cells(served["rows"])], [gateways.closing(served), f"{_machine(results)}."]
    if results["growth"]:
        over = [each for each in results["growth"] if (each.exponent or 0.0) > complexity.LIMIT]
        closing = f"{len(results['growth'])} series, {len(over)} over {complexity.LIMIT:g}."
        out["growth"] = [complexity.cells(results["growth"])], [closing, f"{_machine(results)}."]
    return out


def _budgeted(results: Results) -> list[Row]:
    plain = [*results["rows"], *results["startup"], *results["short"]]
    return [*plain, *results["calls"]["rows"], *results["gateways"]["rows"]]


def _print(results: Results) -> None:
    over = {row["label"] for row in _budgeted(results) if row["met"] is False}
    for tables, closing in _blocks(results).values():
        for head, lines, notes in tables:
            _print_table(head, lines, notes, over)
        print("\n".join(closing))


def _print_table(head: list[str], lines: list[list[str]], notes: list[str], over: set[str]) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
        for line in [head, *lines]:
            print("  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]))
        print("\n".join(notes))
        return
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200)
    table = Table(header_style="bold")
    for k, title in enumerate(head):
        widest = max((len(line[k]) for line in lines), default=0)
        table.add_column(title, justify="left" if k == 0 else "right", min_width=widest)
    for line in lines:
        table.add_row(*line, style="red" if line[0] in over else None)
    # A terminal that is too narrow wraps the lines; it must not lose a column.
    console.width = max(console.width, console.measure(table, options=console.options.update(width=1000)).maximum)
    console.print(table, crop=False)
    for note in notes:
        console.print(note, soft_wrap=True)


def _write(path: Path, results: Results) -> None:
    """Put what was measured between its markers, and leave the rest; a file without them is an error, and stays."""
    text = path.read_text()
    for name, (tables, closing) in _blocks(results).items():
        begin, end = (mark.format(name) for mark in MARKS)
        if begin not in text or end not in text:
            raise SystemExit(f"{path} has no {begin} ... {end}")
        block = [begin, ""]
        for head, lines, notes in tables:
            block += ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
            block += ["| " + " | ".join(line) + " |" for line in lines]
            block += ["", *(f"{note}  " for note in notes), ""]
        before, after = text.split(begin)[0], text.split(end, 1)[1]
        text = before + "\n".join([*block, *closing, "", end]) + after
    path.write_text(text)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
