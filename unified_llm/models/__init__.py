"""Models and providers as data: facts and prices from models.dev, protocols and endpoints from a table of our own, and
profiles, which are the facts about a model that conversions use.

>>> from unified_llm import models
>>> models.get("anthropic/claude-opus-4-7").limit.context
1000000
>>> models.select("anthropic", "claude-opus-4-7").protocol
'anthropic-messages'

Nothing here is loaded until a name is used, and nothing reads the network but `refresh`, with a URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .catalog import Catalog, current, find, get, refresh, use
    from .effort import EFFORTS, budget_of, clamp, effort_of, nearest
    from .endpoints import Endpoint, Provider, provider, providers
    from .entries import CatalogModel
    from .pricing import Cost, cost
    from .profiles import ModelProfile, ReasoningProfile, levels, profile
    from .selection import ProtocolChoice, select

__all__ = [
    "EFFORTS",
    "Catalog",
    "CatalogModel",
    "Cost",
    "Endpoint",
    "ModelProfile",
    "ProtocolChoice",
    "Provider",
    "ReasoningProfile",
    "budget_of",
    "clamp",
    "cost",
    "current",
    "effort_of",
    "find",
    "get",
    "levels",
    "nearest",
    "profile",
    "provider",
    "providers",
    "refresh",
    "select",
    "use",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "catalog": "Catalog current find get refresh use",
            "effort": "EFFORTS budget_of clamp effort_of nearest",
            "endpoints": "Endpoint Provider provider providers",
            "entries": "CatalogModel",
            "pricing": "Cost cost",
            "profiles": "ModelProfile ReasoningProfile levels profile",
            "selection": "ProtocolChoice select",
        },
    )
