"""What the official SDKs declare, read by reflection: does a value fit a declared type, and which keys does it use?

The SDKs of OpenAI and Anthropic build their models without validation, and pydantic does not look into a TypedDict's
iterables, so neither shows whether a document fits. `examine` walks value and type together. It is strict where the
SDKs are not: an undeclared key is a problem, `true` is not a number, `1` fits a float but `1.0` does not fit an int,
an enum has exactly its declared values unless the SDK itself declares it open.
"""

from __future__ import annotations

import datetime
import enum
import functools
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Union, get_args

import pydantic
from openai.types import beta as beta_types
from openai.types import chat as chat_types
from openai.types import responses as responses_types
from openai.types.chat import completion_create_params
from openai.types.responses import response_create_params

Used = tuple[str, str]  # (class, key)


class Field(NamedTuple):
    annotation: Any
    required: bool


class Finding(NamedTuple):
    """`problems` are texts that open with the JSON pointer; `used` the declared (class, key) pairs that occurred."""

    problems: list[str]
    used: set[Used]


TYPES: dict[tuple[str, str], list[Any]] = {
    ("openai-chat", "request"): [
        completion_create_params.CompletionCreateParamsNonStreaming,
        completion_create_params.CompletionCreateParamsStreaming,
    ],
    ("openai-chat", "response"): [chat_types.ChatCompletion],
    ("openai-chat", "stream"): [chat_types.ChatCompletionChunk],
    ("openai-responses", "request"): [
        response_create_params.ResponseCreateParamsNonStreaming,
        response_create_params.ResponseCreateParamsStreaming,
    ],
    ("openai-responses", "response"): [responses_types.Response, responses_types.CompactedResponse],
    ("openai-responses", "stream"): [responses_types.ResponseStreamEvent],
}
"""For each protocol and kind the SDK types one of which a valid document has; for streams, that of every event."""

ACCEPTED: dict[Any, tuple[type, ...]] = {
    **dict.fromkeys((str, bytes, datetime.datetime), (str,)),
    bool: (bool,),
    int: (int,),
    float: (int, float),
    types.NoneType: (types.NoneType,),
}
"""The JSON types of the scalars."""

UNTYPED = {"store", "billing", "presence_penalty", "frequency_penalty", "obfuscation"}
"""Keys of the Responses wire that the SDK does not type although the API sends them (all but the first, rarely)."""

BETA_UNIONS: list[Any] = [beta_types.BetaResponseInputItemParam, beta_types.BetaResponseOutputItem]


get_origin = functools.cache(typing.get_origin)  # called for every value of every document


def bare(annotation: Any) -> Any:
    """The type without Required, NotRequired and Annotated around it."""
    while True:
        if get_origin(annotation) in (typing.Annotated, typing.Required, typing.NotRequired):
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__value__"):  # the alias of a type
            annotation = annotation.__value__
        else:
            return annotation


@functools.cache
def members(annotation: Any) -> list[Any]:
    """The members of a union, flattened; any other type is its own single member.

    Google's SDK adds a member `UnknownStep` or the like for the types of the future, which is left out.
    """
    annotation = bare(annotation)
    if get_origin(annotation) not in (Union, types.UnionType):
        return [annotation]
    found = [found for member in get_args(annotation) for found in members(member)]
    return [each for each in found if not (is_struct(each) and each.__name__.startswith("Unknown"))]


@functools.cache
def is_struct(declared: Any) -> bool:
    return inspect.isclass(declared) and (
        issubclass(declared, pydantic.BaseModel) or hasattr(declared, "__required_keys__")
    )


@functools.cache
def fields(struct: Any) -> dict[str, Field]:
    """The declared keys of a model or TypedDict, by their name on the wire."""
    if issubclass(struct, pydantic.BaseModel):
        return {
            info.alias or name: Field(info.annotation, info.is_required()) for name, info in struct.model_fields.items()
        }
    hints = typing.get_type_hints(struct, include_extras=True)
    # Only Google's TypedDicts require what they do not mark; a subclass is total, the keys it inherits are not.
    total = struct.__total__ and not any(map(is_struct, struct.__orig_bases__))
    # __required_keys__ is wrong where the annotations are strings (bpo-42059), as everywhere in the SDKs.
    return {
        key.rstrip("_"): Field(  # `schema_` is `schema` on the wire
            hint,
            get_origin(hint) is typing.Required or (total and get_origin(hint) is not typing.NotRequired),
        )
        for key, hint in hints.items()
    }


def name_of(struct: Any) -> str:
    """The name of a class; the streaming and the other twin of the create parameters have one."""
    name = struct.__qualname__.replace("ParamsNonStreaming", "Params").replace("ParamsStreaming", "Params")
    module = struct.__module__.removeprefix("google.genai._gaos.").removeprefix("openai.").removeprefix("anthropic.")
    return f"{module.removeprefix('types.')}.{name}"


@functools.cache
def _tags(struct: Any) -> set[str]:
    return type_literals(struct)


def type_literals(annotation: Any) -> set[str]:
    """Every value of the key `type` (or `event_type`) among the members of a union."""
    return {
        value
        for struct in members(annotation)
        if is_struct(struct)
        for tag in ("type", "event_type")
        if tag in fields(struct)
        for literal in members(fields(struct)[tag].annotation)
        if get_origin(literal) is Literal
        for value in get_args(literal)
    }


