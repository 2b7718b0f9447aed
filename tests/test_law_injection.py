"""Unknown keys in any object and unknown words in any enum survive to their own protocol and are reported to others."""

from __future__ import annotations

import pytest

from corpus import cases, pairs, records, show, smallest_first
from covering import in_turn
from unified_llm import suite

pytestmark = pytest.mark.long

OWN = [(protocol, protocol, kind) for protocol, kind in cases()]


@pytest.mark.parametrize(("source", "target", "kind"), OWN + pairs("request", "response", "error"))
def test_injection(source: str, target: str, kind: str) -> None:
    seen: set[tuple[str, ...]] = set()
    found = in_turn(records(source, kind), source, target)
    failures = suite.injection(smallest_first(found), target, seen)
    assert len(seen) >= 4
    assert not failures, show(failures, "injection", len(seen))
