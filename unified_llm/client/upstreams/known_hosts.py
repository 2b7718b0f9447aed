"""Whose server a URL names: the endpoints of the table of providers at its host."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2

from ...engine.registry import adapter
from ...foundation.errors import UnknownProvider
from ...foundation.usage_errors import InvalidArgument
from ...models.endpoints import Endpoint, Provider, provider
from ...models.provider_table import compatible, table
from ...models.selection import select
from .references import taken_apart

__all__ = ["hosts", "spoken_at"]


def spoken_at(provider_id: str, model: str, url: str) -> str:
    """The protocol of a provider's API at a base URL of the caller's, with its dialect at the provider's own host.

    A provider whose own server has the protocol that most servers are compatible with beside its others has no more
    than that elsewhere; the others have a protocol of their own, which a proxy of theirs has too, either
    with its dialect.

    >>> spoken_at("openai", "gpt-5.5", "http://localhost:8000/v1")
    'openai-chat'
    >>> spoken_at("anthropic", "claude-opus-4-7", "https://proxy.example")
    'anthropic-messages'
    >>> spoken_at("deepseek", "deepseek-chat", "https://proxy.example")
    'openai-chat:deepseek'
    """
    try:
        owner = provider(provider_id, model=model or None)
    except UnknownProvider:
        return compatible()
    here = [endpoint for each, endpoint, _ in hosts(url) if each.id == owner.id]
    exact = [endpoint.target for endpoint in here if endpoint.base_url.rstrip("/") == url.rstrip("/")]
    offered = owner.serving(model) if model else owner.endpoints
    if not offered:
        return exact[0] if exact else compatible()
    best = select(owner.id, model).endpoint if model else offered[0]
    if here:
        return best.target if best.target in exact or not exact else exact[0]
    beside = [endpoint for endpoint in offered if endpoint.base_url == offered[0].base_url]
    return _elsewhere(owner, next((each for each in beside if each.protocol == compatible()), best))


def _elsewhere(owner: Provider, endpoint: Endpoint) -> str:
    """How a provider's protocol is used at a URL that is not its own.

    What stands there for a provider has its dialect: a proxy, for one. The name of the maker of the protocol stands for
    every server that is compatible with it.
    """
    return endpoint.protocol if adapter(endpoint.protocol).family == owner.id else endpoint.target


def hosts(url: str) -> Iterator[tuple[Provider, Endpoint, bool]]:
    """The endpoints of our table at this very URL, or else at this host; whether the provider's key is for it.

    The user's own hosts determine no provider.
    """
    asked = httpx2.URL(taken_apart(url).base)
    found: list[tuple[bool, int, str, Endpoint, bool]] = []
    for name, row in table().items():
        if row.get("local") or "like" in row:
            continue
        for endpoint in provider(name).endpoints:
            if "{" in endpoint.base_url:
                if asked.scheme == "https" and _is_platform(endpoint, asked.host):
                    named = httpx2.URL(_base(endpoint)).host
                    found.append((True, len(found), name, endpoint, named == asked.host))
                continue
            there = httpx2.URL(endpoint.base_url)
            if (there.scheme, there.host) == (asked.scheme, asked.host):
                same = endpoint.base_url.rstrip("/") == str(asked).rstrip("/")
                found.append((not same, len(found), name, endpoint, True))
    for *_, name, endpoint, entitled in sorted(found, key=lambda each: each[:2]):
        yield provider(name), endpoint, entitled


def _is_platform(endpoint: Endpoint, host: str) -> bool:
    """Whether a host is one of those that an endpoint has for its customers or regions."""
    template = endpoint.base_url.partition("://")[2].partition("/")[0]
    pattern = re.sub(r"\\\{\w+\\\}", "[a-z0-9-]+", re.escape(template))
    return re.fullmatch(pattern, host) is not None or host in endpoint.hosts.values()


def _base(endpoint: Endpoint) -> str:
    """The base URL that the environment names; "" where it names none."""
    try:
        return endpoint.base()
    except InvalidArgument:
        return ""
