"""Opaque data: where it was created, and the envelope in which a client keeps it for us.

Opaque data (a signature, encrypted reasoning, a compaction) has an origin. It returns to its origin byte for byte and
is never sent to another provider. A *client* keeps it in a field that it echoes, in an envelope: base64 of JSON,
readable by anybody. Where a client drops it, the vault restores it (`vault.py`). What a surface has no field for
travels with the complete answer (`answer_envelope.py`). An envelope never reaches a provider.

Who may be believed (docs/security.md): an envelope in anything that a provider sends is never opened. One that a client
sends is opened if it has the MAC of the secret; without a secret it only adds opaque data to what the client shows.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from ..engine.pairs.origins import is_own
from ..foundation.json_codec import dump, dump_text, escapes_ascii, load_text
from ..foundation.secret import DIGEST, Secret, SecretLike, process_secret
from .untrusted_envelopes import TURN, is_reply, joined_parts, untrusted, valid_pieces

if TYPE_CHECKING:
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = [
    "TURN",
    "Anchored",
    "Secret",
    "SecretLike",
    "anchor_of",
    "anchors_of",
    "announced",
    "escaped",
    "escaped_all",
    "escaped_json",
    "has_sealed",
    "is_constant",
    "is_envelope",
    "is_reply",
    "is_sealed",
    "joined_parts",
    "looks_sealed",
    "matches",
    "opaque_piece",
    "open_anchored",
    "open_sealed",
    "origin_of",
    "plain_text",
    "process_secret",
    "restore",
    "seal",
    "split_opaque",
    "unescaped",
    "valid_pieces",
]

Node = dict[str, Any]

# Twelve bytes, so that the base64 of every envelope starts with the same sixteen characters.
_MARK = b"unified_llm:"
_PREFIX = base64.b64encode(_MARK).decode()
VERSION = 1
MAX_SIZE = 64_000_000
"""Characters of an envelope beyond which it is not opened."""


def _checksum(payload: bytes) -> bytes:
    return blake2b(payload, digest_size=DIGEST).digest()


# What a provider sends and looks like an envelope is spelled in a way that does not, for as long as it is with us and
# with clients. Four characters at a time, so that base64 stays base64; every further hop adds four more.
_STEM, _STUFF = _PREFIX[:-1], "7777"
_STEM_BYTES = _STEM.encode()
_LOOKS_SEALED = re.compile(_STEM + f"(?=(?:{_STUFF})*{_PREFIX[-1]})")
_WAS_SEALED = re.compile(_STEM + _STUFF + f"(?=(?:{_STUFF})*{_PREFIX[-1]})")


def escaped(data: str) -> str:
    """A provider's string, spelled so that it is not taken for an envelope of ours."""
    return _LOOKS_SEALED.sub(_STEM + _STUFF, data) if _STEM in data else data


def unescaped(data: str) -> str:
    """The inverse of `escaped`: the string as its provider sent it."""
    return _WAS_SEALED.sub(_STEM, data) if _STEM in data else data


def looks_sealed(value: Any) -> bool:
    """Whether a string anywhere in a JSON value looks like an envelope, or like one that was escaped."""
    if type(value) is str:
        return _STEM in value
    if type(value) is not dict and type(value) is not list:
        return False
    for inner in value.values() if type(value) is dict else value:
        kind = type(inner)
        if kind is str:
            if _STEM in inner:
                return True
        elif (kind is dict or kind is list) and looks_sealed(inner):
            return True
    return False


def has_sealed(content: bytes) -> bool:
    """Whether JSON text holds something that looks like an envelope, spelled without `\\u` escapes."""
    return _STEM_BYTES in content


def escaped_all(value: Any) -> Any:
    """A JSON value with every such string escaped."""
    if type(value) is str:
        return escaped(value)
    if type(value) is dict:
        return {key: escaped_all(inner) for key, inner in value.items()}
    return [escaped_all(inner) for inner in value] if type(value) is list else value


