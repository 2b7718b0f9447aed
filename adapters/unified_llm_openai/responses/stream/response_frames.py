"""The events of a response beside its items: how it begins, how it is under way, and how it fails.

https://platform.openai.com/docs/api-reference/responses-streaming https://www.openresponses.org/specification
"""

from __future__ import annotations

from itertools import count
from typing import Any

from unified_llm.engine.pairs.writing import Writer

from ..errors import response_error, whole, write_error_node
from ..response.complete import complete_response
from ..response.document import resource
from ..values.tables import CORE_EVENTS, SLUG
from .events import STRICT_NAMES

__all__ = ["ResponseFrames"]

Node = dict[str, Any]
Event = dict[str, Any]


class ResponseFrames:
    """Events with their numbers, in the strict form of Open Responses where the dialect is that."""

    def __init__(self, w: Writer) -> None:
        self.w, self.strict = w, bool(w.dialect.get("strict"))
        # The number of the next event.
        self.number = count().__next__
        self.done: dict[int, Node] = {}
        self.head: Node = {}
        self.state = "idle"

    def failed(self, event: Event, first: Any, last: Any) -> list[Event]:
        """The end in an error of a stream whose `first` and `last` event (their data) another writer has sent."""
        if type(first) is dict and type(first.get("response")) is dict:
            self.head, self.state = {**first["response"], "output": []}, "progressed"
        number = last.get("sequence_number") if type(last) is dict else None
        if type(number) is int:
            self.number = count(number + 1).__next__
        return self._error(event)

    def _send(self, kind: str, data: Node) -> list[Event]:
        name = STRICT_NAMES.get(kind, kind) if self.strict else kind
        if self.strict and name not in CORE_EVENTS:
            name = SLUG + name
        own = {"type": name, "sequence_number": self.number()}
        data = {**own, **data, **own}
        data.pop("obfuscation", None)
        return [{"event": name, "data": data}]

    def _begun(self) -> list[Event]:
        out: list[Event] = []
        if self.state == "idle":
            out += self._lifecycle({"type": "response.created", "response": {}}, "response.created")
        if self.state == "open":
            self.state = "progressed"
            out += self._send("response.in_progress", {"response": {**self.head, "status": "in_progress"}})
        return out

    def _lifecycle(self, event: Event, kind: str) -> list[Event]:
        out: list[Event] = []
        if self.state == "idle":
            mark = len(self.w.raw)
            self._set_head(event["response"])
            if kind == "response.created":
                self.state = "open"
                # What was filled in is reported of the very node that goes out.
                response, self.head = self.head, self.head.copy()
                return self._send(kind, {"response": response})
            del self.w.raw[mark:]
            out = self._send("response.created", {"response": {**self.head, "status": "in_progress"}})
            self.state = "open"
        if kind == "response.created" or (kind == "response.in_progress" and self.state == "progressed"):
            return out
        if kind == "response.in_progress":
            self.state = "progressed"
        return out + self._send(kind, {"response": {**self.head, "status": kind.removeprefix("response.")}})

    def _set_head(self, response: Node) -> None:
        w = self.w
        # Answers of one conversation have made ids of their own: clients fold items that share one.
        w.seed = str(response.get("id") or "") or w.seed
        mark = len(w.raw)
        given = {key: value for key, value in response.items() if key not in ("output", "usage", "choices", "finish")}
        wire = whole(resource, given, w)
        # Losses of the opening are reported of the whole response at its end, or when there is none.
        del w.raw[mark:]
        wire["status"] = wire.get("status") or "in_progress"
        wire["output"] = []
        self.head = complete_response(wire, w, None)
        self._alias(self.head)

    def _alias(self, wire: Node) -> None:
        exchange = self.w.exchange
        if exchange is not None and exchange.alias:
            wire["model"] = exchange.alias

    def _error(self, event: Event) -> list[Event]:
        """The event as the API sends it, with the copies it documents, and the failed response after it."""
        w = self.w
        out = self._begun() if self.state == "idle" else []
        error = event.get("error") or {key: event.get(key) for key in ("code", "message", "param")}
        nested = write_error_node(error, w)
        if type(nested.get("code")) is int:
            nested["code"] = str(nested["code"])
        copies = {key: nested.get(key) for key in ("code", "message", "param")}
        out += self._send("error", {**copies, "error": nested})
        failed = {**self.head, "status": "failed"}
        failed["error"] = response_error(nested, error.get("type"))
        failed["output"] = [self.done[index] for index in sorted(self.done)]
        self.state = "ended"
        return out + self._send("response.failed", {"response": failed})
