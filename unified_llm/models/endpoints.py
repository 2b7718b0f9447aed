"""Which protocols a provider serves, where, and how one logs in: a dated table of our own (`data/providers.toml`).

Resolution order: our table; else the catalog's entry for the model's client package, URL and shape; else of the
provider's. The catalog implies one protocol at most, the table has them all. Model names are matched by data alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from ..engine.registry import protocols
from ..foundation.errors import UnknownProvider
from ..foundation.hints import Code, Each, Either, Give, Hint
from ..foundation.urls import filled
from ..foundation.usage_errors import InvalidArgument
from .catalog import Catalog, current, near_providers
from .provider_table import aliases, data, table

__all__ = ["Endpoint", "Provider", "by_preference", "provider", "providers"]

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One protocol as one provider serves it.

    `base_url` stands before the protocol's routes and may hold `{names}` that `variables` fills from the environment;
    `hosts` are the exceptions among the hosts that come of it.
    `auth` is a header and its value, with `{key}` for the key; empty for none. `only` and `excluded` are globs over
    model ids. `reasoning` is how reasoning returns for the next turn (`sealed`, `field-sealed`, items, field, tags,
    none; "" where it is not documented), `state` whether responses are kept (kept, none, ""), `status` beta or
    deprecated, `layer` that the provider translates this protocol to another of its own, `cannot` request fields it
    refuses or ignores, with the word; `fixed` and `omitted` are fields that it requires always
    and refuses always, and `moved` are headers that it takes as a field of the body, a list.
    `needs` is a row of `logins` whose library reads its streams.

    >>> from unified_llm import models
    >>> endpoint = models.provider("groq").endpoints[0]
    >>> endpoint.target, endpoint.url("some-model")
    ('openai-responses:groq', 'https://api.groq.com/openai/v1/responses')
    """

    protocol: str
    base_url: str
    dialect: str = ""
    path: str = ""
    stream_path: str = ""
    auth: tuple[str, ...] = ()
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    reasoning: str = ""
    state: str = ""
    status: str = ""
    layer: bool = False
    cannot: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    omitted: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    note: str = ""

    @property
    def target(self) -> str:
        """What `convert(target=...)` takes: the protocol, with the dialect behind a colon if the adapter has it."""
        from ..engine.registry import adapter

        known = self.dialect and self.dialect in adapter(self.protocol).dialects
        return f"{self.protocol}:{self.dialect}" if known else self.protocol

    def serves(self, model: str) -> bool:
        """Whether a model is served here, according to the table."""
        return (not self.only or _any(model, self.only)) and not _any(model, self.excluded)

    def url(self, model: str, *, stream: bool = False, **variables: str) -> str:
        """The URL of a request for `model`, without the query that `convert(...).http` may add.

        Variables that are not given come from the environment.

        Raises `ValueError` naming the variable and where it is looked for when one is missing.

        >>> from unified_llm import models
        >>> models.provider("azure").endpoints[0].url("my-deployment", resource="r")
        'https://r.openai.azure.com/openai/v1/responses'
        """
        base = self.base(**variables)
        path = (stream and self.stream_path) or self.path or self._route(stream)
        return f"{base.rstrip('/')}/{filled(path.lstrip('/'), model=model)}"

    def base(self, **variables: str) -> str:
        """The base URL, its variables filled in; raises as `url` does."""
        base = self.base_url
        for name, where in self.variables.items():
            value = variables.get(name) or next((found for each in where if (found := os.environ.get(each))), "")
            if f"{{{name}}}" in base and not value:
                given = Either((Code("pass it"), Hint(Give.of("variables"), f".{name}")))
                ways = Each((given, f"set {' or '.join(where)}"))
                raise InvalidArgument(Hint(f"{base} needs {name}: ", ways))
            base = base.replace(f"{{{name}}}", value)
        for implied, named in self.hosts.items():
            base = base.replace(f"//{implied}", f"//{named}")
        return base

    def _route(self, stream: bool) -> str:
        from ..engine.registry import adapter

        routes = (each for each in adapter(self.protocol).routes if each.kind == "request" and each.method == "POST")
        return next(each.path for each in routes if each.stream in (None, stream))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider: the endpoints it serves in the order it recommends them, and where a key is looked for.

    `listed` is whether the catalog lists its models, `known` whether our own table has it; `local` a server
    of the caller. `login` is a row of `logins`, for a cloud that has no key to keep; `transports`
    ("module:function") gives an HTTP transport that answers in this process, where nothing is sent anywhere.

    >>> from unified_llm import models
    >>> models.provider("anthropic").key_env, models.provider("anthropic").protocols[0]
    (('ANTHROPIC_API_KEY',), 'anthropic-messages')
    """

    id: str
    name: str
    endpoints: tuple[Endpoint, ...]
    key_env: tuple[str, ...] = ()
    doc: str = ""
    aliases: tuple[str, ...] = ()
    listed: bool = False
    known: bool = False
    local: bool = False
    login: str = ""
    transports: str = ""
    sources: tuple[str, ...] = ()
    note: str = ""
    cache_write: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols it serves, each once."""
        return tuple(dict.fromkeys(each.protocol for each in self.endpoints))

    def key(self) -> str | None:
        """The key from the environment: the first variable of `key_env` that is set."""
        return next((found for each in self.key_env if (found := os.environ.get(each))), None)

    def serving(self, model: str) -> tuple[Endpoint, ...]:
        """The endpoints that serve a model, according to the data."""
        return tuple(each for each in self.endpoints if each.serves(model))


