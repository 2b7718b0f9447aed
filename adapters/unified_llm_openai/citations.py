"""Citations: what clients of both OpenAI's surfaces require of one, and which of them a request of Chat has."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer

__all__ = ["name_page", "set_apart"]


def name_page(wire: dict[str, Any], w: Writer) -> None:
    """Give a written citation of a page its URL and title, empty where the source has none."""
    for key in ("url", "title"):
        if wire.get(key) is None:
            wire[key] = ""
            w.added(wire, key, "required; not in the source")


def set_apart(annotations: list[Any], w: Writer) -> None:
    """Put those of a text's annotations that the server takes back into the context, and report the others."""
    for annotation in annotations:
        if type(annotation) is dict and annotation.get("type") in w.dialect.get("annotations", ()):
            w.context.setdefault("annotations", []).append(annotation)
        else:
            w.drop(annotation, "a request of Chat cites nothing")
