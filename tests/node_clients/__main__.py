"""Run SDKs and frameworks for Node.js through the gateway over strict upstreams of every protocol (`make node`).

They check what they get with types and schemas of their own. No key is needed, and nothing leaves the machine.
`--program recorded` is apart: the AI SDK reads converted answers, those of the package and those of
`UNIFIED_LLM_CORPUS`, without a gateway, and what it understood is compared with the answers.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from aligned import aligned
from gateway.served import Served
from gateway.strict_upstreams import strict_upstreams
from node_clients import recorded
from node_clients.exceptions import KNOWN
from node_clients.runtime import NODE
from oracles.service import SURFACES, Service
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import Config
from unified_llm.gateway.upstreams.routing import Router

HERE = Path(__file__).parent
SHARED = "checks"
PROGRAMS = tuple(sorted(file.stem for file in HERE.glob("*.mjs") if file.stem != SHARED))
SPOILED = "it sends the signature of a thought with another part"
EXCEPTIONS = {
    ("LangChain, Google", "google-generate-content", "tools"): SPOILED,
    ("LangChain, Google", "google-generate-content", "streamed_tools"): SPOILED,
}
"""Checks that fail at the upstream of their own protocol too, without a conversion, and why."""
Result = dict[str, Any]


def results(program: str, url: str, packages: Path, upstreams: list[str], patience: float) -> Iterator[Result]:
    """What each check of a program came to. Raises `CalledProcessError` or `TimeoutExpired` if it does not end well."""
    command = [NODE, str(packages / f"{program}.mjs"), url, ",".join(upstreams)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=patience, check=True)
    for line in done.stdout.splitlines():
        if line.startswith('{"client":'):
            yield json.loads(line)


def table(found: list[Result], upstreams: list[str]) -> Iterator[str]:
    """How many checks of each client passed over each upstream."""
    upstreams = sorted({*upstreams, *(each["upstream"] for each in found)})
    rows = [["client", *upstreams]]
    for client in dict.fromkeys(each["client"] for each in found):
        cells = []
        for upstream in upstreams:
            ran = [each for each in found if (each["client"], each["upstream"]) == (client, upstream)]
            cells.append(f"{sum(each['problem'] is None for each in ran)} of {len(ran)}")
        rows.append([client, *cells])
    return aligned(rows)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make node", description=__doc__)
    parser.add_argument("--packages", type=Path, default=Path(".node"), help="where npm put them")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="run only this one (repeatable)")
    parser.add_argument("--upstream", action="append", choices=sorted(SURFACES), help="only over this one (repeatable)")
    parser.add_argument("--patience", type=float, default=600, help="seconds that one program may take")
    asked = parser.parse_args()
    upstreams, packages = asked.upstream or sorted(SURFACES), asked.packages.absolute()
    for file in HERE.glob("*.mjs"):
        shutil.copy(file, packages)  # Node looks for packages beside the file
    found: list[Result] = []
    with ExitStack() as stack:
        served = stack.enter_context(Served(gateway(stack)))
        for program in asked.program or PROGRAMS:
            if program == recorded.PROGRAM:
                told = recorded.results(packages, asked.upstream, asked.patience)
            else:
                told = results(program, served.url, packages, upstreams, asked.patience)
            for each in told:
                found.append(each)
                if each["problem"] is not None:
                    reason = known(each)
                    note = f" (known: {reason})" if reason else ""
                    print(f"{', '.join(place(each))}{note}: {each['problem']}", flush=True)
    print("", *table(found, upstreams), sep="\n")
    for each in found:
        if each["problem"] is None and known(each):
            print(f"an exception is no longer needed: {', '.join(place(each))}")
    return int(not found or any((each["problem"] is not None) != bool(known(each)) for each in found))


def place(result: Result) -> tuple[str, str, str]:
    """What was checked."""
    return result["client"], result["upstream"], result["check"]


def known(result: Result) -> str | None:
    """Why this check fails, None if it should not."""
    return EXCEPTIONS.get(place(result)) or KNOWN.get((result["client"], result["check"]))


def gateway(stack: ExitStack) -> Gateway:
    """A gateway whose models are the names of the upstreams' protocols."""
    upstreams = strict_upstreams({protocol: Service() for protocol in SURFACES}, stack)
    tables = {
        "gateway": {"listen": "127.0.0.1:0", "providers": ["local"]},
        "state": {"url": "sqlite://"},
        "models": {protocol: protocol for protocol in upstreams},
    }
    config = Config.model_validate(tables)
    return Gateway(config, Router(config, upstreams))


if __name__ == "__main__":
    sys.exit(main())
