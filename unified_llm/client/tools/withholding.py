"""Credentials of tools, which are left out of what is written down: of a run as JSON.

They stand in the tools of the request, in the tools that an answer repeats, and in the environments of both. Names
are compared without case and underscores, because what only one protocol has is kept as that protocol spells it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit, urlunsplit

__all__ = ["withheld_from"]

Node = dict[str, Any]

# The fields of tools, and of what only one protocol has, that hold a credential.
_SECRET = frozenset(
    (
        "accesstoken",
        "apiauth",
        "apikey",
        "apikeystring",
        "authconfig",
        "authorization",
        "authorizationtoken",
        "clientsecret",
        "domainsecrets",
        "headers",
        "password",
    )
)
# URLs often have a key in them; `https://name:password@host` and `?apiKey=` are usual for MCP servers.
_URLS = frozenset(("baseurl", "endpoint", "serverurl", "uri", "url"))
# What a person or a model wrote: names in there are theirs.
_THEIRS = frozenset(("parameters", "inputexamples", "arguments"))
# Below these a name of `_SECRET` means a credential; elsewhere (`metadata`, what only one protocol has of an item) it
# is a name like any other.
_HOLDERS = frozenset(("tools", "environment", "container", "agentconfig"))


def withheld_from(value: Any, path: str, paths: list[str], *, inside: bool = False) -> Any:
    """A JSON value without the credentials of the tools in it; where they were is added to `paths`.

    >>> found = []
    >>> withheld_from({"tools": [{"type": "mcp", "authorization": "key", "server_label": "s"}]}, "/asked", found)
    {'tools': [{'type': 'mcp', 'server_label': 's'}]}
    >>> found
    ['/asked/tools/0/authorization']
    """
    if type(value) is list:
        return [withheld_from(each, f"{path}/{place}", paths, inside=inside) for place, each in enumerate(value)]
    if type(value) is not dict:
        return value
    out: Node = {}
    for key, each in value.items():
        name, at = key.replace("_", "").lower(), f"{path}/{key}"
        if name in _THEIRS or name.endswith("schema"):
            out[key] = each
        elif inside and each and name in _SECRET:
            paths.append(at)
        elif inside and name in _URLS and type(each) is str and (bare := _bare(each)) != each:
            paths.append(at)
            out[key] = bare
        else:
            out[key] = withheld_from(each, at, paths, inside=inside or name in _HOLDERS)
    return out


def _bare(url: str) -> str:
    """A URL without what may be a credential: its user, password, query and fragment."""
    try:
        scheme, place, path, _, _ = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((scheme, place.rpartition("@")[2], path, "", ""))
