"""Complete answers that come back: put in their places, or reduced to what may be believed (`answer_envelope.py`)."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

from ..engine.pairs.origins import is_own
from ..foundation.generated_ids import is_made
from .answer_envelope import CALLS, Shown, is_shown_call, leading_to_hidden, parts_of, pieces, shown, words_of
from .copied_reasoning import without_copies
from .opaque import TURN, is_reply, joined_parts

if TYPE_CHECKING:
    from ..engine.pairs.reading import Reader
    from ..engine.pairs.writing import Writer

__all__ = ["goes_home", "opened", "readdress", "restored", "returned"]

Node = dict[str, Any]

_LOOKS = 16


def goes_home(items: list[Node], origin: Node, target: Writer | None) -> bool:
    """True if an answer of this origin may be put back for this target: its origin, a client, who takes its signatures.

    Another provider would get nothing of it but what the client shows anyway, and items that are not shown.
    """
    if target is None or target.facing == "client" or is_own({"origin": origin}, target):
        return True
    return any(piece.get("origin") and is_own(piece, target) for _, piece in pieces(items))


def opened(items: list[Node], reader: Reader) -> list[Node]:
    """`items` with complete answers back in their places, without the items that carried them, and without copies."""
    if len(reader.unsealed) > 1:
        items = without_copies(items, reader)
    if not any(_turn(item) for item in items if "opaque" in item):
        return items
    reader.signed = True
    wires = {id(node): wire for node, wire in reader.traced()}
    return _Opening(items, reader, wires).opened()


def _turn(item: Node) -> Node | None:
    if item.get("type") != "reasoning" or item.get("summary") or item.get("content"):
        return None  # an item with content of its own is not a carrier, whatever it holds besides
    for piece in item.get("opaque") or ():
        if type(piece) is dict and piece.get("kind") == TURN and type(piece.get("turn")) is dict:
            found: Node = piece["turn"]
            return found
    return None


class _Opening:
    """The items of a conversation while its carriers make way for their answers, from the first to the last.

    What stands before the carrier at hand is done with, and each looks no further than to the ends of its answer.
    """

    def __init__(self, items: list[Node], reader: Reader, wires: dict[int, Any]) -> None:
        self.carriers = [item for item in items if _turn(item) is not None]
        self.items, self.reader, self.wires = [*items], reader, wires
        # The ids that calls have again, by those their results still go by, and where these were changed up to.
        self.names: dict[str, str] = {}
        self.clean = 0
        self.back: set[int] = set()
        self.restored = 0
        # How many carriers from `begun` on were not put back, and the place that no carrier looks back beyond.
        self.missed = self.begun = self.floor = 0

    def opened(self) -> list[Node]:
        """All items, without a carrier."""
        place = 0
        for carrying in self.carriers:
            while self.items[place] is not carrying:
                place += 1
            first, last, found = self._put_back(place, _turn(carrying) or {})
            self._clean(last)
            self.items[first:last] = found
            self.clean += first + len(found) - last
            place = first + len(found)
        self._clean(len(self.items))
        return self.items

    def _clean(self, end: int) -> None:
        """Give the results up to a place the ids of their calls."""
        if self.clean < end:
            readdress(self.items, self.clean, end, self.names, self.reader, self.wires)
            self.clean = end

    def _around(self, place: int, known: frozenset[str]) -> tuple[int, int]:
        """The items, from and to, among which an answer is that the item at `place` carries.

        They end at an item of the client's own (`regions`), at another carrier, and at what was put back.
        """
        items, back = self.items, self.back
        start, end = place, place + 1
        while start > self.floor and not (_ends(items[start - 1], known) or id(items[start - 1]) in back):
            start -= 1
        while end < len(items):
            self._clean(end + 1)
            if _ends(items[end], known) or _turn(items[end]) is not None:
                break
            end += 1
        return start, end

    def _put_back(self, place: int, turn: Node) -> tuple[int, int, list[Node]]:
        """The items, from and to, in whose place an answer stood, and those to put there: no carrier among them."""
        reader, items, wires = self.reader, self.items, self.wires
        known = frozenset(i["call_id"] for i in turn["items"] if _has_result(i) and type(i.get("call_id")) is str)
        self.back.update(id(item) for item, _ in reader.restored[self.restored :])
        self.restored = len(reader.restored)
        start, after = self._around(place, known)
        carrying = items[place]
        if not goes_home(turn["items"], turn.get("origin") or {}, reader.target):
            # What the client shows goes on as it is.
            reader.note(carrying, ("opaque",), "lost", "foreign")
            return place, place + 1, []
        wire = wires.get(id(carrying))
        wanted = shown(turn["items"])
        if reader.secret is None:
            there = [item for item in items[start:after] if item is not carrying]
            self._miss(start, place)
            return start, after, _added(turn, there, reader)
        if reader.target is None or reader.target.facing == "client":
            # The result of a call that the client made is the client's own.
            made = {item.get("call_id") for item in turn["items"] if item.get("type") in CALLS}
            turn = {**turn, "items": [i for i in turn["items"] if not (is_reply(i) and i.get("call_id") in made)]}
        spans = ((start, after), (place, after), (start, place + 1))
        if not any(wanted):
            # It shows nothing by which it is known: it stood where its envelope does, for what shows nothing either.
            first = place
            while first > start and not any(shown((items[first - 1],))):
                first -= 1
            spans = ((first, place + 1),) * 3
        for first, last in spans:
            there = [item for item in items[first:last] if item is not carrying]
            if _same(shown(there), wanted) or _is_heard(there, turn["items"]):
                last = _repeated(turn["items"], items, last)
                self._clean(last)
                for made_id, own in returned(turn, there).items():
                    self.names.setdefault(made_id, own)
                # What follows in the same answer was looked at before these names were known.
                readdress(items, last, self.clean, self.names, reader, wires)
                return first, last, restored(turn, there, wire, reader, wires)
        there = [item for item in items[start:after] if item is not carrying]
        found = _pieces_of(turn, there, reader, wires)
        if found == there:
            reader.note(carrying, ("opaque",), "lost", "an envelope that does not belong here")
        found = _without_leading(turn, found, reader)
        self._miss(start, place - (len(there) - len(found)))
        return start, after, found

    def _miss(self, start: int, place: int) -> None:
        """Count a carrier whose answer does not stand between `start` and its own `place` as it was.

        A client may send any number of them: behind the first few, each looks back no further than to the last.
        """
        if start not in (self.begun, self.floor):
            self.missed = 0
        self.begun = start
        self.missed += 1
        if self.missed > _LOOKS:
            self.floor = place


def _has_result(item: Node) -> bool:
    """Whether an item of an answer is a result, or a call that its provider executed: its result is in the answer."""
    return is_reply(item) or (item.get("executor") == "provider" and item.get("type") not in CALLS)


def _ends(item: Node, known: frozenset[str]) -> bool:
    """Whether an item is the client's own, and no result of a call in `known`."""
    return is_reply(item) and item.get("call_id") not in known


