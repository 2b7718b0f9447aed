"""The service itself, without any I/O: a request in bytes becomes a reply whose body comes piece by piece.

A reply's body yields bytes, one frame each, and numbers, which are seconds to wait; it raises `Broken` where the
connection
is to break. What carries it (ASGI, a transport, a server) does the waiting and the breaking. Answers are functions of
the
request; only stored responses, `[[error ... times=N]]` and background work depend on what came before.
"""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

from oracles import (
    anthropic_messages,
    google_generate_content,
    google_interactions,
    openai_chat,
    openai_responses,
    routes,
)  # fmt: skip
from oracles.plan import Facts, Plan, plan_of
from oracles.refusal import Refused, error_body, error_headers
from oracles.seal import digest_of
from oracles.stamp import Stamp
from oracles.stored import Stored

NOW = 1_700_000_000
"""What the time is unless a clock is given."""

SURFACES: dict[str, Any] = {
    module.PROTOCOL: module
    for module in (anthropic_messages, google_generate_content, google_interactions, openai_chat, openai_responses)
}
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
    """A request on its way through: everything a handler needs."""

    protocol: str
    headers: dict[str, str]
    query: dict[str, str]
    body: Any
    model: str = ""
    id: str = ""
    stream: bool = False
    seen: Seen = field(default_factory=lambda: Seen("", "", {}, None, ""))


