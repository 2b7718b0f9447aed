"""Adapters of made protocols, for tests of the engine alone: nothing is declared but what a test names."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Adapter, Streams

__all__ = ["toy_adapter"]


def _no_stream(*_: Any) -> Any:
    raise NotImplementedError


def toy_adapter(protocol: str = "toy", **declared: Any) -> Adapter:
    """An adapter without documents and streams."""
    streams = Streams(reader=_no_stream, writer=_no_stream)
    return Adapter(protocol=protocol, title=protocol, url="", **{"kinds": {}, "streams": streams, **declared})
