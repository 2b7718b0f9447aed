"""Access tokens of Microsoft Entra ID, for models on Azure: what `DefaultAzureCredential` finds.

https://learn.microsoft.com/python/api/overview/azure/identity-readme
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unified_llm.foundation.usage_errors import MissingExtra

__all__ = ["access_token"]

_SCOPE = "https://cognitiveservices.azure.com/.default"
_kept: list[Any] = []


def access_token(audience: str, renew: bool) -> tuple[str, float]:
    """A token and the time at which it expires; `audience` is the OAuth scope. A refused one is not taken from a cache.

    Raises `MissingExtra` naming the extra when azure-identity is missing, and azure-identity's own errors.
    """
    try:
        identity = import_module("azure.identity")
    except ModuleNotFoundError as error:
        raise MissingExtra("a login with Microsoft Entra ID", "azure") from error
    # Each credential keeps its tokens, and gives no other for one that was refused: it takes a new credential.
    if renew or not _kept:
        _kept[:] = [identity.DefaultAzureCredential()]
    found = _kept[0].get_token(audience or _SCOPE)
    return str(found.token), float(found.expires_on)
