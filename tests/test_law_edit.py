"""A changed canonical leaf is in the wire document of its own protocol, and nothing else moved."""

from __future__ import annotations

import pytest

from corpus import cases, records, show
from unified_llm import suite


@pytest.mark.parametrize(("protocol", "kind"), cases("request", "response", "error"))
def test_edit(protocol: str, kind: str) -> None:
    seen: set[tuple[str, ...]] = set()
    failures = suite.edit(protocol, records(protocol, kind), seen)
    assert len(seen) >= 4
    assert not failures, show(failures, "edit", len(seen))
