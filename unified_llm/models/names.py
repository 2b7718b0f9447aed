"""Names that editors complete: protocols, providers, and the models of each provider that makes some.

Any other string is as good: a protocol of another adapter, a model of tomorrow, the name of a deployment. Checkers read
the names in the file beside this one, which `python -m unified_llm.models._names` writes; at run time they are strings.
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["KindName", "ModelName", "ProtocolName", "ProviderName"]

KindName: TypeAlias = str
"""The kind of a document: "request", "response", "error", or another that an adapter declares."""

ProtocolName: TypeAlias = str
"""The id of a protocol, with a dialect behind a colon where one is meant."""

ProviderName: TypeAlias = str
"""The name of a provider, as it stands before the slash of "provider/model"."""

ModelName: TypeAlias = str
""""provider/model", or the name of a model at the upstream."""
