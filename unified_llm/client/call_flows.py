"""What `Client` and `AsyncClient` share: every flow from a call to its result, as generators of effects.

Nothing here waits or connects. The two clients differ in who drives these flows (`flows.py`), and in nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ..engine.registry import split
from ..foundation.errors import (
    InvalidBody,
    InvalidRequestError,
    NotFoundError,
    UnknownModel,
    UnknownProvider,
)
from ..foundation.exchange import Exchange
from ..foundation.hints import Argument, Code, Each, Either, Give, Hint
from ..foundation.secret import Secret, SecretLike
from ..losses import Levels, Losses, check_levels, enforce
from ..provenance.opaque import process_secret
from ..provenance.vault import Vault
from .history import Segment
from .inputs.argument_types import check_arguments
from .requests import Call, call_of, traveling
from .results import Made, ModelInfo, Result, TokenCount, items_of, result_of
from .sending.advice import owner_of
from .sending.deadline import Deadline
from .sending.decoding import read_answer
from .sending.effects import Answer, Ask
from .sending.flows import Send, Steps
from .sending.model_list import merged
from .sending.retry import Retry
from .state.store import Store
from .state.stored_responses import keep, resolve
from .stream_results import Opening
from .structured.formats import format_of
from .structured.strategies import STRATEGIES, Parser, choose
from .telemetry.operation import SILENT, Telemetry
from .token_estimate import estimate
from .upstreams.logins import credited
from .upstreams.protocol_selection import settled
from .upstreams.references import AT_MODEL, is_provider, respelled, taken_apart
from .upstreams.upstream import Upstream
from .upstreams.upstream import upstream as choose_upstream

__all__ = ["Core"]

Node = dict[str, Any]


class Core:
    """The settings of a client, and its flows."""

    def __init__(
        self,
        upstream: Any = None,
        *,
        model: Any = None,
        models: tuple[Any, ...] = (),
        protocol: str | None = None,
        api_key: Any = None,
        base_url: str | None = None,
        on_loss: Levels = "ignore",
        vault: Vault | None = None,
        secret: SecretLike = None,
        timeout: Any = None,
        total_timeout: float | None = None,
        retry: Retry | None = None,
        headers: Mapping[str, str] | None = None,
        store: Store | None = None,
        telemetry: Telemetry = SILENT,
    ) -> None:
        self.model = model
        self.models = models
        self.protocol = protocol
        self.api_key = api_key
        self.base_url = base_url
        check_levels(on_loss)
        self.on_loss = on_loss
        self.vault = vault
        self.timeout = timeout
        self.secret: Secret | None = process_secret() if secret is None else Secret.of(secret)
        self.retry: Retry = retry if retry is not None else Retry()
        self.headers: Mapping[str, str] = headers or {}
        Deadline.of(total_timeout)
        self.total_timeout = total_timeout
        self.store = store
        self.telemetry = telemetry
        self._known: dict[Any, Upstream] = {}
        self._ref = upstream
        self.upstream: Upstream | None = None if upstream is None else self._upstream(upstream, None)

    def shown(self) -> list[str]:
        """The arguments of a client that name its upstream and models, without credentials."""
        base_url = taken_apart(self.base_url).base if self.base_url else None
        named = {"model": self.model, "models": self.models, "protocol": self.protocol, "base_url": base_url}
        upstream = self.upstream.base_url if self.upstream is not None else None
        if isinstance(self._ref, str) and "://" not in self._ref:
            upstream = self._ref
        return [
            *([repr(upstream)] if upstream else []),
            *(f"{name}={value!r}" for name, value in named.items() if value),
        ]

    # ---- upstreams --------------------------------------------------------------------------------------------------

    def upstreams(self, call: Call) -> tuple[Upstream, ...]:
        """The upstreams of a call, in order, each in the protocol that carries most of it.

        Raises `InvalidBody` where none is named.
        """
        found = self._entitled(self._upstreams_for(call), call)
        if call.body.keys() <= {"model"}:
            return found
        return tuple(settled(each, call.body) for each in found)

    def _upstreams_for(self, call: Call) -> tuple[Upstream, ...]:
        ref = self._ref if call.upstream is None else call.upstream
        own = call.protocol or call.base_url or call.upstream is not None
        default = self.upstream if ref is None or not own else self._upstream(ref, call)
        names = call.names() or (((self.model, *self.models)) if self.model else self.models)
        if default is not None and call.body.get("agent") and not call.names():
            # An agent stands in the place of a model.
            return (default.with_(model=None),)
        if default is not None:
            if not names:
                return (default,)
            # A plain name is a model of the upstream at hand; anything else contains its own address.
            plain = call.upstream is not None
            return tuple(
                default.with_(model=_bare(each, default))
                if isinstance(each, str) and (plain or _is_plain(each, default))
                else self._named(each, call)
                for each in names
            )
        if not names:
            given = Each((Give.of(model="provider/model"), Code("create Client(upstream=...)")), " or ", before="; ")
            raise InvalidBody(AT_MODEL, Hint("no model given", given))
        return tuple(self._named(each, call) for each in names)

    def _named(self, name: Any, call: Call) -> Upstream:
        if isinstance(name, str) and "/" not in name and (call.base_url or self.base_url):
            # The user's own server at a URL, and a model on it.
            return self._upstream(call.base_url or self.base_url, call).with_(model=name)
        if isinstance(name, str) and "/" not in name:
            meant = respelled(name) or f"{owner_of(name) or 'provider'}/{name}"
            way = Either((Code(" or pass Client(upstream=...)"), Hint(", or ", Give.of("base_url"))))
            reason = Hint(f"{name!r} has no provider prefix; use {meant!r}", way)
            if is_provider(name):
                ways = Each((f"use '{name}/MODEL'", Hint(Argument("upstream", name), " with a model")))
                reason = Hint(f"{name!r} is a provider, not a model; ", ways)
            raise InvalidBody(AT_MODEL, reason)
        return self._upstream(name, call)

    def _upstream(self, ref: Any, call: Call | None) -> Upstream:
        protocol = (call.protocol if call else None) or self.protocol
        options: dict[str, Any] = {"protocol": protocol}
        if isinstance(ref, str) and "://" not in ref:
            options["base_url"] = (call.base_url if call else None) or self.base_url
        if isinstance(ref, Upstream):
            return choose_upstream(ref, **options)  # equal ones may have other credentials
        try:
            at = (ref, protocol, options.get("base_url"))
            known = self._known.get(at)
        except TypeError:
            return choose_upstream(ref, **options)
        if known is None:
            known = self._known[at] = choose_upstream(ref, **options)
        return known

    # ---- credentials, each for the origin it was given for -----------------------------------------------------------

    def _entitled(self, found: tuple[Upstream, ...], call: Call) -> tuple[Upstream, ...]:
        """The upstreams, each with the credentials that were given for it.

        What a call gives (`api_key`, `extra_headers`, `extra_query`) is for the origin of its first upstream. What
        the client was given is for the origin of the upstream or the first model that the client names; one that
        names none means the first upstream of each call.
        """
        if not (self.api_key or self.headers or call.api_key or call.headers or call.query):
            return found
        first = found[0].origin
        home = self._anchor() or first
        mine = (credited(each, each.origin == home, self.api_key, self.headers, {}) for each in found)
        return tuple(credited(each, each.origin == first, call.api_key, call.headers, call.query) for each in mine)

    def _anchor(self) -> str | None:
        """The origin that the client's own credentials are for; None where the client names none."""
        if self.upstream is not None:
            return self.upstream.origin
        named = next((each for each in (self.model, *self.models) if each is not None), None)
        if named is not None:
            return self._named(named, Call(body={})).origin
        return self._upstream(self.base_url, None).origin if self.base_url else None

    # ---- responses --------------------------------------------------------------------------------------------------

    def call(self, given: Mapping[str, Any]) -> Call:
        """The call for a method's arguments. Its total time begins here."""
        call = call_of(given)
        call.deadline = Deadline.of(self.total_timeout if call.total_timeout is None else call.total_timeout)
        return call

    def _plain(self, kind: str, http: Mapping[str, Any], *, stream: bool = False) -> Ask:
        """A request without a body."""
        deadline = Deadline.of(self.total_timeout)
        return Ask(
            kind=kind, http=http, stream=stream, timeout=self.timeout, deadline=deadline, telemetry=self.telemetry
        )

    def _asking(self, call: Call, *, kind: str = "request", stream: bool = False) -> tuple[Ask, tuple[Upstream, ...]]:
        upstreams = self.upstreams(call)
        if kind == "request":
            resolve(self.store, call, upstreams)
        leaving = traveling(call, upstreams)
        levels = self.on_loss if call.on_loss is None else call.on_loss
        enforce(call.losses, levels)
        body = {name: value for name, value in leaving.items() if name != "stream"}
        body.pop("model", None)
        if upstreams[0].model is not None:
            body["model"] = upstreams[0].model
        if stream:
            body["stream"] = True
        ask = Ask(
            body=body,
            kind=kind,
            stream=stream,
            on_loss=levels,
            vault=self.vault,
            secret=self.secret,
            timeout=call.timeout if call.timeout is not None else self.timeout,
            deadline=call.deadline,
            at=int(time.time()),
            answer_id=uuid4().hex,
            previous=call.previous,
            losses=call.losses,
            telemetry=self.telemetry,
        )
        if call.extra_body:
            upstreams = tuple(each.with_(fixed={**each.fixed, **call.extra_body}) for each in upstreams)
        return ask, upstreams

    def create(self, call: Call) -> Steps[Result]:
        """One request, one answer."""
        answer: Answer = yield Send(*self._asking(call))
        return self.result(answer, call, call.body)

    def result(
        self, answer: Answer, call: Call | None, body: Node, kind: str = "response", exchange: Exchange | None = None
    ) -> Result:
        """The result of a whole answer; `exchange` is that of an earlier request, which it is the answer to."""
        upstream, exchange = answer.upstream, exchange or answer.sent.exchange
        try:
            node = read_answer(
                answer.value,
                upstream.protocol,
                kind,
                exchange=exchange,
                provider=upstream.provider,
                scope=upstream.scope,
                http=answer.http,
            )
            if call is not None:
                keep(self.store, call, node, upstream)
                body = call.body
            return result_of(node, self._made(answer, call, body, node, answer.value))
        except InvalidBody as error:
            failure = answer.unread(error)
        raise failure

    def _made(self, answer: Any, call: Call | None, body: Node, node: Node, raw: Any) -> Made:
        before = call.segments if call is not None else ()
        count = len(items_of(body.get("input"))) - sum(each.length for each in before)
        turn = Segment(count + len(node.get("output") or ()), answer.upstream)
        mine = call.losses if call is not None else Losses()
        return Made(
            upstream=answer.upstream,
            request=body,
            losses=Losses([*mine, *answer.sent.losses]),
            exchange=answer.sent.exchange,
            raw=raw,
            hops=answer.hops,
            request_id=answer.request_id,
            headers=answer.headers,
            segments=(*before, turn),
        )

    def open(self, call: Call) -> Steps[Opening]:
        """One request, an answer that is streamed."""
        stream = yield Send(*self._asking(call, stream=True))
        return Opening(self, stream, call, call.body)

    def parser(
        self, call: Call, text_format: Any, strategy: str = "auto", name: str | None = None, *, loop: bool = False
    ) -> Parser:
        """Put a request for structured output into a call; returns what reads the answer."""
        found = format_of(text_format, name)
        if strategy != "auto" and strategy not in STRATEGIES:
            raise InvalidBody("/strategy", f"unknown strategy {strategy!r}; use auto, {', '.join(STRATEGIES)}")
        if strategy == "auto":
            asked = replace(call, body={**call.body, "text": {"format": found.native()}})
            strategy = choose(found, self.upstreams(asked)[0], call.body.get("tools"))
        parser = Parser(found, strategy)
        parser.ask(call, loop=loop)
        return parser

    # ---- models and tokens ------------------------------------------------------------------------------------------

    def listing(self, named: Any, limit: int | None) -> Steps[list[ModelInfo]]:
        """The models that upstreams list: those that are named, else the client's own."""
        check_arguments({"limit": limit})
        names = [None] if named is None else list(named) if isinstance(named, (list, tuple)) else [named]
        calls = [self.call({} if each is None else {"upstream": each}) for each in names]
        upstreams = [each for call in calls for each in self.upstreams(call)]
        found, _ = yield from merged(upstreams, self._sent, limit)
        return [ModelInfo(str(node.get("id")), upstream.provider, node) for upstream, node in found]

    def _sent(self, ask: Ask, upstream: Upstream) -> Steps[Answer]:
        answer: Answer = yield Send(self._plain(ask.kind, ask.http), (upstream,))
        return answer

    def count_tokens(self, call: Call) -> Steps[TokenCount]:
        """How many tokens a request takes: counted by the provider where it counts, else estimated."""
        upstream = self.upstreams(call)[0]
        why = f"{split(upstream.protocol)[0].title} has no token-count route; the count is estimated"
        if "count_tokens_request" in split(upstream.protocol)[0].kinds:
            ask, _ = self._asking(call, kind="count_tokens_request")
            try:
                answer: Answer = yield Send(ask, (upstream,))
                node = read_answer(answer.value, upstream.protocol, "count_tokens_response")
                return TokenCount(int(node["input_tokens"]), False, upstream.name)
            except (NotFoundError, InvalidRequestError, KeyError) as error:
                # A server may support a part of its protocol only.
                why = f"token count by {upstream.name} failed, the count is estimated: {error}"
        return TokenCount(estimate(call.body), True, why)


def _bare(name: Any, upstream: Upstream) -> str:
    text = str(name)
    whose = f"{upstream.provider}/"
    return text.removeprefix(whose) if upstream.provider else text


def _is_plain(name: str, upstream: Upstream) -> bool:
    """Whether a name is a model of the upstream at hand: without a provider, with that very one, or listed there."""
    if "://" in name:
        return False
    # Names of models on an unknown server may hold anything.
    if "/" not in name or upstream.provider is None or name.startswith(f"{upstream.provider}/"):
        return True
    from ..models.catalog import get

    try:
        return bool(get(f"{upstream.provider}/{name}"))
    except (UnknownModel, UnknownProvider):
        return False
