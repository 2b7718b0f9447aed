"""What makes an upstream: keyword arguments, declared once for `Upstream.of`, `http_client` and `Client`.

And the same as a table of a TOML file, or as variables of the environment.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ...foundation.hints import Words, rendered
from ...foundation.json_codec import dump
from ...foundation.usage_errors import InvalidArgument, MissingExtra
from ...passes.keyword_arguments import texts_in

if TYPE_CHECKING:
    import httpx2

    from ...models.names import ProtocolName
    from ..params import Key

__all__ = [
    "FIELDS",
    "FILE",
    "Environment",
    "UpstreamKeywords",
    "check_row",
    "meanings",
    "mistakes_in",
    "row_of_environment",
    "rows_of",
]


class UpstreamKeywords(TypedDict, total=False):
    """How an upstream is reached; the fields of an `Upstream` are the last of it."""

    protocol: ProtocolName | None
    """The protocol to use; "auto" is the one with the fewest losses for each request."""
    base_url: str | None
    """The base URL of the server."""
    api_key: Key | None
    """The API key, for the origin of the first upstream, or keys by provider."""
    auth: httpx2.Auth | str | None
    """Authentication in place of an API key: an auth object, or the login of a cloud ("aws", "azure", "google")."""
    audience: str
    """What a login is for, where that is not the usual: an OAuth scope, or "service/region" for "aws"."""
    headers: Mapping[str, str] | None
    """HTTP headers of each request; they win over those that a conversion sets."""
    extra_headers: Mapping[str, str]
    """HTTP headers that those of a conversion win over."""
    query: Mapping[str, Any] | None
    """Query parameters of each request."""
    variables: Mapping[str, str] | None
    """Values of the variables in the URL of a provider."""
    model: str | None
    """The model, where the upstream names none."""
    provider: str | None
    """The provider, where the URL does not determine it."""
    scope: str | None
    """A label of the credential or deployment that opaque data is bound to."""
    defaults: Mapping[str, Any]
    """Fields of the body that a request need not have."""
    fixed: Mapping[str, Any]
    """Fields of the body that replace those of a request."""
    omitted: tuple[str, ...]
    """Fields of the body that are left out."""
    moved: Mapping[str, str]
    """Headers that become fields of the body, as lists: the field of each."""
    price: Mapping[str, float] | None
    """Prices of its own in US dollars for a million tokens: `input`, `output`, and other names of the catalog's."""
    path: str
    """The path of requests, where it is not the protocol's own."""
    stream_path: str
    """The path of requests for a stream."""
    timeout: float | httpx2.Timeout | None
    """Seconds to wait for each piece of a response."""
    http_client: httpx2.Client | None
    """The HTTP client that reaches the upstream; it is not closed."""
    async_http_client: httpx2.AsyncClient | None
    """The async one."""


def meanings() -> dict[str, str]:
    """What each argument means: the text under its declaration above."""
    return texts_in(__file__)


FIELDS = frozenset(
    "model base_url protocol provider scope headers query defaults timeout key_env variables path stream_path auth "
    "audience price".split()
)
"""The keys of a table `[upstreams.NAME]`."""


class _File(Words):
    give = "set"
    has_code = False

    def argument(self, name: str, value: Any = None) -> str | None:
        if name not in FIELDS:
            return None
        return name if value is None else f"{name} = {dump(value).decode()}"


FILE: Words = _File()
"""The words of a table `[upstreams.NAME]`."""

_VARIABLES = ("model", "base_url", "protocol", "scope")


class Environment(Words):
    """The words of an upstream that environment variables name."""

    give = "set"
    has_code = False

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def name(self, name: str) -> str | None:
        """The variable; None where there is none."""
        return f"{self._prefix}_{name.upper()}" if name in (*_VARIABLES, "api_key") else None

    def argument(self, name: str, value: Any = None) -> str | None:
        """The variable, with its value as it is set in a shell."""
        variable = self.name(name)
        return variable if variable is None or value is None else f"{variable}={shlex.quote(str(value))}"


@contextmanager
def mistakes_in(words: Words, where: str = "") -> Iterator[None]:
    """Raise `InvalidArgument` for what is wrong with an upstream, in the words of the place that declares it."""
    try:
        yield
    except (ValueError, LookupError, MissingExtra) as error:
        raise InvalidArgument(where + rendered(error, words)) from error


def rows_of(path: str | Path) -> dict[str, dict[str, Any]]:
    """The tables of a file, by name. Raises `InvalidArgument` for a key that is none."""
    import tomllib

    found: dict[str, dict[str, Any]] = tomllib.loads(Path(path).read_text("utf-8")).get("upstreams", {})
    return found


def check_row(row: dict[str, Any]) -> None:
    """Raise `InvalidArgument` for a key that no table has."""
    unknown = sorted({*row} - FIELDS)
    if unknown:
        hint = "; set key_env to the variable that holds the API key" if {"api_key", "key"} & {*unknown} else ""
        raise InvalidArgument(f"unknown key {unknown[0]!r}{hint}")


def row_of_environment(prefix: str) -> dict[str, Any]:
    """The same of the variables with a prefix. Raises `InvalidArgument` where neither a model nor a URL is set."""
    said = {name: os.environ.get(f"{prefix}_{name.upper()}") for name in _VARIABLES}
    key = f"{prefix}_API_KEY"
    row: dict[str, Any] = {name: value for name, value in said.items() if value}
    if os.environ.get(key):
        row["key_env"] = key
    if "model" not in row and "base_url" not in row:
        raise InvalidArgument(f"set {prefix}_MODEL to provider/model, or {prefix}_BASE_URL")
    return row
