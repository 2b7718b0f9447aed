"""The keyword arguments of whatever makes an upstream, declared once: `Upstream.of`, `http_client`, `Client`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from ...passes.keywords import texts_in

if TYPE_CHECKING:
    import httpx2

    from ...models.names import ProtocolName
    from ..params import Key

__all__ = ["UpstreamKeywords", "meanings"]


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
