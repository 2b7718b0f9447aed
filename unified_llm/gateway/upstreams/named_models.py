"""Models that a request names beside its own: fallbacks, those of tools, of plugins, of routing.

An upstream may answer with any of them, so a key has to be allowed each one. They are looked for by the names of
fields, in any spelling and at any place but in the conversation and in schemas: each server has such fields of its own
(`models` and `plugins` of OpenRouter, `fallbacks` and advisors of Anthropic, the model of an image tool).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...client.transports.route_matching import Match
from ...foundation.errors import InvalidBody
from ...foundation.json_codec import parse
from ..access.callers import Key
from ..requests.body import Peek
from ..requests.head import Head
from ..responses.replies import Refusal
from ..telemetry.recorder import note
from .routing import Route, Router, requested_model

__all__ = ["is_unambiguous", "routed"]

_FIELDS = frozenset(("agent", "fallbacks"))
_ENDINGS = ("model", "models", "modelid", "modelname")
_SKIPPED = frozenset(("contents", "functiondeclarations", "input", "inputexamples", "instructions", "labels",
                      "messages", "metadata", "parameters", "responseformat", "system",
                      "systeminstruction", "text"))  # fmt: skip
_SHOWN = 200  # characters of a name in an error


def routed(router: Router, head: Head, match: Match, key: Key, found: Peek, content: bytes) -> Route:
    """Where a request goes. Raises `Refusal`."""
    model = requested_model(match.names.get("model") or found.model)
    note(model=model)
    route = router.resolve(model, key, head.upstream)
    if "*" not in key.models:
        _check(content, model, key, route)
    return route


def _check(content: bytes, requested: str | None, key: Key, route: Route) -> None:
    """Raise `Refusal` (403) for a body that names a model which its key may not use, beside the `requested` one."""
    try:
        body = parse(content)
    except InvalidBody:
        return  # refused where it is converted
    own = {requested, *(each.model for each in route.upstreams)}
    prefixes = {(each.label or "").partition("/")[0] for each in route.upstreams}
    for field, name in _named(body):
        bare = name.removeprefix("models/")
        if bare in own or (field == "agent" and requested is None):  # then its upstream was requested by name
            continue
        if not any(map(key.may_request, (name, bare, *(f"{each}/{bare}" for each in prefixes)))):
            reason = f"this API key may not use model {name[:_SHOWN]!r}, which the request names in {field!r}"
            raise Refusal(403, "permission", reason, code="model_not_allowed")


def is_unambiguous(content: bytes, key: Key) -> bool:
    """Whether every reader of a body finds the same model in it.

    Of a field that is there twice some servers read the first one, and others the last, or one in another case.
    """
    return "*" in key.models or (content.count(b'"model"') <= 1 and b"\\u00" not in content)


def _named(body: Any) -> Iterator[tuple[str, str]]:
    """The fields of a body that name models, each with a name."""
    left = [body]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left += node
        elif isinstance(node, dict):
            for field, value in node.items():
                plain = field.lower().replace("_", "").replace("-", "")
                if plain in _FIELDS or plain.endswith(_ENDINGS):
                    names = value if isinstance(value, list) else [value]
                    yield from ((field, each) for each in names if isinstance(each, str) and each)
                if plain not in _SKIPPED and not plain.endswith("schema"):
                    left.append(value)