def provider(name: str, *, model: str | None = None, known: Catalog | None = None) -> Provider:
    """The provider of that name or alias.

    `model` matters where the catalog overrides client or URL for a single model and the provider table has no row.
    `known` is the catalog to look in (default: the one in use). Raises `UnknownProvider` with the names that may be
    meant.

    >>> from unified_llm import models
    >>> models.provider("together").id, models.provider("xai").protocols
    ('togetherai', ('openai-responses', 'openai-chat', 'anthropic-messages'))
    """
    id_ = aliases().get(name, name)
    row = table().get(id_)
    if known is None and row is not None and "transports" in row:
        entry = None  # it answers in this process: no catalog lists it, and reading one takes longer than its answer
    else:
        listing = current() if known is None else known
        entry = listing.raw.get(id_)
    if entry is None and row is None:
        raise UnknownProvider(name, near_providers(name, listing))
    said = entry or {}
    if row is None:
        return _implied(id_, said, model)
    endpoints = tuple(_endpoint(each, row) for each in row.get("endpoints", ()))
    return Provider(
        id=id_,
        name=row.get("name") or said.get("name") or id_,
        endpoints=endpoints,
        key_env=tuple(row.get("key", ())),
        doc=said.get("doc", ""),
        aliases=tuple(row.get("aliases", ())),
        listed=entry is not None,
        known=True,
        local=row.get("local", False),
        login=row.get("login", ""),
        transports=row.get("transports", ""),
        sources=tuple(row.get("sources", ())),
        note=row.get("note", ""),
        cache_write=row.get("cache_write", {}),
    )


def providers(*, protocol: str | None = None, known: Catalog | None = None) -> list[Provider]:
    """Every provider of our table and of the catalog (`known`), by name; with `protocol` those that serve it.

    >>> from unified_llm import models
    >>> {"openai", "azure", "xai", "openrouter"} <= {each.id for each in models.providers(protocol="openai-responses")}
    True
    """
    listing = current() if known is None else known
    found = (provider(name, known=listing) for name in sorted({*listing.raw, *table()}))
    return [each for each in found if protocol is None or protocol in each.protocols]


def by_preference() -> list[str]:
    """The protocols, those first that an SDK's own makers recommend: the order of our table."""
    ranked = [endpoint["protocol"] for row in table().values() for endpoint in row.get("endpoints", ())]
    there = protocols()
    return list(dict.fromkeys([*(each for each in ranked if each in there), *there]))


def _header(auth: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(data()["auth"][auth] if isinstance(auth, str) else auth)


def _endpoint(said: Mapping[str, Any], row: Mapping[str, Any]) -> Endpoint:
    own = {key: value for key, value in said.items() if key not in ("auth", "only", "not", "omitted")}
    return Endpoint(
        **own,
        auth=_header(said.get("auth") or row.get("auth", "bearer")),
        variables={name: tuple(where) for name, where in row.get("variables", {}).items()},
        hosts=row.get("hosts", {}),
        only=tuple(said.get("only", ())),
        excluded=tuple(said.get("not", ())),
        omitted=tuple(said.get("omitted", ())),
    )


def _implied(id_: str, said: Mapping[str, Any], model: str | None) -> Provider:
    """A provider our table does not have: the one protocol that the catalog's client package implies."""
    names = said.get("env", ())
    keys = tuple(each for each in names if each.endswith(("_KEY", "_TOKEN")))
    implied = Provider(
        id=id_, name=said.get("name", id_), endpoints=(), key_env=keys, doc=said.get("doc", ""), listed=True
    )
    override = (said["models"].get(model) or {}).get("provider") if model else None
    override = override if type(override) is dict else {}
    package = data()["packages"].get(override.get("npm") or said.get("npm"), {})
    protocol = data()["shapes"].get(override.get("shape")) or package.get("protocol")
    base = override.get("api") or said.get("api")
    if not protocol or not base:
        return implied
    base = base.rstrip("/").removesuffix(package.get("strip", ""))
    variables = {name: (name,) for name in _VARIABLE.findall(base)}
    endpoint = Endpoint(
        protocol=protocol,
        base_url=_VARIABLE.sub(r"{\1}", base),
        auth=tuple(data()["auth"][package.get("auth", "bearer")]),
        variables=variables,
        note="implied by the catalog's client package",
    )
    return replace(implied, endpoints=(endpoint,))


def _any(model: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns)
