"""What a converter loses without a word: every leaf of the reference request is marked, converted, and looked for.

Every string leaf that is free text, a name or an id gets a marker of its own (equal strings that must stay equal,
names and call ids, share one), every number gets digits of its own, and a top-level choice from a closed set is its
own marker; booleans are not looked for. A leaf is silently lost when its marker is nowhere in the output and nothing
reported mentions it. Peers are judged generously: any message that contains the leaf's key or its top-level field
counts. We are not: only a loss report whose pointer is the leaf, or a node around it, counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.contenders import Contender, Ours, Unsupported
from benchmarks.documents import CHAT, RESPONSES, chat_request

# Values of closed sets, which no marker may touch; property names under `required` name keys.
_CLOSED = frozenset({"role", "type", "tool_choice", "reasoning_effort", "required"})
_SHARED = frozenset({"id", "tool_call_id", "name", "model"})


@dataclass(frozen=True)
class Count:
    """The outcome: how many leaves were marked, and what became of them."""

    leaves: int
    arrived: int
    reported: int
    silent: tuple[str, ...]


def marked_request() -> tuple[bytes, dict[str, str]]:
    """The 50-turn request with its marks, and the mark of every leaf by its JSON pointer."""
    marks: dict[str, str] = {}
    shared: dict[str, str] = {}

    def fresh() -> str:
        return f"m{len(marks) + len(shared):05d}q"

    def closed(value: Any, path: str, key: str) -> Any:
        if path.count("/") == 1:
            marks[path] = f'"{value}"'
        return value

    def mark(value: Any, path: str, key: str) -> Any:
        if isinstance(value, dict):
            return {k: (closed if k in _CLOSED else mark)(v, f"{path}/{k}", k) for k, v in value.items()}
        if isinstance(value, list):
            return [mark(v, f"{path}/{k}", key) for k, v in enumerate(value)]
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, str):
            if key == "arguments":
                return orjson.dumps(mark(orjson.loads(value), path, "")).decode()
            found = shared.setdefault(value, fresh()) if key in _SHARED else fresh()
            marks[path] = found
            return f"{value}_{found}"
        if isinstance(value, float):
            marked = round(value + (len(marks) + 1) * 1e-7, 9)
            marks[path] = orjson.dumps(marked).decode()
            return marked
        number = 700_000 + len(marks)
        marks[path] = str(number)
        return number

    body = mark(chat_request(50), "", "")
    return orjson.dumps(body), marks


def count(contender: Contender, source: str = CHAT, target: str = RESPONSES) -> Count:
    """Convert the marked request and look for every mark. Raises what the contender raises."""
    body, marks = marked_request()
    if contender.version is None:
        raise Unsupported(contender.absent)
    value, said = contender.report(source, target, body)
    text = orjson.dumps(value, default=str).decode()
    arrived, reported, silent = 0, 0, []
    for path, mark in marks.items():
        if mark in text:
            arrived += 1
        elif _mentioned(path, said, isinstance(contender, Ours)):
            reported += 1
        else:
            silent.append(path)
    return Count(len(marks), arrived, reported, tuple(silent))


def _mentioned(path: str, said: list[str], strictly: bool) -> bool:
    if strictly:
        return any(path == pointer or path.startswith(pointer + "/") for pointer in said if pointer)
    return mentioned(path, said)


def mentioned(path: str, said: list[str]) -> bool:
    """Whether any message contains the key of a leaf, or its top-level field."""
    names = [name for name in path.split("/") if name and not name.isdigit()]
    words = {names[0], names[-1]}
    return any(re.search(rf"\b{re.escape(word)}(_sequences)?\b", message) for word in words for message in said)
