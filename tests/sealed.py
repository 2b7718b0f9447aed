"""What providers sign and encrypt, found wherever it stands in what was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def opaque(value: Any) -> Iterator[str]:
    """What providers sign and encrypt, wherever it stands in a document.

    Google's SDK decodes base64 and spells it anew in the alphabet of URLs: here it is always that of old.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("signature", "encrypted_content", "thoughtSignature") and isinstance(inner, str) and inner:
                yield inner.replace("-", "+").replace("_", "/")
            elif key == "data" and value.get("type") == "redacted_thinking":
                yield inner
            else:
                yield from opaque(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from opaque(inner)
