"""Mistakes in what names an upstream: a URL that no HTTP client can use, a model in the spelling of another library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches

from ...foundation.errors import InvalidBody
from ...models.catalog import current
from ...models.provider_table import aliases, table
from .options import UpstreamKeywords
from .upstream import Upstream

__all__ = ["check_names", "check_reference", "check_url", "respelled"]

_HOST = re.compile(r"(localhost|\d+\.\d+\.\d+\.\d+|[\w.-]+:\d+)(:\d+)?")
_SLASHES = re.compile(r"(https?):/?(?!/)")
_SCHEMES = ("http", "https")


def check_names(given: Iterable[str]) -> None:
    """Raise `TypeError` for the first keyword argument that no upstream has."""
    known = {each.name for each in fields(Upstream)} | set(UpstreamKeywords.__annotations__)
    for name in given:
        if name not in known:
            near = get_close_matches(name, sorted(known), 1, 0.75)
            hint = f"did you mean {near[0]!r}?" if near else "it is neither an option nor a field of an Upstream"
            raise TypeError(f"unknown argument {name!r}; {hint}")


def check_url(url: str) -> None:
    """Raise `InvalidBody` for a base URL without a scheme that HTTP has."""
    shown = url if not {"@", "?"} & {*url} else "..."  # without a password or a key
    scheme, there, _ = url.partition("://")
    if there and scheme.lower() in _SCHEMES:
        return
    if there:
        raise InvalidBody("/base_url", f"the scheme {scheme!r} is not supported; use 'http://' or 'https://'")
    meant = _SLASHES.sub(r"\1://", shown, count=1)
    meant = meant if meant != shown or shown == "..." else f"http://{shown}"
    raise InvalidBody("/base_url", f"{shown!r} has no scheme; did you mean {meant!r}?")


def check_reference(name: str, ref: str) -> None:
    """Raise `InvalidBody` for a reference that is not a URL, and whose first part (`name`) cannot be a provider."""
    if _HOST.fullmatch(name) or _SLASHES.match(ref):
        check_url(ref)
    meant = respelled(ref)
    if meant is not None:
        raise InvalidBody("/model", f"{ref!r} has a colon after the provider; use {meant!r}")


def respelled(ref: str) -> str | None:
    """A model that is written `provider:model`, as it is written here.

    >>> respelled("openai:gpt-5.5"), respelled("qwen3:8b")
    ('openai/gpt-5.5', None)
    """
    name, colon, model = ref.partition(":")
    known = colon and "/" not in name and (name in table() or name in aliases() or name in current().raw)
    return f"{name}/{model}" if known and model else None
