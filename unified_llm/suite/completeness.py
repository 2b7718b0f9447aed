"""The law of completeness: every field of a protocol and of the canonical model is classified.

A wire field is *mapped* when reading takes it, *native* when the adapter lists it with its capability, and otherwise
forgotten. A canonical type is written, or refused with a reason. Records that hold every declared field (a test of
their own sees to that) make this a check against the official declarations: a new SDK with a new field fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..engine.registry import adapter
from ..foundation.capabilities import is_capability
from ..streams.conversion import read_stream
from ..types._tables import ITEM_TYPES, PART_TYPES, TOOL_TYPES
from .outcome import Failure, Record, canonical, checked, document, has_class
from .walk import pointer

__all__ = ["unclassified_fields", "unclassified_types"]


_UNWRITTEN = "is neither written nor refused; give a reason in `refuses`, or name it in `by_hand` if a writer places it"


def unclassified_fields(protocol: str, records: Iterable[Record]) -> list[Failure]:
    """What reading leaves behind and the adapter's `natives` do not name, once for each key.

    Kinds of documents without a canonical class (lists of models) are passed over. An unknown key in a record is one of
    the failures.
    """
    natives = adapter(protocol).natives
    failures = [
        Failure(protocol, key, f"{capability!r} is not a capability")
        for key, capability in natives.items()
        if not is_capability(capability)
    ]
    seen: set[str] = set()
    for record in checked(records):
        if record["kind"] == "stream":
            read: list[Any] = list(read_stream(document(record), protocol))
        elif not has_class(record):
            continue
        else:
            read = [canonical(document(record), protocol, record["kind"], record)]
        for path, kept in _kept(read, adapter(protocol).protocol, ()):
            names = [str(key) for key in path if type(key) is str]
            dotted = ".".join(names)
            if dotted in seen or any(".".join(names[i:]) in natives for i in range(len(names))):
                continue
            seen.add(dotted)
            failures.append(Failure(record["id"], pointer(path), f"{kept!r:.60} is neither mapped nor native"))
    return failures


def unclassified_types(protocol: str) -> list[Failure]:
    """Canonical items, parts and tools that no mapping of the adapter writes and none refuses."""
    found = adapter(protocol)
    known = {*found.refuses, *found.by_hand}
    for mapping in found.mappings:
        known |= {*mapping.writes, *mapping.cannots, *mapping.same_keys}
    return [
        Failure(protocol, type_, _UNWRITTEN)
        for type_ in sorted(ITEM_TYPES | PART_TYPES | TOOL_TYPES)
        if type_ not in known
    ]


def _kept(value: Any, protocol: str, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every smallest thing in this protocol's drawers, with its path on the wire node (its type, for a whole node)."""
    if type(value) is list:
        for inner in value:
            yield from _kept(inner, protocol, path)
    elif type(value) is dict:
        drawer = (value.get("extra") or {}).get(protocol) or {}
        native = (drawer.get("form") or {}).get("native")
        for slot in ("rest", "turn"):
            if native and slot in drawer:
                yield (str(value["type"]),), drawer[slot]
            elif type(drawer.get(slot)) is dict:
                yield from _leaves(drawer[slot], ())
        for key, inner in value.items():
            if key != "extra":
                yield from _kept(inner, protocol, path)


def _leaves(value: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The keys that hold something: a null carries no information."""
    for key, inner in value.items():
        if inner is not None and not (type(inner) is dict and inner and not list(_leaves(inner, ()))):
            yield (*path, key), inner
