"""Which upstreams answer a request: the name of a model, or of an upstream, becomes an ordered list of upstreams.

A name is looked up in this order: `[models]` exactly, `[models]` with wildcards (the longest pattern first), an
upstream (`name` or `name/model`), a provider (`provider/model`), and the catalog for a plain name that one of the
providers serves. Only names lead anywhere: no request can name a URL.
"""

from __future__ import annotations

import difflib
import random
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...client.sending.effects import OnFailure
from ...client.upstreams.tokens import check_login
from ...client.upstreams.upstream import Upstream
from ...client.upstreams.upstream import upstream as make_upstream
from ...engine.registry import split
from ...foundation.errors import (
    UnifiedLLMError,
    UnknownProtocol,
    UnknownProvider,
)
from ...foundation.hints import NO_WORDS, rendered
from ...foundation.usage_errors import InvalidArgument, MissingExtra
from ...losses import Levels, check_levels
from ...models.catalog import current
from ...models.endpoints import provider, providers
from ...models.provider_table import aliases, table
from ..access.callers import Key
from ..access.prices import has_price
from ..configuration.config import Config, ConfigError, ModelRoute
from ..responses.replies import Refusal
from .cooldown import Cooldown

__all__ = ["Route", "Router", "providers_with_keys", "requested_model"]

Node = dict[str, Any]
_LONGEST = 200  # characters of a model's name, which is kept in logs and here
_MOST = 1_000  # upstreams of single models that are kept


class Route(NamedTuple):
    """Where a request goes: upstreams in the order in which they are tried, the levels of losses, and who is called
    with an upstream that failed."""

    upstreams: tuple[Upstream, ...]
    on_loss: Levels = "ignore"
    on_failure: OnFailure | None = None


class _Target(NamedTuple):
    """`route` is the name in `[models]` that leads to it."""

    upstream: str
    model: str | None
    route: str = ""


def requested_model(name: Any) -> str | None:
    """The name of the model in a request, None where it has none. Raises `Refusal` (400) for what is not a name."""
    if not isinstance(name, str) or not name:
        return None
    if len(name) > _LONGEST or not name.isprintable():
        reason = f"model must have at most {_LONGEST} printable characters"
        raise Refusal(400, "invalid_request", reason, code="invalid_model")
    return name


