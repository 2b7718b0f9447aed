"""Whole answers on their way home: what a client surface has no slot for travels with the answer it is part of.

A signature on a hosted call, the cipher of a search result, a program's fingerprint: no other surface has a slot for
them, and some have no form for their bearers. Facing a client, an answer with such pieces goes along whole, inside one
reasoning item that is nothing but a carrier, because every surface's clients echo reasoning in its sealed form. When
the conversation comes back, what the client shows of the answer (its text and its calls, however cut or joined) proves
that it is still the same, and the answer is put back as it was. The vault does the same for clients that echo nothing.
An answer that was edited is not put back whole: only the calls and messages that are still as they were get theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .handles import has_handles
from .ids import is_made
from .provenance import is_own, plain_text

if TYPE_CHECKING:
    from .reading import Reader
    from .writing import Writer

__all__ = [
    "TURN",
    "carrier",
    "carry",
    "opened",
    "origins",
    "parked",
    "pieces",
    "readdressed",
    "regions",
    "restored",
    "returned",
    "shown",
    "uncarried",
    "words_of",
]

Node = dict[str, Any]
Shown = tuple[str, list[tuple[str, str]]]

TURN = "unified_llm:turn"
"""The kind of the opaque piece that stands for a whole answer."""
NOTE = "sealed for the way back"
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
# What a client says to an answer, beside messages: results of calls that it made, decisions that it took.
_REPLIES = frozenset(("mcp_approval_response", "item_reference", "additional_tools", "tool_change"))


def _is_reply(item: Node) -> bool:
    kind = item.get("type")
    if kind == "message":
        return item.get("role") not in ("assistant", None)
    return type(kind) is str and (kind.endswith("_call_output") or kind in _REPLIES)


def regions(items: list[Node], known: frozenset[str] = frozenset()) -> Iterator[tuple[int, int]]:
    """The places (from, to) of the answers in a conversation; results of the calls in `known` do not end one."""
    start = None
    for index, item in enumerate(items):
        if _is_reply(item) and item.get("call_id") not in known:
            if start is not None:
                yield start, index
            start = None
        elif start is None:
            start = index
    if start is not None:
        yield start, len(items)


# ---- what an answer shows -------------------------------------------------------------------------------------------


def shown(items: Iterable[Node], all_words: bool = False) -> Shown:
    """What every client sends back of an answer: its text without the spaces, and its calls, (id, arguments).

    An answer may repeat words of the user's, and a surface may show them as the model's: `all_words` counts them too.
    """
    text: list[str] = []
    calls = []
    for item in items:
        kind = item.get("type")
        if kind == "message":
            if all_words or not _is_reply(item):
                words_of(item.get("content"), text)
        elif kind in _CALLS:
            calls.append((str(item.get("call_id") or ""), plain_text(item.get(_CALLS[kind]))))
    return "".join("".join(text).split()), calls


def words_of(content: Any, out: list[str]) -> None:
    if type(content) is str:
        out.append(content)
    elif type(content) is list:
        for part in content:
            if type(part) is dict:
                out += [part[key] for key in ("text", "refusal", "transcript") if type(part.get(key)) is str]


def _same(one: Shown, other: Shown) -> bool:
    """Whether two answers show the same; an id that had to be made says nothing against it."""
    if one[0] != other[0] or len(one[1]) != len(other[1]):
        return False
    for (mine, said), (theirs, told) in zip(one[1], other[1]):
        if said != told or not (mine == theirs or is_made(mine) or is_made(theirs)):
            return False
    return True


# ---- towards a client -----------------------------------------------------------------------------------------------


def uncarried(items: list[Any], writer: Writer) -> bool:
    """Whether there are foreign pieces that this surface's own writer has no slot for, or foreign handles."""
    if any(_uncarried(item, writer, True) for item in items if type(item) is dict):
        return True
    return bool(writer.source) and writer.source != writer.protocol and has_handles(items)


def _uncarried(node: Node, writer: Writer, outside: bool) -> bool:
    pieces = node.get("opaque")
    if pieces and not (outside and node.get("type") in writer.carries):
        if any(not is_own(piece, writer) for piece in pieces):
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


def carrier(items: list[Node], writer: Writer) -> Node:
    """The reasoning item that is nothing but a way for these items."""
    origin = next(origins(items), {"protocol": writer.source})
    writer.context.setdefault("carried", []).append(items)
    for bearer, piece in pieces(items):
        at = next(index for index, each in enumerate(bearer["opaque"]) if each is piece)
        writer.report(bearer, ("opaque", at), "parked", NOTE)
    turn = {"items": items, "origin": origin}
    piece = {"kind": TURN, "data": TURN, "origin": origin, "turn": turn}
    item = {"type": "reasoning", "summary": [], "opaque": [piece]}
    writer.context.setdefault("carriers", []).append(item)
    return item


