"""The credentials of an MCP server: a token of its own in some protocols, the header `Authorization` in others."""

from __future__ import annotations

from typing import Any

from ..pairs.mapping import Fated
from ..pairs.writing import Writer

__all__ = ["as_header", "as_token"]

Node = dict[str, Any]

_HEADER, _SCHEME = "Authorization", "Bearer "


def as_header(c: Node, w: Writer) -> Node | None:
    """The headers of a server with its token among them, consumed from the copy `c`; None where there is neither.

    A token is not sent beside a header of that name.
    """
    headers, token = c.get("headers"), c.get("authorization")
    if type(headers) is not dict and headers is not None:
        return None
    if type(token) is not str or any(key.lower() == _HEADER.lower() for key in headers or ()):
        kept: Node | None = c.pop("headers", None)
        return kept
    c.pop("headers", None)
    c["authorization"] = Fated("approximated", f"sent as the header {_HEADER}")
    made = {**(headers or {}), _HEADER: f"{_SCHEME}{token}"}
    w.added(made, _HEADER, "the token of the server")
    return made


def as_token(c: Node) -> str | None:
    """The token among the headers of a server, which are consumed from the copy `c` if they hold nothing else."""
    headers = c.get("headers")
    if type(headers) is not dict or len(headers) != 1 or c.get("authorization") is not None:
        return None
    ((key, value),) = headers.items()
    if key.lower() != _HEADER.lower() or type(value) is not str or not value.startswith(_SCHEME):
        return None
    c["headers"] = Fated("approximated", "sent as the token of the server")
    return value[len(_SCHEME) :]
