"""Everything declared is classified: each wire field is mapped or native, each canonical type written or refused.

That the fixtures hold every field the official SDK declares is a test of `test_fixtures.py`; a new SDK with a new field
fails there, and once it is in a fixture, here until the adapter classifies it.
"""

from __future__ import annotations

import pytest

import unified_llm as ul
from corpus import fixtures
from sdk_types import TYPES
from test_fixtures import is_outside
from unified_llm import suite

PROTOCOLS = [name for name in ul.protocols() if next(iter(fixtures(name)), None)]


@pytest.mark.parametrize(("protocol", "kind"), list(TYPES))
def test_every_wire_field_is_mapped_or_native(protocol: str, kind: str) -> None:
    found = [record for record in fixtures(protocol, kind) if not is_outside(record["id"])]
    assert len(found) > 15
    assert not [str(failure) for failure in suite.unclassified_fields(protocol, found)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_canonical_type_is_written_or_refused(protocol: str) -> None:
    assert not [str(failure) for failure in suite.unclassified_types(protocol)]


def test_the_openai_protocols_are_among_them() -> None:
    assert {"openai-chat", "openai-responses"} <= set(PROTOCOLS)
