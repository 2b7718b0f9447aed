"""Reading the blocks of a stream: each an item, or a part of the open message where it is text.

A block is followed in its wire form and read when it ends, by the pairs that read a whole answer, so that both read the
same. Arguments stay as the model wrote them, letter for letter.

https://docs.claude.com/en/api/messages-streaming
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.foundation.json_codec import load_text

from ..blocks import blocks
from ..parts.citations import citations
from ..parts.content import answer_parts
from ..turns.carriers import join_carried

__all__ = ["INPUT", "Block", "BlockReader"]

Event = dict[str, Any]
Node = dict[str, Any]

INPUT = {
    "tool_use": "response.function_call_arguments",
    "mcp_tool_use": "response.mcp_call_arguments",
    "server_tool_use": "",
}
# Blocks that are built by deltas; all others come whole.
_GROWING = frozenset(("tool_use", "mcp_tool_use", "server_tool_use", "thinking", "compaction"))
# Items whose status other surfaces show.
_NAMED = frozenset(("function_call", "reasoning", "mcp_call", "web_search_call", "code_interpreter_call"))


class Block:
    """One block that is open: its wire form so far, and where it stands in the output."""

    __slots__ = ("at", "buffer", "citations", "home", "index", "kind", "shift", "sources", "wire")

    def __init__(self, index: Any, kind: str, wire: Node) -> None:
        self.index = index
        self.kind = kind
        self.wire = wire
        self.buffer: list[str] = []
        self.at: Node = {}
        self.home: list[Any] = []
        self.sources: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.citations: list[Node] = []
        self.shift = False


class BlockReader:
    """What is open, and the events that follow from it."""

    def __init__(self, reader: Reader) -> None:
        self.r = reader
        self.state = "idle"
        self.message: Node = {}
        self.count = 0
        self.started = 0
        self.open: dict[Any, Block] = {}
        self.items: list[Node] = []
        self.text: Node | None = None
        self.text_at = 0
        # By the identity of a message's content: its open texts, and the messages that another block ended meanwhile.
        self.growing: Counter[int] = Counter()
        self.ending: dict[int, tuple[Node, int]] = {}
        self.pending: Event | None = None
        # The last frame if it was a plain delta, and its block (`read_more`).
        self.last: tuple[Block, Node] | None = None
        self.carried: list[Node] = []
        # The places of the message and its usage, piece by piece.
        self.sources: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.counted: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    # What is noted of frames is for the writer of this protocol alone (`Reader.frames`).

    def _mark(self, event: Event) -> Node:
        if not self.r.frames:
            return {}
        own = event.setdefault("extra", {}).setdefault(self.r.protocol, {})
        frame: Node = own.setdefault("frame", {})
        return frame

    def _synthetic(self, event: Event) -> Event:
        if self.r.frames:
            event["extra"] = {self.r.protocol: {"frame": {"synthetic": True}}}
        return event

    def _rest(self, event: Event, data: Node, known: tuple[str, ...]) -> None:
        """Keep what a frame holds beside what is understood."""
        rest: Node = {}
        for key in data:
            if key not in known:
                rest[key] = data[key]
        if rest:
            event.setdefault("extra", {}).setdefault(self.r.protocol, {})["rest"] = rest
            self.r.made(event, data)

    def _text_start(self, block: Block) -> list[Event]:
        out: list[Event] = []
        if self.text is None:
            self.text = {"type": "message", "role": "assistant", "content": []}
            self.text_at = self.count
            self.count += 1
            self.items.append(self.text)
            opening = {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
            out.append({"type": "response.output_item.added", "output_index": self.text_at, "item": opening})
        text = block.wire.get("text")
        block.at = {"output_index": self.text_at, "content_index": len(self.text["content"])}
        block.home = self.text["content"]
        block.home.append({})
        self.growing[id(block.home)] += 1
        opening = self.r.gather(dict(block.wire), block.sources)
        if type(text) is str:
            opening["text"] = ""
        part = self.r.nodes(answer_parts, (opening,))[0]
        added: Event = {"type": "response.content_part.added", **block.at, "part": part}
        out.append(added)
        if type(text) is str and text:
            self._mark(added)["text"] = text
            block.buffer.append(text)
            out.append(self._synthetic({"type": "response.output_text.delta", **block.at, "delta": text}))
        return out

    def _item_start(self, block: Block) -> list[Event]:
        block.at = {"output_index": self.count}
        self.count += 1
        wire = block.wire
        mark = len(self.r.trace)
        item = self._read(wire)
        if block.kind in _GROWING:
            # It is read again when it is whole, and that is what it is.
            del self.r.trace[mark:]
            self.r.made(item, self.r.doc)
        self.items.append(dict(item))
        added: Event = {"type": "response.output_item.added", **block.at, "item": item}
        out = [added]
        stem = INPUT.get(block.kind)
        if block.kind == "thinking" and item.get("type") == "reasoning" and item.get("content"):
            text = wire["thinking"]
            item["content"] = []
            self._mark(added)["text"] = text
            out += [self._synthetic(each) for each in self._thinking(block, text)]
        elif stem and type(item.get("arguments")) is str:
            if item["arguments"] == "{}":
                item["arguments"] = ""
        if block.kind in _GROWING:
            if item.get("type") in _NAMED:
                item["status"] = "in_progress"
            return out
        # It came whole; the frame that ends it adds nothing.
        del self.open[block.index]
        if self.carried:
            join_carried([item], self.carried, self.r)
        done = {"type": "response.output_item.done", **block.at, "item": item}
        self.items[-1] = item
        return [*out, self._synthetic(done)]

    def _read(self, wire: Node) -> Node:
        return self.r.nodes(blocks, (wire,))[0]

    def _delta(self, block: Block, delta: Node) -> list[Event] | None:
        """The events of a delta of its block: none where the end has it; None for any other delta."""
        kind = delta["type"] if "type" in delta else None
        if kind == "text_delta" and block.kind == "text":
            text = delta["text"] if "text" in delta else None
            if type(text) is not str or not text:
                return [] if text == "" else None
            if not block.buffer:
                block.sources[("text",)] = self.r.here("delta", "text")
            block.buffer.append(text)
            return [{"type": "response.output_text.delta", **block.at, "delta": text}]
        if kind == "input_json_delta" and block.kind in INPUT:
            piece = delta.get("partial_json")
            if type(piece) is not str or not piece:
                return [] if piece == "" else None
            if not block.buffer:
                block.sources[("input",)] = self.r.here("delta", "partial_json")
            block.buffer.append(piece)
            stem = INPUT[block.kind]
            return [{"type": f"{stem}.delta", **block.at, "delta": piece}] if stem else []
        if kind == "thinking_delta" and block.kind == "thinking":
            text = delta.get("thinking")
            return self._thinking(block, text) if type(text) is str and text else [] if text == "" else None
        if kind == "citations_delta" and block.kind == "text" and type(delta.get("citation")) is dict:
            annotation = self.r.nodes(citations, (delta["citation"],))[0]
            block.citations.append(delta["citation"])
            at = {**block.at, "annotation_index": len(block.citations) - 1}
            return [{"type": "response.output_text.annotation.added", **at, "annotation": annotation}]
        if kind == "signature_delta" and block.kind == "thinking":
            block.wire["signature"] = delta.get("signature")
            block.sources[("signature",)] = self.r.here("delta", "signature")
            return []
        if kind == "compaction_delta":
            block.wire.update({key: value for key, value in delta.items() if key != "type"})
            block.sources.update({(key,): self.r.here("delta", key) for key in delta})
            block.sources[("type",)] = block.sources[()]
            return []
        return None

    def _thinking(self, block: Block, text: str) -> list[Event]:
        out: list[Event] = []
        at = {**block.at, "content_index": 0}
        if not block.buffer:
            part = {"type": "reasoning_text", "text": ""}
            out.append(self._synthetic({"type": "response.content_part.added", **at, "part": part}))
            if not block.wire.get("thinking"):
                block.sources[("thinking",)] = self.r.here("delta", "thinking")
        block.buffer.append(text)
        out.append({"type": "response.reasoning_text.delta", **at, "delta": text})
        return out

    def _finish(self, block: Block) -> list[Event]:
        """The done events of a block, its item or part whole."""
        wire = block.wire
        text = "".join(block.buffer)
        if block.kind == "text":
            if block.buffer or type(wire.get("text")) is str:
                wire["text"] = text
            if block.citations:
                opening = wire.get("citations")
                wire["citations"] = [*(opening if type(opening) is list else ()), *block.citations]
            part = block.home[block.at["content_index"]] = self.r.nodes(answer_parts, (wire,))[0]
            done = [{"type": "response.output_text.done", **block.at, "text": text}]
            return [*done, {"type": "response.content_part.done", **block.at, "part": part}, *self._end_text(block)]
        out: list[Event] = []
        if block.kind == "thinking":
            wire["thinking"] = text
        stem = INPUT.get(block.kind)
        broken = False
        if stem is not None and text:
            try:
                wire["input"] = load_text(text)
            except ValueError:
                broken = True
            broken = broken or type(wire["input"]) is not dict
            if broken:
                wire["input"] = {}
        item = self._read(wire)
        if stem and text and "arguments" in item:
            # As the model wrote it: a broken one is for the client to see, and no call to be made.
            item["arguments"] = text
        if broken:
            item["status"] = "incomplete"
        self.items[block.at["output_index"]] = item
        if self.carried:
            join_carried([item], self.carried, self.r)
        if block.kind == "thinking" and item.get("content"):
            at = {**block.at, "content_index": 0}
            out.append({"type": "response.reasoning_text.done", **at, "text": text})
            out.append({"type": "response.content_part.done", **at, "part": item["content"][0]})
        if stem and "arguments" in item:
            out.append({"type": f"{stem}.done", **block.at, "arguments": item["arguments"]})
        out.append({"type": "response.output_item.done", **block.at, "item": item})
        return out

    def _close_text(self) -> list[Event]:
        """The open message is whole, or will be with its open texts: another kind of block, or the end, has come."""
        if self.text is None:
            return []
        item, self.text = self.text, None
        if self.growing[id(item["content"])]:
            self.ending[id(item["content"])] = item, self.text_at
            return []
        return [self._message_done(item, self.text_at)]

    def _end_text(self, block: Block) -> list[Event]:
        """The end of a message that waited for this text."""
        home = id(block.home)
        self.growing[home] -= 1
        return [] if self.growing[home] or home not in self.ending else [self._message_done(*self.ending.pop(home))]

    def _message_done(self, item: Node, at: int) -> Event:
        if self.carried:
            join_carried([item], self.carried, self.r)
        self.r.made(item, self.message)
        return self._synthetic({"type": "response.output_item.done", "output_index": at, "item": item})
