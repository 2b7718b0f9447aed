"""Responses that clients name: continued, fetched, listed and deleted, over every upstream.

A turn is stored as its client sent and saw it and is read on demand. Ids stay here and go to no
upstream: what an upstream stores belongs to the gateway's credential, and so to every tenant. A response is stored
before its client sees that it is complete.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ...client.state.response_memory import Memory, Turn, answer, keeps
from ...client.state.store import takes
from ...client.transports.memory_routes import kept, missing
from ...client.transports.report_headers import LOSSES
from ...client.transports.route_matching import Match
from ...client.transports.stream_translation import SurfaceStream
from ...client.transports.translator import Reply
from ...engine.registry import adapter
from ...foundation.errors import APIError, InvalidBody
from ...foundation.json_codec import dump, parse
from ...foundation.secret import Secret
from ...losses import Losses
from ...passes.convert import convert, write
from ...streams.byte_pipeline import broken_off
from ..access.callers import Key
from ..configuration.config import StateSettings
from ..requests.body import Peek
from ..responses.replies import Refusal, Whole
from .file_references import References, find_references
from .files import FileStore
from .store import Conflict, Store, StoreUnavailable, beside_the_answer
from .stored_rows import Stored

if TYPE_CHECKING:
    from ..routes.conversations import Named

__all__ = ["Pending", "Recalled", "Turns", "data_of", "foreground", "id_of", "is_response", "named_in",
           "stores", "unavailable", "with_data"]  # fmt: skip

_log = logging.getLogger("unified_llm.gateway")
_FRAMES = 16  # of a stream, in which its id has to come


class Recalled(Memory):
    """The history that one request goes on from, already fetched, in the place of a transport's memory."""

    place: str = "stored by the gateway"

    def __init__(self, turns: Sequence[Turn] | None, secret: Secret, files: References | None = None) -> None:
        super().__init__(0, secret)
        self.history = turns
        self.files = files
        self.upstream: str = ""
        self.protocol: str = ""
        self.forgotten: bool = False
        self.conversation: Named | None = None

    def turns(self, name: str, surface: str, caller: str = "") -> list[Turn] | None:
        """The history, whichever protocol each turn is in."""
        return None if self.history is None else list(self.history)

    def forget(self, name: str, surface: str, caller: str = "") -> None:
        """Note that the response is to be deleted."""
        self.forgotten = True

    def with_files(self) -> AbstractAsyncContextManager[Any]:
        """With the data of its files in memory, for `recalled`. Raises `Refusal` (429, 503) when it is entered."""
        return nullcontext() if self.files is None else _loaded(self.files)

    def recalled(self, body: Any, surface: str, asked: Any, caller: str = "") -> Any:
        """`body` with its history and its files, inside of `with_files`.

        Raises `NotFoundError` or `InvalidRequestError` for an id that this tenant does not have: nothing is sent to an
        upstream, except for a thread, which the gateway does not store and which its own provider may have.
        """
        if self.conversation is not None and isinstance(body, dict):
            body = self.conversation.full(body)
        whole = super().recalled(body, surface, () if adapter(surface).thread is None else asked, caller)
        return whole if self.files is None else self.files.put(whole, surface, asked)

    def tell(self, reply: Reply, on_losses: Callable[[Losses], None]) -> None:
        """Report what was put in the place of names."""
        if self.files is not None and self.files.losses:
            on_losses(self.files.losses)
            for each in self.files.losses:
                loss = [each.path, each.capability, each.fate, each.side]
                reply.headers[LOSSES] = _with_loss(reply.headers.get(LOSSES, ""), loss)

    def follow(self, reply: Any, surface: str, asked: bytes, body: Any, whose: Any, caller: str = "") -> None:
        """Note who answered; a stream collects what its client is sent."""
        self.upstream, self.protocol = whose.name, whose.protocol
        if reply.stream is not None:
            reply.stream.keep = lambda sent, stream: None


@asynccontextmanager
async def _loaded(files: References) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(files.loaded())
        except StoreUnavailable:
            raise unavailable() from None
        yield


