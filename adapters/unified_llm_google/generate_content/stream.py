"""Streams read: every frame is a whole response in the making, without names, numbers or an end mark.

Text grows a part as long as the same kind of it comes; a signed part stands alone, and so do media; calls come whole,
or in pieces that are put together. Usage is cumulative: the last one counts. The last frame is the one after which
the wire ends: a frame that finishes every candidate is held until the next one, or the end, says which it was.
Everything a frame repeats or says of itself stays in its own drawer, for this protocol's writer.

https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
"""

from __future__ import annotations

from typing import Any

from unified_llm.jsonvalue import dump_text
from unified_llm.mapping import Reader

from .content import items, read_part
from .errors import read_error_node
from .partial_args import PartialArgs
from .response import read_answer
from .tables import PROTOCOL

__all__ = ["CANDIDATE_KEYS", "HEAD_KEYS", "GenerateContentReader"]

Event = dict[str, Any]
Node = dict[str, Any]

HEAD_KEYS = ("responseId", "modelVersion", "createTime", "usageMetadata")
# What a candidate says at its end, and what is put together from all its frames.
CANDIDATE_KEYS = (
    "finishReason",
    "finishMessage",
    "groundingMetadata",
    "citationMetadata",
    "urlContextMetadata",
    "logprobsResult",
    "continuationToken",
)
_TEXT = {
    "message": ("response.output_text", "response.content_part", "content_index", "output_text"),
    "reasoning": (
        "response.reasoning_summary_text",
        "response.reasoning_summary_part",
        "summary_index",
        "summary_text",
    ),
}
_INCOMPLETE = frozenset(("length", "context_window", "safety", "recitation", "pause"))
_FAILED = frozenset(("malformed_call", "error", "cancelled"))


class _Candidate:
    """One candidate while it comes in: the item that is open, its parts, the text that grows, a call in pieces."""

    __slots__ = ("apart", "args", "at", "call", "final", "index", "item", "kind", "made", "nodes", "part", "text")

    def __init__(self, index: int) -> None:
        self.at: Event = {"choice": index} if index else {}
        self.index = 0
        self.kind = ""
        self.made = 0
        self.apart = False
        self.item: Node = {}
        self.text: list[str] = []
        self.part = False
        self.nodes: list[Node] = []
        self.final: Node = {}
        self.call: Node | None = None
        self.args = PartialArgs()


