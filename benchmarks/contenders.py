"""Who is measured, and how each is called: bytes in, bytes out, through its own functions and its defaults.

A contender turns a workload into a function without arguments that does the whole job once. JSON outside a library's
own functions is orjson for everybody, which flatters the libraries that take dicts; JSON inside them is theirs. What
a contender cannot do raises `Unsupported` with the reason, and the table prints it: none is left out without a mark.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import sys
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks.answers import name_of, stream_data
from benchmarks.documents import CHAT
from benchmarks.workloads import Workload

ROOT = Path(__file__).resolve().parent.parent
Run = Callable[[], object]
Said = tuple[Any, list[str]]  # a converted request, and every message its converter left about it
loads, dumps = orjson.loads, orjson.dumps


class Unsupported(Exception):
    """The contender has no function for this workload."""


class Contender:
    """A converter. `version` is None where it cannot be used, and then `absent` is the reason."""

    title = ""
    distribution = ""
    module = ""

    def __init__(self) -> None:
        self.version: str | None = None
        self.absent = "not installed"
        try:
            version = importlib.metadata.version(self.distribution) if self.distribution else ""
            self.load()
            self.version = self.version or version
        except importlib.metadata.PackageNotFoundError:
            pass
        except Exception as error:
            self.version, self.absent = None, f"does not import: {error!r}"

    def load(self) -> None:
        """Import the library."""

    def runner(self, work: Workload) -> Run:
        """The function that does `work` once."""
        if work.framed:
            raise Unsupported("takes no server-sent events as bytes")
        if work.kind == "stream":
            return self.stream(work.source, work.target, work.body)
        if work.kind == "response":
            return self.response(work.source, work.target, work.body)
        body, there = work.body, self.request(work.source, work.target)
        if not work.back:
            return lambda: there(body)
        back = self.request(work.target, work.source)
        return lambda: back(there(body))

    def seconds(self, run: Run, loops: int) -> float:
        """The time of `loops` runs."""
        start = time.perf_counter()
        for _ in range(loops):
            run()
        return time.perf_counter() - start

    def request(self, source: str, target: str) -> Callable[[bytes], bytes]:
        """A request conversion, bytes to bytes."""
        raise Unsupported("has no such conversion")

    def response(self, source: str, target: str, body: bytes) -> Run:
        raise Unsupported("has no such conversion")

    def stream(self, source: str, target: str, body: bytes) -> Run:
        raise Unsupported("has no such conversion")

    def report(self, source: str, target: str, body: bytes) -> Said:
        """Convert a request and give what it reported; used to count silent losses."""
        raise Unsupported("has no such conversion")


class Floor(Contender):
    """Parsing and printing the same bytes, and nothing else: there and back, those that go in on either way."""

    title = "floor"

    def runner(self, work: Workload) -> Run:
        body = work.body
        if work.kind == "stream":
            return self.stream(work.source, work.target, body)
        if work.back:
            there = Ours().request(work.source, work.target)(body)
            return lambda: (dumps(loads(body)), dumps(loads(there)))
        return lambda: dumps(loads(body))

    def stream(self, source: str, target: str, body: bytes) -> Run:
        data = stream_data(body)

        def run() -> bytes:
            last = b""
            for line in data:
                last = dumps(loads(line))
            return last

        return run


class Ours(Contender):
    """unified_llm with its defaults: repair, provenance and the loss report, which is read to the end."""

    title, module = "unified_llm", "unified_llm"

    def load(self) -> None:
        import unified_llm

        self.lib: Any = unified_llm
        self.version = str(unified_llm.__version__)
        adapters_of_a_checkout(unified_llm.register)

    def _convert(self, source: str, target: str, kind: str) -> Callable[[bytes], bytes]:
        convert = self.lib.convert

        def step(body: bytes) -> bytes:
            done = convert(body, source=source, target=target, kind=kind)
            list(done.losses)
            return dumps(done.value)

        return step

    def request(self, source: str, target: str) -> Callable[[bytes], bytes]:
        return self._convert(source, target, "request")

    def response(self, source: str, target: str, body: bytes) -> Run:
        step = self._convert(source, target, "response")
        return lambda: step(body)

    def runner(self, work: Workload) -> Run:
        return self.framed(work.source, work.target, work.body) if work.framed else super().runner(work)

    def stream(self, source: str, target: str, body: bytes) -> Run:
        convert_stream = self.lib.convert_stream
        # An event's name comes from the framing, which the floor does not parse either.
        data = [(name_of(loads(line)), line) for line in stream_data(body)]

        def events() -> Iterator[dict[str, Any]]:
            for name, line in data:
                yield {"event": name, "data": loads(line)}
            if source == CHAT:
                yield {"event": None, "data": "[DONE]"}

        def run() -> bytes:
            out, last = convert_stream(events(), source=source, target=target), b""
            for event in out:
                last = dumps(event["data"])
            list(out.losses)
            return last

        return run

    def framed(self, source: str, target: str, body: bytes) -> Run:
        """Server-sent events in and out as bytes, one chunk an event."""
        translate_sse = self.lib.translate_sse
        chunks = [frame + b"\n\n" for frame in body.split(b"\n\n") if frame]

        def run() -> bytes:
            last = b""
            for chunk in translate_sse(iter(chunks), source=source, target=target):
                last = chunk
            return last

        return run

    def report(self, source: str, target: str, body: bytes) -> Said:
        done = self.lib.convert(body, source=source, target=target)
        return done.value, [loss.path for loss in done.losses]


def adapters_of_a_checkout(register: Callable[[Any], None]) -> None:
    """Take the adapters of this tree, whatever is installed; make known those that are not."""
    sys.path.insert(1, str(ROOT / "adapters"))
    known = {point.name for point in importlib.metadata.entry_points(group="unified_llm.adapters")}
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["unified_llm.adapters"]
    for name, value in points.items():
        if name not in known:
            module, _, attribute = value.partition(":")
            register(getattr(importlib.import_module(module), attribute))


def overheard(convert: Callable[[], Any]) -> Said:
    """Run `convert` and collect its output through Python's warnings and through logging."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler(logging.DEBUG)
    handler.emit = records.append  # type: ignore[method-assign, assignment]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = convert()
    finally:
        root.removeHandler(handler)
    return value, [str(w.message) for w in caught] + [record.getMessage() for record in records]
