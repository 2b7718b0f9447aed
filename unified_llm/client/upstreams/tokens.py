"""Short-lived tokens of a cloud: kept, renewed before they expire, and renewed once where a server refuses one.

The library of the cloud finds the credentials and fetches the token. Here it is decided when it is called: a request
needs no thread and no network as long as the token is valid, and requests at the same time wait for one fetch.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import httpx2

from ...foundation.errors import AuthenticationError, UnifiedLLMError
from ...foundation.usage_errors import InvalidArgument, MissingExtra
from ...models.provider_table import logins
from .loading import loaded

__all__ = ["Source", "Tokens", "check_login", "tokens_of", "unavailable"]

Source = Callable[[str, bool], tuple[str, float]]
"""Fetches a token: of an audience ("" for the usual one), and whether a token that was fetched before is refused.

Returns the token and the time at which it expires, in seconds since 1970.
"""

_EARLY = 200.0  # seconds before the end, which all libraries of the clouds take for expired, so that they fetch anew
_LAST = 30.0  # seconds before the end: a token that is not used any more, because a request takes time
_AGAIN = 10.0  # seconds until a source that failed is called again
_SELDOM = 30.0  # seconds between two tokens that are fetched because a server refused one
_LONGEST = 300  # characters of another library's error
# A run without spaces that mixes letters and digits may be a credential.
_SECRET = re.compile(r"(?<!\S)(?=\S*\d)(?=\S*[A-Za-z])\S{16,}")
# Errors of the clouds' libraries, by the names of their classes, after which another attempt may succeed.
_TRANSIENT = frozenset(
    "TransportError ServiceRequestError ServiceResponseError EndpointConnectionError HTTPClientError "
    "MetadataRetrievalError ConnectionError TimeoutError".split()
)


class _Held(NamedTuple):
    text: str
    renew: float
    expires: float


class Tokens:
    """The tokens of one source. Calling it gives one that is valid; it may block.

    Raises `AuthenticationError` where there are no credentials, and `httpx2.ConnectError` where the cloud cannot be
    reached. Neither contains what the library of the cloud was given.

    >>> tokens = Tokens(lambda audience, renew: ("token-2" if renew else "token-1", time.time() + 3600))
    >>> tokens(), tokens.ready
    ('token-1', 'token-1')
    >>> tokens.another(lambda token: token == "token-1")
    'token-2'
    """

    def __init__(
        self, source: Source, *, audience: str = "", name: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        self._source, self._audience, self._name, self._clock = source, audience, name, clock
        self._lock = threading.Lock()
        self._held: _Held | None = None
        self._failed: tuple[float, Exception] | None = None
        self._refused_at = float("-inf")

    def __repr__(self) -> str:
        return f"Tokens({self._name!r})"

    def __reduce__(self) -> Any:
        raise TypeError("credentials cannot be pickled; create the Upstream in the other process")

    @property
    def ready(self) -> str | None:
        """The token, where none has to be fetched first."""
        held = self._held
        if held is None:
            return None
        now = self._clock()
        if now < held.renew:
            return held.text
        # One request fetches the next token; the others use this one as long as they can.
        return held.text if now < held.expires - _LAST and self._lock.locked() else None

    def __call__(self) -> str:
        """Return a valid token, and fetch a new one where the last has expired. Raises what the source raises."""
        found = self.ready
        if found is not None:
            return found
        with self._lock:
            held, now = self._held, self._clock()
            if held is not None and now < held.renew:
                return held.text
            if self._failed is None or now >= self._failed[0]:
                failure = self._fetch(False)
                if failure is None:
                    assert self._held is not None
                    return self._held.text
            else:
                failure = self._failed[1]
            if held is not None and now < held.expires - _LAST:
                self._held = held._replace(renew=min(now + _AGAIN, held.expires - _LAST))
                return held.text
        raise _again(failure)

    def another(self, is_refused: Callable[[str], bool]) -> str | None:
        """A token for a request that was refused with one; None where there is no other. It may block."""
        with self._lock:
            held, now = self._held, self._clock()
            if held is not None and not is_refused(held.text):
                return held.text  # another request has renewed it
            if now - self._refused_at < _SELDOM:
                return None
            self._refused_at = now
            failure = self._fetch(True)
            held = self._held
        return None if failure is not None or held is None or is_refused(held.text) else held.text

    def _fetch(self, renew: bool) -> Exception | None:
        """Fetch a token; returns the error, because the one of the library is not to be in its chain."""
        failure: Exception | None = None
        try:
            text, expires = self._source(self._audience, renew)
        except UnifiedLLMError as error:
            failure = error
        except Exception as error:
            failure = unavailable(self._name, error)
        if failure is not None:
            self._failed = (self._clock() + _AGAIN, failure)
            return failure
        now = self._clock()
        self._held = _Held(text, expires - min(_EARLY, max(0.0, expires - now) / 5), expires)
        self._failed = None
        return None


def _again(failure: Exception) -> Exception:
    """An error of its own for each request: others are raised, and changed, at the same time."""
    if isinstance(failure, AuthenticationError):
        return AuthenticationError(failure.message, error=failure.error)
    return httpx2.ConnectError(str(failure)) if isinstance(failure, httpx2.ConnectError) else failure


def unavailable(name: str, error: Exception) -> Exception:
    """The error of a library of a cloud as one of ours, with its first line and without what may be a credential."""
    line = next(iter(str(error).strip().splitlines()), "")[:_LONGEST]
    shown = f"{type(error).__name__}: {_SECRET.sub('[redacted]', line)}".rstrip(": ")
    message = f"no credentials of login {name!r}: {shown}"
    if _TRANSIENT & {each.__name__ for each in type(error).__mro__}:
        return httpx2.ConnectError(message)
    return AuthenticationError(message, error={"type": "authentication", "message": message})


@dataclass(frozen=True, slots=True)
class Login:
    """A row of `[logins]` in the table of providers."""

    module: str
    extra: str
    what: str
    token: str
    sign: Mapping[str, str] = field(default_factory=dict)


def check_login(name: str) -> Login:
    """The login of that name. Raises `InvalidArgument` for an unknown one, `MissingExtra` without its library."""
    known = logins()
    if name not in known:
        raise InvalidArgument(f"auth: unknown login {name!r}; choose one of {', '.join(sorted(known))}")
    found = Login(**known[name])
    if not _is_there(found.module):
        raise MissingExtra(found.what, found.extra)
    return found


def _is_there(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package above it
        return False


@cache
def tokens_of(name: str, audience: str = "") -> Tokens:
    """The tokens of a login; all upstreams that log in alike share them."""
    row = logins()[name]

    def fetch(audience: str, renew: bool) -> tuple[str, float]:
        found: tuple[str, float] = loaded(row["token"])(audience, renew)
        return found

    return Tokens(fetch, audience=audience, name=name)
