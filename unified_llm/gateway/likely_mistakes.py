"""What is probably a mistake in a valid configuration: warnings of `unified-llm gateway check` and of the start."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from ..models.endpoints import provider
from ..models.provider_table import aliases, table
from .access.callers import Key
from .configuration.config import Config, KeySettings, is_loopback
from .upstreams.routing import Router

__all__ = ["doubts"]

# Last labels of names that only private networks resolve: RFC 6762, RFC 9476, and what routers and clusters use.
_INSIDE = frozenset(("alt", "corp", "home", "internal", "intranet", "lan", "local", "localdomain", "pod", "private",
                     "svc", "test"))  # fmt: skip
_INSIDE_ZONES = (".home.arpa", ".ts.net")  # RFC 8375; a mesh of WireGuard, which encrypts
_SHOWN = 8  # names of one line


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
        whose = router.upstreams[name].provider if name in router.upstreams else None
        first, slash, rest = (row.model or "").partition("/")
        first = aliases().get(first, first)
        if row.base_url and slash and whose is row.protocol is None and first in table():
            # Beside a URL the name is the model's own; `Upstream.of` reads it as a provider and a model.
            fields = f"provider = {first!r}, protocol = {provider(first).protocols[0]!r} and model = {rest!r}"
            yield (
                f"upstreams.{name}.model: {row.model!r} is sent as it is, in Chat Completions; "
                f"for the API of {first} at this URL set {fields}, else set protocol"
            )
        if whose and not (row.base_url or row.key_env or row.auth or row.headers or row.query):
            if missing := _missing_key(whose):
                yield f"upstreams.{name}: {whose} has no API key; set {missing}"
    for name in dict.fromkeys(aliases().get(each, each) for each in config.gateway.providers or ()):
        if missing := _missing_key(name):
            yield f"gateway.providers: {name} has no API key; set {missing}"
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
        if key.budget:
            yield from _without_price(f"keys.{name}", [_as_key(name, key)], config, router)
    for name, team in config.teams.items():
        members = [_as_key(each, key) for each, key in config.keys.items() if key.team == name]
        if not members:
            yield f"teams.{name}: no key has it as its team"
        elif team.budget:
            yield from _without_price(f"teams.{name}", members, config, router)


def _missing_key(name: str) -> str:
    """The variables of the key of a provider, where none is set and it has no login of its own."""
    found = provider(name)
    return " or ".join(found.key_env) if found.key_env and not found.login and found.key() is None else ""


def _as_key(name: str, row: KeySettings) -> Key:
    return Key(name, models=tuple(row.models), upstreams=tuple(row.upstreams))


def _without_price(path: str, keys: Sequence[Key], config: Config, router: Router) -> Iterator[str]:
    """What a budget does not count: names for which neither the configuration nor the catalog has a price."""
    names = list(dict.fromkeys(name for key in keys for name in router.without_price(key)))
    if not names:
        return
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    if config.gateway.unlisted == "free":
        yield f"{path}.budget: no price for {shown}: their requests cost nothing; set price"
    else:
        reason = "requests for them are refused, or go to other targets"
        yield f"{path}.budget: no price for {shown}: {reason}; set price (0 is free), or gateway.unlisted"


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
