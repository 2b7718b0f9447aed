"""The connections of a client: one pool, made at first use, safe under threads, forks and several event loops.

An HTTP client for event loops belongs to the loop in which it was first used, so there is one for each loop, and it is
closed when its loop ends.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from threading import Lock, Thread
from typing import Any

import httpx2

from ... import __version__
from ...foundation.errors import APIConnectionError
from ..sending.deadline import bounded
from .loop_cleanup import at_end_of, current_loop, has_ended, run_later

__all__ = ["LIMITS", "TIMEOUT", "AsyncPool", "Pool", "checked", "close_later"]

TIMEOUT = httpx2.Timeout(600.0, connect=10.0)
"""How long is waited for each piece of an answer, unless upstream or call set another time: models think."""

LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20)
"""How many connections a client opens at once, and how many of them it keeps open."""

_HEADERS = {"user-agent": f"unified-llm/{__version__}"}
# Requests under several credentials share a pool: what a provider gives one of them goes with no other.
_NO_COOKIES = DefaultCookiePolicy(allowed_domains=())
_pools: weakref.WeakSet[Any] = weakref.WeakSet()
_of_parent: list[Any] = []


def _closed() -> APIConnectionError:
    message = "the client is closed; create another one"
    error = {"type": "server_error", "code": "client_closed", "message": message, "should_retry": False}
    found = APIConnectionError(message, error=error)
    found.unsent = True
    return found


def _options(limits: httpx2.Limits) -> dict[str, Any]:
    return {"timeout": TIMEOUT, "headers": _HEADERS, "limits": limits, "cookies": CookieJar(_NO_COOKIES)}


class Pool:
    """The pool of a client for threads. `given` is the caller's own, which stays open."""

    def __init__(self, given: httpx2.Client | None = None, limits: httpx2.Limits | None = None) -> None:
        self.given = given
        self.limits: httpx2.Limits = limits or LIMITS
        self._made: httpx2.Client | None = None
        self._open, self._lock = True, Lock()
        _pools.add(self)

    def check(self) -> None:
        """Raise `APIConnectionError` once it is closed, for upstreams with an HTTP client of their own."""
        if not self._open:
            raise _closed()

    def client(self) -> httpx2.Client:
        """The HTTP client. Raises `APIConnectionError` once it is closed."""
        if self.given is not None:
            checked(self.given)
            return self.given
        made = self._made
        if made is None:
            with self._lock:
                if not self._open:
                    raise _closed()
                if self._made is None:
                    self._made = bounded(httpx2.Client(**_options(self.limits)))
                    weakref.finalize(self, self._made.close)
                made = self._made
        return made

    def reopen(self) -> None:
        """Allow use after `close`."""
        self._open = True

    def close(self) -> None:
        """Close the connections, those in use too."""
        with self._lock:
            made, self._made, self._open = self._made, None, False
        if made is not None:
            made.close()

    def forked(self) -> None:
        """Forget the connections of the parent process, without closing them: they are still in use there."""
        self._lock = Lock()
        _of_parent.append(self._made)
        self._made = None


class AsyncPool:
    """The pool of a client for event loops: an HTTP client for each loop.

    `make` makes one, in the loop that it is for; by default httpx2's. It has `is_closed` and `aclose`.
    """

    def __init__(
        self,
        given: httpx2.AsyncClient | None = None,
        limits: httpx2.Limits | None = None,
        make: Callable[[], Any] | None = None,
    ) -> None:
        self.given = given
        self.limits: httpx2.Limits = limits or LIMITS
        self._make = make if make is not None else self._httpx2
        self._made: dict[Any, Any] = {}
        self._open, self._lock = True, Lock()
        _pools.add(self)

    def _httpx2(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(**_options(self.limits))

    def made(self, loop: Any) -> Any:
        """The HTTP client of the event loop, if it has one that is open."""
        found = self._made.get(loop)
        return None if found is None or found.is_closed else found

    def check(self) -> None:
        """Raise `APIConnectionError` once it is closed, for upstreams with an HTTP client of their own."""
        if not self._open:
            raise _closed()

    async def client(self) -> Any:
        """The HTTP client of the running event loop. Raises `APIConnectionError` once it is closed."""
        if self.given is not None:
            checked(self.given)
            return self.given
        loop = current_loop()
        with self._lock:
            if not self._open:
                raise _closed()
            made = self._made.get(loop)
            if made is None or made.is_closed:
                # Loops that have ended since are forgotten.
                kept = {at: each for at, each in self._made.items() if not each.is_closed and not has_ended(at)}
                made = self._make()
                self._made = {**kept, loop: made}
                at_end_of(loop, made.aclose)
                weakref.finalize(self, run_later, loop, made.aclose).atexit = False
        return made

    def reopen(self) -> None:
        """Allow use after `aclose`."""
        self._open = True

    async def aclose(self) -> None:
        """Close the connections, those in use and those of other event loops too."""
        with self._lock:
            made = list(self._made.items())
            self._made.clear()
            self._open = False
        mine = current_loop()
        for loop, client in made:
            if loop is mine:
                await client.aclose()
            else:
                run_later(loop, client.aclose)

    def forked(self) -> None:
        """Forget the connections of the parent process."""
        self._lock = Lock()
        _of_parent.extend(self._made.values())
        self._made = {}


def checked(client: Any) -> None:
    """Raise `APIConnectionError` for a caller's own HTTP client that is closed."""
    if client.is_closed:
        raise _closed()


def close_later(response: httpx2.Response) -> None:
    """Close a response that is no longer read, from the garbage collector.

    In a thread of its own, because the collector may run while this thread holds the lock of the pool.
    """
    try:
        Thread(target=response.close, name="unified_llm close", daemon=True).start()
    except RuntimeError:
        pass  # the interpreter shuts down


def _after_fork() -> None:
    for pool in list(_pools):
        pool.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
