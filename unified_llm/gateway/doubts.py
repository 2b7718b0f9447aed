"""What is probably a mistake in a valid configuration: warnings of `unified-llm gateway check` and of the start."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from ..models.endpoints import provider
from ..models.provider_table import aliases
from .configuration.config import Config, is_loopback
from .upstreams.routing import Router

__all__ = ["doubts"]

# Last labels of names that only private networks resolve: RFC 6762, RFC 9476, and what routers and clusters use.
_INSIDE = frozenset(("alt", "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "pod", "private",
                     "svc", "test"))  # fmt: skip
_INSIDE_ZONES = (".home.arpa", ".ts.net")  # RFC 8375; a mesh of WireGuard, which encrypts


def doubts(config: Config, router: Router) -> Iterator[str]:
    """One line for each doubt, with its path in the file. None of them keeps the gateway from starting.

    >>> config = Config.model_validate({"upstreams": {"mine": {"base_url": "http://example.com", "key_env": "UNSET"}}})
    >>> for line in doubts(config, Router(config)):
    ...     print(line)
    upstreams.mine.key_env: UNSET is not set; requests are sent without an API key
    upstreams.mine.base_url: http:// to a public address: prompts and API keys are sent unencrypted
    """
    for name, row in config.upstreams.items():
        if row.key_env and not any(map(os.environ.get, row.key_env)):
            verb = "is not set" if len(row.key_env) == 1 else "are not set"
            yield f"upstreams.{name}.key_env: {', '.join(row.key_env)} {verb}; requests are sent without an API key"
        if row.base_url is not None and _is_exposed(row.base_url):
            yield f"upstreams.{name}.base_url: http:// to a public address: prompts and API keys are sent unencrypted"
    for name in dict.fromkeys(aliases().get(each, each) for each in config.gateway.providers or ()):
        found = provider(name)
        if found.key_env and not found.login and found.key() is None:
            yield f"gateway.providers: {name} has no API key; set {' or '.join(found.key_env)}"
    reached = (*router.upstreams, *router.providers)
    for name, key in config.keys.items():
        for pattern in key.upstreams:
            if not _matches_one(pattern, reached):
                meant = aliases().get(pattern)
                hint = f"; the provider is named {meant!r}" if meant in reached else ""
                yield f"keys.{name}.upstreams: {pattern!r} matches no upstream and no provider{hint}"
        for model in key.models:
            # Which models a provider has is not known for certain: a pattern, or a name of its own, may be right.
            if not set("*?[/") & set(model) and not router.routes(model):
                yield f"keys.{name}.models: {model!r} is neither in [models] nor an upstream nor a known model"


def _is_exposed(url: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme != "http" or is_loopback(host):
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and host.rpartition(".")[2] not in _INSIDE and not host.endswith(_INSIDE_ZONES)


def _matches_one(pattern: str, names: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)
