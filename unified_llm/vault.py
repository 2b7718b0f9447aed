"""The vault: where answers wait whose opaque pieces a client drops, until the conversation comes home.

An answer is known again by what every client sends back of it: its calls (id and arguments) and its text, under the
opening of the conversation where that is known. Two conversations that use one call id for different things, or one
text in different threads, never get each other's pieces. Vaults are bounded, and a scope keeps callers apart.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

from .ids import is_made
from .jsonvalue import dump_text
from .turns import Shown, origins, pieces, readdressed, regions, restored, returned, shown, words_of

if TYPE_CHECKING:
    from .reading import Reader

__all__ = ["MemoryVault", "Vault", "park", "thread_of", "unpark"]

Node = dict[str, Any]


class Vault(Protocol):
    """Where parked answers wait. Keys are made by the hub; values are plain JSON, so that a database can hold them.

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

    `scope` keeps tenants apart, `limit` is the number of entries kept over all of them. `within` gives another scope
    of the same memory.

    >>> vault = MemoryVault(limit=1)
    >>> vault.put("call:a", []); vault.put("call:b", []); vault.get("call:a") is None
    True
    >>> vault.within("another").get("call:b") is None
    True
    """

    def __init__(self, scope: str = "", limit: int = 10_000) -> None:
        self.scope = scope
        self.limit = limit
        self._items: OrderedDict[tuple[str, str], list[Node]] = OrderedDict()

    def within(self, scope: str) -> MemoryVault:
        """The same memory, and the same limit, seen by another caller."""
        other = MemoryVault(scope, self.limit)
        other._items = self._items
        return other

    @property
    def empty(self) -> bool:
        """Whether nothing is kept, for anybody; a vault that can say so quickly spares the looking."""
        return not self._items

    def put(self, key: str, items: list[Node]) -> None:
        self._items[self.scope, key] = items
        self._items.move_to_end((self.scope, key))
        while len(self._items) > self.limit:
            self._items.popitem(last=False)

    def get(self, key: str) -> list[Node] | None:
        found = self._items.get((self.scope, key))
        if found is not None:
            self._items.move_to_end((self.scope, key))
        return found


def thread_of(node: Node) -> str:
    """What tells a conversation from others: a digest of the words it opens with. They stay while it grows."""
    items = node.get("input")
    words: list[str] = []
    if type(items) is str:
        words.append(items)
    elif type(items) is list:
        first = next((item for item in items if type(item) is dict and item.get("role") == "user"), None)
        words_of(first.get("content") if first else None, words)
    return blake2b("".join(words).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if words else ""


def _keys(told: Shown, thread: str) -> list[str]:
    """The keys of an answer that shows this, the best first: with thread and ids of its calls, then with less."""
    text, calls = told
    if not text and not calls:
        return []
    bare = [("", arguments) for _, arguments in calls]
    found = [(thread, calls)] if thread else []
    if thread and calls:
        found.append((thread, bare))
    found.append(("", calls))
    return [_key(each, text, said) for each, said in found]


def _key(thread: str, text: str, calls: list[tuple[str, str]]) -> str:
    said = dump_text([thread, text, calls])
    return "turn:" + blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def park(items: list[Node], vault: Vault, thread: str = "") -> None:
    """Remember an answer with opaque pieces. What two answers would claim is kept for neither.

    An answer that holds results of its calls is several, where a client sends them back.
    """
    found = [items[start:end] for start, end in regions(items)]
    for answer in [items, *found] if found != [items] else found:
        if any(pieces(answer)):
            for number, key in enumerate(_keys(shown(answer, True), thread)):
                known = vault.get(key) if number else None
                vault.put(key, answer if known is None or _pieces(known) == _pieces(answer) else [])


def _pieces(items: list[Node]) -> list[tuple[Any, Any]]:
    return [(piece.get("kind"), piece.get("data")) for _, piece in pieces(items)]


def unpark(items: list[Node], vault: Vault, thread: str = "", reader: Reader | None = None) -> list[Node]:
    """`items` with the pieces of parked answers back where the client dropped them."""
    if getattr(vault, "empty", False):
        return items
    out: list[Node] = []
    done = 0
    wires: dict[int, Any] = {}
    for start, end in list(regions(items)):
        there = items[start:end]
        # A client may keep what is signed and drop the ids of its calls, which the signature may be for.
        at = end if any(pieces(there)) and not any(is_made(item.get("call_id")) for item in there) else start
        told = [shown((item,), True) for item in there] if at < end else []
        while at < end:
            for last in range(end, at, -1):
                keys = _keys(_together(told[at - start : last - start]), thread)
                found = next((one for one in map(vault.get, keys) if one), None)
                if found:
                    there = items[at:last]
                    if reader is not None and not wires:
                        wires = {id(node): wire for node, wire in reader.traced()}
                    wire = next((wires[id(item)] for item in there if id(item) in wires), None)
                    scratch = reader or _Scratch()
                    turn = {"items": found, "origin": next(origins(found), {})}
                    names = returned(turn, there)
                    if names:
                        items = items[:last] + readdressed(items[last:], names, scratch, wires)  # type: ignore[arg-type]
                    out += items[done:at] + restored(turn, there, wire, scratch, wires)  # type: ignore[arg-type]
                    done = at = last
                    break
            else:
                at += 1
    return out + items[done:] if done else items


def _together(told: list[Shown]) -> Shown:
    """What items show together, of what each of them does."""
    return "".join(text for text, _ in told), [call for _, calls in told for call in calls]


class _Scratch:
    """What stands for a reader where there is none."""

    def __init__(self) -> None:
        self.trace: list[Any] = []
        self.restored: list[Any] = []
