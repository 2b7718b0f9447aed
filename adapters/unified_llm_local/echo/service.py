"""The service, without any I/O: a request in bytes becomes a reply whose body comes piece by piece.

The adapters read the request into canonical form and write the response, the events or the error; what to answer is
decided on the canonical request alone. A body yields bytes, one frame each, and numbers, which are seconds to wait; it
raises `Broken` where the connection is to break. Answers are functions of the request; only stored responses,
`[[error ... times=N]]` and background work depend on what came before.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs

import unified_llm as ul
from unified_llm import jsonarray, sse
from unified_llm.engine.adapter import Adapter
from unified_llm.engine.registry import adapter, likeliest
from unified_llm.foundation.json_codec import dump, parse
from unified_llm.foundation.urls import whole_number
from unified_llm.streams.collect_and_decompose import TERMINAL
from unified_llm.streams.framings.eventstream import encode_event
from unified_llm_local.echo.answer import Stamp, digest_of, events, opening, plain, response, size
from unified_llm_local.echo.facts import Facts, Node, Refused, canonical, items_of
from unified_llm_local.echo.plan import Plan, plan_of

NOW = 1_700_000_000
"""What the time is unless a clock is given."""
NAMES = ("echo", "echo-mini")
"""The models in the lists; a request may name any other as well."""
KEPT = 10_000
"""Responses that are stored at most; the oldest are forgotten."""
Body = Iterator["bytes | float"]


class Broken(ConnectionError):
    """The connection breaks here: as requested with `[[break after N]]`."""


@dataclass
class Seen:
    """One exchange: what came, what was answered, and how the body ended: open, done, cut, or closed by the client."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    protocol: str
    status: int = 0
    ended: str = "open"


@dataclass
class Reply:
    """What goes back."""

    status: int
    headers: dict[str, str]
    body: Body


@dataclass
class Asked:
    """A request of a known route: everything a handler needs."""

    adapter: Adapter
    kind: str
    path: str
    names: Mapping[str, str]
    http: Node
    body: Any = None
    stream: bool = False

    @property
    def protocol(self) -> str:
        """Whose route it is."""
        return self.adapter.protocol


@dataclass
class Stored:
    """A response with its request and the items before it, so that it can be polled, cancelled and continued.

    Work in the background takes two polls: the first finds it running, the second done.
    """

    protocol: str
    exchange: ul.Exchange
    facts: Facts
    plan: Plan
    stamp: Stamp
    earlier: list[Node]
    made: Node
    polls: int = 0
    cancelled: bool = False

    @property
    def background(self) -> bool:
        """Whether it runs in the background."""
        return self.facts.request.get("background") is True

    def head(self, status: str) -> Node:
        """The response without an answer."""
        return {**opening(self.stamp, status), "id": self.made["id"]}

    def items(self) -> list[Node]:
        """The conversation up to and including the response."""
        return [*self.earlier, *items_of(self.facts.request), *self.made["output"]]

    def polled(self) -> Node:
        """What a client that requests it gets."""
        if self.cancelled:
            return self.head("cancelled")
        if self.background:
            self.polls += 1
            if self.polls < 2:
                return self.head("in_progress")
        return self.made


