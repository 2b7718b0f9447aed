"""Complete answers on the way back: put in their places, or reduced to what may be believed (`turns.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ids import is_made
from .provenance import TURN, is_own, is_reply, joined_parts
from .turns import CALLS, Shown, leads_to_hidden, parts_of, pieces, regions, shown, words_of

if TYPE_CHECKING:
    from .reading import Reader
    from .writing import Writer

__all__ = ["goes_home", "opened", "readdressed", "restored", "returned"]

Node = dict[str, Any]


def goes_home(origin: Node, target: Writer | None) -> bool:
    """True if what has this origin may be put back for this target: for its origin, and for a client.

    Another provider would get nothing of it but what the client shows anyway, and items that nobody can see.
    """
    return target is None or target.facing == "client" or is_own({"origin": origin}, target)


def opened(items: list[Node], reader: Reader) -> list[Node]:
    """`items` with complete answers back in their places, and without the items that carried them."""
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
    if item.get("type") != "reasoning" or item.get("summary") or item.get("content"):
        return None  # what says something itself is no carrier, whatever somebody put on it
    for piece in item.get("opaque") or ():
        if type(piece) is dict and piece.get("kind") == TURN and type(piece.get("turn")) is dict:
            found: Node = piece["turn"]
            return found
    return None


def _put_back(items: list[Node], place: int, turn: Node, reader: Reader, wires: dict[int, Any]) -> list[Node]:
    """The items with one carrier gone and its answer where it was."""
    known = frozenset(i["call_id"] for i in turn["items"] if is_reply(i) and type(i.get("call_id")) is str)
    start, end = next((a, b) for a, b in regions(items, known) if a <= place < b)
    back = {id(item) for item, _ in reader.restored}
    marks = [at for at in range(start, end) if _turn(items[at]) is not None or id(items[at]) in back]
    before = max((at for at in marks if at < place), default=start - 1)
    after = min((at for at in marks if at > place), default=end)
    carrying = items[place]
    if not goes_home(turn.get("origin") or {}, reader.target):
        # What the client shows goes on as it is.
        reader.note(carrying, ("opaque",), "lost", "foreign")
        return items[:place] + items[place + 1 :]
    wire = wires.get(id(carrying))
    wanted = shown(turn["items"])
    if reader.secret is None:
        there = [item for item in items[before + 1 : after] if item is not carrying]
        return items[: before + 1] + _added(turn, there, reader) + items[after:]
    if reader.target is None or reader.target.facing == "client":
        # A result of a call that the client made is the client's to say.
        made = {item.get("call_id") for item in turn["items"] if item.get("type") in CALLS}
        turn = {**turn, "items": [i for i in turn["items"] if not (is_reply(i) and i.get("call_id") in made)]}
    spans = ((before + 1, after), (place, after), (before + 1, place + 1))
    if not any(wanted):
        # It shows nothing by which it is known: it stood where its envelope does, for what shows nothing either.
        first = place
        while first > before + 1 and not any(shown((items[first - 1],))):
            first -= 1
        spans = ((first, place + 1),) * 3
    for first, last in spans:
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
    return items[: before + 1] + _without_leading(turn, found, reader) + items[after:]


def _without_leading(turn: Node, there: list[Node], reader: Reader) -> list[Node]:
    """An edited answer without the reasoning that led to what the client does not show: it would be refused."""
    answer = turn["items"]
    led = {
        piece.get("data")
        for at, item in enumerate(answer)
        if item.get("type") == "reasoning" and leads_to_hidden(answer, at)
        for piece in item.get("opaque") or ()
    }
    out = []
    for item in there:
        if led and item.get("type") == "reasoning" and any(p.get("data") in led for p in item.get("opaque") or ()):
            reader.note(item, ("opaque",), "lost", "the item it led to did not come back")
        else:
            out.append(item)
    return out


def _added(turn: Node, there: list[Node], reader: Reader) -> list[Node]:
    """What the client shows, with the opaque data of an envelope that anybody may have made: in place."""
    proofs = [(item, shown((item,))) for item in turn["items"]]
    for item in there:
        if item.get("type") in ("message", *CALLS) and not is_reply(item):
            said = shown((item,))
            proof = next(
                (p for p, told in proofs if p.get("type") == item["type"] and any(said) and told == said), None
            )
            if proof is not None:
                if proof.get("opaque") and "opaque" not in item:
                    item["opaque"] = proof["opaque"]
                if item["type"] == "message" and "content" in item:
                    item["content"] = joined_parts(item, proof.get("content"))
    return there


def _repeated(answer: list[Node], items: list[Node], last: int) -> int:
    """The place behind those of the user's messages that stand in the answer (a compaction keeps some)."""
    for item in answer:
        if item.get("type") == "message" and is_reply(item) and last < len(items):
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
        if "call_id" in new and renamed.get(new["call_id"]) and new["call_id"] not in dropped:
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
    mine = [item for item in turn["items"] if item.get("type") in CALLS]
    theirs = [item for item in there if item.get("type") in CALLS]
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
            (part["cache"] for part in parts_of(item) if type(part) is dict and part.get("cache")), None
        )
        if marked and out:
            last = out[-1]
            content = parts_of(last)
            if content and type(content[-1]) is dict:
                last["content"] = [*content[:-1], {**content[-1], "cache": marked}]
            else:
                last["cache"] = marked


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


def _same(one: Shown, other: Shown) -> bool:
    """Whether two answers show the same; an id that had to be made says nothing against it."""
    if one[0] != other[0] or len(one[1]) != len(other[1]):
        return False
    for (mine, said), (theirs, told) in zip(one[1], other[1]):
        if said != told or not (mine == theirs or is_made(mine) or is_made(theirs)):
            return False
    return True
