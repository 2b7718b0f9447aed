"""The keys that authenticate envelopes."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hmac import compare_digest
from typing import TypeAlias

from .usage_errors import InvalidArgument

__all__ = ["DIGEST", "Secret", "SecretLike", "process_secret"]

DIGEST = 16
"""Bytes of a MAC."""


class Secret:
    """The keys of envelopes: the first one signs, all of them verify.

    >>> Secret(b"new", b"old")
    Secret(...)
    """

    __slots__ = ("_keys",)

    def __init__(self, *keys: bytes) -> None:
        if not keys or not all(keys):
            raise InvalidArgument("secret is empty; pass random bytes, a random string, or a list of them for rotation")
        self._keys = keys

    @staticmethod
    def of(value: SecretLike) -> Secret | None:
        """The secret that a caller passed: a string, bytes, a list of them, None.

        Raises `InvalidArgument` for an empty one and for anything else.
        """
        if value is None or isinstance(value, Secret):
            return value
        given = [value] if isinstance(value, (str, bytes)) else list(value) if isinstance(value, Iterable) else [value]
        if not all(isinstance(key, (str, bytes)) for key in given):
            raise InvalidArgument("secret should be a string, bytes, or a list of them")
        return Secret(*(key.encode() if isinstance(key, str) else key for key in given))

    def sign(self, payload: bytes) -> bytes:
        """The authentication code of a payload, by the first (newest) key."""
        return _mac(self._keys[0], payload)

    def verify(self, digest: bytes, payload: bytes) -> bool:
        """Whether one of the keys made the code of a payload; compares in constant time."""
        return any(compare_digest(digest, _mac(key, payload)) for key in self._keys)

    def __repr__(self) -> str:
        return "Secret(...)"


SecretLike: TypeAlias = str | bytes | Sequence[str | bytes] | Secret | None
"""What `secret=` takes."""


@lru_cache(maxsize=1)
def process_secret() -> Secret:
    """The random secret of this process, for clients and transports that were given none."""
    return Secret(os.urandom(32))


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, b"unified_llm envelope 1\n" + payload, "sha256")[:DIGEST]
