"""The list of blunt reports holds what is blunt, and nothing else."""

from __future__ import annotations

import pytest

from blunt import BLUNT, sharp
from corpus import fixtures
from unified_llm import suite


@pytest.mark.parametrize(("record", "target"), BLUNT)
def test_what_is_listed_is_still_blunt(record: str, target: str) -> None:
    protocol, kind, _ = record.split("/")
    found = [each for each in fixtures(protocol, kind) if each["id"] == record]
    failures = suite.sensitivity(found, target) + suite.injection(found, target)
    assert len(sharp(failures, target)) < len(failures), "mended: take it out"
