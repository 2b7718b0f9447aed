"""Complete answers in one envelope: what a client surface has no field for returns with the answer it is part of.

A signature on a hosted call, the call itself, an image, encrypted search results: another surface has no field for
them, or no form at all. Facing a client, an answer with any of those also travels complete, inside one reasoning item
made for it, because every surface's clients echo reasoning. When the conversation comes back, what the client shows
of the answer (its text and its calls, however cut or joined) proves that it is still the same, and the answer is put
back as it was. The vault does the same for clients that echo nothing.

Who may be believed: a complete answer is put back only from an envelope with our MAC, or from the vault, and only for
its origin (or for another client, who gets nothing of it that a client could have written). Without a secret an
envelope adds opaque data to the calls and messages that the client shows, and reasoning that would lose what it led to
is withheld. An edited answer is not put back: only its calls and messages that are unchanged are restored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..engine.compiler.runtime import native_of
from ..engine.pairs.origins import is_own
from ..engine.pairs.record import NOTE
from .opaque import TURN, is_reply, plain_text
from .provider_references import has_handles

if TYPE_CHECKING:
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = [
    "CALLS",
    "carrier",
    "carry",
    "cites",
    "hides",
    "is_hidden",
    "is_shown_call",
    "leading_to_hidden",
    "origins",
    "parked",
    "parts_of",
    "pieces",
    "regions",
    "shown",
    "strip_between_calls",
    "strip_leading",
    "uncarried",
    "withhold_leading",
    "words_of",
]

Node = dict[str, Any]
Shown = tuple[str, list[tuple[str, str]]]

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
# What every surface shows, or has a field for, beside calls.
_SHOWN = frozenset(("message", "reasoning"))
# What those surfaces show that have it among their bearers.
_SHOWN_BY_SOME = frozenset(("computer_call",))
_TEXTS = frozenset(("output_text", "refusal", "text", "input_text"))
_WORDS = ("text", "refusal", "transcript")
_CITED = frozenset(("url_citation",))
_NO_FOLLOWER = "without a secret, the item it led to cannot come back"


def regions(items: list[Node], known: frozenset[str] = frozenset()) -> Iterator[tuple[int, int]]:
    """The places (from, to) of the answers in a conversation; results of the calls in `known` do not end one."""
    start = None
    for index, item in enumerate(items):
        if is_reply(item) and item.get("call_id") not in known:
            if start is not None:
                yield start, index
            start = None
        elif start is None:
            start = index
    if start is not None:
        yield start, len(items)


# ---- what an answer shows -------------------------------------------------------------------------------------------


def shown(items: Iterable[Node], all_words: bool = False, transcripts: bool = True) -> Shown:
    """What every client sends back of an answer: its text without the spaces, and its calls, (id, arguments).

    A call that its provider executed is shown by some of them, and counts for none. An answer may repeat words of the
    user's, and a surface may show them as the model's: `all_words` counts them too.
    `transcripts` are the words of audio, which not every surface shows.
    """
    text: list[str] = []
    calls = []
    for item in items:
        kind = item.get("type")
        if kind == "message":
            if all_words or not is_reply(item):
                words_of(item.get("content"), text, _WORDS if transcripts else _WORDS[:2])
        elif is_shown_call(item):
            calls.append((str(item.get("call_id") or ""), plain_text(item.get(CALLS[item["type"]]))))
    return "".join("".join(text).split()), calls


def is_shown_call(item: Node) -> bool:
    """Whether an item is a call that every client sends back."""
    return item.get("type") in CALLS and item.get("executor") != "provider"


def words_of(content: Any, out: list[str], words: tuple[str, ...] = _WORDS) -> None:
    """Append the texts of a content (string, or list of parts) to `out`."""
    if type(content) is str:
        out.append(content)
    elif type(content) is list:
        for part in content:
            if type(part) is dict:
                out += [part[key] for key in words if type(part.get(key)) is str]


# ---- towards a client -----------------------------------------------------------------------------------------------


def hides(items: Iterable[Any], carries: frozenset[str]) -> bool:
    """True for an answer with anything that not every surface shows: hosted calls, images, what is one provider's.

    But for the bearers that this one `carries`: it has calls of that kind.
    """
    for item in items:
        if type(item) is dict and (is_hidden(item, carries) or _has_unread_notes(item)):
            return True
    return False


def _has_unread_notes(item: Node) -> bool:
    """Whether a text of an item has annotations that its provider alone can read."""
    if item.get("type") != "message":
        return False
    for part in parts_of(item):
        notes = part.get("annotations") if type(part) is dict else None
        for note in notes if type(notes) is list else ():
            if type(note) is dict and "extra" in note and native_of(note):
                return True
    return False


def is_hidden(item: Node, carries: frozenset[str] = frozenset()) -> bool:
    """Whether a client is shown nothing of an item, on a surface with these bearers."""
    kind = item.get("type")
    if kind == "message":
        content = item.get("content")
        if type(content) is list and not is_reply(item):
            for part in content:
                if part.get("type") not in _TEXTS:
                    return True
        return False
    if kind in CALLS:
        return not is_shown_call(item)
    if kind in _SHOWN or (kind in _SHOWN_BY_SOME and kind in carries):
        return False
    return not is_reply(item)


def uncarried(items: list[Any], writer: Writer) -> bool:
    """True if anything in these items has no field on this surface and can come back with the complete answer.

    Without a secret that is foreign opaque data of calls and messages alone: nothing else is taken from an envelope.
    """
    if writer.secret is None:
        return any(_addable(item, writer) for item in items if type(item) is dict)
    if any(_uncarried(item, writer, True) for item in items if type(item) is dict):
        return True
    foreign = bool(writer.source) and writer.source != writer.protocol
    return foreign and (hides(items, writer.carries) or has_handles(items) or is_shown_otherwise(items, writer))


def is_shown_otherwise(items: list[Any], writer: Writer) -> bool:
    """Whether a client is shown a signed answer in other pieces, in another order, or without its sources.

    Claude refuses reasoning before which, or between which, anything is not as it was.
    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
    """
    answer = [item for item in items if type(item) is dict and not is_reply(item)]
    if not (
        any(map(cites, answer))
        or (writer.adapter.joins and _is_rearranged(answer))
        or (writer.adapter.merges and _has_neighbors(answer))
    ):
        return False
    return any(not is_own(piece, writer) for _, piece in pieces(answer))


def cites(item: Node) -> bool:
    """Whether a text of an item has sources that not every surface has a field for."""
    return item.get("type") == "message" and any(
        type(note) is dict and note.get("type") not in _CITED
        for part in parts_of(item)
        if type(part) is dict
        for note in part.get("annotations") or ()
    )


def _is_rearranged(answer: list[Node]) -> bool:
    """Whether an answer is anything else than one text with its calls behind it."""
    texts = 0
    has_called = False
    for item in answer:
        if item.get("type") in CALLS:
            has_called = True
        elif has_called:
            return True
        elif item.get("type") == "message":
            texts += max(1, len(parts_of(item)))
    return texts > 1


def _has_neighbors(answer: list[Node]) -> bool:
    """Whether a message of an answer follows another one, with nothing between them."""
    return any(one.get("type") == other.get("type") == "message" for one, other in pairwise(answer))


def _addable(item: Node, writer: Writer) -> bool:
    """Whether foreign opaque data without a field here is where an untrusted envelope may add it: calls and texts."""
    kind = item.get("type")
    if kind != "message" and not is_shown_call(item):
        return False
    bearers = [item] if kind not in writer.carries else []
    if kind == "message":
        bearers += [part for part in parts_of(item) if type(part) is dict and part.get("type") not in writer.carries]
    for bearer in bearers:
        for piece in (bearer["opaque"] or ()) if "opaque" in bearer else ():
            if not is_own(piece, writer):
                return not is_reply(item)
    return False


def _uncarried(node: Node, writer: Writer, outside: bool) -> bool:
    pieces = node.get("opaque")
    # What a provider sends may have a key of this name anywhere.
    if type(pieces) is list and pieces and not (outside and node.get("type") in writer.carries):
        if any(type(piece) is dict and not is_own(piece, writer) for piece in pieces):
            return True
    below = outside and node.get("type") == "message" and node.get("role") in ("assistant", None)
    for key, value in node.items():
        if type(value) is dict:
            if key != "extra" and _uncarried(value, writer, False):
                return True
        elif type(value) is list and key != "opaque":
            for each in value:
                if type(each) is dict and _uncarried(each, writer, below and key == "content"):
                    return True
    return False


def withhold_leading(items: list[Any], writer: Writer) -> None:
    """Without a secret: take from reasoning the opaque data that would come back without the item it led to, or
    elsewhere.

    A provider refuses reasoning whose follower is missing, and a client cannot return what its surface does not show.
    """
    for item in leading_to_hidden(items, writer.carries):
        strip_leading(item, writer)
    called = False
    for item in items if writer.adapter.joins else ():
        kind = item.get("type") if type(item) is dict else None
        called = called or kind in CALLS
        if called and kind == "reasoning":
            strip_between_calls(item, writer)


def strip_between_calls(item: Node, writer: Writer) -> None:
    """Strip reasoning after a call, which would come back before all calls where they stand together."""
    strip_leading(item, writer, "without a secret, its place among the calls cannot come back")


def leading_to_hidden(items: list[Any], carries: frozenset[str] = frozenset()) -> list[Node]:
    """The reasoning that is followed, behind more reasoning at most, by an item that not every surface shows."""
    out: list[Node] = []
    hidden = False
    for item in reversed(items):
        if type(item) is not dict or item.get("type") != "reasoning":
            hidden = type(item) is dict and is_hidden(item, carries)
        elif hidden:
            out.append(item)
    return out[::-1]


def strip_leading(item: Node, writer: Writer, why: str = _NO_FOLLOWER) -> None:
    """Report the opaque data of reasoning that cannot return in its place, as lost, or as parked with a vault."""
    pieces = item.get("opaque")
    if pieces and any(not is_own(piece, writer) for piece in pieces):
        fate = "lost" if writer.vault is None else "parked"
        writer.report(item, ("opaque",), fate, why)
        del item["opaque"]


def carrier(items: list[Node], writer: Writer, reader: Reader | None) -> Node:
    """The reasoning item that holds these items in its envelope and nothing else."""
    if writer.secret is None:
        items = [item for item in items if _addable(item, writer)]
    # The client's own items are never restored from an answer.
    items = [item for item in items if not (item.get("type") == "message" and is_reply(item))]
    made = {"protocol": writer.source, **({"provider": reader.provider} if reader and reader.provider else {})}
    origin = next(origins(items), made)
    writer.context.setdefault("carried", []).append(items)
    at, before = 0, None
    for bearer, piece in pieces(items) if writer.secret is not None else _added_pieces(items):
        at = at + 1 if bearer is before else 0
        before = bearer
        while bearer["opaque"][at] is not piece:
            at += 1
        writer.report(bearer, ("opaque", at), "parked", NOTE)
    turn = {"items": items, "origin": origin}
    piece = {"kind": TURN, "data": TURN, "origin": origin, "turn": turn}
    item = {"type": "reasoning", "summary": [], "opaque": [piece]}
    writer.context.setdefault("carriers", []).append(item)
    return item


def _added_pieces(items: list[Node]) -> Iterator[tuple[Node, Node]]:
    for item in items:
        for bearer in (item, *parts_of(item)):
            for piece in bearer.get("opaque") or ():
                yield bearer, piece


def parts_of(item: Node) -> list[Any]:
    """The content parts of an item; empty for a content that is not a list."""
    content = item.get("content")
    return content if type(content) is list else []


def origins(value: Any) -> Iterator[Node]:
    """Yield the origins of all opaque data in a value."""
    for _, piece in pieces(value):
        if piece.get("origin"):
            yield piece["origin"]


def pieces(value: Any) -> Iterator[tuple[Node, Node]]:
    """Every opaque piece of a canonical value with its bearer, in document order."""
    if type(value) is list:
        for inner in value:
            yield from pieces(inner)
    elif type(value) is dict:
        opaque = value.get("opaque")
        for piece in opaque if type(opaque) is list else ():
            if type(piece) is dict and piece.get("data"):
                yield value, piece
        for key, inner in value.items():
            if key not in ("opaque", "extra"):
                yield from pieces(inner)


def carry(items: list[Node], writer: Writer, reader: Reader | None, answer: bool) -> list[Node]:
    """`items` with a carrier behind each answer that needs one; `answer` means that all of them are one answer."""
    if not uncarried(items, writer):
        return items
    out: list[Node] = []
    done = 0
    for start, end in [(0, len(items))] if answer else regions(items):
        if uncarried(items[start:end], writer):
            out += [*items[done:end], carrier(items[start:end], writer, reader)]
            done = end
    return out + items[done:]


_KEPT = ("parked", NOTE)
_WITHHELD = (("opaque",), "lost", "foreign")


def parked(writer: Writer, others: Iterable[Any] = ()) -> None:
    """Report a loss that is in a carried answer as parked there, as `others` are; report nothing of the carriers."""
    writer.unfold()
    kept_there = {id(entry) for entry in others}
    carriers = {id(item) for item in writer.context.get("carriers", ())}
    writer.raw[:] = [entry for entry in writer.raw if id(entry[0]) not in carriers]
    if writer.secret is None:
        # Nothing but the opaque data reported by now, which the writer withheld from where it stood.
        kept = Counter(id(entry[0]) for entry in writer.raw if entry[1][:1] == ("opaque",) and entry[2:4] == _KEPT)
        writer.raw[:] = [
            entry
            for entry in writer.raw
            if entry[1:4] != _WITHHELD or kept[id(entry[0])] < len(entry[0].get("opaque") or ())
        ]
        return
    inside: set[int] = set()
    stack: list[Any] = list(writer.context.get("carried") or ())
    while stack:
        value = stack.pop()
        if type(value) is dict:
            inside.add(id(value))
            stack.extend(value.values())
        elif type(value) is list:
            stack.extend(value)
    for at, entry in enumerate(writer.raw):
        node, keys, fate, _, capability = entry
        if fate == "lost" and (id(node) in inside or id(entry) in kept_there):
            writer.raw[at] = (node, keys, "parked", NOTE, capability)
