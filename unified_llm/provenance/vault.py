"""The vault: where answers are kept whose opaque data a client drops, until the conversation comes back.

The key of an answer covers everything it depends on: the instructions, every earlier turn, and what the client sends
back of the answer itself (its text, its calls with their arguments). A conversation that differs anywhere before an
answer never gets that answer's data. Keys are digests, so that a store learns nothing from them. A scope keeps callers
apart whose conversations are equal; memory is bounded.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from ..foundation.generated_ids import is_made
from ..foundation.json_codec import detached, dump
from .answer_envelope import CALLS, Shown, origins, pieces, shown
from .conversation_digest import behind_answer, keys_of, opening, thread_later, walk
from .opaque import is_reply
from .returned_answers import goes_home, readdress, restored, returned

if TYPE_CHECKING:
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = ["MemoryVault", "OfRequest", "Scoped", "Vault", "park", "thread_for", "unpark"]

Node = dict[str, Any]


class Vault(Protocol):
    """Where answers are kept. Keys are made by the library; values are plain JSON, so that a database can hold them.

    A vault is used by one caller. What serves several callers gives each a scope of it: `Scoped(vault, caller)`.
    Its methods may be called from several threads.

    >>> class Shelf(dict):
    ...     def put(self, key, items): self[key] = items
    >>> vault: Vault = Shelf()
    >>> vault.put("call:a", []); vault.get("call:a"), vault.get("call:b")
    ([], None)
    """

    def put(self, key: str, items: list[Node]) -> None:
        """Remember items under a key, replacing what was there."""

    def get(self, key: str) -> list[Node] | None:
        """The items under a key, None when there are none (any more)."""


class MemoryVault:
    """A bounded vault in memory: the entries used longest ago go first.

    `scope` keeps callers apart, `limit` is the number of entries kept over all scopes, `max_bytes` the size of their
    JSON over all scopes. `within` gives another scope of the same memory. It may be used by several threads, and be
    copied and pickled.

    >>> vault = MemoryVault(limit=1)
    >>> vault.put("call:a", []); vault.put("call:b", []); vault.get("call:a") is None
    True
    >>> vault.within("another").get("call:b") is None
    True
    """

    def __init__(self, scope: str = "", limit: int = 10_000, max_bytes: int = 256_000_000) -> None:
        self.scope = scope
        self.limit = limit
        self.max_bytes = max_bytes
        self._store = _Store()

    def __repr__(self) -> str:
        return f"MemoryVault({self.scope!r}, {len(self._store.entries)} of at most {self.limit} entries)"

    def within(self, scope: str) -> MemoryVault:
        """The same memory, and the same limits, seen by another caller."""
        other = MemoryVault(scope, self.limit, self.max_bytes)
        other._store = self._store
        return other

    @property
    def empty(self) -> bool:
        """Whether nothing is kept, for anybody; a quick answer saves the search."""
        return not self._store.entries

    def put(self, key: str, items: list[Node]) -> None:
        """Store a copy of the items under a key; drops the oldest entries beyond `limit` or `max_bytes`."""
        self._store.put((self.scope, key), dump(items), self.limit, self.max_bytes)

    def get(self, key: str) -> list[Node] | None:
        """The items under a key, a copy; None where there are none."""
        found = self._store.get((self.scope, key))
        return None if found is None else json.loads(found)


class _Store:
    """The entries of all scopes, as bytes, which cannot be changed by a reader."""

    def __init__(self) -> None:
        self.entries: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self.size = 0
        self.lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:  # a copy or a pickle has a lock of its own
            return {"entries": list(self.entries.items()), "size": self.size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.entries, self.size, self.lock = OrderedDict(state["entries"]), state["size"], Lock()

    def put(self, key: tuple[str, str], value: bytes, limit: int, max_bytes: int) -> None:
        with self.lock:
            self.size += len(value) - len(self.entries.pop(key, b""))
            self.entries[key] = value
            while self.entries and (len(self.entries) > limit or self.size > max_bytes):
                self.size -= len(self.entries.popitem(last=False)[1])

    def get(self, key: tuple[str, str]) -> bytes | None:
        with self.lock:
            found = self.entries.get(key)
            if found is not None:
                self.entries.move_to_end(key)
            return found


class Scoped:
    """Any vault, seen by one caller: nothing that another scope keeps is found.

    >>> memory = MemoryVault()
    >>> Scoped(memory, "a").put("key", []); Scoped(memory, "b").get("key") is None
    True
    """

    def __init__(self, vault: Vault, scope: str) -> None:
        self._vault = vault
        self._scope = blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def empty(self) -> bool:
        """Whether the vault is known to hold nothing at all."""
        return bool(getattr(self._vault, "empty", False))

    def put(self, key: str, items: list[Node]) -> None:
        """Store items under a key of this scope."""
        self._vault.put(f"{self._scope}:{key}", items)

    def get(self, key: str) -> list[Node] | None:
        """The items under a key of this scope; None where there are none."""
        return self._vault.get(f"{self._scope}:{key}")


class OfRequest:
    """Any vault, for one request and its answer: it holds the conversation until the answer has something to keep.

    Few answers have, and a digest of a long conversation costs as much as its conversion. Where an `Exchange` outlives
    the request, in a caller's hands, the digest is in it, and no text.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._thread: str | Callable[[], str] = ""

    @property
    def empty(self) -> bool:
        """Whether the vault is known to hold nothing at all."""
        return bool(getattr(self._vault, "empty", False))

    def put(self, key: str, items: list[Node]) -> None:
        """Store items under a key."""
        self._vault.put(key, items)

    def get(self, key: str) -> list[Node] | None:
        """The items under a key; None where there are none."""
        return self._vault.get(key)

    def wait(self, node: Node) -> None:
        """Hold the conversation of a request."""
        self._thread = thread_later(node)

    @property
    def thread(self) -> str:
        """The thread of that conversation; "" without one."""
        if callable(self._thread):
            self._thread = self._thread()
        return self._thread


