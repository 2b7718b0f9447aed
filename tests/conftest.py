"""The suite runs without the network and, by default, without luck.

Network: an audit hook sees every connection and every name look-up, also those made in C, and raises; only this
machine's own addresses pass, and sockets of its file system (and socketpairs, which event loops need).
Luck: hypothesis derives its examples from the test itself, a hundred of them in the profile `ci`, 25 by default and 10
in `fast`; `HYPOTHESIS_PROFILE=fuzz` searches for new ones. Tests run in random order; `--randomly-seed=N`, with the
seed that a run prints, repeats its order.
"""

from __future__ import annotations

import functools
import gc
import os
import socket
import ssl
import sys
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from unified_llm.engine import malformed


class NetworkDenied(RuntimeError):
    """A test tried to reach the network."""


def _network_guard() -> Callable[[str, tuple[Any, ...]], None]:
    """The audit hook. It needs no name of this module: those are gone when objects are finalized at the very end."""
    internet = {socket.AF_INET, socket.AF_INET6}
    talking = {"socket.connect", "socket.sendto", "socket.sendmsg"}
    naming = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
    own = {"127.0.0.1", "::1"}  # no names, not even of this machine: looking one up may use the network
    denied = NetworkDenied

    def deny_network(event: str, args: tuple[Any, ...]) -> None:
        # Without an address the socket is connected, and that was looked at when it was.
        if event in talking and args[0].family in internet and args[1] is not None and args[1][0] not in own:
            raise denied(f"{event} to {args[1]!r}: tests use no network")
        if event in naming and args[0] not in own:
            raise denied(f"{event} of {args[0]!r}: tests use no network")

    return deny_network


sys.addaudithook(_network_guard())

# Every HTTP client makes one, and reading the certificates takes longer than most tests; no test uses TLS.
ssl.create_default_context = functools.lru_cache(ssl.create_default_context)

# Modules, records and test items stay until the end, so the collector need not look at them: not while they are made,
# and not in each of its rounds during the tests, which are fewer than by default, because most tests leave no cycles.
gc.disable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are cores: many tests wait, for a server, a database or another process."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, default=0, metavar="N", help="run at most N cases of each test function")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests first, in random order among themselves: one that begins last leaves the other cores idle.

    With `--cases` a test function keeps the cases whose names have the lowest checksums: the same in every run.
    """
    most = config.getoption("cases")
    if most:
        cases: dict[str, list[str]] = {}
        for item in items:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item.nodeid)
        kept = {name for names in cases.values() for name in sorted(names, key=_checksum)[:most]}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = [item for item in items if item.nodeid in kept]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def _checksum(name: str) -> int:
    return zlib.crc32(name.encode())


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


# An error that malformed input does not explain is a bug of ours, and no test may take it for a refusal.
malformed.net = False

_slow = [HealthCheck.too_slow]
settings.register_profile("ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=_slow)
settings.register_profile("local", derandomize=True, max_examples=25, deadline=None, suppress_health_check=_slow)
settings.register_profile("fast", derandomize=True, max_examples=10, deadline=None, suppress_health_check=_slow)
settings.register_profile("fuzz", max_examples=5_000, deadline=None, suppress_health_check=_slow, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "local"))
