"""Values of a type from JSON that is not complete yet.

What has arrived is validated by the field's own type, and what has not arrived is None, or the field's default. Only
the end of the text can be incomplete, so all but the last entry of each object and list is final. A text that grows is
shown where a plain string is expected; any other value is shown once it is complete. Validators of whole models wait
for the whole model.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    PlainValidator,
    RootModel,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic_core import to_json

__all__ = ["MISSING", "partial_value"]

MISSING: Final[Any] = object()
"""No value yet."""

_VALIDATORS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)
_MAPPINGS = (dict, Mapping, typing.Mapping)


def partial_value(type_: Any, value: Any, final: Any) -> Any:
    """The value of a type that `value` amounts to so far; `MISSING` where it is not determined yet.

    `value` is the JSON so far with the string that is being written, `final` without it (`MISSING`: it is that string).

    >>> partial_value(dict[str, list[str]], {"a": ["x"], "b": ["y", "un"]}, {"a": ["x"], "b": ["y"]})
    {'a': ['x'], 'b': ['y', 'un']}
    >>> partial_value(list[typing.Literal["one", "oneself"]], ["one", "one"], ["one"])
    ['one']
    """
    return _partial(type_, value, final, {})


_Seen = dict[tuple[int, int], tuple[Any, Any]]
"""The values made of one JSON text, by the identities of type and JSON; the type is kept so that its identity is."""


def _partial(type_: Any, value: Any, final: Any, seen: _Seen) -> Any:
    """`partial_value` of a piece; an object or a list is read once for each type.

    Each member of a union looks into it, so a type that contains itself in a union would take twice as long a level.
    """
    if not isinstance(value, (dict, list)):
        return _made(type_, value, final, seen)
    key = id(type_), id(value)
    if key not in seen:
        seen[key] = type_, _made(type_, value, final, seen)
    return seen[key][1]


def _made(type_: Any, value: Any, final: Any, seen: _Seen) -> Any:
    type_, checked = _bare(type_)
    origin = get_origin(type_)
    if type_ is Any or type_ is object:
        return value
    if checked:
        return MISSING if final is MISSING else _whole(type_, value)
    if origin in (typing.Union, types.UnionType):
        return _member(get_args(type_), value, final, seen)
    if isinstance(value, dict):
        fields = _fields(type_)
        if fields is not None:
            return _object(type_, fields, value, final, seen)
        if type_ in _MAPPINGS or origin in _MAPPINGS:
            return _mapping(get_args(type_) or (Any, Any), value, final, seen)
        return _root(type_, value, final, seen)
    if isinstance(value, list):
        return _list(type_, origin, value, final, seen)
    if final is MISSING:
        return value if type_ is str and isinstance(value, str) else MISSING
    return _whole(type_, value)


def _bare(type_: Any) -> tuple[Any, bool]:
    """A type without its annotations, and whether one of them computes something of the whole value."""
    checked = False
    while True:
        if get_origin(type_) is typing.Annotated:
            type_, *marks = get_args(type_)
            checked = checked or any(isinstance(mark, _VALIDATORS) for mark in marks)
        elif hasattr(type_, "__value__"):
            type_ = type_.__value__
        else:
            return type_, checked


@lru_cache(512)
def _adapter(type_: Any) -> TypeAdapter[Any]:
    return TypeAdapter(type_)


def _whole(type_: Any, value: Any) -> Any:
    """A complete value; `MISSING` where it does not fit."""
    try:
        adapter = _adapter(type_)
    except TypeError:  # a type that cannot be hashed
        adapter = TypeAdapter(type_)
    try:
        return adapter.validate_json(to_json(value))
    except ValidationError:
        return MISSING


class _Field(typing.NamedTuple):
    """A field of an object: its type, the keys it may have in JSON, and what it is without a value."""

    type: Any
    keys: tuple[str, ...]
    default: Any


def _fields(type_: Any) -> dict[str, _Field] | None:
    """The fields of a model, a dataclass or a `TypedDict`; None for another type."""
    try:
        return _known_fields(type_)
    except TypeError:  # a type that cannot be hashed
        return None


@lru_cache(512)
def _known_fields(type_: Any) -> dict[str, _Field] | None:
    if isinstance(type_, type) and issubclass(type_, BaseModel):
        if issubclass(type_, RootModel):
            return None
        if not type_.__pydantic_fields_complete__:  # a class that was not defined yet when this one was
            type_.model_rebuild()
        fields = type_.__pydantic_fields__
        return {
            name: _Field(
                typing.Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation,
                _keys(name, field),
                lambda field=field: None if field.is_required() else field.get_default(call_default_factory=True),
            )
            for name, field in fields.items()
        }
    if typing.is_typeddict(type_):
        hints = typing.get_type_hints(type_, include_extras=True)
        return {name: _Field(_required(hint), (name,), None) for name, hint in hints.items()}
    if dataclasses.is_dataclass(type_) and isinstance(type_, type):
        hints = typing.get_type_hints(type_, include_extras=True)
        return {each.name: _Field(hints[each.name], (each.name,), _default(each)) for each in dataclasses.fields(type_)}
    return None


def _keys(name: str, field: Any) -> tuple[str, ...]:
    alias = field.validation_alias or field.alias
    choices = getattr(alias, "choices", [alias])
    return (*(each for each in choices if isinstance(each, str)), name)


def _required(hint: Any) -> Any:
    if get_origin(hint) in (typing.Required, typing.NotRequired, getattr(typing, "ReadOnly", typing.Required)):
        return get_args(hint)[0]
    return hint


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    default = None if field.default is dataclasses.MISSING else field.default
    return lambda: default


def _read(
    fields: Mapping[str, _Field], value: dict[str, Any], final: Any, seen: _Seen
) -> tuple[dict[str, Any], list[str]]:
    """The fields that have a value, and the names of those whose complete value does not fit."""
    last = next(reversed(value), None)
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for name, field in fields.items():
        key = next((key for key in field.keys if key in value), None)
        if key is None:
            continue
        if key == last:
            made = _partial(field.type, value[key], _within(final, key), seen)
        else:
            made = _whole(field.type, value[key])
            if made is MISSING:
                wrong.append(name)
        if made is not MISSING:
            found[name] = made
    return found, wrong


def _within(final: Any, key: Any) -> Any:
    try:
        return final[key]
    except (KeyError, IndexError, TypeError):
        return MISSING


def _object(type_: Any, fields: Mapping[str, _Field], value: dict[str, Any], final: Any, seen: _Seen) -> Any:
    found, _ = _read(fields, value, final, seen)
    if typing.is_typeddict(type_):
        return found
    values = {name: found[name] if name in found else field.default() for name, field in fields.items()}
    try:
        if issubclass(type_, BaseModel):
            return type_.model_construct(_fields_set=set(found), **values)
        made = type_.__new__(type_)
        for name, each in values.items():
            object.__setattr__(made, name, each)
        return made
    except Exception:  # the class's own code, which may count on complete values
        return MISSING


def _mapping(types_: tuple[Any, ...], value: dict[str, Any], final: Any, seen: _Seen) -> Any:
    last = next(reversed(value), None)
    out: dict[Any, Any] = {}
    for key, each in value.items():
        name = _whole(types_[0], key)
        made = _partial(types_[1], each, _within(final, key), seen) if key == last else _whole(types_[1], each)
        if name is not MISSING and made is not MISSING:
            out[name] = made
    return out


def _list(type_: Any, origin: Any, value: list[Any], final: Any, seen: _Seen) -> Any:
    members = get_args(type_)
    kind = origin or type_
    if kind is tuple and members and members[-1] is not Ellipsis:
        types_: Iterable[Any] = members
    elif (isinstance(kind, type) and issubclass(kind, (list, tuple, set, frozenset))) or kind in _SEQUENCES:
        types_ = [members[0] if members else Any] * len(value)
    else:
        return _root(type_, value, final, seen)
    out = []
    for place, (member, each) in enumerate(zip(types_, value)):
        is_last = place == len(value) - 1
        made = _partial(member, each, _within(final, place), seen) if is_last else _whole(member, each)
        if made is not MISSING:
            out.append(made)
    try:
        return kind(out) if kind in (tuple, set, frozenset) else out
    except TypeError:  # members of a set that cannot be hashed
        return MISSING


_SEQUENCES = (typing.Sequence, *(get_origin(each[Any]) for each in (typing.Sequence, typing.Iterable)))


def _root(type_: Any, value: Any, final: Any, seen: _Seen) -> Any:
    """A model of one value other than an object; anything else is shown when it is complete."""
    if isinstance(type_, type) and issubclass(type_, RootModel):
        made = _partial(type_.__pydantic_fields__["root"].annotation, value, final, seen)
        return MISSING if made is MISSING else type_.model_construct(made)
    return _whole(type_, value)


def _member(members: tuple[Any, ...], value: Any, final: Any, seen: _Seen) -> Any:
    """The member of a union; one that is not complete yet is shown once only one member fits."""
    if value is None:
        return _whole(typing.Union[members], None)  # noqa: UP007  (made at run time)
    found = []
    for member in members:
        bare, _ = _bare(member)
        fields = _fields(bare) if isinstance(value, dict) else None
        if fields is not None and (_read(fields, value, final, seen)[1] or _forbidden(bare, fields, value)):
            continue
        made = _partial(member, value, final, seen)
        if made is not MISSING:
            found.append(made)
    if len(found) == 1:
        return found[0]
    return _whole(typing.Union[members], value) if found and final is not MISSING else MISSING  # noqa: UP007


def _forbidden(type_: Any, fields: Mapping[str, _Field], value: Mapping[str, Any]) -> bool:
    config = getattr(type_, "model_config", None) or {}
    known = {key for field in fields.values() for key in field.keys}
    return config.get("extra") == "forbid" and not value.keys() <= known
