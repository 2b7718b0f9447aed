"""Broken input never crashes with anything but our own error types, each naming path and reason.

At least 20,000 mutants of recorded traffic where there is some, as in CI; else 5,000 of the fixtures, of which each has
its turn more than once. `make fuzz` runs as many as its arguments contain. `-s` shows the count.
"""

from __future__ import annotations

import random

import pytest

import unified_llm
from corpus import cases, corpus_folder, records, show
from unified_llm import suite

pytestmark = pytest.mark.long

SHARE = {"request": 10, "response": 6, "stream": 3, "error": 1}  # in twentieths
CASES = cases()
WANTED = 22_000 if corpus_folder() else 5_500
PROTOCOLS = len({protocol for protocol, _ in CASES})


@pytest.mark.parametrize(("protocol", "kind"), CASES)
def test_mutants(protocol: str, kind: str) -> None:
    found = list(records(protocol, kind))
    random.Random(1).shuffle(found)
    count = WANTED * SHARE[kind] // 20 // PROTOCOLS
    done = suite.fuzz(found, sorted(unified_llm.protocols()), count)
    print(f"\n{protocol} {kind}: {done.mutants} mutants of {len(found)} documents, {done.refused} refused")
    assert done.mutants >= count
    assert not done.failures, show(done.failures, "fuzz", done.mutants)


def test_the_shares_make_what_is_wanted() -> None:
    assert sum(WANTED * SHARE[kind] // 20 // PROTOCOLS for _, kind in CASES) >= WANTED * 10 // 11
