"""From canonical JSON to objects, in one pass where all is well.

Lenient by default: an ill-typed node of a known type (item, part, tool, annotation, choice of tool, event, anywhere in
lists) becomes the Unknown* object that holds its data and its `problems`; `strict=True` raises pydantic's error.
A skeleton that cannot be a document of its kind raises `InvalidBody` with the path. Law: `dump(validate(k, d)) == d`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from .base import KNOWN, Kind, Model
from .errors import ErrorBody
from .request import Request
from .response import Choice, Finish, Response
from .unions import Annotation, Event, Item, Part, Tool, ToolChoice, unknown
from .usage import Usage

__all__ = ["KINDS", "dump", "first_problem", "validate"]

KINDS: Final[dict[str, Any]] = {
    "request": Request,
    "response": Response,
    "choice": Choice,
    "finish": Finish,
    "usage": Usage,
    "error": ErrorBody,
    "item": Item,
    "part": Part,
    "annotation": Annotation,
    "tool": Tool,
    "tool_choice": ToolChoice,
    "event": Event,
    "items": list[Item],
    "parts": list[Part],
    "tools": list[Tool],
    "events": list[Event],
}
"""What can be validated, by name."""


def validate(
    kind: str, doc: Any, strict: bool = False, *, problems: Mapping[int, tuple[str, ...]] = MappingProxyType({})
) -> Any:
    """The object for a canonical document of `kind` (a key of `KINDS`).

    Lenient, ill-typed nodes become Unknown* objects with `.problems`; strict, pydantic's `ValidationError` is raised.
    `problems` are those of nodes (by identity) that are known to be ill-typed already.
    Raises `unified_llm.foundation.errors.InvalidBody` when the skeleton is impossible, `KeyError` for an unknown kind.

    >>> validate("item", {"type": "message", "role": "user", "content": "hi"}).role
    'user'
    >>> validate("item", {"type": "message", "role": 5}).problems
    ('/role: Input should be a valid string',)
    """
    adapter = _adapter(kind)
    try:
        if not problems:
            return adapter.validate_python(doc)
    except ValidationError:
        if strict:
            raise
    mended = _mend(doc, KINDS[kind], problems)
    try:
        return adapter.validate_python(mended)
    except ValidationError as error:
        from ..foundation.errors import InvalidBody

        path, reason = first_problem(error, mended)
        raise InvalidBody(path, reason) from error


def dump(obj: Any) -> Any:
    """The JSON form of an object, or of a list of objects: exactly the keys that were given, types included."""
    if isinstance(obj, Model):
        return obj.dump()
    if isinstance(obj, list):
        return [dump(each) for each in obj]
    if isinstance(obj, dict):
        return {key: dump(each) for key, each in obj.items()}
    return obj


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


@cache
def _class_adapter(cls: type[Model]) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def _mend(value: Any, annotation: Any, problems: Mapping[int, tuple[str, ...]]) -> Any:
    """`value` with its known nodes as objects, ill-typed ones as Unknown*; everything else as it was."""
    kind, struct, inner = _mendable(annotation)
    if type(value) is list and inner is not None:
        return [_mend(each, inner, problems) for each in value]
    if type(value) is not dict:
        return value
    if kind is not None:
        stand_in = unknown(kind)
        if stand_in is not None and id(value) in problems:
            return stand_in.holding(value, problems[id(value)])
        name = value.get("type")
        cls = KNOWN.get(kind, {}).get(name) if isinstance(name, str) else None
        if cls is None:
            if isinstance(name, str) or stand_in is None:
                return value
            return stand_in.holding(value, ("/type: not a string",))
        mended = _mend_fields(value, cls, problems)
        try:
            return _class_adapter(cls).validate_python(mended)
        except ValidationError as error:
            if stand_in is None:
                return value
            return stand_in.holding(value, tuple(_problems(error, mended)))
    if struct is not None:
        return _mend_fields(value, struct, problems)
    return value


def _mend_fields(value: dict[str, Any], cls: type[Model], problems: Mapping[int, tuple[str, ...]]) -> dict[str, Any]:
    fields = _fields(cls)
    return {key: _mend(each, fields[key], problems) if key in fields else each for key, each in value.items()}


@cache
def _fields(cls: type[Model]) -> dict[str, Any]:
    _class_adapter(cls)
    out: dict[str, Any] = {}
    for name, info in cls.__pydantic_fields__.items():
        annotation: Any = info.annotation
        if info.metadata:  # pydantic takes the outermost marks off, the kind of a union among them
            annotation = Annotated[annotation, *info.metadata]
        if any(each is not None for each in _mendable(annotation)):
            out[info.alias or name] = annotation
    return out


@cache
def _mendable(annotation: Hashable) -> tuple[str | None, type[Model] | None, Any]:
    """What an annotation can hold: a kind of node, an untyped object of ours, a list of something."""
    kind: str | None = None
    struct: type[Model] | None = None
    inner: Any = None
    stack: list[Any] = [annotation]
    while stack:
        here = stack.pop()
        origin = get_origin(here)
        if origin is Annotated:
            held, *marks = get_args(here)
            found = next((mark.name for mark in marks if isinstance(mark, Kind)), None)
            if found is not None:
                kind = found
            else:
                stack.append(held)
        elif origin is list:
            if inner is None or _mendable(get_args(here)[0])[0] == "item":
                inner = get_args(here)[0]
        elif isinstance(here, type) and issubclass(here, Model):
            struct = here
        else:
            stack.extend(each for each in get_args(here) if each is not type(None))
    return kind, struct, inner


def _problems(error: ValidationError, value: Any) -> list[str]:
    return list(dict.fromkeys(f"{_path(each, value)}: {each['msg']}" for each in error.errors(include_url=False)))


def first_problem(error: ValidationError, value: Any) -> tuple[str, str]:
    """The path and the reason of what pydantic complains of in `value`."""
    # Of a union's many complaints the one with the deepest path is the most specific.
    found = [(_path(each, value), each["msg"]) for each in error.errors(include_url=False)]
    path = max(found, key=lambda pair: pair[0].count("/"))[0]
    reasons = list(dict.fromkeys(_in_json(reason) for where, reason in found if where == path))
    if _SHOULD + "a valid number" in reasons and _SHOULD + "a valid integer" in reasons:
        reasons.remove(_SHOULD + "a valid integer")
    if len(reasons) > 1 and all(reason.startswith(_SHOULD) for reason in reasons):
        # Any of the members of a union would do.
        reasons = [_SHOULD + " or ".join(reason.removeprefix(_SHOULD) for reason in reasons)]
    return path, reasons[0]


_SHOULD = "Input should be "


def _in_json(reason: str) -> str:
    """A reason of pydantic's without the classes of Python in it."""
    return _SHOULD + "an object" if reason.startswith(_SHOULD + "a valid dictionary") else reason


def _path(problem: Any, value: Any) -> str:
    """A JSON pointer: pydantic's location without its names of union members."""
    out = ""
    for step in problem["loc"]:
        if (type(value) is dict and step in value) or (type(value) is list and type(step) is int and step < len(value)):
            value = value[step]
            out += "/" + str(step).replace("~", "~0").replace("/", "~1")
    return out + (f"/{problem['loc'][-1]}" if problem["type"] == "missing" else "")
