"""Access tokens of the cloud, for Vertex AI: application default credentials.

https://cloud.google.com/docs/authentication/application-default-credentials
"""

from __future__ import annotations

import time
from datetime import UTC
from typing import Any

from unified_llm.foundation.usage_errors import MissingExtra

__all__ = ["access_token"]

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_LASTING = 300.0  # seconds that a token is kept of which no end is known
_kept: dict[str, Any] = {}


def access_token(audience: str, renew: bool) -> tuple[str, float]:
    """A token and the time at which it expires; `audience` is the OAuth scope. A refused one is not taken from a cache.

    Raises `MissingExtra` naming the extra when google-auth is missing, and google-auth's own errors.
    """
    try:
        from google.auth import default
        from google.auth.transport.requests import Request
    except ModuleNotFoundError as error:
        raise MissingExtra("Vertex AI", "vertex") from error
    scope = audience or _SCOPE
    # Credentials that failed or were refused are looked for again: their file may have changed.
    credentials = None if renew else _kept.pop(scope, None)
    if credentials is None:
        credentials, _ = default(scopes=[scope])
    if renew or not credentials.valid:
        credentials.refresh(Request())
    _kept[scope] = credentials
    expiry = credentials.expiry
    ends = time.time() + _LASTING if expiry is None else expiry.replace(tzinfo=UTC).timestamp()
    return str(credentials.token), ends
