"""Which combinations of several axes a law tries: all of them in CI, enough of them anywhere else.

A law over surfaces, providers and failures holds for their product, and what breaks it is nearly always one value, or
two that meet. So every two values of any two axes meet in some combination (pairwise testing); the whole product runs
where recorded traffic is at hand, as it is in CI. It is for axes of which three values have nothing in common. Where
each document is one value of an axis, every pair of protocols takes a part of the documents (`in_turn`). Of cases that
are alike but for one axis, two are tried, which differ from one to the next (`taking_turns`).
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import settings

from corpus import corpus_folder

__all__ = ["covering", "covering_pairs", "examples", "in_turn", "taking_turns"]

Combination = tuple[Any, ...]
Where = Callable[..., bool]


def covering(*axes: Iterable[Any], where: Where = lambda *values: True) -> list[Combination]:
    """The combinations of these axes to try, in the order of their product; `where` is true of those that exist."""
    if corpus_folder():
        return [values for values in itertools.product(*axes) if where(*values)]
    return covering_pairs(*axes, where=where)


def examples(count: int) -> int:
    """How many examples hypothesis makes where CI makes `count`: the profile that is loaded has its share of them."""
    profile = settings.default.max_examples if settings.default is not None else 100
    return max(5, count * profile // 100) if profile < 100 else count


def in_turn(documents: Iterable[Any], *case: str) -> list[Any]:
    """The documents to try in a case, such as the names of two protocols: all of them in CI, of many elsewhere a third.

    Which third differs from case to case and is the same in every run, so that each document has several cases.
    """
    found = list(documents)
    return found if corpus_folder() or len(found) < 40 else found[zlib.crc32(" ".join(case).encode()) % 3 :: 3]


def taking_turns(values: Iterable[Any], turn: int) -> list[Any]:
    """The values to try at a turn, such as the sources of a shape: all of them in CI, two elsewhere.

    They go round, so that in as many turns as there are values each of them is taken twice.
    """
    found = list(values)
    if corpus_folder() or len(found) < 3:
        return found
    return [found[(turn + step) % len(found)] for step in (0, len(found) // 2)]


def covering_pairs(*axes: Iterable[Any], where: Where = lambda *values: True) -> list[Combination]:
    """So many combinations that every two values of any two axes meet: the same in every run.

    Each time the one is taken in which most pairs meet that have not met; what those are only becomes less.
    """
    product = itertools.product(*(enumerate(axis) for axis in axes))
    whole = [each for each in product if where(*(value for _, value in each))]
    met = set[Any]()

    def new(combination: Combination) -> set[Any]:
        places = [(axis, number) for axis, (number, _) in enumerate(combination)]
        return set(itertools.combinations(places, 2)) - met

    waiting = [
        (-len(new(each)), zlib.crc32(repr([number for number, _ in each]).encode()), place)
        for place, each in enumerate(whole)
    ]
    heapq.heapify(waiting)
    taken = []
    while waiting:
        most, tie, place = heapq.heappop(waiting)
        found = new(whole[place])
        if len(found) == -most:
            taken.append(place)
            met |= found
        elif found:
            heapq.heappush(waiting, (-len(found), tie, place))
    return [tuple(value for _, value in whole[place]) for place in sorted(taken)]
