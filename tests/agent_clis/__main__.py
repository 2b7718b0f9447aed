"""Run agent programs through the gateway over strict upstreams of other providers' protocols (`make agents`).

Each program is given one job in an empty directory: read a file with one tool, write another with a second one. The
upstream refuses what a provider would refuse and signs its thoughts. No key is needed, and nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agent_clis.programs import CONTENT, MADE, NOTES, PROGRAMS, USUAL, Program
from agent_clis.rig import FINAL, Conversing, Rig, Scripted, rig, script
from aligned import aligned
from sealed import opaque

PROTOCOLS = (
    "openai-responses", "anthropic-messages", "google-generate-content", "google-interactions", "openai-chat",
)  # fmt: skip
SECRET = "The parcel weighs 4711 grams."
PROMPT = f"Read {NOTES} in the current directory, then write {MADE}."
SIGNED = {"openai-chat": 0, "google-interactions": 4}
"""Signatures in the last request: one a thought, but none in Chat and in Interactions one a call too."""
OWN = "CgRlY2hvEh"  # how every signature of the upstream begins
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")


class Outcome(NamedTuple):
    """What became of one program over one upstream; without problems it passed."""

    program: str
    protocol: str
    turns: int
    losses: str
    signed: int
    outside: list[str]
    seconds: float
    problems: list[str]


def play(program: Program, protocol: str, binaries: Path, patience: float, verbose: bool) -> Outcome:
    """Run a program over an upstream of `protocol` and check everything that is known afterwards."""
    with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        work = directory(home)
        with rig({protocol: Scripted(script(call(program.read, work), call(program.write, work)))}) as found:
            began = time.monotonic()
            code, out, err = run(program, found, home, work, binaries, patience)
            problems = list(judge(protocol, found, work, code, out))
            if verbose or problems:
                show(found, code, out, err)
            return outcome(program, protocol, found, time.monotonic() - began, problems)


def move(program: Program, one: str, other: str, binaries: Path, patience: float, verbose: bool) -> Outcome:
    """Three prompts in one session of a program: over `one`, over `other`, and back."""
    with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        work = directory(home)
        reading = call(program.read, work)
        problems = []
        with rig({one: Conversing(reading), other: Conversing(reading)}) as found:
            began = time.monotonic()
            for number, protocol in enumerate((one, other, one), 1):
                found.gateway.upstream = protocol
                code, out, err = run(program, found, home, work, binaries, patience, first=number == 1)
                if code != 0 or f"{FINAL} {number}" not in out:
                    problems.append(f"prompt {number}: exit code {code}, final text {f'{FINAL} {number}' in out}")
                if verbose or problems:
                    show(found, code, out, err)
                if problems:
                    break
            problems += refusals(found)
            problems += judge_move(found, one, other) if not problems else ()
            return outcome(program, f"{one}, {other}, and back", found, time.monotonic() - began, problems)


def directory(home: Path) -> Path:
    """The working directory below a program's home, with the file that is to be read."""
    work = home / "work"
    work.mkdir()
    (work / NOTES).write_text(f"{SECRET}\n", "utf-8")
    return work


def call(tool: tuple[str, dict[str, str]], work: Path) -> tuple[str, dict[str, str]]:
    """A call with its paths in the working directory."""
    name, arguments = tool
    return name, {key: value.replace("{work}", str(work)) for key, value in arguments.items()}


def outcome(program: Program, upstream: str, found: Rig, seconds: float, problems: list[str]) -> Outcome:
    """What was found out about a run."""
    requests = creations(found)
    home = next(iter(found.services))  # a session that moves ends where it began
    final = [seen for seen in requests if seen.protocol == home][-1:]
    last = found.gateway.replies[-1] if found.gateway.replies else None
    fates = Counter(fate for _, _, fate, _ in last.losses) if last else Counter()
    losses = f"{last.count if last else 0} ({fates['lost']} lost)"
    signed = len(set(opaque(final[0].body))) if final else 0
    hosts = sorted(set(found.outside.hosts))
    return Outcome(program.name, upstream, len(requests), losses, signed, hosts, seconds, problems)


