"""An upstream out of a client of the official SDK: Anthropic, Bedrock, Vertex, Foundry.

https://github.com/anthropics/anthropic-sdk-python
"""

from __future__ import annotations

from typing import Any

from unified_llm.client.upstreams.sdk_transport import clients_of
from unified_llm.client.upstreams.upstream import Upstream

__all__ = ["upstream"]

_PLATFORMS = {"anthropic.lib.bedrock": "bedrock", "anthropic.lib.vertex": "vertex", "anthropic.lib.foundry": "foundry"}


def upstream(*clients: Any, protocol: str | None = None) -> Upstream:
    """The upstream that a client is set up for."""
    modules = {kind.__module__ for client in clients for kind in type(client).__mro__}
    platform = next((name for root, name in _PLATFORMS.items() if any(m.startswith(root) for m in modules)), None)
    return Upstream(
        protocol=protocol or "anthropic-messages",
        base_url=str(clients[0].base_url),
        provider=platform or "anthropic",
        **clients_of(*clients),
    )
