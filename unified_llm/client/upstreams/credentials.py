"""Keys, and how they get into a request: at the last moment, as an auth object of the HTTP library.

A key is held by its auth object and by the `Secrets` of its upstream, and no `repr` shows either. A key may come from a
function (short-lived tokens of a cloud); functions run outside of the event loop. `Watched` runs any auth object and
registers the credentials of the request as it leaves, wherever they came from.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence, Set
from typing import Any

import httpx2

from ...foundation.errors import AuthenticationError
from ...foundation.hints import Argument, Code, Each, Either, Hint
from .redaction import Secrets, is_sendable
from .tokens import Tokens

__all__ = ["NO_KEY", "REFUSED", "KeyAuth", "Watched", "register"]

REFUSED = 401
"""The status of a request whose credentials a server does not take."""

NO_KEY = "no API key"
"""How the message of an error begins whose request needs a key and has none."""

_UNSENDABLE = "contains a line break, outer spaces or another character that HTTP headers cannot contain"


class KeyAuth(httpx2.Auth):
    """Puts a key into one header. `header` is its name, `template` its value (`{key}` stands for the key).

    `key` is the key, or a function that gives it each time; without one the environment variables `env` are looked
    at, the first that is set wins. Where the function is `Tokens` and a server answers 401, the request is sent once
    more with another token. `needed` is whether a request without a key is refused before it is sent (the user's
    own server needs none): `AuthenticationError` names the variables.

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
        self.header = header
        self.template = template
        self.env: tuple[str, ...] = tuple(env)
        self.needed = needed
        self.whose = whose
        self._key = key
        self._last: tuple[str, tuple[str, str]] | None = None  # a key, and the header that was made of it

    def __repr__(self) -> str:
        return f"KeyAuth({self.header!r})"

    def __reduce__(self) -> Any:
        raise TypeError("credentials cannot be pickled; create the Upstream in the other process")

    def with_key(self, key: str | Callable[[], str]) -> KeyAuth:
        """The same login with another key."""
        return KeyAuth(self.header, self.template, key, env=self.env, needed=self.needed, whose=self.whose)

    @property
    def is_asked(self) -> bool:
        """Whether the key comes from a function."""
        return callable(self._key)

    def header_now(self) -> tuple[str, str] | None:
        """`login` for a key that comes from no function."""
        return self._header(None if callable(self._key) else self._key)

    def register(self, secrets: Secrets) -> None:
        """Add a key that is known already."""
        if isinstance(self._key, str):
            secrets.add(self._key)

    def sync_auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Add the key to the request (httpx2's protocol for blocking clients)."""
        header = self._header(self._key() if callable(self._key) else self._key)
        if header is not None:
            request.headers[header[0]] = header[1]
        response = yield request
        if response.status_code == REFUSED and header is not None and self.is_renewable:
            header = self._another(header)
            if header is not None:
                request.headers[header[0]] = header[1]
                yield request

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Add the key to the request (httpx2's protocol for event loops)."""
        header = await self.login()
        if header is not None:
            request.headers[header[0]] = header[1]
        response = yield request
        if response.status_code == REFUSED and header is not None and self.is_renewable:
            header = await self.another(header)
            if header is not None:
                request.headers[header[0]] = header[1]
                yield request

    async def login(self) -> tuple[str, str] | None:
        """The header that holds the key; None without a key. Raises `AuthenticationError` where one is needed."""
        import anyio.to_thread

        key = (self._key.ready or self._key) if isinstance(self._key, Tokens) else self._key
        return self._header(await anyio.to_thread.run_sync(key) if callable(key) else key)

    @property
    def is_renewable(self) -> bool:
        """Whether there may be another key where a server refuses one."""
        return isinstance(self._key, Tokens)

    async def another(self, refused: tuple[str, str]) -> tuple[str, str] | None:
        """The header with another key than the one that a server refused; None where there is none."""
        import anyio.to_thread

        return await anyio.to_thread.run_sync(self._another, refused)

    def _another(self, refused: tuple[str, str]) -> tuple[str, str] | None:
        assert isinstance(self._key, Tokens)
        return self._header(self._key.another(lambda token: self._header(token) == refused), needed=False)

    def _header(self, key: str | None, *, needed: bool = True) -> tuple[str, str] | None:
        if key is None and not needed:
            return None
        key = key or next((found for each in self.env if (found := os.environ.get(each))), None)
        last = self._last
        if last is not None and last[0] == key:
            return last[1]
        whose = f" for {self.whose}" if self.whose else ""
        if key and not is_sendable(key):
            raise _unusable(f"the API key{whose} {_UNSENDABLE}; set it again without them")
        if key:
            header = self.header, self.template.replace("{key}", key)
            self._last = key, header
            return header
        if self.needed:
            raise _unusable(Hint(f"{NO_KEY}{whose}", _ways(self.env)))
        return None


class Watched(httpx2.Auth):
    """Another auth object, or none, and `secrets`, which register every credential that leaves.

    `public` are names and values of headers and of the query that conversion set: they are no credentials. Raises
    `AuthenticationError` for a header that HTTP cannot send, without showing it.
    """

    def __init__(self, inner: httpx2.Auth | None, secrets: Secrets, public: Set[tuple[str, str]]) -> None:
        self._inner = inner if inner is not None else httpx2.Auth()
        self._secrets, self._public = secrets, public

    def __repr__(self) -> str:
        return f"Watched({type(self._inner).__name__})"

    def __reduce__(self) -> Any:
        raise TypeError("credentials cannot be pickled; create the Upstream in the other process")

    def sync_auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Run the inner flow, and register the credentials of each request before it leaves."""
        flow = self._inner.sync_auth_flow(request)
        try:
            leaving = self._seen(lambda: next(flow))
            while leaving is not None:
                response = yield leaving
                leaving = self._seen(lambda: flow.send(response))  # noqa: B023
        finally:
            flow.close()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the inner flow, and register the credentials of each request before it leaves."""
        flow = self._inner.async_auth_flow(request)
        sent: httpx2.Response | None = None
        try:
            while True:
                failed = False
                try:
                    leaving = await (anext(flow) if sent is None else flow.asend(sent))
                except StopAsyncIteration:
                    return
                except UnicodeError:
                    failed = True
                if failed:
                    raise _unusable(f"a credential {_UNSENDABLE}")
                self._register(leaving)
                sent = yield leaving
        finally:
            await flow.aclose()

    def _seen(self, step: Callable[[], httpx2.Request]) -> httpx2.Request | None:
        try:
            leaving = step()
        except StopIteration:
            return None
        except UnicodeError:
            leaving = None
        if leaving is None:
            # Raised out here: the error of the encoding holds what it could not encode.
            raise _unusable(f"a credential {_UNSENDABLE}")
        self._register(leaving)
        return leaving

    def _register(self, request: httpx2.Request) -> None:
        once = getattr(self._inner, "one_time", ())
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in request.headers.raw]
        headers = [pair for pair in headers if pair[0] not in once]
        register(self._secrets, headers, request.url, self._public)


def register(
    secrets: Secrets, headers: Iterable[tuple[str, str]], url: httpx2.URL, public: Set[tuple[str, str]]
) -> None:
    """Register with `secrets` the credentials in a request that is about to leave; names of headers are in lower case.

    Raises `AuthenticationError` for a header that HTTP cannot send, without showing it.
    """
    added = [pair for pair in headers if pair not in public]
    secrets.add_headers(added)
    if url.query:
        secrets.add_query(pair for pair in url.params.multi_items() if pair not in public)
    wrong = next((name for name, value in added if not is_sendable(value) and value), None)
    if wrong is not None:
        raise _unusable(f"the header {wrong} {_UNSENDABLE}")


_IN_PYTHON = Code("pass api_key= to Client() or http_client()")


def _ways(env: Sequence[str]) -> Each:
    """How to give a key: by the variables of the provider, or else by one that an option or a field names."""
    if env:
        return Each((f"set {' or '.join(env)}", _IN_PYTHON), before="; ")
    option, field = Argument("api_key_env", "NAME"), Argument("key_env")
    named = "the variable that holds the key"
    way = Either((_IN_PYTHON, Hint("pass ", option, f", {named}"), Hint("set ", field, f" to {named}")))
    return Each((way,), before="; ")


def _unusable(message: str) -> AuthenticationError:
    return AuthenticationError(message, error={"type": "authentication", "message": str(message)})
