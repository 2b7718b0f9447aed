"""The fast path: a chunk equal to the last one but for its text, which is the bulk of every stream.

The last chunk is kept as a template. The varying piece of a new one is put into it, and one comparison of dicts,
made in C, says whether anything else differs; if not, the event is known but for its text, and the frame is shared
with the last one's. Only the padding may differ too. Anything else goes the long way, and becomes the next
template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

    __slots__ = ("choice", "delta", "event", "extra", "fragments", "frame", "key", "padded", "protocol", "top")

    def __init__(self, data: Node, choice: Node, key: str, event: Event, fragments: list[str], protocol: str) -> None:
        self.top = data.copy()
        self.choice = choice.copy()
        self.delta = choice["delta"].copy()
        self.key = key
        self.event = {name: value for name, value in event.items() if name not in ("delta", "extra")}
        self.fragments = fragments
        self.padded = "obfuscation" in data
        self.protocol = protocol
        self.extra: Node = {}
        self.frame: Node = {}

    def share(self, event: Event) -> None:
        """The frame of the template is that of all chunks like it."""
        self.extra = event["extra"]
        self.frame = self.extra[self.protocol]["frame"]

    def text(self, piece: Any) -> str | None:
        """The text of the varying piece; None where more than the text varies."""
        return piece if type(piece) is str else None

    def feed(self, data: Node) -> list[Event] | None:
        """The event of a chunk of this shape, else None."""
        try:
            choices = data["choices"]
            (choice,) = choices
            delta = choice["delta"]
            piece = delta[self.key]
            text = self.text(piece)
            if not text:
                return None
            top = self.top
            top["choices"] = choices
            if self.padded:
                top["obfuscation"] = data["obfuscation"]
            if data != top:
                return None
            self.choice["delta"] = delta
            if choice != self.choice:
                return None
            self.delta[self.key] = piece
            if delta != self.delta:
                return None
        except (KeyError, TypeError, ValueError):
            return None
        self.fragments.append(text)
        if self.padded:
            frame = {"count": 1, "like": self.frame, "obfuscation": top["obfuscation"]}
            return [{**self.event, "delta": text, "extra": {self.protocol: {"frame": frame}}}]
        return [{**self.event, "delta": text, "extra": self.extra}]


class PlainCall(Plain):
    """A delta of a call's arguments."""

    __slots__ = ("fragment",)

    def __init__(self, data: Node, choice: Node, key: str, event: Event, fragments: list[str], protocol: str) -> None:
        super().__init__(data, choice, key, event, fragments, protocol)
        self.fragment = choice["delta"]["tool_calls"][0].copy()

    def text(self, piece: Any) -> str | None:
        (fragment,) = piece
        function = fragment["function"]
        self.fragment["function"] = function
        if fragment != self.fragment or len(function) != 1:
            return None
        text = function["arguments"]
        return text if type(text) is str else None
