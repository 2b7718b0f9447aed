"""Access tokens of the cloud, for Vertex AI: application default credentials, refreshed when they run out.

https://cloud.google.com/docs/authentication/application-default-credentials
"""

from __future__ import annotations

import threading
from typing import Any

from unified_llm.usage_errors import MissingExtra

__all__ = ["access_token"]

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_lock = threading.Lock()
_kept: list[Any] = []


def access_token() -> str:
    """A token that holds for a while. Raises `MissingExtra` naming the extra when google-auth is missing."""
    try:
        from google.auth import default
        from google.auth.transport.requests import Request
    except ModuleNotFoundError as error:
        raise MissingExtra("Vertex AI", "vertex") from error
    with _lock:
        if not _kept:
            found, _ = default(scopes=[_SCOPE])
            _kept.append(found)
        credentials = _kept[0]
        if not credentials.valid:
            credentials.refresh(Request())
        return str(credentials.token)