def thread_for(writer: Writer) -> str:
    """The thread that an answer is written for, "" where it is unknown."""
    known: str = writer.exchange.thread if writer.exchange is not None else ""
    return known or (writer.vault.thread if isinstance(writer.vault, OfRequest) else "")


# ---- keeping and restoring ------------------------------------------------------------------------------------------


def park(items: list[Node], vault: Vault, thread: str, back: bool = False) -> None:
    """Remember an answer with opaque data, given to the conversation `thread`; without one nothing is kept.

    Of two answers that differ in the ids of their calls alone, a client that drops these gets the later one back,
    whole: the provider takes it in either conversation, and may refuse both without it. An answer that holds results
    of its calls is several, where a client sends them back. What comes `back` may lack ids and some of the data: it
    takes the place of no answer that is kept with all of its data.
    """
    if not thread or not any(pieces(items)):
        return
    answers = [(items, thread)]
    if any(is_reply(item) for item in items):
        answers.append(([item for item in items if not (item.get("type") == "message" and is_reply(item))], thread))
        answers += [(items[a:b], before) for a, b, before, _ in walk(items, thread) if a >= 0]
    for answer, before in answers:
        keys = keys_of(shown(answer, True), before) if any(pieces(answer)) else []
        kept = next((found for found in map(vault.get, keys) if found), []) if back else []
        if kept and set(_pieces(answer)).issubset(_pieces(kept)):
            continue
        for key in keys:
            vault.put(key, detached(answer))


def parked_answers(items: list[Node], node: Node) -> Iterator[tuple[list[Node], str]]:
    """The answers of a conversation, each with the thread it was given to."""
    for start, end, before, _ in walk(items, opening(node)):
        if start >= 0:
            yield items[start:end], before


def _pieces(items: list[Node]) -> list[str]:
    """The keys that distinguish the opaque data of items; a document made by hand may have anything as their data."""
    return [repr((piece.get("kind"), piece.get("data"))) for _, piece in pieces(items)]


