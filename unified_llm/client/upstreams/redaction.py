"""Credentials are kept out of every text that is shown: errors, headers, bodies of errors, log records.

`Secrets` holds what an upstream was given and what was sent to it: keys, header values, query values, passwords. It is
filled in three places (`Upstream`, the request as it leaves, a handed-in SDK client) and read by one function, `hide`.
A server may repeat a credential in another spelling, so each one is matched in any case, and with the escapes of URLs,
JSON, HTML and Python. A malicious server can always leak a key it was given; this is for those that echo.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
import threading
import traceback
import weakref
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

__all__ = ["Secrets", "is_sendable", "watch_logs"]

HIDDEN = "[redacted]"

_MOST = 256  # of one upstream, the newest: tokens are replaced all the time
_SHORTEST, _SHORT = 4, 8  # a shorter credential is not replaced, a short one only as a word of its own
_HEAD, _ENDS = 64, re.compile(r"[\s\"'<>]")
_CREDENTIAL = re.compile(r"auth|key|token|secret|cookie|passw|credential|session|signature", re.IGNORECASE)
_PLAIN = frozenset(
    "accept accept-charset accept-encoding accept-language connection content-encoding content-length content-type "
    "date expect host idempotency-key te transfer-encoding upgrade user-agent".split()
)
_PLAIN_ENDS = ("-version", "-beta", "-timeout")
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot"}
_CONTROL = {"\n": "n", "\r": "r", "\t": "t"}
SCHEME = "Bearer "


def is_sendable(text: str) -> bool:
    """Whether a text can be an HTTP header value: visible ASCII and inner spaces."""
    return text.isascii() and text.isprintable() and text == text.strip()


class Secrets:
    """Credentials by value. Never printed, never pickled: a copy in another process starts empty.

    >>> secrets = Secrets()
    >>> secrets.add("sk-very/secret")
    >>> secrets.hide("bad key: SK-very%2Fsecret")
    'bad key: [redacted]'
    """

    __slots__ = ("__weakref__", "_known", "_patterns")

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._patterns: list[tuple[str, re.Pattern[str]]] | None = []

    def __repr__(self) -> str:
        return "Secrets()"

    def __reduce__(self) -> Any:
        return Secrets, ()

    def add(self, *values: str) -> None:
        """Register credentials. Those with fewer than four characters are ignored: other text may contain them."""
        for value in values:
            value = value.strip()
            if len(value) >= _SHORTEST and value not in self._known:
                with _lock:
                    self._known[value] = None
                    while len(self._known) > _MOST:
                        del self._known[next(iter(self._known))]
                    self._patterns = None
                    _watched.add(self)

    def add_headers(self, headers: Iterable[tuple[str, str]]) -> None:
        """Register the values of headers, but for those that HTTP itself or a version number needs."""
        for name, value in headers:
            name = name.lower()
            if name in _PLAIN or name.endswith(_PLAIN_ENDS):
                continue
            if name in ("cookie", "set-cookie"):
                self.add(*(each.partition("=")[2] for each in value.split(";")))
            elif name.endswith("authorization"):
                scheme, _, key = value.strip().partition(" ")
                self.add(key or scheme)
                if scheme.lower() == "basic":
                    self._add_basic(key)
            elif _CREDENTIAL.search(name) or len(value) >= _SHORT:
                self.add(value)

    def _add_basic(self, encoded: str) -> None:
        try:
            decoded = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        self.add(decoded, decoded.partition(":")[2])

    def add_query(self, query: Iterable[tuple[str, Any]]) -> None:
        """Register the values of a query."""
        for name, value in query:
            for each in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(each, str) and (_CREDENTIAL.search(name) or len(each) >= _SHORT):
                    self.add(each)

    def has_prefix(self, prefix: str) -> bool:
        """Whether one of the credentials has a prefix, which identifies its issuer."""
        return any(each.removeprefix(SCHEME).startswith(prefix) for each in tuple(self._known))

    def has_scheme(self) -> bool:
        """Whether one of the credentials itself begins with the scheme of a header, which is sent before each."""
        return any(each.startswith(SCHEME) for each in tuple(self._known))

    def hide(self, text: str) -> str:
        """The text without any of the credentials, in whatever spelling; the very same text where it has none."""
        patterns = self._patterns
        if patterns is None:
            # Several threads may do this at once, with the same result.
            patterns = self._patterns = [(_sign(each), _pattern(each)) for each in _variants(tuple(self._known))]
        if not patterns:
            return text
        folded = text.lower()
        for sign, pattern in patterns:
            if sign in folded and pattern.search(text) is not None:
                text = pattern.sub(HIDDEN, text)
                folded = text.lower()
        return text

    def hidden(self, value: Any) -> Any:
        """A JSON value without the credentials."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {self.hide(key) if isinstance(key, str) else key: self.hidden(each) for key, each in value.items()}
        return [self.hidden(each) for each in value] if isinstance(value, (list, tuple)) else value