def origins(value: Any) -> Iterator[Node]:
    for _, piece in pieces(value):
        if piece.get("origin"):
            yield piece["origin"]


def pieces(value: Any) -> Iterator[tuple[Node, Node]]:
    """Every opaque piece of a canonical value with its bearer, in document order."""
    if type(value) is list:
        for inner in value:
            yield from pieces(inner)
    elif type(value) is dict:
        for piece in value.get("opaque") or ():
            if type(piece) is dict and piece.get("data"):
                yield value, piece
        for key, inner in value.items():
            if key not in ("opaque", "extra"):
                yield from pieces(inner)


def carry(items: list[Node], writer: Writer, answer: bool) -> list[Node]:
    """`items` with a carrier behind each answer that needs one; `answer` says that all of them are one answer."""
    if not uncarried(items, writer):
        return items
    out: list[Node] = []
    done = 0
    for start, end in [(0, len(items))] if answer else regions(items):
        if uncarried(items[start:end], writer):
            out += [*items[done:end], carrier(items[start:end], writer)]
            done = end
    return out + items[done:]


def parked(writer: Writer) -> None:
    """Say of what is called lost, and is in a carried answer, that it waits there; of the carriers say nothing."""
    writer.unfold()
    carriers = {id(item) for item in writer.context.get("carriers", ())}
    writer.raw[:] = [entry for entry in writer.raw if id(entry[0]) not in carriers]
    inside: set[int] = set()
    stack: list[Any] = list(writer.context.get("carried") or ())
    while stack:
        value = stack.pop()
        if type(value) is dict:
            inside.add(id(value))
            stack.extend(value.values())
        elif type(value) is list:
            stack.extend(value)
    if inside:
        for at, (node, keys, fate, _, capability) in enumerate(writer.raw):
            if fate == "lost" and id(node) in inside:
                writer.raw[at] = (node, keys, "parked", NOTE, capability)


# ---- on the way home ------------------------------------------------------------------------------------------------


def opened(items: list[Node], reader: Reader) -> list[Node]:
    """`items` with carried answers back in their places, and without the carriers, whatever becomes of them."""
    if not any(_turn(item) for item in items if "opaque" in item):
        return items
    reader.signed = True
    wires = {id(node): wire for node, wire in reader.traced()}
    for item in items:
        turn = _turn(item)
        if turn is None:
            continue
        place = next(at for at, other in enumerate(items) if other is item)
        items = _put_back(items, place, turn, reader, wires)
    return items


def _turn(item: Node) -> Node | None:
    for piece in item.get("opaque") or ():
        if type(piece) is dict and piece.get("kind") == TURN and type(piece.get("turn")) is dict:
            found: Node = piece["turn"]
            return found
    return None


def _put_back(items: list[Node], place: int, turn: Node, reader: Reader, wires: dict[int, Any]) -> list[Node]:
    """The items with one carrier gone and its answer where it was."""
    known = frozenset(i["call_id"] for i in turn["items"] if _is_reply(i) and type(i.get("call_id")) is str)
    start, end = next((a, b) for a, b in regions(items, known) if a <= place < b)
    marks = [at for at in range(start, end) if _turn(items[at]) is not None]
    before = max((at for at in marks if at < place), default=start - 1)
    after = min((at for at in marks if at > place), default=end)
    carrying = items[place]
    wire = wires.get(id(carrying))
    wanted = shown(turn["items"])
    for first, last in ((before + 1, after), (place, after), (before + 1, place + 1)):
        there = [item for item in items[first:last] if item is not carrying]
        if _same(shown(there), wanted):
            last = _repeated(turn["items"], items, last)
            names = returned(turn, there)
            after_it = readdressed(items[last:], names, reader, wires) if names else items[last:]
            return items[:first] + restored(turn, there, wire, reader, wires) + after_it
    there = [item for item in items[before + 1 : after] if item is not carrying]
    found = _pieces_of(turn, there, reader, wires)
    if found == there:
        reader.note(carrying, ("opaque",), "lost", "an envelope that does not belong here")
    return items[: before + 1] + found + items[after:]


