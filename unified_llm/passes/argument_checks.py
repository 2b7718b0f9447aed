"""Whether the arguments of a conversion are of their types. A protocol, a kind and levels are checked elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..foundation.exchange import Exchange
from ..foundation.usage_errors import InvalidArgument

__all__ = ["check_given", "check_words"]

_FACING = (None, "provider", "client")
_REPAIR = ("auto", "always", "never")


def check_given(model: Any, http: Any, exchange: Any, vault: Any, scope: Any) -> None:
    """Raise `InvalidArgument` for an argument of another type.

    >>> try:
    ...     check_given(None, None, {"source": "openai-chat"}, None, None)
    ... except InvalidArgument as error:
    ...     print(error)
    exchange: not an Exchange but dict; Exchange.from_json() makes one of what to_json() gave
    """
    if model is not None and not isinstance(model, str):
        raise InvalidArgument(f"model: not a string but {type(model).__name__}")
    if scope is not None and not isinstance(scope, str):
        raise InvalidArgument(f"scope: not a string but {type(scope).__name__}")
    if http is not None and not isinstance(http, Mapping):
        raise InvalidArgument(f"http: not a mapping with path, headers, status, ... but {type(http).__name__}")
    if exchange is not None and not isinstance(exchange, Exchange):
        name = type(exchange).__name__
        raise InvalidArgument(
            f"exchange: not an Exchange but {name}; Exchange.from_json() makes one of what to_json() gave"
        )
    if vault is not None and not (hasattr(vault, "put") and callable(getattr(vault, "get", None))):
        raise InvalidArgument(f"vault: {type(vault).__name__} lacks put(key, items) or get(key)")


def check_words(*, facing: Any = None, repair: Any = "auto") -> None:
    """Raise `InvalidArgument` for a word that one of these does not have."""
    for name, given, words in (("facing", facing, _FACING), ("repair", repair, _REPAIR)):
        if given not in words:
            raise InvalidArgument(f"{name}: {given!r} is not one of {', '.join(filter(None, words))}")
