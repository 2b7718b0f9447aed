"""The fast path: a chunk equal to the last one but for its text, which is the bulk of every stream.

The last chunk is kept as a template. The varying piece of a new one is put into it, and one comparison of dicts,
made in C, checks whether anything else differs; if not, only the text of the event is new, and the frame is shared
with the last one's. Only the padding may differ too, and an id that each chunk has for itself. Anything else takes the
general path, and becomes the next template.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unified_llm.streams.event_fast_path import ReadMore

from .items import UNDERSTOOD

if TYPE_CHECKING:
    from .choice_reader import ChoiceReader

__all__ = ["Plain", "learn"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = list[Any]
Said = Callable[[str], None]

_DETAILS = "reasoning_details"
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
# The fields that a delta may repeat without adding up.
_REPEATED = frozenset(("role", *_TEXTS))


def learn(
    data: Node, event: Event, paths: list[Path], choice: ChoiceReader, protocol: str, varies: list[str]
) -> Plain | None:
    """The shape of a chunk of one choice and one delta, if it is worth remembering.

    `paths` are those of its text, and `varies` the keys of a chunk that differ beside it and mean nothing more.
    """
    delta, path = data["choices"][0]["delta"], paths[0]
    if all(each[3] == _DETAILS or (len(each) == 4 and each[3] in _TEXTS) for each in paths) and "logprobs" not in event:
        said = _said(delta, paths[-1], choice)
        return Plain(data, paths, event, said, protocol, varies) if said is not None else None
    if len(paths) == 1 and path[3:] == ["tool_calls", 0, "function", "arguments"] and len(delta["tool_calls"]) == 1:
        fragment = delta["tool_calls"][0]
        if len(fragment["function"]) == 1 and not fragment.keys() - {"index", "type", "function"}:
            if all(key == "tool_calls" or (key in _REPEATED and not value) for key, value in delta.items()):
                return Plain(data, paths, event, choice.calls.last_fragments.append, protocol, varies)
    return None


def _said(delta: Node, path: Path, choice: ChoiceReader) -> Said | None:
    """What notes the text of a delta, and all that adds up beside it; None where that is more than texts.

    `path` is where the only one of its details has the text as well.
    """
    append, others = choice.open_fragments.append, list[Said]()
    for key, value in delta.items():
        if key == _DETAILS and value is not None:
            alone = len(path) == 6 and path[3] == _DETAILS and len(value) == 1 and choice.open is not None
            add = choice.open.details.more(value[0], path[5]) if alone and choice.open is not None else None
            if add is None:
                return None
            others.append(add)
        elif key not in _REPEATED and value is not None:
            if key in UNDERSTOOD or type(value) is not str:
                return None
            others.append(_adds(choice, key, value))
    if not others:
        return append

    def said(text: str) -> None:
        append(text)
        for each in others:
            each(text)

    return said


def _adds(choice: ChoiceReader, key: str, value: str) -> Said:
    """What adds an unknown text of a delta to what came of it before."""
    return lambda text: choice.fragments.enter(choice.message, key, value)


class Plain:
    """A delta of text, or of a call's arguments."""

    def __init__(
        self, data: Node, paths: list[Path], event: Event, said: Said, protocol: str, varies: list[str]
    ) -> None:
        self.event = {name: value for name, value in event.items() if name not in ("delta", "extra")}
        self.varies = varies
        self.protocol = protocol
        self.extra: Node = {}
        self.frame: Node = {}
        # How more of it is read, and whether it is tried on what comes.
        path, *also = [("data", *path) for path in paths]
        self.more = ReadMore({"event": None, "data": data}, path, said, (*varies,), also=(*also,))
        self.asked = False

    def same(self, event: Event) -> Event | None:
        """The canonical event of a wire event of this shape, else None."""
        text = self.more.text(event)
        if text is None:
            return None
        if not self.extra:
            return {**self.event, "delta": text}
        if not self.varies:
            return {**self.event, "delta": text, "extra": self.extra}
        frame = {"count": 1, "like": self.frame, "own": {key: event["data"][key] for key in self.varies}}
        return {**self.event, "delta": text, "extra": {self.protocol: {"frame": frame}}}

    def share(self, event: Event) -> None:
        """The frame of the template is that of all chunks like it."""
        self.extra = event["extra"]
        self.frame = self.extra[self.protocol]["frame"]
        if self.varies:
            self.frame["varies"] = self.varies
