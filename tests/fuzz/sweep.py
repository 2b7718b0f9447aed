"""`make sweep`: one odd value after the other at every kind of place, for every protocol that it is written to.

Mutants are random, and meet a rare place with the one value that breaks it after a million tries. Here a place stands
for all that have the same last steps of their path (keys, and the types of the objects they are in), in the smallest
document that has one; each gets every JSON type once, and is left out once.

python -m fuzz.sweep                            all, in a process for each CPU
python -m fuzz.sweep --family streams --of 20   each twentieth place of the streams
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import unified_llm as ul

from .cases import Case, Seeds, attempt, framed
from .fuzzing import Failure, failed
from .mutation import Path, at, with_value, without

__all__ = ["FAMILIES", "Place", "cases", "places"]

FAMILIES = {
    "documents": ("request", "response", "error"),
    "streams": ("stream",),
    "canonical": ("request", "response", "error"),
}
"""What is done with a document -> the kinds of records it is done with."""
_ABSENT = object()
_ADDED = ("type", "extra", "opaque", "turn", "cache", "index", "status", "error", "content", "annotations", "id")
_AS: tuple[Any, ...] = (5, "x", [], [5], {}, {"openai-chat": 5}, {"openai-chat": {"form": 5, "rest": {}}})
ODD: tuple[Any, ...] = (5, "x", True, None, 1.5, [], ["x"], [[]], [5], [{}], {}, {"a": 1}, {"type": []}, _ABSENT)
_STEPS = 5  # of a path: objects of one type are read alike, wherever they are
_LARGEST = 12_000  # bytes of JSON
_MOST = 4_000  # places of a document


class Place(NamedTuple):
    """A place of a document: `protocol` is the one that the document comes from."""

    family: str
    protocol: str
    kind: str
    value: Any
    path: Path


def places(seeds: Seeds, family: str) -> list[Place]:
    """The places that are different from each other, from the smallest documents."""
    seen: set[Any] = set()
    out = []
    for (protocol, kind), values in sorted(seeds.by.items()):
        for given in values if kind in FAMILIES[family] else ():
            value, owner = given, (protocol, kind)
            if family == "canonical":
                node = attempt(lambda given=given, p=protocol, k=kind: ul.read(given, p, k))
                value = node.model_dump(mode="json", by_alias=True, exclude_unset=True) if node is not None else {}
                owner = ("", kind)
            if len(json.dumps(value)) > _LARGEST:
                continue
            for path, name in _named(value):
                if (owner, name) not in seen:
                    seen.add((owner, name))
                    out.append(Place(family, protocol, kind, value, path))
    return out


def _named(value: Any) -> Iterator[tuple[Path, tuple[str, ...]]]:
    stack: list[tuple[Path, tuple[str, ...], Any]] = [((), (), value)]
    for _ in range(_MOST):
        if not stack:
            return
        path, name, node = stack.pop()
        yield path, name
        if type(node) is dict:
            kind = (f"<{node['type']}>",) if type(node.get("type")) is str else ()
            stack += [((*path, key), (*name, *kind, key)[-_STEPS:], each) for key, each in node.items()]
        elif type(node) is list:
            stack += [((*path, index), (*name, "*")[-_STEPS:], each) for index, each in enumerate(node)]


def cases(place: Place, targets: list[str]) -> Iterator[Case]:
    """Every odd value at a place, and under keys that an object there lacks, with all that is done with a document."""
    dice = random.Random(repr(place.path))
    for value in _values(place):
        for target in targets:
            options = {"facing": dice.choice(("provider", "client")), "secret": dice.choice((None, "s"))}
            vault = dice.random() < 0.3
            title = f"{place.kind} of {place.protocol}, {place.family}, to {target} {options} {vault}: {place.path}"
            yield Case(title, value, _written(place, target, options, vault))
        if (read := _read(place)) is not None:
            yield Case(f"{place.kind} of {place.protocol}, {place.family}, read: {place.path}", value, read)


def _values(place: Place) -> Iterator[Any]:
    value, path = place.value, place.path
    node = at(value, path)
    for odd in ODD if path else ():
        yield without(value, path) if odd is _ABSENT else with_value(value, path, odd)
    for key in _ADDED if type(node) is dict else ():
        yield from (with_value(value, path, {**node, key: odd}) for odd in _AS if key not in node)
        if "type" in node and key != "type":  # of an unknown type, it is handed on unread
            yield from (with_value(value, path, {**node, "type": "x", key: odd}) for odd in _AS)


def _written(place: Place, target: str, options: dict[str, Any], vault: bool) -> Any:
    source, kind = place.protocol, place.kind

    def work(value: Any) -> None:
        given = {**options, "vault": ul.MemoryVault() if vault else None}
        if place.family == "canonical":
            ul.write(value, target, kind, **given)
        elif place.family == "documents":
            ul.convert(value, source=source, target=target, kind=kind, **given)
        else:
            stream = ul.convert_stream(framed(value), source=source, target=target, **given)
            list(stream), list(stream.losses)

    return lambda value: attempt(lambda: work(value))


def _read(place: Place) -> Any:
    if place.family == "streams":
        return lambda value: attempt(lambda: ul.collect(list(ul.read_stream(framed(value), place.protocol))))
    if place.family == "canonical" and place.kind == "response":
        return lambda value: attempt(lambda: ul.collect(list(ul.decompose(value))))
    return None


_seeds: list[Seeds] = []


def _begin() -> None:
    _seeds.append(Seeds())


def _swept(work: tuple[str, int, int]) -> tuple[int, list[tuple[str, str]]]:
    """How many cases a part has, and the causes of failures with their texts."""
    family, part, parts = work
    targets = [*_seeds[0].protocols, "openai-responses:open-responses"]
    count, found = 0, list[Failure]()
    for place in places(_seeds[0], family)[part::parts]:
        for case in cases(place, targets):
            count += 1
            if (failure := failed(case)) is not None:
                found.append(failure)
    return count, [(each.key, str(each)) for each in found]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.sweep", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--family", choices=sorted(FAMILIES), help="one family alone (default: all)")
    parser.add_argument("--of", type=int, default=1, help="only each place of this number (default 1: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a CPU)")
    given = parser.parse_args()
    parts = 12 * given.of
    work = [
        (family, part * given.of, parts)
        for family in ([given.family] if given.family else FAMILIES)
        for part in range(parts // given.of)
    ]
    began, done = time.monotonic(), 0
    causes: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(given.jobs, initializer=_begin) as pool:
        for number, (count, failures) in enumerate(pool.imap_unordered(_swept, work), 1):
            done += count
            for key, text in failures:
                if key not in causes:
                    print(f"\n{text}", flush=True)
                causes[key] += 1
            rate = done / (time.monotonic() - began)
            print(f"{number:>4} of {len(work)} parts, {done} cases, {rate:.0f} a second", flush=True)
    for key, times in causes.most_common():
        print(f"{times} times: {key}")
    print(f"\n{done} cases in {time.monotonic() - began:.0f} s: {causes.total()} failed, {len(causes)} causes")
    return int(bool(causes))


if __name__ == "__main__":
    raise SystemExit(main())
