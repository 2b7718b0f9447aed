"""The fast path: a chunk equal to the last one but for its text, which is the bulk of every stream.

The last chunk is kept as a template. The varying piece of a new one is put into it, and one comparison of dicts,
made in C, says whether anything else differs; if not, the event is known but for its text, and the frame is shared
with the last one's. Only the padding may differ too. Anything else goes the long way, and becomes the next
template.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unified_llm.adapter import ReadMore

    from .stream_choice import ChoiceReader

__all__ = ["Plain", "learn"]

Event = dict[str, Any]
Node = dict[str, Any]

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
# What may be said again and again in a delta without adding up.
_REPEATED = frozenset(("role", *_TEXTS))


def learn(data: Node, wire: Node, event: Event, path: list[Any], choice: ChoiceReader, protocol: str) -> Plain | None:
    """The shape of a chunk of one choice and one delta, if it is worth remembering; `path` is where its text stands."""
    delta = wire["delta"]
    if len(path) == 4 and path[3] in _TEXTS and "logprobs" not in event:
        if all(key in _REPEATED or value is None for key, value in delta.items()):
            return Plain(data, wire, path[3], event, choice.open_fragments, protocol)
    elif path[3:6] == ["tool_calls", 0, "function"] and len(delta["tool_calls"]) == 1:
        fragment = delta["tool_calls"][0]
        if len(fragment["function"]) == 1 and not fragment.keys() - {"index", "type", "function"}:
            if all(key == "tool_calls" or (key in _REPEATED and not value) for key, value in delta.items()):
                return PlainCall(data, wire, "tool_calls", event, choice.calls.last_fragments, protocol)
    return None


class Plain:
    """A delta of text."""

    __slots__ = ("event", "extra", "frame", "more", "padded", "protocol")

    def __init__(self, data: Node, choice: Node, key: str, event: Event, fragments: list[str], protocol: str) -> None:
        self.event = {name: value for name, value in event.items() if name not in ("delta", "extra")}
        self.padded = "obfuscation" in data
        self.protocol = protocol
        self.extra: Node = {}
        self.frame: Node = {}
        self.more = self._matcher(data, choice, key, fragments)

    def _matcher(self, data: Node, choice: Node, key: str, fragments: list[str]) -> ReadMore:
        """The text of a wire event of this shape, noted as said, and its padding; None for any other."""
        delta = choice["delta"].copy()
        top = {**data, "choices": [{**choice, "delta": delta}]}
        like = {"event": None, "data": top}
        text_of, padded, said = self.text_of(choice["delta"][key]), self.padded, fragments.append

        def more(event: Event) -> tuple[str, Any] | None:
            padding = None
            try:
                data = event["data"]
                piece = delta[key] = data["choices"][0]["delta"][key]
                text = text_of(piece)
                if padded:
                    padding = top["obfuscation"] = data["obfuscation"]
            except (KeyError, TypeError, ValueError, IndexError):
                return None
            if not text or event != like:
                return None
            said(text)
            return text, padding

        return more

    def share(self, event: Event) -> None:
        """The frame of the template is that of all chunks like it."""
        self.extra = event["extra"]
        self.frame = self.extra[self.protocol]["frame"]

    def text_of(self, piece: Any) -> Callable[[Any], str | None]:
        """How to get the text of the varying piece; it gives None where more than the text varies."""
        return lambda piece: piece if type(piece) is str else None

    def feed(self, event: Event) -> list[Event] | None:
        """The canonical event of a wire event of this shape, else None."""
        more = self.more(event)
        if more is None:
            return None
        text, padding = more
        if self.padded:
            frame = {"count": 1, "like": self.frame, "obfuscation": padding}
            return [{**self.event, "delta": text, "extra": {self.protocol: {"frame": frame}}}]
        return [{**self.event, "delta": text, "extra": self.extra}]


class PlainCall(Plain):
    """A delta of a call's arguments."""

    __slots__ = ()

    def text_of(self, piece: Any) -> Callable[[Any], str | None]:
        like = piece[0].copy()

        def text_of(piece: Any) -> str | None:
            (fragment,) = piece
            function = like["function"] = fragment["function"]
            text = function["arguments"]
            return text if type(text) is str and len(function) == 1 and fragment == like else None

        return text_of
