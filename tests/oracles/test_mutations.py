"""A request that is wrong in one place gets an answer or a refusal, never a crash: fixtures with one node replaced."""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from corpus import fixtures
from oracles import mounts
from oracles.surfaces import PROTOCOLS, Node, path

WRONG: list[Any] = [None, "x", -1, True, [], {}, [None], [{}], {"type": "x"}]
ONE_IN = 40
"""How much of it is tried; all of it takes minutes."""


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(value, (*at, key))


def changed(body: Node, at: tuple[Any, ...], value: Any) -> bytes:
    body = copy.deepcopy(body)
    node: Any = body
    for step in at[:-1]:
        node = node[step]
    node[at[-1]] = value
    return json.dumps(body).encode()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_wrong_node(protocol: str) -> None:
    service, tried = mounts.Oracle(), 0
    headers = {"anthropic-version": "2023-06-01"}
    for record in fixtures(protocol, "request"):
        for at in places(record["body"]):
            if zlib.crc32(repr((record["id"], at)).encode()) % ONE_IN:
                continue
            for value in WRONG:
                reply = service.handle("POST", path(protocol), "", headers, changed(record["body"], at, value))
                list(reply.body)
                tried += 1
                assert reply.status in (200, 400, 404), (record["id"], at, value)
    assert tried > 50
