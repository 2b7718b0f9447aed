"""The thread: a digest of a conversation, or of its beginning, as every client sends it. The vault's keys cover it.

It depends on what each client sends back: texts without spaces, calls with their arguments, files. Ids, opaque data and
the grouping into messages are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from typing import Any

from ..foundation.json_codec import dump_text
from .answer_envelope import CALLS, Shown, regions, shown, words_of

__all__ = ["behind_answer", "keys_of", "opening", "thread_later", "thread_of", "walk"]

Node = dict[str, Any]


def thread_later(node: Node) -> str | Callable[[], str]:
    """`thread_of` the conversation as it is now, for when it is needed: most answers have nothing to keep.

    Files and images would stay in memory until then, so with any of them it is computed at once.
    """
    items = node.get("input")
    if type(items) is not list:
        return thread_of(node)
    instructions, kept = _texts(node.get("instructions")), [_still(item) for item in items]
    if None in kept or instructions is None:
        return thread_of(node)
    return partial(thread_of, {"input": kept, "instructions": instructions})


_COMPARED = ("type", "role", "executor", "call_id")


def _still(item: Node) -> Node | None:
    """What a thread depends on of an item, in an object that no later step changes; None with a file or an image."""
    kind = item.get("type")
    still = {key: item[key] for key in _COMPARED if key in item}
    if kind in CALLS:
        still[CALLS[kind]] = item.get(CALLS[kind])
        return still
    for key in ("content", "output"):
        if key in item:
            still[key] = _texts(item[key])
            if still[key] is None:
                return None
    return still


def _texts(content: Any) -> Any:
    """A content of texts alone, "" for none; None for any other."""
    if type(content) is not list:
        return "" if content is None else content if type(content) is str else None
    if not all(type(part) is dict and type(part.get("text")) is str for part in content):
        return None
    return [{key: part[key] for key in _WORDS if key in part} for part in content]


_WORDS = ("text", "refusal", "transcript")


def thread_of(node: Node) -> str:
    """A digest of a whole conversation as every client sends it: instructions, and all items up to its end."""
    items = node.get("input")
    if type(items) is str:
        items = [{"type": "message", "role": "user", "content": items}]
    if type(items) is not list or not items:
        return ""
    return [behind for _, _, _, behind in walk(items, opening(node))][-1]


def opening(node: Node) -> str:
    """The thread behind the instructions of a request, "" without any."""
    instructions = node.get("instructions")
    return _added("", _said({"role": "system", "content": instructions})) if instructions else ""


def walk(items: list[Node], thread: str) -> Iterator[tuple[int, int, str, str]]:
    """The answers and what stands between them: from, to ("from" is -1 for the latter), thread before and behind."""
    done = 0
    for start, end in regions(items):
        if start > done:
            yield -1, start, thread, (thread := _between(items[done:start], thread))
        before, thread = thread, behind_answer(items[start:end], thread)
        yield start, end, before, thread
        done = end
    if done < len(items):
        yield -1, len(items), thread, _between(items[done:], thread)


def _between(items: list[Node], thread: str) -> str:
    """The thread behind the client's input. A surface may join messages, or have instructions apart."""
    for item in items:
        if item.get("type") in ("message", None) or str(item.get("type")).endswith("_output"):
            thread = _added(thread, _said(item))
    return thread


def _said(item: Node) -> list[Any]:
    role = item.get("role") if item.get("type") in ("message", None) else "result"
    content = item.get("output") if role == "result" else item.get("content")
    words: list[str] = []
    words_of(content, words)
    others = [part for part in content if type(part) is dict and "text" not in part] if type(content) is list else []
    media = [{k: v for k, v in part.items() if k not in ("extra", "cache", "opaque", "detail")} for part in others]
    return ["system" if role == "developer" else role, "".join("".join(words).split()), media]


def behind_answer(answer: list[Node], thread: str) -> str:
    """The thread behind an answer, or behind its beginning; ids of calls may be made anew on a surface."""
    if not answer:
        return thread
    text, calls = shown(answer, True)
    return _added(thread, [text, [said for _, said in calls]]) if text or calls else thread


def _added(thread: str, said: list[Any]) -> str:
    return blake2b(dump_text([thread, said]).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def keys_of(told: Shown, thread: str) -> list[str]:
    """The keys of an answer that shows this, the best first: with the ids of its calls, then without."""
    text, calls = told
    if not thread or not (text or calls):
        return []
    found = [calls]
    if calls:
        found.append([("", arguments) for _, arguments in calls])
    return ["turn:" + _added(thread, [text, said]) for said in found]
