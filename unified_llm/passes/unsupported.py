"""What is not worth sending: requests of which the target would make something else.

A loss is the caller's to judge, with three exceptions, since the answer would not be one to the request. Where
several answers are requested of a target that gives one, the wrong number is worse than none (who names that capability
in `on_loss` has judged already). Where nothing arrives of the last thing the user said, there is no prompt: what
was sent before does not replace it, and a text of ours even less. And where the input is what its provider stores (a
prompt, a conversation) and nothing else, another provider has nothing to answer.

A level `raise` comes first: it has the same meaning and the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ..engine.pairs.writing import Writer
from ..foundation.errors import CapabilityRefused
from ..foundation.hints import Argument, Each, Hint
from ..losses import Levels, Losses

__all__ = ["prompt_of", "refuse"]

Node = dict[str, Any]
Finding = Callable[[], Losses]
_TEXTS = frozenset(("input_text", "text"))
_ANSWERS = "output.choices"
_STORED = frozenset(("state.conversation", "state.previous_response"))


def prompt_of(items: Any) -> list[Node]:
    """The parts of what the user says last, where all of it is something else than text; empty otherwise."""
    parts: list[Node] = []
    for item in reversed(items) if type(items) is list else ():
        if item.get("type") != "message":
            return []
        if item.get("role") == "assistant":
            break
        content = item.get("content")
        if type(content) is not list or any(part.get("type") in _TEXTS for part in content):
            return []
        parts += content
    return parts


def refuse(node: Node, prompt: list[Node], losses: Losses, writer: Writer, levels: Levels, find: Finding) -> None:
    """Raise `CapabilityRefused` for a request that no meaningful request of the target stands for.

    `find` makes the report of what the writer wrote down, or of a part of it.
    """
    count = node.get("n")
    if type(count) is int and count > 1 and not _is_judged(_ANSWERS, levels):
        for loss in losses:
            if loss.capability == _ANSWERS and loss.fate == "lost":
                ways = Each(("set n=1", Argument("on_loss", {_ANSWERS: "ignore"})), " or ")
                why = Hint(f"n={count} is not supported: {loss.detail}; ", ways)
                raise CapabilityRefused(loss.path, loss.capability, why)
    if not node.get("input"):
        for loss in losses:
            if loss.capability in _STORED and loss.fate == "lost":
                reason = f"{writer.protocol} gets no input: another provider stores it; send its text as input"
                raise CapabilityRefused(loss.path, loss.capability, reason)
    if prompt:
        writer.unfold()
        parts = {id(part) for part in prompt}
        gone = [entry for entry in writer.raw if id(entry[0]) in parts and not entry[1] and entry[2] == "lost"]
        if {id(entry[0]) for entry in gone} == parts:
            writer.raw = gone[:1]
            loss = find()[0]
            reason = f"no part of the last user message can be sent to {writer.protocol}: {loss.detail}"
            raise CapabilityRefused(loss.path, loss.capability, reason)


def _is_judged(capability: str, levels: Levels) -> bool:
    """Whether the caller speaks of this very capability, and not of all at once."""
    if not isinstance(levels, Mapping):
        return False
    globs = [pattern.partition("@")[0] for pattern in levels]
    return any(glob != "*" and fnmatchcase(capability, glob) for glob in globs)
