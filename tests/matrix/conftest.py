"""The server that all tests of this folder share, fresh for each of them, and no connection left open behind them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from matrix.loopback import Loopback


@pytest.fixture(scope="session")
def _loopback() -> Iterator[Loopback]:
    found = Loopback()
    yield found
    found.close()


@pytest.fixture
def house(_loopback: Loopback) -> Iterator[Loopback]:
    _loopback.renew()
    before = _loopback.busy
    yield _loopback
    _loopback.settle()
    left = [each for each in _loopback.busy if each not in before]
    assert left == [], "a connection is still busy"
    _loopback.until(lambda: all(seen.ended != "open" for seen in _loopback.seen))