@dataclass
class Service:
    """An upstream in every installed protocol.

    `clock` gives the time in seconds (default: always the same). `seen` holds the last thousand exchanges.
    """

    clock: Callable[[], float] | None = None
    seen: deque[Seen] = field(default_factory=lambda: deque(maxlen=1000))
    stored: OrderedDict[str, Stored] = field(default_factory=OrderedDict)
    failed: Counter[str] = field(default_factory=Counter)

    def handle(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes, spoken: str | None = None
    ) -> Reply:
        """The reply to a request, of the protocol `spoken` if that is known; it never raises for what a client did."""
        from unified_llm.client.transports.route_matching import recognize

        headers = {name.lower(): value for name, value in headers.items()}
        match = recognize(method, path, headers, spoken)
        seen = Seen(method, path, headers, None, match.protocol if match else "")
        self.seen.append(seen)
        own = adapter(match.protocol) if match else likeliest(headers)
        try:
            if match is None:
                raise Refused(f"no installed protocol has the route {method} {path}", 404)
            asked = Asked(own, match.route.kind, match.route.path, match.names, {
                "method": method, "path": match.path, "headers": headers,
                "query": {name: values[-1] for name, values in parse_qs(query).items()},
            })  # fmt: skip
            if body.strip():
                asked.body = seen.body = parse(body)
            asked.stream = match.streams(asked.body)
            reply = self._answered(asked, method)
        except (ul.InvalidBody, ul.CapabilityRefused) as error:
            reply = self.refused(own, Refused(str(error)))
        except Refused as error:
            reply = self.refused(own, error)
        seen.status = reply.status
        named = digest_of(method, path, body.decode("utf-8", "replace"))[:24]
        reply.headers |= {"x-request-id": f"req_{named}", "request-id": f"req_{named}"}  # clients read one of the two
        reply.body = _watched(reply.body, seen)
        return reply

    def now(self) -> int:
        """The time in whole seconds."""
        return int(self.clock()) if self.clock is not None else NOW

    def refused(self, spoken: Adapter, error: Refused) -> Reply:
        """An error in the words of a protocol."""
        done = ul.write({"error": dict(error.error)}, spoken.protocol, "error")
        return Reply(error.error["status"], {**_headers(done), "content-type": "application/json"}, _whole(done.value))

    def _answered(self, asked: Asked, method: str) -> Reply:
        if asked.kind == "request":
            return self._created(asked)
        if asked.kind == "models":
            return self._models(asked)
        if asked.kind == "count_tokens_request":
            request = canonical(asked.body, asked.adapter, asked.kind, asked.http)
            return self._written(asked, {"input_tokens": size(request)}, "count_tokens_response")
        held = self.stored.get(asked.names.get("id", ""))
        if held is None or held.protocol != asked.protocol:
            raise Refused(f"no stored response {asked.names.get('id')!r}", 404)
        if method == "DELETE":
            del self.stored[held.made["id"]]
            gone = {"id": held.made["id"], "deleted": True}
            return self._written(asked, gone, "deleted") if asked.kind == "deleted" else _json({})
        if asked.kind == "input_items":
            return self._input_items(asked, held)
        if asked.path.endswith("/cancel"):
            if not held.background:
                raise Refused("only a background response can be cancelled")
            held.cancelled = held.polls < 2
        elif asked.http["query"].get("stream") == "true":
            return self._streamed(asked, held, resumed=True)
        return self._written(asked, held.polled(), "response", held.exchange)

    # ---- creating

    def _created(self, asked: Asked) -> Reply:
        request = canonical(asked.body, asked.adapter, "request", asked.http)
        exchange = ul.convert(asked.body, source=asked.protocol, target=asked.protocol, http=asked.http).exchange
        assert exchange is not None
        model = request.get("model") or asked.names.get("model") or "echo"
        earlier = self._earlier(asked, request)
        digest = digest_of(asked.protocol, model, plain(request))
        stamp = Stamp(digest, self.now(), model, asked.protocol)
        facts = Facts.of(request, earlier)
        plan = plan_of(facts)
        self._fault(plan, asked.stream, digest)
        if plan.garble == "type":
            return Reply(200, {"content-type": "text/html"}, iter([b"<html><body>echo</body></html>"]))
        made = response(facts, plan, stamp, asked.adapter.id_prefix or "resp_")
        exchange = replace(exchange, alias=model, model=model, created_at=stamp.now, answer_id=made["id"])
        held = Stored(asked.protocol, exchange, facts, plan, stamp, earlier, made)
        if request.get("store") is not False:
            self.stored[made["id"]] = held
            while len(self.stored) > KEPT:
                self.stored.popitem(last=False)
        if asked.stream:
            return self._streamed(asked, held)
        if held.background:
            made = held.head("in_progress")
        return self._written(asked, made, "response", exchange, plan)

    def _earlier(self, asked: Asked, request: Node) -> list[Node]:
        """The items that the request goes on from."""
        before = request.get("previous_response_id")
        if before is None:
            return []
        held = self.stored.get(before)
        if held is None:
            status = asked.adapter.unknown_previous
            raise Refused(f"previous response {before!r} not found", status, code="previous_response_not_found")
        return held.items()

    def _fault(self, plan: Plan, stream: bool, digest: str) -> None:
        """Raise a requested error, before anything is answered."""
        if plan.fault is None:
            return
        if plan.times is not None:
            if self.failed[digest] >= plan.times:
                plan.fault = None
                return
            self.failed[digest] += 1
        if plan.fault[0] < 0 or not stream:
            raise plan.fault[1]

    def _streamed(self, asked: Asked, held: Stored, resumed: bool = False) -> Reply:
        """A stream in the framing of its protocol, or what comes behind the event that a client saw last."""
        framing, array = asked.adapter.streams.framing, bool(held.exchange.options.get("array"))
        frames = _frames(held, asked.protocol)
        if held.background and asked.adapter.resume:
            name, place = asked.adapter.resume
            frames = _numbered(frames, place)
            last = asked.http["query"].get(name, "")
            if resumed and (shown := whole_number(last)) is not None:
                frames = (each for each in frames if _number(each["data"], place) > shown)
        encoded: Iterator[bytes]
        if framing.binary:
            encoded = (encode_event(each["event"], dump(each["data"])) for each in frames)
        else:
            encoded = _array(frames) if array else (_sse(each, framing.named) for each in frames)
        kind = framing.array if array else framing.content_type
        return Reply(200, {"content-type": kind}, _paced(encoded, held.plan))

    # ---- the rest

    def _models(self, asked: Asked) -> Reply:
        name = asked.names.get("model")
        if name is not None and name not in NAMES:
            raise Refused(f"model {name!r} not found", 404)
        models = [
            {"type": "model", "id": each, "name": each, "created_at": self.now()}
            for each in NAMES
            if name in (None, each)
        ]
        done = ul.write({"models": models}, asked.protocol, "models")
        return _json(done.value[asked.adapter.entries][0] if name is not None else done.value)

    def _input_items(self, asked: Asked, held: Stored) -> Reply:
        """A page of the input, the newest first unless requested otherwise."""
        query, items = asked.http["query"], [*held.earlier, *items_of(held.facts.request)]
        items = [{"id": f"item_{digest_of(held.made['id'], n)[:24]}", **item} for n, item in enumerate(items)]
        if query.get("order") != "asc":
            items.reverse()
        at = next((n + 1 for n, item in enumerate(items) if item["id"] == query.get("after")), 0)
        limit = whole_number(query.get("limit", "20"))
        limit = 20 if limit is None else limit
        page = items[at : at + limit]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        return self._written(asked, {"input": page, **ends, "has_more": at + limit < len(items)}, "input_items")

    def _written(
        self, asked: Asked, node: Node, kind: str, exchange: ul.Exchange | None = None, plan: Plan | None = None
    ) -> Reply:
        done = ul.write(node, asked.protocol, kind, exchange=exchange)
        return Reply(200, {**_headers(done), "content-type": "application/json"}, _whole(done.value, plan))


