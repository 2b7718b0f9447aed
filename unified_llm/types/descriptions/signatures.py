"""The signature of a canonical class, for `help` and editors: its fields as keywords, in types that people can read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

__all__ = ["Described", "signature_of"]


class Described:
    """The `__signature__` of a class and its subclasses, made when it is looked at; instances have none."""

    def __init__(self, make: Callable[[Any], inspect.Signature]) -> None:
        self._make = make

    def __get__(self, node: object, cls: type) -> inspect.Signature:
        if node is not None:
            raise AttributeError("__signature__")
        return self._make(cls)


class _Bare(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature_of(fields: Mapping[str, FieldInfo], own: Collection[str], union: type[Any]) -> inspect.Signature:
    """The fields as keywords, required ones first, then a class's `own`, then those of its bases.

    `union` is the class of the metadata that names a union, such as "part".
    """

    def order(field: tuple[str, FieldInfo]) -> tuple[bool, bool]:
        return not field[1].is_required(), field[0] not in own

    return inspect.Signature([_parameter(name, info, union) for name, info in sorted(fields.items(), key=order)])


def _parameter(name: str, info: FieldInfo, union: type[Any]) -> inspect.Parameter:
    held = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    text = " | ".join(dict.fromkeys(_types(held, union)))
    default = inspect.Parameter.empty if info.is_required() else info.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_Bare(text))


def _types(here: Any, union: type[Any]) -> Iterator[str]:
    """The members of a type, a named union as one."""
    origin, inside = get_origin(here), get_args(here)
    if origin is Annotated:
        name = next((mark.name for mark in inside[1:] if isinstance(mark, union)), None)
        yield from _types(inside[0], union) if name is None else (str(name).title().replace("_", ""),)
    elif origin in (Union, UnionType):
        for each in inside:
            yield from _types(each, union)
    elif origin is Literal:
        yield f"Literal[{', '.join(map(repr, inside))}]"
    elif origin in (list, dict):
        yield f"{origin.__name__}[{', '.join(' | '.join(_types(each, union)) for each in inside)}]"
    else:
        yield "None" if here is NoneType else getattr(here, "__name__", str(here))
