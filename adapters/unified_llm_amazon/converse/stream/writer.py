"""Writing a stream: canonical events to the frames of a message and its blocks.

What came from this protocol goes back frame by frame. Anything else is given the frames that clients expect: one
`messageStart`, numbered blocks that never overlap (events of a later item wait for the earlier one), a signature before
the end of reasoning, `messageStop` and `metadata`. A failed response is an exception, and nothing follows it.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import fill
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import error_in
from unified_llm.provenance.opaque import is_sealed
from unified_llm.streams.block_writer import (
    THOUGHTS,
    UNHEARD,
    BlockWriter,
    citations_of,
    report_late,
    sent_as_written,
)
from unified_llm.streams.collect_and_decompose import FRAME, TERMINAL

from ..calls import blocks, sealed, thoughts
from ..errors import EXCEPTION, write_error
from ..parts import answers, citations
from ..response import answered, head_fates, write_end, write_head
from ..turns import write_blocks
from ..values import ERRORS
from .block_frames import ARGUMENTS, CITED, EXCEPTIONS, STOPS, TEXT_PARTS, TEXTS, pieces

__all__ = ["ConverseWriter"]

Event = dict[str, Any]
Node = dict[str, Any]


class ConverseWriter(BlockWriter):
    """Canonical events to wire events."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        writer.context["streaming"] = True
        self.frame: Node = {}
        self.rest: Node = {}
        self.padding: Any = None
        self.index = -1
        self.places: dict[Any, int] = {}  # the blocks that are open, by item or by item and part
        self.sent = ""
        self.cited = 0
        self.ended: dict[Any, int] = {}  # the parts whose block has ended, each with its citations by then
        self.opened: Node = {}

    def feed(self, event: Event) -> list[Event]:
        kind = event["type"]
        self.frame, self.rest = {}, {}
        if "extra" in event:
            own = (event["extra"] or {}).get(self.w.protocol) or {}
            self.frame, self.rest = own.get("frame") or {}, own.get("rest") or {}
            if self.frame.get("synthetic"):
                return []
        if kind == FRAME:
            return [{"event": self.frame["event"], "data": self.frame["data"]}] if "event" in self.frame else []
        if kind == "response.created" and "name" in self.frame:
            self.own = self.w.context["own"] = True
        self.padding = event.get("obfuscation") if self.own else None
        if kind == "response.created":
            self._open(event["response"])
        if self.own:
            return self._own(kind, event)
        return self._foreign(kind, event)

    def close(self) -> list[Event]:
        return []

    # ---- frames ----------------------------------------------------------------------------------------------

    def _emit(self, name: str, data: Node) -> Event:
        if self.rest:
            data, self.rest = fill(data, self.rest), {}
        if self.padding is not None:
            data, self.padding = {**data, "p": self.padding}, None
        return {"event": name, "data": data}

    def _start(self, start: Node, place: Any) -> Event:
        self.index = self.frame.get("index", self.index + 1)
        self.places[place] = self.index
        return self._emit("contentBlockStart", {"start": start, "contentBlockIndex": self.index})

    def _delta(self, place: Any, delta: Node) -> Event:
        if "index" in self.frame:
            self.places[place] = self.frame["index"]
        elif place not in self.places:
            self.index += 1
            self.places[place] = self.index
        return self._emit("contentBlockDelta", {"delta": delta, "contentBlockIndex": self.places[place]})

    def _stop(self, place: Any) -> Event:
        index = self.places.pop(place, self.index)
        return self._emit("contentBlockStop", {"contentBlockIndex": self.frame.get("index", index)})

    def _open(self, response: Node) -> None:
        """Make headers of what an opening holds beside its frame, and report it: a stream may have no end."""
        self.opened = response
        write_head(response, self.w)
        for key, fated in head_fates(response, self.w).items():
            self.w.report(response, (key,), *fated, "metadata")

    def _end_of(self, response: Node, output: list[Node], stop: Node | None = None) -> Node:
        def pair(c: Node, w: Writer) -> Node:
            c.pop("output", None)
            for key in ("id", "model"):
                if key in c and c[key] == self.opened.get(key):
                    del c[key]
            if self.own:
                c.pop("status", None)
            return write_end(c, output, w, stop)

        wire: Node = self._document(pair, response)
        return wire

    def _error(self, event: Event) -> list[Event]:
        if self.failed:
            return []
        self.failed = True
        self.w.context["in stream"] = True
        data = self._document(write_error, {"error": error_in(event)})
        name = self.frame.get("event")
        word = self.w.context["word"]
        if name is None:
            name = word[:1].lower() + word[1:]
            if name not in EXCEPTIONS:
                name = "modelStreamErrorException" if ERRORS.reads.get(word) != "timeout" else "modelTimeoutException"
            if not name.endswith(EXCEPTION):
                name += EXCEPTION
        elif name == "error":
            data = {"code": word, **data}
        return [self._emit(name, data)]

    # ---- events that were frames of this protocol ------------------------------------------------------------

    def _own(self, kind: str, event: Event) -> list[Event]:
        at = event.get("output_index", 0)
        place = (at, event["content_index"]) if "content_index" in event else at
        if kind == "response.created":
            role = {} if "role" in self.rest else {"role": "assistant"}
            return [self._emit("messageStart", role)]
        if kind in TEXTS:
            return [self._delta(place, {"text": event["delta"]})]
        if kind in THOUGHTS:
            return [self._delta(at, {"reasoningContent": {"text": event["delta"]}})]
        if kind == CITED:
            return [self._delta(place, {"citation": self.w.node(citations, event["annotation"])})]
        if kind == ARGUMENTS:
            return [self._delta(at, {"toolUse": {"input": event["delta"]}})]
        if kind == "response.output_item.added" and event["item"].get("type") == "function_call":
            wire = self.w.node(blocks, {**event["item"], "arguments": ""})["toolUse"]
            return [self._start({"toolUse": {key: wire[key] for key in wire if key != "input"}}, at)]
        if kind in ("response.content_part.done", "response.output_item.done") and "index" in self.frame:
            return [self._stop(place)]
        if kind in TERMINAL:
            return self._own_end(event["response"])
        return self._error(event) if kind == "error" else []

    def _own_end(self, response: Node) -> list[Event]:
        frame, padding = self.frame, self.padding
        message = self._end_of(response, response.get("output") or [])
        out: list[Event] = []
        stop = frame.get("stop")
        if stop is not None:
            data = {key: message.pop(key) for key in stop if key in message}
            self.padding = frame.get("padding")
            out.append(self._emit("messageStop", data))
        elif "metadata" in frame:
            message = {key: message[key] for key in message if key not in STOPS}
        if frame.get("metadata") == "absent":
            return out
        self.padding = padding
        return [*out, self._emit("metadata", message)]

    # ---- events of others ------------------------------------------------------------------------------------

    def _begin(self, response: Node) -> list[Event]:
        if self.begun:
            return []
        self.begun = True
        self.w.context["own"] = False
        return [self._emit("messageStart", {"role": "assistant"})]

    def _inside(self, kind: str, event: Event, at: int) -> list[Event]:
        if kind == "response.output_item.added":
            self.at, self.item, self.sent, self.cited, self.part = at, event["item"], "", 0, None
            return self._open_call(event["item"], at) if event["item"].get("type") == "function_call" else []
        if kind == "response.output_item.done":
            return self._close_item(event["item"], at) + self._next()
        item, place = self.item, (at, event.get("content_index", 0))
        if item.get("role", "assistant") != "assistant":
            return []
        if item.get("type") == "message" and kind in TEXTS:
            return self._text(event["delta"], place)
        if kind == ARGUMENTS and item.get("type") == "function_call" and event["delta"]:
            out = self._open_call(item, at)
            if at not in self.places:
                return out  # its name or id is yet to come
            self.sent += event["delta"]
            return [*out, self._delta(at, {"toolUse": {"input": event["delta"]}})]
        if kind in THOUGHTS and item.get("type") == "reasoning":
            return self._think(event, at)
        if kind == CITED and item.get("type") == "message":
            return self._cite(event["annotation"], place)
        if kind == "response.content_part.done":
            return self._part_done(event["part"], place)
        if kind in UNHEARD:
            self.w.report(event, ("delta",), "lost", "amazon-converse streams it as a whole")
        return []

    def _text(self, text: str, place: Any) -> list[Event]:
        if not text:
            return []
        self.sent += text
        return [self._delta(place, {"text": text})]

    def _cite(self, note: Node, place: Any) -> list[Event]:
        if place in self.ended:
            self.ended[place] += 1
            report_late([note], self.w)
            return []
        mark = len(self.w.raw)  # reported with its text
        wire = self.w.node(citations, note)
        del self.w.raw[mark:]
        if wire is None:
            return []
        self.cited += 1
        return [self._delta(place, {"citation": wire})]

    def _think(self, event: Event, at: int) -> list[Event]:
        text = event["delta"]
        if not text:
            return []
        key = (event["type"], event.get("content_index", event.get("summary_index", 0)))
        if self.sent and key != self.part:
            text = "\n\n" + text
        self.part = key
        self.sent += text
        return [self._delta(at, {"reasoningContent": {"text": text}})]

    def _open_call(self, item: Node, at: int, whole: bool = False) -> list[Event]:
        if at in self.places or not (whole or (item.get("call_id") and item.get("name"))):
            return []
        mark = len(self.w.raw)  # its losses are reported when the item is whole
        block = self.w.node(blocks, {**item, "arguments": ""})
        del self.w.raw[mark:]
        if block is None:
            return []
        return [self._start({"toolUse": {key: value for key, value in block["toolUse"].items() if key != "input"}}, at)]

    def _part_done(self, part: Node, place: Any) -> list[Event]:
        """The end of a part of a message; its losses are reported when the item is whole."""
        if self.item.get("type") != "message":
            return []
        out: list[Event] = []
        mark = len(self.w.raw)
        block = self.w.node(answers, part)
        if part.get("type") not in TEXT_PARTS:
            out = self._blocks([block])
        else:
            text = part.get("text", part.get("refusal"))
            if type(text) is str and text.startswith(self.sent):
                out = self._text(text[len(self.sent) :], place)
            if place in self.places:
                cited = (block.get("citationsContent") or {}).get("citations") or () if type(block) is dict else ()
                out += [self._delta(place, {"citation": each}) for each in cited[self.cited :]]
                out.append(self._stop(place))
        del self.w.raw[mark:]
        self.sent, self.cited = "", 0
        if out:
            self.ended[place] = len(citations_of(part))
        return out

    # ---- the end of an item ----------------------------------------------------------------------------------

    def _close_message(self, item: Node, at: int) -> list[Event]:
        out: list[Event] = []
        content = item.get("content")
        if type(content) is str:
            content = [{"type": "output_text", "text": content}] if content else []
        for number, part in enumerate(content or ()):
            place = (at, number)
            if place in self.places or place in self.ended:
                self.w.nodes(answers, (part,))
                if place in self.ended:
                    report_late(citations_of(part)[self.ended[place] :], self.w)
                self.w.too_late(part, "its block had begun") if part.get("type") in TEXT_PARTS else None
                out += [self._stop(place)] if place in self.places else []
                continue
            found = write_blocks([{"type": "message", "role": "assistant", "content": [part]}], self.w)
            if any(not pieces(block) for block in found):
                self.w.drop(part, "amazon-converse does not stream such a block")
            out += self._blocks(found)

        def pair(c: Node, w: Writer) -> Node:
            c.pop("role", None)
            c.pop("content", None)
            return {}

        self.w.piece(pair, item)
        return out

    def _close_reasoning(self, item: Node, at: int) -> list[Event]:
        block = self.w.node(blocks, item)
        if block is None:
            return []
        if at not in self.places:
            return self._blocks([block])
        inner = block["reasoningContent"].get("reasoningText") or {}
        out, text = [], thoughts(item)
        if text.startswith(self.sent) and len(text) > len(self.sent):
            out.append(self._delta(at, {"reasoningContent": {"text": text[len(self.sent) :]}}))
            self.sent = text
        signature = inner.get("signature") or sealed(item, self.sent, self.w)
        if is_sealed(signature):
            self.w.travels(item)
        out.append(self._delta(at, {"reasoningContent": {"signature": signature}}))
        return [*out, self._stop(at)]

    def _close_call(self, item: Node, at: int) -> list[Event]:
        if not answered([item], self.w):
            return []
        out = self._open_call(item, at, whole=True)
        arguments = item.get("arguments") or ""
        goes_on = at in self.places and arguments.startswith(self.sent)
        if goes_on and len(arguments) > len(self.sent):
            out.append(self._delta(at, {"toolUse": {"input": arguments[len(self.sent) :]}}))
        mark = len(self.w.raw)
        block = self.w.node(blocks, item)
        if goes_on:
            sent_as_written(item, mark, self.w)
        if at in self.places:
            return [*out, self._stop(at)]
        return out + self._blocks([block] if block is not None else [])

    def _whole(self, item: Node) -> list[Event]:
        return self._blocks(write_blocks([item], self.w)) if answered([item], self.w) else []

    def _blocks(self, whole: list[Any]) -> list[Event]:
        """Blocks that were not streamed, in the frames they would have been."""
        out: list[Event] = []
        for block in whole:
            place = ("whole", self.index + 1)
            for start, delta in pieces(block):
                if start is not None:
                    out.append(self._start(start, place))
                if delta is not None:
                    out.append(self._delta(place, delta))
            if place in self.places:
                out.append(self._stop(place))
        return out

    def _finish(self, response: Node) -> list[Event]:
        stop: Node = {}
        message = self._end_of(response, self.output, stop)
        stop.update({key: message.pop(key) for key in STOPS if key in message})
        return [self._emit("messageStop", stop), self._emit("metadata", message)]
