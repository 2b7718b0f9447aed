"""One request from a file, in any wire format, to any model; the answer in the format it was asked in.

A request says by its shape which protocol it is of: the one that understands most of it. Where two understand it
equally well, it is the one whose official SDK declares most of its fields, and then the order in which providers
recommend them decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...engine.pairs.reading import Reader
from ...engine.registry import adapter, split
from ...foundation.errors import InvalidBody, RemoteProtocolError, UnknownProvider
from ...foundation.json_codec import parse
from ...foundation.usage_errors import InvalidArgument
from ...losses import Levels, Losses
from ...models.endpoints import provider
from ...passes.convert import kind_of
from ...streams.conversion import convert_stream
from ..connections.io import Stream, Wire
from ..opening import Opening
from ..sending.api_errors import failed
from ..sending.decoding import read_answer
from ..sending.effects import Answer, Ask
from ..upstreams.resolve import _by_preference, upstream

__all__ = ["Outcome", "format_of", "meant_instead", "send"]

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
    found = [
        (misread, _undeclared(body, name), place, name)
        for place, name in enumerate(_by_preference())
        if (misread := _misread(body, name)) is not None
    ]
    if not found:
        raise InvalidBody("", f"a request of none of the protocols: {', '.join(sorted(_by_preference()))}")
    return min(found)[3]


def meant_instead(body: Any, source: str) -> str | None:
    """The protocol that understands more of a request than the one it is said to be of; None where none does.

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


def _misread(body: Any, name: str) -> int | None:
    """How many keys of a request a protocol does not understand; None where it finds no prompt in it."""
    spoken = adapter(name)
    reader = Reader(spoken.protocol, facing="client")
    try:
        node = reader.root(kind_of(spoken, "request").read, body)
    except InvalidBody:
        return None
    return _unread(node) if node.get("input") else None


def _undeclared(body: Any, protocol: str) -> int:
    """How many fields of a request its own SDK does not declare; readers understand other vendors' words too."""
    from ...drift.sdk import pinned

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

    A piece is text and the wire events it came in, in the request's own format. `lost` is what the request lost. At the
    end, `losses` gives what the answer in that format lost too, and `beside` what the answer holds besides its text.
    """

    text: str
    document: Any
    pieces: Iterator[tuple[str, list[Node]]] | None
    lost: Losses
    losses: Callable[[], Losses]
    beside: Callable[[], list[str]]


def send(
    data: bytes, source: str | None, model: str | None, *, stream: bool | None, on_loss: Levels = "ignore", **where: Any
) -> Outcome:
    """Send a request. `source` is its protocol (None: by looking), `model` "provider/model" (None: the request's own).

    Raises `InvalidBody`, `ValueError` where no model is named, and every error of an upstream.
    """
    body = parse(data)
    source = source or format_of(body)
    split(source)
    said = body.get("model") if isinstance(body, dict) else None
    ref = model or (said if isinstance(said, str) and "/" in said else None)
    if ref is None and not where.get("base_url"):
        raise InvalidArgument("name a model: --model provider/model (local/echo needs no key and no network)")
    if ref is not None and where.get("base_url") and not _is_known(ref):
        # The user's own server, and a model on it.
        ref, where = None, {**where, "model": ref}
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
        return Outcome(_words(node), done.value, None, found.sent.losses, lambda: losses, lambda: _beside(node))
    back = _Back(found, source)
    lost = found.sent.losses
    return Outcome("", None, back.pieces(), lost, lambda: Losses([*lost, *back.losses]), back.beside)


def _is_known(ref: str) -> bool:
    """Whether a reference says whose model it is, or names a provider."""
    try:
        return "/" in ref or bool(provider(ref))
    except UnknownProvider:
        return False


_TEXTS = {"output_text": "text", "refusal": "refusal"}
_DELTAS = frozenset(f"response.{kind}.delta" for kind in _TEXTS)


def _words(node: Node) -> str:
    """The text of an answer, and what it was declined with, without loading the classes for it."""
    parts = [part for item in node.get("output") or () if item.get("type") == "message" for part in _parts(item)]
    return "".join(part.get(_TEXTS[part["type"]]) or "" for part in parts if part.get("type") in _TEXTS)


def _parts(item: Node) -> list[Node]:
    content = item.get("content")
    return [{"type": "output_text", "text": content}] if type(content) is str else content or []


def _beside(node: Node) -> list[str]:
    """What an answer holds besides its text and thoughts, and why it ended if not because it was done."""
    out: list[str] = []
    for item in node.get("output") or ():
        kind = item.get("type")
        if kind in ("function_call", "custom_tool_call"):
            out.append(f"calls {item.get('name')}({item.get('arguments') or item.get('input') or ''})")
        elif kind == "message":
            out += [part["type"] for part in _parts(item) if part.get("type") not in _TEXTS]
        elif kind != "reasoning":
            out.append(str(kind))
    if node.get("status") == "incomplete":
        why = (node.get("incomplete_details") or node.get("finish") or {}).get("reason")
        out.append(f"ended early{f': {why}' if why else ''}")
    return out


class _Back:
    """A stream to the client: canonical, for its text, and in the format of the request."""

    def __init__(self, stream: Stream, source: str) -> None:
        self.stream, self.source = stream, source
        client: Any = None  # it makes results, of which there are none here
        self.opening = Opening(client, stream, None, {})
        self.losses = Losses()

    def beside(self) -> list[str]:
        return _beside(self.opening.reader.response or {})

    def pieces(self) -> Iterator[tuple[str, list[Node]]]:
        """Raises what an answer ended with that is none: a failure that was told, or a stream that broke off."""
        opening, reader = self.opening, self.opening.reader
        waiting: list[str] = []

        def heard() -> Iterator[Node]:
            for event in self.stream.events():
                try:
                    seen = reader.feed(event)
                except RemoteProtocolError as error:
                    raise opening.broken(str(error)) from error
                waiting.extend(each["delta"] for each in seen if each["type"] in _DELTAS)
                yield event

        exchange = self.stream.sent.exchange
        back = convert_stream(heard(), source=self.stream.upstream.protocol, target=self.source, exchange=exchange)
        for event in back:
            text, waiting[:] = "".join(waiting), []
            yield text, [event]
        if waiting:
            yield "".join(waiting), []
        self.losses = back.losses
        reader.close()
        opening.ended(None)
        if reader.response is None:
            raise opening.failure() or opening.broken("the stream ended before the answer did")
        if reader.failure is not None:
            raise failed(self.stream.upstream, reader.failure, reader.failure, self.stream.model)
