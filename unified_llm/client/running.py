"""One request from a file, in any wire format, to any model; the answer in the format it was asked in.

A request says by its shape which protocol it is of: the one that understands most of it. Where two understand it
equally well, it is the one whose official SDK declares most of its fields, and then the order in which providers
recommend them decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..convert import kind_of
from ..errors import InvalidBody
from ..jsonvalue import parse
from ..losses import Levels, Losses
from ..reading import Reader
from ..registry import adapter, split
from ..streaming import convert_stream
from .answers import EventReader, read_answer
from .choosing import _by_preference, upstream
from .driving import Stream, Wire
from .wire import Answer, Ask

__all__ = ["Outcome", "format_of", "send"]

Node = dict[str, Any]


def format_of(body: Any) -> str:
    """The protocol a request is of; raises `InvalidBody` for one that is of none.

    >>> format_of({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7})
    'openai-chat'
    >>> format_of({"contents": [{"parts": [{"text": "Hi"}]}]})
    'google-generate-content'
    >>> format_of({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "system": "Short."})
    'anthropic-messages'
    """
    best: tuple[int, int, int, str] | None = None
    for place, name in enumerate(_by_preference()):
        spoken = adapter(name)
        reader = Reader(spoken.protocol, facing="client")
        try:
            node = reader.root(kind_of(spoken, "request").read, body)
        except InvalidBody:
            continue
        if not node.get("input"):
            continue
        found = (_unread(node), _undeclared(body, name), place, name)
        if best is None or found < best:
            best = found
    if best is None:
        raise InvalidBody("", f"a request of none of the protocols: {', '.join(sorted(_by_preference()))}")
    return best[3]


def _undeclared(body: Any, protocol: str) -> int:
    """How many fields of a request its own SDK does not declare; readers understand other vendors' words too."""
    from ..drift.sdk import pinned

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


class Outcome(NamedTuple):
    """What came of a request: the whole `document` in the request's own format, or `pieces` as they come.

    A piece is text and the wire events it came in, in the request's own format. `lost` is what the request lost,
    `losses` (called at the end) what the answer in that format lost too.
    """

    text: str
    document: Any
    pieces: Iterator[tuple[str, list[Node]]] | None
    lost: Losses
    losses: Callable[[], Losses]


def send(
    data: bytes, source: str | None, model: str | None, *, stream: bool | None, on_loss: Levels = "ignore", **where: Any
) -> Outcome:
    """Send a request. `source` is its protocol (None: by looking), `model` "provider/model" (None: the request's own).

    Raises `InvalidBody`, `ValueError` where nothing says whom to ask, and everything an upstream may answer.
    """
    body = parse(data)
    source = source or format_of(body)
    split(source)
    said = body.get("model") if isinstance(body, dict) else None
    ref = model or (said if isinstance(said, str) and "/" in said else None)
    if ref is None and not where.get("base_url"):
        raise ValueError("say whom to ask: --model provider/model (local/echo needs no key and no network)")
    goal = upstream(ref or where.pop("base_url"), request=body, source=source, **where)
    streamed = bool(body.get("stream")) if stream is None and isinstance(body, dict) else bool(stream)
    # Some say in the body that they want a stream, others by the route they take.
    route = next((x for x in split(source)[0].routes if x.kind == "request" and x.stream is streamed), None)
    http = {} if route is None else {"method": route.method, "path": route.path.replace("{model}", str(goal.model))}
    if isinstance(body, dict) and route is None and (streamed or "stream" in body):
        body = {**body, "stream": streamed}
    asked = Ask(body=body, source=source, http=http, stream=streamed, on_loss=on_loss)
    wire = Wire()
    found = wire.send(asked, (goal,))
    if isinstance(found, Answer):
        node = read_answer(found.value, goal.protocol, exchange=found.sent.exchange, http=found.http)
        done = found.to(source)
        losses = Losses([*found.sent.losses, *done.losses])
        return Outcome(_words(node), done.value, None, found.sent.losses, lambda: losses)
    back = _Back(found, source)
    lost = found.sent.losses
    return Outcome("", None, back.pieces(), lost, lambda: Losses([*lost, *back.losses]))


def _words(node: Node) -> str:
    """The text of an answer, without loading the classes for it."""
    out: list[str] = []
    for item in node.get("output") or ():
        content = item.get("content") if item.get("type") == "message" else None
        parts = [{"type": "output_text", "text": content}] if type(content) is str else content or ()
        out += [part.get("text") or "" for part in parts if part.get("type") == "output_text"]
    return "".join(out)


class _Back:
    """A stream on its way back: canonical, for its text, and in the format of the request."""

    def __init__(self, stream: Stream, source: str) -> None:
        self.stream, self.source = stream, source
        self.losses = Losses()

    def pieces(self) -> Iterator[tuple[str, list[Node]]]:
        protocol, exchange = self.stream.upstream.protocol, self.stream.sent.exchange
        reader = EventReader(protocol, exchange=exchange)
        waiting: list[str] = []

        def heard() -> Iterator[Node]:
            for event in self.stream.events():
                seen = reader.feed(event)
                waiting.extend(each["delta"] for each in seen if each["type"] == "response.output_text.delta")
                yield event

        back = convert_stream(heard(), source=protocol, target=self.source, exchange=exchange)
        for event in back:
            text, waiting[:] = "".join(waiting), []
            yield text, [event]
        if waiting:
            yield "".join(waiting), []
        self.losses = back.losses
