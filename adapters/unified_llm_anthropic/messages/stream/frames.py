"""The frames of a stream of Messages: blocks, the message around them, errors.

https://docs.claude.com/en/api/messages-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import fill
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import error_in
from unified_llm.foundation.json_codec import dump_text
from unified_llm.streams.block_writer import BlockWriter

from ..errors import write_error
from ..response import write_head

__all__ = ["FrameWriter"]

Event = dict[str, Any]
Node = dict[str, Any]


class FrameWriter(BlockWriter):
    """What is open on the wire, and the frames that open, fill and close it."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self.index = -1
        self.override: Node = {}
        self.rest: Node = {}
        self.places: dict[Any, int] = {}
        # The items of which a part began a block of its own.
        self.parted: set[Any] = set()

    def _kept(self, frame: Node) -> list[Event]:
        data = frame["data"]
        if type(data) is dict and data.get("type") == "content_block_start" and type(data.get("index")) is int:
            self.index = data["index"]
        return [{"event": frame["event"], "data": data}]

    def _emit(self, data: Node) -> Event:
        name = data["type"]
        if self.override or self.rest:
            override, rest = self.override, self.rest
            self.override, self.rest = {}, {}
            if rest:
                data = fill(data, rest)
            name = override.get("event", name)
            if override.get("type") == "absent":
                data = {key: value for key, value in data.items() if key != "type"}
        return {"event": name, "data": data}

    def _start_block(self, block: Node, place: Any) -> Event:
        self.index = self.override.get("index", self.index + 1)
        self.places[place] = self.index
        if self.override.get("input") == "absent":
            block.pop("input", None)
        if type(place) is tuple:
            self.parted.add(place[0])
        return self._emit({"type": "content_block_start", "index": self.index, "content_block": block})

    def _delta(self, place: Any, delta: Node) -> Event:
        index = self.override.get("index") if self.override else None
        if index is None:
            index = self.places.get(place, self.index)
        return self._emit({"type": "content_block_delta", "index": index, "delta": delta})

    def _stop_block(self, place: Any) -> Event:
        index = self.override.get("index") if self.override else None
        if index is None:
            index = self.places.get(place, self.index)
        return self._emit({"type": "content_block_stop", "index": index})

    def _message(self, response: Node, content: list[Any]) -> Node:
        """The message of a response, with this content."""
        output = response.get("output") or []

        def pair(c: Node, w: Writer) -> Node:
            c.pop("output", None)
            if self.own:
                c.pop("status", None)
            return write_head(c, content, output, w)

        message: Node = self._document(pair, response)
        return message

    def _error(self, event: Event) -> list[Event]:
        if self.failed:
            return []
        self.failed = True
        node: Node = {"error": error_in(event)}
        if "extra" in event:
            kept = {key: value for key, value in event["extra"].items() if key == self.w.protocol}
            node["extra"] = {key: {k: v for k, v in value.items() if k == "form"} for key, value in kept.items()}
        self.w.context["in stream"] = True
        data = self._document(write_error, node)
        if type(data) is not dict:
            data = {"type": "error", "error": {"type": "api_error", "message": str(data)}}
        return [self._emit({"type": "error", **data})]

    def _block(self, block: Node, place: Any) -> list[Event]:
        """A block that was not streamed, in the frames it would have been."""
        kind = block.get("type")
        if kind == "text":
            opening: Node = {"type": "text", "text": ""}
            deltas = [{"type": "citations_delta", "citation": each} for each in block.get("citations") or ()]
            deltas += [{"type": "text_delta", "text": block["text"]}] if block.get("text") else []
        elif kind == "thinking":
            opening = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block.get("thinking") else []
            deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            opening = {**block, "input": {}}
            deltas = []
            if block.get("input"):
                deltas = [{"type": "input_json_delta", "partial_json": dump_text(block["input"])}]
        elif kind == "compaction" and "content" in block:
            opening = {"type": "compaction", "content": None}
            deltas = [{**block, "type": "compaction_delta"}]
        else:
            opening, deltas = block, []
        out = [self._start_block(opening, place)]
        out += [self._delta(place, delta) for delta in deltas]
        return [*out, self._stop_block(place)]
