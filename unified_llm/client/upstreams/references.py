"""What names an upstream: a base URL and its parts, a model, and the mistakes that are made in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from ...foundation.errors import InvalidBody
from ...foundation.hints import Argument, Code, Either, Hint
from ...models.catalog import current
from ...models.provider_table import aliases, table
from .options import UpstreamKeywords

__all__ = ["AT_MODEL", "check_names", "check_reference", "check_url", "is_provider", "join", "respelled", "taken_apart"]

_HOST = re.compile(r"(localhost|\d+\.\d+\.\d+\.\d+|[\w.-]+:\d+)(:\d+)?")
_SLASHES = re.compile(r"(https?):/?(?!/)")
_SCHEMES = ("http", "https")
AT_MODEL = Hint(Either((Code("/model"), Argument("model"), "model")))
"""Where the name of a model is wrong: the path of an `InvalidBody`."""
_AT_BASE_URL = Hint(Either((Code("/base_url"), Argument("base_url"), "the base URL")))


def check_names(given: Iterable[str], fields: Iterable[str]) -> None:
    """Raise `TypeError` for the first keyword argument that no upstream has."""
    known = {*fields, *UpstreamKeywords.__annotations__}
    for name in given:
        if name not in known:
            from difflib import get_close_matches

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
        raise InvalidBody(_AT_BASE_URL, f"the scheme {scheme!r} is not supported; use 'http://' or 'https://'")
    meant = _SLASHES.sub(r"\1://", shown, count=1)
    meant = meant if meant != shown or shown == "..." else f"http://{shown}"
    raise InvalidBody(_AT_BASE_URL, f"{shown!r} has no scheme; did you mean {meant!r}?")


def check_reference(name: str, ref: str) -> None:
    """Raise `InvalidBody` for a reference that is not a URL, and whose first part (`name`) cannot be a provider."""
    if _HOST.fullmatch(name) or _SLASHES.match(ref):
        check_url(ref)
    meant = respelled(ref)
    if meant is not None:
        raise InvalidBody(AT_MODEL, f"{ref!r} has a colon after the provider; use {meant!r}")


def respelled(ref: str) -> str | None:
    """A model that is written `provider:model`, as it is written here.

    >>> respelled("openai:gpt-5.5"), respelled("qwen3:8b")
    ('openai/gpt-5.5', None)
    """
    name, colon, model = ref.partition(":")
    return f"{name}/{model}" if colon and model and "/" not in name and is_provider(name) else None


def is_provider(name: str) -> bool:
    """Whether a provider has this name, in the table or in the catalog."""
    return name in table() or name in aliases() or name in current().raw


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
        _ = urlsplit(url).port  # raises for a bracket without its other one, and for a port that there is not
    except (httpx2.InvalidURL, ValueError):
        found = None
    if found is None:
        raise InvalidBody(_AT_BASE_URL, "not a valid URL; pass one such as 'http://localhost:8000/v1'")
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
