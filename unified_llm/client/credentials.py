"""Keys, and how they get into a request: at the last moment, as an auth object of the HTTP library.

A key is held by its auth object and by nothing else: neither an upstream, nor a request that was built, nor an error
shows it. What an answer repeats of it is struck out. A key may come from a function (short-lived tokens of a cloud);
functions run outside of the event loop.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from importlib import import_module
from typing import Any

import anyio.to_thread
import httpx2

from ..errors import AuthenticationFailed

__all__ = ["KeyAuth", "load_source", "loaded"]

_STRUCK = "[key]"


class KeyAuth(httpx2.Auth):
    """Puts a key into one header. `header` and `template` say how (`{key}` stands for it).

    `key` is the key, or a function that gives it each time; without one the environment variables `env` are looked
    at, the first that is set wins. `needed` is whether a request without a key is refused before it is sent (a server
    of one's own needs none): `AuthenticationFailed` names the variables.

    >>> KeyAuth("authorization", "Bearer {key}", "sk-secret")
    KeyAuth('authorization')
    """

    def __init__(
        self,
        header: str,
        template: str = "{key}",
        key: str | Callable[[], str] | None = None,
        *,
        env: Sequence[str] = (),
        needed: bool = True,
        whose: str = "",
    ) -> None:
        self.header, self.template, self.env, self.needed, self.whose = header, template, tuple(env), needed, whose
        self._key = key
        self._seen: set[str] = set()

    def __repr__(self) -> str:
        return f"KeyAuth({self.header!r})"

    def __reduce__(self) -> Any:
        raise TypeError("credentials are not copied into files or other processes")

    def hide(self, text: str) -> str:
        """The text without any key this object gave out."""
        for key in self._seen:
            text = text.replace(key, _STRUCK)
        return text

    def sync_auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        self._put(request, self._key() if callable(self._key) else self._key)
        yield request

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        key = await anyio.to_thread.run_sync(self._key) if callable(self._key) else self._key
        self._put(request, key)
        yield request

    def _put(self, request: httpx2.Request, key: str | None) -> None:
        key = key or next((found for each in self.env if (found := os.environ.get(each))), None)
        if key:
            self._seen.add(key)
            request.headers[self.header] = self.template.replace("{key}", key)
        elif self.needed:
            where = f"set {' or '.join(self.env)}, or pass api_key=" if self.env else "pass api_key="
            whose = f" for {self.whose}" if self.whose else ""
            raise AuthenticationFailed(f"no key{whose}: {where}", error={"type": "authentication"})


def loaded(where: str) -> Any:
    """What `module:name` names, in a table of data or in an adapter's declaration."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


def load_source(where: str) -> Callable[[], str]:
    """The function that gives keys which `module:function` names. Nothing is imported before a key is needed."""

    def give() -> str:
        return str(loaded(where)())

    return give
