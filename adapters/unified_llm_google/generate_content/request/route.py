"""The parts of a request outside its body: the model and whether to stream are in the URL.

`models/{model}:generateContent` and `:streamGenerateContent?alt=sse`; the cloud platform's paths name a publisher and
stand below a project. Without `alt=sse` a stream is one JSON array.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote

from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.urls import segment

__all__ = ["SSE", "read_route", "write_route"]

Node = dict[str, Any]
SSE: Mapping[str, str] = MappingProxyType({"alt": "sse"})
"""The query of a stream of server-sent events."""

_MODELS = "models/"
_TUNED = "tunedModels/"
_PUBLISHERS = "publishers/"
_HOME = "google"
_STREAM = "streamGenerateContent"
# What follows the last collection is one name, slashes in it or not.
_NAMED = re.compile(r"((?:(?:projects|locations|publishers)/[^/]+/)*)(models|tunedModels|endpoints)/(.+)", re.DOTALL)


def read_route(w: Node, c: Node, r: Reader) -> None:
    """Model and streaming, from the path where one is given and from the body where it repeats the model."""
    path, _, query = str(r.http.get("path") or "").partition("?")
    name, colon, method = unquote(path).rpartition(":")
    model = _model_of(name) if colon else None
    body = w.get("model")
    if type(body) is str and (model is None or _model_of(body) == model):
        model = _model_of(w.pop("model"))
        r.form(c, "model", "body" if model == body else "body path")
        r.place(c, ("model",), ("model",))
    if model:
        c["model"] = model
    if method == _STREAM:
        c["stream"] = True
        given = r.http.get("query")
        options = given if isinstance(given, dict) else parse_qs(query or str(given or ""))
        if "sse" not in options.get("alt", ()):
            r.form(c, "stream", "array")


def _model_of(name: str) -> str:
    """The model in a resource name: what follows `models/`, with the publisher where it is not the house's own."""
    if name.startswith(_TUNED):
        return name
    before, found, model = name.partition(_MODELS)
    if not found:
        return name
    publisher = before.rpartition(_PUBLISHERS)[2].strip("/") if _PUBLISHERS in before else _HOME
    return model if publisher == _HOME else f"{publisher}/{model}"


def write_route(c: Node, wire: Node, w: Writer, method: str = "generateContent") -> None:
    """Write model and method into the HTTP path, with the model in the body where it was read there."""
    model = c.pop("model", None)
    form = w.form(c, "model")
    model = w.model or model
    if form and model:
        wire["model"] = model if form == "body" else "/".join(_resource(model, w))
    streaming = c.get("stream")
    if streaming is True:
        del c["stream"]
    elif streaming is False:
        c["stream"] = Fated("approximated", "represented by the method")
    w.http["method"] = "POST"
    if streaming is True and method == "generateContent":
        method = _STREAM
        if w.form(c, "stream") != "array":
            w.http["query"] = dict(SSE)
    if type(model) is str and model:
        w.http["path"] = f"{'/'.join(segment(each, '/model') for each in _resource(model, w))}:{method}"


def _resource(model: str, w: Writer) -> list[str]:
    """The segments of the resource name of a model. A model that is a resource name already keeps its segments."""
    named = _NAMED.fullmatch(model)
    if named is not None:
        return [*named[1].rstrip("/").split("/"), named[2], named[3]] if named[1] else [named[2], named[3]]
    publisher, slash, name = model.partition("/")
    if w.dialect.get("publishers"):
        return ["publishers", publisher, "models", name] if slash else ["publishers", _HOME, "models", model]
    return ["models", model]
