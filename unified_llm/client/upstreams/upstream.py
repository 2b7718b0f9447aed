"""An upstream: its provider, address, protocol and credentials.

It is a value: frozen, comparable, and safe to print. It is named, and its parts are looked up in `unified_llm.models`,
which has every provider's protocols, URLs and logins as data; or it is given as a base URL or an SDK's client. Nothing
is connected to here, and no key is looked at before a request leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Unpack

import httpx2

from ...engine.registry import adapter, protocols
from ...foundation.errors import UnknownProtocol
from ...foundation.hints import Each, Give, Hint
from ...foundation.urls import check_headers, filled
from ...foundation.usage_errors import InvalidArgument
from ...models.endpoints import Endpoint, Provider, provider
from ...models.own_prices import prices_of
from ...models.provider_table import compatible
from ...models.selection import select
from ...passes.keyword_arguments import spelled_out
from .credentials import KeyAuth
from .known_hosts import hosts, spoken_at
from .loading import AUTO, Copied, from_sdk, loaded
from .logins import auth_of, keyed, logged_in, with_key
from .options import FILE, Environment, UpstreamKeywords, check_row, meanings, mistakes_in, row_of_environment, rows_of
from .redaction import Secrets
from .references import check_names, check_reference, check_url, join, taken_apart
from .tokens import check_login

if TYPE_CHECKING:
    from ..params import UpstreamLike

__all__ = ["Upstream", "upstream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream(Copied):
    """One place that answers. Make one with `Upstream.of("provider/model")`, or by hand for anything else.

    `protocol` is what `convert(target=)` takes, dialect included. `base_url` stands before the protocol's routes.
    `auth` puts the credentials into a request as it leaves. `headers` and `query` go with every request. `model` is
    the model of the request; None leaves the one the caller names. `provider` is a name for people and for data,
    `scope` labels the credential or deployment that encrypted reasoning is bound to (`convert(scope=)`). `defaults` are
    fields of the upstream's own wire that a request gets where it has no value; `fixed` are set in any case, and
    `omitted` are taken out, where a platform requires it, and `moved` are headers that become fields of the body, as
    lists. `path` and `stream_path` replace the protocol's own route of a request (`{model}` is filled in). `timeout` is
    seconds, or the HTTP library's own. `http_client` and `async_http_client` bring a connection pool, proxies,
    certificates; they are used as they are, and never closed. `extra_headers` stand before what a conversion sets,
    where `headers` and `query` stand behind it. `secrets` are the credentials among all of these and in what was sent;
    `hide` takes them out of a text. A password or a query in `base_url` is moved out of it: into `auth`, where there is
    none, and `query`. A copy of it is the same object; what has a login or an HTTP client cannot be pickled.
    `others` are the same place in its other protocols: each request goes in the one that carries most of it, and `why`
    is the text of `reasons`, what counted against the others. `label` is its name in a configuration.
    `price` are prices of its own, by the catalog's names, in dollars for a million tokens.

    >>> Upstream(protocol="openai-chat", base_url="http://localhost:8000/v1").url({"path": "chat/completions"})
    'http://localhost:8000/v1/chat/completions'
    """

    protocol: str
    base_url: str
    auth: httpx2.Auth | None = field(default=None, repr=False, compare=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    query: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    model: str | None = None
    provider: str | None = None
    scope: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    omitted: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    path: str = ""
    stream_path: str = ""
    timeout: Any = None
    http_client: httpx2.Client | None = field(default=None, repr=False, compare=False)
    async_http_client: httpx2.AsyncClient | None = field(default=None, repr=False, compare=False)
    others: tuple[Upstream, ...] = field(default=(), repr=False, compare=False)
    reasons: Any = field(default="", repr=False, compare=False)
    label: str = field(default="", repr=False, compare=False)
    price: Any = field(default=None, repr=False, hash=False)
    secrets: Secrets = field(default_factory=Secrets, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = taken_apart(self.base_url)
        if parts.secret:
            # A password or a key in a URL would be in every report of it.
            object.__setattr__(self, "base_url", parts.base)
            object.__setattr__(self, "query", {**parts.query, **self.query})
            self.secrets.add(parts.username, parts.password)
            if self.auth is None and (parts.username or parts.password):
                object.__setattr__(self, "auth", httpx2.BasicAuth(parts.username, parts.password))
        for given in (self.headers, self.extra_headers):
            if given:
                check_headers(given)
                self.secrets.add_headers(given.items())
        if self.query:
            self.secrets.add_query(self.query.items())
        if isinstance(self.auth, str):
            raise InvalidArgument("auth= of an Upstream is an auth object; pass a key or a login to Upstream.of()")
        if isinstance(self.auth, KeyAuth):
            self.auth.register(self.secrets)
        if isinstance(self.price, Mapping):
            object.__setattr__(self, "price", prices_of(self.price))

    @staticmethod
    @spelled_out(UpstreamKeywords, meanings=meanings)
    def of(ref: UpstreamLike, **options: Unpack[UpstreamKeywords]) -> Upstream:
        """The upstream that `ref` names: "provider/model", "provider", a base URL, an SDK's client, or an `Upstream`.

        Without a `protocol` a provider that has several is sent each request in the one with the fewest losses, and a
        URL of an unknown host in the one that most servers are compatible with. Without an `api_key` the environment
        variables of the provider are read as a request leaves.

        Raises `UnknownProvider`, `UnknownProtocol`, `MissingExtra` where the library of a login is not installed,
        `InvalidBody` for a URL without a scheme, and `InvalidArgument` where no protocol is known to serve the model,
        or a variable of the URL is missing.

        >>> Upstream.of("http://localhost:8000/v1", model="qwen3").protocol
        'openai-chat'
        """
        return upstream(ref, **options)

    @staticmethod
    def from_sdk(*clients: Any, protocol: str | None = None, **changes: Any) -> Upstream:
        """The upstream that an official SDK's client is set up for: its URL, its login, its HTTP client.

        Give the synchronous client, the asynchronous one, or both: each serves calls of its own kind. What the SDK does
        to a request (tokens of a directory, signatures of a cloud, paths of a platform) it does to these too; its own
        retries are off. `protocol` chooses where the SDK uses several; "auto" leaves it to each request.

        Raises `InvalidArgument` for an object that no installed adapter supports.
        """
        return from_sdk(*clients, protocol=protocol, **changes)

    @staticmethod
    def from_env(prefix: str = "UNIFIED_LLM") -> Upstream:
        """The upstream that the environment names.

        `UNIFIED_LLM_MODEL` is "provider/model", or a plain name beside `UNIFIED_LLM_BASE_URL`; `UNIFIED_LLM_PROTOCOL`,
        `UNIFIED_LLM_API_KEY` and `UNIFIED_LLM_SCOPE` are optional. Keys of known providers come from their usual
        variables. Raises `ValueError` naming the variable when neither model nor URL is set, or one is wrong.
        """
        row = row_of_environment(prefix)
        with mistakes_in(Environment(prefix)):
            return _of_row(row)

    @staticmethod
    def load(path: Any) -> dict[str, Upstream]:
        """The upstreams of a TOML file, by name.

        Each is a table `[upstreams.NAME]` with `model` ("provider/model", or a plain name beside `base_url`) and,
        optionally, `protocol`, `base_url`, `key_env` (names of environment variables), `headers`, `query`, `scope`,
        `timeout` (seconds), `defaults`, `variables`, `price`, `auth` and `audience` (those of `Upstream.of`). A key
        itself does not belong into a file, and there is no field for it.

        Raises `ValueError` naming the table and the field that is wrong.
        """
        found = {}
        for name, row in rows_of(path).items():
            with mistakes_in(FILE, f"{path}: [upstreams.{name}]: "):
                check_row(row)
                found[name] = _of_row(dict(row))
        return found

    @property
    def why(self) -> str:
        """The reasons against the other protocols of the provider, for a request; "" where nothing was chosen."""
        return str(self.reasons)

    @property
    def name(self) -> str:
        """What it is called in reports: provider and model, or its host."""
        whose = self.provider or taken_apart(self.base_url).host
        return f"{whose}/{self.model}" if self.model else whose

    def with_(self, **changes: Any) -> Upstream:
        """The same with other fields. Where it names a protocol or a provider, no other is used."""
        others = self.others
        if others and "others" not in changes:
            fixed = any(name in changes for name in _OWN)
            changes["others"] = () if fixed else tuple(each.with_(**changes) for each in others)
        return replace(self, **changes)

    def url(self, http: Mapping[str, Any], *, stream: bool = False, model: str | None = None) -> str:
        """Where a request goes whose conversion gave `http`; `model` fills the platform's own path, if it has one."""
        path = str(http.get("path") or "")
        own = (stream and self.stream_path) or self.path
        if own and model is not None:
            path = filled(own, model=model)
        return join(self.base_url, path)

    @property
    def origin(self) -> str:
        """Scheme, host and port: where credentials that were given for this upstream may go."""
        return taken_apart(self.base_url).origin

    def place(self) -> dict[str, Any]:
        """What of it may be written down: no credential, and nothing that is of this process."""
        return {name: value for name in _PLACE if (value := getattr(self, name)) is not None}

    def hide(self, text: str) -> str:
        """The text without the credentials, in whatever spelling."""
        return self.secrets.hide(text)


