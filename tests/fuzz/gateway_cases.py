"""Mutants sent to a gateway over HTTP: bodies, paths, methods, queries and headers, over strict upstreams.

What a client sends may be refused, in the words of its API, and nothing of it may be an error of the gateway: no
status 500, nothing in the log of errors, no body that does not match its content type.
"""

from __future__ import annotations

import functools
import gzip
import json
import logging
import random
import re
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2

from unified_llm.engine.adapter import Route
from unified_llm.engine.registry import adapter

from .cases import DIALECTS, ROUTES, STREAMED, Case, Seeds, Unexpected, as_bytes
from .mutation import mutate_bytes

__all__ = ["gateway"]

_NO_HTTP = b"Invalid HTTP request received."  # uvicorn's own, before there is a request
_METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS")
_IDS = ("resp_1", "x" * 300, "..", "%2F", "%00", "a b", "é", "%ff", "{id}", "-1", "models", "null", "")
_VALUES = ("", "1", "-1", "99999999999999999999", "true", "x", "\x7f", "[1]", "%", "é", "null", "a,b", "9" * 400)
_QUERIES = ("limit", "after", "before", "order", "stream", "starting_after", "last_event_id", "pageSize", "pageToken",
            "include", "alt", "beta", "after_id", "page")  # fmt: skip
_HEADERS = ("x-llm-upstream", "x-client-id", "openresponses-version", "anthropic-version", "anthropic-beta",
            "openai-beta", "content-encoding", "content-type", "accept", "x-unified-llm-caller", "origin",
            "x-goog-api-key", "x-server-timeout", "range", "expect", "x-goog-upload-command")  # fmt: skip


class Sent(NamedTuple):
    """One request, as a mutant: it can be shrunk."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes


class _Noted(logging.Handler):
    """Errors in the log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


@functools.lru_cache(1)
def _rig() -> tuple[str, httpx2.Client, _Noted]:
    """A gateway behind uvicorn in this process, over one upstream of each protocol."""
    from gateway.serving import House, Served

    house = House()
    models = {"*": ["openai-chat"]}
    made = house.gateway(gateway={"listen": "127.0.0.1:0", "max_body": 4_000_000}, models=models)
    noted = _Noted()
    for name in ("unified_llm.gateway", "uvicorn.error", "asyncio"):
        logging.getLogger(name).addHandler(noted)
    return Served(made).url, httpx2.Client(timeout=60), noted


def _create(dice: random.Random, seeds: Seeds, protocol: str) -> tuple[str, str, Any]:
    """A request for a response: its method, its path and its body."""
    body = seeds.mutant(dice, seeds.pick(dice, protocol, "request"), calm=True)
    upstream = dice.choice(seeds.protocols)
    path = dice.choice((ROUTES, STREAMED))[protocol].replace("models/m:", f"models/{upstream}:")
    if type(body) is dict and dice.random() < 0.9:
        body = {**body, "model": upstream}
        if dice.random() < 0.5:
            body = {**body, "stream": dice.random() < 0.5}
    return "POST", path, body


def _other(dice: random.Random, seeds: Seeds, protocol: str) -> tuple[str, str, Any]:
    """A request of another route, or of none."""
    route: Route = dice.choice(adapter(protocol).routes)
    path = route.path
    for name in ("id", "model", "part", "file", "name", "item"):
        path = path.replace(f"{{{name}}}", dice.choice((*_IDS, *seeds.protocols, dice.choice(seeds.words))))
    prefix = dice.choice(("v1/", "v1beta/", "", "openai/v1/", "v1/v1/", "/"))
    path = path if path.startswith("v1") else prefix + path
    if dice.random() < 0.1:
        path += dice.choice(_IDS)
    method = route.method if dice.random() < 0.8 else dice.choice(_METHODS)
    body = None
    if method in ("POST", "PUT", "PATCH") or dice.random() < 0.1:
        kind = (protocol, dice.choice(("request", "response", "error")))
        body = seeds.mutant(dice, seeds.pick(dice, *(kind if kind in seeds.by else (protocol, "request"))), calm=True)
    return method, path, body


def gateway(dice: random.Random, seeds: Seeds) -> Case:
    protocol = dice.choice(seeds.protocols)
    method, path, body = (_create if dice.random() < 0.7 else _other)(dice, seeds, protocol)
    content = b"" if body is None else as_bytes(body) or b"[" * 100_000
    if dice.random() < 0.15:
        content = mutate_bytes(content, dice, dice.choice((1, 3)))
    if dice.random() < 0.25:
        names = [dice.choice((*_QUERIES, dice.choice(seeds.words))) for _ in range(dice.choice((1, 2)))]
        query = "&".join(f"{quote(name, errors='replace')}={quote(dice.choice(_VALUES))}" for name in names)
        path = f"{path}{'&' if '?' in path else '?'}{query}"
    headers = {"content-type": "application/json"} if content else {}
    if dice.random() < 0.1:
        content, headers = gzip.compress(content, 1), {**headers, "content-encoding": "gzip"}
    if dice.random() < 0.25:
        value = dice.choice((*_VALUES, *DIALECTS, "2023-06-01", "gzip", "latest", "text/event-stream"))
        headers = {**headers, dice.choice(_HEADERS): value.encode("ascii", "replace").decode()}
    path = quote(path, safe="/?&=%:{},[]~!*'();@$+-._", errors="replace")
    return Case(f"{method} {path[:80]}", Sent(method, path, headers, content), _run)


def _run(value: Any) -> None:
    sent = Sent(*value)
    url, http, noted = _rig()
    noted.records.clear()
    try:
        with http.stream(sent.method, f"{url}/{sent.path}", headers=sent.headers, content=sent.content) as reply:
            raw = reply.read()
    except (httpx2.InvalidURL, httpx2.LocalProtocolError, httpx2.UnsupportedProtocol, UnicodeError, ValueError):
        return  # nothing that HTTP can carry, or a mutant that was shrunk to nothing
    if noted.records:
        raise _unexpected(noted.records[0])
    if reply.status_code == 500:
        raise Unexpected(f"status 500: {raw[:300]!r}")
    kind = reply.headers.get("content-type", "")
    if kind.startswith("application/json") and raw:
        try:
            json.loads(raw)
        except ValueError:
            raise Unexpected(f"no JSON: {raw[:300]!r}") from None
    elif reply.status_code >= 400 and raw and raw != _NO_HTTP:
        raise Unexpected(f"status {reply.status_code} without a document: {raw[:100]!r}")


def _unexpected(record: str) -> Unexpected:
    """An error in the log, by the place it came from: failures of one cause have one name."""
    places = re.findall(r"unified_llm/([\w/]+\.py).*, in (\w+)", record)
    cause = record.rstrip().rpartition("\n")[2].partition(":")[0].rpartition(".")[2]
    name = " ".join((cause, *(":".join(place) for place in places[-1:])))
    made: Unexpected = type(name, (Unexpected,), {})(f"an error in the log: {record[-2_000:]}")
    return made
