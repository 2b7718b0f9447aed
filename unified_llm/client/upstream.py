"""An upstream: who is asked, where, in which protocol, with which credentials.

It is a value: frozen, comparable, and safe to print. Choosing one by a name is `choosing.py`'s; what goes over its
wire is `wire.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import httpx2

from .credentials import KeyAuth

__all__ = ["Upstream", "join"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One place that answers. Make one with `Upstream.of("provider/model")`, or by hand for anything else.

    `protocol` is what `convert(target=)` takes, dialect included. `base_url` stands before the protocol's routes.
    `auth` puts the credentials into a request as it leaves. `headers` and `query` go with every request. `model` is
    the model that is asked for; None leaves the one the caller names. `provider` is a name for people and for data,
    `scope` labels the credential or deployment that sealed reasoning is bound to (`convert(scope=)`). `defaults` are
    fields of the upstream's own wire that a request gets where it says nothing; `fixed` are set in any case, and
    `omitted` are taken out, where a platform wants that. `path` and `stream_path` replace the protocol's own route of
    a request (`{model}` is filled in). `timeout` is seconds, or the HTTP library's own. `http_client` and
    `async_http_client` bring a connection pool, proxies, certificates; they are used as they are, and never closed.
    `others` are the same place in its other protocols: each request goes in the one that carries most of it, and then
    `why` says what spoke against the others. An upstream without them speaks its own.

    >>> Upstream(protocol="openai-chat", base_url="http://localhost:8000/v1").url({"path": "chat/completions"})
    'http://localhost:8000/v1/chat/completions'
    """

    protocol: str
    base_url: str
    auth: httpx2.Auth | None = field(default=None, repr=False, compare=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    model: str | None = None
    provider: str | None = None
    scope: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    fixed: Mapping[str, Any] = field(default_factory=dict, hash=False)
    omitted: tuple[str, ...] = ()
    path: str = ""
    stream_path: str = ""
    timeout: Any = None
    http_client: httpx2.Client | None = field(default=None, repr=False, compare=False)
    async_http_client: httpx2.AsyncClient | None = field(default=None, repr=False, compare=False)
    others: tuple[Upstream, ...] = field(default=(), repr=False, compare=False)
    why: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        url = httpx2.URL(self.base_url) if "@" in self.base_url else None
        if url is not None and url.userinfo:
            # A password in a URL would be in every report of it.
            object.__setattr__(self, "base_url", str(url.copy_with(username=None, password=None)))
            if self.auth is None:
                object.__setattr__(self, "auth", httpx2.BasicAuth(url.username, url.password))

    @staticmethod
    def of(ref: Any, **options: Any) -> Upstream:
        """The upstream of a name, a URL or an SDK client; see `unified_llm.client.choosing.upstream`."""
        from .choosing import upstream

        return upstream(ref, **options)

    @staticmethod
    def from_sdk(*clients: Any, protocol: str | None = None, **changes: Any) -> Upstream:
        """The upstream an official SDK's client is set up for; see `unified_llm.client.choosing.from_sdk`."""
        from .choosing import from_sdk

        return from_sdk(*clients, protocol=protocol, **changes)

    @staticmethod
    def from_env(prefix: str = "UNIFIED_LLM") -> Upstream:
        """The upstream that the environment names; see `unified_llm.client.choosing.from_env`."""
        from .choosing import from_env

        return from_env(prefix)

    @staticmethod
    def load(path: Any) -> dict[str, Upstream]:
        """The upstreams of a TOML file, by name; see `unified_llm.client.choosing.load`."""
        from .choosing import load

        return load(path)

    @property
    def name(self) -> str:
        """What it is called in reports: provider and model, or its host."""
        whose = self.provider or _host(self.base_url)
        return f"{whose}/{self.model}" if self.model else whose

    def with_(self, **changes: Any) -> Upstream:
        """The same with other fields. Where it says what is spoken, or whom to ask, nothing else is spoken."""
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
            path = own.replace("{model}", model)
        return join(self.base_url, path)

    def hide(self, text: str) -> str:
        """The text without the credentials."""
        return self.auth.hide(text) if isinstance(self.auth, KeyAuth) else text


# What the protocols of one place do not have in common.
_OWN = frozenset(("protocol", "base_url", "path", "stream_path", "auth", "provider", "defaults", "fixed", "omitted"))


@lru_cache(256)
def _host(url: str) -> str:
    return httpx2.URL(url).host


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