def _without_leading(turn: Node, there: list[Node], reader: Reader) -> list[Node]:
    """An edited answer without the reasoning that led to what the client does not show: it would be refused."""
    answer = turn["items"]
    led = {piece.get("data") for item in leading_to_hidden(answer) for piece in item.get("opaque") or ()}
    out = []
    for item in there:
        if led and item.get("type") == "reasoning" and any(p.get("data") in led for p in item.get("opaque") or ()):
            reader.note(item, ("opaque",), "lost", "the item it led to did not come back")
        else:
            out.append(item)
    return out


def _added(turn: Node, there: list[Node], reader: Reader) -> list[Node]:
    """What the client shows, with the opaque data of an envelope that anybody may have made: in place."""
    proofs: dict[Any, Node] = {}
    for item in turn["items"]:
        proofs.setdefault(_told(item), item)
    for item in there:
        if item.get("type") in ("message", *CALLS) and not is_reply(item):
            said = _told(item)
            proof = proofs.get(said) if any(said[1:]) else None
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


def restored(
    turn: Node,
    there: list[Node],
    wire: Any,
    reader: Reader,
    wires: dict[int, Any],
    once: Container[str] = frozenset(),
) -> list[Node]:
    """The answer as it was, under the ids the client gave its calls (`returned`), with its cache breakpoints."""
    called = _called(turn, there)
    origins = {id(one): other for one, other in called}
    renamed = {one.get("call_id"): other.get("call_id") for one, other in called}
    dropped = set(returned(turn, there, once).values())
    # Numbers of messages are those of another document: far apart from the numbers in this one.
    number = 1 + max((item["turn"] for item in there if type(item.get("turn")) is int), default=0)
    first = {one.get("type"): one for one in reversed(there)}
    out = []
    for item in turn["items"]:
        new = dict(item)
        if "call_id" in new and renamed.get(new["call_id"]) and new["call_id"] not in dropped:
            new["call_id"] = renamed[new["call_id"]]
        if type(new.get("turn")) is int:
            new["turn"] = -number * 1000 - new["turn"]
        bearer = origins.get(id(item)) or first.get(new.get("type"))
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
    mine = [item for item in turn["items"] if is_shown_call(item)]
    theirs = [item for item in there if is_shown_call(item)]
    return list(zip(mine, theirs))


