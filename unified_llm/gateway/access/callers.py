"""Who may call the gateway: web pages by `Origin`, hosts by name, clients by API key.

Without keys the gateway listens on the loopback interface only, and a web page in a browser on the same machine must
not be able to use it. Three rules prevent that. `Host` must be a loopback name, so that a DNS name that was rebound to
127.0.0.1 is refused. A request with an `Origin` that is not configured is refused. A body must have a JSON content
type, which a page cannot send to another origin without a preflight request, and preflight requests are refused too.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from ...engine.registry import adapter, protocols
from ..configuration.config import Config, is_loopback
from ..responses.replies import Refusal, Whole

__all__ = ["Access", "Key", "credential_headers", "is_private", "new_key"]

_PREFIX = "ulk_"
_QUERY = "key"
_PRIVATE = ("auth", "cookie", "key", "password", "secret", "session", "signature", "token")


class Key(NamedTuple):
    """A client of the gateway: its key's name, the tenant that owns its state, what it may reach (globs), and the team
    whose limits it counts against too."""

    name: str = ""
    tenant: str = ""
    models: tuple[str, ...] = ("*",)
    upstreams: tuple[str, ...] = ("*",)
    admin: bool = False
    team: str = ""

    def may_request(self, model: str) -> bool:
        """Whether the key may name a model."""
        return _matches(model, self.models)

    def may_reach(self, upstream: str) -> bool:
        """Whether the key may reach an upstream or a provider."""
        return _matches(upstream, self.upstreams)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def new_key() -> tuple[str, str]:
    """A random API key, and its SHA-256 for the configuration."""
    key = _PREFIX + secrets.token_urlsafe(32)
    return key, hashlib.sha256(key.encode()).hexdigest()


class Access:
    """The rules of one configuration."""

    def __init__(self, config: Config) -> None:
        self.hosts: frozenset[str] = frozenset(name.lower() for name in config.gateway.hosts)
        self.origins: frozenset[str] = frozenset(config.gateway.origins)
        self.keys: dict[str, Key] = {
            each.sha256: Key(
                name, each.tenant or name, tuple(each.models), tuple(each.upstreams), each.admin, each.team or ""
            )
            for name, each in config.keys.items()
        }

    def admit(self, headers: Mapping[str, str], query: Mapping[str, str]) -> Key:
        """The key of a request. Raises `Refusal` (401, 403)."""
        self.check_page(headers)
        if not self.keys:
            return Key()
        for given in _credentials(headers, query):
            # The time of a dict lookup by digest reveals nothing about the key.
            found = self.keys.get(hashlib.sha256(given.encode("utf-8", "surrogateescape")).hexdigest())
            if found is not None:
                return found
            raise Refusal(401, "authentication", "the API key is not valid for this gateway", code="invalid_api_key")
        reason = "no API key; send one as Authorization: Bearer, in the SDK's own header, or as ?key="
        raise Refusal(401, "authentication", reason, code="invalid_api_key", headers={"www-authenticate": "Bearer"})

    def named(self, name: str) -> Key | None:
        """The key with a name; None where there is none any more."""
        if not self.keys:
            return Key() if not name else None
        return next((each for each in self.keys.values() if each.name == name), None)

    def check_admin(self, headers: Mapping[str, str], query: Mapping[str, str]) -> None:
        """Raise `Refusal` (401, 403) unless the request may read metrics and the request log.

        Where there are keys, it takes one with `admin = true`; a gateway without keys listens on loopback only.
        """
        if not self.admit(headers, query).admin and self.keys:
            reason = "this API key may not read metrics and the request log; it needs admin = true"
            raise Refusal(403, "permission", reason, code="admin_required")

    def preflight(self, method: str, headers: Mapping[str, str]) -> Whole | None:
        """The response to a CORS preflight request of a configured origin; None for any other request."""
        if method != "OPTIONS" or "access-control-request-method" not in headers or "origin" not in headers:
            return None
        self._check_origin(headers)
        allowed = {
            "access-control-allow-methods": "GET, POST, DELETE, PATCH",
            "access-control-allow-headers": headers.get("access-control-request-headers", ""),
            "access-control-max-age": "600",
        }
        return Whole(204, {**self.cors(headers), **allowed})

    def cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Response headers for a page of a configured origin; none for other clients."""
        origin = headers.get("origin", "")
        if origin.lower() not in self.origins:
            return {}
        return {"access-control-allow-origin": origin, "access-control-expose-headers": "*", "vary": "origin"}

    def check_page(self, headers: Mapping[str, str]) -> None:
        """Raise `Refusal` (403) for a request that a web page of another origin may have sent."""
        self._check_origin(headers)
        # Browsers send this with every request, also with those for which they leave out the origin.
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and "origin" not in headers:
            raise Refusal(403, "permission", "this web page may not use the gateway", code="origin_not_allowed")
        if not self.keys:
            self._check_host(headers)

    def is_served(self, tenant: str) -> bool:
        """Whether there is still a key of a tenant."""
        return not self.keys or any(each.tenant == tenant for each in self.keys.values())

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self.origins:
            raise Refusal(403, "permission", "this Origin is not in gateway.origins", code="origin_not_allowed")

    def _check_host(self, headers: Mapping[str, str]) -> None:
        given = headers.get("host", "")
        name, _, port = given.rpartition(":")
        host = name if name and (port.isdecimal() or not port) else given  # two Host lines have no port
        if not is_loopback(host) and host.lower() not in self.hosts:
            reason = "the Host header is not a loopback name; add it to gateway.hosts, or add keys"
            raise Refusal(403, "permission", reason, code="host_not_allowed")


@lru_cache(1)
def credential_headers() -> tuple[tuple[str, str], ...]:
    """The headers in which the installed protocols carry a key, each with what stands before it."""
    found = (each for name in protocols() for each in adapter(name).auth)
    return tuple(dict.fromkeys((header, template.replace("{}", "")) for header, template in found))


def is_private(name: str) -> bool:
    """Whether a header or a query parameter may hold a credential, so that it is not stored."""
    return name in dict(credential_headers()) or any(each in name.lower() for each in _PRIVATE)


def _credentials(headers: Mapping[str, str], query: Mapping[str, str]) -> Iterable[str]:
    for header, before in credential_headers():
        value = headers.get(header, "").strip()
        if value[: len(before)].lower() == before.lower() and value[len(before) :].strip():
            yield value[len(before) :].strip()
    if query.get(_QUERY):
        yield query[_QUERY]
