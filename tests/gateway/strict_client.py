"""What a strict client of background runs checks: every number once, in order, one id, a resumed stream is the rest."""

from __future__ import annotations

import json
from typing import Any

RESPONSES, INTERACTIONS = "/v1/responses", "/v1beta/interactions"
AFTER = {RESPONSES: "starting_after", INTERACTIONS: "last_event_id"}


def events_of(text: str) -> list[Any]:
    """The documents of a stream."""
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]


def frames_of(text: str) -> list[str]:
    """The events of a stream as they were sent."""
    return [f"{each}\n\n" for each in text.split("\n\n")[:-1]]


def id_of(events: list[Any]) -> str:
    """The id in the first event that has one."""
    nodes = (each[name] for each in events for name in ("response", "interaction") if name in each)
    return next((str(node["id"]) for node in nodes if "id" in node), "")


def check_numbers(path: str, id_: str, events: list[Any]) -> None:
    """Every number once, in order, and every id the run's."""
    if path == RESPONSES:
        assert [each["sequence_number"] for each in events] == list(range(len(events)))
    else:
        assert [each["event_id"] for each in events] == [f"{id_}_{number}" for number in range(len(events))]
    nodes = [each[name] for each in events for name in ("response", "interaction") if name in each]
    assert {node["id"] for node in nodes} == {id_}


def place(path: str, id_: str, number: int) -> str:
    """What a client sends to go on behind an event."""
    return str(number) if path == RESPONSES else f"{id_}_{number}"
