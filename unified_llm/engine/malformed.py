"""Malformed canonical input: noticed by the writer that cannot go on, explained here with path and reason.

Canonical documents and events are not validated before they are written, because that would cost more than writing
them. A writer that meets a value of an unexpected type raises one of `FAULTS`; only then the models are used to find
which value it is. What the models accept is our own mistake, or an adapter's, and the message names the place in the
code: `net` decides whether callers see it as an error of this library all the same (the default), or as it is (in this
project's tests and fuzzers, which must not miss it).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NoReturn

from ..foundation.errors import InvalidBody, LocalProtocolError, ProtocolError, RemoteProtocolError, UnifiedLLMError
from ..foundation.hints import Code, Each, Hint
from ..foundation.json_codec import detached
from ..foundation.json_paths import pointer
from .pairs.mapping import ILL_TYPED, NATIVE, IllTyped, are_objects

__all__ = [
    "FAULTS",
    "refuse_conversion",
    "refuse_document",
    "refuse_end",
    "refuse_event",
    "refuse_nothing",
    "refuse_root",
]

Keys = tuple[Any, ...]

FAULTS = (*ILL_TYPED, OverflowError, RecursionError)
"""What Python raises for values of unexpected types, ranges and depths."""
_JSON = {list: "list", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
net = True
"""Whether an error that nothing explains is raised as one of ours: for callers, and not for tests."""


class _NoDocument(TypeError):
    """A writer gave nothing: the adapter's mistake, wherever it is noticed."""


def refuse_nothing(protocol: str, kind: str) -> NoReturn:
    """Raise what is to be raised where the writer of a kind returned None; inside of what handles `FAULTS`."""
    raise _NoDocument(f"the writer of kind {kind!r} of the adapter {protocol!r} returned None")


def refuse_root(protocol: str, body: Any, error: Exception) -> NoReturn:
    """Raise what is to be raised for a wire document of which the reader raised one of `ILL_TYPED`.

    A key that is missing, and `IllTyped`, are the document's; any other error may be the reader's.
    """
    if type(body) is not dict:
        found = _JSON.get(type(body), "value")
        way = Each((Code("pass JSON text as bytes"),), before="; ") if found == "string" else ""
        raise InvalidBody("", Hint(f"{protocol} requires a JSON object, got a {found}", way)) from error
    reason = str(error) if isinstance(error, IllTyped) else _named(error)
    if isinstance(error, KeyError):
        reason = f"{error} is missing"
    raise InvalidBody("", f"not a document of {protocol}: {reason}") from error


def refuse_document(name: str, node: Any, error: Exception) -> NoReturn:
    """Raise what is to be raised for a canonical document of kind `name` on which its writer failed with `error`."""
    _ours(error)
    found = _problem(name, node)
    if found is not None:
        raise InvalidBody(*found) from error
    _bare(error)
    raise InvalidBody("", f"cannot be written: {_named(error)}") from error


def refuse_event(
    number: int, event: Any, error: Exception, *, local: bool, before: Iterable[tuple[int, Any]] = ()
) -> NoReturn:
    """The same for one canonical event, the `number`th of its stream.

    `before` are the earlier events with their numbers that a writer may have kept: the ill-typed one may be among them.
    """
    _ours(error)
    for place, each in ((number, event), *before):
        if type(each) is not dict or type(each.get("type")) is not str:
            raise InvalidBody(pointer((place,)), "an event is an object with a string as its type") from error
        found = _problem("event", each)
        if found is not None:
            raise InvalidBody(pointer((place,)) + found[0], found[1]) from error
    _bare(error)
    kind: type[ProtocolError] = LocalProtocolError if local else RemoteProtocolError
    raise kind(f"event {number} ({event['type']}) does not fit the events before it: {_named(error)}") from error


def refuse_conversion(path: Keys, value: Any, error: Exception, before: Iterable[tuple[int, Any]] = ()) -> NoReturn:
    """The same for a wire document, or for the wire event at this path of its stream, that could not be converted.

    `before` are as in `refuse_end`: what an event contains may be looked at with a later one.
    """
    _ours(error)
    try:
        detached(value)
    except InvalidBody as refused:
        raise InvalidBody(pointer(path) + refused.path, refused.reason) from error
    _refuse_data(before, error)
    _bare(error)
    if path:
        raise RemoteProtocolError(f"event {path[0]} of the stream cannot be converted: {_named(error)}") from error
    raise InvalidBody("", f"cannot be converted: {_named(error)}") from error