class Router:
    """The names of one configuration. `upstreams` are those of `[upstreams]`, by name."""

    def __init__(self, config: Config, upstreams: Mapping[str, Upstream] | None = None) -> None:
        self.upstreams: dict[str, Upstream] = {name: each.with_(label=name) for name, each in (upstreams or {}).items()}
        self.cooldown: Cooldown = Cooldown()
        names = config.gateway.providers
        self._by_keys = names is None
        self.providers: tuple[str, ...] = (
            providers_with_keys() if names is None else tuple(aliases().get(each, each) for each in names)
        )
        self.models: dict[str, ModelRoute] = config.models
        # More specific patterns first; the order of the file decides between equals.
        patterns = sorted((each for each in config.models if "*" in each), key=lambda each: -len(each))
        self._patterns = [
            (re.compile("(.*)".join(map(re.escape, each.split("*"))), re.DOTALL), each) for each in patterns
        ]
        self._made: OrderedDict[tuple[_Target, str], Upstream] = OrderedDict()
        unlisted = config.gateway.unlisted
        self._unlisted = unlisted if isinstance(unlisted, dict) else None
        # Keys with a budget: what has no price would not count against it.
        teams = {name for name, each in config.teams.items() if each.budget}
        counted = (name for name, each in config.keys.items() if each.budget or each.team in teams)
        self._counted = frozenset(counted if unlisted == "refuse" else ())
        self._resolved: OrderedDict[tuple[str | None, Key, str | None], tuple[Route, float]] = OrderedDict()
        problems = list(self._problems())
        if problems:
            raise ConfigError(problems)

    @classmethod
    def load(cls, config: Config, path: str | Path | None = None) -> Router:
        """The router of a configuration that was read from `path`. Raises `ConfigError`."""
        try:
            upstreams = Upstream.load(path) if path is not None else {}
        except (ValueError, UnifiedLLMError) as error:
            raise ConfigError([str(error)]) from None
        return cls(config, upstreams)

    def _problems(self) -> Iterator[str]:
        for name in self.providers:
            try:
                login = provider(name).login
                if login:
                    check_login(login)
            except (UnknownProvider, MissingExtra) as error:
                yield f"gateway.providers: {rendered(error, NO_WORDS)}"
        for name, upstream in self.upstreams.items():
            try:
                split(upstream.protocol)
            except (UnknownProtocol, ValueError) as error:
                yield f"upstreams.{name}.protocol: {error}"
        for name, route in self.models.items():
            try:
                check_levels(route.on_loss)
            except InvalidArgument as error:
                yield f"models.{name}.{error}"
            for target in route.to:
                first = target.partition("/")[0]
                if "{model}" in first or "*" in first:
                    continue
                if first not in self.upstreams and aliases().get(first, first) not in self.providers:
                    yield f"models.{name}: unknown upstream {first!r}{self._hint(first)}"

    def _hint(self, name: str, key: Key | None = None) -> str:
        if unserved := self._unserved(name):
            return unserved
        known = [each for each in (*self.upstreams, *self.providers) if key is None or key.may_reach(each)]
        near = difflib.get_close_matches(name, known, 1)
        return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known) or 'none'}"

    def _unserved(self, name: str) -> str:
        """What it takes to serve a known provider, as a hint; empty for other names and those that are served."""
        owner = aliases().get(name, name)
        if owner in self.providers or (owner not in table() and owner not in current().raw):
            return ""
        found = provider(owner)
        wanted = "add it to gateway.providers"
        if self._by_keys and found.key_env and not found.local and found.key() is None:
            wanted = f"set {found.key_env[0]}"
        return f"; provider {owner!r} is not served: {wanted}"

    def _not_found(self, model: str, key: Key) -> str:
        """The hint for a model that leads nowhere. It names nothing that the key may not request or reach."""
        first, slash, _ = model.partition("/")
        if slash:
            return self._unserved(first) or self._meant(first, key)
        listing = current().raw
        owner = next((each for each in table() if model in (listing.get(each) or {}).get("models", ())), None)
        if owner is not None:
            return self._unserved(owner)
        known = [each for each in (*self.models, *self.upstreams) if "*" not in each and self._is_open(each, key)]
        near = difflib.get_close_matches(model, known, 1)
        return f"; did you mean {near[0]!r}?" if near else "; name it provider/model"

    def _is_open(self, model: str, key: Key) -> bool:
        """Whether a key may request a name and reach one of its targets."""
        return key.may_request(model) and self.routes(model, key)

    def _meant(self, first: str, key: Key) -> str:
        """What a prefix that is neither an upstream nor a provider may have meant."""
        known = [each for each in (*self.upstreams, *self.providers) if key.may_reach(each)]
        near = difflib.get_close_matches(first, [*known, *table()], 1)
        if not near or near[0] in known:
            return f"; did you mean {near[0]!r}?" if near else ""
        return self._unserved(near[0])

    def routes(self, model: str, key: Key | None = None) -> bool:
        """Whether a requested name leads to an upstream that a key may reach, by configuration and catalog alone."""
        return any(key is None or key.may_reach(each.upstream) for each in self._targets(model)[0])

    def resolve(self, model: str | None, key: Key, named: str | None = None) -> Route:
        """The route of a requested model; `named` is the upstream that the request insists on.

        Raises `Refusal`: 400 without a model, 403 for what the key may not use, 404 for unknown names.
        """
        asked = (model, key, named)
        found = self._resolved.get(asked)
        if found is None:
            route, cooldown, drawn = self._resolve(model, key, named)
            found = route, cooldown
            if not drawn:
                self._resolved[asked] = found
                if len(self._resolved) > _MOST:
                    self._resolved.popitem(last=False)
        route, cooldown = found
        if not cooldown:
            return route
        on_failure = partial(self.cooldown.failed, seconds=cooldown)
        return route._replace(upstreams=self.cooldown.available(route.upstreams), on_failure=on_failure)

    def _resolve(self, model: str | None, key: Key, named: str | None) -> tuple[Route, float, bool]:
        """The route but for targets that failed lately, its cooldown, and whether its order was drawn by weights."""
        if model is None and named is None:
            raise Refusal(400, "invalid_request", "no model given; set model", code="missing_model")
        if model is not None and not key.may_request(model):
            raise Refusal(403, "permission", f"this API key may not use model {model!r}", code="model_not_allowed")
        on_loss: Levels = "ignore"
        cooldown, drawn = 0.0, False
        if named is not None:
            if named not in self.upstreams and named not in self.providers:
                reason = f"unknown upstream {named!r}{self._hint(named, key)}"
                raise Refusal(404, "not_found", reason, code="upstream_not_found")
            rest = (model or "").removeprefix(f"{named}/") or None
            targets = [_Target(named, rest)]
        else:
            assert model is not None
            targets, rules = self._targets(model)
            if rules is not None:
                on_loss, cooldown, drawn = rules.on_loss or "ignore", rules.cooldown, bool(rules.weights)
        allowed = [each for each in targets if key.may_reach(each.upstream)]
        if targets and not allowed:
            whose = ", ".join(dict.fromkeys(each.upstream for each in targets))
            raise Refusal(403, "permission", f"this API key may not use {whose}", code="upstream_not_allowed")
        # A named upstream that keeps a model of its own is what is requested, whatever model the request has. So is one
        # that is named without a model: it may have a model by default, or answer as an agent.
        own = model is None or getattr(self.upstreams.get(named or ""), "model", None)
        if named is not None and own and not key.may_request(named):
            raise Refusal(403, "permission", f"this API key may not use model {named!r}", code="model_not_allowed")
        if not allowed:
            hint = self._not_found(model, key) if model else ""
            raise Refusal(404, "not_found", f"model {model!r} not found{hint}", code="model_not_found")
        found = tuple(self._upstream(each, explicit=named is None) for each in allowed)
        if key.name in self._counted:
            found = tuple(filter(has_price, found))
            if not found:
                reason = f"this API key has a budget, and model {model or named!r} has no price"
                raise Refusal(403, "permission", reason, code="model_without_price")
        return Route(found, on_loss), cooldown, drawn

    def _targets(self, model: str) -> tuple[list[_Target], ModelRoute | None]:
        rules, named = self.models.get(model) if "*" not in model else None, model
        matched: tuple[str, ...] = ()
        if rules is None:
            for pattern, name in self._patterns:
                if (found := pattern.fullmatch(model)) is not None:
                    rules, named, matched = self.models[name], name, found.groups()
                    break
            else:
                return self._direct(model), None
        targets = (_filled(target, model, matched) for target in _drawn(rules))
        return [each._replace(route=named) for target in targets for each in self._direct(target)], rules

    def _direct(self, name: str) -> list[_Target]:
        """The target that a name is by itself."""
        first, slash, rest = name.partition("/")
        if first in self.upstreams:
            return [_Target(first, rest or None)]
        owner = aliases().get(first, first)
        if slash and rest and owner in self.providers:
            return [_Target(owner, rest)]
        listing = current().raw
        for each in self.providers:
            if name in (listing.get(each) or {}).get("models", ()):
                return [_Target(each, name)]
        return []

    def without_price(self, key: Key) -> list[str]:
        """The names of `[models]` and of upstreams that a key may request, and that lead to models without a price."""
        names = [*(each for each in self.models if "*" not in each), *self.upstreams]
        out = []
        for name in filter(key.may_request, names):
            targets = [each for each in self._targets(name)[0] if key.may_reach(each.upstream)]
            with suppress(Refusal):  # what leads nowhere costs nothing
                found = [self._upstream(each, explicit=True) for each in targets]
                lacking = [each for each in found if not has_price(each)]
                if any(each.model for each in lacking):
                    out.append(name)
                elif any(each.provider not in current().raw for each in lacking):
                    out.append(f"{name}/*")  # a server of which the catalog has no model
        return out

    def _upstream(self, target: _Target, *, explicit: bool) -> Upstream:
        """A target, with the prices that the configuration has for what is nowhere listed."""
        found = self._plain(target, explicit=explicit)
        price = self.models[target.route].price if target.route else None
        given = self._unlisted if price is None else price
        if given is None or has_price(found):
            return found
        return self._kept((target, f"priced {explicit}"), lambda: found.with_(price=given))

    def _plain(self, target: _Target, *, explicit: bool) -> Upstream:
        target = target._replace(route="")
        found = self.upstreams.get(target.upstream)
        label = f"{target.upstream}/{target.model}"
        if found is not None:
            # An upstream with a model of its own keeps it, unless the name is upstream/model.
            if target.model is None or (found.model is not None and not explicit):
                return found
            return self._kept((target, ""), lambda: found.with_(model=target.model, label=label))
        if target.model is None:
            raise Refusal(400, "invalid_request", "no model given; set model", code="missing_model")
        return self._kept((target, ""), lambda: make_upstream(label).with_(label=label))

    def _kept(self, which: tuple[_Target, str], make: Callable[[], Upstream]) -> Upstream:
        found = self._made.get(which)
        if found is None:
            try:
                found = make()
            except (UnifiedLLMError, ValueError) as error:
                reason = rendered(error, NO_WORDS)
                raise Refusal(404, "not_found", reason, code="model_not_found") from None
            self._made[which] = found
            if len(self._made) > _MOST:
                self._made.popitem(last=False)
        return found