# Ways to cut the items between two messages of the client's into answers, before the rest is taken as it is.
_TRIES = 64


def unpark(node: Node, vault: Vault, reader: Reader | None = None, target: Writer | None = None) -> list[Node]:
    """The items of a request with the opaque data of kept answers, where the client dropped it."""
    items: list[Node] = node["input"]
    if getattr(vault, "empty", False):
        return items
    out: list[Node] = []
    done = 0
    wires: dict[int, Any] = {}
    scratch: Any = reader or _Scratch()
    names: dict[str, str] = {}
    once: frozenset[str] | None = None
    clean = 0
    walked = list(walk(items, opening(node)))
    if target is not None and walked:
        target.context["thread"] = walked[-1][3]
    for start, end, before, _ in walked:
        if start < 0:
            continue
        readdress(items, clean, end, names, scratch, wires)
        clean = end
        there = items[start:end]
        # A client may keep what is signed and drop the ids of its calls, which the signature may be for. What it keeps
        # may be a part: the SDK of OpenAI for JavaScript keeps the last of the envelopes of a stream.
        echoed = set(_pieces(there))
        named = not any(is_made(item.get("call_id")) for item in there)
        for at, last, found in _kept(there, before, vault):
            origin = next(origins(found), {})
            at, last = start + at, start + last
            there = items[at:last]
            all_there = echoed and named and echoed.issuperset(_pieces(found))
            if not goes_home(found, origin, target) or (all_there and _order(there) == _order(found)):
                continue
            if reader is not None and not wires:
                wires = {id(item): wire for item, wire in reader.traced()}
            wire = next((wires[id(item)] for item in there if id(item) in wires), None)
            turn = {"items": found, "origin": origin}
            if once is None:
                once = _once(items, target)
            new = returned(turn, there, once)
            if new:
                items = items if names else [*items]
                names = {**new, **names}
                readdress(items, last, end, names, scratch, wires)
            out += items[done:at] + restored(turn, there, wire, scratch, wires, once)
            done = last
    readdress(items, clean, len(items), names, scratch, wires)
    return out + items[done:] if done else items


def _order(items: list[Node]) -> list[Any]:
    """The signed thoughts of an answer, each with how much is shown before it: a client may put them first."""
    text = calls = 0
    found = []
    for item in items:
        if item.get("type") == "reasoning" and item.get("opaque"):
            found.append((_pieces([item]), text, calls))
        else:
            said, called = shown((item,), True)
            text, calls = text + len(said), calls + len(called)
    return found


def _once(items: list[Node], target: Writer | None) -> frozenset[str]:
    """The ids that one call of a conversation has, on its way to a provider: a result with it answers no other call."""
    if target is None or target.facing == "client":
        return frozenset()
    counted = Counter(
        item["call_id"] for item in items if item.get("type") in CALLS and type(item.get("call_id")) is str
    )
    return frozenset(call_id for call_id, count in counted.items() if count == 1)


def _kept(there: list[Node], before: str, vault: Vault) -> Iterator[tuple[int, int, list[Node]]]:
    """The kept answers among the items between two messages of the client's: from, to, and the answer as it was."""
    told = [shown((item,), True) for item in there]
    at, tries = 0, _TRIES
    while at < len(there) and tries > 0:
        thread = behind_answer(there[:at], before)
        for last in range(len(there), at, -1):
            tries -= 1
            text, calls = _together(told[at:last])
            found = next((one for one in map(vault.get, keys_of((text, calls), thread)) if one), None)
            if found:
                yield at, last, found
                at = last
                break
            if tries <= 0:
                break
        else:
            at += 1


def _together(told: list[Shown]) -> Shown:
    """What items show together, of what each of them does."""
    return "".join(text for text, _ in told), [call for _, calls in told for call in calls]


class _Scratch:
    """What stands for a reader where there is none."""

    def __init__(self) -> None:
        self.trace: list[Any] = []
        self.restored: list[Any] = []
