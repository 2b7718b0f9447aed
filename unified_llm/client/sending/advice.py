"""What to do about an error: mistakes that are common, recognized by the URL, the status and the kind of key.

Facts about providers are those of `unified_llm.models` and of the adapters. An advice shows no credential, only whose
a key looks like.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...engine.registry import split
from ...foundation.errors import APIConnectionError, APIError, AuthenticationError, NotFoundError
from ...models.catalog import current
from ...models.endpoints import provider, table
from ..upstreams.upstream import Upstream, taken_apart

__all__ = ["advice", "owner_of"]

_VERSION = re.compile(r"/v\d+(alpha|beta)?\d*$")
_MISSING = frozenset((404, 405))
_MODEL = "model"


def advice(error: APIError, upstream: Upstream, model: str | None, kind: str) -> str:
    """What to do about an error of a request of that kind; "" where nothing is known."""
    if isinstance(error, APIConnectionError) and error.code == "connection_failed":
        return "check that the server is running and that base_url is right" if not _is_hosted(upstream) else ""
    if isinstance(error, AuthenticationError):
        return _key(upstream)
    if isinstance(error, NotFoundError) or error.status in _MISSING:
        return _url(upstream) or (_model(upstream, model) if kind == "request" else "")
    return ""


def _is_hosted(upstream: Upstream) -> bool:
    """Whether the URL is the one that the provider table has."""
    row = table().get(upstream.provider or "") or {}
    return not row.get("local") and any(each["base_url"] == upstream.base_url for each in row.get("endpoints", ()))


def _url(upstream: Upstream) -> str:
    if _is_hosted(upstream) or upstream.path:
        return ""
    base = taken_apart(upstream.base_url).base.rstrip("/")
    known = split(upstream.protocol)[0]
    for route in known.routes:
        if "{" not in route.path and base.endswith(f"/{route.path.strip('/')}"):
            return f"base_url ends with a route; use base_url={base.removesuffix('/' + route.path.strip('/'))!r}"
    version = _usual_version(known.protocol)
    if version and not _VERSION.search(base):
        return f"base_url has no version; did you mean base_url={base + version!r}?"
    return ""


@lru_cache(64)
def _usual_version(protocol: str) -> str:
    """What base URLs of a protocol usually end with."""
    for row in table().values():
        for endpoint in row.get("endpoints", ()):
            if endpoint["protocol"] == protocol and not row.get("local"):
                found = _VERSION.search(endpoint["base_url"])
                return found[0] if found else ""
    return ""


def _model(upstream: Upstream, model: str | None) -> str:
    """Whose the model is, where it is another provider's."""
    if not model:
        return ""
    owner = owner_of(model)
    if owner is None or owner == upstream.provider or upstream.provider is None:
        return "client.models.list() shows the models of this server"
    return f"{model} is a model of {owner}; use model='{owner}/{model}'"


def owner_of(model: str) -> str | None:
    """The first provider of the table that the catalog lists a model for."""
    raw = current().raw
    return next((name for name in table() if model in ((raw.get(name) or {}).get("models") or ())), None)


def _key(upstream: Upstream) -> str:
    """Whose the key looks like, or where it is looked for."""
    found = _issuer(upstream)
    if found is not None and found != upstream.provider:
        return f"the API key looks like one of {found}"
    row = table().get(upstream.provider or "")
    names = provider(upstream.provider or "").key_env if row else ()
    return f"check the key in {' or '.join(names)}, or pass api_key=" if names else ""


def _issuer(upstream: Upstream) -> str | None:
    prefixes = {prefix: name for name, row in table().items() for prefix in row.get("key_prefix", ())}
    for prefix in sorted(prefixes, key=len, reverse=True):
        if upstream.secrets.has_prefix(prefix):
            return prefixes[prefix]
    return None
