"""Whatever an HTTP library, its layers or the system raise during a call, as one of the errors of `httpx2`.

The rules of `request_flow.py` handle those alone. An exception from elsewhere (a caller's function that fetches a key)
is not ours to translate, and passes.
"""

from __future__ import annotations

import re

import httpx2

from ...foundation.errors import APIError

__all__ = ["as_http_error"]

# The layers below a request: HTTP, sockets, event loops, TLS, content encodings.
_LAYERS = frozenset(("httpx2", "httpcore2", "httpx", "httpcore", "h11", "h2", "hpack", "anyio", "trio", "ssl", "zlib"))
_LOOP = "event loop"
_CLOSED = ("Connection closed.", "Session is closed")  # aiohttp's words for what was closed during use
# Those of aiohttp, by the names of their classes: it is not imported for this. The first that fits.
_OF_AIOHTTP = {
    "ConnectionTimeoutError": httpx2.ConnectTimeout,
    "ServerTimeoutError": httpx2.ReadTimeout,
    "ClientConnectorError": httpx2.ConnectError,
    "ServerFingerprintMismatch": httpx2.ConnectError,
    "InvalidURL": httpx2.UnsupportedProtocol,
    "ClientResponseError": httpx2.RemoteProtocolError,
    "ClientPayloadError": httpx2.RemoteProtocolError,
    "ServerDisconnectedError": httpx2.RemoteProtocolError,
    "ClientError": httpx2.ReadError,
}


# Objects in the texts of aiohttp, which are of no use to a reader: a TLS context, the exception of its parser below
# (whose status is not one that a server sent), and behind that the one of the socket, whose words are.
_CONTEXT = re.compile(r" ssl:(?:<[^>]*>|\S+) \[(.*)\]$", re.DOTALL)
_BELOW = re.compile(r": <\w+: \d+, message=.*>(?:\. (?:\w+\((?:-?\d+, )?(['\"])(?P<reason>.+)\1\)|.*))?$", re.DOTALL)


def as_http_error(error: Exception) -> httpx2.HTTPError | APIError | None:
    """The error as the rules expect it; None for one that is not of the HTTP library's making.

    >>> as_http_error(ConnectionResetError("reset by peer"))
    ReadError('reset by peer')
    >>> as_http_error(KeyError("x")) is None
    True
    """
    if isinstance(error, (httpx2.HTTPError, APIError)):
        return error
    module = type(error).__module__.partition(".")[0]
    # An event loop that has ended, or another one than the connection was made in; or a pool that was closed.
    foreign = isinstance(error, RuntimeError) and (_LOOP in str(error).lower() or str(error) in _CLOSED)
    if module == "aiohttp":
        kinds = {each.__name__ for each in type(error).__mro__}
        kind = next((kind for name, kind in _OF_AIOHTTP.items() if name in kinds), httpx2.ReadError)
        return kind(_words(str(error)) or type(error).__name__)
    if isinstance(error, TimeoutError):
        return httpx2.ReadTimeout(str(error))
    if module in _LAYERS or isinstance(error, ConnectionError) or foreign:
        return httpx2.ReadError(str(error) or type(error).__name__)
    return None


def _words(text: str) -> str:
    """The text of an error of aiohttp without the objects in it.

    >>> _words("Cannot connect to host inside:1 ssl:<ssl.SSLContext object at 0x7f> [Name or service not known]")
    'Cannot connect to host inside:1: Name or service not known'
    >>> _words("Response payload is not completed: <ContentLengthError: 400, message='Not enough data.'>")
    'Response payload is not completed'
    >>> _words("Not completed: <TransferEncodingError: 400, message='Short.'>. ConnectionResetError(104, 'Reset')")
    'Not completed: Reset'
    """
    return _BELOW.sub(lambda found: f": {found['reason']}" if found["reason"] else "", _CONTEXT.sub(r": \1", text))
