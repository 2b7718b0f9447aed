"""The law of the canonical round trip: a canonical document goes to a protocol and comes back, minus declared fates.

Protocols put the same thing in different places, so both documents are first brought to one form; then
they are walked side by side, and the report decides at each place whether a difference was announced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import unified_llm as ul

from ..foundation.generated_ids import is_made
from ..foundation.json_codec import load
from .defaults import is_default
from .laws import NOTHING
from .outcome import Failure, in_short, plain, returned, show, without_form
from .walk import differences, is_prefix, nodes, pointer, same

__all__ = ["canonical_round_trip"]

GONE = ("lost", "parked")
CHANGED = ("approximated", "emulated")
SECRET = "canonical round trip"  # one process writes and reads
DEFAULT = "default"  # may be gone, or null where the target requires the key, and may not be another value


def canonical_round_trip(protocol: str, kind: str, document: dict[str, Any]) -> list[Failure]:
    """A canonical document written to a protocol and read back is itself, but for what the report declared.

    What is `lost` or `parked` has to be gone, a documented default may be, what is `approximated` or `emulated` may
    differ, and only where the report has `added` values may more come back. Writing again
    gives the same wire.
    """
    try:
        done = ul.write(document, protocol, kind, on_loss={"output.choices": "ignore"}, secret=SECRET)
    except ul.CapabilityRefused:
        return []
    # With the parts outside of the body: a path may hold the model.
    http = {key: done.http[key] for key in ("path", "query") if key in done.http}
    # (A response is written for a client: it is read as what that client sends back.)
    if kind == "response":
        back = returned(done.value, protocol, SECRET)
    else:
        back = load(ul.read(done.value, protocol, kind, http=http, secret=SECRET))
    # What came back is written as it is: what did not arrive may have left a history that would now be repaired.
    again = ul.write(back, protocol, kind, repair="never", secret=SECRET).value
    failures = [
        Failure("generated", pointer(path), f"in the wire {show(done.value, path)}, written again {show(again, path)}")
        for path in differences(done.value, again)[:3]
    ]
    record = {"protocol": "canonical", "kind": kind, "body": document}
    fates = {pointer(path): DEFAULT for path, value in nodes(document) if is_default(record, path, value, protocol)}
    fates |= {loss.path: loss.fate for loss in done.losses if loss.side == "source"}
    more = any(loss.side == "target" for loss in done.losses)
    for index, (place, value) in enumerate(_told(document)):
        if _all_gone(value, place, fates, GONE + CHANGED) or fates.get(f"{place}/text") in GONE + CHANGED:
            fates[f"/told/{index}"] = "approximated"
    one, other = (_opened(in_short(without_form(doc))) for doc in (document, back))
    if _joins(document, fates):
        del one["input"], other["input"]
    _say_alike(one, other)
    for where, detail in _changes(one, other, "", fates, more):
        failures.append(Failure("generated", where, detail))
    return failures


def _joins(document: dict[str, Any], fates: Mapping[str, str]) -> bool:
    """Whether a message of which nothing arrived stood between two of one role: those may come back as one."""
    items = document.get("input")
    if type(items) is not list:
        return False
    left = [
        (index, each.get("role")) for index, each in enumerate(items) if not _all_gone(each, f"/input/{index}", fates)
    ]
    return any(here + 1 < there and role == its for (here, role), (there, its) in pairwise(left))


def _say_alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Write other wishes to see the reasoning as `include`, where that came back: each has it shown."""
    asked, came = one.get("reasoning"), other.get("reasoning")
    if type(asked) is dict and type(came) is dict and "include" in came and "include" not in asked:
        wishes = [key for key in _SHOWN if key not in came and _SHOWN[key].get(asked.get(key)) is came["include"]]
        if wishes:
            kept = {key: value for key, value in asked.items() if key not in wishes}
            one["reasoning"] = {**kept, "include": came["include"]}


_SHOWN: dict[str, dict[Any, bool]] = {
    "summary": {"auto": True, "none": False},
    "display": {"summarized": True, "omitted": False},
}


def _opened(doc: dict[str, Any]) -> dict[str, Any]:
    """With system text before the conversation in `instructions` and a lone string as the message it stands for.

    Protocols have one place for each or the other; the canonical form distinguishes them and means the same.
    """
    items = doc.get("input")
    if type(items) is str:
        items = [{"type": "message", "role": "user", "content": items}]
    if type(items) is not list:
        return doc
    leading = _leading(items)
    # The items keep their places, so that the report's pointers fit.
    rest: list[Any] = [None] * leading + items[leading:]
    told = [value for _, value in _told(doc)]
    return {**{key: value for key, value in doc.items() if key != "instructions"}, "input": rest, "told": told}


