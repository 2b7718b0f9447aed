"""A client's request in, the client's answer out, whatever protocol the upstream uses; without I/O.

`Translator.steps` is a generator of the same effects as `wire.steps`, so that one driver does for both. It recognizes
the surface, converts, sends to the upstreams, and converts their answers: a document, a stream piece by piece, or an
error in the surface's own shape. What was lost is in a header, and goes to a callback.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...engine.conversation_api import CONVERSATIONS
from ...engine.file_api import KINDS
from ...engine.registry import adapter, likeliest
from ...engine.shared.error_headers import header_safe
from ...foundation.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    CapabilityRefused,
    InvalidBody,
    InvalidRequestError,
    NotFoundError,
    UnknownProtocol,
    UnknownProvider,
)
from ...foundation.hints import PYTHON, Hint, Words, rendered
from ...foundation.json_codec import Parsed, dump, dump_indented
from ...foundation.secret import Secret, SecretLike
from ...foundation.urls import filled
from ...losses import Levels, Losses, check_levels
from ...passes.convert import Converted, convert, write
from ...passes.reading import read
from ...provenance.opaque import process_secret
from ...provenance.vault import MemoryVault, OfRequest, Scoped, Vault
from ..sending.api_errors import is_document
from ..sending.effects import Answer, Ask, Hop, Left, OnFailure, Opened, answer_kind, is_made
from ..sending.model_list import kin, merged, page
from ..sending.request_flow import steps
from ..sending.retry import Retry
from ..state.response_memory import Memory, keeps
from ..state.store import without_thread
from ..telemetry.operation import SILENT, Telemetry, count_losses
from ..upstreams.protocol_selection import settled
from ..upstreams.upstream import Upstream
from .given_upstreams import Given
from .memory_routes import Kept, kept, missing
from .report_headers import CALLER, ESTIMATE, HOPS, LOSSES, PROTOCOL, UPSTREAM, loss_headers, served
from .route_matching import Match, own_headers, recognize
from .stream_translation import SurfaceStream

__all__ = ["HOPS", "LOSSES", "PROTOCOL", "UPSTREAM", "Incoming", "Reply", "Translator"]

_JSON = "application/json"
_RETRIED = frozenset((408, 409, 429))

_GATEWAYS = KINDS | CONVERSATIONS
"""Kinds of routes of what the gateway alone keeps: files, caches and conversations."""

OnLosses = Callable[[Losses], None]
OnUsage = Callable[[Answer | Opened | Left, Mapping[str, Any] | None, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A client's request: headers have lower-case names, `timeout` is the HTTP library's."""

    method: str
    path: str
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    content: bytes
    timeout: Any = None


@dataclass(slots=True, kw_only=True)
class Reply:
    """What the client gets: `content` whole, or `stream`, which turns the bytes of `opened` into its own and has
    losses of its own beside these."""

    status: int
    headers: dict[str, str]
    content: bytes = b""
    stream: SurfaceStream | None = None
    opened: Opened | None = None
    losses: Losses = field(default_factory=Losses)