def structs(annotation: Any, skip: frozenset[Used] = frozenset(), _seen: set[Any] | None = None) -> Iterator[Any]:
    """Every model and TypedDict reachable from a type, without looking below the (class, key) pairs of `skip`."""
    seen = set() if _seen is None else _seen
    for member in members(annotation):
        if not is_struct(member):
            for argument in get_args(member):
                yield from structs(argument, skip, seen)
        elif member not in seen:
            seen.add(member)
            yield member
            for key, field in fields(member).items():
                if (name_of(member), key) not in skip:
                    yield from structs(field.annotation, skip, seen)


def examine(value: Any, annotation: Any, path: str = "") -> Finding:
    """How a JSON value fits a declared type. Of a union the likest member counts, then the one that fits best."""
    options = members(annotation)
    if len(options) == 1:
        return _examine_one(value, options[0], path)
    ranks = [_unlikeness(value, member) for member in options]
    least = min(ranks)
    best: Finding | None = None
    for member, rank in zip(options, ranks):
        if rank > least or (best is not None and not best.problems):
            continue
        finding = _examine_one(value, member, path)
        if best is None or len(finding.problems) < len(best.problems):
            best = finding
    assert best is not None
    return best


@functools.cache
def _is_open(declared: Any) -> bool:
    """Whether a type is that of any object."""
    return get_origin(declared) is dict and get_args(declared)[1] in (Any, object)


def _unlikeness(value: Any, declared: Any) -> int:
    """0 for a type that is meant for the value (by the `type` key), 1 for one of its JSON type, 2 for others."""
    if isinstance(value, dict):
        if is_struct(declared):
            tag = value.get("type", value.get("event_type"))
            return 0 if isinstance(tag, str) and tag in _tags(declared) else 1
        return 0 if _is_open(declared) else 1 if get_origin(declared) is dict else 2
    if isinstance(value, list):
        return 1 if get_origin(declared) not in (None, dict, Literal) else 2
    return 2 if is_struct(declared) or get_origin(declared) not in (None, Literal) else 1


def _examine_one(value: Any, declared: Any, path: str) -> Finding:
    origin = get_origin(declared)
    if declared in (Any, object):
        return Finding([], set())
    if origin is Literal:
        fits = any(type(value) is type(option) and value == option for option in get_args(declared))
        return Finding([] if fits else [f"{path}: {value!r} is none of the declared values"], set())
    if is_struct(declared):
        return _examine_struct(value, declared, path)
    if inspect.isclass(declared) and issubclass(declared, enum.Enum):
        fits = isinstance(value, str) and value in [option.value for option in declared]
        return Finding([] if fits else [f"{path}: {value!r} is none of the declared values"], set())
    if origin is dict:
        return (
            _wrong(path, "an object", value)
            if not isinstance(value, dict)
            else _join(examine(inner, get_args(declared)[1], f"{path}/{key}") for key, inner in value.items())
        )
    if origin is not None:  # list, Iterable, Sequence
        return (
            _wrong(path, "a list", value)
            if not isinstance(value, list)
            else _join(examine(inner, get_args(declared)[0], f"{path}/{index}") for index, inner in enumerate(value))
        )
    if inspect.isclass(declared) and issubclass(declared, str):
        declared = str  # Google's SDK marks open enums with a subclass
    fits = isinstance(value, ACCEPTED.get(declared, ())) and isinstance(value, bool) == (declared is bool)
    return Finding([], set()) if fits else _wrong(path, getattr(declared, "__name__", str(declared)), value)


def _examine_struct(value: Any, struct: Any, path: str) -> Finding:
    if not isinstance(value, dict):
        return _wrong(path, name_of(struct), value)
    declared = fields(struct)
    found = _join(examine(value[key], declared[key].annotation, f"{path}/{key}") for key in declared if key in value)
    problems = found.problems + [
        f"{path}/{key}: not declared by {name_of(struct)}"
        for key in value
        if key not in declared and not _untyped(struct, key)
    ]
    problems += [f"{path}/{key}: missing" for key, field in declared.items() if field.required and key not in value]
    return Finding(problems, found.used | {(name_of(struct), key) for key in declared if key in value})


def _untyped(struct: Any, key: str) -> bool:
    if key == "obfuscation":
        return struct.__qualname__.endswith("Event")
    return key in UNTYPED and struct is responses_types.Response


def _wrong(path: str, wanted: str, value: Any) -> Finding:
    return Finding([f"{path}: not {wanted} but {type(value).__name__}"], set())


def _join(findings: Iterator[Finding]) -> Finding:
    joined = Finding([], set())
    for finding in findings:
        joined.problems.extend(finding.problems)
        joined.used.update(finding.used)
    return joined


def examine_document(protocol: str, kind: str, document: Any) -> Finding:
    """How a whole request, response or stream (a list of wire events) fits what the SDK declares for it."""
    options = TYPES[protocol, kind]
    if kind != "stream":
        return examine(document, Union[tuple(options)])  # noqa: UP007
    payloads = [(index, event["data"]) for index, event in enumerate(document) if event["data"] != "[DONE]"]
    return _join(examine(data, options[0], f"/{index}/data") for index, data in payloads)
