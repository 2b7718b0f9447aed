"""The writer of streams: canonical events are frames of the Responses API.

What was read from the API is written as it came (`own_frames.py`); what another protocol brought, and the strict form
of Open Responses, as the API's own clients require it (`foreign_frames.py`). Which it is, the first event finds out.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.streams.event_fast_path import WriteMore

from ..response.document import is_born_here
from ..turns.history import is_own
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
            own = is_own(self.w) and not self.w.dialect.get("strict")
            self.writer = OwnWriter(self.w) if own else ForeignWriter(self.w)
            self.feed = self.writer.feed  # type: ignore[method-assign]
        return self.writer.feed(event)

    def write_more(self) -> WriteMore | None:
        return self.writer.write_more() if self.writer is not None else None

    def close(self) -> list[Event]:
        return self.writer.close() if self.writer is not None else []
