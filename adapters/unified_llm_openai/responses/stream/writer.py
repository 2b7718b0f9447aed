"""The writer of streams: canonical events are frames of the Responses API.

What was read from the API is written as it came (`own_frames.py`); what another protocol brought, and the strict form
of Open Responses, as the API's own clients require it (`foreign_frames.py`). So is what a server sends whose events are
not framed for those clients (`framed` of its dialect), unless its dialect is what is written. Which it is, the first
event finds out.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import WriteMore

from ..response.document import is_born_here
from ..turns.history import is_own
from .events import EVENTS, FAMILY, UNFRAMED
from .foreign_frames import ForeignWriter
from .own_frames import OwnWriter

__all__ = ["ResponsesWriter"]

Event = dict[str, Any]


class ResponsesWriter:
    """One stream of the Responses API, written."""

    def __init__(self, w: Writer) -> None:
        self.w = w
        self.writer: OwnWriter | ForeignWriter | None = None

    def feed(self, event: Event) -> list[Event]:
        if self.writer is None:
            w = self.w
            response = event.get("response")
            if w.source is None and type(response) is dict and not is_born_here(response, w.protocol):
                w.source = ""
            bare = UNFRAMED in w.context and is_own(w) and not w.same and w.facing == "client"
            own = is_own(w) and not w.dialect.get("strict") and not bare
            self.writer = OwnWriter(w) if own else ForeignWriter(w)
            self.feed = self._anew if bare else self.writer.feed  # type: ignore[method-assign]
            return self.feed(event)
        return self.writer.feed(event)

    def _anew(self, event: Event) -> list[Event]:
        """The frames of an event for the API's own clients, with what its server has of its own in it."""
        if event["type"] not in EVENTS:
            data = self.w.native(event, FAMILY) if event["type"] != FRAME else None
            if type(data) is not dict or data.get("type") not in EVENTS:
                return self.writer.feed(event) if self.writer is not None else []
            self.w.report(event, (), "lost", "its item has ended, or has the place of another one")
            return []
        out = self.writer.feed(event) if self.writer is not None else []
        rest = ((event.get("extra") or {}).get(self.w.protocol) or {}).get("rest")
        if rest and out:
            out[-1]["data"] = {**rest, **out[-1]["data"]}
        for key in rest or () if not out else ():
            self.w.report(event, ("extra", self.w.protocol, "rest", key), "lost", "its event is left out")
        return out

    def write_more(self) -> WriteMore | None:
        return self.writer.write_more() if self.writer is not None else None

    def close(self) -> list[Event]:
        return self.writer.close() if self.writer is not None else []
