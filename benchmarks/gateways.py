"""What a request and an event cost a gateway: processor time of its process, as multiples of a bare proxy's.

The floor is uvicorn and aiohttp with nothing between them (`gateway_raw.py`). Every gateway is the command that its
users start, with one worker, in front of one upstream that answers at once (`gateway_traffic.py`); its processor time
is read from the system before and after a load that another process sends, so that neither end is part of it. They
take turns, in shuffled order, and the least of all rounds counts. Throughput stands beside it: on a machine that is
shared it is what there was, not what there is. Durable events are ours alone: their figures are microseconds.
"""

from __future__ import annotations

import fnmatch
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.contenders import ROOT
from benchmarks.documents import chat_request
from benchmarks.gateway_peers import PEERS, Missing, Start

Json = dict[str, Any]
Progress = Callable[[str], None]
CHAT, MESSAGES = "gpt-4.1", "claude-opus-4-7"
RAW, OFF, ON = "raw proxy", "unified_llm", "unified_llm, all on"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
DATABASE = os.environ.get("UNIFIED_LLM_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
COLUMNS = (OFF, ON, *PEERS)
_WAIT = 60.0
_SPREAD = 3.0  # seconds
_SELDOM = 3  # rounds, of which other gateways take part in one: they take most of the time, and are far away
KEY = "ulk_of-the-benchmark"


class Row(NamedTuple):
    """One row: the requests, their server, how many, and what it may cost ours, as a multiple of the raw proxy."""

    name: str
    label: str
    model: str
    body: Json
    total: int
    connections: int = 16
    events: int = 0
    budget: float | None = None
    budget_on: float | None = None
    path: str = "/v1/chat/completions"
    alone: str = ""  # the server that a row is about, where there is none to compare it with
    spread: float = 0.0  # seconds in which the connections begin, one after the other


def rows(quick: bool) -> list[Row]:
    """The rows."""
    many = 500 if quick else 2_000
    short = {"messages": [{"role": "user", "content": "What is the capital of Norway? " * 4}]}
    sizes = {"0.2 KB": short, "12 tools": chat_request(1), "50 turns": chat_request(50)}
    found = []
    for place, (size, body) in enumerate(sizes.items()):
        name, count = ("short", "tools", "turns")[place], many // (1, 2, 4)[place]
        same = Row(f"gateway-pass-{name}", f"request, same protocol, {size}", CHAT, body, count, 16, 0, 1.25, 1.6)
        found += [same, Row(f"gateway-translate-{name}", f"request, Chat to Messages, {size}", MESSAGES, body, count)]
    for target, model, budgets in (("same protocol", CHAT, (1.25, 1.6)), ("Chat to Messages", MESSAGES, (None, None))):
        kind = "pass" if model == CHAT else "translate"
        label = f"an event, 20 streams of 200, {target}"
        streams = 40 if quick else 100
        found.append(Row(f"gateway-{kind}-stream", label, model, _streamed(200), streams, 20, 200, *budgets))
    slow = "n=20,gap=0.1" if quick else "n=100,gap=0.1"
    count = int(slow[2:].partition(",")[0])
    label = f"an event, 1,000 streams at once, {count} events, 10 a second"
    found.append(Row("gateway-many", label, MESSAGES, _streamed(slow), 1_000, 1_000, count))
    for kind in (SQLITE, POSTGRES):
        name, path = f"gateway-durable-{kind.lower()}", "/v1/responses"
        label = f"a durable event, 20 runs of 200, {kind}"
        found.append(Row(name, label, MESSAGES, _run("n=200"), 40, 20, 200, 80.0, None, path, kind))
        size = 100 if quick else 1_000
        label = f"a durable event, {size:,} runs of {count}, 10 a second, {kind}"
        budget = None if quick else 120.0  # of so many runs and events: in shorter ones, beginning them is what counts
        for end, how, spread in (("", "", 0.0), ("-spread", f", begun within {_SPREAD:g} s", _SPREAD)):
            row = Row(
                f"{name}-many{end}", label + how, MESSAGES, _run(slow), size, size, count, budget, None, path, kind
            )
            found.append(row._replace(spread=spread))
    return found


def _streamed(asked: Any) -> Json:
    asked = asked if isinstance(asked, str) else f"n={asked}"
    return {"stream": True, "messages": [{"role": "user", "content": f"Count. @{asked}@"}]}


def _run(asked: str) -> Json:
    return {"stream": True, "background": True, "input": f"Count. @{asked}@"}


class Server:
    """A gateway in a process of its own."""

    def __init__(self, title: str, command: list[str], env: Json, log: Path, port: int = 0) -> None:
        self.title = title
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE if not port else file, stderr=file, stdin=subprocess.DEVNULL,
                env={**os.environ, **env}, cwd=log.parent, start_new_session=True,
            )  # fmt: skip
        try:
            self.port = port or self._told()
            self._listening(log)
        except Missing:
            self.close()
            raise

    def _told(self) -> int:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if not line.strip().isdecimal():
            raise Missing(f"did not start: {line.strip()}")
        return int(line)

    def _listening(self, log: Path) -> None:
        end = time.monotonic() + _WAIT
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.5):
                return
            if self.process.poll() is not None:
                raise Missing(f"did not start: {' '.join(log.read_text(errors='replace').split())[-160:]}")
            time.sleep(0.05)
        raise Missing("did not start")

    def cpu(self) -> float:
        """Seconds of the processor so far, of its children too."""
        children: dict[int, list[int]] = {}
        for each in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                parent = int(each.read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(each.parent.name))
        total, family = 0, [self.process.pid]
        while family:
            pid = family.pop()
            family += children.get(pid, [])
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with suppress(OSError):
                    total += int(task.read_text().split()[0])
        return total / 1e9

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def upstream(scratch: Path) -> Iterator[str]:
    """The URL of the upstream."""
    command = [sys.executable, str(ROOT / "benchmarks" / "gateway_traffic.py"), "upstream"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


@contextmanager
def _database() -> Iterator[dict[str, str]]:
    """An empty database on PostgreSQL; yields the reason where there is none."""
    global DATABASE
    name = f"unified_llm_bench_{os.getpid()}"
    given, DATABASE = DATABASE, f"{DATABASE.rpartition('/')[0]}/{name}"
    script = (
        "import asyncio, asyncpg, sys\n"
        "async def run():\n"
        "    connection = await asyncpg.connect(sys.argv[1], timeout=3)\n"
        "    await connection.execute(sys.argv[2])\n"
        "    await connection.close()\n"
        "asyncio.run(run())\n"
    )

    def execute(statement: str) -> bool:
        return subprocess.run([sys.executable, "-c", script, given, statement], capture_output=True).returncode == 0

    try:
        made = execute(f"CREATE DATABASE {name}")
        yield {} if made else {POSTGRES: f"no PostgreSQL at {given.rpartition('@')[2]}"}
        if made:
            execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        DATABASE = given


def load(job: Json) -> Json:
    """What a load came to. Raises `Missing`."""
    command = [sys.executable, str(ROOT / "benchmarks" / "gateway_traffic.py"), "load"]
    done = subprocess.run(command, input=json.dumps(job).encode(), capture_output=True)
    if done.returncode:
        raise Missing(done.stderr.decode(errors="replace").strip()[-160:])
    found: Json = json.loads(done.stdout)
    return found


def _ours(url: str, scratch: Path, *, everything: bool = False, database: str = "sqlite://") -> list[str]:
    lines = ["[gateway]", 'listen = "127.0.0.1:{port}"', "providers = []", "max_parallel = 2000"]
    lines += ["[state]", f'url = "{database}"']
    for name, model, protocol in (("chat", CHAT, "openai-chat"), ("messages", MESSAGES, "anthropic-messages")):
        lines += [f"[upstreams.{name}]", f'base_url = "{url}/v1"', f'model = "{model}"', f'protocol = "{protocol}"']
        lines += ['key_env = "BENCHMARK_KEY"']
    lines += ["[models]", f'"{CHAT}" = "chat"', f'"{MESSAGES}" = "messages"']
    log = json.dumps(str(scratch / "requests.log")) if everything else '"off"'
    lines += ["[telemetry]", f"metrics = {str(everything).lower()}", f"log = {log}", f"keep = {1_000 * everything}"]
    if everything:
        from hashlib import sha256

        digest = sha256(KEY.encode()).hexdigest()
        lines += ["[keys.team]", f'sha256 = "{digest}"', 'limits = ["1000000/minute", "2000 parallel"]']
    file = scratch / f"gateway-{len(list(scratch.glob('*.toml')))}.toml"
    file.write_text("\n".join(lines) + "\n")
    return [sys.executable, "-c", "from unified_llm.cli import main; main()", "gateway", "--config", str(file)]


def started(title: str, url: str, scratch: Path) -> Server:
    """A gateway that listens. Raises `Missing`."""
    log = scratch / f"{title.replace(' ', '-')}.log"
    env = {"BENCHMARK_KEY": "sk-of-the-benchmark"}
    if title == RAW:
        return Server(title, [sys.executable, str(ROOT / "benchmarks" / "gateway_raw.py"), url], env, log)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    if title in (OFF, ON, SQLITE, POSTGRES):
        databases = {SQLITE: f"sqlite:///{scratch / 'gateway.db'}", POSTGRES: DATABASE}
        command = _ours(url, scratch, everything=title == ON, database=databases.get(title, "sqlite://"))
        file = Path(command[-1])
        file.write_text(file.read_text().replace("{port}", str(port)))
    else:
        begin: Start = PEERS[title](url, scratch, port, {"chat": CHAT, "messages": MESSAGES})
        command, env = begin.command, {**env, **begin.env}
    return Server(title, command, env, log, port)


def asked(server: Server, row: Row, total: int | None = None) -> Json:
    """One load: microseconds of the server's processor for a request or an event, and what the load saw."""
    body = json.dumps({**row.body, "model": row.model})
    job = {
        "port": server.port, "path": row.path, "headers": {"authorization": f"Bearer {KEY}"},
        "body": body, "total": total or row.total, "connections": row.connections, "events": row.events,
        "patience": 120, "spread": row.spread,
    }  # fmt: skip
    before = server.cpu()
    found = load(job)
    spent = server.cpu() - before
    count = found["events"] if row.events else found["answers"]
    if found["failed"] or not count:
        raise Missing(f"{found['failed'] or found['lost']} of {job['total']} requests failed")
    return {**found, "us": spent / count * 1e6, "per_s": found["events_per_s" if row.events else "per_s"]}


def measured(only: str, quick: bool, rounds: int, progress: Progress) -> Json:
    """Every chosen row: microseconds of the raw proxy, and the others as multiples of it."""
    chosen = [row for row in rows(quick) if fnmatch.fnmatch(row.name, only)]
    out: Json = {"rows": [], "rounds": rounds}
    if not chosen:
        return out
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(upstream(scratch))
        servers: dict[str, Server] = {}
        absent: dict[str, str] = {}
        wanted = dict.fromkeys(title for row in chosen for title in ((row.alone,) if row.alone else (RAW, *COLUMNS)))
        if POSTGRES in wanted:
            absent |= stack.enter_context(_database())
        for title in wanted:
            if title in absent:
                continue
            progress(f"starting {title}")
            try:
                servers[title] = started(title, url, scratch)
                stack.callback(servers[title].close)
            except Missing as reason:
                absent[title] = str(reason)
        for n, row in enumerate(chosen):
            progress(f"{n + 1}/{len(chosen)} {row.label}")
            out["rows"].append(_row(row, servers, absent, rounds))
    return out


def _row(row: Row, servers: dict[str, Server], absent: dict[str, str], rounds: int) -> Json:
    best: dict[str, Any] = dict(absent)
    incomplete: dict[str, int] = {}
    racing = [title for title in servers if (title == row.alone if row.alone else title in (RAW, *COLUMNS))]
    order = random.Random(row.name)
    for number in range(rounds + 1):
        order.shuffle(racing)
        for title in [each for each in racing if each not in PEERS or number % _SELDOM == min(number, 1)]:
            total = row.connections if number == 0 else row.total  # the first load only warms up
            try:
                found = asked(servers[title], row, total)
            except Missing as reason:
                best[title] = str(reason)
                racing.remove(title)
                continue
            incomplete[title] = incomplete.get(title, 0) + found["wrong"] + found["lost"]
            if number and (title not in best or found["us"] < best[title]["us"]):
                best[title] = found
    base = best[RAW]["us"] if isinstance(best.get(RAW), dict) else None
    figures: Json = {}
    if row.alone:
        best = {OFF: best.get(row.alone)}
        incomplete = {OFF: incomplete.get(row.alone, 0)}
    for title in COLUMNS:
        value = best.get(title)
        if isinstance(value, dict):
            value = {"cost": value["us"] / (base or 1.0), "per_s": value["per_s"], "late_s": value["late_s"]}
        figures[title] = value
    budgets = {OFF: row.budget, ON: row.budget_on}
    kept = [figures[t]["cost"] <= b for t, b in budgets.items() if b is not None and isinstance(figures[t], dict)]
    return {
        "name": row.name, "label": row.label, "floor_us": base, "figures": figures, "budgets": budgets,
        "floor_per_s": best[RAW]["per_s"] if base else None, "met": all(kept) if kept else None,
        "incomplete": {title: count for title, count in incomplete.items() if row.events and count},
    }  # fmt: skip


def cells(found: list[Json]) -> tuple[list[str], list[list[str]], list[str]]:
    """The header, the rows and the footnotes, as text."""
    notes: dict[str, None] = {}
    lines = []
    for row in found:
        base = f"{row['floor_us']:.0f} µs, {row['floor_per_s']:,.0f}/s" if row["floor_us"] else "–"
        figures = [_figure(row, title, notes) for title in COLUMNS]
        limits = [f"{limit:g}" for limit in row["budgets"].values() if limit is not None]
        budget = f"≤ {' / '.join(limits)}{' met' if row['met'] else ' OVER'}" if limits else ""
        lines.append([row["label"], base, *figures, budget])
    head = ["a gateway's processor time", RAW, *COLUMNS, "budget"]
    return head, lines, [f"[{n}] {note}" for n, note in enumerate(notes, 1)]


def _figure(row: Json, title: str, notes: dict[str, None]) -> str:
    value = row["figures"].get(title)
    if not isinstance(value, dict):
        if value is None:
            return "–"
        notes.setdefault(str(value))
        return f"[{list(notes).index(str(value)) + 1}]"
    broken = row["incomplete"].get(title)
    mark = f", {broken} streams incomplete" if broken else ""
    cost = f"{value['cost']:.2f}×" if row["floor_us"] else f"{value['cost']:.0f} µs"
    late = f", p99 {value['late_s'] * 1e3:.0f} ms" if value["late_s"] is not None else ""
    return f"{cost}, {value['per_s']:,.0f}/s{late}{mark}"


def closing(found: Json) -> str:
    """How it was measured."""
    return (
        f"Processor time of the server for a request or an event, the least of {found['rounds']} rounds (other "
        "gateways: of every third), and what a second came to in that round; p99 is how long events were on their way "
        "from the upstream to the client, for 99 of 100 at most; one worker, 16 connections (streams: 20, and 1,000), "
        "upstream and load on the same machine. All on: API keys, limits of requests, a request log in a file, "
        "metrics; else none of them."
    )
