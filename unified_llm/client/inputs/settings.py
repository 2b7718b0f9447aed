"""The settings of a request, as a caller passes them: their types, the names of fields in them, and words of effort.

A request of a wire protocol may have words that are newer than this library; they are sent as they are. Here a new one
has `extra_body=`, and a misspelled one would be a budget of the library's choice, or a refused request.
"""

from __future__ import annotations

from typing import Any

from ...engine.pairs.mapping import json_types
from ...foundation.errors import InvalidBody
from ...foundation.hints import Argument, Each, Hint
from ...foundation.json_paths import pointer

__all__ = ["check_settings", "unknown_effort"]

Node = dict[str, Any]


def check_settings(settings: Node) -> None:
    """Refuse a setting of the wrong type, and a misspelled field of one, with its path."""
    declared = json_types("request")
    # The tables suffice for a plain value of its field's type; the models, which take longer to build than a response
    # takes, check objects and lists, and describe a mistake.
    unsure = {
        name: value
        for name, value in settings.items()
        if type(value) in (dict, list) or type(value) not in declared.get(name, ())
    }
    if unsure:
        _check_by_model(unsure)


def _check_by_model(settings: Node) -> None:
    from difflib import get_close_matches

    from pydantic import ValidationError

    from ...types import Model, Request
    from ...types.validation import first_problem

    def check_fields(node: Model, path: tuple[str, ...]) -> None:
        """Refuse a field that looks like another one, in a setting or below. One that looks like none may be new."""
        fields = {info.alias or name: name for name, info in type(node).__pydantic_fields__.items()}
        for key in node.__pydantic_extra__ or ():
            near = get_close_matches(key, sorted(fields.keys() - node.__pydantic_fields_set__), 1, 0.8)
            if near:
                raise InvalidBody(pointer((*path, key)), f"unknown field {key!r}; did you mean {near[0]!r}?")
        for key, name in fields.items():
            below = getattr(node, name)
            if isinstance(below, Model):
                check_fields(below, (*path, key))

    try:
        made = Request.model_validate(settings)
    except ValidationError as error:
        path, reason = first_problem(error, settings)
        raise InvalidBody(path, reason) from error
    for name in settings:
        value = getattr(made, name, None)
        if isinstance(value, Model):
            check_fields(value, (name,))
    effort = made.reasoning.effort if made.reasoning is not None else None
    if effort is not None and (unknown := unknown_effort(effort)):
        way = Each((Hint("pass a provider's own word in ", Argument("extra_body")),), before="; ")
        raise InvalidBody("/reasoning/effort", Hint(unknown, way))


def unknown_effort(effort: str) -> str | None:
    """Why a word is refused as an effort; None for one that the library maps to every provider.

    >>> unknown_effort("hgh"), unknown_effort("high")
    ("unknown effort 'hgh'; did you mean 'high'? known: none, minimal, low, medium, high, xhigh, max", None)
    """
    from difflib import get_close_matches

    from ...models.effort import EFFORTS

    if effort in EFFORTS:
        return None
    word = effort.lower()
    begun = [each for each in EFFORTS if len(word) > 2 and (word.startswith(each) or each.startswith(word))]
    near = begun or get_close_matches(word, EFFORTS, 1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown effort {effort!r}; {meant}known: {', '.join(EFFORTS)}"
