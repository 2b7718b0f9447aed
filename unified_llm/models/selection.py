"""Which of a provider's protocols to use: the one with the least losses, for this model and this request.

Every protocol that serves the model is tried on the request (the dry run of `convert`); what would be lost is
weighed, and so is what is known of the endpoint (beta, a translation layer, how reasoning returns). The weights are
data (`losses/weights.toml`, `data/weights.toml`), the order of our table decides between equals, and no model's name is
looked at in code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..engine.pairs.reading import Reader
from ..engine.registry import adapter, split
from ..foundation import packaged
from ..foundation.errors import CapabilityRefused, UnknownModel, UnknownProtocol, UnknownProvider
from ..foundation.hints import Code, Each, Either, Give, Hint
from ..foundation.json_codec import load
from ..foundation.usage_errors import InvalidArgument
from ..losses import Loss, Losses
from ..losses.defaults import needs_no_field
from ..losses.severity import weight_of
from ..passes.convert import preview, write
from ..passes.route import kind_of
from .catalog import current
from .endpoints import Endpoint, Provider, provider
from .profiles import profile

if TYPE_CHECKING:
    from .entries import CatalogModel

__all__ = ["Candidate", "ProtocolChoice", "Reason", "select"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason against a protocol, with its weight. Weight 0 is a remark."""

    weight: float
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One protocol a provider offers, weighed. `impossible` is the reason why it cannot be used at all."""

    endpoint: Endpoint
    reasons: tuple[Reason, ...] = ()
    losses: Losses = field(default_factory=Losses)
    impossible: str = ""

    @property
    def weight(self) -> float:
        """The sum of the weights of its reasons."""
        return sum(reason.weight for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class ProtocolChoice:
    """The chosen endpoint, and why: `ranked` holds every candidate, best first.

    `model` is the catalog's entry, None where it does not list the model; `provider` and `model_id` are the name's
    two halves, `forced` is True where the caller chose. Made by `select`.

    >>> from unified_llm import models
    >>> choice = models.select("openai/gpt-5.5")
    >>> choice.protocol, choice.provider.id, choice.model_id, len(choice.ranked), choice.forced
    ('openai-responses', 'openai', 'gpt-5.5', 2, False)
    """

    provider: Provider
    model_id: str
    model: CatalogModel | None
    ranked: tuple[Candidate, ...]
    forced: bool = False

    @property
    def endpoint(self) -> Endpoint:
        """Where to send the request."""
        return self.ranked[0].endpoint

    @property
    def protocol(self) -> str:
        """The chosen protocol."""
        return self.endpoint.protocol

    @property
    def target(self) -> str:
        """The same with its dialect, as `convert(target=...)` takes it."""
        return self.endpoint.target

    @property
    def losses(self) -> Losses:
        """What the request would lose there; empty without a request."""
        return self.ranked[0].losses

    def explain(self) -> str:
        """The choice and its reasons, for people: a line a candidate, best first, and the reasons against it."""
        known = "" if self.model else ", which the catalog does not list"
        lines = [f"{self.provider.id}/{self.model_id}{known}: {self.target} at {self.endpoint.base_url}"]
        if self.forced:
            lines.append("  the protocol was forced; no other was considered")
        for place, each in enumerate(self.ranked, 1):
            name = f"{place}. {each.endpoint.protocol}"
            if each.impossible:
                lines.append(f"  {name}: impossible, {each.impossible}")
                continue
            told = "" if each.reasons else ", no known losses"
            lines.append(f"  {name}: penalty {each.weight:g}{told}")
            lines += [f"       {reason.weight:>4g}  {reason.text}" for reason in each.reasons]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "provider": self.provider.id,
            "model": self.model_id,
            "listed": self.model is not None,
            "forced": self.forced,
            "target": self.target,
            "base_url": self.endpoint.base_url,
            "ranked": [
                {
                    "protocol": each.endpoint.protocol,
                    "weight": each.weight,
                    "impossible": each.impossible,
                    "reasons": [{"weight": reason.weight, "text": reason.text} for reason in each.reasons],
                }
                for each in self.ranked
            ],
        }


def select(
    provider_id: str,
    model: str | None = None,
    request: Any = None,
    *,
    source: str | None = None,
    force_protocol: str | None = None,
    base_url: str | None = None,
    reasoning: bool | None = None,
    thorough: bool = True,
) -> ProtocolChoice:
    """Choose the protocol for a model at a provider: the offered one that would lose least.

    `provider_id` is a provider, or "provider/model" in one. `request` is weighed when given: a wire document of the
    protocol `source`, or a canonical request without one. Without a request the model decides: one that reasons goes
    where its reasoning can return; whether it does is known from the catalog, else from its profile, unless
    `reasoning` is set. Of protocols with as little against them `source` is chosen, whose answers need no conversion
    either, else the first of the provider's. `force_protocol` (with a dialect behind a colon if needed) overrides all
    of it; for a protocol the table does not have there, and for an unknown provider, pass `base_url` too. Without
    `thorough` the first protocol that has nothing against it is chosen, and those behind it, which cannot be better,
    are not weighed.

    A model that is not in the catalog is not an error. Raises `UnknownProvider`, `UnknownProtocol`,
    `CapabilityRefused` when every offered protocol refuses the request, and `ValueError` when no protocol is known
    to serve the model.

    >>> from unified_llm import models
    >>> models.select("openai/gpt-5.5").protocol, models.select("mistral/mistral-small-latest").protocol
    ('openai-responses', 'openai-chat')
    """
    if model is None:
        provider_id, _, model = provider_id.partition("/")
        if not model:
            raise InvalidArgument("name a model: select('provider/model') or select('provider', 'model')")
    if force_protocol is not None and base_url is not None:
        return _custom(provider_id, model, force_protocol, base_url)
    owner = provider(provider_id, model=model)
    known = _listed(owner, model)
    offered = owner.serving(model)
    if force_protocol is not None:
        return _forced(owner, model, known, force_protocol)
    if not offered:
        # `force_protocol` is an argument of this function alone.
        way = Either((Code("pass force_protocol= and base_url="), Give.of("protocol", "base_url")))
        note = f" ({owner.note})" if owner.note else ""
        reason = f"no protocol is known to serve {owner.id}/{model}"
        raise InvalidArgument(Hint(reason, Each((way,), before="; "), note))
    reasons = _thinks(known, model) if reasoning is None else reasoning
    asked = _canonical(request, source) if request is not None else {}
    weighed: list[Candidate] = []
    own = source.partition(":")[0] if source is not None else ""
    for each in sorted(offered, key=lambda each: each.protocol != own):
        weighed.append(_weigh(each, model, reasons, request, source, asked))
        if not thorough and not weighed[-1].impossible and not weighed[-1].weight:
            break
    ranked = sorted(weighed, key=lambda each: (bool(each.impossible), each.weight))
    if ranked[0].impossible:
        told = "; ".join(f"{each.endpoint.protocol}: {each.impossible}" for each in ranked)
        raise CapabilityRefused("", "native.field", f"no protocol of {owner.id} can carry this request: {told}")
    return ProtocolChoice(owner, model, known, tuple(ranked))


def _listed(owner: Provider, model: str) -> CatalogModel | None:
    if owner.transports:
        return None
    try:
        return current().get(f"{owner.id}/{model}")
    except (UnknownModel, UnknownProvider):
        return None


def _thinks(known: CatalogModel | None, model: str) -> bool:
    if known is not None and known.reasoning is not None:
        return known.reasoning
    found = profile(model)
    return found.known and found.reasoning.thinks


def _forced(owner: Provider, model: str, known: CatalogModel | None, wanted: str) -> ProtocolChoice:
    protocol, _, dialect = wanted.partition(":")
    split(wanted)
    # Where several endpoints use it, the one that serves the model; else any: forcing is the caller's to answer for.
    same = [each for each in owner.endpoints if each.protocol == protocol]
    if same:
        best = min(same, key=lambda each: not each.serves(model))
        return ProtocolChoice(
            owner, model, known, (Candidate(replace(best, dialect=dialect or best.dialect)),), forced=True
        )
    known_ones = ", ".join(owner.protocols) or "none"
    way = Each((Hint(Give.of("base_url"), " to use it anyway"),), before="; ")
    reason = f"no known {protocol} endpoint for {owner.id}; known: {known_ones}"
    raise InvalidArgument(Hint(reason, way))


def _custom(provider_id: str, model: str, wanted: str, base_url: str) -> ProtocolChoice:
    """Any server at a base URL, known or not. A known provider keeps its login."""
    protocol, _, dialect = wanted.partition(":")
    split(wanted)
    try:
        owner = provider(provider_id, model=model)
        auth = next((each.auth for each in owner.endpoints if each.protocol == protocol), None)
    except UnknownProvider:
        owner, auth = Provider(id=provider_id, name=provider_id, endpoints=()), None
    if auth is None:
        header, value = adapter(protocol).auth[0] if adapter(protocol).auth else ("authorization", "Bearer {}")
        auth = (header, value.replace("{}", "{key}"))
    endpoint = Endpoint(protocol=protocol, base_url=base_url, dialect=dialect, auth=auth)
    return ProtocolChoice(owner, model, _listed(owner, model), (Candidate(endpoint),), forced=True)


def _weigh(
    endpoint: Endpoint, model: str, reasons: bool, request: Any, source: str | None, asked: Mapping[str, Any]
) -> Candidate:
    try:
        losses = Losses() if request is None else _losses(request, source, endpoint.target, model)
    except (UnknownProtocol, CapabilityRefused) as error:
        return Candidate(endpoint, impossible=str(error))
    against = [*_known(endpoint, reasons), *_refused(endpoint, asked, losses), *_lost(losses)]
    return Candidate(endpoint, tuple(sorted(against, key=lambda each: -each.weight)), losses)


def _losses(request: Any, source: str | None, target: str, model: str) -> Losses:
    if source is None:
        return write(request, target, model=model).losses
    return preview(request, source=source, target=target, model=model)


def _known(endpoint: Endpoint, reasons: bool) -> list[Reason]:
    """The table's reasons against an endpoint, whatever the request."""
    weights = _weights()
    found = []
    if endpoint.status:
        found.append(Reason(weights["endpoint"].get(endpoint.status, 0), f"it is {endpoint.status}"))
    if endpoint.layer:
        found.append(Reason(weights["endpoint"]["layer"], "the provider translates it to another protocol of its own"))
    if reasons and endpoint.reasoning and weights["reasoning"][endpoint.reasoning]:
        found.append(Reason(weights["reasoning"][endpoint.reasoning], _RETURNS[endpoint.reasoning]))
    return found


