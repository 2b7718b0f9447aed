"""Reading a stream: frames that are kept, and citations in blocks of their own.

Nova has the sources of a text in blocks behind it. They are citations of that text, as those of a whole answer are, so
the end of a text waits until it is known what the next block is.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.streams.collect_and_decompose import FRAME

from ..parts import citations
from .block import Apart, Block, Ended

__all__ = ["PADDING", "SourcesReader"]

Event = dict[str, Any]
Node = dict[str, Any]

PADDING = "p"
_FRAME = ("event", "data")


class SourcesReader:
    """What readers of frames have in common, and the end of texts."""

    def __init__(self, reader: Reader) -> None:
        self.r = reader
        self.open: dict[int, Block] = {}
        # A text whose block has ended, whose citations may be in blocks of their own behind it, and such a block.
        self.ended: Ended | None = None
        self.apart: Apart | None = None

    # ---- frames ----------------------------------------------------------------------------------------------

    def _made(self, event: Event) -> Event:
        """An event that the wire did not announce."""
        event.setdefault("extra", {})[self.r.protocol] = {"frame": {"synthetic": True}}
        return event

    def _told(self, event: Event, data: Node, *known: str, **frame: Any) -> Event:
        """An event that was a frame, with what of it was not understood."""
        own: Node = {"frame": frame}
        rest = {key: value for key, value in data.items() if key not in known}
        if type(rest.get(PADDING)) is str:
            event["obfuscation"] = rest.pop(PADDING)
        if rest:
            own["rest"] = rest
        if rest or frame:
            event.setdefault("extra", {})[self.r.protocol] = own
        return self.r.made(event, data)

    def _frame(self, event: Event, rest: Any = None) -> Event:
        """A frame without canonical meaning; `rest` is what no item contains."""
        found: Event = {"type": FRAME, "extra": {self.r.protocol: {"frame": {key: event[key] for key in _FRAME}}}}
        if rest:
            found["extra"][self.r.protocol]["rest"] = rest if type(rest) is dict else {"data": rest}
            self.r.made(found, event["data"])
        return found

    def _kept(self, data: Node, name: str, **rest: Any) -> Event:
        more = {key: value for key, value in rest.items() if value}
        return self._frame({"event": name, "data": data}, more or None)

    # ---- citations in blocks of their own --------------------------------------------------------------------

    def _done(self, block: Block, data: Node) -> Event:
        """The end of the part of a text block, to which its text is added when it is known to be over."""
        place = {"output_index": block.at, "content_index": block.part}
        event: Event = {"type": "response.content_part.done", **place}
        return self._told(event, data, "contentBlockIndex", index=data["contentBlockIndex"])

    def _kept_stop(self, data: Node) -> Event:
        rest = {key: value for key, value in data.items() if key not in ("contentBlockIndex", PADDING)}
        return self._kept(data, "contentBlockStop", **rest)

    def _cite_apart(self, index: int, data: Node, value: Node) -> list[Event]:
        """Hold a citation until it is known whether its block has a text of its own."""
        if self.apart is None:
            self.apart = Apart(index, [], self.r.here())
        event: Event = {"type": "response.output_text.annotation.added", "annotation": self.r.node(citations, value)}
        self.apart.events.append(self._told(event, data, "delta", "contentBlockIndex", index=index))
        return []

    def _absorb(self, ended: Ended, apart: Apart, data: Node) -> list[Event]:
        """A block of citations alone is over: they are those of the text before it."""
        self.apart = None
        ended.block.groups.append(len(apart.events))
        out = [ended.frame, *self._cited(ended.block, apart)]
        self.ended = Ended(ended.block, self._kept_stop(data), self._done(ended.block, data))
        return out

    def _cited(self, block: Block, apart: Apart) -> list[Event]:
        for event in apart.events:
            place = {"output_index": block.at, "content_index": block.part, "annotation_index": len(block.rest)}
            event.update(place)
            block.rest.append(event["annotation"])
        return apart.events

    def _settle(self, name: Any, data: Node) -> list[Event]:
        """The end of a text and the begin of the block behind it, unless the frame is of citations of that text."""
        ended, apart = self.ended, self.apart
        if ended is None:
            return []
        index = data.get("contentBlockIndex")
        cites = name == "contentBlockDelta" and type(data.get("delta")) is dict and data["delta"].keys() == {"citation"}
        if (
            apart is None
            and cites
            and type(data["delta"]["citation"]) is dict
            and type(index) is int
            and index not in self.open
        ):
            return []
        if apart is not None and apart.number == index and (cites or name == "contentBlockStop"):
            return []
        self.ended = self.apart = None
        done, part = self._finish_part(ended.block, "".join(ended.block.text))
        ended.done["part"] = part["part"]
        out = [self._made(done), ended.done]
        if apart is not None:
            out += self._begin_text(apart.number)
            self.open[apart.number].sources[()] = apart.source
            out += self._cited(self.open[apart.number], apart)
        return out

    # ---- a reader's own --------------------------------------------------------------------------------------

    def _begin_text(self, index: int) -> list[Event]:
        raise NotImplementedError

    def _finish_part(self, block: Block, text: str) -> list[Event]:
        raise NotImplementedError
