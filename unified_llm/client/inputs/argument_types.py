"""What each argument of the client takes, declared once, and the error for anything else.

Fields of the request are not here: the canonical request checks them (`requests.py`), as items and tools check theirs.
Neither are `on_loss`, `strategy`, `total_timeout` and the limits of runs, whose rules are with what they are about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import httpx2

from ...foundation.secret import Secret
from ...foundation.usage_errors import InvalidArgument

__all__ = ["ARGUMENTS", "SETTINGS", "Expected", "check_arguments"]

# Types that are neither a name, an object of this library, nor a client of an SDK.
_PLAIN = (bool, int, float, complex, bytes, bytearray, Mapping, list, tuple, set, frozenset, type(None))
_SHOWN = (bool, int, float)  # whose values contain no secret


class Expected(NamedTuple):
    """What an argument takes, in words, and what is wrong with a value: "" for one that fits."""

    words: str
    problem: Callable[[Any], str]


def check_arguments(given: Mapping[str, Any], known: Mapping[str, Expected] | None = None) -> None:
    """Raise `InvalidArgument` for the first value that its argument does not take. None is as good as absent.

    `known` are the arguments, by default those of calls.

    >>> try:
    ...     check_arguments({"retries": -1})
    ... except InvalidArgument as error:
    ...     print(error)
    retries= should be a whole number of at least 0, not -1
    """
    known = ARGUMENTS if known is None else known
    for name, value in given.items():
        expected = known.get(name) if value is not None else None
        problem = expected.problem(value) if expected is not None else ""
        if problem:
            assert expected is not None
            raise InvalidArgument(f"{name}= should be {expected.words}, not {problem}")


def _name(value: Any) -> str:
    return repr(value) if isinstance(value, _SHOWN) else type(value).__name__


def _of(fits: Callable[[Any], bool]) -> Callable[[Any], str]:
    return lambda value: "" if fits(value) else _name(value)


def _is(*types: type) -> Callable[[Any], str]:
    return _of(lambda value: isinstance(value, types))


def _has(*methods: str) -> Callable[[Any], str]:
    """An object with these methods; not a class that has them."""
    return _of(
        lambda value: not isinstance(value, type) and all(callable(getattr(value, each, None)) for each in methods)
    )


def _table(fits: Callable[[Any], bool]) -> Callable[[Any], str]:
    """A mapping of strings to values that fit. No value is shown: it may be a secret."""

    def problem(value: Any) -> str:
        if not isinstance(value, Mapping):
            return _name(value)
        for key, each in value.items():
            if not isinstance(key, str):
                return f"one with the key {_name(key)}"
            if not fits(each):
                return f"one with {type(each).__name__} for {key!r}"
        return ""

    return problem


def _listed(fits: Callable[[Any], bool]) -> Callable[[Any], str]:
    def problem(value: Any) -> str:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
            return _name(value)
        return next((f"one with {_name(each)} at {place}" for place, each in enumerate(value) if not fits(each)), "")

    return problem


def _is_upstream(value: Any) -> bool:
    return not isinstance(value, _PLAIN) and not isinstance(value, type)


def _is_key(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


def _is_query(value: Any) -> bool:
    each = value if isinstance(value, (list, tuple)) else (value,)
    return all(one is None or isinstance(one, (str, bool, int, float)) for one in each)


def _is_seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and type(value) is not bool and value > 0 and not math.isnan(value)


def _is_timeout(value: Any) -> bool:
    if isinstance(value, tuple):  # one for each phase, as the HTTP library takes them
        return len(value) == 4 and all(each is None or _is_seconds(each) for each in value)
    return isinstance(value, httpx2.Timeout) or _is_seconds(value)


def _key(value: Any) -> str:
    return _table(_is_key)(value) if isinstance(value, Mapping) else _of(_is_key)(value)


def _secret(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return _listed(lambda each: isinstance(each, (str, bytes)))(value)
    return _is(str, bytes, Secret)(value)


def _count(value: Any) -> str:
    return "" if type(value) is int and value >= 0 else repr(value) if isinstance(value, str) else _name(value)


_FUNCTION = Expected("a function", _of(callable))
_HEADERS = Expected("a mapping of header names to strings", _table(lambda each: isinstance(each, str)))
_TEXT = Expected("a string", _is(str))

ARGUMENTS: Mapping[str, Expected] = {
    # of a client, or of a call
    "model": Expected("'provider/model', a model name or an Upstream", _of(_is_upstream)),
    "models": Expected("a list of models", _listed(_is_upstream)),
    "upstream": Expected("a provider, a URL, an Upstream or the client of an official SDK", _of(_is_upstream)),
    "protocol": _TEXT,
    "timeout": Expected("a positive number of seconds or an httpx2.Timeout", _of(_is_timeout)),
    "api_key": Expected("a string, a function that returns one, or a mapping of both by provider", _key),
    "base_url": Expected("the URL of a server, as a string", _is(str)),
    "extra_headers": _HEADERS,
    "extra_query": Expected("a mapping of names to strings, numbers or lists of them", _table(_is_query)),
    "extra_body": Expected("a mapping of field names to JSON values", _table(lambda each: True)),
    # of `parse` and `run`
    "retries": Expected("a whole number of at least 0", _count),
    "name": _TEXT,
    "approve": _FUNCTION,
    "parallel": Expected("True or False", _is(bool)),
    "hooks": Expected("a Hooks object", _has("before_turn", "after_turn", "before_call", "after_call")),
    "on_step": _FUNCTION,
    # of a list of models
    "limit": Expected("a whole number of at least 1", _of(lambda value: type(value) is int and value >= 1)),
}
"""Arguments of calls, by name."""

SETTINGS: Mapping[str, Expected] = {
    **ARGUMENTS,
    "headers": _HEADERS,
    "vault": Expected("a Vault, such as MemoryVault()", _has("get", "put")),
    "secret": Expected("a string, bytes, or a list of them", _secret),
    "retry": Expected("a Retry", _has("delay")),
    "max_retries": Expected("a whole number of at least 0", _count),
    "http_client": Expected("an HTTP client", _has("build_request", "send")),
    "limits": Expected("an httpx2.Limits", _is(httpx2.Limits)),
    "store": Expected("a Store, such as MemoryStore()", _has("get", "put", "delete")),
    "on_request": _FUNCTION,
    "on_response": _FUNCTION,
    "on_retry": _FUNCTION,
    "tracer_provider": Expected("a TracerProvider of OpenTelemetry", _has("get_tracer")),
    "meter_provider": Expected("a MeterProvider of OpenTelemetry", _has("get_meter")),
}
"""Arguments of a client, by name."""
