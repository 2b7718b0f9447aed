"""Objects of official SDKs out of wire documents, which may hold more than an SDK of today has.

An SDK that builds its objects from any answer does so by a `construct` of its own; other models are validated, without
the keys that they forbid.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ..foundation.errors import InvalidBody
from ..foundation.json_codec import deep_path, too_deep
from .malformed import FAULTS

__all__ = ["built"]


def built(type_: Any, value: Any) -> Any:
    """An object of an SDK's type. What does not fit the type at all is taken as it is.

    Raises `InvalidBody` for a value of which the SDK can make nothing.

    >>> from pydantic import BaseModel
    >>> class Answer(BaseModel, extra="forbid"):
    ...     text: str
    >>> built(Answer, {"text": "Hi", "tomorrow": 1})
    Answer(text='Hi')
    """
    path = deep_path(value)
    if path is not None:
        raise too_deep(path)
    if type(value) is not dict:
        raise InvalidBody("", "an object of an SDK is made of a JSON object")
    try:
        return _built(type_, value)
    except FAULTS as error:
        reason = f"{type(error).__name__}: {error}"
    raise InvalidBody("", f"the SDK can make no {getattr(type_, '__name__', type_)} of it: {reason[:300]}")


def _built(type_: Any, value: dict[str, Any]) -> Any:
    from pydantic import TypeAdapter, ValidationError

    if not hasattr(type_, "__mro__"):
        return TypeAdapter(type_).validate_python(value)  # a union, of events for one
    own = next((each for each in type_.__mro__ if "construct" in vars(each)), None)
    if own is not None and not own.__module__.startswith("pydantic."):
        return type_.construct(**value)
    try:
        return type_.model_validate(value)
    except ValidationError as error:
        forbidden = [each["loc"] for each in error.errors(include_url=False) if each["type"] == "extra_forbidden"]
    except FAULTS:
        forbidden = []  # validators of an SDK may expect types that they do not check
    known = _without(value, forbidden)
    try:
        return type_.model_validate(known)
    except FAULTS:
        return type_.model_construct(**value)


def _without(value: Any, places: list[tuple[int | str, ...]]) -> Any:
    out = deepcopy(value)
    for *above, key in places:
        here: Any = out
        for step in above:
            # The names of the members of a union stand between the keys.
            known = range(len(here)) if type(here) is list else here if type(here) is dict else ()
            if step in known:
                here = here[step]
        if type(here) is dict:
            here.pop(key, None)
    return out
