"""Runs in the background: accepted, executed into an event log, followed from any place in it, cancelled, taken over.

The law: nothing is shown before it is durable. A run appends what its client will see to the log and wakes the readers
afterwards; every reader, also the first, reads from the log, so a resumed stream has the same bytes. Numbers are places
in the log, and the primary key (run, place) lets exactly one writer have each. A node that dies loses its lock; another
one then ends its runs with an error, and keeps what was shown.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from typing import Any
from uuid import uuid4

from ....client.connections.io import AsyncWire
from ....client.state.response_memory import Turn
from ....client.transports.memory_routes import kept
from ....client.transports.route_matching import Match, recognize
from ....client.transports.stream_translation import SurfaceStream
from ....client.transports.translator import Incoming, Translator
from ....engine.registry import adapter
from ....foundation.errors import APIError, CapabilityLost
from ....foundation.hints import NO_WORDS, rendered
from ....foundation.json_codec import dump, parse
from ....foundation.secret import Secret
from ....passes.convert import convert, write
from ...access.callers import Key, is_private
from ...configuration.config import TelemetrySettings
from ...responses.loss_report import placed
from ...responses.replies import Events, Refusal, Whole, capability_lost
from ...telemetry.recorder import Recorder, note
from ..database import runs
from ..store import Conflict, Store, StoreUnavailable
from ..stored_responses import Recalled, id_of
from ..vault import ask_patiently, keep
from . import rows
from .event_log import DONE, Diverged, LogWriter, Run, collected, error_of, failure, openings, place_of, status_of
from .locks import CANCEL, DELETED, NodeLock
from .log_reader import LogReader

__all__ = ["Runs"]

_log = logging.getLogger("unified_llm.gateway")
_EVERY = 1.0  # seconds between two looks at other nodes and at requests to cancel
_ATTEMPTS = 3  # of one run, so that a request that kills nodes does not kill all of them
_GLANCE = 0.05  # seconds between two looks at a run that is to end on another node
_LOST = {"type": "server_error", "code": "node_lost", "message": "the node that ran this response was lost"}
_CANCELLED = {"type": "cancelled", "code": "cancelled", "message": "the response was cancelled"}


Prepare = Callable[[Run, str], Awaitable[tuple[Translator, Incoming] | None]]
"""Gives what executes a run another time ("create"), reads it from an upstream that keeps it ("resume"), or ends it
there ("cancel"), by the keys and routes as they are now; None where they do not allow it."""


class Runs:
    """The runs of one node, and a look at those of others."""

    def __init__(
        self, store: Store, wire: AsyncWire, prepare: Prepare | None = None, recorder: Recorder | None = None
    ) -> None:
        self.store = store
        self.wire = wire
        self._prepare = prepare
        self._recorder = Recorder(TelemetrySettings(metrics=False)) if recorder is None else recorder
        self.lock: NodeLock = NodeLock(self._heard)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.log: LogReader = LogReader(store, self.lock)
        self._cancelled: set[str] = set()
        self._hurry = asyncio.Event()
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Hold the node's lock, and look after runs whose node is lost. Raises `StoreUnavailable`."""
        if self._sweeping is None:
            await self.store.use(self.lock.hold)
        if self._sweeping is None:
            # In a context of its own: it does not belong to the request that began it.
            self._sweeping = asyncio.create_task(self._sweep(), context=Context())

    async def aclose(self, patience: float = 0.0) -> None:
        """Let the runs end, fail those that take longer than `patience` seconds, and give the lock back."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=patience)
        tasks = [*self._tasks.values(), *([self._sweeping] if self._sweeping else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._sweeping = None
        with suppress(Exception):
            await self.lock.release()

    @staticmethod
    def new_id(surface: str) -> str:
        """The id of a run that is to be accepted."""
        return f"{adapter(surface).id_prefix or 'run_'}{uuid4().hex}"

    async def accept(
        self,
        key: Key,
        surface: str,
        id_: str,
        content: bytes,
        previous: str | None,
        headers: Mapping[str, str],
        is_kept: bool,
        translator: Translator,
        incoming: Incoming,
    ) -> Run:
        """Begin a run of a request, which came with `headers`; it is durable when this returns.

        `is_kept` means that the upstream keeps it too.
        """
        await self.start()
        body = parse(content)
        asked = convert(body, source=surface, target=surface)
        now = int(time.time())
        head = {"model": body.get("model"), "request": content.decode("utf-8", "surrogateescape")}
        head["settings"] = dict(asked.exchange.settings) if asked.exchange is not None else {}
        head["previous"] = previous
        head |= {"is_kept": is_kept, "key": key.name, "path": incoming.path, "attempt": 1}
        head["query"] = {name: value for name, value in incoming.query.items() if not is_private(name)}
        head["headers"] = {name: value for name, value in headers.items() if not is_private(name)}
        keep = int(self.store.settings.keep)
        run = Run(id_, key.tenant, surface, "in_progress", self.lock.node, False, head, now, now + keep)
        # A client that leaves now has its run all the same: whether it is in the database is unknown.
        await asyncio.shield(asyncio.ensure_future(self._begin(run, translator, incoming)))
        return run

    async def _begin(self, run: Run, translator: Translator, incoming: Incoming) -> None:
        """Write a run down, and begin to execute it."""
        # Before it is in the database, where lost runs are looked for.
        self.log.live[run.id] = LogWriter(self.store, run)
        try:
            await self.store.insert(runs, {**run._asdict(), "head": dump(run.head)})
        except BaseException:
            del self.log.live[run.id]
            raise
        self._tasks[run.id] = asyncio.create_task(self._execute(run, translator, incoming))

    async def get(self, tenant: str, id_: str) -> Run | None:
        """A run of a tenant."""
        return await rows.find(self.store, tenant, id_)

    async def cancel(self, run: Run) -> Run:
        """Have a run end; returns it once it has, or when it takes too long to wait for."""
        if run.id in self._tasks:
            self._stop(run.id)
            await asyncio.wait([self._tasks[run.id]], timeout=5)
        else:
            await rows.mark_cancelled(self.store, run.id)
            end = time.monotonic() + 5
            while time.monotonic() < end and not (await self.get(run.tenant, run.id) or run).is_done:
                await asyncio.sleep(_GLANCE)
        return await self.get(run.tenant, run.id) or run

    def _heard(self, word: str) -> None:
        """A node reported that a run has something new or is to be cancelled, or that a response was deleted."""
        if word.startswith(DELETED):
            self.store.on_delete(word.removeprefix(DELETED))
        elif not word.startswith(CANCEL):
            self.log.heard(word)
        elif word.removeprefix(CANCEL) in self._tasks:
            self._hurry.set()

    def _stop(self, id_: str) -> None:
        if id_ not in self._cancelled:
            self._cancelled.add(id_)
            self._tasks[id_].cancel()

    async def document(self, run: Run, surface: str, secret: Secret) -> bytes:
        """A run as a response of a protocol."""
        node = await self.log.response(run, secret)
        return dump(write(node, surface, "response", secret=secret).value)

    async def lifecycle(self, run: Run, match: Match, query: Mapping[str, str], secret: Secret) -> Whole | Events:
        """Fetch, stream, cancel or delete a run, or list its input."""
        request = run.head["request"].encode("utf-8", "surrogateescape")
        memory = Recalled([Turn(run.tenant, run.surface, request, "", [b""], True)], secret)
        if match.route.method == "DELETE" or match.route.kind == "input_items":
            if match.route.method == "DELETE":
                if not run.is_done:
                    await self.cancel(run)
                await self.store.delete(run.tenant, run.id)
            told = kept(memory, match, query, run.tenant)
            assert told is not None
            return Whole(200, {"content-type": "application/json"}, told.content)
        if match.route.method == "POST":
            run = await self.cancel(run)
        elif query.get("stream") == "true":
            if run.surface != match.protocol:
                raise Refusal(400, "invalid_request", f"the events of this response are those of {run.surface}")
            await self.start()  # it listens to other nodes
            return Events(self.log.follow(run, place_of(run, query)), run.surface)
        return Whole(200, {"content-type": "application/json"}, await self.document(run, match.protocol, secret))

    # ---- one run -----------------------------------------------------------------------------------------------------

    async def _execute(self, run: Run, translator: Translator, incoming: Incoming) -> None:
        """Execute a run, with a line in the request log when it ends."""
        path, headers = run.head.get("path", ""), run.head.get("headers", {})
        with self._recorder.run(path, headers):
            key = Key(run.head.get("key", ""), run.tenant)
            note(run=run.id, key=key, model=run.head.get("model"), match=recognize("POST", path, headers))
            writer = self.log.live[run.id]
            await self._write(writer, run, translator, incoming)
            is_whole = writer.status in ("completed", "incomplete")
            note(is_complete=is_whole, refused="" if is_whole else writer.status or "lost")

    async def _write(self, writer: LogWriter, run: Run, translator: Translator, incoming: Incoming) -> None:
        surface: SurfaceStream | None = None
        try:
            try:
                reply = await ask_patiently(self.wire, translator, incoming)
                reply = placed(reply, run.surface, self._recorder.settings.losses)
                if reply.stream is None:
                    await self._ended(writer, "failed", error_of(run.surface, reply.content))
                    return
                surface = reply.stream
                surface.keep = lambda sent, stream: None
                assert reply.opened is not None
                upstream = reply.opened.upstream.name
                stream = self.wire.stream(reply.opened)
                try:
                    async for chunk in stream:
                        out = surface.feed(chunk)
                        if surface.is_complete:
                            last = [*out, *surface.close()]
                            await keep(translator, run.id)
                            await self._ended(writer, "", None, last, upstream)
                            return
                        if out and run.head.get("is_kept") and "kept" not in writer.run.head:
                            await self._note_kept(writer, upstream, id_of(run.surface, b"".join(out), True))
                        await writer.append(out)
                    await self._ended(writer, "", None, surface.close(), upstream)
                finally:
                    await stream.aclose()
                    surface.leave()
            except APIError as error:
                await self._ended(writer, "failed", {**error.error, "message": rendered(error.message, NO_WORDS)})
            except Refusal as refusal:
                await self._ended(writer, "failed", refusal.error())
            except CapabilityLost as error:
                await self._ended(writer, "failed", capability_lost(error).error())
            except asyncio.CancelledError:
                cancelled = run.id in self._cancelled
                if "kept" in writer.run.head:
                    if not cancelled:
                        return  # its upstream goes on with it, and so does another node
                    await asyncio.shield(asyncio.ensure_future(self._cancel_kept(writer.run)))
                fields = _CANCELLED if cancelled else {**_LOST, "message": "the node was stopped"}
                await self._ended(writer, "cancelled" if cancelled else "failed", fields)
        except Conflict:
            _log.warning("run %s was taken over by another node, or deleted", run.id)
            with suppress(StoreUnavailable):
                if await self.get(run.tenant, run.id) is None:
                    await self.store.delete(run.tenant, run.id)  # what it left in the vault since
        except StoreUnavailable:
            _log.warning("run %s could not be stored; it is ended by the next look at lost runs", run.id)
        except Diverged:
            with suppress(StoreUnavailable, Conflict):
                await self._ended(writer, "failed", _LOST)
        except Exception:
            _log.exception("run %s failed", run.id)
            with suppress(StoreUnavailable, Conflict):
                await self._ended(writer, "failed", {**_LOST, "message": "internal error of the gateway"})
        finally:
            self._tasks.pop(run.id, None)
            self._cancelled.discard(run.id)
            self.log.live.pop(run.id).signal.tell()

    async def _note_kept(self, writer: LogWriter, upstream: str, id_: str) -> None:
        """Write down by which id an upstream keeps a run, before anything of it is shown. Raises `Conflict`."""
        if not id_:
            return
        head = {**writer.run.head, "kept": [upstream, id_]}
        writer.run = await rows.change_head(self.store, writer.run, self.lock.node, head)

    async def _cancel_kept(self, run: Run) -> None:
        """Cancel a run at the upstream that keeps it, if that can be done."""
        prepared = await self._prepare(run, "cancel") if self._prepare is not None else None
        if prepared is not None:
            translator, incoming = prepared
            with suppress(APIError, TimeoutError):
                await asyncio.wait_for(self.wire.run(translator.steps(incoming)), 5)

    async def _ended(self, writer: LogWriter, *ending: Any) -> None:
        """The end of a run, once. A run that is ending is not cancelled: what of it is in the database is unknown."""
        if writer.is_done:
            return
        task = asyncio.ensure_future(self._end(writer, *ending))
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(task)
        await task

    async def _end(
        self,
        writer: LogWriter,
        status: str,
        error: Mapping[str, Any] | None,
        events: Sequence[bytes] = (),
        upstream: str = "",
    ) -> None:
        """The last events, the status and the stored response, in one transaction; then readers are woken."""
        run = writer.run
        await writer.flush()
        if error is not None:
            writer.expect_nothing()
            events = failure(run, error, writer.shown)
        first = writer.count
        try:
            numbered = writer.numbered(events)
            row = writer.row(first, numbered) if numbered else None
            frames = b"".join([writer.shown, *numbered])
            if not status:  # the last events have it; the whole log is read only where they do not
                status = status_of(run, numbered)
                status = status or str((collected(run, frames, None) or {}).get("status") or "failed")
                status = status if status in DONE else "completed"
            await rows.end(self.store, run, self.lock.node, status, error, row, frames, upstream)
        except BaseException:
            writer.count = first  # another end may be written
            raise
        writer.is_done, writer.status = True, status
        if row is not None:
            writer.told(row)
        writer.signal.tell()

    # ---- other nodes -------------------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        while True:
            try:
                await self.store.use(self.lock.hold)
                await self._look()
            except (StoreUnavailable, Conflict):
                pass
            except Exception:
                _log.exception("looking after runs failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), _EVERY)
            self._hurry.clear()

    async def _look(self) -> None:
        """Cancel what is to be cancelled, and end the runs of nodes that are lost."""
        for id_, tenant, cancel in await rows.unfinished(self.store, self.lock.node):
            if id_ not in self.log.live:
                await self._end_lost(tenant, id_, self.lock.node)  # it could not be ended
            elif cancel and id_ in self._tasks:
                self._stop(id_)
        for owner in await rows.owners(self.store):
            if owner != self.lock.node and await self.store.use(self.lock.is_dead, owner):
                for id_, tenant, _ in await rows.unfinished(self.store, owner):
                    await self._end_lost(tenant, id_, owner)

    async def _end_lost(self, tenant: str, id_: str, owner: str) -> None:
        """Take over a run of a lost node, unless it has ended or another node has it by now."""
        run = await self.get(tenant, id_)
        if run is not None and run.owner == owner and id_ not in self.log.live:
            with suppress(Conflict):
                await self._take_over(run)

    async def _take_over(self, run: Run) -> None:
        """Go on with a run that no node executes, or end it.

        Where its upstream keeps it, the stream is read again from there. Where nothing but its beginning was shown, the
        request is sent again. Else what was shown stays, and the run has failed: a second generation never gets the
        numbers behind the first one.
        """
        mine = run.owner == self.lock.node  # it failed to store something; its upstream got the request a moment ago
        attempt = int(run.head.get("attempt", 1)) + 1
        taken = await rows.claim(self.store, run, self.lock.node, {**run.head, "attempt": attempt})
        shown = await self.log.segments(run.id)
        is_kept = "kept" in run.head
        writer = LogWriter(self.store, taken, shown, replayed=is_kept)
        frames = [each + b"\n\n" for each in writer.shown.split(b"\n\n")[:-1]]
        if run.cancel and is_kept:
            await self._cancel_kept(taken)
        goes_on = is_kept or (not mine and openings(run.surface, frames) == len(frames))
        if goes_on and not run.cancel and attempt <= _ATTEMPTS and self._prepare is not None:
            prepared = await self._prepare(taken, "resume" if is_kept else "create")
            if prepared is not None:
                _log.warning("run %s of a lost node is %s", run.id, "resumed" if is_kept else "executed again")
                self.log.live[run.id] = writer
                self._tasks[run.id] = asyncio.create_task(self._execute(taken, *prepared))
                return
        status, error = ("cancelled", _CANCELLED) if run.cancel else ("failed", _LOST)
        await self._end(writer, status, error)
