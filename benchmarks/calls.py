"""What a call costs through a client: the client's own part of it, as multiples of the official SDK's own part.

A small server on the loopback device gives canned answers, as events or whole. The floor is the same bytes sent and
received with the HTTP library alone, the answer parsed; what a call takes beyond that is the caller's overhead: of the
processor's time in its process, which no other process on a shared machine changes, and of the clock's for first texts.
Every caller is a process of its own, so that each has the releases it requires; they take turns, in shuffled order, and
the least of all calls counts, as everywhere on a machine that is shared.
"""

from __future__ import annotations

import fnmatch
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks import answers as said
from benchmarks import documents
from benchmarks.callers import CHAT, MESSAGES, PATHS, RESPONSES
from benchmarks.contenders import ROOT

Json = dict[str, Any]
Progress = Callable[[str], None]
BUDGET, EVENTS = 1.5, 100
SDK, OURS = "official SDK", "unified_llm"
_FORMS = {
    "plain": "a call",
    "agent": "a call, 50 turns",
    "stream": f"a stream of {EVENTS} events",
    "first": "the first text of a stream",
    "aplain": "a call, async",
    "astream": f"a stream of {EVENTS} events, async",
}
# Models in the tables of all contenders: LiteLLM streams no Responses of any other.
_MODELS = {CHAT: "gpt-4.1", RESPONSES: "gpt-4.1", MESSAGES: "claude-opus-4-7"}
_SHOWN = {CHAT: 2, RESPONSES: 5, MESSAGES: 3}  # events up to the first text


class Contender(NamedTuple):
    """A process: which caller, in whose environment (`sdks`: the newest official SDKs; `peers`: what peers pin)."""

    caller: str
    place: str


FLOOR, CLIENT, UNDER, BARE = (Contender(caller, "sdks") for caller in ("floor", "ours", "under", "sdk"))
COLUMNS = {
    SDK: BARE,
    OURS: CLIENT,
    "LiteLLM": Contender("litellm", "peers"),
    "any-llm": Contender("any-llm", "peers"),
    "official SDK, as they pin it": Contender("sdk", "peers"),
}


@dataclass(frozen=True)
class Row:
    """One row: its name for `--only`, and what is done. Where surface and wire differ, ours is an SDK's transport."""

    name: str
    label: str
    surface: str
    wire: str
    form: str

    def job(self, contender: Contender) -> str:
        """The job of a contender. An SDK uses its own protocol: that is what ours is compared with."""
        size, form = ("agent", "plain") if self.form == "agent" else ("short", self.form)
        wire = self.surface if contender.caller == "sdk" else self.wire
        return f"{self.surface}-{wire}-{size}-{form}"

    @property
    def ours(self) -> Contender:
        """Who of us is called."""
        return CLIENT if self.surface == self.wire else UNDER

    @property
    def budget(self) -> float:
        """The most it may cost: what the Client may; under an SDK, the SDK's own cost on top of that."""
        return BUDGET if self.surface == self.wire else 1 + BUDGET


def rows(quick: bool) -> list[Row]:
    """All rows about time; `quick` leaves out the async ones."""
    out = []
    for wire in (CHAT, RESPONSES, MESSAGES):
        for form, label in _FORMS.items():
            if not (quick and form in ("aplain", "astream")):
                out.append(Row(f"client-{wire}-{form}", f"{wire}: {label}", wire, wire, form))
    for surface, wire in ((CHAT, MESSAGES), (RESPONSES, MESSAGES), (MESSAGES, CHAT)):
        for form in ("plain", "agent", "stream", "first"):
            label = f"under the SDK, {surface} → {wire}: {_FORMS[form]}"
            out.append(Row(f"client-under-{surface}-{wire}-{form}", label, surface, wire, form))
    return out


# --- requests and answers -------------------------------------------------------------------------------------------


def spec() -> Json:
    """The input of the callers: the bodies of requests, in the words of each surface.

    Of the 50 turns only what everybody takes: some of the settings make one or another refuse the call.
    """
    system, asked = "You keep the books of a lighthouse.", "What was written into the log last night?"
    user = {"role": "user", "content": asked}
    agents = {
        "chat-agent": documents.chat_request(50),
        "responses-agent": documents.responses_request(50),
        "messages-agent": documents.messages_request(50),
    }
    for item in agents["responses-agent"]["input"]:
        if item.get("role") == "assistant":
            # Repeated by the caller, as others have it: without the id and the status of an answer.
            text = item["content"][0]["text"]
            item.clear()
            item.update(role="assistant", content=text)
    kept = "messages input instructions system tools tool_choice parallel_tool_calls max_tokens max_output_tokens"
    bodies: Json = {
        "chat-short": {"messages": [{"role": "system", "content": system}, user]},
        "responses-short": {"instructions": system, "input": asked},
        "messages-short": {"max_tokens": 4096, "system": system, "messages": [user]},
        **{name: {key: body[key] for key in kept.split() if key in body} for name, body in agents.items()},
    }
    for name, body in bodies.items():
        body["model"] = _MODELS[name.partition("-")[0]]
    return {"models": _MODELS, "shown": _SHOWN, "bodies": bodies}


