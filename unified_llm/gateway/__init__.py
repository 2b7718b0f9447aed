"""The gateway: an HTTP server that accepts every installed protocol and forwards to any upstream.

`unified-llm gateway` starts it; `docs/gateway.md` is the manual. `Gateway` is the ASGI application, for servers and
tests of your own. The extra `gateway` installs what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import Gateway
    from .configuration.config import Config, load

__all__ = ["Config", "Gateway", "load"]

_MODULES = {"Config": "configuration.config", "Gateway": "app", "load": "configuration.config"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(f".{_MODULES[name]}", __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("unified_llm"):
            raise
        reason = "the gateway needs an extra: pip install 'unified-llm[gateway]'"
        raise ModuleNotFoundError(reason, name=error.name) from None
    value = globals()[name] = getattr(module, name)
    return value
