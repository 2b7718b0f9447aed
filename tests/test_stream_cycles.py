"""A stream that is over is freed at once, with all that was kept of its events: nothing of it is in a cycle.

What is in a cycle lives until the garbage collector finds it, and a server that converts many short streams would
spend more time on that than on reading them.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest

import corpus
import unified_llm as ul
from covering import taking_turns

PROTOCOLS = sorted(corpus.PROTOCOLS.values())


def cyclic(events: list[Any], source: str, target: str) -> int:
    """How many objects a conversion leaves to the garbage collector, once everything that it loads is loaded.

    What other threads of this process leave meanwhile is collected too, so the least of several conversions counts.
    """
    least = 0
    for attempt in range(8):
        gc.collect()
        stream = ul.convert_stream(events, source=source, target=target)
        _ = list(stream), stream.losses
        del stream
        found = gc.collect()
        if attempt and not found:
            return 0
        least = min(least, found) if attempt > 1 else found
    return least


@pytest.mark.parametrize("source", PROTOCOLS)
def test_what_converts_a_stream_is_in_no_cycle(source: str) -> None:
    gc.disable()
    gc.freeze()  # for good: thawed, all that tests import and made so far would be looked at in each later collection
    try:
        left = {
            (record["id"], target): count
            for record in corpus.fixtures(source, "stream")
            for target in taking_turns(PROTOCOLS, PROTOCOLS.index(source))
            if (count := cyclic(record["events"], source, target))
        }
    finally:
        gc.enable()
    assert not left
