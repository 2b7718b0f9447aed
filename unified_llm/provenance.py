"""How a conversation keeps its mind: opaque pieces, the envelope they travel in, and the vault.

An opaque piece (a signature, encrypted reasoning, a compaction) says where it was made. To its origin it goes back
byte for byte; to nobody else it is ever sent. A *client* that echoes a slot of its surface carries it there for us,
sealed in an envelope that describes itself; where a client drops it, the vault remembers. An envelope never reaches
a provider.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

from .jsonvalue import dump, load_text

if TYPE_CHECKING:
    from .writing import Writer

__all__ = [
    "MemoryVault",
    "Vault",
    "anchor_of",
    "is_sealed",
    "matches",
    "opaque_piece",
    "open_sealed",
    "park",
    "seal",
    "unpark",
]

Node = dict[str, Any]

# Twelve bytes, so that the base64 of every envelope starts with the same sixteen characters.
_MARK = b"unified_llm:"
_PREFIX = base64.b64encode(_MARK).decode()
_DIGEST = 16


def opaque_piece(kind: str, data: str, protocol: str, model: str | None = None) -> Node:
    """A naked piece found in a protocol's own slot: that protocol made it."""
    origin = {"protocol": protocol}
    if model:
        origin["model"] = model
    return {"kind": kind, "data": data, "origin": origin}


def matches(origin: Node, here: Node, keys: Iterable[str]) -> bool:
    """True when a piece of `origin` may be sent to `here`. What one side does not know is no mismatch."""
    for key in keys:
        theirs, ours = origin.get(key), here.get(key)
        if theirs is not None and ours is not None and theirs != ours:
            return False
    return True


def seal(node: Node, anchor: str) -> str:
    """An envelope around a canonical node with opaque pieces: standard base64 that tells itself apart.

    `anchor` says what it belongs to (`anchor_of` of the bearer); an envelope found elsewhere does not open.
    """
    payload = dump({"version": 1, "anchor": anchor, "node": node})
    return base64.b64encode(_MARK + blake2b(payload, digest_size=_DIGEST).digest() + payload).decode()


def is_sealed(text: Any) -> bool:
    """True for a string that is one of our envelopes, whole or damaged."""
    return type(text) is str and text.replace("-", "+").replace("_", "/").startswith(_PREFIX)


def open_sealed(text: str, anchor: str | None = None) -> Node | None:
    """The node inside an envelope; None when it is damaged or belongs to another bearer. Both alphabets are read."""
    try:
        raw = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
        payload = raw[len(_MARK) + _DIGEST :]
        if raw[len(_MARK) : len(_MARK) + _DIGEST] != blake2b(payload, digest_size=_DIGEST).digest():
            return None
        content = load_text(payload.decode())
    except (binascii.Error, ValueError):
        return None
    if content.get("version") != 1 or (anchor is not None and content.get("anchor") not in ("", anchor)):
        return None
    node: Node = content["node"]
    return node


def anchor_of(node: Node) -> str:
    """What identifies a bearer across surfaces: a call by its id, anything else by a digest of its readable text."""
    if node.get("call_id"):
        return f"call:{node['call_id']}"
    return "text:" + blake2b(_text(node).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _text(node: Any) -> str:
    if type(node) is str:
        return node
    if type(node) is list:
        return "".join(map(_text, node))
    if type(node) is dict:
        return "".join(_text(node[key]) for key in ("summary", "content", "text", "refusal") if node.get(key))
    return ""


class Vault(Protocol):
    """Where parked pieces wait. A scope keeps callers apart; keys are anchors of what follows the parked item."""

    def put(self, key: str, items: list[Node]) -> None:
        """Remember items under a key, replacing what was there."""

    def get(self, key: str) -> list[Node] | None:
        """The items under a key, None when there are none (any more)."""


class MemoryVault:
    """A bounded vault in memory: the entries used longest ago go first.

    `scope` keeps tenants apart, `limit` is the number of entries kept.

    >>> vault = MemoryVault(limit=1)
    >>> vault.put("call:a", []); vault.put("call:b", []); vault.get("call:a") is None
    True
    """

    def __init__(self, scope: str = "", limit: int = 10_000) -> None:
        self.scope = scope
        self.limit = limit
        self._items: OrderedDict[tuple[str, str], list[Node]] = OrderedDict()

    def put(self, key: str, items: list[Node]) -> None:
        self._items[(self.scope, key)] = items
        self._items.move_to_end((self.scope, key))
        while len(self._items) > self.limit:
            self._items.popitem(last=False)

    def get(self, key: str) -> list[Node] | None:
        found = self._items.get((self.scope, key))
        if found is not None:
            self._items.move_to_end((self.scope, key))
        return found


def park(items: list[Node], vault: Vault) -> None:
    """Remember every item with opaque pieces under the anchor of the item it led to."""
    waiting: list[Node] = []
    for item in items:
        if item.get("opaque"):
            waiting.append(item)
        elif waiting:
            vault.put(anchor_of(item), waiting)
            waiting = []


def unpark(items: list[Node], vault: Vault) -> list[Node]:
    """`items` with the parked ones back before what they led to, where the client dropped them."""
    out: list[Node] = []
    for item in items:
        if item.get("type") == "function_call" or item.get("role") == "assistant":
            parked = vault.get(anchor_of(item)) if not (out and out[-1].get("opaque")) else None
            if parked:
                out.extend(parked)
        out.append(item)
    return out if len(out) != len(items) else items


def split_opaque(rest: Node, node: Node, writer: Writer, keys: Iterable[str]) -> tuple[list[Node], list[Node]]:
    """Pop `opaque` of a node being written and part it: what goes back to its origin, and what is foreign here."""
    pieces = rest.pop("opaque", None) or []
    here = writer.context.get("here") or {"protocol": writer.protocol}
    own = [piece for piece in pieces if matches(piece.get("origin") or {}, here, keys)]
    foreign = [piece for piece in pieces if not matches(piece.get("origin") or {}, here, keys)]
    return own, foreign
