"""The official Google SDK, which makes a pydantic class for every event it reads, with each class made once.

That takes the SDK some 15 ms an event, and the classes of one type are all alike. Importing this module is enough.
"""

from __future__ import annotations

from typing import Any

from google.genai._gaos.utils import serializers

_make = serializers.create_model
_made: dict[Any, tuple[Any, Any]] = {}


def _made_once(name: str, *, body: tuple[Any, Any], **definition: Any) -> Any:
    # By identity, because unions are equal in any order; the type is kept, so that its identity stays its own.
    key = (name, id(body[0]), repr(body[1:]), repr(definition))
    if key not in _made:
        _made[key] = (body, _make(name, body=body, **definition))
    return _made[key][1]


serializers.create_model = _made_once
