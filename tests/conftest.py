"""The suite runs without the network and, by default, without luck.

Network: an audit hook sees every connection and every name look-up, also those made in C, and raises; only sockets of
the machine's own file system (and socketpairs, which event loops need and which never connect) pass.
Luck: the profile `ci` derives hypothesis' examples from the test itself; `HYPOTHESIS_PROFILE=fuzz` goes looking.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from hypothesis import HealthCheck, settings

_INTERNET = {socket.AF_INET, socket.AF_INET6}
_TALKING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_NAMING = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


class NetworkDenied(RuntimeError):
    """A test tried to reach the network."""


def _deny_network(event: str, args: tuple[Any, ...]) -> None:
    if event in _TALKING and args[0].family in _INTERNET:
        raise NetworkDenied(f"{event} to {args[1]!r}: tests use no network")
    if event in _NAMING:
        raise NetworkDenied(f"{event} of {args[0]!r}: tests use no network")


sys.addaudithook(_deny_network)

_slow = [HealthCheck.too_slow]
settings.register_profile("ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=_slow)
settings.register_profile("fuzz", max_examples=5_000, deadline=None, suppress_health_check=_slow, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
