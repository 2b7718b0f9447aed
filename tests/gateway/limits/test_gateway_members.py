"""Compressed bodies of many members: bounded, and decompressed in a time in proportion to their size."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.serving import House
from gateway.test_gateway_access import BODY, CODINGS, sent
from unified_llm.gateway.requests import body as body_module


@pytest.mark.parametrize("coding", sorted(CODINGS))
def test_a_body_of_many_members_is_refused(house: House, coding: str) -> None:
    """An empty one of a few bytes takes as long as two thousand bytes of text."""
    empty, packed = CODINGS[coding](b""), CODINGS[coding](BODY)
    assert sent(house, house.gateway(), empty * 1_999 + packed, coding).status_code == 200
    for content in (empty * 2_000 + packed, packed + empty * 2_000):
        done = sent(house, house.gateway(), content, coding)
        assert done.status_code == 400 and "more than 2000 members" in done.text


def test_what_is_left_of_a_body_is_copied_in_small_steps(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """zlib copies what it leaves: of a whole body, behind each of its members, that is quadratic."""
    sizes: list[int] = []

    class Watched:
        def __init__(self, bits: int) -> None:
            self.inner = zlib.decompressobj(bits)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

        def decompress(self, data: bytes, most: int) -> bytes:
            sizes.append(len(data))
            return self.inner.decompress(data, most)

    monkeypatch.setattr(body_module, "zlib", SimpleNamespace(**{**vars(zlib), "decompressobj": Watched}))
    content = json.dumps({**json.loads(BODY), "user": random.Random(1).randbytes(300_000).hex()}).encode()
    assert sent(house, house.gateway(), gzip.compress(content), "gzip").status_code == 200
    assert len(sizes) > 5 and max(sizes) <= 65_536
