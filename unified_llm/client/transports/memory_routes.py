"""Routes of an answer that a transport remembers: retrieve it, list its input, delete it, cancel it.

An answer is shown as its client got it. One that was streamed is retrieved whole, and one that was not may be streamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...engine.registry import adapter
from ...foundation.errors import InvalidRequestError
from ...foundation.json_codec import dump, parse
from ...passes.convert import write
from ...streams.collect_and_decompose import decompose
from ...streams.framings.jsonarray import StreamDecoder
from ...streams.framings.sse import encode, parse_data
from ...streams.writing import write_stream
from ..state.response_memory import Memory, Turn, answer, asked, keeps
from ..state.store import takes
from .route_matching import Match

__all__ = ["Kept", "kept", "missing"]

Node = dict[str, Any]


class Kept(NamedTuple):
    """The body of an answer to a client, and whether it is a stream."""

    content: bytes
    stream: bool = False


def kept(memory: Memory, match: Match, query: Mapping[str, Any], caller: str) -> Kept | None:
    """The reply to a request about a remembered answer; None for an answer that is not remembered.

    Raises `InvalidRequestError` for the cancellation of an answer that was no background work.
    """
    name, surface = match.names.get("id"), match.protocol
    turns = memory.turns(name, surface, caller) if name is not None else None
    if name is None or turns is None:
        return None
    turn, known, kind = turns[0], adapter(surface), match.route.kind
    if match.route.method == "DELETE":
        memory.forget(name, surface, caller)
        gone = {"id": name, "deleted": True}
        return Kept(dump(write(gone, surface, "deleted").value if "deleted" in known.kinds else {}))
    if kind == "input_items":
        page = {"input": asked(turns), "query": dict(query)}
        return Kept(dump(write(page, surface, kind, facing="client").value))
    if match.route.method == "POST" and not parse(turn.asked).get(takes(known, "background") or ""):
        raise InvalidRequestError(
            "only background work can be cancelled", error={"type": "invalid_request"}, status=400
        )
    if query.get("stream") == "true":
        return Kept(_streamed(turn, query), True)
    if not turn.stream:
        return Kept(b"".join(turn.answered))
    return Kept(dump(write(answer(turn) or {}, surface, "response", facing="client").value))


def missing(match: Match) -> str:
    """The message for an answer that is not kept, in the word of the surface: a response, an interaction."""
    what = keeps(match.protocol).removeprefix("previous_").removesuffix("_id") or "response"
    return f"{what.capitalize()} with id '{match.names.get('id')}' not found."


def _streamed(turn: Turn, query: Mapping[str, Any]) -> bytes:
    """The events of an answer, or those behind the one that the query names."""
    known = adapter(turn.surface)
    if turn.stream:
        decoder = StreamDecoder()
        whole = b"".join(turn.answered)
        events = [(each["event"], each["data"]) for each in (*decoder.feed(whole), *decoder.close())]
    else:
        written = write_stream(decompose(answer(turn) or {}), turn.surface)
        given = [(each["event"], each["data"]) for each in written]
        events = [(name, data if isinstance(data, str) else dump(data).decode()) for name, data in given]
    after = query.get(known.resume[0]) if known.resume else None
    if after:
        found = [place for place, (_, data) in enumerate(events) if _number(data, known.resume[1]) == str(after)]
        events = events[found[-1] + 1 :] if found else events
    named = known.streams.framing.named
    return b"".join(encode(name if named else None, data) for name, data in events)


def _number(data: str, key: str) -> str:
    value = parse_data(data)
    return str(value.get(key)) if isinstance(value, dict) else ""
