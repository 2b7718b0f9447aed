"""Run Python frameworks through the gateway over strict upstreams of every protocol (`make clients`).

Each is in an environment of its own. The column `itself` is a strict upstream without a gateway. No key is needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from aligned import aligned
from gateway.served import Served
from gateway.strict_upstreams import strict_upstreams
from oracles.mounts import serve
from oracles.service import SURFACES, Service
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.configuration.config import Config
from unified_llm.gateway.upstreams.routing import Router

HERE = Path(__file__).parent
PROGRAMS = tuple(sorted(file.stem for file in HERE.glob("*_client.py")))
ITSELF = "itself"
KNOWN = {("magentic, Anthropic", "google-interactions", check) for check in ("call", "parallel", "structured")}
"""What fails over the gateway alone, for a reason of the client's: it takes any delta for text, those of thoughts too,
and Interactions signs calls with thoughts."""
Result = dict[str, Any]


def results(program: str, urls: dict[str, str], environments: Path, patience: float) -> Iterator[Result]:
    """What each check of a program came to, as far as it came; one that does not end well is noted on stderr."""
    python = environments / program.removesuffix("_client") / "bin" / "python"
    command = ["timeout", str(patience), str(python), str(HERE / f"{program}.py"), json.dumps(urls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith('{"client":'):
                yield json.loads(line)
    if running.returncode:
        print(f"{program} ended with {running.returncode}", file=sys.stderr)


def differences(found: list[Result]) -> Iterator[str]:
    """What answers over the gateway have and those of the upstream itself have not, or the other way around."""
    given = {(each["client"], each["check"]): set(leaves(each["gave"])) for each in found if each["upstream"] == ITSELF}
    for each in found:
        if each["upstream"] != ITSELF and each["problem"] is None and each["gave"] is not None:
            got, own = set(leaves(each["gave"])), given[each["client"], each["check"]]
            for sign, rows in (("+", got - own), ("-", own - got)):
                for row in sorted(rows):
                    yield f"{each['client']} over {each['upstream']}, {each['check']}: {sign} {row}"


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """Every value in a shape, with its path."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if not pairs:
        yield f"{path} = {value}"
    for key, each in pairs or ():
        yield from leaves(each, f"{path}/{key if isinstance(value, dict) else chr(42)}")


def table(found: list[Result], names: list[str]) -> Iterator[str]:
    """How many checks of each client passed over each upstream."""
    rows = [["client", *names]]
    for client in dict.fromkeys(each["client"] for each in found):
        cells = []
        for name in names:
            ran = [each for each in found if (each["client"], each["upstream"]) == (client, name)]
            cells.append(f"{sum(each['problem'] is None for each in ran)} of {len(ran)}")
        rows.append([client, *cells])
    return aligned(rows)


def main() -> int:
    """The command. It fails for what fails over the gateway and not without it."""
    parser = argparse.ArgumentParser(prog="make clients", description=__doc__)
    parser.add_argument("--environments", type=Path, default=Path(".clients"), help="where they are installed")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="run only this one (repeatable)")
    parser.add_argument("--upstream", action="append", choices=sorted(SURFACES), help="only over this one (repeatable)")
    parser.add_argument("--patience", type=float, default=600, help="seconds that one program may take")
    parser.add_argument(
        "--verbose", action="store_true", help="list what answers have more and less than the upstream's own"
    )
    asked = parser.parse_args()
    found: list[Result] = []
    with ExitStack() as stack:
        urls = {ITSELF: stack.enter_context(serve(Service())).url}
        for protocol in asked.upstream or sorted(SURFACES):
            urls[protocol] = stack.enter_context(Served(gateway(protocol, stack))).url
        for program in asked.program or PROGRAMS:
            for each in results(program, urls, asked.environments.absolute(), asked.patience):
                found.append(each)
                if each["problem"]:
                    print(f"{each['client']} over {each['upstream']}, {each['check']}: {each['problem']}", flush=True)
    own = {(each["client"], each["check"]) for each in found if each["upstream"] == ITSELF and each["problem"]}
    ours = [
        each
        for each in found
        if each["problem"]
        and (each["client"], each["check"]) not in own
        and (each["client"], each["upstream"], each["check"]) not in KNOWN
    ]
    if asked.verbose:
        print(*differences(found), sep="\n")
    print("", *table(found, list(urls)), sep="\n")
    for each in ours:
        print(f"over the gateway alone: {each['client']} over {each['upstream']}, {each['check']}")
    return int(not found or bool(ours))


def gateway(protocol: str, stack: ExitStack) -> Gateway:
    """A gateway all of whose models are one upstream's."""
    upstreams = strict_upstreams({protocol: Service()}, stack)
    tables = {
        "gateway": {"listen": "127.0.0.1:0", "providers": ["local"]},
        "state": {"url": "sqlite://"},
        "models": {"*": protocol},
    }
    config = Config.model_validate(tables)
    return Gateway(config, Router(config, upstreams))


if __name__ == "__main__":
    sys.exit(main())
