"""A `lost` pointer names a node that exists and of which nothing arrived."""

from __future__ import annotations

import pytest

from corpus import pairs, records, show
from covering import in_turn
from unified_llm import suite


@pytest.mark.parametrize(("source", "target", "kind"), pairs())
def test_specificity(source: str, target: str, kind: str) -> None:
    found = in_turn(records(source, kind), source, target)
    failures = suite.specificity(found, target)
    assert found
    assert not failures, show(failures, "specificity", len(found))