def _drawn(rules: ModelRoute) -> list[str]:
    """The targets in the order in which they are tried: as listed, or drawn by their weights."""
    if not rules.weights:
        return rules.to
    # Efraimidis and Spirakis (2006): the largest u ** (1 / w) comes first in proportion to its weight.
    draws = [random.random() ** (1 / weight) if weight else -1.0 for weight in rules.weights]
    return [target for _, target in sorted(zip(draws, rules.to), key=lambda pair: -pair[0])]


def _filled(target: str, model: str, matched: Sequence[str]) -> str:
    """A target with the requested name for `{model}` and what each `*` matched for its own.

    >>> _filled("vllm/*", "team/qwen3", ["qwen3"]), _filled("vllm/{model}", "qwen3", [])
    ('vllm/qwen3', 'vllm/qwen3')
    """
    pieces = target.split("*")
    texts = [*matched[: len(pieces) - 1], ""]
    return "".join(piece.replace("{model}", model) + text for piece, text in zip(pieces, texts))


def providers_with_keys() -> tuple[str, ...]:
    """The offline provider, and every provider whose API key is set in the environment."""
    order = {name: place for place, name in enumerate(table())}
    known = sorted(providers(), key=lambda each: order.get(each.id, len(order)))
    return tuple(each.id for each in known if each.endpoints and (each.transports or each.key() is not None))
