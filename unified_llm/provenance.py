"""How a conversation keeps its mind: opaque pieces, where they are from, and the envelope they travel in.

An opaque piece (a signature, encrypted reasoning, a compaction) says where it was made. To its origin it goes back
byte for byte; to nobody else it is ever sent. A *client* that echoes a slot of its surface carries it there for us,
sealed in an envelope that describes itself; where a client drops it, the vault remembers (`vault.py`). What a surface
has no slot for travels with the whole answer it is part of (`turns.py`). An envelope never reaches a provider.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from .jsonvalue import dump, dump_text, load_text

if TYPE_CHECKING:
    from .reading import Reader
    from .writing import Writer

__all__ = [
    "anchor_of",
    "is_own",
    "is_sealed",
    "matches",
    "opaque_piece",
    "open_sealed",
    "origin_of",
    "plain_text",
    "seal",
    "split_opaque",
]

Node = dict[str, Any]

# Twelve bytes, so that the base64 of every envelope starts with the same sixteen characters.
_MARK = b"unified_llm:"
_PREFIX = base64.b64encode(_MARK).decode()
_DIGEST = 16
VERSION = 1


def opaque_piece(kind: str, data: str, reader: Reader) -> Node:
    """A naked piece found in a protocol's own slot: whoever is being read made it."""
    reader.signed = True
    return {"kind": kind, "data": data, "origin": origin_of(reader)}


def origin_of(reader: Reader) -> Node:
    """Where what is being read was made: the protocol, and of provider, scope and model what is known."""
    origin = {"protocol": reader.protocol}
    if reader.provider:
        origin["provider"] = reader.provider
    if reader.scope:
        origin["scope"] = reader.scope
    if reader.model:
        origin["model"] = reader.model
    return origin


def matches(origin: Node, here: Node, keys: Iterable[str]) -> bool:
    """True when a piece of `origin` may be sent to `here`. What one side does not know is no mismatch."""
    for key in keys:
        theirs, ours = origin.get(key), here.get(key)
        if theirs is not None and ours is not None and theirs != ours:
            return False
    return True


def is_own(piece: Any, writer: Writer) -> bool:
    """True when a piece goes into the target's own slot as it is.

    A provider gets what its own origin rule (`Adapter.origin`) lets match. A client surface stands for no provider in
    particular: a piece that says more of its maker than the surface does has to say it in an envelope.
    """
    origin = piece.get("origin") if type(piece) is dict else None
    if not origin:
        return True
    here, client = writer.here, writer.facing == "client"
    for key in writer.origin:
        theirs = origin.get(key)
        if theirs is not None:
            ours = here.get(key)
            if ours != theirs and (ours is not None or (client and key != "model")):
                return False
    return True


def split_opaque(rest: Node, writer: Writer) -> tuple[list[Node], list[Node]]:
    """Pop `opaque` of a node being written and part it: what goes back to its origin, and what is foreign here."""
    own: list[Node] = []
    foreign: list[Node] = []
    for piece in rest.pop("opaque", None) or ():
        (own if is_own(piece, writer) else foreign).append(piece)
    return own, foreign


def withheld(writer: Writer) -> str:
    """The fate of what may not be sent here: with us if a vault was passed (which keeps it), gone otherwise."""
    return "parked" if writer.vault is not None else "lost"


def seal(node: Node, anchor: str) -> str:
    """An envelope around a canonical node with opaque pieces: standard base64 that tells itself apart.

    `anchor` says what it belongs to (`anchor_of` of the bearer); an envelope found elsewhere does not open.
    """
    origin = next((piece["origin"] for piece in node.get("opaque") or () if piece.get("origin")), None)
    if "turn" in node:
        # Turns are counted anew in every document: the number would group it with strangers, or part it from its own.
        node = {key: value for key, value in node.items() if key != "turn"}
    payload = dump({"version": VERSION, "kind": node.get("type"), "origin": origin, "anchor": anchor, "node": node})
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
    if content.get("version") != VERSION or (anchor is not None and not _belongs(content.get("anchor"), anchor)):
        return None
    node: Node = content["node"]
    return node


def anchor_of(node: Node) -> str:
    """What identifies a bearer across surfaces: a call by its id and a digest of its arguments, anything else by one
    of its readable text."""
    if node.get("call_id"):
        said = node.get("arguments", node.get("input"))
        return f"call:{node['call_id']}" + (f"\n{_digest(plain_text(said))}" if type(said) is str else "")
    return "text:" + _digest(_text(node))


def _belongs(anchor: Any, here: str) -> bool:
    """Whether an envelope's anchor is that of a bearer; arguments that one of them does not know say nothing."""
    if anchor == here or anchor == "":
        return True
    if type(anchor) is not str or ("\n" in anchor and "\n" in here):
        return False
    return here.startswith("call:") and anchor.partition("\n")[0] == here.partition("\n")[0]


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def plain_text(arguments: Any) -> str:
    """Arguments as they compare: not by spelling, nor by the order of keys, nor by whether raw text is in an object."""
    try:
        value = load_text(arguments)
    except (TypeError, ValueError):
        return str(arguments or "")
    if type(value) is dict and value.keys() == {"input"} and type(value["input"]) is str:
        return plain_text(value["input"])
    return dump_text(_plain(value))


def _plain(value: Any) -> Any:
    if type(value) is dict:
        return {key: _plain(value[key]) for key in sorted(value)}
    if type(value) is list:
        return [_plain(inner) for inner in value]
    return int(value) if type(value) is float and value.is_integer() else value


def _text(node: Any) -> str:
    if type(node) is str:
        return node
    if type(node) is list:
        return "".join(map(_text, node))
    if type(node) is dict:
        return "".join(_text(node[key]) for key in ("summary", "content", "text", "refusal") if node.get(key))
    return ""
