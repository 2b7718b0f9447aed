"""An upstream: its provider, address, protocol and credentials.

It is a value: frozen, comparable, and safe to print. Choosing one by a name is `resolve.py`'s; what goes over its
wire is `request_flow.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import httpx2

from ...foundation.errors import InvalidBody
from ...foundation.urls import check_headers, filled
from ...passes.keywords import spelled_out
from .credentials import KeyAuth
from .options import UpstreamKeywords, meanings
from .redaction import Secrets

if TYPE_CHECKING:
    from ..params import UpstreamLike

__all__ = ["Upstream", "join", "taken_apart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One place that answers. Make one with `Upstream.of("provider/model")`, or by hand for anything else.

    `protocol` is what `convert(target=)` takes, dialect included. `base_url` stands before the protocol's routes.
    `auth` puts the credentials into a request as it leaves. `headers` and `query` go with every request. `model` is
    the model of the request; None leaves the one the caller names. `provider` is a name for people and for data,
    `scope` labels the credential or deployment that encrypted reasoning is bound to (`convert(scope=)`). `defaults` are
    fields of the upstream's own wire that a request gets where it has no value; `fixed` are set in any case, and
    `omitted` are taken out, where a platform requires it, and `moved` are headers that become fields of the body, as
    lists. `path` and `stream_path` replace the protocol's own route of a request (`{model}` is filled in). `timeout` is
    seconds, or the HTTP library's own. `http_client` and
    `async_http_client` bring a connection pool, proxies, certificates; they are used as they are, and never closed.
    `extra_headers` stand before what a conversion sets, where `headers` and `query` stand behind it. `secrets` are the
    credentials among all of these and in what was sent; `hide` takes them out of a text. A password or a query in
    `base_url` is moved out of it: into `auth`, where there is none, and `query`.
    `others` are the same place in its other protocols: each request goes in the one that carries most of it, and then
    `why` is the text of `reasons`, what counted against the others. An upstream without them uses its own. `label` is
    its name in a configuration.

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
        if isinstance(self.auth, KeyAuth):
            self.auth.register(self.secrets)

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
        from .resolve import upstream

        return upstream(ref, **options)

    @staticmethod
    def from_sdk(*clients: Any, protocol: str | None = None, **changes: Any) -> Upstream:
        """The upstream an official SDK's client is set up for; see `unified_llm.client.upstreams.resolve.from_sdk`."""
        from .resolve import from_sdk

        return from_sdk(*clients, protocol=protocol, **changes)

    @staticmethod
    def from_env(prefix: str = "UNIFIED_LLM") -> Upstream:
        """The upstream that the environment names; see `unified_llm.client.upstreams.resolve.from_env`."""
        from .resolve import from_env

        return from_env(prefix)

    @staticmethod
    def load(path: Any) -> dict[str, Upstream]:
        """The upstreams of a TOML file, by name; see `unified_llm.client.upstreams.resolve.load`."""
        from .resolve import load

        return load(path)

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


class Parts(NamedTuple):
    """A base URL and what must not be shown of it."""

    base: str
    origin: str
    host: str
    username: str
    password: str
    query: Mapping[str, Any]
    secret: bool


@lru_cache(256)
def taken_apart(url: str) -> Parts:
    """The parts of a base URL. Raises `InvalidBody`, which shows no part of it, for one that is not a URL."""
    try:
        found = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        found = None
    if found is None:
        raise InvalidBody("/base_url", "not a valid URL; pass one such as 'http://localhost:8000/v1'")
    listed = {name: found.params.get_list(name) for name in found.params}
    query = {name: values if len(values) > 1 else values[0] for name, values in listed.items()}
    secret = bool(found.userinfo or found.query)
    bare = str(found.copy_with(username=None, password=None, query=None, fragment=None)) if secret else url
    port = f":{found.port}" if found.port is not None else ""
    origin = f"{found.scheme}://{found.host.lower()}{port}"
    return Parts(bare, origin, found.host, found.username, found.password, query, secret)


@lru_cache(1024)
def join(base: str, path: str) -> str:
    """A URL of a base and a route. What both have (`v1` at the end and at the beginning) is there once.

    >>> join("http://localhost:8000/v1/", "/v1/messages")
    'http://localhost:8000/v1/messages'
    """
    head, _, query = base.partition("?")
    before, after = head.rstrip("/").split("/"), path.lstrip("/").split("/")
    # The scheme and the host are no segments of a path.
    most = min(len(before) - 3, len(after) - 1)
    shared = next((count for count in range(most, 0, -1) if before[-count:] == after[:count]), 0)
    return "/".join([*before, *after[shared:]]).rstrip("/") + (f"?{query}" if query else "")
