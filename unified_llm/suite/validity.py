"""The property of validity: a document that is valid in its own protocol is written as a valid one of the target.

Only the target determines what is valid: its official SDK's types, a schema, a validator of the service's
model, a strict mock server. So the check is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import unified_llm as ul

from .outcome import Failure, Record, checked, ours, outcome

__all__ = ["valid"]

Check = Callable[[Any, str], Iterable[str] | None]
"""From a wire document and its kind to the problems it has; `"/json/pointer: text"` names the place. May raise."""


def valid(records: Iterable[Record], protocol: str, check: Check, *, model: str | None = None) -> list[Failure]:
    """What `check` has against the records of every other protocol, converted to `protocol`.

    `check(value, kind)` gets each converted document with its kind (`"request"`, `"response"`, `"error"`, or `"stream"`
    with the list of wire events). It returns texts, one a problem, or raises; None and an empty list mean valid. The
    path of a failure is a place of the converted document.

    `model` is the target's model that requests are converted for, as in `convert`; by default that of the record.

    Records should be valid in their own protocol: the result for a malformed document is not defined. A record that
    `protocol` has no meaningful document for (`CapabilityRefused`) is passed over, as is a stream that fails; that the
    library takes any other record for malformed is a failure.

        from unified_llm import suite

        def check(value, kind):
            return [error.message for error in VALIDATORS[kind].iter_errors(value)]

        def test_what_we_write_is_valid():
            assert not suite.valid(records, "acme-chat", check)
    """
    failures = []
    for record in checked(records):
        if record["protocol"].partition(":")[0] == protocol.partition(":")[0]:
            continue
        done = outcome(record, protocol, **({"model": model} if model and record["kind"] == "request" else {}))
        if done.error is not None:
            told = isinstance(done.error, ul.CapabilityRefused) or (record["kind"] == "stream" and ours(done.error))
            failures += [] if told else [Failure(record["id"], "", f"raised {done.error!r}")]
            continue
        try:
            problems = list(check(done.value, record["kind"]) or ())
        except Exception as error:
            problems = [f"{type(error).__name__}: {error}"]
        for problem in problems:
            place, colon, text = problem.partition(": ")
            located = bool(colon) and (not place or place.startswith("/"))
            failures.append(Failure(record["id"], *((place, text) if located else ("", problem))))
    return failures