def answers() -> Json:
    """The server's answer: a paragraph and two tool calls, whole and as events."""
    wholes = {
        CHAT: said.chat_response(),
        RESPONSES: said.responses_response(),
        MESSAGES: said.messages_response(),
    }
    streams = {
        CHAT: said.chat_stream(EVENTS),
        RESPONSES: said.responses_stream(EVENTS),
        MESSAGES: said.messages_stream(EVENTS),
    }
    out = {}
    for wire, path in PATHS.items():
        frames = [frame + "\n\n" for frame in said.sse(streams[wire]).decode().split("\n\n") if frame]
        out[path] = {"plain": orjson.dumps(wholes[wire]).decode(), "events": frames, "shown": _SHOWN[wire]}
    return out


# --- processes ------------------------------------------------------------------------------------------------------


class Process:
    """A caller in a process of its own, that gets requests line by line."""

    def __init__(self, contender: Contender, python: str, spec_file: Path) -> None:
        command = [python, str(ROOT / "benchmarks" / "calling.py"), contender.caller, str(spec_file)]
        places = os.pathsep.join([str(ROOT), str(ROOT / "adapters"), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": places.strip(os.pathsep)},
        )
        told = self._line()
        self.versions: dict[str, str] = told.get("versions", {})
        self.absent: str = told.get("absent", "") or ("" if told.get("versions") else "ended at once")

    def ask(self, job: str, times: int) -> Json:
        """What came of a job: `seconds`, or an `error` with the reason."""
        if self._process.poll() is not None or self._process.stdin is None:
            return {"error": "ended early"}
        self._process.stdin.write(f"{job} {times}\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found: Json = json.loads(line) if line else {"error": "ended early"}
        return found

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def serving(scratch: Path) -> Iterator[int]:
    """The server, and its port."""
    path = scratch / "answers.json"
    path.write_bytes(orjson.dumps(answers()))
    command = [sys.executable, str(ROOT / "benchmarks" / "loopback.py"), str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


# --- measuring ------------------------------------------------------------------------------------------------------


def measured(only: str, quick: bool, rounds: int, slice_s: float, pythons: Json, progress: Progress) -> Json:
    """Every chosen row: microseconds of the floor and of the SDK's overhead, and the others as multiples of the latter.

    `pythons` are the interpreters of the two environments, by their names in `CONTENDERS`.
    """
    chosen = [row for row in rows(quick) if fnmatch.fnmatch(row.name, only)]
    remembers = fnmatch.fnmatch("client-memory", only)
    out: Json = {"rows": [], "versions": {}, "rounds": rounds}
    if not chosen and not remembers:
        return out
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(serving(scratch))
        spec_file = scratch / "spec.json"
        spec_file.write_bytes(orjson.dumps({**spec(), "port": port}))
        processes: dict[Contender, Process] = {}
        for contender in (FLOOR, *COLUMNS.values(), UNDER):
            progress(f"starting {contender.caller}")
            process = processes[contender] = Process(contender, str(pythons[contender.place]), spec_file)
            stack.callback(process.close)
        out["versions"] = {title: processes[each].versions or processes[each].absent for title, each in COLUMNS.items()}
        late: dict[str, float] = {}
        for n, row in enumerate(chosen):
            progress(f"{n + 1}/{len(chosen)} {row.label}")
            out["rows"].append(_row(row, fastest(row, processes, rounds, slice_s, late)))
        if late:
            label = "first texts that waited for the event behind them"
            out["rows"].append(_plain_row("client-held", label, "", late, 0.0))
        if remembers:
            spent = {title: processes[each].ask("memory", 0) for title, each in COLUMNS.items()}
            figures = {title: found.get("mb", found.get("error")) for title, found in spent.items()}
            out["rows"].append(_plain_row("client-memory", "most memory of the process", "MB", figures, None))
    return out


def fastest(
    row: Row, processes: dict[Contender, Process], rounds: int, slice_s: float, late: dict[str, float]
) -> dict[str, float | str]:
    """Seconds of one call for each column; a string is the reason why there is no figure.

    "floor" is that of the server that is called, "base" that of the SDK's own. `late` counts, by column, the first
    texts that were not in hand before the server went on.
    """
    racing: list[tuple[str, Process, str, int]] = []
    out: dict[str, float | str] = {}
    runners = {"floor": FLOOR, "base": FLOOR, **COLUMNS, OURS: row.ours}
    for title, contender in runners.items():
        job = row.job(BARE if title == "base" else contender)
        found = processes[contender].ask(job, 3)
        if "error" in found:
            out[title] = found["error"]
            continue
        once = out[title] = min(found["seconds"])
        racing.append((title, processes[contender], job, min(200, max(3, round(slice_s / max(once, 1e-6))))))
    order = random.Random(row.name)
    for _ in range(rounds):
        order.shuffle(racing)
        for title, process, job, times in racing:
            best = out[title]
            found = process.ask(job, times)
            if "error" in found:
                out[title] = found["error"]
            elif isinstance(best, float):
                out[title] = min(best, *found["seconds"])
            if "early" in found and title in COLUMNS:
                late[title] = late.get(title, 0.0) + times - found["early"]
    return out


def _row(row: Row, found: dict[str, float | str]) -> Json:
    """The floor in microseconds, what the SDK takes longer, and the others as multiples of that."""
    floor, base, sdk = found.pop("floor"), found.pop("base"), found.get(SDK)
    more: Json = {}
    figures: Json = dict(found)
    if isinstance(floor, float) and isinstance(base, float) and isinstance(sdk, float):
        own = max(sdk - base, 1e-9)
        more = {"floor_us": floor * 1e6, "sdk_us": own * 1e6}
        for title, value in found.items():
            if isinstance(value, float):
                # An SDK is measured on its own server, all others on the one the row is about.
                figures[title] = (value - (base if COLUMNS[title].caller == "sdk" else floor)) / own
    else:
        figures = {t: v if isinstance(v, str) else "no official SDK to compare with" for t, v in found.items()}
    return {**_plain_row(row.name, row.label, "×", figures, row.budget, row.ours is CLIENT), **more}


def _plain_row(name: str, label: str, unit: str, figures: Json, budget: float | None, least: bool = False) -> Json:
    """A row; `least` means that ours has to be less than that of other clients, too."""
    ours = figures.get(OURS)
    met = ours <= budget if budget is not None and isinstance(ours, float) else None
    others = [figures.get(title) for title, each in COLUMNS.items() if each.place == "peers" and each.caller != "sdk"]
    if met and least:
        met = all(ours < other for other in others if isinstance(other, float))
    return {"name": name, "label": label, "unit": unit, "figures": figures, "budget": budget, "met": met}


# --- printing -------------------------------------------------------------------------------------------------------


def cells(found: list[Json]) -> tuple[list[str], list[list[str]], list[str]]:
    """The header, the rows and the footnotes, as text."""
    notes: dict[str, None] = {}
    lines = []
    for row in found:
        base = f"{row['floor_us']:.0f} µs" if row.get("floor_us") else row["unit"]
        figures = [_figure(row, title, notes) for title in COLUMNS]
        budget = "" if row["budget"] is None else f"≤ {row['budget']:g}"
        budget += {True: " met", False: " OVER", None: ""}[row["met"]]
        lines.append([row["label"], base, *figures, budget])
    head = ["a call's overhead", "floor", *COLUMNS, "budget"]
    return head, lines, [f"[{n}] {note}" for n, note in enumerate(notes, 1)]


def _figure(row: Json, title: str, notes: dict[str, None]) -> str:
    value = row["figures"].get(title)
    if title == SDK and row.get("sdk_us"):
        return f"{row['sdk_us']:.0f} µs"
    if isinstance(value, float):
        return f"{value:.{1 if value >= 1 else 2}f}×" if row["unit"] == "×" else f"{value:.0f}"
    if value is None:
        return "–"
    if value == "not installed":
        return str(value)
    notes.setdefault(str(value))
    return f"[{list(notes).index(str(value)) + 1}]"


def closing(found: Json) -> str:
    """Who was called, in which release."""
    named = [
        f"{title}: {', '.join(f'{name} {version}' for name, version in versions.items())}"
        for title, versions in found["versions"].items()
        if isinstance(versions, dict)
    ]
    return f"The least of all calls of {found['rounds']} interleaved rounds, a process each. " + "; ".join(named) + "."
