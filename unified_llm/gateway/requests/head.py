"""What comes before the body of a request, over HTTP and in the handshake of a WebSocket."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl

from ...client.transports.report_headers import CALLER
from ..responses.replies import Scope

__all__ = ["LENGTH", "Head"]

LENGTH = "content-length"
_UPSTREAM = "x-llm-upstream"
_CLIENT = "x-client-id"
_OWN = frozenset((CALLER, _UPSTREAM, _CLIENT, "cookie"))  # never part of a conversion


class Head(NamedTuple):
    """A request without its body; header names are lower case, and a repeated header is one, joined by commas.

    The length of the body is not among the headers.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    scheme: str = "http"

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """The head of an ASGI request. Names of headers are in lower case, repeated ones are joined by a comma."""
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        headers.pop(LENGTH, None)
        quoted = scope.get("raw_path") or scope["path"].encode()  # a quoted slash is not a separator
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        path = quoted.decode("latin-1").partition("?")[0]
        return cls(scope.get("method", "GET"), path, query, headers, scope.get("scheme", "http"))

    @property
    def upstream(self) -> str | None:
        """The upstream that a request insists on."""
        return self.headers.get(_UPSTREAM)

    @property
    def shown(self) -> dict[str, str]:
        """The headers that are part of a conversion."""
        return {name: value for name, value in self.headers.items() if name not in _OWN}
