"""Events of a run get their numbers; one that plainly has its own is not parsed for that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unified_llm.gateway.state.runs import event_log
from unified_llm.gateway.state.runs.event_log import LogWriter, Run
from unified_llm.gateway.state.stored_responses import data_of
from unified_llm.streams.framings.sse import encode

FIELD = "sequence_number"
TRICKY: dict[str, dict[str, Any]] = {
    "its own": {"type": "x", FIELD: 0, "delta": "y"},
    "the only key": {FIELD: 0},
    "another": {"type": "x", FIELD: 7, "delta": "y"},
    "longer": {"type": "x", FIELD: 10},
    "none": {"type": "x", "delta": "y"},
    "inside": {"type": "x", "item": {FIELD: 0}},
    "inside, and its own": {"type": "x", "item": {FIELD: 0}, FIELD: 3},
    "in a list": {"type": "x", "items": [{FIELD: 0}]},
    "in a text": {"delta": f'{{"{FIELD}":0,'},
    "in a key": {f'a"{FIELD}': 0},
    "a name": {"type": "x", FIELD: "0"},
    "a fraction": {"type": "x", FIELD: 0.5},
}


def writer() -> LogWriter:
    run = Run("resp_1", "", "openai-responses", "in_progress", "", False, {}, 1, 2)
    return LogWriter(None, run)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", TRICKY.values(), ids=TRICKY)
@pytest.mark.parametrize("named", [None, "x"])
def test_an_event_has_the_number_of_its_place(value: dict[str, Any], named: str | None) -> None:
    event = encode(named, json.dumps(value, separators=(",", ":")).encode())
    (found,) = writer().numbered([event])
    assert data_of(found) == {**value, FIELD: 0}
    assert found.startswith(b"event: x\n") == (named is not None)


def test_one_that_has_its_number_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = writer()
    made.numbered([b'data: {"type":"x"}\n\n'])
    monkeypatch.setattr(event_log, "data_of", lambda event: pytest.fail("parsed"))
    event = b'event: x\ndata: {"type":"x","sequence_number":1,"delta":"y"}\n\n'
    assert made.numbered([event]) == [event]
