"""One step being read from its deltas: what it has so far, and the canonical events that build it up.

A text part is open from its first delta to the next content of another kind, a summary paragraph likewise: consecutive
texts are one. The item a step amounts to is read by the same pairs as the step of an answer in one piece.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import remainder
from unified_llm.engine.pairs.reading import Reader
from unified_llm.provenance.opaque import is_envelope

from ...byte_offsets import Span
from ..parts import model_parts, user_parts
from ..turns.steps import read_step
from ..turns.timeline import open_thought
from ..values.tables import CONTENTS

__all__ = ["ARGUMENTS", "MEDIA", "Step"]

Event = dict[str, Any]
Node = dict[str, Any]

MEDIA = tuple(kind for kind in CONTENTS if kind != "text")
ARGUMENTS = {
    "function_call": "response.function_call_arguments.delta",
    "mcp_server_tool_call": "response.mcp_call_arguments.delta",
}


class Step:
    """The state of one open step. `text` is the text of the part that is open, None when none is."""

    __slots__ = (
        "annotations",
        "args",
        "held",
        "index",
        "kind",
        "mapping",
        "opening",
        "part",
        "parts",
        "sources",
        "span",
        "speaks",
        "text",
        "text_type",
        "wire",
    )

    def __init__(self, index: int, wire: Node, r: Reader, at: str = "step") -> None:
        self.index = index
        # The places of the step, piece by piece: its start stands for all that no delta brought.
        self.sources: dict[tuple[Any, ...], tuple[Any, ...]] = {(): r.here(at)}
        self.wire = wire
        self.kind = wire.get("type")
        self.parts: list[Node] = []
        self.part: Node = {}
        self.text: list[str] | None = None
        self.span = Span([])  # of the text
        self.annotations: list[Node] = []  # of the text, beside those that the part had when it was added
        self.args: list[str] = []
        self.held: list[tuple[Event, Node]] = []
        self.speaks = self.kind in ("model_output", "user_input")
        self.mapping = user_parts if self.kind == "user_input" else model_parts
        self.text_type = "input_text" if self.kind == "user_input" else "output_text"
        start = wire
        if self.speaks and type(wire.get("content")) is list:
            start = r.gather({key: value for key, value in wire.items() if key != "content"}, self.sources)
        self.opening: Node = read_step(start, r)
        if self.speaks and self.opening.get("role"):
            self.opening["content"] = []
        elif self.kind in ARGUMENTS and self.opening.get("arguments") == "{}":
            self.opening["arguments"] = ""

    # ---- text and media of the answer -------------------------------------------------------------------------------

    def _at(self, type_: str, **more: Any) -> Event:
        return {"type": type_, "output_index": self.index, "content_index": len(self.parts), **more}

    def open_part(self, part: Node | None = None) -> list[Event]:
        self.text, self.annotations = [], []
        self.span = Span(self.text)
        self.part = part or {"type": self.text_type, "text": ""}
        return [self._at("response.content_part.added", part=self.part)]

    def text_delta(self, text: str) -> Event:
        if self.text is not None:
            self.text.append(text)
        return self._at("response.output_text.delta", delta=text)

    def annotation(self, annotation: Node) -> Event:
        number = len(self.part.get("annotations") or ()) + len(self.annotations)
        self.annotations.append(annotation)
        kind = "response.output_text.annotation.added"
        return self._at(kind, annotation_index=number, annotation=annotation)

    def close_part(self) -> list[Event]:
        if self.text is None:
            return []
        text = "".join(self.text)
        part = {**self.part, "text": text}
        if self.annotations:
            part["annotations"] = [*(part.get("annotations") or ()), *self.annotations]
        out = [
            self._at("response.output_text.done", text=text),
            self._at("response.content_part.done", part=part),
        ]
        self.parts.append(part)
        self.text = None
        return out

    def media(self, part: Node) -> list[Event]:
        """A content that comes whole."""
        added = self._at("response.content_part.added", part=part)
        done = self._at("response.content_part.done", part=part)
        self.parts.append(part)
        return [added, done]

    # ---- summaries --------------------------------------------------------------------------------------------------

    def _of(self, type_: str, **more: Any) -> Event:
        return {"type": type_, "output_index": self.index, "summary_index": len(self.parts), **more}

    def open_summary(self) -> list[Event]:
        self.text = []
        self.part = {"type": "summary_text", "text": ""}
        return [self._of("response.reasoning_summary_part.added", part=self.part)]

    def summary_delta(self, text: str) -> Event:
        if self.text is not None:
            self.text.append(text)
        return self._of("response.reasoning_summary_text.delta", delta=text)

    def close_summary(self) -> list[Event]:
        if self.text is None:
            return []
        text = "".join(self.text)
        part = {**self.part, "text": text}
        out = [
            self._of("response.reasoning_summary_text.done", text=text),
            self._of("response.reasoning_summary_part.done", part=part),
        ]
        self.parts.append(part)
        self.text = None
        return out

    def picture(self, part: Node) -> list[Event]:
        added = self._of("response.reasoning_summary_part.added", part=part)
        done = self._of("response.reasoning_summary_part.done", part=part)
        self.parts.append(part)
        return [added, done]

    # ---- arguments, signatures, payloads ----------------------------------------------------------------------------

    def arguments_delta(self, text: str) -> Event:
        self.args.append(text)
        return {"type": ARGUMENTS[str(self.kind)], "output_index": self.index, "delta": text}

    def takes(self, delta: Any) -> bool:
        """Whether a delta is one that waits for the end of the step, and brings no key that another one brought."""
        if type(delta) is not dict:
            return False
        if delta.get("type") == "thought_signature":
            fits = self.kind == "thought" and type(delta.get("signature")) is str
        else:
            fits = delta.get("type") == self.kind
        return fits and not any(
            key in held for _, frame in self.held for held in (frame["keys"],) for key in _keys(delta)
        )

    def say(self, r: Reader, *keys: Any) -> None:
        """Note the first place of the open piece of the step: in the event being read, at these keys.

        That of the first piece stands for the whole of them.
        """
        whole = "summary" if self.kind == "thought" else "content"
        home = (whole, len(self.parts))
        if home not in self.sources:
            here = r.here(*keys)
            self.sources.setdefault((whole,), here)
            self.sources[home] = self.sources[(*home, "text")] = here

    def hold(self, event: Event, delta: Node, rest: Node, r: Reader) -> None:
        """Keep a delta's keys for the step, and the rest of its frame for the same protocol."""
        frame: Node = {"type": delta["type"], "keys": _keys(delta)}
        self.wire = r.gather({**self.wire, **{key: delta[key] for key in frame["keys"]}}, self.sources)
        self.sources.update({(key,): r.here("delta", key) for key in frame["keys"]})
        r.made(frame, event["data"])
        left = {key: value for key, value in remainder(rest).items() if key != "delta"}
        if left:
            frame["rest"] = left
        if event["event"] != event["data"].get("event_type") or event["event"] != "step.delta":
            frame["event"] = event["event"]
            frame["event_type"] = event["data"].get("event_type")
        self.held.append((event, frame))

    def frames(self) -> list[Node]:
        return [frame for _, frame in self.held]

    # ---- the end ----------------------------------------------------------------------------------------------------

    def finish(self) -> list[Event]:
        """The `done` events of what is still open."""
        return self.close_summary() if self.kind == "thought" else self.close_part()

    def item(self, r: Reader) -> Node:
        """The item that the step amounts to."""
        wire = self.wire
        if self.speaks:
            item = {key: value for key, value in self.opening.items() if key != "content"}
            if self.parts or "content" in wire:
                item["content"] = self.parts
            return r.made(item, self._whole("content", r))
        if self.kind == "thought" and is_envelope(wire.get("signature"), r):
            shown = [{"type": "text", "text": part.get("text", "")} for part in self.parts]
            return r.made(open_thought({**wire, **({"summary": shown} if shown else {})}, r), wire)
        item = read_step(wire, r)
        if self.kind == "thought" and self.parts:
            item["summary"] = [*item.get("summary", ()), *self.parts]
            r.made(item, self._whole("summary", r))
        elif self.args:
            # As the model wrote it, and as in its pieces, where the answer in one piece has an object.
            item["arguments"] = "".join(self.args)
            r.made(item, r.gather({**wire, "arguments": item["arguments"]}, self.sources))
        elif self.kind in ARGUMENTS:
            r.made(item, r.gather({**wire}, self.sources))
        return item

    def _whole(self, key: str, r: Reader) -> Any:
        """The step as an answer in one piece would have it, for locating its values."""
        said = [{"type": "text", "text": part["text"]} if "text" in part else {} for part in self.parts]
        return r.gather({**self.wire, key: said}, self.sources)


def _keys(delta: Node) -> list[str]:
    return [key for key in delta if key != "type"]
