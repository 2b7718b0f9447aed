"""A process that forks gateways, each with a fault at one of its points: `python -m gateway.soak.node`.

A point is the moment before or after a statement, a commit, or a message to a client. Points are counted from the first
request of a client (or from the first takeover of a run); the count and the name of the last one are in a file that the
harness maps. Each line of stdin starts a node; the line that answers it has its process id and URL.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
import time
from typing import Any

import sqlalchemy as sa

from unified_llm.gateway.app import Gateway
from unified_llm.gateway.reload import read
from unified_llm.gateway.server import Server
from unified_llm.gateway.state import store
from unified_llm.gateway.state.runs import locks, runs

SIZE = 256
LOCKS = 248  # where the shared file counts how often the node lost its lock


class Faults:
    """Counts points, and does what is to be done at one of them."""

    def __init__(self, how: str, at: int, begin: str, file: str) -> None:
        self.how, self.at, self.begin = how, at, begin
        self.is_counting = False
        self.count = 0
        self.away = 0.0
        with open(file, "r+b") as shared:
            self.shared = mmap.mmap(shared.fileno(), SIZE)

    def point(self, name: str, *, of_database: bool = True) -> None:
        """One point. Raises `OSError` where the database is to fail."""
        if of_database and time.monotonic() < self.away:
            raise OSError("the database fails on purpose")
        if not self.is_counting or (not of_database and self.how in ("fail", "away")):
            return
        self.count += 1
        self.shared[:8] = self.count.to_bytes(8, "little")
        if self.count != self.at:
            return
        self.shared[8:LOCKS] = name.encode()[: LOCKS - 8].ljust(LOCKS - 8, b"\0")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.how == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self.how == "away":
            self.away = time.monotonic() + 0.4
        if self.how in ("fail", "away"):
            raise OSError("the database fails on purpose")

    def lost_lock(self) -> None:
        """Another node may take this one for dead from now on."""
        self.shared[LOCKS] += 1

    def engine(self, url: sa.URL, given: Any) -> Any:
        """An engine whose statements and commits are points."""
        made = _make_engine(url, given)
        event = sa.event.listens_for

        @event(made.sync_engine, "before_cursor_execute")
        def before(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
            self.point(f"before {statement}")

        @event(made.sync_engine, "after_cursor_execute")
        def after(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
            self.point(f"after {statement}")

        dialect: Any = made.sync_engine.dialect
        commit = dialect.do_commit

        def committed(connection: Any) -> None:
            self.point("before COMMIT")
            commit(connection)
            self.point("after COMMIT")

        dialect.do_commit = committed
        return made


_make_engine = store.make_engine


class Faulty(Gateway):
    """A gateway whose messages to clients are points."""

    faults: Faults

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            self.faults.point(f"before {message['type']}", of_database=False)
            await send(message)
            self.faults.point(f"after {message['type']}", of_database=False)

        if scope["type"] == "http" and scope["method"] != "GET" and self.faults.begin == "request":
            self.faults.is_counting = True
        await super().__call__(scope, receive, sent if scope["type"] == "http" else send)


def serve(spec: dict[str, Any]) -> None:
    """Be a node until the end."""
    log = os.open(spec["log"], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 2)
    faults = Faults(spec["how"], spec["at"], spec["begin"], spec["shared"])
    store.make_engine = faults.engine
    runs._EVERY = 0.02 if spec["begin"] == "takeover" else 0.1  # so that it comes before the others
    take_over = runs.Runs._take_over

    async def taken(self: Any, run: Any) -> None:
        faults.is_counting = faults.is_counting or faults.begin == "takeover"
        await take_over(self, run)

    runs.Runs._take_over = taken  # type: ignore[method-assign]
    hold = locks.NodeLock._hold

    async def held(self: Any, engine: Any) -> None:
        before = self._connection
        try:
            await hold(self, engine)
        finally:
            if before is not None and self._connection is not before:
                faults.lost_lock()

    locks.NodeLock._hold = held  # type: ignore[method-assign]
    settings, router = read(spec["config"], None)
    app = Faulty(settings, router)
    app.faults = faults

    def ready(url: str) -> None:
        os.write(1, json.dumps({"pid": os.getpid(), "url": url}).encode() + b"\n")

    Server(app, ready).run()


def main() -> None:
    children: list[int] = []
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # they are not waited for
    for line in sys.stdin:
        spec = json.loads(line)
        child = os.fork()
        if not child:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            try:
                serve(spec)
            finally:
                os._exit(0)
        children.append(child)
    for each in children:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    main()