_PLACE = ("protocol", "base_url", "provider", "model", "scope")
# What the protocols of one place do not have in common.
_OWN = frozenset(("protocol", "base_url", "path", "stream_path", "auth", "provider", "defaults", "fixed", "omitted",
                  "moved"))  # fmt: skip


def upstream(
    ref: Any,
    *,
    protocol: str | None = None,
    api_key: Any = None,
    base_url: str | None = None,
    request: Any = None,
    source: str | None = None,
    variables: Mapping[str, str] | None = None,
    auth: httpx2.Auth | str | None = None,
    audience: str = "",
    **changes: Any,
) -> Upstream:
    """The upstream that `ref` names.

    `ref` is "provider/model" or "provider" (`unified_llm.models`), a base URL of any server, an official SDK's client,
    or an `Upstream`. `base_url` is another place of the provider's API, such as a proxy, with its login.
    `protocol` (with a dialect behind a colon) is used in any case. With None or "auto" a provider that has several gets
    the one with the least losses: of `request` (a wire document of `source`, or a canonical one) where it is given,
    else of each request as it comes (`Upstream.others`). For a URL of an unknown host it is the one most servers are
    compatible with. `api_key` is a key, a function that gives one, or a mapping of both by provider, "provider/model"
    or host; without it the provider's environment variables are looked at as a request leaves. `variables` fill names
    in the provider's URL (`resource`, `region`, `project`). `auth` is an auth object, or the name of a login with the
    credentials of a cloud ("aws", "azure", "google"), which its own library finds and renews; `audience` is what they
    are for, where that is not the usual (an OAuth scope; "service/region" for "aws"). `changes` are fields of
    `Upstream`.

    Raises `UnknownProvider`, `UnknownProtocol`, `CapabilityRefused`, `MissingExtra` where the library of a login is
    not installed, and `ValueError` where nothing is known to serve the model, or a variable of the URL is missing.

    >>> upstream("anthropic/claude-opus-4-7")
    Upstream(protocol='anthropic-messages', base_url='https://api.anthropic.com', model='claude-opus-4-7', \
provider='anthropic', scope=None, defaults={}, fixed={}, omitted=(), path='', stream_path='', timeout=None)
    >>> upstream("http://localhost:8000/v1", model="qwen3").protocol
    'openai-chat'
    >>> upstream("anthropic/claude-opus-4-7", base_url="https://proxy.example").protocol
    'anthropic-messages'
    """
    if changes:
        check_names(changes, (each.name for each in fields(Upstream)))
    if isinstance(auth, str):
        check_login(auth)  # before anything else is looked for
        made = upstream(ref, protocol=protocol, api_key=api_key, base_url=base_url, request=request, source=source,
                        variables=variables, **changes)  # fmt: skip
        return logged_in(made, auth, audience)
    if auth is not None:
        changes["auth"] = auth
    auto, protocol = protocol == AUTO, None if protocol == AUTO else protocol
    if isinstance(ref, Upstream):
        given = {"protocol": protocol, "base_url": base_url}
        changes.update({key: value for key, value in given.items() if value is not None})
        there = ref if api_key is None else with_key(ref, api_key)
        return there.with_(**changes) if changes else there
    if not isinstance(ref, str):
        return from_sdk(ref, protocol=AUTO if auto else protocol, **changes)
    if base_url is not None:
        check_url(base_url)
    if "://" in ref:
        check_url(ref)
        return _at(ref, protocol, api_key, changes)
    name, _, model = ref.partition("/")
    if base_url is None:
        check_reference(name, ref)
    others: tuple[Endpoint, ...] = ()
    if base_url is None:
        owner = provider(name, model=model or None)
        if owner.transports and ":" in model:
            # An upstream in this process supports every protocol.
            model, _, protocol = model.partition(":")
        if not model:
            endpoint = _first(owner, protocol)
        else:
            endpoint = select(owner.id, model, request, source=source, force_protocol=protocol).endpoint
        if protocol is None and request is None:
            offered = owner.serving(model) if model else owner.endpoints
            others = tuple(each for each in offered if each.protocol != endpoint.protocol)
    else:
        spoken = spoken_at(name, model, base_url)
        if protocol is not None and protocol != spoken.partition(":")[0]:
            spoken = protocol
        choice = select(name, model or "-", force_protocol=spoken, base_url=base_url)
        owner, endpoint = choice.provider, choice.endpoint
    made = _made(owner, endpoint, model or None, variables or {})
    if others:
        made = made.with_(others=tuple(_alike(owner, others, made, variables or {})))
    if api_key is not None:
        made = with_key(made, api_key)
    return made.with_(**changes) if changes else made


