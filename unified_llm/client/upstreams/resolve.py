"""From a name to an upstream: the registry, a base URL alone, an SDK's client, a TOML file, the environment.

Names are looked up in `unified_llm.models`, which has every provider's protocols, URLs and logins as data; a request
decides between protocols where there is one. An SDK's client is taken apart by the adapter package that supports it.
Nothing is connected to here, and no key is looked at before a request leaves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2

from ...engine.registry import adapter, protocols, split
from ...foundation.errors import UnknownProtocol
from ...foundation.urls import check_headers, check_query
from ...foundation.usage_errors import InvalidArgument, MissingExtra
from ...models.endpoints import Endpoint, Provider, by_preference, provider
from ...models.provider_table import compatible
from ...models.selection import select
from .credentials import KeyAuth
from .known_hosts import hosts
from .loading import loaded
from .references import check_names, check_reference, check_url
from .signatures import Signature, service_of
from .tokens import check_login, tokens_of
from .upstream import Upstream, taken_apart

__all__ = ["AUTO", "credited", "from_env", "from_sdk", "load", "upstream", "with_key"]

_BEARER = ("authorization", "Bearer {key}")
AUTO = "auto"
"""In the place of a protocol: whichever carries most of a request."""


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
    or an `Upstream`. `protocol` (with a dialect behind a colon) is used in any case. With None or "auto" a provider
    that has several gets the one with the least losses: of `request` (a wire document of `source`, or a canonical
    one) where it is given, else of each request as it comes (`Upstream.others`). For a URL of an unknown host it
    is the one most servers are compatible with. `api_key` is a key, a function that gives one, or a mapping of both by
    provider, "provider/model" or host; without it the provider's environment variables are looked at as a request
    leaves. `variables` fill names in the provider's URL
    (`resource`, `region`, `project`). `auth` is an auth object, or the name of a login with the credentials of a cloud
    ("aws", "azure", "google"), which its own library finds and renews; `audience` is what they are for, where that is
    not the usual (an OAuth scope; "service/region" for "aws"). `changes` are fields of `Upstream`.

    Raises `UnknownProvider`, `UnknownProtocol`, `CapabilityRefused`, `MissingExtra` where the library of a login is
    not installed, and `ValueError` where nothing is known to serve the model, or a variable of the URL is missing.

    >>> upstream("anthropic/claude-opus-4-7")
    Upstream(protocol='anthropic-messages', base_url='https://api.anthropic.com', model='claude-opus-4-7', \
provider='anthropic', scope=None, defaults={}, fixed={}, omitted=(), path='', stream_path='', timeout=None)
    >>> upstream("http://localhost:8000/v1", model="qwen3").protocol
    'openai-chat'
    """
    check_names(changes)
    if isinstance(auth, str):
        check_login(auth)  # before anything else is looked for
        made = upstream(
            ref,
            protocol=protocol,
            api_key=api_key,
            base_url=base_url,
            request=request,
            source=source,
            variables=variables,
            **changes,
        )
        return _logged_in(made, auth, audience)
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
        choice = select(name, model or "-", force_protocol=protocol or compatible(), base_url=base_url)
        owner, endpoint = choice.provider, choice.endpoint
    made = _made(owner, endpoint, model or None, variables or {})
    if others:
        made = made.with_(others=tuple(_alike(owner, others, made, variables or {})))
    if api_key is not None:
        made = with_key(made, api_key)
    return made.with_(**changes) if changes else made


def credited(
    made: Upstream, entitled: bool, key: Any, headers: Mapping[str, str], query: Mapping[str, Any]
) -> Upstream:
    """The upstream with the caller's credentials, if they are for it. A mapping of keys names the provider of each."""
    if key is not None and (entitled or isinstance(key, Mapping)):
        made = with_key(made, key)
    if not entitled or not (headers or query):
        return made
    check_headers(headers, "/extra_headers")
    check_query(query, "/extra_query")
    return made.with_(extra_headers={**made.extra_headers, **headers}, query={**made.query, **query})


def with_key(made: Upstream, given: Any) -> Upstream:
    """The upstream with a key of the caller's in all its protocols; as it is where `given` has none for it."""
    key = _key_for(made, given)
    if key is None:
        return made
    others = tuple(each.with_(auth=_login(each).with_key(key)) for each in made.others)
    return made.with_(auth=_login(made).with_key(key), others=others)


def _logged_in(made: Upstream, name: str, audience: str) -> Upstream:
    """The upstream, in all its protocols, with the credentials of a cloud."""
    signs = check_login(name).sign
    auth: httpx2.Auth
    if signs:
        auth = Signature(tokens_of(name), *service_of(made.base_url, audience, signs))
    else:
        auth = KeyAuth(*_BEARER, tokens_of(name, audience), whose=made.provider or name)
    return made.with_(auth=auth, others=tuple(_logged_in(each, name, audience) for each in made.others))


def _key_for(made: Upstream, given: Any) -> Any:
    """What of a key, or of a mapping of keys, is for an upstream."""
    if not isinstance(given, Mapping):
        return given
    host = httpx2.URL(made.base_url).host
    return next((given[name] for name in (made.name, made.provider, made.origin, host) if name in given), None)


def _login(made: Upstream) -> KeyAuth:
    """How an upstream takes a key: as its auth object declares, else as its protocol usually does."""
    if isinstance(made.auth, KeyAuth):
        return made.auth
    header, template = (split(made.protocol)[0].auth or (_BEARER,))[0]
    return KeyAuth(header, template.replace("{}", "{key}"), whose=made.provider or "")


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
    raise InvalidArgument(f"no known endpoint for provider {owner.id}{told}; pass protocol= and base_url=")


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
        auth=_auth(endpoint, owner, needed=needed),
        model=model,
        provider=owner.id,
        fixed=endpoint.fixed,
        omitted=endpoint.omitted,
        moved=endpoint.moved,
        path=endpoint.path,
        stream_path=endpoint.stream_path,
        **clients,
    )


