"""One request from a file, in any wire format, to any model; the answer in the format of the request.

Which protocol a request is of is found by `detection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...engine.registry import split
from ...foundation.errors import RemoteProtocolError
from ...foundation.json_codec import parse
from ...foundation.usage_errors import InvalidArgument
from ...losses import Levels, Losses
from ...streams.collect_and_decompose import terminal_of
from ...streams.conversion import convert_stream
from ..connections.io import Stream, Wire
from ..sending.api_errors import failed
from ..sending.decoding import read_answer
from ..sending.effects import Answer, Ask
from ..stream_results import Opening
from ..upstreams.upstream import upstream
from .detection import format_of

__all__ = ["Outcome", "send"]

Node = dict[str, Any]


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

    With `base_url` among `where` the name of a model is that of the server, as it is.

    Raises `InvalidBody`, `ValueError` where no model is named, and every error of an upstream.
    """
    body = parse(data)
    source = source or format_of(body)
    split(source)
    said = body.get("model") if isinstance(body, dict) else None
    ref = model or (said if isinstance(said, str) and "/" in said else None)
    if ref is None and not where.get("base_url"):
        raise InvalidArgument("name a model: --model provider/model (local/echo needs no key and no network)")
    if where.get("base_url"):
        # The user's own server, and a model on it, whose name may be, or begin with, that of a provider.
        ref, where = None, {**where, "model": model} if model is not None else where
    goal = upstream(ref or where.pop("base_url"), request=body, source=source, **where)
    known = split(source)[0]
    streamed = known.requests_stream(body) if stream is None else stream
    # Some protocols select a stream in the body, others by the route.
    route = next((x for x in known.routes if x.kind == "request" and x.stream is streamed), None)
    http = {} if route is None else {"method": route.method, "path": route.path.replace("{model}", str(goal.model))}
    key = known.stream_field()
    if isinstance(body, dict) and route is None and (streamed or known.streams.by_default or key in body):
        body = {**body, key: streamed}
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
    if terminal_of(node) == "response.incomplete":
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
        """Raises the failure that a stream ended with: an error event, or a stream that broke off."""
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