def refuse_end(before: Iterable[tuple[int, Any]], error: Exception) -> NoReturn:
    """The same for the end of a stream, where `before` are the data of wire events with their numbers.

    Readers and writers keep values until a stream ends: one of those may be too deep, or not JSON.
    """
    _ours(error)
    _refuse_data(before, error)
    _bare(error)
    raise RemoteProtocolError(f"the end of the stream cannot be converted: {_named(error)}") from error


def _refuse_data(before: Iterable[tuple[int, Any]], error: Exception) -> None:
    for number, data in before:
        try:
            detached(data)
        except InvalidBody as refused:
            raise InvalidBody(pointer((number, "data")) + refused.path, refused.reason) from error


def _ours(error: Exception) -> None:
    if isinstance(error, UnifiedLLMError):
        raise error


def _bare(error: Exception) -> None:
    if not net:
        raise error


def _named(error: Exception) -> str:
    """What was raised, and where: no value of the document but what the message of the error has."""
    return str(error) if isinstance(error, _NoDocument) else f"{type(error).__name__}: {error}{_where(error)}"


def _where(error: Exception) -> str:
    """The innermost place that raised an error, and the adapter's where that is another."""
    places, step = [("", False)], error.__traceback__
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__", ""))
        head = module.partition(".")[0]
        own = head == _CORE or head in sys.stdlib_module_names
        places.append((f"{_file(module, step.tb_frame)}:{step.tb_lineno}", not own))
        step = step.tb_next
    inner = places[-1][0]
    outer = next((place for place, is_adapter in reversed(places) if is_adapter), inner)
    return (inner and f" in {inner}") + (f", called from {outer}" if outer != inner else "")


def _file(module: str, frame: FrameType) -> str:
    """The path of a module from its package on, which is the same wherever it is installed."""
    name = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    folders = module.split(".")[: None if name == "__init__.py" else -1]
    return "/".join((*folders, name))


_CORE = __name__.partition(".")[0]


def _problem(name: str, node: Any) -> tuple[str, str] | None:
    """The path and the reason of the first thing in a canonical node that is not what the models declare."""
    try:
        detached(node)
    except InvalidBody as refused:
        return refused.path, refused.reason
    for path, reason in _extras(node):
        return pointer(path), reason
    from pydantic import ValidationError

    from ..types.validation import KINDS, first_problem, validate

    if name not in KINDS:
        return None
    root, above = node, ""
    if name == "error":  # its document holds it under a key, which is not a node of its own
        above, node = "/error", node.get("error")
        if type(node) is not dict:
            return above, "should be an object"
    try:
        validate(name, node, strict=True)
    except ValidationError as error:
        found = first_problem(error, node)
        return above + found[0], found[1]
    for path, inner in _nodes(root):  # of an item, a part or a tool without a model
        if not are_objects(inner.get("opaque", [])) and inner["opaque"] is not None:
            return pointer((*path, "opaque")), "should be a list of objects"
    return None


def _nodes(root: Any) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """Every object of a canonical document, without what stands under `extra`."""
    stack: list[tuple[Keys, Any]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if type(node) is list:
            stack += [((*path, index), each) for index, each in enumerate(node)]
        elif type(node) is dict:
            stack += [((*path, key), each) for key, each in node.items() if key != "extra"]
            yield path, node


def _extras(root: Any) -> Iterator[tuple[Keys, str]]:
    """What stands under `extra` and cannot: the models leave that to the protocols."""
    for path, node in _nodes(root):
        extra = node.get("extra")
        if extra is None:
            continue
        if type(extra) is not dict:
            yield (*path, "extra"), "should be an object with an object for each protocol"
            continue
        for protocol, drawer in extra.items():
            here = (*path, "extra", protocol)
            if type(drawer) is not dict:
                yield here, "should be an object"
                continue
            native = type(drawer.get("form")) is dict and "native" in drawer["form"]
            if native and type(drawer.get("rest")) is not dict and node.get("type") != NATIVE:
                yield (*here, "rest"), "should be an object"
            for slot in ("form", "rest", "turn", "frame"):
                if slot in drawer and type(drawer[slot]) is not dict and not (slot == "rest" and native):
                    yield (*here, slot), "should be an object"
            if type(drawer.get("form")) is dict:
                for key, marker in drawer["form"].items():
                    words = marker if type(marker) is list else ()
                    if type(marker) is dict or not all(type(word) is str for word in words):
                        yield (*here, "form", key), "a marker is a word, a number, a boolean or a list of words"
