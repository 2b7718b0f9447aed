"""The credentials of an MCP server (a token in some protocols, the header `Authorization` in others), and its name."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from ..pairs.mapping import Fated, take
from ..pairs.writing import Writer

__all__ = ["as_header", "as_token", "label_of"]

Node = dict[str, Any]

_HEADER, _SCHEME = "Authorization", "Bearer "
_AS_TOKEN = "sent as the token of the server"


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
    """The token among the headers of a server, consumed from the copy `c`; the others are left in it, to be reported.

    A server that is called without its token refuses every call.
    """
    headers = c.get("headers")
    if type(headers) is not dict or c.get("authorization") is not None:
        return None
    found = [(key, value) for key, value in headers.items() if key.lower() == _HEADER.lower()]
    if len(found) != 1 or type(found[0][1]) is not str or not found[0][1].startswith(_SCHEME):
        return None
    ((key, value),) = found
    if len(headers) == 1:
        c["headers"] = Fated("approximated", _AS_TOKEN)
    else:
        take(c, "headers")[key] = Fated("approximated", _AS_TOKEN)
    return str(value[len(_SCHEME) :])


def label_of(url: Any) -> str:
    """A name from the host of an address, in the letters that every API takes; the same one in each request.

    >>> label_of("https://mcp.example.com/sse"), label_of(None)
    ('mcp_example_com', 'mcp_server')
    """
    try:
        host = urlsplit(url).hostname if type(url) is str else None
    except ValueError:
        host = None
    return re.sub("[^a-z0-9]+", "_", host or "").strip("_")[:48] or "mcp_server"