def _leading(items: Any) -> int:
    """How many system messages stand before the conversation."""
    count = 0
    while type(items) is list and count < len(items) and items[count].get("role") in ("system", "developer"):
        count += 1
    return count


def _told(doc: dict[str, Any]) -> list[tuple[str, Any]]:
    """The system texts before the conversation, each with its place: one list, as protocols may have one for all."""
    items = doc.get("input")
    homes = [("/instructions", doc.get("instructions"))]
    homes += [(f"/input/{index}/content", items[index]["content"]) for index in range(_leading(items))]  # type: ignore[index]
    told: list[tuple[str, Any]] = []
    for home, value in homes:
        if type(value) is list:
            told += [(f"{home}/{number}", plain(part)) for number, part in enumerate(value)]
        elif value:
            told.append((home, value))
    return told


def _changes(one: Any, other: Any, where: str, fates: Mapping[str, str], more: bool) -> Iterator[tuple[str, str]]:
    """What differs between a document and what came back of it, but for declared fates."""
    if fates.get(where) in CHANGED or (fates.get(where) in GONE and not (type(one) is dict and type(other) is dict)):
        return
    if fates.get(where) == DEFAULT and other is None:
        return  # as a key that was not there may come back as null
    # What was carried in another form may be found in another place.
    moved = more or any(fate in CHANGED and is_prefix(where, path) for path, fate in fates.items())
    if type(one) is dict and type(other) is dict:
        for key, value in one.items():
            below = f"{where}{pointer((key,))}"
            if key in other:
                yield from _changes(value, other[key], below, fates, more)
            elif fates.get(below) is None and not _all_gone(value, below, fates, GONE + CHANGED) and not _hollow(value):
                yield below, f"{show(value, ())} is gone"
        for key, value in other.items():
            if key not in one and not moved and not is_made(value) and value not in NOTHING:
                yield f"{where}{pointer((key,))}", f"{show(value, ())} was not there"
    elif type(one) is list and type(other) is list:
        places = [(f"{where}/{index}", value) for index, value in enumerate(one) if value is not None]
        gone = {place for place, value in places if _all_gone(value, place, fates)}
        came = [value for value in other if value is not None]
        spare = len(came) - (len(places) - len(gone)) if moved else 0
        for below, value in places:
            if below in gone:
                if came and _alike(value, came[0]) and came[0].get("content") in ("", []):
                    came.pop(0)  # the shell of a message of which nothing arrived
                    spare -= 1
                continue
            if fates.get(below) in CHANGED and not (came and _alike(value, came[0])):
                continue  # carried in another form by the report: in another place
            while spare > 0 and came and not _alike(value, came[0]):
                came, spare = came[1:], spare - 1
            if not came:
                if fates.get(below) not in CHANGED:
                    yield below, f"{show(value, ())} is gone"
                continue
            yield from _changes(value, came.pop(0), below, fates, more)
        if came and spare <= 0:
            yield where, f"{len(came)} elements more came back"
    elif type(one) is list and type(other) is str:  # of several parts one text is left
        left = [part for index, part in enumerate(one) if not _all_gone(part, f"{where}/{index}", fates)]
        if not moved and [part.get("text") for part in left] != [other]:
            yield where, f"{show(one, ())} came back as {show(other, ())}"
    elif not same(one, other):
        yield where, f"{show(one, ())} came back as {show(other, ())}"


def _hollow(value: Any) -> bool:
    """Whether a value holds nothing, however deep."""
    inner = value.values() if type(value) is dict else value if type(value) is list else None
    return value in NOTHING if inner is None else all(map(_hollow, inner))


def _alike(one: Any, other: Any) -> bool:
    """Whether two elements may be one and the same."""
    if type(one) is not dict or type(other) is not dict:
        return type(one) is type(other)
    return all(one.get(key) == other.get(key) for key in ("type", "role", "call_id"))


def _all_gone(value: Any, where: str, fates: Mapping[str, str], fate: tuple[str, ...] = GONE) -> bool:
    """Whether a node, or everything in it but its type and role, is reported as gone.

    (Or that it is gone from here, where `fate` names what was carried in another form as well.)
    """
    if fates.get(where) in fate:
        return True
    children = list(value.items() if type(value) is dict else enumerate(value) if type(value) is list else ())
    told = [
        (f"{where}{pointer((key,))}", inner)
        for key, inner in children
        if key not in ("type", "role") and inner not in (None, "", [], {})
    ]
    # (A default that was left out as one counts as reported.)
    return bool(told) and all(
        fates.get(below) == DEFAULT or _all_gone(inner, below, fates, fate) for below, inner in told
    )
