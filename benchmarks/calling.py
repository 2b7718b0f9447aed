"""One contender at work: `python benchmarks/calling.py CONTENDER SPEC`, a process of its own.

Jobs come on standard input, a line each (`SURFACE-WIRE-SIZE-FORM TIMES`: "chat-chat-short-plain 20"), and what came of
them goes out as JSON, a line each. Forms are plain, stream, aplain, astream (in an event loop) and first: the time to
the first text.
"""

from __future__ import annotations

import asyncio
import gc
import http.client
import importlib.metadata
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# The folder of this script holds a profile.py, which must not stand in for the standard library's.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.callers import CALLERS, Caller, Json, Unsupported, Way  # noqa: E402

_WARM = 2


class Worker:
    """A contender, and the jobs it has begun: what is made for a job is made once.

    What a call costs is the processor's time of this process, with all threads in it: neither waiting for the server
    nor for a machine that is shared counts.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.loop = asyncio.new_event_loop()
        self.ready: dict[str, Callable[[int], Json]] = {}

    def do(self, job: str, times: int) -> Json:
        """The seconds of each of `times` calls."""
        if job not in self.ready:
            self.ready[job] = self._ready(*job.split("-"))
            self.ready[job](_WARM)
            gc.collect()
            gc.freeze()
        return self.ready[job](times)

    def _ready(self, surface: str, wire: str, size: str, form: str) -> Callable[[int], Json]:
        way = Way(surface, wire, size)
        if form == "plain":
            return _timed(self.caller.plain(way))
        if form == "stream":
            stream = self.caller.stream(way, False)
            return _timed(lambda: "".join(stream()))
        if form == "first":
            return _first(self.caller.stream(way, True), self.caller.port)
        if form == "aplain":
            return self._awaited(self.caller.aplain(way))
        astream = self.caller.astream(way)

        async def whole() -> str:
            return "".join([piece async for piece in astream()])

        return self._awaited(whole)

    def _awaited(self, call: Callable[[], Any]) -> Callable[[int], Json]:
        async def many(times: int) -> list[float]:
            spent = []
            for _ in range(times):
                start = time.process_time()
                said = await call()
                spent.append(time.process_time() - start)
                assert said, "no text"
            return spent

        return lambda times: {"seconds": self.loop.run_until_complete(many(times))}


def _timed(call: Callable[[], str]) -> Callable[[int], Json]:
    def run(times: int) -> Json:
        spent = []
        for _ in range(times):
            start = time.process_time()
            said = call()
            spent.append(time.process_time() - start)
            assert said, "no text"
        return {"seconds": spent}

    return run


def _first(call: Callable[[], Iterator[str]], port: int) -> Callable[[int], Json]:
    """The time to the first text, by the clock; and how often it was there before the server went on."""
    control = http.client.HTTPConnection("127.0.0.1", port)

    def run(times: int) -> Json:
        spent, early = [], 0
        for _ in range(times):
            start = time.perf_counter()
            stream = iter(call())
            next(filter(None, stream))
            spent.append(time.perf_counter() - start)
            control.request("POST", "/go", b"{}")
            early += json.loads(control.getresponse().read())["in_time"]
            for _ in stream:
                pass
        return {"seconds": spent, "early": early}

    return run


def _memory_mb() -> float:
    """The most memory this process has had."""
    try:
        # The kernel's own value: that of `resource` counts the parent before the start, too.
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1e3
    except (OSError, ValueError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def main(name: str, spec: str) -> None:
    # Output of libraries is not the result.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    kind = CALLERS[name]
    try:
        worker: Worker | None = Worker(kind(json.loads(Path(spec).read_text())))
        told: Json = {"versions": {each: importlib.metadata.version(each) for each in kind.distributions}}
    except Exception as error:
        worker = None
        told = {"absent": "not installed" if isinstance(error, ImportError) else f"does not import: {error!r}"[:200]}
    print(json.dumps(told), file=out, flush=True)
    for line in sys.stdin:
        job, _, times = line.partition(" ")
        try:
            if worker is None:
                found = {"error": told["absent"]}
            else:
                found = {"mb": _memory_mb()} if job == "memory" else worker.do(job, int(times))
        except Unsupported as reason:
            found = {"error": str(reason)}
        except Exception as error:
            found = {"error": f"fails: {type(error).__name__}: {error}"[:200]}
        print(json.dumps(found), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
