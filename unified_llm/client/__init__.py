"""The client: upstreams, the wire to them, and HTTP transports under the SDKs one already has.

Nothing here is loaded by `import unified_llm`; names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .retrying import Retry
    from .transport import async_http_client, http_client
    from .upstream import Upstream

__all__ = ["Retry", "Upstream", "async_http_client", "http_client"]

# No module here bears the name of a function: importing it would hide the function.
_HOMES = {
    "retrying": "Retry",
    "transport": "async_http_client http_client",
    "upstream": "Upstream",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
    return value
