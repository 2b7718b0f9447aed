"""The older HTTP library, for agent stacks that are still on it: an extra, looked for when it is asked for."""

from __future__ import annotations

try:
    import httpx
except ModuleNotFoundError as error:
    raise ImportError("library='httpx' needs the extra: pip install 'unified-llm[httpx]'") from error

__all__ = ["httpx"]
