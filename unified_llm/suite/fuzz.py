"""Broken input: whatever comes in, only our own errors come out, each naming path and reason."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import unified_llm as ul

from .mutate import mutants
from .outcome import Failure, Record, checked, document, ours, outcome
from .walk import as_path

__all__ = ["Fuzzed", "fuzz"]


class Fuzzed(NamedTuple):
    """What a run of `fuzz` saw: mutants converted in all, those that were refused, and the failures."""

    mutants: int
    refused: int
    failures: list[Failure]


def fuzz(records: Sequence[Record], targets: Iterable[str], count: int, seed: int = 0) -> Fuzzed:
    """Convert about `count` mutants of the records to each target in turn. The same seed gives the same mutants."""
    goals = list(targets)
    each = -(-count // len(records))
    total = refused = 0
    failures: list[Failure] = []
    for turn, record in enumerate(checked(records)):  # else few mutants of each would all go to the first targets
        whole = document(record)
        for number, body in enumerate(mutants(whole, each, seed ^ zlib.crc32(record["id"].encode()))):
            if record["kind"] == "stream":
                body = _events(body)
            goal = goals[(turn + number) % len(goals)]
            key = "events" if record["kind"] == "stream" else "body"
            done = outcome({**record, key: body}, goal)  # as its document: a mutant may be null, too
            total += 1
            if done.error is None:
                continue
            refused += 1
            wrong = _wrong(done.error, body)
            if wrong:
                detail = f"mutant {number} to {goal}: {wrong}: {_short(body)}"
                failures.append(Failure(record["id"], getattr(done.error, "path", ""), detail))
    return Fuzzed(total, refused, failures)


def _events(body: Any) -> list[dict[str, Any]]:
    """What the transport hands over always has this form, whatever it contains."""
    if type(body) is not list:
        return [{"event": None, "data": body}]
    return [
        {"event": event.get("event") if type(event.get("event")) is str else None, "data": event.get("data")}
        if type(event) is dict
        else {"event": None, "data": event}
        for event in body
    ]


def _wrong(error: Exception, body: Any) -> str:
    if not ours(error):
        return f"raised {type(error).__name__} ({error})"
    reason = getattr(error, "reason", "") or str(error)
    if len(reason) < 5:
        return f"{type(error).__name__} gives no reason"
    if isinstance(error, (ul.InvalidBody, ul.CapabilityRefused)):
        try:
            as_path(body, error.path)  # the place itself may be what is missing
        except (LookupError, ValueError):
            return f"{type(error).__name__} names {error.path!r}, which is not in the document"
    return ""


def _short(body: Any) -> str:
    """The mutant as ASCII, since it may hold what no terminal can print."""
    try:
        return json.dumps(body)[:300]
    except (TypeError, ValueError):
        return ascii(body)[:300]