def _auth(endpoint: Endpoint, owner: Provider, *, needed: bool = True) -> KeyAuth | None:
    """The login of an endpoint; where it has none of its own, the protocol's usual one."""
    if not endpoint.auth and owner.known:
        return None
    header, template = endpoint.auth or (*adapter(endpoint.protocol).auth, _BEARER)[0]
    key = tokens_of(owner.login) if owner.login else None
    return KeyAuth(header, template.replace("{}", "{key}"), key, env=owner.key_env, needed=needed, whose=owner.id)


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


def from_sdk(*clients: Any, protocol: str | None = None, **changes: Any) -> Upstream:
    """The upstream that an official SDK's client is set up for: its URL, its login, its HTTP client.

    Give the synchronous client, the asynchronous one, or both: each serves calls of its own kind. What the SDK does to
    a request (tokens of a directory, signatures of a cloud, paths of a platform) it does to these too; its own retries
    are off. `protocol` chooses where the SDK uses several; "auto" leaves it to each request.

    Raises `InvalidArgument` for an object that no installed adapter supports.
    """
    if not clients:
        raise InvalidArgument("from_sdk() requires a client of an official SDK")
    auto, protocol = protocol == AUTO, None if protocol == AUTO else protocol
    for spoken in (split(protocol)[0],) if protocol else map(adapter, by_preference()):
        for root, where in spoken.clients.items():
            if all(_is_of(client, root) for client in clients):
                made: Upstream = loaded(where)(*clients, protocol=protocol)
                if auto and made.provider is not None:
                    made = made.with_(others=tuple(_through(clients, where, made)))
                return made.with_(**changes) if changes else made
    told = f" for {protocol}" if protocol else ""
    kind = type(clients[0])
    raise InvalidArgument(
        f"{kind.__module__}.{kind.__qualname__} is not a client that an adapter{told} supports; pass a provider, "
        "'provider/model', the URL of a server, an Upstream or the client of an official SDK"
    )


def _through(clients: tuple[Any, ...], where: str, made: Upstream) -> Iterator[Upstream]:
    """The same clients in the other protocols that their SDK uses and their provider has."""
    for name in provider(str(made.provider)).protocols:
        if name != made.protocol.partition(":")[0] and where in adapter(name).clients.values():
            yield loaded(where)(*clients, protocol=name)


def _is_of(client: Any, root: str) -> bool:
    return any(f"{kind.__module__}.".startswith(f"{root}.") for kind in type(client).__mro__)


_FIELDS = frozenset(
    "model base_url protocol provider scope headers query defaults timeout key_env variables path stream_path auth "
    "audience".split()
)


def load(path: str | Path) -> dict[str, Upstream]:
    """The upstreams of a TOML file, by name.

    Each is a table `[upstreams.NAME]` with `model` ("provider/model", or a plain name beside `base_url`) and,
    optionally, `protocol`, `base_url`, `key_env` (names of environment variables), `headers`, `query`, `scope`,
    `timeout` (seconds), `defaults`, `variables`, `auth` and `audience` (those of `upstream`). A key itself does not
    belong into a file, and there is no field for it.

    Raises `ValueError` naming the table and the field that is wrong.
    """
    import tomllib

    said = tomllib.loads(Path(path).read_text("utf-8")).get("upstreams", {})
    found = {}
    for name, row in said.items():
        unknown = sorted({*row} - _FIELDS)
        if unknown:
            hint = (
                "; set key_env to the variable that holds the API key"
                if "api_key" in unknown or "key" in unknown
                else ""
            )
            raise InvalidArgument(f"{path}: [upstreams.{name}]: unknown key {unknown[0]!r}{hint}")
        try:
            found[name] = _of_row(dict(row))
        except (ValueError, LookupError, MissingExtra) as error:
            raise InvalidArgument(f"{path}: [upstreams.{name}]: {error}") from error
    return found


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
    return _keyed(made, names) if names else made


def _keyed(made: Upstream, names: tuple[str, ...]) -> Upstream:
    """The same with keys from other variables of the environment, in all its protocols."""
    login = _login(made)
    auth = KeyAuth(login.header, login.template, env=names, whose=made.name)
    return made.with_(auth=auth, others=tuple(_keyed(each, names) for each in made.others))


def from_env(prefix: str = "UNIFIED_LLM") -> Upstream:
    """The upstream that the environment names.

    `UNIFIED_LLM_MODEL` is "provider/model", or a plain name beside `UNIFIED_LLM_BASE_URL`; `UNIFIED_LLM_PROTOCOL`,
    `UNIFIED_LLM_API_KEY` and `UNIFIED_LLM_SCOPE` are optional. Keys of known providers come from their usual
    variables. Raises `ValueError` when neither model nor URL is set.
    """
    said = {name: os.environ.get(f"{prefix}_{name.upper()}") for name in ("model", "base_url", "protocol", "scope")}
    key = f"{prefix}_API_KEY"
    row = {name: value for name, value in said.items() if value}
    if os.environ.get(key):
        row["key_env"] = key
    if "model" not in row and "base_url" not in row:
        raise InvalidArgument(f"set {prefix}_MODEL to provider/model, or {prefix}_BASE_URL")
    return _of_row(row)
