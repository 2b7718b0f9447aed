"""The fast path: a chunk equal to the last one but for its text, which is the bulk of every stream.

The last chunk is kept as a template. The varying piece of a new one is put into it, and one comparison of dicts,
made in C, checks whether anything else differs; if not, only the text of the event is new, and the frame is shared
with the last one's. Only the padding may differ too. Anything else takes the general path, and becomes the next
template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unified_llm.streams.event_fast_path import ReadMore

if TYPE_CHECKING:
    from .stream_choice import ChoiceReader

__all__ = ["Plain", "beside", "learn"]

Event = dict[str, Any]
Node = dict[str, Any]

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
# The fields that a delta may repeat without adding up.
_REPEATED = frozenset(("role", *_TEXTS))


def learn(data: Node, wire: Node, event: Event, path: list[Any], choice: ChoiceReader, protocol: str) -> Plain | None:
    """The shape of a chunk of one choice and one delta, if it is worth remembering; `path` is where its text stands."""
    delta = wire["delta"]
    if len(path) == 4 and path[3] in _TEXTS and "logprobs" not in event:
        if all(key in _REPEATED or value is None for key, value in delta.items()):
            return Plain(data, path[3], event, choice.open_fragments, protocol)
    elif path[3:6] == ["tool_calls", 0, "function"] and len(delta["tool_calls"]) == 1:
        fragment = delta["tool_calls"][0]
        if len(fragment["function"]) == 1 and not fragment.keys() - {"index", "type", "function"}:
            if all(key == "tool_calls" or (key in _REPEATED and not value) for key, value in delta.items()):
                return Plain(data, "arguments", event, choice.calls.last_fragments, protocol)
    return None


def beside(data: Node) -> tuple[str, ...]:
    """The keys of a chunk that differ beside its text."""
    return ("obfuscation",) if "obfuscation" in data else ()


class Plain:
    """A delta of text, or of a call's arguments."""

    def __init__(self, data: Node, key: str, event: Event, fragments: list[str], protocol: str) -> None:
        self.event = {name: value for name, value in event.items() if name not in ("delta", "extra")}
        self.padded = "obfuscation" in data
        self.protocol = protocol
        self.extra: Node = {}
        self.frame: Node = {}
        # How more of it is read, and whether it is tried on what comes.
        place = ("tool_calls", 0, "function", key) if key == "arguments" else (key,)
        path = ("data", "choices", 0, "delta", *place)
        self.more = ReadMore({"event": None, "data": data}, path, fragments.append, beside(data))
        self.asked = False

    def same(self, event: Event) -> Event | None:
        """The canonical event of a wire event of this shape, else None."""
        text = self.more.text(event)
        if text is None:
            return None
        if not self.extra:
            return {**self.event, "delta": text}
        if not self.padded:
            return {**self.event, "delta": text, "extra": self.extra}
        frame = {"count": 1, "like": self.frame, "obfuscation": event["data"]["obfuscation"]}
        return {**self.event, "delta": text, "extra": {self.protocol: {"frame": frame}}}

    def share(self, event: Event) -> None:
        """The frame of the template is that of all chunks like it."""
        self.extra = event["extra"]
        self.frame = self.extra[self.protocol]["frame"]