def run(
    program: Program, found: Rig, home: Path, work: Path, binaries: Path, patience: float, first: bool = True
) -> tuple[int | None, str, str]:
    """Exit code (None after the time limit), standard output and error; no process of it is left."""
    launch = program.launch(found.url, home, PROMPT)
    for name, content in launch.files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), found.outside.url)
    local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    given = {name: os.environ[name] for name in KEPT if name in os.environ}
    variables = {**given, **proxies, **local, "HOME": str(home), "TMPDIR": str(home), **launch.variables}
    process = subprocess.Popen(
        [str(binaries / program.binary), *program.arguments(launch, first)], cwd=work, env=variables,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    try:
        out, err = process.communicate(launch.stdin, timeout=patience)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return None, out, err
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def creations(found: Rig) -> list[Any]:
    """The requests of the loop that the upstream saw: those with tools."""
    return [seen for seen in found.seen if seen.method == "POST" and "tools" in (seen.body or {})]


def refusals(found: Rig) -> Iterator[str]:
    """What the upstreams and the gateway refused."""
    for protocol, service in found.services.items():
        for seen in service.seen:
            if seen.status != 200:
                yield f"the upstream refused {seen.path} with status {seen.status}"
            if seen.protocol != protocol:
                yield f"{seen.path} is of {seen.protocol}"
    for reply in found.gateway.replies:
        if reply.status != 200 and not reply.route.startswith(("WebSocket", "HEAD ")):
            yield f"the gateway answered {reply.route} with status {reply.status}"


def judge(protocol: str, found: Rig, work: Path, code: int | None, out: str) -> Iterator[str]:
    """Everything that went wrong with one prompt."""
    if code != 0:
        yield "it did not end in time" if code is None else f"exit code {code}"
    made = work / MADE
    if not made.exists() or made.read_text("utf-8").strip() != CONTENT:
        yield f"{MADE} is {made.read_text('utf-8')!r}" if made.exists() else f"{MADE} was not written"
    if FINAL not in out:
        yield f"the final text {FINAL!r} is not in the output"
    yield from refusals(found)
    requests = creations(found)
    if len(requests) != 3:
        yield f"{len(requests)} turns instead of 3"
    elif SECRET not in json.dumps(requests[1].body):
        yield "the result of the first tool did not reach the upstream"
    signed = set(opaque(requests[-1].body)) if requests else set()
    wanted = SIGNED.get(protocol, 2)
    if len(signed) != wanted or not all(each.startswith(OWN) for each in signed):
        yield f"{len(signed)} signatures came back instead of {wanted}"


def judge_move(found: Rig, one: str, other: str) -> Iterator[str]:
    """Each upstream gets back what it signed, and nothing that the other one signed."""
    first, last = ([set(opaque(seen.body)) for seen in service.seen if "tools" in (seen.body or {})]
                   for service in (found.services[one], found.services[other]))  # fmt: skip
    if [len(first), len(last)] != [4, 2]:
        yield f"{len(first)} and {len(last)} turns instead of 4 and 2"
        return
    if not first[1] or not first[1] <= first[2] or not first[2] < first[3]:
        yield f"of {len(first[1])} signatures {len(first[1] & first[2])} came back after the other upstream"
    if not last[1] or set.union(*first) & set.union(*last):
        yield "signatures of one upstream reached the other"


def show(found: Rig, code: int | None, out: str, err: str) -> None:
    """Everything that helps to find out why."""
    print(f"exit code {code}\n--- output\n{out[-4000:]}\n--- errors\n{err[-4000:]}\n--- upstream")
    for seen in found.seen:
        print(f"{seen.method} {seen.path} {seen.status} {seen.ended}, {len(json.dumps(seen.body))} characters")
    print("--- gateway")
    for reply in found.gateway.replies:
        print(f"{reply.route} {reply.status}, {reply.count} losses")
        for path, capability, fate, side in reply.losses:
            print(f"    {fate} {capability} {path}" + (" (in the upstream's request)" if side == "target" else ""))


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """One row for each program and upstream."""
    rows = [("program", "its protocol", "upstream", "turns", "losses", "signatures", "seconds", "other hosts", "")]
    for each in outcomes:
        verdict = "; ".join(each.problems) or "ok"
        rows.append((each.program, PROGRAMS[each.program].surface, each.protocol, str(each.turns), each.losses,
                     str(each.signed), f"{each.seconds:.1f}", ", ".join(each.outside) or "none", verdict))  # fmt: skip
    return aligned(rows)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make agents", description=__doc__)
    parser.add_argument("--binaries", type=Path, default=Path(".agents/node_modules/.bin"), help="where npm put them")
    parser.add_argument("--program", action="append", choices=sorted(PROGRAMS), help="run only this one (repeatable)")
    parser.add_argument("--upstream", action="append", choices=PROTOCOLS, help="only over this protocol (repeatable)")
    parser.add_argument("--all", action="store_true", help="run every way to use a program, not one for each")
    parser.add_argument("--patience", type=float, default=180, help="seconds that one run may take")
    parser.add_argument("--verbose", action="store_true", help="show what was sent, and each loss")
    parser.add_argument("--moves", action="store_true", help="move one session to another upstream and back, instead")
    asked = parser.parse_args()
    names = asked.program or (tuple(PROGRAMS) if asked.all else USUAL)
    outcomes = []
    options = (asked.binaries.absolute(), asked.patience, asked.verbose)
    for program in (PROGRAMS[name] for name in names):
        others = [each for each in PROTOCOLS if each != program.surface and each in (asked.upstream or PROTOCOLS)]
        signing = [each for each in others if SIGNED.get(each, 2)]
        for place, protocol in enumerate(signing if asked.moves else others):
            if asked.moves:
                done = move(program, protocol, signing[place - 1], *options)
            else:
                done = play(program, protocol, *options)
            print(f"{program.name} over {done.protocol}: {'; '.join(done.problems) or 'ok'}", flush=True)
            outcomes.append(done)
    print("", *table(outcomes), sep="\n")
    return int(any(each.problems for each in outcomes) or not outcomes)


if __name__ == "__main__":
    sys.exit(main())
