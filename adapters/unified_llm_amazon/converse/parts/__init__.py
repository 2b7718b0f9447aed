"""Content blocks that are parts of a message: text, media, documents, search results, guarded and cited text."""

from __future__ import annotations

from . import media  # noqa: F401  (it declares the pairs of media)
from .citations import citations
from .text import SOURCES, answers, parts, read_point, read_sources, with_points, written

__all__ = ["SOURCES", "answers", "citations", "parts", "read_point", "read_sources", "with_points", "written"]