class Pending:
    """A response that is to be stored once it is complete."""

    def __init__(
        self,
        turns: Turns,
        key: Key,
        surface: str,
        found: Peek,
        content: bytes,
        recalled: Recalled,
        keep: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self._keep = keep  # what else is stored with the response, given its id
        self._turns, self._key, self._surface = turns, key, surface
        self._previous = found.previous if isinstance(found.previous, str) else None
        self._content, self._recalled = content, recalled
        self._is_stored = stores(surface, found)

    async def whole(self, reply: Reply) -> Reply:
        """The reply, stored. Without the database it is marked as not stored; raises `Refusal` where it must be."""
        if reply.status >= 300:
            return reply
        try:
            with beside_the_answer():
                await self._store(reply.content, streamed=False)
        except StoreUnavailable:
            if self._turns.settings.required or self._recalled.conversation is not None:
                raise unavailable() from None
            field = takes(adapter(self._surface), "store") or ""
            loss = [f"/{field}", "state.store", "lost", "source"]
            headers = {**reply.headers, LOSSES: _with_loss(reply.headers.get(LOSSES, ""), loss)}
            return Reply(status=reply.status, headers=headers, content=_unstored(reply.content, field))
        return reply

    async def streamed(self, surface: SurfaceStream, out: list[bytes]) -> list[bytes]:
        """The last events of a complete stream, once it is stored."""
        return await self.ended(b"".join(surface.sent), out)

    async def ended(self, answered: bytes, out: list[bytes]) -> list[bytes]:
        """The last events of a response whose events are `answered`, once it is stored."""
        try:
            with beside_the_answer():
                await self._store(answered, streamed=True)
        except StoreUnavailable:
            if self._turns.settings.required or self._recalled.conversation is not None:
                error = {"type": "overloaded", "code": "state_unavailable", "message": unavailable().message}
                shown = answered.removesuffix(b"".join(out))
                return broken_off(self._surface, error, shown, shown)
            field = takes(adapter(self._surface), "store") or ""
            return [_unstored_event(each, field) for each in out]
        return out

    async def _store(self, answered: bytes, *, streamed: bool) -> None:
        content, conversation = self._content, self._recalled.conversation
        if conversation is not None:
            response = response_of(answered, streamed)
            if response.get("status") != "failed":
                await conversation.add(self._surface, content, response)
            content = dump(conversation.full(parse(content)))
        id_ = id_of(self._surface, answered, streamed)
        if not id_ or not self._is_stored:
            return
        now = int(time.time())
        keep = self._turns.settings.keep
        row = Stored(
            self._key.tenant,
            id_,
            self._surface,
            self._previous,
            self._recalled.upstream,
            streamed,
            content,
            answered,
            now,
            now + int(keep),
        )
        await self._turns.refer(self._key.tenant, id_, self._recalled)
        if self._keep is not None:
            await self._keep(id_)  # before the response: until that is there, it cannot be deleted
        try:
            await self._turns.store.put(row)
        except Conflict:
            # Two nodes have made responses of one id at the same time: the first one is the one that it names.
            raise StoreUnavailable("the id of the response is taken") from None


class Turns:
    """The stored responses of one gateway; `memory` is what their requests are given."""

    memory: type[Recalled] = Recalled

    def __init__(self, store: Store, settings: StateSettings) -> None:
        self.store = store
        self.settings = settings
        self.files: FileStore = FileStore(store, settings)
        self.claims: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # ids of what is being made

    async def recall(
        self, key: Key, surface: str, found: Peek, secret: Secret, content: bytes = b"", kind: str = "request"
    ) -> Recalled:
        """The memory of one request, with the files that it names.

        Their data is not in memory yet. Raises `Refusal` (413 for too many, 503 where the database is needed and away).
        """
        if self.settings.required and stores(surface, found):
            try:
                await self.store.open()
            except StoreUnavailable:
                raise unavailable() from None
        try:
            turns = await self.past(key, found)
            files = await find_references(
                self.files,
                key.tenant,
                (surface, kind, content),
                turns or (),
                secret,
                found.model,
            )
        except StoreUnavailable:
            raise unavailable() from None
        return self.memory(turns, secret, files)

    async def past(self, key: Key, found: Peek) -> list[Turn] | None:
        """The turns that a request goes on from, the last first; None where it names none, or one is unknown."""
        if not isinstance(found.previous, str):
            return None
        rows = await self.store.conversation(key.tenant, found.previous)
        return None if rows is None else [turn_of(each) for each in rows]

    async def refer(self, tenant: str, id_: str, recalled: Recalled) -> None:
        """Note the files of a response that is stored. Raises `StoreUnavailable`."""
        if recalled.files is not None and recalled.files.own:
            await self.files.used(tenant, id_, recalled.files.own, self.settings.keep)

    async def claim(self, tenant: str, id_: str, owner: Any) -> bool:
        """Take an id for what `owner` stands for; whether it was free. Raises `StoreUnavailable`."""
        with beside_the_answer():
            return self.claims.setdefault((tenant, id_), owner) is owner and not await self.store.has(tenant, id_)

    def remembers(self, surface: str, found: Peek) -> bool:
        """Whether a client can go on from its response, so that the id has to name this one alone."""
        return stores(surface, found)

    async def lifecycle(self, match: Match, key: Key, query: Mapping[str, str], secret: Secret) -> Whole:
        """Fetch, list the input of, delete or cancel a stored response, as transports do with those they remember."""
        id_ = match.names.get("id", "")
        try:
            is_listed = match.route.kind == "input_items"
            rows = await self.store.conversation(key.tenant, id_) if is_listed else None
            row = rows[0] if rows else await self.store.get(key.tenant, id_)
            if row is None or not keeps(match.protocol):
                raise Refusal(404, "not_found", missing(match), code="not_found")
            memory = Recalled([turn_of(each) for each in rows or [row]], secret)
            if match.route.kind == "response" and match.route.method == "GET" and row.surface != match.protocol:
                return Whole(200, {"content-type": "application/json"}, _converted(row, match.protocol, secret))
            try:
                told = kept(memory, match, query, key.tenant)
            except APIError as error:
                raise Refusal(
                    error.status or 400, "invalid_request", error.message, code="failed_precondition"
                ) from None
            if memory.forgotten:
                await self.store.delete(key.tenant, id_)
        except StoreUnavailable:
            raise unavailable() from None
        assert told is not None
        framing = adapter(match.protocol).streams.framing
        kind = framing.content_type if told.stream else "application/json"
        return Whole(200, {"content-type": kind}, told.content)


def stores(surface: str, found: Peek) -> bool:
    """Whether a response is to be stored: the protocol has ids to go on from, and the client does not object."""
    return bool(keeps(surface)) and found.store is not False


def unavailable(what: str = "stored responses") -> Refusal:
    """The refusal of a request that needs the database, for what it is to read there."""
    reason = f"{what} are unavailable; try again later"
    return Refusal(503, "overloaded", reason, code="state_unavailable", headers={"retry-after": "5"})


def turn_of(row: Stored) -> Turn:
    """A stored response as the conversation code reads it."""
    return Turn(row.tenant, row.surface, row.request, row.previous or "", [row.response], row.streamed)


def _converted(row: Stored, surface: str, secret: Secret) -> bytes:
    """A stored response as a document of another protocol."""
    document: Any = row.response
    if row.streamed:
        document = write(answer(turn_of(row), secret) or {}, row.surface, "response", secret=secret).value
    return dump(convert(document, source=row.surface, target=surface, kind="response", secret=secret).value)


def id_of(surface: str, answered: bytes, streamed: bool) -> str:
    """The id that a client got."""
    if not streamed:
        found = parse(answered)
        id_ = found.get("id") if isinstance(found, dict) else None
        return id_ if isinstance(id_, str) else ""
    return named_in(answered)[1]


def named_in(events: bytes) -> tuple[str, str]:
    """The field that has the response in the first events of a stream, and its id; empty where there is none."""
    for frame in events.split(b"\n\n", _FRAMES)[:_FRAMES]:
        for name, node in data_of(frame).items():
            if isinstance(node, dict) and isinstance(node.get("id"), str) and node.get("status"):
                return name, node["id"]
    return "", ""


def data_of(frame: bytes) -> dict[str, Any]:
    """The data of one event, where it is an object."""
    text = b"".join(line[5:] for line in frame.split(b"\n") if line.startswith(b"data:"))
    try:
        value = parse(text)
    except InvalidBody:
        return {}
    return value if isinstance(value, dict) else {}


def response_of(answered: bytes, streamed: bool) -> dict[str, Any]:
    """The response that a client got, from its last event where it was streamed."""
    if not streamed:
        found = parse(answered)
        return found if isinstance(found, dict) else {}
    for frame in reversed(answered.split(b"\n\n")):
        node = next((node for node in data_of(frame).values() if is_response(node)), None)
        if node is not None:
            return dict(node)
    return {}


def with_data(frame: bytes, value: Any) -> bytes:
    """An event with other data."""
    head = b"".join(line + b"\n" for line in frame.split(b"\n") if line and not line.startswith(b"data:"))
    return head + b"data: " + dump(value) + b"\n\n"


def is_response(node: Any) -> bool:
    """Whether a value in an event is the response itself: other nodes have a status or an id, but no model's usage."""
    return isinstance(node, dict) and isinstance(node.get("id"), str) and "status" in node and "usage" in node


def foreground(content: bytes, surface: str, kept: bool = False) -> bytes:
    """A request for a run in the background as the request for a stream that the run executes.

    With `kept` the upstream runs it in the background as well, and keeps it.
    """
    known = adapter(surface)
    body = {name: value for name, value in parse(content).items() if kept or name != takes(known, "background")}
    return dump({**body, takes(known, "stream") or "stream": True})


# ---- a response that could not be stored ----------------------------------------------------------------------------


def _unstored(content: bytes, field: str) -> bytes:
    """A response that is marked as not stored."""
    value = parse(content)
    return dump({**value, field: False}) if isinstance(value, dict) else content


def _unstored_event(frame: bytes, field: str) -> bytes:
    """An event whose response is marked so."""
    value = data_of(frame)
    name = next((name for name, node in value.items() if is_response(node)), None)
    return frame if name is None else with_data(frame, {**value, name: {**value[name], field: False}})


def _with_loss(header: str, loss: Sequence[str]) -> str:
    """The header of losses with one more (path, capability, fate, side), in place of any other of its path."""
    try:
        told = json.loads(header)
    except ValueError:
        told = {"count": 0, "first": []}
    others = [each for each in told["first"] if each[0] != loss[0]]
    told["count"] += 1 + len(others) - len(told["first"])
    told["first"] = [list(loss), *others]
    return json.dumps(told, separators=(",", ":"))
