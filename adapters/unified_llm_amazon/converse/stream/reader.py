"""Reading a stream: the frames of a message and its blocks to canonical events.

A block is an item, or a part of the open message where it is text or a medium. Pieces of text, reasoning and arguments
become deltas. What has no canonical event (signatures, citations, results of the provider's tools, images) is a frame
that is kept for this protocol, and its content is in the finished item, which is read as the block of a document is.
`messageStop` is held until `metadata`, so that both are one terminal event. Blocks of text have no start on this wire.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader

from ..calls import blocks
from ..errors import EXCEPTION, read_error
from ..parts import SOURCES, answers, citations
from ..response import read_end
from ..values import INCOMPLETE
from .block import Block, Ended, below, joined, value_of
from .sources import PADDING, SourcesReader

__all__ = ["ConverseReader"]

Event = dict[str, Any]
Node = dict[str, Any]


class ConverseReader(SourcesReader):
    """Wire events to canonical events."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.state = "idle"
        self.items: list[Node] = []
        self.message: Node | None = None  # the item of the text blocks that stand in a row
        self.count = 0
        self.end: Node = {}  # the fields of the last frames
        self.places: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.held: Event | None = None

    # ---- one wire event --------------------------------------------------------------------------------------

    def feed(self, event: Event) -> list[Event]:
        name, data = event["event"], event["data"]
        before = self._settle(name, data if type(data) is dict else {})
        if type(data) is dict and self.state not in ("closed", "errored"):
            if type(name) is str and (name.endswith(EXCEPTION) or name == "error"):
                return before + self._error(name, data)
            handle = _HANDLERS.get(name)
            if handle is not None:
                found: list[Event] | None = handle(self, data)
                if found is not None:
                    return before + found
        return [*before, *self._let_go(), self._frame(event, data)]

    def close(self) -> list[Event]:
        if self.state in ("closed", "errored"):
            return []
        if self.held is not None:
            return self._terminal({}, "absent")
        before = self._settle(None, {})
        self.state = "errored"
        error = {"type": "server_error", "code": "stream_truncated", "message": "the stream ended before its message"}
        return [*before, self._made({"type": "error", "error": error})]

    # ---- events ----------------------------------------------------------------------------------------------

    def _let_go(self) -> list[Event]:
        """The frame that waits for another one, where something comes between."""
        held, self.held = self.held, None
        if held is None:
            return []
        self.end.setdefault("stop", None)
        return [self._frame(held)]

    # ---- the message -----------------------------------------------------------------------------------------

    def _start(self, data: Node) -> list[Event] | None:
        if self.state != "idle" or type(data.get("role")) is not str:
            return None
        self.state = "open"
        node: Node = {"status": "in_progress", "output": []}
        self.r.form(node, "own", True)
        known = ("role",) if data["role"] == "assistant" else ()
        created = self._told({"type": "response.created", "response": node}, data, *known, name="messageStart")
        return [created, self._made({"type": "response.in_progress", "response": node})]

    def _stop(self, data: Node) -> list[Event] | None:
        if self.state != "open" or self.held is not None or "stop" in self.end:
            return None
        out = [self._made(event) for event in self._finish_all()]
        self.held = {"event": "messageStop", "data": data}
        self.end.update({key: value for key, value in data.items() if key != PADDING})
        self.places.update({(key,): self.r.here(key) for key in data})
        if self.r.number is not None:
            self.r.docs[self.r.number] = data
        return out

    def _metadata(self, data: Node) -> list[Event] | None:
        if self.state != "open" or (self.held is None and "stop" not in self.end):
            return None
        return self._terminal(data, "")

    def _terminal(self, data: Node, metadata: str) -> list[Event]:
        """Both of the last frames as one event."""
        stop = self.held["data"] if self.held is not None else None
        self.end.pop("stop", None)
        told = {key: value for key, value in data.items() if key != PADDING}
        if stop is not None and stop.keys() & told.keys():
            return [*self._let_go(), *self._terminal(data, metadata)]
        frame: Node = {"metadata": metadata}
        if stop is not None:
            frame["stop"] = [key for key in stop if key != PADDING]
            if PADDING in stop:
                frame["padding"] = stop[PADDING]
        whole = self.r.gather({**self.end, **told}, self.places)
        self.places.update({(key,): self.r.here(key) for key in told})
        node: Node = {}
        self.r.form(node, "own", True)
        rest = dict(whole)
        read_end(rest, node, self.r)
        node["output"] = self.items
        if rest:
            self.r.keep(node, rest)
        self.r.made(node, whole)
        out = [self._made(event) for event in self._finish_all()]
        self.state = "closed"
        reason = (node.get("finish") or {}).get("reason")
        kind = "response.incomplete" if reason in INCOMPLETE else "response.completed"
        end: Event = {"type": kind, "response": node, "extra": {self.r.protocol: {"frame": frame}}}
        if type(data.get(PADDING)) is str:
            end["obfuscation"] = data[PADDING]
        self.held = None
        return [*out, end]

    def _error(self, name: str, data: Node) -> list[Event]:
        self.state = "errored"
        rest = dict(data)
        word = name if name != "error" else str(rest.pop("code", "") or "InternalServerException")
        # (The HTTP status is that of a stream that began well.)
        node = read_error(rest, self.r, word[:1].upper() + word[1:])
        found: Event = {"type": "error", "error": node["error"], "extra": {self.r.protocol: {"frame": {"event": name}}}}
        if "extra" in node:
            found["extra"][self.r.protocol].update(node["extra"].get(self.r.protocol, {}))
        if rest:
            found["extra"][self.r.protocol]["rest"] = rest
        return [*self._let_go(), self.r.made(found, data)]

    # ---- blocks ----------------------------------------------------------------------------------------------

    def _block_start(self, data: Node) -> list[Event] | None:
        index, start = data.get("contentBlockIndex"), data.get("start")
        if self.state != "open" or type(index) is not int or type(start) is not dict or index in self.open:
            return None
        call = start.get("toolUse")
        if start.keys() == {"toolUse"} and type(call) is dict:
            wire = {"toolUse": {**call, "input": {}}}
            item = self.r.node(blocks, wire)
            if item.get("type") != "function_call":
                return None
            out = self._close_message()
            block = self._open_block(index, "toolUse", call)
            item["arguments"] = ""
            added: Event = {"type": "response.output_item.added", "output_index": block.at, "item": item}
            return [*out, self._told(added, data, "start", "contentBlockIndex", index=index)]
        key = next((key for key in ("toolResult", "image") if start.keys() == {key} and type(start[key]) is dict), None)
        if key is not None:
            out = self._close_message() if key == "toolResult" else []
            self._open_block(index, key, start[key])
            return [*out, self._kept(data, "contentBlockStart")]
        return None

    def _open_block(self, index: int, kind: str, wire: Node) -> Block:
        block = self.open[index] = Block(kind)
        block.wire = dict(wire)
        block.sources[()] = self.r.here("start", kind) if wire else self.r.here()
        if kind not in ("text", "image"):
            block.at = self.count
            self.count += 1
            self.items.append({})
        return block

    def _block_delta(self, data: Node) -> list[Event] | None:
        index, delta = data.get("contentBlockIndex"), data.get("delta")
        if self.state != "open" or type(index) is not int or type(delta) is not dict or len(delta) != 1:
            return None
        ((key, value),) = delta.items()
        block = self.open.get(index)
        event: Event
        if key == "text" and type(value) is str and (block is None or block.kind == "text"):
            begun = self._begin_text(index) if block is None else []
            block = self.open[index]
            block.text.append(value)
            block.sources.setdefault(("text",), self.r.here("delta", "text"))
            place = {"output_index": block.at, "content_index": block.part}
            event = {"type": "response.output_text.delta", **place, "delta": value}
            return [*begun, self._told(event, data, "delta", "contentBlockIndex", index=index)]
        if key == "citation" and type(value) is dict and block is None and self.ended is not None:
            return self._cite_apart(index, data, value)
        if key == "citation" and type(value) is dict and (block is None or block.kind == "text"):
            begun = self._begin_text(index) if block is None else []
            block = self.open[index]
            note = self.r.node(citations, value)
            block.rest.append(note)
            place = {"output_index": block.at, "content_index": block.part, "annotation_index": len(block.rest) - 1}
            event = {"type": "response.output_text.annotation.added", **place, "annotation": note}
            return [*begun, self._told(event, data, "delta", "contentBlockIndex", index=index)]
        if key == "toolUse" and block is not None and block.kind == key and type(value) is dict:
            text = value.get("input")
            if value.keys() != {"input"} or type(text) is not str:
                return None
            block.sources.setdefault(("input",), self.r.here("delta", "toolUse", "input"))
            block.text.append(text)
            event = {"type": "response.function_call_arguments.delta", "output_index": block.at, "delta": text}
            return [self._told(event, data, "delta", "contentBlockIndex", index=index)]
        if key == "reasoningContent" and type(value) is dict and len(value) == 1:
            return self._reasoning(index, data, *next(iter(value.items())))
        if key in ("toolResult", "image") and block is not None and block.kind == key:
            if type(value) is not (list if key == "toolResult" else dict):
                return None
            for number, each in enumerate(value if key == "toolResult" else [value]):
                at = ("delta", key, number) if key == "toolResult" else ("delta", key)
                block.sources["delta", len(block.rest)] = self.r.here(*at)
                block.rest.append(each)
            return [self._kept(data, "contentBlockDelta")]
        return None

    def _open_message(self) -> tuple[Node, list[Event]]:
        """The message that parts are added to, and the event that opens it where none is open."""
        if self.message is not None:
            return self.message, []
        self.message = {"type": "message", "role": "assistant", "content": []}
        self.items.append(self.message)
        item = {**self.message, "status": "in_progress", "content": []}
        self.count += 1
        return self.message, [{"type": "response.output_item.added", "output_index": self.count - 1, "item": item}]

    def _begin_text(self, index: int) -> list[Event]:
        block = self._open_block(index, "text", {})
        message, out = self._open_message()
        block.at, block.part = self.count - 1, len(message["content"])
        message["content"].append({"type": "output_text", "text": ""})
        place = {"output_index": block.at, "content_index": block.part}
        out.append({"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": ""}})
        return [self._made(event) for event in out]

    def _reasoning(self, index: int, data: Node, key: str, value: Any) -> list[Event] | None:
        block, out = self.open.get(index), list[Event]()
        if type(value) is not str or key not in ("text", "signature", "redactedContent"):
            return None
        if block is not None and block.kind != "reasoningContent":
            return None
        if block is None:
            out = self._close_message()
            block = self._open_block(index, "reasoningContent", {})
            item: Node = {"type": "reasoning", "status": "in_progress", "summary": [], "content": []}
            out.append(self._made({"type": "response.output_item.added", "output_index": block.at, "item": item}))
        block.sources[(key,)] = self.r.here("delta", "reasoningContent", key)
        if key != "text":
            block.wire[key] = value if key == "signature" else joined(block.wire.get(key), value)
            return [*out, self._kept(data, "contentBlockDelta")]
        place = {"output_index": block.at, "content_index": 0}
        if not block.text:
            part = {"type": "reasoning_text", "text": ""}
            out.append(self._made({"type": "response.content_part.added", **place, "part": part}))
        block.text.append(value)
        event: Event = {"type": "response.reasoning_text.delta", **place, "delta": value}
        return [*out, self._told(event, data, "delta", "contentBlockIndex", index=index)]

    def _block_stop(self, data: Node) -> list[Event] | None:
        index = data.get("contentBlockIndex")
        if self.state == "open" and self.ended is not None and self.apart is not None and self.apart.number == index:
            return self._absorb(self.ended, self.apart, data)
        block = self.open.pop(index, None) if type(index) is int else None
        if self.state != "open" or block is None:
            return None
        if block.kind == "text" and not block.rest:
            self.ended = Ended(block, self._kept_stop(data), self._done(block, data))
            return []
        ends = self._finish(block)
        done = self._told(ends[-1], data, "contentBlockIndex", index=index)
        return [*(self._made(event) for event in ends[:-1]), done]

    def _finish_all(self) -> list[Event]:
        out = [event for block in self.open.values() for event in self._finish(block)]
        self.open.clear()
        return out + self._close_message()

    def _close_message(self) -> list[Event]:
        message, self.message = self.message, None
        if message is None:
            return []
        at = next(number for number, item in enumerate(self.items) if item is message)
        # A block of it that has no end yet goes on in the item that is done.
        out = [self._made(event) for number in [*self.open] for event in self._cut(number, at)]
        done: Event = {"type": "response.output_item.done", "output_index": at, "item": message}
        return [*out, self._made(done)]

    def _cut(self, index: int, at: int) -> list[Event]:
        block = self.open[index]
        return self._finish(self.open.pop(index)) if block.at == at and block.kind in ("text", "image") else []

    def _finish(self, block: Block) -> list[Event]:
        """The end of a block; the last of these events is its frame."""
        text = "".join(block.text)
        if block.kind in ("text", "image"):
            return self._finish_part(block, text)
        at: Node = {"output_index": block.at}
        out: list[Event] = []
        if block.kind == "toolUse":
            wire: Node = {"toolUse": {**block.wire, "input": value_of(text)}}
        elif block.kind == "toolResult":
            wire = {"toolResult": {**block.wire, "content": block.rest}}
        elif "redactedContent" in block.wire:
            wire = {"reasoningContent": {"redactedContent": block.wire["redactedContent"]}}
        else:
            wire = {"reasoningContent": {"reasoningText": {"text": text, **block.wire}}}
        self.r.gather(wire, below(block, wire))
        item = self.r.node(blocks, wire)
        if block.kind == "toolUse":
            item["arguments"] = text or "{}"
            out.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        elif block.kind == "toolResult":
            out.append({"type": "response.output_item.added", **at, "item": {**item, "output": []}})
        elif block.text:
            place = {**at, "content_index": 0}
            part = {"type": "reasoning_text", "text": text}
            out.append({"type": "response.reasoning_text.done", **place, "text": text})
            out.append({"type": "response.content_part.done", **place, "part": part})
        self.items[block.at] = item
        return [*out, {"type": "response.output_item.done", **at, "item": item}]

    def _finish_part(self, block: Block, text: str) -> list[Event]:
        if block.kind == "image":
            return self._finish_image(block)
        wire: Node = {"text": text}
        self.r.gather(wire, below(block, wire))
        part = self.r.node(answers, wire)
        if block.rest:
            part["annotations"] = block.rest
        if block.groups:
            self.r.form(part, SOURCES, [f"absent {count}" for count in block.groups])
        content = self.items[block.at]["content"]
        content[block.part] = part
        place = {"output_index": block.at, "content_index": block.part}
        done: Event = {"type": "response.output_text.done", **place, "text": text}
        return [done, {"type": "response.content_part.done", **place, "part": part}]

    def _finish_image(self, block: Block) -> list[Event]:
        message, out = self._open_message()
        whole = dict(block.wire)
        for each in block.rest:
            whole.update(each)
        wire = {"image": whole}
        self.r.gather(wire, below(block, wire))
        part = self.r.node(answers, wire)
        place = {"output_index": self.count - 1, "content_index": len(message["content"])}
        message["content"].append(part)
        out.append({"type": "response.content_part.added", **place, "part": part})
        return [*out, {"type": "response.content_part.done", **place, "part": part}]


_HANDLERS: dict[Any, Any] = {
    "messageStart": ConverseReader._start,
    "contentBlockStart": ConverseReader._block_start,
    "contentBlockDelta": ConverseReader._block_delta,
    "contentBlockStop": ConverseReader._block_stop,
    "messageStop": ConverseReader._stop,
    "metadata": ConverseReader._metadata,
}
