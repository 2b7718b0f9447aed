"""The reader of streams: wire events are canonical events, and what a server left out is made.

Strategy: an event that can come now passes with what it holds read; deltas of the part that is open pass untouched. An
event that cannot come, or is not what its type promises, is kept whole as a native event. Items, parts, deltas and ends
that a server did not send follow from its later and fuller events, and are marked as synthetic: this protocol's writer
leaves them out again. State is kept by `output_index`, since ids may change from event to event.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED
from unified_llm.engine.pairs.reading import Reader
from unified_llm.streams.collect_and_decompose import FRAME
from unified_llm.streams.event_fast_path import ReadMore

from ..errors import read_error_node
from ..parts import citations, parts
from ..response.document import read_response
from ..turns.history import mark_run, read_items
from ..turns.items import items
from ..values.tables import SLUG
from .events import ALIASES, EVENTS, FAMILY, LIFECYCLE, STEMS, TERMINAL, UNFRAMED, type_of_item, varying
from .stream_state import Item, Open

__all__ = ["ResponsesReader"]

Node = dict[str, Any]
Event = dict[str, Any]

_HOT = frozenset(
    f"{stem}.delta"
    for stem in ("response.output_text", "response.function_call_arguments", "response.reasoning_text",
                 "response.reasoning_summary_text")
)  # fmt: skip
_HOT_KEYS = {kind: frozenset(EVENTS[kind]) for kind in _HOT}
_ADDRESS = frozenset(("type", "sequence_number", "output_index", "item"))
_FLAT = ("code", "message", "param")
_NEEDED: dict[str, tuple[str, type]] = {
    **dict.fromkeys(LIFECYCLE, ("response", dict)),
    "response.output_item.added": ("item", dict),
    "response.output_item.done": ("item", dict),
    "response.content_part.added": ("part", dict),
    "response.content_part.done": ("part", dict),
    "response.reasoning_summary_part.added": ("part", dict),
    "response.reasoning_summary_part.done": ("part", dict),
    "response.output_text.annotation.added": ("annotation", dict),
    **{f"{stem}.delta": ("delta", str) for stem in STEMS},
    **{f"{stem}.done": (key, str) for stem, (_, _, key) in STEMS.items()},
}


class ResponsesReader:
    """One stream of the Responses API, read."""

    def __init__(self, r: Reader) -> None:
        self.r = r
        if r.dialect.get("framed") is False and r.target is not None:
            r.target.context[UNFRAMED] = True
        self.state = "idle"
        self.open = Open(r.protocol)
        self.last = 0
        # The part or item whose deltas come now: (type, output_index, index of the part), and its pieces.
        self.hot: tuple[Any, ...] = ()
        self.pieces: list[str] = []
        # The last such delta as a template for the next one (`read_more`).
        self.like: Node = {}
        self.frames: dict[tuple[Any, ...], Node] = {}
        # The response of the last event that had one, on the wire and read.
        self.opening: tuple[Node | None, Node] = (None, {})

    def feed(self, event: Event) -> list[Event]:
        data = event["data"]
        if type(data) is not dict:
            return [self._frame(event)]
        kind = data.get("type")
        if type(kind) is not str or kind not in _HOT or event["event"] != kind:
            return self._feed(event, data, kind)
        if self._goes_on(data):
            self.pieces.append(data["delta"])
            if data.get("logprobs"):
                self.r.trace.append((data, data))
            out = [data]
        else:
            out = self._feed(event, data, kind)
        if data.get("logprobs") or not self._goes_on(data):
            self.like = {}
        elif not self.like:
            self.like = event
        return out

    def _goes_on(self, data: Node) -> bool:
        """Whether a delta is more of the part or item whose deltas come now, and nothing else."""
        hot = self.hot
        return (
            hot != ()
            and hot[0] == data["type"]
            and data.get("output_index") == hot[1]
            and data.get("content_index", data.get("summary_index")) == hot[2]
            and type(data.get("delta")) is str
            and data.keys() <= _HOT_KEYS[hot[0]]
        )

    def read_more(self) -> ReadMore | None:
        if not self.like:
            return None
        # Only the text, the number and the padding may differ.
        return ReadMore(self.like, ("data", "delta"), self.pieces.append, varying(self.like["data"]))

    def close(self) -> list[Event]:
        if self.state not in ("idle", "open"):
            return []
        self.state = "errored"
        message = "the stream ended before its last event"
        error = {"type": "server_error", "code": "stream_truncated", "message": message}
        return [{"type": "error", "error": error, "extra": self.open.synthetic}]

    # ---- one event --------------------------------------------------------------------------------------------------

    def _feed(self, event: Event, data: Node, kind: Any) -> list[Event]:
        self.hot, self.like = (), {}
        if "type" not in data and (type(data.get("error")) in (dict, str) or event["event"] == "error"):
            name = "error"  # the body of an error, as servers send it in a stream too
        elif type(kind) is not str:
            return [self._frame(event, data)]
        else:
            name = ALIASES.get(kind, kind)
        if name.startswith(SLUG):
            name = name.removeprefix(SLUG)
            name = ALIASES.get(name, name)
        if name not in EVENTS:
            return [self._named(self.r.unread(data, FAMILY, "type"), event, kind)]
        needed = _NEEDED.get(name)
        if needed is not None and type(data.get(needed[0])) is not needed[1]:
            if needed[0] == "item" and data.get("item", 0) is None:
                return [self._frame(event, {key: data[key] for key in data if key not in _ADDRESS})]
            return [self._native(event, data)]
        mark = len(self.r.trace)
        try:
            node = self._read(name, data)
            out = self._place(name, node, data)
        except ILL_TYPED:
            del self.r.trace[mark:]
            out = None
        if out is None:
            return [self._native(event, data)]
        frame: Node = {}
        if event["event"] != kind:
            frame["event"] = event["event"]
        if name != kind:
            frame["type"] = kind
        if "output_index" in node and "output_index" not in data:
            frame["index"] = "absent"
        if frame:
            self.r.extra(node)["frame"] = self.frames.setdefault(tuple(frame.items()), frame)
        self.r.trace.append((node, data))
        return out

    def _read(self, name: str, data: Node) -> Node:
        types = EVENTS[name]
        node: Node = {"type": name}
        rest: Node = {}
        for key, value in data.items():
            if key == "type":
                continue
            if key in types and type(value) in types[key]:
                node[key] = value
            else:
                rest[key] = value
        r = self.r
        if name in LIFECYCLE:
            node["response"] = self._response(data["response"], name)
        elif name == "error":
            self._error(node, rest, data)
        elif "item" in node:
            node["item"] = read_items([data["item"]], r)[0] if "id" in data["item"] else r.node(items, data["item"])
            mark_run(node["item"], r)
        elif "part" in node and type(node["part"]) is dict:
            node["part"] = r.node(parts, data["part"])
        elif type(node.get("annotation")) is dict:
            node["annotation"] = r.node(citations, data["annotation"])
        if rest:
            r.keep(node, rest)
        return node

    def _response(self, wire: Node, name: str) -> Node:
        before, node = self.opening
        if name == "response.in_progress" and before == wire:
            # Mostly it repeats the first event, and only a writer of this protocol uses what is in it.
            self.r.repeats[id(wire)] = before
            return self.r.made({**node}, wire)
        rest = wire.copy()
        node = read_response(rest, self.r)
        if rest:
            self.r.keep(node, rest)
        if not self.r.frames:
            self.opening = wire, node
        return self.r.made(node, wire)

    def _error(self, node: Node, rest: Node, data: Node) -> None:
        """The error is nested; or flat, as documented; or both, of which one is enough."""
        if type(data.get("error")) is dict:
            node["error"] = read_error_node(data["error"], self.r)
            copies = [key for key in _FLAT if key in data and key in data["error"] and data[key] == data["error"][key]]
            for key in copies:
                node.pop(key, None)
            if copies:
                self.r.form(node, "copies", copies)
            return
        if type(data.get("error")) is str:
            node["error"] = read_error_node({"message": rest.pop("error")}, self.r)
            self.r.form(node, "error", "string")
            return
        flat = {key: node.pop(key) for key in _FLAT if key in node}
        node["error"] = read_error_node(flat, self.r)
        self.r.form(node, "error", "flat")

    # ---- where it stands --------------------------------------------------------------------------------------------

    def _place(self, name: str, node: Node, data: Node) -> list[Event] | None:
        """The event, after all that has to come before it; None when it cannot come now."""
        if name in LIFECYCLE:
            return self._lifecycle(name, node)
        if name == "error":
            if self.state == "closed":
                return None
            self.state = "errored"
            return [node]
        if self.state not in ("idle", "open"):
            return None
        out: list[Event] = []
        if self.state == "idle":
            out.append(self.open.made("response.created", response={"status": "in_progress"}))
            self.state = "open"
        if "output_index" in EVENTS[name] and type(node.get("output_index")) is not int:
            node["output_index"] = self._index(name, node)
        return self._in_item(name, node, out)

    def _lifecycle(self, name: str, node: Node) -> list[Event] | None:
        if self.state == "closed" or (self.state == "errored" and name not in TERMINAL):
            return None
        out: list[Event] = []
        if name in TERMINAL:
            response = node["response"]
            if self.state == "idle":
                opening = {key: response[key] for key in ("id", "created_at", "model") if key in response}
                out.append(self.open.made("response.created", response={**opening, "status": "in_progress"}))
            if name != "response.failed" and self.state != "errored":
                output = response.get("output")
                if output == [] and self.open.items:
                    # Some servers end with an empty output, whatever was done: the items are those of the stream.
                    output = None
                    del response["output"]
                    if "extra" not in response or self.r.extra(response).get("form", {}).get("output") != "null":
                        self.r.form(response, "output", "empty")
                self.open.finish(output if type(output) is list else None, out)
            self.state = "closed"
        else:
            self.state = "open"
        return [*out, node]

    def _index(self, name: str, node: Node) -> int:
        """The place of an event without one."""
        if name == "response.output_item.added":
            return max(self.open.items, default=-1) + 1
        ended = node.get("item") or {}
        id_ = node.get("item_id") or ended.get("id")
        # A call may have no id of its own; its end has the id that results have.
        key = "call_id" if id_ is None else "id"
        wanted = ended.get("call_id") if id_ is None else id_
        for index, item in self.open.items.items():
            if wanted is not None and item.node.get(key) == wanted:
                return index
        return self.last

    def _in_item(self, name: str, node: Node, out: list[Event]) -> list[Event] | None:
        index = node.get("output_index")
        if index is None:
            return [*out, node]
        item = self.open.items.get(index)
        if name == "response.output_item.added":
            if item is not None:
                return None
            self.last = index
            self.open.items[index] = Item(index, node["item"])
            return [*out, node]
        if item is None:
            type_ = node["item"]["type"] if "item" in node else type_of_item(name)
            if type_ is None:
                return [*out, node]
            item = self.open.announce(index, type_, node, out)
        if not item.open:
            return None
        self.last = index
        if name == "response.output_item.done":
            self.open.close(item, node["item"], out)
            return [*out, node]
        stem, _, end = name.rpartition(".")
        where, index_key, key = STEMS.get(stem, ("", "", ""))
        if "part" in node:
            self._bracket(item, stem, end, node, out)
        elif name == "response.output_text.annotation.added":
            self.open.part(item, "content", node.get("content_index") or 0, "output_text", out).annotations += 1
        elif key:
            at = node.get(index_key) or 0
            part = self.open.part(item, where, at, stem, out) if where else item.own
            if end == "delta":
                part.pieces.append(node["delta"])
                if name in _HOT:
                    self.hot, self.pieces = (name, index, node.get(index_key) if where else None), part.pieces
            else:
                self.open.top_up(item, part, stem, node[key], where, at, out)
                part.said = True
        return [*out, node]

    def _bracket(self, item: Item, stem: str, end: str, node: Node, out: list[Event]) -> None:
        where = "summary" if stem.endswith("summary_part") else "content"
        at = node.get("summary_index" if where == "summary" else "content_index") or 0
        if end == "added":
            self.open.added(item, where, at, node["part"])
        else:
            self.open.close_part(item, where, at, node["part"], out, bracket=False)

    # ---- what has no meaning ----------------------------------------------------------------------------------------

    def _frame(self, event: Event, rest: Node | None = None) -> Event:
        """A frame that means nothing to the others; `rest` is what of it is not converted later."""
        own: Node = {"frame": {"event": event["event"], "data": event["data"]}}
        found: Event = {"type": FRAME, "extra": {self.r.protocol: own}}
        if rest:
            own["rest"] = rest
            self.r.made(found, event["data"])
        return found

    def _native(self, event: Event, data: Node) -> Event:
        """An event that cannot be read, or cannot come now: kept whole, and reported at the others."""
        node = self.r.unread(data, FAMILY)
        return self._named(node, event, data.get("type"))

    def _named(self, node: Node, event: Event, kind: Any) -> Event:
        if event["event"] != kind:
            self.r.extra(node)["frame"] = {"event": event["event"]}
        return node
