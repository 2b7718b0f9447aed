"""The law of certificates: every conversion accounts for every leaf, and the check finds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import unified_llm as ul

from ..outcome import Failure, Record, checked, http_of
from .verify import verify

__all__ = ["certified"]

_JUDGED: dict[str, Any] = {"output.choices": "ignore"}


def certified(records: Iterable[Record], target: str) -> list[Failure]:
    """`verify` accepts the certificate of every conversion of these documents to `target`.

    The detail of a failure begins with the side it is on and its code: `"target no origin: ..."`. Streams have no
    certificate, and are passed over; so are documents that the target refuses.

    >>> from unified_llm import suite
    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    >>> made = [{"id": "hi", "protocol": "openai-chat", "kind": "request", "body": body}]
    >>> suite.certified(made, "anthropic-messages")
    []
    """
    failures = []
    for record in checked(records):
        if record["kind"] == "stream":
            continue
        came, body = http_of(record), record["body"]
        try:
            done = ul.convert(
                body,
                source=record["protocol"],
                target=target,
                kind=record["kind"],
                http=came,
                trace=True,
                on_loss=_JUDGED,
            )
        except ul.UnifiedLLMError:
            continue
        if done.trace is None:
            failures.append(Failure(record["id"], "", "no certificate"))
            continue
        found = verify(body, done.value, done.trace, done.losses, http=done.http, source_http=came)
        failures += [
            Failure(record["id"], problem.path, f"{problem.side} {problem.code}: {problem.detail}")
            for problem in found.problems
        ]
    return failures