def escaped_json(text: bytes) -> bytes:
    """Complete lines of JSON, or of events of it, with every such string escaped; other bytes stay as they are."""
    if _STEM_BYTES not in text and not escapes_ascii(text):
        return text
    return _STRING.sub(_escaped_string, text)


def _escaped_string(found: re.Match[bytes]) -> bytes:
    try:
        value = load_text(found[0].decode())
    except ValueError:
        return found[0]
    new = escaped(value)
    return found[0] if new == value else dump(new)


_STEM_BYTES = _STEM.encode()
_STRING = re.compile(rb'"(?:[^"\\\r\n]|\\.)*"')


def opaque_piece(kind: str, data: str, reader: Reader) -> Node:
    """Naked opaque data found in a protocol's own field: its origin is the source."""
    reader.signed = True
    if _STEM in data:
        if reader.escapes:
            data = escaped(data)
        reader.stuffed = True
    return {"kind": kind, "data": data, "origin": origin_of(reader)}


def is_constant(text: Any, reader: Reader) -> bool:
    """True for a value that stands where opaque data goes and has no maker (`Adapter.constants`)."""
    return type(text) is str and text in reader.adapter.constants


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
    """True when a piece of `origin` may be sent to `here`. A value that only one side has always matches."""
    for key in keys:
        theirs, ours = origin.get(key), here.get(key)
        if theirs is not None and ours is not None and theirs != ours:
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


def seal(node: Node, anchor: str, secret: Secret | None = None) -> str:
    """An envelope around a canonical node with opaque data: standard base64 with a recognizable beginning.

    It is encoded and checksummed, not encrypted: its holder can read it. With a `secret` the checksum is a MAC.
    `anchor` identifies the item it belongs to (`anchor_of` of the carrying item); an envelope found elsewhere is
    refused.
    """
    origin = next((piece["origin"] for piece in node.get("opaque") or () if piece.get("origin")), None)
    if "turn" in node:
        # Turns are counted anew in every document: the number would group it with strangers, or part it from its own.
        node = {key: value for key, value in node.items() if key != "turn"}
    payload = dump({"version": VERSION, "kind": node.get("type"), "origin": origin, "anchor": anchor, "node": node})
    digest = secret.sign(payload) if secret is not None else _checksum(payload)
    return base64.b64encode(_MARK + digest + payload).decode()


def is_sealed(text: Any) -> bool:
    """True for a string that begins as our envelopes do, whole or damaged, in either alphabet of base64."""
    return type(text) is str and text.startswith(_PREFIX)


def is_envelope(text: Any, reader: Reader) -> bool:
    """True for an envelope in a document that a client sent. Nothing that a provider sends is one."""
    return reader.opens and is_sealed(text)


def open_sealed(text: str, anchor: str | None, reader: Reader) -> Node | None:
    """The node inside an envelope; None when it is damaged, unsigned, or belongs to another carrying item.

    With a secret the envelope is our own, and the node is what was put in. Without one anybody may have made it, and
    what is left of the node is its type and its opaque data (`untrusted_envelopes.py`), for `restore` to add to what is
    there.
    """
    found = open_anchored(text, reader)
    if found is None or (anchor is not None and not _belongs(found[0], anchor)):
        return None
    return found[1]


def open_anchored(text: str, reader: Reader) -> tuple[Any, Node] | None:
    """The same wherever it belongs, with the anchor of the item that it belongs to."""
    if not reader.opens or len(text) > MAX_SIZE:
        return None
    try:
        raw = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
        digest, payload = raw[len(_MARK) : len(_MARK) + DIGEST], raw[len(_MARK) + DIGEST :]
        secret: Secret | None = reader.secret
        if not (compare_digest(digest, _checksum(payload)) if secret is None else secret.verify(digest, payload)):
            return None
        content = load_text(payload.decode())
        if _STEM.encode() in payload:
            reader.stuffed = True
    except (binascii.Error, ValueError, RecursionError):
        return None
    if type(content) is not dict or content.get("version") != VERSION or type(content.get("node")) is not dict:
        return None
    node: Node | None = content["node"] if secret is not None else untrusted(content["node"])
    if node is None:
        return None
    # The document has opaque data from now on, as if it had come naked: a surface without a field for it carries it on.
    reader.signed = True
    reader.unsealed.append(node)
    return content.get("anchor"), node


