"""The same protocol in and out is the identity, through the canonical model.

JSON-equal with types, frame for frame, no report.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

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


def emptied(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The places of objects and lists below a value, each with the empty one of its type."""
    if path and value:
        yield path, type(value)()
    for key, inner in value.items() if type(value) is dict else enumerate(value):
        if type(inner) in (dict, list):
            yield from emptied(inner, (*path, key))


@pytest.mark.parametrize(("protocol", "kind"), cases("request", "response"))
def test_an_object_or_a_list_that_is_empty_stays_empty(protocol: str, kind: str) -> None:
    """SDKs send `{}` for settings that are not set, and that is not the same as none."""
    differ, seen = [], set()
    for record in suite.covering(suite.records(protocol, kind)):
        for path, empty in emptied(record["body"]):
            place = tuple(key for key in path if type(key) is str)
            if place in seen:
                continue
            seen.add(place)
            body = json.loads(json.dumps(record["body"]))
            functools.reduce(lambda node, key: node[key], path[:-1], body)[path[-1]] = empty
            done = suite.outcome({**record, "body": body}, protocol)
            if not (isinstance(done.error, ul.InvalidBody) or done.value == body):
                differ.append((record["id"], path))
    assert seen
    assert not differ, differ
