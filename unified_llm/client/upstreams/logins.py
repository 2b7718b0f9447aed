"""Which credentials an upstream takes, and how: a key of the caller's, of the environment, or those of a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from ...engine.registry import adapter, split
from ...foundation.urls import check_headers, check_query
from ...models.endpoints import Endpoint, Provider
from .credentials import KeyAuth
from .signatures import Signature, service_of
from .tokens import check_login, tokens_of

if TYPE_CHECKING:
    from .upstream import Upstream

__all__ = ["auth_of", "credited", "keyed", "logged_in", "with_key"]

BEARER = ("authorization", "Bearer {key}")


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
    others = tuple(each.with_(auth=login_of(each).with_key(key)) for each in made.others)
    return made.with_(auth=login_of(made).with_key(key), others=others)


def logged_in(made: Upstream, name: str, audience: str) -> Upstream:
    """The upstream, in all its protocols, with the credentials of a cloud."""
    signs = check_login(name).sign
    auth: httpx2.Auth
    if signs:
        auth = Signature(tokens_of(name), *service_of(made.base_url, audience, signs))
    else:
        auth = KeyAuth(*BEARER, tokens_of(name, audience), whose=made.provider or name)
    return made.with_(auth=auth, others=tuple(logged_in(each, name, audience) for each in made.others))


def _key_for(made: Upstream, given: Any) -> Any:
    """What of a key, or of a mapping of keys, is for an upstream."""
    if not isinstance(given, Mapping):
        return given
    host = httpx2.URL(made.base_url).host
    return next((given[name] for name in (made.name, made.provider, made.origin, host) if name in given), None)


def login_of(made: Upstream) -> KeyAuth:
    """How an upstream takes a key: as its auth object declares, else as its protocol usually does."""
    if isinstance(made.auth, KeyAuth):
        return made.auth
    header, template = (split(made.protocol)[0].auth or (BEARER,))[0]
    return KeyAuth(header, template.replace("{}", "{key}"), whose=made.provider or "")


def auth_of(endpoint: Endpoint, owner: Provider, *, needed: bool = True) -> KeyAuth | None:
    """The login of an endpoint; where it has none of its own, the protocol's usual one."""
    if not endpoint.auth and owner.known:
        return None
    header, template = endpoint.auth or (*adapter(endpoint.protocol).auth, BEARER)[0]
    key = tokens_of(owner.login) if owner.login else None
    return KeyAuth(header, template.replace("{}", "{key}"), key, env=owner.key_env, needed=needed, whose=owner.id)


def keyed(made: Upstream, names: tuple[str, ...]) -> Upstream:
    """The same with keys from other variables of the environment, in all its protocols."""
    login = login_of(made)
    auth = KeyAuth(login.header, login.template, env=names, whose=made.name)
    return made.with_(auth=auth, others=tuple(keyed(each, names) for each in made.others))
