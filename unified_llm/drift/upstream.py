"""An upstream in memory: the user's own code uses its own protocol, and the answers are those of another.

A request comes in on the surface of the caller's SDK, is converted to the target protocol as it would be for a real
provider, answered from canonical answers that were queued, and converted back. What was lost on both ways is collected.
No socket is opened. The transport is httpx2's, which the official SDKs take; nothing of it is seen outside this file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import httpx2

from ..engine.adapter import Route
from ..engine.pairs.reading import Reader
from ..engine.registry import adapter, protocols, split
from ..foundation.errors import CapabilityRefused, InvalidBody
from ..foundation.exchange import Exchange
from ..foundation.json_codec import dump, load, parse
from ..losses import Loss, Losses
from ..passes.convert import convert, write
from ..streams.collect_and_decompose import decompose
from ..streams.conversion import convert_stream
from ..streams.framings.of_protocol import as_sent
from ..streams.framings.sse import encode
from ..streams.writing import write_stream
from .reporting import known

if TYPE_CHECKING:
    from ..client.upstreams.upstream import Upstream

__all__ = ["FakeUpstream"]

Answer = dict[str, Any]
_ROOT = "https://upstream.invalid/v1"  # which no request leaves for


class FakeUpstream:
    """One provider of a protocol (`openai-chat`, `openai-chat:groq`, ...), in memory.

    `returns` and `calls` queue its answers; the last one is given again and again. An answer may also be a function of
    the canonical request. `requests` are the wire documents that arrived, in the target's words, `losses` what did not
    come through as it was, on both ways.

    >>> import httpx2
    >>> upstream = FakeUpstream("anthropic-messages").returns("Rain.")
    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Weather?"}], "seed": 7}
    >>> with upstream.http_client() as client:
    ...     answer = client.post("https://upstream.example/v1/chat/completions", json=body).json()
    >>> answer["choices"][0]["message"]["content"], upstream.survives("sampling.seed")
    ('Rain.', False)
    """

    def __init__(self, protocol: str, *, model: str | None = None) -> None:
        split(protocol)
        self.protocol = protocol
        self.model = model
        self.answers: list[Answer | Callable[[Answer], Answer]] = []
        self.requests: list[Any] = []
        self._losses: list[Loss] = []
        self._given = 0

    def returns(self, text: str) -> FakeUpstream:
        """Queue an answer that is this text."""
        part = {"type": "output_text", "text": text, "annotations": []}
        return self.gives({"type": "message", "role": "assistant", "content": [part]})

    def calls(self, name: str, /, **arguments: Any) -> FakeUpstream:
        """Queue a call of a function."""
        call_id = f"call_{len(self.answers) + 1}"
        return self.gives(
            {"type": "function_call", "call_id": call_id, "name": name, "arguments": dump(arguments).decode()}
        )

    def gives(self, *items: Answer) -> FakeUpstream:
        """Queue an answer of canonical items."""
        reason = "tool_calls" if any(item["type"] == "function_call" for item in items) else "stop"
        usage = {"input_tokens": 20, "output_tokens": 9, "total_tokens": 29}
        answer = {"status": "completed", "output": list(items), "finish": {"reason": reason}, "usage": usage}
        self.answers.append(answer)
        return self

    @property
    def losses(self) -> Losses:
        """What did not come through, requests and answers together, in order."""
        return Losses(self._losses)

    def survives(self, capability: str, *more: str) -> bool:
        """True when nothing that matches these globs was lost in requests and responses.

        Raises `InvalidArgument` for an unknown name.
        """
        globs = [known(each) for each in (capability, *more)]
        lost = [loss.capability for loss in self._losses if loss.fate == "lost"]
        return not any(fnmatchcase(name, glob) for name in lost for glob in globs)

    def http_client(self, **options: Any) -> httpx2.Client:
        """A client for SDKs: `openai.OpenAI(http_client=upstream.http_client(), api_key="-")`."""
        return httpx2.Client(transport=_Transport(self), **options)

    def async_http_client(self, **options: Any) -> httpx2.AsyncClient:
        """The same for the asynchronous SDKs."""
        return httpx2.AsyncClient(transport=_AsyncTransport(self), **options)

    def as_upstream(self) -> Upstream:
        """The upstream that `ul.Client(upstream)`, `ul.http_client(upstream)` and `ul.Upstream.of` make of it.

        >>> import unified_llm as ul
        >>> upstream = FakeUpstream("anthropic-messages").returns("Rain.")
        >>> ul.Client(upstream).responses.create(input="Weather?", seed=7).output_text, upstream.survives("sampling.*")
        ('Rain.', False)
        """
        from ..client.upstreams.upstream import Upstream

        own = {"http_client": self.http_client(), "async_http_client": self.async_http_client()}
        return Upstream(protocol=self.protocol, base_url=_ROOT, model=self.model or "model", **own)  # type: ignore[arg-type]

    # ---- one request ----------------------------------------------------------------------------------------------

    def answer(
        self, method: str, path: str, query: str, body: bytes, before: Losses | None = None
    ) -> tuple[int, str, bytes]:
        """The status, content type and body for a request on whichever surface its path belongs to.

        `before` are the losses of a request that a client of this library made, and None for any other: that one is
        in the words of the protocol as a client finds it, without a dialect.
        """
        found = _surface(method, path)
        if found is None:
            return 404, "application/json", dump({"error": {"message": f"no surface has {method} {path}"}})
        source, route, at = found
        if before is not None and source == self.protocol.partition(":")[0]:
            source = self.protocol
        try:
            asked = parse(body)
            http = {"method": method, "path": at}
            done = convert(asked, source=source, target=self.protocol, model=self.model, http=http)
        except (InvalidBody, CapabilityRefused) as error:
            return self._refused(source, str(error))
        self.requests.append(done.value)
        self._losses += [*(before or ()), *done.losses]
        assert done.exchange is not None
        canonical = self._next(asked, source, http, done.exchange)
        streamed = route.stream if route.stream is not None else adapter(source).requests_stream(asked)
        if streamed:
            array = bool(adapter(source).streams.framing.array) and "alt=sse" not in query
            return self._streamed(canonical, source, done.exchange, array)
        wire = write(canonical, self.protocol, "response").value
        back = convert(wire, source=self.protocol, target=source, kind="response", exchange=done.exchange)
        self._losses += back.losses
        return 200, "application/json", dump(back.value)

    def _streamed(self, canonical: Answer, source: str, exchange: Exchange, array: bool) -> tuple[int, str, bytes]:
        events = write_stream(decompose(canonical), self.protocol)
        stream = convert_stream(events, source=self.protocol, target=source, exchange=exchange)
        framing = adapter(source).streams.framing
        data = list(stream)
        self._losses += stream.losses
        if array:
            return 200, framing.array, dump([event["data"] for event in data])
        chunks = (
            encode(
                event["event"] if framing.named else None,
                event["data"] if type(event["data"]) is str else dump(event["data"]),
            )
            for event in data
        )
        events_bytes = b"".join(chunks)
        return 200, framing.content_type, as_sent(framing, events_bytes)

    def _next(self, asked: Any, source: str, http: Any, exchange: Exchange) -> Answer:
        if not self.answers:
            self.returns(f"An answer from {self.protocol}.")
        found = self.answers[min(self._given, len(self.answers) - 1)]
        self._given += 1
        if callable(found):
            kinds, dialect = split(source)
            reader = Reader(kinds, dialect=dialect, http=http)
            found = found(reader.root(kinds.kinds["request"].read, load(asked)))
        made = {"id": f"resp_{self._given}", "created_at": 1760000000, "model": exchange.model or "model"}
        return {**made, **found}

    def _refused(self, source: str, message: str) -> tuple[int, str, bytes]:
        error = {"error": {"type": "invalid_request", "message": message, "status": 400}}
        return 400, "application/json", dump(write(error, source, "error").value)


def _surface(method: str, path: str) -> tuple[str, Route, str] | None:
    """The protocol whose route a path ends with, that route, and the path relative to the protocol's root."""
    for protocol in protocols():
        for route in adapter(protocol).routes:
            if route.kind == "request" and route.method == method:
                pattern = "".join(
                    "[^/]+" if piece.startswith("{") else re.escape(piece)
                    for piece in re.split(r"(\{\w+\})", route.path.strip("/"))
                )
                match = re.search(f"(?:^|/)({pattern})$", path)
                if match:
                    return protocol, route, match[1]
    return None


def _reply(upstream: FakeUpstream, request: httpx2.Request, body: bytes) -> httpx2.Response:
    url = request.url
    before = request.extensions.get("unified_llm.losses")
    status, type_, data = upstream.answer(request.method, url.path, url.query.decode(), body, before)
    return httpx2.Response(status, headers={"content-type": type_}, content=data, request=request)


class _Transport(httpx2.BaseTransport):
    def __init__(self, upstream: FakeUpstream) -> None:
        self.upstream = upstream

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return _reply(self.upstream, request, request.read())


class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, upstream: FakeUpstream) -> None:
        self.upstream = upstream

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return _reply(self.upstream, request, await request.aread())
