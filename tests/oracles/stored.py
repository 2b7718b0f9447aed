"""A stored answer: what it was made of, so that it can be sent again, polled, cancelled and gone on from.

Work in the background takes no time but two polls: the first finds it running, the second done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oracles import google_interactions, openai_responses
from oracles.plan import Facts, Plan
from oracles.refusal import Refused
from oracles.seal import digest_of
from oracles.shapes import Node
from oracles.stamp import Stamp
from oracles.strict_google_interactions import bare, steps_of


@dataclass
class Stored:
    """One answer, its request, and what came before it."""

    protocol: str
    facts: Facts
    plan: Plan
    stamp: Stamp
    earlier: list[Node]
    polls: int = 0
    gone: bool = False

    @property
    def id(self) -> str:
        """Its id."""
        return self.stamp.id("resp_" if self.protocol == "openai-responses" else "v1_")

    @property
    def background(self) -> bool:
        """Whether it runs in the background."""
        return bool(self.facts.body.get("background"))

    @property
    def given(self) -> list[Node]:
        """The content of the request."""
        of = openai_responses.items_of if self.protocol == "openai-responses" else steps_of
        return of(bare(self.facts.body))

    def made(self) -> list[Node]:
        """What was answered."""
        if self.protocol == "openai-responses":
            return openai_responses.output(self.plan, self.stamp)
        return google_interactions.steps(self.facts, self.plan, self.stamp)

    def whole(self) -> Node:
        """The answer; that of Interactions contains the request as well."""
        if self.protocol == "openai-responses":
            return openai_responses.answer(self.facts, self.plan, self.stamp)
        made = google_interactions.answer(self.facts, self.plan, self.stamp)
        return {**made, "steps": [*self.given, *made["steps"]]}

    def queued(self, status: str | None = None) -> Node:
        """The resource before it is done."""
        if self.protocol == "openai-responses":
            return openai_responses.resource(self.facts, self.stamp, status or "queued")
        return google_interactions.head(self.facts, self.stamp, status or "in_progress")

    def polled(self) -> Node:
        """What a client that requests it gets."""
        if self.gone:
            return self.queued("cancelled")
        if self.background:
            self.polls += 1
            if self.polls < 2:
                return self.queued("in_progress")
        return self.whole()

    def cancelled(self) -> Node:
        """What cancelling it answers: once done it stays done."""
        if self.polls >= 2:
            return self.whole()
        self.gone = True
        return self.queued("cancelled")

    def after(self, last: str | None) -> Callable[[Any], bool]:
        """Which frames come behind the one a client saw last."""
        if last is None:
            return lambda frame: True
        if not last.isdecimal():
            raise Refused(f"Invalid event id '{last}'.")
        key = "sequence_number" if self.protocol == "openai-responses" else "event_id"
        return lambda frame: not isinstance(frame[1], dict) or int(frame[1].get(key, 0)) > int(last)

    def input_items(self, query: dict[str, str]) -> Node:
        """A page of the input, the newest first unless requested otherwise."""
        items = []
        for place, item in enumerate([*self.earlier, *self.given]):
            kind = item.get("type") or "message"
            if kind == "message" and isinstance(item.get("content"), str):
                part = "output_text" if item["role"] == "assistant" else "input_text"
                extra: Node = {"annotations": [], "logprobs": []} if part == "output_text" else {}
                item = {**item, "content": [{"type": part, "text": item["content"], **extra}]}
            named = item.get("id") or f"{'msg' if kind == 'message' else 'item'}_{digest_of(self.id, place)[:24]}"
            items.append({"type": kind, "status": "completed", **item, "id": named})
        if query.get("order") != "asc":
            items.reverse()
        at = next((n + 1 for n, item in enumerate(items) if item["id"] == query.get("after")), 0)
        limit = int(query.get("limit", "20")) if query.get("limit", "20").isdecimal() else 20
        page = items[at : at + limit]
        return {"object": "list", "data": page, "first_id": page[0]["id"] if page else None,
                "last_id": page[-1]["id"] if page else None, "has_more": at + limit < len(items)}  # fmt: skip
