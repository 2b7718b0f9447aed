"""The rows about conversions: what goes in, what is to come out, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from benchmarks.answers import (
    chat_response,
    chat_stream,
    generate_stream,
    interactions_stream,
    messages_stream,
    responses_response,
    responses_stream,
    sse,
)
from benchmarks.documents import (
    CHAT,
    GENERATE,
    INTERACTIONS,
    MESSAGES,
    RESPONSES,
    SHORT,
    chat_request,
    messages_request,
    responses_request,
)

Kind = Literal["request", "response", "stream"]


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        name: stable id, used in the JSON results and by `--only`.
        label: what the table prints.
        kind: what the body is.
        source: the protocol of `body`.
        target: the protocol to print; `back` converts that once more into `source`.
        body: the JSON bytes; for a stream the concatenated server-sent events.
        budget: the most the row may cost us, as a multiple of its floor; None where only the whole is budgeted.
        events: how many events the figure is divided by (1 for anything but a stream).
        framed: the stream goes in and comes out as server-sent events in bytes, not as parsed events.
    """

    name: str
    label: str
    kind: Kind
    source: str
    target: str
    body: bytes
    back: bool = False
    budget: float | None = None
    events: int = 1
    framed: bool = False


_BUDGETED = tuple(f"{way}{end}" for way in ("", "messages-", "google-", "steps-") for end in ("there", "back"))


def workloads(quick: bool = False) -> list[Workload]:
    """All rows, in the order of the table; `quick` leaves out the 10-turn ones."""
    dumps: Callable[[Any], bytes] = orjson.dumps
    rows: list[Workload] = []
    for turns in (1, 50) if quick else (1, 10, 50):
        chat, responses = dumps(chat_request(turns)), dumps(responses_request(turns))
        messages = dumps(messages_request(turns))
        size = f"request, {turns} turn{'s' if turns > 1 else ''}"
        ways: list[tuple[str, str, str, str, bytes, bool]] = [
            ("there", "chat → responses", CHAT, RESPONSES, chat, False),
            ("from", "responses → chat", RESPONSES, CHAT, responses, False),
            ("back", "chat → responses → chat", CHAT, RESPONSES, chat, True),
            ("chat", "chat → chat", CHAT, CHAT, chat, False),
            ("responses", "responses → responses", RESPONSES, RESPONSES, responses, False),
            ("messages-there", "chat → messages", CHAT, MESSAGES, chat, False),
            ("messages-from", "messages → chat", MESSAGES, CHAT, messages, False),
            ("messages-back", "chat → messages → chat", CHAT, MESSAGES, chat, True),
            ("google-there", "chat → generateContent", CHAT, GENERATE, chat, False),
            ("google-back", "chat → generateContent → chat", CHAT, GENERATE, chat, True),
            ("steps-there", "chat → interactions", CHAT, INTERACTIONS, chat, False),
            ("steps-back", "chat → interactions → chat", CHAT, INTERACTIONS, chat, True),
        ]
        for name, way, source, target, body, back in ways if turns == 50 else ways[:3]:
            budget = 6.0 if turns == 50 and name in _BUDGETED else None
            label = f"{size}: {way}"
            rows.append(Workload(f"request-{turns}-{name}", label, "request", source, target, body, back, budget))
    chat, responses = dumps(chat_response()), dumps(responses_response())
    rows += [
        Workload("response-there", "response: chat → responses", "response", CHAT, RESPONSES, chat),
        Workload("response-from", "response: responses → chat", "response", RESPONSES, CHAT, responses),
    ]
    for framed in (False, True):
        rows += [row for row in _streams(framed) if not quick or CHAT in (row.source, row.target)]
    return rows


_STREAMS = {
    CHAT: chat_stream,
    RESPONSES: responses_stream,
    MESSAGES: messages_stream,
    GENERATE: generate_stream,
    INTERACTIONS: interactions_stream,
}


def _streams(framed: bool) -> list[Workload]:
    """Every protocol's stream to every protocol: parsed events to events, or bytes to bytes.

    The bytes of a stream that stays in its protocol are passed on as they are.
    """
    rows = []
    for source, make in _STREAMS.items():
        events = make()
        for target in _STREAMS:
            if framed and source == target:
                continue
            name = f"stream-{SHORT[source]}-{SHORT[target]}{'-bytes' if framed else ''}".lower()
            label = f"stream{' as SSE bytes' if framed else ''}, an event: {SHORT[source]} → {SHORT[target]}"
            rows.append(
                Workload(
                    name, label, "stream", source, target, sse(events), budget=3.5, events=len(events), framed=framed
                )
            )
    return rows
