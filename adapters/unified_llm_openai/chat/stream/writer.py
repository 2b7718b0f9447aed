"""Writing a stream of chunks.

Events that came from a chunk carry its frame and go back into it. All others become chunks of OpenAI's own shape
under the rules of its SDK's accumulator: role, id and name are sent once, calls are numbered from 0 per choice
without a gap and never interleave (fragments of a later call wait for the earlier one), and sources come in one
delta. Every choice ends with its own finish chunk, then comes the usage chunk, then `[DONE]`.

With an exchange, usage is sent only where the client requested it (`stream_options.include_usage`), and the model is
the requested one. Without one the request is unknown, and usage that is there is sent.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import made_id
from unified_llm.streams.collect_and_decompose import FRAME, TERMINAL, index_of
from unified_llm.streams.event_fast_path import WriteMore

from ...deltas import spot_of
from ..errors import write_error_body
from ..response import consume_status, is_born_here, whole
from ..values.finish import finish_word
from ..values.tables import CHUNK, COMPLETION, RESPONSE
from ..values.timings import TIMINGS, is_in_timings, write_timings
from ..values.usage import is_told, write_usage
from .choice_writer import HOT, ChoiceWriter, More
from .item_order import Order
from .items import opened

__all__ = ["ChatWriter"]

Event = dict[str, Any]
Node = dict[str, Any]

_PASSED = frozenset(
    ("response.in_progress", "response.queued", "response.content_part.done", "response.output_text.done", FRAME)
)
# Where a chunk's delta stands.
_DELTA = ("data", "choices", 0, "delta")


class ChatWriter:
    """Canonical events to chunks."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.head: Node | None = None
        self.response: Node = {}
        self.choices: dict[int, ChoiceWriter] = {}
        self.orders: dict[int, Order] = {}
        self.group: list[Event] = []
        self.frame: Node = {}
        self.failed = False
        exchange = writer.exchange
        options = exchange.options.get("stream_options") if exchange is not None else None
        asked = type(options) is dict and options.get("include_usage")
        self.usage_wanted = exchange is None or bool(asked) or bool(writer.dialect.get("usage_always"))
        self.beside: Node = {}
        # The time is unknown, and no chunk has one yet.
        self.untimed = False
        # Choices without an end in the source.
        self.made: set[int] = set()
        self._plain: tuple[Node, WriteMore] | None = None
        # What the deltas that come now go on with (`spot_of`), and how the next one is written.
        self.hot: tuple[Any, ...] | None = None
        self.more: WriteMore | None = None

    def feed(self, event: Event) -> list[Event]:
        extra = event.get("extra")
        if self.more is not None:
            # The next piece of a text or of a call's arguments, with nothing beside it.
            if (
                self.hot == spot_of(event)
                and (extra is None or self.w.protocol not in extra)
                and not event.get("logprobs")
                and event["delta"]
            ):
                return [self.more.event(event["delta"])]
            self.more = None
        if extra is not None and not self.group:
            own = extra.get(self.w.protocol)
            frame = own.get("frame") if own is not None else None
            if frame is not None:
                plain = self._plain
                if plain is not None and (frame is plain[0] or frame.get("like") is plain[0]):
                    made = plain[1].event(event["delta"])
                    if frame is not plain[0]:
                        made["data"].update(frame["own"])
                    return [made]
                self._plain = None
                return self._framed(event, frame)
        if self.group:
            self.group.append(event)
            return self._rebuilt() if len(self.group) >= self.frame["count"] else []
        return self._write(event)

    def write_more(self) -> WriteMore | None:
        if self.more is not None:
            return self.more
        return self._plain[1] if self._plain is not None else None

    def _more(self, choice: int, like: More) -> WriteMore:
        """How the next piece of a text, or of a call's arguments, is written."""
        key, call = like
        delta: Node = {key: ""}
        if call is not None:
            delta = {"tool_calls": [{"index": call.index, "function": {key: ""}}]}
        path = (*_DELTA, key) if call is None else (*_DELTA, "tool_calls", 0, "function", key)
        return WriteMore(self._chunk(choice, delta), path, call.pieces.append if call is not None else None)

    def close(self) -> list[Event]:
        return self._rebuilt() if self.group else []

    # ---- chunks that were chunks ---------------------------------------------------------------------------------

    def _framed(self, event: Event, frame: Node) -> list[Event]:
        if frame.get("synthetic"):
            return []
        if "data" in frame:
            return self._whole(frame)
        if "like" in frame:
            frame = {**frame["like"], "chunk": {**frame["like"]["chunk"], **frame["own"]}}
        self.group = [event]
        self.frame = frame
        return self._rebuilt() if frame["count"] == 1 else []

    def _whole(self, frame: Node) -> list[Event]:
        data = frame["data"]
        if type(data) is dict and not self.usage_wanted and "usage" in data:
            if not data.get("choices") and not data.keys() - _USAGE_CHUNK:
                return []
            data = {key: value for key, value in data.items() if key != "usage"}
        if type(data) is dict:
            data = self._aliased(data)
        return [{"event": frame.get("event"), "data": data, **frame.get("beside", {})}]

    def _aliased(self, data: Node) -> Node:
        alias = self.w.exchange.alias if self.w.exchange is not None else None
        return {**data, "model": alias} if alias and data.get("model") else data

    def _rebuilt(self) -> list[Event]:
        group, frame = self.group, self.frame
        self.group = []
        for event in group:
            if event["type"] == "response.created":
                self._open(event["response"], own=True)
        chunk = frame["chunk"]
        if type(chunk) is not dict:
            return [{"event": frame.get("event"), "data": chunk, **frame.get("beside", {})}]
        bare = frame.get("bare", ())
        head = {key: value for key, value in (self.head or {}).items() if key not in chunk and key not in bare}
        data = {**head, **opened(chunk, [path for _, _, path, *_ in frame["slots"]])}
        for number, source, path, *around in frame["slots"]:
            if number < len(group):
                value: Any = group[number]
                for key in source:
                    value = value.get(key)
                place = data
                for key in path[:-1]:
                    place = place[key]
                if around:
                    # A piece of the text there: with the tags before and behind it, less what came before.
                    before, skip, after = around
                    value = f"{place.get(path[-1], '')}{before}{value[skip:]}{after}"
                place[path[-1]] = value
        data = self._aliased(data)
        if not self.usage_wanted:
            data.pop("usage", None)
        slots = frame["slots"]
        if frame["count"] == 1 and slots and "event" not in frame:
            if all(len(slot) == 3 and slot[1] == ["delta"] for slot in slots):
                self._remember(data, group[0], [slot[2] for slot in slots])
        return [{"event": frame.get("event"), "data": data, **frame.get("beside", {})}]

    def _remember(self, data: Node, event: Event, paths: list[list[Any]]) -> None:
        """How to write the next chunk of this shape: everything but its text is known."""
        frame = event["extra"][self.w.protocol]["frame"]
        if len(data["choices"]) == 1 and all(_is_only(data["choices"][0]["delta"], path[3:]) for path in paths):
            path, *also = [("data", *path) for path in paths]
            write = WriteMore({"event": None, "data": data}, path, beside=(*frame.get("varies", ()),), also=(*also,))
            self._plain = (frame.get("like", frame), write)

    # ---- chunks of our own ---------------------------------------------------------------------------------------

    def _open(self, response: Node, *, own: bool = False) -> None:
        """The head all chunks share."""
        self.response = response
        head: Node = {}
        if own:
            kept = ((response.get("extra") or {}).get(self.w.protocol) or {}).get("rest") or {}
            for key, hub in (("id", "id"), ("created", "created_at"), ("model", "model")):
                if hub in response:
                    head[key] = response[hub]
                elif key in kept:
                    head[key] = kept[key]
            # Perplexity calls its chunks what the others call the answer.
            head["object"] = kept.get("object", COMPLETION if self.w.form(response, "object") == "whole" else CHUNK)
        else:
            exchange = self.w.exchange
            created = response.get("created_at")
            if created is None:
                created = exchange.created_at if exchange is not None else None
            self.untimed = created is None
            created = created or 0
            head["id"] = response["id"] if type(response.get("id")) is str else made_id("chatcmpl", self.w.seed)
            head["object"] = CHUNK
            head["created"] = int(created) if type(created) is float else created
            if head["created"] != created:
                self.w.report(response, ("created_at",), "approximated", "whole seconds")
            head["model"] = response.get("model") or self.w.model or ""
            if response.get("service_tier") is not None:
                head["service_tier"] = response["service_tier"]
        if self.w.exchange is not None and self.w.exchange.alias:
            head["model"] = self.w.exchange.alias
        self.head = head

    def _chunk(self, choice: int, delta: Node, finish: Any = None, logprobs: Any = None) -> Event:
        wire = {"index": choice, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
        data = {**(self.head or {}), "choices": [wire]}
        if self.untimed:
            self.untimed = False
            self.w.added(data, "created", "no timestamp in the source")
        return {"event": None, "data": data}

    def _write(self, event: Event) -> list[Event]:
        kind = event["type"]
        if kind == "response.created":
            self._open(event["response"])
            return []
        if kind in _PASSED:
            return []
        if kind == "error":
            return self._error(event.get("error") or {})
        if self.head is None:
            response = event.get("response")
            self._open(response if type(response) is dict else {})
        if kind in TERMINAL:
            return self._end(event)
        choice = self._choice(event)
        out: list[Event] = []
        for each in self.orders[choice.index].take(event):
            for delta, logprobs in choice.feed(each):
                out.append(self._chunk(choice.index, delta, None, logprobs))
        if out and kind in HOT and "choice" not in event:
            like = choice.more(event)
            if like is not None:
                self.hot, self.more = spot_of(event), self._more(choice.index, like)
        return out

    def _choice(self, event: Event) -> ChoiceWriter:
        index = event["choice"] if "choice" in event else 0
        if index in self.choices:
            choice = self.choices[index]
        else:
            choice = self.choices[index] = ChoiceWriter(index, self.w)
            self.orders[index] = Order()
        return choice

    def _error(self, error: Node) -> list[Event]:
        if self.failed:
            return []
        self.failed = True
        return [{"event": None, "data": write_error_body(error, self.w)}]

    def _end(self, event: Event) -> list[Event]:
        response = event["response"]
        if event["type"] == "response.failed" and (response.get("error") or not response.get("finish")):
            return self._error(response.get("error") or {"type": "server_error", "message": "the response failed"})
        if self.failed:
            return []
        out: list[Event] = []
        ends = self._ends(response)
        for index, (output, word) in sorted(ends.items()):
            choice = self._choice({"choice": index})
            deltas = [delta for each in self.orders[index].rest() for delta in choice.feed(each)]
            deltas += choice.close(output)
            out += [self._chunk(index, delta, None, logprobs) for delta, logprobs in deltas]
            out.append(self._chunk(index, {}, word))
            out[-1]["data"]["choices"][0].update(choice.beside)
            if index in self.made:
                self.w.added(out[-1]["data"]["choices"][0], "finish_reason", "derived from the response content")
            if not index:
                out[-1]["data"].update(self.beside)
            native = self.w.context.pop(f"native finish {index}", None)
            if native is not None:
                out[-1]["data"]["choices"][0]["native_finish_reason"] = native
        if self.w.source is None and not is_born_here(response, self.w):
            self.w.source = ""
        usage = response.get("usage")
        if type(usage) is dict and self.usage_wanted and not is_in_timings(usage, self.w):
            wire = whole(self.w, write_usage, usage)
            if is_told(wire, usage, self.w):
                out.append({"event": None, "data": {**(self.head or {}), "choices": [], "usage": wire}})
        out.append({"event": None, "data": "[DONE]"})
        return out

    def _ends(self, response: Node) -> dict[int, tuple[list[Node], Any]]:
        """Choice to its whole output and the word for its end; the other fields of the response are reported."""
        ends: dict[int, tuple[list[Node], Any]] = {}
        made = self.made

        def end(c: Node, w: Writer, node: Node, index: int) -> Node:
            c.pop("output", None)
            items = self._items(index, node)
            ends[index] = (items, finish_word(c, node, items, w))
            if index:
                c.pop("index", None)
            if w.context.pop("made finish", False) and response.get("status") in (None, "incomplete"):
                made.add(index)
            native = w.context.pop("native finish", None)
            if native is not None:
                w.context[f"native finish {index}"] = native
            return {}

        def pair(c: Node, w: Writer) -> Node:
            usage = c.pop("usage", None)
            counts = {TIMINGS: whole(w, write_timings, usage)} if is_in_timings(usage, w) else {}
            consume_status(c, w)
            # A chunk has no metadata, but on servers that send it themselves.
            metadata = c.pop("metadata", None) if w.protocol not in (response.get("extra") or {}) else None
            others = c.pop("choices", None) or ()
            end(c, w, response, 0)
            for number, one in enumerate(others, 1):
                w.piece(partial(end, node=one, index=index_of(one, number)), one)
            wire: Node = {}
            RESPONSE.write(c, wire, w, response)
            if "service_tier" in wire and wire["service_tier"] != (self.head or {}).get("service_tier"):
                # Clients take it from the first chunk, and it comes at the end only.
                c["service_tier"] = wire["service_tier"]
            if metadata is not None:
                c["metadata"] = metadata
            beside = {key: wire[key] for key in ("metadata", "moderation") if wire.get(key) is not None}
            return {**beside, **counts}

        # What stands beside the choices of an answer goes out with the end of the first.
        self.beside = {key: value for key, value in whole(self.w, pair, response).items() if key != "object"}
        return ends

    def _items(self, index: int, node: Node) -> list[Node]:
        output = node.get("output")
        if type(output) is list and output:
            return output
        seen = self.choices.get(index)
        return seen.items if seen is not None else []


_USAGE_CHUNK = frozenset(
    "id object created model choices usage service_tier system_fingerprint obfuscation provider".split()
)


def _is_only(delta: Node, path: list[Any]) -> bool:
    """Whether a text stands in a delta itself, or in the only call or detail of it."""
    return len(path) == 1 or (path[1] == 0 and len(delta[path[0]]) == 1)
