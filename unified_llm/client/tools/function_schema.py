"""A Python signature as the JSON schema of a tool's arguments, and arguments as what the function takes.

pydantic does both, from one schema of the call: what validates is what was described. All parameters are passed by
name.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, cast

from pydantic import PydanticUserError, TypeAdapter

from .docstrings import parse

__all__ = ["Signature", "doc_of", "name_of", "signature_of"]

Schema = dict[str, Any]
_NAMED = ("__value__", "__supertype__", "__bound__")  # what a type alias, a NewType and a TypeVar stand for
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Signature:
    """How a function is called by a model: `parameters` is the schema, `arguments` reads JSON text into keywords.

    `context` names the parameter that gets the context of the call and is not shown; None without one. `positional`
    are the parameters that Python takes by position only.
    """

    description: str

    def __init__(self, function: Callable[..., Any], context_type: type) -> None:
        try:
            signature = inspect.signature(function)
        except ValueError as error:  # some functions and types that are written in C
            raise TypeError(str(error)) from error
        hints = _hints(function)
        self.description, said = parse(doc_of(function))
        self.context: str | None = None
        self.positional: list[str] = []
        shown: list[inspect.Parameter] = []
        for name, parameter in signature.parameters.items():
            hint = hints.get(name, Any)
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                self.positional.append(name)
            if _is_context(hint, context_type):
                self.context = name
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                raise TypeError(f"{_name(function)}(): *{name} is not supported in a tool; use a list parameter")
            kind = parameter.kind if parameter.kind in _VARIADIC else inspect.Parameter.KEYWORD_ONLY
            shown.append(parameter.replace(kind=kind, annotation=hint))

        def call(**arguments: Any) -> Schema:
            return arguments

        # What pydantic looks at, instead of the function itself: the context is not an argument, and nothing is called.
        call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in shown}
        self._adapter, schema = _adapter(call, shown, _name(function))
        self.parameters: Schema = _tidied(schema, said)

    def arguments(self, text: str) -> Schema:
        """The keywords of a call from the JSON text a model wrote; raises pydantic's `ValidationError`."""
        found: Schema = self._adapter.validate_json(text.strip() or "{}")
        return found


def _adapter(
    call: Callable[..., Any], parameters: list[inspect.Parameter], name: str
) -> tuple[TypeAdapter[Any], Schema]:
    """What reads the arguments, and their schema. Raises `TypeError` with the parameter that has none."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, call))
        return adapter, adapter.json_schema()
    except PydanticUserError as error:
        for each in parameters:
            try:
                TypeAdapter(each.annotation).json_schema()
            except PydanticUserError as found:
                kind = getattr(each.annotation, "__name__", each.annotation)
                if found.code == "typed-dict-version":
                    why = f"{each.name} is a typing.TypedDict; on Python 3.11 use typing_extensions.TypedDict"
                else:
                    why = f"no model can give {each.name}, a {kind}; use a type that JSON has"
                raise TypeError(f"{name}(): {why}") from error
        raise


def signature_of(function: Callable[..., Any], context_type: type) -> Signature:
    """The signature of a function; `TypeError` for one that no model could call."""
    return Signature(function, context_type)


def _name(function: Callable[..., Any]) -> str:
    return name_of(function) or type(function).__name__


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, of the one in a `partial`, or of the class of a callable object; "" for a lambda."""
    bare = _bare(function)
    name: str = getattr(bare, "__name__", type(bare).__name__)
    return "" if name == "<lambda>" else name


def doc_of(function: Callable[..., Any]) -> str | None:
    """What describes a function; a callable object by its `__call__`, or by its class."""
    bare = _bare(function)
    if inspect.isroutine(bare) or inspect.isclass(bare):
        return inspect.getdoc(bare)
    return inspect.getdoc(type(bare).__call__) or inspect.getdoc(bare)


def _bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without `partial`, whose own name and documentation are not about it."""
    bare = function
    while isinstance(bare, functools.partial):
        bare = bare.func
    return bare


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    bare = inspect.unwrap(function)
    while isinstance(bare, functools.partial):
        bare = inspect.unwrap(bare.func)
    if not inspect.isroutine(bare) and not inspect.isclass(bare):
        bare = type(bare).__call__
    try:
        hints = typing.get_type_hints(bare, include_extras=True)
        if inspect.isclass(bare):
            hints |= typing.get_type_hints(bare.__init__, include_extras=True)
        return hints
    except NameError as error:
        raise TypeError(f"{_name(function)}: the annotation {error.name!r} cannot be resolved") from error


def _is_context(hint: Any, context_type: type) -> bool:
    """Whether the type is anywhere in an annotation: in unions, generics, `Annotated` and named aliases too."""
    waiting, seen = [hint], dict[int, Any]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and issubclass(each, context_type):
            return True
        if id(each) not in seen:  # an alias may contain itself
            seen[id(each)] = each
            waiting += [typing.get_origin(each), *typing.get_args(each)]
            waiting += [getattr(each, name, None) for name in _NAMED]
    return False


def _tidied(schema: Schema, said: dict[str, str]) -> Schema:
    """The schema without titles that only repeat names, with the docstring's description of each parameter."""
    out: Schema = _untitled(schema)
    out.setdefault("properties", {})
    for name, text in said.items():
        found = out["properties"].get(name)
        if type(found) is dict:
            found.setdefault("description", text)
    return out


_HOLDERS = frozenset(("properties", "$defs", "patternProperties"))
_LITERAL = frozenset(("default", "const", "enum", "examples"))


def _untitled(schema: Any, held: bool = False) -> Any:
    """`held` means that the keys are names and not keywords."""
    if type(schema) is list:
        return [_untitled(each) for each in schema]
    if type(schema) is not dict:
        return schema
    if held:
        return {key: _untitled(value) for key, value in schema.items()}
    return {
        key: value if key in _LITERAL else _untitled(value, key in _HOLDERS)
        for key, value in schema.items()
        if key != "title"
    }
