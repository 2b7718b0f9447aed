"""Upstreams of every protocol that refuse what a provider would refuse, for a gateway in front of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

import unified_llm as ul
from oracles.mounts import serve
from oracles.service import Service

__all__ = ["strict_upstreams"]

_BASES = {"google-generate-content": "/v1beta", "google-interactions": "/v1beta"}
_DIALECTS = {"openai-chat": "openai-chat:openai"}  # other servers accept more


def strict_upstreams(services: Mapping[str, Service], stack: ExitStack) -> dict[str, ul.Upstream]:
    """An upstream for each service, by its protocol; they serve until the stack is closed."""
    upstreams = {}
    for protocol, service in services.items():
        upstreams[protocol] = ul.Upstream(
            protocol=_DIALECTS.get(protocol, protocol),
            model="echo",
            provider=f"strict-{protocol}",
            base_url=stack.enter_context(serve(service)).url + _BASES.get(protocol, "/v1"),
        )
    return upstreams