def returned(turn: Node, there: list[Node], once: Container[str] = frozenset()) -> dict[str, str]:
    """The ids of an answer's calls, by those that had to be made because the client dropped them.

    And by those of the client's own making that are in `once`: ids that one call of the conversation has.
    """
    pairs = ((one.get("call_id"), other.get("call_id")) for one, other in _called(turn, there))
    return {
        str(made): own
        for own, made in pairs
        if own and made and own != made and not is_made(own) and (is_made(made) or made in once)
    }


def readdress(
    items: list[Node], begin: int, end: int, names: dict[str, str], reader: Reader, wires: dict[int, Any]
) -> None:
    """Give the results of calls from `begin` to `end` the ids that are the calls' own again, in place."""
    for at in range(begin, end) if names else ():
        item = items[at]
        own = names.get(item.get("call_id") or "")
        if own:
            items[at] = new = {**item, "call_id": own}
            if id(item) in wires:
                reader.trace.append((new, wires[id(item)]))


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
    known = _Known([item for item in turn["items"] if any(pieces(item))])
    out = []
    for item in there:
        other = known.find(item)
        if other is None:
            out.append(item)
            continue
        new = {**other, **({"turn": item["turn"]} if "turn" in item else {})}
        if "call_id" in item:
            new["call_id"] = item["call_id"]
        if id(item) in wires:
            reader.trace.append((new, wires[id(item)]))
        _at_home(new, turn.get("origin") or {})
        reader.restored.append((new, turn.get("origin") or {}))
        out.append(new)
    return out


def _told(item: Node) -> tuple[Any, str, tuple[tuple[str, str], ...]]:
    """The type of an item, and what it shows."""
    text, calls = shown((item,))
    return item.get("type"), text, tuple(calls)


class _Known:
    """Items by what they show; an id that had to be made fits any other (`_same`)."""

    def __init__(self, items: list[Node]) -> None:
        self.items = items
        # The number of the first item of what it shows: with its ids, with an id that was made, and with any.
        self.named: dict[Any, int] = {}
        self.made: dict[Any, int] = {}
        self.any: dict[Any, int] = {}
        for number, item in enumerate(items):
            said, ids = self._key(item)
            if any(said[1:]):
                self.named.setdefault((said, ids), number)
                self.any.setdefault(said, number)
                if any(map(is_made, ids)):
                    self.made.setdefault(said, number)

    def find(self, item: Node) -> Node | None:
        """The first item that shows what this one does."""
        said, ids = self._key(item)
        if any(map(is_made, ids)):
            found = [self.any.get(said)]
        else:
            found = [self.named.get((said, ids)), self.made.get(said)]
        first = min((number for number in found if number is not None), default=None)
        return None if first is None else self.items[first]

    def _key(self, item: Node) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        kind, text, calls = _told(item)
        return (kind, text, tuple(said for _, said in calls)), tuple(made for made, _ in calls)


def _is_heard(there: list[Node], answer: list[Node]) -> bool:
    """Whether a client shows an answer as audio alone: its surface has no transcripts."""
    parts = [part for item in there for part in parts_of(item) if type(part) is dict]
    if not any(part.get("type") == "output_audio" and not part.get("transcript") for part in parts):
        return False
    return _same(shown(there), shown(answer, transcripts=False))


def _same(one: Shown, other: Shown) -> bool:
    """Whether two answers show the same; a generated id does not count."""
    if one[0] != other[0] or len(one[1]) != len(other[1]):
        return False
    for (mine, said), (theirs, told) in zip(one[1], other[1]):
        if said != told or not (mine == theirs or is_made(mine) or is_made(theirs)):
            return False
    return True