def _repeated(answer: list[Node], items: list[Node], last: int) -> int:
    """The place behind those of the user's messages that stand in the answer (a compaction keeps some)."""
    for item in answer:
        if item.get("type") == "message" and _is_reply(item) and last < len(items):
            mine: list[str] = []
            theirs: list[str] = []
            words_of(item.get("content"), mine)
            words_of(items[last].get("content"), theirs)
            last += mine == theirs and items[last].get("role") == item.get("role")
    return last


def restored(turn: Node, there: list[Node], wire: Any, reader: Reader, wires: dict[int, Any]) -> list[Node]:
    """The answer as it was, under the ids the client gave its calls, if any, and with its cache breakpoints."""
    origins = {id(one): other for one, other in _called(turn, there)}
    renamed = {one.get("call_id"): other.get("call_id") for one, other in _called(turn, there)}
    dropped = set(returned(turn, there).values())
    # Numbers of messages are those of another document: far apart from the numbers in this one.
    number = 1 + max((item["turn"] for item in there if type(item.get("turn")) is int), default=0)
    out = []
    for item in turn["items"]:
        new = dict(item)
        if renamed.get(new.get("call_id")) and new["call_id"] not in dropped:
            new["call_id"] = renamed[new["call_id"]]
        if type(new.get("turn")) is int:
            new["turn"] = -number * 1000 - new["turn"]
        bearer = origins.get(id(item)) or next((one for one in there if one.get("type") == new.get("type")), None)
        known = wires.get(id(bearer), wire)
        if known is not None:
            reader.trace.append((new, known))
        out.append(new)
    origin = turn.get("origin") or {}
    for item in out:
        _at_home(item, origin)
    reader.restored += [(item, origin) for item in out]
    _move_cache(there, out)
    return out


def _called(turn: Node, there: list[Node]) -> list[tuple[Node, Node]]:
    """The calls of an answer, each with what the client shows of it."""
    mine = [item for item in turn["items"] if item.get("type") in _CALLS]
    theirs = [item for item in there if item.get("type") in _CALLS]
    return list(zip(mine, theirs))


def returned(turn: Node, there: list[Node]) -> dict[str, str]:
    """The ids of an answer's calls, by those that had to be made because the client dropped them."""
    pairs = ((one.get("call_id"), other.get("call_id")) for one, other in _called(turn, there))
    return {str(made): own for own, made in pairs if own and is_made(made) and not is_made(own)}


def readdressed(items: list[Node], names: dict[str, str], reader: Reader, wires: dict[int, Any]) -> list[Node]:
    """`items` with the results of calls under the ids that are the calls' own again."""
    out = []
    for item in items:
        own = names.get(item.get("call_id") or "")
        if own:
            new = {**item, "call_id": own}
            if id(item) in wires:
                reader.trace.append((new, wires[id(item)]))
            item = new
        out.append(item)
    return out


def _at_home(item: Node, origin: Node) -> None:
    """Mark an item as one that its maker wrote: it may be sent back as no other provider's would be."""
    protocol = origin.get("protocol")
    if protocol:
        drawers = item.get("extra") or {}
        drawer = drawers.get(protocol) or {}
        item["extra"] = {**drawers, protocol: {**drawer, "form": {**(drawer.get("form") or {}), "home": True}}}


def _move_cache(there: list[Node], out: list[Node]) -> None:
    for item in there:
        marked = item.get("cache") or next(
            (part["cache"] for part in _parts(item) if type(part) is dict and part.get("cache")), None
        )
        if marked and out:
            last = out[-1]
            content = _parts(last)
            if content and type(content[-1]) is dict:
                last["content"] = [*content[:-1], {**content[-1], "cache": marked}]
            else:
                last["cache"] = marked


def _parts(item: Node) -> list[Any]:
    content = item.get("content")
    return content if type(content) is list else []


def _pieces_of(turn: Node, there: list[Node], reader: Reader, wires: dict[int, Any]) -> list[Node]:
    """What the client still shows, with the pieces of those calls and messages that are as they were."""
    known = [(item, shown((item,))) for item in turn["items"] if any(pieces(item))]
    out = []
    for item in there:
        for other, said in known:
            if other.get("type") == item.get("type") and any(said) and _same(said, shown((item,))):
                new = {**other, **({"turn": item["turn"]} if "turn" in item else {})}
                if "call_id" in item:
                    new["call_id"] = item["call_id"]
                if id(item) in wires:
                    reader.trace.append((new, wires[id(item)]))
                _at_home(new, turn.get("origin") or {})
                reader.restored.append((new, turn.get("origin") or {}))
                out.append(new)
                break
        else:
            out.append(item)
    return out
