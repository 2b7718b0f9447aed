"""Whose server a URL names: the endpoints of the table of providers at its host."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2

from ...foundation.usage_errors import InvalidArgument
from ...models.endpoints import Endpoint, Provider, provider
from ...models.provider_table import table
from .references import taken_apart

__all__ = ["hosts"]


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