def _alike(
    owner: Provider, endpoints: Iterable[Endpoint], made: Upstream, variables: Mapping[str, str]
) -> Iterator[Upstream]:
    """The same place in other protocols. One that needs a variable that is not set is left out."""
    seen, there = set(), protocols()
    for endpoint in endpoints:
        if endpoint.protocol in seen or endpoint.protocol not in there:
            continue
        seen.add(endpoint.protocol)
        try:
            other = _made(owner, endpoint, made.model, variables, twin=made)
        except (ValueError, UnknownProtocol):
            continue
        yield other


def _first(owner: Provider, protocol: str | None) -> Endpoint:
    for endpoint in owner.endpoints:
        if protocol is None or protocol in (endpoint.protocol, endpoint.target):
            return endpoint
    told = f" in {protocol}" if protocol else ""
    way = Each((Give.of("protocol", "base_url"),), before="; ")
    raise InvalidArgument(Hint(f"no known endpoint for provider {owner.id}{told}", way))


def _made(
    owner: Provider,
    endpoint: Endpoint,
    model: str | None,
    variables: Mapping[str, str],
    twin: Upstream | None = None,
) -> Upstream:
    clients: Mapping[str, Any] = {}
    if owner.transports and twin is not None:
        clients = {"http_client": twin.http_client, "async_http_client": twin.async_http_client}
    elif owner.transports:
        inside = loaded(owner.transports)()
        clients = {
            "http_client": httpx2.Client(transport=inside),
            "async_http_client": httpx2.AsyncClient(transport=inside),
        }
    if twin is None:
        adapter(endpoint.protocol)  # it is going to be used; raises here if it is not installed
    if endpoint.needs:
        check_login(endpoint.needs)  # not when its stream has begun, which would have been paid for
    needed = not owner.local
    return Upstream(
        protocol=endpoint.target,
        base_url=endpoint.base(**variables),
        auth=auth_of(endpoint, owner, needed=needed),
        model=model,
        provider=owner.id,
        fixed=endpoint.fixed,
        omitted=endpoint.omitted,
        moved=endpoint.moved,
        path=endpoint.path,
        stream_path=endpoint.stream_path,
        **clients,
    )