_RETURNS = {
    "field-sealed": "reasoning returns encrypted, in one list for each message",
    "items": "reasoning returns in clear, without proof",
    "field": "reasoning returns in clear, in one field a message and not in its place",
    "tags": "reasoning returns inside the text",
    "none": "reasoning does not return for the next turn",
}


def _refused(endpoint: Endpoint, asked: Mapping[str, Any], losses: Losses) -> list[Reason]:
    """The fields of a request that this endpoint is known to refuse or ignore, beside those that do not get there."""
    from ..types._tables import CAPABILITY

    fields = CAPABILITY["request"]
    found = []
    for name, word in endpoint.cannot.items():
        capability = fields.get(name, "native.field")
        # A field that is absent, null, empty or false requests nothing.
        if asked.get(name) and losses.survives(capability):
            found.append(Reason(_weight(Loss(f"/{name}", capability, "lost")), f"{capability}: {name} ({word})"))
    return found


def _lost(losses: Losses) -> list[Reason]:
    kinds: dict[tuple[str, str], list[Loss]] = {}
    for loss in losses:
        kinds.setdefault((loss.capability, loss.fate), []).append(loss)
    found = []
    for (capability, fate), alike in kinds.items():
        worst = max(alike, key=_weight)
        weight = _weight(worst)
        if weight:
            often = f", {len(alike)} times" if len(alike) > 1 else ""
            found.append(Reason(weight, f"{capability} {fate} ({worst.path}{often})"))
    return found


def _weight(loss: Loss) -> float:
    # A default of the target, or a field it does not need, does not count against a protocol.
    return 0.0 if needs_no_field(loss) else weight_of(loss)


@lru_cache(1)
def _weights() -> dict[str, Any]:
    return packaged.table("models/data/weights")


def _canonical(request: Any, source: str | None) -> Mapping[str, Any]:
    """The request's canonical settings. Not validated: what `convert` takes is taken here."""
    if source is None:
        found = load(request)
    else:
        found_adapter, dialect = split(source)
        reader = Reader(found_adapter, dialect=dialect, facing="client")
        found = reader.root(kind_of(found_adapter, "request").read, load(request))
    return found if isinstance(found, dict) else {}
