"""An upstream out of a client of the official SDK: OpenAI, Azure OpenAI, Bedrock, or any server it is pointed at.

https://github.com/openai/openai-python
"""

from __future__ import annotations

from typing import Any

from unified_llm.client.upstreams.sdk_transport import clients_of
from unified_llm.client.upstreams.upstream import Upstream
from unified_llm.client.upstreams.upstream import upstream as choose

__all__ = ["upstream"]

# Modules of the SDK to the provider whose dialect is used there.
_PLATFORMS = {"openai.lib.azure": "azure", "openai.lib.bedrock": "bedrock"}


def upstream(*clients: Any, protocol: str | None = None) -> Upstream:
    """The upstream that a client is set up for. Responses where the host is known to have it, else Chat Completions."""
    base = str(clients[0].base_url)
    known = choose(base, protocol=protocol)
    modules = {kind.__module__ for client in clients for kind in type(client).__mro__}
    platform = next((name for module, name in _PLATFORMS.items() if module in modules), None)
    spoken, provider = known.protocol, known.provider
    if platform is not None:
        provider = platform
        if ":" not in (protocol or ""):
            spoken = f"{protocol or 'openai-responses'}:{platform}"
    return Upstream(protocol=spoken, base_url=base, provider=provider, **clients_of(*clients))
