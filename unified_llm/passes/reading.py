"""`read`: canonical objects of wire documents, validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from ..engine.malformed import FAULTS, refuse_conversion
from ..engine.pairs.reading import Reader
from ..engine.registry import surface
from ..foundation.document_kind import check_kind
from ..foundation.errors import InvalidBody
from ..foundation.json_codec import load
from ..foundation.json_paths import pointer
from ..foundation.secret import Secret, SecretLike
from .route import kind_of

if TYPE_CHECKING:
    from ..models.names import KindName, ProtocolName
    from ..types import ErrorBody, Model, Request, Response

__all__ = ["read"]


@overload
def read(
    body: Any,
    protocol: ProtocolName,
    kind: Literal["request"] = "request",
    strict: bool = False,
    *,
    http: Mapping[str, Any] | None = None,
    secret: SecretLike = None,
) -> Request: ...
@overload
def read(
    body: Any,
    protocol: ProtocolName,
    kind: Literal["response"],
    strict: bool = False,
    *,
    http: Mapping[str, Any] | None = None,
    secret: SecretLike = None,
) -> Response: ...
@overload
def read(
    body: Any,
    protocol: ProtocolName,
    kind: Literal["error"],
    strict: bool = False,
    *,
    http: Mapping[str, Any] | None = None,
    secret: SecretLike = None,
) -> ErrorBody: ...
@overload
def read(
    body: Any,
    protocol: ProtocolName,
    kind: KindName,
    strict: bool = False,
    *,
    http: Mapping[str, Any] | None = None,
    secret: SecretLike = None,
) -> Model: ...
def read(
    body: Any,
    protocol: ProtocolName,
    kind: KindName = "request",
    strict: bool = False,
    *,
    http: Mapping[str, Any] | None = None,
    secret: SecretLike = None,
) -> Model:
    """The canonical object of a wire document, validated.

    `protocol` may have a dialect behind a colon; `kind` is "request" (default), "response", "error", or another the
    adapter declares, if it has a canonical class (a list of models has none; `convert` gives its JSON). `http` is what
    the document carried outside the body, and `secret` authenticates the envelopes in a request, as in `convert`.
    Raises `InvalidBody`, also for a kind without a class.

    A node that is not what its type promises becomes an `UnknownItem` (or `UnknownPart`, ...) with its `.problems`;
    with `strict=True` it is an `InvalidBody` instead.

    >>> read({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, "openai-chat").input[0].content
    'Hi'
    """
    from ..types.validation import KINDS, validate

    here = surface(protocol)
    adapter, dialect, _ = here
    declared = kind_of(adapter, kind)
    if declared.node not in KINDS:
        raise InvalidBody("", f"a document of kind {kind!r} has no canonical class; use convert for its JSON")
    reader = Reader(
        adapter,
        dialect=dialect,
        http=http,
        provider=here.provider,
        opens=declared.facing == "provider",
        secret=Secret.of(secret),
    )
    doc = load(body)
    check_kind(adapter, kind, doc, http)
    try:
        node = reader.root(declared.read, doc)
    except FAULTS as error:
        refuse_conversion((), doc, error)
    from pydantic import ValidationError

    from ..engine.type_errors import misfits

    problems: dict[int, tuple[str, ...]] = {}
    for misfit in misfits(node, declared.node, reader):
        if strict:
            raise InvalidBody(pointer(misfit.path), misfit.reason)
        told = f"{pointer((misfit.key,)) if misfit.key else '/'}: {misfit.reason}"
        problems[id(misfit.node)] = (*problems.get(id(misfit.node), ()), told)
    try:
        found: Model = validate(declared.node, node, strict=strict, problems=problems)
        return found
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        # pydantic names the union members it tried between the keys of the path; those are no keys of the document.
        raise InvalidBody(pointer(_real_path(node, first["loc"])), first["msg"]) from error


def _real_path(node: Any, loc: tuple[Any, ...]) -> list[Any]:
    path: list[Any] = []
    for key in loc:
        if (type(node) is dict and key in node) or (type(node) is list and type(key) is int and key < len(node)):
            path.append(key)
            node = node[key]
    return path
