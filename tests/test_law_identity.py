"""The same protocol in and out is the identity, through the canonical model.

JSON-equal with types, frame for frame, no report.
"""

from __future__ import annotations

import json

import pytest

import unified_llm as ul
from corpus import cases, records, show
from unified_llm import suite


@pytest.mark.parametrize(("protocol", "kind"), cases())
def test_identity(protocol: str, kind: str) -> None:
    found = list(records(protocol, kind))
    failures = suite.identity(protocol, found)
    assert found
    assert not failures, show(failures, "identity", len(found))


@pytest.mark.parametrize("protocol", [protocol for protocol, _ in cases("stream")])
def test_a_stream_that_was_read_is_written_as_it_was(protocol: str) -> None:
    """Through canonical events that a caller holds, copies and hands back, without a conversion around them."""
    differ = []
    for record in records(protocol, "stream"):
        events = json.loads(json.dumps(list(ul.read_stream(record["events"], protocol))))
        written = []
        try:
            written.extend(ul.write_stream(events, protocol))
        except ul.LocalProtocolError:
            assert "error" in [event["type"] for event in events]  # and raised after all of its frames
        if written != [{"event": event.get("event"), "data": event["data"]} for event in record["events"]]:
            differ.append(record["id"])
    assert not differ
