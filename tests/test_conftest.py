"""What holds for every test: none of them reaches the network, and the guard that sees to it lives to the very end."""

from __future__ import annotations

import pathlib
import socket
import sys

import pytest


def test_the_network_is_denied() -> None:
    with pytest.raises(RuntimeError, match="tests use no network"):
        socket.create_connection(("192.0.2.1", 80), 1)
    with pytest.raises(RuntimeError, match="tests use no network"):
        socket.getaddrinfo("example.com", 80)


def test_the_guard_needs_no_name_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the exit of the interpreter objects are finalized when the names of modules are None."""
    own = pathlib.Path(__file__).with_name("conftest.py")
    (module,) = [each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == str(own)]
    with monkeypatch.context() as patched:
        for name in list(vars(module)):
            patched.setattr(module, name, None)
        open(__file__).close()
        with pytest.raises(RuntimeError, match="tests use no network"):
            socket.create_connection(("192.0.2.1", 80), 1)