def _variants(known: tuple[str, ...]) -> list[str]:
    """The credentials and their base64, the longest first, so that a part of one does not leave its rest."""
    found = dict.fromkeys(known)
    for each in known:
        if len(each) >= _SHORT:
            data = each.encode("utf-8", "surrogatepass")
            found.update(dict.fromkeys(code(data).decode().rstrip("=") for code in _CODES))
    return sorted(found, key=len, reverse=True)


_CODES = (base64.b64encode, base64.urlsafe_b64encode)


def _sign(secret: str) -> str:
    """What every spelling of a credential contains, in lower case: letters and digits of ASCII are never escaped."""
    return max(_PLAIN_RUN.findall(secret[:_HEAD]), key=len, default="").lower()


_PLAIN_RUN = re.compile(r"[A-Za-z0-9]+")


def _pattern(secret: str) -> re.Pattern[str]:
    head, rest = secret[:_HEAD], secret[_HEAD:]
    if len(rest) < _HEAD or _ENDS.search(rest):
        head, rest = secret, ""
    # A token of some thousand characters is known by its beginning; to compile all of it would take longer than a call.
    spelled = "".join(map(_spelled, head)) + (rf"[^\s\"'<>]{{0,{3 * len(rest)}}}" if rest else "")
    return re.compile(spelled if len(secret) >= _SHORT else rf"(?<![A-Za-z0-9]){spelled}(?![A-Za-z0-9])")


def _spelled(char: str) -> str:
    """A pattern for one character in any spelling. Letters and digits are never escaped."""
    cases = "".join(dict.fromkeys(re.escape(each) for each in (char, char.lower(), char.upper()) if len(each) == 1))
    if char.isascii() and char.isalnum():
        return f"[{cases}]"
    forms = [f"[{cases}]"] if char != "\\" else [r"\\+"]
    escaped = quote(char.encode("utf-8", "surrogatepass"), safe="")
    encoded = escaped if "%" in escaped else f"%{ord(char):02X}"
    forms.append("".join(f"[{each}{each.lower()}]" if each.isalpha() else re.escape(each) for each in encoded))
    code = _any_case(f"{ord(char):x}")
    forms += [rf"\\+[uU]0*{code}", f"&#0*{ord(char)};", f"&#[xX]0*{code};"]
    forms += [rf"\\+x{_any_case(f'{ord(char):02x}')}"] if ord(char) < 256 else []
    forms += [f"&{_any_case(_NAMED[char])};"] if char in _NAMED else []
    forms += [rf"\\+{_CONTROL[char]}"] if char in _CONTROL else []
    forms += [r"\+"] if char == " " else []
    forms += [rf"\\+{re.escape(char)}"] if char in "\"'/" else []
    # The longest first: an escaped character begins with one that may stand for itself.
    return f"(?:{'|'.join(reversed(forms))})"


def _any_case(digits: str) -> str:
    return "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in digits)


# ---- log records of the HTTP libraries, which hold URLs and headers -------------------------------------------------

_lock = threading.Lock()
_watched: weakref.WeakSet[Secrets] = weakref.WeakSet()


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        shown = _hidden(text)
        if shown != text:
            record.msg, record.args = shown, ()
        if record.exc_info:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip()
            record.exc_text = _hidden(trace)
            if record.exc_text != trace:
                record.exc_info = None  # a formatter takes the text
        return True


def _hidden(text: str) -> str:
    with _lock:
        known = list(_watched)
    for each in known:
        text = each.hide(text)
    return text


def watch_logs(*names: str) -> None:
    """Have the loggers of these names show no registered credential."""
    for name in names:
        logging.getLogger(name).addFilter(_redacting)


_redacting = _Redacting()
watch_logs(
    "aiohttp.client",
    "aiohttp.internal",
    "httpx2",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.connection",
    "httpcore2.proxy",
)