class Anchored:
    """The items that an envelope beside them may belong to, by type and anchor, each with its place."""

    def __init__(self, items: Iterable[tuple[int, Node]]) -> None:
        self._places: dict[tuple[Any, ...], list[int]] = {}
        for place, item in items:
            here = anchor_of(item)
            keys = {here, ""}
            if here.startswith("call:"):
                keys.add(here.partition("\n")[0] + "\n")
            for key in keys:
                self._places.setdefault((item["type"], key), []).append(place)

    def nearest(self, node: Node, anchor: Any, place: int) -> int | None:
        """The place of the item that an envelope at `place` with this node belongs to."""
        if type(anchor) is not str:
            return None
        keys = [anchor]
        if anchor.startswith("call:"):
            # Arguments that one of the two does not have always match (`_belongs`).
            head, known, _ = anchor.partition("\n")
            keys.append(head if known else head + "\n")
        found = [
            each for key in keys if (each := _closest(self._places.get((node.get("type"), key)), place)) is not None
        ]
        return min(found, key=lambda at: (abs(at - place), at), default=None)


def _closest(places: list[int] | None, place: int) -> int | None:
    if not places:
        return None
    at = bisect_left(places, place)
    return min(places[max(at - 1, 0) : at + 1], key=lambda each: abs(each - place))


def restore(text: str, shown: Node, anchor: str | None, reader: Reader) -> Node | None:
    """`shown`, an item as the client shows it, with what its envelope `text` may add; None where it is refused.

    An envelope of ours holds the item as it was. One that anybody may have made adds opaque data to an item of the
    same type: never text, never a role, never another item.
    """
    node = open_sealed(text, anchor, reader)
    if node is None or node.get("type") != shown.get("type"):
        return None
    if reader.secret is not None:
        return node
    pieces = node.get("opaque")
    if pieces and _text(shown) and any(piece["kind"] == TURN for piece in pieces):
        return None
    return {**shown, "opaque": pieces} if pieces else shown


def anchor_of(node: Node) -> str:
    """What identifies a bearer across surfaces: a call by its id and a digest of its arguments, anything else by one
    of its readable text."""
    if node.get("call_id"):
        said = node.get("arguments", node.get("input"))
        return f"call:{node['call_id']}" + (f"\n{_digest(plain_text(said))}" if type(said) is str else "")
    return "text:" + _digest(_text(node))


def anchors_of(node: Node) -> tuple[str, ...]:
    """What an envelope beside an item may name it by: a call also by its id alone.

    In a stream, a call is announced before its arguments are known.
    """
    here = anchor_of(node)
    return (here, here.partition("\n")[0]) if "\n" in here else (here,)


def announced(item: Node) -> Node:
    """A call as far as it is known when a stream announces it, for `anchor_of`."""
    return {key: value for key, value in item.items() if key not in ("arguments", "input")}


def _belongs(anchor: Any, here: str) -> bool:
    """Whether an envelope's anchor is that of a bearer; arguments that one of them does not have always match."""
    if anchor == here or anchor == "":
        return True
    if type(anchor) is not str or ("\n" in anchor and "\n" in here):
        return False
    return here.startswith("call:") and anchor.partition("\n")[0] == here.partition("\n")[0]


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def plain_text(arguments: Any) -> str:
    """Arguments to compare: without their spelling, the order of keys, and an object around free-form text."""
    if arguments is None:
        return ""
    try:
        value = load_text(arguments) if type(arguments) is str else arguments
    except ValueError:
        return str(arguments)
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