def _at(url: str, protocol: str | None, key: Any, changes: Mapping[str, Any]) -> Upstream:
    """Any server at a base URL. One whose host is in our table keeps its provider's login and dialect.

    A host that a customer of the provider has named gets the provider's key only if the environment names that host.
    """
    for owner, endpoint, entitled in hosts(url):
        if protocol in (None, endpoint.protocol, endpoint.target):
            made = _made(owner, replace(endpoint, base_url=taken_apart(url).base, hosts={}), None, {})
            if not entitled and isinstance(made.auth, KeyAuth):
                made = made.with_(auth=KeyAuth(made.auth.header, made.auth.template, whose=owner.id))
            spoken = protocol if protocol is not None and ":" in protocol else endpoint.target
            made = made.with_(**{"base_url": url, "protocol": spoken, **changes})
            return made if key is None else with_key(made, key)
    made = Upstream(**{"protocol": protocol or compatible(), "base_url": url, **changes})
    return made if key is None else with_key(made, key)


def _of_row(row: dict[str, Any]) -> Upstream:
    env = row.pop("key_env", ())
    names = (env,) if isinstance(env, str) else tuple(env)
    if names and row.get("auth") is not None:
        raise InvalidArgument("auth and key_env exclude each other")
    if row.get("audience") and row.get("auth") is None:
        raise InvalidArgument("audience needs auth")
    base_url, model = row.pop("base_url", None), row.get("model")
    if base_url is not None:
        made = upstream(base_url, **row)
    elif model is not None:
        made = upstream(row.pop("model"), **row)
    else:
        raise InvalidArgument('set model = "provider/model" or base_url')
    return keyed(made, names) if names else made
