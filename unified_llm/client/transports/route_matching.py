"""Which protocol a client uses: by the path of its request, and by headers where a path is shared.

Adapters declare their routes relative to the protocol's root; whatever a client has before that (a host, a version, a
gateway's prefix) does not matter. A route that names more of the path wins over one that names less.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...engine.adapter import Adapter, Route
from ...engine.registry import adapter, adapters, protocols

__all__ = ["Match", "own_headers", "recognize", "route_of", "surface_of"]

_FIELD = re.compile(r"\{(\w+)\}")
_VERSION = r"^(?:.*?/v\d+(?:(?:alpha|beta)\d*)?/|/?)"


class Match(NamedTuple):
    """A recognized route: whose it is, its kind, what stands for its names, and its path below the protocol's root."""

    protocol: str
    route: Route
    names: Mapping[str, str]
    path: str

    def streams(self, body: Any) -> bool:
        """Whether a request for it is for a stream."""
        if self.route.stream is not None:
            return self.route.stream
        return adapter(self.protocol).requests_stream(body)


def recognize(method: str, path: str, headers: Mapping[str, str], surface: str | None = None) -> Match | None:
    """The route of a request, None where no surface has it. `surface` (a protocol) leaves no choice.

    `path` is quoted as it was sent; `names` of the route that is found are not.

    >>> found = recognize("POST", "/gateway/v1/chat/completions", {})
    >>> found.protocol, found.route.kind, found.path
    ('openai-chat', 'request', 'chat/completions')
    """
    if surface is not None:
        return _recognized(method.upper(), path, surface, (adapter(surface.partition(":")[0]),), ())
    known, marks = _known(tuple(protocols()), adapters())
    return _recognized(method.upper(), path, None, known, tuple(mark for mark in marks if mark in headers))


@lru_cache(8)  # a server calls it for each request
def _known(installed: tuple[str, ...], used: tuple[Adapter, ...]) -> tuple[tuple[Adapter, ...], tuple[str, ...]]:
    """Every adapter, and the headers by which any of these is recognized."""
    known = tuple(adapter(name) for name in sorted({*installed, *(each.protocol for each in used)}))
    return known, tuple(dict.fromkeys(mark for each in known for mark in each.marks))


@lru_cache(1024)  # a client uses the same few paths
def _recognized(
    method: str, path: str, surface: str | None, wanted: tuple[Adapter, ...], present: tuple[str, ...]
) -> Match | None:
    found = []
    marks = () if surface is not None else tuple(_marked(each, present) for each in wanted)
    for place, known in enumerate(wanted):
        for route in known.routes:
            match = _found(route.path, path) if route.method == method else None
            if match is None:
                continue
            told = marks[place] if marks else 1
            below = match.start(1)
            if path[:below].rstrip("/").rpartition("/")[2] in known.roots:
                told = 1
            # A list of models is everybody's: no surface has it that is known by other headers.
            if told < 0 and route.kind == "models":
                continue
            rank = (told, len(_FIELD.sub("", route.path)), -place)
            names = {key: unquote(value) for key, value in match.groupdict().items()}
            found.append((rank, Match(surface or known.protocol, route, names, path[below:])))
    return max(found, key=lambda each: each[0])[1] if found else None


def surface_of(match: Match, path: str, headers: Mapping[str, str]) -> str:
    """The protocol of a match, in the dialect of its published specification where the client selects that.

    >>> found = recognize("POST", "/openresponses/v1/responses", {})
    >>> surface_of(found, "/openresponses/v1/responses", {}), surface_of(found, "/v1/responses", {})
    ('openai-responses:open-responses', 'openai-responses')
    """
    known = adapter(match.protocol).specification
    if known is None or ":" in match.protocol:
        return match.protocol
    if known.header not in headers and known.root not in path.removesuffix(match.path).split("/"):
        return match.protocol
    return f"{match.protocol}:{known.dialect}"


def _marked(known: Adapter, headers: Container[str]) -> int:
    if not known.marks:
        return 0
    return 1 if any(mark in headers for mark in known.marks) else -1


def _found(route: str, path: str) -> re.Match[str] | None:
    tail, pattern = _pattern(route)
    # What comes behind the name of a model, which may hold anything, would be looked for from each place of the path.
    return pattern.search(path) if path.removesuffix("/").endswith(tail) else None


@lru_cache(256)
def _pattern(path: str) -> tuple[str, re.Pattern[str]]:
    """How the paths of a route end, and what they are."""
    pieces = []
    last = 0
    bare = path.strip("/")
    for name in _FIELD.finditer(bare):
        # A model's name may hold slashes.
        inner = ".+" if name[1] == "model" else "[^/]+"
        pieces += [re.escape(bare[last : name.start()]), f"(?P<{name[1]}>{inner})"]
        last = name.end()
    pieces.append(re.escape(bare[last:]))
    # A path that begins with a name begins there or behind its version: the name would take in all that is before it.
    start = "(?:^|/)" if not bare.startswith("{") else _VERSION
    return bare[last:], re.compile(f"{start}({''.join(pieces)})/?$")


def route_of(protocol: str, kind: str, *, stream: bool = False) -> Route | None:
    """A protocol's own route for a kind of document, the first without names in it."""
    for route in adapter(protocol).routes:
        if route.kind == kind and route.stream in (None, stream) and "{" not in route.path:
            return route
    return None


def own_headers(protocol: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a client's request that belong to the protocol; all others stay between the client and us."""
    return {name: headers[name] for name in adapter(protocol).request_headers if name in headers}