class Translator:
    """Everything of an in-process transport but the transport.

    `upstreams` are names, URLs, SDK clients or `Upstream`s, tried in their order; None leaves the choice to the model
    that a request names ("provider/model"). `surface` is a protocol, recognized by the path without it. `caller` names
    the tenant it serves; a request may name another (the header `x-unified-llm-caller`). `secret` is made by this
    process if not given. `on_failure` is called with each upstream that failed, and its error; `on_usage` at the end of
    each response with its head (`Left` where the client left before that), the canonical usage (None where the upstream
    gave none or the client left), and the number of events. `telemetry` has hooks of the requests to upstreams.
    `words` are those of its clients, in which errors advise them.
    """

    def __init__(
        self,
        upstreams: Any = None,
        *,
        surface: str | None = None,
        vault: Vault | None = None,
        secret: SecretLike = None,
        caller: str = "",
        on_loss: Levels = "ignore",
        on_losses: OnLosses | None = None,
        on_failure: OnFailure | None = None,
        on_usage: OnUsage | None = None,
        retry: Retry | None = None,
        telemetry: Telemetry = SILENT,
        words: Words = PYTHON,
        **options: Any,
    ) -> None:
        self._given: Given = Given(upstreams, options)
        self.surface = surface
        self.vault: Vault = vault if vault is not None else MemoryVault()
        self.secret: Secret | None = process_secret() if secret is None else Secret.of(secret)
        self.caller = caller
        check_levels(on_loss)
        self.on_loss = on_loss
        self.on_losses = on_losses
        self.on_failure = on_failure
        self.on_usage = on_usage
        self.telemetry = telemetry
        self.words = words
        # The SDK above tries again by itself; twice is many times.
        self.retry: Retry = retry if retry is not None else Retry.never()
        self.memory: Memory = Memory(secret=self.secret)
        self.asked: Converted | None = None  # the request whose stream is read again

    def upstreams(self, model: str | None) -> list[Upstream]:
        """The upstreams for a model."""
        return self._given.of(model)

    def steps(self, incoming: Incoming) -> Generator[Any, Any, Reply]:
        """Answer a request. Raises `APIConnectionError` and `APITimeoutError`; transports have errors of their own."""
        match = recognize(incoming.method, incoming.path, incoming.headers, self.surface)
        if match is None or match.route.kind in _GATEWAYS:
            surface = self.surface or likeliest(incoming.headers).protocol
            why = "no installed adapter declares it" if match is None else "the gateway has it, and a transport has not"
            return self.error_reply(
                NotFoundError(f"unsupported route {incoming.method} {incoming.path}; {why}"), surface
            )
        try:
            given = Parsed(incoming.content) if incoming.content.strip() else None
            body = None if given is None else given.value
            said = body.get("model") if isinstance(body, dict) else None
            model = match.names.get("model") or (said if isinstance(said, str) else None)
            if (told := kept(self.memory, match, incoming.query, self._caller(incoming))) is not None:
                return self._remembered(told, match.protocol)
            # The model does not determine which upstream has an answer that is not in memory.
            asked = self.upstreams(model) if "id" not in match.names or self._given.is_fixed else []
            if match.route.kind.endswith("request"):
                asked = [settled(each, body, match.protocol) for each in asked]
                return (yield from self._request(incoming, match, body, given, asked))
            return (yield from self._stored(incoming, match, body, asked))
        except APIError as error:
            # Without an answer the SDK sees what it would see without us; with one, or a reason not to retry, a reply.
            if (
                isinstance(error, (APIConnectionError, APITimeoutError))
                and error.status is None
                and error.should_retry is None
            ):
                raise
            return self.error_reply(error, match.protocol)
        except (InvalidBody, CapabilityRefused, UnknownProvider, UnknownProtocol, ValueError) as error:
            reason = rendered(error, self.words)
            return self.error_reply(InvalidRequestError(reason, error={"type": "invalid_request"}), match.protocol)

    def _ask(
        self, incoming: Incoming, match: Match, body: Any, given: Parsed | None = None, previous: str | None = None
    ) -> Ask:
        shown = own_headers(match.protocol, incoming.headers)
        is_counted = self.on_usage is not None and is_made(match.protocol, answer_kind(match.route.kind))
        query = {name: value for name, value in incoming.query.items() if name != "key"}
        return Ask(
            body=body,
            source=match.protocol,
            kind=match.route.kind,
            http={"method": incoming.method, "path": match.path, "query": query, "headers": shown},
            stream=match.route.kind == "request" and match.streams(body),
            on_loss=self.on_loss,
            vault=self._vault(incoming),
            secret=self.secret,
            patience=incoming.timeout,
            at=int(time.time()),
            answer_id=os.urandom(16).hex(),
            previous=previous,
            kept=self.memory.place if match.route.kind == "request" and keeps(match.protocol) else "",
            on_failure=self.on_failure,
            on_left=self._left if is_counted else None,
            given=given,
            telemetry=self.telemetry,
        )

    def _caller(self, incoming: Incoming) -> str:
        """The caller: named by the request, or given when this transport was made."""
        return incoming.headers.get(CALLER, self.caller)

    def _vault(self, incoming: Incoming) -> Vault:
        """What is kept for this caller only."""
        caller = self._caller(incoming)
        return OfRequest(Scoped(self.vault, caller) if caller else self.vault)

    def _request(
        self, incoming: Incoming, match: Match, body: Any, given: Parsed | None, asked: Sequence[Upstream]
    ) -> Generator[Any, Any, Reply]:
        caller = self._caller(incoming)
        known = self.memory.recalled(body, match.protocol, asked, caller)
        is_request = match.route.kind == "request"
        previous = (body.get(keeps(match.protocol)) or None) if is_request and known is not body else None
        ask = self._ask(incoming, match, {} if known is None else known, given if known is body else None, previous)
        if not is_request:
            return (yield from self._counted(ask, match, asked))
        found = yield from steps(ask, asked, self.retry)
        reply = self._shown(found, match.protocol, ask.vault)
        self.memory.follow(reply, match.protocol, incoming.content, body, found.upstream, caller)
        return reply

    def _counted(self, ask: Ask, match: Match, asked: Sequence[Upstream]) -> Generator[Any, Any, Reply]:
        """Another kind of request than for an answer: who can do it, does; tokens can be estimated."""
        able = [found for each in asked if (found := kin(each, ask.kind)) is not None]
        counts = ask.kind.startswith("count_tokens")
        for each in able[:1] or asked[:1]:
            without_thread(ask.body, match.protocol, each)  # or the new messages alone would be counted
        try:
            if able:
                return self._shown((yield from steps(ask, able, self.retry)), match.protocol)
        except NotFoundError:
            if not counts:
                raise
        if not counts:
            whose = asked[0].name
            raise NotFoundError(f"{whose} cannot do {match.route.path}", error={"type": "not_found"}, status=404)
        # About four letters a token, as every provider's own rule of thumb has it.
        done = write({"input_tokens": max(1, len(dump(ask.body)) // 4)}, match.protocol, answer_kind(ask.kind))
        reply = self._reply(done, Losses(), [])
        reply.headers[ESTIMATE] = "true"
        return reply

    def _stored(
        self, incoming: Incoming, match: Match, body: Any, asked: Sequence[Upstream]
    ) -> Generator[Any, Any, Reply]:
        """Lists of models from every upstream; stored objects only where the provider uses the client's protocol."""
        kind = match.route.kind
        ask = self._ask(incoming, match, None)
        if kind == "models":
            return (yield from self._listed(match, ask, asked))
        offered = [each for given in asked for each in (given, *given.others)]
        own = [each for each in offered if each.protocol.partition(":")[0] == match.protocol.partition(":")[0]]
        if not own:
            raise NotFoundError(missing(match), error={"type": "not_found"}, status=404)
        http = {"method": incoming.method, "path": filled(match.route.path, **match.names), "query": ask.http["query"]}
        stream = incoming.query.get("stream") == "true"
        plain = Ask(kind=kind, http=http, stream=stream, patience=ask.patience, telemetry=self.telemetry)
        found = yield from steps(plain, own[:1], self.retry)
        found.sent = self.asked or found.sent  # what the events of a stream that is kept are restored by
        return self._shown(found, match.protocol)

    def _listed(self, match: Match, ask: Ask, asked: Sequence[Upstream]) -> Generator[Any, Any, Reply]:
        """The models of all upstreams, in the pages of the surface."""

        def send(plain: Ask, upstream: Upstream) -> Generator[Any, Any, Answer]:
            answer = yield from steps(replace(plain, patience=ask.patience), [upstream], self.retry)
            return answer  # type: ignore[return-value]

        try:
            found, hops = yield from merged(asked, send)
        except CapabilityRefused as error:
            raise NotFoundError(str(error), error={"type": "not_found"}, status=404) from None
        surface = adapter(match.protocol)
        alone = match.names.get("model")
        if alone is None:
            done = write(page([each for _, each in found], surface, ask.http["query"]), match.protocol, "models")
        else:
            one = next((pair for pair in found if str(pair[1].get("id")) == alone), None)
            if one is None:
                raise NotFoundError(f"model {alone!r} not found", error={"type": "not_found"}, status=404)
            found = [one]
            done = write({"models": [one[1]]}, match.protocol, "models")
            done = replace(done, value=done.value[surface.entries][0])
        self._report_losses(done.losses)
        return self._reply(done, done.losses, hops, found[0][0] if found else asked[0])

    def _remembered(self, told: Kept, surface: str) -> Reply:
        kind = adapter(surface).streams.framing.content_type if told.stream else _JSON
        return Reply(status=200, headers={"content-type": kind}, content=told.content)

    # ---- back to the client ------------------------------------------------------------------------------------------

    def _shown(self, found: Answer | Opened, surface: str, vault: Vault | None = None) -> Reply:
        kept = self.vault if vault is None else vault
        return self._answer(found, surface, kept) if isinstance(found, Answer) else self._stream(found, surface, kept)

    def _answer(self, found: Answer, surface: str, vault: Vault) -> Reply:
        if self.on_usage is not None and found.is_made:
            self.on_usage(found, _usage(found), 1)
        done = found.to(surface, vault=vault, secret=self.secret, on_loss=self.on_loss)
        losses = Losses([*found.sent.losses, *done.losses])
        self._report_losses(losses)
        count_losses(self.telemetry, found.upstream, done.losses)
        reply = self._reply(done, losses, found.hops, found.upstream)
        if found.request_id:
            reply.headers = header_safe({"x-request-id": found.request_id, **reply.headers})
        return reply

    def _reply(
        self, done: Converted, losses: Losses, hops: Sequence[Hop], whose: Upstream | None = None, status: int = 200
    ) -> Reply:
        headers = {name.lower(): value for name, value in header_safe(done.http.get("headers") or {}).items()}
        headers |= {"content-type": _JSON, **loss_headers(losses, hops, whose)}
        given = done.http.get("status")
        status = given if type(given) is int and 100 <= given <= 599 else status
        return Reply(status=status, headers=headers, content=dump(done.value), losses=losses)

    def _stream(self, found: Opened, surface: str, vault: Vault) -> Reply:
        given = found.sent.losses

        def ended(losses: Losses) -> None:
            self._report_losses(Losses([*given, *losses]))
            count_losses(self.telemetry, found.upstream, losses)
            if self.on_usage is not None:
                self.on_usage(found, stream.usage, stream.events)

        stream = SurfaceStream(found, surface, vault, self.on_loss, ended, self.secret)
        framing = adapter(surface).streams.framing
        exchange = found.sent.exchange
        kind = framing.array if exchange is not None and exchange.options.get("array") else framing.content_type
        headers = {"content-type": kind, "cache-control": "no-cache", "x-accel-buffering": "no"}
        headers |= loss_headers(given, found.hops, found.upstream)
        if found.request_id:
            headers |= header_safe({"x-request-id": found.request_id})
        return Reply(status=200, headers=headers, stream=stream, opened=found, losses=given)

    def error_reply(self, error: APIError, surface: str) -> Reply:
        """An error in the surface's own shape, from the provider's document where there is one."""
        fields = dict(error.error) or {"type": "not_found" if isinstance(error, NotFoundError) else "invalid_request"}
        if isinstance(error.message, Hint):
            fields["message"] = error.message.in_words(self.words)
        fields.setdefault("message", error.message)
        if error.status is not None:
            fields.setdefault("status", error.status)
        done = None
        own = error.protocol == surface and (error.status or 0) >= 400
        if own and isinstance(error.body, (dict, list)) and is_document(error.body):
            http = {"status": error.status, "headers": error.headers}
            try:
                done = convert(error.body, source=surface, target=surface, kind="error", http=http)
            except InvalidBody:
                pass  # its content is in the fields
        if done is None:
            done = write({"error": fields}, surface, "error")
        hops = tuple(each for each in error.hops if isinstance(each, Hop))
        reply = self._reply(done, Losses(), hops, status=error.status or 500)
        reply.content = dump_indented(done.value)
        if error.protocol:  # an upstream's: a refused key is not the client's
            reply.headers |= served(error.upstream[:200], error.protocol)
        again = Retry.is_transient(error)
        if again != (reply.status in _RETRIED or reply.status >= 500):
            # SDKs decide by the status without this header.
            reply.headers.setdefault("x-should-retry", str(again).lower())
        if error.request_id:
            reply.headers = header_safe({"x-request-id": error.request_id, **reply.headers})
        return reply

    def _left(self, request: Left) -> None:
        assert self.on_usage is not None
        self.on_usage(request, None, 0)

    def _report_losses(self, losses: Losses) -> None:
        if self.on_losses is not None and losses:
            self.on_losses(losses)


def _usage(found: Answer) -> Mapping[str, Any] | None:
    """The canonical usage of a response."""
    try:
        usage = getattr(read(found.value, found.upstream.protocol, found.kind), "usage", None)
    except InvalidBody:
        return None
    return None if usage is None else usage.model_dump(mode="json", exclude_unset=True)
