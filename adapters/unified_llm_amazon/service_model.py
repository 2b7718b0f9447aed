"""The shapes of Amazon's service model as types, which `unified-llm drift sdk` walks; botocore ships the model.

`from unified_llm_amazon.service_model import ConverseRequest` is a `TypedDict` that is made at its first use.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal, TypedDict

from unified_llm.foundation.usage_errors import MissingExtra

__all__: list[str] = []

__sdk__ = "botocore"
_PLAIN = {"string": str, "blob": bytes, "boolean": bool, "integer": int, "long": int, "float": float, "double": float}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return str(_botocore().__version__)
    if name.startswith("__"):
        raise AttributeError(name)
    return _typed(name)


def _botocore() -> Any:
    try:
        return import_module("botocore")
    except ModuleNotFoundError as error:
        raise MissingExtra("the service model of Converse", "amazon") from error


@cache
def _model() -> Any:
    _botocore()
    return import_module("botocore.session").get_session().get_service_model("bedrock-runtime")


@cache
def _typed(name: str) -> Any:
    model = _model()
    if name not in model.shape_names:
        raise AttributeError(name)
    return _type(model.shape_for(name))


def _type(shape: Any) -> Any:
    kind = shape.type_name
    if kind == "string" and shape.enum:
        return Literal[tuple(shape.enum)]
    if kind == "list":
        return list[_type(shape.member)]  # type: ignore[misc]
    if kind == "map":
        return dict[str, _type(shape.value)]  # type: ignore[misc]
    if kind == "structure" and not shape.metadata.get("document"):
        return _struct(shape.name)
    return _PLAIN.get(kind, Any)


@cache
def _struct(name: str) -> Any:
    members = _model().shape_for(name).members
    return TypedDict(name, {key: _type(each) for key, each in members.items()}, total=False)  # type: ignore[operator]