def _headers(done: ul.Converted) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in (done.http.get("headers") or {}).items()}


def _json(value: Any) -> Reply:
    return Reply(200, {"content-type": "application/json"}, _whole(value))


def _whole(value: Any, plan: Plan | None = None) -> Body:
    data, plan = dump(value), plan or Plan()
    if plan.delay:
        yield plan.delay / 1000
    if plan.garble == "json":
        data = data[: len(data) // 2]
    if plan.cut is not None:
        yield data[: len(data) // 2]
        if not plan.cut[1]:
            raise Broken("the prompt requests a broken connection")
        return
    yield data


def _frames(held: Stored, protocol: str) -> Iterator[Node]:
    """The wire events of a response, up to where the stream is to fail."""
    sent = 0
    fault = held.plan.fault

    def told() -> Iterator[Node]:
        for event in events(held.made):
            if fault is not None and (sent >= fault[0] or event["type"] in TERMINAL):
                break
            yield event
        if fault is not None:
            error = dict(fault[1].error)
            yield {"type": "error", "error": error}
            yield {"type": "response.failed", "response": {**held.head("failed"), "error": error}}

    for frame in ul.write_stream(told(), protocol, exchange=held.exchange):
        yield frame
        sent += 1


def _numbered(frames: Iterator[Node], place: str) -> Iterator[Node]:
    """The frames with the place by which a stream is resumed, where the protocol's writer gives them none."""
    for number, frame in enumerate(frames, 1):
        data = frame["data"]
        yield {**frame, "data": {place: str(number), **data}} if isinstance(data, dict) else frame


def _number(data: Any, place: str) -> int:
    found = str(data.get(place)) if isinstance(data, dict) else ""
    return int(found) if found.isdecimal() else 1 << 60


def _sse(frame: Node, named: bool) -> bytes:
    data = frame["data"]
    return sse.encode(frame["event"] if named else None, data if isinstance(data, str) else dump(data))


def _array(frames: Iterator[Node]) -> Iterator[bytes]:
    encoder = jsonarray.JSONArrayEncoder()
    for frame in frames:
        yield encoder.encode(dump(frame["data"]))
    yield encoder.close()


def _paced(frames: Iterator[bytes], plan: Plan) -> Body:
    whole = plan.garble != "json"
    for number, frame in enumerate(frames):
        if plan.cut is not None and number >= plan.cut[0]:
            if not plan.cut[1]:
                raise Broken("the prompt requests a broken connection")
            return
        if plan.delay and number:
            yield plan.delay / 1000
        if number and not whole:
            whole, frame = True, frame[: len(frame) // 2] + b"\n\n"
        yield frame


def _watched(body: Body, seen: Seen) -> Body:
    """The body, and a note of how it ended."""
    try:
        yield from body
        seen.ended = "done"
    except Broken:
        seen.ended = "cut"
        raise
    finally:
        if seen.ended == "open":
            seen.ended = "closed"
