"""The catalog's entry for a model, declared field by field; a missing value is None, and never a guess.

The shapes are those of models.dev (https://models.dev/api.json). Every field is kept: unknown ones as extra attributes,
and a known one of an unexpected type in `.unread`, so that a newer catalog is read by an older library.
Prices are decimals, in US dollars for a million tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictInt,
    ValidationError,
)

__all__ = [
    "CatalogModel",
    "Experimental",
    "Interleaved",
    "Limit",
    "Modalities",
    "Mode",
    "ModeProvider",
    "Override",
    "Priced",
    "Prices",
    "Rates",
    "ReasoningOption",
    "Tier",
    "TierBound",
]


def _decimal(value: Any) -> Any:
    """The number as it was written: 0.1 is a tenth, not the binary fraction next to it."""
    if type(value) is int or type(value) is float:
        return Decimal(str(value))
    if value is None or isinstance(value, Decimal):
        return value
    raise ValueError("a price is a number")


def _number(value: Decimal | None) -> int | float | None:
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)


Price = Annotated[Decimal | None, BeforeValidator(_decimal), PlainSerializer(_number, when_used="json")]


class _Entry(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True, protected_namespaces=())


class Rates(_Entry):
    """Prices in US dollars for a million tokens; None is "not listed", which is not free.

    `reasoning` is listed where reasoning costs something else than other output, `input_audio` and `output_audio` where
    audio and text have different prices.
    """

    input: Price = None
    output: Price = None
    reasoning: Price = None
    cache_read: Price = None
    cache_write: Price = None
    input_audio: Price = None
    output_audio: Price = None


class TierBound(_Entry):
    """Where a tier begins: `type` is "context", `size` a number of input tokens that has to be exceeded."""

    type: str = "context"
    size: StrictInt


class Tier(Rates):
    """Other prices for the whole request once the input is longer than `tier.size` tokens."""

    tier: TierBound


class Prices(Rates):
    """The prices of a model, and those of long requests.

    `context_over_200k` is the older form of one tier, kept beside `tiers` even where the real bound is another: where
    both are listed `tiers` counts.
    """

    context_over_200k: Rates | None = None
    tiers: tuple[Tier, ...] = ()


class Limit(_Entry):
    """Token limits. `input` is listed where it is less than the context; 0 is the catalog's word for unknown."""

    context: StrictInt | None = None
    input: StrictInt | None = None
    output: StrictInt | None = None


class Modalities(_Entry):
    """Kinds of media in and out: text, image, audio, video, pdf."""

    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()


class Interleaved(_Entry):
    """Where a Chat server takes reasoning back between tool calls."""

    field: str | None = None


class Override(_Entry):
    """What differs from the provider for one model: client package (which implies a protocol), URL, settings."""

    npm: str | None = None
    api: str | None = None
    shape: str | None = None
    body: dict[str, Any] | None = None
    headers: dict[str, str] | None = None


class ModeProvider(_Entry):
    """What a mode adds to a request."""

    body: dict[str, Any] | None = None
    headers: dict[str, str] | None = None


class Mode(_Entry):
    """A way to run a model with prices of its own, such as `fast`."""

    cost: Rates | None = None
    provider: ModeProvider | None = None


class Experimental(_Entry):
    """What the catalog calls experimental."""

    modes: dict[str, Mode] = {}


class ReasoningOption(_Entry):
    """One control of reasoning: `type` is "toggle", "effort" (with `values`) or "budget_tokens" (with `min`, `max`)."""

    type: str
    values: tuple[str | None, ...] | None = None
    min: StrictInt | None = None
    max: StrictInt | None = None


class Priced(_Entry):
    """Where prices come from that are newer than the catalog's: since when they hold, and the page or commit."""

    since: str
    source: str


class CatalogModel(_Entry):
    """One model at one provider. Facts belong to the pair: the same name elsewhere may have other limits and prices.

    `provider_id` and `id` make up `ref` ("provider/model"); `provider` is the catalog's override of client and URL.
    `temperature`, `structured_output` and the like are None where the catalog has no value. `priced` is added here: it
    contains that `cost` is newer than the catalog, and where it was read. Limits are tokens, prices dollars for a
    million of them. https://models.dev

    >>> from unified_llm import models
    >>> model = models.get("anthropic/claude-opus-4-7")
    >>> model.ref, model.limit.output, model.temperature
    ('anthropic/claude-opus-4-7', 128000, False)
    """

    provider_id: str = Field(exclude=True)
    id: str
    name: str | None = None
    description: str | None = None
    family: str | None = None
    attachment: StrictBool | None = None
    reasoning: StrictBool | None = None
    reasoning_options: tuple[ReasoningOption, ...] | None = None
    tool_call: StrictBool | None = None
    interleaved: StrictBool | Interleaved | None = None
    structured_output: StrictBool | None = None
    temperature: StrictBool | None = None
    knowledge: str | None = None
    release_date: str | None = None
    last_updated: str | None = None
    modalities: Modalities = Modalities()
    open_weights: StrictBool | None = None
    cost: Prices | None = None
    limit: Limit = Limit()
    status: str | None = None
    provider: Override | None = None
    experimental: Experimental | None = None
    priced: Priced | None = None
    unread: dict[str, Any] = Field(default={}, exclude=True)

    @classmethod
    def read(cls, provider_id: str, raw: Mapping[str, Any]) -> CatalogModel:
        """The model of a catalog entry; a field that is not what it should be is kept in `.unread`."""
        given = {key: value for key, value in raw.items() if key not in ("provider_id", "unread")}
        try:
            return cls.model_validate({**given, "provider_id": provider_id})
        except ValidationError as error:
            strange = {str(each["loc"][0]) for each in error.errors(include_url=False)} - {"id"}
            unread = {key: given.pop(key) for key in [*given] if key in strange}
            return cls.model_validate({**given, "provider_id": provider_id, "unread": unread})

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        yield None, self.ref
        yield from ((name, value) for name in ("name", "status") if (value := getattr(self, name)) is not None)

    @property
    def ref(self) -> str:
        """`provider/model`, the name everything here goes by."""
        return f"{self.provider_id}/{self.id}"

    def to_json(self) -> dict[str, Any]:
        """The catalog's entry again, as it was."""
        return {**self.model_dump(mode="json", exclude_unset=True), **self.unread}

    def unsupported(self) -> list[str]:
        """The features that the catalog marks as unsupported by this model. Those without an entry are in `unknown()`.

        >>> from unified_llm import models
        >>> models.get("openai/o1-mini").unsupported()[:2]
        ['take files or images', 'call tools']
        """
        unsupported = [can for can, value in self._abilities() if value is False]
        for way, there in (("take", self.modalities.input), ("make", self.modalities.output)):
            if there:
                unsupported += [
                    f"{way} {kind}" for kind in ("text", "image", "audio", "video", "pdf") if kind not in there
                ]
        return unsupported

    def unknown(self) -> list[str]:
        """The features of this model without an entry in the catalog."""
        unknown = [can for can, value in self._abilities() if value is None]
        unknown += [] if self.cost and self.cost.input is not None else ["what it costs"]
        return unknown + ([] if self.limit.context else ["how much context it takes"])

    def _abilities(self) -> list[tuple[str, bool | None]]:
        return [
            ("take files or images", self.attachment),
            ("reason", self.reasoning),
            ("call tools", self.tool_call),
            ("hold to a schema", self.structured_output),
            ("be given a temperature", self.temperature),
        ]
