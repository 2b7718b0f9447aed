"""The same protocol in and out is the identity, through the hub: JSON-equal with types, frame for frame, no report."""

from __future__ import annotations

import pytest

from corpus import cases, records, show
from unified_llm import suite


@pytest.mark.parametrize(("protocol", "kind"), cases())
def test_identity(protocol: str, kind: str) -> None:
    found = list(records(protocol, kind))
    failures = suite.identity(protocol, found)
    assert found
    assert not failures, show(failures, "identity", len(found))
