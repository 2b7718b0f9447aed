"""Documents that are text: in base64 the API takes PDF alone, and everything that can be read goes as text."""

from __future__ import annotations

from typing import Any

__all__ = ["plain_text"]

Node = dict[str, Any]

# Beside all that is called text/..., ...+json and ...+xml.
_TEXTS = frozenset(
    f"application/{name}" for name in ("json", "xml", "yaml", "x-yaml", "javascript", "x-javascript", "sql", "toml")
)


def plain_text(source: Node) -> Node | None:
    """The source of a document in base64 as one of text; None for what is not a text."""
    # Loaded only for requests with such a document.
    import base64
    import binascii

    kind = source["media_type"]
    if not kind.startswith("text/") and kind not in _TEXTS and not kind.endswith(("+json", "+xml")):
        return None
    try:
        return {"type": "text", "media_type": "text/plain", "data": base64.b64decode(source["data"]).decode()}
    except (binascii.Error, ValueError):
        return None
