"""What every answer is stamped with: ids that are digests of the request, the time, and counts that follow from
texts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from oracles.plan import Facts, Plan, tokens
from oracles.seal import digest_of

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""An image of one pixel."""
WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="
"""Audio of four silent samples."""


@dataclass(frozen=True)
class Stamp:
    """Makes ids for the answer to one request."""

    digest: str
    now: int
    model: str

    def id(self, prefix: str, *place: Any, length: int = 24) -> str:
        """An id for what stands at `place` in the answer."""
        return prefix + digest_of(self.digest, prefix, *place)[:length]


@dataclass(frozen=True)
class Counts:
    """Tokens: `input` holds the cached ones, `output` those of reasoning."""

    input: int
    output: int
    cached: int
    cache_write: int
    reasoning: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output


def counts(facts: Facts, plan: Plan) -> Counts:
    """What an exchange used, unless `[[usage]]` sets it."""
    reasoning = sum(len(tokens(p.text)) for p in plan.pieces if p.kind == "reasoning")
    said = sum(len(tokens(p.text)) + (len(tokens(p.json)) if p.kind == "call" else 0)
               for p in plan.pieces if p.kind != "reasoning")  # fmt: skip
    given = plan.usage
    thought = given.get("reasoning", reasoning)
    cached, written = given.get("cached", 0), given.get("cache_write", 0)
    return Counts(max(given.get("input", size(facts.body)), cached + written),
                  max(given.get("output", said + thought), thought), cached, written, thought)  # fmt: skip


def size(body: Any) -> int:
    """About how many tokens a body is, streamed or not."""
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    return len(json.dumps(body, ensure_ascii=False)) // 4 + 1


def listed(value: Any) -> list[Any]:
    """A list, or nothing where there is none."""
    return value if isinstance(value, list) else []
