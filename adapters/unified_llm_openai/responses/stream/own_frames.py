"""The frames of a stream that was read from the Responses API, as they came.

Events that had no frame on the wire are left out again, and a frame that was not read is given back whole. Events that
were built by hand get the numbers they lack.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import WriteMore

from ..errors import whole, write_error_node
from ..parts import citations, parts
from ..response.document import write_response
from ..turns.history import write_item
from .events import EVENTS, FAMILY, LIFECYCLE, varying
from .response_frames import ResponseFrames

__all__ = ["OwnWriter"]

Node = dict[str, Any]
Event = dict[str, Any]

_NODES = frozenset(
    [
        *LIFECYCLE,
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.output_text.annotation.added",
        "error",
    ]
)


class OwnWriter:
    """Events of this protocol, or of none: as they are."""

    def __init__(self, w: Writer) -> None:
        self.w = w
        # Events that were built by hand have no numbers.
        self.number = 0 if w.source is None else None
        w.context["events"] = True
        # The data of the last event, if it was written as it was.
        self.data: Node = {}

    def feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        extra = event.get("extra")
        self.data = {}
        if extra is None and kind not in _NODES and kind in EVENTS and "choice" not in event and self.number is None:
            self.data = event
            return [{"event": kind, "data": event}]
        w = self.w
        drawer = (extra or {}).get(w.protocol) or {}
        frame = drawer.get("frame") or {}
        if frame.get("synthetic"):
            return []
        if kind == "error" and extra is None and w.sent is not None:
            return ResponseFrames(w).failed(event, *w.sent)
        if kind == FRAME:
            return [dict(frame)] if "data" in frame else []
        if event.get("choice"):
            w.report(event, (), "lost", "the API gives one answer", "output.choices")
            return []
        if kind not in EVENTS:
            data = w.native(event, FAMILY)
            if data is None:
                return []
            return [{"event": frame.get("event", data.get("type")), "data": data}]
        data = w.piece(self._body, event)
        if frame.get("type", kind) is not None:
            data["type"] = frame.get("type", kind)
        if frame.get("index") == "absent":
            data.pop("output_index", None)
        if self.number is not None:
            if "sequence_number" not in data:
                data["sequence_number"] = self.number
            self.number += 1
        return [{"event": frame.get("event", data.get("type")), "data": data}]

    def write_more(self) -> WriteMore | None:
        if "delta" not in self.data:
            return None
        event = {"event": self.data["type"], "data": self.data}
        return WriteMore(event, ("data", "delta"), beside=varying(self.data))

    def close(self) -> list[Event]:
        return []

    def _body(self, c: Node, w: Writer) -> Node:
        # `piece` took the type off: it follows from the content of the event.
        wire: Node = {}
        form = w.form(c, "error")
        copies = w.form(c, "copies")
        for key, value in tuple(c.items()):
            if key == "extra" or key == "choice":
                continue
            del c[key]
            if type(value) is dict:
                if key == "response":
                    value = whole(write_response, value, w)
                elif key == "item":
                    written = write_item(value, w)
                    value = written[0] if written else None
                elif key == "part":
                    value = w.node(parts, value)
                elif key == "annotation":
                    value = w.node(citations, value)
                elif key == "error":
                    value = write_error_node(value, w)
                    if form == "flat":
                        value.pop("type", None)
                        wire.update(value)
                        continue
                    if form == "string":
                        value = value.get("message")
                    for copy in copies or ():
                        wire[copy] = value.get(copy)
            wire[key] = value
        return wire
