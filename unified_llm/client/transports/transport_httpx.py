"""The older HTTP library, for agent stacks that are still on it: an extra, imported on use."""

from __future__ import annotations

from ...foundation.usage_errors import MissingExtra

try:
    import httpx
except ModuleNotFoundError as _error:
    raise MissingExtra("library='httpx'", "httpx") from _error

__all__ = ["httpx"]