class Service:
    """An upstream with all five protocols.

    `clock` gives the time in seconds (default: always the same); `strangers` lets unknown keys of the OpenAI protocols
    pass, as other vendors' servers do. `seen` holds the last thousand exchanges.
    """

    def __init__(self, clock: Callable[[], float] | None = None, strangers: bool = False) -> None:
        self.clock, self.strangers = clock, strangers
        self.seen: deque[Seen] = deque(maxlen=1000)
        self.stored: OrderedDict[str, Stored] = OrderedDict()
        self.failed: Counter[str] = Counter()

    def handle(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to a request; it never raises for anything the client did."""
        headers = {name.lower(): value for name, value in headers.items()}
        path = unquote(path)
        protocol = routes.protocol_of(path, headers)
        seen = Seen(method, path, headers, None, protocol)
        self.seen.append(seen)
        stamp = Stamp(digest_of(path, body.decode("utf-8", "replace")), self.now(), "echo")
        try:
            route, found = routes.find(method, path)
            asked = Asked(protocol, headers, {k: v[-1] for k, v in parse_qs(query).items()}, None, seen=seen)
            asked.model, asked.id = found.get("model", ""), found.get("id", "")
            if method == "POST" and (body or not route.endswith("cancel")):
                asked.body = seen.body = parsed(body)
            reply: Reply = getattr(self, f"_{route}")(asked)
        except Refused as error:
            name = stamp.id("req_")
            said = json.dumps(error_body(protocol, error, name), ensure_ascii=False).encode()
            reply = Reply(error.status, error_headers(protocol, error, name), iter([said]))
        seen.status = reply.status
        reply.body = _watched(reply.body, seen)
        return reply

    def now(self) -> int:
        """The time in whole seconds."""
        return int(self.clock()) if self.clock is not None else NOW

    # ---- creating

    def _create(self, asked: Asked) -> Reply:
        surface, body = SURFACES[asked.protocol], asked.body
        earlier = self.earlier(asked)
        routes.check(asked.protocol, body, asked.headers, asked.model, earlier, self.strangers)
        if asked.protocol == "openai-responses":
            body = self.resolved(body)
        asked.model = asked.model or body.get("model") or "echo"
        if asked.protocol == "google-generate-content":
            facts: Facts = surface.facts(body, asked.stream)
        else:
            facts = surface.facts(body, earlier or ()) if earlier is not None else surface.facts(body)
        plain = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
        stamp = Stamp(digest_of(asked.protocol, asked.model, plain), self.now(), asked.model)
        plan = self.plan(facts)
        self.fault(plan, facts, stamp)
        if plan.garble == "type":
            return Reply(200, {"content-type": "text/html"}, iter([b"<html><body>echo</body></html>"]))
        kept = self.keep(asked, facts, plan, stamp, earlier)
        if facts.stream:
            return self.streamed(asked, facts, plan, stamp)
        whole = (
            kept.queued() if kept is not None and facts.body.get("background") else surface.answer(facts, plan, stamp)
        )
        return Reply(200, self.head(asked, stamp), _whole(whole, plan))

    def plan(self, facts: Facts) -> Plan:
        """What to answer. A subclass may follow a script of its own instead of the user's directives."""
        return plan_of(facts)

    def fault(self, plan: Plan, facts: Facts, stamp: Stamp) -> None:
        """A requested error, before anything is answered."""
        if plan.fault is None:
            return
        after, error = plan.fault
        if plan.times is not None:
            if self.failed[stamp.digest] >= plan.times:
                plan.fault = None
                return
            self.failed[stamp.digest] += 1
        if after < 0 or not facts.stream:
            raise error

    def streamed(
        self, asked: Asked, facts: Facts, plan: Plan, stamp: Stamp, after: Callable[[Any], bool] | None = None
    ) -> Reply:
        """A stream, in the framing of its surface."""
        surface = SURFACES[asked.protocol]
        frames = _faulty(surface, facts, plan, stamp)
        if after is not None:
            frames = (frame for frame in frames if after(frame))
        array = asked.protocol == "google-generate-content" and asked.query.get("alt") != "sse"
        encoded = _array(frames) if array else (surface.encode(frame) for frame in frames)
        kind = "application/json" if array else "text/event-stream"
        return Reply(200, {**self.head(asked, stamp), "content-type": kind}, _paced(encoded, plan))

    def head(self, asked: Asked, stamp: Stamp) -> dict[str, str]:
        """The headers of an answer."""
        named = {"anthropic-messages": "request-id"}.get(asked.protocol, "x-request-id")
        own = {} if asked.protocol.startswith("google") else {named: stamp.id("req_")}
        return {"content-type": "application/json", **own}

    # ---- what is stored

    def earlier(self, asked: Asked) -> list[Any] | None:
        """The items or steps that the request goes on from; empty where it starts; None where they are unknown."""
        if asked.protocol not in ("openai-responses", "google-interactions") or not isinstance(asked.body, dict):
            return None
        key = "previous_response_id" if asked.protocol == "openai-responses" else "previous_interaction_id"
        before = asked.body.get(key)
        if before is None:
            return []
        held = self.stored.get(before) if isinstance(before, str) else None
        if held is None and asked.protocol == "openai-responses":
            raise Refused(
                f"Previous response with id '{before}' not found.", param=key, code="previous_response_not_found"
            )
        if held is None:
            raise Refused(f"Interaction '{before}' was not found.", status=404)
        return [*held.earlier, *held.given, *held.made()]

    def resolved(self, body: Any) -> Any:
        """The request with the items that it only names; what was never stored is not found."""
        items = body.get("input")
        if not isinstance(items, list):
            return body
        known = {item["id"]: item for held in self.stored.values() for item in held.made() if item.get("id")}
        full = []
        for item in items:
            naming = item.get("type") == "item_reference" or (
                "id" in item and "type" not in item and "role" not in item
            )
            empty = item.get("type") == "reasoning" and item.get("id") and not item.get("encrypted_content")
            if (naming or empty) and item["id"] not in known:
                raise Refused(
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. Try "
                    "again with `store` set to true, or remove this item from your input.", param="input",
                )  # fmt: skip
            full.append(known[item["id"]] if naming else item)
        return {**body, "input": full}

    def keep(self, asked: Asked, facts: Facts, plan: Plan, stamp: Stamp, earlier: list[Any] | None) -> Stored | None:
        """Store an answer, if its protocol stores and the request does not forbid it."""
        if earlier is None or facts.body.get("store") is False:
            return None
        held = Stored(asked.protocol, facts, plan, stamp, earlier)
        self.stored[held.id] = held
        while len(self.stored) > 10_000:
            self.stored.popitem(last=False)
        return held

    def found(self, asked: Asked) -> Stored:
        """The stored answer that the path names."""
        held = self.stored.get(asked.id)
        if held is None or held.protocol != asked.protocol:
            what = "Response" if asked.protocol == "openai-responses" else "Interaction"
            raise Refused(f"{what} with id '{asked.id}' not found.", status=404, code=None)
        return held

    def _retrieve(self, asked: Asked) -> Reply:
        held = self.found(asked)
        if asked.query.get("stream") == "true":
            if not held.background:
                raise Refused("This response can not be streamed: it was not created in the background.")
            last = asked.query.get("starting_after", asked.query.get("last_event_id"))
            return self.streamed(asked, held.facts, held.plan, held.stamp, held.after(last))
        return self.json(asked, held.polled())

    def _cancel(self, asked: Asked) -> Reply:
        held = self.found(asked)
        if not held.background:
            raise Refused("Cannot cancel a synchronous response.", code=None if held.protocol.startswith("openai") else
                          "failed_precondition")  # fmt: skip
        return self.json(asked, held.cancelled())

    def _delete(self, asked: Asked) -> Reply:
        held = self.found(asked)
        del self.stored[held.id]
        gone = {"id": held.id, "object": "response.deleted", "deleted": True}
        return self.json(asked, gone if held.protocol == "openai-responses" else {})

    def _input_items(self, asked: Asked) -> Reply:
        return self.json(asked, self.found(asked).input_items(asked.query))

    # ---- the rest

    def _count(self, asked: Asked) -> Reply:
        return self.json(asked, routes.counted(asked.protocol, asked.body, asked.headers, asked.model))

    def _models(self, asked: Asked) -> Reply:
        return self.json(asked, routes.models(asked.protocol, asked.id, self.now()))

    def _stream(self, asked: Asked) -> Reply:
        asked.stream = True
        return self._create(asked)

    def _alive(self, asked: Asked) -> Reply:
        return self.json(asked, {"ok": True})

    def json(self, asked: Asked, value: Any) -> Reply:
        """A JSON value as the reply."""
        stamp = Stamp(digest_of(asked.protocol, asked.id, asked.body), self.now(), "echo")
        return Reply(200, self.head(asked, stamp), _whole(value, Plan()))


def parsed(body: bytes) -> Any:
    """The JSON of a body."""
    try:
        value = json.loads(body)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is not text
    except (ValueError, RecursionError):
        raise Refused("We could not parse the JSON body of your request.") from None
    if re.search(rb"[^\w\"](?:NaN|-?Infinity)\b", body) and not _finite(value):
        raise Refused("We could not parse the JSON body of your request.")
    return value


def _finite(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _whole(value: Any, plan: Plan) -> Body:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
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


def _faulty(surface: Any, facts: Facts, plan: Plan, stamp: Stamp) -> Iterator[Any]:
    """The frames, up to where the stream is to fail."""
    for number, frame in enumerate(surface.frames(facts, plan, stamp)):
        if plan.fault is not None and number == plan.fault[0]:
            yield from surface.failed(plan.fault[1], stamp)
            return
        yield frame
    if plan.fault is not None and plan.fault[0] > number:
        yield from surface.failed(plan.fault[1], stamp)


def _array(frames: Iterator[Any]) -> Iterator[bytes]:
    """The frames as members of one JSON array."""
    opening = b"["
    for _, data in frames:
        yield opening + json.dumps(data, ensure_ascii=False).encode()
        opening = b"\n,\r\n"
    yield b"\n]" if opening != b"[" else b"[]"


def _paced(frames: Iterator[bytes], plan: Plan) -> Body:
    whole = plan.garble != "json"
    for number, frame in enumerate(frames):
        if plan.cut is not None and number >= plan.cut[0]:
            if not plan.cut[1]:
                raise Broken("the prompt requests a broken connection")
            return
        if plan.delay and number:
            yield plan.delay / 1000
        if number and not whole and b"event: ping" not in frame:  # which is never missed
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
