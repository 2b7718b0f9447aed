"""Reading a stream: message and blocks to canonical events.

A block is an item, or a part of the open message where it is text; text blocks in a row are one message. Pieces of
text, thinking and arguments become deltas; what has no canonical event (ping, the signature, the input of hosted calls)
is a frame, kept for this protocol, and its content is in the finished item. The end consists of two frames,
`message_delta` and `message_stop`: the first is held until the second, so that both are one terminal event. Usage in it
is cumulative, and zero or null never lowers what was counted before.

Block indexes are followed, not trusted: a second message in the same stream starts them again.
https://docs.claude.com/en/api/messages-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import ReadMore

from ..errors import read_error
from ..response import no_content, read_message
from ..turns.carriers import carried_by, join_carried
from ..turns.messages import read_content
from .blocks import INPUT, Block, BlockReader

__all__ = ["MessagesReader"]

Event = dict[str, Any]
Node = dict[str, Any]

_INPUT_SIDE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_INCOMPLETE = frozenset(("length", "context_window", "safety", "recitation", "pause"))


class MessagesReader(BlockReader):
    """Wire events to canonical events."""

    # ---- one wire event ----------------------------------------------------------------------------------------

    def feed(self, event: Event) -> list[Event]:
        data = event["data"]
        kind = data["type"] if type(data) is dict and "type" in data else None
        self.last = None
        if type(kind) is not str:
            # The body of an error, as servers send it in a stream too, may have no type.
            bare = type(data) is dict and "type" not in data
            kind = "error" if bare and (event["event"] == "error" or type(data.get("error")) in (dict, str)) else None
        elif kind not in _HANDLERS and event["event"] == "error" and type(data.get("message")) is str:
            kind = "error"  # the error itself, with its own type in the place of the event's
        if kind == "content_block_delta" and event["event"] == kind and len(data) == 3 and self.pending is None:
            index = data["index"] if "index" in data else None
            block = self.open[index] if type(index) is int and index in self.open else None
            delta = data["delta"] if "delta" in data else None
            if block is not None and type(delta) is dict:
                plain = len(delta) == 2 and not block.shift
                found = self._delta(block, delta) if plain else self._odd_delta(data, event)
                if found == []:
                    return [self._frame(event)]
                if found is not None:
                    if plain and len(found) == 1:
                        self.last = block, data
                    return found
        elif kind == "content_block_delta":
            if self.pending is None:
                return self._named(event, data, self._odd_delta(data, event))
        elif kind in _HANDLERS and type(data) is dict:
            return self._named(event, data, _HANDLERS[kind](self, data, event))
        if kind == "ping":
            # It only keeps the connection open.
            data = {key: data[key] for key in data if key != "type"} or None
        return [*self._flush(), self._frame(event, data)]

    def read_more(self) -> ReadMore | None:
        if self.last is None:
            return None
        block, data = self.last
        key = _PIECES.get(data["delta"]["type"])
        if key is None:
            return None
        like = {"event": "content_block_delta", "data": data}
        # Of what is equal to an index, only the very number is one.
        return ReadMore(like, ("data", "delta", key), block.buffer.append, very="index")

    def _named(self, event: Event, data: Node, found: list[Event] | None) -> list[Event]:
        """Note how a frame was named when it was not named after its data; an unreadable one is reported whole."""
        if found is None:
            return [*self._flush(), self._frame(event, data)]
        if self.r.frames and event["event"] != data.get("type"):
            first = next((each for each in found if not _is_synthetic(each, self.r.protocol)), None)
            if first is not None and first["type"] != FRAME:
                self._mark(first)["event"] = event["event"]
        return found

    def _frame(self, event: Event, rest: Any = None) -> Event:
        """A frame that means nothing to the others; `rest` is what of it is not converted later."""
        data, found, own = event["data"], Event(type=FRAME), Node()
        if self.r.frames:
            own["frame"] = {"event": event["event"], "data": data}
        if type(rest) is dict:
            own["rest"] = rest
            self.r.made(found, data)
        if own:
            found["extra"] = {self.r.protocol: own}
        return found

    def _flush(self) -> list[Event]:
        pending, self.pending = self.pending, None
        return [self._frame(pending)] if pending is not None else []

    # ---- the message -------------------------------------------------------------------------------------------

    def _start(self, data: Node, event: Event) -> list[Event] | None:
        message = data.get("message")
        if self.state != "idle" or type(message) is not dict:
            # A second message, spliced in: the blocks that are open end here, its own go on, and its own fields
            # counts from here, but for its id, which is that of the first.
            if self.state == "open" and type(message) is dict:
                told = {key: value for key, value in message.items() if key != "id" or "id" not in self.message}
                self.message = self.r.gather({**self.message, **told}, self.sources)
                self.sources.update({(key,): self.r.here("message", key) for key in told})
                apart = message.get("id", self.message.get("id")) != self.message.get("id")
                rest = {"message": {"id": message["id"]}} if apart else None
                return [*self._close_blocks(), *self._flush(), self._frame(event, rest)]
            return None
        self.state = "open"
        self.sources[()] = self.r.here("message")
        self.message = self.r.gather(dict(message), self.sources)
        content = message.get("content")
        node = self._head(message)
        items: list[Node] = []
        if type(content) is list and content:
            items = node["output"] = read_content(content, "assistant", message, self.r)
        else:
            node["output"] = no_content(node, message, self.r)
        node["status"] = "in_progress"
        created: Event = {"type": "response.created", "response": node}
        self._rest(created, data, ("type", "message"))
        self._mark(created)
        out = [created, self._synthetic({"type": "response.in_progress", "response": node})]
        for item in items:
            at = {"output_index": self.count}
            self.count += 1
            self.items.append(item)
            out.append(self._synthetic({"type": "response.output_item.added", **at, "item": item}))
            out.append(self._synthetic({"type": "response.output_item.done", **at, "item": item}))
        return out

    def _head(self, message: Node) -> Node:
        """The canonical response of a message, without its content."""
        rest = {key: value for key, value in message.items() if key != "content"}
        node = read_message(rest, self.r)
        if rest:
            self.r.keep(node, rest)
        return self.r.made(node, message)

    def _message_delta(self, data: Node, event: Event) -> list[Event] | None:
        delta, usage = data.get("delta"), data.get("usage")
        if self.state != "open" or type(delta) is not dict:
            return None
        out = self._flush()
        merged, sources, here = {**self.message}, self.sources, self.r.here()
        for key, value in delta.items():
            sources[key,] = (*here, "delta", key)
            if key != "container" or value is not None:
                merged[key] = value
        for key, value in data.items():
            if key not in ("type", "delta", "usage"):
                sources[key,] = (*here, key)
                merged[key] = value
        if type(usage) is dict:
            counted = dict(merged.get("usage") or {}) if type(merged.get("usage")) is dict else {}
            # An input side of zeros only carries no information; one that was counted anew (after compaction) counts.
            kept = () if any(usage[key] for key in _INPUT_SIDE if key in usage) else _INPUT_SIDE
            self.counted.setdefault((), (*sources[()], "usage"))
            for key, value in usage.items():
                if value is not None and (value or key not in kept or not counted.get(key)):
                    counted[key] = value
                    self.counted[key,] = (*here, "usage", key)
            if self.r.number is not None:
                self.r.docs[self.r.number] = data  # what is in the counts is located there
            merged["usage"] = self.r.gather(counted, self.counted)
        elif "usage" in data:
            merged = {**self.message}
        self.message = self.r.gather(merged, self.sources)
        self.pending = event
        return out

    def _stop(self, data: Node, event: Event) -> list[Event] | None:
        if self.state != "open":
            return None
        out = self._close_blocks()
        node = self._head(self.message)
        node["output"] = self.items
        self.state = "closed"
        reason = (node.get("finish") or {}).get("reason")
        kind = "response.incomplete" if reason in _INCOMPLETE else "response.completed"
        end: Event = {"type": kind, "response": node}
        self._rest(end, data, ("type",))
        frame = self._mark(end)
        pending, self.pending = self.pending, None
        if pending is not None and self.r.frames:
            shape = _shape(pending, self.message)
            if shape is None:
                out.append(self._frame(pending))
            else:
                frame["delta"] = shape
        return [*out, end]

    def _error(self, data: Node, event: Event) -> list[Event] | None:
        if self.state in ("closed", "errored"):
            return None
        out = self._flush()
        self.state = "errored"
        rest = dict(data)
        node = read_error(rest, self.r)
        found: Event = {"type": "error", "error": node["error"]}
        if "extra" in node:
            found["extra"] = node["extra"]
        if rest:
            self.r.keep(found, rest)
        self.r.made(found, data)
        mark = self._mark(found)
        if "type" not in data:
            mark.update(type="absent", event=event["event"])
        return [*out, found]

    # ---- blocks ------------------------------------------------------------------------------------------------

    def _close_blocks(self) -> list[Event]:
        """End what is open, without a frame for it."""
        out: list[Event] = []
        for index in [*self.open]:
            out += [self._synthetic(each) for each in self._finish(self.open.pop(index))]
        out += self._close_text()
        ending, self.ending = self.ending, {}
        return [*out, *(self._message_done(*each) for each in ending.values())]

    def _block_start(self, data: Node, event: Event) -> list[Event] | None:
        wire, index = data.get("content_block"), data.get("index")
        if self.state != "open" or type(wire) is not dict or type(index) is not int:
            return None
        kind = wire["type"] if type(wire.get("type")) is str else ""
        shift = index != self.started or event["event"] != "content_block_start"
        self.started = index + 1
        carried = carried_by(wire, self.r)
        if carried is not None:
            # Its item may be whole already: then the end of the stream reports it with that item.
            self.carried.append(carried)
            join_carried(self.items, [carried], self.r)
            return [*self._flush(), self._frame(event)]
        out = self._flush()
        if kind == "fallback" and type(wire.get("to")) is dict and type(wire["to"].get("model")) is str:
            # From here on it is the other model's answer, as it is when the answer comes in one piece.
            self.message = self.r.gather({**self.message, "model": wire["to"]["model"]}, self.sources)
            self.sources[("model",)] = self.r.here("content_block", "to", "model")
        block = Block(index, kind, dict(wire))
        bare = kind in INPUT and "input" not in wire  # as llama.cpp begins a call
        if bare:
            block.wire["input"] = {}
        block.sources[()] = self.r.here("content_block")
        self.r.gather(block.wire, block.sources)
        self.open[index] = block
        block.shift = shift
        out += [] if kind == "text" else self._close_text()
        found = self._text_start(block) if kind == "text" else self._item_start(block)
        first = found[0]
        if block.shift:
            self._mark(first)["index"] = index
        if bare:
            self._mark(first)["input"] = "absent"
        self._rest(first, data, ("type", "index", "content_block"))
        return out + found

    def _odd_delta(self, data: Node, event: Event) -> list[Event] | None:
        """A delta that is read and yet needs its frame: another name, another index, more keys."""
        block = self.open.get(data["index"]) if type(data.get("index")) is int else None
        delta = data.get("delta")
        if block is None or type(delta) is not dict:
            return None
        known = {key: delta[key] for key in ("type", _VALUES.get(str(delta.get("type")), "type")) if key in delta}
        if delta.get("type") == "compaction_delta":
            known = delta
        found = self._delta(block, known)
        if found is None:
            return None
        rest: Node = {key: value for key, value in data.items() if key not in ("type", "index", "delta")}
        more = {key: value for key, value in delta.items() if key not in known}
        if more:
            rest["delta"] = more
        if not found:
            return [self._frame(event, rest or None)]
        last = found[-1]
        if rest:
            last.setdefault("extra", {}).setdefault(self.r.protocol, {})["rest"] = rest
            self.r.made(last, data)
        if block.shift:
            self._mark(last)["index"] = block.index
        return found

    def _block_stop(self, data: Node, event: Event) -> list[Event] | None:
        block = self.open.pop(data.get("index"), None) if type(data.get("index")) is int else None
        if self.state != "open":
            return None
        if block is None:
            # A block that came whole has ended already.
            left = {key: value for key, value in data.items() if key not in ("type", "index")}
            return [*self._flush(), self._frame(event, left or None)]
        out = self._finish(block)
        if block.shift:
            self._mark(out[0])["index"] = block.index
        elif block.kind != "text" and self.r.frames:
            self._mark(out[0])
        self._rest(out[0], data, ("type", "index"))
        return self._flush() + out

    # ---- the end -----------------------------------------------------------------------------------------------

    def close(self) -> list[Event]:
        if self.state in ("closed", "errored"):
            return self._flush()
        out = self._flush()
        self.state = "errored"
        error = {
            "type": "server_error",
            "code": "stream_truncated",
            "message": "the stream ended before the message did",
        }
        return [*out, self._synthetic({"type": "error", "error": error})]


# Deltas that bring another piece of the same.
_PIECES = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}
_VALUES = {
    **_PIECES,
    "citations_delta": "citation",
    "signature_delta": "signature",
}
_HANDLERS: dict[Any, Any] = {
    "content_block_delta": None,
    "message_start": MessagesReader._start,
    "content_block_start": MessagesReader._block_start,
    "content_block_stop": MessagesReader._block_stop,
    "message_delta": MessagesReader._message_delta,
    "message_stop": MessagesReader._stop,
    "error": MessagesReader._error,
}


def _is_synthetic(event: Event, protocol: str) -> bool:
    own = (event.get("extra") or {}).get(protocol) or {}
    return bool((own.get("frame") or {}).get("synthetic"))


def _shape(pending: Event, message: Node) -> Node | None:
    """Which keys a message_delta holds, when it has only fields of the merged message; else None."""
    data = pending["data"]
    delta, usage = data["delta"], data.get("usage")
    if any(message.get(key, ...) != value or type(message[key]) is not type(value) for key, value in delta.items()):
        return None
    if "usage" in data:
        counted = message.get("usage")
        if type(usage) is not dict or type(counted) is not dict:
            return None
        if any(counted.get(key, ...) != value for key, value in usage.items()):
            return None
    shape: Node = {"delta": list(delta), "top": [key for key in data if key not in ("type", "delta", "usage")]}
    if "usage" in data:
        shape["usage"] = list(usage)
    if pending["event"] != "message_delta":
        shape["event"] = pending["event"]
    return shape
