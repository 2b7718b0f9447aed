"""What each field of the canonical model means, in one place: `FieldInfo.description`, JSON Schemas and the reference.

A field with the same name and the same meaning in several classes has one description.
"""

from __future__ import annotations

from .content import CONTENT
from .settings import SETTINGS

__all__ = ["DESCRIPTIONS", "describe"]

DESCRIPTIONS = {**SETTINGS, **CONTENT}


def describe(classes: tuple[type, ...], key: str) -> str | None:
    """The description of a field: of the first class (in method resolution order) that has one, else of the name.

    >>> from unified_llm.types import FunctionCall
    >>> describe(FunctionCall.__mro__, "call_id")
    'Id that pairs a call with its result.'
    """
    for cls in classes:
        found = DESCRIPTIONS.get(f"{cls.__name__}.{key}")
        if found is not None:
            return found
    return DESCRIPTIONS.get(key)
