"""Signatures that are recognized again: a digest of the bearer under a key, so that a foreign, changed or moved one
shows.

A seal has its owner in its first bytes; the rest is an HMAC over protocol, kind and what it was put on. The key is
not secret: it keeps no attacker out, it finds mistakes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any

MARK = b"\x0a\x04echo\x12\x10"
KEY = b"oracles"


def digest_of(*values: Any) -> str:
    """A hexadecimal digest of JSON values; keys in any order give the same."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Seal:
    """Makes and checks the signatures of one protocol."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol

    def make(self, kind: str, *bearer: Any) -> str:
        """A signature in standard base64 for `bearer`, which is any JSON values."""
        said = digest_of(self.protocol, kind, *bearer).encode()
        return base64.b64encode(MARK + hmac.new(KEY, said, hashlib.sha256).digest()).decode()

    def own(self, signature: str) -> bool:
        """Whether one of our own was meant, whatever it was put on."""
        data = decoded(signature)
        return data is not None and data.startswith(MARK)

    def fits(self, signature: str, kind: str, *bearer: Any) -> bool:
        """Whether this is our signature for exactly this bearer."""
        data = decoded(signature)
        return data is not None and data == decoded(self.make(kind, *bearer))


def decoded(signature: Any) -> bytes | None:
    """The bytes of base64 in either alphabet, padded or not; None for anything else."""
    if not isinstance(signature, str) or not signature:
        return None
    plain = signature.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
