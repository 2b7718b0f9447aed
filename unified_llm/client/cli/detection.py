"""Which protocol a request is of, when it was not named: the one that understands most of it.

Where two understand it equally well, it is the one whose official SDK declares most of its fields, and then the order
in which providers recommend them decides. Nothing of a client is loaded for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.pairs.reading import Reader
from ...engine.registry import adapter, split
from ...engine.sdk_declarations import pinned
from ...foundation.errors import InvalidBody
from ...models.endpoints import by_preference
from ...passes.route import kind_of

__all__ = ["format_of", "meant_instead", "streamed_instead"]

_MOST = 20  # events of a stream that are looked at


def format_of(body: Any) -> str:
    """The protocol a request is of; raises `InvalidBody` for one that is of none.

    >>> format_of({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7})
    'openai-chat'
    >>> format_of({"contents": [{"parts": [{"text": "Hi"}]}]})
    'google-generate-content'
    >>> format_of({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "system": "Short."})
    'anthropic-messages'
    """
    found = [
        (misread, _undeclared(body, name), place, name)
        for place, name in enumerate(by_preference())
        if (misread := _misread(body, name)) is not None
    ]
    if not found:
        known = ", ".join(sorted(by_preference()))
        raise InvalidBody("", f"cannot detect the protocol of this request; pass --from with one of: {known}")
    return min(found)[3]


def meant_instead(body: Any, source: str) -> str | None:
    """The protocol that matches a request better than the given one; None if there is none.

    >>> meant_instead({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, "openai-responses")
    'openai-chat'
    >>> meant_instead({"model": "m", "input": "Hi", "from_tomorrow": 1}, "openai-responses") is None
    True
    """
    name = split(source)[0].protocol
    here = _misread(body, name)
    try:
        best = format_of(body)
    except InvalidBody:
        return None
    there = _misread(body, best)
    return best if best != name and there is not None and (here is None or there < here) else None


def streamed_instead(events: Sequence[Mapping[str, Any]], source: str) -> str | None:
    """The protocol that more of the first events are of than of the given one; None if there is none.

    >>> chunk = {"event": None, "data": {"object": "chat.completion.chunk", "choices": []}}
    >>> streamed_instead([chunk], "openai-responses"), streamed_instead([chunk], "openai-chat")
    ('openai-chat', None)
    """
    from ..sending.response_check import is_event

    first = [dict(event) for event in events[:_MOST]]

    def count(name: str) -> int:
        return sum(is_event(adapter(name), event) for event in first)

    best = max(by_preference(), key=count)
    return best if count(best) > count(split(source)[0].protocol) else None


def _misread(body: Any, name: str) -> int | None:
    """How many keys of a request a protocol does not understand; None where it finds no prompt in it."""
    spoken = adapter(name)
    reader = Reader(spoken, facing="client")
    try:
        node = reader.root(kind_of(spoken, "request").read, body)
    except InvalidBody:
        return None
    return _unread(node) if node.get("input") else None


def _undeclared(body: Any, protocol: str) -> int:
    """How many fields of a request its own SDK does not declare; readers understand other vendors' words too."""
    known = pinned(protocol)
    fields = known.nodes.get("request") if known is not None else None
    return len(body.keys() - fields.keys()) if fields and isinstance(body, dict) else 0


def _unread(value: Any) -> int:
    """How many keys of a document its reader could only keep."""
    if type(value) is list:
        return sum(map(_unread, value))
    if type(value) is not dict:
        return 0
    drawers = (value.get("extra") or {}).values()
    kept = sum(len(drawer[slot]) for drawer in drawers for slot in ("rest", "turn") if type(drawer.get(slot)) is dict)
    return kept + sum(_unread(inner) for key, inner in value.items() if key != "extra")