class GenerateContentReader:
    """Wire frames to canonical events."""

    def __init__(self, r: Reader) -> None:
        self.r = r
        self.head: Node = {}
        self.candidates: dict[int, _Candidate] = {}
        self.held: Node | None = None
        self.started = False
        self.ended = False
        self.blocked = False

    def feed(self, event: Event) -> list[Event]:
        data = event["data"]
        if type(data) is dict and "error" not in data:
            held, self.held = self.held, None
            out = self._frame(held, False) if held is not None else []
            if self._finishes(data):
                self.held = data
                return out
            return out + self._frame(data, False)
        held, self.held = self.held, None
        out = self._frame(held, False) if held is not None else []
        if type(data) is list:
            for each in data:
                out += self.feed({"event": None, "data": each})
        elif type(data) is dict and type(data["error"]) is dict:
            self.ended = True
            rest = data.copy()
            error = read_error_node(rest, data, self.r)
            made: Event = {"type": "error", "error": error}
            if rest:
                made["extra"] = {PROTOCOL: {"frame": {"count": 1, "rest": rest}}}
            out.append(self.r.made(made, data))
        else:
            out.append(
                {"type": "unified_llm:frame", "extra": {PROTOCOL: {"frame": {"whole": data, "event": event["event"]}}}}
            )
        return out

    def close(self) -> list[Event]:
        if self.held is not None:
            held, self.held = self.held, None
            return self._frame(held, True)
        if self.ended:
            return []
        error = {"type": "server_error", "code": "stream_truncated", "message": "the stream ended before its end"}
        return [{"type": "error", "error": error, "extra": {PROTOCOL: {"frame": {"synthetic": True}}}}]

    # ---- frames -----------------------------------------------------------------------------------------------------

    def _finishes(self, data: Node) -> bool:
        """Whether every candidate seen so far has said why it ended, once this frame is read."""
        wires = data.get("candidates")
        if type(wires) is not list or not wires:
            feedback = data.get("promptFeedback")
            return (type(feedback) is dict and "blockReason" in feedback) or self._all_ended(set())
        ending = set()
        for place, wire in enumerate(wires):
            if type(wire) is not dict or wire.get("finishReason") is None:
                return False
            index = wire.get("index", place)
            ending.add(index if type(index) is int else place)
        return self._all_ended(ending) if len(self.candidates) > len(ending) else True

    def _all_ended(self, ending: set[Any]) -> bool:
        return bool(self.candidates) and all(
            "finishReason" in candidate.final or index in ending for index, candidate in self.candidates.items()
        )

    def _frame(self, data: Node, last: bool) -> list[Event]:
        """The events of one frame; the first of them bears the frame."""
        head = data.copy()
        wires = head.pop("candidates", None)
        usage = head.get("usageMetadata")
        if self.head:
            known = self.head
            before = known.get("usageMetadata")
            if type(usage) is dict:
                if type(before) is dict and not before.keys() <= usage.keys():
                    usage = {**before, **usage}
                known["usageMetadata"] = usage
            for key in head:
                if key not in known:
                    known[key] = head[key]
        else:
            self.head = head.copy()
        out: list[Event] = []
        if not self.started:
            self.started = True
            opening = {
                hub: head[key]
                for key, hub in (("responseId", "id"), ("modelVersion", "model"))
                if type(head.get(key)) is str
            }
            if "id" in opening:
                self.r.seed = opening["id"]
            out.append({"type": "response.created", "response": opening})
        frame: Node = {"count": 0, "head": head}
        if type(wires) is list:
            frame["candidates"] = [self._candidate(wire, place, out) for place, wire in enumerate(wires)]
        elif "candidates" in data:
            frame["head"] = {**head, "candidates": wires}
        if last:
            self._end(frame, out)
        frame["count"] = len(out)
        if not out:
            return [{"type": "unified_llm:frame", "extra": {PROTOCOL: {"frame": {"whole": data, "event": None}}}}]
        first = out[0]
        first["extra"] = {
            **first.get("extra", {}),
            PROTOCOL: {**first.get("extra", {}).get(PROTOCOL, {}), "frame": frame},
        }
        return out

    def _candidate(self, wire: Any, place: int, out: list[Event]) -> Node:
        """What a candidate's frame holds beside its parts; the events of the parts are added to `out`."""
        if type(wire) is not dict:
            return {"literal": wire}
        rest = wire.copy()
        index = rest.get("index", place)
        if type(index) is not int:
            return {"literal": wire}
        state = self.candidates.get(index)
        if state is None:
            state = self.candidates[index] = _Candidate(index)
        frame: Node = {"index": index, "rest": rest}
        content = rest.get("content")
        if type(content) is dict:
            inner = content.copy()
            wires = inner.pop("parts", None)
            rest["content"] = inner
            if type(wires) is list:
                if len(wires) == 1 and type(wires[0]) is dict and len(wires[0]) == 1 and wires[0].get("text"):
                    if type(wires[0]["text"]) is str:
                        self._text("message", wires[0]["text"], state, out)
                        wires = None
                if wires is not None:
                    template = [self._part(part, state, out) for part in wires]
                    if any(literal is not None for literal in template) or not template:
                        frame["parts"] = template
            elif "parts" in content:
                inner["parts"] = wires
            else:
                frame["parts"] = None
        final = state.final
        for key, value in wire.items():
            if key != "content" and (value or key not in final):
                final[key] = value
        return frame

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _part(self, wire: Any, state: _Candidate, out: list[Event]) -> Any:
        """The events of one part; a literal where no event says it, None where the events do."""
        if type(wire) is dict and type(wire.get("text")) is str:
            thought = wire.get("thought")
            if len(wire) == 1 or (len(wire) == 2 and thought is True):
                if not wire["text"]:
                    state.apart = True
                    return wire
                self._text("reasoning" if thought else "message", wire["text"], state, out)
                return None
        call = wire.get("functionCall") if type(wire) is dict else None
        if type(call) is dict and (state.call is not None or call.keys() & {"partialArgs", "willContinue"}):
            if self._call_piece(wire, call, state, out):
                return wire
        self._end_call(state, out)
        self.r.context["model"] = True
        self.r.context.update(at=(state.at.get("choice", 0),), made=state.made)
        node = read_part(wire, self.r)
        state.made = self.r.context["made"]
        opened = self.r.context.pop("opened", None)
        if opened:
            self._opened(opened, state, out)
            if node["type"] == "output_text" and not node.keys() & {"opaque", "extra", "annotations"}:
                self._text("message", node["text"], state, out)
                return None
            if node.get("text") == "":
                return wire
        thought = node["type"] == "summary_text" or self.r.context.pop("thought", False)
        if node["type"] in items.writes or node["type"] in items.cannots:
            self._close(state, out)
            self._item(node, state, out)
            return None
        self._alone("reasoning" if thought else "message", node, state, out)
        return None

    def _opened(self, opened: list[Node], state: _Candidate, out: list[Event]) -> None:
        """The items of an envelope; a thought that was shown before is the one that is in it."""
        for item in opened:
            if item.get("type") == "reasoning" and state.kind == "reasoning":
                self._end_text(state, out)
                state.item = item
                self._close(state, out)
            else:
                self._close(state, out)
                self._item(item, state, out)
                # It was no part, and places of parts are counted.
                state.nodes.pop()

    def _open(self, kind: str, state: _Candidate, out: list[Event]) -> None:
        """Have an item of this kind open."""
        if state.kind == kind:
            return
        self._close(state, out)
        state.kind = kind
        if kind == "message":
            state.item = {"type": "message", "role": "assistant", "content": []}
            shown: Node = {"type": "message", "role": "assistant", "content": []}
        else:
            state.item = {"type": "reasoning", "summary": []}
            shown = {"type": "reasoning", "summary": []}
        out.append({"type": "response.output_item.added", "output_index": state.index, "item": shown, **state.at})

    def _text(self, kind: str, text: str, state: _Candidate, out: list[Event]) -> None:
        if state.call is not None:
            self._end_call(state, out)
        stem, bracket, index_key, part_type = _TEXT[kind]
        if state.apart:
            # An empty text between two keeps them apart.
            state.apart = False
            self._end_text(state, out)
        if state.kind != kind or not state.part:
            self._open(kind, state, out)
            state.part = True
            state.text = []
            place = len(_parts_of(state.item))
            part = {"type": part_type, "text": ""}
            out.append(
                {"type": f"{bracket}.added", "output_index": state.index, index_key: place, "part": part, **state.at}
            )
        state.text.append(text)
        place = len(_parts_of(state.item))
        event: Event = {"type": f"{stem}.delta", "output_index": state.index, index_key: place, "delta": text}
        if state.at:
            event.update(state.at)
        out.append(event)

    def _end_text(self, state: _Candidate, out: list[Event]) -> None:
        if not state.part:
            return
        state.part = False
        stem, bracket, index_key, part_type = _TEXT[state.kind]
        parts = _parts_of(state.item)
        at = {"output_index": state.index, index_key: len(parts), **state.at}
        part: Node = {"type": part_type, "text": "".join(state.text)}
        parts.append(part)
        state.nodes.append(part)
        out.append({"type": f"{stem}.done", **at, "text": part["text"]})
        out.append({"type": f"{bracket}.done", **at, "part": part})

    def _alone(self, kind: str, node: Node, state: _Candidate, out: list[Event]) -> None:
        """A part that is not joined with its neighbours: signed text, media, what nobody understands."""
        self._open(kind, state, out)
        self._end_text(state, out)
        stem, bracket, index_key, part_type = _TEXT[kind]
        parts = _parts_of(state.item)
        at = {"output_index": state.index, index_key: len(parts), **state.at}
        parts.append(node)
        state.nodes.append(node)
        if node["type"] == part_type:
            out.append({"type": f"{bracket}.added", **at, "part": {"type": part_type, "text": ""}})
            if node["text"]:
                out.append({"type": f"{stem}.delta", **at, "delta": node["text"]})
            out.append({"type": f"{stem}.done", **at, "text": node["text"]})
        else:
            out.append({"type": f"{bracket}.added", **at, "part": node})
        out.append({"type": f"{bracket}.done", **at, "part": node})

    def _item(self, item: Node, state: _Candidate, out: list[Event]) -> None:
        """A whole item: announced, its arguments told, done."""
        at = {"output_index": state.index, **state.at}
        if item["type"] == "function_call":
            shown = {**item, "arguments": ""}
            shown.pop("opaque", None)
            shown.pop("extra", None)
            out.append({"type": "response.output_item.added", **at, "item": shown})
            out.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
            out.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        else:
            out.append(
                {
                    "type": "response.output_item.added",
                    **at,
                    "item": {k: v for k, v in item.items() if k not in ("opaque", "extra")},
                }
            )
        out.append({"type": "response.output_item.done", **at, "item": item})
        state.nodes.append(item)
        state.index += 1

    def _close(self, state: _Candidate, out: list[Event]) -> None:
        """Close the item that is open."""
        self._end_text(state, out)
        if state.kind:
            out.append(
                {"type": "response.output_item.done", "output_index": state.index, "item": state.item, **state.at}
            )
            state.kind = ""
            state.index += 1

    # ---- calls in pieces --------------------------------------------------------------------------------------------

    def _call_piece(self, wire: Node, call: Node, state: _Candidate, out: list[Event]) -> bool:
        """Take a piece of a call; False for what is a whole call after all."""
        if type(call.get("name")) is str:
            self._end_call(state, out)
            if call.get("willContinue") is not True:
                if "partialArgs" not in call:
                    return False
            self._close(state, out)
            whole = {key: value for key, value in call.items() if key not in ("partialArgs", "willContinue")}
            self.r.context.update(at=(state.at.get("choice", 0),), made=state.made, model=True)
            state.call = read_part({**wire, "functionCall": whole}, self.r)
            state.made = self.r.context["made"]
            state.args = PartialArgs()
            shown = {key: value for key, value in state.call.items() if key not in ("extra", "opaque")}
            shown["arguments"] = ""
            out.append({"type": "response.output_item.added", "output_index": state.index, "item": shown, **state.at})
        elif state.call is None:
            return not call or call.keys() <= {"willContinue"}
        for entry in call["partialArgs"] if type(call.get("partialArgs")) is list else ():
            state.args.feed(entry)
        if call.get("willContinue") is not True:
            self._end_call(state, out)
        return True

    def _end_call(self, state: _Candidate, out: list[Event]) -> None:
        item, state.call = state.call, None
        if item is None:
            return
        item["arguments"] = dump_text(state.args.value)
        form = item.get("extra", {}).get(PROTOCOL, {}).get("form", {})
        form.pop("arguments", None)
        at = {"output_index": state.index, **state.at}
        out.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
        out.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        out.append({"type": "response.output_item.done", **at, "item": item})
        state.nodes.append(item)
        state.index += 1

    # ---- the end ----------------------------------------------------------------------------------------------------

    def _end(self, frame: Node, out: list[Event]) -> None:
        """Close what is open and say how it ended; the frame keeps what its last word does not say."""
        self.ended = True
        states = [self.candidates[index] for index in sorted(self.candidates)]
        tails: list[list[Event]] = []
        for state in states:
            self._end_call(state, out)
            tails.append([])
            self._end_text(state, tails[-1])
        final = dict(self.head)
        if states:
            final["candidates"] = [state.final for state in states]
        rest = final.copy()
        doc, self.r.doc = self.r.doc, final
        node = read_answer(rest, self.r, [state.nodes for state in states])
        self.r.doc = doc
        self.r.keep(node, rest)
        homes = [node, *node.get("choices", ())]
        for state, home, tail in zip(states, homes, tails):
            for index, note in enumerate(_notes(state.item) if state.kind == "message" else ()):
                at = {"output_index": state.index, **state.at, **note, "annotation_index": index}
                out.append({"type": "response.output_text.annotation.added", **at})
            out += tail
            self._close(state, out)
            for item in home.pop("output"):
                self._item(item, state, out)
        node.pop("output", None)
        out.append({"type": _terminal(node), "response": node})
        self._keep_last(frame)

    def _keep_last(self, frame: Node) -> None:
        """What of the last frame the end says: named, not kept."""
        head = frame["head"]
        frame["said"] = [key for key in head if key in self.head and head[key] == self.head[key]]
        frame["head"] = {key: value for key, value in head.items() if key not in frame["said"]}
        for candidate in frame.get("candidates") or ():
            if "literal" in candidate:
                continue
            final, rest = self.candidates[candidate["index"]].final, candidate["rest"]
            candidate["said"] = [key for key in rest if key != "content" and key in final and rest[key] == final[key]]
            candidate["rest"] = {key: value for key, value in rest.items() if key not in candidate["said"]}


def _parts_of(item: Node) -> list[Node]:
    parts: list[Node] = item["content"] if item["type"] == "message" else item["summary"]
    return parts


def _notes(item: Node) -> list[Event]:
    return [
        {"content_index": index, "annotation": note}
        for index, part in enumerate(item["content"])
        for note in part.get("annotations") or ()
    ]


def _terminal(node: Node) -> str:
    reason = (node.get("finish") or {}).get("reason")
    if reason in _FAILED:
        return "response.failed"
    return "response.incomplete" if reason in _INCOMPLETE else "response.completed"
