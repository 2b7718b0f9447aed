"""What to do about an error: mistakes that are common, recognized by the URL, the status and the kind of key.

Facts about providers are those of `unified_llm.models` and of the adapters. An advice shows no credential, only whose
a key looks like.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...engine.registry import split
from ...foundation.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    ContentFilterError,
    ContextOverflowError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from ...foundation.hints import Argument, Code, Each, Either, Give, Hint, Name
from ...models.catalog import current
from ...models.endpoints import provider
from ...models.provider_table import table
from ..upstreams.credentials import NO_KEY
from ..upstreams.redaction import SCHEME
from ..upstreams.references import taken_apart
from ..upstreams.upstream import Upstream

__all__ = ["advice", "owner_of"]

_VERSION = re.compile(r"/v\d+(alpha|beta)?\d*$")
_MISSING = frozenset((404, 405))
_NO_TLS = "WRONG_VERSION_NUMBER"  # of OpenSSL, where a server answers in plain text
_BASE_URL = Name("base_url")
_STORED = re.compile(r"\b(response|interaction|conversation)\b", re.IGNORECASE)
_LATER, _FALLBACKS = "try again later", Hint("name fallbacks in ", Argument("models"))
# The first class that fits.
_USUAL: tuple[tuple[type[APIError], str], ...] = (
    (ContextOverflowError, "shorten the input, or use a model with a larger context window"),
    (ContentFilterError, "change the input: the provider's policy refuses it"),
    (PermissionDeniedError, "check that the key may use this model"),
    (QuotaExceededError, "check the plan and the billing of the account"),
    (RateLimitError, _LATER),
    (OverloadedError, _LATER),
    (ServerError, _LATER),
    (APITimeoutError, _LATER),
)
_ID = "the id of a response that this provider stores"
_NOT_STORED = Hint(Either((Hint("pass ", Argument("previous"), "<the result>, or ", _ID), f"pass {_ID}")))
_LISTED = Code("client.models.list() shows the models of this server")
_BY_CODE = {
    "previous_response_not_found": _NOT_STORED,
    "unreadable_answer": Hint("check ", Name("base_url")),
    "timeout": Hint(Each((Hint("raise ", Argument("timeout")), Hint("use ", Argument("stream", True))))),
    "total_timeout": Hint("raise ", Argument("total_timeout")),
}


def advice(error: APIError, upstream: Upstream, model: str | None, kind: str) -> str:
    """What to do about an error of a request of that kind, as a `Hint`; "" where nothing is known."""
    if isinstance(error, APIConnectionError) and error.code == "connection_failed":
        return _connection(error, upstream)
    if isinstance(error, AuthenticationError):
        # Without a status nothing was sent, and the message is about the key.
        return _key(upstream) if error.status is not None else _own_server(error, upstream, model)
    if isinstance(error, NotFoundError) or error.status in _MISSING:
        return _url(upstream) or (_missing(error, upstream, model) if kind == "request" else "")
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    usual = next((text for type_, text in _USUAL if isinstance(error, type_)), "")
    if usual != _LATER:
        return usual
    return Hint(Each((f"wait {error.retry_after:g} s" if error.retry_after else usual, _FALLBACKS)))


def _connection(error: APIError, upstream: Upstream) -> str:
    base = upstream.base_url
    if _NO_TLS in error.message and base[:6].lower() == "https:":  # else it is a proxy's
        return Hint("the server does not use TLS; use ", Argument("base_url", f"http{base[5:]}"))
    if _is_hosted(upstream):
        return "check the network connection and the proxy settings"
    return Hint("check that the server is running and that ", _BASE_URL, " is right")


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
            meant = Argument("base_url", base.removesuffix(f"/{route.path.strip('/')}"))
            return Hint(_BASE_URL, " ends with a route; use ", meant)
    version = _usual_version(known.protocol)
    if version and not _VERSION.search(base):
        return Hint(_BASE_URL, " has no version; did you mean ", Argument("base_url", base + version), "?")
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


def _missing(error: APIError, upstream: Upstream, model: str | None) -> str:
    """What was meant by what is not there: mostly a model, and whose it is, where it is another provider's."""
    if _STORED.search(f"{error.code} {error.message}"):
        return _NOT_STORED
    if not model:
        return ""
    owner = owner_of(model)
    if owner is None or owner == upstream.provider or upstream.provider is None:
        return Hint(Either((_LISTED, "check the name of the model")))
    return Hint(f"{model} is a model of {owner}; use ", Argument("model", f"{owner}/{model}"))


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
    if upstream.secrets.has_scheme():
        return f"pass the key without {SCHEME!r}"
    if names:
        return Hint(Each((f"check the key in {' or '.join(names)}", Give.of("api_key"))))
    option = Hint("check the key in the variable of ", Argument("api_key_env"))
    return Hint(Either((Hint("check the key passed as ", Argument("api_key")), option)))


def _own_server(error: APIError, upstream: Upstream, model: str | None) -> str:
    """How to name a model of the user's own server that has the name of a provider in front: `openai/gpt-oss-20b`."""
    own = upstream.base_url.startswith("http://") and not _is_hosted(upstream)
    if not own or not model or not error.message.startswith(NO_KEY):
        return ""
    name = f"{upstream.provider}/{model}" if upstream.provider else model
    if_its_own = f"if the server itself has a model {name!r}, pass its URL as "
    return Hint(if_its_own, Argument("upstream"), " and not as ", Argument("base_url"))


def _issuer(upstream: Upstream) -> str | None:
    prefixes = {prefix: name for name, row in table().items() for prefix in row.get("key_prefix", ())}
    for prefix in sorted(prefixes, key=len, reverse=True):
        if upstream.secrets.has_prefix(prefix):
            return prefixes[prefix]
    return None
